//! The files that runs started with, in the store. Runs that started with the same files share one copy, which is removed with the last of them.
//!
//! They are only used to show people what changed when a run cannot continue because a file has changed. No run needs them.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::encryption::{JournalKey, Sealing};
use super::sqlite_file::{execute_cached, has_table, query_value};
use super::store_block::{checksum, packed, unpacked};

/// The text of each file by its name.
pub type FileTexts = BTreeMap<String, String>;

/// Created when the first run stores its files. Versions of flow that do not know these tables can still read and write the others.
const TABLES: &str = "
    create table if not exists definitions (number integer primary key, mark text not null unique, checksum blob not null, body blob not null) strict;
    create table if not exists defined (run integer primary key, definition integer not null) strict;
    create index if not exists defined_by on defined (definition);";

/// Maximum size of the files of one run, in bytes. Larger ones are not stored.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// The files of a new run, to be stored.
pub(super) struct RunFiles {
    text: String,
    mark: String,
    key: Option<JournalKey>,
}

impl RunFiles {
    /// `None` if the files exceed the maximum size.
    pub(super) fn new(texts: &FileTexts, sealing: &Sealing) -> Option<RunFiles> {
        let text = serde_json::to_string(texts).ok().filter(|text| text.len() <= MOST_BYTES)?;
        let key = sealing.of_new().cloned();
        let mark = key.as_ref().map_or_else(|| hex::encode(Sha256::digest(&text)), |key| key.mark(&text));
        Some(RunFiles { text, mark, key })
    }

    /// Stores the files for the run with this number. An existing copy is reused.
    pub(super) fn put(&self, connection: &Connection, run: i64) -> rusqlite::Result<()> {
        connection.execute_batch(TABLES)?;
        let number = match query_value(connection, "select number from definitions where mark = ?1", [&self.mark])? {
            Some(number) => number,
            None => {
                let Some(body) = packed(self.mark.as_bytes(), self.text.as_bytes(), self.key.as_ref()) else { return Ok(()) };
                let insert = "insert into definitions (mark, checksum, body) values (?1, ?2, ?3)";
                execute_cached(connection, insert, params![self.mark, checksum(&self.mark, 0, &body), body])?;
                connection.last_insert_rowid()
            }
        };
        execute_cached(connection, "insert or replace into defined (run, definition) values (?1, ?2)", [run, number])
    }
}

/// The files that a run started with. `None` if they are not stored, are damaged, or are encrypted with another key.
pub(super) fn of_run(connection: &Connection, run: &str, key: Option<&JournalKey>) -> rusqlite::Result<Option<FileTexts>> {
    if !has_table(connection, "defined")? {
        return Ok(None);
    }
    let mut query = connection.prepare_cached(
        "select mark, checksum, body from definitions where number =
         (select definition from defined where run = (select number from runs where run = ?1))",
    )?;
    let row = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?));
    let Some((mark, sum, body)) = query.query_row([run], row).optional()? else { return Ok(None) };
    let text = unpacked(mark.as_bytes(), &body, key).filter(|_| sum == checksum(&mark, 0, &body));
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Removes the files of runs, before the runs themselves are removed, and copies that no run uses any more.
pub(super) fn forget(connection: &Connection, runs: &[&str]) -> rusqlite::Result<()> {
    if !has_table(connection, "defined")? {
        return Ok(());
    }
    let mut forget = connection.prepare_cached("delete from defined where run = (select number from runs where run = ?1)")?;
    runs.iter().try_for_each(|run| forget.execute([run]).map(drop))?;
    connection.execute("delete from definitions where number not in (select definition from defined)", []).map(drop)
}
