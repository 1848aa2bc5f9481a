//! Stores runs in a SQLite file: WAL, `synchronous=FULL`, a checksum for each block of events, and only bound values.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, params};

use super::audit_file::{AuditEnds, AuditFile};
use super::encryption::Sealing;
use super::files;
use super::sqlite_file::{Identity, WriteTurn, connect, erase, execute_cached, query_all, query_value};
use super::store_block::{EventBlock, OfRun, Unwritten, checksum, place, unpacked};
use super::store_files::{self, FileTexts, RunFiles};
use super::store_heads;
use super::store_list;
use super::store_tables::{StoreFile, look, make, migrate, put, store_error};
use crate::event::{Event, VERSION as EVENTS};
use crate::journal::{AuditEnd, AuditHead, AuditRecord, AuditTrail};
use crate::model::read_own;
use crate::port::{RunFilter, RunMatch, RunPage, Store, StoreError};

/// A store in one file.
pub struct SqliteStore {
    file: PathBuf,
    connection: Connection,
    identity: Identity,
    sealing: Sealing,
}

impl SqliteStore {
    /// How new events are encrypted: according to the settings, or like the run that was read.
    pub fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    /// Opens the file, or creates it (0600, its folder 0700), without encryption.
    ///
    /// # Errors
    /// See [`SqliteStore::open_sealed`].
    pub fn open(file: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_sealed(file, &Sealing::default())
    }

    /// Opens the file, or creates it (0600, its folder 0700). An empty file is replaced by a new store.
    ///
    /// # Errors
    /// Fails if the file or its folder cannot be created or read, or the file belongs to a newer version or another program.
    pub fn open_sealed(file: &Path, sealing: &Sealing) -> Result<SqliteStore, StoreError> {
        if let Some(folder) = file.parent() {
            files::private_folder(folder).map_err(|e| StoreError::unusable(file, e))?;
        }
        match SqliteStore::existing(file, sealing) {
            Err(StoreError::Empty { .. }) => {
                make(file)?;
                SqliteStore::existing(file, sealing)
            }
            done => done,
        }
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// Fails if the file is missing or empty, cannot be read, or belongs to a newer version or another program.
    pub fn existing(file: &Path, sealing: &Sealing) -> Result<SqliteStore, StoreError> {
        let empty = || StoreError::Empty { file: file.display().to_string() };
        match std::fs::metadata(file) {
            Ok(data) if data.is_file() && data.len() == 0 => return Err(empty()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(empty()),
            Err(error) => return Err(StoreError::unusable(file, error)),
            Ok(data) => files::regular(&data).map_err(|e| StoreError::unusable(file, e))?,
        }
        let ready = || {
            let connection = connect(file)?;
            connection.pragma_update(None, "synchronous", "full")?;
            let found = look(&connection)?;
            Ok((connection, found))
        };
        let (mut connection, found) = ready().map_err(store_error(file))?;
        match found {
            StoreFile::Store => {}
            StoreFile::Nothing => return Err(empty()),
            StoreFile::Old => migrate(&mut connection, file)?,
            StoreFile::Other(message) => return Err(StoreError::unusable(file, message)),
        }
        let identity = Identity::from_file(file).map_err(|e| StoreError::unusable(file, e))?;
        Ok(SqliteStore { file: file.to_path_buf(), connection, identity, sealing: sealing.clone() })
    }

    /// Checks the whole file: its pages and tables, and each block of events against its checksum. Returns the number of runs, and how many of them
    /// are encrypted with a key that is not available.
    ///
    /// # Errors
    /// Returns the first damage found.
    pub fn check(&mut self) -> Result<(usize, usize), StoreError> {
        self.check_pages()?;
        let runs = self.list(&RunFilter::default())?.runs;
        let mut sealed = 0;
        for run in &runs {
            match self.events(&run.run) {
                Err(StoreError::NoKey { .. } | StoreError::OtherKey { .. }) => sealed += 1,
                done => drop(done?),
            }
        }
        Ok((runs.len(), sealed))
    }

    /// Checks the pages and tables of the file, but not their content.
    ///
    /// # Errors
    /// Returns the first damage found.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        let says: String = self.connection.query_row("pragma integrity_check(1)", [], |row| row.get(0)).map_err(store_error(&self.file))?;
        if says != "ok" {
            // The first line may be a heading by SQLite.
            let found = says.lines().find(|line| !line.starts_with("***")).unwrap_or_default();
            let message =
                format!("it is damaged ({found}): restore a backup, or move away this file and those whose names begin with its name");
            return Err(StoreError::unusable(&self.file, message));
        }
        Ok(())
    }

    /// Writes events that follow those of a run without executing it, first what they are worth to the audit.
    ///
    /// # Errors
    /// See [`SqliteStore::keep`]; also fails if the audit cannot be written.
    pub fn add(&mut self, before: &[Event], new: &[Event]) -> Result<(), StoreError> {
        let mut trail = AuditTrail::default().after(before);
        let records: Vec<AuditRecord> = new.iter().flat_map(|event| trail.take(event)).collect();
        let mut audit = AuditFile::beside(&self.file);
        audit.append(&records, Some(self))?;
        self.keep_with(new, audit.last())
    }

    /// Appends records of no run to the audit.
    ///
    /// # Errors
    /// Fails if the audit or the end of it in this store cannot be written.
    pub fn audit(&self, records: &[AuditRecord]) -> Result<(), StoreError> {
        let mut audit = AuditFile::beside(&self.file);
        audit.append(records, Some(self))?;
        let head = audit.last();
        self.atomically(|store| head.map_or(Ok(()), |head| store_heads::written(&store.connection, head)).map_err(store_error(&store.file)))
    }

    /// Writes events durably in one transaction, and nothing to the audit.
    ///
    /// # Errors
    /// Fails if the key is missing, the file cannot be written or is no longer the one that was opened, or the events do not follow the stored ones.
    pub fn keep(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.keep_with(events, None)
    }

    fn keep_with(&mut self, events: &[Event], audited: Option<&AuditHead>) -> Result<(), StoreError> {
        let mut waiting = Unwritten::default();
        waiting.take(events)?;
        let blocks = waiting.blocks(&self.sealing)?;
        self.write(&blocks, &[], audited)
    }

    /// Writes blocks durably in one transaction, with the files that runs among them started with, and the last record of the audit.
    ///
    /// # Errors
    /// Fails if the file cannot be written or is no longer the one that was opened, or the blocks do not follow the stored ones.
    pub(super) fn write(
        &mut self,
        blocks: &[EventBlock],
        files: &[(&str, &RunFiles)],
        audited: Option<&AuditHead>,
    ) -> Result<(), StoreError> {
        self.is_there()?;
        self.atomically(|store| {
            blocks.iter().try_for_each(|block| store.put(block))?;
            if let Some(head) = audited {
                store_heads::written(&store.connection, head).map_err(store_error(&store.file))?;
            }
            files.iter().try_for_each(|(run, files)| store.put_files(run, files)).map_err(store_error(&store.file))
        })?;
        self.is_there()
    }

    fn put_files(&self, run: &str, files: &RunFiles) -> rusqlite::Result<()> {
        match self.listed(run)? {
            Some(listed) => files.put(&self.connection, listed.number),
            None => Ok(()),
        }
    }

    /// The files that a run started with, by their paths relative to the project's folder. `None` if they are not stored or cannot be read.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn files_of(&self, run: &str) -> Result<Option<FileTexts>, StoreError> {
        store_files::of_run(&self.connection, run, self.sealing.key.as_ref()).map_err(store_error(&self.file))
    }

    /// Checks that the file is still the one that was opened.
    pub(super) fn is_there(&self) -> Result<(), StoreError> {
        match self.identity.loss() {
            None => Ok(()),
            Some(what) => {
                // Another file may be in its place, so closing this store must not write to it.
                let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                Err(StoreError::Lost { file: self.file.display().to_string(), what })
            }
        }
    }

    /// Runs `work` in a durable transaction. The lock is held while `work` runs, so anything that can be computed in advance is done before.
    fn atomically<T>(&self, work: impl FnOnce(&SqliteStore) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let run =
            |statement: &str| self.connection.prepare_cached(statement).and_then(|mut s| s.execute([])).map_err(store_error(&self.file));
        {
            let _turn = WriteTurn::wait(&self.file);
            run("begin immediate")?;
        }
        let done = work(self).and_then(|done| run("commit").map(|_| done));
        if done.is_err() {
            // SQLite may have rolled back already.
            let _ = self.connection.execute_batch("rollback");
        }
        done
    }

    fn put(&self, block: &EventBlock) -> Result<(), StoreError> {
        let number = self.number(block).map_err(store_error(&self.file))?;
        let last = self.last(number).map_err(store_error(&self.file))?;
        if block.first != last + 1 {
            let message = format!("run {} has {last} events in the store, and event {} does not follow them", block.run, block.first);
            return Err(StoreError::unusable(&self.file, message));
        }
        put(&self.connection, number, block).map_err(store_error(&self.file))
    }

    /// The number of a block's run. Also updates the run's entry in the list.
    fn number(&self, block: &EventBlock) -> rusqlite::Result<i64> {
        let run = &*block.run;
        let known: Option<i64> = query_value(&self.connection, "select number from runs where run = ?1", [run])?;
        let number = match known {
            Some(number) => number,
            None => {
                execute_cached(&self.connection, "insert into runs (run, key) values (?1, ?2)", params![run, block.key])?;
                self.connection.last_insert_rowid()
            }
        };
        for of_run in &block.of_run {
            match of_run {
                OfRun::Starts { pipeline, started } => {
                    let begin = "update runs set pipeline = ?2, started = ?3 where number = ?1";
                    execute_cached(&self.connection, begin, params![number, pipeline, started])?;
                }
                OfRun::Is(status) => {
                    execute_cached(&self.connection, "update runs set status = ?2 where number = ?1", params![number, status])?
                }
            }
        }
        if block.key.is_some() && known.is_some() {
            execute_cached(&self.connection, "update runs set key = ?2 where number = ?1 and key is null", params![number, block.key])?;
        }
        Ok(number)
    }

    /// The number of a run's last event; 0 if it has none.
    fn last(&self, number: i64) -> rusqlite::Result<u64> {
        let last: Option<i64> =
            query_value(&self.connection, "select last from blocks where run = ?1 order by last desc limit 1", [number])?;
        Ok(last.unwrap_or_default() as u64)
    }

    /// A run's entry in the list.
    fn listed(&self, run: &str) -> rusqlite::Result<Option<ListedRun>> {
        let mut query = self.connection.prepare_cached("select number, pipeline, started, status, key from runs where run = ?1")?;
        let listed = |row: &rusqlite::Row| {
            Ok(ListedRun { number: row.get(0)?, pipeline: row.get(1)?, started: row.get(2)?, status: row.get(3)?, key: row.get(4)? })
        };
        query.query_row([run], listed).optional()
    }

    /// The first event of a run, without reading the others; `None`: there is none, or it cannot be read.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn first_event(&self, run: &str) -> Result<Option<Event>, StoreError> {
        let read = || -> rusqlite::Result<Option<StoredBlock>> {
            let Some(listed) = self.listed(run)? else { return Ok(None) };
            Ok(self.blocks(listed.number, 1)?.pop())
        };
        let block = read().map_err(store_error(&self.file))?.filter(|(last, sum, body)| *sum == checksum(run, *last, body));
        let text = block.and_then(|(last, _, body)| unpacked(&place(run, last), &body, self.sealing.key.as_ref()));
        Ok(text.and_then(|text| read_own::<Event>(text.lines().next()?).ok()))
    }

    /// The stored blocks of a run, in order.
    fn blocks(&self, number: i64, most: i64) -> rusqlite::Result<Vec<StoredBlock>> {
        let query = "select last, checksum, body from blocks where run = ?1 order by last limit ?2";
        query_all(&self.connection, query, [number, most], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get(2)?)))
    }
}

/// A stored block: the number of its last event, its checksum and its body.
type StoredBlock = (u64, Vec<u8>, Vec<u8>);

/// A run's entry in the list.
struct ListedRun {
    number: i64,
    pipeline: Option<String>,
    started: Option<String>,
    status: Option<String>,
    key: Option<String>,
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // If the log is damaged, closing must not copy it into the file.
        let _ = self.is_there();
    }
}

impl AuditEnds for SqliteStore {
    fn end(&self) -> Result<Option<AuditEnd>, StoreError> {
        store_heads::end(&self.connection).map_err(store_error(&self.file))
    }

    fn begin_write(&self, written: &AuditHead, begun: &AuditHead) -> Result<(), StoreError> {
        self.is_there()?;
        self.atomically(|store| store_heads::begin(&store.connection, written, begun).map_err(store_error(&store.file)))
    }
}

impl Store for SqliteStore {
    fn list(&mut self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        store_list::list(&self.connection, filter).map_err(store_error(&self.file))
    }

    fn named(&mut self, beginning: &str) -> Result<RunMatch, StoreError> {
        store_list::named(&self.connection, beginning).map_err(store_error(&self.file))
    }

    fn least_of_id(&mut self, run: &str) -> Result<usize, StoreError> {
        store_list::least_of_id(&self.connection, run).map_err(store_error(&self.file))
    }

    fn events(&mut self, run: &str) -> Result<Vec<Event>, StoreError> {
        let read = || -> rusqlite::Result<_> {
            // Both are read in one transaction, because the run may still be writing.
            let moment = self.connection.unchecked_transaction()?;
            let listed = self.listed(run)?;
            let blocks = listed.as_ref().map_or(Ok(vec![]), |listed| self.blocks(listed.number, -1))?;
            moment.commit()?;
            Ok((listed, blocks))
        };
        let (listed, blocks) = read().map_err(store_error(&self.file))?;
        let Some(listed) = listed else { return Ok(vec![]) };
        let file = || self.file.display().to_string();
        let key = self.sealing.key.as_ref();
        // An encrypted run stays encrypted when it continues.
        let is_sealed = listed.key.is_some();
        if let Some(id) = &listed.key
            && key.is_none_or(|key| key.id() != id)
        {
            let run = run.to_owned();
            return Err(match key {
                None => StoreError::NoKey { run, key: id.clone() },
                Some(other) => StoreError::OtherKey { run, key: id.clone(), other: other.id().to_owned() },
            });
        }
        let mut events: Vec<Event> = vec![];
        for (last, sum, body) in blocks {
            let next = events.len() as u64 + 1;
            let damaged = |seq| StoreError::Damaged { file: file(), run: run.to_string(), seq };
            if sum != checksum(run, last, &body) {
                return Err(damaged(next));
            }
            let text = unpacked(&place(run, last), &body, key).ok_or_else(|| damaged(next))?;
            for line in text.lines() {
                let seq = events.len() as u64 + 1;
                match read_own::<Event>(line) {
                    Ok(event) if event.v <= EVENTS && event.seq == seq => events.push(event),
                    _ if version(line) > EVENTS => return Err(StoreError::Newer { file: file(), run: run.to_string(), seq }),
                    _ => return Err(damaged(seq)),
                }
            }
            if events.len() as u64 != last {
                return Err(damaged(next));
            }
        }
        if listed.pipeline.is_some() && !is_so(&listed, &events) {
            return Err(StoreError::Cut { file: file(), run: run.to_string(), seq: events.len() as u64 });
        }
        self.sealing.is_on |= is_sealed;
        Ok(events)
    }

    fn remove(&mut self, runs: &[&str]) -> Result<(), StoreError> {
        let remove = |store: &SqliteStore| -> rusqlite::Result<()> {
            store_files::forget(&store.connection, runs)?;
            for run in runs {
                store.connection.execute("delete from blocks where run = (select number from runs where run = ?1)", [run])?;
                store.connection.execute("delete from runs where run = ?1", [run])?;
            }
            Ok(())
        };
        self.atomically(|store| remove(store).map_err(store_error(&store.file)))?;
        match erase(&mut self.connection).map_err(store_error(&self.file))? {
            true => Ok(()),
            false => Err(StoreError::Unerased { file: self.file.display().to_string() }),
        }
    }
}

/// Whether a run's entry in the list matches its events.
fn is_so(listed: &ListedRun, events: &[Event]) -> bool {
    let (mut pipeline, mut started, mut status) = (None, None, None);
    for of_run in events.iter().filter_map(OfRun::new) {
        match of_run {
            OfRun::Starts { pipeline: name, started: at } => (pipeline, started) = (Some(name), Some(at)),
            OfRun::Is(now) => status = now,
        }
    }
    (&listed.pipeline, &listed.started, listed.status.as_deref()) == (&pipeline, &started, status.as_deref())
}

/// The version of an event; 0 if it has none.
fn version(body: &str) -> u32 {
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    value.and_then(|value| value.get("v")?.as_u64()).and_then(|v| u32::try_from(v).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
