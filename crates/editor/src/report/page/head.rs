//! The question, outputs, duration and usage of a run.

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use serde_json::Value;

use super::bounds::PageRoom;
use crate::diagnostic::{counted, grouped};
use crate::event::Usage;
use crate::journal::{Record, SentRecord};
use crate::model::step_path;
use crate::report::batches::Batches;
use crate::report::record::{how_to_decide, lasted};

pub(super) fn head(record: &Record, room: &PageRoom, batches: &Batches<'_>) -> Markup {
    let status = record.status.map_or("not over", |status| status.word());
    html! {
        h1 { (record.pipeline) " " span.run { (record.run) } }
        p.lead {
            (badge(status))
            @if let Some(ms) = record.duration_ms() { " in " (lasted(ms)) }
            @if record.scripted { " · models were scripted" }
            @if !record.needs_review.is_empty() { " · needs review" }
            @if !record.rejected_keys.is_empty() { " · key rejected" }
        }
        @for batch in record.batches.iter().filter(|batch| batch.elements > 0) { p { code { (batch.step) } ": " (batch.words()) } }
        @if let Some(failure) = &record.failure { (cause(failure)) }
        @for review in &record.needs_review {
            p.bad { "Needs review: gate " code { (review.gate) } " passed without its judge (" (review.criterion) ": " (review.cause) ")" }
        }
        @for key in &record.rejected_keys {
            p.bad { "Key rejected: agent " code { (key.agent) } ", model " code { (key.model) } ": " (key.message) }
        }
        @let lines = how_to_decide(record, "");
        @if !lines.is_empty() { pre.decide { (lines.join("\n")) } }
        dl.facts {
            (fact("Started", &time(record.started)))
            (fact("Ended", &record.ended.map_or("not yet".into(), time)))
            (fact("Channel", record.channel.as_deref().unwrap_or("none")))
            @if let Some(style) = &record.style_guide {
                (fact("Style guide", &[style.name.as_str(), style.version.as_deref().unwrap_or_default()].join(" ")))
            }
            @if let Some(own) = &record.conversation {
                (fact("Conversation", &format!("{}, {}", own.of, counted(own.earlier, "earlier message", "earlier messages"))))
            }
            div.wide { dt { "Phases" } dd { (record.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>().join(" → ")) } }
            (usage(&total(record), record.ended.is_none()))
        }
        div.asked {
            section aria-labelledby="inputs" { h2 id="inputs" { "Inputs" } (room.fields(&record.inputs)) }
            @if record.person.as_object().is_some_and(|person| !person.is_empty()) {
                section aria-labelledby="person" { h2 id="person" { "Person" } (room.fields(&record.person)) }
            }
            section aria-labelledby="reply" {
                h2 id="reply" { "Reply" }
                (room.fields(&record.outputs))
                @for (count, sent) in batches.sent(record) { (delivered(count, sent, room)) }
                @if record.sent.is_empty() { p.none { "Nothing was sent." } }
            }
        }
    }
}

fn cause(failure: &Value) -> Markup {
    let word = |key: &str| failure[key].as_str().unwrap_or_default();
    html! {
        p.bad {
            "Cause"
            @if !word("step").is_empty() { " at " code { (word("step")) } }
            ": " (word("message")) " (" (word("kind")) ")"
        }
    }
}

fn delivered(count: usize, sent: &SentRecord, room: &PageRoom) -> Markup {
    let step = if count == 1 { sent.step.clone() } else { step_path::ids(&sent.step).collect::<Vec<_>>().join("/") };
    html! {
        p { @if count > 1 { (grouped(count as u64)) " × " } "Sent by " code { (step) } " to " code { (sent.to) } ", " (counted(sent.parts, "part", "parts")) @if !sent.texts.is_empty() { ", as people read it there:" } }
        @for text in &sent.texts { (room.text(text)) }
        @for one in &sent.rejected { p.bad { "Not sent to " (one.recipient) ": " (one.reason) } }
    }
}

/// Returns the usage of all calls; for a run that has not ended, the usage so far.
fn total(record: &Record) -> Usage {
    if record.ended.is_some() {
        return record.usage;
    }
    let mut sum = Usage::default();
    record.interactions.iter().for_each(|call| sum.add(&call.usage));
    sum
}

fn usage(usage: &Usage, is_open: bool) -> Markup {
    let so_far = if is_open { " so far" } else { "" };
    html! {
        (fact("Tokens", &format!("{}{so_far}", tokens(usage))))
        (fact("Cost", &format!("{}{so_far}", cost(usage))))
    }
}

/// Formats tokens in words; unreported ones are shown as unknown.
pub(super) fn tokens(usage: &Usage) -> String {
    let known = format!("{} read, {} written", grouped(usage.input_tokens), grouped(usage.output_tokens));
    match (usage.total_tokens(), usage.unknown_tokens) {
        (0, 0) => "none reported".into(),
        (0, most) => format!("unknown, {} at most", grouped(most)),
        (_, 0) => known,
        (_, most) => format!("{known}; besides, unknown: {} at most", grouped(most)),
    }
}

/// Formats the cost in words.
pub(super) fn cost(usage: &Usage) -> String {
    let known = crate::report::record::cost(usage.total_tokens(), usage.unknown_tokens, usage.cost_usd);
    match known {
        None => "none".into(),
        Some(_) if usage.total_tokens() == 0 => "unknown".into(),
        Some(known) if usage.unknown_tokens > 0 => format!("{known}; besides, unknown"),
        Some(known) => known,
    }
}

fn fact(name: &str, text: &str) -> Markup {
    html! { div { dt { (name) } dd { (text) } } }
}

/// Formats a time with milliseconds.
pub(super) fn time(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string()
}

/// Formats a status as a word with a colour.
pub(super) fn badge(status: &str) -> Markup {
    let class = match status {
        "succeeded" | "met" | "completed" => "good",
        "failed" | "quality_not_met" | "timed_out" | "over_budget" | "timeout" | "not met" => "bad",
        _ => "other",
    };
    html! { span.badge.(class) { (status) } }
}
