//! F617: an entry that names a part of a tool in another way, or holds a path or an argument as the tool is never given it.

use std::collections::BTreeSet;

use super::policy_entries::new_finding;
use crate::model::{FilePart, Pipeline, Tool, ToolName, UntrustedRule};
use crate::policy::tool_refused;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::steps::tool_arguments::argument_names;
use crate::rules::support::called_names::{CalledNames, folder_names};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    if file.policies.is_empty() && file.tools.values().all(|tool| tool.allow.is_none() && tool.deny.is_empty()) {
        return;
    }
    let called = CalledNames::of(plan);
    for policy in file.policies.values().filter(|policy| called.are_of(policy, pipeline)) {
        let lists = [
            ("allowed_tools", policy.allowed_tools.as_deref().unwrap_or_default(), true),
            ("disallowed_tools", policy.disallowed_tools.as_slice(), false),
            ("approval_required", policy.approval_required.as_slice(), false),
        ];
        for (key, entry, allows) in lists.into_iter().flat_map(|(key, list, allows)| list.iter().map(move |entry| (key, entry, allows))) {
            out.extend(
                of_name(&called, key, entry).or_else(|| of_pattern(&called, plan, file, (key, allows), entry, called.tool(&entry.value)?)),
            );
        }
        let rules = policy.untrusted.iter().filter(|rule| rule.class().is_none() && rule.of.value != UntrustedRule::OTHERWISE);
        out.extend(rules.filter_map(|rule| of_name(&called, "untrusted", &rule.of)));
    }
    for (name, tool) in file.tools.iter().filter(|(_, tool)| tool.span.file == file.name.span.file && called.is_closed) {
        for (key, list) in [("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", tool.deny.as_slice())] {
            out.extend(list.iter().filter_map(|entry| of_pattern(&called, plan, file, (key, key == "allow"), entry, (name, tool))));
        }
    }
}

/// The name of an entry, and the pattern behind it.
fn split(entry: &str) -> (&str, Option<&str>) {
    match entry.trim().split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')').map(str::trim)),
        None => (entry.trim(), None),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['*', '?', '[', '{', '(', ' '])
}

/// A part of a tool in brackets behind it, or by itself.
fn of_name(called: &CalledNames, key: &str, entry: &Spanned<String>) -> Option<Diagnostic> {
    let (name, pattern) = split(&entry.value);
    let has = |tool: &(&str, &Tool), part: &str| called.parts(tool.0, tool.1).iter().any(|known| known.eq_ignore_ascii_case(part));
    if let Some(tool) = called.tool(name).filter(|_| is_plain(name) && !name.contains('.')) {
        let part = pattern.filter(|part| is_plain(part) && has(&tool, part))?;
        let message =
            format!("{} in {key} fits no call: brackets hold a pattern for arguments, not a part of a tool", quoted(&entry.value));
        return Some(new_finding(entry, &message).help(format!("write {}", quoted(&format!("{name}.{part}")))));
    }
    let is_of_kind = || called.steps.iter().any(|step| step.kind.word() == name);
    if !is_plain(name) || name.contains('.') || called.may_know(name) || is_of_kind() {
        return None;
    }
    let owners: BTreeSet<&str> = called.tools.iter().filter(|tool| has(tool, name)).map(|(tool, _)| *tool).collect();
    let first = *owners.first()?;
    // F613 says it at the step.
    let is_called =
        || called.steps.iter().any(|step| step.kind.facts().receiver.is_some_and(|tool| ToolName::parse(&tool.value).part == Some(name)));
    if key == "allowed_tools" && is_called() {
        return None;
    }
    let owner = if owners.len() == 1 { first } else { "*" };
    let rest = pattern.map(|pattern| format!("({pattern})")).unwrap_or_default();
    let message =
        format!("{} in {key} fits no call: it is a part of tool {}, and is named behind a dot", quoted(&entry.value), quoted(first));
    Some(new_finding(entry, &message).help(format!("write {}", quoted(&format!("{owner}.{name}{rest}")))))
}

/// A path that does not begin in the tool's folder, or an argument with its name.
fn of_pattern(
    called: &CalledNames,
    plan: &Plan,
    file: &Pipeline,
    (key, allows): (&str, bool),
    entry: &Spanned<String>,
    (tool, kind): (&str, &Tool),
) -> Option<Diagnostic> {
    let (name, pattern) = split(&entry.value);
    let pattern = pattern?;
    // A list that allows is compared with all arguments, and only those of `read` are the name alone.
    let part = ToolName::parse(name).part.unwrap_or(name);
    if allows && part.parse() != Ok(FilePart::Read)
        || called.given(tool).any(|(_, call, values)| may_fit(&entry.value, call, values.as_ref()))
    {
        return None;
    }
    let (meant, why) = in_folder(file, kind, pattern).map(|meant| (meant, "a file is named from the tool's folder")).or_else(|| {
        Some((
            value_of(called, plan, (tool, kind), ToolName::parse(name).part.or(Some(name)), pattern)?,
            "a pattern is held against the values, without their names",
        ))
    })?;
    let message = format!("{} in {key} fits no call: {why}", quoted(&entry.value));
    Some(new_finding(entry, &message).help(format!("write {}", quoted(&format!("{name}({meant})")))))
}

/// Whether an entry, of a policy or of the tool itself, fits a call as it is written out.
fn may_fit(entry: &str, call: &str, values: Option<&serde_json::Value>) -> bool {
    let part = ToolName::parse(call).part.unwrap_or(call);
    values.is_some() && [call, part].iter().any(|name| tool_refused(entry, name, values))
}

/// A pattern of paths without what leads to the folder of its tool.
fn in_folder(file: &Pipeline, tool: &Tool, pattern: &str) -> Option<String> {
    tool.kind.folder()?;
    let inside = pattern.strip_prefix("./").or_else(|| pattern.strip_prefix('/')).unwrap_or(pattern);
    let below =
        folder_names(file, tool).iter().find_map(|folder| inside.strip_prefix(folder.as_str())?.strip_prefix('/')).unwrap_or(inside);
    (below != pattern && !below.is_empty() && !below.starts_with('/')).then(|| below.to_owned())
}

/// The value of `name=value`, where the tool has an argument of this name.
fn value_of(called: &CalledNames, plan: &Plan, (tool, kind): (&str, &Tool), part: Option<&str>, pattern: &str) -> Option<String> {
    let (name, value) = pattern.split_once('=').or_else(|| pattern.split_once(": "))?;
    let (name, value) = (name.trim(), value.trim().trim_matches(['"', '\'']));
    let given = || called.given(tool).flat_map(|(step, _, _)| step.kind.facts().with.iter().map(|(name, _)| name.value.as_str()));
    let is_argument =
        argument_names(plan, kind, part).into_iter().flatten().any(|known| known == name) || given().any(|given| given == name);
    (is_argument && !value.is_empty() && !value.contains(',')).then(|| value.to_owned())
}
