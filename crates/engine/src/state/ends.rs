//! How events end steps, inner steps, calls and timers, and how a failure or a limit affects the rest.

use super::{Cached, Ending, FrameKind, Mood, NodeRef, RunState, StepWork, Timer};
use crate::event::{Bound, Failure, FailureKind, Limit, SharedValue, Stage, StepFailure, StepPath, StepStatus};
use crate::model::{OnFailure, StepKind};
use crate::plan::{BlockIx, PipelinePlan, Plan};

impl RunState {
    /// Ends a step: drops its timers, calls and inner work, and updates the steps that wait for it.
    pub(super) fn step_over(&mut self, plan: &Plan, at: NodeRef, status: StepStatus) {
        self.forget(at);
        let had_place = self.had_place(at);
        let node = self.node_mut(at);
        let was_open = !node.status.is_final();
        node.status = status;
        node.work = StepWork::None;
        node.retry_at = None;
        if status != StepStatus::Succeeded {
            node.output = None;
        }
        self.note_unjudged(plan, at, status);
        if was_open {
            let frame = self.frame_mut(at.frame);
            frame.open = frame.open.saturating_sub(1);
            if frame.open == 0 {
                self.done.insert(at.frame);
                self.ending.remove(&at.frame);
            }
        }
        match self.frame(at.frame).kind {
            FrameKind::Items { .. } => {
                if had_place {
                    self.free_place(plan, at);
                }
            }
            FrameKind::Block(block) => self.tell_readers(plan, at, block),
            FrameKind::Written(_) => {
                self.tell_over(at);
                self.tell_readers(plan, at, BlockIx(0));
                if had_place { self.free_place(plan, at) } else { self.give_places(plan, at.frame) }
            }
        }
    }

    /// Notes that a gate which never came to a judgement let nothing through; one whose `when` is false has nothing to judge.
    fn note_unjudged(&mut self, plan: &Plan, at: NodeRef, status: StepStatus) {
        let is_unjudged = match status {
            StepStatus::Failed | StepStatus::Blocked | StepStatus::Cancelled => true,
            StepStatus::Skipped => self.frame(at.frame).mood == Mood::Skipping,
            StepStatus::Pending | StepStatus::Running | StepStatus::Waiting | StepStatus::Succeeded => false,
        };
        if is_unjudged && matches!(self.step(plan, at).kind, StepKind::Gate(_)) {
            self.note_nothing_through(at);
        }
    }

    /// Notes that a gate let nothing through. What holds the gate holds what it did not let through.
    pub(super) fn note_nothing_through(&mut self, at: NodeRef) {
        let around: Vec<NodeRef> = self.holders(at).collect();
        around.into_iter().for_each(|at| self.node_mut(at).judged = Some(false));
    }

    /// Notes anew whether a gate in the steps that hold this one let nothing through: what a try that is over said no longer counts.
    pub(super) fn judge_holders_anew(&mut self, at: NodeRef) {
        let holders: Vec<NodeRef> = self.holders(at).skip(1).collect();
        for holder in holders {
            let StepWork::Inner { frame, .. } = self.node(holder).work else { continue };
            let is_unmet = self.frame(frame).nodes.iter().any(|node| node.judged == Some(false));
            self.node_mut(holder).judged = is_unmet.then_some(false);
        }
    }

    /// Whether a step that ends now holds one of the places of its frame. The step stops waiting for one.
    fn had_place(&mut self, at: NodeRef) -> bool {
        let key = self.key(at);
        let was_waiting = match &mut self.frame_mut(at.frame).kind {
            FrameKind::Written(written) => written.waiting.remove(&key),
            _ => false,
        };
        let node = self.node(at);
        node.waits_for == 0 && node.retry_at.is_none() && !was_waiting
    }

    pub(super) fn tell_readers(&mut self, plan: &Plan, at: NodeRef, block: BlockIx) {
        let planned = self.planned(plan, at.frame);
        for (place, _) in planned.block(block).readers(at.node as usize) {
            let reader = NodeRef { frame: at.frame, node: *place as u32 };
            let node = self.node_mut(reader);
            node.waits_for = node.waits_for.saturating_sub(1);
            if node.waits_for == 0 && node.status == StepStatus::Pending {
                self.make_ready(&planned, reader);
            }
        }
    }

    pub(super) fn clear_timers(&mut self, at: NodeRef, all: bool) {
        let node = self.node_mut(at);
        let (retry, attempt) = (node.retry_at, node.attempt_ends.take());
        let deadline = if all { node.deadline.take() } else { None };
        let paused = if let StepWork::Paused(until) = node.work { Some(until) } else { None };
        self.stop_timer(retry, Timer::Backoff(at));
        self.stop_timer(attempt, Timer::Attempt(at));
        self.stop_timer(deadline, Timer::StepDeadline(at));
        self.stop_timer(paused, Timer::Pause(at));
    }

    pub(super) fn stop_timer(&mut self, time: Option<u64>, timer: Timer) {
        if let Some(time) = time {
            self.timers.remove(&(time, timer));
        }
    }

    pub(super) fn stop_instance_timers(&mut self, ix: u32) {
        let instance = self.instance_mut(ix);
        let (deadline, stage) = (instance.deadline.take(), instance.stage_timer.take());
        self.stop_timer(deadline, Timer::Deadline(ix));
        self.stop_timer(stage, Timer::Stage(ix));
    }

    /// Drops everything that runs or is awaited for a step, and its questions to people.
    fn forget(&mut self, at: NodeRef) {
        self.not_ready(at);
        self.clear_timers(at, true);
        self.drop_inner(at);
        let path = self.node(at).path.clone();
        self.doubts.remove(&path);
        self.consents.remove(&path);
        self.stop_asking(at);
    }

    /// Drops the calls and inner steps of a step, or of a try, that has ended.
    pub(super) fn drop_inner(&mut self, at: NodeRef) {
        for call in self.node(at).work.calls() {
            self.close_call(call);
        }
        if let StepWork::Inner { frame, .. } = self.node(at).work {
            self.drop_frame(frame);
        }
        if let Some(before) = self.node_mut(at).repeating.take().and_then(|repeating| repeating.before) {
            self.drop_frame(before);
        }
        for instance in self.node(at).work.pipelines() {
            self.drop_instance(instance);
        }
    }

    pub(super) fn drop_frame(&mut self, ix: u32) {
        let Some(frame) = self.frames.get(ix as usize).and_then(Option::as_ref) else { return };
        for node in 0..frame.nodes.len() as u32 {
            let at = NodeRef { frame: ix, node };
            self.forget(at);
            let path = self.node(at).path.clone();
            self.paths.remove(&path);
        }
        self.done.remove(&ix);
        self.ending.remove(&ix);
        self.frames[ix as usize] = None;
    }

    pub(super) fn drop_instance(&mut self, ix: u32) {
        let Some(instance) = self.instances.get(ix as usize).and_then(Option::as_ref) else { return };
        let frames: Vec<u32> = instance.past.iter().copied().chain([instance.frame, instance.main]).collect();
        self.stop_instance_timers(ix);
        frames.into_iter().for_each(|frame| self.drop_frame(frame));
        self.instances[ix as usize] = None;
        while self.instances.last().is_some_and(Option::is_none) {
            self.instances.pop();
        }
    }

    pub(super) fn step_failed(&mut self, plan: &Plan, at: NodeRef, failure: &Failure, attempts: u32, details: Option<&SharedValue>) {
        self.inherit_from_inside(at);
        let node = self.node_mut(at);
        node.attempt = attempts;
        node.failure = Some(failure.clone());
        node.details = details.cloned();
        node.cached = Cached::default();
        let told = StepFailure { step: node.path.clone(), failure: failure.clone() };
        self.step_over(plan, at, StepStatus::Failed);
        let (planned, step) = (self.file(plan, at), self.step(plan, at));
        if self.is_element(at) {
            let fail_fast = step.for_each.as_ref().is_some_and(|f| f.fail_fast);
            let frame = self.frame_mut(at.frame);
            frame.failure.get_or_insert(told);
            if step.on_failure != OnFailure::Stop {
                self.note_partial(at);
            }
            if fail_fast {
                self.set_mood(at.frame, Mood::Cancelling);
            }
            return;
        }
        if let FrameKind::Written(_) = self.frame(at.frame).kind {
            // Steps that depend on it are blocked; the step that holds the plan decides how this affects the rest.
            return;
        }
        if failure.kind == FailureKind::Quality {
            // A list in a step that holds others fails that step, unless this is allowed.
            let is_own = self.frame(at.frame).parent.is_none();
            let (ending, place) = self.ending_of(at);
            ending.unmet.add(place);
            if is_own && !step.allows(failure.kind) {
                ending.nothing_let_through.add(place);
            }
            return;
        }
        // In the second round it keeps the gate from passing, or it was allowed.
        let is_handled = self.is_second_round(planned, at) && !self.is_second_judging(planned, at);
        match step.on_failure {
            OnFailure::Stop if step.stand_in_after(failure.kind).is_none() && !is_handled => {
                self.frame_mut(at.frame).failure.get_or_insert(told);
                self.set_mood(at.frame, Mood::Stopping);
            }
            OnFailure::Stop | OnFailure::Continue | OnFailure::Step(_) => self.note_partial(at),
        }
    }

    /// The ending that a step counts for, and its place there: that of the list with an ending of its own or of the round that it is in, the
    /// innermost, else that of its pipeline.
    pub(super) fn ending_of(&mut self, at: NodeRef) -> (&mut Ending, Option<u32>) {
        let (instance, place) = (self.instance_of(at), self.own_place(at));
        let of_list = |at: &NodeRef| self.frame(at.frame).ending.is_some();
        let of_round = |at: &NodeRef| self.frame(at.frame).parent.filter(|repeat| self.node(*repeat).repeating.is_some());
        let inner = self.holders(at).find_map(|at| if of_list(&at) { Some((at, true)) } else { Some((of_round(&at)?, false)) });
        match inner {
            Some((at, true)) => (self.frame_mut(at.frame).ending.get_or_insert_default(), Some(at.node)),
            Some((repeat, false)) => (&mut self.node_mut(repeat).repeating.get_or_insert_default().ending, None),
            None => (&mut self.instance_mut(instance).ending, place),
        }
    }

    pub(super) fn note_partial(&mut self, at: NodeRef) {
        let (ending, place) = self.ending_of(at);
        ending.partial.add(place);
    }

    /// Whether a step is part of the refinement in progress. Its failure is then handled by the gate.
    pub(crate) fn is_second_round(&self, planned: &PipelinePlan, at: NodeRef) -> bool {
        self.frame(at.frame).refinement.is_some() && planned.refinement.as_ref().is_some_and(|r| r.stretch.contains(&(at.node as usize)))
    }

    /// Whether a step is the gate of the refinement, in its second round.
    pub(crate) fn is_second_judging(&self, planned: &PipelinePlan, at: NodeRef) -> bool {
        let node = self.node(at);
        let is_its_gate = planned.refinement.as_ref().is_some_and(|r| r.gate == node.step);
        is_its_gate && node.round == 2 && self.is_second_round(planned, at)
    }

    /// Passes the ending of a list that this step holds on to what is around it.
    pub(super) fn inherit_from_list(&mut self, at: NodeRef) {
        let StepWork::Inner { frame, .. } = self.node(at).work else { return };
        let Some(ending) = self.frames.get_mut(frame as usize).and_then(|frame| frame.as_mut()?.ending.take()) else { return };
        let (outer, place) = match self.node(at).repeating.is_some() {
            true => (&mut self.node_mut(at).repeating.get_or_insert_default().ending, None),
            false => self.ending_of(at),
        };
        for (outer, inner) in [(&mut outer.unmet, &ending.unmet), (&mut outer.partial, &ending.partial)] {
            if inner.are_any() {
                outer.add(place);
            }
        }
    }

    /// Passes the ending of a called pipeline, of a list, or of the last round, on to what is around the step.
    pub(super) fn inherit_from_inside(&mut self, at: NodeRef) {
        self.inherit_from_list(at);
        if let Some(repeating) = &mut self.node_mut(at).repeating {
            let ending = std::mem::take(&mut repeating.ending);
            self.inherit_ending(at, &ending);
        }
        let StepWork::Called(inner) = self.node(at).work else { return };
        self.inherit(at, inner);
    }

    pub(super) fn inherit(&mut self, at: NodeRef, inner: u32) {
        let ending = self.instance(inner).ending.clone();
        self.inherit_ending(at, &ending);
    }

    fn inherit_ending(&mut self, at: NodeRef, ending: &Ending) {
        let (outer, place) = self.ending_of(at);
        if ending.unmet.are_any() {
            outer.unmet.add(place);
        }
        if ending.partial.are_any() && ending.failure.is_none() {
            outer.partial.add(place);
        }
    }

    /// Ends the pipeline of a `stop` step that succeeded.
    pub(super) fn note_stop(&mut self, plan: &Plan, at: NodeRef) {
        let (step, instance_ix) = (self.step(plan, at), self.instance_of(at));
        let StepKind::Stop(stop) = &step.kind else { return };
        let message = self.node(at).details().reason().unwrap_or_default().to_owned();
        let told = StepFailure { step: self.node(at).path.clone(), failure: Failure::new(FailureKind::Rejected, message) };
        let ending = &mut self.instance_mut(instance_ix).ending;
        if ending.stop.is_none() {
            ending.stop = Some(stop.succeeds);
            if !stop.succeeds {
                ending.failure = Some(told);
            }
        }
        for ix in 0..self.frames.len() as u32 {
            if self.frames[ix as usize].as_ref().is_some_and(|f| f.instance == instance_ix) {
                self.set_mood(ix, Mood::Skipping);
            }
        }
    }

    /// Lets nothing new start in a frame. Cancelling also applies to the steps inside its steps.
    pub(super) fn set_mood(&mut self, ix: u32, mood: Mood) {
        let frame = self.frame_mut(ix);
        if frame.mood >= mood {
            return;
        }
        frame.mood = mood;
        if frame.open > 0 {
            self.ending.insert(ix);
        }
        if mood != Mood::Cancelling {
            return;
        }
        let mut inner = vec![];
        let mut called = vec![];
        for node in &self.frame(ix).nodes {
            if let StepWork::Inner { frame, .. } = node.work {
                inner.push(frame);
            }
            called.extend(node.work.pipelines());
        }
        for instance in called {
            let instance = self.instance_mut(instance);
            if instance.stage != Stage::Finally {
                instance.ending.is_cancelled = true;
                inner.push(instance.frame);
            }
        }
        for frame in inner {
            self.set_mood(frame, Mood::Cancelling);
        }
    }

    pub(super) fn limit_reached(&mut self, path: &StepPath, limit: Limit, message: &str) -> Option<()> {
        let kind = if limit.bound.is_time() { FailureKind::Timeout } else { FailureKind::Limit };
        let failure = Failure::new(kind, message);
        if path.is_empty() || limit.of_called {
            self.end_instance(self.instance_at(path)?, limit.bound, failure);
            return Some(());
        }
        let at = self.find(path)?;
        let work = self.node(at).work.clone();
        self.clear_timers(at, limit.bound == Bound::Deadline);
        self.node_mut(at).ended_by = Some(failure);
        if let StepWork::Inner { frame, .. } = work {
            self.set_mood(frame, Mood::Cancelling);
        }
        for inner in work.pipelines() {
            let instance = self.instance_mut(inner);
            instance.ending.is_cancelled = true;
            let frame = instance.frame;
            self.set_mood(frame, Mood::Cancelling);
        }
        Some(())
    }

    /// Ends the current stage of a pipeline at a bound: a limit on its steps, or the 60 s of a later stage.
    pub(super) fn end_instance(&mut self, ix: u32, bound: Bound, failure: Failure) {
        let instance = self.instance_mut(ix);
        let frame = instance.frame;
        if instance.stage == Stage::Steps {
            let path = instance.path();
            instance.ending.limit.get_or_insert(bound);
            instance.ending.failure.get_or_insert(StepFailure { step: path, failure });
        } else {
            instance.ending.partial.add(None);
        }
        self.stop_instance_timers(ix);
        self.set_mood(frame, Mood::Cancelling);
    }
}
