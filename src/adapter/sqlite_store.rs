//! Events in a SQLite file: WAL, `synchronous=FULL`, a checksum per row, values always bound.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::files;
use crate::event::{Event, Happening, VERSION as EVENTS};
use crate::port::{EventLog, RunSummary, Store, StoreError, Synced};

/// Version of the tables, `PRAGMA user_version`.
const VERSION: i64 = 1;

/// How long is waited for other processes that write.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A store in one file.
pub struct SqliteStore {
    file: PathBuf,
    connection: Connection,
    unwritten: Vec<Row>,
}

impl SqliteStore {
    /// Opens the file, or makes it (0600, its folder 0700).
    ///
    /// # Errors
    /// The file or its folder cannot be made or read, or belongs to a newer version.
    pub fn open(file: &Path) -> Result<SqliteStore, StoreError> {
        let unusable = |message: String| StoreError::Unusable { file: file.display().to_string(), message };
        if let Some(folder) = file.parent() {
            files::private_folder(folder).map_err(|e| unusable(e.to_string()))?;
        }
        files::open_private(file).map_err(|e| unusable(e.to_string()))?;
        let connection = Connection::open(file).map_err(|e| told(file, &e))?;
        let store = SqliteStore { file: file.to_path_buf(), connection, unwritten: vec![] };
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

    /// Writes rows, all or none, and makes them durable.
    ///
    /// # Errors
    /// The file cannot be written, or has such a row already; nothing was written then.
    pub(super) fn write<'a>(&mut self, rows: impl IntoIterator<Item = &'a Row>) -> Result<(), StoreError> {
        let write = || -> rusqlite::Result<()> {
            self.connection.prepare_cached("begin immediate")?.execute([])?;
            for row in rows {
                row.write(&self.connection)?;
            }
            self.connection.prepare_cached("commit")?.execute([]).map(|_| ())
        };
        write().map_err(|error| {
            // SQLite may have done so itself.
            let _ = self.connection.execute_batch("rollback");
            self.told(&error)
        })
    }

    /// Makes what was appended durable.
    ///
    /// # Errors
    /// The file cannot be written; what was appended is given up.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        let rows = std::mem::take(&mut self.unwritten);
        if rows.is_empty() { Ok(()) } else { self.write(&rows) }
    }

    /// What the list says of a run: its pipeline, when it started, its status.
    fn listed(&self, run: &str) -> rusqlite::Result<Option<Listed>> {
        let mut query = self.connection.prepare_cached("select pipeline, started, status from runs where run = ?1")?;
        query.query_row([run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
    }

    /// The events of a run as they are kept, in order.
    fn rows(&self, run: &str) -> rusqlite::Result<Vec<(u64, String, Vec<u8>)>> {
        let mut query = self.connection.prepare_cached("select seq, body, checksum from events where run = ?1 order by seq")?;
        let rows = query.query_map([run], |row| {
            let seq: i64 = row.get(0)?;
            Ok((seq as u64, row.get(1)?, row.get(2)?))
        })?;
        rows.collect()
    }

    fn told(&self, error: &rusqlite::Error) -> StoreError {
        told(&self.file, error)
    }
}

/// Pipeline, start and status of a run.
type Listed = (String, String, Option<String>);

/// An event as it is kept.
pub(super) struct Row {
    run: Arc<str>,
    seq: u64,
    body: String,
    checksum: Vec<u8>,
    of_run: OfRun,
}

/// What an event changes in the list of runs.
enum OfRun {
    Nothing,
    Starts { pipeline: String, started: String },
    Is(Option<&'static str>),
}

impl Row {
    /// Rows of events.
    ///
    /// # Errors
    /// An event cannot be written as JSON.
    pub(super) fn all(events: &[Event]) -> Result<Vec<Row>, StoreError> {
        events.iter().map(Row::new).collect()
    }

    fn new(event: &Event) -> Result<Row, StoreError> {
        let body = serde_json::to_string(event)
            .map_err(|error| StoreError::Unusable { file: format!("of {}", event.run), message: error.to_string() })?;
        let of_run = match &event.happening {
            Happening::RunStarted(start) => OfRun::Starts { pipeline: start.pipeline.clone(), started: event.time.to_rfc3339() },
            Happening::RunFinished(end) => OfRun::Is(Some(end.status.word())),
            Happening::RunResumed { .. } => OfRun::Is(None),
            _ => OfRun::Nothing,
        };
        Ok(Row { run: event.run.clone(), seq: event.seq, checksum: checksum(&event.run, event.seq, &body), body, of_run })
    }

    fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        match &self.of_run {
            OfRun::Nothing => {}
            OfRun::Starts { pipeline, started } => {
                let mut insert = connection.prepare_cached("insert into runs (run, pipeline, started) values (?1, ?2, ?3)")?;
                insert.execute(params![&*self.run, pipeline, started])?;
            }
            OfRun::Is(status) => {
                connection.prepare_cached("update runs set status = ?2 where run = ?1")?.execute(params![&*self.run, status])?;
            }
        }
        let mut insert = connection.prepare_cached("insert into events (run, seq, body, checksum) values (?1, ?2, ?3, ?4)")?;
        insert.execute(params![&*self.run, self.seq as i64, self.body, self.checksum]).map(|_| ())
    }
}

impl EventLog for SqliteStore {
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.unwritten.extend(Row::all(events)?);
        Ok(())
    }

    fn sync(&mut self) -> Synced {
        Box::pin(std::future::ready(SqliteStore::sync(self)))
    }
}

impl Store for SqliteStore {
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
        let read = || -> rusqlite::Result<_> {
            // Both as they were at one moment: the run may be going on.
            let moment = self.connection.unchecked_transaction()?;
            let found = (self.rows(run)?, self.listed(run)?);
            moment.commit()?;
            Ok(found)
        };
        let (rows, listed) = read().map_err(|e| self.told(&e))?;
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
        if listed.is_some_and(|listed| !is_so(&listed, &events)) {
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

/// The first 16 bytes of SHA-256 over run, number and body.
fn checksum(run: &str, seq: u64, body: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(run.as_bytes());
    hash.update(seq.to_le_bytes());
    hash.update(body.as_bytes());
    hash.finalize()[..16].to_vec()
}

/// Whether a run is what the list says of it.
fn is_so(listed: &Listed, events: &[Event]) -> bool {
    let status = events.iter().fold(None, |status, event| match &event.happening {
        Happening::RunFinished(end) => Some(end.status.word().to_string()),
        Happening::RunResumed { .. } => None,
        _ => status,
    });
    match events.first().map(|first| (first, &first.happening)) {
        Some((first, Happening::RunStarted(start))) => *listed == (start.pipeline.clone(), first.time.to_rfc3339(), status),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Usage;

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
    fn a_run_that_is_just_ending_never_looks_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let of = |seq: u64, happening: Happening| Event { happening, ..event(seq) };
        let marks = json!({ "inputs": [], "columns": [], "steps": [] });
        let start = json!({ "type": "run_started", "pipeline": "p", "hash": "", "inputs": {}, "channel": null, "person": {}, "now": "2026-01-01T00:00:00Z",
            "seed": 1, "marks": marks });
        let end = json!({ "type": "run_finished", "status": "succeeded", "outputs": {}, "usage": Usage::default() });
        let mut writer = SqliteStore::open(&file).unwrap();
        let mut reader = SqliteStore::open(&file).unwrap();
        let happening = |value: &serde_json::Value| serde_json::from_value::<Happening>(value.clone()).unwrap();
        let mut write = |events: &[Event]| writer.append(events).and_then(|()| SqliteStore::sync(&mut writer)).unwrap();
        write(&[of(1, happening(&start))]);
        let reading = std::thread::spawn(move || (0..2_000).map(|_| reader.events("r_1").map(|events| events.len())).collect::<Vec<_>>());
        for seq in (2..60).step_by(2) {
            write(&[of(seq, happening(&end))]);
            write(&[of(seq + 1, Happening::RunResumed { away_ms: 0 })]);
        }
        for told in reading.join().unwrap() {
            told.unwrap();
        }
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
