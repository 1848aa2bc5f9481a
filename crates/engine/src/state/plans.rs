//! How events change a `plan` step: its plans, their steps, and its log.

use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::births::nodes;
use super::{Cached, Frame, FrameKind, NodeRef, RunState, StepNode, StepWork, WrittenFrame};
use crate::diagnostic::counted;
use crate::event::{PlanResult, StepStatus};
use crate::model::{MOST_PARALLEL, Step, StepKind, WrittenPlan, WrittenStep, step_path};
use crate::plan::{PipelinePlan, Plan};

/// The plans of a `plan` step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Planning {
    pub(crate) plans: Vec<OnePlan>,
    /// Problems of the last plan, until they are sent back to the agent.
    pub(crate) findings: Vec<String>,
    /// The log of decisions, in sentences.
    pub(crate) log: Vec<String>,
}

/// One plan of a `plan` step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OnePlan {
    pub(crate) plan: Arc<WrittenPlan>,
    /// One per step, once all steps have ended.
    pub(crate) results: Option<Vec<PlanResult>>,
    /// The answer of the `check` agent: whether the work is done, and the progress.
    pub(crate) check: Option<(bool, String)>,
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

impl RunState {
    /// The graph that the steps of a frame belong to.
    pub(crate) fn planned<'p>(&self, plan: &'p Plan, ix: u32) -> FrameGraph<'p> {
        let frame = self.frame(ix);
        let of_file = || plan.pipeline(self.instance(frame.instance).pipeline);
        let (FrameKind::Written(written), Some(parent)) = (&frame.kind, frame.parent) else { return FrameGraph::File(of_file()) };
        let make = || {
            let holder = &self.step(plan, parent);
            let last = self.planning(parent).and_then(|planning| planning.plans.last());
            let nothing = WrittenPlan { strategy: crate::model::PlanStrategy::Parallel, reasoning: String::new(), steps: vec![] };
            let written = last.map_or(&nothing, |one| &*one.plan);
            Arc::new(crate::plan::written(&of_file().pipeline, holder, written, &mut vec![]))
        };
        FrameGraph::Written(written.planned.get(make))
    }

    /// The plans of a `plan` step.
    pub(crate) fn planning(&self, at: NodeRef) -> Option<&Planning> {
        self.node(at).planning.as_deref()
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

    pub(super) fn plan_accepted(&mut self, plan: &Plan, at: NodeRef, round: u32, written: &Arc<WrittenPlan>) {
        let holder = self.step(plan, at);
        let StepKind::Plan(own) = &holder.kind else { return };
        self.end_conversation(at);
        let (instance, pipeline) = (self.instance_of(at), &self.file(plan, at).pipeline);
        let most = own.max_parallel.or(pipeline.limits.max_parallel).unwrap_or(MOST_PARALLEL);
        let planned = Arc::new(crate::plan::written(pipeline, &holder, written, &mut vec![]));
        let node = self.node_mut(at);
        let (prefix, base, own_round) = (format!("{}/", node.path), node.priority, node.round);
        let planning = node.planning.get_or_insert_default();
        planning.findings.clear();
        planning.log.extend(told_plan(own.agent.as_str(), round, written));
        planning.plans.push(OnePlan { plan: written.clone(), results: None, check: None });
        let nodes = nodes(&planned, planned.main, &prefix, base, own_round);
        let frame = self.frames.len() as u32;
        let cached = Cached(OnceCell::from(planned.clone()));
        let most = most.min(u64::from(u32::MAX)) as u32;
        let open = nodes.len() as u32;
        let kind = FrameKind::Written(WrittenFrame { most, active: 0, waiting: Default::default(), planned: cached });
        self.add_frame(Frame::new(instance, kind, Some(at), nodes));
        self.node_mut(at).work = StepWork::Inner { frame, case: None };
        for node in 0..open {
            let inner = NodeRef { frame, node };
            if self.node(inner).waits_for == 0 {
                self.make_ready(&planned, inner);
            }
        }
        self.give_places(plan, frame);
    }

    pub(super) fn plan_refused(&mut self, at: NodeRef, round: u32, findings: &[String]) {
        let planning = self.node_mut(at).planning.get_or_insert_default();
        planning.findings = findings.to_vec();
        planning.log.push(format!("Plan {round} was refused: {}", findings.join("; ")));
    }

    pub(super) fn plan_ended(&mut self, at: NodeRef) {
        let StepWork::Inner { frame, .. } = self.node(at).work else { return };
        let results = self.results(at, frame);
        self.drop_frame(frame);
        let node = self.node_mut(at);
        node.work = StepWork::None;
        if let Some(last) = node.planning.as_mut().and_then(|planning| planning.plans.last_mut()) {
            last.results = Some(results);
        }
    }

    pub(super) fn plan_checked(&mut self, plan: &Plan, at: NodeRef, fulfilled: bool, progress: &str) -> Option<()> {
        let holder = self.step(plan, at);
        let StepKind::Plan(own) = &holder.kind else { return None };
        self.end_conversation(at);
        let planning = self.node_mut(at).planning.as_mut()?;
        let answer = if fulfilled { "the work is done" } else { "the work is not done" };
        let checker = own.check.as_ref().map(|check| check.as_str()).unwrap_or_default();
        planning.log.push(format!("{checker} says that {answer}: {progress}"));
        if let Some(last) = planning.plans.last_mut() {
            last.check = Some((fulfilled, progress.to_string()));
        }
        Some(())
    }

    /// Ends the conversation and keeps its usage. The next conversation starts anew.
    pub(super) fn end_conversation(&mut self, at: NodeRef) {
        let node = self.node_mut(at);
        if let StepWork::Asking(asking) = std::mem::take(&mut node.work) {
            node.ended_talks.get_or_insert_default().end(*asking);
        }
    }

    /// The results of the steps of the current plan, as in the output.
    fn results(&self, at: NodeRef, frame: u32) -> Vec<PlanResult> {
        let last = self.planning(at).and_then(|planning| planning.plans.last());
        let steps = last.map(|one| one.plan.steps.as_slice()).unwrap_or_default();
        let result = |(step, node): (&WrittenStep, &StepNode)| {
            let with = match &step.prompt {
                Some(prompt) => json!({ "prompt": prompt }),
                None => Value::Object(step.with.clone()),
            };
            let (id, uses, depends_on) = (step.id.clone(), step.uses.clone(), step.depends_on.clone());
            let (output, error) = (node.output.clone().unwrap_or_default(), node.error());
            PlanResult { id, uses, with, depends_on, status: node.status, output, error }
        };
        steps.iter().zip(&self.frame(frame).nodes).map(result).collect()
    }

    /// Makes the pipeline `partial` if a step of a plan failed and the plan counts as a success all the same.
    pub(super) fn note_failed_inside(&mut self, at: NodeRef) {
        if self.planning(at).is_some_and(|planning| planning.failed().next().is_some()) {
            self.note_partial(at);
        }
    }

    /// Logs that a step of a plan started a try.
    pub(super) fn tell_started(&mut self, at: NodeRef, step: &Step, attempt: u32) {
        if self.planner(at).is_none() {
            return;
        }
        let agents = step.kind.agents_with_tools();
        let asks = agents.first().map(|agent| format!("asks agent {}", agent.value));
        let Some(what) = asks.or_else(|| Some(format!("uses {}", step.kind.facts().may_use.first()?.value))) else { return };
        let again = if attempt > 1 { format!(" (try {attempt})") } else { String::new() };
        self.tell(at, format!("{} {what}{again}.", step.id.value));
    }

    /// Logs that a step of a plan ended.
    pub(super) fn tell_over(&mut self, at: NodeRef) {
        let node = self.node(at);
        let id = step_path::last(&node.path);
        let line = match (node.status, &node.failure) {
            (StepStatus::Succeeded, _) => format!("{id} succeeded."),
            (StepStatus::Failed, Some(failure)) => format!("{id} failed ({}): {}", failure.kind.word(), failure.message),
            (StepStatus::Blocked, _) => format!("{id} was not started: what it depends on did not succeed."),
            (status, _) => format!("{id} was {}.", status.word()),
        };
        self.tell(at, line);
    }

    fn tell(&mut self, at: NodeRef, line: String) {
        let Some(planner) = self.planner(at) else { return };
        if let Some(planning) = &mut self.node_mut(planner).planning {
            planning.log.push(line);
        }
    }
}

impl Planning {
    /// The results of the steps of all plans that have ended.
    pub(crate) fn results(&self) -> impl Iterator<Item = &PlanResult> {
        self.plans.iter().filter_map(|one| one.results.as_ref()).flatten()
    }

    /// Ids of the steps of all plans.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.plans.iter().flat_map(|one| &one.plan.steps).map(|step| step.id.clone()).collect()
    }

    /// The results of the steps that failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &PlanResult> {
        self.results().filter(|result| result.status == StepStatus::Failed)
    }
}

/// Describes a plan in sentences: its strategy, its reason, and what each step uses.
fn told_plan(agent: &str, round: u32, plan: &WrittenPlan) -> Vec<String> {
    let steps = counted(plan.steps.len(), "step", "steps");
    let mut told = vec![format!("Plan {round} by {agent}: {steps}, {}. Reason: {}", plan.strategy.word(), plan.reasoning)];
    let after = |step: &WrittenStep| match step.depends_on.is_empty() {
        true => String::new(),
        false => format!(" after {}", step.depends_on.join(", ")),
    };
    told.extend(plan.steps.iter().map(|step| format!("Planned: {} with {}{}.", step.id, step.uses, after(step))));
    told
}
