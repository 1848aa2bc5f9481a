//! The tables of a store of runs, and their migration from an older version.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, params};

use super::run_lock::RunLock;
use super::sqlite_file::{WriteTurn, connect, erase, execute_cached, make_file, query_all, reason};
use super::store_block::{EventBlock, OfRun, WAITING, checksum};
use crate::event::Event;
use crate::port::StoreError;

/// Version of the tables (`PRAGMA user_version`).
pub(super) const VERSION: i64 = 2;

/// Rows are stored in the order in which they were written, so that runs do not interfere with each other. `last` is the number of a block's last
/// event; `key` is the id of the key that encrypts blocks of the run; `pipeline` is null until the run's first event is written.
const TABLES: &str = "
    create table runs (
        number integer primary key, run text not null unique, pipeline text, started text, status text, key text
    ) strict;
    create table blocks (number integer primary key, run integer not null, last integer not null, checksum blob not null, body blob not null) strict;
    create unique index blocks_of_run on blocks (run, last);
    pragma user_version = 2;";

/// Bytes of event texts that form one block when an older store is migrated.
const TOGETHER: usize = 64 * 1024;

/// What a file contains.
pub(super) enum StoreFile {
    /// A store of this version.
    Store,
    /// Nothing: it was never written, or was emptied.
    Nothing,
    /// A store of version 1.
    Old,
    /// Something else: why it cannot be used.
    Other(String),
}

/// Detects what a file contains.
pub(super) fn look(connection: &Connection) -> rusqlite::Result<StoreFile> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    Ok(match version {
        VERSION => StoreFile::Store,
        1 => StoreFile::Old,
        0 if tables == 0 => StoreFile::Nothing,
        0 => StoreFile::Other("it is another program's database".into()),
        other => StoreFile::Other(format!("it has format {other}; this flow reads {VERSION}")),
    })
}

/// Creates an empty store if the file is missing or empty. It is built under another name, so that a process that is killed leaves no incomplete
/// store. Takes the write turn.
pub(super) fn make(file: &Path) -> Result<(), StoreError> {
    let unusable = |error: std::io::Error| StoreError::unusable(file, error);
    let _turn = WriteTurn::wait(file);
    let is_there = std::fs::metadata(file).is_ok_and(|data| data.len() > 0);
    let is_nothing = |found: StoreFile| matches!(found, StoreFile::Nothing);
    if is_there && !connect(file).and_then(|connection| look(&connection)).map(is_nothing).map_err(store_error(file))? {
        return Ok(());
    }
    make_file(file, TABLES, unusable, store_error(file))
}

/// Migrates a store of version 1 in one transaction. Damaged events stay damaged.
pub(super) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), StoreError> {
    let _turn = WriteTurn::wait(file);
    let told = store_error(file);
    connection.execute_batch("begin immediate").map_err(told)?;
    let done = match look(connection).map_err(told) {
        Ok(StoreFile::Old) => copy(connection, file),
        other => other.map(drop),
    };
    if let Err(error) = done.and_then(|()| connection.execute_batch("commit").map_err(told)) {
        // SQLite may have rolled back already.
        let _ = connection.execute_batch("rollback");
        return Err(error);
    }
    // Erases traces that older versions left of removed runs. If this fails, the next removal erases them.
    let _ = erase(connection);
    Ok(())
}

fn copy(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let told = store_error(file);
    let begin = || -> rusqlite::Result<Vec<(i64, String)>> {
        connection.execute_batch("alter table runs rename to runs_1; alter table events rename to events_1;")?;
        connection.execute_batch(TABLES)?;
        connection.execute_batch(
            "insert into runs (run, pipeline, started, status) select run, pipeline, started, status from runs_1 order by rowid;
             insert or ignore into runs (run) select distinct run from events_1;",
        )?;
        query_all(connection, "select number, run from runs", [], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let runs = begin().map_err(told)?;
    for (number, run) in &runs {
        if RunLock::is_held(file, run) {
            let message = format!("it has format 1, and an older flow is executing run {run}; try again when that has ended");
            return Err(StoreError::unusable(file, message));
        }
        for block in old_blocks(connection, file, run)? {
            put(connection, *number, &block).map_err(told)?;
        }
        let status = |row: &rusqlite::Row| row.get::<_, Option<String>>(0);
        let status = connection.query_row("select status from runs where number = ?1", [number], status).map_err(told)?;
        if status.is_none() && waits(connection, run).map_err(told)? {
            connection.execute("update runs set status = ?2 where number = ?1", params![number, WAITING]).map_err(told)?;
        }
    }
    connection.execute_batch("drop table events_1; drop table runs_1;").map_err(told)
}

/// Whether the last status change of an unfinished run is that it waits.
fn waits(connection: &Connection, run: &str) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached("select body from events_1 where run = ?1 order by seq desc")?;
    let mut rows = query.query([run])?;
    while let Some(row) = rows.next()? {
        let event: Option<Event> = serde_json::from_str(&row.get::<_, String>(0)?).ok();
        if let Some(of_run) = event.as_ref().and_then(OfRun::new) {
            return Ok(matches!(of_run, OfRun::Is(Some(word)) if word == WAITING));
        }
    }
    Ok(false)
}

/// The events of a run of version 1 as blocks.
fn old_blocks(connection: &Connection, file: &Path, run: &str) -> Result<Vec<EventBlock>, StoreError> {
    let told = store_error(file);
    let mut query = connection.prepare_cached("select seq, body, checksum from events_1 where run = ?1 order by seq").map_err(told)?;
    let mut rows = query.query([run]).map_err(told)?;
    let (mut blocks, mut texts, mut first): (Vec<EventBlock>, Vec<String>, u64) = (vec![], vec![], 1);
    while let Some(row) = rows.next().map_err(told)? {
        let get = || Ok((row.get::<_, i64>(0)? as u64, row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?));
        let (seq, text, sum) = get().map_err(told)?;
        let is_sound = sum == checksum(run, seq, text.as_bytes());
        let is_full = texts.iter().map(String::len).sum::<usize>() >= TOGETHER;
        if !texts.is_empty() && (is_full || !is_sound || seq != first + texts.len() as u64) {
            blocks.push(EventBlock::of_texts(run, first, &std::mem::take(&mut texts))?);
        }
        if texts.is_empty() {
            first = seq;
        }
        texts.push(text);
        if !is_sound {
            let mut block = EventBlock::of_texts(run, seq, &std::mem::take(&mut texts))?;
            block.checksum.iter_mut().for_each(|byte| *byte = !*byte);
            blocks.push(block);
        }
    }
    if !texts.is_empty() {
        blocks.push(EventBlock::of_texts(run, first, &texts)?);
    }
    Ok(blocks)
}

/// Writes a block of the run with this number.
pub(super) fn put(connection: &Connection, number: i64, block: &EventBlock) -> rusqlite::Result<()> {
    let insert = "insert into blocks (run, last, checksum, body) values (?1, ?2, ?3, ?4)";
    execute_cached(connection, insert, params![number, block.last as i64, block.checksum, block.body])
}

/// Converts an error of SQLite for this store.
pub(super) fn store_error(file: &Path) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { file: file.display().to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            let help = "move it, and the files that begin with its name, to another folder: the next run makes a new store";
            StoreError::unusable(file, format!("{error}; {help}"))
        }
        _ => StoreError::unusable(file, reason(&error)),
    }
}
