//! What a run gave, or why it did not begin.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::changed::ChangedFiles;
use super::session::RunQuestion;
use super::shown;
use super::surroundings::start_of;
use super::tape::{Recorded, TapingError};
use crate::event::{Canceller, Event, Failure, Happening, RunEnd, RunStatus, StepFailure, StepPath, Usage};
use crate::journal::record;
use crate::load::LoadedSettings;
use crate::plan::Wishes;
use crate::port::StoreError;
use crate::report::{self, Findings, wish_lines};

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
    /// Who ended it before it began; of one that has begun, its events say it.
    pub(crate) ended_by: Option<Canceller>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnding {
    /// It has ended.
    Over(RunStatus),
    /// It waits for these decisions. One that is kept on disk continues with `flow approve` and `flow runs resume`.
    Waiting(Vec<RunQuestion>),
    /// It could not continue, since its events could not be kept: [`RunOutcome::loss`] says why.
    Lost,
}

impl RunOutcome {
    /// What events tell; `end`: the run has ended.
    pub(super) fn of(run: &str, events: Vec<Event>, end: Option<RunEnd>) -> RunOutcome {
        let start = start_of(&events);
        let (channel, is_scripted) = (start.and_then(|start| start.channel.clone()), start.is_some_and(|start| start.scripted));
        let ending = match &end {
            Some(end) => RunEnding::Over(end.status),
            None => {
                let asked = record(&events).map(|record| record.questions).unwrap_or_default().into_iter();
                RunEnding::Waiting(asked.map(|asked| RunQuestion::of(run, asked.step, &events)).collect())
            }
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
            recorded: Ok(None),
            misses: vec![],
            ended_by: None,
        }
    }

    /// Of a run that did not begin, since this machine lacks something.
    pub(crate) fn lacking(failure: Failure) -> RunOutcome {
        let failure = Some(StepFailure { step: StepPath::default(), failure });
        RunOutcome { ending: RunEnding::Over(RunStatus::Failed), failure, ..RunOutcome::of("", vec![], None) }
    }

    /// Its status, if it has ended.
    pub fn status(&self) -> Option<RunStatus> {
        if let RunEnding::Over(status) = self.ending { Some(status) } else { None }
    }

    /// Whether it gave what it was run for: it succeeded, perhaps with a failure that its author allows, and a replay had all its recordings.
    pub fn is_good(&self) -> bool {
        self.misses.is_empty() && matches!(self.status(), Some(RunStatus::Succeeded | RunStatus::Partial))
    }

    /// Who ended it; `None`: nobody did.
    pub(crate) fn cancelled_by(&self) -> Option<Canceller> {
        let asked = self.events.iter().rev().find_map(|event| match event.happening {
            Happening::CancelRequested { by, .. } => Some(by),
            _ => None,
        });
        asked.or(self.ended_by)
    }

    /// Of one output the text, of several a JSON object, as `flow run` prints it; `None`: there is nothing to show.
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

/// An error of this machine or of what was given, with its own causes ([`source`](std::error::Error::source)).
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a run did not begin; nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What was given for this run does not fit: a channel, a person, a bound, a variable of the environment.
    #[error(transparent)]
    Usage(Cause),
    /// Nothing can be recorded or replayed in the folder that was named.
    #[error(transparent)]
    Tape(#[from] TapingError),
    /// The inputs break the pipeline's rules; one line each.
    #[error("{}", .0.join("\n"))]
    Inputs(Vec<String>),
    /// A file of settings has mistakes.
    #[error("{}", drawn(.0))]
    Settings(Box<LoadedSettings>),
    /// The file wants programs, hosts or secrets, and nobody has agreed to that.
    #[error("{0}")]
    Untrusted(Box<Untrusted>),
    /// The record of runs cannot be used.
    #[error("{error}{}", .help.map(|help| format!("\n{help}")).unwrap_or_default())]
    Store {
        /// Why.
        #[source]
        error: StoreError,
        /// What would help.
        help: Option<&'static str>,
    },
    /// This machine lacks something that the pipeline needs, such as an SQL engine; so a run would end.
    #[error("{}", .0.message)]
    Lacking(Failure),
    /// A run cannot continue: it has ended, or there is no record of it. One line each.
    #[error("{}", .0.join("\n"))]
    CannotResume(Vec<String>),
    /// A run cannot continue: its files have changed.
    #[error("{0}")]
    Changed(Box<ChangedFiles>),
    /// The system gives no thread, file or folder.
    #[error(transparent)]
    System(Cause),
}

impl RunError {
    pub(crate) fn usage(cause: impl Into<Cause>) -> RunError {
        RunError::Usage(cause.into())
    }

    pub(crate) fn system(cause: impl Into<Cause>) -> RunError {
        RunError::System(cause.into())
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> RunError {
        RunError::Store { error, help: None }
    }
}

/// A file that wants something to which nobody has agreed; nothing of it was started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Untrusted {
    /// The file.
    pub file: PathBuf,
    /// What it wants.
    pub wishes: Wishes,
    /// When something else was trusted that stood in this file then.
    pub before: Option<DateTime<Utc>>,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown(&self.file);
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

/// The mistakes of a file of settings, drawn for people.
pub(crate) fn drawn(found: &LoadedSettings) -> String {
    report::human(&Findings::new(&found.sources, &found.diagnostics), report::Look::default()).trim_end().to_string()
}
