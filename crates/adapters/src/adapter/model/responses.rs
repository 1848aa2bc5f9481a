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
    Draft, DraftCall, arguments_text, bad, cut_at_limit, error_complaint, event_json, model_name, set, system_text, text, tokens, usage,
};
use super::openai::{is_strict, sent_schema};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, WireCall, bearer, joined};
use crate::adapter::http::SseEvent;
use crate::event::{Failure, MessageRole};
use crate::model::{Addition, FailureKind};
use crate::port::{Message, ModelReply, ModelRequest, ToolCall, ToolDescription};

/// Builds a call of `{base_url}/responses`. The base URL contains the version.
pub(super) fn call(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Result<WireCall, Failure> {
    let mut body = body(request, dialect, pictures);
    dialect.complete(&mut body, request)?;
    let reader = Box::new(ResponseReader { most: request.max_output_tokens, ..ResponseReader::default() });
    Ok(WireCall { url: joined(&request.base_url, "", "/responses"), headers: bearer(request, dialect), body, reader })
}

fn body(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Value {
    let others = request.messages.iter().filter(|message| message.role != MessageRole::System);
    let input = others.flat_map(|message| items(message, pictures));
    let is_stream = dialect.has(Addition::Stream);
    let mut body = json!({ "model": request.model, "input": input.collect::<Value>(), "stream": is_stream, "store": false });
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
fn items(message: &Message, pictures: &Pictures) -> Vec<Value> {
    match message.role {
        MessageRole::Tool => {
            let output = if pictures.of(message).next().is_none() { json!(message.text) } else { seen(message, pictures) };
            vec![json!({ "type": "function_call_output", "call_id": message.call_id, "output": output })]
        }
        MessageRole::Assistant => {
            let said = (!message.text.is_empty()).then(|| json!({ "role": "assistant", "content": message.text }));
            let item = |call: &ToolCall| json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments_text(call) });
            let calls = message.calls.iter().map(item);
            said.into_iter().chain(calls).collect()
        }
        MessageRole::Developer => vec![json!({ "role": "developer", "content": message.text })],
        MessageRole::System | MessageRole::User if message.pictures.is_empty() => vec![json!({ "role": "user", "content": message.text })],
        MessageRole::System | MessageRole::User => {
            vec![json!({ "role": "user", "content": seen(message, pictures) })]
        }
    }
}

/// The pictures and the text of a message.
fn seen(message: &Message, pictures: &Pictures) -> Value {
    let picture = |picture: &Picture| json!({ "type": "input_image", "image_url": picture.data_url() });
    let words = json!({ "type": "input_text", "text": message.text });
    pictures.of(message).map(picture).chain([words]).collect()
}

/// Reads events until `response.completed`, or one `response` object.
#[derive(Debug, Default)]
struct ResponseReader {
    /// The text received so far.
    heard: String,
    /// `max_output_tokens` of the request.
    most: Option<u64>,
    has_begun: bool,
    response: Option<Value>,
}

impl AnswerReader for ResponseReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        let value = event_json(&event.data)?;
        match value["type"].as_str().unwrap_or(&event.event) {
            "response.output_text.delta" => {
                self.has_begun = true;
                self.heard.push_str(text(&value, "delta")?);
            }
            "response.function_call_arguments.delta" | "response.refusal.delta" => self.has_begun = true,
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response = Some(value.get("response").cloned().ok_or_else(|| bad("ended its answer without a response"))?);
                return Ok(ReadProgress::Done);
            }
            "error" => return Err(error_complaint(&value, self.has_begun)),
            kind if kind.starts_with("response.") => {}
            // The format may add new kinds of events; they are ignored.
            _ => return Ok(ReadProgress::More),
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        self.response = Some(answer.clone());
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.heard
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        usage(&self.response.as_ref()?["usage"], "input_tokens", "output_tokens").map(|usage| (usage.input_tokens, usage.output_tokens))
    }

    fn reply(self: Box<Self>) -> Result<ModelReply, AnswerFault> {
        let response = self.response.ok_or_else(|| bad("ended its answer before the end mark"))?;
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        match (text(&response, "status")?, reason) {
            ("completed", _) => {}
            ("incomplete", Some("max_output_tokens")) => return Err(cut_at_limit()),
            ("incomplete", Some("content_filter")) => {
                return Err((FailureKind::Refused, "withheld the answer: content filter".to_owned()));
            }
            ("incomplete", reason) => {
                return Err(bad(format!("ended its answer for an unknown reason: {}", reason.unwrap_or("none given"))));
            }
            ("failed", _) => return Err(error_complaint(&response, self.has_begun)),
            ("", _) => return Err(bad("ended its answer without a status")),
            (other, _) => return Err(bad(format!("ended its answer with the unknown status {other}"))),
        }
        let mut draft = Draft::default();
        let mut refusal = String::new();
        for item in response["output"].as_array().ok_or_else(|| bad("sent an answer without output"))? {
            match text(item, "type")? {
                "message" => {
                    for part in item["content"].as_array().into_iter().flatten() {
                        draft.text.push_str(text(part, "text")?);
                        refusal.push_str(text(part, "refusal")?);
                    }
                }
                "function_call" => {
                    let of = |key| text(item, key).map(str::to_owned);
                    let id = of("call_id")?;
                    let id = if id.is_empty() { of("id")? } else { id };
                    draft.add_call(DraftCall { id, tool: of("name")?, arguments: of("arguments")? })?;
                }
                "" => return Err(bad("sent a part of its answer without type")),
                // Reasoning and other kinds are not part of the answer.
                _ => {}
            }
        }
        if !refusal.is_empty() {
            return Err((FailureKind::Refused, format!("refused to answer: {refusal}")));
        }
        if self.most.is_some_and(|most| tokens(&response["usage"], "output_tokens").is_some_and(|used| used >= most)) {
            return Err(cut_at_limit());
        }
        draft.usage = usage(&response["usage"], "input_tokens", "output_tokens");
        draft.model = model_name(&response);
        draft.reply()
    }
}
