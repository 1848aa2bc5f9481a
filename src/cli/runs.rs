//! `flow runs …`: the record of past runs.

use std::path::{Path, PathBuf};

use super::arguments::{RunsCommand, Shared};
use super::refusal::{Refusal, told};
use super::{Exit, project, state, stdout};
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::visible;
use crate::event::{Event, Happening};
use crate::journal::{Record, masked, record};
use crate::port::{RunSummary, Store, StoreError};

/// Lists, shows, writes out or removes runs.
pub(super) fn run(command: &RunsCommand, shared: &Shared) -> Exit {
    told(open(shared).and_then(|(mut store, file)| answer(command, &mut store, &file)))
}

/// The store of the project's runs, and its file.
///
/// # Errors
/// There is none (exit 4), or it cannot be read.
pub(super) fn open(shared: &Shared) -> Result<(SqliteStore, PathBuf), Refusal> {
    let file = state::journal_file(&project::project(Path::new("./x"), shared))?;
    match file.try_exists() {
        Ok(true) => Ok((SqliteStore::open(&file)?, file)),
        Ok(false) => Err(nothing(&format!(": {} does not exist", file.display()))),
        Err(error) => Err(StoreError::Unusable { file: file.display().to_string(), message: error.to_string() }.into()),
    }
}

fn nothing(why: &str) -> Refusal {
    Refusal(Exit::NothingRan, vec![format!("there are no runs yet{why}")])
}

/// The record of a run, masked for others, and the file it ran if it says so.
///
/// # Errors
/// There is no such run, or it cannot be read.
pub(super) fn stored(wanted: &str, shared: &Shared) -> Result<(Record, Option<String>), Refusal> {
    let (mut store, _) = open(shared)?;
    let found = find(&store.runs()?, Some(wanted))?.run.clone();
    let events = store.events(&found)?;
    let file = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) if !start.file.is_empty() => Some(start.file.clone()),
        _ => None,
    });
    Ok((of_events(&found, &events)?, file))
}

fn answer(command: &RunsCommand, store: &mut dyn Store, file: &Path) -> Result<Exit, Refusal> {
    let runs = store.runs()?;
    match command {
        RunsCommand::List { json: true } if runs.is_empty() => Ok(stdout::print_json_then(&runs, Exit::NothingRan)),
        RunsCommand::List { .. } if runs.is_empty() => Err(nothing("")),
        RunsCommand::List { json: true } => Ok(stdout::print_json(&runs)),
        RunsCommand::List { json: false } => {
            let lines = runs.iter().map(|run| {
                let started = &run.started[..19.min(run.started.len())];
                let status = run.status.as_deref().unwrap_or("not over");
                format!("{}  {started}  {status:<16}  {}\n", run.run, visible(&run.pipeline))
            });
            Ok(stdout::print(&lines.collect::<String>()))
        }
        RunsCommand::Resume { .. } => Err(Refusal(Exit::Internal, vec!["runs are gone on with elsewhere".to_string()])),
        RunsCommand::Rm { run } => {
            let found = find(&runs, Some(run))?;
            let _lock = RunLock::take(file, &found.run)?;
            store.remove(&found.run)?;
            Ok(Exit::Ok)
        }
        RunsCommand::Show { run, json } => {
            let record = read(store, find(&runs, run.as_deref())?)?;
            Ok(if *json { stdout::print_json(&record) } else { stdout::print(&crate::report::record(&record)) })
        }
        RunsCommand::Export { run } => Ok(stdout::print_json(&read(store, find(&runs, run.as_deref())?)?)),
    }
}

/// The run whose id begins so; without one the newest.
///
/// # Errors
/// There is none at all (exit 4), none that begins so, or several do (exit 2).
pub(super) fn find<'a>(runs: &'a [RunSummary], wanted: Option<&str>) -> Result<&'a RunSummary, Refusal> {
    let newest = runs.first().ok_or_else(|| nothing(""))?;
    let Some(wanted) = wanted else { return Ok(newest) };
    let fitting: Vec<&RunSummary> = runs.iter().filter(|r| r.run.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(Refusal::usage(format!("there is no run \"{}\"; see flow runs list", visible(wanted)))),
        several => Err(Refusal::usage(format!("{} runs begin with \"{}\"; write more of the id", several.len(), visible(wanted)))),
    }
}

fn read(store: &mut dyn Store, run: &RunSummary) -> Result<Record, Refusal> {
    of_events(&run.run, &store.events(&run.run)?)
}

fn of_events(run: &str, events: &[Event]) -> Result<Record, Refusal> {
    let record = record(events).ok_or_else(|| Refusal(Exit::Failed, vec![format!("run {run} has no beginning")]))?;
    Ok(masked(record, events))
}
