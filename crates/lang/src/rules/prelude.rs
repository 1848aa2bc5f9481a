//! What rules name: a pipeline with its plan and its names, where texts stand, and findings.

pub(super) use super::support::names::{PipelineNames, sole_path};
pub(super) use super::support::seat::{More, PlacedText, Seat, StepPart, TextRole, Texts, Viewpoint};
pub(super) use super::support::tell::{finding, listed};
pub(super) use crate::diagnostic::{Code, Diagnostic, quoted};
pub(super) use crate::plan::{PipelinePlan, Plan};

/// A check of one pipeline with everything it names.
pub(crate) type Rule = fn(&PipelinePlan, &Plan, &mut Vec<Diagnostic>);
