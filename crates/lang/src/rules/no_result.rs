//! F108: nothing of what a pipeline does gets out.

use super::{Code, Diagnostic, PipelinePlan, Plan};
use crate::model::{Outputs, StepKind};

pub(super) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    if file.outputs != Outputs::None || pipeline.steps.is_empty() {
        return;
    }
    let acts_outside = pipeline.steps.iter().map(|planned| &planned.step.kind).any(|kind| {
        match kind {
            StepKind::Http(http) => !http.method.is_safe(),
            // An agent with tools may act by them.
            StepKind::Agent(agent) => file.agents.get(&agent.agent.value).is_none_or(|agent| !agent.tools.is_empty()),
            StepKind::Program(run) => !run.reads_only,
            StepKind::Python(_) | StepKind::Search(_) => false,
            StepKind::Task(task) => file.agents.get(&task.agent.value).is_none_or(|agent| !agent.tools.is_empty()),
            StepKind::Dialogue(dialogue) => {
                dialogue.agents.iter().any(|name| file.agents.get(&name.value).is_none_or(|agent| !agent.tools.is_empty()))
            }
            StepKind::Set(_) | StepKind::Sql(_) | StepKind::Read(_) | StepKind::Resource(_) | StepKind::Format(_) => false,
            StepKind::Group(_) | StepKind::Repeat(_) => false,
            StepKind::Route(_) | StepKind::Gate(_) | StepKind::Approval(_) | StepKind::Wait(_) | StepKind::Stop(_) => false,
            StepKind::Tool(_) | StepKind::Plan(_) | StepKind::Call(_) | StepKind::Send(_) | StepKind::Broken => true,
        }
    });
    if !acts_outside {
        let last = pipeline.pipeline.steps.last().map_or("ID", |step| step.id.as_str());
        out.push(
            Diagnostic::new(Code::NoResult, file.name.span, "the pipeline has no outputs and no send step; its result is lost")
                .help(format!("add outputs: {{ result: \"{{{{ steps.{last}.output }}}}\" }}, or a send step")),
        );
    }
}
