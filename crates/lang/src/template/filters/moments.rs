//! Dates and times that are reckoned with: `days`, `weeks`, `months`, `start_of`, `days_until`. What was a date stays one; a time keeps its time of
//! day in the run's time zone.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat};
use chrono_tz::Tz;

use super::super::Value;
use super::super::print::kind_and_value;
use super::super::stop::FillStop;
use super::call::FilterCall;
use super::date::{MOMENT, time_zone};
use crate::model::PlainMoment;

/// The farthest a date is moved, in days, weeks or months.
const FARTHEST: i64 = 100_000;
/// What `start_of` takes.
const PERIODS: [&str; 3] = ["week", "month", "year"];

/// A date, or a time in the run's time zone.
enum DayOrTime {
    Day(NaiveDate),
    Time(NaiveDateTime, Tz),
}

impl DayOrTime {
    fn from_value(call: &FilterCall<'_>, value: &Value) -> Result<Option<DayOrTime>, FillStop> {
        Ok(match value.as_str().and_then(PlainMoment::parse) {
            None => None,
            Some(PlainMoment::Day(day)) => Some(DayOrTime::Day(day)),
            Some(moment @ (PlainMoment::Local(_) | PlainMoment::Fixed(_))) => {
                let zone = time_zone(call)?;
                Some(DayOrTime::Time(moment.in_zone(zone).naive_local(), zone))
            }
        })
    }

    fn before(call: &FilterCall<'_>) -> Result<DayOrTime, FillStop> {
        DayOrTime::from_value(call, &call.value)?.ok_or_else(|| call.wrong_value(MOMENT))
    }

    fn day(&self) -> NaiveDate {
        match self {
            DayOrTime::Day(day) => *day,
            DayOrTime::Time(time, _) => time.date(),
        }
    }

    /// The same time of another day; where clocks skip it there, the hour after it.
    fn on(self, call: FilterCall<'_>, day: Option<NaiveDate>, at: Option<NaiveTime>) -> Result<Value, FillStop> {
        let Some(day) = day.filter(|day| (0..=9999).contains(&day.year())) else {
            return Err(FillStop::failed(format!("the filter {} leaves the years 0 to 9999", call.filter.name)));
        };
        let text = match self {
            DayOrTime::Day(_) => day.format("%Y-%m-%d").to_string(),
            DayOrTime::Time(time, zone) => {
                let local = PlainMoment::Local(day.and_time(at.unwrap_or(time.time())));
                local.in_zone(zone).to_rfc3339_opts(SecondsFormat::AutoSi, true)
            }
        };
        call.give(text)
    }
}

pub(super) fn days(call: FilterCall<'_>) -> Result<Value, FillStop> {
    moved(call, by_days)
}

pub(super) fn weeks(call: FilterCall<'_>) -> Result<Value, FillStop> {
    moved(call, |day, count| by_days(day, count * 7))
}

/// The same day of another month; where that has no such day, its last one.
pub(super) fn months(call: FilterCall<'_>) -> Result<Value, FillStop> {
    moved(call, |day, count| {
        let months = Months::new(u32::try_from(count.unsigned_abs()).ok()?);
        if count < 0 { day.checked_sub_months(months) } else { day.checked_add_months(months) }
    })
}

fn by_days(day: NaiveDate, count: i64) -> Option<NaiveDate> {
    let days = Days::new(count.unsigned_abs());
    if count < 0 { day.checked_sub_days(days) } else { day.checked_add_days(days) }
}

fn moved(call: FilterCall<'_>, by: fn(NaiveDate, i64) -> Option<NaiveDate>) -> Result<Value, FillStop> {
    let Some(count) = call.whole_argument(0)? else {
        return Err(FillStop::failed(format!("the filter {} needs a number, such as {}(-7)", call.filter.name, call.filter.name)));
    };
    if count.unsigned_abs() > FARTHEST.unsigned_abs() {
        return Err(FillStop::failed(format!("the filter {} moves by at most {FARTHEST}", call.filter.name)));
    }
    let moment = DayOrTime::before(&call)?;
    let day = by(moment.day(), count);
    moment.on(call, day, None)
}

/// Whether `start_of` knows this period.
pub(super) fn check_period(period: &Value) -> Result<(), FillStop> {
    match period.as_str() {
        Some(word) if PERIODS.contains(&word) => Ok(()),
        _ => {
            let message = format!("start_of takes \"week\", \"month\" or \"year\", in quotes; this is {}", kind_and_value(period));
            Err(FillStop::failed(message))
        }
    }
}

/// Whether a number that is written out moves a date.
pub(super) fn check_count(count: &Value) -> Result<(), FillStop> {
    if count.is_integer() {
        return Ok(());
    }
    Err(FillStop::failed(format!("a date moves by a whole number, such as days(-7); this is {}", kind_and_value(count))))
}

/// The first day of the week (a Monday), month or year; of a time its midnight.
pub(super) fn start_of(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let period = call.argument(0).cloned().unwrap_or_default();
    check_period(&period)?;
    let moment = DayOrTime::before(&call)?;
    let day = moment.day();
    let first = match period.as_str() {
        Some("week") => day.checked_sub_days(Days::new(u64::from(day.weekday().num_days_from_monday()))),
        Some("year") => day.with_ordinal(1),
        _ => day.with_day(1),
    };
    moment.on(call, first, Some(NaiveTime::MIN))
}

/// How many days later another date is; of times their days in the run's time zone.
pub(super) fn days_until(call: FilterCall<'_>) -> Result<Value, FillStop> {
    let from = DayOrTime::before(&call)?.day();
    let other = call.argument(0).cloned().unwrap_or_default();
    let until = DayOrTime::from_value(&call, &other)?.ok_or_else(|| call.wrong_argument(0, MOMENT, &other))?.day();
    Ok(Value::from(until.signed_duration_since(from).num_days()))
}
