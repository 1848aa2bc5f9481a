//! How events end steps and drop what ran for them.

use super::{Cached, FrameKind, Mood, NodeRef, RunState, StepWork};
use crate::event::{Failure, FailureKind, SharedValue, StepFailure, StepStatus};
use crate::model::OnFailure;
use crate::plan::{BlockIx, Plan};

impl RunState {
    /// Ends a step: drops its timers, calls and inner work, and updates the steps that wait for it.
    pub(super) fn step_over(&mut self, plan: &Plan, at: NodeRef, status: StepStatus) {
        self.forget(at);
        let had_place = self.steps.tree.had_place(at);
        let node = self.steps.tree.node_mut(at);
        let was_open = !node.status.is_final();
        node.status = status;
        node.work = StepWork::None;
        node.retry_at = None;
        if status != StepStatus::Succeeded {
            node.output = None;
        }
        self.steps.tree.note_unjudged(plan, at, status);
        if was_open {
            let frame = self.steps.tree.frame_mut(at.frame);
            frame.open = frame.open.saturating_sub(1);
            if frame.open == 0 {
                self.steps.queue.done.insert(at.frame);
                self.steps.queue.ending.remove(&at.frame);
            }
        }
        match self.steps.frame(at.frame).kind {
            FrameKind::Items { .. } => {
                if had_place {
                    self.steps.free_place(plan, at);
                }
            }
            FrameKind::Block(block) => self.steps.tell_readers(plan, at, block),
            FrameKind::Written(_) => {
                self.steps.tell_over(at);
                self.steps.tell_readers(plan, at, BlockIx(0));
                if had_place { self.steps.free_place(plan, at) } else { self.steps.give_places(plan, at.frame) }
            }
        }
    }

    /// Drops everything that runs or is awaited for a step, and its questions to people.
    fn forget(&mut self, at: NodeRef) {
        self.steps.not_ready(at);
        self.steps.clear_timers(at, true);
        self.drop_inner(at);
        self.people.forget(&mut self.steps, at);
    }

    /// Drops the calls and inner steps of a step, or of a try, that has ended.
    pub(super) fn drop_inner(&mut self, at: NodeRef) {
        for call in self.steps.node(at).work.calls() {
            self.close_call(call);
        }
        if let StepWork::Inner { frame, .. } = self.steps.node(at).work {
            self.drop_frame(frame);
        }
        if let Some(before) = self.steps.tree.node_mut(at).repeating.take().and_then(|repeating| repeating.before) {
            self.drop_frame(before);
        }
        for instance in self.steps.node(at).work.pipelines() {
            self.drop_instance(instance);
        }
    }

    pub(super) fn drop_frame(&mut self, ix: u32) {
        let Some(frame) = self.steps.tree.frames.get(ix as usize).and_then(Option::as_ref) else { return };
        for node in 0..frame.nodes.len() as u32 {
            let at = NodeRef { frame: ix, node };
            self.forget(at);
            let path = self.steps.node(at).path.clone();
            self.steps.tree.paths.remove(&path);
        }
        self.steps.queue.done.remove(&ix);
        self.steps.queue.ending.remove(&ix);
        self.steps.tree.frames[ix as usize] = None;
    }

    pub(super) fn drop_instance(&mut self, ix: u32) {
        let Some(instance) = self.steps.tree.instances.get(ix as usize).and_then(Option::as_ref) else { return };
        let frames: Vec<u32> = instance.past.iter().copied().chain([instance.frame, instance.main]).collect();
        self.steps.stop_instance_timers(ix);
        frames.into_iter().for_each(|frame| self.drop_frame(frame));
        self.steps.tree.instances[ix as usize] = None;
        while self.steps.tree.instances.last().is_some_and(Option::is_none) {
            self.steps.tree.instances.pop();
        }
    }

    pub(super) fn step_failed(&mut self, plan: &Plan, at: NodeRef, failure: &Failure, attempts: u32, details: Option<&SharedValue>) {
        self.steps.tree.inherit_from_inside(at);
        let node = self.steps.tree.node_mut(at);
        node.attempt = attempts;
        node.failure = Some(failure.clone());
        node.details = details.cloned();
        node.cached = Cached::default();
        let told = StepFailure { step: node.path.clone(), failure: failure.clone() };
        self.step_over(plan, at, StepStatus::Failed);
        let (planned, step) = (self.steps.file(plan, at), self.steps.step(plan, at));
        if self.steps.is_element(at) {
            let fail_fast = step.for_each.as_ref().is_some_and(|f| f.fail_fast);
            let frame = self.steps.tree.frame_mut(at.frame);
            frame.failure.get_or_insert(told);
            if step.on_failure != OnFailure::Stop {
                self.steps.tree.note_partial(at);
            }
            if fail_fast {
                self.steps.set_mood(at.frame, Mood::Cancelling);
            }
            return;
        }
        if let FrameKind::Written(_) = self.steps.frame(at.frame).kind {
            // Steps that depend on it are blocked; the step that holds the plan decides how this affects the rest.
            return;
        }
        if failure.kind == FailureKind::Quality {
            // A list in a step that holds others fails that step, unless this is allowed.
            let is_own = self.steps.frame(at.frame).parent.is_none();
            let (ending, place) = self.steps.tree.ending_of(at);
            ending.unmet.add(place);
            if is_own && !step.allows(failure.kind) {
                ending.nothing_let_through.add(place);
            }
            return;
        }
        // In the second round it keeps the gate from passing, or it was allowed.
        let is_handled = self.steps.is_second_round(planned, at) && !self.steps.is_second_judging(planned, at);
        match step.on_failure {
            OnFailure::Stop if step.stand_in_after(failure.kind).is_none() && !is_handled => {
                self.steps.tree.frame_mut(at.frame).failure.get_or_insert(told);
                self.steps.set_mood(at.frame, Mood::Stopping);
            }
            OnFailure::Stop | OnFailure::Continue | OnFailure::Step(_) => self.steps.tree.note_partial(at),
        }
    }
}
