//! Failures as data inside events.

use serde::{Deserialize, Serialize};

pub use crate::model::FailureKind;

/// Why a call, a step or a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class; it decides about retries.
    pub kind: FailureKind,
    /// One sentence for people, at most 2 KiB, without secrets and with control characters escaped.
    pub message: String,
    /// How long the server asked to wait, in milliseconds (`Retry-After`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// For an unknown outcome: its cause. A receiver that recognizes repeated calls by their key may be called again after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<FailureKind>,
    /// For an unusable answer of a model (refused, cut, filtered): the tokens read and written, if the endpoint reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
}

impl Failure {
    /// `retry_after_ms` of a server that asks to wait forever.
    pub const ENDLESS: u64 = u64::MAX;

    /// Creates the failure of a call that may have acted, with the failure that caused it.
    pub fn unknown_outcome(met: FailureKind, message: impl Into<String>) -> Failure {
        Failure { met: Some(met), ..Failure::new(FailureKind::UnknownOutcome, message) }
    }

    /// Creates a failure with its kind and message.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), retry_after_ms: None, met: None, tokens: None }
    }
}
