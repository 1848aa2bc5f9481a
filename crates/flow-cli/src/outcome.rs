//! Output of a run: its events, its outputs, its ending.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::arguments::{OutputOptions, SharedOptions};
use super::refusal::Refusal;
use super::{Exit, stdout, tell};
use crate::adapter::files::{self, cannot};
use crate::adapter::stdout::Stdout;
use crate::diagnostic::visible;
use crate::event::{Canceller, Event, Happening, ModelAnswer, RunStatus};
use crate::journal::{FailureRecord, Record, RunMask, StepRecord, record};
use crate::model::{STDOUT, step_path};
use crate::port::Printer;
use crate::redact::Redactor;
use crate::report::escape::json_visible;
use crate::runtime::{PlayedRun, RunOutcome, asked_to_end, shown_path};

/// The outputs of a run: events, results, standard output. Whether they are writable is checked before the run starts.
pub(super) struct OutputTargets<'a> {
    options: &'a OutputOptions,
    events: Option<Box<dyn Write>>,
    /// The options that a command needs to reach the run's project.
    pub(super) reach: String,
    /// Progress lines are on the terminal, so the reply must be set apart from them.
    pub(super) is_below_progress: bool,
    /// The events could not be written completely.
    is_cut: bool,
}

impl OutputOptions {
    pub(super) fn events_on_stdout(&self) -> bool {
        self.events.as_deref() == Some(Path::new("-"))
    }
}

impl OutputTargets<'_> {
    /// Opens the files. An existing output file is kept until there is a new output. Errors: a file cannot be written.
    pub(super) fn open(options: &OutputOptions, reach: String) -> Result<OutputTargets<'_>, Refusal> {
        if let Some(path) = &options.output {
            if options.events.as_ref() == Some(path) {
                return Err(refusal!(Usage, "--output and --events both name {}; name two files", shown_path(path)));
            }
            files::may_write(path).map_err(cannot("write", path)).map_err(Refusal::usage)?;
        }
        let events: Option<Box<dyn Write>> = match &options.events {
            None => None,
            Some(_) if options.events_on_stdout() => Some(Box::new(std::io::stdout())),
            Some(path) => {
                Some(Box::new(BufWriter::new(files::open_to_write(path, true).map_err(cannot("write", path)).map_err(Refusal::usage)?)))
            }
        };
        Ok(OutputTargets { options, events, reach, is_below_progress: false, is_cut: false })
    }

    /// Whether standard output is used for something other than the output of `send`.
    pub(super) fn takes_stdout(&self) -> bool {
        self.options.json || self.options.events_on_stdout()
    }

    /// Writes one JSON object per line; texts of prompts and replies are left out, or masked with `--events-content`. If writing fails,
    /// this is reported, and the run continues.
    pub(super) fn event(&mut self, event: &Event, mask: RunMask<'_>) {
        let Some(out) = &mut self.events else { return };
        let line = json_visible(&crate::journal::public_line(event, mask, self.options.events_content));
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            self.events = None;
            if error.kind() != ErrorKind::BrokenPipe {
                self.is_cut = true;
                tell!("the events can no longer be written: {error}; flow runs export {}{} prints them", event.run, self.reach);
            }
        }
    }

    /// Prints the object of a run that waits for a person. Returns `false` if it cannot be printed.
    pub(super) fn waits(&self, played: &PlayedRun) -> bool {
        let printed = if self.options.json { Stdout::default().print(&[object(played)]) } else { Ok(()) };
        printed.inspect_err(|why| tell!("{why}")).is_ok()
    }

    /// Prints and writes the result of a run, and returns the exit code.
    pub(super) fn finish(self, shared: &SharedOptions, played: &PlayedRun, sent: bool) -> Exit {
        let outcome = &played.outcome;
        let (options, on_stdout) = (self.options, self.options.events_on_stdout());
        let outputs = || serde_json::to_string_pretty(&*outcome.outputs).unwrap_or_default();
        let mut is_lost = self.is_cut;
        let mut is_printed = !sent && !on_stdout;
        if let Some(path) = &options.output
            && let Err(error) = put(path, &(outputs() + "\n"))
        {
            is_lost = true;
            is_printed |= !on_stdout;
            tell!("cannot write {}: {error}; the outputs follow below", shown_path(path));
            if on_stdout {
                tell::refused(&outputs());
            }
        }
        let text = match options.json {
            true => Some(object(played)),
            false => outcome.text().filter(|_| is_printed),
        };
        // With `--quiet`, only the reason for a missing result is printed.
        let status = outcome.status().unwrap_or(RunStatus::Cancelled);
        let is_good = matches!(status, RunStatus::Succeeded | RunStatus::Partial);
        if !is_good {
            // Numbers the masked values as in the record.
            played.redactor();
        }
        let line = line_of_end(outcome, &self.reach).or_else(|| line_of_success(outcome));
        line.filter(|_| !(shared.quiet && is_good)).iter().for_each(|line| tell!("{line}"));
        // Printed last, so that it is at the end of the terminal output.
        if text.is_some() && self.is_below_progress {
            tell::gap();
        }
        if let Some(Err(why)) = text.map(|text| Stdout::default().print(&[text])) {
            is_lost = true;
            tell!("{why}");
        }
        needs_review(outcome).filter(|_| !shared.quiet).iter().for_each(|line| tell!("{line}"));
        notes(outcome).iter().filter(|_| !shared.quiet).for_each(|line| tell!("{line}"));
        let exit = exit_of(outcome, status, options, outcome.cancelled_by() == Some(Canceller::Terminate));
        let is_told = !shared.quiet || is_good && exit == Exit::Failed;
        rejected_keys(outcome).iter().filter(|_| is_told).for_each(|line| tell!("{line}"));
        exit.unless(is_lost)
    }
}

/// Whether a step has written the run's message to standard output.
pub(super) fn has_printed(event: &Event) -> bool {
    matches!(&event.happening, Happening::OutputWritten { to, .. } if to == STDOUT)
}

/// Returns the object of `--json` as text.
fn object(played: &PlayedRun) -> String {
    stdout::json(&summary(&played.outcome, played.redactor())).trim_end().to_owned()
}

/// Returns the exit code of a run with options.
pub(super) fn exit_of(outcome: &RunOutcome, status: RunStatus, options: &OutputOptions, is_terminated: bool) -> Exit {
    match (own_exit(outcome, status, is_terminated), status) {
        (_, RunStatus::Partial) if options.fail_on_partial => Exit::Failed,
        (exit, _) => exit,
    }
}

/// Returns the exit code for a run's status. If every model call was rejected because of its key, the run counts as failed, even if a
/// stand-in answered.
pub(super) fn own_exit(outcome: &RunOutcome, status: RunStatus, is_terminated: bool) -> Exit {
    match Exit::from_status(status, is_terminated) {
        Exit::Ok | Exit::QualityNotMet if record(&outcome.events).is_some_and(|record| record.has_no_valid_key()) => Exit::Failed,
        exit => exit,
    }
}

/// Returns keys that model endpoints rejected, one per line, except the one that caused the end.
pub(super) fn rejected_keys(outcome: &RunOutcome) -> Vec<String> {
    let record = record(&outcome.events);
    let keys = record.iter().flat_map(|record| &record.rejected_keys);
    let is_cause = |message: &str| {
        let cause = outcome.failure.as_ref().filter(|_| outcome.status() == Some(RunStatus::Failed));
        cause.is_some_and(|cause| cause.failure.message == message)
    };
    let line = |agent: &str, model: &str, message: &str| {
        visible(&format!("key rejected: agent \"{agent}\", model \"{model}\": {message}")).into_owned()
    };
    keys.filter(|key| !is_cause(&key.message)).map(|key| line(&key.agent, &key.model, &key.message)).collect()
}

/// Writes a text to a file, atomically if it is a regular file in a writable folder.
pub(super) fn put(path: &Path, text: &str) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_file() {
        return std::fs::write(path, text);
    }
    match files::replace(path, text) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => std::fs::write(path, text),
        done => done,
    }
}

/// Returns what a person should review: gates that passed only because their judge could not answer.
fn needs_review(outcome: &RunOutcome) -> Option<String> {
    let reviews = record(&outcome.events).map(|record| record.needs_review).unwrap_or_default();
    let told =
        reviews.iter().map(|review| format!("gate \"{}\" passed without its judge ({}: {})", review.gate, review.criterion, review.cause));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("needs review: {}", visible(&told.join("; "))))
}

/// Returns the notes on model calls, each once, with the steps that made them.
fn notes(outcome: &RunOutcome) -> Vec<String> {
    let mut steps: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
    for event in &outcome.events {
        let Happening::ModelReplied { step, reply: ModelAnswer::Said { notes, .. }, .. } = &event.happening else { continue };
        notes.iter().for_each(|note| steps.entry(note).or_default().extend([&**step]));
    }
    let line = |(note, of): (&&str, &IndexSet<&str>)| {
        let more = if of.len() > 1 { format!(" and {} more", of.len() - 1) } else { String::new() };
        visible(&format!("note: \"{}\"{more}: {note}", of[0])).into_owned()
    };
    steps.iter().map(line).collect()
}

/// Formats how a run ended, in one line; `None`: there is nothing to report.
pub(super) fn line_of_end(outcome: &RunOutcome, reach: &str) -> Option<String> {
    let status = outcome.status()?;
    let record = record(&outcome.events);
    let batches = record.as_ref().and_then(counted_batches);
    Some(match (&outcome.failure, status) {
        (Some(failure), RunStatus::Failed | RunStatus::TimedOut | RunStatus::OverBudget) => {
            let step = if failure.step.is_empty() { String::new() } else { format!(" at \"{}\"", failure.step) };
            let counts = batches.map(|batches| format!("; {batches}")).unwrap_or_default();
            format!("{}{step}: {} ({}){counts}", status.word(), visible(&failure.failure.message), failure.failure.kind.word())
        }
        (_, RunStatus::Partial) => {
            let steps = record.iter().flat_map(|record| &record.steps);
            let kept = steps.filter(|step| step.error.is_none());
            let unmet = kept.filter(|step| step.details().rounds().is_some_and(|(_, met)| !met)).map(|step| step.step.as_str());
            let unmet: Vec<&str> = unmet.collect();
            let rounds = (!unmet.is_empty()).then(|| format!("\"{}\" was not met, its last round counts", unmet.join("\", \"")));
            let told: Vec<String> = batches.into_iter().chain(rounds).collect();
            format!("partial: {}", if told.is_empty() { "a failure was allowed".to_owned() } else { told.join("; ") })
        }
        (_, RunStatus::QualityNotMet) => {
            let told: Vec<String> = batches.into_iter().chain(record.iter().flat_map(gates_not_met)).collect();
            let told = if told.is_empty() { "a gate was not met".to_string() } else { told.join("; ") };
            format!("quality_not_met: {}; flow runs show{reach} shows why", visible(&told))
        }
        (_, RunStatus::Cancelled) if outcome.events.is_empty() => "cancelled before it began; nothing was started".to_string(),
        (_, RunStatus::Cancelled) if asked_to_end(&outcome.events) == Some(Canceller::Person) => {
            let by = match outcome.cancelled_by() {
                Some(Canceller::Interrupt | Canceller::Terminate) => "stopped by a signal",
                _ => "cancelled by a person",
            };
            format!("{by}: it cannot continue")
        }
        (_, RunStatus::Cancelled) => format!("cancelled; finished steps are kept: flow runs resume {}{reach}", outcome.run),
        _ => return None,
    })
}

/// Formats the counts of a run that succeeded, in one line; `None`: no step of it has elements.
fn line_of_success(outcome: &RunOutcome) -> Option<String> {
    let record = record(&outcome.events).filter(|record| record.status == Some(RunStatus::Succeeded))?;
    Some(format!("succeeded: {}", counted_batches(&record)?))
}

/// Formats the counts of every `for_each` with elements: `each: 87 of 100 sent, 13 failed: …`.
fn counted_batches(record: &Record) -> Option<String> {
    let counted = record.batches.iter().filter(|batch| batch.elements > 0);
    let counted: Vec<String> = counted.map(|batch| format!("{}: {}", batch.step, batch.words())).collect();
    (!counted.is_empty()).then(|| counted.join("; "))
}

/// Formats gates that were not met, one sentence each; those in elements of one `for_each` are counted.
fn gates_not_met(record: &Record) -> Vec<String> {
    let mut gates: IndexMap<Vec<&str>, Vec<&FailureRecord>> = IndexMap::new();
    for failure in record.failures.iter().filter(|failure| failure.counts()) {
        gates.entry(step_path::ids(&failure.gate).collect()).or_default().push(failure);
    }
    let sentence = |(ids, of): (Vec<&str>, Vec<&FailureRecord>)| {
        let all: Vec<&str> = of.iter().flat_map(|failure| failure.not_met()).map(|verdict| verdict.id.as_str()).collect();
        let once: Vec<&str> = all.iter().copied().collect::<IndexSet<_>>().into_iter().collect();
        match of.as_slice() {
            [alone] => format!("gate \"{}\" was not met ({})", alone.gate, all.join(", ")),
            several => format!("gate \"{}\" was not met {} times ({})", ids.join("/"), several.len(), once.join(", ")),
        }
    };
    gates.into_iter().map(sentence).collect()
}

/// Returns the object of `--json`: the outputs unmasked, everything else masked like a log.
fn summary(outcome: &RunOutcome, redactor: &Redactor) -> Value {
    let record = record(&outcome.events);
    let step = |step: &StepRecord| json!({ "status": step.status, "details": masked(&step.details, redactor), "error": masked(&json!(step.error), redactor) });
    let steps: Map<String, Value> = record.iter().flat_map(|record| &record.steps).map(|one| (one.step.clone(), step(one))).collect();
    let usage = &outcome.usage;
    json!({
        "run_id": record.as_ref().map(|record| &record.run),
        "status": outcome.status().map(RunStatus::word),
        "outputs": *outcome.outputs,
        "steps": steps,
        "usage": { "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": usage.total_tokens() },
        "cost": usage.cost_usd,
        "failure": masked(&json!(outcome.failure), redactor),
        "rejected_keys": masked(&json!(record.iter().flat_map(|record| &record.rejected_keys).collect::<Vec<_>>()), redactor),
        "needs_review": record.iter().any(|record| !record.needs_review.is_empty()),
        "batches": record.iter().flat_map(|record| &record.batches).collect::<Vec<_>>(),
    })
}

/// Masks the texts of a value. Numbers are counts and times here, so they stay even if a personal value equals one.
fn masked(value: &Value, redactor: &Redactor) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(redactor.redact(text)),
        Value::Array(list) => list.iter().map(|value| masked(value, redactor)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (redactor.redact(key), masked(value, redactor))).collect(),
    }
}
