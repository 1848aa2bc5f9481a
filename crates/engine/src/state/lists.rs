//! How events open pipelines, lists of steps, elements, cases and the second round, and end what nothing new starts in.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::timers::{Timer, Timers};
use super::tree::StepTree;
use super::{Frame, FrameKind, Instance, Mood, NodeRef, ReadyKey, RefinementRound, StepNode, StepWork};
use crate::event::{Bound, Failure, FailureKind, Limit, SharedValue, Stage, StepFailure, StepPath, StepStatus};
use crate::model::{CallTime, MOST_PARALLEL, STAGE_TIME, StepKind, step_path};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};

/// The steps of a run, which of them may start, and their timers. Reads like its tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepLists {
    pub(super) tree: StepTree,
    pub(crate) queue: ReadyQueue,
    pub(crate) timers: Timers,
}

impl Deref for StepLists {
    type Target = StepTree;

    fn deref(&self) -> &StepTree {
        &self.tree
    }
}

/// What the scheduler looks at next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReadyQueue {
    /// Steps that wait for no other and have not started, in the order in which they may start; those that make no call at the start.
    pub(crate) ready: BTreeSet<ReadyKey>,
    /// The same for steps that make a call as soon as they start.
    pub(crate) ready_calls: BTreeSet<ReadyKey>,
    /// Frames whose steps have all ended and that have not been handled yet.
    pub(crate) done: BTreeSet<u32>,
    /// Frames in which nothing new starts and whose remaining steps must still be blocked, skipped or cancelled.
    pub(crate) ending: BTreeSet<u32>,
}

impl StepLists {
    /// Opens the run's own pipeline, or a called one. If the run cannot start, its steps are blocked at once.
    pub(super) fn open_instance(&mut self, plan: &Plan, given: Instance, cannot_start: Option<Failure>, now: u64) -> u32 {
        let ix = self.tree.instances.len() as u32;
        let (planned, parent, prefix) = (plan.pipeline(given.pipeline), given.parent, given.prefix.clone());
        let deadline = planned.pipeline.bounds().deadline.map(|d| now + d.as_millis() as u64);
        self.tree.instances.push(Some(Instance { deadline, ..given }));
        self.timers.start(deadline, Timer::Deadline(ix));
        let base = parent.map_or(0, |at| self.node(at).priority);
        let frame = self.open_block(planned, ix, planned.main, None, &prefix, base);
        let instance = self.tree.instance_mut(ix);
        instance.main = frame;
        instance.frame = frame;
        if let Some(failure) = cannot_start {
            self.tree.instance_mut(ix).ending.failure = Some(StepFailure { step: prefix, failure });
            self.set_mood(frame, Mood::Stopping);
        }
        ix
    }

    pub(super) fn open_block(
        &mut self,
        planned: &PipelinePlan,
        instance: u32,
        block_ix: BlockIx,
        parent: Option<NodeRef>,
        prefix: &str,
        base: u32,
    ) -> u32 {
        let block = planned.block(block_ix);
        let frame = self.tree.frames.len() as u32;
        let round = parent.map_or(1, |parent| self.node(parent).round);
        let nodes = nodes(planned, block_ix, prefix, base, round);
        let refines = || planned.refinement.as_ref().is_some_and(|refinement| refinement.block == block_ix);
        // What counts is known when its holder is over: a second try, or another attempt, takes back what the first one left.
        let is_tried_again = |parent| refines() || planned.step(self.node(parent).step).step.retries(&planned.pipeline).is_some();
        let ending = parent.filter(|parent| is_tried_again(*parent)).map(|_| Box::default());
        self.add_frame(Frame { ending, ..Frame::new(instance, FrameKind::Block(block_ix), parent, nodes) });
        for node in 0..block.len() as u32 {
            let at = NodeRef { frame, node };
            if self.node(at).waits_for == 0 {
                self.make_ready(planned, at);
            }
        }
        frame
    }

    /// Makes a step ready that waits for no other step. A step of a written plan first waits for a place; see `give_places`.
    pub(super) fn make_ready(&mut self, planned: &PipelinePlan, at: NodeRef) {
        let key = self.key(at);
        if let FrameKind::Written(written) = &mut self.tree.frame_mut(at.frame).kind {
            written.waiting.insert(key);
            return;
        }
        self.start_when_called(planned, at, key);
    }

    fn start_when_called(&mut self, planned: &PipelinePlan, at: NodeRef, key: ReadyKey) {
        let step = &planned.step(self.node(at).step).step;
        let is_list = step.for_each.is_some() && !self.is_element(at);
        if step.kind.facts().calls_when == CallTime::Start && !is_list {
            self.queue.ready_calls.insert(key)
        } else {
            self.queue.ready.insert(key)
        };
    }

    pub(super) fn not_ready(&mut self, at: NodeRef) {
        let key = self.key(at);
        if !self.queue.ready.remove(&key) {
            self.queue.ready_calls.remove(&key);
        }
    }

    pub(super) fn add_frame(&mut self, frame: Frame) {
        let ix = self.tree.frames.len() as u32;
        for (node, inner) in frame.nodes.iter().enumerate() {
            self.tree.paths.insert(inner.path.clone(), NodeRef { frame: ix, node: node as u32 });
        }
        if frame.open == 0 {
            self.queue.done.insert(ix);
        }
        self.tree.frames.push(Some(Box::new(frame)));
    }

    pub(super) fn open_items(&mut self, plan: &Plan, at: NodeRef, items: &[SharedValue]) {
        let planned = self.file(plan, at);
        let holder = self.node(at);
        let (step, base, path, round) = (holder.step, holder.priority, holder.path.clone(), holder.round);
        let for_each = planned.step(step).step.for_each.as_ref();
        let most = for_each.and_then(|f| f.max_parallel).or(planned.pipeline.limits.max_parallel).unwrap_or(MOST_PARALLEL);
        let nodes = items
            .iter()
            .enumerate()
            .map(|(i, item)| StepNode {
                item: Some(item.clone()),
                round,
                waits_for: 1,
                ..StepNode::new(step, step_path::element(&path, i).into(), base)
            })
            .collect();
        let frame = self.tree.frames.len() as u32;
        let kind = FrameKind::Items { most: most.min(u64::from(u32::MAX)) as u32, active: 0, next: 0 };
        self.add_frame(Frame::new(self.instance_of(at), kind, Some(at), nodes));
        self.tree.node_mut(at).work = StepWork::Inner { frame, case: None };
        self.give_places(plan, frame);
    }

    /// Makes the next elements of a list, or the next steps of a written plan, ready while there are free places.
    pub(super) fn give_places(&mut self, plan: &Plan, ix: u32) {
        if let FrameKind::Written(_) = self.frame(ix).kind {
            return self.give_written_places(plan, ix);
        }
        let pipeline = self.instance(self.frame(ix).instance).pipeline;
        loop {
            let frame = self.tree.frame_mut(ix);
            let count = frame.nodes.len() as u32;
            let FrameKind::Items { most, active, next } = &mut frame.kind else { return };
            if *active >= *most || *next >= count {
                return;
            }
            let at = NodeRef { frame: ix, node: *next };
            *active += 1;
            *next += 1;
            frame.nodes[at.node as usize].waits_for = 0;
            if frame.nodes[at.node as usize].status == StepStatus::Pending {
                self.make_ready(plan.pipeline(pipeline), at);
            }
        }
    }

    fn give_written_places(&mut self, plan: &Plan, ix: u32) {
        let planned = self.planned(plan, ix);
        while let FrameKind::Written(written) = &mut self.tree.frame_mut(ix).kind
            && written.active < written.most
            && let Some(key) = written.waiting.pop_first()
        {
            written.active += 1;
            self.start_when_called(&planned, key.at, key);
        }
    }

    /// Frees the place of an element, or of a step of a written plan.
    pub(super) fn free_place(&mut self, plan: &Plan, at: NodeRef) {
        if let Some(active) = self.tree.frame_mut(at.frame).places() {
            *active = active.saturating_sub(1);
            self.give_places(plan, at.frame);
        }
    }

    pub(super) fn case_chosen(&mut self, plan: &Plan, at: NodeRef, case: &str) -> Option<()> {
        let (planned, node) = (self.file(plan, at), self.node(at));
        let step = planned.step(node.step);
        let (place, chosen) = step.step.kind.cases().enumerate().find(|(_, own)| own.id.value == case)?;
        let prefix = format!("{}/", chosen.path_in(&node.path));
        let frame = self.open_block(planned, self.instance_of(at), step.cases[place], Some(at), &prefix, node.priority);
        self.tree.node_mut(at).work = StepWork::Inner { frame, case: Some(case.to_string()) };
        Some(())
    }

    pub(super) fn refinement_started(&mut self, plan: &Plan, gate: NodeRef, round: RefinementRound) {
        let (planned, instance_ix) = (self.file(plan, gate), self.instance_of(gate));
        let Some(refinement) = &planned.refinement else { return };
        self.tree.frame_mut(gate.frame).refinement = Some(Box::new(round));
        let block = planned.block(refinement.block);
        for place in &refinement.stretch {
            let ending = match self.tree.frames[gate.frame as usize].as_mut().and_then(|frame| frame.ending.as_deref_mut()) {
                Some(ending) => ending,
                None => &mut self.tree.instance_mut(instance_ix).ending,
            };
            for told in [&mut ending.unmet, &mut ending.nothing_let_through, &mut ending.partial] {
                told.forget(*place as u32);
            }
            let at = NodeRef { frame: gate.frame, node: *place as u32 };
            self.clear_timers(at, true);
            let waits_for = block.needs(*place).iter().filter(|(above, _)| refinement.stretch.contains(above)).count() as u32;
            let node = self.tree.node_mut(at);
            let was_over = node.status.is_final();
            let (step, path, priority) = (node.step, node.path.clone(), node.priority);
            *node = StepNode { round: 2, waits_for, ..StepNode::new(step, path, priority) };
            if was_over {
                self.tree.frame_mut(at.frame).open += 1;
            }
            if waits_for == 0 {
                self.make_ready(planned, at);
            }
        }
        self.tree.judge_holders_anew(gate);
    }

    pub(super) fn stage_started(&mut self, plan: &Plan, ix: u32, stage: Stage, failure: Option<StepFailure>, now: u64) {
        let instance = self.instance(ix);
        let planned = plan.pipeline(instance.pipeline);
        let block = if stage == Stage::OnFailure { planned.on_failure } else { planned.finally };
        let Some(block) = block else { return };
        let (prefix, frame) = (instance.prefix.clone(), instance.frame);
        self.queue.done.remove(&frame);
        self.stop_instance_timers(ix);
        let frame = self.open_block(planned, ix, block, None, &prefix, 0);
        let ends = now + STAGE_TIME.as_millis() as u64;
        self.timers.start(ends, Timer::Stage(ix));
        let instance = self.tree.instance_mut(ix);
        instance.stage = stage;
        instance.past.push(instance.frame);
        instance.frame = frame;
        instance.stage_timer = Some(ends);
        if instance.ending.failure.is_none() {
            instance.ending.failure = failure;
        }
    }

    pub(super) fn tell_readers(&mut self, plan: &Plan, at: NodeRef, block: BlockIx) {
        let planned = self.planned(plan, at.frame);
        for (place, _) in planned.block(block).readers(at.node as usize) {
            let reader = NodeRef { frame: at.frame, node: *place as u32 };
            let node = self.tree.node_mut(reader);
            node.waits_for = node.waits_for.saturating_sub(1);
            if node.waits_for == 0 && node.status == StepStatus::Pending {
                self.make_ready(&planned, reader);
            }
        }
    }

    /// A step waits until this time.
    pub(super) fn paused(&mut self, at: NodeRef, until_ms: u64) {
        let node = self.tree.node_mut(at);
        node.status = StepStatus::Waiting;
        node.work = StepWork::Paused(until_ms);
        self.timers.start(until_ms, Timer::Pause(at));
    }

    /// Continues the timers of a step with the time that was left before a person was asked.
    pub(super) fn start_timers_again(&mut self, at: NodeRef, (deadline, attempt): (Option<u64>, Option<u64>), now: u64) {
        let ends = |left: Option<u64>| left.map(|left| now.saturating_add(left));
        self.start_timers(at, ends(attempt), ends(deadline));
    }

    /// Starts the timers of a step's attempt and of the whole step.
    pub(super) fn start_timers(&mut self, at: NodeRef, attempt_ends: Option<u64>, deadline: Option<u64>) {
        let node = self.tree.node_mut(at);
        node.attempt_ends = attempt_ends.or(node.attempt_ends);
        node.deadline = deadline.or(node.deadline);
        self.timers.start(attempt_ends, Timer::Attempt(at));
        self.timers.start(deadline, Timer::StepDeadline(at));
    }

    /// Sets an earlier deadline for the whole run.
    pub(super) fn narrow_deadline(&mut self, ends: Option<u64>) {
        let Some(ends) = ends.filter(|ends| self.instance(0).deadline.is_none_or(|own| *ends < own)) else { return };
        let own = self.tree.instance_mut(0).deadline.replace(ends);
        self.timers.stop(own, Timer::Deadline(0));
        self.timers.start(ends, Timer::Deadline(0));
    }

    pub(super) fn clear_timers(&mut self, at: NodeRef, all: bool) {
        let node = self.tree.node_mut(at);
        let (retry, attempt) = (node.retry_at, node.attempt_ends.take());
        let deadline = if all { node.deadline.take() } else { None };
        let paused = if let StepWork::Paused(until) = node.work { Some(until) } else { None };
        self.timers.stop(retry, Timer::Backoff(at));
        self.timers.stop(attempt, Timer::Attempt(at));
        self.timers.stop(deadline, Timer::StepDeadline(at));
        self.timers.stop(paused, Timer::Pause(at));
    }

    pub(super) fn stop_instance_timers(&mut self, ix: u32) {
        let instance = self.tree.instance_mut(ix);
        let (deadline, stage) = (instance.deadline.take(), instance.stage_timer.take());
        self.timers.stop(deadline, Timer::Deadline(ix));
        self.timers.stop(stage, Timer::Stage(ix));
    }

    /// Ends the pipeline of a `stop` step that succeeded.
    pub(super) fn note_stop(&mut self, plan: &Plan, at: NodeRef) {
        let (step, instance_ix) = (self.step(plan, at), self.instance_of(at));
        let StepKind::Stop(stop) = &step.kind else { return };
        let message = self.node(at).details().reason().unwrap_or_default().to_owned();
        let told = StepFailure { step: self.node(at).path.clone(), failure: Failure::new(FailureKind::Rejected, message) };
        let ending = &mut self.tree.instance_mut(instance_ix).ending;
        if ending.stop.is_none() {
            ending.stop = Some(stop.succeeds);
            if !stop.succeeds {
                ending.failure = Some(told);
            }
        }
        for ix in 0..self.tree.frames.len() as u32 {
            if self.tree.frames[ix as usize].as_ref().is_some_and(|f| f.instance == instance_ix) {
                self.set_mood(ix, Mood::Skipping);
            }
        }
    }

    /// Lets nothing new start in a frame. Cancelling also applies to the steps inside its steps.
    pub(super) fn set_mood(&mut self, ix: u32, mood: Mood) {
        let frame = self.tree.frame_mut(ix);
        if frame.mood >= mood {
            return;
        }
        frame.mood = mood;
        if frame.open > 0 {
            self.queue.ending.insert(ix);
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
            let instance = self.tree.instance_mut(instance);
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
        self.tree.node_mut(at).ended_by = Some(failure);
        if let StepWork::Inner { frame, .. } = work {
            self.set_mood(frame, Mood::Cancelling);
        }
        for inner in work.pipelines() {
            let instance = self.tree.instance_mut(inner);
            instance.ending.is_cancelled = true;
            let frame = instance.frame;
            self.set_mood(frame, Mood::Cancelling);
        }
        Some(())
    }

    /// Ends the current stage of a pipeline at a bound: a limit on its steps, or the 60 s of a later stage.
    pub(super) fn end_instance(&mut self, ix: u32, bound: Bound, failure: Failure) {
        let instance = self.tree.instance_mut(ix);
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

impl Frame {
    /// The number of places taken in it; `None` if it does not count them.
    pub(super) fn places(&mut self) -> Option<&mut u32> {
        match &mut self.kind {
            FrameKind::Items { active, .. } => Some(active),
            FrameKind::Written(written) => Some(&mut written.active),
            FrameKind::Block(_) => None,
        }
    }

    /// A list none of whose steps has started.
    pub(super) fn new(instance: u32, kind: FrameKind, parent: Option<NodeRef>, nodes: Vec<StepNode>) -> Frame {
        let open = nodes.len() as u32;
        Frame { instance, kind, parent, nodes, open, mood: Mood::Going, failure: None, refinement: None, ending: None }
    }
}

/// The steps of a list, none of them started.
pub(crate) fn nodes(planned: &PipelinePlan, block_ix: BlockIx, prefix: &str, base: u32, round: u32) -> Vec<StepNode> {
    let block = planned.block(block_ix);
    let node = |place: usize| {
        let step = StepIx(block.first.0 + place as u32);
        let id = &planned.step(step).id;
        let path = if prefix.is_empty() { id.clone() } else { Arc::from(format!("{prefix}{id}")) };
        let priority = base + block.longest.get(place).copied().unwrap_or(1);
        StepNode { round, waits_for: block.needs(place).len() as u32, ..StepNode::new(step, path, priority) }
    };
    (0..block.len()).map(node).collect()
}
