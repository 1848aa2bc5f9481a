//! The filters authors may use, all of them, with what each takes. None has an effect; each pays for its size.

mod call;
mod date;
mod elements;
mod list;
mod markdown;
mod moments;
mod order;
mod pattern;
mod signature;
mod text;

pub(super) use call::Filter;
pub(super) use elements::{field, list_of, no_field};
pub(super) use order::{compare, equal};
pub(super) use signature::{FilterInput, FirstArgument, Gives, Respelling};

use fixed_decimal::SignedRoundingMode;

use super::Value;
use super::number::{HALF_AWAY, Number};
use super::print::kind;
use super::stop::FillStop;
use call::FilterCall;

const fn filter(
    name: &'static str,
    parameters: &'static [&'static str],
    required: usize,
    (takes, gives): (FilterInput, Gives),
    run: fn(FilterCall<'_>) -> Result<Value, FillStop>,
) -> Filter {
    Filter { name, parameters, required, takes, gives, first: FilterInput::Anything, check: anything, example: "", run }
}

fn anything(_: &Value) -> Result<(), FillStop> {
    Ok(())
}

/// The filters that are a plain function of a value.
static FILTERS: &[Filter] = &[
    filter("default", &["default_value", "boolean"], 0, (FilterInput::Anything, Gives::Same), default),
    filter("join", &["separator", "attribute"], 0, (FilterInput::Elements, Gives::Text), list::join),
    filter("split", &["separator", "maxsplits"], 0, (FilterInput::Printable, Gives::Texts), text::split),
    filter("length", &[], 0, (FilterInput::Counted, Gives::Count), list::length),
    filter("upper", &[], 0, (FilterInput::Printable, Gives::Spelled(Respelling::Capital)), text::upper),
    filter("lower", &[], 0, (FilterInput::Printable, Gives::Spelled(Respelling::Small)), text::lower),
    filter("title", &[], 0, (FilterInput::Printable, Gives::Text), text::title),
    filter("trim", &["characters"], 0, (FilterInput::Printable, Gives::Spelled(Respelling::Trimmed)), text::trim),
    filter("replace", &["old", "new"], 2, (FilterInput::Printable, Gives::Text), text::replace),
    filter("truncate", &["length", "killwords", "end"], 0, (FilterInput::Printable, Gives::Text), text::truncate),
    filter("round", &["precision", "method"], 0, (FilterInput::Number, Gives::Number), round),
    filter("int", &["default"], 0, (FilterInput::Numeral, Gives::Number), int),
    filter("float", &["default"], 0, (FilterInput::Numeral, Gives::Number), float),
    filter("first", &[], 0, (FilterInput::Counted, Gives::Element), list::first),
    filter("last", &[], 0, (FilterInput::Counted, Gives::Element), list::last),
    filter("sort", &["reverse", "case_sensitive", "attribute"], 0, (FilterInput::Elements, Gives::Elements), list::sort),
    filter("unique", &["case_sensitive", "attribute"], 0, (FilterInput::Elements, Gives::Elements), list::unique),
    filter("sum", &["attribute"], 0, (FilterInput::Numbers, Gives::Number), list::sum),
    filter("min", &["attribute"], 0, (FilterInput::Elements, Gives::Element), list::min),
    filter("max", &["attribute"], 0, (FilterInput::Elements, Gives::Element), list::max),
    filter("items", &[], 0, (FilterInput::Pairs, Gives::Pairs), list::items),
    filter("tojson", &["indent"], 0, (FilterInput::Anything, Gives::Text), text::tojson),
    filter("reverse", &[], 0, (FilterInput::Sequence, Gives::Same), list::reverse),
    filter("list", &[], 0, (FilterInput::Counted, Gives::Elements), list::list),
    filter("groupby", &["attribute", "default", "case_sensitive"], 1, (FilterInput::Rows, Gives::Groups), list::groupby),
    filter("string", &[], 0, (FilterInput::Anything, Gives::Spelled(Respelling::Kept)), text::string),
    filter("fromjson", &[], 0, (FilterInput::Json, Gives::Anything), text::fromjson),
    filter("regex_replace", &["pattern", "replacement"], 2, (FilterInput::Printable, Gives::Text), pattern::regex_replace).checked(
        FilterInput::Text,
        pattern::check_pattern,
        "regex_replace(\"[0-9]+\", \"#\")",
    ),
    filter("number", &["places", "language", "width"], 0, (FilterInput::Number, Gives::Text), date::number),
    filter("date", &["format", "language"], 1, (FilterInput::Moment, Gives::DateText), date::date).checked(
        FilterInput::Text,
        date::check_date_format,
        "",
    ),
    filter("days", &["count"], 1, (FilterInput::Moment, Gives::Moment), moments::days).checked(
        FilterInput::Number,
        moments::check_count,
        "days(-7)",
    ),
    filter("weeks", &["count"], 1, (FilterInput::Moment, Gives::Moment), moments::weeks).checked(
        FilterInput::Number,
        moments::check_count,
        "weeks(-1)",
    ),
    filter("months", &["count"], 1, (FilterInput::Moment, Gives::Moment), moments::months).checked(
        FilterInput::Number,
        moments::check_count,
        "months(1)",
    ),
    filter("start_of", &["period"], 1, (FilterInput::Moment, Gives::Moment), moments::start_of).checked(
        FilterInput::Text,
        moments::check_period,
        "start_of(\"month\")",
    ),
    filter("days_until", &["other"], 1, (FilterInput::Moment, Gives::Number), moments::days_until).checked(
        FilterInput::Moment,
        anything,
        "",
    ),
    filter("table", &[], 0, (FilterInput::Rows, Gives::Text), markdown::table),
    filter("bullets", &[], 0, (FilterInput::Elements, Gives::Text), markdown::bullets),
    filter("escape_markdown", &[], 0, (FilterInput::Printable, Gives::Text), markdown::escape_markdown),
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
    let places = call.whole_argument(0)?.unwrap_or(0).clamp(-300, 300) as i16;
    let mode = match call.text_argument(1)?.unwrap_or("common") {
        "common" => HALF_AWAY,
        "ceil" => SignedRoundingMode::Ceil,
        "floor" => SignedRoundingMode::Floor,
        _ => return Err(FillStop::failed("method of the filter round is one of: common, ceil, floor")),
    };
    let mut decimal = match Number::from_value(&call.value) {
        Some(Number::Whole(_)) if places >= 0 => return Ok(call.value),
        Some(number) => number.decimal().ok_or_else(|| call.wrong_value("a number"))?,
        None => return Err(call.wrong_value("a number")),
    };
    decimal.round_with_mode(-places, mode);
    match decimal.to_string().parse::<f64>() {
        Ok(whole) if places <= 0 && whole.abs() < 9e15 => Ok(Value::from(whole as i64)),
        Ok(result) => Number::Float(result).into_value(),
        Err(_) => Ok(call.value),
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
        None => Number::from_value(value),
    }
}
