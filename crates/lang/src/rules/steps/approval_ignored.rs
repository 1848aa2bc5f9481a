//! F317: a person is asked, and whatever they say the same is done.

use crate::diagnostic::About;
use crate::model::{OnFailure, Step, StepKind};
use crate::plan::PlannedStep;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::readers;
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in pipeline.steps.iter().filter(|planned| matches!(planned.step.kind, StepKind::Approval(_))) {
        let (step, block) = (&planned.step, pipeline.block(planned.block));
        let id = quoted(&step.id.value);
        if readers(pipeline, &step.id.value) > 0 {
            continue;
        }
        let later = || pipeline.steps.iter().filter(|other| other.block == planned.block && other.place > planned.place);
        let acting = || later().filter(|other| acts(&other.step));
        let waits = |other: &&PlannedStep| block.is_upstream(planned.place, other.place);
        if step.on_failure == OnFailure::Continue {
            if let Some(act) = acting().find(waits) {
                let message = format!(
                    "a no to approval {id} stops nothing: with on_failure: continue {} runs all the same",
                    quoted(&act.step.id.value)
                );
                let help =
                    format!("write on_failure: stop, or when: steps.{}.status == 'succeeded' on {}", step.id.value, act.step.id.value);
                out.push(new_finding(step.on_failure_span, &message).help(help));
            }
        } else if !later().any(|other| waits(&other))
            && let Some(act) = acting().next()
        {
            let message =
                format!("{} does not wait for approval {id} above it, and neither does any other step", quoted(&act.step.id.value));
            let help = format!("write needs: [{}] on {}", step.id.value, act.step.id.value);
            let found = match act.step.needs.as_deref() {
                // Its empty list is what is to be changed.
                Some([]) => new_finding(act.step.id.span, &message).about(About::Value("needs".to_owned())),
                _ => new_finding(act.step.kind_span, &message),
            };
            out.push(found.related(step.id.span, "the approval").help(help));
        }
    }
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::ApprovalIgnored, span, message)
}

/// Whether a step does something outside that a person may have been asked about.
fn acts(step: &Step) -> bool {
    let facts = step.kind.facts();
    facts.sends
        || facts.receiver.is_some()
        || facts.starts.is_some_and(|run| !run.reads_only)
        || facts.method.is_some_and(|method| !method.is_safe())
}
