//! What is removed is gone from every byte of every file.

use std::collections::BTreeSet;
use std::path::Path;

use super::of_run;
use crate::event::{Event, Happening};
use crate::port::{RunFilter, Store, StoreError};
use crate::sqlite_store::SqliteStore;

fn keep(store: &mut SqliteStore, run: &str, commits: u64, bytes: usize) {
    for seq in 1..=commits {
        let text: String = (0..bytes / 16).map(|n| format!("{:016x}", (n as u64 + seq).wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        store.keep(&[Event { happening: Happening::StepSkipped { step: text.into() }, ..of_run(run, seq) }]).unwrap();
    }
}

/// Pieces of what is kept of a run, as they lie in the file.
fn pieces(store: &SqliteStore, run: &str) -> BTreeSet<Vec<u8>> {
    let mut query = store.connection.prepare("select body from blocks join runs r on r.number = blocks.run where r.run = ?1").unwrap();
    let bodies: Vec<Vec<u8>> = query.query_map([run], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let pieces = bodies.iter().flat_map(|body| body.chunks(400).map(|piece| piece[..piece.len().min(24)].to_vec()));
    pieces.filter(|piece| piece.len() == 24).chain([run.as_bytes().to_vec()]).collect()
}

/// How many of the pieces are in the files of a folder.
fn found(folder: &Path, pieces: &BTreeSet<Vec<u8>>) -> usize {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let all: Vec<Vec<u8>> = files.collect();
    let search = aho_corasick::AhoCorasick::new(pieces).unwrap();
    let met: BTreeSet<_> = all.iter().flat_map(|bytes| search.find_overlapping_iter(bytes).map(|found| found.pattern())).collect();
    met.len()
}

fn size(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_removed_run_is_gone_from_pages_free_pages_and_log_also_while_others_have_the_store_open() {
    for (commits, bytes) in [(30, 200), (10, 9_000), (2, 400_000)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        let mut other = SqliteStore::open(&file).unwrap();
        keep(&mut store, "stays-1", 3, 300);
        keep(&mut store, "goes-canary-77", commits, bytes);
        keep(&mut other, "stays-2", 3, 5_000);
        let gone = pieces(&store, "goes-canary-77");
        // A few lie across the border of two pages.
        assert!(found(folder.path(), &gone) * 100 >= gone.len() * 95, "the measure finds them");
        let before = size(folder.path());
        store.remove(&["goes-canary-77"]).unwrap();
        assert_eq!(found(folder.path(), &gone), 0, "{commits} commits of {bytes} bytes");
        assert!(size(folder.path()) < before);
        assert_eq!((other.events("stays-1").unwrap().len(), other.events("stays-2").unwrap().len()), (3, 3));
        keep(&mut other, "stays-3", 3, 300);
        other.check_pages().unwrap();
    }
}

#[test]
fn what_cannot_be_erased_yet_is_told_and_erased_later() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = SqliteStore::open(&file).unwrap();
    keep(&mut store, "goes-canary-77", 5, 3_000);
    let gone = pieces(&store, "goes-canary-77");
    let reader = rusqlite::Connection::open(&file).unwrap();
    reader.execute_batch("begin; select count(*) from blocks;").unwrap();
    let told = store.remove(&["goes-canary-77"]).unwrap_err();
    assert!(matches!(told, StoreError::Unerased { .. }), "{told}");
    assert!(found(folder.path(), &gone) > 0);
    assert!(store.list(&RunFilter::default()).unwrap().runs.is_empty());
    reader.execute_batch("commit").unwrap();
    store.remove(&[]).unwrap();
    assert_eq!(found(folder.path(), &gone), 0);
}

#[test]
fn a_removed_run_of_many_leaves_a_smaller_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&folder.path().join("runs.db")).unwrap();
    (0..40).for_each(|n| keep(&mut store, &format!("run-{n:02}"), 2, 20_000));
    let all: Vec<String> = (1..40).map(|n| format!("run-{n:02}")).collect();
    let before = size(folder.path());
    store.remove(&all.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    assert!(size(folder.path()) < before / 10, "{before} {}", size(folder.path()));
    assert_eq!(store.events("run-00").unwrap().len(), 2);
    store.check_pages().unwrap();
}
