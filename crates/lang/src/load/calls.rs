//! F107: pipelines that call each other in a circle, and agents that ask each other in one.

use std::collections::{BTreeSet, VecDeque};

use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Pipeline, PipelineId, Program, StepKind, asking_tool};
use crate::source::{FileId, Sources, Span, Spanned};

/// Reports each circle once, by its shortest path. Only what steps do counts: `call`, and `tool` and `plan` with a pipeline behind it;
/// what an agent may call it need not call.
pub fn check(program: &Program, files: &[FileId], sources: &Sources, diagnostics: &mut Vec<Diagnostic>) {
    let calls: Vec<Vec<(PipelineId, Span)>> = program.pipelines.iter().map(|pipeline| calls(pipeline)).collect();
    let mut told = BTreeSet::new();
    for start in 0..calls.len() {
        let Some(path) = circle(start, &calls).filter(|path| path.iter().all(|(pipeline, _)| !told.contains(pipeline))) else { continue };
        told.extend(path.iter().map(|(pipeline, _)| *pipeline));
        let name = |pipeline: usize| files.get(pipeline).map_or("?", |file| sources.file(*file).name.as_str());
        let names: Vec<&str> = path.iter().map(|(pipeline, _)| name(*pipeline)).chain([name(start)]).collect();
        let Some((_, span)) = path.first() else { continue };
        let asked: Vec<&str> =
            path.iter().filter_map(|(pipeline, _)| program.pipelines.get(*pipeline)?.asked.as_ref()).map(Spanned::as_str).collect();
        let (message, help, here) = match asked.as_slice() {
            [] => (
                format!("this pipeline calls itself: {}", names.join(" -> ")),
                "write the steps that are done again into one step, with repeat: { until: CONDITION, at_most: 5 }, and remove the call",
                "called here",
            ),
            [one] => (format!("agent \"{one}\" asks itself"), "remove it from agents", "asked here"),
            [first, ..] => (
                format!("agents ask each other in a circle: {} -> {first}", asked.join(" -> ")),
                "remove one of them from agents; to let them talk to each other, write a dialogue step",
                "asked here",
            ),
        };
        let mut diagnostic = Diagnostic::new(Code::SelfCall, *span, message).help(help);
        for (_, span) in path.iter().skip(1) {
            diagnostic = diagnostic.related(*span, here);
        }
        diagnostics.push(diagnostic);
    }
}

/// The shortest way from a pipeline back to itself: each pipeline on it, and where it calls the next.
fn circle(start: usize, calls: &[Vec<(PipelineId, Span)>]) -> Option<Vec<(usize, Span)>> {
    let mut came_from: Vec<Option<(usize, Span)>> = vec![None; calls.len()];
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for (next, span) in calls.get(at)? {
            if next.0 == start {
                let mut path = vec![(at, *span)];
                let mut here = at;
                while let Some((before, span)) = came_from.get(here).copied().flatten().filter(|_| here != start) {
                    path.push((before, span));
                    here = before;
                }
                path.reverse();
                return Some(path);
            }
            if let Some(slot @ None) = came_from.get_mut(next.0) {
                *slot = Some((at, *span));
                open.push_back(next.0);
            }
        }
    }
    None
}

fn calls(pipeline: &Pipeline) -> Vec<(PipelineId, Span)> {
    let mut found = vec![];
    for step in pipeline.all_steps() {
        if let StepKind::Call(call) = &step.kind {
            found.extend(call.pipeline.map(|id| (id, call.file.span)));
        }
        // A plan may continue into itself without end.
        found.extend(step.kind.facts().may_use.iter().filter_map(|name| Some((pipeline.called_tool(&name.value)?, name.span))));
    }
    // A model that is a tool calls it for each prompt.
    let answering = pipeline.agents.values().filter_map(|agent| pipeline.models.get(agent.model_name())?.provider.tool());
    found.extend(answering.filter_map(|own| Some((pipeline.called_tool(&own.tool.value)?, own.tool.span))));
    // An agent need not ask those that it may ask, but a circle of them has no use.
    let asking = pipeline.asked.iter().filter_map(|own| pipeline.agents.get(&own.value)).flat_map(|agent| &agent.agents);
    found.extend(asking.filter_map(|other| Some((pipeline.called_tool(&asking_tool(&other.value))?, other.span))));
    found
}
