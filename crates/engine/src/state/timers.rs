//! The timers of a run.

use std::collections::BTreeSet;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::NodeRef;

/// Timers, soonest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timers(BTreeSet<(u64, Timer)>);

impl Deref for Timers {
    type Target = BTreeSet<(u64, Timer)>;

    fn deref(&self) -> &BTreeSet<(u64, Timer)> {
        &self.0
    }
}

impl Timers {
    /// Starts a timer, if there is a time for it.
    pub(super) fn start(&mut self, time: impl Into<Option<u64>>, timer: Timer) {
        self.0.extend(time.into().map(|time| (time, timer)));
    }

    pub(super) fn stop(&mut self, time: impl Into<Option<u64>>, timer: Timer) {
        if let Some(time) = time.into() {
            self.0.remove(&(time, timer));
        }
    }

    /// Stops all timers.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Timer {
    /// The time of a call is up.
    Call(u64),
    /// A step may try again.
    Backoff(NodeRef),
    /// A `wait` has ended.
    Pause(NodeRef),
    /// The time for a person's answer is up.
    Answer(NodeRef),
    /// The time of one attempt is up.
    Attempt(NodeRef),
    /// The time of a step is up.
    StepDeadline(NodeRef),
    /// The `limits.deadline` of a pipeline has passed.
    Deadline(u32),
    /// The 60 s of `on_failure` or `finally` are up.
    Stage(u32),
    /// A run that was asked to end stops waiting for answers.
    Grace,
}
