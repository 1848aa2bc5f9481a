//! Filling: walks the tree with the values of a scope.
//!
//! Strictness is one rule: what is not there is a [`FillStop`] that is missing. A path hands it on, `default` and `is defined`
//! catch it, everything else hardens it into a mistake.

use minijinja::machinery::ast::CompareOpKind;
use minijinja::value::ValueKind;

use crate::diagnostic::did_you_mean;

use super::Value;
use super::budget::Budget;
use super::filters::{self, field, list_of};
use super::operators::{calculate, concatenate, holds, negative, passes, range, slice};
use super::print::{PrintedText, key_text, kind, kind_and_value, too_deep};
use super::scope::Scope;
use super::stop::FillStop;
use super::tree::{Expr, FilterArguments, For, LoopField, SourceRange, Statement, Test};
use super::value::{StepValue, is_nothing};

/// How many keys of an object are looked at for a name an author may have meant.
const KEYS_LOOKED_AT: usize = 100;

/// One filling.
pub(super) struct Evaluation<'a> {
    scope: &'a Scope,
    locals: Vec<Value>,
    loops: Vec<Loop>,
    budget: Budget,
    /// The expression at work, for the place of an error.
    pub(super) at: SourceRange,
}

/// A loop at work.
struct Loop {
    index: usize,
    elements: Vec<Value>,
}

/// What statements are filled into.
pub(super) trait Sink {
    /// Adds a piece of the author's text.
    fn push(&mut self, piece: &str) -> Result<(), FillStop>;

    /// Notes an expression whose value comes next, or decides how often what comes next is repeated.
    fn comes_from(&mut self, _: &Expr) {}

    /// Adds a value.
    fn print(&mut self, value: &Value) -> Result<(), FillStop>;
}

impl Sink for PrintedText {
    fn push(&mut self, piece: &str) -> Result<(), FillStop> {
        PrintedText::push(self, piece)
    }

    fn print(&mut self, value: &Value) -> Result<(), FillStop> {
        PrintedText::print(self, value)
    }
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(scope: &'a Scope) -> Evaluation<'a> {
        Evaluation { scope, locals: vec![], loops: vec![], budget: Budget::new(), at: (0, 0) }
    }

    /// Fills statements into a text.
    pub(super) fn statements(&mut self, nodes: &[Statement], output: &mut dyn Sink) -> Result<(), FillStop> {
        for node in nodes {
            self.budget.step()?;
            match node {
                Statement::Raw(text) => output.push(text)?,
                Statement::Print(expression, at) => {
                    self.at = *at;
                    self.print(expression, output)?;
                }
                Statement::If(branches, otherwise) => {
                    let mut body = otherwise;
                    for branch in branches {
                        self.at = branch.at;
                        if self.value(&branch.condition)?.is_true() {
                            body = &branch.body;
                            break;
                        }
                    }
                    self.statements(body, output)?;
                }
                Statement::For(repeat) => self.repeat(repeat, output)?,
            }
        }
        Ok(())
    }

    /// Fills in what an expression gives.
    pub(super) fn print(&mut self, expression: &Expr, output: &mut dyn Sink) -> Result<(), FillStop> {
        let value = self.value(expression)?;
        output.comes_from(expression);
        output.print(&value)
    }

    fn repeat(&mut self, repeat: &For, output: &mut dyn Sink) -> Result<(), FillStop> {
        self.at = repeat.at;
        let list = self.value(&repeat.list)?;
        output.comes_from(&repeat.list);
        let Some(mut elements) = list_of(&list, &mut self.budget)? else {
            return Err(FillStop::failed(format!("for goes through a list; this is {}", kind_and_value(&list))));
        };
        let before = self.locals.len();
        if let Some(condition) = &repeat.condition {
            let mut kept = vec![];
            for element in elements {
                self.spread(repeat, &element)?;
                if self.value(condition)?.is_true() {
                    kept.push(element);
                }
                self.locals.truncate(before);
            }
            elements = kept;
        }
        if elements.is_empty() {
            return self.statements(&repeat.otherwise, output);
        }
        self.loops.push(Loop { index: 0, elements });
        while let Some(element) = self.loops.last().and_then(|current| current.elements.get(current.index).cloned()) {
            self.at = repeat.at;
            self.budget.step()?;
            self.spread(repeat, &element)?;
            self.statements(&repeat.body, output)?;
            self.locals.truncate(before);
            if let Some(current) = self.loops.last_mut() {
                current.index += 1;
            }
        }
        self.loops.pop();
        Ok(())
    }

    /// Gives an element to the names of its loop.
    fn spread(&mut self, repeat: &For, element: &Value) -> Result<(), FillStop> {
        if repeat.names == 1 {
            self.locals.push(element.clone());
            return Ok(());
        }
        match element.kind() {
            ValueKind::Seq if element.len() == Some(repeat.names) => {
                self.locals.extend(element.try_iter().into_iter().flatten());
                Ok(())
            }
            _ => Err(FillStop::failed(format!(
                "an element of this list cannot be spread over {} names; it is {}",
                repeat.names,
                kind(element)
            ))),
        }
    }

    /// A value that must be there.
    pub(super) fn value(&mut self, expression: &Expr) -> Result<Value, FillStop> {
        self.expression(expression).map_err(FillStop::harden)
    }

    /// A value, or nothing where something on its path is missing.
    fn perhaps(&mut self, expression: &Expr) -> Result<Option<Value>, FillStop> {
        match self.expression(expression) {
            Ok(value) => Ok(Some(value)),
            Err(stop) if stop.is_missing => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    fn expression(&mut self, expression: &Expr) -> Result<Value, FillStop> {
        self.budget.step()?;
        match expression {
            Expr::Constant(value) => Ok(value.clone()),
            Expr::Global(_) | Expr::Local(_) | Expr::Loop(..) | Expr::Attribute(..) | Expr::Item(..) => {
                let value = self.path(expression)?;
                match value.kind() {
                    ValueKind::Map if is_nothing(&value) => Ok(Value::from(())),
                    ValueKind::Invalid => Err(too_deep()),
                    _ => Ok(value),
                }
            }
            Expr::Slice(value, bounds) => {
                let value = self.value(value)?;
                let mut given = [None, None, None];
                for (given, bound) in given.iter_mut().zip(bounds) {
                    *given = bound.as_ref().map(|bound| self.value(bound)).transpose()?;
                }
                slice(&value, &given, &mut self.budget)
            }
            Expr::Not(value) => Ok(Value::from(!self.value(value)?.is_true())),
            Expr::Negative(value) => negative(&self.value(value)?),
            Expr::And(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { self.value(right) } else { Ok(left) }
            }
            Expr::Or(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { Ok(left) } else { self.value(right) }
            }
            Expr::Arithmetic(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                calculate(*operator, &left, &right, &mut self.budget)
            }
            Expr::Concatenate(left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                concatenate(&left, &right, &mut self.budget)
            }
            Expr::Compare(first, rest) => self.compare(first, rest),
            Expr::If(choice, otherwise) => {
                let [condition, yes] = &**choice;
                match (self.value(condition)?.is_true(), otherwise) {
                    (true, _) => self.expression(yes),
                    (false, Some(no)) => self.expression(no),
                    (false, None) => Ok(Value::from(())),
                }
            }
            Expr::Missing => Err(FillStop::missing("there is no else here")),
            Expr::List(items) => {
                self.budget.list(items.len())?;
                Ok(items.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, _>>()?.into())
            }
            Expr::Map(entries) => {
                self.budget.list(entries.len())?;
                let pairs = entries.iter().map(|(key, value)| Ok((self.value(key)?, self.value(value)?)));
                Ok(Value::from_pairs(pairs.collect::<Result<Vec<(Value, Value)>, FillStop>>()?))
            }
            Expr::Range(arguments) => {
                let arguments = self.arguments(arguments)?;
                range(&arguments, &mut self.budget)
            }
            Expr::Filter(filter, value, arguments) => {
                let value = self.value(value)?;
                self.filter(filter, value, arguments)
            }
            Expr::Default(value, arguments) => self.default(value, arguments),
            Expr::Defined(value) => Ok(Value::from(self.perhaps(value)?.is_some())),
            Expr::Test(test, value, other) => {
                let value = self.value(value)?;
                let other = other.as_ref().map(|other| self.value(other)).transpose()?;
                passes(*test, &value, other.as_ref(), &mut self.budget).map(Value::from)
            }
            Expr::MapFilter(filter, list, arguments) => self.each_filtered(filter, list, arguments),
            Expr::MapAttribute(list, attribute, default) => self.each_field(list, attribute, default.as_deref()),
            Expr::Select { keep, list, attribute, test } => self.select(*keep, list, attribute, test.as_ref()),
        }
    }

    fn compare(&mut self, first: &Expr, rest: &[(CompareOpKind, Expr)]) -> Result<Value, FillStop> {
        let mut left = self.value(first)?;
        for (comparison, right) in rest {
            let right = self.value(right)?;
            if !holds(*comparison, &left, &right, &mut self.budget)? {
                return Ok(Value::from(false));
            }
            left = right;
        }
        Ok(Value::from(true))
    }

    fn default(&mut self, value: &Expr, arguments: &FilterArguments) -> Result<Value, FillStop> {
        let other = |index: usize| arguments.get(index).and_then(Option::as_ref);
        let found = self.perhaps(value)?;
        let also_empty = match other(1) {
            Some(flag) => self.value(flag)?.is_true(),
            None => false,
        };
        match found {
            Some(value) if value.is_true() || !also_empty => Ok(value),
            _ => other(0).map_or_else(|| Ok(Value::from("")), |other| self.expression(other)),
        }
    }

    fn filter(&mut self, filter: &'static filters::Filter, value: Value, arguments: &FilterArguments) -> Result<Value, FillStop> {
        let arguments = self.arguments(arguments)?;
        filter.run(value, &arguments, &mut self.budget, self.scope)
    }

    fn arguments(&mut self, arguments: &FilterArguments) -> Result<Vec<Option<Value>>, FillStop> {
        arguments.iter().map(|given| given.as_ref().map(|given| self.value(given)).transpose()).collect()
    }

    fn list(&mut self, list: &Expr, filter: &str) -> Result<Vec<Value>, FillStop> {
        let list = self.value(list)?;
        list_of(&list, &mut self.budget)?
            .ok_or_else(|| FillStop::failed(format!("the filter {filter} takes a list; this is {}", kind_and_value(&list))))
    }

    fn each_filtered(&mut self, filter: &'static filters::Filter, list: &Expr, arguments: &FilterArguments) -> Result<Value, FillStop> {
        let arguments = self.arguments(arguments)?;
        let list = self.list(list, "map")?;
        self.budget.list(list.len())?;
        let mapped =
            list.into_iter().map(|element| filter.run(element, &arguments, &mut self.budget, self.scope).map_err(FillStop::harden));
        Ok(mapped.collect::<Result<Vec<_>, _>>()?.into())
    }

    fn each_field(&mut self, list: &Expr, attribute: &Expr, default: Option<&Expr>) -> Result<Value, FillStop> {
        let list = self.list(list, "map")?;
        let attribute = self.value(attribute)?;
        let default = default.map(|default| self.value(default)).transpose()?;
        self.budget.list(list.len())?;
        let mapped = list.iter().enumerate().map(|(index, element)| {
            field(element, &attribute).or_else(|| default.clone()).ok_or_else(|| filters::no_field(index, &attribute))
        });
        Ok(mapped.collect::<Result<Vec<_>, _>>()?.into())
    }

    fn select(&mut self, keep: bool, list: &Expr, attribute: &Expr, test: Option<&(Test, Option<Box<Expr>>)>) -> Result<Value, FillStop> {
        let list = self.list(list, if keep { "selectattr" } else { "rejectattr" })?;
        let attribute = self.value(attribute)?;
        let other = match test {
            Some((_, Some(other))) => Some(self.value(other)?),
            _ => None,
        };
        // Without a test an element that lacks the attribute is left out; one that all lack is a slip.
        if test.is_none() && !list.is_empty() && list.iter().all(|element| field(element, &attribute).is_none()) {
            return Err(filters::no_field(0, &attribute));
        }
        let mut kept = vec![];
        for (index, element) in list.into_iter().enumerate() {
            let found = field(&element, &attribute);
            let passed = match (test, &found) {
                (None, found) => found.as_ref().is_some_and(Value::is_true),
                (Some((Test::Defined, _)), found) => found.is_some(),
                (Some((Test::Undefined, _)), found) => found.is_none(),
                (Some((test, _)), Some(found)) => passes(*test, found, other.as_ref(), &mut self.budget)?,
                (Some(_), None) => return Err(filters::no_field(index, &attribute)),
            };
            if passed == keep {
                kept.push(element);
            }
        }
        self.budget.list(kept.len())?;
        Ok(kept.into())
    }

    /// Goes down a path. What it gives may still be the empty refinement, below which everything is empty.
    fn path(&mut self, expression: &Expr) -> Result<Value, FillStop> {
        match expression {
            Expr::Global(name) => self.scope.value(name).cloned().ok_or_else(|| FillStop::missing(format!("\"{name}\" is not known here"))),
            Expr::Local(index) => self.locals.get(*index).cloned().ok_or_else(|| FillStop::failed("a loop's element is not known here")),
            Expr::Loop(index, loop_field) => self.loop_field(*index, *loop_field),
            Expr::Attribute(base, name) => {
                let below = self.path(base)?;
                match below.get_attr(name) {
                    Ok(found) if !found.is_undefined() => Ok(found),
                    _ => Err(missing(base, &below, name)),
                }
            }
            Expr::Item(base, key) => {
                let below = self.path(base)?;
                let key = self.expression(key)?;
                self.budget.bytes(below.as_str().map_or(0, str::len))?;
                item(&below, &key).ok_or_else(|| missing(base, &below, &key_text(&key)))
            }
            other => self.expression(other),
        }
    }

    fn loop_field(&self, index: usize, field: LoopField) -> Result<Value, FillStop> {
        let unknown = || FillStop::missing("there is no element there in this loop");
        let current = self.loops.get(index).ok_or_else(unknown)?;
        let (at, length) = (current.index, current.elements.len());
        Ok(match field {
            LoopField::Index => Value::from(at + 1),
            LoopField::Index0 => Value::from(at),
            LoopField::RevIndex => Value::from(length - at),
            LoopField::RevIndex0 => Value::from(length - at - 1),
            LoopField::First => Value::from(at == 0),
            LoopField::Last => Value::from(at + 1 == length),
            LoopField::Length => Value::from(length),
            LoopField::PrevItem => at.checked_sub(1).and_then(|at| current.elements.get(at)).cloned().ok_or_else(unknown)?,
            LoopField::NextItem => current.elements.get(at + 1).cloned().ok_or_else(unknown)?,
        })
    }
}

/// `value[key]`: the element of a list (from the end for numbers below 0), the character of a text, the field of an object.
fn item(value: &Value, key: &Value) -> Option<Value> {
    let place = |length: usize| {
        let at = key.as_i64().filter(|_| key.is_integer())?;
        usize::try_from(if at < 0 { at.saturating_add(length as i64) } else { at }).ok()
    };
    if let Some(text) = value.as_str() {
        return text.chars().nth(place(text.chars().count())?).map(Value::from);
    }
    let found = match value.kind() {
        ValueKind::Seq => value.get_item_by_index(place(value.len()?)?),
        _ => value.get_item(key),
    };
    found.ok().filter(|found| !found.is_undefined())
}

/// Says what is missing below `base`, and what to do.
fn missing(base: &Expr, below: &Value, name: &str) -> FillStop {
    let path = base.path();
    if let Some(step) = below.downcast_object_ref::<StepValue>() {
        if name == "output" {
            let how = match &*step.status {
                "skipped" | "blocked" => format!("was {}", step.status),
                "failed" => "failed".to_owned(),
                status => format!("is {status}"),
            };
            return FillStop::missing(format!("step \"{}\" {how} and has no output; add | default(\"\")", step.id));
        }
        return FillStop::missing(format!("a step has no \"{name}\"; it has output, status, error and details"));
    }
    let owner = path.map_or_else(|| "this value".to_owned(), |path| format!("\"{path}\""));
    match below.kind() {
        ValueKind::Map => {
            let keys: Vec<String> = below.try_iter().into_iter().flatten().take(KEYS_LOOKED_AT).map(|key| key_text(&key)).collect();
            let near = did_you_mean(name, keys.iter().map(String::as_str));
            let advice = near.or("; where it may be missing, add | default(…)");
            FillStop::missing(format!("{owner} has no \"{name}\"{advice}"))
        }
        ValueKind::Invalid => too_deep(),
        ValueKind::Seq => FillStop::missing(format!("{owner} is a list of {} and has no [{name}]", below.len().unwrap_or(0))),
        _ => FillStop::missing(format!("{owner} is {} and has no \"{name}\"", kind(below))),
    }
}
