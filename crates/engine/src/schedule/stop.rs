//! Ending a run on request, and cancelling calls before they have answered.
//!
//! A run that is asked to end starts nothing new and waits for the calls that may act or that are paid for ([`GRACE_MS`]); their answers are recorded
//! as usual. Then the rest is cancelled. In a chat somebody sits there and waits: no answer of a model is awaited, and who asks again waits for nothing. A call that may have acted and has not answered is reported (`outcome_unknown`), whether a signal, a limit
//! or a failed sibling cut it off.

use crate::event::{Canceller, Happening};
use crate::parts::{Schedule, Scheduler};
use crate::state::talk::AskedStage;
use crate::state::{CacheStage, NodeRef, StepWork};

/// How long a run that is asked to end waits for answers, in milliseconds. The rest of the 5 s is for ending the run.
pub(crate) const GRACE_MS: u64 = 4_000;

impl Scheduler<'_> {
    /// Requests the end of the run. Further requests change nothing, but in a chat.
    pub(crate) fn asked_to_end(&mut self, by: Canceller) {
        if self.options.is_chat && self.state.stopping.is_some() {
            return self.cut_calls();
        }
        let is_ending = self.state.steps.instances.first().and_then(Option::as_ref).is_none_or(|own| own.ending.is_cancelled);
        if is_ending || self.state.stopping.is_some() {
            return;
        }
        self.is_paused = false;
        let waits_until_ms = self.schedule().awaits_answers().then(|| self.now.ms + GRACE_MS);
        self.emit(Happening::CancelRequested { by, waits_until_ms });
    }

    /// Ends the wait for answers when all have arrived or its time is up.
    pub(crate) fn end_grace(&mut self) {
        let Some(until) = self.state.stopping.as_ref().map(|stopping| stopping.until_ms) else { return };
        if self.now.ms >= until || !self.schedule().awaits_answers() {
            self.cut_calls();
        }
    }

    /// Ends the wait for answers.
    fn cut_calls(&mut self) {
        let calls: Vec<(u64, NodeRef)> = self.state.calls.iter().map(|(call, open)| (*call, open.node)).collect();
        for (call, at) in calls {
            self.give_up(at, call, true);
        }
        self.emit(Happening::GraceEnded);
    }

    /// Cancels the calls of a step; their answers are not awaited.
    pub(crate) fn stop_calls(&mut self, at: NodeRef) {
        for call in self.state.steps.node(at).work.calls() {
            self.give_up(at, call, false);
        }
    }

    /// Cancels a call, and reports it if it may have acted. With `only_acting`, other calls are left open.
    fn give_up(&mut self, at: NodeRef, call: u64, only_acting: bool) {
        let acts = self.schedule().call_acts(call);
        if only_acting && !acts {
            return;
        }
        if self.outbox.cancel(call) && acts {
            self.0.emit(Happening::OutcomeUnknown { step: self.path(at), call });
        }
    }
}

impl Schedule<'_> {
    /// Whether a call is open that may act, or that calls a model and is paid for; a chat does not wait for a model.
    fn awaits_answers(&self) -> bool {
        let asks_model = |at: NodeRef, call| self.state.steps.node(at).talk().is_some_and(|talk| talk.call() == Some(call));
        self.state.calls.iter().any(|(call, open)| !self.options.is_chat && asks_model(open.node, *call) || self.call_acts(*call))
    }

    /// Whether an open call may have an effect that a second call would repeat.
    pub(crate) fn call_acts(&self, call: u64) -> bool {
        let Some(open) = self.state.calls.get(&call) else { return false };
        let (node, pipeline) = (self.state.steps.node(open.node), &self.planned_of(open.node).pipeline);
        match &node.work {
            StepWork::Asking(asking) => {
                let asked = asking.asked().iter().find(|asked| asked.stage == AskedStage::Out(call));
                let tool = asked.and_then(|asked| pipeline.tool(&asked.asked.tool));
                tool.is_some_and(|(tool, part)| tool.effects(Some(part.unwrap_or_default())).repeat())
            }
            StepWork::Call(_) => !matches!(node.cache, CacheStage::Looking(_)) && self.step(open.node).kind.effects(pipeline).repeat(),
            StepWork::None | StepWork::Listing(_) | StepWork::Inner { .. } | StepWork::Called(_) | StepWork::Paused(_) => false,
        }
    }
}
