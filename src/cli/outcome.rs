//! What a run prints and writes: its events, its outputs, how it ended.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Exit;
use super::arguments::{OutputOptions, Shared};
use super::run::Refusal;
use crate::adapter::stdout::Stdout;
use crate::diagnostic::visible;
use crate::event::{Event, Happening, RunEnd, RunStatus};
use crate::port::Printer;
use crate::redact::Redactor;

/// `--events`: one JSON object a line; texts of prompts and replies are left out, or masked with `--events-content`.
pub(super) struct EventLines {
    out: Option<Box<dyn Write>>,
    with_content: bool,
}

impl EventLines {
    pub(super) fn open(printed: &OutputOptions) -> Result<EventLines, Refusal> {
        let out: Option<Box<dyn Write>> = match printed.events.as_deref() {
            None => None,
            Some(path) if path == Path::new("-") => Some(Box::new(std::io::stdout())),
            Some(path) => {
                let file = std::fs::File::create(path).map_err(|e| Refusal::usage(format!("cannot write {}: {e}", path.display())))?;
                Some(Box::new(std::io::BufWriter::new(file)))
            }
        };
        Ok(EventLines { out, with_content: printed.events_content })
    }

    pub(super) fn write(&mut self, event: &Event, redactor: &Redactor) {
        if let Some(out) = &mut self.out {
            let line = crate::journal::public_line(event, redactor, self.with_content);
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}

/// Prints and writes what a run gave, and gives the exit code.
pub(super) fn finish(options: &OutputOptions, shared: &Shared, end: &RunEnd, events: &[Event], sends: bool) -> Result<Exit, Refusal> {
    if let Some(path) = &options.output {
        let text = serde_json::to_string_pretty(&*end.outputs).unwrap_or_default();
        std::fs::write(path, text + "\n").map_err(|e| Refusal(Exit::Failed, vec![format!("cannot write {}: {e}", path.display())]))?;
    }
    if options.json {
        print_line(&serde_json::to_string_pretty(&summary(end, events)).unwrap_or_default());
    } else if !sends && options.events.as_deref() != Some(Path::new("-")) {
        print_outputs(&end.outputs);
    }
    if !shared.quiet {
        match (&end.failure, end.status) {
            (Some(failure), RunStatus::Failed | RunStatus::TimedOut | RunStatus::OverBudget) => {
                let step = if failure.step.is_empty() { String::new() } else { format!(" at \"{}\"", failure.step) };
                tell!("{}{step}: {} ({})", end.status.word(), visible(&failure.failure.message), failure.failure.kind.word());
            }
            (_, RunStatus::Partial) => tell!("partial: a failure was allowed"),
            (_, RunStatus::QualityNotMet) => tell!("quality_not_met: a gate was not met"),
            (_, RunStatus::Cancelled) => match events.first() {
                Some(first) => tell!("cancelled; what is done is kept: flow runs resume {}", first.run),
                None => tell!("cancelled"),
            },
            _ => {}
        }
    }
    let by_whom = events.iter().rev().find_map(|e| match &e.happening {
        Happening::CancelRequested { by } => Some(by.as_str()),
        _ => None,
    });
    let terminated = by_whom == Some("terminate");
    if end.status == RunStatus::Partial && options.fail_on_partial {
        return Ok(Exit::Failed);
    }
    Ok(Exit::of(end.status, terminated))
}

/// One output: its text. Several: one JSON object.
fn print_outputs(outputs: &Value) {
    match outputs {
        Value::Null => {}
        Value::Object(named) if named.is_empty() => {}
        Value::Object(named) if named.len() == 1 => named.values().for_each(print_value),
        Value::Object(_) => print_line(&serde_json::to_string_pretty(outputs).unwrap_or_default()),
        whole => print_value(whole),
    }
}

fn print_value(value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) => print_line(text),
        other => print_line(&serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

fn print_line(text: &str) {
    let _ = Stdout::default().print(&[text.to_string()]);
}

/// The object of `--json`.
fn summary(end: &RunEnd, events: &[Event]) -> Value {
    let record = crate::journal::record(events);
    let steps: Map<String, Value> = record
        .iter()
        .flat_map(|r| &r.steps)
        .map(|s| (s.step.clone(), json!({ "status": s.status, "details": s.details, "error": s.error })))
        .collect();
    json!({
        "run_id": events.first().map(|e| &*e.run),
        "status": end.status.word(),
        "outputs": *end.outputs,
        "steps": steps,
        "usage": { "input_tokens": end.usage.input_tokens, "output_tokens": end.usage.output_tokens, "total_tokens": end.usage.total_tokens() },
        "cost": end.usage.cost_usd,
        "failure": end.failure,
    })
}
