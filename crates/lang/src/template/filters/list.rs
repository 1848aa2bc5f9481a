//! Filters over lists.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::number::{Arithmetic, Number};
use super::super::print::{PrintedText, kind, kind_and_value, pairs};
use super::super::stop::FillStop;
use super::super::value::group;
use super::call::FilterCall;
use super::elements::{field, no_field};
use super::order::{SortKey, compare};

impl FilterCall<'_> {
    /// The elements with what they are judged by: themselves, or the field that the argument at `index` names.
    fn judged(&mut self, index: usize) -> Result<Vec<(Value, Value)>, FillStop> {
        let list = self.list()?;
        let Some(name) = self.argument(index).cloned() else {
            return Ok(list.into_iter().map(|element| (element.clone(), element)).collect());
        };
        let judged = list.into_iter().enumerate().map(|(index, element)| match field(&element, &name) {
            Some(value) => Ok((value, element)),
            None => Err(no_field(index, &name)),
        });
        judged.collect()
    }
}

pub(super) fn length(call: FilterCall<'_>) -> Result<Value, FillStop> {
    if let Some(text) = call.value.as_str() {
        call.budget.bytes(text.len() / 16)?;
        return Ok(Value::from(text.chars().count()));
    }
    match (kind(&call.value), call.value.len()) {
        ("empty", _) => Ok(Value::from(0)),
        (_, Some(length)) => Ok(Value::from(length)),
        _ => Err(call.wrong_value("a list, an object or a text")),
    }
}

pub(super) fn first(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    end_of(&mut call, 0)
}

pub(super) fn last(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let index = call.value.len().unwrap_or(0).saturating_sub(1);
    end_of(&mut call, index)
}

fn end_of(call: &mut FilterCall<'_>, index: usize) -> Result<Value, FillStop> {
    let found = match call.value.as_str() {
        Some(text) if index == 0 => text.chars().next().map(Value::from),
        Some(text) => text.chars().next_back().map(Value::from),
        None if call.value.kind() == ValueKind::Seq => call.value.get_item_by_index(index).ok().filter(|value| !value.is_undefined()),
        None => call.list()?.into_iter().nth(index),
    };
    found.ok_or_else(|| none_of(call))
}

fn none_of(call: &FilterCall<'_>) -> FillStop {
    FillStop::missing(format!("the list before the filter {} is empty; add | default(…) after it", call.filter.name))
}

pub(super) fn join(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let separator = call.text_argument(0)?.unwrap_or_default();
    let mut output = PrintedText::default();
    for (index, (value, _)) in call.judged(1)?.iter().enumerate() {
        if index > 0 {
            output.push(separator)?;
        }
        output.print(value)?;
    }
    call.give(output.into_text())
}

pub(super) fn sort(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let (reverse, case_sensitive) = (call.flag(0), call.flag(1));
    let judged = call.judged(2)?;
    call.budget.list(judged.len())?;
    let mut keyed = Vec::with_capacity(judged.len());
    for (value, element) in judged {
        keyed.push((SortKey::from_value(&value, case_sensitive, call.budget)?, element));
    }
    if reverse {
        keyed.sort_by(|(a, _), (b, _)| b.cmp(a));
    } else {
        keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    Ok(keyed.into_iter().map(|(_, element)| element).collect::<Vec<_>>().into())
}

pub(super) fn unique(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let case_sensitive = call.flag(0);
    let mut seen = BTreeSet::new();
    let mut kept = vec![];
    for (value, element) in call.judged(1)? {
        if seen.insert(SortKey::from_value(&value, case_sensitive, call.budget)?) {
            kept.push(element);
        }
    }
    call.budget.list(kept.len())?;
    Ok(kept.into())
}

pub(super) fn sum(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let mut total = Value::from(0);
    for (index, (value, _)) in call.judged(0)?.into_iter().enumerate() {
        let (Some(sum), Some(number)) = (Number::from_value(&total), Number::from_value(&value)) else {
            return Err(FillStop::failed(format!("the filter sum adds numbers; element {} is {}", index + 1, kind_and_value(&value))));
        };
        total = sum.calculate(Arithmetic::Add, number)?;
    }
    Ok(total)
}

pub(super) fn min(call: FilterCall<'_>) -> Result<Value, FillStop> {
    extreme(call, Ordering::Less)
}

pub(super) fn max(call: FilterCall<'_>) -> Result<Value, FillStop> {
    extreme(call, Ordering::Greater)
}

/// The first element whose value comes before (or after) all others.
fn extreme(mut call: FilterCall<'_>, wanted: Ordering) -> Result<Value, FillStop> {
    let mut judged = call.judged(0)?.into_iter();
    let Some(mut best) = judged.next() else { return Err(none_of(&call)) };
    for next in judged {
        if compare(&next.0, &best.0)? == wanted {
            best = next;
        }
    }
    Ok(best.1)
}

pub(super) fn items(call: FilterCall<'_>) -> Result<Value, FillStop> {
    match call.value.kind() {
        ValueKind::None => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Map => {
            call.budget.list(call.value.len().unwrap_or(0).saturating_mul(2))?;
            Ok(pairs(&call.value).map(|(key, value)| Value::from(vec![key, value])).collect::<Vec<_>>().into())
        }
        _ => Err(call.wrong_value("an object")),
    }
}

pub(super) fn reverse(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    match call.value.kind() {
        ValueKind::None => Ok(call.value),
        ValueKind::String => {
            let text = call.text()?;
            call.give(text.chars().rev().collect())
        }
        ValueKind::Map => Err(call.wrong_value("a list or a text")),
        _ => {
            let mut list = call.list()?;
            call.budget.list(list.len())?;
            list.reverse();
            Ok(list.into())
        }
    }
}

/// The keys of an object, the characters of a text; a list as it is.
pub(super) fn list(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    if let Some(text) = call.value.as_str() {
        call.budget.list(text.len())?;
        return Ok(text.chars().map(Value::from).collect::<Vec<_>>().into());
    }
    if !matches!(call.value.kind(), ValueKind::None | ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        return Err(call.wrong_value("a list, an object or a text"));
    }
    let list = call.list()?;
    call.budget.list(list.len())?;
    Ok(list.into())
}

/// The elements with the same value in a field together, in the order of these values: each a pair of the value (`grouper`) and the `list`.
pub(super) fn groupby(mut call: FilterCall<'_>) -> Result<Value, FillStop> {
    let Some(name) = call.argument(0).cloned() else { return Err(FillStop::failed("the filter groupby needs the name of a field")) };
    let (default, case_sensitive) = (call.argument(1).cloned(), call.flag(2));
    let list = call.list()?;
    call.budget.list(list.len().saturating_mul(2))?;
    let mut groups: BTreeMap<SortKey, (Value, Vec<Value>)> = BTreeMap::new();
    for (index, element) in list.into_iter().enumerate() {
        let value = field(&element, &name).or_else(|| default.clone()).ok_or_else(|| no_field(index, &name))?;
        let key = SortKey::from_value(&value, case_sensitive, call.budget)?;
        groups.entry(key).or_insert_with(|| (value, vec![])).1.push(element);
    }
    Ok(groups.into_values().map(|(value, list)| group(value, list.into())).collect::<Vec<_>>().into())
}
