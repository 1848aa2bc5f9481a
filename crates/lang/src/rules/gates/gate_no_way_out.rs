//! F412: a gate that may leave a person without any answer.

use std::collections::HashMap;

use serde_json::Value;

use crate::labels::{OutputRead, Reads, passed_on, reads_of};
use crate::model::{Filling, Form, OnFailure, Step, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Spanned;

/// F412: what a person would get comes through a gate without `otherwise`, and nothing else is sent at the end.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.finally.iter().any(|step| may_send(step)) {
        return;
    }
    let sent = sent(pipeline);
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let is_format = |read: &OutputRead| matches!(pipeline.step(read.output.ix).step.kind, StepKind::Format(_));
        let judges_message = || reads_of(pipeline, Some((ix, true)), &gate.of, Reads::Shown, &mut |_| vec![]).iter().any(is_format);
        let ends_unsent = || match planned.step.stand_ins().next() {
            Some((_, stand_in)) => sent.get(&ix) == Some(&false) && !is_sending(pipeline, ix, &stand_in.value),
            None => sent.contains_key(&ix) || judges_message(),
        };
        if gate.otherwise.is_none() && ends_unsent() && !may_fail_inside(pipeline, ix) {
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

/// The steps whose output is sent, directly or by steps that only pass it on; and whether each text that reads it has something else in its place.
fn sent(pipeline: &PipelinePlan) -> HashMap<StepIx, bool> {
    let mut sent = HashMap::new();
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Send(send) = &planned.step.kind else { continue };
        let reads = reads_of(pipeline, Some((ix, true)), &send.of, Reads::Shown, &mut |read| {
            passed_on(&pipeline.step(read.output.ix).step, &read.output.path)
        });
        for read in reads {
            let has_other = read.hops.last().is_some_and(|hop| {
                let mut same = hop.text.reads.iter().filter(|read| hop.path.starts_with(&read.path)).peekable();
                same.peek().is_some() && same.all(|read| read.is_guarded)
            });
            *sent.entry(read.output.ix).or_insert(true) &= has_other;
        }
    }
    sent
}

fn may_send(step: &Step) -> bool {
    matches!(step.kind, StepKind::Send(_) | StepKind::Route(_) | StepKind::Call(_))
}

/// Whether what stands in for a step sends something.
fn is_sending(pipeline: &PipelinePlan, ix: StepIx, stand_in: &str) -> bool {
    let stand_in = pipeline.seen_from(pipeline.step(ix).block, stand_in);
    stand_in.is_some_and(|stand_in| may_send(&pipeline.step(stand_in).step))
}

/// Whether a group around a step may fail, and what is below it runs all the same.
fn may_fail_inside(pipeline: &PipelinePlan, ix: StepIx) -> bool {
    pipeline.around(ix).skip(1).any(|ix| pipeline.step(ix).step.on_failure != OnFailure::Stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

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

    #[test]
    fn a_stand_in_that_reaches_the_person_is_a_way_out() {
        let steps = |stand_in: &str, read: &str| {
            let judged = "  - { id: f, set: Hi }\n  - { id: g, gate: s, of: steps.f.output, on_failure: b }\n";
            gate(&format!("{judged}  - {{ id: b, {stand_in} }}\n  - {{ id: out, send: stdout, of: {read} }}\n"))
        };
        let found = "F412 7:14 gate \"g\" has no otherwise; if it fails, no reply is sent\n";
        assert_eq!(steps("set: Sorry", "steps.g.output"), found);
        assert_eq!(steps("set: Sorry", "steps.g.output | default(steps.b.output)"), "");
        assert_eq!(steps("send: stdout, of: \"'Sorry'\"", "steps.g.output"), "");
    }
}
