//! How events change a `plan` step: its plans, their steps, and its log.

use std::cell::OnceCell;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lists::{StepLists, nodes};
use super::{Cached, Frame, FrameKind, NodeRef, RunState, StepNode, StepWork, WrittenFrame};
use crate::diagnostic::counted;
use crate::event::{PlanResult, StepStatus};
use crate::model::{MOST_PARALLEL, Step, StepKind, WrittenPlan, WrittenStep, step_path};
use crate::plan::Plan;

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

impl StepLists {
    pub(super) fn plan_accepted(&mut self, plan: &Plan, at: NodeRef, round: u32, written: &Arc<WrittenPlan>) {
        let holder = self.step(plan, at);
        let StepKind::Plan(own) = &holder.kind else { return };
        self.tree.node_mut(at).end_conversation();
        let (instance, pipeline) = (self.instance_of(at), &self.file(plan, at).pipeline);
        let most = own.max_parallel.or(pipeline.limits.max_parallel).unwrap_or(MOST_PARALLEL);
        let planned = Arc::new(crate::plan::written(pipeline, &holder, written, &mut vec![]));
        let node = self.tree.node_mut(at);
        let (prefix, base, own_round) = (format!("{}/", node.path), node.priority, node.round);
        let planning = node.planning.get_or_insert_default();
        planning.findings.clear();
        planning.log.extend(told_plan(own.agent.as_str(), round, written));
        planning.plans.push(OnePlan { plan: written.clone(), results: None, check: None });
        let nodes = nodes(&planned, planned.main, &prefix, base, own_round);
        let frame = self.tree.frames.len() as u32;
        let cached = Cached(OnceCell::from(planned.clone()));
        let most = most.min(u64::from(u32::MAX)) as u32;
        let open = nodes.len() as u32;
        let kind = FrameKind::Written(WrittenFrame { most, active: 0, waiting: Default::default(), planned: cached });
        self.add_frame(Frame::new(instance, kind, Some(at), nodes));
        self.tree.node_mut(at).work = StepWork::Inner { frame, case: None };
        for node in 0..open {
            let inner = NodeRef { frame, node };
            if self.node(inner).waits_for == 0 {
                self.make_ready(&planned, inner);
            }
        }
        self.give_places(plan, frame);
    }

    pub(super) fn plan_refused(&mut self, at: NodeRef, round: u32, findings: &[String]) {
        let planning = self.tree.node_mut(at).planning.get_or_insert_default();
        planning.findings = findings.to_vec();
        planning.log.push(format!("Plan {round} was refused: {}", findings.join("; ")));
    }

    pub(super) fn plan_checked(&mut self, plan: &Plan, at: NodeRef, fulfilled: bool, progress: &str) -> Option<()> {
        let holder = self.step(plan, at);
        let StepKind::Plan(own) = &holder.kind else { return None };
        self.tree.node_mut(at).end_conversation();
        let planning = self.tree.node_mut(at).planning.as_mut()?;
        let answer = if fulfilled { "the work is done" } else { "the work is not done" };
        let checker = own.check.as_ref().map(|check| check.as_str()).unwrap_or_default();
        planning.log.push(format!("{checker} says that {answer}: {progress}"));
        if let Some(last) = planning.plans.last_mut() {
            last.check = Some((fulfilled, progress.to_string()));
        }
        Some(())
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
        if let Some(planning) = &mut self.tree.node_mut(planner).planning {
            planning.log.push(line);
        }
    }
}

impl RunState {
    pub(super) fn plan_ended(&mut self, at: NodeRef) {
        let StepWork::Inner { frame, .. } = self.steps.node(at).work else { return };
        let last = self.steps.node(at).planning.as_ref().and_then(|planning| planning.plans.last());
        let results = last.map_or(vec![], |one| one.results_of(&self.steps.frame(frame).nodes));
        self.drop_frame(frame);
        let node = self.steps.tree.node_mut(at);
        node.work = StepWork::None;
        if let Some(last) = node.planning.as_mut().and_then(|planning| planning.plans.last_mut()) {
            last.results = Some(results);
        }
    }
}

impl OnePlan {
    /// The results of its steps, as in the output.
    fn results_of(&self, nodes: &[StepNode]) -> Vec<PlanResult> {
        let result = |(step, node): (&WrittenStep, &StepNode)| {
            let with = match &step.prompt {
                Some(prompt) => json!({ "prompt": prompt }),
                None => Value::Object(step.with.clone()),
            };
            let (id, uses, depends_on) = (step.id.clone(), step.uses.clone(), step.depends_on.clone());
            let (output, error) = (node.output.clone().unwrap_or_default(), node.error());
            PlanResult { id, r#use: uses, with, depends_on, status: node.status, output, error }
        };
        self.plan.steps.iter().zip(nodes).map(result).collect()
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
