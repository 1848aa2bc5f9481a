//! F504: what the policy of an agent allows its tools, and that of the whole file does not: both are in force, so it is denied.

use super::wider_inside::found;
use super::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::model::{Agent, Pipeline, Policy};
use crate::policy::{Act, decide};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let own = |policy: &&Policy| policy.span.file == file.name.span.file;
    let Some((outer_name, outer)) = file.policy.as_ref().and_then(|name| Some((name, file.policies.get(&name.value).filter(own)?))) else {
        return;
    };
    for (name, agent) in &file.agents {
        let Some(inner_name) = agent.policy.as_ref().filter(|inner| inner.value != outer_name.value) else { continue };
        let Some(inner) = file.policies.get(&inner_name.value).filter(own) else { continue };
        let allows =
            |name: &str, policy: &Policy, tool: &str| !decide(&[(name, policy)], &Act::Tool { name: tool, arguments: None }).is_denied();
        let calls = calls(file, agent);
        let wider: Vec<&String> =
            calls.iter().filter(|tool| allows(&inner_name.value, inner, tool) && !allows(&outer_name.value, outer, tool)).collect();
        if let Some(first) = wider.first() {
            let all = listed(wider.iter().map(|tool| tool.as_str()));
            let message = format!(
                "policy {} of the whole file denies {all}, which policy {} of agent {} allows: a policy inside only narrows",
                quoted(&outer_name.value),
                quoted(&inner_name.value),
                quoted(name)
            );
            let span = outer.allowed_tools.as_ref().and_then(|tools| tools.last()).map_or(outer.span, |last| last.span);
            let listed = outer.allowed_tools.iter().flatten().map(|entry| entry.value.as_str()).chain([first.as_str()]);
            let write: Vec<&str> = inner.write.iter().flatten().map(|entry| entry.value.as_str()).collect();
            let files = match first.ends_with(".write") && !write.is_empty() && outer.write.as_ref().is_none_or(Vec::is_empty) {
                true => format!(" and, in its file_access, write: [\"{}\"]", write.join("\", \"")),
                false => String::new(),
            };
            let help = format!(
                "write allowed_tools: [{}]{files} in {}, or remove {first} from {}",
                listed.collect::<Vec<_>>().join(", "),
                quoted(&outer_name.value),
                quoted(&inner_name.value)
            );
            out.push(found(span, &message).related(inner.span, "the policy of the agent").help(help));
        }
    }
}

/// What an agent can call, as far as the file says it.
fn calls(file: &Pipeline, agent: &Agent) -> Vec<String> {
    let mut calls = vec![];
    for tool in &agent.tools {
        match file.tool(&tool.value) {
            Some((_, Some(_))) | None => calls.push(tool.value.clone()),
            Some((known, None)) => match &known.allow {
                Some(parts) => {
                    let plain = parts.iter().filter(|part| !part.value.contains(['*', '?', '[', '{', '(']));
                    calls.extend(plain.map(|part| format!("{}.{}", tool.value, part.value)));
                }
                None => calls.push(tool.value.clone()),
            },
        }
    }
    calls
}
