//! F415: `outputs` or `send` reads a step of the refinement's way.

use super::texts_past_gate::{Instead, PastGate, texts_past_gates};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for past in texts_past_gates(pipeline).into_iter().filter(|past| past.what == PastGate::EarlierForm) {
        let id = &pipeline.step(past.gate).step.id.value;
        let (path, whose) = (&past.path, &past.leaving.what);
        let message = match past.passes_on {
            Some(step) => format!("{} passes {path}, an earlier form of what gate {} judges, on to {whose}", quoted(step), quoted(id)),
            None => format!("{whose} reads {path}, an earlier form of what gate {} judges", quoted(id)),
        };
        let help = match &past.instead {
            Instead::Path { gate, .. } => format!("read {gate}; if the gate fails for good, {} stays empty here", past.path),
            Instead::Field { old, new } => format!("read {new} in place of {old}; where the gate fails for good, {old} is missing"),
            Instead::EndOfCase(_) | Instead::Unknown => {
                format!("read what {id} gives; if the gate fails for good, {} stays empty here", past.path)
            }
        };
        out.push(finding(Code::DraftPastGate, past.hop.span, &message).help(help));
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
