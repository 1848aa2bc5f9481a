//! Texts that go out beside the gate that judges them: what leaves, what it shows, and whether it goes by how the gate ended.

use std::collections::{HashMap, HashSet};

use super::giving::{Gives, gives, output_of, sole_output};
use super::{PipelinePlan, quoted};
use crate::model::{GateStep, Outputs, Read, Step, StepKind, Text};
use crate::plan::{BlockIx, StepIx};

/// Fields of a `format` output that hold no text.
const NO_TEXT: [&str; 5] = ["channel", "is_split", "shortened", "emojis_used", "markdown_removed"];

/// What a gate judges: the gate's number, and the path below the judged step's `output`.
pub(super) struct GatedPath<'p> {
    gate: StepIx,
    path: &'p [String],
}

/// What leaves the pipeline: a text of `outputs`, or the `of` of a `send`.
pub(super) struct Leaving<'p> {
    pub(super) what: String,
    pub(super) text: &'p Text,
    /// The list its names are seen from.
    block: BlockIx,
    pub(super) sender: Option<StepIx>,
}

/// The one gate of each judged step. Two gates for one step, or a gate with a condition: nothing is certain.
pub(super) fn judged(pipeline: &PipelinePlan) -> HashMap<StepIx, GatedPath<'_>> {
    let mut found: HashMap<StepIx, Option<GatedPath>> = HashMap::new();
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some((step, path)) = sole_output(&gate.of).and_then(|(id, path)| Some((pipeline.seen_from(planned.block, id)?, path))) else {
            continue;
        };
        let sure = planned.step.when.is_none() && planned.step.for_each.is_none() && !found.contains_key(&step);
        found.insert(step, sure.then_some(GatedPath { gate: ix, path }));
    }
    found.into_iter().filter_map(|(step, judged)| Some((step, judged?))).collect()
}

/// All that leaves.
pub(super) fn leaving(pipeline: &PipelinePlan) -> Vec<Leaving<'_>> {
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
    for (ix, planned) in pipeline.numbered_steps() {
        if let StepKind::Send(send) = &planned.step.kind {
            let what = quoted(&planned.step.id.value);
            list.push(Leaving { what, text: &send.of, block: planned.block, sender: Some(ix) });
        }
    }
    list
}

/// The reads of a text that leaves which show what some other step gave.
pub(super) fn outgoing<'p>(pipeline: &PipelinePlan, leaving: &Leaving<'p>) -> Vec<(&'p Read, StepIx, &'p [String])> {
    let mut asked = HashSet::new();
    let of_steps = leaving.text.reads.iter().filter(|read| asked.insert(&read.path)).filter_map(|read| {
        let (id, path) = output_of(read)?;
        Some((read, pipeline.seen_from(leaving.block, id)?, path))
    });
    of_steps.filter(|(read, _, _)| gives(leaving.text, read) != Gives::Nothing).collect()
}

/// Whether a read shows text that the gate judges.
pub(super) fn shows(pipeline: &PipelinePlan, step: StepIx, path: &[String], judged: &GatedPath) -> bool {
    if let StepKind::Format(_) = pipeline.step(step).step.kind {
        return path.first().is_none_or(|field| !NO_TEXT.contains(&field.as_str()));
    }
    path.starts_with(judged.path) || judged.path.starts_with(path)
}

/// Whether a text, or the condition of the step that sends it, goes by how the gate ended.
pub(super) fn minds(leaving: &Leaving, sender: Option<&Step>, gate: &Step, judging: &GateStep) -> bool {
    let reads_gate = |read: &&Read| read.path.get(1) == Some(&gate.id.value) && read.path.first().is_some_and(|name| name == "steps");
    let condition = sender.and_then(|step| step.when.as_ref());
    condition.is_some_and(|text| text.reads.iter().any(|read| reads_gate(&read)))
        || leaving.text.reads.iter().filter(reads_gate).any(|read| output_of(read).is_none() || judging.otherwise.is_some())
}

/// Each text that shows what a gate judges: what leaves, the read, the judged step, its gate.
fn beside(pipeline: &PipelinePlan) -> UngatedRead<'_> {
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

/// What leaves, the read, the judged step, its gate.
pub(super) type UngatedRead<'p> = Vec<(Leaving<'p>, &'p Read, &'p Step, StepIx)>;

/// What leaves when the gate has ended, and what is sent earlier.
pub(super) fn split_by_time(pipeline: &PipelinePlan) -> (UngatedRead<'_>, UngatedRead<'_>) {
    beside(pipeline).into_iter().partition(|(leaving, _, _, gate)| {
        let Some(sender) = leaving.sender.map(|ix| pipeline.step(ix)) else { return true };
        let gate = pipeline.step(*gate);
        sender.block != gate.block || pipeline.block(gate.block).is_upstream(gate.place, sender.place)
    })
}
