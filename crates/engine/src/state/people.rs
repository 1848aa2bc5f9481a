//! What people are asked and what they answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::consents::{ApprovalAnswer, ConsentDecision, PendingApproval, PendingConsent};
use super::lists::StepLists;
use super::questions::ServerTalk;
use super::timers::Timer;
use super::{NodeRef, StepNode};
use crate::event::{FormRequest, ServerQuestions, StepPath, StepStatus};

/// What people are asked, by step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeopleAsked {
    /// Steps in doubt after a crash, each with the decision of a person.
    pub(crate) doubts: BTreeMap<StepPath, Option<ConsentDecision>>,
    /// Acts that wait for a person's approval, by the step that does them; one per step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) consents: BTreeMap<StepPath, PendingConsent>,
    /// The last question of each step, as the number of its event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    asked: BTreeMap<StepPath, u64>,
    /// Forms for people: of `approval` steps, and of questions that MCP servers ask.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approvals: BTreeMap<StepPath, PendingApproval>,
    /// Questions of MCP servers during calls, by the place of the call among those that its agent requested (0 for a `tool` step).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) server_talks: BTreeMap<StepPath, BTreeMap<usize, ServerTalk>>,
}

impl PeopleAsked {
    /// Paths of the steps that wait for a person.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = &StepPath> {
        let doubts = self.doubts.iter().filter(|(_, decided)| decided.is_none()).map(|(step, _)| step);
        let approvals = self.approvals.iter().filter(|(_, asked)| asked.answer.is_none()).map(|(step, _)| step);
        doubts.chain(approvals).chain(self.consents.iter().filter(|(_, consent)| consent.decided.is_none()).map(|(step, _)| step))
    }

    /// The open question of a step, as the number of the event that asked it.
    pub(crate) fn question(&self, step: &str) -> Option<u64> {
        self.undecided().find(|waiting| ***waiting == *step).and_then(|waiting| self.asked.get(waiting)).copied()
    }

    /// When the first of the open forms must be answered.
    pub(crate) fn answer_until(&self) -> Option<u64> {
        let open = self.approvals.values().filter(|asked| asked.answer.is_none());
        open.filter_map(|asked| asked.form.until_ms).min()
    }

    /// Records a question: with a form, about an act, or about a step in doubt.
    pub(super) fn ask(&mut self, steps: &mut StepLists, at: NodeRef, question: u64, act: &str, form: Option<&FormRequest>, now: u64) {
        let step = steps.node(at).path.clone();
        self.asked.insert(step.clone(), question);
        match form {
            Some(form) => self.approval_asked(steps, at, form, now),
            None if !act.is_empty() => self.consent_asked(steps, at, act, now),
            None => {
                steps.clear_timers(at, true);
                self.doubts.insert(step, None);
                steps.tree.node_mut(at).status = StepStatus::Waiting;
            }
        }
    }

    /// Records an answer to the question of a step.
    pub(super) fn answer(&mut self, steps: &mut StepLists, step: &StepPath, answer: ApprovalAnswer, now: u64) -> Option<()> {
        let at = steps.find(step)?;
        if self.approvals.contains_key(step) {
            return self.approval_answered(steps, at, answer, now);
        }
        if self.consents.contains_key(step) {
            return self.consent_given(steps, at, answer, now);
        }
        let doubt = self.doubts.get_mut(step).filter(|decided| decided.is_none())?;
        *doubt = Some(ConsentDecision::new(answer.approved, answer.fields));
        steps.tree.node_mut(at).status = StepStatus::Running;
        Some(())
    }

    fn consent_asked(&mut self, steps: &mut StepLists, at: NodeRef, act: &str, now: u64) {
        let (deadline_left, attempt_left) = steps.node(at).time_left(now);
        steps.clear_timers(at, true);
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
        let node = steps.tree.node_mut(at);
        self.consents.insert(node.path.clone(), consent);
        node.wait_for_person();
    }

    fn consent_given(&mut self, steps: &mut StepLists, at: NodeRef, answer: ApprovalAnswer, now: u64) -> Option<()> {
        let node = steps.tree.node_mut(at);
        let consent = self.consents.get_mut(&node.path).filter(|consent| consent.decided.is_none())?;
        let ApprovalAnswer { approved, fields: _, comment, by, is_nobody } = answer;
        consent.decided = Some(approved);
        (consent.comment, consent.by, consent.is_nobody) = (comment, by, is_nobody);
        node.status = StepStatus::Running;
        steps.start_timers_again(at, (consent.deadline_left, consent.attempt_left), now);
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
    pub(super) fn consent_after_failure(&mut self, node: &StepNode) {
        let has_delivered = !node.delivered.is_empty();
        if self.consents.get(&node.path).is_some_and(|consent| !(consent.is_used && has_delivered)) {
            self.consents.remove(&node.path);
        }
    }

    /// Records a question with a form. The wait for a person counts only towards the question's own time limit.
    fn approval_asked(&mut self, steps: &mut StepLists, at: NodeRef, form: &FormRequest, now: u64) {
        let left = steps.node(at).time_left(now);
        let path = steps.node(at).path.clone();
        if let Some(talk) = self.open_talk(&path) {
            (talk.deadline_left, talk.attempt_left) = left;
        }
        steps.clear_timers(at, true);
        steps.timers.start(form.until_ms, Timer::Answer(at));
        self.approvals.insert(path, PendingApproval { form: form.clone(), answer: None });
        steps.tree.node_mut(at).wait_for_person();
    }

    /// Takes a person's answer to a form: of a step, or of a server that asked it.
    fn approval_answered(&mut self, steps: &mut StepLists, at: NodeRef, answer: ApprovalAnswer, now: u64) -> Option<()> {
        let path = steps.node(at).path.clone();
        let asked = self.approvals.get_mut(&path).filter(|asked| asked.answer.is_none())?;
        asked.answer = Some(answer.clone());
        steps.timers.stop(asked.form.until_ms, Timer::Answer(at));
        steps.tree.node_mut(at).status = StepStatus::Running;
        if let Some(talk) = self.open_talk(&path) {
            talk.answers.push(answer);
            let left = (talk.deadline_left, talk.attempt_left);
            self.approvals.remove(&path);
            steps.start_timers_again(at, left, now);
        }
        Some(())
    }

    /// Withdraws what is asked about a step that has ended.
    pub(super) fn forget(&mut self, steps: &mut StepLists, at: NodeRef) {
        let path = &steps.node(at).path;
        self.doubts.remove(path);
        self.consents.remove(path);
        self.server_talks.remove(path);
        let until = self.approvals.remove(path).and_then(|asked| asked.form.until_ms);
        steps.timers.stop(until, Timer::Answer(at));
    }

    /// Shortens the time for answers by the time while nothing ran.
    pub(super) fn answers_end_earlier(&mut self, steps: &mut StepLists, away_ms: u64) {
        let asked = steps.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Answer(_))).copied().collect::<Vec<_>>();
        for (until, timer) in asked {
            let Timer::Answer(at) = timer else { continue };
            let earlier = until.saturating_sub(away_ms);
            steps.timers.stop(until, timer);
            steps.timers.start(earlier, timer);
            if let Some(asked) = self.approvals.get_mut(&steps.node(at).path) {
                asked.form.until_ms = Some(earlier);
            }
        }
    }

    /// The questions of a server during a call.
    pub(crate) fn server_talk(&self, step: &str, place: usize) -> Option<&ServerTalk> {
        self.server_talks.get(step)?.get(&place)
    }

    pub(super) fn server_asks(&mut self, step: &StepPath, place: usize, asks: &ServerQuestions) {
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
    fn open_talk(&mut self, step: &StepPath) -> Option<&mut ServerTalk> {
        self.server_talks.get_mut(step)?.values_mut().find(|talk| talk.open().is_some())
    }
}
