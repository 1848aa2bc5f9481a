//! OpenAI's responses format.
//!
//! What counts is the whole response that the last event of a stream holds; the pieces before it are only heard. The endpoint is asked to
//! keep nothing (`store: false`), so that each request tells the whole conversation.
//!
//! Some endpoints (llama.cpp's server) call a response complete that they cut at `max_output_tokens`: one that used all of them counts as cut.
//!
//! There is no seed in this format; one that is set is not sent.

use serde_json::{Value, json};

use super::draft::{Draft, DraftCall, bad, error_complaint, event_json, text, tokens};
use super::openai::is_strict;
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, joined};
use crate::adapter::http::SseEvent;
use crate::event::{MessageRole, Usage};
use crate::model::FailureKind;
use crate::port::{Message, ModelReply, ModelRequest};

/// `{base_url}/responses`; the base URL holds the version.
pub(super) fn url(base_url: &str) -> String {
    joined(base_url, "", "/responses")
}

/// The body of a request.
pub(super) fn body(request: &ModelRequest, pictures: &Pictures) -> Value {
    let is_system = |message: &&Message| message.role == MessageRole::System;
    let instructions: Vec<&str> =
        request.messages.iter().filter(is_system).map(|m| m.text.as_str()).filter(|text| !text.is_empty()).collect();
    let input = request.messages.iter().filter(|message| !is_system(message)).flat_map(|message| items(message, pictures));
    let mut body = json!({ "model": request.model, "input": input.collect::<Value>(), "stream": true, "store": false });
    if !instructions.is_empty() {
        body["instructions"] = instructions.join("\n\n").into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(most) = request.max_output_tokens {
        body["max_output_tokens"] = most.into();
    }
    if let Some(schema) = &request.schema {
        body["text"] = json!({ "format": { "type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema) } });
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::port::ToolDescription| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                "strict": is_strict(&tool.parameters),
            })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// What a message is here: a message, calls of tools, or the result of one.
fn items(message: &Message, pictures: &Pictures) -> Vec<Value> {
    match message.role {
        MessageRole::Tool => vec![json!({ "type": "function_call_output", "call_id": message.call_id, "output": message.text })],
        MessageRole::Assistant => {
            let said = (!message.text.is_empty()).then(|| json!({ "role": "assistant", "content": message.text }));
            let calls = message.calls.iter().map(|call| {
                // Arguments that were not an object are kept as the text they came as.
                let arguments = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
                json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments })
            });
            said.into_iter().chain(calls).collect()
        }
        MessageRole::System | MessageRole::User if message.pictures.is_empty() => vec![json!({ "role": "user", "content": message.text })],
        MessageRole::System | MessageRole::User => {
            let picture = |p: &Picture| json!({ "type": "input_image", "image_url": format!("data:{};base64,{}", p.media_type, p.base64) });
            let words = json!({ "type": "input_text", "text": message.text });
            vec![json!({ "role": "user", "content": pictures.of(message).map(picture).chain([words]).collect::<Value>() })]
        }
    }
}

fn cut() -> AnswerFault {
    (FailureKind::Truncated, "cut the answer at its length limit; raise max_output_tokens".to_owned())
}

/// Reads events until `response.completed`, or one `response` object.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    /// The pieces that were heard.
    heard: String,
    /// `max_output_tokens` of the request.
    most: Option<u64>,
    has_begun: bool,
    response: Option<Value>,
}

impl ResponseReader {
    /// Reads the answer of this request.
    pub(super) fn new(request: &ModelRequest) -> ResponseReader {
        ResponseReader { most: request.max_output_tokens, ..ResponseReader::default() }
    }
}

impl AnswerReader for ResponseReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        let value = event_json(&event.data)?;
        match value.get("type").and_then(Value::as_str).unwrap_or(&event.event) {
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
            // The format may grow new kinds of events; those are passed over.
            _ => return Ok(ReadProgress::Nothing),
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        if answer.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_complaint(answer, false));
        }
        self.response = Some(answer.clone());
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.heard
    }

    fn reply(self) -> Result<ModelReply, AnswerFault> {
        let response = self.response.ok_or_else(|| bad("ended its answer before the end mark"))?;
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        match (text(&response, "status")?, reason) {
            ("completed", _) => {}
            ("incomplete", Some("max_output_tokens")) => {
                return Err(cut());
            }
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
        for item in response.get("output").and_then(Value::as_array).ok_or_else(|| bad("sent an answer without output"))? {
            match text(item, "type")? {
                "message" => {
                    for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                        draft.text.push_str(text(part, "text")?);
                        refusal.push_str(text(part, "refusal")?);
                    }
                }
                "function_call" => {
                    let id = Some(text(item, "call_id")?).filter(|id| !id.is_empty()).map_or_else(|| text(item, "id"), Ok)?;
                    let call = DraftCall {
                        id: id.to_owned(),
                        tool: text(item, "name")?.to_owned(),
                        arguments: text(item, "arguments")?.to_owned(),
                    };
                    draft.add_call(call)?;
                }
                "" => return Err(bad("sent a part of its answer without type")),
                // Reasoning and other kinds are not part of the answer.
                _ => {}
            }
        }
        if !refusal.is_empty() {
            return Err((FailureKind::Refused, format!("refused to answer: {refusal}")));
        }
        let usage = response.get("usage").unwrap_or(&Value::Null);
        if self.most.is_some_and(|most| tokens(usage, "output_tokens").is_some_and(|used| used >= most)) {
            return Err(cut());
        }
        draft.usage = tokens(usage, "input_tokens").zip(tokens(usage, "output_tokens")).map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            cost_usd: None,
        });
        draft.model = response.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()).map(str::to_owned);
        draft.reply()
    }
}
