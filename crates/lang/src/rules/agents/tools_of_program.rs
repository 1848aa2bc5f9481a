//! F315: an agent has tools of the file, and its model is a program or a tool, which could not call them.

use std::collections::HashSet;

use crate::model::{Provider, ToolName};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, agent) in &file.agents {
        let Some(model) = file.models.get(agent.model_name()) else { continue };
        let (what, why, own) = match &model.provider {
            Provider::Program(_) => {
                ("a program", "the program has tools of its own, which a policy allows or forbids by their names", None)
            }
            Provider::Tool(own) => ("a tool", "the tool that answers calls no others", Some(own.tool.span)),
            Provider::Service(_) | Provider::Scripted(_) | Provider::Replay(_) | Provider::Broken => continue,
        };
        let Some(tool) = agent.tools.iter().find(|tool| Some(tool.span) != own) else { continue };
        let message = format!("agent {} has tools, but its model {} is {what}", quoted(name), quoted(agent.model_name()));
        out.push(
            finding(Code::ToolsOfProgram, tool.span, &message)
                .related(model.span, "this model")
                .help(format!("remove tools of agent {name}{}: {why}", unused(pipeline, name, own))),
        );
    }
}

/// The tools that only this agent has.
fn unused(pipeline: &PipelinePlan, agent: &str, own: Option<Span>) -> String {
    let file = &pipeline.pipeline;
    let of_others = file.agents.iter().filter(|(name, _)| *name != agent).flat_map(|(_, other)| &other.tools);
    let of_steps =
        pipeline.steps.iter().flat_map(|planned| planned.step.kind.facts().receiver.into_iter().chain(planned.step.kind.facts().may_use));
    let used: HashSet<&str> = of_others.chain(of_steps).map(|tool| ToolName::parse(&tool.value).tool).collect();
    let listed = file.agents.get(agent).into_iter().flat_map(|agent| &agent.tools).filter(|tool| Some(tool.span) != own);
    let alone: Vec<&str> = listed.map(|tool| ToolName::parse(&tool.value).tool).filter(|tool| !used.contains(tool)).collect();
    if alone.is_empty() { String::new() } else { format!(", and {} below tools, which nothing else uses", alone.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_program_calls_no_tool_of_the_file() {
        let with = |model: &str| {
            says(
                check,
                &format!(
                    "models: {{ m: {{ {model} }} }}\ntools: {{ t: {{ http: GET https://example.com }} }}\nagents: {{ a: {{ model: m, tools: [t] }} }}\nsteps: [{{ id: s, agent: a, prompt: x }}]\n"
                ),
            )
        };
        assert_eq!(with("provider: cli, preset: claude_code"), "F315 5:34 agent \"a\" has tools, but its model \"m\" is a program\n");
        assert_eq!(with("provider: tool, tool: t"), "F315 5:34 agent \"a\" has tools, but its model \"m\" is a tool\n");
        assert_eq!(with("provider: ollama, model: x"), "");
    }
}
