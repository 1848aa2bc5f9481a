//! F106: a condition on a status that a step never has where it is asked: of an `http` step, whose reply with 400 or above fails it, and of a
//! `for_each` that goes on when elements fail.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::constant_condition::found;
use super::presence::elements_failed;
use crate::model::{OnFailure, Step, StepKind};
use crate::rules::prelude::{Diagnostic, PipelineNames, TextRole, Texts, Viewpoint};

pub(in crate::rules) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    static OF_REPLY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"steps\.(\w+)\.output\.status\s*(?:==|>=|>)\s*([45]\d\d)\b").ok());
    static OF_STEP: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"steps\.(\w+)\.status\s*([!=]=)\s*(?:'(failed|succeeded)'|"(failed|succeeded)")"#).ok());
    let asked = |id: &str| names.pipeline.steps.iter().map(|planned| &planned.step).find(|step| step.id.value == id);
    for placed in texts.all.iter().filter(|placed| placed.role == TextRole::Condition) {
        for groups in OF_REPLY.iter().flat_map(|pattern| pattern.captures_iter(&placed.text.source)) {
            let Some(id) = groups.get(1).map(|id| id.as_str()) else { continue };
            if asked(id).is_none_or(|step| !matches!(step.kind, StepKind::Http(_)) || step.for_each.is_some()) {
                continue;
            }
            let message = format!("{} is never true: a reply with status 400 or above fails step \"{id}\"", &groups[0]);
            let help = format!(
                "add on_failure: continue to {id}, and write steps.{id}.status == 'failed'; its error says more: steps.{id}.error.kind | default('')"
            );
            out.push(found(placed.text.place.span, message).help(help));
        }
    }
    for placed in texts.all.iter().filter(|placed| !placed.text.reads.is_empty()) {
        for groups in OF_STEP.iter().flat_map(|pattern| pattern.captures_iter(&placed.text.source)) {
            let Some(id) = groups.get(1).map(|id| id.as_str()) else { continue };
            let is_read = placed.text.reads.iter().any(|read| read.path.iter().eq(["steps", id, "status"]));
            let is_for_failed = groups.get(3).or(groups.get(4)).is_some_and(|word| word.as_str() == "failed");
            // With `when`, a step that succeeded is one that ran.
            let is_about = |step: &Arc<Step>| goes_on(step) && (is_for_failed || step.when.is_none());
            // In `finally` it tells whether the step ran.
            let reader = if let Viewpoint::Step(ix, _) = &texts.seats[placed.seat].at { Some(*ix) } else { None };
            let is_beside = reader
                .zip(names.pipeline.numbered_steps().find(|(_, planned)| planned.step.id.value == id))
                .is_some_and(|(reader, (ix, _))| names.root_of(reader).1 == names.root_of(ix).1);
            let Some(step) = asked(id).filter(|step| is_read && is_beside && is_about(step)) else { continue };
            let [failed, none] = elements_failed(step);
            let help = if (&groups[2] == "==") == is_for_failed { failed } else { none };
            let message = format!("{} asks about no element: with on_failure: continue a for_each succeeds when they fail", &groups[0]);
            out.push(found(placed.text.place.span, message).help(format!("write {help}")));
        }
    }
}

/// Whether a step succeeds although elements of its list fail.
fn goes_on(step: &Step) -> bool {
    step.for_each.is_some() && step.on_failure == OnFailure::Continue
}
