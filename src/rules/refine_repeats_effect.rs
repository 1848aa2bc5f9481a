//! F402: a `send` or a `once` step that the refinement would do twice.

use super::refinement_ends::refinement_ends;
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Step, StepKind};
use crate::plan::{PipelinePlan, Plan};

/// F402: a `send` or a `once` step on the way that is gone twice.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some((refinement, target, gate)) = refinement_ends(pipeline) else { return };
    let StepKind::Gate(judging) = &gate.step.kind else { return };
    let Some(refine) = &judging.refine else { return };
    for place in &refinement.stretch {
        let Some(step) = pipeline.pipeline.steps.get(*place) else { continue };
        let Some((effect, what)) = effect(step) else { continue };
        let (effect_id, gate_id) = (quoted(&effect.id.value), quoted(&gate.id));
        let message = match step.id.value == target.step.id.value {
            true => format!("refine would run {effect_id} twice, and it {what}"),
            false => format!("{effect_id} lies between {} and gate {gate_id} and would be done twice", quoted(&target.id)),
        };
        out.push(
            finding(Code::RefineRepeatsEffect, refine.span, &message)
                .related(effect.id.span, format!("this step {what}"))
                .help("move it below the gate, or name a step below it in refine"),
        );
    }
}

/// What a step does that must not be done twice; the step itself or one inside it.
fn effect(step: &Step) -> Option<(&Step, &'static str)> {
    if step.is_once {
        return Some((step, "is marked once"));
    }
    match &step.kind {
        StepKind::Send(_) => Some((step, "sends")),
        StepKind::Route(route) => route.cases.iter().chain(&route.otherwise).flat_map(|case| &case.steps).find_map(|inner| effect(inner)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_scorecard;
    use super::*;

    #[test]
    fn nothing_is_sent_twice() {
        let body = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_scorecard(check, body), "F402 9:51 \"mail\" lies between \"d\" and gate \"g\" and would be done twice\n");
        let once = "steps:\n  - { id: d, agent: w, prompt: x, once: true }\n  - { id: g, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_scorecard(check, once), "F402 8:51 refine would run \"d\" twice, and it is marked once\n");
        let beside = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: mail, send: stdout, of: steps.d.output, needs: [d] }\n  - { id: g, gate: s, of: steps.d.output, refine: d, needs: [d] }\n";
        assert_eq!(with_scorecard(check, beside), "");
    }
}
