//! F412: a gate that may leave a person without any answer.

use std::collections::HashSet;

use serde_json::Value;

use super::giving::output_of;
use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Filling, Form, StepKind, Text};
use crate::plan::{BlockIx, StepIx};
use crate::source::Spanned;

/// F412: what a person would get comes through a gate without `otherwise`, and nothing else is sent at the end.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.finally.iter().any(|step| matches!(step.kind, StepKind::Send(_) | StepKind::Route(_) | StepKind::Call(_))) {
        return;
    }
    let sent = sent(pipeline);
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let judges_message = read_steps(pipeline, planned.block, &gate.of).any(|ix| is_format(pipeline, ix));
        if gate.otherwise.is_none() && (judges_message || sent.contains(&ix)) {
            let message = format!("gate {} has no otherwise; if it fails, no reply is sent", quoted(&planned.step.id.value));
            let found = finding(Code::GateNoWayOut, planned.step.kind_span, &message);
            out.push(match apology(pipeline) {
                Some((step, text)) => {
                    found.related(step.span, "does not run when a gate is not met").help(match pipeline.pipeline.on_failure.as_slice() {
                        [_] => format!("add otherwise: {text} to the gate, and remove on_failure if it is for that alone"),
                        _ => format!("add otherwise: {text} to the gate, and remove {} if it is for that alone", step.value),
                    })
                }
                None => {
                    found.help("add otherwise: with a text that says what the person can do instead, such as otherwise: Please call us.")
                }
            });
        }
    }
}

/// The first fixed text under `on_failure`, and the id of its step.
fn apology(pipeline: &PipelinePlan) -> Option<(&Spanned<String>, String)> {
    let fixed = |text: &Text| match text.form {
        Form::Plain => Some(text.source.trim().to_owned()),
        Form::Bare => text.source.trim().strip_prefix('\'')?.strip_suffix('\'').map(str::to_owned),
        Form::Template | Form::Sole => None,
    };
    pipeline.pipeline.on_failure.iter().find_map(|step| {
        let text = if let StepKind::Send(send) = &step.kind {
            fixed(&send.of)
        } else if let StepKind::Format(format) = &step.kind {
            fixed(&format.text)
        } else if let StepKind::Set(Filling::Text(text)) = &step.kind {
            fixed(text)
        } else if let StepKind::Set(Filling::Constant(Value::String(text))) = &step.kind {
            Some(text.clone())
        } else {
            None
        };
        Some((&step.id, text.filter(|text| text.contains(' '))?))
    })
}

/// The steps whose output is sent, directly or by a format step.
fn sent(pipeline: &PipelinePlan) -> HashSet<StepIx> {
    let mut sent = HashSet::new();
    for planned in &pipeline.steps {
        let StepKind::Send(send) = &planned.step.kind else { continue };
        for ix in read_steps(pipeline, planned.block, &send.of) {
            let step = pipeline.step(ix);
            if sent.insert(ix)
                && let StepKind::Format(format) = &step.step.kind
            {
                sent.extend(read_steps(pipeline, step.block, &format.text));
            }
        }
    }
    sent
}

fn read_steps<'p>(pipeline: &'p PipelinePlan, block: BlockIx, text: &'p Text) -> impl Iterator<Item = StepIx> {
    text.reads.iter().filter_map(move |read| pipeline.seen_from(block, output_of(read)?.0))
}

fn is_format(pipeline: &PipelinePlan, ix: StepIx) -> bool {
    matches!(pipeline.step(ix).step.kind, StepKind::Format(_))
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    fn gate(steps: &str) -> String {
        says(
            check,
            &format!(
                "scorecards:\n  s: {{ criteria: [{{ id: c, description: It is short., check: {{ max_length: 9 }} }}] }}\nsteps:\n{steps}"
            ),
        )
    }

    #[test]
    fn a_message_that_may_be_held_back_has_a_way_out() {
        let judged = "  - { id: f, format: Hi }\n  - { id: g, gate: s, of: steps.f.output";
        assert_eq!(gate(&format!("{judged} }}\n")), "F412 7:14 gate \"g\" has no otherwise; if it fails, no reply is sent\n");
        assert_eq!(gate(&format!("{judged}, otherwise: Sorry. }}\n")), "");
        assert_eq!(gate(&format!("{judged} }}\nfinally: [{{ id: bye, send: stdout, of: run.id }}]\n")), "");
    }

    #[test]
    fn a_gate_on_data_may_just_fail() {
        let judged = "  - { id: f, set: Hi }\n  - { id: g, gate: s, of: steps.f.output }\n";
        assert_eq!(gate(judged), "");
        assert_eq!(
            gate(&format!("{judged}  - {{ id: out, send: stdout, of: steps.g.output }}\n")),
            "F412 7:14 gate \"g\" has no otherwise; if it fails, no reply is sent\n"
        );
    }
}
