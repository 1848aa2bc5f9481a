//! F512: a `retry` that would repeat what steps inside did outside.

use crate::diagnostic::About;
use crate::model::{Pipeline, PipelineId, Step, StepKind, ToolKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::effects::has_retry;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let step = &planned.step;
        let has_key = step.kind.idempotency_key().is_some() && is_known_by_its_key(&pipeline.pipeline, &step.kind);
        let acts = step.is_once || step.kind.effects(&pipeline.pipeline).repeat() && !has_key;
        let holds = |holder: &StepKind| {
            matches!(holder, StepKind::Group(_) | StepKind::Repeat(_)) || step.is_once && matches!(holder, StepKind::Route(_))
        };
        let around = pipeline.around(ix).skip(1).map(|ix| &pipeline.step(ix).step);
        if let Some(holder) = around.filter(|_| acts).find(|holder| holds(&holder.kind) && has_retry(holder).is_some()) {
            out.push(new_finding(holder, step, is_known_by_its_key(&pipeline.pipeline, &step.kind)));
        }
        if let Some(once) = has_retry(step).and(pipeline.called(step)).and_then(|id| once_in(plan, id, &mut vec![])) {
            out.push(new_finding(step, once, true));
        }
    }
}

fn new_finding(holder: &Step, step: &Step, has_key_for: bool) -> Diagnostic {
    let (by, id) = (quoted(&holder.id.value), quoted(&step.id.value));
    let (message, label, help) = match step.is_once {
        true => (
            format!("retry of {by} begins all of its steps anew, and {id} is once"),
            "it runs once at most",
            "write retry at the steps that may fail, which are not once",
        ),
        false if !has_key_for => (
            format!("retry of {by} begins all of its steps anew, and {id} sends to what knows no idempotency_key"),
            "it is sent again each time",
            "write retry at the steps that may fail",
        ),
        false => (
            format!("retry of {by} begins all of its steps anew, and {id} acts outside"),
            "add an idempotency_key to this step",
            "write retry at the steps that may fail, or add an idempotency_key to the step that acts",
        ),
    };
    let found = finding(Code::GroupRetry, holder.id.span, &message).related(step.id.span, label);
    found.about(About::Value("retry".to_owned())).help(help)
}

/// Whether what a step asks can tell a repeated call by its key: a mail is sent and a line printed however often it comes.
fn is_known_by_its_key(file: &Pipeline, kind: &StepKind) -> bool {
    let StepKind::Send(send) = kind else { return true };
    file.tools.get(&send.to.value).is_some_and(|tool| matches!(tool.kind, ToolKind::Http { .. }))
}

/// A step marked `once` in a pipeline, or in one that it calls.
fn once_in<'p>(plan: &'p Plan, id: PipelineId, seen: &mut Vec<PipelineId>) -> Option<&'p Step> {
    if seen.contains(&id) {
        return None;
    }
    seen.push(id);
    let pipeline = plan.pipeline(id);
    let mut steps = pipeline.steps.iter().map(|planned| &*planned.step);
    steps.find_map(|step| if step.is_once { Some(step) } else { once_in(plan, pipeline.called(step)?, seen) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_retry_of_a_group_repeats_no_effect() {
        let group = |more: &str, step: &str| says(check, &format!("steps: [{{ id: g{more}, steps: [{{ id: a, {step} }}] }}]\n"));
        let post = "http: POST https://example.com/";
        let found = "F512 3:15 retry of \"g\" begins all of its steps anew, and \"a\" acts outside\n";
        assert_eq!(group(", retry: { max_attempts: 2 }", post), found);
        assert_eq!(group(", retry: { max_attempts: 2 }", &format!("{post}, idempotency_key: x")), "");
        let sent = "F512 3:15 retry of \"g\" begins all of its steps anew, and \"a\" sends to what knows no idempotency_key\n";
        assert_eq!(group(", retry: { max_attempts: 2 }", "send: stdout, of: inputs.x, idempotency_key: x"), sent);
        assert_eq!(group(", retry: { max_attempts: 1 }", post), "");
        assert_eq!(group("", post), "");
        let once = "F512 3:15 retry of \"g\" begins all of its steps anew, and \"a\" is once\n";
        assert_eq!(group(", retry: { max_attempts: 2 }", &format!("{post}, idempotency_key: x, once: true")), once);
    }
}
