//! The rounds of a refinement side by side.

use maud::{Markup, html};
use serde_json::Value;

use super::bounds::PageRoom;
use super::head::badge;
use crate::diagnostic::counted;
use crate::event::Verdict;
use crate::journal::{FailureRecord, Record};
use crate::report::batches::Batches;

/// Maximum number of gates that are shown.
const MOST_GATES: usize = 50;
/// Maximum number of open gates in long lists.
const MOST_OPEN: usize = 5;

pub(super) fn rounds(record: &Record, room: &PageRoom, batches: &Batches<'_>) -> Markup {
    let shown = record.failures.iter().take(MOST_GATES);
    // The first gates in long lists are open.
    let (in_many, alone): (Vec<_>, Vec<_>) = shown.partition(|failure| batches.holds(&failure.gate));
    let (open, closed) = in_many.split_at(in_many.len().min(MOST_OPEN));
    html! {
        @if !record.failures.is_empty() {
            section aria-labelledby="rounds" {
                h2 id="rounds" { "Rounds of the refinement" }
                @for failure in alone.iter().chain(open) { (gate(failure, room)) }
                @if !closed.is_empty() {
                    details {
                        summary { (counted(closed.len(), "more gate", "more gates")) }
                        div.step { @for failure in closed { (gate(failure, room)) } }
                    }
                }
                @if record.failures.len() > MOST_GATES {
                    p.left-out { (counted(record.failures.len() - MOST_GATES, "gate is", "gates are")) " left out here: " (room.export()) }
                }
            }
        }
    }
}

fn gate(failure: &FailureRecord, room: &PageRoom) -> Markup {
    let ended = match (failure.refinement_tried, failure.refinement_worked) {
        (false, _) => "No refinement was tried.",
        (true, Some(true)) => "The refinement worked.",
        (true, Some(false)) => "The refinement did not work.",
        (true, None) => "The refinement is not over.",
    };
    html! {
        h3 { "Gate " code { (failure.gate) } }
        p { (failure.cause) } p { (ended) }
        div.rounds {
            @for (place, verdicts) in failure.verdicts.iter().enumerate() {
                section {
                    h4 { "Round " (place + 1) ": " (badge(if all_met(verdicts) { "met" } else { "not met" })) }
                    (room.value(read(failure.judged.get(place).unwrap_or(&failure.sent))))
                    (list(verdicts))
                }
            }
        }
        @if failure.superseded {
            p { "It does not count: a later round or try followed." }
        } @else if !failure.is_mended() {
            p { "Given in the end:" }
            (room.value(read(&failure.sent)))
        }
    }
}

fn all_met(verdicts: &[Verdict]) -> bool {
    verdicts.iter().all(|verdict| verdict.passed || verdict.skipped)
}

/// Returns the readable text of a value that was made for a channel.
fn read(value: &Value) -> &Value {
    value.get("text").filter(|text| text.is_string()).unwrap_or(value)
}

/// Formats verdicts, each criterion with its answer, failed ones first.
pub(super) fn list(verdicts: &[Verdict]) -> Markup {
    let judged = verdicts.iter().filter(|verdict| !verdict.skipped);
    let (met, all) = (judged.clone().filter(|verdict| verdict.passed).count(), judged.count());
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    sorted.sort_by_key(|verdict| verdict.passed);
    html! {
        p { (met) " of " (counted(all, "criterion", "criteria")) " met" }
        ul.verdicts {
            @for verdict in sorted {
                li {
                    (badge(if verdict.skipped { "skipped" } else if verdict.needs_review { "needs review" } else if verdict.passed { "met" } else { "not met" }))
                    " " code { (verdict.id) } " " (verdict.description)
                    @if let Some(expected) = &verdict.expected { " " span.also { "Expected: " (expected) } }
                    @if !verdict.feedback.is_empty() { p.feedback { "Feedback: " (verdict.feedback) } }
                    @if !verdict.evidence.is_empty() { p.also { "In the text: " (verdict.evidence) } }
                }
            }
        }
    }
}
