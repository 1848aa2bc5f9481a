//! F318: an agent that only judges or checks has an `output`: what it answers then is asked for by `flow`, so its own shape is never used.

use std::collections::HashSet;

use crate::model::{Shape, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let mut answers: HashSet<&str> = HashSet::new();
    let mut checks: HashSet<&str> = HashSet::new();
    for planned in &pipeline.steps {
        let facts = planned.step.kind.facts();
        if let StepKind::Plan(plan) = &planned.step.kind {
            checks.extend(plan.check.iter().map(|agent| agent.value.as_str()));
            answers.extend([plan.agent.value.as_str()]);
        } else {
            answers.extend(facts.agents.into_iter().flatten().map(|agent| agent.value.as_str()));
        }
        answers.extend(facts.talkers.iter().chain(facts.helpers.into_iter().flatten()).map(|agent| agent.value.as_str()));
        answers.extend(facts.may_use.iter().map(|name| name.value.as_str()));
    }
    for (name, agent) in &file.agents {
        let Some(Shape::Fields(fields)) = &agent.output else { continue };
        if !checks.contains(name.as_str()) || answers.contains(name.as_str()) || agent.span.file != file.name.span.file {
            continue;
        }
        let Some(other) = fields.iter().find(|field| !["fulfilled", "progress"].contains(&field.name.as_str())) else { continue };
        let message = format!("agent {} checks a plan and says fulfilled and progress; its output is not used", quoted(name));
        out.push(
            finding(Code::OutputIgnored, other.span, &message)
                .help("write output: { fulfilled: boolean, progress: text }, or remove output"),
        );
    }
}
