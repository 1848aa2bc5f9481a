//! Events in a SQLite file: WAL, `synchronous=FULL`, a checksum per row, values always bound.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::event::{Event, Happening, VERSION as EVENTS};
use crate::port::{RunSummary, Store, StoreError};

/// Version of the tables, `PRAGMA user_version`.
const VERSION: i64 = 1;

/// How long is waited for other processes that write.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A store in one file.
pub struct SqliteStore {
    file: PathBuf,
    connection: Connection,
    is_open: bool,
}

impl SqliteStore {
    /// Opens the file, or makes it (0600, its folder 0700).
    ///
    /// # Errors
    /// The file or its folder cannot be made or read, or belongs to a newer version.
    pub fn open(file: &Path) -> Result<SqliteStore, StoreError> {
        let unusable = |message: String| StoreError::Unusable { file: file.display().to_string(), message };
        if let Some(folder) = file.parent() {
            make_private_folder(folder).map_err(|e| unusable(e.to_string()))?;
        }
        make_private_file(file).map_err(|e| unusable(e.to_string()))?;
        let connection = Connection::open(file).map_err(|e| told(file, &e))?;
        let store = SqliteStore { file: file.to_path_buf(), connection, is_open: false };
        patiently(|| store.prepare()).map_err(|e| told(file, &e))?;
        let version: i64 = store.connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(|e| told(file, &e))?;
        if version != VERSION {
            return Err(unusable(format!("it has format {version}, and this flow reads {VERSION}")));
        }
        Ok(store)
    }

    /// Looks through the whole file: its pages and tables, and each event against its checksum. Gives the number of runs.
    ///
    /// # Errors
    /// The first damage that was found.
    pub fn check(&mut self) -> Result<usize, StoreError> {
        self.check_pages()?;
        let runs = self.runs()?;
        for run in &runs {
            self.events(&run.run)?;
        }
        Ok(runs.len())
    }

    /// Looks through the pages and tables of the file, not at what stands in them.
    ///
    /// # Errors
    /// The first damage that was found.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        let says: String =
            self.connection.query_row("pragma integrity_check(1)", [], |row| row.get(0)).map_err(|e| told(&self.file, &e))?;
        if says != "ok" {
            return Err(StoreError::Unusable { file: self.file.display().to_string(), message: says });
        }
        Ok(())
    }

    fn prepare(&self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(PATIENCE)?;
        self.connection.pragma_update(None, "journal_mode", "wal")?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        let version: i64 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == 0 {
            self.connection.execute_batch(
                "begin immediate;
                 create table if not exists runs (run text primary key, pipeline text not null, started text not null, status text) strict;
                 create table if not exists events (
                     run text not null, seq integer not null, body text not null, checksum blob not null, primary key (run, seq)
                 ) strict, without rowid;
                 pragma user_version = 1;
                 commit;",
            )?;
        }
        Ok(())
    }

    fn write(&mut self, events: &[Event]) -> rusqlite::Result<()> {
        if !self.is_open {
            self.connection.execute_batch("begin immediate")?;
            self.is_open = true;
        }
        for event in events {
            let body = serde_json::to_string(event).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
            match &event.happening {
                Happening::RunStarted(start) => {
                    let mut insert = self.connection.prepare_cached("insert into runs (run, pipeline, started) values (?1, ?2, ?3)")?;
                    insert.execute(params![&*event.run, start.pipeline, event.time.to_rfc3339()])?;
                }
                Happening::RunFinished(end) => {
                    let mut update = self.connection.prepare_cached("update runs set status = ?2 where run = ?1")?;
                    update.execute(params![&*event.run, end.status.word()])?;
                }
                Happening::RunResumed { .. } => {
                    self.connection.prepare_cached("update runs set status = null where run = ?1")?.execute(params![&*event.run])?;
                }
                _ => {}
            }
            let sum = checksum(&event.run, event.seq, &body);
            let mut insert = self.connection.prepare_cached("insert into events (run, seq, body, checksum) values (?1, ?2, ?3, ?4)")?;
            insert.execute(params![&*event.run, event.seq as i64, body, sum])?;
        }
        Ok(())
    }

    /// Whether the list says of a run what its events say.
    fn is_listed_so(&self, run: &str, events: &[Event]) -> Result<bool, StoreError> {
        let mut query =
            self.connection.prepare_cached("select pipeline, started, status from runs where run = ?1").map_err(|e| self.told(&e))?;
        let listed = query.query_row([run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional();
        let Some(listed): Option<(String, String, Option<String>)> = listed.map_err(|e| self.told(&e))? else { return Ok(true) };
        let status = events.iter().fold(None, |status, event| match &event.happening {
            Happening::RunFinished(end) => Some(end.status.word().to_string()),
            Happening::RunResumed { .. } => None,
            _ => status,
        });
        Ok(match events.first().map(|first| (first, &first.happening)) {
            Some((first, Happening::RunStarted(start))) => listed == (start.pipeline.clone(), first.time.to_rfc3339(), status),
            _ => false,
        })
    }

    fn told(&self, error: &rusqlite::Error) -> StoreError {
        told(&self.file, error)
    }
}

impl Store for SqliteStore {
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.write(events).map_err(|e| self.told(&e))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.is_open {
            self.connection.execute_batch("commit").map_err(|e| self.told(&e))?;
            self.is_open = false;
        }
        Ok(())
    }

    fn runs(&mut self) -> Result<Vec<RunSummary>, StoreError> {
        let list = || -> rusqlite::Result<Vec<RunSummary>> {
            let mut query = self.connection.prepare(
                "select run, pipeline, started, status, (select count(*) from events e where e.run = r.run) from runs r
                 order by started desc, rowid desc",
            )?;
            let rows = query.query_map([], |row| {
                let events: i64 = row.get(4)?;
                Ok(RunSummary { run: row.get(0)?, pipeline: row.get(1)?, started: row.get(2)?, status: row.get(3)?, events: events as u64 })
            })?;
            rows.collect()
        };
        list().map_err(|e| self.told(&e))
    }

    fn events(&mut self, run: &str) -> Result<Vec<Event>, StoreError> {
        let list = || -> rusqlite::Result<Vec<(u64, String, Vec<u8>)>> {
            let mut query = self.connection.prepare("select seq, body, checksum from events where run = ?1 order by seq")?;
            let rows = query.query_map([run], |row| {
                let seq: i64 = row.get(0)?;
                Ok((seq as u64, row.get(1)?, row.get(2)?))
            })?;
            rows.collect()
        };
        let rows = list().map_err(|e| self.told(&e))?;
        let damaged = |seq| StoreError::Damaged { file: self.file.display().to_string(), run: run.to_string(), seq };
        let mut events: Vec<Event> = vec![];
        for (seq, body, sum) in rows {
            if sum != checksum(run, seq, &body) || seq != events.len() as u64 + 1 {
                return Err(damaged(seq));
            }
            match serde_json::from_str::<Event>(&body) {
                Ok(event) if event.v <= EVENTS => events.push(event),
                _ if version(&body) > EVENTS => {
                    return Err(StoreError::Newer { file: self.file.display().to_string(), run: run.to_string(), seq });
                }
                _ => return Err(damaged(seq)),
            }
        }
        if !self.is_listed_so(run, &events)? {
            let seq = events.len() as u64;
            return Err(StoreError::Cut { file: self.file.display().to_string(), run: run.to_string(), seq });
        }
        Ok(events)
    }

    fn remove(&mut self, run: &str) -> Result<bool, StoreError> {
        let remove = || -> rusqlite::Result<bool> {
            self.connection.execute("delete from events where run = ?1", [run])?;
            let found: Option<String> =
                self.connection.query_row("delete from runs where run = ?1 returning run", [run], |row| row.get(0)).optional()?;
            Ok(found.is_some())
        };
        remove().map_err(|e| self.told(&e))
    }
}

/// A run that this process alone goes on with. The system lets go of it when the process ends, however it ends.
pub struct RunLock {
    file: std::fs::File,
    path: PathBuf,
}

impl RunLock {
    /// Takes the lock of a run of the store in `store`.
    ///
    /// # Errors
    /// Another process has it, told with its number; or the file beside the store cannot be made.
    pub fn take(store: &Path, run: &str) -> Result<RunLock, StoreError> {
        use std::io::{Read, Seek, Write};
        use std::os::unix::fs::MetadataExt;
        let path = store.with_file_name(format!("{run}.lock"));
        let unusable = |e: std::io::Error| StoreError::Unusable { file: path.display().to_string(), message: e.to_string() };
        let mut file = std::fs::OpenOptions::new().create(true).read(true).write(true).truncate(false).open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {
                // The one that had it before may have removed the file in between.
                let is_there = std::fs::metadata(&path).is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there.ino()));
                if !is_there {
                    return RunLock::take(store, run);
                }
                let mut lock = RunLock { file, path: path.clone() };
                let file = &mut lock.file;
                file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id())).map_err(unusable)?;
                Ok(lock)
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let process = if holder.is_empty() { "?" } else { holder.trim() };
                Err(StoreError::Held { run: run.to_string(), process: process.to_string() })
            }
            Err(std::fs::TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// The first 16 bytes of SHA-256 over run, number and body.
fn checksum(run: &str, seq: u64, body: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(run.as_bytes());
    hash.update(seq.to_le_bytes());
    hash.update(body.as_bytes());
    hash.finalize()[..16].to_vec()
}

/// The version that an event says it has; 0: it says none.
fn version(body: &str) -> u32 {
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    value.and_then(|value| value.get("v")?.as_u64()).and_then(|v| u32::try_from(v).ok()).unwrap_or_default()
}

fn told(file: &Path, error: &rusqlite::Error) -> StoreError {
    let file = file.display().to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { file },
        _ => StoreError::Unusable { file, message: error.to_string() },
    }
}

/// Does something as long as others are in its way, within bounds. SQLite itself does not wait where a new file is made ready for several
/// processes (`journal_mode`).
pub(super) fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        match work() {
            Err(error) if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
    work()
}

/// Makes a folder that only its owner can open.
pub(super) fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a file that only its owner can read.
pub(super) fn make_private_file(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(file).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> Event {
        let time = chrono::DateTime::from_timestamp(0, 0).unwrap();
        let happening = Happening::StepSkipped { step: format!("step {seq}").into() };
        Event { v: EVENTS, seq, time, at_ms: 0, run: "r_1".into(), happening }
    }

    #[test]
    fn events_come_back_in_order_after_the_store_was_closed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        store.append(&[event(1), event(2)]).unwrap();
        store.sync().unwrap();
        store.append(&[event(3)]).unwrap();
        drop(store);
        let mut store = SqliteStore::open(&file).unwrap();
        assert_eq!(store.events("r_1").unwrap(), [event(1), event(2)]);
    }

    #[test]
    fn a_changed_row_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        store.append(&[event(1), event(2)]).unwrap();
        store.sync().unwrap();
        store.connection.execute("update events set body = replace(body, 'step 2', 'step 9') where seq = 2", []).unwrap();
        assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { seq: 2, .. })));
        store.connection.execute("delete from events where seq = 1", []).unwrap();
        assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn what_a_newer_program_wrote_is_refused_as_that_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        let write = |store: &SqliteStore, seq: u64, body: &str| {
            let row = params!["r_1", seq as i64, body, checksum("r_1", seq, body)];
            store.connection.execute("insert into events (run, seq, body, checksum) values (?1, ?2, ?3, ?4)", row).unwrap();
        };
        store.append(&[event(1)]).unwrap();
        store.sync().unwrap();
        write(&store, 2, &format!(r#"{{"v":{},"seq":2,"type":"moon_phase_changed"}}"#, EVENTS + 1));
        assert!(matches!(store.events("r_1"), Err(StoreError::Newer { seq: 2, .. })));
        store.connection.execute("delete from events where seq = 2", []).unwrap();
        write(&store, 2, r#"{"v":1,"seq":2,"type":"moon_phase_changed"}"#);
        assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { seq: 2, .. })), "no version ever wrote it");
        store.connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(store);
        let refused = SqliteStore::open(&file).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("it has format 2, and this flow reads 1"), "{refused}");
        let rows: i64 = Connection::open(&file).unwrap().query_row("select count(*) from events", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 2);
    }

    #[test]
    fn a_file_that_is_no_store_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        std::fs::write(&file, "not a database at all, but long enough to be looked at twice").unwrap();
        assert!(matches!(SqliteStore::open(&file), Err(StoreError::Unusable { .. })));
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("not a database"));
    }

    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store/runs.db");
        SqliteStore::open(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
