//! MCP servers: what they are started with stands for the whole pipeline (F208), arguments are whole (F603), and a model sees only what is
//! named (F302).

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Form, ServerKind, StepKind, Text, Tool, ToolKind};
use crate::plan::{PipelinePlan, Plan};

/// Names that the texts of a server may read.
const NAMES: [&str; 3] = ["inputs", "env", "secrets"];

/// F208: a server that would be another one for each step.
pub(super) fn wrong_names(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, server) in servers(pipeline) {
        for read in texts(server).into_iter().flat_map(|text| &text.reads) {
            let root = read.path.first().map(String::as_str).unwrap_or_default();
            // A name that nothing has is reported as that.
            if NAMES.contains(&root)
                || !["steps", "item", "person", "run", "conversation", "channel", "style", "refinement"].contains(&root)
            {
                continue;
            }
            let message = format!("\"{root}\" cannot stand here: server {} is one for the whole pipeline", quoted(name));
            out.push(
                finding(Code::WrongPlace, read.span, &message).help("use inputs, env or secrets, or give the value to the tool with with"),
            );
        }
    }
}

/// F603: a value inside an argument may become an option, or two.
pub(super) fn parts_of_arguments(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (_, server) in servers(pipeline) {
        let ServerKind::Program { args, .. } = server else { continue };
        for text in args.iter().filter(|text| text.form == Form::Template) {
            for read in text.reads.iter().filter(|read| read.path.first().is_some_and(|root| root == "inputs")) {
                let message = format!("{} becomes a part of an argument; a value may only be a whole one", read.path.join("."));
                let help = format!("write it as an argument of its own: args: [ …, \"{{{{ {} }}}}\" ]", read.path.join("."));
                out.push(finding(Code::TextAsCode, read.span, &message).help(help));
            }
        }
    }
}

/// F302: a server whose tools nobody named, and one without saying which tool.
pub(super) fn unnamed(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let server = |name: &str| file.tools.get(name).filter(|tool| tool.is_server());
    for (name, agent) in &file.agents {
        for listed in agent.tools.iter().filter(|listed| server(&listed.value).is_some_and(|tool| tool.allow.is_none())) {
            let message = format!(
                "agent {} lists server {}, which has no allow: a model sees only tools that are named",
                quoted(name),
                quoted(&listed.value)
            );
            let help =
                format!("add allow: [ … ] to the server, or list its tools here: {}.NAME (flow doctor shows what it has)", listed.value);
            out.push(finding(Code::ToolNotOpen, listed.span, &message).help(help));
        }
    }
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Tool(used) = &step.kind else { continue };
        if server(&used.tool.value).is_some() {
            let message =
                format!("step {} uses server {} and does not say which of its tools", quoted(&step.id.value), quoted(&used.tool.value));
            let help = format!("write {}.NAME (flow doctor shows what it has)", used.tool.value);
            out.push(finding(Code::ToolNotOpen, used.tool.span, &message).help(help));
        }
    }
}

fn servers(pipeline: &PipelinePlan) -> impl Iterator<Item = (&str, &ServerKind)> {
    pipeline.pipeline.tools.iter().filter_map(|(name, tool): (&String, &Tool)| match &tool.kind {
        ToolKind::Server(server) => Some((name.as_str(), server)),
        _ => None,
    })
}

/// All texts of a server.
fn texts(server: &ServerKind) -> Vec<&Text> {
    match server {
        ServerKind::Program { args, env, .. } => args.iter().chain(env.iter().map(|(_, text)| text)).collect(),
        ServerKind::Url { url, headers } => std::iter::once(url).chain(headers.iter().map(|(_, text)| text)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    fn server(rule: super::super::Rule, keys: &str, more: &str) -> String {
        says(
            rule,
            &format!("inputs: {{ dir: text }}\ntools: {{ files: {{ {keys} }} }}\n{more}\nsteps:\n  - {{ id: a, tool: files.read }}\n"),
        )
    }

    #[test]
    fn a_server_is_one_for_the_whole_pipeline() {
        let found = "F208 4:44 \"steps\" cannot stand here: server \"files\" is one for the whole pipeline\n";
        assert_eq!(server(wrong_names, "command: srv, args: ['{{ steps.a.output }}']", ""), found);
        for fine in ["command: srv, args: ['{{ inputs.dir }}'], env: { A: '{{ env.A }}' }", "url: 'https://example.com/{{ inputs.dir }}'"] {
            assert_eq!(server(wrong_names, fine, ""), "", "{fine}");
        }
    }

    #[test]
    fn a_value_is_a_whole_argument() {
        let found = "F603 4:51 inputs.dir becomes a part of an argument; a value may only be a whole one\n";
        assert_eq!(server(parts_of_arguments, "command: srv, args: ['--root={{ inputs.dir }}']", ""), found);
        assert_eq!(server(parts_of_arguments, "command: srv, args: [--root, '{{ inputs.dir }}', '{{ env.A }}/x']", ""), "");
    }

    #[test]
    fn a_model_sees_only_tools_that_are_named() {
        let agent = "agents: { w: { tools: [files] } }";
        let found = "F302 5:24 agent \"w\" lists server \"files\", which has no allow: a model sees only tools that are named\n";
        assert_eq!(server(unnamed, "command: srv", agent), found);
        assert_eq!(server(unnamed, "command: srv, allow: [read]", agent), "");
        assert_eq!(server(unnamed, "command: srv", "agents: { w: { tools: [files.read] } }"), "");
        let whole = "tools: { files: { url: https://example.com/mcp } }\nsteps: [{ id: a, tool: files }]\n";
        assert_eq!(says(unnamed, whole), "F302 4:24 step \"a\" uses server \"files\" and does not say which of its tools\n");
    }
}
