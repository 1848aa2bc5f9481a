//! `flow runs …`: the record of past runs.

use super::arguments::{RunsCommand, Shared};
use super::{Exit, project, stdout, world};
use crate::adapter::sqlite_store::{RunLock, SqliteStore};
use crate::diagnostic::visible;
use crate::event::Happening;
use crate::journal::{Record, masked, record};
use crate::port::{RunSummary, Store};

/// Lists, shows, writes out or removes runs.
pub(super) fn run(command: &RunsCommand, shared: &Shared) -> Exit {
    let file = world::journal_file(&project::project(std::path::Path::new("./x"), shared));
    let answered = open(shared).and_then(|mut store| answer(command, &mut store, &file).map_err(|problem| (Exit::Failed, problem)));
    answered.unwrap_or_else(|(exit, problem)| {
        tell!("{problem}");
        exit
    })
}

/// The store of the project's runs.
fn open(shared: &Shared) -> Result<SqliteStore, (Exit, String)> {
    let file = world::journal_file(&project::project(std::path::Path::new("./x"), shared));
    if !file.exists() {
        return Err((Exit::NothingRan, format!("there are no runs yet: {} does not exist", file.display())));
    }
    SqliteStore::open(&file).map_err(|error| (Exit::Failed, error.to_string()))
}

/// The record of a run, masked for others, and the file it ran if it says so.
///
/// # Errors
/// There is no such run, or it cannot be read.
pub(super) fn stored(wanted: &str, shared: &Shared) -> Result<(Record, Option<String>), (Exit, String)> {
    let failed = |problem: String| (Exit::Failed, problem);
    let mut store = open(shared)?;
    let runs = store.runs().map_err(|e| failed(e.to_string()))?;
    let found = find(&runs, Some(wanted)).map_err(|problem| (Exit::NothingRan, problem))?;
    let events = store.events(&found.run).map_err(|e| failed(e.to_string()))?;
    let file = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) if !start.file.is_empty() => Some(start.file.clone()),
        _ => None,
    });
    let record = record(&events).ok_or_else(|| failed(format!("run {} has no beginning", found.run)))?;
    Ok((masked(record, &events), file))
}

fn answer(command: &RunsCommand, store: &mut dyn Store, file: &std::path::Path) -> Result<Exit, String> {
    let runs = store.runs().map_err(|e| e.to_string())?;
    match command {
        RunsCommand::List { json } => {
            if *json {
                stdout::print_json(&runs);
            } else {
                let lines = runs.iter().map(|run| {
                    let started = &run.started[..19.min(run.started.len())];
                    let status = run.status.as_deref().unwrap_or("not over");
                    format!("{}  {started}  {status:<16}  {}\n", run.run, visible(&run.pipeline))
                });
                stdout::print(&lines.collect::<String>());
            }
            Ok(if runs.is_empty() { Exit::NothingRan } else { Exit::Ok })
        }
        RunsCommand::Resume { .. } => Err("runs are gone on with elsewhere".to_string()),
        RunsCommand::Rm { run } => {
            let found = find(&runs, Some(run))?;
            let _lock = RunLock::take(file, &found.run)?;
            store.remove(&found.run).map_err(|e| e.to_string())?;
            Ok(Exit::Ok)
        }
        RunsCommand::Show { run, json } => {
            let record = read(store, find(&runs, run.as_deref())?)?;
            Ok(if *json { stdout::print_json(&record) } else { stdout::print(&crate::report::record(&record)) })
        }
        RunsCommand::Export { run } => Ok(stdout::print_json(&read(store, find(&runs, run.as_deref())?)?)),
    }
}

pub(super) fn find<'a>(runs: &'a [RunSummary], wanted: Option<&str>) -> Result<&'a RunSummary, String> {
    let Some(wanted) = wanted else { return runs.first().ok_or_else(|| "there are no runs yet".to_string()) };
    let fitting: Vec<&RunSummary> = runs.iter().filter(|r| r.run.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("there is no run \"{}\"; see flow runs list", visible(wanted))),
        several => Err(format!("{} runs begin with \"{}\"; write more of the id", several.len(), visible(wanted))),
    }
}

fn read(store: &mut dyn Store, run: &RunSummary) -> Result<Record, String> {
    let events = store.events(&run.run).map_err(|e| e.to_string())?;
    let record = record(&events).ok_or_else(|| format!("run {} has no beginning", run.run))?;
    Ok(masked(record, &events))
}
