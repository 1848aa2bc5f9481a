//! Where the path of a step leads, as tests name it: `facts/report/text`.

use super::{PipelinePlan, Plan};
use crate::model::{Case, StepKind, step_path};
use crate::plan::{BlockIx, StepIx};

/// Where the path of a step leads.
pub(super) enum PathEnd<'p> {
    Nowhere,
    /// To a step of a pipeline.
    Step(&'p PipelinePlan, StepIx),
    /// To a case that has steps: none of its own has this path.
    Case(&'p Case),
    /// To a case that is a step, or into what is only known in the run.
    Inside,
}

/// Where a path such as `facts/report/text` or `each[2]` leads.
pub(super) fn way<'p>(plan: &'p Plan, pipeline: &'p PipelinePlan, path: &str) -> PathEnd<'p> {
    let parts: Vec<&str> = step_path::ids(path).collect();
    let blocks = [Some(pipeline.main), pipeline.on_failure, pipeline.finally];
    let mut ways = blocks.into_iter().flatten().map(|block| way_from(plan, pipeline, block, &parts));
    ways.find(|way| !matches!(way, PathEnd::Nowhere)).unwrap_or(PathEnd::Nowhere)
}

/// A path as it is in events, with the places of elements and rounds that it leaves out in the middle; `None`: it leaves out none.
pub(super) fn with_places(plan: &Plan, pipeline: &PipelinePlan, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let placed: Vec<String> = (1..=parts.len())
        .map(|end| {
            let part = parts[end - 1];
            let PathEnd::Step(of, ix) = way(plan, pipeline, &parts[..end].join("/")) else { return part.to_owned() };
            let step = &of.step(ix).step;
            let places = [step.for_each.as_ref().map(|_| "[0]"), step.kind.repeat().map(|_| "[1]")];
            let places: Vec<&str> = places.into_iter().flatten().collect();
            let missing = places.len().saturating_sub(part.matches('[').count());
            // The step itself has a path without places.
            if end == parts.len() || missing == 0 {
                part.to_owned()
            } else {
                format!("{part}{}", places[places.len() - missing..].concat())
            }
        })
        .collect();
    let placed = placed.join("/");
    (placed != path).then_some(placed)
}

fn way_from<'p>(plan: &'p Plan, mut pipeline: &'p PipelinePlan, mut block: BlockIx, mut parts: &[&str]) -> PathEnd<'p> {
    loop {
        let [id, rest @ ..] = parts else { return PathEnd::Nowhere };
        let list = pipeline.block(block);
        let Some(place) = list.place(id) else { return PathEnd::Nowhere };
        let ix = StepIx(list.first.0 + place as u32);
        let planned = pipeline.step(ix);
        let [first, below @ ..] = rest else { return PathEnd::Step(pipeline, ix) };
        let kind = &planned.step.kind;
        if let StepKind::Route(route) = kind {
            let mut cases = route.cases.iter().chain(&route.otherwise).zip(&planned.cases);
            let Some((case, inner)) = cases.find(|(case, _)| case.id.value == *first) else { return PathEnd::Nowhere };
            if below.is_empty() {
                return if case.has_steps { PathEnd::Case(case) } else { PathEnd::Inside };
            }
            if !case.has_steps {
                let has_none = matches!(case.steps.first().map(|step| &step.kind), Some(StepKind::Set(_) | StepKind::Sql(_)));
                return if has_none { PathEnd::Nowhere } else { PathEnd::Inside };
            }
            (block, parts) = (*inner, below);
        } else if let (StepKind::Group(_) | StepKind::Repeat(_), Some(inner)) = (kind, planned.cases.first()) {
            (block, parts) = (*inner, rest);
        } else if let StepKind::Call(call) = kind {
            let Some(called) = call.pipeline else { return PathEnd::Inside };
            pipeline = plan.pipeline(called);
            (block, parts) = (pipeline.main, rest);
        } else {
            // What a tool, an agent or a plan runs is known only in the run.
            let is_alone =
                matches!(kind, StepKind::Http(_) | StepKind::Approval(_) | StepKind::Send(_) | StepKind::Wait(_) | StepKind::Stop(_));
            return if is_alone || kind.facts().only_computes { PathEnd::Nowhere } else { PathEnd::Inside };
        }
    }
}
