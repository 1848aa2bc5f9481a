//! `flow runs …`: the record of past runs. A run goes with all that it left in the project's `.flow` folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{OutputOptions, RunsCommand, SharedOptions};
use super::outcome::OutputTargets;
use super::refusal::Refusal;
use super::{Exit, run, stdout, tell};
use crate::adapter::clock::SystemClock;
use crate::adapter::encryption::Sealing;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::{counted, visible};
use crate::event::{Event, Happening};
use crate::journal::{Record, masked, record};
use crate::model::parse_duration;
use crate::port::{Clock, RunSummary, Store, StoreError};
use crate::runtime::{RunSession, StoredRun, kept, start_of};

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
        Err(error) => Err(StoreError::unusable(&file, error).into()),
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

/// Lists, shows, writes out, removes or continues with runs.
pub(super) fn done(command: &RunsCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let project = shared.current_project();
    // What is in the list needs no key.
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
            remove(&mut store, &file, &wanted, *all, shared)
        }
        RunsCommand::Prune { older_than } => {
            let (mut store, file) = keyless()?;
            let kept = store.runs()?;
            let wanted = older(&kept, older_than.as_deref())?;
            remove(&mut store, &file, &wanted, true, shared)
        }
        RunsCommand::Show { run, json } => {
            let (record, _) = stored(run.as_deref(), shared)?;
            Ok(if *json { stdout::print_json(&record) } else { stdout::print(&crate::report::record(&record)) })
        }
        RunsCommand::Export { run } => Ok(stdout::print_json(&stored(run.as_deref(), shared)?.0)),
        RunsCommand::Resume { run, printed, trust } => resume(run, printed, trust.is_given, shared),
    }
}

#[derive(Serialize)]
struct RunLine<'a> {
    #[serde(flatten)]
    run: &'a RunSummary,
    /// Its status; of one that is not over `running`, `waiting` or `killed`.
    state: &'a str,
}

fn list(runs: &[RunSummary], file: &Path, as_json: bool) -> Result<Exit, Refusal> {
    let line = |run| RunLine { run, state: state(run, file) };
    let lines: Vec<RunLine> = runs.iter().map(line).collect();
    if as_json {
        let printed = stdout::print_json(&lines);
        return Ok(if runs.is_empty() { printed.or(Exit::NothingRan) } else { printed });
    }
    if runs.is_empty() {
        return Err(nothing(""));
    }
    let drawn = lines.iter().map(|RunLine { run, state }| {
        let started = &run.started[..19.min(run.started.len())];
        format!("{}  {started}  {state:<16}  {}\n", run.run, visible(&run.pipeline))
    });
    Ok(stdout::print(&drawn.collect::<String>()))
}

fn state<'a>(run: &'a RunSummary, file: &Path) -> &'a str {
    match &run.status {
        Some(status) => status,
        None if RunLock::is_held(file, &run.run) => "running",
        None if run.waits => "waiting",
        None => "killed",
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

/// Continues with a run whose process has ended.
fn resume(id: &str, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (store, journal, id) = open_run(Some(id), shared)?;
    let stored = StoredRun::open(store, journal, id)?;
    if stored.end().is_some() {
        // Its process ended before it could tell; whether its file is the same does not matter any more.
        let printed = OutputTargets::open(output)?;
        tell!("run {} has ended; this is its outcome", stored.id);
        let sends = stored.events.iter().any(has_printed);
        let played = stored.played();
        tell::hide_with(played.redactor());
        return run::told(played, printed, sends, shared);
    }
    let failed = |why: String| Refusal::new(Exit::Failed, why);
    let taping = stored.taping()?;
    taping.open().map_err(|error| failed(format!("--{error}")))?;
    let file = stored.start()?.file.clone();
    if !Path::new(&file).exists() {
        return Err(failed(format!("run {} cannot go on: {} does not exist any more", stored.id, visible(&file))));
    }
    let on = run::prepared(Path::new(&file), output, is_allowed, shared, taping)?;
    run::play(RunSession::resume(on, stored)?, OutputTargets::open(output)?, shared)
}

/// Whether a step has written to standard output what the run has to say.
fn has_printed(event: &Event) -> bool {
    matches!(&event.happening, Happening::OutputWritten { to, .. } if to == "stdout")
}

/// Ids of runs that began longer ago than a time; without one, none. Errors: it is no time (exit 2).
fn older<'a>(runs: &'a [RunSummary], than: Option<&str>) -> Result<BTreeSet<&'a String>, Refusal> {
    let Some(than) = than else { return Ok(BTreeSet::new()) };
    let time = parse_duration(than).map_err(|what| Refusal::usage(format!("--older-than {what}")))?;
    let time = chrono::TimeDelta::from_std(time).unwrap_or(chrono::TimeDelta::MAX);
    let now = SystemClock::new().now();
    let is_older = |run: &&RunSummary| {
        let started = chrono::DateTime::parse_from_rfc3339(&run.started);
        started.is_ok_and(|started| now.signed_duration_since(started) > time)
    };
    Ok(runs.iter().filter(is_older).map(|run| &run.run).collect())
}

/// Removes runs that no process continues with. `leaves`: the others are told and left; else one of them stops the removal.
/// Errors: one is being run (exit 2); or something is left of what was removed (exit 6).
fn remove(store: &mut SqliteStore, file: &Path, wanted: &BTreeSet<&String>, leaves: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (mut locks, mut runs, mut held) = (vec![], vec![], vec![]);
    for run in wanted {
        match RunLock::take_to_remove(file, run) {
            Ok(lock) => {
                locks.push(lock);
                runs.push(run.as_str());
            }
            Err(error @ StoreError::Held { .. }) if leaves => held.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    // The results that are used again go first: without their run nobody knows whose they are.
    let cache = SqliteCache::forget(&kept::cache_file(file), &runs).map_err(|error| Refusal::new(Exit::Failed, error))?;
    store.remove(&runs)?;
    if !cache {
        let message =
            "the runs are removed, but another process is reading their kept results: flow runs prune erases them when it has ended";
        return Err(Refusal::new(Exit::Failed, message));
    }
    if !shared.quiet && leaves {
        tell!("{} removed", counted(runs.len(), "run", "runs"));
    }
    for line in &held {
        tell!("{line}: it is not removed");
    }
    Ok(if held.is_empty() { Exit::Ok } else { Exit::Usage })
}
