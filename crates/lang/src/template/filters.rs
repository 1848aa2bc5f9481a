//! The filters authors may use, all of them, with what each takes. None has an effect; each pays for its size.

mod date;
mod list;
mod markdown;
mod order;
mod text;

pub(super) use date::check_date_format;
pub(super) use list::{field, list_of, no_field};
pub(super) use order::{compare, equal};

use super::Value;
use super::budget::Budget;
use super::fill::Scope;
use super::number::Number;
use super::print::{kind, kind_and_value, printed};
use super::stop::Stop;

/// A filter.
#[derive(Debug)]
pub(super) struct Filter {
    /// What authors write.
    pub(super) name: &'static str,
    /// The names of what it takes, in order.
    pub(super) parameters: &'static [&'static str],
    /// How many of them must be given.
    pub(super) required: usize,
    run: fn(Call<'_>) -> Result<Value, Stop>,
}

const fn filter(
    name: &'static str,
    parameters: &'static [&'static str],
    required: usize,
    run: fn(Call<'_>) -> Result<Value, Stop>,
) -> Filter {
    Filter { name, parameters, required, run }
}

/// The filters that are a plain function of a value.
static FILTERS: &[Filter] = &[
    filter("default", &["default_value", "boolean"], 0, default),
    filter("join", &["separator", "attribute"], 0, list::join),
    filter("split", &["separator", "maxsplits"], 0, text::split),
    filter("length", &[], 0, list::length),
    filter("upper", &[], 0, text::upper),
    filter("lower", &[], 0, text::lower),
    filter("title", &[], 0, text::title),
    filter("trim", &["characters"], 0, text::trim),
    filter("replace", &["old", "new"], 2, text::replace),
    filter("truncate", &["length", "killwords", "end"], 0, text::truncate),
    filter("round", &["precision", "method"], 0, round),
    filter("int", &["default"], 0, int),
    filter("float", &["default"], 0, float),
    filter("first", &[], 0, list::first),
    filter("last", &[], 0, list::last),
    filter("sort", &["reverse", "case_sensitive", "attribute"], 0, list::sort),
    filter("unique", &["case_sensitive", "attribute"], 0, list::unique),
    filter("sum", &["attribute"], 0, list::sum),
    filter("min", &["attribute"], 0, list::min),
    filter("max", &["attribute"], 0, list::max),
    filter("items", &[], 0, list::items),
    filter("tojson", &["indent"], 0, text::tojson),
    filter("date", &["format"], 1, date::date),
    filter("table", &[], 0, markdown::table),
    filter("bullets", &[], 0, markdown::bullets),
    filter("escape_markdown", &[], 0, markdown::escape_markdown),
];

/// The filters that the tree has forms of its own for, since they run another filter or test.
const OVER_LISTS: &[&str] = &["map", "selectattr", "rejectattr"];

/// The filter of this name that is a plain function.
pub(super) fn named(name: &str) -> Option<&'static Filter> {
    FILTERS.iter().find(|filter| filter.name == name)
}

/// Whether authors may use a filter of this name.
pub(super) fn is_known(name: &str) -> bool {
    names().contains(&name)
}

/// The names of all filters, each with the names of what it takes.
pub fn listed() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    const NOTHING: &[&str] = &[];
    FILTERS.iter().map(|filter| (filter.name, filter.parameters)).chain(OVER_LISTS.iter().map(|name| (*name, NOTHING)))
}

/// The names of all filters.
pub(super) fn names() -> Vec<&'static str> {
    FILTERS.iter().map(|filter| filter.name).chain(OVER_LISTS.iter().copied()).collect()
}

impl Filter {
    /// Runs it.
    pub(super) fn run(&'static self, value: Value, arguments: &[Option<Value>], budget: &mut Budget, scope: &Scope) -> Result<Value, Stop> {
        (self.run)(Call { filter: self, value, arguments, budget, scope })
    }
}

/// One use of a filter.
pub(super) struct Call<'a> {
    filter: &'static Filter,
    value: Value,
    arguments: &'a [Option<Value>],
    budget: &'a mut Budget,
    scope: &'a Scope,
}

impl Call<'_> {
    fn argument(&self, index: usize) -> Option<&Value> {
        self.arguments.get(index)?.as_ref().filter(|value| !value.is_none())
    }

    fn text_argument(&self, index: usize) -> Result<Option<&str>, Stop> {
        match self.argument(index) {
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(self.wrong_argument(index, "a text", value)),
            },
            None => Ok(None),
        }
    }

    fn whole_argument(&self, index: usize) -> Result<Option<i64>, Stop> {
        match self.argument(index) {
            Some(value) => match Number::of(value) {
                Some(Number::Whole(whole)) => {
                    i64::try_from(whole).map(Some).map_err(|_| self.wrong_argument(index, "a smaller number", value))
                }
                _ => Err(self.wrong_argument(index, "a whole number", value)),
            },
            None => Ok(None),
        }
    }

    fn flag(&self, index: usize) -> bool {
        self.argument(index).is_some_and(Value::is_true)
    }

    fn wrong_argument(&self, index: usize, wanted: &str, found: &Value) -> Stop {
        let name = self.filter.parameters.get(index).copied().unwrap_or_default();
        Stop::failed(format!("{} of the filter {} must be {wanted}; it is {}", name, self.filter.name, kind_and_value(found)))
    }

    /// The value as a text: texts, numbers, true, false and empty have one.
    fn text(&mut self) -> Result<String, Stop> {
        let text = match self.value.as_str() {
            Some(text) => {
                self.budget.text(text.len())?;
                text.to_owned()
            }
            None if matches!(kind(&self.value), "a list" | "an object") => return Err(self.wrong_value("a text")),
            None => printed(&self.value)?,
        };
        Ok(text)
    }

    /// The value as a list; empty is a list of nothing.
    fn list(&mut self) -> Result<Vec<Value>, Stop> {
        match list_of(&self.value, self.budget)? {
            Some(list) => Ok(list),
            None => Err(self.wrong_value("a list")),
        }
    }

    fn wrong_value(&self, wanted: &str) -> Stop {
        Stop::failed(format!("the filter {} takes {wanted}; this is {}", self.filter.name, kind_and_value(&self.value)))
    }
}

/// `default(other, true)`; the missing value itself is caught before a filter runs.
fn default(call: Call<'_>) -> Result<Value, Stop> {
    if call.flag(1) && !call.value.is_true() { Ok(call.argument(0).cloned().unwrap_or_else(|| Value::from(""))) } else { Ok(call.value) }
}

fn round(call: Call<'_>) -> Result<Value, Stop> {
    let places = call.whole_argument(0)?.unwrap_or(0).clamp(-300, 300) as i32;
    let method = call.text_argument(1)?.unwrap_or("common");
    let number = match Number::of(&call.value) {
        Some(Number::Whole(_)) if places >= 0 => return Ok(call.value),
        Some(number) => number.float(),
        None => return Err(call.wrong_value("a number")),
    };
    let factor = 10f64.powi(places);
    let scaled = number * factor;
    let rounded = match method {
        "common" => scaled.round(),
        "ceil" => scaled.ceil(),
        "floor" => scaled.floor(),
        _ => return Err(Stop::failed("method of the filter round is one of: common, ceil, floor")),
    };
    match rounded / factor {
        whole if places <= 0 && whole.abs() < 9e15 => Ok(Value::from(whole as i64)),
        // A number with more digits than the rounding asks for stays as it is.
        result if !result.is_finite() => Ok(call.value),
        result => Ok(Value::from(result)),
    }
}

fn int(call: Call<'_>) -> Result<Value, Stop> {
    let number = match number_in(&call.value) {
        Some(Number::Float(float)) if float.abs() < 1e30 => Some(Number::Whole(float.trunc() as i128)),
        Some(Number::Float(_)) => None,
        whole => whole,
    };
    match (number, call.argument(0)) {
        (Some(number), _) => number.into_value(),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(call.wrong_value("a number, or a text that holds one")),
    }
}

fn float(call: Call<'_>) -> Result<Value, Stop> {
    match (number_in(&call.value), call.argument(0)) {
        (Some(number), _) => Number::Float(number.float()).into_value(),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(call.wrong_value("a number, or a text that holds one")),
    }
}

fn number_in(value: &Value) -> Option<Number> {
    match value.as_str() {
        Some(text) => Number::parse(text),
        None if kind(value) == "true or false" => Some(Number::Whole(value.is_true().into())),
        None => Number::of(value),
    }
}
