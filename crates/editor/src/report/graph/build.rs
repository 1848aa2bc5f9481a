//! Builds the graph from the plan of a pipeline.

use super::{EdgeKind, Graph, GraphArrow, GraphNode, GraphSection, List, VERSION, words};
use crate::model::{Pipeline, Step, StepKind};
use crate::plan::{self, BlockIx, PipelinePlan, Plan, StepIx};
use crate::source::Spanned;

/// Returns the graph of a program's first pipeline; `None`: it has none.
pub fn graph(plan: &Plan) -> Option<Graph> {
    let planned = plan.pipelines.first()?;
    let pipeline = &planned.pipeline;
    let builder = GraphBuilder { plan, planned };
    let own = [
        Some(("steps", "", planned.main)),
        planned.on_failure.map(|block| ("on_failure", "If the run fails", block)),
        planned.finally.map(|block| ("finally", "At the end, however the run ended", block)),
    ];
    let section = |(name, title, block)| GraphSection { name, title, list: builder.list(block) };
    Some(Graph {
        v: VERSION,
        name: pipeline.name.value.clone(),
        description: pipeline.description.clone(),
        notes: notes(pipeline),
        sections: own.into_iter().flatten().map(section).collect(),
    })
}

fn notes(pipeline: &Pipeline) -> Vec<String> {
    let inputs: Vec<&str> = pipeline.input_fields().iter().map(|field| field.name.as_str()).collect();
    let channels: Vec<&str> = pipeline.channels.iter().map(|channel| channel.name.as_str()).collect();
    let said = [("Is given", inputs.join(", ")), ("Gives", words::gives(&pipeline.outputs)), ("Channels", channels.join(", "))];
    said.into_iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| format!("{what}: {names}")).collect()
}

struct GraphBuilder<'a> {
    plan: &'a Plan,
    planned: &'a PipelinePlan,
}

impl GraphBuilder<'_> {
    /// Builds one list of steps.
    fn list(&self, block_ix: BlockIx) -> List {
        let block = self.planned.block(block_ix);
        let nodes = (0..block.len()).map(|place| self.node(StepIx(block.first.0 + place as u32))).collect();
        let mut edges = vec![];
        for to in 0..block.len() {
            for (from, edge) in block.needs(to) {
                let kind = match edge {
                    plan::Edge::Need | plan::Edge::Above => EdgeKind::Order,
                    plan::Edge::Failure => self.stands_in(block.first.0, *from, to),
                    plan::Edge::Wait => EdgeKind::Wait,
                };
                edges.push(GraphArrow { from: *from, to, kind });
            }
        }
        if let Some(refinement) = self.planned.refinement.as_ref().filter(|refinement| refinement.block == block_ix) {
            let (from, to) = (self.planned.step(refinement.gate).place, self.planned.step(refinement.target).place);
            edges.push(GraphArrow { from, to, kind: EdgeKind::Refinement });
        }
        List { nodes, edges, is_choice: false }
    }

    /// Returns the condition under which a step replaces another: its failure, or only a missing answer.
    fn stands_in(&self, first: u32, from: usize, to: usize) -> EdgeKind {
        let step = |place: usize| &self.planned.step(StepIx(first + place as u32)).step;
        let is_its = |(_, name): &(&str, &Spanned<String>)| name.value == step(to).id.value;
        let by_silence = step(from).stand_ins().filter(is_its).all(|(key, _)| key == "on_timeout");
        if by_silence { EdgeKind::NoAnswer } else { EdgeKind::StandIn }
    }

    fn node(&self, ix: StepIx) -> GraphNode {
        let step = &self.planned.step(ix).step;
        let path = self.planned.path(ix);
        let Some(each) = &step.for_each else { return self.one(ix, step, path) };
        // `when` of a repeated step is evaluated once unless it reads the element; it is shown at the step, where its author wrote it.
        let inner = GraphNode { title: title(step, "each element"), when: None, ..self.one(ix, step, path.clone()) };
        GraphNode {
            path,
            title: step.id.value.clone(),
            kind: "for_each",
            lines: vec![words::elements(each)],
            when: step.when.as_ref().map(words::source),
            inner: Some(List { nodes: vec![inner], ..List::default() }),
            ..GraphNode::default()
        }
    }

    fn one(&self, ix: StepIx, step: &Step, path: String) -> GraphNode {
        let mut lines = words::what(self.plan, self.planned, step);
        let title = title(step, &step.id.value);
        if title != step.id.value && step.for_each.is_none() {
            lines.insert(0, step.id.value.clone());
        }
        GraphNode {
            inner: self.cases(ix, step, &path),
            path,
            title,
            kind: step.kind.word(),
            lines,
            when: step.when.as_ref().map(words::source),
            state: None,
        }
    }

    /// Builds the cases of a route, or the steps of a group or a `repeat`. A case that is a single step is drawn as one.
    fn cases(&self, ix: StepIx, step: &Step, path: &str) -> Option<List> {
        let blocks = &self.planned.step(ix).cases;
        if !matches!(step.kind, StepKind::Route(_)) {
            let mut list = blocks.first().map(|block| self.list(*block))?;
            if step.kind.repeat().is_some() && !list.nodes.is_empty() {
                list.edges.push(GraphArrow { from: list.nodes.len() - 1, to: 0, kind: EdgeKind::Round });
            }
            return Some(list);
        }
        let nodes = step.kind.cases().zip(blocks).map(|(case, block)| {
            let condition = words::condition(&step.kind, case);
            if case.has_steps {
                let (path, inner) = (case.path_in(path), Some(self.list(*block)));
                return GraphNode {
                    path,
                    title: case.id.value.clone(),
                    kind: "case",
                    lines: vec![condition],
                    inner,
                    ..GraphNode::default()
                };
            }
            let mut node = self.node(self.planned.block(*block).first);
            node.lines.insert(0, condition);
            node
        });
        Some(List { nodes: nodes.collect(), edges: vec![], is_choice: true })
    }
}

/// Returns a step's name, if it has one, else `other`.
fn title(step: &Step, other: &str) -> String {
    step.name.as_ref().map_or_else(|| other.to_string(), words::source)
}
