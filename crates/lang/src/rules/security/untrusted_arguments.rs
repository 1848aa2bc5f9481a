//! F617: an entry of `untrusted` about an argument that its tool or program does not have, or about a kind of step.

use std::collections::HashSet;

use super::policy_entries::{new_finding, of_kind};
use crate::diagnostic::{did_you_mean, nearest};
use crate::model::{StepKind, Tool, ToolKind, ToolName, UntrustedRule};
use crate::policy::may_mean;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::steps::tool_arguments::argument_names;
use crate::rules::support::called_names::CalledNames;
use crate::rules::support::program_words::base_name;
use crate::source::Spanned;

/// Arguments of a program that a step starts.
const OF_PROGRAM: [&str; 3] = ["args", "input", "env"];

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    if pipeline.pipeline.policies.is_empty() {
        return;
    }
    let called = CalledNames::of(plan);
    for policy in pipeline.pipeline.policies.values().filter(|policy| called.are_of(policy, pipeline)) {
        let rules = policy.untrusted.iter().filter(|rule| rule.class().is_none() && rule.of.value != UntrustedRule::OTHERWISE);
        out.extend(rules.filter_map(|rule| of_name(&called, &rule.of).or_else(|| of_arguments(&called, plan, &rule.of))));
    }
}

/// The name of an entry, and the arguments behind it.
fn split(entry: &str) -> (&str, Vec<&str>) {
    let (name, arguments) = entry.trim().split_once('(').unwrap_or((entry.trim(), ""));
    let arguments = arguments.trim_end().trim_end_matches(')').split(',').map(str::trim);
    (name.trim(), arguments.filter(|name| !name.is_empty()).collect())
}

/// A kind of step that has calls of another name, or a program with a letter wrong.
fn of_name(called: &CalledNames, entry: &Spanned<String>) -> Option<Diagnostic> {
    let (name, _) = split(&entry.value);
    if called.may_know(ToolName::parse(name).tool) || name.contains(['*', '?', '[', '{']) {
        return None;
    }
    let has_own_name = |kind: &StepKind| kind.facts().starts.is_some() || kind.facts().receiver.is_some();
    let is_kind = called.steps.iter().any(|step| step.kind.word() == name && has_own_name(&step.kind));
    if let Some(help) = of_kind(called, name).filter(|_| is_kind) {
        let message =
            format!("{} in untrusted fits no call: entries are names of tools and programs, not kinds of steps", quoted(&entry.value));
        return Some(new_finding(entry, &message).help(help));
    }
    // An entry is about calls that there are: one letter is enough to mean another program.
    let programs = called.programs.iter().map(|program| base_name(program)).filter(|_| name.chars().count() > 3);
    let meant = programs.into_iter().find(|program| !nearest(name, [*program]).is_empty())?;
    let message = format!("{} in untrusted fits no tool and no program of the file", quoted(&entry.value));
    Some(new_finding(entry, &message).help(format!("write {}", quoted(&entry.value.replacen(name, meant, 1)))))
}

/// Arguments that a tool, a program or a request does not have.
fn of_arguments(called: &CalledNames, plan: &Plan, entry: &Spanned<String>) -> Option<Diagnostic> {
    let (name, arguments) = split(&entry.value);
    let is_other =
        |known: &[String], argument: &str| !argument.contains(['*', '?', '[', '{']) && !known.iter().any(|known| may_mean(argument, known));
    let (what, known, usual) = known_arguments(called, plan, name)?;
    let other = *arguments.iter().find(|argument| is_other(&known, argument))?;
    let near = did_you_mean(other, known.iter().map(String::as_str)).names.first().cloned();
    let kept = |argument: &str| arguments.iter().map(|own| if *own == other { argument } else { own }).collect::<Vec<_>>().join(", ");
    let written = |argument: &str| quoted(&format!("{name}({})", kept(argument)));
    let help = match near.or(usual) {
        Some(meant) => format!("write {}", written(&meant)),
        None => format!("write one of {}", known.iter().map(|known| written(known)).collect::<Vec<_>>().join(", ")),
    };
    let message = format!("{} in untrusted fits no argument: {what} has {}", quoted(&entry.value), known.join(", "));
    Some(new_finding(entry, &message).help(help))
}

/// What a name of `untrusted` is, its arguments, and the one that is meant where none is near; `None`: not known.
fn known_arguments(called: &CalledNames, plan: &Plan, name: &str) -> Option<(String, Vec<String>, Option<String>)> {
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let started = || called.started.iter().filter(|(_, run)| may_mean(name, &run.program.value));
    if let Some((own, tool)) = called.tool(name) {
        let part = ToolName::parse(name).part;
        let mut known = argument_names(plan, tool, part)?;
        known.extend(called.given(own).flat_map(|(step, ..)| step.kind.facts().with).map(|(name, _)| name.value.clone()));
        known.extend(tool.with.iter().map(|(name, _)| name.value.clone()));
        known.extend(called.steps.iter().any(|step| step.kind.facts().sends).then(|| "content".to_owned()));
        known.extend(all(of_tool(tool)));
        let mut seen = HashSet::new();
        known.retain(|name| seen.insert(name.clone()));
        return started().next().is_none().then(|| (format!("tool {}", quoted(own)), known, None));
    }
    if let Some((_, run)) = started().next() {
        let reads = |text: &crate::model::Text| !text.reads.is_empty();
        let usual = match (run.args.iter().any(reads), run.input.is_some()) {
            (false, true) => "input",
            (true, _) | (false, false) => "args",
        };
        return Some((format!("program {}", quoted(name)), all(&OF_PROGRAM), Some(usual.to_owned())));
    }
    let is_request = name == "http" && called.steps.iter().any(|step| step.kind.word() == name);
    is_request.then(|| ("a request".to_owned(), all(&["url", "body", "headers"]), None))
}

/// What a call of a tool is judged by beside its arguments.
fn of_tool(tool: &Tool) -> &'static [&'static str] {
    match &tool.kind {
        ToolKind::Http { .. } => &["url", "headers", "body"],
        ToolKind::Program { .. } => &["program"],
        ToolKind::Sql(_) | ToolKind::Python { .. } | ToolKind::File(_) | ToolKind::Knowledge(_) | ToolKind::Pipeline { .. } => &[],
        ToolKind::Smtp { .. } | ToolKind::Server(_) | ToolKind::Broken => &[],
    }
}
