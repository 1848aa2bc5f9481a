//! The database of one query: it opens only the declared files and is then locked.

use std::collections::HashMap;

use duckdb::{Config, Connection, appender_params_from_iter};

use super::super::blocking::CancelFlag;
use super::super::columns::ColumnType;
use super::super::database::wanted_table;
use super::super::datum::Datum;
use super::super::engines::fits;
use super::super::load::OpenTable;
use super::super::personal::lacking;
use super::super::query::quoted;
use super::super::sentence::{file_name, unavailable, wrong_type};
use super::super::source::{Content, absolute, checked};
use super::super::typed::declared;
use super::messages::{columns_of, internal, unreadable};
use crate::event::Failure;
use crate::model::{ColumnForm, DataKind, FailureKind};
use crate::port::TableSource;

/// Maximum memory for sorting, grouping and loading. It is lower in tests, which run in parallel in one process.
const MEMORY: &str = if cfg!(test) { "64MiB" } else { "512MiB" };

/// Settings of every database. Empty cells sort as in SQLite. DuckDB never downloads extensions. Nothing is written to disk, so memory limits sorting
/// and grouping.
const SETTINGS: [(&str, &str); 11] = [
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
    ("allow_community_extensions", "false"),
    ("allow_persistent_secrets", "false"),
    ("enable_external_file_cache", "false"),
    ("memory_limit", MEMORY),
    ("threads", "2"),
    ("temp_directory", ""),
    ("max_temp_directory_size", "0KiB"),
    ("default_null_order", "nulls_first_on_asc_last_on_desc"),
    ("errors_as_json", "true"),
];

/// Maximum depth of an expression: planning time grows with the cube of the depth, and planning cannot be interrupted.
const MOST_DEPTH: usize = 100;

/// Creates an empty in-memory database.
pub(super) fn connect() -> Result<Connection, Failure> {
    let open = || {
        let settings = SETTINGS.iter().try_fold(Config::default(), |config, (name, value)| config.with(name, value))?;
        let connection = Connection::open_in_memory_with_flags(settings)?;
        connection.execute_batch(&format!("SET max_expression_depth = {MOST_DEPTH}"))?;
        Ok(connection)
    };
    let connection = open().map_err(|error| internal(&error))?;
    let has: i64 = connection
        .query_row(
            "SELECT count(DISTINCT function_name) FROM duckdb_functions()
                WHERE function_name IN ('json_serialize_sql', 'json_tree', 'read_parquet')",
            [],
            |row| row.get(0),
        )
        .map_err(|error| internal(&error))?;
    if has != 3 {
        let sentence = "This DuckDB library has no json and parquet extensions. Build flow with `--features duckdb-bundled` instead.";
        return Err(unavailable(sentence));
    }
    Ok(connection)
}

/// Attaches the files, locks the database, then creates each table. The content of a file (such as a view over other files) is only evaluated after
/// the lock.
pub(super) fn show(connection: &Connection, tables: &[&TableSource], cancel: &CancelFlag) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        fits(table)?;
        match table.kind {
            DataKind::Parquet => {
                checked(&table.file, Content::Parquet, "a Parquet file")?;
                paths.push(text(&plain(table)?));
            }
            DataKind::DuckDb => attach(connection, table, &database(index))?,
            _ => {}
        }
    }
    lock(connection, &paths).map_err(|error| internal(&error))?;
    for (index, table) in tables.iter().enumerate() {
        match table.kind {
            DataKind::Parquet => {
                let path = text(&plain(table)?);
                // Only the file's own columns, and none from the names of its folders.
                view(connection, table, &format!("read_parquet({path}, hive_partitioning = false)"), "a Parquet file")?;
            }
            DataKind::DuckDb => {
                let names = names_in(connection, &database(index)).map_err(|error| internal(&error))?;
                let theirs = wanted_table(table, &names)?;
                view(connection, table, &format!("{}.main.{}", database(index), quoted(theirs)), "a DuckDB database")?;
            }
            _ => fill(connection, table, cancel)?,
        }
        lacking(table, &columns_of(connection, &table.name).map_err(|error| internal(&error))?)?;
    }
    Ok(())
}

/// The path of a file that DuckDB opens by name. DuckDB would expand `*`, `?` or `[` to other files, so these are rejected.
fn plain(table: &TableSource) -> Result<String, Failure> {
    let path = absolute(&table.file)?;
    match path.chars().find(|character| "*?[".contains(*character)) {
        None => Ok(path),
        Some(character) => {
            let sentence = format!(
                "The path of {} has a \"{character}\", which stands for other names to DuckDB. Rename the file or its folder.",
                file_name(&table.file)
            );
            Err(unavailable(sentence))
        }
    }
}

/// The name of a table's attached file.
fn database(index: usize) -> String {
    format!("file_{index}")
}

fn attach(connection: &Connection, table: &TableSource, name: &str) -> Result<(), Failure> {
    checked(&table.file, Content::DuckDb, "a DuckDB database")?;
    let attach = format!("ATTACH {} AS {name} (READ_ONLY, TYPE duckdb)", text(&absolute(&table.file)?));
    connection.execute_batch(&attach).map_err(|error| unreadable(&file_name(&table.file), "a DuckDB database", &error))
}

/// Locks the database: from now on no other file can be opened, nothing can be loaded, and no setting can be changed.
fn lock(connection: &Connection, paths: &[String]) -> duckdb::Result<()> {
    // Only builds with time zone support have this setting.
    let _ = connection.execute_batch("SET TimeZone = 'UTC'");
    connection.execute_batch(&format!(
        "SET allowed_paths = [{}]; SET enable_external_access = false; SET lock_configuration = true",
        paths.join(", ")
    ))
}

/// Creates a view with the table's name and the declared types.
fn view(connection: &Connection, table: &TableSource, from: &str, what: &str) -> Result<(), Failure> {
    let file = file_name(&table.file);
    let wrong = |error: duckdb::Error| unreadable(&file, what, &error);
    let name = quoted(&table.name);
    connection.execute_batch(&format!("CREATE VIEW {name} AS SELECT * FROM {from}")).map_err(wrong)?;
    if table.columns.is_empty() {
        return Ok(());
    }
    let columns = columns_of(connection, &table.name).map_err(wrong)?;
    let kinds: HashMap<String, ColumnForm> = declared(table, &columns)?;
    let cast = |column: &String| {
        let kind = kinds.get(&column.to_lowercase())?;
        Some(format!("CAST({0} AS {1}) AS {0}", quoted(column), sql(&ColumnType::declared(kind, false))))
    };
    let casts: Vec<String> = columns.iter().filter_map(cast).collect();
    let replaced = format!("CREATE OR REPLACE VIEW {name} AS SELECT * REPLACE ({}) FROM {from}", casts.join(", "));
    connection.execute_batch(&replaced).map_err(wrong)
}

/// Creates a table with the rows of a CSV, TSV or Excel file. The types are the same as in SQLite.
fn fill(connection: &Connection, table: &TableSource, cancel: &CancelFlag) -> Result<(), Failure> {
    let mut opened = OpenTable::new(table, cancel)?;
    let too_large = opened.too_large();
    let file = file_name(&table.file);
    let wrong = |error: duckdb::Error| match unreadable(&file, "a table", &error) {
        failure if failure.kind == FailureKind::TooLarge => too_large.clone(),
        failure => failure,
    };
    let columns: Vec<String> = opened.columns.iter().map(|(name, column)| format!("{} {}", quoted(name), sql(column))).collect();
    connection.execute_batch(&format!("CREATE TABLE {} ({})", quoted(&table.name), columns.join(", "))).map_err(wrong)?;
    let mut appender = connection.appender(&table.name).map_err(wrong)?;
    opened.each(cancel, &mut |values| match values.iter().find_map(Datum::unreadable) {
        Some(why) => Err(wrong_type(why)),
        None => appender.append_row(appender_params_from_iter(values)).map_err(wrong),
    })?;
    appender.flush().map_err(wrong)
}

/// The DuckDB type of a column. Dates are texts like `2026-11-18` here too.
fn sql(column: &ColumnType) -> &'static str {
    match column {
        ColumnType::Unknown | ColumnType::Text | ColumnType::Date(_) | ColumnType::Datetime(_) => "VARCHAR",
        ColumnType::Integer => "BIGINT",
        ColumnType::Number(_) | ColumnType::Decimal(_) | ColumnType::Amount(_) | ColumnType::Duration(_) => "DOUBLE",
        ColumnType::Boolean => "BOOLEAN",
    }
}

/// Quotes a text as an SQL literal.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The tables and views of a DuckDB file, sorted by name.
pub(in super::super) fn tables_of(table: &TableSource) -> Result<Vec<String>, Failure> {
    let connection = connect()?;
    attach(&connection, table, &database(0))?;
    lock(&connection, &[]).and_then(|()| names_in(&connection, &database(0))).map_err(|error| internal(&error))
}

fn names_in(connection: &Connection, database: &str) -> duckdb::Result<Vec<String>> {
    let list = "SELECT table_name FROM duckdb_tables() WHERE database_name = $1 AND schema_name = 'main' AND NOT internal
        UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = $1 AND schema_name = 'main' AND NOT internal ORDER BY 1";
    connection.prepare(list)?.query_map([database], |row| row.get(0))?.collect()
}
