//! F305: a bound that nobody wrote.

use crate::model::{MOST_PLAN_STEPS, MOST_TURNS, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, agent) in &pipeline.pipeline.agents {
        let is_tool = pipeline.pipeline.models.get(agent.model_name()).is_some_and(|model| model.provider.tool().is_some());
        if !agent.tools.is_empty() && agent.max_turns.is_none() && !is_tool {
            let message = format!("agent \"{name}\" has tools but no max_turns; the default, {MOST_TURNS}, applies");
            out.push(new_finding(agent.span, message, &format!("max_turns: {MOST_TURNS}")));
        }
    }
    for planned in &pipeline.steps {
        let StepKind::Plan(plan) = &planned.step.kind else { continue };
        if plan.max_steps.is_none() {
            let message = format!("plan \"{}\" has no max_steps; the default, {MOST_PLAN_STEPS}, applies", planned.step.id.value);
            out.push(new_finding(planned.step.kind_span, message, &format!("max_steps: {MOST_PLAN_STEPS}")));
        }
    }
}

fn new_finding(span: Span, message: String, bound: &str) -> Diagnostic {
    Diagnostic::new(Code::DefaultBound, span, message).help(format!("write {bound}, or what fits"))
}
