//! Marks of values that `format` steps made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::channel::{MessagePart, Output};
use crate::model::{Body, StepKind};
use crate::plan::Plan;

/// Marks of values that `format` steps made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MadeValues {
    made: BTreeSet<[u8; 32]>,
    /// Those of them that are HTML.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    made_as_html: BTreeSet<[u8; 32]>,
}

impl MadeValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Marks the output of a `format` step, or of a gate whose `otherwise` replaced such an output (`judged`: what it said).
    pub(super) fn take_output(&mut self, plan: &Plan, kind: &StepKind, judged: Option<bool>, output: &Value) {
        let has_fallen_back = judged == Some(false) && output.is_object() && matches!(kind, StepKind::Gate(_));
        if has_fallen_back || matches!(kind, StepKind::Format(_)) {
            self.mark_made(plan, output);
        }
    }

    /// Marks what a `format` step made.
    pub(super) fn mark_made(&mut self, plan: &Plan, output: &Value) {
        let parts = output.get("parts");
        let each = parts.and_then(Value::as_array).into_iter().flatten();
        let marks: Vec<[u8; 32]> = std::iter::once(output).chain(parts).chain(each).map(mark).collect();
        if is_for_html(plan, output) {
            self.made_as_html.extend(&marks);
        }
        self.made.extend(marks);
    }

    /// Whether all parts in a value are HTML, however they were passed on.
    pub(crate) fn is_html(&self, value: &Value) -> bool {
        match value {
            Value::Array(list) if !self.made_as_html.contains(&mark(value)) => {
                list.iter().any(|value| !is_gap(value)) && list.iter().filter(|value| !is_gap(value)).all(|value| self.is_html(value))
            }
            value => self.made_as_html.contains(&mark(value)),
        }
    }

    /// Classifies a value: it is formatted if it is the output of a `format` step of this run, however it was passed on. A value from outside that
    /// only looks like such an output is plain.
    pub(crate) fn output(&self, value: Value) -> Output {
        let is_made = value.get("parts").is_some() && self.made.contains(&mark(&value));
        if is_made { Output::formatted(value) } else { Output::Plain(value) }
    }

    /// The message parts in a value, however they were passed on: in the output of a `format` step, its `parts`, one part, or a list of these, in which
    /// an element that did not run has none.
    pub(crate) fn made_parts(&self, value: &Value) -> Option<Vec<MessagePart>> {
        if value.get("parts").is_some()
            && let Output::Formatted(_, made) = self.output(value.clone())
        {
            return Some(made.parts);
        }
        if let Value::Array(list) = value {
            let parts: Option<Vec<_>> = list.iter().filter(|value| !is_gap(value)).map(|value| self.made_parts(value)).collect();
            return parts.filter(|parts| !parts.is_empty()).map(|parts| parts.concat());
        }
        let part = Some(value).filter(|value| value.is_object() && self.made.contains(&mark(value)))?;
        serde_json::from_value(part.clone()).ok().map(|part| vec![part])
    }
}

/// Whether the channel that an output was made for sends HTML.
fn is_for_html(plan: &Plan, output: &Value) -> bool {
    let Some(name) = output.get("channel").and_then(Value::as_str) else { return false };
    let of_steps = plan
        .pipelines
        .iter()
        .flat_map(|planned| &planned.steps)
        .filter_map(|planned| if let StepKind::Format(format) = &planned.step.kind { format.channel.as_ref() } else { None });
    let mut all = plan.pipelines.iter().flat_map(|planned| &planned.pipeline.channels).chain(of_steps);
    all.find(|channel| channel.name == name).is_some_and(|channel| channel.body == Body::Html)
}

/// Whether an element of a list has nothing: it did not run, or gave nothing.
pub(crate) fn is_gap(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// What a value is known by, however it was passed on.
pub(crate) fn mark(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
