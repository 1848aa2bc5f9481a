//! `plan` steps: an agent writes a plan, its steps run, and another agent may decide that one more plan is needed.
//!
//! The next action follows from the plans in the state; see `next`.

pub(crate) mod texts;

use serde_json::{Map, Value};

use crate::Context;
use crate::event::{Failure, FailureKind, Happening, PlanOutput, PlanResult, StepStatus, Usage};
use crate::gate::reading::{self, Reading};
use crate::gate::wanted;
use crate::model::{ActKind, MOST_PLAN_REPAIRS, OnFailure, PlanRules, PlanStep, PlanStrategy, Sample, Step, StepKind, WrittenPlan};
use crate::parts::{Conversations, Plans, Scheduler};
use crate::policy::{Act, decide};
use crate::questions::Brief;
use crate::shape;
use crate::state::tally::SetAside;
use crate::state::{Mood, NodeRef, OnePlan, Planning, StepWork};
use crate::steps::Kind;
use crate::steps::decision::{StepDecision, Then};

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
    fn next(&self, context: &Context, at: NodeRef) -> Result<StepDecision, Failure> {
        if context.state.steps.node(at).ended_by.is_some() {
            return Ok(Then::Wait.into());
        }
        let planning = context.state.steps.node(at).planning.as_deref();
        Ok(match context.plans().next(at, self) {
            Next::Wait => Then::Wait.into(),
            Next::Plan => match planning.map(|planning| planning.findings.as_slice()).unwrap_or_default() {
                [] => Then::Ask(self.agent.value.clone()).into(),
                findings => context.plans().send_back(at, findings).into(),
            },
            Next::Check(checker) => Then::Ask(checker.to_owned()).into(),
            Next::End => planning.map_or(Then::Wait, |planning| context.plans().end(at, planning)).into(),
        })
    }

    fn brief(&self, context: &Context, at: NodeRef, opens: bool) -> Result<Brief, Failure> {
        match context.plans().next(at, self) {
            Next::Check(checker) => context.plans().check_brief(at, self, checker, opens),
            Next::Wait | Next::Plan | Next::End => context.plans().plan_brief(at, self, opens),
        }
    }

    fn heard(&self, context: &Context, at: NodeRef, text: &str) -> Result<StepDecision, Failure> {
        let (step, round) = (context.path(at), context.plans().plans_so_far(at));
        if let Next::Check(_) = context.plans().next(at, self) {
            let Reading { value, notes } = match read_check(text) {
                Ok(read) => read,
                Err(problems) => return Ok(Then::Repair(problems).into()),
            };
            let progress = value["progress"].as_str().unwrap_or_default().to_string();
            let checked = Happening::PlanChecked { step, round, fulfilled: value["fulfilled"] == true, progress };
            let events = context.conversations().reading(at, notes).into_iter().chain([checked]).collect();
            return Ok(StepDecision { events, then: Then::GoOn });
        }
        let round = round + 1;
        let (mut events, read) = context.plans().read_plan(at, self, text);
        let then = match read {
            Ok(plan) => {
                events.push(Happening::PlanAccepted { step, round, plan: plan.into() });
                Then::Wait
            }
            Err(mut findings) => {
                findings.truncate(MOST_FINDINGS);
                events.push(Happening::PlanRefused { step, round, findings: findings.clone() });
                context.plans().send_back(at, &findings)
            }
        };
        Ok(StepDecision { events, then })
    }
}

/// Reads the answer of the agent that says whether the work is done.
fn read_check(text: &str) -> Result<Reading, Vec<String>> {
    let schema = reading::loosened(wanted::fulfilled());
    let read = reading::read(text, &schema).map_err(|error| vec![error.to_string()])?;
    let problems = shape::problems(&schema, &read.value);
    if problems.is_empty() { Ok(read) } else { Err(problems) }
}

impl Plans<'_> {
    fn next<'s>(&self, at: NodeRef, own: &'s PlanStep) -> Next<'s> {
        next(&self.step(at), own, self.state.steps.node(at).planning.as_deref(), &self.state.steps.node(at).work)
    }

    /// A rejected plan goes back, once; then the step fails.
    fn send_back(&self, at: NodeRef, findings: &[String]) -> Then {
        if self.state.steps.node(at).talk().is_none_or(|talk| talk.repairs >= MOST_PLAN_REPAIRS) {
            let failure = Failure::new(FailureKind::BadShape, format!("the plan was rejected: {}", findings.join("; ")));
            return Then::Fail(failure, Some(self.conversations().model_details(at)));
        }
        let list: String = findings.iter().map(|finding| format!("- {finding}\n")).collect();
        Then::SendBack(format!("Your plan was refused:\n{list}Answer again with the whole plan as one JSON object, and nothing else."))
    }

    /// Reads and checks a plan, or returns its problems; with what is recorded of that.
    fn read_plan(&self, at: NodeRef, own: &PlanStep, text: &str) -> (Vec<Happening>, Result<WrittenPlan, Vec<String>>) {
        let read = || {
            let usable = self.usable(at, own).map_err(|failure| vec![failure.message])?;
            let Reading { value, notes } = reading::read_plan(text, &usable, own.most_steps()).map_err(|error| vec![error.to_string()])?;
            let earlier = self.state.steps.node(at).planning.as_deref().map(Planning::ids).unwrap_or_default();
            let (pipeline, holder) = (&self.planned_of(at).pipeline, self.step(at));
            let rules = PlanRules { pipeline, holder: &holder, usable: &usable, most_steps: own.most_steps(), earlier: &earlier };
            Ok((self.options.written.plan(&value, &rules)?, notes))
        };
        let (plan, notes) = match read() {
            Ok(read) => read,
            Err(findings) => return (vec![], Err(findings)),
        };
        let (refused, findings): (Vec<Happening>, Vec<String>) = self.outside_policy(at, own, &plan).into_iter().unzip();
        match findings.is_empty() {
            true => (self.conversations().reading(at, notes).into_iter().collect(), Ok(plan)),
            false => (refused, Err(findings)),
        }
    }

    /// Tools of a plan that a policy rejects with these arguments: the decision and the problem. A tool that is allowed is decided on when it is
    /// called.
    fn outside_policy(&self, at: NodeRef, own: &PlanStep, plan: &WrittenPlan) -> Vec<(Happening, String)> {
        let policies = self.policies(at, Some(&own.agent.value));
        let agents = &self.planned_of(at).pipeline.agents;
        let refused = plan.steps.iter().filter(|step| !agents.contains_key(&step.uses)).filter_map(|step| {
            let arguments = Value::Object(step.with.clone());
            let decision = decide(&policies, &Act::Tool { name: &step.uses, arguments: Some(&arguments) });
            decision.is_denied().then_some((step, decision))
        });
        refused
            .map(|(step, decision)| {
                let message = format!("plan step \"{}\": tool \"{}\" is not allowed: {}", step.id, step.uses, decision.rule);
                let act = (ActKind::Tool, step.uses.clone());
                (self.rules().decision(at, Some(&own.agent.value), act, decision, String::new()), message)
            })
            .collect()
    }

    /// Ends the step. It fails if steps of its plans failed and none succeeded, or under `on_failure: stop` if one failed.
    fn end(&self, at: NodeRef, planning: &Planning) -> Then {
        let output = output(planning);
        let failed: Vec<&PlanResult> = planning.failed().collect();
        let has_any = planning.results().any(|result| result.status == StepStatus::Succeeded);
        let details = self.conversations().model_details(at);
        if failed.is_empty() || has_any && self.step(at).on_failure != OnFailure::Stop {
            return Then::Succeed(output, Some(details));
        }
        let count = planning.results().count();
        let kinds = || failed.iter().filter_map(|result| Some(result.error.as_ref()?.kind));
        // The kind is that of an unmet gate only if nothing else went wrong.
        let kind = kinds().find(|kind| *kind != FailureKind::Quality).or_else(|| kinds().next()).unwrap_or(FailureKind::Internal);
        let errors: Vec<String> = failed.iter().map(|result| result.error_text()).collect();
        let message = format!("{} of {count} steps of the plan failed: {}", failed.len(), errors.join("; "));
        Then::FailAttempt(Failure::new(kind, message), Some(details))
    }
}

impl Scheduler<'_> {
    /// Handles the end of the steps of a plan.
    pub(crate) fn plan_over(&mut self, at: NodeRef, ix: u32) {
        if self.state.steps.frame(ix).mood == Mood::Cancelling {
            return self.cancelled(at);
        }
        self.0.emit(Happening::PlanEnded { step: self.path(at), round: self.plans().plans_so_far(at) });
        self.ask_on(at);
    }
}

impl Plans<'_> {
    fn plans_so_far(&self, at: NodeRef) -> u32 {
        self.state.steps.node(at).planning.as_deref().map_or(0, |planning| planning.plans.len()) as u32
    }

    /// The details of a failed `plan` step: what would have been its output, if steps of a plan have ended.
    pub(crate) fn with_plan_details(&self, at: NodeRef, details: Option<Value>) -> Option<Value> {
        let Some(planning) = self.state.steps.node(at).planning.as_deref().filter(|planning| planning.results().next().is_some()) else {
            return details;
        };
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
            return self.state.steps.node(at).ended_talks().len();
        }
        let (StepKind::Plan(own), Some(planning)) = (&step.kind, self.state.steps.node(at).planning.as_deref()) else { return 0 };
        let checks = matches!(next(&step, own, Some(planning), &self.state.steps.node(at).work), Next::Check(_));
        2 * planning.plans.len() - usize::from(checks)
    }

    /// The usage of an agent in the ended conversations of a step, the cost kept for calls that reported none, and the number of its tool calls.
    pub(crate) fn spent_before(&self, at: NodeRef, agent: &str) -> (Usage, SetAside, usize) {
        let mut spent = (Usage::default(), SetAside::default(), 0);
        let of_judges = self.state.steps.node(at).talk().map(|talk| talk.before.as_slice()).unwrap_or_default();
        for talk in self.state.steps.node(at).ended_talks().iter().chain(of_judges).filter(|talk| talk.agent == agent) {
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
    let mut invoked: Vec<String> = vec![];
    for result in planning.results() {
        if result.status == StepStatus::Succeeded {
            by_use.insert(result.r#use.clone(), (*result.output).clone());
        }
        if matches!(result.status, StepStatus::Succeeded | StepStatus::Failed) && !invoked.contains(&result.r#use) {
            invoked.push(result.r#use.clone());
        }
    }
    let errors: Vec<String> = planning.failed().map(PlanResult::error_text).collect();
    let checked = planning.plans.last().and_then(|one| one.check.as_ref());
    let all_succeeded = planning.results().all(|result| result.status == StepStatus::Succeeded);
    let output = PlanOutput {
        strategy: first.map_or(PlanStrategy::Parallel, |plan| plan.strategy).word().to_owned(),
        reasoning: first.map(|plan| plan.reasoning.clone()).unwrap_or_default(),
        steps: planning.results().cloned().collect(),
        by_use,
        invoked,
        errors,
        log: planning.log.clone(),
        fulfilled: checked.map_or(all_succeeded, |(fulfilled, _)| *fulfilled),
        progress: checked.map(|(_, progress)| progress.clone()).unwrap_or_default(),
    };
    output.into_value()
}
