//! Something a run met, as data inside events.

use serde::{Deserialize, Serialize};

pub use crate::model::FailureKind;

/// Why a call, a step or a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class; decides about retries.
    pub kind: FailureKind,
    /// One sentence for people, without secrets, control characters shown as escapes, at most 2 KiB.
    pub message: String,
    /// How long the other side asked to wait, in milliseconds (`Retry-After`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Of an unknown outcome: what was met. A receiver that knows a repeated call by its key may be called again after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<FailureKind>,
    /// Of a model's answer that is of no use (refused, cut, filtered): the tokens it read and wrote, where the endpoint told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
}

impl Failure {
    /// `retry_after_ms` of a server that asks to wait for ever.
    pub const ENDLESS: u64 = u64::MAX;

    /// A call that may have acted, and what was met.
    pub fn unknown_outcome(met: FailureKind, message: impl Into<String>) -> Failure {
        Failure { met: Some(met), ..Failure::new(FailureKind::UnknownOutcome, message) }
    }

    /// A failure of a kind with its sentence.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), retry_after_ms: None, met: None, tokens: None }
    }
}
