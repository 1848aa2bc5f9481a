//! The list of runs, and runs by the beginning of their id: what is meant, and what SQLite reads for it.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::json;

#[cfg(target_os = "linux")]
use super::apart::moved;
use super::{of_run, start};
use crate::event::{Event, Happening, Usage};
use crate::port::{MOST_COUNTED, RunFilter, RunMatch, Store};
use crate::sqlite_store::SqliteStore;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

/// The beginning of a run of a pipeline at a time.
fn of(run: &str, pipeline: &str, seconds: i64) -> Event {
    let mut event = Event { time: at(seconds), ..start(run) };
    if let Happening::RunStarted(start) = &mut event.happening {
        start.pipeline = pipeline.to_owned();
    }
    event
}

fn ended(run: &str, status: &str) -> Event {
    let end = json!({ "type": "run_finished", "status": status, "outputs": {}, "usage": Usage::default() });
    Event { happening: serde_json::from_value(end).unwrap(), ..of_run(run, 2) }
}

fn few(file: &Path) -> SqliteStore {
    let mut store = SqliteStore::open(file).unwrap();
    let paused = Event { happening: Happening::RunPaused, ..of_run("r_ab2", 2) };
    let events = [
        [of("r_ab1", "shop", 100), ended("r_ab1", "succeeded")],
        [of("r_ab2", "crm", 200), paused],
        [of("r_b", "shop", 300), of_run("r_b", 2)],
        [of("r_ab", "shop", 400), ended("r_ab", "failed")],
    ];
    store.keep(&events.concat()).unwrap();
    // What has not begun is in no list.
    store.keep(&[of_run("r_none", 1)]).unwrap();
    store
}

#[test]
fn the_list_is_filtered_and_says_how_many_more_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = few(&folder.path().join("runs.db"));
    let mut listed = |filter: RunFilter| {
        let page = store.list(&filter).unwrap();
        (page.runs.into_iter().map(|run| format!("{} {} {}", run.run, run.state, run.events)).collect::<Vec<_>>().join(", "), page.more)
    };
    let all = RunFilter::default();
    assert_eq!(listed(all.clone()), ("r_ab failed 2, r_b killed 2, r_ab2 waiting 2, r_ab1 succeeded 2".into(), 0));
    assert_eq!(listed(RunFilter { limit: Some(1), ..all.clone() }), ("r_ab failed 2".into(), 3));
    assert_eq!(listed(RunFilter { limit: Some(4), ..all.clone() }).1, 0);
    assert_eq!(listed(RunFilter { pipeline: Some("shop".into()), limit: Some(1), ..all.clone() }), ("r_ab failed 2".into(), 2));
    assert_eq!(listed(RunFilter { since: Some(at(200)), before: Some(at(400)), ..all.clone() }).0, "r_b killed 2, r_ab2 waiting 2");
    let running = vec!["r_ab2".to_owned()];
    for (state, found) in [("failed", "r_ab failed 2"), ("waiting", ""), ("running", "r_ab2 running 2"), ("killed", "r_b killed 2")] {
        assert_eq!(listed(RunFilter { state: Some(state.into()), running: running.clone(), ..all.clone() }).0, found, "{state}");
    }
}

#[test]
fn the_beginning_of_an_id_is_a_run_where_it_fits_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = few(&folder.path().join("runs.db"));
    let one = |run: &str| RunMatch::One(run.to_owned());
    for (beginning, found) in [
        ("r_ab1", one("r_ab1")),
        ("r_b", one("r_b")),
        ("r_ab", one("r_ab")),
        ("r_a", RunMatch::Several(3)),
        ("", RunMatch::Several(4)),
        ("r_n", RunMatch::None),
        ("R_B", RunMatch::None),
        ("r_%", RunMatch::None),
        ("r_b\u{10ffff}", RunMatch::None),
    ] {
        assert_eq!(store.named(beginning).unwrap(), found, "{beginning}");
    }
    for (run, least) in [("r_b", 3), ("r_ab1", 5), ("r_ab2", 5)] {
        assert_eq!(store.least_of_id(run).unwrap(), least, "{run}");
    }
}

/// What is read for a list with a limit, for a run by its whole id, by the beginning of it, and by one that many have.
#[cfg(target_os = "linux")]
fn costs(file: &Path) -> [u64; 4] {
    let mut store = SqliteStore::open(file).unwrap();
    store.keep(&[of("r_z77", "shop", 100), ended("r_z77", "succeeded")]).unwrap();
    let mut costs = [0; 4];
    for (place, cost) in costs.iter_mut().enumerate() {
        // Each with what it reads by itself.
        let mut store = SqliteStore::open(file).unwrap();
        let before = moved();
        match place {
            0 => drop(store.list(&RunFilter { limit: Some(20), ..RunFilter::default() }).unwrap()),
            1 => assert_eq!(store.named("r_z77").unwrap(), RunMatch::One("r_z77".into())),
            2 => assert_eq!(store.named("r_z").unwrap(), RunMatch::One("r_z77".into())),
            _ => drop(store.named("r_").unwrap()),
        }
        *cost = moved() - before;
    }
    costs
}

#[test]
#[cfg(target_os = "linux")]
fn a_list_and_a_run_by_its_id_read_the_same_among_ten_thousand_others() {
    let folder = tempfile::tempdir().unwrap();
    let fill = |name: &str, runs: u64| {
        let file = folder.path().join(name);
        let events: Vec<Event> = (0..runs)
            .flat_map(|run| {
                let run = format!("r_{run}");
                [of(&run, "shop", 100), ended(&run, "succeeded")]
            })
            .collect();
        SqliteStore::open(&file).unwrap().keep(&events).unwrap();
        costs(&file)
    };
    // As many as are counted at most, and ten times as many.
    let (some, many) = (fill("some.db", MOST_COUNTED as u64 + 20), fill("many.db", 10_000));
    for (some, many) in some.into_iter().zip(many) {
        assert!(many <= some + 8 * 4096, "bytes read: {some} among a thousand, {many} among ten thousand");
    }
    let store = SqliteStore::open(&folder.path().join("many.db")).unwrap();
    let before = moved();
    store.connection.query_row("select count(*) from runs where pipeline is not null", [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(moved() - before > 10 * many[1], "the measure sees a list that is read as a whole");
}
