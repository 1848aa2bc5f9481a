//! Policies: lists that contradict each other (F610), limits of nothing (F611), everything allowed (F612), steps outside (F613), plans outside (F312).

use std::collections::HashMap;

use serde_json::Value;

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Filling, Form, Policy, ReadStep, StepKind, Text, ToolKind};
use crate::plan::{PipelinePlan, Plan};
use crate::policy::{Act, decide, from_project};
use crate::source::{Span, Spanned};

/// F610: a name in a list of what is allowed and in one of what is not; of a policy or a tool.
pub(super) fn lists_overlap(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for policy in file.policies.values() {
        let allowed = policy.allowed_tools.as_deref().unwrap_or_default();
        overlap(("allowed_tools", allowed), ("disallowed_tools", &policy.disallowed_tools), out);
    }
    for tool in file.tools.values() {
        overlap(("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", &tool.deny), out);
    }
}

fn overlap(first: (&str, &[Spanned<String>]), second: (&str, &[Spanned<String>]), out: &mut Vec<Diagnostic>) {
    let allowed: HashMap<&str, Span> = first.1.iter().map(|name| (name.value.as_str(), name.span)).collect();
    for name in second.1 {
        let Some(other) = allowed.get(name.value.as_str()) else { continue };
        let message = format!("{} is in {} and {}", quoted(&name.value), first.0, second.0);
        out.push(
            finding(Code::ListsOverlap, name.span, &message).related(*other, "allowed here").help("remove it from one of the two lists"),
        );
    }
}

/// F611: a limit under which nothing can run.
pub(super) fn limits(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (name, policy) in &pipeline.pipeline.policies {
        let nothing = [
            ("time", policy.max_time.is_some_and(|time| time.is_zero())),
            ("cost_usd", policy.max_cost_usd.is_some_and(|cost| cost <= 0.0)),
            ("tokens", policy.max_tokens == Some(0)),
            ("memory", policy.max_memory == Some(0)),
            ("file_size", policy.max_file_size == Some(0)),
        ];
        for (key, _) in nothing.into_iter().filter(|(_, is_nothing)| *is_nothing) {
            let message = format!("resource_limits.{key} of policy {} must be above 0", quoted(name));
            out.push(finding(Code::PolicyLimit, policy.span, &message).help("write a number above 0, or remove the key"));
        }
    }
}

/// F612: every tool is allowed.
pub(super) fn too_wide(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for policy in pipeline.pipeline.policies.values() {
        for name in policy.allowed_tools.iter().flatten().filter(|name| is_everything(&name.value)) {
            out.push(
                finding(Code::PolicyTooWide, name.span, &format!("allowed_tools {} allows every tool; name them", quoted(&name.value)))
                    .help("write the names of the tools that are needed"),
            );
        }
    }
}

/// F612: every tool of an MCP server is allowed.
pub(super) fn every_tool_of_a_server(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (server, tool) in pipeline.pipeline.tools.iter().filter(|(_, tool)| tool.is_server()) {
        for name in tool.allow.iter().flatten().filter(|name| is_everything(&name.value)) {
            let message =
                format!("allow {} of server {} allows every tool it may ever have; name them", quoted(&name.value), quoted(server));
            out.push(
                finding(Code::PolicyTooWide, name.span, &message)
                    .help("write the names of the tools that are needed (flow doctor shows what it has)"),
            );
        }
    }
}

/// Whether a pattern fits every name.
fn is_everything(pattern: &str) -> bool {
    !pattern.trim().is_empty() && pattern.trim().chars().all(|c| "*?{},".contains(c))
}

/// F613: a step that its own file's policy is sure to refuse.
pub(super) fn outside(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some((name, policy)) = file.policy.as_ref().and_then(|name| Some((name, file.policies.get(&name.value)?))) else { return };
    let mut report = |id: &str, span: Span, what: String, help: &str| {
        let message = format!("step {} uses {what}, which policy {} does not allow", quoted(id), quoted(&name.value));
        out.push(finding(Code::OutsidePolicy, span, &message).related(policy.span, "this policy").help(help));
    };
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let used = match &step.kind {
            StepKind::Tool(tool) => Some(&tool.tool),
            StepKind::Send(send) if send.to.value != "stdout" => Some(&send.to),
            _ => None,
        };
        let refuses = |act: Act| !decide(&[(&name.value, policy)], &act).allowed;
        if let Some(tool) = used.filter(|tool| refuses(Act::Tool { name: &tool.value, arguments: None })) {
            let help = "add the tool to allowed_tools, or remove the step";
            report(&step.id.value, tool.span, format!("tool {}", quoted(&tool.value)), help);
        }
        if let StepKind::Read(read) = &step.kind {
            let paths = files(read).into_iter().map(|path| from_project(&file.project, &file.folder.join(path)));
            if let Some(path) = paths.into_iter().find(|path| refuses(Act::Read(path))) {
                let help = "add the file to file_access.read, or remove the step";
                report(&step.id.value, step.kind_span, format!("file {}", quoted(&path)), help);
            }
        }
        if let StepKind::Http(http) = &step.kind
            && let Some((host, _)) = host(&http.url).filter(|(host, port)| refuses(Act::Host { host, port: *port }))
        {
            report(
                &step.id.value,
                http.url.place.span,
                format!("host {}", quoted(host)),
                "add the host to network_access.hosts, or remove the step",
            );
        }
    }
}

/// The files a step reads, as far as their paths are written out, from the folder of the pipeline.
fn files(read: &ReadStep) -> Vec<&str> {
    fn written(filling: &Filling) -> Vec<&str> {
        match filling {
            Filling::Constant(Value::String(path)) => vec![path],
            Filling::Constant(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
            Filling::Text(text) if text.form == Form::Plain => vec![&text.source],
            Filling::List(list) => list.iter().flat_map(written).collect(),
            _ => vec![],
        }
    }
    written(&read.paths)
}

/// F312: a tool in `may_use` that the policies of the file and of the planning agent are sure to refuse.
pub(super) fn plan_outside(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Plan(plan) = &step.kind else { continue };
        let of_agent = file.agents.get(&plan.agent.value).and_then(|agent| agent.policy.as_ref());
        for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
            let tool = file.tools.get(name.value.split('.').next().unwrap_or_default());
            // Of a folder, each part is a tool of its own.
            let parts: Vec<String> = match tool.map(|tool| (tool, &tool.kind)) {
                Some((tool, ToolKind::File(_))) if !name.value.contains('.') => {
                    tool.parts().iter().map(|part| format!("{}.{part}", name.value)).collect()
                }
                Some(_) => vec![name.value.clone()],
                None => vec![],
            };
            let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
            let is_refused =
                |policy: &Policy| parts.iter().all(|part| !decide(&[("", policy)], &Act::Tool { name: part, arguments: None }).allowed);
            if parts.is_empty() {
                continue;
            }
            for (policy_name, policy) in in_force.filter(|(_, policy)| is_refused(policy)) {
                let message = format!(
                    "may_use of plan {} lists tool {}, which policy {} does not allow",
                    quoted(&step.id.value),
                    quoted(&name.value),
                    quoted(policy_name)
                );
                out.push(
                    finding(Code::PlanOutsidePolicy, name.span, &message)
                        .related(policy.span, "this policy")
                        .help("add the tool to allowed_tools, or take it out of may_use"),
                );
            }
        }
    }
}

/// The host of an address and its port, if they are written out.
fn host(url: &Text) -> Option<(&str, Option<u16>)> {
    let (scheme, rest) = url.source.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, if scheme == "http" { "80" } else { "443" }));
    (!host.is_empty() && !authority.contains(['{', '['])).then_some((host, port.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    fn policy(rule: super::super::Rule, keys: &str) -> String {
        says(
            rule,
            &format!(
                "tools: {{ hook: {{ http: POST https://example.com/ }} }}\npolicies:\n  office: {{ {keys} }}\npolicy: office\nsteps:\n  - {{ id: run, tool: hook }}\n  - {{ id: get, http: GET https://example.org/x }}\n"
            ),
        )
    }

    #[test]
    fn a_name_is_in_one_list_only() {
        assert_eq!(
            policy(lists_overlap, "allowed_tools: ['shell(git *)'], disallowed_tools: ['shell(git *)']"),
            "F610 5:65 \"shell(git *)\" is in allowed_tools and disallowed_tools\n"
        );
        assert_eq!(policy(lists_overlap, "allowed_tools: [hook], disallowed_tools: [shell]"), "");
        let tool = "tools: { docs: { file: notes, allow: [read], deny: [read] } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(lists_overlap, tool), "F610 3:53 \"read\" is in allow and deny\n");
    }

    #[test]
    fn limits_are_above_zero_and_tools_are_named() {
        let found = "F611 5:3 resource_limits.cost_usd of policy \"office\" must be above 0\nF611 5:3 resource_limits.time of policy \"office\" must be above 0\n";
        assert_eq!(policy(limits, "resource_limits: { time: 0s, cost_usd: 0, tokens: 5 }"), found);
        assert_eq!(policy(too_wide, "allowed_tools: ['*']"), "F612 5:29 allowed_tools \"*\" allows every tool; name them\n");
        assert_eq!(policy(too_wide, "allowed_tools: ['**']"), "F612 5:29 allowed_tools \"**\" allows every tool; name them\n");
        assert_eq!(policy(too_wide, "allowed_tools: ['shell(*)']"), "");
    }

    #[test]
    fn a_step_keeps_to_its_own_policy() {
        let tool = "F613 8:22 step \"run\" uses tool \"hook\", which policy \"office\" does not allow\n";
        let host = "F613 9:22 step \"get\" uses host \"example.org\", which policy \"office\" does not allow\n";
        let both = format!("{tool}{host}");
        assert_eq!(policy(outside, "description: Nothing is named here."), both);
        assert_eq!(policy(outside, "disallowed_tools: [hook], permission_mode: auto"), tool);
        assert_eq!(policy(outside, "allowed_tools: [shell], network_access: { hosts: [example.org] }"), tool);
        assert_eq!(policy(outside, "allowed_tools: [hook], network_access: { hosts: [example.com, 'example.org:80'] }"), host);
        for fine in [
            "allowed_tools: [hook], network_access: { hosts: [example.org] }",
            "allowed_tools: ['hook(x)'], network_access: { hosts: ['example.org:443'] }",
            "disallowed_tools: ['hook(x)'], permission_mode: auto",
            "allowed_tools: [hook], network_access: { hosts: ['*.org'] }",
            "permission_mode: auto",
        ] {
            assert_eq!(policy(outside, fine), "", "{fine}");
        }
    }
}
