//! F507: tries of a pipeline whose steps are tried again themselves.

use crate::model::Pipeline;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let inner: Vec<Option<u64>> = plan.program.pipelines.iter().map(|called| most_tries(called)).collect();
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let called = step.kind.called(&pipeline.pipeline);
        let outer = step.retry.as_ref().map(|retry| retry.max_attempts).filter(|tries| *tries > 1);
        let (Some(outer), Some(inner)) = (outer, called.and_then(|called| inner.get(called.0).copied().flatten())) else { continue };
        let message = format!(
            "{} makes {outer} attempts at a pipeline whose steps make {inner} each: up to {} calls",
            quoted(&step.id.value),
            outer.saturating_mul(inner)
        );
        out.push(finding(Code::NestedRetry, step.id.span, &message).help("remove retry here, or from the steps of the pipeline"));
    }
}

/// The most tries that a step of a pipeline is given, if more than one.
fn most_tries(pipeline: &Pipeline) -> Option<u64> {
    let tries = pipeline.steps.iter().filter_map(|step| step.retry.as_ref().map(|retry| retry.max_attempts));
    tries.max().filter(|tries| *tries > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    #[test]
    fn tries_of_tries_are_counted() {
        let outer = |step: &str| {
            let text = format!("flow: 1\nname: a\nsteps: [{{ id: brand, call: b.yaml{step} }}]\n");
            let inner = "flow: 1\nname: b\nsteps: [{ id: x, http: GET https://example.com/, retry: { max_attempts: 4 } }]\n";
            says_of(check, &[("a.yaml", &text), ("b.yaml", inner)])
        };
        assert_eq!(
            outer(", retry: { max_attempts: 3 }"),
            "F507 3:15 \"brand\" makes 3 attempts at a pipeline whose steps make 4 each: up to 12 calls\n"
        );
        assert_eq!(outer(""), "");
    }
}
