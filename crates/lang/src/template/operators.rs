//! Operators: each pays for the size of what it makes before it makes it.

use minijinja::machinery::ast::CompareOpKind;
use minijinja::value::ValueKind;

use super::Value;
use super::budget::Budget;
use super::filters::{compare, equal};
use super::number::{Arithmetic, Number};
use super::print::{kind, kind_and_value, printed};
use super::stop::FillStop;
use super::tree::Test;

/// `+ - * / // % **`.
pub(super) fn calculate(operator: Arithmetic, a: &Value, b: &Value, budget: &mut Budget) -> Result<Value, FillStop> {
    if let (Some(a), Some(b)) = (Number::from_value(a), Number::from_value(b)) {
        return a.calculate(operator, b);
    }
    match operator {
        Arithmetic::Add => add(a, b, budget),
        Arithmetic::Multiply => match (Number::from_value(a), Number::from_value(b)) {
            (None, Some(Number::Whole(times))) => repeat(a, times, budget),
            (Some(Number::Whole(times)), None) => repeat(b, times, budget),
            _ => Err(unfit("*", a, b)),
        },
        Arithmetic::Subtract | Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Remainder | Arithmetic::Power => {
            Err(unfit(operator.sign(), a, b))
        }
    }
}

fn unfit(sign: &str, a: &Value, b: &Value) -> FillStop {
    let wanted = match sign {
        "+" => "two numbers, two texts or two lists",
        "*" => "two numbers, or a list and a whole number",
        _ => "two numbers",
    };
    FillStop::failed(format!("\"{sign}\" takes {wanted}; here are {} and {}", kind(a), kind(b)))
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn add(a: &Value, b: &Value, budget: &mut Budget) -> Result<Value, FillStop> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        budget.text(a.len() + b.len())?;
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(a) && is_list(b) {
        budget.list(a.len().unwrap_or(0).saturating_add(b.len().unwrap_or(0)))?;
        let both = a.try_iter().into_iter().flatten().chain(b.try_iter().into_iter().flatten());
        return Ok(both.collect::<Vec<_>>().into());
    }
    Err(unfit("+", a, b))
}

fn repeat(value: &Value, times: i128, budget: &mut Budget) -> Result<Value, FillStop> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if is_list(value) {
        budget.list(value.len().unwrap_or(0).saturating_mul(times))?;
        let items: Vec<Value> = value.try_iter().into_iter().flatten().collect();
        let times = if items.is_empty() { 0 } else { times };
        return Ok(std::iter::repeat_n(items, times).flatten().collect::<Vec<_>>().into());
    }
    Err(unfit("*", value, &Value::from(0)))
}

/// `~`: both as they print, one after the other.
pub(super) fn concatenate(a: &Value, b: &Value, budget: &mut Budget) -> Result<Value, FillStop> {
    let (a, b) = (printed(a)?, printed(b)?);
    budget.text(a.len() + b.len())?;
    Ok(Value::from(a + &b))
}

/// `-x`.
pub(super) fn negative(value: &Value) -> Result<Value, FillStop> {
    match Number::from_value(value) {
        Some(number) => Number::Whole(0).calculate(Arithmetic::Subtract, number),
        None => Err(FillStop::failed(format!("\"-\" takes a number; this is {}", kind(value)))),
    }
}

/// `== != < <= > >= in not in`.
pub(super) fn holds(comparison: CompareOpKind, a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, FillStop> {
    match comparison {
        CompareOpKind::Eq => equal(a, b, budget),
        CompareOpKind::Ne => Ok(!equal(a, b, budget)?),
        CompareOpKind::Lt => Ok(compare(a, b)?.is_lt()),
        CompareOpKind::Lte => Ok(compare(a, b)?.is_le()),
        CompareOpKind::Gt => Ok(compare(a, b)?.is_gt()),
        CompareOpKind::Gte => Ok(compare(a, b)?.is_ge()),
        CompareOpKind::In => contains(b, a, budget),
        CompareOpKind::NotIn => Ok(!contains(b, a, budget)?),
    }
}

/// Whether a text holds a text, a list an element, an object a key.
pub(super) fn contains(whole: &Value, part: &Value, budget: &mut Budget) -> Result<bool, FillStop> {
    if let Some(text) = whole.as_str() {
        budget.bytes(text.len() / 16)?;
        return match part.as_str() {
            Some(part) => Ok(text.contains(part)),
            None => Err(FillStop::failed(format!("a text can only hold a text; this is {}", kind(part)))),
        };
    }
    match whole.kind() {
        ValueKind::None => Ok(false),
        ValueKind::Map => Ok(whole.get_item(part).is_ok_and(|found| !found.is_undefined())),
        ValueKind::Seq | ValueKind::Iterable => {
            budget.elements(whole.len().unwrap_or(0))?;
            for element in whole.try_iter().into_iter().flatten() {
                if equal(&element, part, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(FillStop::failed(format!("\"in\" takes a list, a text or an object; this is {}", kind(whole)))),
    }
}

/// `is …`, but for `defined` and `undefined`, which look at paths.
pub(super) fn passes(test: Test, value: &Value, other: Option<&Value>, budget: &mut Budget) -> Result<bool, FillStop> {
    Ok(match test {
        Test::Defined => true,
        Test::Undefined => false,
        Test::None => value.is_none(),
        Test::Number => value.is_number(),
        Test::String => value.kind() == ValueKind::String,
        Test::Boolean => value.kind() == ValueKind::Bool,
        Test::Sequence => is_list(value),
        Test::Mapping => value.kind() == ValueKind::Map,
        Test::In | Test::Eq | Test::Ne | Test::Lt | Test::Le | Test::Gt | Test::Ge => match test.comparison() {
            Some(comparison) => holds(comparison, value, other.unwrap_or(&Value::UNDEFINED), budget)?,
            None => false,
        },
    })
}

/// `range(stop)`, `range(start, stop, step)`.
pub(super) fn range(arguments: &[Option<Value>], budget: &mut Budget) -> Result<Value, FillStop> {
    let whole = |index: usize| match arguments.get(index).and_then(Option::as_ref) {
        Some(value) => match value.as_i64().filter(|_| value.is_integer()) {
            Some(whole) => Ok(Some(i128::from(whole))),
            None => Err(FillStop::failed(format!("range takes whole numbers; this is {}", kind_and_value(value)))),
        },
        None => Ok(None),
    };
    let (first, second, step) = (whole(0)?.unwrap_or(0), whole(1)?, whole(2)?.unwrap_or(1));
    let (start, stop) = second.map_or((0, first), |stop| (first, stop));
    if step == 0 {
        return Err(FillStop::failed("range cannot count in steps of 0"));
    }
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    budget.list(usize::try_from(count).unwrap_or(usize::MAX))?;
    (0..count).map(|index| Number::Whole(start + index * step).into_value()).collect::<Result<Vec<_>, _>>().map(Into::into)
}

/// `x[start:stop:step]` of a list or a text, counted as in Python.
pub(super) fn slice(value: &Value, bounds: &[Option<Value>; 3], budget: &mut Budget) -> Result<Value, FillStop> {
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        *number = match bound.as_ref().filter(|bound| !bound.is_none()) {
            Some(bound) => Some(
                bound
                    .as_i64()
                    .filter(|_| bound.is_integer())
                    .ok_or_else(|| FillStop::failed(format!("[from:to] takes whole numbers; this is {}", kind(bound))))?,
            ),
            None => None,
        };
    }
    if let Some(text) = value.as_str() {
        return part(text, numbers, budget).map(Value::from);
    }
    if value.is_none() {
        return Ok(value.clone());
    }
    if !is_list(value) {
        return Err(FillStop::failed(format!("[from:to] takes a part of a list or a text; this is {}", kind(value))));
    }
    budget.elements(value.len().unwrap_or(0))?;
    let items: Vec<Value> = value.try_iter().into_iter().flatten().collect();
    let kept = picked(&items, numbers)?;
    budget.list(kept.len())?;
    Ok(kept.into())
}

/// A part of a text, however long that is.
fn part(text: &str, numbers: [Option<i64>; 3], budget: &mut Budget) -> Result<String, FillStop> {
    let [start, stop, None | Some(1)] = numbers else {
        budget.bytes(text.len())?;
        let characters: Vec<char> = text.chars().collect();
        let part: String = picked(&characters, numbers)?.into_iter().collect();
        return budget.bytes(part.len()).map(|()| part);
    };
    // Only as much as lies before such a place is read; behind it, where it counts from the end.
    let mut place = |at: i64| {
        let count = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        let (place, read) = if at < 0 {
            let place = text.char_indices().nth_back(count - 1).map_or(0, |(place, _)| place);
            (place, text.len() - place)
        } else {
            let place = text.char_indices().nth(count).map_or(text.len(), |(place, _)| place);
            (place, place)
        };
        budget.bytes(read).map(|()| place)
    };
    let (start, stop) = (start.map_or(Ok(0), &mut place)?, stop.map_or(Ok(text.len()), &mut place)?);
    let part = text.get(start..stop.max(start)).unwrap_or_default();
    budget.bytes(part.len())?;
    Ok(part.to_owned())
}

fn picked<T: Clone>(items: &[T], [start, stop, step]: [Option<i64>; 3]) -> Result<Vec<T>, FillStop> {
    let length = items.len() as i64;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(FillStop::failed("[from:to:step] cannot count in steps of 0"));
    }
    let (lowest, highest) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(lowest, highest);
    let start = start.map_or(if step > 0 { lowest } else { highest }, place);
    let stop = stop.map_or(if step > 0 { highest } else { lowest }, place);
    let mut kept = vec![];
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        kept.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Ok(kept)
}
