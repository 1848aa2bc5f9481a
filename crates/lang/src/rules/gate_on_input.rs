//! F419: a gate judges what came in, and nothing reads what it gives: its `otherwise` reaches nobody.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Outputs, Read, StepKind};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let mut reads: Vec<&Read> = vec![];
    file.each_text(&mut |authored| reads.extend(authored.text().into_iter().flat_map(|text| &text.reads)));
    let is_read = |id: &str| reads.iter().any(|read| matches!(read.path.as_slice(), [steps, step, ..] if steps == "steps" && step == id));
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let of_inputs =
            gate.of.reads.iter().all(|read| read.path.first().is_some_and(|root| root == "inputs")) && !gate.of.reads.is_empty();
        if gate.otherwise.is_none() || !of_inputs || is_read(&planned.step.id.value) {
            continue;
        }
        // What the outputs read of an agent was meant.
        let given = if let Outputs::Named(outputs) = &file.outputs { outputs.as_slice() } else { &[] };
        let asks =
            |id: &str| pipeline.steps.iter().any(|planned| planned.step.id.value == id && matches!(planned.step.kind, StepKind::Agent(_)));
        let texts = given.iter().flat_map(|(_, value)| value.texts()).flat_map(|text| &text.reads);
        let Some(meant) = texts.filter_map(|read| read.path.get(1)).find(|id| asks(id)) else { continue };
        let (id, of) = (&planned.step.id.value, gate.of.source.trim());
        let message = format!("gate {} judges {of}, which came in, and nothing reads its result: otherwise reaches nobody", quoted(id));
        let help = format!("write of: steps.{meant}.output, and read steps.{id}.output in outputs");
        out.push(finding(Code::GateOnInput, gate.of.place.span, &message).help(help));
    }
}
