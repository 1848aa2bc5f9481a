//! Shared by the queries of both engines: limits, the values of `$name` parameters (the only way to pass values), and messages. Also runs a query
//! that SQLite has compiled.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{ErrorCode, Statement};
use serde_json::{Map, Number, Value};

use super::blocking::CancelFlag;
use super::guard::{Guard, only_reads, unreadable_cell};
use super::names::unique;
use super::sentence::{bad_request, counted, failure, listed, too_large, unavailable, wrong_type};
use crate::event::Failure;
use crate::model::FieldKind;
use crate::port::{QueryRequest, Rows, TableSource};
use crate::sql::MOST_QUERY_BYTES;

/// Maximum size of a result, in bytes.
const MOST_RESULT_BYTES: usize = 16 << 20;
/// Maximum size of a single value, in bytes.
pub(super) const MOST_VALUE_BYTES: usize = 2 << 20;

/// Quotes a name as an SQL identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether two names refer to the same table or column.
pub(super) fn same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Rejects a query that is too long, and tables with the same name.
pub(super) fn check(request: &QueryRequest) -> Result<(), Failure> {
    for (index, table) in request.tables.iter().enumerate() {
        if request.tables.iter().take(index).any(|other| same_name(&other.name, &table.name)) {
            let sentence = format!("Two tables are called \"{}\". Rename one in `data`, or the file.", table.name);
            return Err(bad_request(sentence));
        }
    }
    if request.query.len() > MOST_QUERY_BYTES {
        return Err(too_large(format!("The query is longer than {} KB.", MOST_QUERY_BYTES >> 10)));
    }
    Ok(())
}

/// The failure of a query without a statement.
pub(super) fn empty() -> Failure {
    bad_request("The query is empty. Write one that begins with select or with.")
}

/// The failure of a text with several statements.
pub(super) fn several() -> Failure {
    bad_request("A query is one statement; this text has several. Keep one.")
}

/// The failure of a value that is too long.
pub(super) fn too_long() -> Failure {
    too_large("The query builds a text that is too long. Join fewer or shorter texts.")
}

/// A position in a query, for the end of a message.
pub(super) fn place(query: &str, offset: usize) -> String {
    query.get(..offset).map_or_else(String::new, |before| {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!(" (line {line}, column {column} of the query)")
    })
}

/// Answers queries on the tables it has.
pub(super) trait Answers {
    /// Answers one query.
    fn query(&mut self, request: &QueryRequest, cancel: &CancelFlag) -> Result<Rows, Failure>;
}

/// Adds the names of the existing tables to a failure.
pub(super) fn with_tables(wrong: Failure, tables: &[TableSource]) -> Failure {
    let have = listed(tables.iter().map(|table| table.name.as_str()));
    failure(wrong.kind, format!("{} The tables are: {have}.", wrong.message))
}

/// Adds the columns of a table to a failure.
pub(super) fn with_columns(wrong: Failure, table: &TableSource, columns: &[String]) -> Failure {
    let have = listed(columns.iter().map(String::as_str));
    failure(wrong.kind, format!("{} Columns of {}: {have}.", wrong.message, table.name))
}

/// Collects rows, up to the limits.
pub(super) struct TakenRows {
    rows: Rows,
    bytes: usize,
    most_rows: u64,
}

impl TakenRows {
    /// Creates an empty collection.
    pub(super) fn new(most_rows: u64) -> TakenRows {
        TakenRows { rows: Rows::default(), bytes: 0, most_rows }
    }

    /// Whether the maximum number of rows is reached. The result then counts as cut.
    pub(super) fn is_full(&mut self) -> bool {
        self.rows.is_cut = self.rows.rows.len() as u64 >= self.most_rows;
        self.rows.is_cut
    }

    /// Adds a row of about this size.
    pub(super) fn push(&mut self, row: Map<String, Value>, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes + row.keys().map(|name| name.len() + size_of::<Value>()).sum::<usize>();
        if self.bytes > MOST_RESULT_BYTES {
            let so_far = counted(self.rows.rows.len() as u64 + 1, "row");
            let sentence =
                format!("The result is larger than {} MB after {so_far}. Ask for fewer columns or rows.", MOST_RESULT_BYTES >> 20);
            return Err(too_large(sentence));
        }
        self.rows.rows.push(row);
        Ok(())
    }

    /// Returns all rows, with the names and types of the columns.
    pub(super) fn with_columns(mut self, columns: Vec<(String, String)>) -> Rows {
        self.rows.columns = columns;
        self.rows
    }
}

/// Binds the values, runs the query, collects at most `max_rows` rows. `kinds`: the declared types of its columns, where they are known otherwise than
/// from the statement.
pub(super) fn run(
    statement: &mut Statement<'_>,
    request: &QueryRequest,
    kinds: &[Option<FieldKind>],
    guard: &Guard,
) -> Result<Rows, Failure> {
    // The authorizer is called too late to catch VACUUM and similar statements at compile time.
    if !statement.readonly() {
        return Err(only_reads());
    }
    if statement.column_count() == 0 {
        return Err(empty());
    }
    bind(statement, &request.with)?;
    let mut columns: Vec<ResultColumn> = columns_of(statement);
    columns.iter_mut().zip(kinds).filter(|(column, _)| column.kind.is_none()).for_each(|(column, kind)| column.declare(*kind));
    let mut taken = TakenRows::new(request.max_rows);
    let mut rows = statement.raw_query();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) => return Err(guard.cause(&error).unwrap_or_else(|| while_running(&error))),
        };
        if taken.is_full() {
            break;
        }
        let mut bytes = 0;
        let mut map = Map::with_capacity(columns.len());
        for (index, column) in columns.iter_mut().enumerate() {
            let value = row.get_ref(index).map_err(|error| while_running(&error))?;
            bytes += size(value);
            map.insert(column.name.clone(), column.value(value));
        }
        taken.push(map, bytes)?;
    }
    Ok(taken.with_columns(columns.into_iter().map(|column| (column.name, type_word(column.kind))).collect()))
}

/// A type as a result reports it; empty if unknown.
pub(super) fn type_word(kind: Option<FieldKind>) -> String {
    kind.map_or("", FieldKind::word).to_owned()
}

/// A column of a result.
struct ResultColumn {
    name: String,
    /// The narrowest type that its values allow; `None` if unknown.
    kind: Option<FieldKind>,
    /// Declared as boolean. SQLite itself only has 1 and 0.
    is_boolean: bool,
    has_values: bool,
}

/// Converts a declared column type, by SQLite's rules of affinity (sqlite.org/datatype3.html, section 3.1).
fn declared(declared: &str) -> Option<FieldKind> {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    match () {
        () if has(&["BOOL"]) => Some(FieldKind::Boolean),
        () if has(&["INT"]) => Some(FieldKind::Integer),
        () if has(&["CHAR", "CLOB", "TEXT", "DATE", "TIME"]) => Some(FieldKind::Text),
        () if has(&["REAL", "FLOA", "DOUB", "NUM", "DEC"]) => Some(FieldKind::Number),
        () => None,
    }
}

impl ResultColumn {
    fn declare(&mut self, kind: Option<FieldKind>) {
        (self.kind, self.is_boolean) = (kind, kind == Some(FieldKind::Boolean));
    }

    /// Converts a value, and updates the type of the column.
    fn value(&mut self, value: ValueRef<'_>) -> Value {
        let (value, kind) = match value {
            ValueRef::Null => return Value::Null,
            ValueRef::Integer(0 | 1) if self.is_boolean => (Value::Bool(value == ValueRef::Integer(1)), FieldKind::Boolean),
            ValueRef::Integer(whole) => (Value::from(whole), FieldKind::Integer),
            ValueRef::Real(number) => (Number::from_f64(number).map_or(Value::Null, Value::Number), FieldKind::Number),
            ValueRef::Text(text) => (Value::from(String::from_utf8_lossy(text)), FieldKind::Text),
            // JSON has no type for bytes, so they become hexadecimal digits.
            ValueRef::Blob(bytes) => (Value::from(hex::encode(bytes)), FieldKind::Text),
        };
        self.kind = match (self.has_values, self.kind, kind) {
            (false, _, new) => Some(new),
            (true, Some(old), new) if old == new => Some(old),
            (true, Some(FieldKind::Integer | FieldKind::Number), FieldKind::Integer | FieldKind::Number) => Some(FieldKind::Number),
            _ => None,
        };
        self.has_values = true;
        value
    }
}

/// The declared types of the columns of a result.
pub(super) fn result_kinds(statement: &Statement<'_>) -> Vec<Option<FieldKind>> {
    columns_of(statement).into_iter().map(|column| column.kind).collect()
}

/// The names of the columns of a result.
pub(super) fn result_names(statement: &Statement<'_>) -> Vec<String> {
    columns_of(statement).into_iter().map(|column| column.name).collect()
}

fn columns_of(statement: &Statement<'_>) -> Vec<ResultColumn> {
    let mut taken = HashSet::new();
    let column = |column: rusqlite::Column<'_>| {
        let kind = column.decl_type().and_then(declared);
        ResultColumn { name: unique(column.name(), &mut taken), kind, is_boolean: kind == Some(FieldKind::Boolean), has_values: false }
    };
    statement.columns().map(column).collect()
}

fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Blob(bytes) => bytes.len() * 2,
        _ => 0,
    }
}

/// A failure while rows were read.
fn while_running(error: &rusqlite::Error) -> Failure {
    let sentence = sqlite_sentence(error);
    if let Some(why) = unreadable_cell(&sentence) {
        return wrong_type(why);
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::TooBig) => too_long(),
        Some(ErrorCode::OutOfMemory | ErrorCode::DiskFull) => too_large("The query needs too much memory. Sort, group or join fewer rows."),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            unavailable("The database file is being changed by another program. Try again.")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            unavailable(format!("The database file cannot be read: {sentence}."))
        }
        _ => bad_request(format!("SQLite: {sentence}.")),
    }
}

/// A failure while the query was compiled.
pub(super) fn while_compiling(error: &rusqlite::Error) -> Failure {
    match error {
        rusqlite::Error::MultipleStatement => several(),
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let place = usize::try_from(*offset).map_or_else(|_| String::new(), |offset| place(sql, offset));
            bad_request(format!("SQLite: {msg}{place}."))
        }
        other => while_running(other),
    }
}

/// SQLite's own message.
pub(super) fn sqlite_sentence(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(sentence)) => sentence.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// The values of `with`, and those that no parameter has used yet.
pub(super) struct BoundValues<'a> {
    with: &'a BTreeMap<String, Value>,
    unused: BTreeSet<&'a str>,
}

impl<'a> BoundValues<'a> {
    /// Creates the values of a request.
    pub(super) fn new(with: &'a BTreeMap<String, Value>) -> BoundValues<'a> {
        BoundValues { with, unused: with.keys().map(String::as_str).collect() }
    }

    /// The value of a parameter, as written. Fails with `bad_request` if it has no value, or is written in another form (`?`, `:name`).
    pub(super) fn of<'w>(&mut self, written: &'w str) -> Result<(&'w str, &'a Value), Failure> {
        let Some(name) = written.strip_prefix('$') else {
            let plain = written.trim_start_matches(['?', ':', '@']);
            let name = if plain.chars().next().is_some_and(char::is_alphabetic) { plain } else { "name" };
            return Err(bad_request(format!("A value is filled in by name: write ${name} instead of {written}, and set it under `with`.")));
        };
        let Some(value) = self.with.get(name) else {
            let have = listed(self.with.keys().map(String::as_str));
            return Err(bad_request(format!("The query has ${name}, but `with` has no value of that name (it has: {have}).")));
        };
        self.unused.remove(name);
        Ok((name, value))
    }

    /// Fails with `bad_request` if a value is not used.
    pub(super) fn all_used(&self) -> Result<(), Failure> {
        match self.unused.first() {
            None => Ok(()),
            Some(name) => {
                Err(bad_request(format!("`with` has a value \"{name}\", but the query has no ${name}. Use it, or remove it from `with`.")))
            }
        }
    }
}

/// Binds every parameter of a SQLite query.
pub(super) fn bind(statement: &mut Statement<'_>, with: &BTreeMap<String, Value>) -> Result<(), Failure> {
    let mut values = BoundValues::new(with);
    for place in 1..=statement.parameter_count() {
        let written = statement.parameter_name(place).unwrap_or("?").to_owned();
        let (name, value) = values.of(&written)?;
        let value = to_sql(name, value)?;
        statement.raw_bind_parameter(place, value).map_err(|error| not_bound(name, &error))?;
    }
    values.all_used()
}

fn to_sql(name: &str, value: &Value) -> Result<Sql, Failure> {
    Ok(match value {
        Value::Null => Sql::Null,
        Value::Bool(boolean) => Sql::Integer(i64::from(*boolean)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Sql::Integer(whole),
            (None, Some(other)) if !number.is_u64() => Sql::Real(other),
            _ => return Err(bad_request(format!("The value of ${name} is too large a number for SQLite. Pass it as a text."))),
        },
        Value::String(text) => Sql::Text(text.clone()),
        list_or_object => Sql::Text(list_or_object.to_string()),
    })
}

/// The failure of a value that the engine rejects.
pub(super) fn not_bound(name: &str, error: &dyn std::fmt::Display) -> Failure {
    bad_request(format!("The value of ${name} cannot be used: {error}."))
}
