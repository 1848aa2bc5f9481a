//! `stop`: the rest is skipped.

use serde_json::{Value, json};

use super::Kind;
use crate::engine::Run;
use crate::engine::state::NodeRef;
use crate::event::Failure;
use crate::model::{Step, StopStep};

impl Kind for StopStep {
    fn start(&self, run: &mut Run, at: NodeRef, _step: &Step) -> Result<(), Failure> {
        let reason = match &self.reason {
            Some(reason) => run.fill_text(at, reason)?,
            None => "the pipeline stopped".to_string(),
        };
        run.succeed(at, Value::Null, Some(json!({ "reason": reason })));
        Ok(())
    }
}
