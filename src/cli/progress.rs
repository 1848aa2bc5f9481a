//! Progress of a run on standard error: one plain line when a step ends.

use crate::diagnostic::visible;
use crate::event::{Event, Happening};
use crate::redact::Redactor;

/// Whether and how progress is shown.
pub(super) struct Progress {
    pub(super) is_on: bool,
    pub(super) is_verbose: bool,
}

impl Progress {
    /// Shows what an event means to people.
    pub(super) fn show(&self, event: &Event, redactor: &Redactor) {
        if !self.is_on {
            return;
        }
        let line = match &event.happening {
            Happening::StepSucceeded { step, details, .. } => {
                let ms = details.get("duration_ms").and_then(serde_json::Value::as_u64).unwrap_or(0);
                let note = if details.get("passed") == Some(&serde_json::Value::Bool(false)) { " (not met, otherwise used)" } else { "" };
                format!("{step}: done{note}{}", took(ms))
            }
            Happening::StepFailed { step, failure, .. } => format!("{step}: failed ({}): {}", failure.kind.word(), failure.message),
            Happening::StepBlocked { step, by } if !by.is_empty() => format!("{step}: blocked by {by}"),
            Happening::StepCancelled { step } => format!("{step}: cancelled"),
            Happening::AttemptFailed { step, attempt, failure, .. } => {
                format!("{step}: try {attempt} failed ({}), trying again", failure.kind.word())
            }
            Happening::CaseChosen { step, case } => format!("{step}: {case}"),
            Happening::RefinementStarted { target, .. } => format!("{target}: once more, with feedback"),
            Happening::LimitReached { message, .. } => message.clone(),
            _ if self.is_verbose => {
                serde_json::to_value(event).ok().and_then(|v| v["type"].as_str().map(str::to_string)).unwrap_or_default()
            }
            _ => return,
        };
        eprintln!("{}", visible(&redactor.redact(&line)));
    }
}

fn took(ms: u64) -> String {
    if ms < 100 { String::new() } else { format!(" ({:.1}s)", ms as f64 / 1000.0) }
}
