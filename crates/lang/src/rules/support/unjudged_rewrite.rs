//! Rewrites that no gate judges: an agent writes the text anew that a gate judges, the rewrite goes out, and what the gate lets through goes nowhere.

use super::texts_past_gate::{Leaving, leaving, shown_outputs};
use crate::labels::{Seat, output_is_of_engine};
use crate::model::{StepKind, Text};
use crate::plan::{PipelinePlan, StepIx};

/// Most steps that a text is followed through.
const MOST_STEPS: usize = 8;

/// A rewrite that leaves.
pub(in crate::rules) struct UnjudgedRewrite<'p> {
    pub(in crate::rules) leaving: Leaving<'p>,
    pub(in crate::rules) rewrite: StepIx,
    pub(in crate::rules) gate: StepIx,
}

pub(in crate::rules) fn unjudged_rewrites(planned: &PipelinePlan) -> Vec<UnjudgedRewrite<'_>> {
    let mut gates: Vec<(StepIx, Option<StepIx>)> = vec![];
    for (ix, step) in planned.numbered_steps() {
        if let StepKind::Gate(gate) = &step.step.kind {
            gates.push((ix, writer_of(planned, Some((ix, true)), &gate.of)));
        }
    }
    if gates.is_empty() {
        return vec![];
    }
    let judged: Vec<StepIx> = gates.iter().filter_map(|(_, writer)| *writer).collect();
    let mut found = vec![];
    for leaving in leaving(planned) {
        let Some(rewrite) = writer_of(planned, leaving.seat(), leaving.text).filter(|ix| !judged.contains(ix)) else { continue };
        let StepKind::Agent(agent) = &planned.step(rewrite).step.kind else { continue };
        // What has fields is a score or a label, and no text for people.
        let has_fields = planned.pipeline.agents.get(&agent.agent.value).is_none_or(|agent| agent.output.is_some());
        let shown = shown_outputs(planned, Some((rewrite, true)), &agent.prompt, true);
        let gate = gates.iter().find(|(gate, writer)| {
            let (own, other) = (planned.step(*gate), planned.step(rewrite));
            let is_before = own.block == other.block && other.place < own.place;
            is_before && writer.is_some_and(|writer| shown.iter().any(|read| read.output.ix == writer && read.output.path.is_empty()))
        });
        let Some((gate, _)) =
            gate.filter(|(gate, _)| !has_fields && !is_delivered_or_read(planned, *gate) && !is_looked_at(planned, rewrite))
        else {
            continue;
        };
        found.push(UnjudgedRewrite { leaving, rewrite, gate: *gate });
    }
    found
}

/// The agent step whose whole answer a text is, through steps that copy or format it.
fn writer_of(planned: &PipelinePlan, seat: Seat, text: &Text) -> Option<StepIx> {
    let (mut seat, mut text) = (seat, text);
    for _ in 0..MOST_STEPS {
        let shown = shown_outputs(planned, seat, text, true);
        let [read] = shown.as_slice() else { return None };
        let step = &planned.step(read.output.ix).step;
        if let StepKind::Format(format) = &step.kind {
            if output_is_of_engine(&step.kind, &read.output.path) {
                return None;
            }
            (seat, text) = (Some((read.output.ix, true)), &format.text);
            continue;
        }
        let is_whole = matches!(step.kind, StepKind::Agent(_)) && read.output.path.is_empty() && step.for_each.is_none();
        return is_whole.then_some(read.output.ix);
    }
    None
}

/// Whether any text reads what a gate gives, so that the judged text is wanted for itself.
fn is_delivered_or_read(planned: &PipelinePlan, gate: StepIx) -> bool {
    let id = &planned.step(gate).step.id.value;
    leaving(planned).iter().any(|leaving| reads(leaving.text, id)) || is_read_by(planned, id, |_| true)
}

/// Whether a step that decides, judges or asks a person reads the rewrite.
fn is_looked_at(planned: &PipelinePlan, rewrite: StepIx) -> bool {
    let id = &planned.step(rewrite).step.id.value;
    is_read_by(planned, id, |kind| !matches!(kind, StepKind::Set(_) | StepKind::Format(_) | StepKind::Send(_)))
}

fn is_read_by(planned: &PipelinePlan, id: &str, counts: impl Fn(&StepKind) -> bool) -> bool {
    let mut found = false;
    for step in planned.steps.iter().filter(|step| counts(&step.step.kind)) {
        step.step.each_text(&mut |authored| found |= authored.text().is_some_and(|text| reads(text, id)));
    }
    found
}

fn reads(text: &Text, id: &str) -> bool {
    let is_output = |path: &[String]| matches!(path, [steps, step, output, ..] if steps == "steps" && step == id && output == "output");
    text.reads
        .iter()
        .any(|read| is_output(&read.path) || read.path.len() < 3 && read.path.last().is_some_and(|last| last == id || last == "steps"))
}
