//! F504: an inner bound that never holds, since an outer one is smaller.

use std::fmt::Display;

use crate::model::{MOST_PARALLEL, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let (written, bounds) = (&pipeline.pipeline.limits, pipeline.pipeline.bounds());
    let mut report = |span: Span, message: String, is_of_policy: bool| {
        let place = if is_of_policy { "its policy" } else { "limits" };
        let found = found(span, &message).help(format!("lower it, or raise the bound of the whole file in {place}"));
        out.push(match written.span {
            Some(limits) => found.related(limits, "the bounds of the whole file"),
            None => found,
        });
    };
    let at_once = written.max_parallel.unwrap_or(MOST_PARALLEL);
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let of_elements = step.for_each.as_ref().and_then(|each| each.max_parallel);
        let of_plan = if let StepKind::Plan(plan) = &step.kind { plan.max_parallel } else { None };
        if let Some(inner) = of_elements.into_iter().chain(of_plan).find(|inner| *inner > at_once) {
            let id = quoted(&step.id.value);
            report(step.id.span, format!("max_parallel {inner} of {id} is above limits.max_parallel {at_once}; {at_once} is used"), false);
        }
    }
    for (name, agent) in &pipeline.pipeline.agents {
        let (name, inner) = (quoted(name), &agent.limits);
        let span = inner.span.unwrap_or(agent.span);
        let tokens = wider("tokens", inner.max_tokens, written.max_tokens, bounds.max_tokens);
        let money = wider("cost_usd", inner.max_cost_usd, written.max_cost_usd, bounds.max_cost_usd);
        for (inner, outer, is_of_policy) in tokens.into_iter().chain(money) {
            report(span, format!("{inner} of agent {name} is above {outer}"), is_of_policy);
        }
    }
}

pub(in crate::rules) fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::WiderInside, span, message)
}

/// An agent's bound that is above the one in force, that one, and whether a policy says it.
fn wider<N: PartialOrd + Display>(key: &str, inner: Option<N>, written: Option<N>, bound: Option<N>) -> Option<(String, String, bool)> {
    let (inner, bound) = (inner?, bound?);
    let is_of_policy = written.is_none_or(|written| written > bound);
    let place = if is_of_policy { "resource_limits." } else { "limits.max_" };
    (inner > bound).then(|| (format!("max_{key} {inner}"), format!("{place}{key} {bound}; {bound} is used"), is_of_policy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn an_inner_bound_is_not_wider_than_the_outer_one() {
        let each = |limits: &str| says(check, &format!("{limits}steps: [{{ id: a, for_each: [1], max_parallel: 9, set: 1 }}]\n"));
        assert_eq!(each("limits: { max_parallel: 2 }\n"), "F504 4:15 max_parallel 9 of \"a\" is above limits.max_parallel 2; 2 is used\n");
        assert_eq!(each(""), "F504 3:15 max_parallel 9 of \"a\" is above limits.max_parallel 8; 8 is used\n");
        assert_eq!(each("limits: { max_parallel: 9 }\n"), "");
        let agent = "limits: { max_tokens: 100, max_cost_usd: 1 }\nagents:\n  w: { limits: { max_tokens: 200, max_cost_usd: 0.5 } }\nsteps: [{ id: a, set: 1 }]\n";
        let policy = "policies: { p: { resource_limits: { tokens: 100 } } }\npolicy: p\nagents:\n  w: { limits: { max_tokens: 200 } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(check, policy), "F504 6:8 max_tokens 200 of agent \"w\" is above resource_limits.tokens 100; 100 is used\n");
        assert_eq!(says(check, agent), "F504 5:8 max_tokens 200 of agent \"w\" is above limits.max_tokens 100; 100 is used\n");
    }
}
