//! F410: `outputs` or `send` reads the judged step, not the gate.

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::texts_past_gate::{Instead, PastGate, texts_past_gates};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for past in texts_past_gates(pipeline).into_iter().filter(|past| past.what == PastGate::Beside) {
        let gate = &pipeline.step(past.gate).step.id;
        let (by, path, whose) = (quoted(&gate.value), &past.path, &past.leaving.what);
        let (instead, help) = match &past.instead {
            Instead::Path { gate, below } => (gate.clone(), format!("write {gate}{below}: what the gate let through")),
            Instead::Field { old, new } => (new.clone(), format!("write {new} in place of {old}: what the gate let through")),
            Instead::EndOfCase(route) => (
                format!("what {} gives", gate.value),
                format!("move gate {by} to the end of its case: then it is what steps.{route}.output is"),
            ),
            Instead::Unknown => {
                (format!("what {} gives", gate.value), format!("read {} of each element of what the groups around it give", gate.value))
            }
        };
        let message = match (&past.passes_on, past.is_copy) {
            (Some(step), _) => format!("{} passes {path}, which gate {by} judges, on to {whose}; read {instead}", quoted(step)),
            (None, true) => format!("{whose} reads {path}, made of what gate {by} judges; read {instead}"),
            (None, false) => format!("{whose} reads {path}, which gate {by} judges; read {instead}"),
        };
        out.push(finding(Code::TextPastGate, past.hop.span, &message).related(gate.span, "the gate").help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_draft;

    #[test]
    fn outputs_and_sends_read_what_the_gate_let_through() {
        let gate = "  - { id: g, gate: s, of: steps.f.output }\n";
        let past = |rest: &str| with_draft(check, &format!("{gate}{rest}"));
        assert_eq!(
            past("outputs: { reply: '{{ steps.f.output.text }}' }\n"),
            "F410 10:23 outputs.reply reads steps.f.output, which gate \"g\" judges; read steps.g.output\n"
        );
        assert_eq!(
            past("  - { id: out, send: stdout, of: steps.f.output }\n"),
            "F410 10:34 \"out\" reads steps.f.output, which gate \"g\" judges; read steps.g.output\n"
        );
        assert_eq!(past("outputs: { reply: '{{ steps.g.output.text }}' }\n"), "");
        assert_eq!(past("outputs: { split: '{{ steps.f.output.is_split }}' }\n"), "");
        assert_eq!(past("outputs: { draft: '{{ steps.d.output }}' }\n"), "", "without a refinement nothing is known of drafts");
        assert_eq!(past("outputs: { reply: '{{ steps.f.output.text if steps.g.details.passed else none }}' }\n"), "");
        assert_eq!(past("  - { id: out, when: steps.g.details.passed, send: stdout, of: steps.f.output }\n"), "");
        let sometimes = "  - { id: g, when: channel.name == 'sms', gate: s, of: steps.f.output }\noutputs: '{{ steps.f.output.text }}'\n";
        assert_eq!(with_draft(check, sometimes), "");
    }
}
