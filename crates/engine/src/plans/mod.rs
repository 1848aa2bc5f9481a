//! `plan` steps: an agent writes a plan, its steps run, and another agent may decide that one more plan is needed.
//!
//! The next action follows from the plans in the state; see `next`.

pub(crate) mod texts;

use serde_json::{Map, Value, json};

use crate::event::{Failure, FailureKind, Happening, StepStatus, Usage};
use crate::gate::reading::{self, Reading};
use crate::gate::wanted;
use crate::model::{ActKind, MOST_PLAN_REPAIRS, OnFailure, PlanRules, PlanStep, PlanStrategy, Step, StepKind, WrittenPlan, WrittenStep};
use crate::model_calls::TalkTurn;
use crate::parts::{Conversations, Plans, Scheduler};
use crate::policy::{Act, decide};
use crate::state::tally::SetAside;
use crate::state::{Mood, NodeRef, OnePlan, PlanResult, Planning, StepWork};
use crate::steps::Kind;
use crate::{Run, shape};

/// The most problems of one plan that are reported.
const MOST_FINDINGS: usize = 20;

/// The next action of a `plan` step.
enum Next<'s> {
    /// Wait for the steps of the plan.
    Wait,
    /// Request a plan.
    Plan,
    /// Ask this agent whether the work is done.
    Check(&'s str),
    /// End the step.
    End,
}

impl Kind for PlanStep {
    /// Continues after the start, a reply, the end of its steps, a backoff, or the wait for a permit.
    fn go_on(&self, run: &mut Run, at: NodeRef) -> Result<(), Failure> {
        if run.state.node(at).ended_by.is_some() {
            return Ok(());
        }
        let step = run.step(at);
        match next(&step, self, run.state.planning(at), &run.state.node(at).work) {
            Next::Wait => {}
            Next::Plan => run.ask_for_plan(at, &step, self)?,
            Next::Check(checker) => run.ask_whether_done(at, self, checker)?,
            Next::End => run.end_plan(at, &step),
        }
        Ok(())
    }
}

impl Run {
    fn ask_for_plan(&mut self, at: NodeRef, step: &Step, own: &PlanStep) -> Result<(), Failure> {
        let findings = self.state.planning(at).map(|planning| planning.findings.clone()).unwrap_or_default();
        if !findings.is_empty() {
            return if self.talks().waits_for_permit(at) { Ok(()) } else { self.send_back(at, own, &findings) };
        }
        let Some(text) = self.talks().converse(at, &own.agent.value, &|run, opens| run.plans().plan_brief(at, own, opens))? else {
            return Ok(());
        };
        let round = self.plans().plans_so_far(at) + 1;
        match self.read_plan(at, step, own, &text) {
            Ok(plan) => {
                self.emit(Happening::PlanAccepted { step: self.path(at), round, plan: plan.into() });
                Ok(())
            }
            Err(mut findings) => {
                findings.truncate(MOST_FINDINGS);
                self.emit(Happening::PlanRefused { step: self.path(at), round, findings: findings.clone() });
                self.send_back(at, own, &findings)
            }
        }
    }

    /// Sends a rejected plan back, once; then the step fails.
    fn send_back(&mut self, at: NodeRef, own: &PlanStep, findings: &[String]) -> Result<(), Failure> {
        if self.state.talk(at).is_none_or(|talk| talk.repairs >= MOST_PLAN_REPAIRS) {
            self.talks().fail_asking(at, Failure::new(FailureKind::BadShape, format!("the plan was rejected: {}", findings.join("; "))));
            return Ok(());
        }
        let list: String = findings.iter().map(|finding| format!("- {finding}\n")).collect();
        let text = format!("Your plan was refused:\n{list}Answer again with the whole plan as one JSON object, and nothing else.");
        let brief = self.plans().plan_brief(at, own, false)?;
        self.talks().send(at, brief, TalkTurn::Repair(text))
    }

    /// Reads and checks a plan, or returns its problems.
    fn read_plan(&mut self, at: NodeRef, step: &Step, own: &PlanStep, text: &str) -> Result<WrittenPlan, Vec<String>> {
        let usable = self.plans().usable(at, own).map_err(|failure| vec![failure.message])?;
        let Reading { value, notes } = reading::read_plan(text, &usable, own.most_steps()).map_err(|error| vec![error.to_string()])?;
        let earlier = self.state.planning(at).map(Planning::ids).unwrap_or_default();
        let pipeline = self.planned_of(at).pipeline.clone();
        let rules = PlanRules { pipeline: &pipeline, holder: step, usable: &usable, most_steps: own.most_steps(), earlier: &earlier };
        let plan = self.options.written.plan(&value, &rules)?;
        let refused = self.outside_policy(at, own, &plan);
        if !refused.is_empty() {
            return Err(refused);
        }
        self.talks().note_reading(at, notes);
        Ok(plan)
    }

    /// Problems of a plan: tools that a policy rejects with these arguments. Each rejection is recorded as a decision; a tool that is allowed is
    /// decided on when it is called.
    fn outside_policy(&mut self, at: NodeRef, own: &PlanStep, plan: &WrittenPlan) -> Vec<String> {
        let policies = self.policies(at, Some(&own.agent.value));
        let agents = &self.planned_of(at).pipeline.agents;
        let mut refused = vec![];
        for step in plan.steps.iter().filter(|step| !agents.contains_key(&step.uses)) {
            let arguments = Value::Object(step.with.clone());
            let decision = decide(&policies, &Act::Tool { name: &step.uses, arguments: Some(&arguments) });
            if decision.is_denied() {
                refused.push((step, decision));
            }
        }
        let message = |step: &WrittenStep, rule: &str| format!("plan step \"{}\": tool \"{}\" is not allowed: {rule}", step.id, step.uses);
        let findings = refused.iter().map(|(step, decision)| message(step, &decision.rule)).collect();
        for (step, decision) in refused {
            // Only the plan is rejected.
            let _ =
                self.gatekeeper().record_decision(at, Some(&own.agent.value), (ActKind::Tool, step.uses.clone()), decision, String::new());
        }
        findings
    }

    fn ask_whether_done(&mut self, at: NodeRef, own: &PlanStep, checker: &str) -> Result<(), Failure> {
        let Some(text) = self.talks().converse(at, checker, &|run, opens| run.plans().check_brief(at, own, checker, opens))? else {
            return Ok(());
        };
        let schema = reading::loosened(wanted::fulfilled());
        let read = reading::read(&text, &schema).map_err(|error| vec![error.to_string()]).and_then(|read| {
            let problems = shape::problems(&schema, &read.value);
            if problems.is_empty() { Ok(read) } else { Err(problems) }
        });
        match read {
            Err(problems) => {
                let brief = self.plans().check_brief(at, own, checker, false)?;
                self.talks().repair(at, brief, &problems)
            }
            Ok(Reading { value, notes }) => {
                self.talks().note_reading(at, notes);
                let progress = value["progress"].as_str().unwrap_or_default().to_string();
                let (round, fulfilled) = (self.plans().plans_so_far(at), value["fulfilled"] == true);
                self.emit(Happening::PlanChecked { step: self.path(at), round, fulfilled, progress });
                own.go_on(self, at)
            }
        }
    }

    /// Ends the step. It fails if steps of its plans failed and none succeeded, or under `on_failure: stop` if one failed.
    fn end_plan(&mut self, at: NodeRef, step: &Step) {
        let Some(planning) = self.state.planning(at) else { return };
        let output = output(planning);
        let failed: Vec<&PlanResult> = planning.failed().collect();
        let has_any = planning.results().any(|result| result.status == StepStatus::Succeeded);
        let details = self.conversations().model_details(at);
        if failed.is_empty() || has_any && step.on_failure != OnFailure::Stop {
            return self.succeed(at, output, Some(details));
        }
        let count = planning.results().count();
        let kinds = || failed.iter().filter_map(|result| Some(result.error.as_ref()?.kind));
        // The kind is that of an unmet gate only if nothing else went wrong.
        let kind = kinds().find(|kind| *kind != FailureKind::Quality).or_else(|| kinds().next()).unwrap_or(FailureKind::Internal);
        let errors: Vec<String> = failed.iter().map(|result| result.told_error()).collect();
        let message = format!("{} of {count} steps of the plan failed: {}", failed.len(), errors.join("; "));
        self.fail_attempt_told(at, Failure::new(kind, message), Some(details));
    }
}

impl Scheduler<'_> {
    /// Handles the end of the steps of a plan.
    pub(crate) fn plan_over(&mut self, at: NodeRef, ix: u32) {
        if self.state.frame(ix).mood == Mood::Cancelling {
            return self.cancelled(at);
        }
        self.0.emit(Happening::PlanEnded { step: self.path(at), round: self.plans().plans_so_far(at) });
        self.ask_on(at);
    }
}

impl Plans<'_> {
    fn plans_so_far(&self, at: NodeRef) -> u32 {
        self.state.planning(at).map_or(0, |planning| planning.plans.len()) as u32
    }

    /// The details of a failed `plan` step: what would have been its output, if steps of a plan have ended.
    pub(crate) fn with_plan_details(&self, at: NodeRef, details: Option<Value>) -> Option<Value> {
        let Some(planning) = self.state.planning(at).filter(|planning| planning.results().next().is_some()) else { return details };
        let mut details = details.unwrap_or_else(|| self.conversations().model_details(at));
        details["plan"] = output(planning);
        Some(details)
    }
}

impl Conversations<'_> {
    /// The number of the step's current conversation, from 0: a `plan` step requests plans, and after each asks whether the work is done; a `task` step asks for
    /// tries, and after each its judges; a `dialogue` step has a turn after the other.
    pub(crate) fn conversation(&self, at: NodeRef) -> usize {
        let step = self.step(at);
        if matches!(step.kind, StepKind::Task(_) | StepKind::Dialogue(_)) {
            return self.state.ended_talks(at).len();
        }
        let (StepKind::Plan(own), Some(planning)) = (&step.kind, self.state.planning(at)) else { return 0 };
        let checks = matches!(next(&step, own, Some(planning), &self.state.node(at).work), Next::Check(_));
        2 * planning.plans.len() - usize::from(checks)
    }

    /// The usage of an agent in the ended conversations of a step, the cost kept for calls that reported none, and the number of its tool calls.
    pub(crate) fn spent_before(&self, at: NodeRef, agent: &str) -> (Usage, SetAside, usize) {
        let mut spent = (Usage::default(), SetAside::default(), 0);
        let of_judges = self.state.talk(at).map(|talk| talk.before.as_slice()).unwrap_or_default();
        for talk in self.state.ended_talks(at).iter().chain(of_judges).filter(|talk| talk.agent == agent) {
            spent.0.add(&talk.usage);
            spent.1.add(&talk.untold);
            spent.2 += talk.uses.len();
        }
        spent
    }
}

fn next<'s>(step: &Step, own: &'s PlanStep, planning: Option<&Planning>, work: &StepWork) -> Next<'s> {
    if matches!(work, StepWork::Inner { .. }) {
        return Next::Wait;
    }
    let Some(planning) = planning else { return Next::Plan };
    let Some(OnePlan { results: Some(_), check, .. }) = planning.plans.last() else { return Next::Plan };
    let is_failing = step.on_failure == OnFailure::Stop && planning.failed().next().is_some();
    match (check, &own.check) {
        _ if is_failing => Next::End,
        (None, Some(checker)) => Next::Check(checker.as_str()),
        (Some((false, _)), _) if (planning.plans.len() as u64) < own.most_plans() => Next::Plan,
        _ => Next::End,
    }
}

/// The output of a `plan` step.
fn output(planning: &Planning) -> Value {
    let first = planning.plans.last().map(|one| &one.plan);
    let mut by_use = Map::new();
    let mut invoked: Vec<&str> = vec![];
    for result in planning.results() {
        if result.status == StepStatus::Succeeded {
            by_use.insert(result.uses.clone(), (*result.output).clone());
        }
        if matches!(result.status, StepStatus::Succeeded | StepStatus::Failed) && !invoked.contains(&&*result.uses) {
            invoked.push(&result.uses);
        }
    }
    let errors: Vec<String> = planning.failed().map(PlanResult::told_error).collect();
    let checked = planning.plans.last().and_then(|one| one.check.as_ref());
    let all_succeeded = planning.results().all(|result| result.status == StepStatus::Succeeded);
    json!({
        "strategy": first.map_or(PlanStrategy::Parallel, |plan| plan.strategy).word(),
        "reasoning": first.map(|plan| plan.reasoning.as_str()).unwrap_or_default(),
        "steps": planning.results().collect::<Vec<_>>(),
        "by_use": by_use,
        "invoked": invoked,
        "errors": errors,
        "log": planning.log,
        "fulfilled": checked.map_or(all_succeeded, |(fulfilled, _)| *fulfilled),
        "progress": checked.map(|(_, progress)| progress.as_str()).unwrap_or_default(),
    })
}
