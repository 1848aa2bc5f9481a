//! Calls that steps made to models and services in a play, as far as a test can check them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::MockedRequest;
use crate::event::{Event, Happening};
use crate::model::{CallPart, MessageRole, step_path};

/// The calls of a play.
#[derive(Debug, Default)]
pub(super) struct PlayedCalls {
    asked: Vec<AskedModel>,
    requests: Vec<MockedRequest>,
    /// Maximum number of calls that were open at once.
    pub(super) at_once: usize,
}

/// One call of a model.
#[derive(Debug)]
struct AskedModel {
    step: String,
    agent: String,
    text: String,
    pictures: Vec<String>,
}

impl PlayedCalls {
    /// Collects the calls of these events, and the requests that mocks answered.
    pub(super) fn from_events(events: &[Event], requests: &[MockedRequest]) -> PlayedCalls {
        let mut calls = PlayedCalls { requests: requests.to_vec(), ..PlayedCalls::default() };
        let mut out = BTreeSet::new();
        for event in events {
            if let Happening::ModelCalled { call, .. } | Happening::ToolCalled { call, .. } = &event.happening {
                out.insert(*call);
            }
            if let Happening::ModelReplied { call, .. } | Happening::ToolReplied { call, .. } = &event.happening {
                out.remove(call);
            }
            if let Happening::ModelCalled { step, agent, messages, .. } = &event.happening {
                let sent = || messages.iter().filter(|message| message.role != MessageRole::Assistant);
                let name = |path: &std::path::PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                calls.asked.push(AskedModel {
                    step: step.to_string(),
                    agent: agent.clone(),
                    text: sent().map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n"),
                    pictures: sent().flat_map(|message| &message.pictures).map(name).collect(),
                });
            }
            calls.at_once = calls.at_once.max(out.len());
        }
        calls
    }

    /// Returns all agents whose models were called, each with the first step that called it.
    pub(super) fn agents(&self) -> BTreeMap<String, String> {
        named(self.asked.iter().map(|call| (&call.agent, call)))
    }

    /// Returns the agents that a step called.
    pub(super) fn agents_of(&self, path: &str) -> BTreeMap<String, String> {
        named(self.of_step(path).map(|call| (&call.agent, call)))
    }

    /// Returns the pictures that a step sent.
    pub(super) fn pictures_of(&self, path: &str) -> BTreeMap<String, String> {
        named(self.of_step(path).flat_map(|call| call.pictures.iter().map(move |picture| (picture, call))))
    }

    /// Returns a part of what a step sent: for one call the value, for several a list of all values. `None`: it sent nothing of this kind.
    pub(super) fn part(&self, path: &str, part: CallPart) -> Option<Value> {
        if part == CallPart::Prompt {
            let texts: Vec<&str> = self.of_step(path).map(|call| call.text.as_str()).collect();
            return (!texts.is_empty()).then(|| Value::String(texts.join("\n\n")));
        }
        let mut values: Vec<Value> =
            self.requests.iter().filter(|request| is_of(path, &request.step)).map(|request| value(request, part)).collect();
        match values.len() {
            0 => None,
            1 => values.pop(),
            _ => Some(Value::Array(values)),
        }
    }

    fn of_step(&self, path: &str) -> impl Iterator<Item = &AskedModel> {
        self.asked.iter().filter(move |call| is_of(path, &call.step))
    }
}

/// Whether a path matches a step. Without the number of an element, round or call it matches all of them.
fn is_of(path: &str, step: &str) -> bool {
    path == step || step_path::leaves_out_numbers(path, step)
}

/// Maps each name to the first step that has it.
fn named<'c>(found: impl Iterator<Item = (&'c String, &'c AskedModel)>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, call) in found {
        all.entry(name.clone()).or_insert_with(|| format!("step \"{}\"", call.step));
    }
    all
}

fn value(request: &MockedRequest, part: CallPart) -> Value {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::String);
    match part {
        CallPart::Prompt => Value::Null,
        CallPart::Request => text(&request.request),
        CallPart::Body => request.body.clone(),
        CallPart::IdempotencyKey => text(&request.idempotency_key),
        CallPart::Arguments => request.arguments.clone(),
    }
}
