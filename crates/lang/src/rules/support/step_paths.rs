//! Where the path of a step leads, as tests name it: `facts/report/text`.

use crate::model::{Case, PipelineId, StepKind, step_path};
use crate::plan::{BlockIx, PipelinePlan, Plan, StepIx};

/// Where the path of a step leads.
pub(in crate::rules) enum PathEnd<'p> {
    Nowhere,
    /// To a step of a pipeline.
    Step(&'p PipelinePlan, StepIx),
    /// To a case that has steps: none of its own has this path.
    Case(&'p Case),
    /// To a case that is a step, or into what is only known in the run.
    Inside,
}

/// Where a path such as `facts/report/text` or `each[2]` leads.
pub(in crate::rules) fn way<'p>(plan: &'p Plan, pipeline: &'p PipelinePlan, path: &str) -> PathEnd<'p> {
    way_in(plan, pipeline, &step_path::ids(path).collect::<Vec<_>>())
}

/// The same from the lists of a pipeline.
fn way_in<'p>(plan: &'p Plan, pipeline: &'p PipelinePlan, parts: &[&str]) -> PathEnd<'p> {
    let blocks = [Some(pipeline.main), pipeline.on_failure, pipeline.finally];
    let mut ways = blocks.into_iter().flatten().map(|block| way_from(plan, pipeline, block, parts));
    ways.find(|way| !matches!(way, PathEnd::Nowhere)).unwrap_or(PathEnd::Nowhere)
}

/// A path as it is in events, with the places of elements and rounds that it leaves out in the middle; `None`: it leaves out none.
pub(in crate::rules) fn with_places(plan: &Plan, pipeline: &PipelinePlan, path: &str) -> Option<String> {
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

fn way_from<'p>(plan: &'p Plan, pipeline: &'p PipelinePlan, mut block: BlockIx, mut parts: &[&str]) -> PathEnd<'p> {
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
        } else if let (StepKind::Call(_) | StepKind::Tool(_), Some(called)) = (kind, pipeline.called(&planned.step)) {
            return way_in(plan, plan.pipeline(called), rest);
        } else if let Some(called) = used_by_agents(kind, pipeline, first).filter(|_| !below.is_empty()) {
            return way_in(plan, plan.pipeline(called), below);
        } else {
            return if kind.facts().is_open { PathEnd::Inside } else { PathEnd::Nowhere };
        }
    }
}

/// The pipeline that an agent of a step may run as this tool.
fn used_by_agents(kind: &StepKind, pipeline: &PipelinePlan, tool: &str) -> Option<PipelineId> {
    let facts = kind.facts();
    let mut agents = facts.agents.into_iter().flatten().chain(facts.talkers).filter_map(|agent| pipeline.pipeline.agents.get(&agent.value));
    let may_run = agents.any(|agent| agent.tools.iter().any(|own| own.value == tool));
    pipeline.called_tool(tool).filter(|_| may_run)
}

/// The paths that may be meant by one that leads nowhere: those in the last step of it that there is, or that step itself where none has a path in it.
pub(in crate::rules) fn nearest(plan: &Plan, pipeline: &PipelinePlan, path: &str) -> Vec<String> {
    let above = path.match_indices('/').rev().map(|(end, _)| &path[..end]);
    let Some((above, end)) = above.map(|above| (above, way(plan, pipeline, above))).find(|(_, end)| !matches!(end, PathEnd::Nowhere))
    else {
        return vec![];
    };
    let ids: Vec<&str> = match end {
        PathEnd::Case(case) => case.steps.iter().map(|step| step.id.as_str()).collect(),
        PathEnd::Step(pipeline, ix) => {
            let step = &pipeline.step(ix).step;
            let is_route = matches!(step.kind, StepKind::Route(_));
            match pipeline.called(step).map(|id| plan.pipeline(id)) {
                Some(called) => {
                    called.steps.iter().filter(|inner| inner.block == called.main).map(|inner| inner.step.id.as_str()).collect()
                }
                None if is_route => step.kind.cases().map(|case| case.id.as_str()).collect(),
                None => step.kind.cases().flat_map(|case| &case.steps).map(|step| step.id.as_str()).collect(),
            }
        }
        PathEnd::Inside | PathEnd::Nowhere => vec![],
    };
    if ids.is_empty() { vec![above.to_owned()] } else { ids.into_iter().map(|id| step_path::inside(above, id)).collect() }
}
