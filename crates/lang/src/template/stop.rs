//! Why a filling stops.

use crate::diagnostic::cut_bytes;
use crate::source::Span;

/// The reason, in plain words.
#[derive(Debug)]
pub(super) struct FillStop {
    /// What people read.
    pub(super) message: String,
    /// What to write instead; empty: the message says it.
    pub(super) help: String,
    /// Something is not there, which `default(…)` and `is defined` may catch; false for every other mistake.
    pub(super) is_missing: bool,
    /// What would be made, or worked on, is too large.
    pub(super) is_too_large: bool,
}

impl FillStop {
    /// A mistake nothing catches.
    pub(super) fn failed(message: impl Into<String>) -> FillStop {
        FillStop { message: message.into(), help: String::new(), is_missing: false, is_too_large: false }
    }

    /// A limit that is passed.
    pub(super) fn too_large(message: impl Into<String>) -> FillStop {
        FillStop { is_too_large: true, ..FillStop::failed(message) }
    }

    /// The same with what to write instead.
    pub(super) fn help(self, help: String) -> FillStop {
        FillStop { help, ..self }
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> FillStop {
        FillStop { is_missing: true, ..FillStop::failed(message) }
    }

    /// The same reason, no longer to be caught: the missing thing was used.
    pub(super) fn harden(mut self) -> FillStop {
        self.is_missing = false;
        self
    }
}

/// Longest message, in bytes.
const MESSAGE_BYTES: usize = 2048;

/// Why a text could not be filled, in plain words of at most 2 KiB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FillError {
    /// What people read.
    pub message: String,
    /// The expression that failed, where that is known.
    pub span: Option<Span>,
    /// Whether something was too large.
    pub is_too_large: bool,
}

impl FillError {
    pub(super) fn new(stop: FillStop, span: Option<Span>) -> FillError {
        let message = if stop.help.is_empty() { stop.message } else { format!("{}; {}", stop.message, stop.help) };
        FillError { message: cut_bytes(message, MESSAGE_BYTES), span, is_too_large: stop.is_too_large }
    }
}
