//! What MCP servers ask a person during calls, and what the person answered.

use serde::{Deserialize, Serialize};

use super::consents::ApprovalAnswer;
use super::{NodeRef, RunState};
use crate::event::{ServerQuestion, ServerQuestions};

/// What a server asks before it continues with a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerTalk {
    pub(crate) asks: ServerQuestions,
    /// To the first of its questions.
    pub(crate) answers: Vec<ApprovalAnswer>,
    /// How often it has asked during this call.
    pub(crate) rounds: u32,
    /// What was left of the step's `deadline` and `timeout` when the person was asked.
    deadline_left: Option<u64>,
    attempt_left: Option<u64>,
}

impl ServerTalk {
    /// The question that is not yet answered.
    pub(crate) fn open(&self) -> Option<&ServerQuestion> {
        self.asks.questions.get(self.answers.len())
    }
}

impl RunState {
    /// What a server asks during a call.
    pub(crate) fn server_talk(&self, step: &str, place: usize) -> Option<&ServerTalk> {
        self.server_talks.get(step)?.get(&place)
    }

    pub(super) fn server_asks(&mut self, step: &crate::event::StepPath, place: usize, asks: &ServerQuestions) {
        let talk = self.server_talks.entry(step.clone()).or_default().entry(place).or_default();
        *talk = ServerTalk { asks: asks.clone(), rounds: talk.rounds + 1, ..ServerTalk::default() };
    }

    /// The call has its result.
    pub(super) fn server_answered(&mut self, step: &str, place: usize) {
        let Some(talks) = self.server_talks.get_mut(step) else { return };
        talks.remove(&place);
        if talks.is_empty() {
            self.server_talks.remove(step);
        }
    }

    /// The talk whose question a person is asked: the first that has an open one.
    fn open_talk(&mut self, at: NodeRef) -> Option<&mut ServerTalk> {
        let path = self.node(at).path.clone();
        self.server_talks.get_mut(&path)?.values_mut().find(|talk| talk.open().is_some())
    }

    /// A person's time does not count for the step.
    pub(super) fn question_asked(&mut self, at: NodeRef, now: u64) {
        let node = self.node(at);
        let left = |end: Option<u64>| end.map(|end| end.saturating_sub(now));
        let (deadline, attempt) = (left(node.deadline), left(node.attempt_ends));
        if let Some(talk) = self.open_talk(at) {
            (talk.deadline_left, talk.attempt_left) = (deadline, attempt);
        }
    }

    /// A person has answered what was asked last, if a server asked it.
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
