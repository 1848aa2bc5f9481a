//! Ending a run on request, and lost calls.

use serde::{Deserialize, Serialize};

use super::{Mood, RunState, StepWork, Timer};
use crate::event::Canceller;

/// A requested end of a run that still waits for answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stopping {
    /// Who requested it.
    pub(crate) by: Canceller,
    /// When the wait for answers ends, in milliseconds since the run started.
    pub(crate) until_ms: u64,
}

impl RunState {
    /// Ends the run: now, or once the awaited answers have arrived, at this time at the latest.
    pub(super) fn cancel_requested(&mut self, by: Canceller, until_ms: Option<u64>) {
        let Some(until_ms) = until_ms else { return self.cancel(by) };
        self.stopping = Some(Stopping { by, until_ms });
        self.steps.timers.start(until_ms, Timer::Grace);
    }

    /// Stops waiting for answers. Returns who requested the end.
    pub(super) fn stop_waiting(&mut self) -> Option<Canceller> {
        let Stopping { by, until_ms } = self.stopping.take()?;
        self.steps.timers.stop(until_ms, Timer::Grace);
        Some(by)
    }

    /// Cancels the run. If a signal ended it, the run can resume from here until a person cancels it.
    pub(super) fn cancel(&mut self, by: Canceller) {
        self.interrupted = if by == Canceller::Person { None } else { Some(Box::new(self.clone())) };
        if let Some(Some(instance)) = self.steps.tree.instances.first_mut() {
            instance.ending.is_cancelled = true;
            let frame = instance.frame;
            self.steps.set_mood(frame, Mood::Cancelling);
        }
    }

    /// Loses an open call. Its step makes the call again when it continues, and gets the same scripted reply.
    pub(super) fn lose_call(&mut self, call: u64) {
        let is_scripted = self.calls.get(&call).is_some_and(|open| open.scripted);
        let Some(at) = self.close_call(call) else { return };
        let path = self.steps.node(at).path.clone();
        if let Some(used) = self.spent.replies_used.get_mut(&*path).filter(|_| is_scripted) {
            *used = used.saturating_sub(1);
        }
        match &mut self.steps.tree.node_mut(at).work {
            StepWork::Asking(asking) => asking.loses(call),
            work => *work = StepWork::None,
        }
    }
}
