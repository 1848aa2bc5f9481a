//! `flow approve`: a person decides about a `once` step in doubt.

use super::refusal::{Refusal, told};
use super::{Exit, Shared, runs};
use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::diagnostic::visible;
use crate::event::{Event, Happening, VERSION};
use crate::port::{Clock, EventLog, Store};

/// Writes the decision into the run's journal; `flow runs resume` goes on from there.
pub(super) fn run(run: &str, step: &str, approved: bool, comment: &str, shared: &Shared) -> Exit {
    told(answer(run, step, approved, comment, shared).map(|run| {
        if !shared.quiet {
            tell!("noted; go on with: flow runs resume {run}");
        }
        Exit::Ok
    }))
}

fn answer(run: &str, step: &str, approved: bool, comment: &str, shared: &Shared) -> Result<String, Refusal> {
    let (mut store, file) = runs::open(shared)?;
    let run = runs::find(&store.runs()?, Some(run))?.run.clone();
    let _lock = RunLock::take(&file, &run)?;
    let events = store.events(&run)?;
    let asked = events.iter().rev().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { step: asked, .. } if **asked == *step => Some(true),
        Happening::ApprovalAnswered { step: asked, .. } if **asked == *step => Some(false),
        _ => None,
    });
    match (asked, events.last()) {
        (Some(true), Some(last)) => {
            let happening = Happening::ApprovalAnswered { step: step.into(), approved, comment: comment.to_string() };
            let time = SystemClock::new().now();
            let event = Event { v: VERSION, seq: last.seq + 1, time, at_ms: last.at_ms, run: run.as_str().into(), happening };
            store.append(&[event]).and_then(|()| store.sync())?;
            Ok(run)
        }
        (Some(false), _) => Err(Refusal::usage(format!("\"{}\" has been decided already", visible(step)))),
        _ => Err(Refusal::usage(format!("step \"{}\" of run {run} waits for no decision", visible(step)))),
    }
}
