//! The rows of a CSV, TSV or Excel file as typed values: a column has one type, declared or guessed from all rows.

use std::collections::HashMap;

use super::blocking::CancelFlag;
use super::columns::{ColumnType, Datum, Guess, RowSource};
use super::excel::MOST_COLUMNS;
use super::names::column_names;
use super::sentence::{bad_request, file_name, listed, shown, too_large, wrong_type};
use crate::event::Failure;
use crate::model::FieldKind;
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

impl ValueSource for TypedRows {
    fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure> {
        let columns = &self.columns;
        let mut is_header = true;
        // Messages are built after the loop, because it borrows `rows`.
        let mut misfit = None;
        let went_through = self.rows.each_row(cancel, &mut |row| {
            if std::mem::take(&mut is_header) {
                return Ok(());
            }
            let mut values: Vec<Datum<'_>> = Vec::with_capacity(columns.len());
            for ((column, column_type), cell) in columns.iter().zip(row.cells) {
                match column_type.value(cell) {
                    Ok(value) => values.push(value),
                    Err(wants) => {
                        misfit = Some((row.number, shown(&cell.text(), 80), column.clone(), wants));
                        return Err(wrong_type(""));
                    }
                }
            }
            values.resize(columns.len(), Datum::Null);
            show(&values)
        });
        if let Some((number, text, column, wants)) = misfit {
            let place = self.rows.place(number);
            let sentence =
                format!("{place}: \"{text}\" in column \"{column}\" is not {wants}. Correct the cell, or change its type in `columns`.");
            return Err(wrong_type(sentence));
        }
        went_through
    }
}

fn columns(rows: &mut dyn RowSource, table: &TableSource, cancel: &CancelFlag) -> Result<TypedColumns, Failure> {
    let may_use_comma = rows.may_use_decimal_comma();
    let mut header: Option<Vec<String>> = None;
    let mut guesses: Vec<Guess> = Vec::new();
    rows.each_row(cancel, &mut |row| {
        if header.is_none() {
            header = Some(row.cells.iter().map(|cell| cell.text().into_owned()).collect());
            guesses.resize(row.cells.len(), Guess::new(may_use_comma));
            return Ok(());
        }
        if guesses.len() < row.cells.len() {
            guesses.resize(row.cells.len(), Guess::new(may_use_comma));
        }
        guesses.iter_mut().zip(row.cells).for_each(|(guess, cell)| _ = guess.see(cell));
        Ok(())
    })?;
    let Some(header) = header else { return Err(no_header(table)) };
    let names = named(table, header, guesses.len())?;
    let declared = declared(table, &names)?;
    let typed = names.into_iter().zip(&guesses).map(|(name, guess)| {
        let kind = declared.get(&name.to_lowercase());
        let column_type = kind.map_or_else(|| guess.column_type(), |kind| ColumnType::declared(*kind, may_use_comma));
        (name, column_type)
    });
    Ok(typed.collect())
}

/// The names of the columns, one for each: `header` may be shorter than other rows.
pub(super) fn named(table: &TableSource, mut header: Vec<String>, columns: usize) -> Result<Vec<String>, Failure> {
    if columns > MOST_COLUMNS {
        return Err(too_large(format!("{} has {columns} columns, more than {MOST_COLUMNS}.", file_name(&table.file))));
    }
    header.resize(columns, String::new());
    Ok(column_names(header.iter().map(String::as_str)))
}

/// The failure of a file without rows.
pub(super) fn no_header(table: &TableSource) -> Failure {
    wrong_type(format!("{} is empty. The first line must be the names of the columns.", file_name(&table.file)))
}

/// The declared types by name in lower case. Fails if the file does not have a declared column.
pub(super) fn declared(table: &TableSource, names: &[String]) -> Result<HashMap<String, FieldKind>, Failure> {
    let mut declared = HashMap::new();
    for (column, kind) in &table.columns {
        if !names.iter().any(|name| name.to_lowercase() == column.to_lowercase()) {
            let (file, have) = (file_name(&table.file), listed(names.iter().map(String::as_str)));
            let sentence =
                format!("`columns` of table \"{}\" names \"{column}\", which {file} does not have. Its columns are: {have}.", table.name);
            return Err(bad_request(sentence));
        }
        declared.insert(column.to_lowercase(), *kind);
    }
    Ok(declared)
}
