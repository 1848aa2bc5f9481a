//! From a file to a table of the database in memory.

use std::collections::HashMap;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, params_from_iter};

use super::blocking::Cancel;
use super::columns::{ColumnType, Guess};
use super::delimited::Delimited;
use super::excel::{MOST_COLUMNS, Workbook};
use super::names::column_names;
use super::query::quoted;
use super::rows::RowSource;
use super::sentence::{failure, file_name, listed, shown};
use super::source::{Stamp, read_all};
use crate::event::Failure;
use crate::model::{DataKind, FailureKind};
use crate::port::TableSource;

/// The most bytes of a file that is loaded into memory. SQLite files are not loaded and may be larger.
const MOST_FILE_BYTES: u64 = 256 << 20;

/// Reads the file and makes it a table of its name. Returns the stamp of what was read.
pub(super) fn load(connection: &mut Connection, table: &TableSource, cancel: &Cancel) -> Result<Stamp, Failure> {
    let (bytes, stamp) = read_all(&table.file, MOST_FILE_BYTES)?;
    let mut rows: Box<dyn RowSource> = match table.kind {
        DataKind::Csv => Box::new(Delimited::csv(&table.file, bytes)?),
        DataKind::Tsv => Box::new(Delimited::tsv(&table.file, bytes)?),
        DataKind::Excel => Box::new(Workbook::open(&table.file, bytes, cancel)?.sheet(table.table.as_deref())?),
        DataKind::Sqlite | DataKind::Parquet | DataKind::DuckDb => return Err(super::no_duckdb()),
    };
    let columns = columns(rows.as_mut(), table, cancel)?;
    fill(connection, rows.as_mut(), table, &columns, cancel)?;
    Ok(stamp)
}

/// First time through the rows: names and types.
fn columns(rows: &mut dyn RowSource, table: &TableSource, cancel: &Cancel) -> Result<Vec<(String, ColumnType)>, Failure> {
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
        guesses.iter_mut().zip(row.cells).for_each(|(guess, cell)| guess.see(cell));
        Ok(())
    })?;
    let file = file_name(&table.file);
    let Some(mut header) = header else {
        return Err(failure(FailureKind::WrongType, format!("{file} is empty. Its first line must hold the names of the columns.")));
    };
    if guesses.len() > MOST_COLUMNS {
        return Err(failure(FailureKind::TooLarge, format!("{file} has {} columns, more than {MOST_COLUMNS}.", guesses.len())));
    }
    header.resize(guesses.len(), String::new());
    let names = column_names(header.iter().map(String::as_str));
    let mut declared: HashMap<String, ColumnType> = HashMap::new();
    for (column, kind) in &table.columns {
        if !names.iter().any(|name| name.to_lowercase() == column.to_lowercase()) {
            let have = listed(names.iter().map(String::as_str));
            let sentence =
                format!("`columns` of table \"{}\" names \"{column}\", which {file} does not have. Its columns are: {have}.", table.name);
            return Err(failure(FailureKind::BadRequest, sentence));
        }
        declared.insert(column.to_lowercase(), ColumnType::declared(*kind, may_use_comma));
    }
    let typed = names.into_iter().zip(&guesses).map(|(name, guess)| {
        let column_type = declared.get(&name.to_lowercase()).copied().unwrap_or_else(|| guess.column_type());
        (name, column_type)
    });
    Ok(typed.collect())
}

/// Second time through the rows: into the table.
fn fill(
    connection: &mut Connection,
    rows: &mut dyn RowSource,
    table: &TableSource,
    columns: &[(String, ColumnType)],
    cancel: &Cancel,
) -> Result<(), Failure> {
    let file = file_name(&table.file);
    let wrong = |error: rusqlite::Error| not_loaded(&file, &error);
    let written: Vec<String> = columns.iter().map(|(name, column_type)| format!("{} {}", quoted(name), column_type.sql())).collect();
    let name = quoted(&table.name);
    let places = vec!["?"; columns.len()].join(",");
    // Undone as a whole when anything fails, so that a later query does not see half a table.
    let transaction = connection.transaction().map_err(wrong)?;
    transaction.execute_batch(&format!("CREATE TABLE main.{name} ({})", written.join(", "))).map_err(wrong)?;
    {
        let mut insert = transaction.prepare(&format!("INSERT INTO main.{name} VALUES ({places})")).map_err(wrong)?;
        let mut is_header = true;
        // Sentences are made after the loop's borrow of `rows` ends.
        let mut misfit = None;
        let went_through = rows.each_row(cancel, &mut |row| {
            if std::mem::take(&mut is_header) {
                return Ok(());
            }
            let mut values: Vec<ToSqlOutput<'_>> = Vec::with_capacity(columns.len());
            for ((column, column_type), cell) in columns.iter().zip(row.cells) {
                match column_type.value(cell) {
                    Ok(value) => values.push(value),
                    Err(wants) => {
                        misfit = Some((row.number, shown(&cell.text(), 80), column.clone(), wants));
                        return Err(failure(FailureKind::WrongType, ""));
                    }
                }
            }
            values.resize(columns.len(), ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Null));
            insert.execute(params_from_iter(values)).map_err(wrong)?;
            Ok(())
        });
        if let Some((number, text, column, wants)) = misfit {
            let place = rows.place(number);
            let sentence =
                format!("{place}: \"{text}\" in column \"{column}\" is not {wants}. Correct the cell, or change its type in `columns`.");
            return Err(failure(FailureKind::WrongType, sentence));
        }
        went_through?;
    }
    transaction.commit().map_err(wrong)
}

fn not_loaded(file: &str, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode::{DiskFull, OperationInterrupted, OutOfMemory, TooBig};
    match error.sqlite_error_code() {
        Some(DiskFull | OutOfMemory) => failure(
            FailureKind::TooLarge,
            format!("{file} needs more memory than a table may have. Split it, or put it into a SQLite file."),
        ),
        Some(TooBig) => failure(FailureKind::TooLarge, format!("{file} has a cell or a line that is too long for a table.")),
        Some(OperationInterrupted) => failure(FailureKind::Timeout, format!("Loading {file} was stopped.")),
        _ => failure(FailureKind::Internal, format!("{file} could not be loaded: {error}.")),
    }
}
