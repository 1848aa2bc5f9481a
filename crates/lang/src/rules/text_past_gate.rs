//! F410: `outputs` or `send` reads the judged step, not the gate.

use super::texts_past_gate::split_by_time;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (leaving, read, step, gate) in split_by_time(pipeline).0 {
        let (step, gate) = (&step.id.value, &pipeline.step(gate).step.id);
        let by = quoted(&gate.value);
        let in_place: Vec<&str> =
            read.path.iter().enumerate().map(|(at, part)| if at == 1 { gate.value.as_str() } else { part.as_str() }).collect();
        let message = format!("{} reads steps.{step}.output, which gate {by} judges; read steps.{}.output", leaving.what, gate.value);
        out.push(
            finding(Code::TextPastGate, read.span, &message)
                .related(gate.span, "the gate")
                .help(format!("write {}: what the gate let through", in_place.join("."))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_draft;
    use super::*;

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
