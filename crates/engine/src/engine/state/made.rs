//! Marks of what `format` steps made.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{NodeRef, RunState};
use crate::channel::Output;
use crate::model::StepKind;
use crate::plan::Plan;

impl RunState {
    /// A step gave what was formatted: a `format` step, or a gate whose `otherwise` took the place of such a text.
    pub(super) fn note_made(&mut self, plan: &Plan, at: NodeRef, output: &Value) {
        let has_fallen_back = self.node(at).judged == Some(false) && output.is_object();
        if has_fallen_back || matches!(self.step(plan, at).kind, StepKind::Format(_)) {
            self.made.insert(mark(output));
        }
    }

    /// A value, and whether it is the output of a `format` step of this run, wherever it was handed on. One from outside that looks like
    /// that is none.
    pub(crate) fn output(&self, value: Value) -> Output {
        let is_made = value.get("parts").is_some() && self.made.contains(&mark(&value));
        if is_made { Output::formatted(value) } else { Output::Plain(value) }
    }
}

fn mark(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
