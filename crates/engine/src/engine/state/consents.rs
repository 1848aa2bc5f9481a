//! What people decide: about calls that they must allow, and steps in doubt.

use serde::{Deserialize, Serialize};

use super::{NodeRef, PendingConsent, RunState};
use crate::event::{SharedValue, StepStatus};

/// What a person decided about a step in doubt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum ConsentDecision {
    /// It is run again.
    Again,
    /// It is not, and fails.
    Never,
    /// It has happened, and this is its output.
    Happened(SharedValue),
}

impl ConsentDecision {
    /// As the event tells it.
    pub(crate) fn new(approved: bool, output: Option<SharedValue>) -> ConsentDecision {
        match output {
            Some(output) => ConsentDecision::Happened(output),
            None if approved => ConsentDecision::Again,
            None => ConsentDecision::Never,
        }
    }
}

impl RunState {
    pub(super) fn consent_asked(&mut self, at: NodeRef, act: &str, now: u64) {
        let node = self.node(at);
        let left = |end: Option<u64>| end.map(|end| end.saturating_sub(now));
        let (deadline_left, attempt_left) = (left(node.deadline), left(node.attempt_ends));
        self.clear_timers(at, true);
        let consent = PendingConsent { act: act.to_string(), decided: None, comment: String::new(), deadline_left, attempt_left };
        self.consents.insert(self.node(at).path.clone(), consent);
        if self.node(at).work.calls().is_empty() {
            self.node_mut(at).status = StepStatus::Waiting;
        }
    }

    pub(super) fn consent_given(&mut self, step: &str, approved: bool, comment: &str, now: u64) -> Option<()> {
        let at = self.find(step)?;
        let consent = self.consents.get_mut(step).filter(|consent| consent.decided.is_none())?;
        consent.decided = Some(approved);
        consent.comment = comment.to_string();
        let ends = |left: Option<u64>| left.map(|left| now.saturating_add(left));
        let (deadline, attempt) = (ends(consent.deadline_left), ends(consent.attempt_left));
        self.node_mut(at).status = StepStatus::Running;
        self.start_timers(at, attempt, deadline);
        Some(())
    }

    /// An answer serves one call.
    pub(super) fn consent_used(&mut self, step: &str, approved: bool) {
        if self.consents.get(step).is_some_and(|consent| consent.decided == Some(approved)) {
            self.consents.remove(step);
        }
    }
}
