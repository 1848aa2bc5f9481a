//! The filter `date`: a date or a time as people write it, in the run's time zone.

use std::fmt::Write;

use chrono::format::{Item, StrftimeItems};
use chrono_tz::Tz;

use super::super::Value;
use super::super::print::{kind_and_value, shortened};
use super::super::stop::FillStop;
use super::call::FilterCall;
use crate::model::Moment;

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

/// Takes what [`Moment`] reads.
pub(super) fn date(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let Some(format) = call.argument(0) else { return Err(FillStop::failed("the filter date needs its format")) };
    check_date_format(format)?;
    let format = format.as_str().unwrap_or_default();
    let zone = time_zone(&call)?;
    let Some(moment) = call.value.as_str().and_then(Moment::of) else { return Err(call.wrong_value(MOMENT)) };
    let time = moment.in_zone(zone);
    let mut shown = String::new();
    write!(shown, "{}", time.format(format))
        .map_err(|_| FillStop::failed(format!("the format \"{}\" cannot show this date", shortened(format))))?;
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
