//! `flow explain FILE`: a pipeline in plain words, for people who are responsible for it but do not read the file.
//!
//! How to add a topic: a function that returns sentences, in the file it fits, and its heading in [`explain`]. Each tab before a sentence
//! indents it. A topic without sentences is left out, unless its emptiness is informative.

mod checks;
mod people;
mod reach;
mod steps;

use super::graph::words::{source, time};
use super::planned::{cost, tokens};
use super::wish_lines;
use crate::diagnostic::{counted, cut, grouped, visible};
use crate::model::{Pipeline, STAGE_TIME, Text};
use crate::plan::{self, PipelineBounds, PipelinePlan, Plan, Wishes};
use crate::source::Spanned;

/// Line width in columns.
const WIDTH: usize = 100;

/// Explains the first pipeline of a program. `None`: it has none. The environment is not read, so a model that a variable sets in place of
/// the file's is unknown here.
pub fn explain(plan: &Plan) -> Option<String> {
    let planned = plan.pipelines.first()?;
    let pipeline = &planned.pipeline;
    let bounds = plan::bounds(plan, None, &|_, _| None);
    let mut out = format!("{}\n", visible(&pipeline.name.value));
    out.push_str(&"=".repeat(pipeline.name.value.chars().count()));
    out.push('\n');
    if let Some(description) = &pipeline.description {
        lines(&mut out, "", description);
    }
    let topics = [
        ("What it is given", people::inputs(pipeline)),
        ("Whom it is for", people::person(pipeline)),
        ("What it remembers", people::conversation(pipeline)),
        ("What it does, in this order", steps::step_lines(plan, planned)),
        ("What it gives", people::gives(pipeline)),
        ("What it reads", reach::reads(plan)),
        ("Which models it asks, and what for", reach::models(plan, &bounds)),
        ("What it touches outside", reach::outside(plan)),
        ("What it may not do", reach::policies(plan)),
        ("How it checks a text", checks::criteria(plan)),
        ("When a text does not pass", checks::not_met(plan)),
        ("When something breaks", checks::broken(plan)),
        ("Where it answers", people::channels(pipeline)),
        ("Which secrets it wants", reach::secrets(plan)),
        ("What a person must trust before its first run", wish_lines(&Wishes::from_plan(plan, None))),
        ("What a run may take at most", most(plan, &bounds, planned)),
    ];
    for (heading, sentences) in topics.into_iter().filter(|(_, sentences)| !sentences.is_empty()) {
        out.push_str(&format!("\n{heading}\n"));
        for sentence in sentences {
            let text = sentence.trim_start_matches('\t');
            lines(&mut out, &format!("{}- ", "  ".repeat(sentence.len() - text.len() + 1)), text);
        }
    }
    Some(out)
}

/// Explains the limits on calls, tokens, cost and time.
fn most(plan: &Plan, bounds: &[PipelineBounds], planned: &PipelinePlan) -> Vec<String> {
    let Some(all) = bounds.first().map(|bounds| &bounds.calls) else { return vec![] };
    let limits = planned.pipeline.bounds();
    let mut said = vec![];
    let open: Vec<String> =
        all.open.iter().map(|open| format!("{} for each {}", grouped(open.calls), open.of.join(" and each "))).collect();
    match (all.calls, open.is_empty()) {
        (0, true) => said.push("It asks no model.".into()),
        (calls, true) => {
            said.push(format!("Models: {}, if every try fails or has to be repaired; usually far fewer.", counted(calls, "call", "calls")))
        }
        (calls, false) => {
            let fixed = if calls == 0 { String::new() } else { format!("{}, and ", counted(calls, "call", "calls")) };
            said.push(format!("Calls of models: {fixed}{}.", open.join(", and ")));
        }
    }
    if all.calls > 0 || !open.is_empty() {
        said.push(format!("Tokens: {}.", tokens(&plan::tokens(all, &limits, plan::asks_programs(plan, bounds, None)))));
        said.push(format!("Money: {}.", cost(&plan::cost(plan, bounds, None, &limits))));
    }
    let after = match (planned.on_failure.is_some(), planned.finally.is_some()) {
        (false, false) => String::new(),
        (true, true) => format!("; what runs on failure and at the end has {} more each", time(STAGE_TIME)),
        (true, false) => format!("; what runs on failure has {} more", time(STAGE_TIME)),
        (false, true) => format!("; what runs at the end has {} more", time(STAGE_TIME)),
    };
    said.push(match limits.deadline {
        Some(deadline) => format!("Time: {}{after}.", time(deadline)),
        None => format!("Time: no limit is written (limits.deadline){after}."),
    });
    said.extend(limits.max_steps.map(|steps| format!("Steps: {} in all.", grouped(steps))));
    said
}

/// Wraps a sentence to lines of [`WIDTH`] columns; later lines are aligned with the first.
fn lines(out: &mut String, lead: &str, sentence: &str) {
    let sentence = visible(sentence.trim());
    let below = " ".repeat(lead.chars().count());
    let mut line = lead.to_string();
    let mut is_empty = true;
    for word in sentence.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clone_from(&below);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// Formats names as `a, b and c`.
fn listed<S: std::borrow::Borrow<str>>(names: &[S]) -> String {
    crate::diagnostic::listed(names, "and")
}

/// Returns a text in quotes, shortened.
fn quoted(text: &Text) -> String {
    format!("“{}”", cut(&source(text), 240))
}

/// Returns each pipeline of a file, with the words that locate something in it: empty for the first.
fn pipelines(plan: &Plan) -> impl Iterator<Item = (&PipelinePlan, &Pipeline, String)> {
    with_asked(plan).filter(|(_, pipeline, _)| pipeline.asked.is_none())
}

/// Like [`pipelines`], including the pipelines of agents that other agents call.
fn with_asked(plan: &Plan) -> impl Iterator<Item = (&PipelinePlan, &Pipeline, String)> {
    plan.pipelines.iter().enumerate().map(|(at, planned)| {
        let whose = if at == 0 { String::new() } else { format!(" (in pipeline {})", planned.pipeline.name.value) };
        (planned, &*planned.pipeline, whose)
    })
}

/// Formats names of a list in a file like [`listed`]; `none` if it is empty.
fn named<'a>(names: impl IntoIterator<Item = &'a Spanned<String>>) -> String {
    let names: Vec<&str> = names.into_iter().map(Spanned::as_str).collect();
    if names.is_empty() { "none".into() } else { listed(&names) }
}

/// Adds a full stop, unless the sentence ends with a punctuation mark.
fn ended(sentence: &str) -> String {
    let sentence = sentence.trim();
    if sentence.ends_with(['.', '?', '!', '…']) { sentence.to_string() } else { format!("{sentence}.") }
}

/// Removes the full stop.
fn clause(sentence: &str) -> &str {
    sentence.trim().trim_end_matches('.')
}
