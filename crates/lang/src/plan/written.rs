//! A plan that a model wrote, as a graph: its steps become steps like those of a file, whose texts are data.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::NodeIndex;

use super::block::{Block, Edge};
use super::{BlockIx, PipelinePlan, PlannedStep, StepIx};
use crate::diagnostic::Diagnostic;
use crate::model::{
    AgentStep, Filling, History, Pipeline, PlanStrategy, Step, StepKind, Text, ToolKind, ToolStep, WrittenPlan, WrittenStep,
};
use crate::source::Spanned;

/// Draws the graph of a written plan in the pipeline of the step that holds it. What a step depends on and the plan does not have is
/// left out: it is a step of an earlier plan, or was reported. Findings: F101.
pub fn written(pipeline: &Arc<Pipeline>, holder: &Step, plan: &WrittenPlan, diagnostics: &mut Vec<Diagnostic>) -> PipelinePlan {
    let known: HashSet<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    let steps: Vec<Arc<Step>> = plan.steps.iter().map(|step| Arc::new(as_step(pipeline, holder, step, &known))).collect();
    let mut block = Block::new(&steps, StepIx(0), None);
    block.connect(&steps, false, diagnostics);
    if plan.strategy == PlanStrategy::Sequential {
        let order = in_turn(&block);
        for pair in order.windows(2) {
            block.edge(pair[0], pair[1], Edge::Wait);
        }
    }
    block.finish();
    let steps = steps.into_iter().enumerate().map(|(place, step)| PlannedStep {
        block: BlockIx(0),
        place,
        id: Arc::from(step.id.as_str()),
        cases: vec![],
        step,
    });
    PipelinePlan {
        pipeline: pipeline.clone(),
        steps: steps.collect(),
        blocks: vec![block],
        main: BlockIx(0),
        on_failure: None,
        finally: None,
        refinement: None,
    }
}

fn as_step(pipeline: &Pipeline, holder: &Step, written: &WrittenStep, known: &HashSet<&str>) -> Step {
    let named = |text: &str| Spanned::new(text.to_owned(), holder.kind_span);
    let uses = named(&written.uses);
    let kind = match pipeline.agents.contains_key(&written.uses) {
        true => StepKind::Agent(AgentStep {
            agent: uses,
            prompt: Text::plain(written.prompt.as_deref().unwrap_or_default()),
            model: None,
            output: None,
            attach: None,
            history: History::Nothing,
        }),
        false => {
            let with = written.with.iter().map(|(name, value)| (named(name), Filling::Constant(value.clone()))).collect();
            StepKind::Tool(ToolStep { tool: uses, with, output: None, idempotency_key: None })
        }
    };
    // The time of a tool that is a pipeline has no call that it could be at.
    let tool = pipeline.tools.get(&written.uses).filter(|tool| matches!(tool.kind, ToolKind::Pipeline { .. }));
    Step {
        id: named(&written.id),
        span: holder.kind_span,
        needs: Some(written.depends_on.iter().filter(|name| known.contains(name.as_str())).map(|name| named(name)).collect()),
        timeout: tool.filter(|_| matches!(kind, StepKind::Tool(_))).and_then(|tool| tool.timeout),
        is_pii: holder.is_pii,
        is_once: holder.is_once,
        kind_span: holder.kind_span,
        kind,
        ..Step::default()
    }
}

/// The order in which a list is done one by one: as written, but what is needed comes first.
fn in_turn(block: &Block) -> Vec<usize> {
    let mut waits_for: Vec<usize> = block.graph.node_indices().map(|node| block.graph.neighbors_directed(node, Incoming).count()).collect();
    let mut free: BinaryHeap<Reverse<usize>> = (0..block.len()).filter(|place| waits_for[*place] == 0).map(Reverse).collect();
    let mut order = vec![];
    while let Some(Reverse(place)) = free.pop() {
        order.push(place);
        for reader in block.graph.neighbors_directed(NodeIndex::new(place), Outgoing) {
            waits_for[reader.index()] -= 1;
            if waits_for[reader.index()] == 0 {
                free.push(Reverse(reader.index()));
            }
        }
    }
    order
}
