//! Running one compiled query and turning its rows into data.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Statement};
use serde_json::{Map, Number, Value};

use super::bind::bind;
use super::guard::Guard;
use super::names::unique;
use super::sentence::{counted, failure};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{QueryRequest, Rows};

/// The most bytes of a result.
const MOST_RESULT_BYTES: usize = 16 << 20;

/// A name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Binds the values, runs the query, collects at most `max_rows` rows.
pub(super) fn run(statement: &mut Statement<'_>, request: &QueryRequest, guard: &Guard) -> Result<Rows, Failure> {
    // VACUUM and its kin ask the authorizer too late to be caught while compiling.
    if !statement.readonly() {
        return Err(failure(FailureKind::Denied, "A query only reads: it may not change, create or remove anything."));
    }
    if statement.column_count() == 0 {
        return Err(failure(FailureKind::BadRequest, "The query is empty. Write one that begins with select or with."));
    }
    bind(statement, &request.with)?;
    let mut columns: Vec<Column> = columns_of(statement);
    let mut result = Rows::default();
    let mut bytes = 0;
    let mut rows = statement.raw_query();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) => return Err(guard.cause(&error).unwrap_or_else(|| while_running(&error))),
        };
        if result.rows.len() as u64 >= request.max_rows {
            result.is_cut = true;
            break;
        }
        let mut map = Map::with_capacity(columns.len());
        for (index, column) in columns.iter_mut().enumerate() {
            let value = row.get_ref(index).map_err(|error| while_running(&error))?;
            bytes += column.name.len() + size(value) + size_of::<Value>();
            map.insert(column.name.clone(), column.value(value));
        }
        if bytes > MOST_RESULT_BYTES {
            let so_far = counted(result.rows.len() as u64 + 1, "row");
            let sentence =
                format!("The result is larger than {} MB after {so_far}. Ask for fewer columns or rows.", MOST_RESULT_BYTES >> 20);
            return Err(failure(FailureKind::TooLarge, sentence));
        }
        result.rows.push(map);
    }
    result.columns = columns.into_iter().map(|column| (column.name, column.kind.word().to_owned())).collect();
    Ok(result)
}

/// A column of a result.
struct Column {
    name: String,
    kind: Kind,
    /// Declared as true or false: SQLite has only 1 and 0.
    is_boolean: bool,
    has_values: bool,
}

/// The type of a column, as narrow as its values allow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Text,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Unknown => "",
            Kind::Text => "text",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }

    /// From a declared type, by SQLite's rules of affinity (sqlite.org/datatype3.html, section 3.1).
    fn declared(declared: &str) -> Kind {
        let declared = declared.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        match () {
            () if has(&["BOOL"]) => Kind::Boolean,
            () if has(&["INT"]) => Kind::Integer,
            () if has(&["CHAR", "CLOB", "TEXT", "DATE", "TIME"]) => Kind::Text,
            () if has(&["REAL", "FLOA", "DOUB", "NUM", "DEC"]) => Kind::Number,
            () => Kind::Unknown,
        }
    }
}

impl Column {
    /// The value, and what it tells about the column's type.
    fn value(&mut self, value: ValueRef<'_>) -> Value {
        let (value, kind) = match value {
            ValueRef::Null => return Value::Null,
            ValueRef::Integer(0 | 1) if self.is_boolean => (Value::Bool(value == ValueRef::Integer(1)), Kind::Boolean),
            ValueRef::Integer(whole) => (Value::from(whole), Kind::Integer),
            ValueRef::Real(number) => (Number::from_f64(number).map_or(Value::Null, Value::Number), Kind::Number),
            ValueRef::Text(text) => (Value::from(String::from_utf8_lossy(text)), Kind::Text),
            // Bytes have no place in JSON: they come as hexadecimal digits.
            ValueRef::Blob(bytes) => (Value::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()), Kind::Text),
        };
        self.kind = match (self.has_values, self.kind, kind) {
            (false, _, new) => new,
            (true, old, new) if old == new => old,
            (true, Kind::Integer | Kind::Number, Kind::Integer | Kind::Number) => Kind::Number,
            _ => Kind::Unknown,
        };
        self.has_values = true;
        value
    }
}

fn columns_of(statement: &Statement<'_>) -> Vec<Column> {
    let mut taken = HashSet::new();
    let column = |column: rusqlite::Column<'_>| {
        let kind = column.decl_type().map_or(Kind::Unknown, Kind::declared);
        Column { name: unique(column.name(), &mut taken), kind, is_boolean: kind == Kind::Boolean, has_values: false }
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

/// A failure while rows were made.
fn while_running(error: &rusqlite::Error) -> Failure {
    let sentence = sqlite_sentence(error);
    match error.sqlite_error_code() {
        Some(ErrorCode::TooBig) => {
            failure(FailureKind::TooLarge, "The query makes a text that is too long. Put fewer or shorter texts together.")
        }
        Some(ErrorCode::OutOfMemory | ErrorCode::DiskFull) => {
            failure(FailureKind::TooLarge, "The query needs too much memory. Sort, group or join fewer rows.")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            failure(FailureKind::Unavailable, "The database file is being changed by another program. Try again.")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            failure(FailureKind::Unavailable, format!("The database file cannot be read: {sentence}."))
        }
        _ => failure(FailureKind::BadRequest, format!("SQLite: {sentence}.")),
    }
}

/// A failure while the query was compiled.
pub(super) fn while_compiling(error: &rusqlite::Error) -> Failure {
    match error {
        rusqlite::Error::MultipleStatement => {
            failure(FailureKind::BadRequest, "A query is one statement; this text holds several. Keep one.")
        }
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let before = usize::try_from(*offset).ok().and_then(|offset| sql.get(..offset));
            let place = before.map_or_else(String::new, |before| {
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                format!(" (line {line}, column {column} of the query)")
            });
            failure(FailureKind::BadRequest, format!("SQLite: {msg}{place}."))
        }
        other => while_running(other),
    }
}

/// SQLite's own words.
pub(super) fn sqlite_sentence(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(sentence)) => sentence.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
