//! The rows of a CSV, TSV or Excel file as typed values: a column has one type, declared or guessed from all rows.

use std::borrow::Cow;
use std::collections::HashMap;

use super::blocking::CancelFlag;
use super::columns::{Cell, ColumnType, Guess, MOST_COLUMNS, RowSource};
use super::datum::Datum;
use super::names::column_names;
use super::notation::{is_hours, is_unit, notated};
use super::sentence::{bad_request, file_name, internal, listed, shown, too_large, wrong_type};
use super::summary::SAMPLE_ROWS;
use crate::event::Failure;
use crate::model::ColumnForm;
use crate::port::TableSource;

/// Names and types of columns, in the file's order.
pub(super) type TypedColumns = Vec<(String, ColumnType)>;

/// A table whose columns are known.
pub(super) trait ValueSource {
    /// Calls `show` with the values of every row after the header, one for each column. Called once.
    fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure>;
}

/// Rows that are read a second time for their values.
struct TypedRows {
    rows: Box<dyn RowSource>,
    columns: TypedColumns,
}

/// Reads rows for the first time, to determine the types of their columns.
pub(super) fn typed(
    mut rows: Box<dyn RowSource>,
    table: &TableSource,
    cancel: &CancelFlag,
) -> Result<(TypedColumns, Box<dyn ValueSource>), Failure> {
    let columns = columns(rows.as_mut(), table, cancel)?;
    Ok((columns.clone(), Box::new(TypedRows { rows, columns })))
}

/// The most cells of a table that are not what they are declared to be. One with more is not of these types at all.
const MOST_UNREADABLE: usize = 1_000;

impl ValueSource for TypedRows {
    fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure> {
        let columns = &self.columns;
        let place = self.rows.place();
        let mut is_header = true;
        let mut unreadable = 0;
        let mut currencies: Vec<Option<String>> = vec![None; columns.len()];
        self.rows.each_row(cancel, &mut |row| {
            if std::mem::take(&mut is_header) {
                return Ok(());
            }
            let mut values: Vec<Datum<'_>> = Vec::with_capacity(columns.len());
            for (((column, column_type), cell), currency) in columns.iter().zip(row.cells).zip(&mut currencies) {
                let value = column_type.value(cell).and_then(|value| same_currency(column_type, cell, currency).map(|()| value));
                values.push(value.unwrap_or_else(|wants| {
                    let text = shown(&cell.shown(), 80);
                    let why = format!(
                        "{place}{}: \"{text}\" in column \"{column}\" is not {wants}. Correct the cell, or change its type in `columns`.",
                        row.number
                    );
                    unreadable += 1;
                    Datum::Unreadable { row: row.number, why: Cow::Owned(why) }
                }));
            }
            if unreadable > MOST_UNREADABLE {
                let why = values.iter().find_map(Datum::unreadable).unwrap_or_default();
                return Err(wrong_type(format!("{why} So are {MOST_UNREADABLE} cells before it.")));
            }
            values.resize(columns.len(), Datum::Null);
            show(&values)
        })
    }
}

/// The currency or unit in what a number format writes beside a number.
fn unit_in(sign: &str) -> Option<&str> {
    sign.split_whitespace().find(|word| is_unit(word) || is_hours(&format!("1 {word}")))
}

/// Amounts in two currencies are not added up, and no other numbers in two units.
fn same_currency(column_type: &ColumnType, cell: &Cell<'_>, known: &mut Option<String>) -> Result<(), String> {
    let found = match (column_type, cell) {
        (ColumnType::Amount(_) | ColumnType::Number(_) | ColumnType::Decimal(_) | ColumnType::Integer, Cell::Measured(_, sign)) => {
            unit_in(sign).map(str::to_owned)
        }
        (ColumnType::Amount(_), cell) => notated(&cell.text(), None).and_then(|found| found.currency),
        _ => None,
    };
    let Some(found) = found else { return Ok(()) };
    match known.get_or_insert_with(|| found.clone()) {
        known if *known == found => Ok(()),
        known => Err(format!("an amount in {known}, as the cells before it are; declare the column text, or part the currencies")),
    }
}

fn columns(rows: &mut dyn RowSource, table: &TableSource, cancel: &CancelFlag) -> Result<TypedColumns, Failure> {
    let may_use_comma = rows.may_use_decimal_comma();
    let TableBeginning { header, guesses, .. } = TableBeginning::of(rows, u64::MAX, cancel)?;
    let names = named(table, header, guesses.len())?;
    let declared = declared(table, &names)?;
    let typed = names.into_iter().zip(&guesses).map(|(name, guess)| {
        let kind = declared.get(&name.to_lowercase());
        let column_type = kind.map_or_else(|| guess.column_type(), |form| ColumnType::declared(form, may_use_comma));
        (name, column_type)
    });
    Ok(typed.collect())
}

/// The header of a table and what its first rows say.
pub(super) struct TableBeginning {
    /// `None`: the table is empty.
    pub(super) header: Option<Vec<String>>,
    pub(super) guesses: Vec<Guess>,
    /// The first of these rows.
    pub(super) sample: Vec<Vec<Cell<'static>>>,
}

impl TableBeginning {
    /// Reads so many rows behind the header.
    pub(super) fn of(rows: &mut dyn RowSource, most: u64, cancel: &CancelFlag) -> Result<TableBeginning, Failure> {
        let may_use_comma = rows.may_use_decimal_comma();
        let mut beginning = TableBeginning { header: None, guesses: vec![], sample: vec![] };
        let mut seen = 0;
        let read = rows.each_row(cancel, &mut |row| {
            if beginning.guesses.len() < row.cells.len() {
                beginning.guesses.resize(row.cells.len(), Guess::new(may_use_comma));
            }
            if beginning.header.is_none() {
                beginning.header = Some(row.cells.iter().map(|cell| cell.text().into_owned()).collect());
                return Ok(());
            }
            seen += 1;
            if seen <= SAMPLE_ROWS {
                beginning.sample.push(row.cells.iter().map(Cell::owned).collect());
            }
            beginning.guesses.iter_mut().zip(row.cells).for_each(|(guess, cell)| _ = guess.see(cell));
            // The failure only ends the loop.
            if seen < most { Ok(()) } else { Err(internal("")) }
        });
        if seen < most {
            read?;
        }
        Ok(beginning)
    }
}

/// The names of the columns, one for each: `header` may be shorter than other rows.
pub(super) fn named(table: &TableSource, header: Option<Vec<String>>, columns: usize) -> Result<Vec<String>, Failure> {
    let Some(mut header) = header else {
        return Err(wrong_type(format!("{} is empty. The first line must be the names of the columns.", file_name(&table.file))));
    };
    if columns > MOST_COLUMNS {
        return Err(too_large(format!("{} has {columns} columns, more than {MOST_COLUMNS}.", file_name(&table.file))));
    }
    header.resize(columns, String::new());
    Ok(column_names(header.iter().map(String::as_str)))
}

/// The declared types by name in lower case. Fails if the file does not have a declared column.
pub(super) fn declared(table: &TableSource, names: &[String]) -> Result<HashMap<String, ColumnForm>, Failure> {
    let mut declared = HashMap::new();
    for (column, form) in &table.columns {
        if !names.iter().any(|name| name.to_lowercase() == column.to_lowercase()) {
            let (file, have) = (file_name(&table.file), listed(names.iter().map(String::as_str)));
            let sentence =
                format!("`columns` of table \"{}\" names \"{column}\", which {file} does not have. Its columns are: {have}.", table.name);
            return Err(bad_request(sentence));
        }
        declared.insert(column.to_lowercase(), form.clone());
    }
    Ok(declared)
}
