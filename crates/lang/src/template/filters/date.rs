//! The filters `date` and `number`: a date or a time, in the run's time zone, and a number, as people write them.

use std::fmt::Write;
use std::str::FromStr;

use chrono::DateTime;
use chrono::format::{Fixed, Item, Numeric, StrftimeItems};
use chrono_tz::Tz;

use super::super::Value;
use super::super::languages::{DateName, DateStyle, Language, MOST_PLACES};
use super::super::number::Number;
use super::super::print::{kind_and_value, shortened};
use super::super::stop::FillStop;
use super::call::FilterCall;
use crate::model::PlainMoment;

/// Longest format, in bytes.
const LONGEST: usize = 256;

/// Whether a format can be used; formats are those of strftime, as chrono knows them.
pub(super) fn check_date_format(format: &Value) -> Result<(), FillStop> {
    let Some(format) = format.as_str() else {
        return Err(FillStop::failed(format!("the format of date is a text such as \"%d %B %Y\", not {}", kind_and_value(format))));
    };
    if format.len() > LONGEST {
        return Err(FillStop::failed("the format of date has more than 256 bytes"));
    }
    if DateStyle::from_str(format).is_ok() {
        return Ok(());
    }
    if !format.contains('%') {
        let letters = [
            ("YYYY", "%Y"),
            ("yyyy", "%Y"),
            ("YY", "%y"),
            ("MM", "%m"),
            ("DD", "%d"),
            ("dd", "%d"),
            ("HH", "%H"),
            ("mm", "%M"),
            ("ss", "%S"),
        ];
        let meant = letters.iter().fold(format.to_owned(), |format, (other, ours)| format.replace(other, ours));
        let write = if meant.contains('%') { format!("\"{meant}\"") } else { "one such as \"%d.%m.%Y\"".to_owned() };
        let message = format!("the format \"{}\" of date has no \"%\", so it prints as it is", shortened(format));
        return Err(FillStop::failed(message).help(format!("write {}", shortened(&write))));
    }
    if StrftimeItems::new(format).any(|item| matches!(item, Item::Error)) {
        return Err(FillStop::failed(format!(
            "the format \"{}\" of date has a \"%\" that means nothing; write \"%%\" for the sign itself",
            shortened(format)
        )));
    }
    Ok(())
}

/// What can be read as a date or a time.
pub(super) const MOMENT: &str = "a date such as 2026-11-18 or a time such as 2026-11-18 09:00 or 2026-11-18T09:00:00Z";

/// Takes what [`PlainMoment`] reads; the second argument is a language, English where there is none.
pub(super) fn date(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let Some(format) = call.argument(0) else { return Err(FillStop::failed("the filter date needs its format")) };
    check_date_format(format)?;
    let format = format.as_str().unwrap_or_default();
    let language = call.text_argument(1)?.map(Language::from_code).transpose()?;
    let zone = time_zone(&call)?;
    let Some(moment) = call.value.as_str().and_then(PlainMoment::parse) else { return Err(call.wrong_value(MOMENT)) };
    let time = moment.in_zone(zone);
    let shown = match (DateStyle::from_str(format), language) {
        (Ok(style), Some(language)) => language.date(style, time.date_naive())?,
        (Ok(style), None) => Language::from_code("en")?.date(style, time.date_naive())?,
        (Err(_), Some(language)) => in_language(&time, format, &language)?,
        (Err(_), None) => written(&time, StrftimeItems::new(format), format)?,
    };
    call.give(shown)
}

fn written<'f>(time: &DateTime<Tz>, items: impl Iterator<Item = Item<'f>> + Clone, format: &str) -> Result<String, FillStop> {
    let mut shown = String::new();
    write!(shown, "{}", time.format_with_items(items))
        .map_err(|_| FillStop::failed(format!("the format \"{}\" cannot show this date", shortened(format))))?;
    Ok(shown)
}

/// With the names of days and months in a language.
fn in_language(time: &DateTime<Tz>, format: &str, language: &Language) -> Result<String, FillStop> {
    let items: Vec<Item> = StrftimeItems::new(format).collect();
    let with_day = items.iter().any(|item| matches!(item, Item::Numeric(Numeric::Day, _)));
    let named = |item: &Item<'_>| match item {
        Item::Fixed(Fixed::LongWeekdayName) => Some(DateName::Weekday),
        Item::Fixed(Fixed::ShortWeekdayName) => Some(DateName::WeekdayShort),
        Item::Fixed(Fixed::LongMonthName) => Some(DateName::Month),
        Item::Fixed(Fixed::ShortMonthName) => Some(DateName::MonthShort),
        _ => None,
    };
    items.iter().try_fold(String::new(), |shown, item| {
        let next = match named(item) {
            Some(name) => language.name(name, with_day, time.date_naive())?,
            None => written(time, std::iter::once(item.clone()), format)?,
        };
        Ok(shown + &next)
    })
}

/// The filter `number`: a number with so many places behind the decimal sign, in a language.
pub(super) fn number(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let Some(number) = Number::from_value(&call.value) else { return Err(call.wrong_value("a number")) };
    let count = |index: usize| match call.whole_argument(index)? {
        Some(count) if !(0..=MOST_PLACES).contains(&count) => {
            Err(call.wrong_argument(index, &format!("0 to {MOST_PLACES}"), &Value::from(count)))
        }
        count => Ok(count),
    };
    let (places, width) = (count(0)?, count(2)?);
    let shown = Language::from_code(call.text_argument(1)?.unwrap_or("en"))?.number(number, places, width)?;
    call.give(shown)
}

pub(super) fn time_zone(call: &FilterCall<'_>) -> Result<Tz, FillStop> {
    let zone = call.scope.value("run").and_then(|run| run.get_attr("time_zone").ok()).unwrap_or_default();
    match zone.as_str() {
        Some(name) if !name.is_empty() => name
            .parse()
            .map_err(|_| FillStop::failed(format!("\"{}\" is not a time zone; write one such as Europe/Berlin", shortened(name)))),
        _ => Ok(Tz::UTC),
    }
}
