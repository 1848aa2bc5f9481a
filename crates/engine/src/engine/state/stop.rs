//! A run that is asked to end, and calls that are lost.

use serde::{Deserialize, Serialize};

use super::{Mood, RunState, StepWork, Timer};
use crate::event::Canceller;

/// The end of a run that somebody asked for, while answers are awaited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stopping {
    /// Who asked.
    pub(crate) by: Canceller,
    /// When nothing is awaited any more.
    pub(crate) until_ms: u64,
}

impl RunState {
    /// The run is to end when what is out has answered, or then.
    pub(super) fn stop_at(&mut self, by: Canceller, until_ms: u64) {
        self.stopping = Some(Stopping { by, until_ms });
        self.timers.insert((until_ms, Timer::Grace));
    }

    /// Nothing is awaited any more; who asked for the end.
    pub(super) fn stop_waiting(&mut self) -> Option<Canceller> {
        let Stopping { by, until_ms } = self.stopping.take()?;
        self.timers.remove(&(until_ms, Timer::Grace));
        Some(by)
    }

    /// The run ends; if a signal ended it, it can continue from here, until a person ends it.
    pub(super) fn cancel(&mut self, by: Canceller) {
        self.interrupted = if by == Canceller::Person { None } else { Some(Box::new(self.clone())) };
        if let Some(Some(instance)) = self.instances.first_mut() {
            instance.ending.is_cancelled = true;
            let frame = instance.frame;
            self.set_mood(frame, Mood::Cancelling);
        }
    }

    /// A call that was out has no answer: when its step continues, it makes it again.
    pub(super) fn lose_call(&mut self, call: u64) {
        let Some(at) = self.close_call(call) else { return };
        match &mut self.node_mut(at).work {
            StepWork::Asking(asking) => asking.loses(call),
            work => *work = StepWork::None,
        }
    }
}
