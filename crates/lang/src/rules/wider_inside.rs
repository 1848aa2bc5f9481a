//! F504: an inner bound that never holds, since an outer one is smaller.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::StepKind;
use crate::source::Span;

/// `limits.max_parallel` where nothing is written (language, section 13).
const MAX_PARALLEL: u64 = 8;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let outer = &pipeline.pipeline.limits;
    let mut report = |span: Span, message: String| {
        let found = finding(Code::WiderInside, span, &message).help("lower it, or raise the bound of the whole file in limits");
        out.push(match outer.span {
            Some(limits) => found.related(limits, "the bounds of the whole file"),
            None => found,
        });
    };
    let at_once = outer.max_parallel.unwrap_or(MAX_PARALLEL);
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let of_elements = step.for_each.as_ref().and_then(|each| each.max_parallel);
        let of_plan = if let StepKind::Plan(plan) = &step.kind { plan.max_parallel } else { None };
        if let Some(inner) = of_elements.into_iter().chain(of_plan).find(|inner| *inner > at_once) {
            let id = quoted(&step.id.value);
            report(step.id.span, format!("max_parallel {inner} of {id} is above limits.max_parallel {at_once}; {at_once} is used"));
        }
    }
    for (name, agent) in &pipeline.pipeline.agents {
        let (name, inner) = (quoted(name), &agent.limits);
        let span = inner.span.unwrap_or(agent.span);
        if let (Some(inner), Some(outer)) = (inner.max_tokens, outer.max_tokens)
            && inner > outer
        {
            report(span, format!("max_tokens {inner} of agent {name} is above limits.max_tokens {outer}; {outer} is used"));
        }
        if let (Some(inner), Some(outer)) = (inner.max_cost_usd, outer.max_cost_usd)
            && inner > outer
        {
            report(span, format!("max_cost_usd {inner} of agent {name} is above limits.max_cost_usd {outer}; {outer} is used"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn an_inner_bound_is_not_wider_than_the_outer_one() {
        let each = |limits: &str| says(check, &format!("{limits}steps: [{{ id: a, for_each: [1], max_parallel: 9, set: 1 }}]\n"));
        assert_eq!(each("limits: { max_parallel: 2 }\n"), "F504 4:15 max_parallel 9 of \"a\" is above limits.max_parallel 2; 2 is used\n");
        assert_eq!(each(""), "F504 3:15 max_parallel 9 of \"a\" is above limits.max_parallel 8; 8 is used\n");
        assert_eq!(each("limits: { max_parallel: 9 }\n"), "");
        let agent = "limits: { max_tokens: 100, max_cost_usd: 1 }\nagents:\n  w: { limits: { max_tokens: 200, max_cost_usd: 0.5 } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(check, agent), "F504 5:8 max_tokens 200 of agent \"w\" is above limits.max_tokens 100; 100 is used\n");
    }
}
