//! F411: `send` does not wait for the gate.

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::texts_past_gate::{PastGate, texts_past_gates};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for past in texts_past_gates(pipeline).into_iter().filter(|past| past.what == PastGate::Before) {
        let gate = &pipeline.step(past.gate).step.id;
        let message = format!("{} sends the text before gate {} has judged it", past.leaving.what, quoted(&gate.value));
        let name = past.leaving.gate_there(pipeline, past.gate).unwrap_or_else(|| format!("steps.{}.output", gate.value));
        out.push(
            finding(Code::GateTooLate, past.first, &message)
                .related(gate.span, "the gate")
                .help(format!("move the send below the gate, and read {name}")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::text_past_gate;
    use super::*;
    use crate::rules::testing::with_draft;

    #[test]
    fn a_send_waits_for_the_gate() {
        let early = "  - { id: out, send: stdout, of: steps.f.output }\n  - { id: g, gate: s, of: steps.f.output }\n";
        assert_eq!(with_draft(check, early), "F411 9:34 \"out\" sends the text before gate \"g\" has judged it\n");
        assert_eq!(with_draft(text_past_gate::check, early), "");
        let late = "  - { id: g, gate: s, of: steps.f.output }\n  - { id: out, send: stdout, of: steps.f.output }\n";
        assert_eq!(with_draft(check, late), "");
    }
}
