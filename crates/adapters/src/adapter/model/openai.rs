//! OpenAI's chat format, which most other endpoints support too.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::draft::{Draft, DraftCall, arguments_text, bad, cut_at_limit, error_complaint, event_json, model_name, set, text, usage};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, WireCall, bearer, is_at, joined};
use crate::adapter::http::SseEvent;
use crate::event::{Failure, MessageRole};
use crate::model::{Addition, FailureKind};
use crate::port::{Message, ModelReply, ModelRequest, ToolCall, ToolDescription};

/// Builds a call of `{base_url}/chat/completions`. The base URL contains the version (`http://127.0.0.1:11434/v1`).
pub(super) fn call(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Result<WireCall, Failure> {
    let url = joined(&request.base_url, "", "/chat/completions");
    let mut body = body(request, dialect, pictures);
    dialect.complete(&mut body, request)?;
    Ok(WireCall { url, headers: bearer(request, dialect), body, reader: Box::new(ChatReader::default()) })
}

fn body(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Value {
    let is_stream = dialect.has(Addition::Stream);
    let mut body = json!({ "model": request.model, "messages": messages(&request.messages, pictures), "stream": is_stream });
    if is_stream && dialect.has(Addition::StreamOptions) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    set(&mut body, "temperature", request.temperature);
    if let Some(name) = dialect.bound_name(request) {
        set(&mut body, name, request.max_output_tokens);
    }
    set(&mut body, "seed", request.seed);
    match dialect.schema_sent(request) {
        Some(true) => {
            let schema = sent_schema(request);
            let mut json_schema = json!({ "name": "answer", "schema": schema });
            if dialect.has(Addition::Strict) {
                json_schema["strict"] = schema.is_some_and(|schema| is_strict(&schema)).into();
            }
            body["response_format"] = json!({ "type": "json_schema", "json_schema": json_schema });
        }
        Some(false) => body["response_format"] = json!({ "type": "json_object" }),
        None => {}
    }
    if !request.tools.is_empty() {
        let function =
            |tool: &ToolDescription| json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
        body["tools"] = request.tools.iter().map(|tool| json!({ "type": "function", "function": function(tool) })).collect();
    }
    body
}

/// Builds the messages. A tool message cannot hold pictures, so those of a round follow in a user message after its last result: the format requires
/// all results directly after the calls.
fn messages(messages: &[Arc<Message>], pictures: &Pictures) -> Vec<Value> {
    let mut sent = vec![];
    let mut shown: Vec<Value> = vec![];
    for (place, one) in messages.iter().enumerate() {
        sent.push(message(one, pictures));
        if one.role != MessageRole::Tool {
            continue;
        }
        let mut own = pictures.of(one).map(picture).peekable();
        if own.peek().is_some() {
            let call = one.call_id.as_deref().unwrap_or_default();
            shown.push(json!({ "type": "text", "text": format!("Pictures in the result of the tool call {call}:") }));
            shown.extend(own);
        }
        let is_last = messages.get(place + 1).is_none_or(|next| next.role != MessageRole::Tool);
        if is_last && !shown.is_empty() {
            sent.push(json!({ "role": "user", "content": std::mem::take(&mut shown) }));
        }
    }
    sent
}

fn picture(picture: &Picture) -> Value {
    json!({ "type": "image_url", "image_url": { "url": picture.data_url() } })
}

fn message(message: &Message, pictures: &Pictures) -> Value {
    match message.role {
        // `system` is the name that every endpoint knows.
        MessageRole::System | MessageRole::Developer => json!({ "role": "system", "content": message.text }),
        MessageRole::User if message.pictures.is_empty() => json!({ "role": "user", "content": message.text }),
        MessageRole::User => {
            let text = json!({ "type": "text", "text": message.text });
            let content = pictures.of(message).map(picture).chain([text]);
            json!({ "role": "user", "content": content.collect::<Value>() })
        }
        MessageRole::Tool => json!({ "role": "tool", "tool_call_id": message.call_id, "content": message.text }),
        MessageRole::Assistant if message.calls.is_empty() => json!({ "role": "assistant", "content": message.text }),
        MessageRole::Assistant => {
            let function = |call: &ToolCall| json!({ "name": call.tool, "arguments": arguments_text(call) });
            let calls = message.calls.iter().map(|call| json!({ "id": call.id, "type": "function", "function": function(call) }));
            let content = if message.text.is_empty() { Value::Null } else { message.text.as_str().into() };
            json!({ "role": "assistant", "content": content, "tool_calls": calls.collect::<Value>() })
        }
    }
}

/// The schema to send. OpenAI's own models only enforce a schema without text lengths, which the engine checks later anyway.
pub(super) fn sent_schema(request: &ModelRequest) -> Option<Value> {
    let mut schema = request.schema.clone()?;
    if is_at(&request.base_url, "api.openai.com") {
        without_lengths(&mut schema);
    }
    Some(schema)
}

fn without_lengths(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            keys.retain(|key, value| !(matches!(key.as_str(), "minLength" | "maxLength") && value.is_u64()));
            keys.values_mut().for_each(without_lengths);
        }
        Value::Array(list) => list.iter_mut().for_each(without_lengths),
        _ => {}
    }
}

/// Whether strict structured output supports a key (OpenAI, "Structured Outputs", supported schemas).
fn is_strict_key(key: &str) -> bool {
    matches!(key, "type" | "properties" | "required" | "additionalProperties" | "items" | "enum" | "const" | "title" | "description")
        || matches!(key, "anyOf" | "pattern" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "minItems" | "maxItems")
}

/// Whether OpenAI accepts a schema as strict: the root is an object, and each object lists all its properties as required and allows no others. Any
/// other schema would be rejected; without `strict`, OpenAI treats it as a hint. Other endpoints enforce any schema.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("object")) && schema.get("anyOf").is_none() && is_strict_part(schema, 0)
}

fn is_strict_part(schema: &Value, depth: usize) -> bool {
    let Value::Object(keys) = schema else { return false };
    if depth > 10 || !keys.keys().all(|key| is_strict_key(key)) {
        return false;
    }
    let none = Map::new();
    let properties = keys.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let is_object = keys.get("type") == Some(&json!("object")) || keys.contains_key("properties");
    let is_closed = keys.get("additionalProperties") == Some(&Value::Bool(false));
    let required = keys.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all_required = properties.keys().all(|name| required.iter().any(|listed| listed == name));
    (!is_object || (is_closed && all_required))
        && properties.values().chain(keys.get("items")).all(|part| is_strict_part(part, depth + 1))
        && keys.get("anyOf").and_then(Value::as_array).is_none_or(|parts| parts.iter().all(|part| is_strict_part(part, depth + 1)))
}

/// Reads chunks until `[DONE]`, or one `chat.completion` object.
#[derive(Debug, Default)]
struct ChatReader {
    draft: Draft,
    refusal: String,
    finish: Option<String>,
    has_begun: bool,
    is_done: bool,
}

impl AnswerReader for ChatReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(ReadProgress::Done);
        }
        let chunk = event_json(&event.data)?;
        self.head(&chunk)?;
        let Some(choice) = self.choice(&chunk)? else { return Ok(ReadProgress::More) };
        let was_finished = self.finish.is_some();
        let is_new = self.part(&choice["delta"], true)?;
        if was_finished && is_new {
            return Err(bad("continued after the end of its answer"));
        }
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.finish = Some(reason.as_str().ok_or_else(|| bad("sent a finish_reason that is not text"))?.to_owned());
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        self.head(answer)?;
        let choice = self.choice(answer)?.ok_or_else(|| bad("sent an answer without choices"))?;
        let message = choice.get("message").ok_or_else(|| bad("sent an answer without message"))?;
        self.part(message, false)?;
        self.finish = choice["finish_reason"].as_str().map(str::to_owned);
        self.is_done = true;
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.draft.text
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        self.draft.usage.map(|usage| (usage.input_tokens, usage.output_tokens))
    }

    fn reply(self: Box<Self>) -> Result<ModelReply, AnswerFault> {
        if !self.is_done {
            return Err(bad("ended its answer before the end mark"));
        }
        match self.finish.as_deref() {
            None => Err(bad("ended its answer without a finish_reason")),
            Some("content_filter") => Err((FailureKind::Refused, "withheld the answer: content filter".to_owned())),
            _ if !self.refusal.is_empty() => Err((FailureKind::Refused, format!("refused to answer: {}", self.refusal))),
            Some("length") => Err(cut_at_limit()),
            Some("tool_calls") if self.draft.calls.is_empty() => Err(bad("ended with tool calls but sent none")),
            Some("stop" | "tool_calls") => self.draft.reply(),
            Some(other) => Err(bad(format!("ended its answer for an unknown reason: {other}"))),
        }
    }
}

impl ChatReader {
    /// Reads errors, usage and the model's name.
    fn head(&mut self, chunk: &Value) -> Result<(), AnswerFault> {
        if !chunk.is_object() {
            return Err(bad("sent JSON that is not a model's answer"));
        }
        if !chunk["error"].is_null() {
            return Err(error_complaint(chunk, self.has_begun));
        }
        if !chunk["usage"].is_null() {
            self.draft.usage = usage(&chunk["usage"], "prompt_tokens", "completion_tokens");
        }
        self.draft.model = self.draft.model.take().or_else(|| model_name(chunk));
        Ok(())
    }

    /// The only choice; the last chunk of a stream has none.
    fn choice<'a>(&self, chunk: &'a Value) -> Result<Option<&'a Value>, AnswerFault> {
        match chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice) {
            None if chunk["usage"].is_null() => Err(bad("sent an answer without choices")),
            None | Some([]) => Ok(None),
            Some([choice]) if choice.get("index").is_none_or(|index| index == 0) => Ok(Some(choice)),
            Some(_) => Err(bad("sent more than one choice")),
        }
    }

    /// Reads a delta of a stream, or a whole message. Returns whether it had content.
    fn part(&mut self, part: &Value, is_delta: bool) -> Result<bool, AnswerFault> {
        let (content, refusal) = (text(part, "content")?, text(part, "refusal")?);
        self.draft.text.push_str(content);
        self.refusal.push_str(refusal);
        let mut is_new = !content.is_empty() || !refusal.is_empty();
        for call in part["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, is_delta)?;
            is_new = true;
        }
        self.has_begun |= is_new;
        Ok(is_new)
    }

    fn call(&mut self, call: &Value, is_delta: bool) -> Result<(), AnswerFault> {
        let function = &call["function"];
        let (id, tool) = (text(call, "id")?, text(function, "name")?);
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // Some endpoints send an object instead of a text.
            other => other.to_string(),
        };
        let count = self.draft.calls.len();
        let place = match call.get("index").filter(|_| is_delta) {
            Some(index) => {
                index.as_u64().and_then(|index| usize::try_from(index).ok()).ok_or_else(|| bad("sent a tool call without index"))?
            }
            // Without an index, a name starts the next call.
            None if tool.is_empty() && count > 0 => count - 1,
            None => count,
        };
        if place == count {
            self.draft.add_call(DraftCall { id: id.to_owned(), tool: tool.to_owned(), arguments })?;
            return Ok(());
        }
        let begun = self.draft.calls.get_mut(place).ok_or_else(|| bad("sent a tool call out of order"))?;
        if begun.id.is_empty() {
            id.clone_into(&mut begun.id);
        }
        if begun.tool.is_empty() {
            tool.clone_into(&mut begun.tool);
        }
        begun.arguments.push_str(&arguments);
        Ok(())
    }
}
