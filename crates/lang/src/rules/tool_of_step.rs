//! The tool that a step calls.

use crate::model::{Pipeline, Step, StepKind, Tool};

/// The tool of a `tool` step, if the file has it.
pub(super) fn tool_of_step<'p>(pipeline: &'p Pipeline, step: &Step) -> Option<&'p Tool> {
    if let StepKind::Tool(tool) = &step.kind { pipeline.tools.get(&tool.tool.value) } else { None }
}
