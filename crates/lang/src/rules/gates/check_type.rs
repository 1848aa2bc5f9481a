//! F407: a check that asks a text to equal a list or an object, which no text does.

use serde_json::Value;

use super::check_impossible::new_finding;
use crate::model::{Check, Filling, StepKind};
use crate::rules::prelude::{Diagnostic, PipelineNames, Texts, quoted};
use crate::rules::support::scorecards::{checks, known_scorecards};
use crate::template::types::Type;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    let mut told = std::collections::HashSet::new();
    for (ix, planned) in names.pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let judged = names.text(&names.seat(ix), &gate.of);
        if !(judged.is_text() || judged.is_number() || judged == Type::Boolean) {
            continue;
        }
        for (criterion, check) in known_scorecards(names.pipeline, gate).flat_map(checks) {
            let Check::Equals(Filling::Constant(wanted)) = &check.value else { continue };
            if !(wanted.is_array() || wanted.is_object()) || !told.insert(check.span) {
                continue;
            }
            let what = Type::of_value(wanted).words();
            let message = format!(
                "criterion {}: equals asks for {what}, and gate {} judges {}, so nothing passes",
                quoted(&criterion.id.value),
                quoted(&planned.step.id.value),
                judged.words()
            );
            out.push(new_finding(check.span, &message).help(one_of(wanted)));
        }
    }
}

/// The check that a list of words stands for.
fn one_of(wanted: &Value) -> String {
    let words: Option<Vec<String>> = wanted.as_array().map(|list| list.iter().filter_map(Value::as_str).map(regex::escape).collect());
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("write regex: \"^({})$\" for one of them", words.join("|")),
        None => "write the value that the text must have".to_owned(),
    }
}
