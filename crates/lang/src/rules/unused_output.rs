//! F105: an output that nothing reads.

use super::names::PipelineNames;
use super::seat::Texts;
use super::{Code, Diagnostic};
use crate::model::{Provider, SUMMARY_STEP, StepKind};
use crate::plan::Edge;

pub(super) fn check(names: &PipelineNames, texts: &Texts, out: &mut Vec<Diagnostic>) {
    let Some(read) = texts.read_below("steps") else { return };
    let has_sql = names.pipeline.steps.iter().any(|planned| matches!(planned.step.kind, StepKind::Sql(_)));
    for planned in &names.pipeline.steps {
        let step = &planned.step;
        let block = names.pipeline.block(planned.block);
        let is_last = planned.place + 1 == block.len();
        let stands_in = block.needs(planned.place).iter().any(|(_, edge)| *edge == Edge::Failure);
        // The engine reads it.
        let is_summary = step.id.value == SUMMARY_STEP;
        let only_computes = if let StepKind::Agent(agent) = &step.kind {
            only_answers(names, &agent.agent.value)
        } else {
            step.kind.facts().only_computes && !(has_sql && matches!(step.kind, StepKind::Read(_)))
        };
        if only_computes && !is_last && !stands_in && !is_summary && !read.contains(step.id.value.as_str()) {
            let message = format!("the output of \"{}\" is never used", step.id.value);
            out.push(
                Diagnostic::new(Code::UnusedOutput, step.id.span, message)
                    .help(format!("read steps.{}.output in a later step or in outputs, or remove the step", step.id.value)),
            );
        }
    }
}

/// Whether an agent does nothing but answer: no tools, and no program behind it.
fn only_answers(names: &PipelineNames, agent: &str) -> bool {
    let file = &names.pipeline.pipeline;
    let Some(agent) = file.agents.get(agent) else { return false };
    let model = agent.model_name();
    agent.tools.is_empty() && file.models.get(model).is_none_or(|model| model.provider != Provider::Broken)
}
