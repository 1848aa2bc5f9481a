//! Queries and files from end to end.

#[cfg(feature = "duckdb")]
mod duckdb;
#[cfg(feature = "duckdb")]
mod duckdb_agrees;
#[cfg(feature = "duckdb")]
mod duckdb_hostile;
mod hostile;
mod meant;
mod personal;
mod queries;
mod read;
mod tables;

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::testing::table_of;
use super::*;
use crate::model::FailureKind;

const ENTRIES: &str = "person,day,hours,note\np7,2026-11-16,8.5,\np7,2026-11-17,8,\"a, \"\"b\"\"\"\np1,2026-11-16,7.5,Müller\n";

fn request(tables: &[&TableSource], query: &str) -> QueryRequest {
    QueryRequest {
        engine: if tables.iter().any(|table| table.engine == SqlEngine::DuckDb) { SqlEngine::DuckDb } else { SqlEngine::Sqlite },
        tables: tables.iter().map(|table| (*table).clone()).collect(),
        query: query.to_owned(),
        with: BTreeMap::new(),
        max_rows: 1000,
        timeout: Duration::from_secs(60),
    }
}

fn with(mut request: QueryRequest, values: Value) -> QueryRequest {
    request.with = values.as_object().unwrap().clone().into_iter().collect();
    request
}

fn answer(data: &DataFiles, request: QueryRequest) -> Result<Rows, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(data.query(request))
}

fn rows(tables: &[&TableSource], query: &str) -> Value {
    json!(answer(&DataFiles::default(), request(tables, query)).unwrap().rows)
}

fn refusal(tables: &[&TableSource], query: &str) -> Failure {
    answer(&DataFiles::default(), request(tables, query)).unwrap_err()
}

fn entries() -> (TempDir, TableSource) {
    table_of("entries.csv", ENTRIES)
}

fn sqlite_file(name: &str, script: &str) -> (TempDir, TableSource) {
    let (folder, table) = table_of(name, "");
    let connection = Connection::open(&table.file).unwrap();
    connection.execute_batch(script).unwrap();
    drop(connection);
    (folder, table)
}
