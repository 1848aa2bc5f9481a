//! F402: a `send` or a `once` step that the refinement would do twice.

use std::sync::Arc;

use crate::model::{PipelineId, Step, StepKind, with_inner};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(refinement) = &pipeline.refinement else { return };
    let (target, gate) = (pipeline.step(refinement.target), pipeline.step(refinement.gate));
    let StepKind::Gate(judging) = &gate.step.kind else { return };
    let Some(refine) = &judging.refine else { return };
    for step in pipeline.refined().map(|planned| &planned.step) {
        let Some((effect, what)) = effect(pipeline, plan, std::slice::from_ref(step), &mut vec![]) else { continue };
        let (effect_id, step_id) = (quoted(&effect.id.value), quoted(&step.id.value));
        let gate_id = quoted(&gate.id);
        let is_target = step.id.value == target.step.id.value;
        let is_own = effect.id.span.file == step.id.span.file;
        let message = match (is_target, is_own) {
            (true, true) => format!("refine would run {effect_id} twice, and it {what}"),
            (true, false) => format!("refine would run {step_id} twice, and its {effect_id} {what}"),
            (false, true) => format!("{effect_id} is between {} and gate {gate_id} and would be done twice", quoted(&target.id)),
            (false, false) => {
                format!("{step_id} is between {} and gate {gate_id}, and its {effect_id} would be done twice", quoted(&target.id))
            }
        };
        out.push(
            finding(Code::RefineRepeatsEffect, refine.span, &message)
                .related(effect.id.span, format!("this step {what}"))
                .help("move it below the gate, or name a step below it in refine"),
        );
    }
}

/// What steps do that must not be done twice; they themselves, those inside them, or those of pipelines that they call. `seen`: pipelines
/// that were looked at.
fn effect<'p>(
    own: &'p PipelinePlan,
    plan: &'p Plan,
    steps: &'p [Arc<Step>],
    seen: &mut Vec<PipelineId>,
) -> Option<(&'p Step, &'static str)> {
    with_inner(steps).into_iter().find_map(|step| {
        if step.is_once {
            return Some((&**step, "is marked once"));
        }
        if step.kind.facts().sends {
            return Some((&**step, "sends"));
        }
        let called = own.called(step).filter(|called| !seen.contains(called))?;
        seen.push(called);
        let inner = plan.pipeline(called);
        let of = |steps, seen: &mut Vec<PipelineId>| effect(inner, plan, steps, seen);
        of(&inner.pipeline.steps, seen).or_else(|| of(&inner.pipeline.finally, seen))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_scorecard;

    #[test]
    fn nothing_is_sent_twice() {
        let body = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_scorecard(check, body), "F402 9:51 \"mail\" is between \"d\" and gate \"g\" and would be done twice\n");
        let once = "steps:\n  - { id: d, agent: w, prompt: x, once: true }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_scorecard(check, once), "F402 8:51 refine would run \"d\" twice, and it is marked once\n");
        let beside = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output, needs: [d] }\n  - { id: g, gate: s, of: steps.d.output, refine: d, needs: [d] }\n";
        assert_eq!(with_scorecard(check, beside), "");
    }
}
