//! `flow approve`: a person decides about a `once` step in doubt.

use super::{Exit, Shared, project, world};
use crate::adapter::clock::SystemClock;
use crate::adapter::sqlite_store::{RunLock, SqliteStore};
use crate::diagnostic::visible;
use crate::event::{Event, Happening, VERSION};
use crate::port::{Clock, Store};

/// Writes the decision into the run's journal; `flow runs resume` goes on from there.
pub(super) fn run(run: &str, step: &str, approved: bool, comment: &str, shared: &Shared) -> Exit {
    match answer(run, step, approved, comment, shared) {
        Ok(run) => {
            if !shared.quiet {
                tell!("noted; go on with: flow runs resume {run}");
            }
            Exit::Ok
        }
        Err((exit, problem)) => {
            tell!("{problem}");
            exit
        }
    }
}

fn answer(run: &str, step: &str, approved: bool, comment: &str, shared: &Shared) -> Result<String, (Exit, String)> {
    let file = world::journal_file(&project::project(std::path::Path::new("./x"), shared));
    if !file.exists() {
        return Err((Exit::NothingRan, format!("there are no runs yet: {} does not exist", file.display())));
    }
    let failed = |e: crate::port::StoreError| (Exit::Failed, e.to_string());
    let usage = |problem: String| (Exit::Usage, problem);
    let mut store = SqliteStore::open(&file).map_err(failed)?;
    let runs = store.runs().map_err(failed)?;
    let run = super::runs::find(&runs, Some(run)).map_err(usage)?.run.clone();
    let _lock = RunLock::take(&file, &run).map_err(usage)?;
    let events = store.events(&run).map_err(failed)?;
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
            store.append(&[event]).and_then(|()| store.sync()).map_err(failed)?;
            Ok(run)
        }
        (Some(false), _) => Err(usage(format!("\"{}\" has been decided already", visible(step)))),
        _ => Err(usage(format!("step \"{}\" of run {run} waits for no decision", visible(step)))),
    }
}
