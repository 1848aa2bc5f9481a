//! Common operations on flow's SQLite files: they are private, writers take turns, the loss of a file is detected, and removed data is erased.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};

use super::files;
use super::lock;
use super::os::{self, FileId};

/// How long to wait for other processes that write.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long an erasure waits for readers.
const PATIENCE_TO_ERASE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);
/// Pages that one step of an erasure moves. It limits how long others wait.
const STEP: u32 = 512;

/// What an error of SQLite says, and of a full disk what to do.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    const FULL: [std::ffi::c_int; 2] = [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_IOERR_SHMSIZE];
    if error.sqlite_error().is_some_and(|error| FULL.contains(&error.extended_code)) {
        return "the disk is full; free as much as the file takes (cache.db beside it may go at any time), then flow runs rm or prune shrinks it".to_owned();
    }
    error.to_string()
}

/// Creates a file that only its owner can read. An existing file is not opened, because closing it would release the locks that SQLite holds on it in
/// this process.
pub(super) fn make_private_file(file: &Path) -> std::io::Result<()> {
    match os::private(OpenOptions::new().create_new(true).write(true)).open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => files::regular(&std::fs::metadata(file)?),
        done => done.map(drop),
    }
}

/// Creates a database with these tables. It is built under another name, so that a process that is killed leaves no incomplete database. The caller
/// must hold the write turn. `of_disk` and `of_sqlite` convert errors.
pub(super) fn make_file<E>(
    file: &Path,
    tables: &str,
    of_disk: impl Fn(std::io::Error) -> E,
    of_sqlite: impl Fn(rusqlite::Error) -> E,
) -> Result<(), E> {
    let new = beside(file, "-new");
    remove_whole(&new).and_then(|()| make_private_file(&new)).map_err(&of_disk)?;
    let make = || {
        // This must happen before the first page is written.
        Connection::open(&new)?.execute_batch("pragma auto_vacuum = incremental; vacuum;")?;
        let connection = connect(&new)?;
        connection.execute_batch(&format!("begin immediate; {tables} commit;"))?;
        // Closing the connection would also move the log into the file, but would not report a failure.
        let is_whole = empty_log(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(is_whole)
    };
    if !make().map_err(of_sqlite)? {
        return Err(of_disk(std::io::Error::other("another program reads it while it is made; try again")));
    }
    remove_whole(file).and_then(|()| std::fs::rename(&new, file)).and_then(|()| sync_folder_of(file)).map_err(of_disk)
}

/// Syncs the folder of a file, so that the names in it are durable.
fn sync_folder_of(file: &Path) -> std::io::Result<()> {
    File::open(folder_of(file))?.sync_all()
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a file and the files that SQLite keeps beside it.
pub(super) fn remove_whole(file: &Path) -> std::io::Result<()> {
    for part in parts(file) {
        match std::fs::remove_file(part) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A file and the files that SQLite keeps beside it while it is in use.
fn parts(file: &Path) -> impl Iterator<Item = PathBuf> {
    ["", "-wal", "-shm"].into_iter().map(|end| beside(file, end))
}

/// The path of a file with `end` appended to its name.
pub(super) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(end);
    PathBuf::from(name)
}

/// Opens a connection that waits for other processes, and that overwrites the data it removes.
pub(super) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    connected(file).map_err(|error| with_cause(error, file))
}

/// The error, with what to do where nothing can be written: SQLite says only that it cannot open the file.
fn with_cause(error: rusqlite::Error, file: &Path) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::CannotOpen && files::is_closed(folder_of(file)) => {
            let message = "nothing can be written in its folder, and SQLite writes there also to read; to look at what is in it, copy the project with \
                           its .flow to a folder where you may write";
            rusqlite::Error::SqliteFailure(code, Some(message.to_owned()))
        }
        other => other,
    }
}

fn connected(file: &Path) -> rusqlite::Result<Connection> {
    plain(file)?;
    let mut connection = Connection::open(file)?;
    connection.busy_handler(Some(waits))?;
    patiently(|| connection.pragma_update(None, "journal_mode", "wal"))?;
    connection.pragma_update(None, "secure_delete", true)?;
    // Each statement is planned once, independently of its parameters.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Checks that SQLite would only open regular files: opening a pipe would block forever.
pub(super) fn plain(file: &Path) -> rusqlite::Result<()> {
    for part in parts(file).chain([beside(file, "-journal")]) {
        let Ok(what) = std::fs::metadata(&part) else { continue };
        if let Err(why) = files::regular(&what) {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            return Err(rusqlite::Error::SqliteFailure(code, Some(format!("{}: {why}", part.display()))));
        }
    }
    Ok(())
}

fn waits(tries: i32) -> bool {
    std::thread::sleep(PAUSE);
    (tries as u128) < PATIENCE.as_millis() / PAUSE.as_millis()
}

/// Whether an error means that the file is locked by another connection.
/// The first value that a query finds.
pub(super) fn query_value<T: FromSql>(connection: &Connection, query: &str, values: impl Params) -> rusqlite::Result<Option<T>> {
    connection.prepare_cached(query)?.query_row(values, |row| row.get(0)).optional()
}

/// All rows that a query finds.
pub(super) fn query_all<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    row: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(query)?.query_map(values, row)?.collect()
}

/// Whether the file has this table.
pub(super) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    query_value(connection, "select 1 from sqlite_schema where name = ?1", [name]).map(|table: Option<i64>| table.is_some())
}

/// Carries a statement out that is used often.
pub(super) fn execute_cached(connection: &Connection, statement: &str, values: impl Params) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute(values).map(drop)
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Repeats `work` while the file is locked, within a time limit. SQLite itself does not wait while several processes set up a new file
/// (`journal_mode`).
pub(super) fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let mut tries = 0;
    loop {
        match work() {
            Err(error) if is_busy(&error) && waits(tries) => tries += 1,
            done => return done,
        }
    }
}

/// The turn to write. Only its holder waits for SQLite's lock; other processes wait for the turn. A process that writes repeatedly therefore cannot
/// starve the others. The turn is a lock on the folder; where such locks are not supported, no process waits.
pub(super) struct WriteTurn(#[expect(dead_code, reason = "closing it ends the turn")] Option<File>);

impl WriteTurn {
    /// Waits for the turn. After the time limit, continues without it.
    pub(super) fn wait(file: &Path) -> WriteTurn {
        let Ok(folder) = File::open(folder_of(file)) else { return WriteTurn(None) };
        let mut tries = 0;
        while let Err(std::fs::TryLockError::WouldBlock) = folder.try_lock()
            && waits(tries)
        {
            tries += 1;
        }
        WriteTurn(Some(folder))
    }
}

/// The identity of a file in use, and of the files that SQLite keeps beside it, when it was opened.
pub(super) struct Identity {
    parts: Vec<(PathBuf, FileId)>,
    index: Arc<File>,
}

impl Identity {
    /// The identity of a file that is open and was read.
    pub(super) fn from_file(file: &Path) -> std::io::Result<Identity> {
        let parts = parts(file).map(|part| std::fs::metadata(&part).map(|data| (part, os::file_id(&data))));
        Ok(Identity { parts: parts.collect::<Result<_, _>>()?, index: index(&beside(file, "-shm"))? })
    }

    /// What happened to the file, if it is no longer the same: for example `was removed`.
    pub(super) fn loss(&self) -> Option<String> {
        let (file, _) = self.parts.first()?;
        let of = |part: &PathBuf| if part == file { "was".to_string() } else { format!("was damaged: {} was", part.display()) };
        let gone = self.parts.iter().find_map(|(part, before)| match std::fs::metadata(part) {
            Err(_) => Some(format!("{} removed", of(part))),
            Ok(now) if os::file_id(&now) != *before => Some(format!("{} replaced", of(part))),
            Ok(now) if now.len() == 0 && !part.as_os_str().as_encoded_bytes().ends_with(b"-wal") => Some(format!("{} emptied", of(part))),
            Ok(_) => None,
        });
        gone.or_else(|| {
            let (log, _) = self.parts.get(1)?;
            self.is_log_cut(log).then(|| format!("{} emptied", of(log)))
        })
    }

    /// Whether the log is shorter than its index states. SQLite updates the index before it empties the log.
    fn is_log_cut(&self, log: &Path) -> bool {
        let mut before = self.least_of_log();
        for _ in 0..LOOKS {
            let length = std::fs::metadata(log).map(|data| data.len()).unwrap_or_default();
            let after = self.least_of_log();
            match (&before, &after) {
                (Some((_, least)), Some(_)) if before == after => return length < *least,
                _ => before = after,
            }
        }
        false
    }

    /// The header of the index, and the minimum size of a matching log in bytes. `None` while the index is being written.
    /// The layout: <https://www.sqlite.org/walformat.html#the_wal_index_header>.
    fn least_of_log(&self) -> Option<([u8; 48], u64)> {
        let mut both = [0; 96];
        os::read_at(&self.index, &mut both, 0).ok()?;
        let (head, again) = both.split_at(48);
        let head: [u8; 48] = head.try_into().ok().filter(|_| head == again)?;
        let page = match u16::from_ne_bytes([head[14], head[15]]) {
            1 => 65_536,
            page => u64::from(page),
        };
        let frames = u64::from(u32::from_ne_bytes([head[16], head[17], head[18], head[19]]));
        Some((head, if frames == 0 { 0 } else { 32 + frames * (24 + page) }))
    }
}

/// How often the index of a log is read while other processes write it.
const LOOKS: u32 = 10;

/// Opens the index of a log, once per process, and keeps it open as long as the file exists: closing it would release the locks that SQLite holds on
/// it. SQLite removes the file with its last connection, after which no locks remain.
fn index(path: &Path) -> std::io::Result<Arc<File>> {
    static OPEN: Mutex<BTreeMap<FileId, Arc<File>>> = Mutex::new(BTreeMap::new());
    let mut open = lock(&OPEN);
    open.retain(|_, file| file.metadata().is_ok_and(|data| !os::is_removed(&data)));
    let id = |data: std::fs::Metadata| os::file_id(&data);
    if let Some(known) = open.get(&id(std::fs::metadata(path)?)) {
        return Ok(Arc::clone(known));
    }
    let file = Arc::new(files::open(path)?);
    Ok(Arc::clone(open.entry(id(file.metadata()?)).or_insert(file)))
}

/// Erases removed data: moves the remaining pages to the front, truncates the file, and empties the log. Returns false if others still read the
/// removed data, which then stays in the log until they finish.
pub(super) fn erase(connection: &mut Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(PATIENCE_TO_ERASE)?;
    let done = shrink(connection).and_then(|()| empty_log(connection));
    connection.busy_handler(Some(waits))?;
    match done {
        Err(error) if is_busy(&error) => Ok(false),
        done => done,
    }
}

fn shrink(connection: &Connection) -> rusqlite::Result<()> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("auto_vacuum")? != 2 {
        connection.pragma_update(None, "auto_vacuum", 2)?;
        return connection.execute_batch("vacuum");
    }
    let mut left = number("freelist_count")?;
    while left > 0 {
        let mut steps = connection.prepare(&format!("pragma incremental_vacuum({STEP})"))?;
        let mut rows = steps.query([])?;
        while rows.next()?.is_some() {}
        let now = number("freelist_count")?;
        if now >= left {
            break;
        }
        left = now;
    }
    Ok(())
}

fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0)).map(|busy| busy == 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_where_nothing_can_be_written_is_told_with_the_cause_and_a_way_to_look() {
        // Nobody may write there, whoever runs the test.
        let message = connect(Path::new("/sys/runs.db")).unwrap_err().to_string();
        assert!(message.contains("nothing can be written in its folder") && message.contains("copy the project"), "{message}");
        let folder = tempfile::tempdir().unwrap();
        let message = connect(&folder.path().join("none/runs.db")).unwrap_err().to_string();
        assert!(!message.contains("copy the project"), "{message}");
    }
}
