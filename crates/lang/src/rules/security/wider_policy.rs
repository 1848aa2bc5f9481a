//! F504: what the policy of an agent allows its tools, and that of the whole file does not: both are in force, so it is denied.

use super::outside_policy::with_one_more;
use crate::model::{Agent, HostSource, Pipeline, Policy, ProgramNetwork, duration_words};
use crate::policy::{Act, Origin, decide, decide_host};
use crate::rules::limits::wider_inside::found;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let own = |name: &Spanned<String>| {
        let (name, policy) = file.policies.get_key_value(&name.value)?;
        (policy.span.file == file.name.span.file).then_some((name.as_str(), policy))
    };
    let Some(outer) = file.policy.as_ref().and_then(own) else { return };
    for (name, agent) in &file.agents {
        let Some(inner) = agent.policy.as_ref().and_then(own).filter(|inner| inner.0 != outer.0) else { continue };
        out.extend(wider_tools(file, (name, agent), inner, outer));
        out.extend(wider_hosts(name, inner, outer));
        out.extend(wider_bounds(name, inner, outer));
    }
}

/// A policy and its name.
type Named<'p> = (&'p str, &'p Policy);

fn wider_tools(file: &Pipeline, (name, agent): (&str, &Agent), inner: Named, outer: Named) -> Option<Diagnostic> {
    let allows = |policy: Named, tool: &str| !decide(&[policy], &Act::Tool { name: tool, arguments: None }).is_denied();
    let calls = calls(file, agent);
    let wider: Vec<&String> = calls.iter().filter(|tool| allows(inner, tool) && !allows(outer, tool)).collect();
    let first = wider.first()?;
    let all = listed(wider.iter().map(|tool| tool.as_str()));
    let span = outer.1.allowed_tools.as_ref().and_then(|tools| tools.last()).map_or(outer.1.span, |last| last.span);
    let listed = outer.1.allowed_tools.iter().flatten().map(|entry| entry.value.as_str()).chain([first.as_str()]);
    let write: Vec<&str> = inner.1.write.iter().flatten().map(|entry| entry.value.as_str()).collect();
    let files = match first.ends_with(".write") && !write.is_empty() && outer.1.write.as_ref().is_none_or(Vec::is_empty) {
        true => format!(" and, in its file_access, write: [\"{}\"]", write.join("\", \"")),
        false => String::new(),
    };
    let write = format!("allowed_tools: [{}]{files}", listed.collect::<Vec<_>>().join(", "));
    Some(denied(span, name, &all, &write, first, inner, outer))
}

/// The hosts of addresses in the file, as the policy of the whole file answers to them.
fn wider_hosts(name: &str, inner: Named, outer: Named) -> Option<Diagnostic> {
    let hosts = outer.1.hosts.as_deref()?;
    let is_denied = |host: &&Spanned<String>| {
        let network = ProgramNetwork::Hosts(vec![host.value.clone()]);
        Origin::of_program(&network).iter().any(|origin| decide_host(&[outer], HostSource::File, origin, || true).is_denied())
    };
    let mut wider = inner.1.hosts.iter().flatten().filter(is_denied);
    let first = wider.next()?;
    let all = listed([first].into_iter().chain(wider).map(|host| host.value.as_str()));
    let span = hosts.last().map_or(outer.1.span, |last| last.span);
    let write = format!("network_access: {{ {} }}", with_one_more("hosts", Some(hosts), &first.value));
    Some(denied(span, name, &all, &write, &first.value, inner, outer))
}

fn denied(span: Span, agent: &str, all: &str, write: &str, first: &str, inner: Named, outer: Named) -> Diagnostic {
    let (of_agent, of_file) = (quoted(inner.0), quoted(outer.0));
    let agent = quoted(agent);
    let message = format!(
        "policy {of_file} of the whole file denies {all}, which policy {of_agent} of agent {agent} allows: a policy inside only narrows"
    );
    let help = format!("write {write} in {of_file}, or remove {first} from {of_agent}");
    found(span, &message).related(inner.1.span, "the policy of the agent").help(help)
}

fn wider_bounds(agent: &str, inner: Named, outer: Named) -> Vec<Diagnostic> {
    fn above<N: PartialOrd>(inner: Option<N>, outer: Option<N>, said: impl Fn(&N) -> String) -> Option<(String, String)> {
        let (inner, outer) = (inner?, outer?);
        (inner > outer).then(|| (said(&inner), said(&outer)))
    }
    let bytes = |bytes: &u64| format!("{bytes} bytes");
    let (of_agent, of_file) = (inner.1, outer.1);
    let bounds = [
        ("time", above(of_agent.max_time, of_file.max_time, |time| duration_words(*time))),
        ("cost_usd", above(of_agent.max_cost_usd, of_file.max_cost_usd, f64::to_string)),
        ("tokens", above(of_agent.max_tokens, of_file.max_tokens, u64::to_string)),
        ("memory", above(of_agent.max_memory, of_file.max_memory, bytes)),
        ("file_size", above(of_agent.max_file_size, of_file.max_file_size, bytes)),
    ];
    let wider = bounds.into_iter().filter_map(|(key, wider)| {
        let (inner_bound, outer_bound) = wider?;
        let message = format!(
            "{key} {inner_bound} in policy {} of agent {} is above {key} {outer_bound} in policy {} of the whole file; {outer_bound} is used",
            quoted(inner.0),
            quoted(agent),
            quoted(outer.0)
        );
        let help = format!("lower it, or raise {key} in resource_limits of {}", quoted(outer.0));
        Some(found(of_agent.span, &message).related(of_file.span, "the policy of the whole file").help(help))
    });
    wider.collect()
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
