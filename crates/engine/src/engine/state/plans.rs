//! How events change a `plan` step: its plans, their steps, and the log of what was decided.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::state::births::nodes;
use crate::engine::state::{
    CachedPlan, Frame, FrameKind, Mood, NodeRef, OnePlan, Planning, RunState, StepNode, StepWork, Talk, WrittenFrame,
};
use crate::event::{SharedValue, StepStatus};
use crate::model::{MOST_PARALLEL, Step, StepKind, WrittenPlan, WrittenStep, step_path};
use crate::plan::{PipelinePlan, Plan};

/// The graph that the steps of a frame belong to.
pub(crate) enum FrameGraph<'p> {
    /// Of a file.
    File(&'p PipelinePlan),
    /// Of a plan that an agent wrote.
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
            let holder = &self.planned(plan, parent.frame).step(self.node(parent).step).step.clone();
            let last = self.node(parent).planning.as_ref().and_then(|planning| planning.plans.last());
            let nothing = WrittenPlan { strategy: crate::model::PlanStrategy::Parallel, reasoning: String::new(), steps: vec![] };
            let written = last.map_or(&nothing, |one| &*one.plan);
            Arc::new(crate::plan::written(&of_file().pipeline, holder, written, &mut vec![]))
        };
        FrameGraph::Written(written.planned.0.get_or_init(make).clone())
    }

    /// The `plan` step whose plan a step belongs to.
    pub(crate) fn planner(&self, at: NodeRef) -> Option<NodeRef> {
        let frame = self.frame(at.frame);
        frame.parent.filter(|_| matches!(frame.kind, FrameKind::Written(_)))
    }

    pub(super) fn plan_accepted(&mut self, plan: &Plan, path: &str, round: u32, written: &Arc<WrittenPlan>) {
        let Some(at) = self.find(path) else { return };
        let holder = self.planned(plan, at.frame).step(self.node(at).step).step.clone();
        let StepKind::Plan(own) = &holder.kind else { return };
        self.end_conversation(at);
        let instance = self.instance_of(at);
        let pipeline = plan.pipeline(self.instance(instance).pipeline).pipeline.clone();
        let most = own.max_parallel.or(pipeline.limits.max_parallel).unwrap_or(MOST_PARALLEL);
        let planned = Arc::new(crate::plan::written(&pipeline, &holder, written, &mut vec![]));
        let node = self.node_mut(at);
        let (prefix, base, own_round) = (format!("{}/", node.path), node.priority, node.round);
        let planning = node.planning.get_or_insert_default();
        planning.findings.clear();
        planning.log.extend(told_plan(own.agent.as_str(), round, written));
        planning.plans.push(OnePlan { plan: written.clone(), results: None, check: None });
        let nodes = nodes(&planned, planned.main, &prefix, base, own_round);
        let frame = self.frames.len() as u32;
        let cached = CachedPlan::default();
        let _ = cached.0.set(planned.clone());
        let most = most.min(u64::from(u32::MAX)) as u32;
        let open = nodes.len() as u32;
        self.add_frame(Frame {
            instance,
            kind: FrameKind::Written(WrittenFrame { most, active: 0, waiting: Default::default(), planned: cached }),
            parent: Some(at),
            nodes,
            open,
            mood: Mood::Going,
            failure: None,
        });
        self.node_mut(at).work = StepWork::Inner { frame, case: None };
        for node in 0..open {
            let inner = NodeRef { frame, node };
            if self.node(inner).waits_for == 0 {
                self.make_ready(&planned, inner);
            }
        }
        self.give_places(plan, frame);
    }

    pub(super) fn plan_refused(&mut self, path: &str, round: u32, findings: &[String]) {
        let Some(at) = self.find(path) else { return };
        let planning = self.node_mut(at).planning.get_or_insert_default();
        planning.findings = findings.to_vec();
        planning.log.push(format!("Plan {round} was refused: {}", findings.join("; ")));
    }

    pub(super) fn plan_ended(&mut self, path: &str) {
        let Some(at) = self.find(path) else { return };
        let StepWork::Inner { frame, .. } = self.node(at).work else { return };
        let results = self.results(at, frame);
        self.drop_frame(frame);
        let node = self.node_mut(at);
        node.work = StepWork::None;
        if let Some(last) = node.planning.as_mut().and_then(|planning| planning.plans.last_mut()) {
            last.results = Some(results);
        }
    }

    pub(super) fn plan_checked(&mut self, plan: &Plan, path: &str, fulfilled: bool, progress: &str) {
        let Some(at) = self.find(path) else { return };
        let holder = self.planned(plan, at.frame).step(self.node(at).step).step.clone();
        let StepKind::Plan(own) = &holder.kind else { return };
        self.end_conversation(at);
        let node = self.node_mut(at);
        let Some(planning) = &mut node.planning else { return };
        let answer = if fulfilled { "the work is done" } else { "the work is not done" };
        let checker = own.check.as_ref().map(|check| check.as_str()).unwrap_or_default();
        planning.log.push(format!("{checker} says that {answer}: {progress}"));
        if let Some(last) = planning.plans.last_mut() {
            last.check = Some((fulfilled, progress.to_string()));
        }
    }

    /// Keeps what a conversation cost; the next thing is begun anew.
    fn end_conversation(&mut self, at: NodeRef) {
        let node = self.node_mut(at);
        if let StepWork::Asking(asking) = std::mem::take(&mut node.work) {
            let planning = node.planning.get_or_insert_default();
            planning.talks.push(Talk { agent: asking.agent, usage: asking.usage, untold: asking.untold, uses: asking.uses });
            planning.attempts += asking.attempts;
            planning.model = Some(asking.answered_by.unwrap_or(asking.model));
        }
    }

    /// What became of the steps of the present plan, as in the output.
    fn results(&self, at: NodeRef, frame: u32) -> Vec<SharedValue> {
        let last = self.node(at).planning.as_ref().and_then(|planning| planning.plans.last());
        let steps = last.map(|one| one.plan.steps.as_slice()).unwrap_or_default();
        let result = |(step, node): (&WrittenStep, &StepNode)| {
            let with = match &step.prompt {
                Some(prompt) => json!({ "prompt": prompt }),
                None => Value::Object(step.with.clone()),
            };
            Arc::new(json!({
                "id": step.id,
                "use": step.uses,
                "with": with,
                "depends_on": step.depends_on,
                "status": node.status.word(),
                "output": node.output.as_deref().unwrap_or(&Value::Null),
                "error": node.error.as_deref().unwrap_or(&Value::Null),
            }))
        };
        steps.iter().zip(&self.frame(frame).nodes).map(result).collect()
    }

    /// A plan of which a step failed, and that counts as a success all the same, makes its pipeline `partial`.
    pub(super) fn note_failed_inside(&mut self, at: NodeRef) {
        if self.node(at).planning.as_ref().is_some_and(|planning| planning.has_failed()) {
            let (instance, place) = (self.instance_of(at), self.own_place(at));
            self.instance_mut(instance).ending.partial.add(place);
        }
    }

    /// Notes in the log of a plan that one of its steps began a try.
    pub(super) fn tell_started(&mut self, at: NodeRef, step: &Step, attempt: u32) {
        if self.planner(at).is_none() {
            return;
        }
        let agents = step.kind.agents_with_tools();
        let asks = agents.first().map(|agent| format!("asks agent {}", agent.value));
        let Some(what) = asks.or_else(|| Some(format!("uses {}", step.kind.may_use().first()?.value))) else { return };
        let again = if attempt > 1 { format!(" (try {attempt})") } else { String::new() };
        self.tell(at, format!("{} {what}{again}.", step.id.value));
    }

    /// Notes in the log of a plan that one of its steps is over.
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
    /// What became of the steps of all plans that are over.
    pub(crate) fn results(&self) -> impl Iterator<Item = &Value> {
        self.plans.iter().filter_map(|one| one.results.as_ref()).flatten().map(|result| &**result)
    }

    /// Ids of the steps of all plans.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.plans.iter().flat_map(|one| &one.plan.steps).map(|step| step.id.clone()).collect()
    }

    /// Whether a step failed in a plan that is over.
    pub(crate) fn has_failed(&self) -> bool {
        self.results().any(|result| result["status"] == StepStatus::Failed.word())
    }
}

/// A plan in sentences: what it is, why, and which step uses what.
fn told_plan(agent: &str, round: u32, plan: &WrittenPlan) -> Vec<String> {
    let count = plan.steps.len();
    let steps = if count == 1 { "1 step".to_string() } else { format!("{count} steps") };
    let mut told = vec![format!("Plan {round} by {agent}: {steps}, {}. Reason: {}", plan.strategy.word(), plan.reasoning)];
    let after = |step: &WrittenStep| match step.depends_on.is_empty() {
        true => String::new(),
        false => format!(" after {}", step.depends_on.join(", ")),
    };
    told.extend(plan.steps.iter().map(|step| format!("Planned: {} with {}{}.", step.id, step.uses, after(step))));
    told
}
