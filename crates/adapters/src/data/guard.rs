//! What a query may do: only read its own tables with the allowed functions, within limits on time and memory.
//!
//! While SQLite compiles a query, it calls the authorizer for every table, column, function and kind of statement, so no decision is based on the
//! query's text.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode};

use super::blocking::CancelFlag;
use super::like;
use super::sentence::{denied, failure, listed, too_large};
use crate::diagnostic::nearest;
use crate::event::Failure;
use crate::lock;
use crate::model::{FailureKind, QueryFault};
use crate::port::TableSource;

/// Number of steps of SQLite's virtual machine between two checks of time and memory.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;
/// How often a query is looked at while it is only compiled; then it is given up.
const MOST_LOOKS: u32 = 1_000;
/// How much the process may grow while a query runs, in bytes. Sorting and grouping use memory.
pub(super) const MOST_GROWTH: u64 = 512 << 20;

/// The guard of one query.
pub(super) struct Guard {
    state: Arc<GuardState>,
}

struct GuardState {
    /// Names of the request's tables in lower case: no other table may be read. `None` if this was checked before.
    tables: Option<HashSet<String>>,
    /// Tables and columns that the query reads, in lower case.
    reads: Mutex<HashSet<(String, String)>>,
    /// The first rejection.
    refusal: Mutex<Option<StatementRefusal>>,
    grew_too_much: AtomicBool,
}

/// Why a statement was rejected.
enum StatementRefusal {
    /// A message to show.
    Act(String),
    /// A function that is not allowed.
    Function(String),
    /// A table that is not in the request.
    Table(String),
}

impl Guard {
    /// Installs the guard on a connection. `tables` are all tables that the query may read; `None` if this was checked before.
    pub(super) fn watch(connection: &mut Connection, tables: Option<&[TableSource]>, cancel: &CancelFlag) -> rusqlite::Result<Guard> {
        let tables = tables.map(|tables| tables.iter().map(|table| table.name.to_lowercase()).collect());
        Guard::put_on(connection, tables, MOST_GROWTH, cancel)
    }

    /// Installs the guard on a connection that only compiles queries: they may read these tables (in lower case). Nothing is asked of the system.
    pub(super) fn compiling(connection: &mut Connection, tables: HashSet<String>) -> rusqlite::Result<Guard> {
        let guard = Guard::deciding(connection, Some(tables))?;
        let mut left = MOST_LOOKS;
        connection.progress_handler(
            STEPS_BETWEEN_LOOKS,
            Some(move || {
                left = left.saturating_sub(1);
                left == 0
            }),
        )?;
        Ok(guard)
    }

    fn deciding(connection: &mut Connection, tables: Option<HashSet<String>>) -> rusqlite::Result<Guard> {
        let state =
            Arc::new(GuardState { tables, reads: Mutex::default(), refusal: Mutex::new(None), grew_too_much: AtomicBool::new(false) });
        let asked = Arc::clone(&state);
        connection.authorizer(Some(move |context: AuthContext<'_>| asked.decide(&context)))?;
        Ok(Guard { state })
    }

    fn put_on(
        connection: &mut Connection,
        tables: Option<HashSet<String>>,
        most_growth: u64,
        cancel: &CancelFlag,
    ) -> rusqlite::Result<Guard> {
        let guard = Guard::deciding(connection, tables)?;
        let (watched, cancel, at_start) = (Arc::clone(&guard.state), cancel.clone(), resident_bytes());
        let look = move || {
            let grew = resident_bytes().zip(at_start).is_some_and(|(now, then)| now.saturating_sub(then) > most_growth);
            if grew {
                watched.grew_too_much.store(true, Ordering::Relaxed);
            }
            grew || cancel.is_cancelled()
        };
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(look))?;
        Ok(guard)
    }

    /// Removes the guard, for flow's own statements.
    pub(super) fn lift(connection: &mut Connection) -> rusqlite::Result<()> {
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        connection.progress_handler(0, None::<fn() -> bool>)
    }

    /// The failure that led to SQLite's error, if the guard caused it.
    pub(super) fn cause(&self, error: &rusqlite::Error) -> Option<Failure> {
        let code = error.sqlite_error_code();
        if code == Some(ErrorCode::OperationInterrupted) {
            return Some(if self.state.grew_too_much.load(Ordering::Relaxed) { too_much_memory() } else { stopped() });
        }
        match lock(&self.state.refusal).as_ref()? {
            StatementRefusal::Act(sentence) => Some(denied(sentence)),
            StatementRefusal::Function(name) => Some(denied(format!("A query may not call the function {name}."))),
            StatementRefusal::Table(table) => Some(may_not_read(table, self.state.tables.iter().flatten().map(String::as_str))),
        }
    }

    /// What the guard refused first, if anything.
    pub(super) fn refused(&self) -> Option<QueryFault> {
        lock(&self.state.refusal).as_ref().map(|refusal| match refusal {
            StatementRefusal::Act(_) => QueryFault::Writes,
            StatementRefusal::Function(name) => QueryFault::DeniedFunction(name.clone()),
            StatementRefusal::Table(name) => QueryFault::DeniedTable(name.clone()),
        })
    }

    /// The tables and columns that the compiled query reads, in lower case.
    pub(super) fn reads(&self) -> HashSet<(String, String)> {
        lock(&self.state.reads).clone()
    }
}

impl GuardState {
    fn decide(&self, context: &AuthContext<'_>) -> Authorization {
        let refusal = match context.action {
            AuthAction::Select | AuthAction::Recursive => return Authorization::Allow,
            AuthAction::Read { table_name, column_name } if self.may_read(table_name, context.database_name) => {
                let read = (table_name.to_lowercase(), column_name.to_lowercase());
                lock(&self.reads).insert(read);
                return Authorization::Allow;
            }
            AuthAction::Read { table_name, .. } => StatementRefusal::Table(table_name.to_owned()),
            AuthAction::Function { function_name } if is_allowed(function_name) => return Authorization::Allow,
            // In a view of ours; a query that names it has been refused before, where tables are listed.
            AuthAction::Function { function_name: UNREADABLE } if self.tables.is_none() => return Authorization::Allow,
            AuthAction::Function { function_name } => StatementRefusal::Function(function_name.to_owned()),
            AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
                StatementRefusal::Act("A query may not open other files: it sees the tables of `data` only.".to_owned())
            }
            AuthAction::Pragma { pragma_name, .. } => StatementRefusal::Act(format!("A query may not use PRAGMA {pragma_name}.")),
            _ => StatementRefusal::Act(only_reads().message),
        };
        lock(&self.refusal).get_or_insert(refusal);
        Authorization::Deny
    }

    /// SQLite passes no database for a name from which no column is read (`count(*)`): a table, or a `with` of the query.
    fn may_read(&self, table: &str, database: Option<&str>) -> bool {
        let table = table.to_lowercase();
        let Some(tables) = &self.tables else { return true };
        let is_inner = ["sqlite_", "pragma_", "dbstat"].iter().any(|start| table.starts_with(start));
        tables.contains(&table) || TABLES.contains(&table.as_str()) || (database.is_none() && !is_inner)
    }
}

/// The failure of a query that does more than read.
pub(super) fn only_reads() -> Failure {
    denied("A query may only read: it must not change, create or remove anything.")
}

/// The failure of a query that reads a table which it may not read.
pub(super) fn may_not_read<'a>(table: &str, seen: impl Iterator<Item = &'a str>) -> Failure {
    let mut names: Vec<&str> = seen.collect();
    names.sort_unstable();
    denied(format!("The query may not read \"{table}\". It sees these tables only: {}.", listed(names)))
}

/// The failure of a query that was stopped because it used too much memory.
pub(super) fn too_much_memory() -> Failure {
    let sentence = format!("The query needs more than {} MB of memory. Sort, group or join fewer rows.", MOST_GROWTH >> 20);
    too_large(sentence)
}

/// The failure of a query that was stopped because its result is no longer needed.
pub(super) fn stopped() -> Failure {
    failure(FailureKind::Timeout, "The query was stopped.")
}

/// The resident memory of this process in bytes, assuming pages of 4 KiB: what else grows meanwhile counts, too. SQLite counts what one connection
/// uses for its cache, schema and statements (`sqlite3_db_status`), but not what a query sorts and groups; what it counts of that
/// (`sqlite3_memory_used`) is of all connections of the process, those of the store among them. Neither, nor an allocator of our own for it, can be
/// reached without `unsafe`, which is forbidden here. `None` on systems that do not report it; there, only time and the size of
/// single values limit a query.
pub(super) fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    pages.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}

/// SQLite's functions without side effects, in lower case. Deliberately missing: `load_extension`, `randomblob`, `zeroblob` (memory),
/// `fts3_tokenizer`, `sqlite_*`, `changes` and similar functions.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    // operators
    "->", "->>", "glob", "like", "likelihood", "likely", "unlikely",
    // values
    "abs", "ceil", "ceiling", "coalesce", "concat", "concat_ws", "exp", "floor", "format", "hex", "if", "ifnull", "iif", "instr",
    "length", "ln", "log", "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nullif", "octet_length", "pi", "pow", "power",
    "printf", "quote", "random", "replace", "round", "rtrim", "sign", "soundex", "sqrt", "substr", "substring", "trim", "trunc", "typeof",
    "unicode", "char", "unhex", "unistr", "unistr_quote", "upper",
    // dates
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time", "timediff", "unixepoch",
    // aggregates and windows
    "avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "lag", "last_value", "lead", "median", "nth_value", "ntile",
    "percent_rank", "percentile", "percentile_cont", "percentile_disc", "rank", "row_number", "string_agg", "sum", "total",
    // JSON
    "json", "json_array", "json_array_length", "json_each", "json_error_position", "json_extract", "json_group_array",
    "json_group_object", "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace",
    "json_set", "json_tree", "json_type", "json_valid",
];

/// Table-valued functions that a query may read.
const TABLES: [&str; 2] = ["json_each", "json_tree"];

/// Whether a query may call the function.
fn is_allowed(function: &str) -> bool {
    ALLOWED.iter().any(|allowed| allowed.eq_ignore_ascii_case(function))
}

/// The functions that a query may call and whose names are like this one.
pub(super) fn allowed_like(function: &str) -> Vec<String> {
    nearest(&function.to_lowercase(), ALLOWED.iter().copied()).into_iter().map(str::to_owned).collect()
}

/// The function that ends a query which reads a cell that is not what it is declared to be.
pub(super) const UNREADABLE: &str = "unreadable_cell";
/// What its message begins with.
const UNREADABLE_MARK: &str = "\u{1}";

/// What is wrong with a cell, if reading it ended a query with this message of SQLite.
pub(super) fn unreadable_cell(sentence: &str) -> Option<&str> {
    sentence.strip_prefix(UNREADABLE_MARK)
}

/// Adds `lower`, `upper`, `like` and the collation `nocase` for all letters. SQLite's own only know A–Z, so `lower('ÉVA')` would match nothing.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let changed = |change: fn(&str) -> String| {
        move |context: &rusqlite::functions::Context<'_>| -> rusqlite::Result<rusqlite::types::Value> {
            use rusqlite::types::{Value, ValueRef};
            Ok(match context.get_raw(0) {
                ValueRef::Text(text) => Value::Text(change(&String::from_utf8_lossy(text))),
                other => other.try_into()?,
            })
        }
    };
    connection.create_scalar_function("lower", 1, flags, changed(str::to_lowercase))?;
    connection.create_scalar_function("upper", 1, flags, changed(str::to_uppercase))?;
    connection.create_scalar_function(UNREADABLE, 1, flags, |context| -> rusqlite::Result<Option<i64>> {
        let why = context.get_raw(0).as_blob().map(String::from_utf8_lossy).unwrap_or_default();
        Err(rusqlite::Error::UserFunctionError(format!("{UNREADABLE_MARK}{why}").into()))
    })?;
    like::add(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_query_that_needs_too_much_memory_is_stopped() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA temp_store = MEMORY").unwrap();
        let guard = Guard::put_on(&mut connection, None, 16 << 20, &CancelFlag::default()).unwrap();
        let query = "with recursive n(i) as (select 1 union all select i + 1 from n) \
                     select count(*) from (select printf('%100000d', i) as wide from n limit 100000) group by wide";
        let error = connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap_err();
        assert_eq!(guard.cause(&error).unwrap().kind, FailureKind::TooLarge);
    }

    #[test]
    fn functions_that_reach_outside_are_not_on_the_list() {
        for function in
            ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "randomblob", "zeroblob", "sqlite_version", "sqlite_log"]
        {
            assert!(!is_allowed(function), "{function}");
        }
        assert!(is_allowed("SUM") && is_allowed("sum"));
    }

    #[test]
    fn every_function_on_the_list_that_takes_one_value_exists_or_is_optional() {
        let connection = Connection::open_in_memory().unwrap();
        let known: Vec<String> = connection
            .prepare("SELECT DISTINCT lower(name) FROM pragma_function_list")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        // Part of some builds of SQLite only, or handled before functions are looked up, or a table.
        let optional = |name: &str| {
            TABLES.contains(&name)
                || ["ceil", "ceiling", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "sqrt", "trunc"]
                    .contains(&name)
                || name.starts_with("percentile")
                || name == "median"
        };
        for name in ALLOWED {
            assert!(known.iter().any(|function| function == name) || optional(name), "{name} is no function of SQLite");
        }
    }
}
