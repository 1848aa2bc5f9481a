//! `flow runs resume`: resumes one run, or all that were interrupted.

use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::arguments::{OutputOptions, SharedOptions};
use crate::diagnostic::visible;
use crate::event::{Canceller, Event, Happening, RunStatus};
use crate::outcome::{OutputTargets, exit_of, has_printed, line_of_end};
use crate::port::{Clock, RunFilter, Store};
use crate::refusal::Refusal;
use crate::runtime::{PlayedRun, RunError, RunQuestion, RunSession, StoredRun, asked_to_end, file_of, start_of};
use crate::{Exit, run, stdout, tell};

/// Resumes a run whose process has ended.
pub(super) fn one(id: &str, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (store, journal, id) = super::open_run(Some(id), shared)?;
    let stored = StoredRun::open(store, journal, id)?;
    let reach = shared.reach(&shared.current_project());
    if stored.end().is_some() {
        stored.keep_messages()?;
        // Its process ended before it could report the outcome; changes of its file no longer matter.
        let printed = OutputTargets::open(output, reach)?;
        let sent = if stored.events.iter().any(has_printed) { "; what it printed is not printed again" } else { "" };
        tell!("run {} has ended; this is its outcome{sent}", stored.id);
        let played = stored.played();
        tell::hide_with(played.redactor());
        return run::report(played, printed, false, shared);
    }
    run::play(session(stored, output, is_allowed, shared)?, OutputTargets::open(output, reach)?, shared)
}

/// Returns the session of a run that has not ended. Errors: its file is missing or has changed.
fn session(stored: StoredRun, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<RunSession, Refusal> {
    let failed = |why: String| Refusal::new(Exit::Failed, why);
    let file = file_of(&stored.events).map_err(|why| failed(format!("run {} cannot continue: {why}", stored.id)))?;
    let taping = stored.taping();
    taping.open().map_err(|error| failed(format!("--{error}")))?;
    if run::is_recorded(&stored.events) && !shared.quiet {
        tell!("run {} was being recorded: it continues, and nothing is recorded", stored.id);
    }
    let on = run::prepared(&file, output, is_allowed, shared, taping)?;
    Ok(RunSession::resume(on, stored).inspect_err(|error| show_changes(error, shared))?)
}

/// Shows how the files of a run have changed, if this prevents its resumption.
pub(super) fn show_changes(error: &RunError, shared: &SharedOptions) {
    let RunError::Changed(changed) = error else { return };
    for (name, difference) in &changed.differences {
        tell::drawn(&format!("{name}, as it was and as it is:\n{}", difference.draw(shared.look_of_stderr().is_coloured)));
    }
}

/// Resumes every interrupted run, and those that no longer need to wait for a person, oldest first. A run that cannot be resumed does not
/// stop the others; a signal ends the current run, and no other is started.
pub(super) fn all(since: Option<&str>, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (mut store, file) = super::open(shared)?;
    let filter = RunFilter {
        since: since.map(|text: &str| super::time_of("--since", text)).transpose()?,
        running: RunLock::held_beside(&file),
        ..RunFilter::default()
    };
    let listed = store.list(&filter)?.runs;
    let reach = shared.reach(&shared.current_project());
    let (mut worst, mut count) = (Exit::Ok, 0);
    for one in listed.into_iter().rev().filter(|one| one.status.as_deref().is_none_or(|word| word == RunStatus::Cancelled.word())) {
        if filter.running.contains(&one.run) {
            continue;
        }
        let (id, pipeline) = (one.run, visible(&one.pipeline).into_owned());
        let (is_over, (exit, line)) = match opened(&id, shared) {
            Ok(None) => continue,
            Ok(Some(stored)) => continued(stored, output, is_allowed, shared, &reach),
            Err(refusal) => (false, refused(refusal)),
        };
        count += 1;
        worst = worst.max(exit).max(stdout::print(&format!("{id}  {pipeline}  {line}\n")));
        if is_over {
            break;
        }
    }
    if count == 0 && !shared.quiet {
        tell!("nothing to resume: no run was interrupted, and no waiting run has its answer");
    }
    Ok(worst)
}

/// Opens the run, if it can be resumed.
fn opened(id: &str, shared: &SharedOptions) -> Result<Option<StoredRun>, Refusal> {
    let (store, file, id) = super::open_run(Some(id), shared)?;
    let stored = StoredRun::open(store, file, id)?;
    Ok((stored.end().is_none() && can_continue(&stored)).then_some(stored))
}

/// Whether a run can be resumed: it was killed or interrupted, or it waits and was answered since, or its time to answer has ended.
fn can_continue(stored: &StoredRun) -> bool {
    // A message to a single agent is not resumed; the person can send it again.
    if start_of(&stored.events).is_none_or(|start| start.file.is_empty()) {
        return false;
    }
    let events = &stored.events;
    let pauses = |event: &&Event| matches!(event.happening, Happening::RunPaused | Happening::RunResumed { .. });
    let waits = matches!(events.iter().rev().find(pauses).map(|event| &event.happening), Some(Happening::RunPaused));
    let is_interrupted = asked_to_end(events).is_some();
    let has_answer = |event: &Event| matches!(event.happening, Happening::ApprovalAnswered { .. });
    let late = || RunQuestion::open(events).iter().any(|asked| asked.is_late(SystemClock::new().now()));
    !waits || is_interrupted || events.iter().rev().take_while(|event| !pauses(event)).any(has_answer) || late()
}

/// Resumes one of several runs. Returns whether it was the last one, its exit code, and how it ended.
fn continued(stored: StoredRun, output: &OutputOptions, is_allowed: bool, shared: &SharedOptions, reach: &str) -> (bool, (Exit, String)) {
    let (session, printed) = match (session(stored, output, is_allowed, shared), OutputTargets::open(output, reach.to_owned())) {
        (Ok(session), Ok(printed)) => (session, printed),
        (Err(refusal), _) | (_, Err(refusal)) => return (false, refused(refusal)),
    };
    run::watched(session, printed, shared, |played, _| ended(played, output, reach))
}

fn ended(mut played: PlayedRun, output: &OutputOptions, reach: &str) -> (bool, (Exit, String)) {
    tell::hide_with(played.redactor());
    if let Some(loss) = played.outcome.loss.take() {
        return (false, refused(loss.into()));
    }
    let outcome = &played.outcome;
    let Some(status) = outcome.status() else { return (false, (Exit::Waiting, format!("waits; flow runs show {}{reach}", outcome.run))) };
    let by = asked_to_end(&outcome.events).or(outcome.ended_by);
    let is_signal = status == RunStatus::Cancelled && matches!(by, Some(Canceller::Interrupt | Canceller::Terminate));
    let exit = exit_of(outcome, status, output, by == Some(Canceller::Terminate));
    let line = line_of_end(outcome, reach).map_or_else(|| status.word().to_owned(), |line| played.redactor().redact(&line));
    (is_signal, (exit, visible(&line).into_owned()))
}

/// Reports a run that cannot be resumed: returns the first line as the reason, and prints the others on standard error.
fn refused(Refusal(exit, lines): Refusal) -> (Exit, String) {
    lines.iter().skip(1).for_each(|line| tell::refused(line));
    let why = lines.first().map(|line| tell::without_secrets(line).into_owned()).unwrap_or_default();
    (exit, format!("not resumed: {}", visible(&why)))
}
