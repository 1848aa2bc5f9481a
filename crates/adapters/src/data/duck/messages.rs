//! Converts DuckDB's errors to failures. The connection is configured to report them as JSON with a kind, a message and a position.

use duckdb::{Connection, Error};
use serde_json::Value;

use super::super::guard::{stopped, too_much_memory};
use super::super::query::{place, quoted, with_columns, with_tables};
use super::super::sentence::{self, bad_request, denied, unavailable};
use crate::event::Failure;
use crate::port::QueryRequest;

/// An error of DuckDB.
struct Told {
    kind: String,
    /// The first line: the others repeat the query or list candidates.
    sentence: String,
    position: String,
    subtype: String,
}

fn told(error: &Error) -> Told {
    let text = match error {
        Error::DuckDBFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    let json: Value = text.find('{').and_then(|at| serde_json::from_str(&text[at..]).ok()).unwrap_or_default();
    let word = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let sentence = match word("exception_message") {
        none if none.is_empty() => text.clone(),
        sentence => sentence,
    };
    Told {
        kind: word("exception_type"),
        sentence: first_line(&sentence).to_owned(),
        position: word("position"),
        subtype: word("error_subtype"),
    }
}

fn first_line(sentence: &str) -> &str {
    sentence.lines().next().unwrap_or_default().trim_end_matches(['.', '!', ' '])
}

/// The failure of a person's query. If the query uses an unknown name, the message lists the existing ones.
pub(super) fn explained(connection: &Connection, error: &Error, request: &QueryRequest) -> Failure {
    let told = told(error);
    match told.kind.as_str() {
        "INTERRUPT" | "Interrupt" => return stopped(),
        "Out of Memory" => return too_much_memory(),
        "IO" | "Serialization" => return unavailable(format!("The file cannot be read: {}.", told.sentence)),
        "Permission" => {
            return denied("A query may not open other files: it sees the tables of `data` only.");
        }
        "INTERNAL" | "FATAL" => return internal(error),
        _ => {}
    }
    let wrong = of_query(&told.sentence, &told.position, &request.query);
    match told.subtype.as_str() {
        "COLUMN_NOT_FOUND" => request.tables.iter().fold(wrong, |wrong, table| match columns_of(connection, &table.name) {
            Ok(columns) => with_columns(wrong, table, &columns),
            Err(_not_loaded) => wrong,
        }),
        "MISSING_ENTRY" if told.sentence.starts_with("Table ") => with_tables(wrong, &request.tables),
        _ => wrong,
    }
}

/// The names of a table's columns.
pub(super) fn columns_of(connection: &Connection, table: &str) -> duckdb::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {} LIMIT 0", quoted(table)))?;
    statement.execute([])?;
    Ok(statement.schema().fields().iter().map(|field| field.name().clone()).collect())
}

/// A failure from DuckDB's message about a query, with its position.
pub(super) fn of_query(sentence: &str, position: &str, query: &str) -> Failure {
    let place = position.parse().map_or_else(|_| String::new(), |offset| place(query, offset));
    bad_request(format!("DuckDB: {}{place}.", first_line(sentence)))
}

/// The failure of a file that DuckDB rejects.
pub(super) fn unreadable(file: &str, what: &str, error: &Error) -> Failure {
    let told = told(error);
    match told.kind.as_str() {
        "INTERRUPT" | "Interrupt" => stopped(),
        "Out of Memory" => too_much_memory(),
        "Permission" => denied(format!("{file} opens other files, which is not allowed.")),
        _ if told.sentence.contains("lock") => {
            unavailable(format!("{file} is being changed by another program. Try again when that program has finished."))
        }
        _ => unavailable(format!("{file} cannot be read as {what}: {}.", told.sentence)),
    }
}

/// A failure that the query did not cause.
pub(super) fn internal(error: &Error) -> Failure {
    let told = told(error);
    match told.kind.as_str() {
        "INTERRUPT" | "Interrupt" => stopped(),
        _ => sentence::internal(format!("DuckDB failed: {}.", told.sentence)),
    }
}
