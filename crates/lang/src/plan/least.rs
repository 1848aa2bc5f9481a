//! The least that a run needs: what surely starts when every step succeeds. What depends on data counts as nothing.

use std::collections::HashSet;

use super::bounds::length;
use super::{BlockIx, PipelinePlan, Plan, StepIx};
use crate::model::{PipelineId, Step, StepKind};

/// What surely starts in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Least {
    /// Pipelines that are called.
    pub called: u64,
    /// Steps, those of called pipelines too.
    pub steps: u64,
}

impl Least {
    fn and(self, other: Least) -> Least {
        Least { called: self.called.saturating_add(other.called), steps: self.steps.saturating_add(other.steps) }
    }

    fn times(self, factor: u64) -> Least {
        Least { called: self.called.saturating_mul(factor), steps: self.steps.saturating_mul(factor) }
    }
}

/// A step that surely calls a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct SureCall {
    /// The step.
    pub step: StepIx,
    /// What it calls.
    pub pipeline: PipelineId,
    /// How often: elements of its `for_each`.
    pub times: u64,
    /// What starts by it, all times together.
    pub needs: Least,
}

/// What one pipeline surely starts.
#[derive(Debug, Clone, Default)]
pub struct SureStarts {
    /// All of it.
    pub needs: Least,
    /// Its calls.
    pub calls: Vec<SureCall>,
}

/// What the first pipeline of a plan, and each that it surely calls, starts at least; in the plan's order. Each pipeline is counted once, however
/// many call it.
pub fn least(plan: &Plan) -> Vec<SureStarts> {
    let mut known: Vec<Option<SureStarts>> = vec![None; plan.pipelines.len()];
    let mut is_open = vec![false; plan.pipelines.len()];
    let mut stack: Vec<usize> = (0..plan.pipelines.len().min(1)).collect();
    while let Some(at) = stack.last().copied() {
        if known[at].is_some() {
            stack.pop();
            continue;
        }
        let (own, mut calls) = own(&plan.pipelines[at]);
        if !is_open[at] {
            is_open[at] = true;
            // What is open and not known is a circle, which the check reports.
            stack.extend(calls.iter().map(|call| call.pipeline.0).filter(|to| !is_open[*to]));
            continue;
        }
        for call in &mut calls {
            let inner = known[call.pipeline.0].as_ref().map(|inner| inner.needs).unwrap_or_default();
            call.needs = inner.and(Least { called: 1, steps: 0 }).times(call.times);
        }
        let needs = calls.iter().fold(own, |all, call| all.and(call.needs));
        known[at] = Some(SureStarts { needs, calls });
        stack.pop();
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

/// The steps that surely start in a pipeline itself, and those of them that call another. A pipeline that can `stop` may do so before anything else.
fn own(planned: &PipelinePlan) -> (Least, Vec<SureCall>) {
    let (mut own, mut calls) = (Least::default(), vec![]);
    for (ix, step) in sure_steps(planned) {
        let times = times(step);
        // The list is a step run, and so is each of its elements.
        let elements = if step.for_each.is_some() { times } else { 0 };
        own.steps = own.steps.saturating_add(1).saturating_add(elements);
        let called = planned.called(step).filter(|_| times > 0);
        calls.extend(called.map(|pipeline| SureCall { step: ix, pipeline, times, needs: Least::default() }));
    }
    (own, calls)
}

/// The steps of a pipeline itself that surely start. One that can `stop` may do so before anything else.
pub(crate) fn sure_steps(planned: &PipelinePlan) -> impl Iterator<Item = (StepIx, &Step)> {
    let may_stop = planned.steps.iter().any(|step| matches!(step.step.kind, StepKind::Stop(_) | StepKind::Broken));
    let stand_ins = stand_ins(planned, planned.main);
    let is_sure = move |step: &Step| step.when.is_none() && step.cache.is_none() && !stand_ins.contains(&step.id.value.as_str());
    steps_of(planned, planned.main).filter(move |(_, step)| !may_stop && is_sure(step))
}

/// A step of which it is sure that it asks a person, in the first pipeline or in one that is surely called.
pub fn surely_asks(plan: &Plan) -> Option<&Step> {
    let (mut open, mut seen) = (vec![0], HashSet::from([0]));
    while let Some(planned) = open.pop().and_then(|at: usize| plan.pipelines.get(at)) {
        let asks = |step: &Step| matches!(step.kind, StepKind::Approval(_)) && times(step) > 0;
        if let Some((_, step)) = sure_steps(planned).find(|(_, step)| asks(step)) {
            return Some(step);
        }
        open.extend(own(planned).1.iter().map(|call| call.pipeline.0).filter(|at| seen.insert(*at)));
    }
    None
}

/// How often a step surely runs: elements of its `for_each`.
fn times(step: &Step) -> u64 {
    step.for_each.as_ref().map_or(1, |each| length(&each.list).unwrap_or(0))
}

fn steps_of(planned: &PipelinePlan, block: BlockIx) -> impl Iterator<Item = (StepIx, &Step)> {
    let block = planned.block(block);
    (0..block.len()).map(move |place| StepIx(block.first.0 + place as u32)).map(|ix| (ix, &*planned.step(ix).step))
}

/// The steps that run only when another one fails.
fn stand_ins(planned: &PipelinePlan, block: BlockIx) -> HashSet<&str> {
    steps_of(planned, block).flat_map(|(_, step)| step.stand_ins()).map(|(_, name)| name.value.as_str()).collect()
}
