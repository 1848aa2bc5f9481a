//! Rows of cells from any kind of file; the type of each column, guessed from all rows or declared, and the values of its cells.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::blocking::CancelFlag;
use super::counts::CountedNumber;
use super::datum::Datum;
use super::notation::{hours, notated};
use crate::event::Failure;
use crate::model::{ColumnForm, ColumnKind, PlainMoment};

/// Maximum number of digits before the decimals of a number. A text with more digits is not read as a number.
const MOST_DIGITS: usize = 15;

/// Maximum number of columns of a table (SQLite's own limit).
pub(super) const MOST_COLUMNS: usize = 2_000;

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ColumnType {
    /// All cells are empty.
    Unknown,
    Text,
    Integer,
    /// With its decimal sign; a point is taken, too.
    Number(char),
    /// With the one decimal sign that its author names.
    Decimal(char),
    /// Numbers in the notations of people, with the decimal sign if its author names it.
    Amount(Option<char>),
    /// Hours, with the decimal sign if its author names it.
    Duration(Option<char>),
    Boolean,
    /// With the format, if its author names one.
    Date(Option<String>),
    Datetime(Option<String>),
}

impl ColumnType {
    /// The type of an entry in `columns`.
    pub(super) fn declared(form: &ColumnForm, may_use_comma: bool) -> ColumnType {
        match form.kind {
            ColumnKind::Text => ColumnType::Text,
            ColumnKind::Integer => ColumnType::Integer,
            ColumnKind::Number => form.decimal.map_or(ColumnType::Number(if may_use_comma { ',' } else { '.' }), ColumnType::Decimal),
            ColumnKind::Boolean => ColumnType::Boolean,
            ColumnKind::Date => ColumnType::Date(form.format.clone()),
            ColumnKind::Datetime => ColumnType::Datetime(form.format.clone()),
            ColumnKind::Amount => ColumnType::Amount(form.decimal),
            ColumnKind::Duration => ColumnType::Duration(form.decimal),
        }
    }

    /// The value of a cell. The error names what the column expects.
    pub(super) fn value<'a>(&self, cell: &'a Cell<'_>) -> Result<Datum<'a>, String> {
        let number = |found: Option<f64>| found.map(Datum::Number).ok_or_else(|| "a number".to_owned());
        match (self, cell) {
            (_, Cell::Empty) => Ok(Datum::Null),
            (ColumnType::Integer, Cell::Whole(value)) => Ok(Datum::Integer(*value)),
            (ColumnType::Duration(_), cell @ Cell::Measured(..)) => {
                hours(&cell.shown(), Some('.')).map(Datum::Number).map_err(str::to_owned)
            }
            (ColumnType::Integer, Cell::Number(value) | Cell::Measured(value, _)) => {
                let why = if value.fract() == 0.0 { NOT_KEPT } else { "a whole number" };
                whole(*value).map(Datum::Integer).ok_or_else(|| why.to_owned())
            }
            (ColumnType::Integer, cell) => declared_integer(cell.text().trim()).map(Datum::Integer),
            (
                ColumnType::Number(_) | ColumnType::Decimal(_) | ColumnType::Amount(_) | ColumnType::Duration(_),
                Cell::Number(value) | Cell::Measured(value, _),
            ) => Ok(Datum::Number(*value)),
            (ColumnType::Number(_) | ColumnType::Decimal(_) | ColumnType::Amount(_) | ColumnType::Duration(_), Cell::Whole(value)) => {
                exactly(*value).map(Datum::Number).ok_or_else(too_long)
            }
            (ColumnType::Number(mark), cell) => declared_number(cell.text().trim(), &[*mark, '.']).map(Datum::Number),
            (ColumnType::Decimal(mark), cell) => declared_number(cell.text().trim(), &[*mark]).map(Datum::Number),
            (ColumnType::Amount(decimal), cell) => match notated(&cell.text(), *decimal) {
                None => number(None).map_err(|_| "an amount".to_owned()),
                Some(found) => found.value.map(Datum::Number).map_err(str::to_owned),
            },
            (ColumnType::Duration(decimal), cell) => hours(&cell.text(), *decimal).map(Datum::Number).map_err(str::to_owned),
            (ColumnType::Boolean, cell) => boolean(cell).map(Datum::Boolean).ok_or_else(|| "true or false".to_owned()),
            (ColumnType::Date(format), cell) => day(cell, format.as_deref()).map(|day| Datum::Text(Cow::Owned(day))),
            (ColumnType::Datetime(format), cell) => moment(cell, format.as_deref()).map(|time| Datum::Text(Cow::Owned(time))),
            (ColumnType::Text | ColumnType::Unknown, Cell::Number(value) | Cell::Measured(value, _))
                if value.fract() == 0.0 && whole(*value).is_none() =>
            {
                Err(NOT_KEPT.to_owned())
            }
            (ColumnType::Text | ColumnType::Unknown, cell) => Ok(Datum::Text(cell.text())),
        }
    }
}

/// Why a large number of a workbook or of JSON is none whose digits are known.
const NOT_KEPT: &str = "certain: a number keeps about 15 of its digits there. Write it in quotes, as a text, in the file";

fn whole(value: f64) -> Option<i64> {
    // Below 2^53, an f64 represents every whole number exactly; 2^53 may have been 2^53 + 1.
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i64)
}

/// A whole number as a number, if it is kept exactly.
fn exactly(whole: i64) -> Option<f64> {
    let number = whole as f64;
    (number as i128 == i128::from(whole)).then_some(number)
}

/// Its author says that the digits are a number, so there may be zeros or a plus before them.
fn declared_integer(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !is_digits(digits) {
        return Err("a whole number".to_owned());
    }
    text.parse().map_err(|_| "a whole number of at most 64 bits".to_owned())
}

fn declared_number(text: &str, marks: &[char]) -> Result<f64, String> {
    if let Ok(whole) = declared_integer(text) {
        return exactly(whole).ok_or_else(too_long);
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    marks.iter().find_map(|mark| number(unsigned, *mark)).ok_or_else(|| "a number".to_owned())
}

fn too_long() -> String {
    "a number that can be kept with all its digits; declare the column integer or text".to_owned()
}

fn boolean(cell: &Cell<'_>) -> Option<bool> {
    match cell.text().trim().to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A day, as `2026-11-18`. A cell of a workbook that is a date is one in any format.
fn day(cell: &Cell<'_>, format: Option<&str>) -> Result<String, String> {
    let text = cell.text();
    let text = text.trim();
    // Programs write a day as its midnight.
    let as_it_is = || match PlainMoment::parse(text)? {
        PlainMoment::Day(day) if text.len() == 10 => Some(day.to_string()),
        PlainMoment::Local(time) if time.time() == chrono::NaiveTime::MIN && text.len() >= 16 => Some(time.date().to_string()),
        PlainMoment::Day(_) | PlainMoment::Local(_) | PlainMoment::Fixed(_) => None,
    };
    let Some(format) = format else { return as_it_is().ok_or_else(|| wanted_day(text)) };
    let found = chrono::NaiveDate::parse_from_str(text, format).ok().filter(|day| chrono::Datelike::year(day) >= 1000);
    match found {
        Some(day) => Ok(day.format("%Y-%m-%d").to_string()),
        None => {
            let of_workbook = if matches!(cell, Cell::Text(_)) { as_it_is() } else { None };
            of_workbook.ok_or_else(|| format!("a date of the form {format}"))
        }
    }
}

fn wanted_day(text: &str) -> String {
    let is_of_parts = text.split(['.', '/', '-']).count() == 3 && text.starts_with(|c: char| c.is_ascii_digit());
    let format = if is_of_parts { "; name its form beside the type, as format: \"%d.%m.%Y\"" } else { "" };
    format!("a date like 2026-11-18{format}")
}

/// A time in the one form that orders and that the functions of SQL read: `2026-11-18 09:30:00`, and with an offset `2026-11-18T08:30:00Z`.
fn moment(cell: &Cell<'_>, format: Option<&str>) -> Result<String, String> {
    let text = cell.text();
    let text = text.trim();
    let is_full = |text: &str| text.as_bytes().get(7) == Some(&b'-') && !text.as_bytes().get(10).is_some_and(u8::is_ascii_digit);
    let as_it_is = || PlainMoment::parse(text).filter(|_| is_full(text));
    let Some(format) = format else {
        let found = as_it_is().map(stored);
        return found.ok_or_else(|| "a date and time like 2026-11-18 09:30 or 2026-11-18T09:30:00Z".to_owned());
    };
    // Of a name such as CET only the length is read.
    if format.contains("%Z") {
        return Err("a time that is certain: %Z reads no zone. Write offsets such as +01:00, and %z".to_owned());
    }
    let with_zone = || chrono::DateTime::parse_from_str(text, format).ok().map(PlainMoment::Fixed);
    let local = || chrono::NaiveDateTime::parse_from_str(text, format).ok().map(PlainMoment::Local);
    let found = with_zone().or_else(local).filter(|time| chrono::Datelike::year(&time.day()) >= 1000);
    let of_workbook = || if matches!(cell, Cell::Text(_)) { as_it_is() } else { None };
    found.or_else(of_workbook).map(stored).ok_or_else(|| format!("a date and time of the form {format}"))
}

fn stored(time: PlainMoment) -> String {
    match time {
        PlainMoment::Day(day) => day.format("%Y-%m-%d 00:00:00").to_string(),
        PlainMoment::Local(time) => time.format("%Y-%m-%d %H:%M:%S%.f").to_string(),
        PlainMoment::Fixed(time) => time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
    }
}

/// The types that fit all cells of a column seen so far.
#[derive(Debug, Clone)]
pub(super) struct Guess {
    is_used: bool,
    integer: bool,
    point: bool,
    comma: bool,
    clear_comma: bool,
    boolean: bool,
    /// A number with decimals is among those that a workbook or JSON holds as numbers.
    fraction: bool,
    /// And a whole one whose last digits were not kept.
    long: bool,
}

impl Default for Guess {
    fn default() -> Guess {
        Guess::new(false)
    }
}

impl Guess {
    /// Creates a guess for a column without cells.
    pub(super) fn new(may_use_comma: bool) -> Guess {
        let (integer, point, boolean) = (true, true, true);
        Guess { is_used: false, integer, point, comma: may_use_comma, clear_comma: false, boolean, fraction: false, long: false }
    }

    /// Takes one more cell into account. Empty cells are ignored. Returns the value of the cell if the column may still be one of numbers or booleans:
    /// 1 and 0 are true and false.
    pub(super) fn see(&mut self, cell: &Cell<'_>) -> Option<CountedNumber> {
        if *cell == Cell::Empty {
            return None;
        }
        self.is_used = true;
        self.boolean &= matches!(cell, Cell::Boolean(_));
        match cell {
            Cell::Guess(_) if !(self.integer || self.point || self.comma) => None,
            Cell::Guess(text) => {
                let text = text.trim();
                if let Some(whole) = integer(text) {
                    return self.see_whole(whole);
                }
                self.integer = false;
                let point = if self.point { number(text, '.') } else { None };
                let comma = if self.comma { number(text, ',') } else { None };
                (self.point, self.comma) = (point.is_some(), comma.is_some());
                self.clear_comma |= has_clear_comma(text);
                point.or(comma).map(CountedNumber::of_real)
            }
            Cell::Whole(whole) => {
                self.comma = false;
                self.see_whole(*whole)
            }
            Cell::Number(value) | Cell::Measured(value, _) => {
                self.integer &= whole(*value).is_some();
                self.fraction |= value.fract() != 0.0;
                self.long |= value.fract() == 0.0 && whole(*value).is_none();
                self.comma = false;
                self.point.then_some(CountedNumber::of_real(*value))
            }
            Cell::Boolean(value) => {
                (self.integer, self.point, self.comma) = (false, false, false);
                self.boolean.then_some(CountedNumber::of_real(f64::from(u8::from(*value))))
            }
            Cell::Empty | Cell::Text(_) => {
                (self.integer, self.point, self.comma) = (false, false, false);
                None
            }
        }
    }

    /// A whole number that no other number holds exactly stands among whole numbers alone.
    fn see_whole(&mut self, whole: i64) -> Option<CountedNumber> {
        if exactly(whole).is_none() {
            (self.point, self.comma) = (false, false);
        }
        (self.integer || self.point || self.comma).then_some(CountedNumber::of_whole(whole))
    }

    /// The narrowest type that fits all cells.
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Guess { is_used: false, .. } => ColumnType::Unknown,
            Guess { boolean: true, .. } => ColumnType::Boolean,
            Guess { integer: true, .. } => ColumnType::Integer,
            // Of whole numbers alone, such as those of accounts, no digit may be another one.
            Guess { long: true, fraction: false, .. } => ColumnType::Text,
            Guess { point: true, .. } => ColumnType::Number('.'),
            Guess { comma: true, clear_comma: true, .. } => ColumnType::Number(','),
            _ => ColumnType::Text,
        }
    }
}

/// Parses a whole number of at most 64 bits. A text that could be an identifier is rejected: leading zeros (`0049`), a plus (`+49 30 …`), grouping
/// (`1,234`).
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    is_plain_whole(digits).then(|| text.parse().ok()).flatten()
}

/// Parses a number, whole or not, with this decimal separator. An exponent needs a sign, as programs write it (`1e-05`): `12E5` is an article code.
fn number(text: &str, mark: char) -> Option<f64> {
    if let Some(whole) = integer(text) {
        return exactly(whole);
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_is_good = exponent.is_none_or(|exponent| exponent.strip_prefix(['+', '-']).is_some_and(is_digits));
    let mantissa_is_good = match mantissa.split_once(mark) {
        Some((whole, fraction)) => (whole.is_empty() || is_plain_whole(whole)) && is_digits(fraction) && whole.len() <= MOST_DIGITS,
        None => exponent.is_some() && is_plain_whole(mantissa),
    };
    if !(exponent_is_good && mantissa_is_good) {
        return None;
    }
    let value: f64 = if mark == '.' { text.parse().ok()? } else { text.replace(mark, ".").parse().ok()? };
    value.is_finite().then_some(value)
}

/// Whether a comma can only be a decimal separator: in `7,5`, but not in `1,234`, which may be grouping.
fn has_clear_comma(text: &str) -> bool {
    text.split_once(',').is_some_and(|(_, fraction)| fraction.len() != 3)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain_whole(text: &str) -> bool {
    is_digits(text) && (text.len() == 1 || !text.starts_with('0'))
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// Empty, or only spaces.
    Empty,
    /// A text whose type is guessed (CSV, TSV).
    Guess(&'a str),
    /// A text (Excel).
    Text(Cow<'a, str>),
    /// A whole number that is one in its file (JSON).
    Whole(i64),
    Number(f64),
    /// A number beside which its number format writes this, as `0" min"` does (Excel).
    Measured(f64, Arc<str>),
    Boolean(bool),
}

impl Cell<'_> {
    /// The cell by itself. A text whose type is guessed becomes a text.
    pub(super) fn owned(&self) -> Cell<'static> {
        match self {
            Cell::Empty => Cell::Empty,
            Cell::Guess(text) => Cell::Text(Cow::Owned((*text).to_owned())),
            Cell::Text(text) => Cell::Text(Cow::Owned(text.as_ref().to_owned())),
            Cell::Whole(whole) => Cell::Whole(*whole),
            Cell::Number(number) => Cell::Number(*number),
            Cell::Measured(number, sign) => Cell::Measured(*number, Arc::clone(sign)),
            Cell::Boolean(boolean) => Cell::Boolean(*boolean),
        }
    }

    /// The cell as text. Numbers have their shortest form, so whole numbers have no `.0`.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Empty => Cow::Borrowed(""),
            Cell::Guess(text) => Cow::Borrowed(text),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Whole(whole) => Cow::Owned(whole.to_string()),
            Cell::Number(number) | Cell::Measured(number, _) => Cow::Owned(number.to_string()),
            Cell::Boolean(boolean) => Cow::Borrowed(if *boolean { "true" } else { "false" }),
        }
    }

    /// The cell as a message shows it: with what stands beside its number.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        if let Cell::Measured(number, sign) = self { Cow::Owned(format!("{number} {sign}")) } else { self.text() }
    }
}

/// A row and its place in the file. Missing cells at the end are empty.
#[derive(Debug)]
pub(super) struct SourceRow<'a> {
    /// The line (CSV) or row (Excel) in the file, from 1.
    pub(super) number: u64,
    pub(super) cells: &'a [Cell<'a>],
}

/// Takes a row of a file.
pub(super) type ShowRow<'s> = dyn FnMut(&SourceRow<'_>) -> Result<(), Failure> + 's;

/// A table in a file. It is read twice: to guess the types, then to load the rows.
pub(super) trait RowSource {
    /// Calls `show` for every row, the header first. Rows of empty cells count between it and the last row with a value (in a text also behind that);
    /// empty lines do not.
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure>;

    /// The place of a row for messages, without its number: `entries.csv, line `.
    fn place(&self) -> String;

    /// Whether `7,5` may be a number in this file.
    fn may_use_decimal_comma(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(cells: &[&'static str]) -> ColumnType {
        guessed_with(false, cells)
    }

    fn guessed_with(may_use_comma: bool, cells: &[&'static str]) -> ColumnType {
        let mut guess = Guess::new(may_use_comma);
        for cell in cells {
            guess.see(&if cell.is_empty() { Cell::Empty } else { Cell::Guess(cell) });
        }
        guess.column_type()
    }

    #[test]
    fn a_column_is_guessed_over_all_its_rows() {
        assert_eq!(guessed(&["1", "", "-3"]), ColumnType::Integer);
        assert_eq!(guessed(&["8", "7.5", " 8 "]), ColumnType::Number('.'));
        assert_eq!(guessed(&["8", "7.5", "n/a"]), ColumnType::Text);
        assert_eq!(guessed(&["2026-11-18"]), ColumnType::Text);
        assert_eq!(guessed(&["", ""]), ColumnType::Unknown);
        assert_eq!(guessed(&["true", "false"]), ColumnType::Text);
    }

    #[test]
    fn one_identifier_makes_the_column_text() {
        for cell in ["007", "+15550100", "12345678901234567890"] {
            assert_eq!(guessed(&["1", cell]), ColumnType::Text, "{cell}");
        }
    }

    #[test]
    fn a_decimal_comma_is_a_number_only_where_it_is_allowed_and_clear() {
        assert_eq!(guessed_with(true, &["8", "7,5"]), ColumnType::Number(','));
        assert_eq!(guessed_with(true, &["1,234", "5"]), ColumnType::Text);
        assert_eq!(guessed_with(true, &["8", "7.5"]), ColumnType::Number('.'));
        assert_eq!(guessed_with(false, &["8", "7,5"]), ColumnType::Text);
    }

    #[test]
    fn cells_of_excel_keep_what_they_are() {
        let mut guess = Guess::new(false);
        guess.see(&Cell::Number(8.0));
        assert_eq!(guess.column_type(), ColumnType::Integer);
        guess.see(&Cell::Number(7.5));
        assert_eq!(guess.column_type(), ColumnType::Number('.'));
        guess.see(&Cell::Text("0049".into()));
        assert_eq!(guess.column_type(), ColumnType::Text);
        assert_eq!(Cell::Number(8.0).text(), "8");
    }

    #[test]
    fn a_declared_type_refuses_what_does_not_fit() {
        for (form, good, value, bad, wants) in [
            (ColumnKind::Integer.into(), "0012", "12", "1.5", "a whole number"),
            (
                ColumnKind::Integer.into(),
                "1234567890123456789",
                "1234567890123456789",
                "12345678901234567890",
                "a whole number of at most 64 bits",
            ),
            (ColumnKind::Number.into(), "1.5", "1.5", "x", "a number"),
            (ColumnKind::Number.into(), "1234567890123456", "1234567890123456", "9007199254740993", "a number that can be kept"),
            (with_decimal(ColumnKind::Number, ','), "7,5", "7.5", "7.5", "a number"),
            (ColumnKind::Boolean.into(), "Yes", "true", "maybe", "true or false"),
            (ColumnKind::Date.into(), "2026-11-18", "2026-11-18", "18.11.2026", "a date like 2026-11-18; name its form beside the type"),
            (ColumnKind::Date.into(), "2026-11-18 00:00:00", "2026-11-18", "2026-11-18 09:30:00", "a date like 2026-11-18"),
            (with_format(ColumnKind::Date, "%d.%m.%Y"), "8.1.2026", "2026-01-08", "8.1.26", "a date of the form %d.%m.%Y"),
            (with_format(ColumnKind::Date, "%m/%d/%Y"), "11/18/2026", "2026-11-18", "18/11/2026", "a date of the form %m/%d/%Y"),
            (ColumnKind::Datetime.into(), "2026-11-18T09:30:00+01:00", "2026-11-18T08:30:00Z", "18.11.2026", "a date and time like"),
            (ColumnKind::Datetime.into(), "2026-11-18", "2026-11-18 00:00:00", "2026-11-18 9", "a date and time like"),
            (ColumnKind::Datetime.into(), "2026-11-18 9:30", "2026-11-18 09:30:00", "9:30", "a date and time like"),
            (ColumnKind::Datetime.into(), "2026-11-18T09:30", "2026-11-18 09:30:00", "2026-12-3 09:30", "a date and time like"),
            (ColumnKind::Datetime.into(), "2026-11-18 09:30:00 -0500", "2026-11-18T14:30:00Z", "soon", "a date and time like"),
            (
                with_format(ColumnKind::Datetime, "%d.%m.%Y %H:%M %z"),
                "18.11.2026 09:30 +0500",
                "2026-11-18T04:30:00Z",
                "x",
                "a date and time",
            ),
            (
                with_format(ColumnKind::Datetime, "%Y-%m-%d %H:%M"),
                "2026-11-18 09:30",
                "2026-11-18 09:30:00",
                "2026-11-18",
                "a date and time",
            ),
            (
                with_format(ColumnKind::Datetime, "%d.%m.%Y %H:%M"),
                "18.11.2026 09:30",
                "2026-11-18 09:30:00",
                "18.11.2026",
                "a date and time of",
            ),
            (ColumnKind::Amount.into(), "CHF 1’250.50", "1250.5", "1,250", "certain: its last three digits may be decimals or thousands"),
            (with_decimal(ColumnKind::Amount, ','), "1.250 €", "1250", "12.50", "an amount"),
            (with_decimal(ColumnKind::Amount, '.'), "(1,250)", "-1250", "n/a", "an amount"),
            (ColumnKind::Duration.into(), "1 h 30 min", "1.5", "soon", "a length of time"),
        ] {
            let form: ColumnForm = form;
            let declared = ColumnType::declared(&form, false);
            let shown = match declared.value(&Cell::Guess(good)).unwrap() {
                Datum::Boolean(value) => value.to_string(),
                Datum::Integer(value) => value.to_string(),
                Datum::Number(value) => value.to_string(),
                Datum::Text(text) => text.into_owned(),
                other => panic!("{other:?}"),
            };
            assert_eq!(shown, value, "{good}");
            let failed = declared.value(&Cell::Guess(bad)).unwrap_err();
            assert!(failed.starts_with(wants), "{bad}: {failed}");
        }
    }

    fn with_decimal(kind: ColumnKind, mark: char) -> ColumnForm {
        ColumnForm { decimal: Some(mark), ..kind.into() }
    }

    fn with_format(kind: ColumnKind, format: &str) -> ColumnForm {
        ColumnForm { format: Some(format.to_owned()), ..kind.into() }
    }

    #[test]
    fn whole_numbers_of_64_bits_stay_exact() {
        assert_eq!(guessed(&["1234567890123456", "99"]), ColumnType::Integer);
        assert_eq!(guessed(&["1234567890123456", "7.5"]), ColumnType::Number('.'));
        assert_eq!(guessed(&["9007199254740993", "-1"]), ColumnType::Integer);
        assert_eq!(guessed(&["9007199254740993", "7.5"]), ColumnType::Text, "one of them would lose a digit");
    }

    #[test]
    fn digits_that_a_file_did_not_keep_are_no_text_and_no_whole_number() {
        for kind in [ColumnType::Text, ColumnType::Integer] {
            for number in [9_007_199_254_740_992.0, 1.234_567_890_123_456_8e16, -1.23e23] {
                let why = kind.value(&Cell::Number(number)).unwrap_err();
                assert!(why.starts_with("certain: a number keeps about 15"), "{why}");
            }
            assert!(kind.value(&Cell::Number(123_456_789_012_345.0)).is_ok());
        }
        let of_numbers = |numbers: &[f64]| {
            let mut guess = Guess::new(false);
            numbers.iter().for_each(|number| _ = guess.see(&Cell::Number(*number)));
            guess.column_type()
        };
        assert_eq!(of_numbers(&[7.0, 1.234_567_890_123_456_8e16]), ColumnType::Text, "whose reader is told");
        assert_eq!(of_numbers(&[7.5, 6.022e23]), ColumnType::Number('.'), "a measurement");
        let zone = ColumnType::Datetime(Some("%d.%m.%Y %H:%M %Z".to_owned()));
        assert!(zone.value(&Cell::Guess("18.11.2026 09:30 CET")).unwrap_err().contains("%Z reads no zone"));
    }

    #[test]
    fn whole_numbers_are_whole() {
        for (text, value) in [("0", 0), ("7", 7), ("-12", -12), ("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN)] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn identifiers_stay_texts() {
        for text in [
            "007", "0049", "+4915112345", "+5", "9223372036854775808", "12E5", "1e5", "1,234", "1 234", "", "-", "1-2", "٣", "0x1f", "NaN",
            "inf",
        ] {
            assert_eq!((integer(text), number(text, '.')), (None, None), "{text}");
        }
    }

    #[test]
    fn numbers_with_a_point_or_an_exponent_of_a_program_are_numbers() {
        for (text, value) in [("7.5", 7.5), ("-0.25", -0.25), (".5", 0.5), ("1e-05", 1e-5), ("2.5E+3", 2500.0), ("8", 8.0)] {
            assert_eq!(number(text, '.'), Some(value), "{text}");
        }
        assert_eq!(number("1e+999", '.'), None);
    }

    #[test]
    fn a_decimal_comma_counts_only_when_it_is_the_mark() {
        assert_eq!(number("7,5", ','), Some(7.5));
        assert_eq!(number("7,5", '.'), None);
        assert_eq!(number("7.5", ','), None);
        assert!(has_clear_comma("7,5") && !has_clear_comma("1,234"));
    }
}
