//! How events open pipelines, lists of steps, elements, cases and the second round.

use std::sync::Arc;

use super::{Frame, FrameKind, Instance, Mood, NodeRef, ReadyKey, RefinementRound, RunState, StepNode, StepWork, Timer};
use crate::event::{SharedValue, Stage, StepFailure, StepStatus};
use crate::model::{CallTime, MOST_PARALLEL, STAGE_TIME, step_path};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};

impl RunState {
    /// Opens the run's own pipeline, or a called one. If the run cannot start, its steps are blocked at once.
    pub(super) fn open_instance(&mut self, plan: &Plan, given: Instance, now: u64) -> u32 {
        let ix = self.instances.len() as u32;
        self.pipelines_begun += 1;
        let (planned, parent, prefix) = (plan.pipeline(given.pipeline), given.parent, given.prefix.clone());
        let deadline = planned.pipeline.bounds().deadline.map(|d| now + d.as_millis() as u64);
        self.instances.push(Some(Instance { deadline, ..given }));
        self.timers.extend(deadline.map(|at| (at, Timer::Deadline(ix))));
        let base = parent.map_or(0, |at| self.node(at).priority);
        let frame = self.open_block(planned, ix, planned.main, None, &prefix, base);
        let instance = self.instance_mut(ix);
        instance.main = frame;
        instance.frame = frame;
        let cannot_start = self.start.as_ref().filter(|_| parent.is_none()).and_then(|start| start.failure.clone());
        if let Some(failure) = cannot_start {
            self.instance_mut(ix).ending.failure = Some(StepFailure { step: prefix, failure });
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
        let frame = self.frames.len() as u32;
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
        if let FrameKind::Written(written) = &mut self.frame_mut(at.frame).kind {
            written.waiting.insert(key);
            return;
        }
        self.start_when_called(planned, at, key);
    }

    fn start_when_called(&mut self, planned: &PipelinePlan, at: NodeRef, key: ReadyKey) {
        let step = &planned.step(self.node(at).step).step;
        let is_list = step.for_each.is_some() && !self.is_element(at);
        if step.kind.facts().calls_when == CallTime::Start && !is_list {
            self.ready_calls.insert(key)
        } else {
            self.ready.insert(key)
        };
    }

    pub(super) fn not_ready(&mut self, at: NodeRef) {
        let key = self.key(at);
        if !self.ready.remove(&key) {
            self.ready_calls.remove(&key);
        }
    }

    pub(super) fn add_frame(&mut self, frame: Frame) {
        let ix = self.frames.len() as u32;
        for (node, inner) in frame.nodes.iter().enumerate() {
            self.paths.insert(inner.path.clone(), NodeRef { frame: ix, node: node as u32 });
        }
        if frame.open == 0 {
            self.done.insert(ix);
        }
        self.frames.push(Some(Box::new(frame)));
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
        let frame = self.frames.len() as u32;
        let kind = FrameKind::Items { most: most.min(u64::from(u32::MAX)) as u32, active: 0, next: 0 };
        self.add_frame(Frame::new(self.instance_of(at), kind, Some(at), nodes));
        self.node_mut(at).work = StepWork::Inner { frame, case: None };
        self.give_places(plan, frame);
    }

    /// Makes the next elements of a list, or the next steps of a written plan, ready while there are free places.
    pub(super) fn give_places(&mut self, plan: &Plan, ix: u32) {
        if let FrameKind::Written(_) = self.frame(ix).kind {
            return self.give_written_places(plan, ix);
        }
        let pipeline = self.instance(self.frame(ix).instance).pipeline;
        loop {
            let frame = self.frame_mut(ix);
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
        while let FrameKind::Written(written) = &mut self.frame_mut(ix).kind
            && written.active < written.most
            && let Some(key) = written.waiting.pop_first()
        {
            written.active += 1;
            self.start_when_called(&planned, key.at, key);
        }
    }

    /// Takes a place again for an element, or a step of a written plan, that freed it while it waited.
    pub(super) fn take_place_again(&mut self, at: NodeRef) {
        if let Some(active) = self.places(at.frame) {
            *active += 1;
        }
    }

    /// Frees the place of an element, or of a step of a written plan.
    pub(super) fn free_place(&mut self, plan: &Plan, at: NodeRef) {
        if let Some(active) = self.places(at.frame) {
            *active = active.saturating_sub(1);
            self.give_places(plan, at.frame);
        }
    }

    /// The number of places taken in a frame; `None` if the frame does not count them.
    fn places(&mut self, ix: u32) -> Option<&mut u32> {
        match &mut self.frame_mut(ix).kind {
            FrameKind::Items { active, .. } => Some(active),
            FrameKind::Written(written) => Some(&mut written.active),
            FrameKind::Block(_) => None,
        }
    }

    pub(super) fn case_chosen(&mut self, plan: &Plan, at: NodeRef, case: &str) -> Option<()> {
        let (planned, node) = (self.file(plan, at), self.node(at));
        let step = planned.step(node.step);
        let (place, chosen) = step.step.kind.cases().enumerate().find(|(_, own)| own.id.value == case)?;
        let prefix = format!("{}/", chosen.path_in(&node.path));
        let frame = self.open_block(planned, self.instance_of(at), step.cases[place], Some(at), &prefix, node.priority);
        self.node_mut(at).work = StepWork::Inner { frame, case: Some(case.to_string()) };
        Some(())
    }

    pub(super) fn refinement_started(&mut self, plan: &Plan, gate: NodeRef, round: RefinementRound) {
        let (planned, instance_ix) = (self.file(plan, gate), self.instance_of(gate));
        let Some(refinement) = &planned.refinement else { return };
        self.frame_mut(gate.frame).refinement = Some(Box::new(round));
        let block = planned.block(refinement.block);
        for place in &refinement.stretch {
            let ending = match self.frames[gate.frame as usize].as_mut().and_then(|frame| frame.ending.as_deref_mut()) {
                Some(ending) => ending,
                None => &mut self.instance_mut(instance_ix).ending,
            };
            for told in [&mut ending.unmet, &mut ending.nothing_let_through, &mut ending.partial] {
                told.forget(*place as u32);
            }
            let at = NodeRef { frame: gate.frame, node: *place as u32 };
            self.clear_timers(at, true);
            let waits_for = block.needs(*place).iter().filter(|(above, _)| refinement.stretch.contains(above)).count() as u32;
            let node = self.node_mut(at);
            let was_over = node.status.is_final();
            let (step, path, priority) = (node.step, node.path.clone(), node.priority);
            *node = StepNode { round: 2, waits_for, ..StepNode::new(step, path, priority) };
            if was_over {
                self.frame_mut(at.frame).open += 1;
            }
            if waits_for == 0 {
                self.make_ready(planned, at);
            }
        }
        self.judge_holders_anew(gate);
    }

    pub(super) fn stage_started(&mut self, plan: &Plan, ix: u32, stage: Stage, failure: Option<StepFailure>, now: u64) {
        let instance = self.instance(ix);
        let planned = plan.pipeline(instance.pipeline);
        let block = if stage == Stage::OnFailure { planned.on_failure } else { planned.finally };
        let Some(block) = block else { return };
        let (prefix, frame) = (instance.prefix.clone(), instance.frame);
        self.done.remove(&frame);
        self.stop_instance_timers(ix);
        let frame = self.open_block(planned, ix, block, None, &prefix, 0);
        let ends = now + STAGE_TIME.as_millis() as u64;
        self.timers.insert((ends, Timer::Stage(ix)));
        let instance = self.instance_mut(ix);
        instance.stage = stage;
        instance.past.push(instance.frame);
        instance.frame = frame;
        instance.stage_timer = Some(ends);
        if instance.ending.failure.is_none() {
            instance.ending.failure = failure;
        }
    }
}

impl Frame {
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
