//! The one refinement of a pipeline: from a gate back to the step that tries again. It is no edge of the graph.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::{Bfs, Reversed};

use super::{Block, Edge, PipelinePlan, StepIx};
use crate::diagnostic::{Code, Diagnostic, Hints, quoted};
use crate::model::{Step, StepKind};
use crate::source::Span;

/// The refinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refinement {
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
        if planned.block != plan.main {
            diagnostics.push(
                refine_inside(refine.span, format!("gate \"{id}\" has refine, but is not one of the pipeline's own steps"))
                    .help("move the gate below the step that contains it"),
            );
            continue;
        }
        if planned.step.for_each.is_some() {
            diagnostics.push(
                refine_inside(refine.span, format!("gate \"{id}\" has refine, but is repeated by for_each"))
                    .help("put the work and its gate into a pipeline of their own, and call that for each element"),
            );
            continue;
        }
        let main = plan.block(plan.main);
        let Some(target) = main.place(&refine.value) else {
            diagnostics.push(if ids.contains(refine.as_str()) {
                refine_inside(refine.span, format!("refine names \"{}\", which is inside a route", refine.value))
                    .help("name the route itself, or a step of the pipeline's own list")
            } else {
                let hint = hints.did_you_mean(&refine.value, plan.pipeline.steps.iter().map(|s| s.id.as_str()));
                let of_agent = |step: &&Arc<Step>| matches!(&step.kind, StepKind::Agent(agent) if agent.agent.value == refine.value);
                let help = match plan.pipeline.steps.iter().find(of_agent) {
                    Some(step) => format!(
                        "write refine: {}, the step of agent {}: a step is named, not its agent",
                        step.id.value,
                        quoted(&refine.value)
                    ),
                    None => "name the step that should try once more".to_owned(),
                };
                Diagnostic::unknown_step(refine.span, format!("refine names \"{}\", which does not exist{hint}", refine.value))
                    .near(hint)
                    .help(help)
            });
            continue;
        };
        if !main.is_upstream(target, planned.place) {
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
            gate: StepIx(ix as u32),
            target: StepIx(main.first.0 + target as u32),
            stretch: stretch(main, target, planned.place),
        });
    }
    found
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
