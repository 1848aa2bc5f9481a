//! Decisions of people: about calls that need approval, and about steps in doubt.

use serde::{Deserialize, Serialize};

use crate::event::{FormRequest, SharedValue};

/// A person's decision about a step in doubt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum ConsentDecision {
    /// Run it again.
    Again,
    /// Do not run it again; it fails.
    Never,
    /// It has already happened, with this output.
    Happened(SharedValue),
}

impl ConsentDecision {
    /// The decision in an event.
    pub(crate) fn new(approved: bool, output: Option<SharedValue>) -> ConsentDecision {
        match output {
            Some(output) => ConsentDecision::Happened(output),
            None if approved => ConsentDecision::Again,
            None => ConsentDecision::Never,
        }
    }
}

/// An act that waits for a person's approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingConsent {
    /// The act; see [`Happening::ApprovalRequested`](crate::event::Happening).
    pub(crate) act: String,
    /// `None`: not decided yet.
    pub(crate) decided: Option<bool>,
    /// The person's comment.
    pub(crate) comment: String,
    /// Who decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) by: String,
    /// Whether nobody could be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_nobody: bool,
    /// Whether a part of a `send` has been sent with this decision; it then covers the other parts too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_used: bool,
    /// Milliseconds left of the step's `deadline` and `timeout`: the wait for a person does not count.
    pub(crate) deadline_left: Option<u64>,
    pub(crate) attempt_left: Option<u64>,
}

/// A form that a person fills in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingApproval {
    pub(crate) form: FormRequest,
    /// `None`: not answered yet.
    pub(crate) answer: Option<ApprovalAnswer>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApprovalAnswer {
    pub(crate) approved: bool,
    pub(crate) fields: Option<SharedValue>,
    pub(crate) comment: String,
    pub(crate) by: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_nobody: bool,
}
