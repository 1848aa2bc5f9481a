//! F201: a name that nothing has.

use crate::diagnostic::Near;
use crate::model::{Read, StepKind};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Seat, listed};
use crate::rules::support::meant;

/// Longest path that a message repeats, in characters.
const LONGEST_PATH: usize = 60;

/// The name a path begins with.
pub(in crate::rules) fn name(names: &PipelineNames, seat: &Seat, read: &Read, name: &str) -> Diagnostic {
    let known = names.known(seat);
    let path: String = read.path.join(".").chars().take(LONGEST_PATH).collect();
    let rest = path.strip_prefix(name).unwrap_or_default();
    let near = names.hints.nearest(name, known.iter().copied()).into_iter().map(|near| format!("{near}{rest}"));
    let near = Near::new(&path, near);
    let listed = format!("use one of the names known here: {}", known.join(", "));
    match meant::name(names, seat, read, name) {
        Some(meant) if near.is_empty() => {
            let found = found(read, format!("\"{path}\" is not known{}", meant.why), near).help(meant.help);
            match meant.path {
                Some(path) => found.proposed_fix(vec![(read.span, path)]),
                None => found,
            }
        }
        _ => found(read, format!("\"{path}\" is not known{near}"), near).help(listed),
    }
}

/// Says of a word that something is compared with that it lacks quotes.
pub(in crate::rules) fn compared(names: &PipelineNames, seat: &Seat, found: &mut Diagnostic, read: &Read, source: &str) {
    let [name] = read.path.as_slice() else { return };
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | '(' | '-'));
    let is_it = |behind: &str| behind.trim_start().strip_prefix(name.as_str()).is_some_and(ends);
    let by = ["==", "!="].into_iter().find(|by| source.split(by).skip(1).any(is_it));
    // What has this word among its values is named with `==` already.
    let is_said = |by: &str| by == "==" && meant::one_of(names, seat, name).is_some();
    let Some(by) = by.filter(|by| found.near.names.is_empty() && !is_said(by)) else { return };
    found.message = format!("\"{name}\" is not known as a name; a text stands in quotes");
    found.help = vec![format!("write {by} \"{name}\"")];
    found.candidate = None;
}

/// The id of a step.
pub(in crate::rules) fn step(names: &PipelineNames, read: &Read, id: &str) -> Diagnostic {
    let near = names.hints.did_you_mean(id, names.ids());
    let planned = names
        .pipeline
        .steps
        .iter()
        .find(|planned| matches!(&planned.step.kind, StepKind::Plan(plan) if plan.may_use.iter().any(|name| name.value == id)));
    let help = match planned {
        Some(planned) => {
            format!("write steps.{}.output.by_use.{id} | default(''): what a plan does is in its output", planned.step.id.value)
        }
        None => format!("name one of the steps: {}", listed(names.ids())),
    };
    found(read, format!("there is no step \"{id}\"{near}"), near).help(help)
}

fn found(read: &Read, message: String, near: Near) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.span, message).near(near)
}
