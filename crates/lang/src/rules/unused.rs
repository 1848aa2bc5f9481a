//! What nothing uses: asked only where no step is lost, since what a lost step would have used is not known.

use super::files::{unused_definition, unused_input, unused_output};
use super::prelude::{Diagnostic, PipelineNames, Texts};
use crate::model::{StepKind, ToolKind};

/// F105, F210 and F301.
pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let file = &names.pipeline.pipeline;
    let is_broken = names.pipeline.steps.is_empty()
        || names.pipeline.steps.iter().any(|planned| planned.step.kind == StepKind::Broken)
        || file.tools.values().any(|tool| tool.kind == ToolKind::Broken);
    if is_broken || texts.reads_unknown("steps", |id| names.has_step(id)) {
        return;
    }
    unused_output::check(names, texts, out);
    unused_input::check(names, texts, out);
    unused_definition::check(names, out);
}
