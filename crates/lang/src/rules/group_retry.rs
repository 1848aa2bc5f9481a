//! F512: a `retry` that would repeat what steps inside did outside.

use super::effects::has_retry;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::diagnostic::About;
use crate::model::StepKind;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let step = &planned.step;
        let acts = step.kind.effects(&pipeline.pipeline).repeat() && step.kind.idempotency_key().is_none() && !step.is_once;
        let holds = |holder: &StepKind| matches!(holder, StepKind::Group(_) | StepKind::Repeat(_));
        let around = pipeline.around(ix).skip(1).map(|ix| &pipeline.step(ix).step);
        let Some(holder) = around.filter(|_| acts).find(|holder| holds(&holder.kind) && has_retry(holder).is_some()) else { continue };
        let message =
            format!("retry of {} begins all of its steps anew, and {} acts outside", quoted(&holder.id.value), quoted(&step.id.value));
        let found = finding(Code::GroupRetry, holder.id.span, &message)
            .related(step.id.span, "add an idempotency_key to this step")
            .about(About::Value("retry".to_owned()));
        out.push(found.help("write retry at the steps that may fail, or add an idempotency_key to the step that acts"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn a_retry_of_a_group_repeats_no_effect() {
        let group = |more: &str, step: &str| says(check, &format!("steps: [{{ id: g{more}, steps: [{{ id: a, {step} }}] }}]\n"));
        let post = "http: POST https://example.com/";
        let found = "F512 3:15 retry of \"g\" begins all of its steps anew, and \"a\" acts outside\n";
        assert_eq!(group(", retry: { max_attempts: 2 }", post), found);
        assert_eq!(group(", retry: { max_attempts: 2 }", &format!("{post}, idempotency_key: x")), "");
        assert_eq!(group(", retry: { max_attempts: 1 }", post), "");
        assert_eq!(group("", post), "");
    }
}
