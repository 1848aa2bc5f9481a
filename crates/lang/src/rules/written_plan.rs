//! A plan that a model wrote: what it uses (F300), the arguments it gives (F303), what its steps depend on (F100, F013). There is no
//! file, so findings have no place; their messages name the step.

use std::collections::HashSet;

use serde_json::Value;

use super::files::unknown_reference;
use super::prelude::{Diagnostic, listed};
use super::steps::tool_arguments;
use crate::diagnostic::{Hints, cut};
use crate::gate::schema_problems;
use crate::model::{Pipeline, PlanRules, Usable, WrittenPlan, WrittenStep};
use crate::source::Span;

/// Most characters of a finding: a model reads it, so it may be longer than a line.
const LONGEST_FINDING: usize = 500;
/// Most findings about the arguments of one step.
const MOST_PROBLEMS: usize = 10;

/// Checks a plan by what it may use.
pub(crate) fn check_written_plan(plan: &WrittenPlan, rules: &PlanRules, out: &mut Vec<Diagnostic>) {
    let hints = Hints::default();
    let known: HashSet<&str> = plan.steps.iter().map(|step| step.id.as_str()).chain(rules.earlier.iter().map(String::as_str)).collect();
    for step in &plan.steps {
        let owner = format!("plan step \"{}\"", step.id);
        if rules.earlier.contains(&step.id) {
            let message = format!("{owner} has the id of a step of an earlier plan");
            out.push(Diagnostic::duplicate_id(Span::default(), told(&message)).help("give it another id"));
        }
        for name in step.depends_on.iter().filter(|name| !known.contains(name.as_str())) {
            let hint = hints.did_you_mean(name, known.iter().copied().filter(|id| *id != step.id));
            let message = format!("{owner} depends on \"{name}\", which does not exist{hint}");
            out.push(
                Diagnostic::unknown_step(Span::default(), told(&message))
                    .near(hint)
                    .help("name steps of the plan, or leave depends_on out"),
            );
        }
        match rules.usable.iter().find(|usable| usable.name == step.uses) {
            Some(usable) => given(step, usable, &owner, out),
            None => out.push(not_usable(step, rules, &owner, &hints)),
        }
    }
}

fn not_usable(step: &WrittenStep, rules: &PlanRules, owner: &str, hints: &Hints) -> Diagnostic {
    let is_there = exists(rules.pipeline, &step.uses);
    let usable = rules.usable.iter().filter(|_| !is_there).map(|usable| usable.name.as_str());
    let near = hints.did_you_mean(&step.uses, usable);
    let problem = if is_there { "is not in may_use" } else { "does not exist" };
    let names = listed(rules.usable.iter().map(|usable| &usable.name));
    unknown_reference::found(Span::default(), told(&format!("{owner} uses \"{}\", which {problem}{near}", step.uses)))
        .near(near)
        .help(format!("use one of: {names}"))
}

fn exists(pipeline: &Pipeline, name: &str) -> bool {
    pipeline.agents.contains_key(name) || pipeline.tool(name).is_some()
}

/// A prompt for an agent, arguments for a tool.
fn given(step: &WrittenStep, usable: &Usable, owner: &str, out: &mut Vec<Diagnostic>) {
    let wrong = |message: String, help: &str| tool_arguments::found(Span::default(), told(&message)).help(help);
    let Some(takes) = &usable.takes else {
        if step.prompt.as_ref().is_none_or(|prompt| prompt.trim().is_empty()) {
            let message = format!("{owner} uses agent \"{}\" and has no \"prompt\"", step.uses);
            out.push(Diagnostic::missing_key(Span::default(), told(&message)).help("write what the agent is asked"));
        }
        if !step.with.is_empty() {
            let message = format!("{owner} uses agent \"{}\", which takes no \"with\"", step.uses);
            out.push(wrong(message, "put what it needs to know into prompt"));
        }
        return;
    };
    if step.prompt.is_some() {
        let message = format!("{owner} uses tool \"{}\", which takes no \"prompt\"", step.uses);
        out.push(wrong(message, "give the arguments of the tool in with"));
    }
    if takes.needs_previous && step.depends_on.is_empty() {
        let message = format!("{owner} uses tool \"{}\", which needs the outputs of other steps", step.uses);
        out.push(wrong(message, "name the steps in depends_on"));
    }
    for problem in schema_problems(&takes.schema, &Value::Object(step.with.clone())).into_iter().take(MOST_PROBLEMS) {
        let message = format!("the arguments of {owner} do not fit tool \"{}\": {problem}", step.uses);
        out.push(wrong(message, "give what the tool takes, in with"));
    }
}

/// A message, cut.
fn told(message: &str) -> String {
    cut(message, LONGEST_FINDING)
}
