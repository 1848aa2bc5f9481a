//! Marks of what `format` steps made.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{NodeRef, RunState};
use crate::channel::{MessagePart, Output};
use crate::model::StepKind;
use crate::plan::Plan;

impl RunState {
    /// A step gave what was formatted: a `format` step, or a gate whose `otherwise` took the place of such a text.
    pub(super) fn note_made(&mut self, plan: &Plan, at: NodeRef, output: &Value) {
        let has_fallen_back = self.node(at).judged == Some(false) && output.is_object();
        if has_fallen_back || matches!(self.step(plan, at).kind, StepKind::Format(_)) {
            self.made.insert(mark(output));
            let parts = output.get("parts");
            let each = parts.and_then(Value::as_array).into_iter().flatten();
            self.made.extend(parts.into_iter().chain(each).map(mark));
        }
    }

    /// A value, and whether it is the output of a `format` step of this run, wherever it was handed on. One from outside that looks like
    /// that is none.
    pub(crate) fn output(&self, value: Value) -> Output {
        let is_made = value.get("parts").is_some() && self.made.contains(&mark(&value));
        if is_made { Output::formatted(value) } else { Output::Plain(value) }
    }
}

impl RunState {
    /// The parts that a value is made of, wherever they were handed on: what a `format` step made, its `parts`, one of them, or a list of such.
    pub(crate) fn made_parts(&self, value: &Value) -> Option<Vec<MessagePart>> {
        if value.get("parts").is_some()
            && let Output::Formatted(_, made) = self.output(value.clone())
        {
            return Some(made.parts);
        }
        if let Value::Array(list) = value {
            let parts: Option<Vec<_>> = list.iter().map(|value| self.made_parts(value)).collect();
            return parts.filter(|parts| !parts.is_empty()).map(|parts| parts.concat());
        }
        let part = Some(value).filter(|value| value.is_object() && self.made.contains(&mark(value)))?;
        serde_json::from_value(part.clone()).ok().map(|part| vec![part])
    }
}

fn mark(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
