//! Rows of cells, whatever file they come from.

use std::borrow::Cow;

use super::blocking::CancelFlag;
use crate::event::Failure;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// Nothing, or only spaces.
    Empty,
    /// A text whose meaning is guessed (CSV, TSV).
    Guess(&'a str),
    /// A text that is one (Excel).
    Text(Cow<'a, str>),
    Number(f64),
    Boolean(bool),
}

impl Cell<'_> {
    /// As a text: numbers in their shortest form, so a whole number without `.0`.
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

/// A row with its place in the file. Cells missing at the end are empty.
#[derive(Debug)]
pub(super) struct SourceRow<'a> {
    /// Line (CSV) or row (Excel) of the file, from 1.
    pub(super) number: u64,
    pub(super) cells: &'a [Cell<'a>],
}

/// A table in a file. It is gone through twice: to guess the types, then to load.
pub(super) trait RowSource {
    /// Shows every row with anything in it, the header first.
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&SourceRow<'_>) -> Result<(), Failure>) -> Result<(), Failure>;

    /// How a row is called in a sentence: `entries.csv, line 3`.
    fn place(&self, number: u64) -> String;

    /// Whether `7,5` may be a number here.
    fn may_use_decimal_comma(&self) -> bool {
        false
    }
}
