//! F302: a part of a tool that is not open, or that it does not have.

use strum::VariantNames;

use crate::diagnostic::{LONGEST_MESSAGE, cut, did_you_mean};
use crate::model::{Approve, FilePart, Knowledge, SendKeys, StepKind, Tool, ToolKind, ToolName};
use crate::policy::{may_mean, opens};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _plan: &Plan, out: &mut Vec<Diagnostic>) {
    of_parts(pipeline, out);
    of_servers(pipeline, out);
    of_lists(pipeline, out);
}

/// `allow`, `deny` and `approve` of a tool that has no such part: they would do nothing.
fn of_lists(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    for (name, tool) in &pipeline.pipeline.tools {
        let parts: Vec<&str> = match &tool.kind {
            ToolKind::Server(_) | ToolKind::Broken => continue,
            ToolKind::Knowledge(_) => vec![Knowledge::PART, name],
            ToolKind::File(_) => FilePart::VARIANTS.iter().copied().chain([name.as_str()]).collect(),
            ToolKind::Http { .. }
            | ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::Smtp { .. }
            | ToolKind::Pipeline { .. } => vec![name],
        };
        let asked: Vec<Spanned<String>> = match &tool.approve {
            Approve::Names(names) => names.iter().map(|entry| Spanned::new(entry.clone(), tool.span)).collect(),
            Approve::Never | Approve::Always => vec![],
        };
        let lists = [("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", tool.deny.as_slice()), ("approve", asked.as_slice())];
        for (key, entry) in lists.into_iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry))) {
            if !parts.iter().any(|part| may_mean(&entry.value, part) || may_mean(&entry.value, &format!("{name}.{part}"))) {
                let message = format!("\"{key}\" of tool \"{name}\" names {}, which it does not have", quoted(&entry.value));
                out.push(found(entry, cut(&message, LONGEST_MESSAGE)).help(format!("write one of: {}", parts.join(", "))));
            }
        }
    }
}

fn found(tool: &Spanned<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::ToolNotOpen, tool.span, message)
}

/// A part of a tool that is not open, or a tool without saying which part.
fn of_parts(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for (name, agent) in &file.agents {
        for listed in &agent.tools {
            if let Some((tool, Some(part))) = file.tool(&listed.value) {
                open(&format!("agent \"{name}\" lists"), listed, part, tool, out);
            }
        }
    }
    for planned in &pipeline.steps {
        if let StepKind::Plan(plan) = &planned.step.kind {
            let owner = format!("may_use of step \"{}\" lists", planned.step.id.value);
            for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
                in_may_use(&owner, name, file.tool(&name.value), out);
            }
        }
        if let StepKind::Resource(step) = &planned.step.kind {
            of_resource(&planned.step.id.value, &step.server, file.tools.get(&step.server.value), out);
        }
        if let StepKind::Send(send) = &planned.step.kind
            && let Some(tool) = file.tools.get(&send.to.value)
            && SendKeys::for_tool(&tool.kind) == SendKeys::NoReceiver
            && tool.kind != ToolKind::Broken
        {
            let message =
                format!("step \"{}\" sends to tool \"{}\", which takes nothing that is sent", planned.step.id.value, send.to.value);
            out.push(found(&send.to, message).help("write a tool step, or name stdout or a tool with http, file or smtp"));
        }
        let StepKind::Tool(step) = &planned.step.kind else { continue };
        let Some((tool, part)) = file.tool(&step.tool.value) else { continue };
        let owner = format!("step \"{}\" uses", planned.step.id.value);
        let wrong = |message: String, help: &str| found(&step.tool, message).help(help);
        match (part, &tool.kind) {
            (Some(part), _) => open(&owner, &step.tool, part, tool, out),
            (None, ToolKind::File(_)) => {
                let message = format!("{owner} tool \"{}\" without naming one of its parts", step.tool.value);
                out.push(wrong(message, &format!("write {0}.list, {0}.read or {0}.write", step.tool.value)));
            }
            (None, ToolKind::Knowledge(_)) => {
                let message = format!("{owner} knowledge \"{}\" as a tool without saying what it does", step.tool.value);
                out.push(wrong(message, &format!("write {}, or a search step", Knowledge::tool_name(&step.tool.value))));
            }
            (None, ToolKind::Smtp { .. }) => {
                let message = format!("{owner} tool \"{}\", which only send can use", step.tool.value);
                out.push(wrong(message, "write a send step"));
            }
            (None, ToolKind::Http { .. } | ToolKind::Sql(_) | ToolKind::Program { .. } | ToolKind::Python { .. }) => {}
            (None, ToolKind::Pipeline { .. } | ToolKind::Server(_) | ToolKind::Broken) => {}
        }
    }
}

/// Only MCP servers have resources.
fn of_resource(step: &str, server: &Spanned<String>, tool: Option<&Tool>, out: &mut Vec<Diagnostic>) {
    let is_other = tool.is_some_and(|tool| !tool.is_server() && tool.kind != ToolKind::Broken);
    if is_other {
        let message = format!("step {} reads a resource of tool {}, which is no MCP server", quoted(step), quoted(&server.value));
        out.push(found(server, cut(&message, LONGEST_MESSAGE)).help("name a tool with command or url, or write a path: read: notes.md"));
    }
}

fn in_may_use(owner: &str, name: &Spanned<String>, tool: Option<(&Tool, Option<&str>)>, out: &mut Vec<Diagnostic>) {
    let Some((tool, part)) = tool else { return };
    if let Some(part) = part {
        open(owner, name, part, tool, out);
    } else if let ToolKind::Smtp { .. } = tool.kind {
        let message = format!("{owner} tool \"{}\", which only send can use", name.value);
        out.push(found(name, message).help("remove it; a send step can send what the plan gives"));
    }
}

fn open(owner: &str, name: &Spanned<String>, part: &str, tool: &Tool, out: &mut Vec<Diagnostic>) {
    let server = ToolName::parse(&name.value).tool;
    let wrong = |message: String| found(name, message);
    // Entries of a server may hold patterns.
    if tool.is_server() && opens(tool, part, None).is_allowed() {
        return;
    }
    if tool.deny.iter().any(|denied| denied.value == part) {
        out.push(wrong(format!("{owner} {}, but tool \"{server}\" denies it", name.value)).help("remove it, or take it out of deny"));
        return;
    }
    if tool.knowledge().is_some() && part != Knowledge::PART {
        let message = format!("{owner} {}, but a knowledge can only {}", name.value, Knowledge::PART);
        out.push(wrong(message).help(format!("write {}", Knowledge::tool_name(server))));
        return;
    }
    let file_part = tool.file_part(Some(part));
    if tool.kind.folder().is_some() && file_part.is_none() {
        let near = did_you_mean(part, FilePart::VARIANTS.iter().copied());
        out.push(
            wrong(format!("{owner} {}, but a file tool has no \"{part}\"{near}", name.value))
                .near(near)
                .help(format!("use one of: {}", FilePart::VARIANTS.join(", "))),
        );
        return;
    }
    match &tool.allow {
        Some(allow) if !tool.allowed_names().any(|allowed| allowed == part) => {
            let names: Vec<&str> = allow.iter().map(|allowed| allowed.value.as_str()).collect();
            let what = if names.is_empty() { "nothing".to_owned() } else { format!("only: {}", listed(&names)) };
            out.push(
                wrong(format!("{owner} {}, but tool \"{server}\" allows {what}", name.value))
                    .help(format!("add {part} to its allow, or use another")),
            );
        }
        None if file_part.is_some_and(FilePart::changes) => {
            let message = format!("{owner} {}, but tool \"{server}\" writes only if its allow lists write", name.value);
            out.push(
                wrong(message)
                    .help("add allow: [list, read, write] to the tool")
                    .related(tool.span, "add allow: [list, read, write] to this tool"),
            );
        }
        _ => {}
    }
}

/// A server whose tools nobody named, and one without saying which tool.
fn of_servers(pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let server = |name: &str| file.tools.get(name).filter(|tool| tool.is_server());
    for (name, agent) in &file.agents {
        for listed in agent.tools.iter().filter(|listed| server(&listed.value).is_some_and(|tool| tool.allow.is_none())) {
            let message = format!(
                "agent {} lists server {}, which has no allow: a model sees only tools that are named",
                quoted(name),
                quoted(&listed.value)
            );
            let help = format!(
                "add allow: [\"*\"] below {0}, and run flow tools allow for this file, which writes the names of its tools there; or write {0}.NAME here for one",
                listed.value
            );
            let found = found(listed, cut(&message, LONGEST_MESSAGE)).help(help);
            out.push(match server(&listed.value) {
                Some(tool) => found.related(tool.span, "add allow below this"),
                None => found,
            });
        }
    }
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Tool(used) = &step.kind else { continue };
        if server(&used.tool.value).is_some() {
            let message =
                format!("step {} uses server {} without naming one of its tools", quoted(&step.id.value), quoted(&used.tool.value));
            let mut named = server(&used.tool.value).into_iter().flat_map(|tool| tool.allowed_names());
            let help = match (named.next(), named.next()) {
                (Some(only), None) => format!("write {}.{only}", used.tool.value),
                _ => format!("write {}.NAME (flow doctor shows what it has)", used.tool.value),
            };
            out.push(found(&used.tool, cut(&message, LONGEST_MESSAGE)).help(help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, with_server};

    #[test]
    fn a_model_sees_only_tools_that_are_named() {
        let agent = "agents: { w: { tools: [files] } }";
        let found = "F302 5:24 agent \"w\" lists server \"files\", which has no allow: a model sees only tools that are named\n";
        assert_eq!(with_server(check, "command: srv", agent), found);
        assert_eq!(with_server(check, "command: srv, allow: [read]", agent), "");
        assert_eq!(with_server(check, "command: srv", "agents: { w: { tools: [files.read] } }"), "");
        let lists = |tool: &str| says(check, &format!("tools: {{ g: {{ {tool} }} }}\nsteps: [{{ id: a, set: 1 }}]\n"));
        for fine in [
            "http: GET https://a.example/x, deny: ['g(*rm*)', g, 'G*'], approve: [g]",
            "file: docs, allow: ['read(a*)', list], deny: ['read(*secret*)', g.write]",
            "sql: [t], allow: [g], deny: ['g(*drop*)']",
        ] {
            assert_eq!(lists(fine), "", "{fine}");
        }
        for (wrong, key) in [
            ("http: GET https://a.example/x, deny: [query]", "deny"),
            ("sql: [t], allow: ['query(a)']", "allow"),
            ("file: docs, approve: [reed]", "approve"),
        ] {
            assert!(lists(wrong).contains(&format!("\"{key}\" of tool \"g\" names ")), "{wrong}: {}", lists(wrong));
        }
        let whole = "tools: { files: { url: https://example.com/mcp } }\nsteps: [{ id: a, tool: files }]\n";
        let read =
            |tool: &str| says(check, &format!("tools: {{ d: {{ {tool} }} }}\nsteps: [{{ id: a, read: {{ server: d, uri: 'x:y' }} }}]\n"));
        assert_eq!(read("command: srv"), "");
        assert_eq!(read("file: docs"), "F302 4:34 step \"a\" reads a resource of tool \"d\", which is no MCP server\n");
        assert_eq!(says(check, whole), "F302 4:24 step \"a\" uses server \"files\" without naming one of its tools\n");
    }
}
