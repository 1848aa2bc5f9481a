//! The state of a run in progress.

use std::ops::Deref;

use super::RunState;
use crate::event::Event;
use crate::plan::Plan;

/// A state that the whole engine can read and that only events change.
#[derive(Debug, Default)]
pub struct Live(RunState);

impl Deref for Live {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        &self.0
    }
}

impl Live {
    /// See [`RunState::apply`].
    pub(crate) fn apply(&mut self, plan: &Plan, event: &Event) {
        self.0.apply(plan, event);
    }

    /// For a run that a signal ended, the state before that.
    pub(crate) fn before_its_end(self) -> Live {
        Live(self.0.interrupted.clone().map_or(self.0, |before| *before))
    }

    /// Gives tests write access, to simulate faults of our own code.
    #[cfg(test)]
    pub(crate) fn broken(&mut self) -> &mut super::tree::StepTree {
        &mut self.0.steps.tree
    }
}
