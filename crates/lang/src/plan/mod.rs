//! Model → petgraph DAG and the one refinement. Tolerant: unresolved names leave edges out.
//!
//! Steps are numbered through a whole pipeline ([`StepIx`]), also those inside routes, `on_failure` and `finally`; each list of steps is
//! a [`Block`] with a graph of its own.
//! How to add a kind of edge: a variant of [`Edge`], where it is drawn in `block.rs`, what it means in `engine`.

mod addresses;
mod block;
mod bounds;
mod cycle;
mod least;
mod money;
mod reach;
mod refinement;
mod set_aside;
mod waves;
mod wishes;
mod written;

use std::sync::Arc;

pub use block::{Block, BlockIx, Edge};
pub use bounds::{AgentPart, AgentUse, Calls, Elements, Lengths, OpenCalls, PipelineBounds, StepBounds, bounds};
pub(crate) use least::sure_steps;
pub use least::{Least, SureCall, SureStarts, least, surely_asks};
pub use money::{Cost, Tokens, asks_programs, cost, tokens};
pub use refinement::Refinement;
pub(crate) use set_aside::least_set_aside;
pub use set_aside::{answer_set_aside, most_set_aside, reply_tokens};
pub use wishes::{Wish, Wishes, asks_default, takes_given, users};
pub use written::written;

use crate::diagnostic::Diagnostic;
use crate::model::{Pipeline, PipelineId, Program, RepeatStep, Step, StepKind, step_path};

/// Number of a step within its pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StepIx(pub u32);

/// The graphs of a program.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program it was made from.
    pub program: Program,
    /// One a pipeline, in the program's order.
    pub pipelines: Vec<PipelinePlan>,
}

impl Plan {
    /// The plan of one pipeline.
    pub fn pipeline(&self, id: PipelineId) -> &PipelinePlan {
        &self.pipelines[id.0]
    }
}

/// The graphs of one pipeline.
#[derive(Debug, Clone)]
pub struct PipelinePlan {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// All steps.
    pub steps: Vec<PlannedStep>,
    /// All lists of steps.
    pub blocks: Vec<Block>,
    /// `steps`.
    pub main: BlockIx,
    /// `on_failure`.
    pub on_failure: Option<BlockIx>,
    /// `finally`.
    pub finally: Option<BlockIx>,
    /// The one refinement.
    pub refinement: Option<Refinement>,
}

/// A step and where it stands.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// The step.
    pub step: Arc<Step>,
    /// Its list.
    pub block: BlockIx,
    /// Its place in that list.
    pub place: usize,
    /// Path below its block's prefix: its id.
    pub id: Arc<str>,
    /// The lists that stand in it: of a route those of its cases, in order, `otherwise` last; of a group or a `repeat` one.
    pub cases: Vec<BlockIx>,
}

impl PipelinePlan {
    /// A step by number.
    pub fn step(&self, ix: StepIx) -> &PlannedStep {
        &self.steps[ix.0 as usize]
    }

    /// The steps of a list with their places in it.
    pub fn steps_of(&self, block: BlockIx) -> impl Iterator<Item = (usize, &PlannedStep)> {
        let list = self.block(block);
        (0..list.len()).map(move |place| (place, self.step(StepIx(list.first.0 + place as u32))))
    }

    /// Each step with its number.
    pub(crate) fn numbered_steps(&self) -> impl Iterator<Item = (StepIx, &PlannedStep)> {
        (0..).map(StepIx).zip(&self.steps)
    }

    /// A block by number.
    pub fn block(&self, ix: BlockIx) -> &Block {
        &self.blocks[ix.0 as usize]
    }

    /// The pipeline a step runs: of a `call`, or of a tool that is one.
    pub fn called(&self, step: &Step) -> Option<PipelineId> {
        step.kind.called(&self.pipeline)
    }

    /// The pipeline a tool runs, if it is one.
    pub fn called_tool(&self, tool: &str) -> Option<PipelineId> {
        self.pipeline.called_tool(tool)
    }

    /// The steps that the refinement runs again, in file order.
    pub fn refined(&self) -> impl Iterator<Item = &PlannedStep> {
        let again = |refinement: &Refinement, place: usize| self.step(StepIx(self.block(refinement.block).first.0 + place as u32));
        self.refinement.iter().flat_map(move |refinement| refinement.stretch.iter().map(move |place| again(refinement, *place)))
    }

    /// Whether a step is told by itself why its first try failed: the target of the refinement, if it asks an agent itself.
    pub(crate) fn is_told_again(&self, ix: StepIx) -> bool {
        self.refinement.as_ref().is_some_and(|refinement| refinement.target == ix) && self.step(ix).step.kind.facts().agents[0].is_some()
    }

    /// The path of a step within its pipeline, as in events.
    pub fn path(&self, ix: StepIx) -> String {
        let found = self.step(ix);
        let Some(owner) = self.owner(found.block) else { return found.id.to_string() };
        let (above, holder) = (self.path(owner), self.step(owner));
        let mut cases = holder.cases.iter().zip(holder.step.kind.cases());
        let case = cases.find(|(block, _)| **block == found.block).map(|(_, case)| case.path_in(&above));
        step_path::inside(&case.unwrap_or(above), &found.id)
    }

    /// A step and those that it stands in, from the inside.
    pub fn around(&self, ix: StepIx) -> impl Iterator<Item = StepIx> + '_ {
        std::iter::successors(Some(ix), |ix| self.owner(self.step(*ix).block))
    }

    /// A step as one in this list sees it: in the list, in those around it, else among the pipeline's steps.
    pub(crate) fn seen_from(&self, block: BlockIx, id: &str) -> Option<StepIx> {
        let around = self.owner(block).into_iter().flat_map(|owner| self.around(owner)).map(|ix| self.step(ix).block);
        let find = |block: BlockIx| self.block(block).place(id).map(|place| StepIx(self.block(block).first.0 + place as u32));
        std::iter::once(block).chain(around).chain([self.main]).find_map(find)
    }

    /// The innermost `repeat` that a step stands in.
    pub fn repeat_around(&self, ix: StepIx) -> Option<(StepIx, &RepeatStep)> {
        self.around(ix).skip(1).find_map(|ix| Some((ix, self.step(ix).step.kind.repeat()?)))
    }

    /// The step that holds a block; `None` for the pipeline's own lists.
    pub fn owner(&self, block: BlockIx) -> Option<StepIx> {
        self.block(block).owner
    }
}

/// Draws the graphs of a program. Findings: F100, F101, F112, F401, F409.
pub fn plan(program: &Program, diagnostics: &mut Vec<Diagnostic>) -> Plan {
    let pipelines = program.pipelines.iter().map(|pipeline| plan_pipeline(pipeline, diagnostics)).collect();
    Plan { program: program.clone(), pipelines }
}

fn plan_pipeline(pipeline: &Arc<Pipeline>, diagnostics: &mut Vec<Diagnostic>) -> PipelinePlan {
    let mut builder = PlanBuilder { steps: vec![], blocks: vec![] };
    let main = builder.add(&pipeline.steps, false, None, diagnostics);
    let on_failure = (!pipeline.on_failure.is_empty()).then(|| builder.add(&pipeline.on_failure, false, None, diagnostics));
    let finally = (!pipeline.finally.is_empty()).then(|| builder.add(&pipeline.finally, false, None, diagnostics));
    let mut plan = PipelinePlan {
        pipeline: pipeline.clone(),
        steps: builder.steps,
        blocks: builder.blocks,
        main,
        on_failure,
        finally,
        refinement: None,
    };
    for block in &mut plan.blocks {
        block.finish();
    }
    plan.refinement = refinement::find(&plan, diagnostics);
    if let Some(refinement) = &plan.refinement {
        let list = &mut plan.blocks[refinement.block.0 as usize];
        refinement::hold_back_readers(list, refinement);
        list.finish();
    }
    plan
}

/// Numbers steps and blocks, inner ones after the step that holds them.
struct PlanBuilder {
    steps: Vec<PlannedStep>,
    blocks: Vec<Block>,
}

impl PlanBuilder {
    fn add(&mut self, steps: &[Arc<Step>], is_parallel: bool, owner: Option<StepIx>, diagnostics: &mut Vec<Diagnostic>) -> BlockIx {
        let ix = BlockIx(self.blocks.len() as u32);
        let first = StepIx(self.steps.len() as u32);
        self.blocks.push(Block::new(steps, first, owner));
        for (place, step) in steps.iter().enumerate() {
            let id = Arc::from(step.id.as_str());
            self.steps.push(PlannedStep { step: step.clone(), block: ix, place, id, cases: vec![] });
        }
        self.blocks[ix.0 as usize].connect(steps, is_parallel, diagnostics);
        for (place, step) in steps.iter().enumerate() {
            let ix = StepIx(first.0 + place as u32);
            let is_parallel = matches!(&step.kind, StepKind::Group(group) if group.parallel);
            let cases = step.kind.cases().map(|case| self.add(&case.steps, is_parallel, Some(ix), diagnostics));
            self.steps[ix.0 as usize].cases = cases.collect();
        }
        ix
    }
}
