//! F108: nothing of what a pipeline does gets out.

use crate::model::Outputs;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    if file.outputs != Outputs::None || pipeline.steps.is_empty() {
        return;
    }
    // An agent with tools may act by them.
    let has_tools = |agent: &str| file.agents.get(agent).is_none_or(|agent| !agent.tools.is_empty());
    let mut kinds = pipeline.steps.iter().map(|planned| &planned.step.kind);
    let acts_outside = kinds.any(|kind| kind.facts().acts || kind.agents_with_tools().iter().any(|agent| has_tools(&agent.value)));
    if !acts_outside {
        let last = pipeline.pipeline.steps.last().map_or("ID", |step| step.id.as_str());
        out.push(
            Diagnostic::new(Code::NoResult, file.name.span, "the pipeline has no outputs and no send step; its result is lost")
                .help(format!("add outputs: {{ result: \"{{{{ steps.{last}.output }}}}\" }}, or a send step")),
        );
    }
}
