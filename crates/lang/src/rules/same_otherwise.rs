//! F413: `otherwise` that gives the very text which did not pass.

use super::names::sole_path;
use super::otherwise_fails::found;
use super::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::model::StepKind;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(otherwise) = &gate.otherwise else { continue };
        let (Some(judged), Some(given)) = (sole_path(&gate.of), sole_path(otherwise)) else { continue };
        if judged.path == given.path {
            let message =
                format!("otherwise of gate {} gives {}, the text that did not pass", quoted(&planned.step.id.value), judged.path.join("."));
            out.push(found(otherwise.place.span, &message).help("write a text that may be sent in its place, such as: Please call us."));
        }
    }
}
