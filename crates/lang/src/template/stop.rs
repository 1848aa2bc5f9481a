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
}

impl FillStop {
    /// A mistake nothing catches.
    pub(super) fn failed(message: impl Into<String>) -> FillStop {
        FillStop { message: message.into(), help: String::new(), is_missing: false }
    }

    /// The same with what to write instead.
    pub(super) fn help(self, help: String) -> FillStop {
        FillStop { help, ..self }
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> FillStop {
        FillStop { message: message.into(), help: String::new(), is_missing: true }
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
}

impl FillError {
    pub(super) fn new(stop: FillStop, span: Option<Span>) -> FillError {
        let message = if stop.help.is_empty() { stop.message } else { format!("{}; {}", stop.message, stop.help) };
        FillError { message: cut_bytes(message, MESSAGE_BYTES), span }
    }
}
