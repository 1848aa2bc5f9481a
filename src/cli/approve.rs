//! `flow approve`: a person decides about a `once` step in doubt.

use std::path::Path;

use super::refusal::{Refusal, told};
use super::{Exit, Shared, project, runs, tell};
use crate::adapter::clock::SystemClock;
use crate::adapter::environment;
use crate::adapter::files::DiskFiles;
use crate::adapter::run_lock::RunLock;
use crate::check::check_file;
use crate::diagnostic::visible;
use crate::driver::Door;
use crate::engine::secret_values;
use crate::event::{Event, Happening, VERSION};
use crate::port::{Clock, EventLog, Secret, Store};

/// Writes the decision into the run's journal; `flow runs resume` goes on from there.
pub(super) fn run(run: &str, step: &str, approved: bool, comment: &str, shared: &Shared) -> Exit {
    told(answer(run, step, approved, comment, shared).map(|run| {
        if !shared.quiet {
            tell!("noted; go on with: flow runs resume {run}");
        }
        Exit::Ok
    }))
}

/// What a person says, without the secrets of the pipeline that the run is of.
fn without_secrets(comment: &str, events: &[Event], shared: &Shared) -> Result<String, Refusal> {
    let mut comment = comment.to_owned();
    let file = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) => Some(Path::new(&start.file)),
        _ => None,
    });
    if let Some(file) = file.filter(|file| file.is_file()) {
        let env = environment::variables(shared.env_file.as_deref()).map_err(Refusal::usage)?;
        let checked = check_file(file, &project::project(file, shared), &DiskFiles);
        let secrets = secret_values(&checked.loaded.program, &env);
        tell::hide_secrets(&secrets);
        Door::new(secrets.iter().map(Secret::reveal)).text(&mut comment);
    }
    Ok(comment)
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
            let comment = without_secrets(comment, &events, shared)?;
            let happening = Happening::ApprovalAnswered { step: step.into(), approved, comment };
            let time = SystemClock::new().now();
            let event = Event { v: VERSION, seq: last.seq + 1, time, at_ms: last.at_ms, run: run.as_str().into(), happening };
            store.append(&[event]).and_then(|()| store.sync())?;
            Ok(run)
        }
        (Some(false), _) => Err(Refusal::usage(format!("\"{}\" has been decided already", visible(step)))),
        _ => Err(Refusal::usage(format!("step \"{}\" of run {run} waits for no decision", visible(step)))),
    }
}
