//! Decisions of people: about calls that need approval, and about steps in doubt.

use serde::{Deserialize, Serialize};

use super::{Mood, NodeRef, RunState, Timer};
use crate::event::{FormRequest, SharedValue, StepPath, StepStatus};

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

impl RunState {
    /// Milliseconds after the last event until the next answer of a person is due; `None` if there is no time limit.
    pub fn time_to_answer(&self) -> Option<u64> {
        let open = self.approvals.values().filter(|asked| asked.answer.is_none());
        open.filter_map(|asked| asked.form.until_ms).min().map(|until| until.saturating_sub(self.last_ms))
    }

    /// Steps that ask a person in a part of the run in which nothing new starts any more: no step could use the answer.
    pub(crate) fn questions_in_vain(&self) -> Vec<StepPath> {
        let is_ending = |step: &StepPath| {
            let at = self.find(step);
            at.is_some_and(|at| self.holders(at).any(|at| self.frame(at.frame).mood != Mood::Going))
        };
        self.undecided().filter(|step| !self.doubts.contains_key(*step) && is_ending(step)).cloned().collect()
    }

    /// The open question of a step once the run is resumed, as the number of the event that asked it.
    pub fn question_when_resumed(&self, step: &str) -> Option<u64> {
        self.interrupted.as_deref().unwrap_or(self).question(step)
    }

    pub(super) fn consent_asked(&mut self, at: NodeRef, act: &str, now: u64) {
        let node = self.node(at);
        let left = |end: Option<u64>| end.map(|end| end.saturating_sub(now));
        let (deadline_left, attempt_left) = (left(node.deadline), left(node.attempt_ends));
        self.clear_timers(at, true);
        let consent = PendingConsent {
            act: act.to_string(),
            decided: None,
            comment: String::new(),
            by: String::new(),
            is_nobody: false,
            is_used: false,
            deadline_left,
            attempt_left,
        };
        self.consents.insert(self.node(at).path.clone(), consent);
        if self.node(at).work.calls().is_empty() {
            self.node_mut(at).status = StepStatus::Waiting;
        }
    }

    pub(super) fn consent_given(&mut self, step: &str, answer: ApprovalAnswer, now: u64) -> Option<()> {
        let at = self.find(step)?;
        let consent = self.consents.get_mut(step).filter(|consent| consent.decided.is_none())?;
        let ApprovalAnswer { approved, fields: _, comment, by, is_nobody } = answer;
        consent.decided = Some(approved);
        (consent.comment, consent.by, consent.is_nobody) = (comment, by, is_nobody);
        let ends = |left: Option<u64>| left.map(|left| now.saturating_add(left));
        let (deadline, attempt) = (ends(consent.deadline_left), ends(consent.attempt_left));
        self.node_mut(at).status = StepStatus::Running;
        self.start_timers(at, attempt, deadline);
        Some(())
    }

    /// Uses up a decision. It covers one call, or all parts of a `send` (`has_parts`).
    pub(super) fn consent_used(&mut self, step: &str, approved: bool, has_parts: bool) {
        match self.consents.get_mut(step).filter(|consent| consent.decided == Some(approved)) {
            Some(consent) if has_parts => consent.is_used = true,
            Some(_) => drop(self.consents.remove(step)),
            None => {}
        }
    }

    /// Discards the decision after a failed try, so that the next try asks again. A decision about a `send` stays if parts were sent with it.
    pub(super) fn consent_after_failure(&mut self, at: NodeRef) {
        let node = self.node(at);
        let (path, has_delivered) = (node.path.clone(), !node.delivered.is_empty());
        self.consents.remove(&path).filter(|consent| consent.is_used && has_delivered).map(|consent| self.consents.insert(path, consent));
    }

    /// Records a question with a form. The wait for a person counts only towards the question's own time limit.
    pub(super) fn approval_asked(&mut self, at: NodeRef, form: &FormRequest, now: u64) {
        self.question_asked(at, now);
        self.clear_timers(at, true);
        self.timers.extend(form.until_ms.map(|until| (until, Timer::Answer(at))));
        self.approvals.insert(self.node(at).path.clone(), PendingApproval { form: form.clone(), answer: None });
        if self.node(at).work.calls().is_empty() {
            self.node_mut(at).status = StepStatus::Waiting;
        }
    }

    pub(super) fn approval_answered(&mut self, step: &str, answer: ApprovalAnswer, now: u64) -> Option<()> {
        let at = self.find(step)?;
        let asked = self.approvals.get_mut(step).filter(|asked| asked.answer.is_none())?;
        asked.answer = Some(answer);
        let until = asked.form.until_ms;
        self.stop_timer(until, Timer::Answer(at));
        self.node_mut(at).status = StepStatus::Running;
        self.question_answered(at, now);
        Some(())
    }

    /// Withdraws the questions of a step.
    pub(super) fn stop_asking(&mut self, at: NodeRef) {
        let path = self.node(at).path.clone();
        self.server_talks.remove(&path);
        let until = self.approvals.remove(&path).and_then(|asked| asked.form.until_ms);
        self.stop_timer(until, Timer::Answer(at));
    }

    /// Shortens the time for answers by the time while nothing ran.
    pub(super) fn answers_end_earlier(&mut self, away_ms: u64) {
        let asked = self.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Answer(_))).copied().collect::<Vec<_>>();
        for (until, timer) in asked {
            let Timer::Answer(at) = timer else { continue };
            let path = self.node(at).path.clone();
            let earlier = until.saturating_sub(away_ms);
            self.timers.remove(&(until, timer));
            self.timers.insert((earlier, timer));
            if let Some(asked) = self.approvals.get_mut(&path) {
                asked.form.until_ms = Some(earlier);
            }
        }
    }
}
