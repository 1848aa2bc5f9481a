//! F315: an agent has tools of the file, and its model is a program, which could not call them.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, agent) in &file.agents {
        let (Some(tool), Some(model)) = (agent.tools.first(), file.models.get(agent.model_name())) else { continue };
        if model.provider.program().is_none() {
            continue;
        }
        let message = format!("agent {} has tools, but its model {} is a program", quoted(name), quoted(agent.model_name()));
        out.push(
            finding(Code::ToolsOfProgram, tool.span, &message)
                .related(model.span, "this model")
                .help("remove tools: the program has tools of its own, which a policy allows or forbids by their names"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

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
        assert_eq!(with("provider: ollama, model: x"), "");
    }
}
