//! A store that version 1 wrote becomes one of this version: all of it or nothing.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::{of_run, start};
use crate::event::{Event, Happening};
use crate::port::{RunFilter, Store, StoreError};
use crate::sqlite_store::SqliteStore;

/// The tables of version 1.
const TABLES: &str = "
    create table runs (run text primary key, pipeline text not null, started text not null, status text) strict;
    create table events (
        run text not null, seq integer not null, body text not null, checksum blob not null, primary key (run, seq)
    ) strict, without rowid;
    pragma user_version = 1;";

fn old_store(folder: &Path, runs: &[(&str, u64)]) -> PathBuf {
    let file = folder.join("runs.db");
    let connection = Connection::open(&file).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(TABLES).unwrap();
    for (run, events) in runs {
        let first = start(run);
        let time = first.time.to_rfc3339();
        connection.execute("insert into runs (run, pipeline, started) values (?1, 'p', ?2)", params![run, time]).unwrap();
        for seq in 1..=*events {
            let event = if seq == 1 { first.clone() } else { of_run(run, seq) };
            let body = serde_json::to_string(&event).unwrap();
            let sum =
                Sha256::new().chain_update(run.as_bytes()).chain_update(seq.to_le_bytes()).chain_update(&body).finalize()[..16].to_vec();
            connection.execute("insert into events values (?1, ?2, ?3, ?4)", params![run, seq as i64, body, sum]).unwrap();
        }
    }
    file
}

fn version(file: &Path) -> i64 {
    Connection::open(file).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn every_run_of_version_1_is_there_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_1", 3), ("r_2", 2_000), ("r_3", 1)]);
    let mut store = SqliteStore::open(&file).unwrap();
    let counted: Vec<(String, u64)> =
        store.list(&RunFilter::default()).unwrap().runs.into_iter().map(|run| (run.run, run.events)).collect();
    assert_eq!(counted, [("r_3".into(), 1), ("r_2".into(), 2_000), ("r_1".into(), 3)]);
    assert_eq!(store.events("r_1").unwrap(), [start("r_1"), of_run("r_1", 2), of_run("r_1", 3)]);
    assert_eq!(store.events("r_2").unwrap().len(), 2_000);
    store.keep(&[of_run("r_3", 2)]).unwrap();
    assert_eq!((store.check().unwrap(), version(&file)), ((3, 0), 2));
}

#[test]
fn what_version_1_left_of_removed_runs_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_canary", 200), ("r_2", 3)]);
    Connection::open(&file)
        .unwrap()
        .execute_batch("delete from events where run = 'r_canary'; delete from runs where run = 'r_canary'")
        .unwrap();
    let has = |word: &[u8]| std::fs::read(&file).unwrap().windows(word.len()).any(|window| window == word);
    assert!(has(b"r_canary"), "version 1 left it");
    drop(SqliteStore::open(&file).unwrap());
    assert!(!has(b"r_canary"));
}

#[test]
fn what_was_damaged_stays_damaged_and_what_was_sound_stays_sound() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_1", 9), ("r_2", 9), ("r_3", 9)]);
    let old = Connection::open(&file).unwrap();
    old.execute("update events set body = replace(body, 'step 4', 'step 5') where run = 'r_1' and seq = 4", []).unwrap();
    old.execute("delete from events where run = 'r_2' and seq = 6", []).unwrap();
    drop(old);
    let mut store = SqliteStore::open(&file).unwrap();
    assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { seq: 4, .. })));
    assert!(matches!(store.events("r_2"), Err(StoreError::Damaged { seq: 6, .. })));
    assert_eq!(store.events("r_3").unwrap().len(), 9);
}

#[test]
fn of_many_that_open_it_at_once_one_brings_it_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_1", 3), ("r_2", 500)]);
    let readers: Vec<_> = (0..12)
        .map(|_| {
            let file = file.clone();
            std::thread::spawn(move || SqliteStore::open(&file).unwrap().events("r_2").unwrap().len())
        })
        .collect();
    assert!(readers.into_iter().all(|reader| reader.join().unwrap() == 500));
}

#[test]
fn a_full_disk_leaves_the_old_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_1", 3), ("r_2", 2_000)]);
    // As on a full disk: the file cannot grow.
    let mut connection = crate::sqlite_file::connect(&file).unwrap();
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    connection.pragma_update_and_check(None, "max_page_count", pages + 3, |_| Ok(())).unwrap();
    let error = super::super::migrate(&mut connection, &file).unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    drop(connection);
    assert_eq!(version(&file), 1);
    assert_eq!(SqliteStore::open(&file).unwrap().events("r_2").unwrap().len(), 2_000);
}

#[test]
fn a_run_that_waited_for_a_person_still_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = old_store(folder.path(), &[("r_1", 2)]);
    let paused = Event { happening: Happening::RunPaused, ..of_run("r_1", 3) };
    let body = serde_json::to_string(&paused).unwrap();
    let sum = Sha256::new().chain_update(b"r_1").chain_update(3u64.to_le_bytes()).chain_update(&body).finalize()[..16].to_vec();
    Connection::open(&file).unwrap().execute("insert into events values ('r_1', 3, ?1, ?2)", params![body, sum]).unwrap();
    let mut store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.list(&RunFilter::default()).unwrap().runs[0].state, "waiting");
    assert_eq!(store.events("r_1").unwrap().len(), 3);
}
