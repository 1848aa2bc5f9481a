//! Texts that go out beside the gate that judges them: after it (F410), before it (F411), in an earlier form (F415).

use std::collections::{HashMap, HashSet};

use super::giving::{Gives, find, gives, output_of, sole_output};
use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{GateStep, Outputs, Read, Step, StepKind, Text};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};

/// Fields of a `format` output that hold no text.
const NO_TEXT: [&str; 5] = ["channel", "is_split", "shortened", "emojis_used", "markdown_removed"];

/// What a gate judges: the gate's number, and the path below the judged step's `output`.
struct Judged<'p> {
    gate: StepIx,
    path: &'p [String],
}

/// What leaves the pipeline: a text of `outputs`, or the `of` of a `send`.
struct Leaving<'p> {
    what: String,
    text: &'p Text,
    /// The list its names are seen from.
    block: BlockIx,
    sender: Option<StepIx>,
}

/// The one gate of each judged step. Two gates for one step, or a gate with a condition: nothing is certain.
fn judged(pipeline: &PipelinePlan) -> HashMap<StepIx, Judged<'_>> {
    let mut found: HashMap<StepIx, Option<Judged>> = HashMap::new();
    for (ix, planned) in pipeline.steps.iter().enumerate() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some((step, path)) = sole_output(&gate.of).and_then(|(id, path)| Some((find(pipeline, planned.block, id)?, path))) else {
            continue;
        };
        let sure = planned.step.when.is_none() && planned.step.for_each.is_none() && !found.contains_key(&step);
        found.insert(step, sure.then_some(Judged { gate: StepIx(ix as u32), path }));
    }
    found.into_iter().filter_map(|(step, judged)| Some((step, judged?))).collect()
}

fn leaving(pipeline: &PipelinePlan) -> Vec<Leaving<'_>> {
    let mut list = vec![];
    match &pipeline.pipeline.outputs {
        Outputs::None => {}
        Outputs::Whole(text) => list.push(Leaving { what: "outputs".to_owned(), text, block: pipeline.main, sender: None }),
        Outputs::Named(outputs) => {
            for (name, value) in outputs {
                let what = format!("outputs.{}", name.value);
                list.extend(value.texts().into_iter().map(|text| Leaving { what: what.clone(), text, block: pipeline.main, sender: None }));
            }
        }
    }
    for (ix, planned) in pipeline.steps.iter().enumerate() {
        if let StepKind::Send(send) = &planned.step.kind {
            let what = quoted(&planned.step.id.value);
            list.push(Leaving { what, text: &send.of, block: planned.block, sender: Some(StepIx(ix as u32)) });
        }
    }
    list
}

/// The reads of a text that leaves which show what some other step gave.
fn outgoing<'p>(pipeline: &PipelinePlan, leaving: &Leaving<'p>) -> Vec<(&'p Read, StepIx, &'p [String])> {
    let mut asked = HashSet::new();
    let of_steps = leaving.text.reads.iter().filter(|read| asked.insert(&read.path)).filter_map(|read| {
        let (id, path) = output_of(read)?;
        Some((read, find(pipeline, leaving.block, id)?, path))
    });
    of_steps.filter(|(read, _, _)| gives(leaving.text, read) != Gives::Nothing).collect()
}

/// Whether a read shows text that the gate judges.
fn shows(pipeline: &PipelinePlan, step: StepIx, path: &[String], judged: &Judged) -> bool {
    if let StepKind::Format(_) = pipeline.step(step).step.kind {
        return path.first().is_none_or(|field| !NO_TEXT.contains(&field.as_str()));
    }
    path.starts_with(judged.path) || judged.path.starts_with(path)
}

/// Whether a text, or the condition of the step that sends it, goes by how the gate ended.
fn minds(leaving: &Leaving, sender: Option<&Step>, gate: &Step, judging: &GateStep) -> bool {
    let reads_gate = |read: &&Read| read.path.get(1) == Some(&gate.id.value) && read.path.first().is_some_and(|name| name == "steps");
    let condition = sender.and_then(|step| step.when.as_ref());
    condition.is_some_and(|text| text.reads.iter().any(|read| reads_gate(&read)))
        || leaving.text.reads.iter().filter(reads_gate).any(|read| output_of(read).is_none() || judging.otherwise.is_some())
}

/// Each text that shows what a gate judges: what leaves, the read, the judged step, its gate.
fn beside<'p>(pipeline: &'p PipelinePlan) -> Vec<(Leaving<'p>, &'p Read, &'p Step, StepIx)> {
    let judged = judged(pipeline);
    let mut list = vec![];
    for leaving in leaving(pipeline) {
        let sender = leaving.sender.map(|ix| &*pipeline.step(ix).step);
        let first = outgoing(pipeline, &leaving).into_iter().find_map(|(read, step, path)| {
            let judged = judged.get(&step).filter(|judged| shows(pipeline, step, path, judged))?;
            let gate = pipeline.step(judged.gate);
            let StepKind::Gate(judging) = &gate.step.kind else { return None };
            (!minds(&leaving, sender, &gate.step, judging)).then_some((read, step, judged.gate))
        });
        if let Some((read, step, gate)) = first {
            list.push((leaving, read, &*pipeline.step(step).step, gate));
        }
    }
    list
}

/// F410: `outputs` or `send` reads the judged step, not the gate.
pub(super) fn text_past_gate(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (leaving, read, step, gate) in split_by_time(pipeline).0 {
        let (step, gate) = (&step.id, &pipeline.step(gate).step.id);
        let message = format!(
            "{} reads steps.{}.output, which gate {} judges; read steps.{}.output",
            leaving.what,
            step.value,
            quoted(&gate.value),
            gate.value
        );
        out.push(
            finding(Code::TextPastGate, read.span, &message)
                .related(gate.span, "the gate")
                .help(format!("write steps.{}.output: what the gate let through", gate.value)),
        );
    }
}

/// F411: `send` does not wait for the gate.
pub(super) fn gate_too_late(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (leaving, read, _, gate) in split_by_time(pipeline).1 {
        let gate = &pipeline.step(gate).step.id;
        let message = format!("{} sends the text before gate {} has judged it", leaving.what, quoted(&gate.value));
        out.push(
            finding(Code::GateTooLate, read.span, &message)
                .related(gate.span, "the gate")
                .help(format!("move the send below the gate, and read steps.{}.output", gate.value)),
        );
    }
}

type Beside<'p> = Vec<(Leaving<'p>, &'p Read, &'p Step, StepIx)>;

/// What leaves when the gate is over, and what is sent earlier.
fn split_by_time(pipeline: &PipelinePlan) -> (Beside<'_>, Beside<'_>) {
    beside(pipeline).into_iter().partition(|(leaving, _, _, gate)| {
        let Some(sender) = leaving.sender.map(|ix| pipeline.step(ix)) else { return true };
        let gate = pipeline.step(*gate);
        sender.block != gate.block || pipeline.block(gate.block).is_upstream(gate.place, sender.place)
    })
}

/// F415: `outputs` or `send` reads a step of the refinement's way.
pub(super) fn draft_past_gate(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let Some(refinement) = &pipeline.refinement else { return };
    let judged = judged(pipeline);
    let gate = pipeline.step(refinement.gate);
    let StepKind::Gate(judging) = &gate.step.kind else { return };
    for leaving in leaving(pipeline) {
        let sender = leaving.sender.map(|ix| &*pipeline.step(ix).step);
        for (read, step, path) in outgoing(pipeline, &leaving) {
            let planned = pipeline.step(step);
            let is_early =
                planned.block == pipeline.main && refinement.stretch.binary_search(&planned.place).is_ok() && step != refinement.gate;
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
    use super::super::testing::says;
    use super::*;

    fn with_steps(rule: super::super::Rule, steps: &str) -> String {
        let card = "scorecards:\n  s: { criteria: [{ id: c, description: It is short., check: { max_length: 9 } }] }";
        says(
            rule,
            &format!(
                "agents: {{ w: {{}} }}\n{card}\nsteps:\n  - {{ id: d, agent: w, prompt: x }}\n  - {{ id: f, format: '{{{{ steps.d.output }}}}' }}\n{steps}"
            ),
        )
    }

    #[test]
    fn outputs_and_sends_read_what_the_gate_let_through() {
        let gate = "  - { id: g, gate: s, of: steps.f.output }\n";
        let past = |rest: &str| with_steps(text_past_gate, &format!("{gate}{rest}"));
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
        assert_eq!(with_steps(text_past_gate, sometimes), "");
    }

    #[test]
    fn a_send_waits_for_the_gate() {
        let early = "  - { id: out, send: stdout, of: steps.f.output }\n  - { id: g, gate: s, of: steps.f.output }\n";
        assert_eq!(with_steps(gate_too_late, early), "F411 9:34 \"out\" sends the text before gate \"g\" has judged it\n");
        assert_eq!(with_steps(text_past_gate, early), "");
        let late = "  - { id: g, gate: s, of: steps.f.output }\n  - { id: out, send: stdout, of: steps.f.output }\n";
        assert_eq!(with_steps(gate_too_late, late), "");
    }

    #[test]
    fn a_draft_of_the_refinement_is_no_result() {
        let gate = "  - { id: g, gate: s, of: steps.f.output, refine: d }\n";
        let drafts = |rest: &str| with_steps(draft_past_gate, &format!("{gate}{rest}"));
        assert_eq!(
            drafts("outputs: { note: '{{ steps.d.output }}' }\n"),
            "F415 10:22 outputs.note reads steps.d.output, an earlier form of what gate \"g\" judges\n"
        );
        assert_eq!(drafts("outputs: { note: '{{ steps.f.output.text }}' }\n"), "", "that is F410");
        assert_eq!(drafts("outputs: { length: '{{ steps.d.output | length }}' }\n"), "");
    }
}
