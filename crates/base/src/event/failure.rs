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
    /// Of a model's answer that is of no use (refused, cut, filtered): the tokens it read and wrote, where the endpoint told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
}

impl Failure {
    /// A failure of a kind with its sentence.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), retry_after_ms: None, tokens: None }
    }
}
