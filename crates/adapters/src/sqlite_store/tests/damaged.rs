//! J5: a store that was cut, or in which bits were changed, is rejected with the run and its event named, or gives what it gave before. Of the
//! write-ahead log, what a commit wrote is there as a whole or not at all, as after a power cut.

use std::path::Path;

use super::{of_run, start};
use crate::encryption::Sealing;
use crate::event::Event;
use crate::port::{RunFilter, Store, StoreError};
use crate::sqlite_store::SqliteStore;

/// Bytes of the head of a log, and of the head of one of its frames.
const LOG_HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// What a store and its log hold while a run goes on, and where in the log each commit ends.
struct OpenStore {
    file: Vec<u8>,
    log: Vec<u8>,
    commits: Vec<usize>,
    events: Vec<Event>,
}

impl OpenStore {
    /// Of a run with as many commits.
    fn with(commits: u64) -> OpenStore {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        for seq in 1..=commits {
            store.keep(&[if seq == 1 { start("r_1") } else { of_run("r_1", seq) }]).unwrap();
        }
        let events = store.events("r_1").unwrap();
        let log = std::fs::read(file.with_file_name("runs.db-wal")).unwrap();
        let frame = FRAME_HEAD + usize::from(u16::from_be_bytes([log[10], log[11]]));
        // The last frame of a commit has the size of the file after it; others have 0.
        let ends =
            log[LOG_HEAD..].chunks(frame).enumerate().filter(|(_, head)| head[4..8] != [0; 4]).map(|(n, _)| LOG_HEAD + (n + 1) * frame);
        OpenStore { file: std::fs::read(&file).unwrap(), commits: ends.collect(), log, events }
    }

    /// What is read after the process ended and left this log.
    fn read(&self, place: &Path, log: &[u8]) -> Result<Vec<Event>, StoreError> {
        let _ = std::fs::remove_file(place.with_file_name("runs.db-shm"));
        std::fs::write(place, &self.file).unwrap();
        std::fs::write(place.with_file_name("runs.db-wal"), log).unwrap();
        let mut store = SqliteStore::existing(place, &Sealing::default())?;
        store.check_pages()?;
        store.list(&RunFilter::default())?;
        store.events("r_1")
    }

    /// How many commits lie before this byte of the log.
    fn before(&self, byte: usize) -> usize {
        self.commits.iter().filter(|end| **end <= byte).count()
    }
}

#[test]
fn a_log_that_is_cut_at_any_byte_gives_all_commits_before_the_cut() {
    let store = OpenStore::with(6);
    assert!(store.commits.len() == 6 && store.events.len() == 6, "{:?}", store.commits);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("runs.db");
    let near = store.commits.iter().flat_map(|end| [end - 1, *end, end + 1]);
    for cut in (0..=LOG_HEAD + FRAME_HEAD).chain((0..store.log.len()).step_by(419)).chain(near) {
        let cut = cut.min(store.log.len());
        let events = store.read(&place, &store.log[..cut]).unwrap();
        assert_eq!(events, store.events[..store.before(cut)], "cut at {cut}");
    }
}

#[test]
fn a_log_with_a_changed_bit_gives_all_commits_before_it() {
    let store = OpenStore::with(6);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("runs.db");
    let mut least = store.events.len();
    for at in (0..LOG_HEAD + FRAME_HEAD).chain((0..store.log.len()).step_by(419)) {
        let mut log = store.log.clone();
        log[at] ^= 1 << (at % 8);
        let events = store.read(&place, &log).unwrap();
        assert_eq!(events, store.events[..store.before(at)], "bit {} of byte {at}", at % 8);
        least = least.min(events.len());
    }
    assert_eq!(least, 0);
}

#[test]
fn a_run_whose_row_was_changed_is_rejected_with_the_row_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = SqliteStore::open(&file).unwrap();
    for run in ["r_1", "r_2"] {
        store.keep(&[start(run), of_run(run, 2)]).unwrap();
        (3..=5).for_each(|seq| store.keep(&[of_run(run, seq)]).unwrap());
    }
    let body: Vec<u8> = store.connection.query_row("select body from blocks where run = 2 and last = 4", [], |row| row.get(0)).unwrap();
    drop(store);
    let whole = std::fs::read(&file).unwrap();
    let at = whole.windows(body.len()).position(|window| window == body).unwrap();
    for byte in at..at + body.len() {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        std::fs::write(&file, bytes).unwrap();
        let mut store = SqliteStore::existing(&file, &Sealing::default()).unwrap();
        let told = store.events("r_2").unwrap_err();
        assert!(matches!(&told, StoreError::Damaged { run, seq: 4, .. } if run == "r_2"), "{told}");
        assert_eq!(store.events("r_1").unwrap().len(), 5);
        assert!(store.check().unwrap_err().to_string().contains("row 4 of run r_2"));
    }
}
