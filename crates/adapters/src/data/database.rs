//! An in-memory database with the tables that queries have needed so far.
//!
//! A query is compiled twice. First against the *shape*: an empty database that only has the tables and columns that this request may read. A query
//! that compiles there refers to no other table, however it is written. Then against the database itself, where an attached SQLite file may have
//! other tables besides the requested one.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::blocking::CancelFlag;
use super::engines::fits;
use super::guard::{Guard, add_functions};
use super::like::{MOST_PATTERN, set_nocase};
use super::load;
use super::personal::{lacking, marked};
use super::query::{
    Answers, MOST_VALUE_BYTES, check, quoted, result_kinds, run, same_name, sqlite_sentence, while_compiling, with_columns, with_tables,
};
use super::sentence::{bad_request, file_name, internal, listed, unavailable};
use super::source::{Content, Stamp, absolute, checked};
use crate::event::Failure;
use crate::lock;
use crate::model::DataKind;
use crate::port::{QueryRequest, Rows, TableSource};

/// Maximum memory of all loaded tables, in pages of 4 KiB: 512 MiB.
const MOST_PAGES: u32 = 131_072;
/// How long to wait while another program writes an attached file.
const BUSY: Duration = Duration::from_secs(1);

/// The loaded tables, and the shape of those that the current request may read.
pub(super) struct Database {
    connection: Connection,
    shape: Connection,
    loaded: Vec<LoadedTable>,
    attached: u64,
}

/// Where the rows of a table are.
enum TablePlace {
    /// In memory, with the columns and their SQLite types.
    Memory { is_view: bool, columns: Vec<(String, &'static str)> },
    /// In an attached file of this name. `has_nocase`: something in it may be ordered by SQLite's own `nocase`.
    Attached { file: String, has_nocase: bool },
}

/// A table that queries can read.
struct LoadedTable {
    source: TableSource,
    stamp: Stamp,
    place: TablePlace,
    /// Whether the shape contains it.
    is_visible: bool,
}

impl LoadedTable {
    fn is_in_memory(&self) -> bool {
        matches!(self.place, TablePlace::Memory { .. })
    }
}

impl Database {
    /// Creates a database without tables.
    pub(super) fn new() -> Result<Database, Failure> {
        let connect = || connect().map_err(|error| internal(format!("SQLite could not be started: {error}.")));
        Ok(Database { connection: connect()?, shape: connect()?, loaded: Vec::new(), attached: 0 })
    }

    /// How many of these tables are already loaded.
    pub(super) fn shared_with(&self, tables: &[TableSource]) -> usize {
        self.loaded.iter().filter(|loaded| tables.contains(&loaded.source)).count()
    }

    /// The size of the files whose tables are loaded into memory, in bytes.
    pub(super) fn loaded_bytes(&self) -> u64 {
        self.loaded.iter().filter(|loaded| loaded.is_in_memory()).map(|loaded| loaded.stamp.size).sum()
    }

    /// Runs the query once. Returns its rows, or a table of the request that must be loaded first. A table is requested at most once.
    fn attempt<'a>(&mut self, query: &str, request: &'a QueryRequest, cancel: &CancelFlag) -> Result<Attempt<'a>, Failure> {
        let guard = Guard::watch(&mut self.shape, Some(&request.tables), cancel).map_err(not_guarded)?;
        // The table and column that each result column comes from.
        let compiled = self.shape.prepare(query).map(|statement| {
            let columns: Vec<_> = statement.columns_with_metadata().collect();
            let origins = columns.iter().map(|column| column.table_name().zip(column.origin_name()));
            (marked(query, &request.tables, &guard.reads(), origins), result_kinds(&statement))
        });
        Guard::lift(&mut self.shape).map_err(not_guarded)?;
        let (personal, kinds) = match compiled {
            Ok(compiled) => compiled,
            Err(error) => {
                let missing = missing_table(&sqlite_sentence(&error));
                return match missing.and_then(|name| request.tables.iter().find(|table| same_name(&table.name, &name))) {
                    Some(table) if !self.is_visible(table) => Ok(Attempt::Needs(table)),
                    _ => Err(guard.cause(&error).unwrap_or_else(|| self.explained(while_compiling(&error), request))),
                };
            }
        };
        let is_of_all_letters = !self.loaded.iter().any(|loaded| matches!(loaded.place, TablePlace::Attached { has_nocase: true, .. }));
        set_nocase(&self.connection, is_of_all_letters).map_err(not_guarded)?;
        let guard = Guard::watch(&mut self.connection, None, cancel).map_err(not_guarded)?;
        let outcome = match self.connection.prepare(query) {
            Ok(mut statement) => run(&mut statement, request, &kinds, &guard).map(|rows| Attempt::Done(rows.with_personal(&personal))),
            Err(error) => Err(guard.cause(&error).unwrap_or_else(|| while_compiling(&error))),
        };
        Guard::lift(&mut self.connection).map_err(not_guarded)?;
        outcome
    }

    /// Adds the existing names to the message of a query that uses an unknown name.
    fn explained(&self, mut wrong: Failure, request: &QueryRequest) -> Failure {
        if wrong.message.contains("no such table") {
            wrong = with_tables(wrong, &request.tables);
        } else if wrong.message.contains("no such column") {
            for loaded in self.loaded.iter().filter(|loaded| request.tables.contains(&loaded.source)) {
                let columns = columns_of(&self.connection, &loaded.source.name).unwrap_or_default();
                wrong = with_columns(wrong, &loaded.source, &columns);
            }
        }
        wrong
    }

    /// Drops tables whose file has changed or whose name now refers to another table, and attached files that this request does not use (SQLite
    /// attaches at most ten). Other tables in memory stay loaded, but are removed from the shape.
    fn keep_only(&mut self, tables: &[TableSource]) -> Result<(), Failure> {
        let wrong = |error: rusqlite::Error| internal(format!("A table could not be removed: {error}."));
        let mut kept = Vec::with_capacity(self.loaded.len());
        for mut loaded in std::mem::take(&mut self.loaded) {
            let named = tables.iter().find(|table| same_name(&table.name, &loaded.source.name));
            let is_current =
                named.map_or(loaded.is_in_memory(), |table| *table == loaded.source && Stamp::now(&table.file) == Some(loaded.stamp));
            let name = quoted(&loaded.source.name);
            if loaded.is_visible && !(is_current && named.is_some()) {
                self.shape.execute_batch(&format!("DROP TABLE main.{name}")).map_err(wrong)?;
                loaded.is_visible = false;
            }
            if is_current {
                kept.push(loaded);
                continue;
            }
            let forget = match &loaded.place {
                TablePlace::Memory { is_view: false, .. } => format!("DROP TABLE main.{name}"),
                TablePlace::Memory { is_view: true, .. } => {
                    format!("DROP VIEW main.{name}; DROP TABLE main.{}", quoted(&load::rows_of(&loaded.source.name)))
                }
                TablePlace::Attached { file, .. } => format!("DROP VIEW temp.{name}; DETACH {}", quoted(file)),
            };
            self.connection.execute_batch(&forget).map_err(wrong)?;
        }
        self.loaded = kept;
        Ok(())
    }

    fn is_visible(&self, table: &TableSource) -> bool {
        self.loaded.iter().any(|loaded| loaded.is_visible && same_name(&loaded.source.name, &table.name))
    }

    /// Adds a table of the request to the shape, and loads it if it is not loaded yet.
    fn show(&mut self, table: &TableSource, cancel: &CancelFlag) -> Result<(), Failure> {
        if !self.loaded.iter().any(|loaded| loaded.source == *table) {
            self.load(table, cancel)?;
        }
        let columns = columns_of(&self.connection, &table.name);
        if let Ok(columns) = &columns {
            lacking(table, columns)?;
        }
        let loaded = self.loaded.iter().find(|loaded| loaded.source == *table);
        let columns = columns.map(|names| match loaded.map(|loaded| &loaded.place) {
            Some(TablePlace::Memory { columns, .. }) => columns.iter().map(|(name, sql)| format!("{} {sql}", quoted(name))).collect(),
            Some(TablePlace::Attached { .. }) | None => names.iter().map(|name| quoted(name)).collect::<Vec<_>>(),
        });
        let columns = columns.map(|columns| columns.join(", "));
        let shaped =
            columns.and_then(|columns| self.shape.execute_batch(&format!("CREATE TABLE main.{} ({columns})", quoted(&table.name))));
        let file = file_name(&table.file);
        shaped
            .map_err(|error| unavailable(format!("The table \"{}\" of {file} cannot be read: {}.", table.name, sqlite_sentence(&error))))?;
        self.loaded.iter_mut().filter(|loaded| loaded.source == *table).for_each(|loaded| loaded.is_visible = true);
        Ok(())
    }

    fn load(&mut self, table: &TableSource, cancel: &CancelFlag) -> Result<(), Failure> {
        fits(table)?;
        let (stamp, place) = match table.kind {
            DataKind::Sqlite => {
                let (stamp, file) = self.attach(table)?;
                let asked = format!("SELECT count(*) FROM {}.sqlite_schema WHERE lower(sql) GLOB '*nocase*'", quoted(&file));
                // Where it cannot be asked, there may be one.
                let has_nocase = self.connection.query_row(&asked, [], |row| row.get::<_, i64>(0)).map_or(true, |count| count > 0);
                (stamp, TablePlace::Attached { file, has_nocase })
            }
            _ => {
                let load::FilledTable { stamp, is_view, columns } = load::load(&mut self.connection, table, cancel)?;
                (stamp, TablePlace::Memory { is_view, columns })
            }
        };
        self.loaded.push(LoadedTable { source: table.clone(), stamp, place, is_visible: false });
        Ok(())
    }

    /// Attaches a SQLite file read-only and creates a view of one of its tables under the name that the query uses.
    fn attach(&mut self, table: &TableSource) -> Result<(Stamp, String), Failure> {
        let stamp = checked_sqlite(&table.file)?;
        let file = file_name(&table.file);
        let wrong =
            |error: rusqlite::Error| unavailable(format!("{file} cannot be read as a SQLite database: {}.", sqlite_sentence(&error)));
        let path = absolute(&table.file)?;
        self.attached += 1;
        let name = format!("file_{}", self.attached);
        self.connection.execute("ATTACH ?1 AS ?2", (path, &name)).map_err(wrong)?;
        let viewed = tables_in(&self.connection, &name).map_err(wrong).and_then(|tables| {
            let (own, theirs) = (quoted(&table.name), quoted(wanted_table(table, &tables)?));
            self.connection.execute_batch(&format!("CREATE TEMP VIEW {own} AS SELECT * FROM {}.{theirs}", quoted(&name))).map_err(wrong)
        });
        if let Err(failure) = viewed {
            // The first failure is the one to report.
            let _ = self.connection.execute("DETACH ?1", [&name]);
            return Err(failure);
        }
        Ok((stamp, name))
    }
}

impl Answers for Database {
    /// Tables are loaded when the query first refers to them.
    fn query(&mut self, request: &QueryRequest, cancel: &CancelFlag) -> Result<Rows, Failure> {
        check(request)?;
        let query = without_end(&request.query);
        self.keep_only(&request.tables)?;
        loop {
            match self.attempt(query, request, cancel)? {
                Attempt::Done(rows) => return Ok(rows),
                Attempt::Needs(table) => self.show(table, cancel)?,
            }
        }
    }
}

/// Maximum number of idle databases.
const MOST_IDLE: usize = 8;
/// Maximum total size of the files whose tables idle databases hold, in bytes.
const MOST_IDLE_BYTES: u64 = 512 << 20;

/// Idle databases with their loaded tables, the least recently used first. A run with several queries loads each file once.
#[derive(Default)]
pub(super) struct DatabasePool {
    idle: Mutex<Vec<Database>>,
}

impl DatabasePool {
    /// Takes the idle database that has loaded the most of these tables, or creates an empty one.
    pub(super) fn take(&self, tables: &[TableSource]) -> Result<Database, Failure> {
        let mut idle = lock(&self.idle);
        let best = idle.iter().map(|database| database.shared_with(tables)).enumerate().max_by_key(|(_, shared)| *shared);
        match best {
            Some((index, shared)) if shared > 0 => Ok(idle.remove(index)),
            _ => Database::new(),
        }
    }

    /// Returns a database to the pool. The least recently used databases are dropped if the pool exceeds its limits.
    pub(super) fn give_back(&self, database: Database) {
        let mut idle = lock(&self.idle);
        idle.push(database);
        while idle.len() > MOST_IDLE || idle.iter().map(Database::loaded_bytes).sum::<u64>() > MOST_IDLE_BYTES {
            idle.remove(0);
        }
    }

    #[cfg(test)]
    pub(super) fn idle(&self) -> usize {
        lock(&self.idle).len()
    }
}

/// Creates an empty in-memory database that cannot write files or load code.
pub(super) fn connect() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory_with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        // A name in double quotes is always a column and never a text, so a misspelt column is an error.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        // Attached files are opened read-only and never created.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES as i32),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MOST_PATTERN as i32),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    connection.busy_timeout(BUSY)?;
    connection
        .execute_batch(&format!("PRAGMA temp_store = MEMORY; PRAGMA main.max_page_count = {MOST_PAGES}; PRAGMA cell_size_check = ON;"))?;
    add_functions(&connection)?;
    Ok(connection)
}

fn not_guarded(error: rusqlite::Error) -> Failure {
    internal(format!("The limits of SQLite could not be set: {error}."))
}

/// The query without semicolons at its end: rusqlite would recurse once for each of them.
pub(super) fn without_end(query: &str) -> &str {
    query.trim_end_matches(|character: char| character == ';' || character.is_whitespace())
}

/// The names of a table's columns.
pub(super) fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let statement = connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
    Ok(statement.column_names().map(str::to_owned).collect())
}

enum Attempt<'a> {
    Done(Rows),
    Needs(&'a TableSource),
}

/// The name of the table that SQLite reports as missing (`no such table: main.entries`).
fn missing_table(sentence: &str) -> Option<String> {
    let name = sentence.strip_prefix("no such table: ")?;
    Some(name.strip_prefix("main.").unwrap_or(name).to_owned())
}

/// Whether a file is a SQLite database, by its first bytes.
pub(super) fn checked_sqlite(path: &Path) -> Result<Stamp, Failure> {
    checked(path, Content::Sqlite, "a SQLite database")
}

/// The tables and views of a SQLite file, sorted by name.
pub(super) fn tables_of(path: &Path) -> Result<Vec<String>, Failure> {
    checked_sqlite(path)?;
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    database
        .and_then(|database| tables_in(&database, "main"))
        .map_err(|error| unavailable(format!("{} cannot be read as a SQLite database: {}.", file_name(path), sqlite_sentence(&error))))
}

pub(super) fn tables_in(connection: &Connection, database: &str) -> rusqlite::Result<Vec<String>> {
    let list = format!(
        "SELECT name FROM {}.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        quoted(database)
    );
    connection.prepare(&list)?.query_map([], |row| row.get(0))?.collect()
}

/// The table that the source names; otherwise the one with the name of the source; otherwise the only one.
pub(super) fn wanted_table<'a>(source: &TableSource, tables: &'a [String]) -> Result<&'a String, Failure> {
    let named = source.table.as_deref().unwrap_or(&source.name);
    let found = tables.iter().find(|table| same_name(table, named));
    if let Some(table) = found {
        return Ok(table);
    }
    let (file, have) = (file_name(&source.file), listed(tables.iter().map(String::as_str)));
    match (&source.table, tables) {
        (None, [only]) => Ok(only),
        (None, _) => Err(bad_request(format!("{file} has several tables or none: {have}. Name one with `table`."))),
        (Some(table), _) => Err(bad_request(format!("{file} has no table \"{table}\"; its tables are: {have}."))),
    }
}
