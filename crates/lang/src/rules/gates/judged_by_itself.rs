//! F407: a check that holds a text against the same text.

use std::collections::{HashMap, HashSet};

use super::check_impossible::new_finding;
use crate::model::{Check, Criterion, Filling, GateStep, Judging, Step, StepKind, TestFile, Text};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted, sole_path};
use crate::rules::support::scorecards::known_scorecards;
use crate::source::Spanned;

/// Most steps that a text is followed through.
const MOST_COPIES: usize = 16;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let (mut told, copies) = (HashSet::new(), copies(pipeline));
    for planned in &pipeline.steps {
        let StepKind::Gate(gate) = &planned.step.kind else { continue };
        let Some(judged) = sole_path(&gate.of).map(|read| origin(&copies, &read.path)) else { continue };
        for (criterion, check) in known_scorecards(pipeline, gate).flat_map(|card| &card.criteria).flat_map(checks) {
            let Some((key, text)) = data_of(&check.value) else { continue };
            let is_itself = held_against(gate, text).is_some_and(|path| path.is_empty() || origin(&copies, path) == judged);
            if is_itself && told.insert(check.span) {
                out.push(of_check(pipeline, (criterion, check), (key, text), gate, judged));
            }
        }
    }
}

/// The same, for what tests expect of an output.
pub(in crate::rules) fn in_tests(tests: &TestFile, out: &mut Vec<Diagnostic>) {
    let cases = tests.cases.iter().filter_map(|case| Some((case, case.expect.as_ref()?)));
    for (case, (name, checks)) in cases.flat_map(|(case, expect)| expect.outputs.iter().map(move |output| (case, output))) {
        for check in checks {
            let Some((key, text)) = data_of(&check.value) else { continue };
            let path: Vec<&str> = sole_path(text).into_iter().flat_map(|read| &read.path).map(String::as_str).collect();
            if !matches!(path[..], ["value" | "text"]) && path != ["outputs", name.value.as_str()] {
                continue;
            }
            let message = format!("test {}: {key} {} is the text that is checked itself", quoted(&case.id.value), text.source.trim());
            out.push(new_finding(check.span, &message).help(format!("name an input, as in {key}: inputs.NAME, or remove {key}")));
        }
    }
}

/// The checks of a criterion.
fn checks(criterion: &Criterion) -> impl Iterator<Item = (&Criterion, &Spanned<Check>)> {
    let checks: &[Spanned<Check>] = match &criterion.judging {
        Judging::Checks(checks) => checks,
        Judging::Judge | Judging::Neither => &[],
    };
    checks.iter().map(move |check| (criterion, check))
}

/// The data that a check holds a text against, with its key.
fn data_of(check: &Check) -> Option<(&'static str, &Text)> {
    match check {
        Check::NumbersFrom(text) => Some(("numbers_from", text)),
        Check::StatesNumbers(text) => Some(("states_numbers", text)),
        Check::ApartFrom(text) => Some(("apart_from", text)),
        Check::Plain(_) | Check::Contains(..) | Check::NotContains(..) | Check::Equals(_) | Check::Expression(_) => None,
    }
}

/// The path that data is read from, through `with` of the gate; empty for what is judged.
fn held_against<'g>(gate: &'g GateStep, text: &'g Text) -> Option<&'g [String]> {
    let path = &sole_path(text)?.path;
    match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["value" | "text"] => Some(&[]),
        ["with", name] => match gate.with.iter().find(|(own, _)| own.value == name) {
            Some((_, Filling::Text(text))) => Some(&sole_path(text)?.path),
            _ => None,
        },
        _ => Some(path),
    }
}

/// The steps that only pass a text on, with the path that they read.
fn copies(pipeline: &PipelinePlan) -> HashMap<&str, &[String]> {
    pipeline.steps.iter().filter_map(|planned| Some((planned.step.id.value.as_str(), copied(&planned.step)?))).collect()
}

fn copied(step: &Step) -> Option<&[String]> {
    let text = if let StepKind::Set(Filling::Text(text)) = &step.kind {
        text
    } else if let StepKind::Format(format) = &step.kind {
        &format.text
    } else {
        return None;
    };
    Some(&sole_path(text)?.path)
}

/// The path whose text stands at another one.
fn origin<'p>(copies: &HashMap<&str, &'p [String]>, path: &'p [String]) -> &'p [String] {
    let mut path = path;
    // A text goes through a few steps at most; a circle is reported elsewhere.
    for _ in 0..MOST_COPIES {
        let [steps, id, output, rest @ ..] = path else { break };
        let is_whole = rest.is_empty() || matches!(rest, [field] if field == "text" || field == "plain");
        match copies.get(id.as_str()) {
            Some(source) if steps == "steps" && output == "output" && is_whole => path = source,
            _ => break,
        }
    }
    path
}

fn of_check(
    pipeline: &PipelinePlan,
    (criterion, check): (&Criterion, &Spanned<Check>),
    (key, text): (&str, &Text),
    gate: &GateStep,
    judged: &[String],
) -> Diagnostic {
    let what = match key {
        "apart_from" => "leaves out all of the text that is judged, so every text passes",
        _ => "is the text that is judged itself, so every text passes",
    };
    let message = format!("criterion {}: {key} {} {what}", quoted(&criterion.id.value), text.source.trim());
    // What the writer was given is most likely meant.
    let writer = judged.get(1).and_then(|id| pipeline.steps.iter().find(|planned| planned.step.id.value == **id));
    let given = writer.and_then(|planned| {
        let StepKind::Agent(agent) = &planned.step.kind else { return None };
        agent.prompt.reads.iter().find(|read| matches!(read.path.first().map(String::as_str), Some("steps" | "inputs")))
    });
    let help = match given {
        Some(read) => format!("write {key}: {}, which the text is written from", read.path.join(".")),
        None => format!("name the data that the text is written from, or remove {key}"),
    };
    new_finding(check.span, &message).related(gate.of.place.span, "this is judged").help(help)
}
