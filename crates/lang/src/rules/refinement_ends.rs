//! The step that the one refinement starts from, and the gate that asks for it.

use crate::plan::{PipelinePlan, PlannedStep, Refinement};

/// The refinement of a pipeline, its first step and its gate.
pub(super) fn refinement_ends(pipeline: &PipelinePlan) -> Option<(&Refinement, &PlannedStep, &PlannedStep)> {
    let refinement = pipeline.refinement.as_ref()?;
    Some((refinement, pipeline.step(refinement.target), pipeline.step(refinement.gate)))
}
