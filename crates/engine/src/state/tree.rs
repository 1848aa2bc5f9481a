//! The pipelines of a run, their lists of steps, and the steps in them.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rounds::Repeating;
use super::talk::ModelTalk;
use super::{Frame, FrameKind, Instance, NodeRef, ReadyKey, RefinementRound, StepNode, StepWork};
use crate::event::StepPath;
use crate::model::{Step, WrittenPlan};
use crate::plan::{PipelinePlan, Plan};

/// The steps of a run: a tree of pipelines, lists and steps. All may read it; in this folder it is changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepTree {
    /// The run's own pipeline first, then called ones; called ones are dropped when they end.
    pub(crate) instances: Vec<Option<Instance>>,
    /// Running lists of steps; inner ones are dropped when they end, and their numbers are not used again.
    pub(crate) frames: Vec<Option<Box<Frame>>>,
    /// Where each step is, by path, as long as it is kept.
    pub(crate) paths: HashMap<StepPath, NodeRef>,
}

/// The graph that the steps of a frame belong to.
pub(crate) enum FrameGraph<'p> {
    /// The graph of a file.
    File(&'p PipelinePlan),
    /// The graph of a plan that an agent wrote.
    Written(Arc<PipelinePlan>),
}

impl Deref for FrameGraph<'_> {
    type Target = PipelinePlan;

    fn deref(&self) -> &PipelinePlan {
        match self {
            FrameGraph::File(planned) => planned,
            FrameGraph::Written(planned) => planned,
        }
    }
}

impl StepTree {
    pub(crate) fn node(&self, at: NodeRef) -> &StepNode {
        &self.frame(at.frame).nodes[at.node as usize]
    }

    pub(super) fn node_mut(&mut self, at: NodeRef) -> &mut StepNode {
        &mut self.frame_mut(at.frame).nodes[at.node as usize]
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    pub(crate) fn frame(&self, ix: u32) -> &Frame {
        self.frames[ix as usize].as_ref().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "frames are dropped only after everything that names them")]
    pub(super) fn frame_mut(&mut self, ix: u32) -> &mut Frame {
        self.frames[ix as usize].as_mut().expect("a frame in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    pub(crate) fn instance(&self, ix: u32) -> &Instance {
        self.instances[ix as usize].as_ref().expect("an instance in use")
    }

    #[expect(clippy::expect_used, reason = "instances are dropped only after everything that names them")]
    pub(super) fn instance_mut(&mut self, ix: u32) -> &mut Instance {
        self.instances[ix as usize].as_mut().expect("an instance in use")
    }

    /// The pipeline of a call, by path; an empty path is the run's own pipeline.
    pub(crate) fn instance_at(&self, path: &str) -> Option<u32> {
        let fits = |i: &Option<Instance>| i.as_ref().is_some_and(|i| *i.path() == *path);
        self.instances.iter().rposition(fits).map(|ix| ix as u32)
    }

    pub(crate) fn find(&self, path: &str) -> Option<NodeRef> {
        self.paths.get(path).copied()
    }

    /// The pipeline of a step, then the ones around it, each with the step that called it.
    pub(crate) fn chain(&self, at: NodeRef) -> impl Iterator<Item = (u32, Option<NodeRef>)> + '_ {
        let with_caller = |ix: u32| (ix, self.instance(ix).parent);
        std::iter::successors(Some(with_caller(self.instance_of(at))), move |(_, parent)| Some(with_caller(self.instance_of((*parent)?))))
    }

    /// Applies a change to the pipeline of a step and to all pipelines around it.
    pub(super) fn each_around(&mut self, at: NodeRef, change: impl Fn(&mut Instance)) {
        let around: Vec<u32> = self.chain(at).map(|(ix, _)| ix).collect();
        around.into_iter().for_each(|ix| change(self.instance_mut(ix)));
    }

    /// The rounds of a step: that of the run's own pipeline first, then of each called one, down to the step's own.
    pub(crate) fn rounds(&self, at: NodeRef) -> Vec<u32> {
        let callers = self.chain(at).filter_map(|(_, parent)| parent);
        let mut rounds: Vec<u32> = std::iter::once(at).chain(callers).map(|node| self.node(node).round).collect();
        rounds.reverse();
        rounds
    }

    pub(crate) fn instance_of(&self, at: NodeRef) -> u32 {
        self.frame(at.frame).instance
    }

    pub(crate) fn instance_around(&self, at: NodeRef) -> &Instance {
        self.instance(self.instance_of(at))
    }

    pub(super) fn talk_mut(&mut self, at: NodeRef) -> Option<&mut ModelTalk> {
        if let StepWork::Asking(talk) = &mut self.node_mut(at).work { Some(talk) } else { None }
    }

    /// The step of the pipeline's own list that is or holds this step; `None` if it is in `on_failure` or `finally`.
    pub(crate) fn own_place(&self, at: NodeRef) -> Option<u32> {
        let main = self.instance_around(at).main;
        self.holders(at).find(|at| at.frame == main).map(|at| at.node)
    }

    /// A step and the steps of its pipeline that hold it, innermost first.
    pub(crate) fn holders(&self, at: NodeRef) -> impl Iterator<Item = NodeRef> + '_ {
        std::iter::successors(Some(at), |at| self.frame(at.frame).parent)
    }

    /// The step that a step is in: one that holds others, or calls a pipeline.
    pub(crate) fn around(&self, at: NodeRef) -> Option<NodeRef> {
        let frame = self.frame(at.frame);
        frame.parent.or_else(|| self.instance(frame.instance).parent)
    }

    pub(crate) fn key(&self, at: NodeRef) -> ReadyKey {
        ReadyKey { shortness: u32::MAX - self.node(at).priority, at }
    }

    /// The refinement that a step may be part of: that of its list, or of one around it.
    pub(crate) fn refinement_around(&self, at: NodeRef) -> Option<&RefinementRound> {
        self.holders(at).find_map(|at| self.frame(at.frame).refinement.as_deref())
    }

    /// Whether a step is an element of a `for_each`.
    pub(crate) fn is_element(&self, at: NodeRef) -> bool {
        matches!(self.frame(at.frame).kind, FrameKind::Items { .. })
    }

    /// The `repeat` that a step stands in, the innermost.
    pub(crate) fn repeating(&self, at: NodeRef) -> Option<&Repeating> {
        self.holders(at).skip(1).find_map(|at| self.node(at).repeating.as_deref())
    }

    /// The graph that the steps of a frame belong to.
    pub(crate) fn planned<'p>(&self, plan: &'p Plan, ix: u32) -> FrameGraph<'p> {
        let frame = self.frame(ix);
        let of_file = || plan.pipeline(self.instance(frame.instance).pipeline);
        let (FrameKind::Written(written), Some(parent)) = (&frame.kind, frame.parent) else { return FrameGraph::File(of_file()) };
        let make = || {
            let holder = &self.step(plan, parent);
            let last = self.node(parent).planning.as_ref().and_then(|planning| planning.plans.last());
            let nothing = WrittenPlan { strategy: crate::model::PlanStrategy::Parallel, reasoning: String::new(), steps: vec![] };
            let written = last.map_or(&nothing, |one| &*one.plan);
            Arc::new(crate::plan::written(&of_file().pipeline, holder, written, &mut vec![]))
        };
        FrameGraph::Written(written.planned.get(make))
    }

    /// The `plan` step whose plan a step belongs to.
    pub(crate) fn planner(&self, at: NodeRef) -> Option<NodeRef> {
        let frame = self.frame(at.frame);
        frame.parent.filter(|_| matches!(frame.kind, FrameKind::Written(_)))
    }

    /// A step of a file or of a written plan.
    pub(crate) fn step(&self, plan: &Plan, at: NodeRef) -> Arc<Step> {
        self.planned(plan, at.frame).step(self.node(at).step).step.clone()
    }

    /// The pipeline that a step runs in. For a step of a written plan, the pipeline of its `plan` step.
    pub(crate) fn file<'p>(&self, plan: &'p Plan, at: NodeRef) -> &'p PipelinePlan {
        plan.pipeline(self.instance_around(at).pipeline)
    }

    /// Takes a place again for an element, or a step of a written plan, that freed it while it waited.
    pub(super) fn take_place_again(&mut self, at: NodeRef) {
        if let Some(active) = self.frame_mut(at.frame).places() {
            *active += 1;
        }
    }

    /// Whether a step that ends now holds one of the places of its frame. The step stops waiting for one.
    pub(super) fn had_place(&mut self, at: NodeRef) -> bool {
        let key = self.key(at);
        let was_waiting = match &mut self.frame_mut(at.frame).kind {
            FrameKind::Written(written) => written.waiting.remove(&key),
            _ => false,
        };
        let node = self.node(at);
        node.waits_for == 0 && node.retry_at.is_none() && !was_waiting
    }
}
