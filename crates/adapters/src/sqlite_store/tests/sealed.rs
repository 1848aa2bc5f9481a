//! An encrypted store: nobody reads a run without its key, and everybody sees that it is there.

use base64::Engine;

use super::of_run;
use crate::encryption::{JournalKey, Sealing};
use crate::port::{Store, StoreError};
use crate::sqlite_store::SqliteStore;

fn with_key(byte: u8, is_on: bool) -> Sealing {
    let text = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
    Sealing { key: Some(JournalKey::read(&text).unwrap()), is_on }
}

fn keep(store: &mut SqliteStore, run: &str, seq: u64) {
    store.keep(&[of_run(run, seq)]).unwrap();
}

#[test]
fn a_sealed_run_is_read_with_its_key_only_and_each_run_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    keep(&mut SqliteStore::open(&file).unwrap(), "clear", 1);
    keep(&mut SqliteStore::open_sealed(&file, &with_key(1, true)).unwrap(), "first", 1);
    keep(&mut SqliteStore::open_sealed(&file, &with_key(2, true)).unwrap(), "second", 1);
    let read = |sealing: &Sealing, run: &str| SqliteStore::existing(&file, sealing).unwrap().events(run).map(|events| events.len());
    assert_eq!((read(&with_key(1, false), "first").unwrap(), read(&with_key(1, false), "clear").unwrap()), (1, 1));
    assert_eq!(read(&with_key(2, false), "second").unwrap(), 1);
    assert!(matches!(read(&with_key(2, false), "first"), Err(StoreError::OtherKey { .. })));
    assert!(matches!(read(&Sealing::default(), "first"), Err(StoreError::NoKey { .. })));
    let mut store = SqliteStore::existing(&file, &Sealing::default()).unwrap();
    assert_eq!(store.check().unwrap().1, 0, "runs that tell no pipeline are in no list");
    store.remove(&["first", "second"]).unwrap();
}

#[test]
fn a_sealed_run_goes_on_sealed_whatever_the_settings_say_now() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    keep(&mut SqliteStore::open_sealed(&file, &with_key(1, true)).unwrap(), "run", 1);
    let mut store = SqliteStore::existing(&file, &with_key(1, false)).unwrap();
    store.events("run").unwrap();
    keep(&mut store, "run", 2);
    let forms: Vec<u8> = {
        let mut query = store.connection.prepare("select body from blocks").unwrap();
        query.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(|body| body.unwrap()[0]).collect()
    };
    assert_eq!(forms, [2, 2]);
}

#[test]
fn nothing_is_written_in_clear_when_the_key_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open_sealed(&folder.path().join("runs.db"), &Sealing { key: None, is_on: true }).unwrap();
    assert!(store.keep(&[of_run("run", 1)]).unwrap_err().to_string().contains("no key is set"));
    let rows: i64 = store.connection.query_row("select count(*) from blocks", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn a_sealed_block_at_another_place_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open_sealed(&folder.path().join("runs.db"), &with_key(1, true)).unwrap();
    keep(&mut store, "one", 1);
    keep(&mut store, "two", 1);
    let other = crate::store_block::checksum(
        "two",
        1,
        &store.connection.query_row("select body from blocks where run = 1", [], |row| row.get::<_, Vec<u8>>(0)).unwrap(),
    );
    store
        .connection
        .execute("update blocks set body = (select body from blocks where run = 1), checksum = ?1 where run = 2", [other])
        .unwrap();
    assert!(matches!(store.events("two"), Err(StoreError::Damaged { .. })));
}
