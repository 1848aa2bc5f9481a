//! Which engine answers which query (language.md, `data`): the file's kind or `engine` decides, and no other engine ever steps in.

use super::sentence::failure;
#[cfg(feature = "duckdb")]
use super::sentence::listed;
use crate::event::Failure;
use crate::model::{Data, DataKind, FailureKind, SqlEngine};
use crate::port::TableSource;

/// What a query would meet in this build, found before anything starts: an engine that is missing, a file its engine cannot read, a
/// query over tables of both engines. `data` and `queries` are those of one pipeline.
///
/// # Errors
/// `unavailable`, with how to get the engine; `bad_request`.
pub fn check_engines<'a>(
    data: impl IntoIterator<Item = (&'a String, &'a Data)>,
    queries: impl IntoIterator<Item = &'a str>,
) -> Result<(), Failure> {
    let tables: Vec<TableSource> = data
        .into_iter()
        .map(|(name, data)| TableSource {
            name: name.clone(),
            file: data.file.value.clone(),
            kind: data.kind,
            table: None,
            columns: Default::default(),
            pii: vec![],
            engine: data.engine(),
        })
        .collect();
    if let Some(misfit) = tables.iter().find_map(misfit) {
        return Err(misfit);
    }
    let needs_duckdb: Vec<&TableSource> = tables.iter().filter(|table| table.engine == SqlEngine::DuckDb).collect();
    if needs_duckdb.is_empty() {
        return Ok(());
    }
    #[cfg(not(feature = "duckdb"))]
    {
        let _ = queries;
        Err(no_duckdb())
    }
    #[cfg(feature = "duckdb")]
    queries.into_iter().filter(|query| needs_duckdb.iter().any(|table| table.is_named_in(query))).try_for_each(|query| {
        let used = super::duck::tables_of(query, &tables)?;
        mixed(&used).map_or(Ok(()), Err)
    })
}

/// What to do when a table needs the engine that this build lacks.
#[cfg(not(feature = "duckdb"))]
pub(super) fn no_duckdb() -> Failure {
    failure(
        FailureKind::Unavailable,
        "This build of flow has no DuckDB engine, which Parquet and DuckDB files and `engine: duckdb` need. Build flow with it (cargo \
         install --path . --features duckdb-bundled), or save the table as CSV, Excel or SQLite and name that file in `data`.",
    )
}

/// Why the table's engine cannot read its file, if it cannot.
pub(super) fn misfit(table: &TableSource) -> Option<Failure> {
    let (engine, cannot) = match (table.engine, table.kind) {
        (SqlEngine::Sqlite, DataKind::Parquet | DataKind::DuckDb) => ("sqlite", "SQLite cannot read"),
        (SqlEngine::DuckDb, DataKind::Sqlite) => ("duckdb", "DuckDB cannot read without a part it would have to download"),
        _ => return None,
    };
    let kind = kind_words(table.kind);
    let sentence = format!("The table \"{}\" is {kind}, which {cannot}. Take `engine: {engine}` out of it.", table.name);
    Some(failure(FailureKind::BadRequest, sentence))
}

/// The failure of a query that reads these tables, if they have different engines.
#[cfg(feature = "duckdb")]
pub(super) fn mixed(used: &[&TableSource]) -> Option<Failure> {
    let of = |engine: SqlEngine| listed(used.iter().filter(|table| table.engine == engine).map(|table| table.name.as_str()));
    let asks_duckdb = used.iter().any(|table| table.engine == SqlEngine::DuckDb);
    let sqlite = used.iter().find(|table| table.engine == SqlEngine::Sqlite)?;
    if !asks_duckdb {
        return None;
    }
    let help = match used.iter().find(|table| table.engine == SqlEngine::Sqlite && table.kind == DataKind::Sqlite) {
        Some(file) => format!("Ask for them in two steps, or save \"{}\" as CSV.", file.name),
        None => format!("Write `engine: duckdb` under `data: {}`, or ask for them in two steps.", sqlite.name),
    };
    let sentence = format!(
        "One query cannot read tables of two engines: {} (SQLite) and {} (DuckDB). {help}",
        of(SqlEngine::Sqlite),
        of(SqlEngine::DuckDb)
    );
    Some(failure(FailureKind::BadRequest, sentence))
}

/// A kind of file, for people.
fn kind_words(kind: DataKind) -> &'static str {
    match kind {
        DataKind::Csv => "a CSV file",
        DataKind::Tsv => "a TSV file",
        DataKind::Excel => "an Excel file",
        DataKind::Sqlite => "a SQLite file",
        DataKind::Parquet => "a Parquet file",
        DataKind::DuckDb => "a DuckDB file",
    }
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
        let sentence = |used: &[&TableSource]| mixed(used).map(|failure| failure.message);
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
            misfit(&parquet).unwrap().message,
            "The table \"sales\" is a Parquet file, which SQLite cannot read. Take `engine: sqlite` out of it."
        );
        let (_two, crm) = table_of("crm.sqlite", "");
        assert!(misfit(&TableSource { engine: SqlEngine::DuckDb, ..crm }).unwrap().message.contains("would have to download"));
    }
}
