//! The style guides of a pipeline.

use std::collections::HashSet;
use std::sync::Arc;

use super::tell::listed;
use crate::model::{Multilingual, Pipeline, StepKind, StyleGuide};
use crate::plan::PipelinePlan;

/// Every style guide that a pipeline names, once.
pub(in crate::rules) fn style_guides(pipeline: &PipelinePlan) -> impl Iterator<Item = &StyleGuide> {
    let of_steps = pipeline.steps.iter().filter_map(|planned| {
        let StepKind::Format(format) = &planned.step.kind else { return None };
        format.style_guide.as_ref()
    });
    let of_agents = pipeline.pipeline.agents.values().filter_map(|agent| agent.style_guide.as_ref());
    let mut seen = HashSet::new();
    let all = pipeline.pipeline.style_guide.iter().chain(of_steps).chain(of_agents);
    all.filter(move |style| seen.insert(Arc::as_ptr(style))).flat_map(|style| style.in_each_language())
}

/// How a file gets a style guide: the one that there is, or one of those.
pub(in crate::rules) fn style_guide_help(file: &Pipeline) -> String {
    match file.style_guides_there.as_slice() {
        [] => "add style_guide: NAME to the head of the file, with the name of a file in style_guides".to_owned(),
        [one] => format!("add style_guide: {one} to the head of the file"),
        [first, ..] => format!("add style_guide: {first} to the head of the file, or another one of: {}", listed(&file.style_guides_there)),
    }
}
