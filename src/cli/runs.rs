//! `flow runs …`: the record of past runs.

mod removal;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{RunsCommand, SharedOptions};
use super::refusal::Refusal;
use super::{Exit, resume, stdout};
use crate::adapter::run_lock::RunLock;
use crate::adapter::sealing::Sealing;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::visible;
use crate::journal::{Record, masked, record};
use crate::port::{RunSummary, Store, StoreError};
use crate::runtime::{kept, start_of};

/// The store of the project's runs, and its file. Errors: there is none (exit 4), or it cannot be read.
fn open(shared: &SharedOptions) -> Result<(SqliteStore, PathBuf), Refusal> {
    let project = shared.current_project();
    open_with(&project, &kept::of_kept_runs(&project)?)
}

fn open_with(project: &Path, sealing: &Sealing) -> Result<(SqliteStore, PathBuf), Refusal> {
    let file = kept::journal_file(project)?;
    match file.try_exists() {
        Ok(true) => Ok((SqliteStore::existing(&file, sealing)?, file)),
        Ok(false) => Err(nothing(&format!(": {} does not exist", file.display()))),
        Err(error) => Err(StoreError::Unusable { file: file.display().to_string(), message: error.to_string() }.into()),
    }
}

fn nothing(why: &str) -> Refusal {
    Refusal::new(Exit::NothingRan, format!("there are no runs yet{why}"))
}

/// The store, its file, and the id of the run that is wanted; without one the newest. Errors: as [`open`] and [`find`].
pub(super) fn open_run(wanted: Option<&str>, shared: &SharedOptions) -> Result<(SqliteStore, PathBuf, String), Refusal> {
    let (mut store, file) = open(shared)?;
    let id = find(&store.runs()?, wanted)?.run.clone();
    Ok((store, file, id))
}

/// The record of a run, masked for others, and the file it ran if it says so. Errors: there is no such run, or it cannot be read.
pub(super) fn stored(wanted: Option<&str>, shared: &SharedOptions) -> Result<(Record, Option<String>), Refusal> {
    let (mut store, _, run) = open_run(wanted, shared)?;
    let events = store.events(&run)?;
    let file = start_of(&events).map(|start| start.file.clone()).filter(|file| !file.is_empty());
    let record = record(&events).ok_or_else(|| Refusal::new(Exit::Failed, format!("run {run} has no beginning")))?;
    Ok((masked(record, &events), file))
}

/// Lists, shows, writes out, removes or goes on with runs.
pub(super) fn run(command: &RunsCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let project = shared.current_project();
    // What stands in the list needs no key.
    let keyless = || open_with(&project, &Sealing::default());
    match command {
        RunsCommand::List { json } => {
            let (mut store, file) = keyless()?;
            list(&store.runs()?, &file, *json)
        }
        RunsCommand::Rm { runs, all, .. } => {
            let (mut store, file) = keyless()?;
            let kept = store.runs()?;
            let named = runs.iter().map(|run| Ok(&find(&kept, Some(run))?.run)).collect::<Result<BTreeSet<_>, Refusal>>()?;
            let wanted = if *all { kept.iter().map(|run| &run.run).collect() } else { named };
            removal::remove(&mut store, &file, &wanted, *all, shared)
        }
        RunsCommand::Prune { older_than } => {
            let (mut store, file) = keyless()?;
            let kept = store.runs()?;
            let wanted = removal::older(&kept, older_than.as_deref())?;
            removal::remove(&mut store, &file, &wanted, true, shared)
        }
        RunsCommand::Show { run, json } => {
            let (record, _) = stored(run.as_deref(), shared)?;
            Ok(if *json { stdout::print_json(&record) } else { stdout::print(&crate::report::record(&record)) })
        }
        RunsCommand::Export { run } => Ok(stdout::print_json(&stored(run.as_deref(), shared)?.0)),
        RunsCommand::Resume { run, printed, trust } => resume::resume(run, printed, trust.is_given, shared),
    }
}

/// A run in the list.
#[derive(Serialize)]
struct RunLine<'a> {
    #[serde(flatten)]
    run: &'a RunSummary,
    /// Its status; of one that is not over `running`, `waiting` or `killed`.
    state: &'a str,
}

impl<'a> RunLine<'a> {
    fn new(run: &'a RunSummary, file: &Path) -> RunLine<'a> {
        let state = match &run.status {
            Some(status) => status,
            None if RunLock::is_held(file, &run.run) => "running",
            None if run.waits => "waiting",
            None => "killed",
        };
        RunLine { run, state }
    }
}

fn list(runs: &[RunSummary], file: &Path, as_json: bool) -> Result<Exit, Refusal> {
    let lines: Vec<RunLine> = runs.iter().map(|run| RunLine::new(run, file)).collect();
    match (as_json, runs.is_empty()) {
        (true, true) => Ok(stdout::print_json(&lines).or(Exit::NothingRan)),
        (false, true) => Err(nothing("")),
        (true, false) => Ok(stdout::print_json(&lines)),
        (false, false) => {
            let drawn = lines.iter().map(|RunLine { run, state }| {
                let started = &run.started[..19.min(run.started.len())];
                format!("{}  {started}  {state:<16}  {}\n", run.run, visible(&run.pipeline))
            });
            Ok(stdout::print(&drawn.collect::<String>()))
        }
    }
}

/// The run whose id begins so; without one the newest. Errors: there is none at all (exit 4), none that begins so, or several do (exit 2).
fn find<'a>(runs: &'a [RunSummary], wanted: Option<&str>) -> Result<&'a RunSummary, Refusal> {
    let newest = runs.first().ok_or_else(|| nothing(""))?;
    let Some(wanted) = wanted else { return Ok(newest) };
    let fitting: Vec<&RunSummary> = runs.iter().filter(|r| r.run.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(Refusal::usage(format!("there is no run \"{}\"; see flow runs list", visible(wanted)))),
        several => Err(Refusal::usage(format!("{} runs begin with \"{}\"; write more of the id", several.len(), visible(wanted)))),
    }
}
