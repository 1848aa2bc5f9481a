//! One journal file for many runs of a process. A separate thread writes it; events that arrive while the disk is busy share the next commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::audit_file::AuditFile;
use super::encryption::Sealing;
use super::lock;
use super::sqlite_conversations::SqliteConversations;
use super::sqlite_file::Identity;
use super::sqlite_store::SqliteStore;
use super::store_block::Unwritten;
use super::store_files::{FileTexts, RunFiles};
use crate::event::Event;
use crate::journal::{AuditRecord, AuditTrail};
use crate::port::{EventLog, StoreError, Synced};

/// Maximum number of requests that share a commit. It limits how much is in memory twice, and how much is retried after a failure.
const MOST: usize = 256;

/// The files of runs and conversations that a process uses again and again.
#[derive(Default)]
pub struct SharedStores {
    /// Journal files, each opened once.
    journals: Mutex<HashMap<PathBuf, Arc<StoreWriter>>>,
    /// Files of conversations that no run uses now, one connection to each: opening and closing a file costs several writes.
    conversations: Mutex<HashMap<PathBuf, SqliteConversations>>,
}

/// A file of conversations in use by one run; the next one uses the same connection.
pub struct SharedConversations {
    store: Option<SqliteConversations>,
    stores: Arc<SharedStores>,
}

impl SharedConversations {
    /// Opens the file, see [`SqliteConversations::open`], or takes the connection of an earlier run.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(stores: &Arc<SharedStores>, file: &Path, sealing: &Sealing, is_ours: bool) -> Result<SharedConversations, StoreError> {
        let kept = lock(&stores.conversations).remove(file).and_then(|kept| kept.again(sealing));
        let store = kept.map_or_else(|| SqliteConversations::open(file, sealing, is_ours), Ok)?;
        Ok(SharedConversations { store: Some(store), stores: Arc::clone(stores) })
    }

    /// The store.
    #[expect(clippy::expect_used, reason = "only drop takes it")]
    pub fn store(&mut self) -> &mut SqliteConversations {
        self.store.as_mut().expect("it is taken only when it is dropped")
    }
}

impl Drop for SharedConversations {
    fn drop(&mut self) {
        if let Some(mut store) = self.store.take() {
            store.give_up_turns();
            lock(&self.stores.conversations).insert(store.file().to_path_buf(), store);
        }
    }
}

/// The thread that writes a file. Dropping the last reference waits until the file is closed.
struct StoreWriter {
    identity: Identity,
    sender: Option<Sender<WriteRequest>>,
    thread: Option<JoinHandle<()>>,
}

/// Events of one run to be written, and the channel that receives the result.
struct WriteRequest {
    events: Unwritten,
    records: Vec<AuditRecord>,
    /// The run has written no record before.
    is_first: bool,
    files: Option<Box<(Arc<str>, RunFiles)>>,
    sealing: Sealing,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl SharedStores {
    /// Opens a log for the events of one run in a file. A file that was removed, replaced or emptied in the meantime is reopened.
    ///
    /// # Errors
    /// Fails if the file cannot be opened; see [`SqliteStore::open_sealed`].
    pub fn log(&self, file: &Path, sealing: &Sealing) -> Result<SharedLog, StoreError> {
        let mut writers = lock(&self.journals);
        let writer = match writers.get(file).filter(|writer| writer.identity.loss().is_none()) {
            Some(writer) => Arc::clone(writer),
            None => {
                let writer = Arc::new(StoreWriter::start(file, sealing)?);
                writers.insert(file.to_path_buf(), Arc::clone(&writer));
                writer
            }
        };
        let (file, sealing) = (file.to_path_buf(), sealing.clone());
        Ok(SharedLog { file, unwritten: Unwritten::default(), trail: None, records: vec![], is_first: true, files: None, sealing, writer })
    }
}

impl StoreWriter {
    fn start(file: &Path, sealing: &Sealing) -> Result<StoreWriter, StoreError> {
        let unusable = |error: std::io::Error| StoreError::unusable(file, error);
        let store = SqliteStore::open_sealed(file, sealing)?;
        let identity = Identity::from_file(file).map_err(unusable)?;
        let (sender, requests) = channel();
        let audit = AuditFile::beside(file);
        let thread = std::thread::Builder::new().name("journal".into()).spawn(move || write(store, audit, &requests)).map_err(unusable)?;
        Ok(StoreWriter { identity, sender: Some(sender), thread: Some(thread) })
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Appends the records of requests to the audit, before the journal has their events: what is in the journal is surely in the audit. Requests whose records
/// cannot be written are answered and left out.
fn audited(audit: &mut AuditFile, store: &SqliteStore, mut requests: Vec<WriteRequest>) -> Vec<WriteRequest> {
    let records: Vec<AuditRecord> = requests.iter().flat_map(|request| request.records.iter().cloned()).collect();
    // What is wrong with the audit is an error of the append, too.
    if requests.iter().any(|request| request.is_first && !request.records.is_empty()) {
        let _ = audit.begin();
    }
    if audit.append(&records, Some(store)).is_err() {
        // Each again, for an error of its own; nothing of them is in the file.
        let mut kept = vec![];
        for request in requests {
            match audit.append(&request.records, Some(store)) {
                Ok(()) => kept.push(request),
                Err(error) => drop(request.done.send(Err(error))),
            }
        }
        requests = kept;
    }
    requests
}

fn write(mut store: SqliteStore, mut audit: AuditFile, requests: &Receiver<WriteRequest>) {
    while let Ok(first) = requests.recv() {
        let (mut all, mut waiting) = (vec![], vec![]);
        let requests = audited(&mut audit, &store, std::iter::once(first).chain(requests.try_iter().take(MOST - 1)).collect());
        for WriteRequest { mut events, records: _, is_first: _, files, sealing, done } in requests {
            match events.blocks(&sealing) {
                Ok(blocks) => {
                    waiting.push((all.len()..all.len() + blocks.len(), files, done));
                    all.extend(blocks);
                }
                // The requester may no longer exist.
                Err(error) => drop(done.send(Err(error))),
            }
        }
        fn named(files: &Option<Box<(Arc<str>, RunFiles)>>) -> Option<(&str, &RunFiles)> {
            files.as_deref().map(|(run, files)| (&**run, files))
        }
        let files: Vec<_> = waiting.iter().filter_map(|(_, files, _)| named(files)).collect();
        let is_shared = waiting.len() > 1 && store.write(&all, &files, audit.last()).is_ok();
        for (blocks, files, done) in waiting {
            // If the shared commit failed, each run's blocks are written separately, so that one run's failure does not affect the others.
            let files: Vec<_> = named(&files).into_iter().collect();
            let _ = done.send(if is_shared { Ok(()) } else { store.write(&all[blocks], &files, audit.last()) });
        }
    }
}

/// The events of one run, to be written to a file that other runs share.
pub struct SharedLog {
    file: PathBuf,
    unwritten: Unwritten,
    /// Makes the records for the audit; `None`: there is none.
    trail: Option<AuditTrail>,
    records: Vec<AuditRecord>,
    is_first: bool,
    files: Option<Box<(Arc<str>, RunFiles)>>,
    sealing: Sealing,
    writer: Arc<StoreWriter>,
}

impl SharedLog {
    /// Appends what the events are worth to the audit beside the journal, before each commit: what acts outside waits for both.
    ///
    /// # Errors
    /// Fails if the audit cannot be written now.
    pub fn audited(mut self, trail: AuditTrail) -> Result<SharedLog, StoreError> {
        AuditFile::beside(&self.file).check()?;
        self.trail = Some(trail);
        Ok(self)
    }

    /// Stores the files that a run starts with, in the commit of its first events. Files that are too large are not stored.
    #[must_use]
    pub fn with_files(mut self, run: &str, texts: &FileTexts) -> SharedLog {
        self.files = RunFiles::new(texts, &self.sealing).map(|files| Box::new((run.into(), files)));
        self
    }
}

impl EventLog for SharedLog {
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError> {
        self.records.extend(self.trail.iter_mut().flat_map(|trail| events.iter().flat_map(|event| trail.take(event))));
        self.unwritten.take(events)
    }

    fn sync(&mut self) -> Synced {
        let (done, answer) = oneshot::channel();
        let (events, records) = (std::mem::take(&mut self.unwritten), std::mem::take(&mut self.records));
        let is_first = self.is_first;
        self.is_first &= records.is_empty();
        let request = WriteRequest { events, records, is_first, files: self.files.take(), sealing: self.sealing.clone(), done };
        // If the thread has ended, the request is dropped, and the answer fails.
        let _ = self.writer.sender.as_ref().map(|sender| sender.send(request));
        let file = self.file.clone();
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(StoreError::unusable(&file, "its writer thread has ended"))) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Happening, VERSION};
    use crate::port::Store;

    fn event(run: &str, seq: u64) -> Event {
        let time = chrono::DateTime::from_timestamp(0, 0).unwrap();
        let happening = Happening::StepSkipped { step: format!("step {seq}").into() };
        Event { v: VERSION, seq, time, at_ms: 0, run: run.into(), happening }
    }

    fn kept(file: &Path, run: &str) -> usize {
        SqliteStore::open(file).unwrap().events(run).unwrap().len()
    }

    /// Another process in the middle of its own commit.
    fn busy(file: &Path) -> rusqlite::Connection {
        let other = rusqlite::Connection::open(file).unwrap();
        other.execute_batch("begin immediate").unwrap();
        other
    }

    fn commits(file: &Path) -> i64 {
        // Each commit begins a frame of the write-ahead log whose last page tells the size of the file after it; others tell 0.
        let wal = std::fs::read(file.with_file_name("runs.db-wal")).unwrap();
        if wal.is_empty() {
            return 0;
        }
        let page = u32::from_be_bytes(wal[8..12].try_into().unwrap()) as usize;
        wal[32..].chunks(24 + page).filter(|frame| frame[4..8] != [0; 4]).count() as i64
    }

    #[test]
    fn runs_that_wait_at_the_same_time_share_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let stores = SharedStores::default();
        let mut logs: Vec<SharedLog> = (0..40).map(|_| stores.log(&file, &Sealing::default()).unwrap()).collect();
        let (other, before) = (busy(&file), commits(&file));
        let waiting: Vec<Synced> = logs
            .iter_mut()
            .enumerate()
            .map(|(n, log)| {
                log.append(&[event(&format!("r_{n}"), 1), event(&format!("r_{n}"), 2)]).unwrap();
                log.sync()
            })
            .collect();
        drop(other);
        for synced in waiting {
            on_disk(synced).unwrap();
        }
        assert!((0..40).all(|n| kept(&file, &format!("r_{n}")) == 2));
        // The first may have gone alone, before the others came.
        assert!(commits(&file) - before <= 2, "{} commits", commits(&file) - before);
    }

    #[test]
    fn what_one_run_spoils_is_not_the_others_loss() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let stores = SharedStores::default();
        let mut logs: Vec<SharedLog> = (0..3).map(|_| stores.log(&file, &Sealing::default()).unwrap()).collect();
        logs[1].append(&[event("twice", 1)]).unwrap();
        on_disk(logs[1].sync()).unwrap();
        let other = busy(&file);
        logs[0].append(&[event("first", 1)]).unwrap();
        logs[1].append(&[event("twice", 2), event("twice", 1)]).unwrap();
        logs[2].append(&[event("third", 1)]).unwrap();
        let waiting: Vec<Synced> = logs.iter_mut().map(SharedLog::sync).collect();
        drop(other);
        let told: Vec<bool> = waiting.into_iter().map(|synced| on_disk(synced).is_ok()).collect();
        assert_eq!(told, [true, false, true]);
        assert_eq!((kept(&file, "first"), kept(&file, "twice"), kept(&file, "third")), (1, 1, 1));
    }

    #[test]
    fn a_file_that_was_removed_is_made_anew_for_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept/runs.db");
        let stores = SharedStores::default();
        let keep = |run: &str| {
            let mut log = stores.log(&file, &Sealing::default()).unwrap();
            log.append(&[event(run, 1)]).unwrap();
            on_disk(log.sync()).unwrap();
        };
        keep("before");
        std::fs::remove_dir_all(folder.path().join("kept")).unwrap();
        keep("after");
        assert_eq!((kept(&file, "before"), kept(&file, "after")), (0, 1));
    }

    #[test]
    fn a_run_that_no_longer_waits_keeps_no_other_from_writing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let stores = SharedStores::default();
        let (mut gone, mut stays) = (stores.log(&file, &Sealing::default()).unwrap(), stores.log(&file, &Sealing::default()).unwrap());
        gone.append(&[event("gone", 1)]).unwrap();
        drop(gone.sync());
        drop(gone);
        stays.append(&[event("stays", 1)]).unwrap();
        on_disk(stays.sync()).unwrap();
        assert_eq!((kept(&file, "gone"), kept(&file, "stays")), (1, 1));
    }

    fn on_disk<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }
}
