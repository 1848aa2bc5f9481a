//! Retries of the same request after a temporary failure.

use serde_json::Value;

use crate::Run;
use crate::event::{Failure, FailureKind, Happening};
use crate::model::{Backoff, Retry};
use crate::parts::Schedule;
use crate::state::NodeRef;

impl Run {
    /// Fails a try of a step: plans another try, or ends the step.
    pub(crate) fn fail_attempt(&mut self, at: NodeRef, failure: Failure) {
        self.fail_attempt_told(at, failure, None);
    }

    /// Same as `fail_attempt`, with details for the end of the step.
    pub(crate) fn fail_attempt_told(&mut self, at: NodeRef, failure: Failure, details: Option<Value>) {
        let step = self.step(at);
        let attempt = self.state.steps.node(at).attempt.max(1);
        let pipeline = &self.planned_of(at).pipeline;
        let retry = step.retries(pipeline);
        // A receiver that knows the key does not act twice.
        let met = failure.met.filter(|_| failure.kind == FailureKind::UnknownOutcome && step.is_keyed(pipeline));
        match retry.and_then(|retry| {
            self.schedule().retry_at(at, &retry, attempt, &Failure { kind: met.unwrap_or(failure.kind), ..failure.clone() })
        }) {
            Some(retry_at_ms) => {
                self.scheduler().stop_calls(at);
                self.emit(Happening::AttemptFailed { step: self.path(at), attempt, failure, retry_at_ms });
            }
            None => self.fail(at, failure, details),
        }
    }
}

impl Schedule<'_> {
    /// When to try again; `None` if there are no more tries, or if the next one would be too late.
    pub(crate) fn retry_at(&self, at: NodeRef, retry: &Retry, attempt: u32, failure: &Failure) -> Option<u64> {
        if u64::from(attempt) >= retry.max_attempts || !retry.on.contains(&failure.kind) {
            return None;
        }
        let most = retry.max_delay.as_millis() as u64;
        let wait = match failure.retry_after_ms {
            Some(Failure::ENDLESS) => most,
            Some(asked) if asked > most => return None,
            Some(asked) => asked,
            None => {
                let first = retry.delay.as_millis() as u64;
                let full = match retry.backoff {
                    Backoff::Fixed => first,
                    Backoff::Linear => first.saturating_mul(u64::from(attempt)),
                    Backoff::Exponential => first.saturating_mul(1u64.checked_shl(attempt - 1).unwrap_or(u64::MAX)),
                };
                let full = full.min(most);
                if retry.jitter { self.chance(at, attempt) % (full + 1) } else { full }
            }
        };
        let time = self.now.ms.saturating_add(wait);
        let instance = self.state.steps.instance_around(at);
        let ends = [self.state.steps.node(at).deadline, instance.deadline].into_iter().flatten().min();
        ends.is_none_or(|end| time < end).then_some(time)
    }

    /// A pseudorandom number that depends only on the run's seed, the step and the try (splitmix64).
    fn chance(&self, at: NodeRef, attempt: u32) -> u64 {
        let mut z = self.state.start.as_ref().map_or(0, |s| s.seed) ^ u64::from(attempt);
        for byte in self.state.steps.node(at).path.bytes() {
            z = (z ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
