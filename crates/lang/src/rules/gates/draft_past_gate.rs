//! F415: `outputs` or `send` reads a step of the refinement's way, or what an agent made of the judged text.

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::giving::output_of;
use crate::rules::support::texts_past_gate::{Instead, PastGate, texts_past_gates};
use crate::rules::support::unjudged_rewrite::{UnjudgedRewrite, unjudged_rewrites};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
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
        out.push(found(past.hop.span, &message).help(help));
    }
    for UnjudgedRewrite { leaving, rewrite, gate } in unjudged_rewrites(pipeline) {
        let (gate_step, rewrite) = (pipeline.step(gate), &pipeline.step(rewrite).step.id.value);
        let gate = &gate_step.step.id;
        // What is sent may be formatted first, and then that is what the gate is to judge.
        let read = leaving.text.reads.iter().find_map(output_of).map_or(rewrite.as_str(), |(id, _)| id);
        let is_below =
            pipeline.steps.iter().any(|step| step.block == gate_step.block && step.place > gate_step.place && step.step.id.value == read);
        let (judged, path) = (quoted(&gate.value), format!("steps.{read}.output"));
        let message =
            format!("{} reads {path}, which {} wrote from what gate {judged} judges, and no gate judges it", leaving.what, quoted(rewrite));
        let place = if is_below { format!(", move it below {}", quoted(read)) } else { String::new() };
        let help = format!("write of: {path} in gate {judged}{place}, and read steps.{}.output here", gate.value);
        out.push(found(leaving.text.place.span, &message).help(help).related(gate.span, "what this gate lets through is read nowhere"));
    }
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::DraftPastGate, span, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_draft;

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
