//! F419: a gate judges what came in, and nothing reads what it gives: its `otherwise` reaches nobody.

use crate::labels::{self, Reads, is_of_inputs, is_over_before, passed_on, readable_as, readable_beside, reads_of};
use crate::model::{Outputs, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, StepPart, Texts, Viewpoint, finding, quoted};
use crate::rules::support::texts_past_gate::{reads_output, tells_of};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        if gate.otherwise.is_none() || !is_of_inputs(pipeline, Some((ix, true)), &gate.of) || is_read(pipeline, ix) {
            continue;
        }
        // What the outputs read of an agent was meant.
        let given = if let Outputs::Named(outputs) = &pipeline.pipeline.outputs { outputs.as_slice() } else { &[] };
        let texts = given.iter().flat_map(|(_, value)| value.texts());
        let agents: Vec<(StepIx, String)> = texts.filter_map(|text| agent_of(pipeline, text)).collect();
        let beside = agents.iter().find(|(agent, _)| pipeline.step(*agent).block == planned.block);
        let Some((meant, shown)) = beside.or(agents.first()) else { continue };
        let meant = *meant;
        let (id, of) = (&planned.step.id.value, gate.of.source.trim());
        let message = format!("gate {} judges {of}, which came in, and nothing reads its result: otherwise reaches nobody", quoted(id));
        let seat = Some((ix, true));
        let is_below = is_over_before(pipeline, meant, seat);
        let help = match (readable_as(pipeline, seat, meant), readable_as(pipeline, None, ix)) {
            (Some(judged), Some(result)) if is_below && !judged.contains('|') => {
                format!("write of: {judged}, and in outputs {result} in place of {shown}")
            }
            _ => {
                let agent = &pipeline.step(meant).id;
                let result = readable_beside(pipeline, None, meant, id).unwrap_or_else(|| format!("steps.{id}.output"));
                format!(
                    "move gate {id} below step {agent}, write of: steps.{agent}.output there, and in outputs {result} in place of {shown}"
                )
            }
        };
        out.push(finding(Code::GateOnInput, gate.of.place.span, &message).help(help));
    }
}

/// The first agent whose answer a text of the outputs shows, and what the text reads of it.
fn agent_of(pipeline: &PipelinePlan, text: &Text) -> Option<(StepIx, String)> {
    let mut reads =
        reads_of(pipeline, None, text, Reads::Shown, &mut |read| passed_on(&pipeline.step(read.output.ix).step, &read.output.path));
    reads.sort_by_key(|read| read.hops.first().map(|hop| hop.span.start));
    let mut agents = reads.into_iter().filter(|read| read.output.is_named);
    let of_agent = agents.find(|read| matches!(pipeline.step(read.output.ix).step.kind, StepKind::Agent(_)))?;
    let first = of_agent.hops.first().map(|hop| hop.span.start);
    let shown = text.reads.iter().find(|read| Some(read.span.start) == first)?;
    Some((of_agent.output.ix, shown.path.join(".")))
}

/// Whether any text reads a step: what it gives, or how it ended.
fn is_read(pipeline: &PipelinePlan, step: StepIx) -> bool {
    let texts = Texts::of(pipeline);
    texts.all.iter().any(|placed| {
        let seats = texts.seats.get(placed.seat).map(|seat| seats(pipeline, &seat.at)).unwrap_or_default();
        seats.into_iter().any(|seat| tells_of(pipeline, seat, placed.text, step) || reads_output(pipeline, seat, placed.text, step))
    })
}

/// Where a text is filled in.
fn seats(pipeline: &PipelinePlan, at: &Viewpoint) -> Vec<labels::Seat> {
    match at {
        Viewpoint::Step(ix, StepPart::Work | StepPart::When) => vec![Some((*ix, true))],
        Viewpoint::Step(ix, StepPart::List) => vec![Some((*ix, false))],
        // After the steps of a round.
        Viewpoint::Step(ix, StepPart::Until) => {
            let inside = pipeline.step(*ix).cases.first().map(|block| pipeline.block(*block).first);
            vec![Some((inside.unwrap_or(*ix), true))]
        }
        Viewpoint::Outputs => vec![None],
        Viewpoint::Person | Viewpoint::Conversation => vec![],
        Viewpoint::Shared { users, .. } => users.iter().map(|ix| Some((*ix, true))).collect(),
    }
}
