//! The one refinement of a pipeline: from a gate back to a step of the same list that tries again. It is no edge of the graph.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::{Bfs, Reversed};

use super::{Block, BlockIx, Edge, PipelinePlan, PlannedStep, StepIx};
use crate::diagnostic::{Code, Diagnostic, Hints, quoted};
use crate::model::{Step, StepKind};
use crate::source::Span;

/// The refinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refinement {
    /// The list that both stand in: the pipeline's own, or that of a group, a round or a case. Each time it runs it has a second try of its own.
    pub block: BlockIx,
    /// The gate that asks for it.
    pub gate: StepIx,
    /// The step that tries once more.
    pub target: StepIx,
    /// Every place on a way from target to gate, both included, in file order.
    pub stretch: Vec<usize>,
}

/// Finds the first refinement; others are reported by `rules` (F400).
pub(super) fn find(plan: &PipelinePlan, diagnostics: &mut Vec<Diagnostic>) -> Option<Refinement> {
    let hints = Hints::default();
    let ids: HashSet<&str> = plan.steps.iter().map(|planned| planned.step.id.as_str()).collect();
    let mut found = None;
    for (ix, planned) in plan.steps.iter().enumerate() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(refine) = &gate.refine else { continue };
        let id = &planned.step.id.value;
        let outermost = plan.around(StepIx(ix as u32)).last().map(|ix| plan.step(ix).block);
        if outermost != Some(plan.main) {
            diagnostics.push(
                refine_inside(refine.span, format!("gate \"{id}\" has refine, but stands in on_failure or finally"))
                    .help("remove refine, or move the gate and what it refines to steps"),
            );
            continue;
        }
        if planned.step.for_each.is_some() {
            diagnostics.push(
                refine_inside(refine.span, format!("gate \"{id}\" has refine, but is repeated by for_each"))
                    .help(each_with_its_gate(plan, planned, &refine.value)),
            );
            continue;
        }
        let list = plan.block(planned.block);
        let Some(target) = list.place(&refine.value) else {
            if plan.steps.iter().any(|planned| !planned.step.is_named()) {
                continue;
            }
            diagnostics.push(if ids.contains(refine.as_str()) {
                refine_inside(refine.span, format!("refine names \"{}\", which is in another list of steps than the gate", refine.value))
                    .help(beside(plan, planned, &refine.value))
            } else {
                let hint = hints.did_you_mean(&refine.value, plan.pipeline.steps.iter().map(|s| s.id.as_str()));
                let of_agent = |step: &&Arc<Step>| matches!(&step.kind, StepKind::Agent(agent) if agent.agent.value == refine.value);
                let (what, help) = match plan.pipeline.steps.iter().find(of_agent) {
                    Some(step) => (
                        "which is an agent, and refine takes a step".to_owned(),
                        format!("write refine: {}, the step of agent {}", step.id.value, quoted(&refine.value)),
                    ),
                    None => (format!("which does not exist{hint}"), "name the step that should try once more".to_owned()),
                };
                Diagnostic::unknown_step(refine.span, format!("refine names \"{}\", {what}", refine.value)).near(hint).help(help)
            });
            continue;
        };
        if !list.is_upstream(target, planned.place) {
            diagnostics.push(
                Diagnostic::new(
                    Code::RefineNotUpstream,
                    refine.span,
                    format!("refine names \"{}\", which does not run before gate \"{id}\"", refine.value),
                )
                .help("name a step that the gate waits for"),
            );
            continue;
        }
        found.get_or_insert_with(|| Refinement {
            block: planned.block,
            gate: StepIx(ix as u32),
            target: StepIx(list.first.0 + target as u32),
            stretch: stretch(list, target, planned.place),
        });
    }
    found
}

/// How a gate that is repeated and the step that it would refine become a group that is repeated.
fn each_with_its_gate(plan: &PipelinePlan, gate: &PlannedStep, refine: &str) -> String {
    let list = plan.block(gate.block);
    let target = list.place(refine).map(|place| &plan.step(StepIx(list.first.0 + place as u32)).step);
    let each = target.and_then(|target| target.for_each.as_ref()).or(gate.step.for_each.as_ref());
    let texts = each.map(|each| each.list.texts()).unwrap_or_default();
    let each = texts.first().map_or("LIST", |text| text.source.trim());
    let id = &gate.step.id.value;
    format!(
        "move steps {refine} and {id}, without their for_each, into the steps of one: - {{ id: each_{id}, for_each: {each}, steps: … }}; write of: steps.{refine}.output in {id}, and read steps.each_{id}.output"
    )
}

/// The step beside the gate that holds the one that is named.
fn beside(plan: &PipelinePlan, gate: &PlannedStep, refine: &str) -> String {
    let named = (0..plan.steps.len()).map(|ix| StepIx(ix as u32)).filter(|ix| plan.step(*ix).step.id.value == refine);
    let holder = named.flat_map(|ix| plan.around(ix)).find(|ix| plan.step(*ix).block == gate.block);
    match holder {
        Some(ix) => {
            let (id, is_agent) =
                (&plan.step(ix).id, plan.steps.iter().any(|own| own.step.id.value == refine && own.step.kind.facts().agents[0].is_some()));
            let more = if is_agent { format!(" and \"{{{{ refinement.feedback }}}}\" in the prompt of {refine}") } else { String::new() };
            format!("write refine: {id}, the step beside the gate that holds {refine},{more}; or move the gate below {refine}")
        }
        None => format!("name a step beside the gate, or move the gate to the list of {refine}"),
    }
}

/// Every place on a way from `target` to `gate`, both included.
fn stretch(block: &Block, target: usize, gate: usize) -> Vec<usize> {
    let mut below = vec![false; block.len()];
    let mut walk = Bfs::new(&block.graph, NodeIndex::new(target));
    while let Some(node) = walk.next(&block.graph) {
        below[node.index()] = true;
    }
    let mut stretch = vec![];
    let reversed = Reversed(&block.graph);
    let mut walk = Bfs::new(reversed, NodeIndex::new(gate));
    while let Some(node) = walk.next(reversed) {
        if below[node.index()] {
            stretch.push(node.index());
        }
    }
    stretch.sort_unstable();
    stretch
}

/// Lets every step that waits for a part of the stretch but lies beside it wait for the gate.
pub(super) fn hold_back_readers(block: &mut Block, refinement: &Refinement) {
    let gate = (refinement.gate.0 - block.first.0) as usize;
    let stretch: HashSet<usize> = refinement.stretch.iter().copied().collect();
    let readers = |place: usize| block.readers(place).iter().map(|(reader, _)| *reader);
    let waiting: HashSet<usize> = readers(gate).collect();
    let beside = refinement.stretch.iter().filter(|place| **place != gate).flat_map(|place| readers(*place));
    let beside: BTreeSet<usize> = beside.filter(|place| !stretch.contains(place) && !waiting.contains(place)).collect();
    for place in beside {
        block.edge(gate, place, Edge::Wait);
    }
}

/// F409: a refinement that leads into, or out of, a list of its own.
fn refine_inside(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::RefineInside, span, message)
}
