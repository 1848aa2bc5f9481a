//! The filters authors may use, all of them, with what each takes. None has an effect; each pays for its size.

mod call;
mod date;
mod elements;
mod list;
mod markdown;
mod order;
mod text;

pub(super) use call::Filter;
pub(super) use date::check_date_format;
pub(super) use elements::{field, list_of, no_field};
pub(super) use order::{compare, equal};

use super::Value;
use super::number::Number;
use super::print::kind;
use super::stop::FillStop;
use call::FilterCall;

const fn filter(
    name: &'static str,
    parameters: &'static [&'static str],
    required: usize,
    run: fn(FilterCall<'_>) -> Result<Value, FillStop>,
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

/// `default(other, true)`; the missing value itself is caught before a filter runs.
fn default(call: FilterCall<'_>) -> Result<Value, FillStop> {
    if call.flag(1) && !call.value.is_true() { Ok(call.argument(0).cloned().unwrap_or_else(|| Value::from(""))) } else { Ok(call.value) }
}

fn round(call: FilterCall<'_>) -> Result<Value, FillStop> {
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
        _ => return Err(FillStop::failed("method of the filter round is one of: common, ceil, floor")),
    };
    match rounded / factor {
        whole if places <= 0 && whole.abs() < 9e15 => Ok(Value::from(whole as i64)),
        // A number with more digits than the rounding asks for stays as it is.
        result if !result.is_finite() => Ok(call.value),
        result => Ok(Value::from(result)),
    }
}

fn int(call: FilterCall<'_>) -> Result<Value, FillStop> {
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

fn float(call: FilterCall<'_>) -> Result<Value, FillStop> {
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
