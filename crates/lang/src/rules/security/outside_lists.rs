//! F613: programs that a step starts and tables that it reads, which the lists of its own file's policy do not name. Where an entry nearly names
//! one, the finding stands there.

use super::outside_policy::{need_help, new_finding};
use super::policy_entries::{from_project as meant_in_project, with_words};
use crate::model::{Data, Pipeline, Policy, ProgramCommand, Step, StepKind};
use crate::policy::{Act, CallNeed, decide, from_project, tool_refused};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::program_words::{allows, base_name, entry_for, fixed_words};
use crate::source::Spanned;
use crate::sql;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some((name, policy)) = file.policy.as_ref().and_then(|name| Some((name, file.policies.get(&name.value)?))) else { return };
    let started: Vec<(&Step, &ProgramCommand)> =
        pipeline.steps.iter().filter_map(|planned| Some((&*planned.step, planned.step.kind.facts().starts?))).collect();
    for (step, run) in &started {
        program(step, run, (name, policy), &started, out);
        out.extend(unread_by_program(file, step, run, (name, policy)));
    }
    for (table, data) in &file.data {
        let is_read = |step: &Step| matches!(&step.kind, StepKind::Sql(query) if sql::mentions(&query.query.source, table));
        let path = from_project(&file.project, &data.file.value);
        let is_denied = decide(&[(&name.value, policy)], &Act::Read(&path)).is_denied();
        if is_denied && pipeline.steps.iter().any(|planned| is_read(&planned.step)) {
            unread(table, data, &path, (name, policy), pipeline, out);
        }
    }
}

type NamedPolicy<'p> = (&'p Spanned<String>, &'p Policy);

/// A program whose arguments are all written out, or which is named nowhere.
fn program(
    step: &Step,
    run: &ProgramCommand,
    (name, policy): NamedPolicy,
    started: &[(&Step, &ProgramCommand)],
    out: &mut Vec<Diagnostic>,
) {
    let (program, allowed) = (run.program.value.as_str(), policy.allowed_tools.as_deref().unwrap_or_default());
    let arguments = fixed_words(run);
    let shown: Vec<&str> = std::iter::once(program).chain(run.args.iter().map(|arg| &*arg.source)).collect();
    let what = format!("step {} starts {}", quoted(&step.id.value), quoted(&shown.join(" ")));
    // A run denies a program by the name of its file, too.
    let rejects =
        |entry: &&Spanned<String>| [program, base_name(program)].iter().any(|name| tool_refused(&entry.value, name, arguments.as_ref()));
    let rejecting: Vec<&Spanned<String>> = policy.disallowed_tools.iter().filter(rejects).collect();
    let is_denied =
        |policy: &Policy| decide(&[(&name.value, policy)], &Act::Tool { name: program, arguments: arguments.as_ref() }).is_denied();
    let meant = entry_for(run);
    if let Some(first) = rejecting.first() {
        let listed: Vec<String> = rejecting.iter().map(|entry| quoted(&entry.value)).collect();
        let rest = Policy { disallowed_tools: vec![], ..policy.clone() };
        let more = if is_denied(&rest) { format!(" and add {} to allowed_tools", quoted(&meant)) } else { String::new() };
        let message = format!("{what}, which {} in disallowed_tools rejects", quoted(&first.value));
        let why = if first.value.contains('(') { ": the pattern is held against each argument, too" } else { "" };
        let help = format!("remove {} from disallowed_tools{more}, or remove the step{why}", listed.join(" and "));
        out.push(
            match first.span.file == step.kind_span.file {
                true => new_finding(first.span, &message).related(step.kind_span, "started here"),
                false => new_finding(step.kind_span, &message).related(first.span, "this entry"),
            }
            .help(help),
        );
        return;
    }
    // An entry with a blank in its name is told by F617.
    let is_told = allowed.iter().any(|entry| with_words(&entry.value).is_some_and(|meant| meant.split('(').next() == Some(program)));
    if is_told || !is_denied(policy) {
        return;
    }
    let is_used = |entry: &Spanned<String>| started.iter().any(|(_, run)| allows(&entry.value, run));
    let near = allowed.iter().find(|entry| entry.value.split('(').next().map(str::trim) == Some(program) && !is_used(entry));
    out.push(match near {
        Some(entry) => new_finding(entry.span, &format!("{what}, which {} in allowed_tools does not fit", quoted(&entry.value)))
            .help(format!("write {}: the pattern is held against all words behind the program", quoted(&meant))),
        None => new_finding(step.kind_span, &format!("{what}, which policy {} does not allow", quoted(&name.value)))
            .related(policy.span, format!("add {} to allowed_tools of this policy", quoted(&meant)))
            .help(format!("add {} to allowed_tools, or remove the step", quoted(&meant))),
    });
}

/// A table that may not be read.
/// The finding about a program whose folders the policy denies. It is given the whole project to read.
fn unread_by_program(file: &Pipeline, step: &Step, run: &ProgramCommand, (name, policy): NamedPolicy) -> Option<Diagnostic> {
    let mut needs = CallNeed::of_folders(run, [&*file.project], &file.project).into_iter();
    let need = needs.find(|need| need.is_denied(&[(&name.value, policy)]))?;
    let message = format!("the program of step {} is {need}, which policy {} does not allow", quoted(&step.id.value), quoted(&name.value));
    let (entry, place) = need_help(&need, policy);
    let help = format!("write {entry} in the policy, or remove the step");
    Some(new_finding(step.kind_span, &message).related(place, "this policy is to allow it").help(help))
}

fn unread(table: &str, data: &Data, path: &str, (name, policy): NamedPolicy, pipeline: &PipelinePlan, out: &mut Vec<Diagnostic>) {
    let listed = policy.read.as_deref().unwrap_or_default();
    // An entry that begins elsewhere is told by F617.
    if listed.iter().any(|entry| meant_in_project(&entry.value).is_some()) {
        return;
    }
    let folder = |pattern: &str| pattern.split(['*', '?', '[', '{']).next().unwrap_or_default().to_owned();
    let near = listed
        .iter()
        .filter(|entry| entry.value.contains('*') && path.starts_with(&folder(&entry.value)) && !folder(&entry.value).is_empty());
    let here = |entry: &&Spanned<String>| entry.span.file == pipeline.pipeline.name.span.file;
    let what = format!("table {} is read from {}", quoted(table), quoted(path));
    out.push(match near.clone().find(here) {
        Some(entry) => {
            let deeper = format!("{}**", folder(&entry.value));
            new_finding(
                entry.span,
                &format!("{what}, which {} in file_access.read does not fit: \"*\" stays in one folder", quoted(&entry.value)),
            )
            .related(data.file.span, "this file")
            .help(format!("write {}", quoted(&deeper)))
        }
        None => {
            let why = if listed.is_empty() { "lets no file be read" } else { "does not let be read" };
            let at = if policy.span.file == name.span.file { policy.span } else { name.span };
            new_finding(at, &format!("{what}, and policy {} {why}", quoted(&name.value)))
                .related(data.file.span, "this file")
                .help(format!("write file_access: {{ read: [{}] }} in the policy, below {}", quoted(path), name.value))
        }
    });
}
