//! F415: `outputs` or `send` reads a step of the refinement's way.

use super::texts_past_gate::{judged, leaving, minds, outgoing, shows};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::StepKind;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(refinement) = &pipeline.refinement else { return };
    let judged = judged(pipeline);
    let gate = pipeline.step(refinement.gate);
    let StepKind::Gate(judging) = &gate.step.kind else { return };
    for leaving in leaving(pipeline) {
        let sender = leaving.sender.map(|ix| &*pipeline.step(ix).step);
        for (read, step, path) in outgoing(pipeline, &leaving) {
            let planned = pipeline.step(step);
            let is_early =
                planned.block == refinement.block && refinement.stretch.binary_search(&planned.place).is_ok() && step != refinement.gate;
            let is_judged = judged.get(&step).is_some_and(|judged| shows(pipeline, step, path, judged));
            if !is_early || is_judged || minds(&leaving, sender, &gate.step, judging) {
                continue;
            }
            let (step, gate) = (&planned.step.id.value, &gate.step.id.value);
            let message = format!("{} reads steps.{step}.output, an earlier form of what gate {} judges", leaving.what, quoted(gate));
            out.push(
                finding(Code::DraftPastGate, read.span, &message)
                    .help(format!("read steps.{gate}.output; if the gate fails for good, steps.{step}.output stays empty here")),
            );
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_draft;
    use super::*;

    #[test]
    fn a_draft_of_the_refinement_is_no_result() {
        let gate = "  - { id: g, gate: s, of: steps.f.output, refine: d }\n";
        let drafts = |rest: &str| with_draft(check, &format!("{gate}{rest}"));
        assert_eq!(
            drafts("outputs: { note: '{{ steps.d.output }}' }\n"),
            "F415 10:22 outputs.note reads steps.d.output, an earlier form of what gate \"g\" judges\n"
        );
        assert_eq!(drafts("outputs: { note: '{{ steps.f.output.text }}' }\n"), "", "that is F410");
        assert_eq!(drafts("outputs: { length: '{{ steps.d.output | length }}' }\n"), "");
    }
}
