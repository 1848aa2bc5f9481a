//! The outcome of a run, or why it did not start.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::asking::RunQuestion;
use super::changed::ChangedFiles;
use super::shown_path;
use super::surroundings::start_of;
use super::tape::{Recorded, TapingError};
use crate::event::{Canceller, Event, Failure, Happening, RunEnd, RunStatus, StepFailure, StepPath, Usage};
use crate::load::LoadedSettings;
use crate::plan::Wishes;
use crate::port::StoreError;
use crate::report::{self, Findings, wish_lines};

/// The outputs of a run, and how it ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The run's id.
    pub run: String,
    /// How it ended.
    pub ending: RunEnding,
    /// The channel that its texts were formatted for.
    pub channel: Option<String>,
    /// The pipeline's outputs: an object with the names of its `outputs`, or one value.
    pub outputs: Arc<Value>,
    /// The messages that steps with `send: stdout` printed, in parts.
    pub printed: Vec<String>,
    /// Why it failed, or is [partial](RunStatus::Partial).
    pub failure: Option<StepFailure>,
    /// Tokens and cost, as far as they are known.
    pub usage: Usage,
    /// Whether models were scripted: their replies came from a file.
    pub is_scripted: bool,
    /// All events.
    pub events: Vec<Event>,
    /// An error of the storage during the run; then the run has no complete record.
    pub loss: Option<StoreError>,
    /// Whether its messages are in neither its record nor its conversation.
    pub is_forgotten: bool,
    /// The [recording](super::Runner::record), or why it could not be written.
    pub recorded: Result<Option<Recorded>, RunError>,
    /// Calls without a recording in [a replay](super::Runner::replay), one sentence each.
    pub misses: Vec<String>,
    /// Who ended it before it started, or ended it for good because nobody could resume it; for other runs, see the events.
    pub ended_by: Option<Canceller>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnding {
    /// It has ended.
    Over(RunStatus),
    /// It waits for these decisions. A run stored on disk continues with `flow approve` and `flow runs resume`.
    Waiting(Vec<RunQuestion>),
    /// It could not continue because its events could not be stored; see [`RunOutcome::loss`].
    Lost,
}

impl RunOutcome {
    /// Creates the outcome from events; `end`: set if the run has ended.
    pub(super) fn from_events(run: &str, events: Vec<Event>, end: Option<RunEnd>) -> RunOutcome {
        let start = start_of(&events);
        let (channel, is_scripted) = (start.and_then(|start| start.channel.clone()), start.is_some_and(|start| start.scripted));
        let ending = match &end {
            Some(end) => RunEnding::Over(end.status),
            None => RunEnding::Waiting(RunQuestion::open(&events)),
        };
        let (outputs, usage) = (Arc::new(json!({})), Usage::default());
        let nothing = || RunEnd { status: RunStatus::Cancelled, outputs, failure: None, usage, needs_review: false };
        let RunEnd { outputs, failure, usage, .. } = end.unwrap_or_else(nothing);
        RunOutcome {
            run: run.to_owned(),
            ending,
            channel,
            outputs,
            printed: vec![],
            failure,
            usage,
            is_scripted,
            events,
            loss: None,
            is_forgotten: false,
            recorded: Ok(None),
            misses: vec![],
            ended_by: None,
        }
    }

    /// Creates the outcome of a run that did not start because something is missing on this machine.
    pub fn lacking(failure: Failure) -> RunOutcome {
        let failure = Some(StepFailure { step: StepPath::default(), failure });
        RunOutcome { ending: RunEnding::Over(RunStatus::Failed), failure, ..RunOutcome::from_events("", vec![], None) }
    }

    /// Returns its status, if it has ended.
    pub fn status(&self) -> Option<RunStatus> {
        if let RunEnding::Over(status) = self.ending { Some(status) } else { None }
    }

    /// Whether it succeeded, or is partial, and a replay found all its recordings.
    pub fn is_good(&self) -> bool {
        self.misses.is_empty() && matches!(self.status(), Some(RunStatus::Succeeded | RunStatus::Partial))
    }

    /// Returns who ended it; `None`: nobody did.
    pub fn cancelled_by(&self) -> Option<Canceller> {
        let asked = self.events.iter().rev().find_map(|event| match event.happening {
            Happening::CancelRequested { by, .. } => Some(by),
            _ => None,
        });
        self.ended_by.or(asked)
    }

    /// Returns the outputs as `flow run` prints them: one output as its text, several as a JSON object; `None`: no outputs.
    pub fn text(&self) -> Option<String> {
        let shown = match &*self.outputs {
            Value::Object(named) if named.len() <= 1 => named.values().next()?,
            other => other,
        };
        match shown {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(serde_json::to_string_pretty(other).unwrap_or_default()),
        }
    }
}

/// An error of the system or in the caller's values, with its causes ([`source`](std::error::Error::source)).
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a run did not start; no step ran.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A wrong value for this run: a channel, a person, a limit, an environment variable.
    #[error(transparent)]
    Usage(Cause),
    /// The folder cannot be used for a recording or a replay.
    #[error(transparent)]
    Tape(#[from] TapingError),
    /// Invalid inputs; one line each.
    #[error("{}", .0.join("\n"))]
    Inputs(Vec<String>),
    /// A settings file has errors.
    #[error("{}", drawn(.0))]
    Settings(Box<LoadedSettings>),
    /// The file uses programs, hosts or secrets, without consent.
    #[error("{0}")]
    Untrusted(Box<Untrusted>),
    /// The record of runs cannot be used.
    #[error("{error}{}", .help.map(|help| format!("\n{help}")).unwrap_or_default())]
    Store {
        /// The cause.
        #[source]
        error: StoreError,
        /// How to fix it.
        help: Option<&'static str>,
    },
    /// Something that the pipeline needs is missing on this machine, such as an SQL engine.
    #[error("{}", .0.message)]
    Lacking(Failure),
    /// The run cannot be resumed: it has ended, or has no record. One line each.
    #[error("{}", .0.join("\n"))]
    CannotResume(Vec<String>),
    /// The run cannot be resumed: its files have changed.
    #[error("{0}")]
    Changed(Box<ChangedFiles>),
    /// The system could not create a thread, file or folder.
    #[error(transparent)]
    System(Cause),
}

impl RunError {
    pub(crate) fn usage(cause: impl Into<Cause>) -> RunError {
        RunError::Usage(cause.into())
    }

    /// Creates an error of the system: a file, a lock, a store.
    pub fn system(cause: impl Into<Cause>) -> RunError {
        RunError::System(cause.into())
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> RunError {
        RunError::Store { error, help: None }
    }
}

/// A file that needs consent; nothing was started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Untrusted {
    /// The file.
    pub file: PathBuf,
    /// The programs, hosts and secrets that it uses.
    pub wishes: Wishes,
    /// When an earlier content of this file was trusted.
    pub before: Option<DateTime<Utc>>,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown_path(&self.file);
        match self.before {
            Some(before) => write!(
                f,
                "{file} is not what you trusted on {}: it, a file it brings in, a script of its servers or its folder is another.",
                before.format("%Y-%m-%d at %H:%M UTC")
            )?,
            None => write!(f, "{file} is not trusted yet.")?,
        }
        write!(f, " What it wants:")?;
        wish_lines(&self.wishes).iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// Formats the errors of a settings file for people.
pub fn drawn(found: &LoadedSettings) -> String {
    report::human(&Findings::new(&found.sources, &found.diagnostics), report::Look::default()).trim_end().to_string()
}
