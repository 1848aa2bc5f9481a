//! Answers in OpenAI's chat format, as endpoints send it that take it from there: what is certain is read, whatever form it has.

use serde_json::{Map, Value, json};

use super::draft::{Draft, DraftAnswer, DraftCall, bad, event_json, foreign, model_name, text, usage};
use super::ended::{AnswerEnd, answer_end, error_complaint, error_in};
use super::state::{is_thought, merge};
use super::{AnswerFault, AnswerReader, ReadProgress};
use crate::http::{SseEvent, error_sentence, read_json};
use crate::model::FailureKind;

/// Reads chunks until `[DONE]`, or one `chat.completion` object.
#[derive(Debug, Default)]
pub(super) struct ChatReader {
    draft: Draft,
    refusal: String,
    finish: Option<String>,
    /// Whether more came after the end that `finish` tells.
    is_continued: bool,
    has_begun: bool,
    is_done: bool,
    /// The `index` of each call, if its endpoint gave one.
    indexes: Vec<Option<u64>>,
    /// What each call has beside its name and arguments.
    beside_calls: Vec<Value>,
    /// What the message has beside its text and calls.
    beside: Map<String, Value>,
    /// Parts of its content that are not text.
    thinking: Value,
}

impl AnswerReader for ChatReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(ReadProgress::Done);
        }
        if event.event == "error" {
            let error = read_json(event.data.as_bytes()).unwrap_or_else(|_| json!({ "message": event.data }));
            return Err(error_complaint(&error, self.has_begun));
        }
        let chunk = event_json(&event.data)?;
        self.head(&chunk)?;
        if let Some(choice) = choice(&chunk)? {
            let part = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
            // Some servers repeat the whole message at the end.
            let is_repeated = !choice["delta"].is_object() && self.has_begun;
            let is_new = !is_repeated && self.part(part, true)?;
            self.is_continued |= self.finish.is_some() && is_new;
            self.finishes(choice)?;
        }
        // Some servers say at once that they stop, and then begin.
        let is_last = |reason: &String| self.has_begun || answer_end(reason) != Ok(AnswerEnd::Said);
        Ok(if self.finish.as_ref().is_some_and(is_last) && !self.is_continued { ReadProgress::Last } else { ReadProgress::More })
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        self.head(answer)?;
        let Some(choice) = choice(answer)? else {
            let is_error = answer.get("choices").is_none() && error_sentence(answer).is_some();
            return Err(if is_error { error_complaint(answer, false) } else { foreign("sent an answer without choices") });
        };
        let message = choice.get("message").ok_or_else(|| foreign("sent an answer without message"))?;
        self.part(message, false)?;
        self.finishes(choice)?;
        // A whole object has its end, also where it does not say how it came.
        self.finish.get_or_insert_with(|| "stop".to_owned());
        self.is_done = true;
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.draft.text
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        self.draft.usage.map(|usage| (usage.input_tokens, usage.output_tokens))
    }

    fn reply(self: Box<Self>) -> Result<DraftAnswer, AnswerFault> {
        let Some(reason) = &self.finish else {
            return Err(bad(if self.is_done {
                "ended its answer without a finish_reason"
            } else {
                "ended its answer before the end mark"
            }));
        };
        if self.is_continued && !self.is_done {
            return Err(bad("ended its answer before the end mark"));
        }
        let refused = (FailureKind::Refused, format!("refused to answer: {}", self.refusal));
        let end = match answer_end(reason) {
            Err((FailureKind::Refused, why)) => return Err((FailureKind::Refused, why)),
            _ if !self.refusal.is_empty() => return Err(refused),
            end => end?,
        };
        let mut state = Map::new();
        let calls: Vec<Value> = self.beside_calls;
        let has_beside = calls.iter().any(|beside| !beside.is_null());
        let parts = [
            ("message", Value::Object(self.beside)),
            ("calls", if has_beside { calls.into() } else { Value::Null }),
            ("content", self.thinking),
        ];
        state.extend(parts.map(|(key, value)| (key.to_owned(), value)));
        state.retain(|_, value| !value.is_null() && value.as_object().is_none_or(|object| !object.is_empty()));
        let state = if state.is_empty() { Value::Null } else { state.into() };
        Ok(DraftAnswer { reply: self.draft.reply()?, state, announces_calls: end == AnswerEnd::Calls })
    }
}

/// The only choice. Chunks about usage, filters or nothing at all have none.
fn choice(chunk: &Value) -> Result<Option<&Value>, AnswerFault> {
    match &chunk["choices"] {
        Value::Null => Ok(None),
        Value::Array(choices) => match choices.as_slice() {
            [] => Ok(None),
            [choice] if choice.get("index").is_none_or(|index| index.is_null() || index == 0) => Ok(Some(choice)),
            _ => Err(foreign("sent more than one choice")),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Err(foreign("sent choices that are no list")),
    }
}

/// Whether a key of a message holds what the endpoint wants back with it.
fn is_kept(key: &str) -> bool {
    is_thought(key) || matches!(key, "extra_content" | "provider_specific_fields" | "encrypted_content")
}

impl ChatReader {
    /// Reads errors, usage and the model's name.
    fn head(&mut self, chunk: &Value) -> Result<(), AnswerFault> {
        if !chunk.is_object() {
            return Err(foreign("sent JSON that is not a model's answer"));
        }
        if let Some(error) = error_in(chunk) {
            return Err(error_complaint(error, self.has_begun));
        }
        let places = [chunk.get("usage"), chunk.pointer("/choices/0/usage"), chunk.pointer("/x_groq/usage")];
        let told = places.into_iter().flatten().find_map(|told| usage(told, "prompt_tokens", "completion_tokens"));
        self.draft.usage = told.or(self.draft.usage);
        self.draft.model = self.draft.model.take().or_else(|| model_name(chunk));
        Ok(())
    }

    /// Reads how the answer ended. An empty word says nothing.
    fn finishes(&mut self, choice: &Value) -> Result<(), AnswerFault> {
        for key in ["finish_reason", "finishReason"] {
            let reason = text(choice, key)?;
            if !reason.is_empty() {
                self.finish = Some(reason.to_owned());
                self.is_continued = false;
            }
        }
        Ok(())
    }

    /// Reads a delta of a stream, or a whole message. Returns whether it had content.
    fn part(&mut self, part: &Value, is_delta: bool) -> Result<bool, AnswerFault> {
        let heard = self.draft.text.len();
        // Google marks thoughts beside the text that they are in.
        if part.pointer("/extra_content/google/thought") != Some(&Value::Bool(true)) {
            self.content(&part["content"])?;
        }
        let refusal = text(part, "refusal")?;
        self.refusal.push_str(refusal);
        let mut is_new = self.draft.text.len() > heard || !refusal.is_empty();
        for call in part["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, is_delta)?;
            is_new = true;
        }
        // The form before tool calls.
        if part["function_call"].is_object() {
            self.call(&json!({ "function": part["function_call"] }), is_delta)?;
            is_new = true;
        }
        for (key, value) in part.as_object().into_iter().flatten().filter(|(key, value)| is_kept(key) && !value.is_null() && *value != "") {
            merge(self.beside.entry(key.clone()).or_insert(Value::Null), value);
        }
        self.has_begun |= is_new;
        Ok(is_new)
    }

    /// Reads the content: a text, or parts of which some are text.
    fn content(&mut self, content: &Value) -> Result<(), AnswerFault> {
        match content {
            Value::Null => {}
            Value::String(text) => self.draft.text.push_str(text),
            Value::Array(parts) => {
                for part in parts {
                    match (part.as_str(), part["type"].as_str()) {
                        (Some(text), _) => self.draft.text.push_str(text),
                        (None, Some("text" | "output_text")) => self.draft.text.push_str(text(part, "text")?),
                        (None, Some("refusal")) => self.refusal.push_str(text(part, "refusal")?),
                        (None, Some("thinking" | "reasoning" | "redacted_thinking")) => merge(&mut self.thinking, &json!([part])),
                        // References and other kinds are no part of the answer.
                        (None, Some(_)) => {}
                        (None, None) => return Err(foreign("sent content that is not text")),
                    }
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(foreign("sent content that is not text")),
        }
        Ok(())
    }

    fn call(&mut self, call: &Value, is_delta: bool) -> Result<(), AnswerFault> {
        // Some endpoints leave out the object around the name.
        let function = if call["function"].is_object() { &call["function"] } else { call };
        let index = call.get("index").and_then(Value::as_u64).filter(|_| is_delta);
        let piece = DraftCall::new(text(call, "id")?, text(function, "name")?, &function["arguments"]);
        let beside = beside(call);
        match self.begun(index, &piece).filter(|_| is_delta) {
            Some(place) => {
                let begun = &mut self.draft.calls[place];
                // A whole call that comes again adds nothing.
                if !is_object(&begun.arguments) || piece.arguments != begun.arguments {
                    begun.arguments.push_str(&piece.arguments);
                }
                if begun.id.is_empty() {
                    begun.id = piece.id;
                }
                if begun.tool.is_empty() {
                    begun.tool = piece.tool;
                }
                merge(&mut self.beside_calls[place], &beside);
            }
            None => {
                self.draft.add_call(piece)?;
                self.indexes.push(index);
                self.beside_calls.push(beside);
            }
        }
        Ok(())
    }

    /// The call that a piece continues. Endpoints give all calls the same index, or none, or the id late, or the name with each piece.
    fn begun(&self, index: Option<u64>, piece: &DraftCall) -> Option<usize> {
        let calls = &self.draft.calls;
        let is_at = |place: &usize| index.is_none() || self.indexes[*place].is_none() || self.indexes[*place] == index;
        let last = (0..calls.len()).rev().find(is_at)?;
        let starts_another = |place: usize| {
            let begun = &calls[place];
            let is_other = !piece.tool.is_empty() && !begun.tool.is_empty() && piece.tool != begun.tool;
            let has_name = !piece.tool.is_empty() && (index.is_none() && piece.id.is_empty() || is_object(&begun.arguments));
            let is_again =
                is_object(&begun.arguments) && begun.arguments == piece.arguments && begun.id == piece.id && !piece.id.is_empty();
            is_other || has_name && !begun.tool.is_empty() && !is_again
        };
        if piece.id.is_empty() {
            return Some(last).filter(|place| !starts_another(*place));
        }
        let same = (0..calls.len()).rev().filter(is_at).find(|place| calls[*place].id == piece.id);
        let late = || Some(last).filter(|place| calls[*place].id.is_empty() && !starts_another(*place));
        match same {
            // The same id may have been given to two calls.
            Some(place) => Some(place).filter(|place| !starts_another(*place)),
            None => late(),
        }
    }
}

/// What a call has beside what is read of it: signatures, in it and in its function; null if there is nothing.
fn beside(call: &Value) -> Value {
    let others = |value: &Value, read: &[&str]| -> Map<String, Value> {
        let object = value.as_object().into_iter().flatten();
        object
            .filter(|(key, value)| !read.contains(&key.as_str()) && !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut beside = others(call, &["id", "type", "index", "function", "name", "arguments"]);
    let of_function = others(&call["function"], &["name", "arguments"]);
    if !of_function.is_empty() {
        beside.insert("function".to_owned(), of_function.into());
    }
    if beside.is_empty() { Value::Null } else { beside.into() }
}

/// Whether a text is a whole JSON object.
fn is_object(text: &str) -> bool {
    text.trim_end().ends_with('}') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
