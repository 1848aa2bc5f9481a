//! Questions of MCP servers to a person during calls, and the answers.

use serde::{Deserialize, Serialize};

use super::consents::ApprovalAnswer;
use super::{NodeRef, RunState};
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
    deadline_left: Option<u64>,
    attempt_left: Option<u64>,
}

impl ServerTalk {
    /// The first question that is not answered yet.
    pub(crate) fn open(&self) -> Option<&ServerQuestion> {
        self.asks.questions.get(self.answers.len())
    }
}

impl RunState {
    /// The questions of a server during a call.
    pub(crate) fn server_talk(&self, step: &str, place: usize) -> Option<&ServerTalk> {
        self.server_talks.get(step)?.get(&place)
    }

    pub(super) fn server_asks(&mut self, step: &crate::event::StepPath, place: usize, asks: &ServerQuestions) {
        let talk = self.server_talks.entry(step.clone()).or_default().entry(place).or_default();
        *talk = ServerTalk { asks: asks.clone(), rounds: talk.rounds + 1, ..ServerTalk::default() };
    }

    /// Removes the questions of a call that has its result.
    pub(super) fn server_answered(&mut self, step: &str, place: usize) {
        let Some(talks) = self.server_talks.get_mut(step) else { return };
        talks.remove(&place);
        if talks.is_empty() {
            self.server_talks.remove(step);
        }
    }

    /// The questions that a person is asked now: the first with an open one.
    fn open_talk(&mut self, at: NodeRef) -> Option<&mut ServerTalk> {
        let path = self.node(at).path.clone();
        self.server_talks.get_mut(&path)?.values_mut().find(|talk| talk.open().is_some())
    }

    /// Keeps the time that is left: the wait for a person does not count for the step.
    pub(super) fn question_asked(&mut self, at: NodeRef, now: u64) {
        let node = self.node(at);
        let left = |end: Option<u64>| end.map(|end| end.saturating_sub(now));
        let (deadline, attempt) = (left(node.deadline), left(node.attempt_ends));
        if let Some(talk) = self.open_talk(at) {
            (talk.deadline_left, talk.attempt_left) = (deadline, attempt);
        }
    }

    /// Takes a person's answer to the last question, if a server asked it.
    pub(super) fn question_answered(&mut self, at: NodeRef, now: u64) {
        let path = self.node(at).path.clone();
        let answer = self.approvals.get(&path).and_then(|asked| asked.answer.clone());
        let (Some(answer), Some(talk)) = (answer, self.open_talk(at)) else { return };
        talk.answers.push(answer);
        let ends = |left: Option<u64>| left.map(|left| now.saturating_add(left));
        let (deadline, attempt) = (ends(talk.deadline_left), ends(talk.attempt_left));
        self.approvals.remove(&path);
        self.start_timers(at, attempt, deadline);
    }
}
