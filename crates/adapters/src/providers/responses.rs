//! OpenAI's responses format.
//!
//! The reply is built from the whole response in the last event of a stream; the deltas before it are only passed to the listener. The endpoint is
//! told not to store anything (`store: false`), so each request contains the whole conversation.
//!
//! Some endpoints (llama.cpp's server) report a response that was cut at `max_output_tokens` as complete, so a response that used all of them counts
//! as cut.
//!
//! This format has no seed; a seed that is set is not sent.

use std::sync::Arc;

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::draft::{
    Draft, DraftAnswer, DraftCall, arguments_text, bad, cut_at_limit, event_json, foreign, model_name, sent_id, set, system_text, text,
    tokens, usage,
};
use super::ended::{answer_end, error_complaint, error_in};
use super::openai::{is_strict, sent_schema};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, WireCall, bearer, is_at, joined, state};
use crate::event::{Failure, MessageRole};
use crate::http::{SseEvent, error_sentence};
use crate::model::{Addition, FailureKind};
use crate::port::{Message, ModelRequest, ToolCall, ToolDescription};

/// Builds a call of `{base_url}/responses`. The base URL contains the version.
pub(super) fn call(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Result<WireCall, Failure> {
    let mut body = body(request, dialect, pictures);
    dialect.complete(&mut body, request)?;
    let reader = Box::new(ResponseReader { most: request.max_output_tokens, ..ResponseReader::default() });
    Ok(WireCall { url: joined(&request.base_url, "", "/responses"), headers: bearer(request, dialect), body, reader })
}

fn body(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Value {
    let others = request.messages.iter().filter(|message| message.role != MessageRole::System);
    let whose = state::whose(request);
    // OpenAI does not know its own thoughts again unless they hold what it encrypted, and then refuses the items that followed them.
    let is_known = |item: &Value| item["type"] != "reasoning" || item["encrypted_content"].is_string();
    let is_sent =
        |state: &&Value| !is_at(&request.base_url, "api.openai.com") || state.as_array().is_some_and(|items| items.iter().all(is_known));
    let input = others.flat_map(|message| items(message, state::state_from(message, &whose).filter(is_sent), pictures));
    let is_stream = dialect.has(Addition::Stream);
    let mut body = json!({ "model": request.model, "input": input.collect::<Value>(), "stream": is_stream, "store": false });
    // Models that do not think reject this, so it is asked for once the model has shown that it does.
    if request
        .messages
        .iter()
        .filter_map(|message| state::state_from(message, &whose)?.as_array())
        .flatten()
        .any(|item| item["type"] == "reasoning")
    {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    set(&mut body, "instructions", system_text(&request.messages, &[MessageRole::System], None));
    set(&mut body, "temperature", request.temperature);
    set(&mut body, "max_output_tokens", request.max_output_tokens);
    let strict = |schema: &Value| dialect.has(Addition::Strict).then(|| is_strict(schema));
    match dialect.schema_sent(request) {
        Some(true) => {
            let schema = sent_schema(request).unwrap_or_default();
            let mut format = json!({ "type": "json_schema", "name": "answer" });
            set(&mut format, "strict", strict(&schema));
            format["schema"] = schema;
            body["text"] = json!({ "format": format });
        }
        Some(false) => body["text"] = json!({ "format": { "type": "json_object" } }),
        None => {}
    }
    if !request.tools.is_empty() {
        let tool = |tool: &Arc<ToolDescription>| {
            let mut described =
                json!({ "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters });
            set(&mut described, "strict", strict(&tool.parameters));
            described
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// The items of a message: a message, tool calls, or the result of one.
fn items(message: &Message, state: Option<&Value>, pictures: &Pictures) -> Vec<Value> {
    let id = |id: &str| sent_id(id, |id| id.len() <= 64);
    match message.role {
        MessageRole::Tool => {
            let output = if pictures.in_message(message).next().is_none() { json!(message.text) } else { seen(message, pictures) };
            vec![json!({ "type": "function_call_output", "call_id": message.call_id.as_deref().map(id), "output": output })]
        }
        MessageRole::Assistant => {
            let mut said = (!message.text.is_empty()).then(|| json!({ "role": "assistant", "content": message.text })).into_iter();
            let item = |call: &ToolCall| json!({ "type": "function_call", "call_id": id(&call.id), "name": call.tool, "arguments": arguments_text(call) });
            let mut calls = message.calls.iter().map(item);
            let mut items = vec![];
            // Items stand in their order and with their own ids; what they say is in the message.
            for kept in state.and_then(Value::as_array).into_iter().flatten() {
                let own = match kept["type"].as_str() {
                    Some("message") => said.next().map(|said| json!({ "role": "assistant", "content": [{ "type": "output_text", "text": said["content"], "annotations": [] }] })),
                    Some("function_call") => calls.next(),
                    _ => Some(json!({})),
                };
                items.extend(own.map(|own| with(kept, own)));
            }
            items.extend(said.chain(calls));
            items
        }
        MessageRole::Developer => vec![json!({ "role": "developer", "content": message.text })],
        MessageRole::System | MessageRole::User if message.pictures.is_empty() => vec![json!({ "role": "user", "content": message.text })],
        MessageRole::System | MessageRole::User => {
            vec![json!({ "role": "user", "content": seen(message, pictures) })]
        }
    }
}

/// An item with further keys.
fn with(item: &Value, more: Value) -> Value {
    let mut item = item.clone();
    if let (Value::Object(item), Value::Object(more)) = (&mut item, more) {
        item.extend(more);
    }
    item
}

/// The pictures and the text of a message.
fn seen(message: &Message, pictures: &Pictures) -> Value {
    let picture = |picture: &Picture| json!({ "type": "input_image", "image_url": picture.data_url() });
    let words = json!({ "type": "input_text", "text": message.text });
    pictures.in_message(message).map(picture).chain([words]).collect()
}

/// Reads events until `response.completed`, or one `response` object.
#[derive(Debug, Default)]
struct ResponseReader {
    /// The text received so far.
    heard: String,
    /// The items that are whole, for servers whose last event has none.
    items: Vec<Value>,
    /// `max_output_tokens` of the request.
    most: Option<u64>,
    has_begun: bool,
    response: Option<Value>,
}

impl AnswerReader for ResponseReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        if event.data.trim() == "[DONE]" {
            return Ok(ReadProgress::More);
        }
        let value = event_json(&event.data)?;
        match value["type"].as_str().unwrap_or(&event.event) {
            "response.output_text.delta" => {
                self.has_begun = true;
                self.heard.push_str(text(&value, "delta")?);
            }
            "response.function_call_arguments.delta" | "response.refusal.delta" => self.has_begun = true,
            "response.output_item.done" => self.items.extend(value.get("item").cloned()),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                self.response = Some(value.get("response").cloned().ok_or_else(|| foreign("ended its answer without a response"))?);
                return Ok(ReadProgress::Done);
            }
            "error" => return Err(error_complaint(&value, self.has_begun)),
            kind if kind.starts_with("response.") => {}
            _ if error_in(&value).is_some() => return Err(error_complaint(&value, self.has_begun)),
            // The format may add new kinds of events; they are ignored.
            _ => return Ok(ReadProgress::More),
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        if answer.get("output").is_none() && error_sentence(answer).is_some() {
            return Err(error_complaint(answer, false));
        }
        let mut response = answer.clone();
        // A whole object with its output has its end.
        if response["status"].is_null() && response["output"].is_array() {
            response["status"] = "completed".into();
        }
        self.response = Some(response);
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.heard
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        usage(&self.response.as_ref()?["usage"], "input_tokens", "output_tokens").map(|usage| (usage.input_tokens, usage.output_tokens))
    }

    fn reply(mut self: Box<Self>) -> Result<DraftAnswer, AnswerFault> {
        let response = self.response.take().ok_or_else(|| bad("ended its answer before the end mark"))?;
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        match (text(&response, "status")?, reason) {
            ("completed", _) => {}
            ("incomplete", Some(reason)) => {
                answer_end(reason)?;
                return Err(foreign(format!("ended its answer for an unknown reason: {reason}")));
            }
            ("incomplete", None) => return Err(foreign("ended its answer for an unknown reason: none given")),
            ("failed", _) => return Err(error_complaint(&response, self.has_begun)),
            ("", _) => return Err(foreign("ended its answer without a status")),
            (other, _) => return Err(foreign(format!("ended its answer with the unknown status {other}"))),
        }
        let told = response["output"].as_array().ok_or_else(|| foreign("sent an answer without output"))?;
        let items = if told.is_empty() { std::mem::take(&mut self.items) } else { told.clone() };
        let mut draft =
            Draft { model: model_name(&response), usage: usage(&response["usage"], "input_tokens", "output_tokens"), ..Draft::default() };
        let (mut refusal, mut state) = (String::new(), vec![]);
        for mut item in items {
            match text(&item, "type")? {
                "message" => {
                    spoken(&item["content"], &mut draft.text, &mut refusal)?;
                    without(&mut item, &["content"]);
                }
                "function_call" => {
                    let of = |key| text(&item, key);
                    let id = if of("call_id")?.is_empty() { of("id")? } else { of("call_id")? };
                    draft.add_call(DraftCall::new(id, of("name")?, &item["arguments"]))?;
                    without(&mut item, &["call_id", "name", "arguments"]);
                }
                "" => return Err(foreign("sent a part of its answer without type")),
                "reasoning" => {}
                // Other kinds are not part of the answer.
                _ => continue,
            }
            state.push(item);
        }
        if draft.text.is_empty() && draft.calls.is_empty() {
            draft.text = self.heard;
        }
        if !refusal.is_empty() {
            return Err((FailureKind::Refused, format!("refused to answer: {refusal}")));
        }
        if self.most.is_some_and(|most| tokens(&response["usage"], "output_tokens").is_some_and(|used| used >= most)) {
            return Err(cut_at_limit());
        }
        Ok(DraftAnswer { reply: draft.reply()?, state: state.into(), announces_calls: false })
    }
}

/// Adds the text and the refusal in the content of a message.
fn spoken(content: &Value, said: &mut String, refusal: &mut String) -> Result<(), AnswerFault> {
    match content {
        Value::String(text) => said.push_str(text),
        Value::Array(parts) => {
            for part in parts.iter().filter(|part| !part["type"].as_str().is_some_and(|kind| kind.starts_with("reasoning"))) {
                said.push_str(text(part, "text")?);
                refusal.push_str(text(part, "refusal")?);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(foreign("sent content that is not text")),
    }
    Ok(())
}

fn without(item: &mut Value, keys: &[&str]) {
    if let Value::Object(item) = item {
        keys.iter().for_each(|key| drop(item.remove(*key)));
    }
}
