//! Dialogues: how each ended, and its turns as a conversation.

use maud::{Markup, html};

use super::bounds::PageRoom;
use super::head::{badge, cost, time, tokens};
use crate::diagnostic::counted;
use crate::journal::{DialogueRecord, Record, TurnRecord};
use crate::model::DialogueSignal;
use crate::report::record::lasted;

/// Maximum number of dialogues that are shown.
const MOST_DIALOGUES: usize = 20;

pub(super) fn dialogues(record: &Record, room: &PageRoom) -> Markup {
    let all = &record.dialogues;
    html! {
        @if !all.is_empty() {
            section aria-labelledby="dialogues" {
                h2 id="dialogues" { "Dialogues" }
                @for dialogue in all.iter().take(MOST_DIALOGUES) { (one(dialogue, room)) }
                @if all.len() > MOST_DIALOGUES {
                    p.left-out { (counted(all.len() - MOST_DIALOGUES, "dialogue is", "dialogues are")) " left out here: " (room.export()) }
                }
            }
        }
    }
}

fn one(dialogue: &DialogueRecord, room: &PageRoom) -> Markup {
    let turns = &dialogue.turns;
    // The first speaker is on the left side, all others on the right.
    let first = turns.first().map(|one| one.turn.from.as_str());
    html! {
        h3 { code { (dialogue.step) } " " (badge(dialogue.status.word())) }
        p {
            (counted(turns.len(), "turn", "turns"))
            @if let Some(ended) = dialogue.ended { ", ended: " (ended.word()) }
            @if !dialogue.reason.is_empty() { " · " (dialogue.reason) }
        }
        ol.talk { @for one in turns { (turn(one, Some(one.turn.from.as_str()) == first, room)) } }
    }
}

fn spoken(signal: DialogueSignal) -> &'static str {
    match signal {
        DialogueSignal::SaysWord => "says the word",
        DialogueSignal::SaysNothingNew => "says nothing new",
    }
}

fn turn(one: &TurnRecord, is_first: bool, room: &PageRoom) -> Markup {
    let said = &one.turn;
    html! {
        li.other[!is_first] {
            h4 { (said.number) ". " (said.from) span.also { " to " (said.to) } }
            (room.text(&said.text))
            @if !said.attachments.is_empty() { p.also { "Files: " (said.attachments.join(", ")) } }
            p.also {
                (time(one.time)) ", " (lasted(one.duration_ms)) " · tokens: " (tokens(&one.usage)) " · cost: " (cost(&one.usage))
                @for signal in &one.signals { " · " (spoken(*signal)) }
            }
        }
    }
}
