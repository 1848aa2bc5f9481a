//! The course of a run: when each attempt of a step started and ended, and which external calls it made.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{ConversationSoFar, Event, Failure, Happening, RejectedRecipient, StepPath};

/// One attempt of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryRecord {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// 1, or 2 in the refinement.
    pub round: u32,
    /// When it began.
    pub started: DateTime<Utc>,
    /// When it ended; `None`: it did not, or its process ended first.
    pub ended: Option<DateTime<Utc>>,
    /// Why it failed; for a gate that is followed by a refinement, which criteria were not met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl TryRecord {
    /// Returns the time from start to end; `None`: it has not ended.
    pub fn duration_ms(&self) -> Option<u64> {
        u64::try_from((self.ended? - self.started).num_milliseconds()).ok()
    }
}

/// One external call: a tool, a query, a request, a file or a delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallRecord {
    /// The step that made it.
    pub step: String,
    /// `sql`, `http`, `read`, `send`, or the tool.
    pub tool: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The arguments.
    pub with: Value,
    /// The result that an agent received; empty for calls of steps, whose output holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was made.
    pub time: DateTime<Utc>,
    /// How long it took; `None`: no reply arrived.
    pub duration_ms: Option<u64>,
}

/// The conversation of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRecord {
    /// Its id.
    pub of: String,
    /// How many earlier messages the run includes.
    pub earlier: u64,
    /// How many older messages are not included.
    pub left_out: u64,
    /// How many of those this run summarizes.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub summed_up: u64,
    /// Whether the run has a summary of older messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_summary: bool,
    /// How many messages of its own history each agent has, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, u64>,
}

impl ConversationRecord {
    /// What the first event says of it.
    pub(super) fn from_event(own: &ConversationSoFar) -> ConversationRecord {
        ConversationRecord {
            of: own.of.clone(),
            earlier: own.messages.len() as u64,
            left_out: own.left_out,
            summed_up: own.older.len() as u64,
            has_summary: own.summary.is_some(),
            agents: own.agents.iter().map(|(name, messages)| (name.clone(), messages.len() as u64)).collect(),
        }
    }
}

/// Parts that a step delivered to one receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The step.
    pub step: String,
    /// The receiver: `stdout` or the tool.
    pub to: String,
    /// Number of parts.
    pub parts: u64,
    /// The text that people read in each part, if the run belongs to a conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// Mail recipients that the server rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedRecipient>,
}

/// Adds a delivered part.
pub(super) fn delivered(sent: &mut Vec<SentRecord>, (step, to): (&str, &str), text: Option<&str>, rejected: &[RejectedRecipient]) {
    let texts = text.map(str::to_owned).into_iter();
    match sent.iter_mut().find(|sent| sent.step == *step && sent.to == *to) {
        Some(sent) => {
            sent.parts += 1;
            sent.texts.extend(texts);
            // All parts are sent in one mail.
            sent.rejected.extend(rejected.iter().filter(|new| !sent.rejected.contains(new)).cloned().collect::<Vec<_>>());
        }
        None => sent.push(SentRecord {
            step: step.to_owned(),
            to: to.to_owned(),
            parts: 1,
            texts: texts.collect(),
            rejected: rejected.to_vec(),
        }),
    }
}

/// Returns the step whose attempt an event starts or ends.
pub(super) fn tried_step(happening: &Happening) -> Option<&StepPath> {
    match happening {
        Happening::StepStarted { step, .. }
        | Happening::AttemptFailed { step, .. }
        | Happening::StepSucceeded { step, .. }
        | Happening::StepFailed { step, .. }
        | Happening::StepCancelled { step, .. }
        | Happening::ModelCalled { step, .. }
        | Happening::GateFailed { step, for_good: false, .. } => Some(step),
        _ => None,
    }
}

/// Applies an event of a step to its attempts.
pub(super) fn tried(tries: &mut Vec<TryRecord>, event: &Event) {
    let error = match &event.happening {
        Happening::StepStarted { attempt, round, .. } => {
            tries.push(TryRecord { attempt: *attempt, round: *round, started: event.time, ended: None, error: None });
            return;
        }
        // A conversation with a model continues after a failed attempt without another start of the step.
        Happening::ModelCalled { .. } => {
            if let Some(failed) = tries.last().filter(|last| last.ended.is_some() && last.error.is_some()) {
                let (attempt, round) = (failed.attempt + 1, failed.round);
                tries.push(TryRecord { attempt, round, started: event.time, ended: None, error: None });
            }
            return;
        }
        Happening::AttemptFailed { failure, .. } | Happening::StepFailed { failure, .. } => Some(failure_text(failure)),
        // The gate judges again after the refinement, as a new attempt.
        Happening::GateFailed { cause, .. } => Some(cause.clone()),
        _ => None,
    };
    if let Some(last) = tries.last_mut().filter(|last| last.ended.is_none()) {
        last.ended = Some(event.time);
        last.error = error;
    }
}

/// Maps call numbers to places in the list of tool calls.
#[derive(Default)]
pub(super) struct CallsByNumber(HashMap<u64, usize>);

impl CallsByNumber {
    /// Applies an event.
    pub(super) fn take(&mut self, calls: &mut Vec<ToolCallRecord>, event: &Event) {
        match &event.happening {
            Happening::ToolCalled { step, call, tool, with, attempt, .. } => {
                self.0.insert(*call, calls.len());
                calls.push(ToolCallRecord {
                    step: step.to_string(),
                    tool: tool.clone(),
                    attempt: *attempt,
                    with: with.clone(),
                    result: None,
                    error: None,
                    time: event.time,
                    duration_ms: None,
                });
            }
            Happening::ToolReplied { call, failure, duration_ms, result, .. } => {
                if let Some(found) = self.0.get(call).map(|place| &mut calls[*place]) {
                    found.duration_ms = Some(*duration_ms);
                    found.result.clone_from(result);
                    found.error = failure.as_ref().map(failure_text);
                }
            }
            Happening::OutcomeUnknown { call, .. } => {
                if let Some(found) = self.0.get(call).map(|place| &mut calls[*place]) {
                    found.error = Some("no answer when it was ended; whether it has acted is not known".into());
                }
            }
            _ => {}
        }
    }
}

fn failure_text(failure: &Failure) -> String {
    format!("{}: {}", failure.kind.word(), failure.message)
}
