//! Reads a CSV, TSV or Excel file as rows of typed values, and loads it into a SQLite table.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::blocking::CancelFlag;
use super::child;
use super::columns::{ColumnType, RowSource};
use super::datum::Datum;
use super::delimited::Delimited;
use super::guard::UNREADABLE;
use super::json_lines::JsonLines;
use super::query::quoted;
use super::sentence::{failure, file_name, internal, too_large};
use super::source::{Stamp, larger_than, read_all};
use super::typed::{TypedColumns, ValueSource, typed};
use crate::event::Failure;
use crate::model::{DataKind, FailureKind};
use crate::port::TableSource;

/// Maximum size of a file that is loaded into memory, in bytes. Database files are not loaded and may be larger.
const MOST_FILE_BYTES: u64 = 256 << 20;

/// A CSV, TSV or Excel file whose columns are known.
pub(super) struct OpenTable<'a> {
    table: &'a TableSource,
    rows: Box<dyn ValueSource>,
    /// Names and types, in the file's order.
    pub(super) columns: TypedColumns,
    /// The stamp of the content that was read.
    pub(super) stamp: Stamp,
}

impl<'a> OpenTable<'a> {
    /// Reads the file and determines the types of its columns.
    pub(super) fn new(table: &'a TableSource, cancel: &CancelFlag) -> Result<OpenTable<'a>, Failure> {
        let (source, stamp): (Box<dyn RowSource>, Stamp) = match table.kind {
            DataKind::Excel => {
                let (bytes, stamp) = read_all(&table.file, MOST_FILE_BYTES)?;
                let (columns, rows) = child::table(table, bytes, cancel)?;
                return Ok(OpenTable { table, rows, columns, stamp });
            }
            DataKind::JsonLines => JsonLines::open(&table.file).map(|(lines, stamp)| (Box::new(lines) as _, stamp))?,
            // `engines` has found out that no database is asked for here.
            DataKind::Csv | DataKind::Tsv | DataKind::Sqlite | DataKind::Parquet | DataKind::DuckDb => {
                Delimited::open(table).map(|(delimited, stamp)| (Box::new(delimited) as _, stamp))?
            }
        };
        if stamp.size > MOST_FILE_BYTES {
            return Err(larger_than(&table.file, MOST_FILE_BYTES));
        }
        let (columns, rows) = typed(source, table, cancel)?;
        Ok(OpenTable { table, rows, columns, stamp })
    }

    /// Calls `show` with the values of every row after the header, one for each column. Called once.
    pub(super) fn each(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&[Datum<'_>]) -> Result<(), Failure>) -> Result<(), Failure> {
        self.rows.each(cancel, show)
    }

    /// The failure of a file whose table needs more memory than allowed.
    pub(super) fn too_large(&self) -> Failure {
        let sentence = "needs more memory than a table may have. Split it, or put it into a SQLite file.";
        too_large(format!("{} {sentence}", file_name(&self.table.file)))
    }
}

/// What was loaded.
pub(super) struct FilledTable {
    /// The stamp of the content that was read.
    pub(super) stamp: Stamp,
    /// Whether there are cells that are not what they are declared to be: the name of the table is then one of a view, which fails where a query reads
    /// such a cell, and the rows are in [`rows_of`].
    pub(super) is_view: bool,
    /// The columns with their SQLite types.
    pub(super) columns: Vec<(String, &'static str)>,
}

/// The table with the rows of a view.
pub(super) fn rows_of(table: &str) -> String {
    format!("rows of {table}")
}

/// Loads a file into a SQLite table with the table's name.
pub(super) fn load(connection: &mut Connection, table: &TableSource, cancel: &CancelFlag) -> Result<FilledTable, Failure> {
    let mut opened = OpenTable::new(table, cancel)?;
    let file = file_name(&table.file);
    let whole = opened.too_large();
    let wrong = |error: rusqlite::Error| not_loaded(&file, &whole, &error);
    let columns: Vec<(String, &'static str)> = opened.columns.iter().map(|(name, column_type)| (name.clone(), sql(column_type))).collect();
    let written: Vec<String> = columns.iter().map(|(name, sql)| format!("{} {sql}", quoted(name))).collect();
    let mut unreadable = vec![false; columns.len()];
    let name = quoted(&table.name);
    let places = vec!["?"; written.len()].join(",");
    // Rolled back as a whole if anything fails, so that a later query does not see an incomplete table.
    let transaction = connection.transaction().map_err(wrong)?;
    transaction.execute_batch(&format!("CREATE TABLE main.{name} ({})", written.join(", "))).map_err(wrong)?;
    {
        let mut insert = transaction.prepare(&format!("INSERT INTO main.{name} VALUES ({places})")).map_err(wrong)?;
        opened.each(cancel, &mut |values| {
            let found = values.iter().map(|value| matches!(value, Datum::Unreadable { .. }));
            unreadable.iter_mut().zip(found).for_each(|(any, found)| *any |= found);
            insert.execute(params_from_iter(values)).map(drop).map_err(wrong)
        })?;
    }
    let is_view = unreadable.contains(&true);
    if is_view {
        let rows = quoted(&rows_of(&table.name));
        let items: Vec<String> = columns.iter().zip(&unreadable).map(|((name, sql), is_any)| item(&quoted(name), sql, *is_any)).collect();
        let view =
            format!("ALTER TABLE main.{name} RENAME TO {rows}; CREATE VIEW main.{name} AS SELECT {} FROM main.{rows}", items.join(", "));
        transaction.execute_batch(&view).map_err(wrong)?;
    }
    transaction.commit().map_err(wrong)?;
    Ok(FilledTable { stamp: opened.stamp, is_view, columns })
}

/// A column of a view. It keeps its affinity, by which SQLite compares.
fn item(column: &str, sql: &str, is_unreadable: bool) -> String {
    if !is_unreadable {
        return column.to_owned();
    }
    let affinity = if sql == "BOOLEAN" { "NUMERIC" } else { sql };
    format!("CAST(CASE typeof({column}) WHEN 'blob' THEN {UNREADABLE}({column}) ELSE {column} END AS {affinity}) AS {column}")
}

/// The SQLite type of a column. Dates are texts like `2026-11-18`, which compare and sort chronologically.
fn sql(column_type: &ColumnType) -> &'static str {
    match column_type {
        ColumnType::Unknown => "",
        ColumnType::Text | ColumnType::Date(_) | ColumnType::Datetime(_) => "TEXT",
        ColumnType::Integer => "INTEGER",
        ColumnType::Number(_) | ColumnType::Decimal(_) | ColumnType::Amount(_) | ColumnType::Duration(_) => "REAL",
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
            Datum::Unreadable { why, .. } => ValueRef::Blob(why.as_bytes()),
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
