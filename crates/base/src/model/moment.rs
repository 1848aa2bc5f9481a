//! The one idea of a day or a time that tables, filters and inputs share.

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// A day or a time, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainMoment {
    /// `2026-11-18`.
    Day(NaiveDate),
    /// `2026-11-18 09:30:00`, `2026-11-18T09:30`: a time of a clock whose zone is not said.
    Local(NaiveDateTime),
    /// `2026-11-18T09:30:00Z`, `2026-11-18 09:30+01:00`.
    Fixed(DateTime<FixedOffset>),
}

impl PlainMoment {
    /// Reads a day or a time. `None`: it is none, or its year has fewer than four digits.
    pub fn parse(text: &str) -> Option<PlainMoment> {
        let text = text.trim();
        let moment = match text.find(['T', 't', ' ']) {
            None => PlainMoment::Day(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?),
            Some(at) => {
                let day = NaiveDate::parse_from_str(text.get(..at)?, "%Y-%m-%d").ok()?;
                let (clock, offset) = parted(text.get(at + 1..)?.trim());
                let local = day.and_time(time(clock)?);
                match offset {
                    None => PlainMoment::Local(local),
                    Some(offset) => PlainMoment::Fixed(of_offset(offset)?.from_local_datetime(&local).single()?),
                }
            }
        };
        (moment.day().year() >= 1000).then_some(moment)
    }

    /// The day that is written in it.
    pub fn day(self) -> NaiveDate {
        match self {
            PlainMoment::Day(day) => day,
            PlainMoment::Local(time) => time.date(),
            PlainMoment::Fixed(time) => time.naive_local().date(),
        }
    }

    /// The time it is in a zone; what says no zone is meant there. A day begins at its midnight; where clocks skip a time, the hour after it counts.
    pub fn in_zone(self, zone: Tz) -> DateTime<Tz> {
        let of_clock = |local: NaiveDateTime| {
            let found = zone.from_local_datetime(&local).earliest();
            let found = found.or_else(|| zone.from_local_datetime(&(local + TimeDelta::hours(1))).earliest());
            found.unwrap_or_else(|| zone.from_utc_datetime(&local))
        };
        match self {
            PlainMoment::Day(day) => of_clock(day.and_time(NaiveTime::MIN)),
            PlainMoment::Local(time) => of_clock(time),
            PlainMoment::Fixed(time) => time.with_timezone(&zone),
        }
    }
}

/// `09:30`, `09:30:00`, `09:30:00.5`.
fn time(text: &str) -> Option<NaiveTime> {
    ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|format| NaiveTime::parse_from_str(text, format).ok())
}

/// A time of day, and the offset behind it.
fn parted(text: &str) -> (&str, Option<&str>) {
    let at = text.find(['Z', 'z', '+', '-']);
    at.and_then(|at| text.split_at_checked(at)).map_or((text, None), |(clock, offset)| (clock.trim_end(), Some(offset)))
}

/// `Z`, `+01:00`, `-0330`, `+01`.
fn of_offset(text: &str) -> Option<FixedOffset> {
    if text.eq_ignore_ascii_case("z") {
        return FixedOffset::east_opt(0);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let is_known = digits.bytes().all(|byte| byte.is_ascii_digit()) && matches!((digits.len(), rest.len()), (2, 2) | (4, 4 | 5));
    let is_parted_well = rest.len() < 5 || rest.as_bytes().get(2) == Some(&b':');
    let (hours, minutes) = (digits.get(..2)?.parse::<i32>().ok()?, digits.get(2..).filter(|rest| !rest.is_empty()).unwrap_or("0"));
    let minutes = minutes.parse::<i32>().ok().filter(|minutes| *minutes < 60)?;
    let seconds = hours * 3600 + minutes * 60;
    FixedOffset::east_opt(if sign == "-" { -seconds } else { seconds }).filter(|_| is_known && is_parted_well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_with_or_without_a_zone_are_read() {
        let berlin = Tz::Europe__Berlin;
        for (text, there) in [
            ("2026-11-18", "2026-11-18T00:00:00+01:00"),
            ("2026-11-18 09:30:00", "2026-11-18T09:30:00+01:00"),
            ("2026-11-18T09:30", "2026-11-18T09:30:00+01:00"),
            ("2026-11-18 09:30:00.500", "2026-11-18T09:30:00.500+01:00"),
            ("2026-11-18T09:30:00Z", "2026-11-18T10:30:00+01:00"),
            ("2026-11-18 09:30Z", "2026-11-18T10:30:00+01:00"),
            ("2026-11-18T09:30:00-05:00", "2026-11-18T15:30:00+01:00"),
            ("2026-11-18 09:30:00 +0100", "2026-11-18T09:30:00+01:00"),
            ("2026-11-18 09:30:00+01", "2026-11-18T09:30:00+01:00"),
            ("2026-03-29 02:30", "2026-03-29T03:30:00+02:00"),
        ] {
            let found = PlainMoment::parse(text).map(|moment| moment.in_zone(berlin).to_rfc3339());
            assert_eq!(found.as_deref(), Some(there), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "soon",
            "18.11.2026",
            "26-11-18",
            "2026-13-01",
            "2026-11-18 25:00",
            "2026-11-18 09",
            "2026-11-18T09:30:00+1",
            "2026-11-18T09:30:00+1:000",
            "2026-11-18T09:30:00+0:100",
            "2026-11-18T09:30 CET",
            "2026-11-18T",
        ] {
            assert_eq!(PlainMoment::parse(text), None, "{text}");
        }
    }
}
