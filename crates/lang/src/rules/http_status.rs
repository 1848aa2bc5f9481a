//! F106: a condition on a status that no reply has which a step gives: with 400 or above the step fails.

use std::sync::LazyLock;

use regex::Regex;

use super::Diagnostic;
use super::constant_condition::found;
use super::names::PipelineNames;
use super::seat::{TextRole, Texts};
use crate::model::StepKind;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    static FAILED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"steps\.(\w+)\.output\.status\s*(?:==|>=|>)\s*([45]\d\d)\b").ok());
    for placed in texts.all.iter().filter(|placed| placed.role == TextRole::Condition) {
        for groups in FAILED.iter().flat_map(|pattern| pattern.captures_iter(&placed.text.source)) {
            let Some(id) = groups.get(1).map(|id| id.as_str()) else { continue };
            let asked = names.pipeline.steps.iter().find(|planned| planned.step.id.value == id);
            if asked.is_none_or(|asked| !matches!(asked.step.kind, StepKind::Http(_)) || asked.step.for_each.is_some()) {
                continue;
            }
            let message = format!("{} is never true: a reply with status 400 or above fails step \"{id}\"", &groups[0]);
            let help = format!(
                "add on_failure: continue to {id}, and write steps.{id}.status == 'failed'; its error says more: steps.{id}.error.kind | default('')"
            );
            out.push(found(placed.text.place.span, message).help(help));
        }
    }
}
