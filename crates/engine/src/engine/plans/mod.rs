//! `plan` steps: an agent writes a plan, its steps run, and another agent may say that one more plan is needed.
//!
//! What comes next follows from the plans that the state holds; see `next`.

pub(crate) mod texts;

use serde_json::{Map, Value, json};

use crate::engine::model_calls::TalkTurn;
use crate::engine::plans::texts::check_schema;
use crate::engine::state::tally::SetAside;
use crate::engine::state::{Mood, NodeRef, OnePlan, Planning, StepWork};
use crate::engine::{Run, shape};
use crate::event::{Failure, FailureKind, Happening, SharedValue, StepStatus, Usage};
use crate::model::{ActKind, MOST_PLAN_REPAIRS, OnFailure, PlanRules, PlanStep, PlanStrategy, Step, StepKind, WrittenPlan};
use crate::policy::{Act, decide};

/// Findings about one plan that are told.
const MOST_FINDINGS: usize = 20;

/// What a `plan` step does next.
enum Next {
    /// Its steps run.
    Wait,
    /// It asks for a plan.
    Plan,
    /// It asks whether the work is done.
    Check,
    /// It ends.
    End,
}

impl Run {
    /// Goes on with a `plan` step: after the start, an answer, the end of its steps, a backoff, or the wait for a permit.
    pub(crate) fn plan_on(&mut self, at: NodeRef, own: &PlanStep) -> Result<(), Failure> {
        if self.state.node(at).ended_by.is_some() {
            return Ok(());
        }
        let step = self.step(at);
        match next(&step, own, self.state.node(at).planning.as_deref(), &self.state.node(at).work) {
            Next::Wait => Ok(()),
            Next::Plan => self.ask_for_plan(at, &step, own),
            Next::Check => match &own.check {
                Some(check) => self.ask_whether_done(at, own, check.as_str()),
                None => Ok(()),
            },
            Next::End => {
                self.end_plan(at, &step);
                Ok(())
            }
        }
    }

    fn ask_for_plan(&mut self, at: NodeRef, step: &Step, own: &PlanStep) -> Result<(), Failure> {
        let findings = self.state.node(at).planning.as_ref().map(|planning| planning.findings.clone()).unwrap_or_default();
        if !findings.is_empty() {
            return if self.waits_for_permit(at) { Ok(()) } else { self.send_back(at, own, &findings) };
        }
        let Some(text) = self.converse(at, &own.agent.value, &|run| run.plan_brief(at, own))? else { return Ok(()) };
        let path = self.state.node(at).path.clone();
        let round = self.state.node(at).planning.as_ref().map_or(0, |planning| planning.plans.len()) as u32 + 1;
        match self.read_plan(at, step, own, &text) {
            Ok(plan) => {
                self.emit(Happening::PlanAccepted { step: path, round, plan: plan.into() });
                Ok(())
            }
            Err(mut findings) => {
                findings.truncate(MOST_FINDINGS);
                self.emit(Happening::PlanRefused { step: path, round, findings: findings.clone() });
                self.send_back(at, own, &findings)
            }
        }
    }

    /// Sends a plan that was refused back, once; then the step fails.
    fn send_back(&mut self, at: NodeRef, own: &PlanStep, findings: &[String]) -> Result<(), Failure> {
        let StepWork::Asking(asking) = &self.state.node(at).work else { return Ok(()) };
        if asking.repairs >= MOST_PLAN_REPAIRS {
            self.fail_asking(at, Failure::new(FailureKind::BadShape, format!("the plan was refused: {}", findings.join("; "))));
            return Ok(());
        }
        let brief = self.plan_brief(at, own)?;
        let list: Vec<String> = findings.iter().map(|finding| format!("- {finding}")).collect();
        let text =
            format!("Your plan was refused:\n{}\nAnswer again with the whole plan as one JSON object, and nothing else.", list.join("\n"));
        self.send(at, &brief, TalkTurn::Repair(text))
    }

    /// A plan that passed its check, or what is wrong with it.
    fn read_plan(&mut self, at: NodeRef, step: &Step, own: &PlanStep, text: &str) -> Result<WrittenPlan, Vec<String>> {
        let value = shape::json_in(text).map_err(|error| vec![error.to_string()])?;
        let usable = self.usable(at, own).map_err(|failure| vec![failure.message])?;
        let earlier = self.state.node(at).planning.as_ref().map(|planning| planning.ids()).unwrap_or_default();
        let pipeline = self.planned_of(at).pipeline.clone();
        let rules = PlanRules { pipeline: &pipeline, holder: step, usable: &usable, most_steps: own.most_steps(), earlier: &earlier };
        let plan = self.options.written.plan(&value, &rules)?;
        let refused = self.outside_policy(at, own, &plan);
        if refused.is_empty() { Ok(plan) } else { Err(refused) }
    }

    /// Tools of a plan that a policy does not allow with these arguments. Each refusal is a decision that is recorded; what is allowed
    /// is decided when it is done.
    fn outside_policy(&mut self, at: NodeRef, own: &PlanStep, plan: &WrittenPlan) -> Vec<String> {
        let policies = self.policies(at, Some(&own.agent.value));
        let agents = &self.planned_of(at).pipeline.agents;
        let mut refused = vec![];
        for step in plan.steps.iter().filter(|step| !agents.contains_key(&step.uses)) {
            let arguments = Value::Object(step.with.clone());
            let decision = decide(&policies, &Act::Tool { name: &step.uses, arguments: Some(&arguments) });
            if !decision.allowed {
                refused.push((step.id.clone(), step.uses.clone(), decision.rule));
            }
        }
        let path = self.state.node(at).path.clone();
        for (_, tool, rule) in &refused {
            self.emit(Happening::PolicyDecided {
                step: path.clone(),
                agent: own.agent.value.clone(),
                act: ActKind::Tool,
                target: tool.clone(),
                allowed: false,
                rule: rule.clone(),
            });
        }
        refused.into_iter().map(|(id, tool, rule)| format!("plan step \"{id}\": tool \"{tool}\" is not allowed: {rule}")).collect()
    }

    fn ask_whether_done(&mut self, at: NodeRef, own: &PlanStep, checker: &str) -> Result<(), Failure> {
        let Some(text) = self.converse(at, checker, &|run| run.check_brief(at, own, checker))? else { return Ok(()) };
        let read = shape::json_in(&text).map_err(|error| vec![error.to_string()]).and_then(|value| {
            let problems = shape::problems(&check_schema(), &value);
            if problems.is_empty() { Ok(value) } else { Err(problems) }
        });
        match read {
            Err(problems) => {
                let brief = self.check_brief(at, own, checker)?;
                self.repair(at, &brief, &problems)
            }
            Ok(value) => {
                let node = self.state.node(at);
                let round = node.planning.as_ref().map_or(1, |planning| planning.plans.len()) as u32;
                let happening = Happening::PlanChecked {
                    step: node.path.clone(),
                    round,
                    fulfilled: value["fulfilled"] == true,
                    progress: value["progress"].as_str().unwrap_or_default().to_string(),
                };
                self.emit(happening);
                self.plan_on(at, own)
            }
        }
    }

    /// The steps of a plan are over.
    pub(crate) fn plan_over(&mut self, at: NodeRef, ix: u32) {
        if self.state.frame(ix).mood == Mood::Cancelling {
            let step = self.state.node(at).path.clone();
            self.emit(Happening::StepCancelled { step });
            return;
        }
        let node = self.state.node(at);
        let round = node.planning.as_ref().map_or(1, |planning| planning.plans.len()) as u32;
        self.emit(Happening::PlanEnded { step: node.path.clone(), round });
        self.ask_on(at);
    }

    /// The step fails when none of its steps succeeded, or under `on_failure: stop` when one failed.
    fn end_plan(&mut self, at: NodeRef, step: &Step) {
        let Some(planning) = self.state.node(at).planning.as_deref() else { return };
        let output = output(planning);
        let failed: Vec<&Value> = planning.results().filter(|result| is(result, StepStatus::Failed)).collect();
        let has_any = planning.results().any(|result| is(result, StepStatus::Succeeded));
        let mut details = self.plan_details(at);
        if failed.is_empty() || has_any && step.on_failure != OnFailure::Stop {
            return self.succeed(at, output, Some(details));
        }
        let count = planning.results().count();
        let kinds = || failed.iter().map(|result| kind_of(result));
        // What a gate did not let through counts as such only if nothing else went wrong.
        let kind = kinds().find(|kind| *kind != FailureKind::Quality).or_else(|| kinds().next()).unwrap_or(FailureKind::Internal);
        let errors: Vec<String> = failed.iter().map(|result| told_error(result)).collect();
        let message = format!("{} of {count} steps of the plan failed: {}", failed.len(), errors.join("; "));
        details["plan"] = output;
        self.fail_attempt_told(at, Failure::new(kind, message), Some(details));
    }

    /// `details` of a `plan` step: the model, the tokens and the tool calls of its own conversations.
    pub(crate) fn plan_details(&self, at: NodeRef) -> Value {
        let node = self.state.node(at);
        let talks = node.planning.as_ref().map(|planning| planning.talks.as_slice()).unwrap_or_default();
        let mut usage = Usage::default();
        talks.iter().for_each(|talk| usage.add(&talk.usage));
        let mut uses: Vec<&SharedValue> = talks.iter().flat_map(|talk| &talk.uses).collect();
        let mut model = node.planning.as_ref().and_then(|planning| planning.model.clone());
        if let StepWork::Asking(asking) = &node.work {
            usage.add(&asking.usage);
            uses.extend(&asking.uses);
            model = Some(asking.answered_by.clone().unwrap_or_else(|| asking.model.clone()));
        }
        json!({
            "model": model,
            "usage": {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "total_tokens": usage.total_tokens(),
                "cost_usd": usage.cost_usd,
            },
            "tool_calls": uses.iter().map(|used| (***used).clone()).collect::<Value>(),
        })
    }

    /// Which conversation of a step this is, from 0: a `plan` step asks for plans, and after each whether the work is done.
    pub(crate) fn conversation(&self, at: NodeRef) -> usize {
        let step = self.step(at);
        let node = self.state.node(at);
        let (StepKind::Plan(own), Some(planning)) = (&step.kind, node.planning.as_deref()) else { return 0 };
        let checks = matches!(next(&step, own, Some(planning), &node.work), Next::Check);
        2 * planning.plans.len() - usize::from(checks)
    }

    /// What an agent has spent in conversations of a step that are over, what is kept aside of them, and how many tool calls it made.
    pub(crate) fn spent_before(&self, at: NodeRef, agent: &str) -> (Usage, SetAside, usize) {
        let talks = self.state.node(at).planning.as_ref().map(|planning| planning.talks.as_slice()).unwrap_or_default();
        let start = (Usage::default(), SetAside::default(), 0);
        talks.iter().filter(|talk| talk.agent == agent).fold(start, |(mut usage, mut untold, uses), talk| {
            usage.add(&talk.usage);
            untold.add(&talk.untold);
            (usage, untold, uses + talk.uses.len())
        })
    }
}

fn next(step: &Step, own: &PlanStep, planning: Option<&Planning>, work: &StepWork) -> Next {
    if matches!(work, StepWork::Inner { .. }) {
        return Next::Wait;
    }
    let Some(planning) = planning else { return Next::Plan };
    let Some(OnePlan { results: Some(_), check, .. }) = planning.plans.last() else { return Next::Plan };
    let is_failing = step.on_failure == OnFailure::Stop && planning.has_failed();
    match check {
        _ if is_failing => Next::End,
        None if own.check.is_some() => Next::Check,
        Some((false, _)) if (planning.plans.len() as u64) < own.most_plans() => Next::Plan,
        _ => Next::End,
    }
}

/// The output of a `plan` step.
fn output(planning: &Planning) -> Value {
    let first = planning.plans.last().map(|one| &one.plan);
    let mut by_use = Map::new();
    let mut invoked: Vec<&Value> = vec![];
    for result in planning.results() {
        let name = &result["use"];
        if is(result, StepStatus::Succeeded) {
            by_use.insert(name.as_str().unwrap_or_default().to_string(), result["output"].clone());
        }
        let was_started = [StepStatus::Succeeded, StepStatus::Failed].into_iter().any(|status| is(result, status));
        if was_started && !invoked.contains(&name) {
            invoked.push(name);
        }
    }
    let errors: Vec<String> = planning.results().filter(|result| is(result, StepStatus::Failed)).map(told_error).collect();
    let checked = planning.plans.last().and_then(|one| one.check.as_ref()).map(|(fulfilled, _)| *fulfilled);
    let all_succeeded = planning.results().all(|result| is(result, StepStatus::Succeeded));
    json!({
        "strategy": first.map_or(PlanStrategy::Parallel, |plan| plan.strategy).word(),
        "reasoning": first.map(|plan| plan.reasoning.as_str()).unwrap_or_default(),
        "steps": planning.results().cloned().collect::<Vec<Value>>(),
        "by_use": by_use,
        "invoked": invoked,
        "errors": errors,
        "log": planning.log,
        "fulfilled": checked.unwrap_or(all_succeeded),
    })
}

fn is(result: &Value, status: StepStatus) -> bool {
    result["status"] == status.word()
}

fn kind_of(result: &Value) -> FailureKind {
    let word = result["error"]["kind"].as_str().unwrap_or_default();
    word.parse().unwrap_or(FailureKind::Internal)
}

fn told_error(result: &Value) -> String {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let error = &result["error"];
    format!("{} ({}): {}: {}", part(&result["id"]), part(&result["use"]), part(&error["kind"]), part(&error["message"]))
}
