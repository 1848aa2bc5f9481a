//! What keeps a run from beginning, or from being kept.

use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::TapingError;
use crate::diagnostic::visible;
use crate::event::Failure;
use crate::load::LoadedSettings;
use crate::plan::Wishes;
use crate::port::StoreError;
use crate::report::{self, Findings, wish_lines};

/// Why a run did not begin; nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// What was given for this run does not fit: a channel, a person, a bound, a variable of the environment.
    #[error("{0}")]
    Usage(String),
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
    /// A run cannot go on: it is over, or its files have changed. One line each.
    #[error("{}", .0.join("\n"))]
    CannotResume(Vec<String>),
    /// The system gives no thread, file or folder.
    #[error("{0}")]
    System(String),
}

impl RunError {
    pub(crate) fn usage(line: impl ToString) -> RunError {
        RunError::Usage(line.to_string())
    }

    pub(crate) fn system(line: impl ToString) -> RunError {
        RunError::System(line.to_string())
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
        let file = self.file.display().to_string();
        let file = visible(&file);
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
    report::human(&Findings::new(&found.sources, &found.diagnostics), false).trim_end().to_string()
}
