//! A store that goes while a run writes to it is noticed; one in which nothing stands is reported as that.

use std::path::Path;

use super::of_run;
use crate::encryption::Sealing;
use crate::port::{Store, StoreError};
use crate::sqlite_store::SqliteStore;

/// What may become of a file in use.
type Mishap = fn(&Path);

fn cut(file: &Path, name: &str, length: u64) {
    std::fs::OpenOptions::new().write(true).open(file.with_file_name(name)).unwrap().set_len(length).unwrap();
}

const MISHAPS: [(&str, Mishap); 11] = [
    ("was removed", |file| std::fs::remove_file(file).unwrap()),
    ("was removed", |file| std::fs::remove_dir_all(file.parent().unwrap()).unwrap()),
    ("was removed", |file| std::fs::rename(file, file.with_file_name("elsewhere.db")).unwrap()),
    ("was emptied", |file| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(0).unwrap()),
    ("was replaced", |file| {
        std::fs::copy(file, file.with_file_name("copy.db")).unwrap();
        std::fs::rename(file.with_file_name("copy.db"), file).unwrap();
    }),
    ("-wal was removed", |file| std::fs::remove_file(file.with_file_name("runs.db-wal")).unwrap()),
    ("-wal was emptied", |file| cut(file, "runs.db-wal", 0)),
    ("-wal was emptied", |file| cut(file, "runs.db-wal", 40)),
    ("-wal was replaced", |file| {
        std::fs::write(file.with_file_name("other"), "").unwrap();
        std::fs::rename(file.with_file_name("other"), file.with_file_name("runs.db-wal")).unwrap();
    }),
    ("-shm was emptied", |file| cut(file, "runs.db-shm", 0)),
    ("-shm was removed", |file| std::fs::remove_file(file.with_file_name("runs.db-shm")).unwrap()),
];

#[test]
fn a_store_that_goes_while_a_run_lasts_is_noticed_by_the_next_commit() {
    for (told, mishap) in MISHAPS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept/runs.db");
        let mut store = SqliteStore::open(&file).unwrap();
        store.keep(&[of_run("r_1", 1)]).unwrap();
        mishap(&file);
        let error = store.keep(&[of_run("r_1", 2)]).unwrap_err();
        assert!(matches!(error, StoreError::Lost { .. }) && error.to_string().contains(told), "{told}: {error}");
    }
}

#[test]
fn what_earlier_runs_kept_outlives_a_log_that_is_damaged_while_another_run_lasts() {
    for (told, mishap) in MISHAPS.into_iter().filter(|(told, _)| told.starts_with('-')) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept/runs.db");
        let keep = |run: &str| {
            let mut store = SqliteStore::open(&file).unwrap();
            (1..=20).for_each(|seq| store.keep(&[of_run(run, seq)]).unwrap());
            store
        };
        drop(keep("r_before"));
        let mut hit = keep("r_hit");
        mishap(&file);
        assert!(hit.keep(&[of_run("r_hit", 21)]).is_err(), "{told}");
        drop(hit);
        // One that ends without another commit.
        let unhit = keep("r_next");
        mishap(&file);
        drop(unhit);
        let mut after = keep("r_after");
        assert_eq!(after.events("r_before").unwrap().len(), 20, "{told}");
        assert_eq!(after.events("r_after").unwrap().len(), 20, "{told}");
        after.check_pages().unwrap();
    }
}

#[test]
fn a_log_that_another_process_empties_in_order_is_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut store = SqliteStore::open(&file).unwrap();
    let mut other = SqliteStore::open(&file).unwrap();
    for seq in 1..=10 {
        store.keep(&[of_run("r_1", seq)]).unwrap();
        other.remove(&[]).unwrap();
        assert_eq!(std::fs::metadata(folder.path().join("runs.db-wal")).unwrap().len(), 0);
    }
    assert_eq!(other.events("r_1").unwrap().len(), 10);
}

#[test]
fn a_pipe_where_sqlite_opens_a_file_by_its_name_is_refused_at_once() {
    for end in ["", "-journal", "-wal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.db");
        if !end.is_empty() {
            drop(SqliteStore::open(&file).unwrap());
        }
        let pipe = folder.path().join(format!("runs.db{end}"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let told = SqliteStore::open(&file).err().unwrap().to_string();
        assert!(told.contains("a pipe, a socket or a device") && told.contains(pipe.to_str().unwrap()), "{end}: {told}");
    }
}

#[test]
fn a_file_in_which_nothing_stands_is_told_as_that_and_the_next_run_makes_it_anew() {
    let folder = tempfile::tempdir().unwrap();
    for (name, make) in [
        ("emptied", (|file| std::fs::write(file, "").unwrap()) as Mishap),
        // As a process leaves it that was killed while it made it.
        ("half made", |file| rusqlite::Connection::open(file).unwrap().execute_batch("pragma journal_mode = wal").unwrap()),
    ] {
        let file = folder.path().join(format!("{name}.db"));
        make(&file);
        let refused = SqliteStore::existing(&file, &Sealing::default()).err();
        assert!(matches!(refused, Some(StoreError::Empty { .. })), "{name}: {refused:?}");
        let mut store = SqliteStore::open(&file).unwrap();
        store.keep(&[of_run("r_1", 1)]).unwrap();
        assert_eq!(SqliteStore::existing(&file, &Sealing::default()).unwrap().events("r_1").unwrap().len(), 1);
    }
}

#[test]
fn a_store_that_is_being_made_is_there_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..50 {
        let file = folder.path().join(format!("{number}.db"));
        let made = file.clone();
        let maker = std::thread::spawn(move || SqliteStore::open(&made).map(drop));
        while !file.exists() {}
        let found = SqliteStore::existing(&file, &Sealing::default());
        assert!(found.is_ok(), "{:?}", found.err());
        maker.join().unwrap().unwrap();
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("new")).count(), 0);
}

#[test]
fn another_programs_database_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("create table photos (name text); insert into photos values ('sea')").unwrap();
    let refused = SqliteStore::open(&file).err().unwrap().to_string();
    assert!(refused.contains("another program's database"), "{refused}");
    let rows: i64 = other.query_row("select count(*) from photos", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn many_that_make_the_store_at_once_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    std::fs::write(&file, "").unwrap();
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let file = file.clone();
            std::thread::spawn(move || {
                let mut store = SqliteStore::open(&file).unwrap();
                store.keep(&[of_run(&format!("r_{n}"), 1)]).unwrap();
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut store = SqliteStore::open(&file).unwrap();
    assert!((0..16).all(|n| store.events(&format!("r_{n}")).unwrap().len() == 1));
}

#[test]
fn a_writer_that_waits_comes_before_one_that_writes_again_and_again() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    SqliteStore::open(&file).unwrap();
    let (commits, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let greedy = {
        let (file, commits, is_over) = (file.clone(), commits.clone(), is_over.clone());
        std::thread::spawn(move || {
            let mut store = SqliteStore::open(&file).unwrap();
            for seq in 1.. {
                store.keep(&[of_run("greedy", seq)]).unwrap();
                commits.store(seq, Ordering::SeqCst);
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
            }
        })
    };
    while commits.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    let mut store = SqliteStore::open(&file).unwrap();
    for seq in 1..=20 {
        store.keep(&[of_run("patient", seq)]).unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    greedy.join().unwrap();
    assert_eq!(store.events("patient").unwrap().len(), 20);
}
