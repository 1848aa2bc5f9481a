//! Each step: its state and times, prompts and answers of its models, calls, verdicts and decisions.

use std::collections::HashMap;

use maud::{Markup, html};
use serde_json::Value;

use super::bounds::{PageRoom, chosen, left_out};
use super::elements::{MOST_WELL, group, named, parted};
use super::head::{badge, cost, time, tokens};
use super::rounds::list;
use crate::diagnostic::counted;
use crate::event::{Usage, Verdict};
use crate::journal::{
    AnswerRecord, DecisionRecord, Interaction, OpenElement, QuestionRecord, Record, StepRecord, ToolCallRecord, TryRecord,
};
use crate::model::step_path;
use crate::report::batches::Batches;
use crate::report::record::{lasted, utc};

/// Maximum number of steps.
const MOST_STEPS: usize = 400;
/// Maximum number of failed elements, and how many of them are open.
const MOST_FAILED: usize = 200;
const MOST_OPEN: usize = 3;
/// Maximum number of calls, tries or decisions of one step.
const MOST_CALLS: usize = 50;

/// The activities of one step.
#[derive(Default)]
struct Doings<'a> {
    asked: Vec<&'a Interaction>,
    called: Vec<&'a ToolCallRecord>,
    decided: Vec<&'a DecisionRecord>,
    open: Vec<&'a QuestionRecord>,
    answered: Vec<&'a AnswerRecord>,
}

pub(super) fn steps(record: &Record, room: &PageRoom, batches: &Batches<'_>) -> Markup {
    let mut doings: HashMap<&str, Doings<'_>> = HashMap::new();
    record.interactions.iter().for_each(|call| doings.entry(step_of(call)).or_default().asked.push(call));
    record.tool_calls.iter().for_each(|call| doings.entry(&call.step).or_default().called.push(call));
    record.decisions.iter().for_each(|decision| doings.entry(&decision.step).or_default().decided.push(decision));
    record.questions.iter().for_each(|question| doings.entry(&question.step).or_default().open.push(question));
    record.answers.iter().for_each(|answer| doings.entry(&answer.step).or_default().answered.push(answer));
    let (first, well) = parted(record.steps.iter().collect(), batches, |step| !batches.went_well(&step.step));
    let (failed, others): (Vec<_>, Vec<_>) = first.into_iter().partition(|step| batches.holds(&step.step));
    let shown = chosen(&others, MOST_STEPS);
    let elements = batches.many().iter().flat_map(|batch| &batch.open).take(MOST_FAILED).enumerate();
    let nothing = Doings::default();
    let drawn = |step: &StepRecord, is_open: bool| one(step, doings.get(step.step.as_str()).unwrap_or(&nothing), is_open, room);
    let inside = |element: &OpenElement| -> Vec<&StepRecord> {
        let of_element = |step: &&StepRecord| step.step == element.step || step_path::leads_into(&step.step, &element.step);
        failed.iter().copied().filter(of_element).collect()
    };
    html! {
        section aria-labelledby="steps" {
            h2 id="steps" { "Steps" }
            @if record.steps.is_empty() { p.none { "No step began." } }
            @for (place, element) in elements {
                details open[place < MOST_OPEN] {
                    summary { (named(element)) }
                    div.step { @for step in inside(element) { (drawn(step, place < MOST_OPEN && step.step == element.at)) } }
                }
            }
            @for step in &shown { (drawn(step, false)) }
            (left_out(others.len(), shown.len(), &room.export()))
            @for (batch, own) in &well {
                @let shown = &own[..own.len().min(MOST_WELL)];
                (group(batch, own.len(), shown.len(), &html! { @for step in shown { (drawn(step, false)) } }, room))
            }
        }
    }
}

/// Returns the step of a call of an agent.
fn step_of(call: &Interaction) -> &str {
    call.action.split_once(' ').map_or("", |(_, step)| step)
}

fn one(step: &StepRecord, doings: &Doings<'_>, is_open: bool, room: &PageRoom) -> Markup {
    let details = step.details();
    html! {
        details open[is_open] {
            summary {
                code { (step.step) } " " (badge(&step.status))
                @if let Some(ms) = details.duration_ms() { " " (lasted(ms)) }
                @if !doings.asked.is_empty() { " · " (counted(doings.asked.len(), "model call", "model calls")) }
                @if !doings.called.is_empty() { " · " (counted(doings.called.len(), "call", "calls")) }
            }
            div.step {
                @if let Some(error) = &step.error { (failed(error)) }
                (tries(&step.tries))
                @if !doings.asked.is_empty() { (asked(&doings.asked, room)) }
                @if !doings.called.is_empty() { (called(&doings.called, room)) }
                @if !(doings.open.is_empty() && doings.answered.is_empty()) { (people(doings, room)) }
                (verdicts(&step.details))
                @if !doings.decided.is_empty() { (decided(&doings.decided)) }
                h3 { "Output" }
                (room.value(&step.output))
            }
        }
    }
}

fn failed(error: &Value) -> Markup {
    let word = |key: &str| error[key].as_str().unwrap_or_default();
    html! { p.bad { "Failed: " (word("message")) " (" (word("kind")) ")" } }
}

fn tries(tries: &[TryRecord]) -> Markup {
    html! {
        @if !tries.is_empty() {
            ul.tries {
                @for one in tries.iter().take(MOST_CALLS) {
                    li {
                        "Try " (one.attempt) @if one.round > 1 { " of round " (one.round) } ": " (time(one.started))
                        @match one.duration_ms() { Some(ms) => { ", " (lasted(ms)) } None => ", not ended" }
                        @if let Some(error) = &one.error { ", failed: " (error) }
                    }
                }
            }
            (more(tries.len(), "try", "tries"))
        }
    }
}

fn asked(calls: &[&Interaction], room: &PageRoom) -> Markup {
    let mut sum = Usage::default();
    calls.iter().for_each(|call| sum.add(&call.usage));
    html! {
        h3 { "Model calls" }
        p { "Tokens: " (tokens(&sum)) ". Cost: " (cost(&sum)) "." }
        @for (place, call) in calls.iter().take(MOST_CALLS).enumerate() {
            section.call {
                h4 { (place + 1) ". " (call.agent) ", " (call.action.split(' ').next().unwrap_or_default()) ", model " (call.model) }
                p.also { (time(call.time)) ", " (lasted(call.duration_ms)) " · tokens: " (tokens(&call.usage)) " · cost: " (cost(&call.usage)) }
                @for message in call.input.as_array().into_iter().flatten() { (message_markup(message, room)) }
                h5 { "Reply" }
                @match &call.error {
                    Some(error) => p.bad { "Failed: " (error) },
                    None => (room.value(&call.output)),
                }
                @for reading in &call.readings { p.also { "Read: " (reading) } }
            }
        }
        (more(calls.len(), "model call", "model calls"))
    }
}

fn message_markup(message: &Value, room: &PageRoom) -> Markup {
    html! { h5 { "Prompt: " (message["role"].as_str().unwrap_or_default()) } (room.value(&message["text"])) }
}

fn called(calls: &[&ToolCallRecord], room: &PageRoom) -> Markup {
    html! {
        h3 { "Calls" }
        @for (place, call) in calls.iter().take(MOST_CALLS).enumerate() {
            section.call {
                h4 { (place + 1) ". " (call.tool) @if call.attempt > 1 { ", try " (call.attempt) } }
                p.also { (time(call.time)) ", " (call.duration_ms.map_or("no answer".into(), lasted)) }
                h5 { "Arguments" }
                (room.fields(&call.with))
                @if let Some(error) = &call.error { p.bad { "Failed: " (error) } }
                @if let Some(result) = &call.result { h5 { "Result" } (room.value(result)) }
            }
        }
        (more(calls.len(), "call", "calls"))
    }
}

fn verdicts(details: &Value) -> Markup {
    let all = details["verdicts"].as_array().into_iter().flatten();
    let all: Vec<Verdict> = all.filter_map(|verdict| serde_json::from_value(verdict.clone()).ok()).collect();
    html! { @if !all.is_empty() { h3 { "Verdicts" } (list(&all)) } }
}

/// Formats the questions to people, and their answers.
fn people(doings: &Doings<'_>, room: &PageRoom) -> Markup {
    html! {
        h3 { "Decided by a person" }
        ul {
            @for open in &doings.open {
                li {
                    (open.question)
                    @if let Some(show) = &open.show { " (it shows: " (show) ")" }
                    " · not answered yet"
                    @if let Some(fields) = &open.form { @if !fields.is_empty() { ", fields: " (fields.join(", ")) } }
                    @if let Some(until) = open.until { ", an answer counts until " (utc(until)) }
                }
            }
            @for answer in doings.answered.iter().take(MOST_CALLS) {
                li {
                    (answer.question)
                    @if let Some(show) = &answer.show { " (it showed: " (show) ")" }
                    " · " (answer.word())
                    @if !answer.by.is_empty() { " by " (answer.by) }
                    ", " (utc(answer.time))
                    @if !answer.comment.is_empty() { ": " (answer.comment) }
                    @if !answer.fields.is_null() { (room.value(&answer.fields)) }
                }
            }
        }
        (more(doings.answered.len(), "answer", "answers"))
    }
}

fn decided(decisions: &[&DecisionRecord]) -> Markup {
    html! {
        h3 { "Decisions" }
        ul {
            @for decision in decisions.iter().take(MOST_CALLS) {
                li { (decision.act.word()) " " code { (decision.target) } ": " (if decision.allowed { "allowed" } else { "blocked" }) ", " (decision.rule)
                    @if !decision.by.is_empty() { " (" (decision.by) ")" }
                }
            }
        }
        (more(decisions.len(), "decision", "decisions"))
    }
}

fn more(count: usize, one: &str, several: &str) -> Markup {
    html! { @if count > MOST_CALLS { p.left-out { (counted(count - MOST_CALLS, one, several)) " more" } } }
}
