//! DuckDB: queries on Parquet and DuckDB files, and on CSV, TSV and Excel files with `engine: duckdb`.
//!
//! The steps of a query: `inspect` (DuckDB's own parser lists the tables, functions and values that the query uses; only allowed ones pass) →
//! `tables` (only the declared files, then the lock: no other file, no extension, no setting) → `values` (rows as data), under `watch` (time,
//! memory). Every query has its own database, so no file stays locked between queries.
//!
//! How to allow another function in queries: add its name in `functions`.

mod functions;
mod inspect;
mod messages;
mod tables;
mod values;
mod watch;

use ::duckdb::types::Value as Sql;
use ::duckdb::{Connection, Statement, params_from_iter};
use serde_json::{Map, Value};

use super::blocking::CancelFlag;
use super::engines::of_one;
use super::names::unique;
use super::query::{Answers, BoundValues, TakenRows, check, not_bound, same_name, type_word};
use super::sentence::bad_request;
use crate::event::Failure;
use crate::model::SqlEngine;
use crate::port::{QueryRequest, Rows, TableSource};

use inspect::{Inspected, inspect};
use watch::watched;

pub(super) use tables::tables_of as tables_of_file;

/// Answers a query with DuckDB; `None` if the query only reads tables of SQLite and merely mentions the name of another table.
pub(super) fn query(request: &QueryRequest, cancel: &CancelFlag) -> Result<Option<Rows>, Failure> {
    check(request)?;
    let connection = tables::connect()?;
    let inspected = inspect(&connection, &request.query)?;
    let used = inspected.tables(&connection, &request.tables)?;
    if !used.is_empty() && used.iter().all(|table| table.engine == SqlEngine::Sqlite) {
        return Ok(None);
    }
    of_one(&used)?;
    let mut session = DuckSession::with(connection, &used, cancel)?;
    session.answer(&inspected, &used, request, cancel).map(Some)
}

/// The tables that a query reads. An invalid query reads none; its error is reported when it runs.
pub(super) fn tables_of<'a>(query: &str, tables: &'a [TableSource]) -> Result<Vec<&'a TableSource>, Failure> {
    let connection = tables::connect()?;
    Ok(inspect(&connection, query).and_then(|inspected| inspected.tables(&connection, tables)).unwrap_or_default())
}

/// A locked database with the tables that it was opened for.
pub(super) struct DuckSession {
    connection: Connection,
}

impl DuckSession {
    /// Opens a database with these tables.
    pub(super) fn open(tables: &[&TableSource], cancel: &CancelFlag) -> Result<DuckSession, Failure> {
        DuckSession::with(tables::connect()?, tables, cancel)
    }

    fn with(connection: Connection, tables: &[&TableSource], cancel: &CancelFlag) -> Result<DuckSession, Failure> {
        watched(&connection, cancel, || tables::show(&connection, tables, cancel))?;
        Ok(DuckSession { connection })
    }

    fn answer(
        &mut self,
        inspected: &Inspected,
        used: &[&TableSource],
        request: &QueryRequest,
        cancel: &CancelFlag,
    ) -> Result<Rows, Failure> {
        watched(&self.connection, cancel, || {
            let explained = |error: ::duckdb::Error| messages::explained(&self.connection, &error, request);
            let mut statement = self.connection.prepare(&request.query).map_err(explained)?;
            let values = bound(&statement, inspected, request)?;
            // Arrow's iterator would panic on a failure. The rows below come from the same stream.
            drop(statement.stream_arrow(params_from_iter(values)).map_err(explained)?);
            let rows = rows(&statement, request, explained)?;
            // DuckDB does not report where a column comes from. If a table has personal columns, every result column may be personal.
            let all = vec![used.iter().any(|table| !table.pii.is_empty()); rows.columns.len()];
            Ok(rows.with_personal(&all))
        })
    }
}

impl Answers for DuckSession {
    fn query(&mut self, request: &QueryRequest, cancel: &CancelFlag) -> Result<Rows, Failure> {
        let inspected = inspect(&self.connection, &request.query)?;
        let used = inspected.tables(&self.connection, &request.tables)?;
        self.answer(&inspected, &used, request, cancel)
    }
}

/// The values of the parameters, in DuckDB's order. DuckDB ignores the case of parameter names.
fn bound(statement: &Statement<'_>, inspected: &Inspected, request: &QueryRequest) -> Result<Vec<Sql>, Failure> {
    let mut values = BoundValues::new(&request.with);
    let mut named: Vec<(&str, &Value)> = Vec::new();
    for place in &inspected.places {
        if let Some((other, _)) = named.iter().find(|(other, _)| same_name(&format!("${other}"), place)) {
            return Err(bad_request(format!("The query has ${other} and {place}: write one place always alike.")));
        }
        named.push(values.of(place)?);
    }
    values.all_used()?;
    let mut bound = Vec::with_capacity(named.len());
    for place in 1..=statement.parameter_count() {
        let name = statement.parameter_name(place).map_err(|error| not_bound("name", &error))?;
        let value = named.iter().find(|(known, _)| same_name(known, &name)).map_or(&Value::Null, |(_, value)| *value);
        bound.push(values::to_sql(value));
    }
    Ok(bound)
}

/// Reads the rows of a running statement.
fn rows(statement: &Statement<'_>, request: &QueryRequest, explained: impl Fn(::duckdb::Error) -> Failure) -> Result<Rows, Failure> {
    let schema = statement.schema();
    let mut taken_names = Default::default();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let kind = values::kind(field)?;
        columns.push((unique(field.name(), &mut taken_names), type_word(kind)));
    }
    let mut taken = TakenRows::new(request.max_rows);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(&explained)? {
        if taken.is_full() {
            break;
        }
        let mut map = Map::with_capacity(columns.len());
        let mut bytes = 0;
        for (index, ((name, _), field)) in columns.iter().zip(schema.fields()).enumerate() {
            let value = row.get::<_, Sql>(index).map_err(&explained)?;
            let value = values::to_json(value, field.data_type());
            bytes += values::checked_size(&value)?;
            map.insert(name.clone(), value);
        }
        taken.push(map, bytes)?;
    }
    Ok(taken.with_columns(columns))
}
