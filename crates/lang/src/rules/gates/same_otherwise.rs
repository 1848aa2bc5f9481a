//! F413: `otherwise` that gives the very text which did not pass.

use super::otherwise_fails::new_finding;
use crate::model::{Filling, GateStep, StepKind, Text};
use crate::plan::StepIx;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted, sole_path};
use crate::rules::support::texts_past_gate::{is_one_value, shown_outputs};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (ix, planned) in pipeline.numbered_steps() {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(otherwise) = gate.otherwise.as_ref() else { continue };
        if gives_judged(pipeline, ix, gate, otherwise) {
            let given = sole_path(otherwise).map_or_else(String::new, |read| read.path.join("."));
            let message = format!("otherwise of gate {} gives {given}, the text that did not pass", quoted(&planned.step.id.value));
            out.push(
                new_finding(otherwise.place.span, &message).help("write a text that may be sent in its place, such as: Please call us."),
            );
        }
    }
}

/// Whether `otherwise` is what the gate judges, or what it judged in the first round; by copies, too.
fn gives_judged(pipeline: &PipelinePlan, ix: StepIx, gate: &GateStep, otherwise: &Text) -> bool {
    let Some(given) = sole_path(otherwise).filter(|_| is_one_value(otherwise)) else { return false };
    let copies = |text| shown_outputs(pipeline, Some((ix, true)), text, true);
    let given_outputs = copies(otherwise);
    let is_original = |path: &[String]| matches!(path, [root, field] if root == "refinement" && field == "original");
    let of_copy = |text: &Text| sole_path(text).is_some_and(|read| is_original(&read.path));
    let is_copy_of_original = given_outputs.iter().any(|read| {
        let StepKind::Set(Filling::Text(text)) = &pipeline.step(read.output.ix).step.kind else { return false };
        read.output.path.is_empty() && of_copy(text)
    });
    if gate.refine.is_some() && (is_original(&given.path) || is_copy_of_original) {
        return true;
    }
    let Some(judged) = sole_path(&gate.of).filter(|_| is_one_value(&gate.of)) else { return false };
    // Of a route, one case is not always what it gives.
    let is_single = |text| shown_outputs(pipeline, Some((ix, true)), text, false).len() == 1;
    let is_same_output = || {
        let judged = copies(&gate.of);
        given_outputs.iter().any(|given| judged.iter().any(|judged| given.output == judged.output && given.is_earlier == judged.is_earlier))
    };
    judged.path == given.path || is_single(&gate.of) && is_single(otherwise) && is_same_output()
}
