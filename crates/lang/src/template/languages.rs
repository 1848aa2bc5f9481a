//! Numbers and dates as people of a language write them, from the data of Unicode (CLDR).

use std::fmt;

use chrono::{Datelike, NaiveDate};
use icu_calendar::{Date, Gregorian};
use icu_datetime::fieldsets::enums::DateFieldSet;
use icu_datetime::{FixedCalendarDateTimeFormatter, fieldsets, parts};
use icu_decimal::DecimalFormatter;
use icu_decimal::options::{DecimalFormatterOptions, GroupingStrategy};
use icu_locale_core::Locale;
use writeable::{Part, PartsWrite, Writeable};

use super::number::{HALF_AWAY, Number};
use super::print::shortened;
use super::stop::FillStop;

/// Most places behind the decimal sign, and most digits before it, that an author may ask for.
pub(super) const MOST_PLACES: i64 = 20;

/// A date as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum DateStyle {
    /// `Thursday, December 3, 2026`.
    Full,
    /// `December 3, 2026`.
    Long,
    /// `Dec 3, 2026`.
    Medium,
    /// `12/3/26`.
    Short,
    /// `Thursday, December 3`.
    Day,
}

/// A name in a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateName {
    Weekday,
    WeekdayShort,
    Month,
    MonthShort,
}

/// A language of which something is known: `de`, `pt-BR`.
pub(super) struct Language(Locale);

impl Language {
    /// Reads a code of BCP 47; `_` counts as `-`.
    ///
    /// # Errors
    /// It is no code, or nothing is known of the language.
    pub(super) fn from_code(code: &str) -> Result<Language, FillStop> {
        let unknown = || {
            FillStop::failed(format!("\"{}\" is no language that is known here", shortened(code)))
                .help("write a code such as en, de or pt-BR".to_owned())
        };
        let language = Language(code.trim().replace('_', "-").parse().map_err(|_| unknown())?);
        // Of an unknown language the months have numbers alone: `M12`.
        let month = language.month(fieldsets::M::long(), NaiveDate::default())?;
        if month.starts_with('M') && month.contains(|c: char| c.is_ascii_digit()) { Err(unknown()) } else { Ok(language) }
    }

    /// A date as a whole.
    pub(super) fn date(&self, style: DateStyle, day: NaiveDate) -> Result<String, FillStop> {
        let fields = match style {
            DateStyle::Full => DateFieldSet::YMDE(fieldsets::YMDE::long()),
            DateStyle::Long => DateFieldSet::YMD(fieldsets::YMD::long()),
            DateStyle::Medium => DateFieldSet::YMD(fieldsets::YMD::medium()),
            DateStyle::Short => DateFieldSet::YMD(fieldsets::YMD::short()),
            DateStyle::Day => DateFieldSet::MDE(fieldsets::MDE::long()),
        };
        self.written(fields, day)
    }

    /// A name in a date; `with_day`: beside the number of the day, where many languages write the month in another form.
    pub(super) fn name(&self, name: DateName, with_day: bool, day: NaiveDate) -> Result<String, FillStop> {
        let (fields, part) = match (name, with_day) {
            (DateName::Weekday, _) => (DateFieldSet::E(fieldsets::E::long()), parts::WEEKDAY),
            (DateName::WeekdayShort, _) => (DateFieldSet::E(fieldsets::E::short()), parts::WEEKDAY),
            (DateName::Month, true) => (DateFieldSet::MD(fieldsets::MD::long()), parts::MONTH),
            (DateName::Month, false) => return self.month(fieldsets::M::long(), day),
            (DateName::MonthShort, true) => (DateFieldSet::MD(fieldsets::MD::medium()), parts::MONTH),
            (DateName::MonthShort, false) => return self.month(fieldsets::M::medium(), day),
        };
        let mut only = OnePart { part, text: String::new(), depth: 0 };
        self.formatter(fields)?.format(&gregorian(day)?).write_to_parts(&mut only).map_err(|_| cannot())?;
        Ok(only.text)
    }

    /// A number with so many places behind the decimal sign; `width`: at least so many digits before it, and no marks between them.
    pub(super) fn number(&self, number: Number, places: Option<i64>, width: Option<i64>) -> Result<String, FillStop> {
        let mut decimal = number.decimal().ok_or_else(cannot)?;
        let bounded = |count: i64| count.clamp(0, MOST_PLACES) as i16;
        if let Some(places) = places.map(bounded) {
            decimal.round_with_mode(-places, HALF_AWAY);
            decimal.absolute.pad_end(-places);
            // What is rounded to nothing is not below it.
            if decimal.absolute.is_zero() {
                decimal.sign = fixed_decimal::Sign::None;
            }
        }
        let mut options = DecimalFormatterOptions::default();
        if let Some(width) = width.map(bounded) {
            decimal.absolute.pad_start(width);
            options.grouping_strategy = Some(GroupingStrategy::Never);
        }
        let formatter = DecimalFormatter::try_new((&self.0).into(), options).map_err(|_| cannot())?;
        Ok(formatter.format(&decimal).to_string())
    }

    fn written(&self, fields: DateFieldSet, day: NaiveDate) -> Result<String, FillStop> {
        Ok(self.formatter(fields)?.format(&gregorian(day)?).to_string())
    }

    /// The name of a month by itself.
    fn month(&self, fields: fieldsets::M, day: NaiveDate) -> Result<String, FillStop> {
        let formatter = FixedCalendarDateTimeFormatter::<Gregorian, _>::try_new((&self.0).into(), fields).map_err(|_| cannot())?;
        Ok(formatter.format(&gregorian(day)?).to_string())
    }

    fn formatter(&self, fields: DateFieldSet) -> Result<FixedCalendarDateTimeFormatter<Gregorian, DateFieldSet>, FillStop> {
        FixedCalendarDateTimeFormatter::try_new((&self.0).into(), fields).map_err(|_| cannot())
    }
}

fn gregorian(day: NaiveDate) -> Result<Date<Gregorian>, FillStop> {
    Date::try_new_gregorian(day.year(), day.month() as u8, day.day() as u8).map_err(|_| cannot())
}

fn cannot() -> FillStop {
    FillStop::failed("this value cannot be written in that language")
}

/// Takes one part of what is written, and leaves out the rest.
struct OnePart {
    part: Part,
    text: String,
    depth: usize,
}

impl fmt::Write for OnePart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.depth > 0 {
            self.text.push_str(text);
        }
        Ok(())
    }
}

impl PartsWrite for OnePart {
    type SubPartsWrite = OnePart;

    fn with_part(&mut self, part: Part, mut write: impl FnMut(&mut OnePart) -> fmt::Result) -> fmt::Result {
        let is_own = usize::from(part == self.part);
        self.depth += is_own;
        let written = write(self);
        self.depth -= is_own;
        written
    }
}
