//! What keeps a run from beginning.

use crate::event::RunEnd;
use crate::load::LoadedSettings;
use crate::port::StoreError;
use crate::report::{self, Findings};

use super::consent::Untrusted;

/// Why a run did not begin; nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was given for this run does not fit: a channel, a person, a bound, a variable of the environment.
    #[error("{0}")]
    Usage(String),
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
    #[error("{}", .0.failure.as_ref().map_or("", |failure| &failure.failure.message))]
    Lacking(Box<RunEnd>),
    /// A run cannot go on: it is over, or its files have changed. One line each.
    #[error("{}", .0.join("\n"))]
    CannotResume(Vec<String>),
    /// The system gives no thread, file or folder.
    #[error("{0}")]
    System(String),
}

impl Error {
    pub(crate) fn usage(line: impl ToString) -> Error {
        Error::Usage(line.to_string())
    }

    pub(crate) fn system(line: impl ToString) -> Error {
        Error::System(line.to_string())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Store { error, help: None }
    }
}

/// The mistakes of a file of settings, drawn for people.
pub(crate) fn drawn(found: &LoadedSettings) -> String {
    report::human(&Findings::new(&found.sources, &found.diagnostics), false).trim_end().to_string()
}
