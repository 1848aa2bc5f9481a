//! What a run gave.

use std::sync::Arc;

use serde_json::{Value, json};

use super::RunError;
use super::session::{PlayedRun, RunQuestion, question};
use super::surroundings::start_of;
use super::tape::Recorded;
use crate::event::{Event, RunEnd, RunStatus, StepFailure, Usage};
use crate::journal::record;
use crate::port::StoreError;

/// What a run gave, and how it ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The run's id.
    pub run: String,
    /// How it ended.
    pub ending: RunEnding,
    /// The channel that its texts are made for.
    pub channel: Option<String>,
    /// What the pipeline gives: an object with the names of its `outputs`, or one value.
    pub outputs: Arc<Value>,
    /// What `send` to standard output printed: the parts of each message.
    pub printed: Vec<String>,
    /// Why it failed; also of a run that is [partial](RunStatus::Partial).
    pub failure: Option<StepFailure>,
    /// Tokens and money, as far as they are known.
    pub usage: Usage,
    /// Models were scripted: their replies came from a file.
    pub is_scripted: bool,
    /// All events.
    pub events: Vec<Event>,
    /// What became of the record while the run lasted; it is not kept then.
    pub loss: Option<StoreError>,
    /// What [was recorded](super::Runner::record), or why it could not be written.
    pub recorded: Result<Option<Recorded>, RunError>,
    /// Calls that [a replay](super::Runner::replay) had no recording for, a sentence each.
    pub misses: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnding {
    /// It is over.
    Over(RunStatus),
    /// It waits for these decisions. One that is kept on disk goes on with `flow approve` and `flow runs resume`.
    Waiting(Vec<RunQuestion>),
}

impl RunOutcome {
    pub(super) fn of(played: PlayedRun) -> Result<RunOutcome, RunError> {
        let PlayedRun { run, end, loss, events, printed, scripted, misses, recorded, .. } = played;
        let channel = start_of(&events).and_then(|start| start.channel.clone());
        let (ending, end) = match end? {
            Some(end) => (RunEnding::Over(end.status), end),
            None => {
                let asked = record(&events).map(|record| record.questions).unwrap_or_default();
                let asked = asked.into_iter().map(|asked| {
                    let text = question(&events, &asked.step).unwrap_or_default();
                    RunQuestion { run: run.clone(), step: asked.step, text }
                });
                let nothing = RunEnd { status: RunStatus::Cancelled, outputs: Arc::new(json!({})), failure: None, usage: Usage::default() };
                (RunEnding::Waiting(asked.collect()), nothing)
            }
        };
        let RunEnd { outputs, failure, usage, .. } = end;
        let recorded = recorded.map_err(RunError::system);
        Ok(RunOutcome { run, ending, channel, outputs, printed, failure, usage, is_scripted: scripted, events, loss, recorded, misses })
    }

    /// Whether it gave what it was run for: it succeeded, perhaps with a failure that its author allows, and a replay had all its recordings.
    pub fn is_good(&self) -> bool {
        self.misses.is_empty() && matches!(self.ending, RunEnding::Over(RunStatus::Succeeded | RunStatus::Partial))
    }

    /// Of one output the text, of several a JSON object, as `flow run` prints it; `None`: there is nothing to show.
    pub fn text(&self) -> Option<String> {
        text_of(&self.outputs)
    }
}

/// One output: its text. Several: one JSON object. `None`: there is nothing to show.
pub(crate) fn text_of(outputs: &Value) -> Option<String> {
    let shown = match outputs {
        Value::Object(named) if named.len() <= 1 => named.values().next()?,
        other => other,
    };
    match shown {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}
