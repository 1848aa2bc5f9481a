//! `flow runs …`: the records of past runs. Removing a run also removes everything it left in the project's `.flow` folder.

mod cancel;
mod fork;
mod moved;
mod replay;
mod resume;
mod retry;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde::Serialize;

use super::arguments::{RunsCommand, RunsListOptions, SharedOptions};
use super::refusal::Refusal;
use super::{Exit, page, stdout};
use crate::adapter::clock::SystemClock;
use crate::adapter::encryption::Sealing;
use crate::adapter::knowledge::forget_runs;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::{counted, grouped, visible};
use crate::journal::{AuditAction, Record, RunBrief, brief, masked, record};
use crate::model::parse_duration;
use crate::port::{Clock, MOST_COUNTED, RunFilter, RunMatch, RunSummary, Store, StoreError};
use crate::report::{self, Look, RunRow};
use crate::runtime::{kept, start_of};

/// Opens the store of the project's runs; also returns its file. Errors: there is none (exit 4), or it cannot be read.
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
    refusal!(NothingRan, "no runs yet{why}")
}

/// Returns the store, its file, and the id of the requested run, or else of the newest. Errors: as [`open`] and [`find`].
pub(super) fn open_run(wanted: Option<&str>, shared: &SharedOptions) -> Result<(SqliteStore, PathBuf, String), Refusal> {
    let (mut store, file) = open(shared)?;
    let id = find(&mut store, wanted, shared)?;
    Ok((store, file, id))
}

/// Returns the record of a run, masked for others, and its pipeline file if it is recorded. Errors: it does not exist or cannot be read.
pub(super) fn stored(wanted: Option<&str>, shared: &SharedOptions) -> Result<(Record, Option<String>), Refusal> {
    let (mut store, _, run) = open_run(wanted, shared)?;
    let events = store.events(&run)?;
    let file = start_of(&events).map(|start| start.file.clone()).filter(|file| !file.is_empty());
    let record = record(&events).ok_or_else(|| refusal!(Failed, "run {run} has no start event"))?;
    Ok((masked(record, &events), file))
}

/// Lists, shows, exports, removes or resumes runs.
pub(super) fn run(command: &RunsCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let project = shared.current_project();
    // The list itself is not encrypted.
    let keyless = || open_with(&project, &Sealing::default());
    match command {
        RunsCommand::List(options) => list(options, &project, shared),
        RunsCommand::Rm { runs, all, .. } => {
            let (mut store, file) = keyless()?;
            let wanted = match all {
                true => ids(&mut store, RunFilter::default())?,
                false => runs.iter().map(|run| find(&mut store, Some(long_enough(run)?), shared)).collect::<Result<_, Refusal>>()?,
            };
            remove(&mut store, &file, &wanted, *all, shared)
        }
        RunsCommand::Prune { older_than } => {
            let (mut store, file) = keyless()?;
            let wanted = match older_than {
                None => BTreeSet::new(),
                Some(than) => ids(&mut store, RunFilter { before: Some(ago(than, "--older-than")?), ..RunFilter::default() })?,
            };
            remove(&mut store, &file, &wanted, true, shared)
        }
        RunsCommand::Show { run, json, html } => {
            let (record, file) = stored(run.as_deref(), shared)?;
            if let Some(to) = html {
                return page::write(record, file.as_deref(), to, shared);
            }
            Ok(if *json {
                stdout::print_json(&record)
            } else {
                stdout::print(&report::record(&record, shared.look(), &shared.reach(&project), shared.verbose))
            })
        }
        RunsCommand::Export { run, events: true } => moved::export(run.as_deref(), shared),
        RunsCommand::Import { log, file } => moved::import(log, file.as_deref(), shared),
        RunsCommand::Export { run, events: false } => Ok(stdout::print_json(&stored(run.as_deref(), shared)?.0)),
        RunsCommand::Fork(options) => fork::run(options, shared),
        RunsCommand::Retry { run, again, printed, trust } => retry::run(run, (*again, trust.is_given), printed, shared),
        RunsCommand::Replay { run } => replay::run(run, shared),
        RunsCommand::Cancel { run } => cancel::run(run, shared),
        RunsCommand::Resume { run: Some(run), printed, trust, .. } => resume::one(run, printed, trust.is_given, shared),
        RunsCommand::Resume { run: None, since, trust, printed, .. } => resume::all(since.as_deref(), printed, trust.is_given, shared),
    }
}

/// A line of the list.
#[derive(Serialize)]
struct RunLine {
    #[serde(flatten)]
    run: RunSummary,
    #[serde(flatten)]
    brief: RunBrief,
    #[serde(skip)]
    unread: String,
}

/// Maximum number of events of a run that a list reads.
const MOST_READ: u64 = 20_000;

/// Lists the newest matching runs. The question of each is read from its events, if possible.
fn list(options: &RunsListOptions, project: &Path, shared: &SharedOptions) -> Result<Exit, Refusal> {
    // A list needs no key: it marks encrypted runs as such.
    let (mut store, file) = open_with(project, &kept::of_kept_runs(project).unwrap_or_default())?;
    let page = store.list(&RunFilter {
        pipeline: options.pipeline.clone(),
        state: options.status.clone(),
        since: options.since.as_deref().map(|text| time_of("--since", text)).transpose()?,
        limit: Some(options.limit as usize),
        running: RunLock::held_beside(&file),
        ..RunFilter::default()
    })?;
    if page.runs.is_empty() && store.list(&RunFilter { limit: Some(1), ..RunFilter::default() })?.runs.is_empty() {
        return if options.json { Ok(stdout::print_json(&page.runs).or(Exit::NothingRan)) } else { Err(nothing("")) };
    }
    let is_empty = page.runs.is_empty();
    let lines: Vec<RunLine> = page.runs.into_iter().map(|run| line(run, &mut store)).collect();
    let look = shared.look();
    let printed = if options.json { stdout::print_json(&lines) } else { stdout::print(&drawn(lines, look, &mut store)?) };
    match page.more {
        _ if shared.quiet => {}
        0 if is_empty => tell!("no run matches; flow runs list{} shows all", shared.reach(project)),
        0 => {}
        1 => tell!("1 more run is not shown; --limit N shows more"),
        MOST_COUNTED => tell!("{} or more runs are not shown; --limit N shows more", grouped(MOST_COUNTED as u64)),
        more => tell!("{more} more runs are not shown; --limit N shows more"),
    }
    Ok(printed)
}

fn line(run: RunSummary, store: &mut SqliteStore) -> RunLine {
    let (brief, unread) = match (run.events > MOST_READ).then_some("(too long to read)") {
        None => match store.events(&run.run) {
            Ok(events) => (brief(&events).unwrap_or_default(), ""),
            Err(StoreError::NoKey { .. } | StoreError::OtherKey { .. }) => (RunBrief::default(), "(encrypted)"),
            Err(_) => (RunBrief::default(), "(cannot be read)"),
        },
        Some(why) => (RunBrief::default(), why),
    };
    RunLine { run, brief, unread: unread.to_owned() }
}

/// Number of characters of an id that a window shows; more if they are needed to distinguish it.
const SHORT_ID: usize = 10;

fn drawn(lines: Vec<RunLine>, look: Look, store: &mut SqliteStore) -> Result<String, Refusal> {
    let mut rows = vec![];
    for RunLine { run, brief, unread } in lines {
        let mut id = run.run;
        if look.width.is_some() {
            let least = store.least_of_id(&id)?.max(SHORT_ID);
            id = id.chars().take(least).collect();
        }
        let mut state = run.state;
        for (is, what) in [(run.needs_review, ", needs review"), (brief.key_rejected, ", key rejected")] {
            if is {
                state += what;
            }
        }
        rows.push(RunRow { run: id, started: run.started, state, pipeline: run.pipeline, brief, unread });
    }
    Ok(report::runs(&rows, look))
}

/// Maximum number of removed runs that are named.
const MOST_NAMED: usize = 10;
/// Minimum number of characters that identify a run to be removed, so that a single letter or an empty text does not match the only run.
const LEAST_TO_REMOVE: usize = 6;

fn long_enough(run: &str) -> Result<&str, Refusal> {
    let why = || format!("\"{}\" is too short to remove a run: write at least {LEAST_TO_REMOVE} characters of its id", visible(run));
    (run.chars().count() >= LEAST_TO_REMOVE).then_some(run).ok_or_else(|| Refusal::usage(why()))
}

/// Returns the run whose id has this prefix, or else the newest. Errors: there is no run (exit 4), or no or several matches (exit 2).
fn find(store: &mut SqliteStore, wanted: Option<&str>, shared: &SharedOptions) -> Result<String, Refusal> {
    let shown = wanted.map(visible).unwrap_or_default();
    let found = wanted.map_or(Ok(RunMatch::None), |wanted| store.named(wanted))?;
    match (found, wanted) {
        (RunMatch::One(run), _) => Ok(run),
        (RunMatch::Several(count), _) => {
            let many = if count == MOST_COUNTED { " or more" } else { "" };
            Err(refusal!(Usage, "{count}{many} runs begin with \"{shown}\"; write more of the id"))
        }
        (RunMatch::None, _) => {
            let newest = ids(store, RunFilter { limit: Some(1), ..RunFilter::default() })?.pop_first().ok_or_else(|| nothing(""))?;
            match wanted {
                None => Ok(newest),
                Some(_) => {
                    let reach = shared.reach(&shared.current_project());
                    Err(refusal!(Usage, "run \"{shown}\" not found; see flow runs list{reach}"))
                }
            }
        }
    }
}

fn ids(store: &mut SqliteStore, filter: RunFilter) -> Result<BTreeSet<String>, Refusal> {
    Ok(store.list(&filter)?.runs.into_iter().map(|run| run.run).collect())
}

/// Returns the time this long ago. Errors: it is not a duration (exit 2).
fn ago(time: &str, option: &str) -> Result<DateTime<Utc>, Refusal> {
    if !time.is_empty() && time.bytes().all(|sign| sign.is_ascii_digit()) {
        return Err(refusal!(Usage, "{option} {time} has no unit; write {time}d for days, {time}h for hours, or {time}m for minutes"));
    }
    let time = parse_duration(time).map_err(|what| refusal!(Usage, "{option} {what}"))?;
    let time = chrono::TimeDelta::from_std(time).unwrap_or(chrono::TimeDelta::MAX);
    Ok(SystemClock::new().now().checked_sub_signed(time).unwrap_or(DateTime::<Utc>::MIN_UTC))
}

/// Parses the value of an option: a day, a time, or a duration before now.
pub(super) fn time_of(option: &str, text: &str) -> Result<DateTime<Utc>, Refusal> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(|day| day.and_time(NaiveTime::MIN).and_utc());
    let time = || DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    match day.or_else(time) {
        Some(time) => Ok(time),
        None => ago(text, option).map_err(|_| {
            let shown = visible(text);
            refusal!(Usage, "{option} {shown}: write a day (2026-11-18), a time (2026-11-18T09:00:00Z), or how long ago (2h, 7d)")
        }),
    }
}

/// Removes runs that no process executes. `leaves`: executed ones are reported and left; otherwise one of them stops the removal. Errors: a
/// run is being executed (exit 2), or parts of removed runs are left (exit 6).
fn remove(store: &mut SqliteStore, file: &Path, wanted: &BTreeSet<String>, leaves: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
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
    kept::audit_all(&shared.current_project(), AuditAction::RunRemoved, runs.iter().map(|run| (*run, "")))?;
    // Cached results are removed first: without their run they could not be found.
    let cache = SqliteCache::forget(&kept::cache_file(file), &runs).map_err(|error| Refusal::new(Exit::Failed, error))?;
    store.remove(&runs)?;
    forget_runs(&shared.current_project(), &ids(store, RunFilter::default())?)
        .map_err(|error| refusal!(Failed, "the runs were removed, but not all that was indexed for them: {error}"))?;
    if !cache {
        let message = "the runs were removed, but another process is reading their cached results: when it has ended, run flow runs prune to erase them";
        return Err(Refusal::new(Exit::Failed, message));
    }
    match runs.as_slice() {
        _ if shared.quiet => {}
        [run] if !leaves => tell!("run {run} removed"),
        runs if !leaves && runs.len() <= MOST_NAMED => tell!("{} removed: {}", counted(runs.len(), "run", "runs"), runs.join(", ")),
        runs => tell!("{} removed", counted(runs.len(), "run", "runs")),
    }
    for line in &held {
        tell!("{line}: not removed");
    }
    Ok(if held.is_empty() { Exit::Ok } else { Exit::Usage })
}
