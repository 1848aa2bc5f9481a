//! Which engine answers which query (language.md, `data`). The file's kind or `engine` decides, and there is no fallback to another engine.

use super::sentence::bad_request;
#[cfg(feature = "duckdb")]
use super::sentence::listed;
use crate::event::Failure;
use crate::model::{DataKind, SqlEngine};
use crate::port::TableSource;

/// The failure of a table that needs an engine which this build does not have.
#[cfg(not(feature = "duckdb"))]
pub(super) fn no_duckdb() -> Failure {
    super::sentence::unavailable(
        "This build of flow has no DuckDB engine, which Parquet and DuckDB files and `engine: duckdb` need. Build flow with it (cargo \
         install --path . --features duckdb-bundled), or save the table as CSV, Excel or SQLite and name that file in `data`.",
    )
}

/// Rejects a table whose engine cannot read its file.
pub(super) fn fits(table: &TableSource) -> Result<(), Failure> {
    let (engine, is) = match (table.engine, table.kind) {
        (SqlEngine::Sqlite, DataKind::Parquet) => ("sqlite", "a Parquet file, which SQLite cannot read"),
        (SqlEngine::Sqlite, DataKind::DuckDb) => ("sqlite", "a DuckDB file, which SQLite cannot read"),
        (SqlEngine::DuckDb, DataKind::Sqlite) => {
            ("duckdb", "a SQLite file, which DuckDB cannot read without a part it would have to download")
        }
        _ => return Ok(()),
    };
    Err(bad_request(format!("The table \"{}\" is {is}. Take `engine: {engine}` out of it.", table.name)))
}

/// Rejects a query that reads these tables if they have different engines.
#[cfg(feature = "duckdb")]
pub(super) fn of_one(used: &[&TableSource]) -> Result<(), Failure> {
    let of = |engine: SqlEngine| used.iter().filter(move |table| table.engine == engine);
    let listed_of = |engine: SqlEngine| listed(of(engine).map(|table| table.name.as_str()));
    let (Some(sqlite), Some(_)) = (of(SqlEngine::Sqlite).next(), of(SqlEngine::DuckDb).next()) else { return Ok(()) };
    let help = match of(SqlEngine::Sqlite).find(|table| table.kind == DataKind::Sqlite) {
        Some(file) => format!("Ask for them in two steps, or save \"{}\" as CSV.", file.name),
        None => format!("Write `engine: duckdb` under `data: {}`, or ask for them in two steps.", sqlite.name),
    };
    Err(bad_request(format!(
        "One query cannot read tables of two engines: {} (SQLite) and {} (DuckDB). {help}",
        listed_of(SqlEngine::Sqlite),
        listed_of(SqlEngine::DuckDb)
    )))
}

#[cfg(test)]
mod tests {
    use super::super::testing::table_of;
    use super::*;

    #[cfg(feature = "duckdb")]
    #[test]
    fn tables_of_two_engines_in_one_query_are_an_error_that_says_what_to_write() {
        let (_one, entries) = table_of("entries.csv", "");
        let (_two, sales) = table_of("sales.parquet", "");
        let (_three, crm) = table_of("crm.sqlite", "");
        let sentence = |used: &[&TableSource]| of_one(used).err().map(|failure| failure.message);
        assert_eq!(
            sentence(&[&entries, &sales]).unwrap(),
            "One query cannot read tables of two engines: entries (SQLite) and sales (DuckDB). Write `engine: duckdb` under `data: \
             entries`, or ask for them in two steps."
        );
        assert!(sentence(&[&sales, &crm]).unwrap().ends_with("Ask for them in two steps, or save \"crm\" as CSV."));
        assert_eq!((sentence(&[&entries, &crm]), sentence(&[&sales]), sentence(&[])), (None, None, None));
    }

    #[test]
    fn an_engine_that_cannot_read_a_file_says_so() {
        let (_one, parquet) = table_of("sales.parquet", "");
        let parquet = TableSource { engine: SqlEngine::Sqlite, ..parquet };
        assert_eq!(
            fits(&parquet).unwrap_err().message,
            "The table \"sales\" is a Parquet file, which SQLite cannot read. Take `engine: sqlite` out of it."
        );
        let (_two, crm) = table_of("crm.sqlite", "");
        assert!(fits(&TableSource { engine: SqlEngine::DuckDb, ..crm }).unwrap_err().message.contains("would have to download"));
    }
}
