//! Questions of MCP servers to a person during calls, and the answers.

use serde::{Deserialize, Serialize};

use super::consents::ApprovalAnswer;
use crate::event::{ServerQuestion, ServerQuestions};

/// The questions of a server that must be answered before a call continues.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerTalk {
    pub(crate) asks: ServerQuestions,
    /// Answers to the first questions.
    pub(crate) answers: Vec<ApprovalAnswer>,
    /// How often the server has asked during this call.
    pub(crate) rounds: u32,
    /// Milliseconds left of the step's `deadline` and `timeout` when the person was asked.
    pub(super) deadline_left: Option<u64>,
    pub(super) attempt_left: Option<u64>,
}

impl ServerTalk {
    /// The first question that is not answered yet.
    pub(crate) fn open(&self) -> Option<&ServerQuestion> {
        self.asks.questions.get(self.answers.len())
    }
}
