//! What a filter is, and one use of it.

use std::sync::Arc;

use super::super::Value;
use super::super::budget::Budget;
use super::super::number::Number;
use super::super::print::{kind, kind_and_value, printed};
use super::super::scope::Scope;
use super::super::stop::FillStop;
use super::elements::list_of;

/// A filter.
#[derive(Debug)]
pub(in super::super) struct Filter {
    /// What authors write.
    pub(in super::super) name: &'static str,
    /// The names of what it takes, in order.
    pub(in super::super) parameters: &'static [&'static str],
    /// How many of them must be given.
    pub(in super::super) required: usize,
    /// What it takes before the `|`.
    pub(in super::super) takes: super::FilterInput,
    /// What it gives.
    pub(in super::super) gives: super::Gives,
    /// What its first argument takes.
    pub(in super::super) first: super::FilterInput,
    /// Says what is wrong with a first argument that is written out.
    pub(in super::super) check: fn(&Value) -> Result<(), FillStop>,
    /// How it is written, where `check` says anything.
    pub(in super::super) example: &'static str,
    pub(super) run: fn(FilterCall<'_>) -> Result<Value, FillStop>,
}

impl Filter {
    /// What it is given under a name.
    pub(in super::super) fn argument<'a, T>(&self, arguments: &'a [Option<T>], name: &str) -> Option<&'a T> {
        arguments.get(self.parameters.iter().position(|known| *known == name)?)?.as_ref()
    }

    /// Whether it reads the run's time zone on its own.
    pub(in super::super) fn needs_time_zone(&self) -> bool {
        self.takes == super::FilterInput::Moment
    }

    pub(super) const fn checked(
        self,
        first: super::FilterInput,
        check: fn(&Value) -> Result<(), FillStop>,
        example: &'static str,
    ) -> Filter {
        Filter { first, check, example, ..self }
    }

    /// Runs it.
    pub(in super::super) fn run(
        &'static self,
        value: Value,
        arguments: &[Option<Value>],
        budget: &mut Budget,
        scope: &Scope,
    ) -> Result<Value, FillStop> {
        (self.run)(FilterCall { filter: self, value, arguments, budget, scope })
    }
}

/// One use of a filter.
pub(super) struct FilterCall<'a> {
    pub(super) filter: &'static Filter,
    pub(super) value: Value,
    pub(super) arguments: &'a [Option<Value>],
    pub(super) budget: &'a mut Budget,
    pub(super) scope: &'a Scope,
}

impl<'a> FilterCall<'a> {
    pub(super) fn argument(&self, index: usize) -> Option<&'a Value> {
        self.arguments.get(index)?.as_ref().filter(|value| !value.is_none())
    }

    pub(super) fn text_argument(&self, index: usize) -> Result<Option<&'a str>, FillStop> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| self.wrong_argument(index, "a text", value));
        self.argument(index).map(text).transpose()
    }

    pub(super) fn whole_argument(&self, index: usize) -> Result<Option<i64>, FillStop> {
        let whole = |value: &Value| match Number::from_value(value) {
            Some(Number::Whole(whole)) => i64::try_from(whole).map_err(|_| self.wrong_argument(index, "a smaller number", value)),
            _ => Err(self.wrong_argument(index, "a whole number", value)),
        };
        self.argument(index).map(whole).transpose()
    }

    pub(super) fn flag(&self, index: usize) -> bool {
        self.argument(index).is_some_and(Value::is_true)
    }

    pub(super) fn wrong_argument(&self, index: usize, wanted: &str, found: &Value) -> FillStop {
        let name = self.filter.parameters.get(index).copied().unwrap_or_default();
        FillStop::failed(format!("{} of the filter {} must be {wanted}; it is {}", name, self.filter.name, kind_and_value(found)))
    }

    /// The value as a text, of which all is read: texts, numbers, true, false and empty have one. It may be longer than what a filter may make.
    pub(super) fn text(&mut self) -> Result<Arc<str>, FillStop> {
        let text = self.text_to_cut()?;
        self.budget.bytes(text.len())?;
        Ok(text)
    }

    /// The same for filters that read only a part of it, and pay for that.
    pub(super) fn text_to_cut(&self) -> Result<Arc<str>, FillStop> {
        match self.value.to_str() {
            Some(text) => Ok(text),
            None if matches!(kind(&self.value), "a list" | "an object") => Err(self.wrong_value("a text")),
            None => printed(&self.value).map(Into::into),
        }
    }

    /// Gives a text that it made. Of a text that is too long already it may make a shorter one.
    pub(super) fn give(self, text: String) -> Result<Value, FillStop> {
        match self.value.as_str().is_some_and(|own| text.len() <= own.len()) {
            true => self.budget.bytes(text.len())?,
            false => self.budget.text(text.len())?,
        }
        Ok(Value::from(text))
    }

    /// The value as a list; empty is a list of nothing.
    pub(super) fn list(&mut self) -> Result<Vec<Value>, FillStop> {
        list_of(&self.value, self.budget)?.ok_or_else(|| self.wrong_value("a list"))
    }

    pub(super) fn wrong_value(&self, wanted: &str) -> FillStop {
        FillStop::failed(format!("the filter {} takes {wanted}; this is {}", self.filter.name, kind_and_value(&self.value)))
    }
}
