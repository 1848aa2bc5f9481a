//! `flow approve`: a person decides about a `once` step in doubt, or about a call that needs approval.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::refusal::{Refusal, told};
use super::{Exit, SharedOptions, checked, run, runs, stdout, tell};
use crate::adapter::clock::SystemClock;
use crate::adapter::files::{self, DiskFiles};
use crate::adapter::run_lock::RunLock;
use crate::adapter::stdout::Silent;
use crate::check::check_file;
use crate::diagnostic::{all_visible, visible};
use crate::driver::Door;
use crate::engine::secret_values;
use crate::event::{Event, Happening, VERSION};
use crate::journal::record;
use crate::model::{Limits, read_json};
use crate::port::{Clock, EventLog, Secret, Store};
use crate::runtime::{Taping, question};

/// Most bytes of an output that a person gives.
const LARGEST: u64 = 8 * 1024 * 1024;

/// What a person says.
#[derive(Clone, Copy)]
pub(super) enum ApprovalAnswer<'a> {
    /// Do it.
    Yes,
    /// Do not.
    No,
    /// It has happened: its output as JSON, or `@` and a file with that.
    Happened(&'a str),
}

/// Writes the decision into the run's journal; `flow runs resume` goes on from there.
pub(super) fn answer(run: &str, step: &str, answer: ApprovalAnswer, comment: &str, shared: &SharedOptions) -> Exit {
    told(decide(run, step, answer, comment, shared).map(|run| {
        if !shared.quiet {
            tell!("noted; go on with: flow runs resume {run}");
        }
        Exit::Ok
    }))
}

/// Prints all of what is asked about a step, as its person must see it.
pub(super) fn show(run: &str, step: &str, shared: &SharedOptions) -> Exit {
    told(asked_whole(run, step, shared).map(|question| stdout::print(&format!("{question}\n"))))
}

fn asked_whole(run: &str, step: &str, shared: &SharedOptions) -> Result<String, Refusal> {
    let (mut store, _) = runs::open(shared)?;
    let run = runs::find(&store.runs()?, Some(run))?.run.clone();
    let events = store.events(&run)?;
    asked(&run, &events, step)?;
    // From here on the secrets of its pipeline are hidden.
    door(&events, shared)?;
    Ok(all_visible(&tell::without_secrets(&question(&events, step).unwrap_or_default())))
}

fn decide(run: &str, step: &str, answer: ApprovalAnswer, comment: &str, shared: &SharedOptions) -> Result<String, Refusal> {
    let (mut store, file) = runs::open(shared)?;
    let run = runs::find(&store.runs()?, Some(run))?.run.clone();
    let _lock = RunLock::take(&file, &run)?;
    let events = store.events(&run)?;
    let last = events.last().ok_or_else(|| Refusal::usage(format!("run {run} has no beginning")))?;
    let in_doubt = asked(&run, &events, step)?;
    let output = match answer {
        ApprovalAnswer::Yes | ApprovalAnswer::No => None,
        ApprovalAnswer::Happened(_) if !in_doubt => {
            let line = format!("\"{}\" asks about a call that has not been made; answer without --happened", visible(step));
            return Err(Refusal::usage(line));
        }
        ApprovalAnswer::Happened(text) => Some(output(text, step, &events, shared)?),
    };
    let door = door(&events, shared)?;
    let (mut comment, mut output) = (comment.to_owned(), output);
    door.text(&mut comment);
    output.iter_mut().for_each(|output| door.value(output));
    let approved = matches!(answer, ApprovalAnswer::Yes);
    let happening = Happening::ApprovalAnswered { step: step.into(), approved, output: output.map(Arc::new), comment };
    let time = SystemClock::new().now();
    let event = Event { v: VERSION, seq: last.seq + 1, time, at_ms: last.at_ms, run: run.as_str().into(), happening };
    store.append(&[event]).and_then(|()| store.sync())?;
    Ok(run)
}

/// What a person says passes it: it lets in no secret of the pipeline that the run is of.
fn door(events: &[Event], shared: &SharedOptions) -> Result<Door, Refusal> {
    let file = events.first().and_then(|event| match &event.happening {
        Happening::RunStarted(start) => Some(Path::new(&start.file)),
        _ => None,
    });
    let Some(file) = file.filter(|file| file.is_file()) else { return Ok(Door::default()) };
    let env = shared.variables()?;
    let secrets = secret_values(&check_file(file, &shared.project_of(file), &DiskFiles).loaded.program, &env);
    tell::hide_secrets(&secrets);
    Ok(Door::new(secrets.iter().map(Secret::reveal)))
}

/// Whether a step that waits for a person is in doubt; else it asks about a call.
///
/// # Errors
/// It waits for nobody: it was not asked yet, has been decided, or the run is over.
fn asked(run: &str, events: &[Event], step: &str) -> Result<bool, Refusal> {
    let shown = visible(step);
    let questions = record(events).map(|record| record.questions).unwrap_or_default();
    if let Some(asked) = questions.iter().find(|asked| asked.step == step) {
        return Ok(asked.in_doubt);
    }
    let has_ended = events.last().is_some_and(|event| matches!(event.happening, Happening::RunFinished(_)));
    let last = events.iter().rev().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { step: asked, .. } if **asked == *step => Some("is not decided any more: the run is over"),
        Happening::ApprovalAnswered { step: asked, .. } if **asked == *step => Some("has been decided already"),
        _ => None,
    });
    Err(Refusal::usage(match last {
        Some(why) => format!("\"{shown}\" {why}"),
        None if has_ended => format!("step \"{shown}\" of run {run} waits for no decision: the run has ended"),
        None => format!("step \"{shown}\" of run {run} waits for no decision; flow runs resume {run} asks what must be decided"),
    }))
}

/// The output that a person tells, as the steps below read it.
fn output(text: &str, step: &str, events: &[Event], shared: &SharedOptions) -> Result<Value, Refusal> {
    let read = match text.strip_prefix('@') {
        Some(file) => files::read_named(Path::new(file), LARGEST).map_err(|error| format!("cannot read {}: {error}", visible(file))),
        None => Ok(text.to_string()),
    };
    let wrong = |why: String| Refusal::usage(format!("--happened: {why}"));
    let value = read_json(&read.map_err(wrong)?).map_err(|error| wrong(format!("{error}; write JSON, a text as '\"text\"', or @FILE")))?;
    let Some(Happening::RunStarted(start)) = events.first().map(|event| &event.happening) else {
        return Err(wrong("the run does not say which file it runs".to_string()));
    };
    let file = Path::new(&start.file);
    let checked = checked::pipeline(file, shared)?;
    let surroundings = run::surroundings(checked, Arc::default(), file, Arc::new(Silent), shared, Taping::None)?;
    let run = surroundings.as_its_events_tell(Limits::default(), events)?;
    run.told_output(step, value)
        .map_err(|problems| wrong(format!("this is not what \"{}\" gives: {}", visible(step), visible(&problems.join("; ")))))
}
