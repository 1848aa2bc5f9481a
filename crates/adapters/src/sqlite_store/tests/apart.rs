//! What one run wrote is in no other's way. Bytes that SQLite reads and writes are counted; no clock judges.

use std::path::Path;

use rusqlite::Connection;

use super::of_run;
use crate::event::{Event, Happening};
use crate::port::{RunFilter, Store};
use crate::sqlite_store::SqliteStore;

/// Bytes that this thread has read and written so far.
pub(super) fn moved() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    told.lines().filter_map(|line| line.strip_prefix("rchar: ").or(line.strip_prefix("wchar: "))?.parse::<u64>().ok()).sum()
}

/// An event whose text does not compress.
fn large(run: &str, seq: u64, bytes: usize) -> Event {
    let mut random = seq.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        text.push_str(&format!("{random:016x}"));
    }
    Event { happening: Happening::StepSkipped { step: text.into() }, ..of_run(run, seq) }
}

/// A store with an earlier run of many events, and one of 4 MiB.
fn beside_large(file: &Path) {
    let mut store = SqliteStore::open(file).unwrap();
    let mut events: Vec<Event> = (1..=2_000).map(|seq| large("r_5", seq, 2_000)).collect();
    events.push(large("r_5", 2_001, 4 << 20));
    store.keep(&events).unwrap();
}

/// What 200 commits of small events, and the list of runs, move.
fn cost_of_small_runs(file: &Path) -> (u64, u64) {
    let mut store = SqliteStore::open(file).unwrap();
    store.keep(&[of_run("r_1", 1)]).unwrap();
    let before = moved();
    for seq in 2..=100 {
        for run in ["r_1", "r_9"] {
            store.keep(&[of_run(run, if run == "r_1" { seq } else { seq - 1 })]).unwrap();
        }
    }
    let written = moved();
    store.list(&RunFilter::default()).unwrap();
    (written - before, moved() - written)
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_beside_a_large_one_reads_and_writes_what_it_does_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, beside) = (folder.path().join("alone.db"), folder.path().join("beside.db"));
    beside_large(&beside);
    let (alone, beside) = (cost_of_small_runs(&alone), cost_of_small_runs(&beside));
    assert!(alone.0 > 200 * 4096, "the measure sees what is written: {alone:?}");
    assert!(beside.0 <= alone.0 + alone.0 / 10, "commits: {} bytes alone, {} beside a large run", alone.0, beside.0);
    assert!(beside.1 <= 64 * 4096, "the list reads {} bytes of a file of megabytes", beside.1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_among_ten_thousand_others_writes_hardly_more_than_it_does_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, among) = (folder.path().join("alone.db"), folder.path().join("among.db"));
    let others: Vec<Event> = (10..10_010).flat_map(|run| [1, 2].map(|seq| of_run(&format!("r_{run}"), seq))).collect();
    SqliteStore::open(&among).unwrap().keep(&others).unwrap();
    let (alone, among) = (cost_of_small_runs(&alone).0, cost_of_small_runs(&among).0);
    // The trees are two levels deeper.
    assert!(among <= alone * 2, "{alone} bytes alone, {among} among ten thousand runs");
}

#[test]
#[cfg(target_os = "linux")]
fn the_measure_sees_texts_that_lie_in_the_tree_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let cost = |large: bool| {
        let connection = Connection::open(folder.path().join(format!("{large}.db"))).unwrap();
        let table = "create table events (run text, seq integer, body text, primary key (run, seq)) without rowid";
        connection.execute_batch(table).unwrap();
        if large {
            connection.execute("insert into events values ('r_5', 1, hex(zeroblob(2097152)))", []).unwrap();
        }
        let before = moved();
        connection.execute_batch("begin").unwrap();
        for seq in 0..200 {
            connection.execute("insert into events values ('r_1', ?1, 'small')", [seq]).unwrap();
        }
        connection.execute_batch("commit").unwrap();
        moved() - before
    };
    assert!(cost(true) > 10 * cost(false));
}
