//! A store of runs: what is kept comes back, and what is wrong with it is reported.

mod apart;
mod damaged;
mod erased;
mod listed;
mod lost;
mod older;
mod sealed;

use serde_json::json;

use super::super::shared_store::SharedStores;
use super::*;
use crate::event::{Happening, Usage};
use crate::port::EventLog;

/// A small event of a run.
fn of_run(run: &str, seq: u64) -> Event {
    Event { run: run.into(), ..event(seq) }
}

/// The beginning of a run.
fn start(run: &str) -> Event {
    let marks = json!({ "inputs": [], "columns": [], "steps": [] });
    let happening = json!({ "type": "run_started", "pipeline": "p", "hash": "", "inputs": {}, "channel": null, "person": {},
        "now": "2026-01-01T00:00:00Z", "seed": 1, "marks": marks });
    Event { happening: serde_json::from_value(happening).unwrap(), ..of_run(run, 1) }
}

fn event(seq: u64) -> Event {
    let time = chrono::DateTime::from_timestamp(0, 0).unwrap();
    let happening = Happening::StepSkipped { step: format!("step {seq}").into() };
    Event { v: EVENTS, seq, time, at_ms: 0, run: "r_1".into(), happening }
}

#[test]
fn events_come_back_in_order_after_the_store_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/runs.db");
    let mut log = SharedStores::default().log(&file, &Sealing::default()).unwrap();
    log.append(&[event(1), event(2)]).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(log.sync()).unwrap();
    log.append(&[event(3)]).unwrap();
    drop(log);
    let mut store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.events("r_1").unwrap(), [event(1), event(2)]);
}

#[test]
fn a_changed_row_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = SqliteStore::open(&file).unwrap();
    for seq in 1..=2 {
        store.keep(&[event(seq)]).unwrap();
    }
    let other = "(select body from blocks where last = 1)";
    store.connection.execute(&format!("update blocks set body = {other} where last = 2"), []).unwrap();
    assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { seq: 2, .. })));
    store.connection.execute("delete from blocks where last = 1", []).unwrap();
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
    let mut write = |events: &[Event]| writer.keep(events).unwrap();
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
        put(&store.connection, 1, &EventBlock::of_texts("r_1", seq, &[body.to_owned()]).unwrap()).unwrap();
    };
    store.keep(&[event(1)]).unwrap();
    write(&store, 2, &format!(r#"{{"v":{},"seq":2,"type":"moon_phase_changed"}}"#, EVENTS + 1));
    assert!(matches!(store.events("r_1"), Err(StoreError::Newer { seq: 2, .. })));
    store.connection.execute("delete from blocks where last = 2", []).unwrap();
    write(&store, 2, r#"{"v":1,"seq":2,"type":"moon_phase_changed"}"#);
    assert!(matches!(store.events("r_1"), Err(StoreError::Damaged { seq: 2, .. })), "no version ever wrote it");
    store.connection.pragma_update(None, "user_version", 3).unwrap();
    drop(store);
    let refused = SqliteStore::open(&file).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("it has format 3; this flow reads 2"), "{refused}");
    let rows: i64 = Connection::open(&file).unwrap().query_row("select count(*) from blocks", [], |row| row.get(0)).unwrap();
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
