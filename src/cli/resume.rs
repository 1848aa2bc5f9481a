//! `flow runs resume`.

use std::path::Path;

use super::arguments::{OutputOptions, SharedOptions};
use super::outcome::OutputTargets;
use super::refusal::{Refusal, told};
use super::{Exit, run, runs, tell};
use crate::adapter::run_lock::RunLock;
use crate::diagnostic::visible;
use crate::event::{Canceller, Event, Happening, RunEnd};
use crate::journal::PersonalMask;
use crate::port::Store;
use crate::runtime::{RunSession, Taping};

/// Goes on with a run whose process has ended.
pub(super) fn resume(id: &str, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Exit {
    told(try_resume(id, output, is_allowed, shared))
}

fn failed(why: impl ToString) -> Refusal {
    Refusal(Exit::Failed, vec![why.to_string()])
}

fn try_resume(id: &str, printed: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (mut store, file) = runs::open(shared)?;
    // What was lost from the end of a run would be done again.
    store.check_pages()?;
    let found = runs::find(&store.runs()?, Some(id))?.run.clone();
    let lock = RunLock::take(&file, &found)?;
    let events = store.events(&found)?;
    if let Some(end) = outcome(&events) {
        // Its process ended before it could tell; whether its file is the same does not matter any more.
        let printed = OutputTargets::open(printed)?;
        tell!("run {found} has ended; this is its outcome");
        let mut mask = PersonalMask::default();
        events.iter().for_each(|event| {
            mask.take(event);
        });
        tell::hide_with(mask.redactor());
        return Ok(printed.finish(shared, end, &events, has_printed(&events), mask.redactor()));
    }
    let begun = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) if !start.file.is_empty() => Some(start),
        _ => None,
    });
    let Some(start) = begun else {
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
    let (mut surroundings, progress) = run::shown(file, printed, is_allowed, shared, taping)?;
    surroundings.keep_results_of(&found, &journal, store.sealing());
    let session = RunSession::resume(surroundings, events, Box::new(store), lock)?;
    run::carry_on(session, progress, OutputTargets::open(printed)?, shared)
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
