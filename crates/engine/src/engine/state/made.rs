//! Marks of what `format` steps made.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{NodeRef, RunState};
use crate::model::StepKind;
use crate::plan::Plan;

impl RunState {
    /// A step gave what was formatted: a `format` step, or a gate whose `otherwise` took the place of such a text.
    pub(super) fn note_made(&mut self, plan: &Plan, at: NodeRef, output: &Value, details: &Value) {
        let is_made = match &self.planned(plan, at.frame).step(self.node(at).step).step.kind {
            StepKind::Format(_) => true,
            StepKind::Gate(_) => details["used_otherwise"] == true && output.is_object(),
            StepKind::Agent(_)
            | StepKind::Tool(_)
            | StepKind::Set(_)
            | StepKind::Http(_)
            | StepKind::Sql(_)
            | StepKind::Read(_)
            | StepKind::Plan(_)
            | StepKind::Route(_)
            | StepKind::Call(_)
            | StepKind::Send(_)
            | StepKind::Wait(_)
            | StepKind::Stop(_)
            | StepKind::Broken => false,
        };
        if is_made {
            self.made.insert(mark(output));
        }
    }

    /// Whether a `format` step of this run made a value.
    pub(crate) fn is_made(&self, value: &Value) -> bool {
        value.get("parts").is_some() && self.made.contains(&mark(value))
    }
}

fn mark(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
