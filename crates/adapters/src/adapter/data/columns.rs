//! Rows of cells from any kind of file; the type of each column, guessed from all rows or declared, and the values of its cells.

use std::borrow::Cow;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::blocking::CancelFlag;
use crate::event::Failure;
use crate::model::FieldKind;

/// Maximum number of digits of a whole number. A text with more digits is not read as a number.
const MOST_DIGITS: usize = 15;

/// The value of a cell, for any SQL engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Datum<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'a, str>),
}

impl Serialize for Datum<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Datum::Null => to.serialize_unit(),
            Datum::Boolean(value) => to.serialize_bool(*value),
            Datum::Integer(value) => to.serialize_i64(*value),
            Datum::Number(value) => to.serialize_f64(*value),
            Datum::Text(text) => to.serialize_str(text),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Datum<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Datum<'a>, D::Error> {
        from.deserialize_any(DatumVisitor)
    }
}

/// Reads what [`Datum`] writes: a whole number of type `Number` has a fraction, as in `5.0`.
struct DatumVisitor;

impl<'de> Visitor<'de> for DatumVisitor {
    type Value = Datum<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of a table")
    }

    fn visit_unit<E>(self) -> Result<Datum<'de>, E> {
        Ok(Datum::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Datum<'de>, E> {
        Ok(Datum::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Datum<'de>, E> {
        Ok(Datum::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Datum<'de>, E> {
        i64::try_from(value).map(Datum::Integer).map_err(E::custom)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Datum<'de>, E> {
        Ok(Datum::Number(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Datum<'de>, E> {
        Ok(Datum::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Datum<'de>, E> {
        Ok(Datum::Text(Cow::Owned(text.to_owned())))
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ColumnType {
    /// All cells are empty.
    Unknown,
    Text,
    Integer,
    /// With its decimal separator.
    Number(char),
    Boolean,
    Date,
    Datetime,
}

impl ColumnType {
    /// The type of an entry in `columns`. Lists, objects and files are read as text.
    pub(super) fn declared(kind: FieldKind, may_use_comma: bool) -> ColumnType {
        match kind {
            FieldKind::Integer => ColumnType::Integer,
            FieldKind::Number => ColumnType::Number(if may_use_comma { ',' } else { '.' }),
            FieldKind::Boolean => ColumnType::Boolean,
            FieldKind::Date => ColumnType::Date,
            FieldKind::Datetime => ColumnType::Datetime,
            _ => ColumnType::Text,
        }
    }

    /// The value of a cell. The error names what the column expects.
    pub(super) fn value<'a>(self, cell: &'a Cell<'_>) -> Result<Datum<'a>, &'static str> {
        match (self, cell) {
            (_, Cell::Empty) => Ok(Datum::Null),
            (ColumnType::Integer, Cell::Number(value)) => whole(*value).map(Datum::Integer).ok_or("a whole number"),
            (ColumnType::Integer, cell) => integer(cell.text().trim()).map(Datum::Integer).ok_or("a whole number"),
            (ColumnType::Number(_), Cell::Number(value)) => Ok(Datum::Number(*value)),
            (ColumnType::Number(mark), cell) => {
                let text = cell.text();
                let either = number(text.trim(), mark).or_else(|| number(text.trim(), '.'));
                either.map(Datum::Number).ok_or("a number")
            }
            (ColumnType::Boolean, cell) => boolean(cell).map(Datum::Boolean).ok_or("true or false"),
            (ColumnType::Date, cell) if !is_date(cell.text().trim()) => Err("a date like 2026-11-18"),
            (ColumnType::Datetime, cell) if !is_datetime(cell.text().trim()) => Err("a date and time like 2026-11-18T09:30:00Z"),
            (ColumnType::Date | ColumnType::Datetime, cell) => Ok(Datum::Text(Cow::Owned(cell.text().trim().to_owned()))),
            (ColumnType::Text | ColumnType::Unknown, cell) => Ok(Datum::Text(cell.text())),
        }
    }
}

fn whole(value: f64) -> Option<i64> {
    // Up to 2^53, an f64 represents every whole number exactly.
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

fn boolean(cell: &Cell<'_>) -> Option<bool> {
    match cell.text().trim().to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

fn is_datetime(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
        || ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
            .iter()
            .any(|format| chrono::NaiveDateTime::parse_from_str(text, format).is_ok())
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
}

impl Guess {
    /// Creates a guess for a column without cells.
    pub(super) fn new(may_use_comma: bool) -> Guess {
        Guess { is_used: false, integer: true, point: true, comma: may_use_comma, clear_comma: false, boolean: true }
    }

    /// Takes one more cell into account. Empty cells are ignored. Returns the value of the cell if the column may still be one of numbers or booleans:
    /// 1 and 0 are true and false.
    pub(super) fn see(&mut self, cell: &Cell<'_>) -> Option<f64> {
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
                    return Some(whole as f64);
                }
                self.integer = false;
                let point = if self.point { number(text, '.') } else { None };
                let comma = if self.comma { number(text, ',') } else { None };
                (self.point, self.comma) = (point.is_some(), comma.is_some());
                self.clear_comma |= has_clear_comma(text);
                point.or(comma)
            }
            Cell::Number(value) => {
                self.integer &= whole(*value).is_some();
                self.comma = false;
                self.point.then_some(*value)
            }
            Cell::Boolean(value) => {
                (self.integer, self.point, self.comma) = (false, false, false);
                self.boolean.then_some(f64::from(u8::from(*value)))
            }
            Cell::Empty | Cell::Text(_) => {
                (self.integer, self.point, self.comma) = (false, false, false);
                None
            }
        }
    }

    /// The narrowest type that fits all cells.
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Guess { is_used: false, .. } => ColumnType::Unknown,
            Guess { boolean: true, .. } => ColumnType::Boolean,
            Guess { integer: true, .. } => ColumnType::Integer,
            Guess { point: true, .. } => ColumnType::Number('.'),
            Guess { comma: true, clear_comma: true, .. } => ColumnType::Number(','),
            _ => ColumnType::Text,
        }
    }
}

/// Parses a whole number. A text that could be an identifier is rejected: leading zeros (`0049`), a plus (`+49 30 …`), more than 15 digits (card
/// numbers; above that, a floating-point number is no longer exact), grouping (`1,234`).
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (is_plain_whole(digits) && digits.len() <= MOST_DIGITS).then(|| text.parse().ok()).flatten()
}

/// Parses a number, whole or not, with this decimal separator. An exponent needs a sign, as programs write it (`1e-05`): `12E5` is an article code.
fn number(text: &str, mark: char) -> Option<f64> {
    if integer(text).is_some() {
        return text.parse().ok();
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
    Number(f64),
    Boolean(bool),
}

impl Cell<'_> {
    /// The cell by itself. A text whose type is guessed becomes a text.
    pub(super) fn owned(&self) -> Cell<'static> {
        match self {
            Cell::Empty => Cell::Empty,
            Cell::Guess(text) => Cell::Text(Cow::Owned((*text).to_owned())),
            Cell::Text(text) => Cell::Text(Cow::Owned(text.as_ref().to_owned())),
            Cell::Number(number) => Cell::Number(*number),
            Cell::Boolean(boolean) => Cell::Boolean(*boolean),
        }
    }

    /// The cell as text. Numbers have their shortest form, so whole numbers have no `.0`.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Empty => Cow::Borrowed(""),
            Cell::Guess(text) => Cow::Borrowed(text),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Number(number) => Cow::Owned(number.to_string()),
            Cell::Boolean(boolean) => Cow::Borrowed(if *boolean { "true" } else { "false" }),
        }
    }
}

/// A row and its place in the file. Missing cells at the end are empty.
#[derive(Debug)]
pub(super) struct SourceRow<'a> {
    /// The line (CSV) or row (Excel) in the file, from 1.
    pub(super) number: u64,
    pub(super) cells: &'a [Cell<'a>],
}

/// A table in a file. It is read twice: to guess the types, then to load the rows.
pub(super) trait RowSource {
    /// Calls `show` for every row that is not empty, the header first.
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&SourceRow<'_>) -> Result<(), Failure>) -> Result<(), Failure>;

    /// The place of a row for messages: `entries.csv, line 3`.
    fn place(&self, number: u64) -> String;

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
        for cell in ["007", "+15550100", "4111111111111111"] {
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
        for (kind, good, bad, wants) in [
            (FieldKind::Integer, "12", "1.5", "a whole number"),
            (FieldKind::Number, "1.5", "x", "a number"),
            (FieldKind::Boolean, "Yes", "maybe", "true or false"),
            (FieldKind::Date, "2026-11-18", "18.11.2026", "a date like 2026-11-18"),
            (FieldKind::Datetime, "2026-11-18T09:30:00+01:00", "2026-11-18", "a date and time like 2026-11-18T09:30:00Z"),
        ] {
            let declared = ColumnType::declared(kind, false);
            assert!(declared.value(&Cell::Guess(good)).is_ok(), "{good}");
            assert_eq!(declared.value(&Cell::Guess(bad)), Err(wants));
        }
    }

    #[test]
    fn whole_numbers_are_whole() {
        for (text, value) in [("0", 0), ("7", 7), ("-12", -12), ("999999999999999", 999_999_999_999_999)] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
    }

    #[test]
    fn identifiers_stay_texts() {
        for text in [
            "007", "0049", "+4915112345", "+5", "4111111111111111", "12E5", "1e5", "1,234", "1 234", "", "-", "1-2", "٣", "0x1f", "NaN",
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
