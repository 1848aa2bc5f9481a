//! F400: a second gate with `refine`.

use crate::model::StepKind;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let mut first = None;
    let mut steps: Vec<_> = pipeline.steps.iter().map(|planned| &planned.step).filter(|step| step.for_each.is_none()).collect();
    // Those of the pipeline's own list are numbered first.
    steps.sort_by_key(|step| step.id.span.start);
    for step in steps {
        let StepKind::Gate(gate) = &step.kind else { continue };
        let Some(refine) = &gate.refine else { continue };
        let Some((other, place)) = first else {
            first = Some((&step.id.value, refine.span));
            continue;
        };
        let message =
            format!("gate {} has refine, but gate {} has it already; a file has at most one", quoted(&step.id.value), quoted(other));
        out.push(
            finding(Code::SecondRefinement, refine.span, &message)
                .related(place, "the first one")
                .help("remove one of the two, or put one of the gates into a pipeline of its own and call it"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_scorecard;

    #[test]
    fn a_file_has_one_refinement() {
        let first = "steps:\n  - { id: d, agent: w, prompt: x }\n  - { id: a, gate: s, of: steps.d.output, refine: d }\n";
        assert_eq!(with_scorecard(check, first), "");
        let both = format!("{first}  - {{ id: b, gate: s, of: steps.d.output, refine: d }}\n");
        assert_eq!(
            with_scorecard(check, &both),
            "F400 9:51 gate \"b\" has refine, but gate \"a\" has it already; a file has at most one\n"
        );
    }
}
