//! Marks of what `format` steps made.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{NodeRef, RunState};
use crate::event::StepDetails;
use crate::model::StepKind;
use crate::plan::Plan;

impl RunState {
    /// A step gave what was formatted: a `format` step, or a gate whose `otherwise` took the place of such a text.
    pub(super) fn note_made(&mut self, plan: &Plan, at: NodeRef, output: &Value, details: &Value) {
        let planned = self.planned(plan, at.frame);
        let kind = &planned.step(self.node(at).step).step.kind;
        let has_fallen_back = || StepDetails::of(details).used_otherwise() && output.is_object();
        let is_made = matches!(kind, StepKind::Format(_)) || matches!(kind, StepKind::Gate(_)) && has_fallen_back();
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
