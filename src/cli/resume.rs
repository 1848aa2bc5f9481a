//! `flow runs resume`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::arguments::{OutputOptions, Shared};
use super::outcome::Written;
use super::refusal::{Refusal, told};
use super::run::Surroundings;
use super::tape::Taping;
use super::{Exit, runs, settings, tell};
use crate::adapter::run_lock::RunLock;
use crate::diagnostic::visible;
use crate::driver::Begin;
use crate::engine::{CannotResume, Moment, Run};
use crate::event::{Canceller, Event, Happening, RunEnd};
use crate::journal::Mask;
use crate::model::Limits;
use crate::port::Store;

/// Goes on with a run whose process has ended.
pub(super) fn run(id: &str, output: &OutputOptions, is_allowed: bool, shared: &Shared) -> Exit {
    told(try_resume(id, output, is_allowed, shared))
}

fn failed(why: impl ToString) -> Refusal {
    Refusal(Exit::Failed, vec![why.to_string()])
}

fn try_resume(id: &str, printed: &OutputOptions, is_allowed: bool, shared: &Shared) -> Result<Exit, Refusal> {
    let (mut store, file) = runs::open(shared)?;
    // What was lost from the end of a run would be done again.
    store.check_pages()?;
    let found = runs::find(&store.runs()?, Some(id))?.run.clone();
    let lock = RunLock::take(&file, &found)?;
    let events = store.events(&found)?;
    if let Some(end) = outcome(&events) {
        // Its process ended before it could tell; whether its file is the same does not matter any more.
        let printed = Written::open(printed)?;
        tell!("run {found} has ended; this is its outcome");
        let mut mask = Mask::default();
        events.iter().for_each(|event| {
            mask.take(event);
        });
        tell::hide_with(mask.redactor());
        return Ok(printed.finish(shared, end, &events, has_printed(&events), mask.redactor()));
    }
    let begun = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) if !start.file.is_empty() => Some((event, start)),
        _ => None,
    });
    let Some((first, start)) = begun else {
        return Err(failed(format!("run {found} does not say which file it runs")));
    };
    if start.tape.as_ref().is_some_and(|tape| !tape.is_replay) {
        let why = format!("run {found} was being recorded, and half a recording is none: run it again with --record");
        return Err(failed(why));
    }
    let replayed = start.tape.as_ref().map(|tape| Path::new(&tape.folder));
    let taping = Taping::new(None, replayed).map_err(failed)?;
    let journal = file;
    let file = Path::new(&start.file);
    if !file.exists() {
        return Err(failed(format!("run {found} cannot go on: {} does not exist any more", visible(&start.file))));
    }
    let mut surroundings = Surroundings::new(file, printed, is_allowed, shared, taping)?;
    surroundings.keep_results_of(&found, &journal, store.sealing());
    let last = events.last().unwrap_or(first);
    let away = (surroundings.ports.clock.now() - last.time).num_milliseconds().max(0) as u64;
    let of_run = Limits { max_cost_usd: start.max_cost_usd, ..Limits::default() };
    let limits = settings::narrowest(&of_run, &surroundings.settled.limits);
    let run = as_its_events_tell(&surroundings, limits, &events)?;
    let printed = Written::open(printed)?;
    surroundings.carry_on(run, Begin::Resume(away), events, printed, store, lock)
}

/// A run as its events tell it, to be gone on with.
///
/// # Errors
/// It is over, or its files have changed: which.
pub(super) fn as_its_events_tell(surroundings: &Surroundings, limits: Limits, events: &[Event]) -> Result<Run, Refusal> {
    let Some((id, start)) = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) => Some((event.run.clone(), start)),
        _ => None,
    }) else {
        return Err(failed("the run has no beginning".to_string()));
    };
    let now = Moment { wall: surroundings.ports.clock.now(), ms: 0 };
    let plan = Arc::new(surroundings.checked.plan.clone());
    Run::resumed(id.clone(), plan, surroundings.options(limits), now, events).map_err(|why| {
        let mut lines = vec![format!("run {id} cannot go on: {why}")];
        if why == CannotResume::Changed {
            lines.extend(changes(&start.files, &surroundings.checked.loaded.prints));
        }
        Refusal(Exit::Failed, lines)
    })
}

/// The end of a run that cannot go on any more. One that a signal, or the client of a server, ended can.
fn outcome(events: &[Event]) -> Option<&RunEnd> {
    let Happening::RunFinished(end) = &events.last()?.happening else { return None };
    let asked = events.iter().rev().find_map(|event| match &event.happening {
        Happening::CancelRequested { by, .. } => Some(*by != Canceller::Person),
        Happening::RunResumed { .. } => Some(false),
        _ => None,
    });
    (asked != Some(true)).then_some(end)
}

/// Whether steps of a run have written to standard output what it has to say.
fn has_printed(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(&event.happening, Happening::OutputWritten { to, .. } if to == "stdout"))
}

/// Which files are not what they were, a line each.
fn changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let told = |name: &String| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) if before == now => None,
        (Some(_), Some(_)) => Some(format!("  changed: {}", visible(name))),
        (Some(_), None) => Some(format!("  no longer brought in: {}", visible(name))),
        (None, _) => Some(format!("  brought in now: {}", visible(name))),
    };
    before.keys().chain(now.keys().filter(|name| !before.contains_key(*name))).filter_map(told).collect()
}
