//! Which values are the output of a `format` step: those that one of this run made, wherever they were handed on. A value from outside that
//! looks like one is none.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::channel::Output;
use crate::engine::Run;
use crate::engine::state::{NodeRef, State};
use crate::model::StepKind;
use crate::plan::Plan;

impl State {
    /// A step gave what was formatted: a `format` step, or a gate whose `otherwise` took the place of such a text.
    pub(crate) fn note_made(&mut self, plan: &Plan, at: NodeRef, output: &Value, details: &Value) {
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
}

impl Run {
    /// A value, and whether a `format` step of this run made it.
    pub(crate) fn output(&self, value: Value) -> Output {
        let is_made = value.get("parts").is_some() && self.state.made.contains(&mark(&value));
        if is_made { Output::formatted(value) } else { Output::Plain(value) }
    }
}

fn mark(value: &Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
