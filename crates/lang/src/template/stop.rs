//! Why a filling stops.

/// The reason, in plain words.
#[derive(Debug)]
pub(super) struct Stop {
    /// What people read.
    pub(super) message: String,
    /// Something is not there, which `default(…)` and `is defined` may catch; false for every other mistake.
    pub(super) is_missing: bool,
}

impl Stop {
    /// A mistake nothing catches.
    pub(super) fn failed(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), is_missing: false }
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), is_missing: true }
    }

    /// The same reason, no longer to be caught: the missing thing was used.
    pub(super) fn harden(mut self) -> Stop {
        self.is_missing = false;
        self
    }
}
