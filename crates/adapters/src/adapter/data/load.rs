//! Reads a CSV, TSV or Excel file as rows of typed values, and loads it into a SQLite table.

use std::collections::HashMap;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::blocking::CancelFlag;
use super::columns::{ColumnType, Datum, Guess, RowSource};
use super::delimited::Delimited;
use super::excel::{MOST_COLUMNS, Workbook};
use super::names::column_names;
use super::query::quoted;
use super::sentence::{bad_request, failure, file_name, internal, listed, shown, too_large, wrong_type};
use super::source::{Stamp, larger_than, read_all};
use crate::event::Failure;
use crate::model::{DataKind, FailureKind, FieldKind};
use crate::port::TableSource;

/// Maximum size of a file that is loaded into memory, in bytes. Database files are not loaded and may be larger.
const MOST_FILE_BYTES: u64 = 256 << 20;

/// A CSV, TSV or Excel file whose columns are known, ready to be read again.
pub(super) struct OpenTable<'a> {
    table: &'a TableSource,
    rows: Box<dyn RowSource>,
    /// Names and types, in the file's order.
    pub(super) columns: Vec<(String, ColumnType)>,
    /// The stamp of the content that was read.
    pub(super) stamp: Stamp,
}

impl<'a> OpenTable<'a> {
    /// Reads the file and determines the types of its columns.
    pub(super) fn new(table: &'a TableSource, cancel: &CancelFlag) -> Result<OpenTable<'a>, Failure> {
        let (mut rows, stamp) = rows_of(table, cancel)?;
        if stamp.size > MOST_FILE_BYTES {
            return Err(larger_than(&table.file, MOST_FILE_BYTES));
        }
        let columns = columns(rows.as_mut(), table, cancel)?;
        Ok(OpenTable { table, rows, columns, stamp })
    }

    /// Calls `show` with the values of every row after the header, one for each column.
    pub(super) fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure> {
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

    /// The failure of a file whose table needs more memory than allowed.
    pub(super) fn too_large(&self) -> Failure {
        let sentence = "needs more memory than a table may have. Split it, or put it into a SQLite file.";
        too_large(format!("{} {sentence}", file_name(&self.table.file)))
    }
}

/// The rows of a file.
pub(super) fn rows_of(table: &TableSource, cancel: &CancelFlag) -> Result<(Box<dyn RowSource>, Stamp), Failure> {
    if table.kind == DataKind::Excel {
        let (bytes, stamp) = read_all(&table.file, MOST_FILE_BYTES)?;
        return Ok((Box::new(Workbook::open(&table.file, bytes, cancel)?.sheet(table.table.as_deref())?), stamp));
    }
    let (delimited, stamp) = Delimited::open(&table.file, table.kind)?;
    Ok((Box::new(delimited), stamp))
}

/// Reads the rows for the first time, to determine names and types.
fn columns(rows: &mut dyn RowSource, table: &TableSource, cancel: &CancelFlag) -> Result<Vec<(String, ColumnType)>, Failure> {
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

/// Loads a file into a SQLite table with the table's name. Returns the stamp of the content that was read.
pub(super) fn load(connection: &mut Connection, table: &TableSource, cancel: &CancelFlag) -> Result<Stamp, Failure> {
    let mut opened = OpenTable::new(table, cancel)?;
    let file = file_name(&table.file);
    let whole = opened.too_large();
    let wrong = |error: rusqlite::Error| not_loaded(&file, &whole, &error);
    let written: Vec<String> = opened.columns.iter().map(|(name, column_type)| format!("{} {}", quoted(name), sql(*column_type))).collect();
    let name = quoted(&table.name);
    let places = vec!["?"; written.len()].join(",");
    // Rolled back as a whole if anything fails, so that a later query does not see an incomplete table.
    let transaction = connection.transaction().map_err(wrong)?;
    transaction.execute_batch(&format!("CREATE TABLE main.{name} ({})", written.join(", "))).map_err(wrong)?;
    {
        let mut insert = transaction.prepare(&format!("INSERT INTO main.{name} VALUES ({places})")).map_err(wrong)?;
        opened.each(cancel, &mut |values| insert.execute(params_from_iter(values)).map(drop).map_err(wrong))?;
    }
    transaction.commit().map_err(wrong)?;
    Ok(opened.stamp)
}

/// The SQLite type of a column. Dates are texts like `2026-11-18`, which compare and sort chronologically.
fn sql(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Unknown => "",
        ColumnType::Text | ColumnType::Date | ColumnType::Datetime => "TEXT",
        ColumnType::Integer => "INTEGER",
        ColumnType::Number(_) => "REAL",
        ColumnType::Boolean => "BOOLEAN",
    }
}

impl ToSql for Datum<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Datum::Null => ValueRef::Null,
            Datum::Boolean(value) => ValueRef::Integer(i64::from(*value)),
            Datum::Integer(value) => ValueRef::Integer(*value),
            Datum::Number(value) => ValueRef::Real(*value),
            Datum::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// The failure of loading a table. `whole` is the failure if the whole table needs too much memory.
fn not_loaded(file: &str, whole: &Failure, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode::{DiskFull, OperationInterrupted, OutOfMemory, TooBig};
    match error.sqlite_error_code() {
        Some(DiskFull | OutOfMemory) => whole.clone(),
        Some(TooBig) => too_large(format!("{file} has a cell or a line that is too long for a table.")),
        Some(OperationInterrupted) => failure(FailureKind::Timeout, format!("Loading {file} was stopped.")),
        _ => internal(format!("{file} could not be loaded: {error}.")),
    }
}
