//! OpenAI's chat format, which most other endpoints support too.

use serde_json::{Map, Value, json};

use super::chat_answer::ChatReader;
use super::dialect::Dialect;
use super::draft::{arguments_text, sent_id, set};
use super::pictures::{Picture, Pictures};
use super::{WireCall, bearer, is_at, joined, state};
use crate::event::{Failure, MessageRole};
use crate::model::Addition;
use crate::port::{Message, ModelRequest, ToolCall, ToolDescription};

/// Builds a call of `{base_url}/chat/completions`. The base URL contains the version (`http://127.0.0.1:11434/v1`).
pub(super) fn call(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Result<WireCall, Failure> {
    let url = joined(&request.base_url, "", "/chat/completions");
    let mut body = body(request, dialect, pictures);
    dialect.complete(&mut body, request)?;
    Ok(WireCall { url, headers: bearer(request, dialect), body, reader: Box::new(ChatReader::default()) })
}

fn body(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Value {
    let is_stream = dialect.has(Addition::Stream);
    let mut body = json!({ "model": request.model, "messages": messages(request, pictures), "stream": is_stream });
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
fn messages(request: &ModelRequest, pictures: &Pictures) -> Vec<Value> {
    let messages = &request.messages;
    let whose = state::whose(request);
    let is_nine = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (is_mistral, is_openai) = (is_at(&request.base_url, "api.mistral.ai"), is_at(&request.base_url, "api.openai.com"));
    let id = |id: &str| sent_id(id, |id| (!is_mistral || is_nine(id)) && (!is_openai || id.len() <= 40));
    let mut sent = vec![];
    let mut shown: Vec<Value> = vec![];
    for (place, one) in messages.iter().enumerate() {
        sent.push(match one.role {
            MessageRole::Assistant => assistant_message(one, state::state_from(one, &whose), &id),
            MessageRole::Tool => {
                json!({ "role": "tool", "tool_call_id": one.call_id.as_deref().map(&id), "content": one.text })
            }
            MessageRole::System | MessageRole::Developer | MessageRole::User => message(one, pictures),
        });
        if one.role != MessageRole::Tool {
            continue;
        }
        let mut own = pictures.in_message(one).map(picture).peekable();
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

/// A message of anyone but the model and its tools.
fn message(message: &Message, pictures: &Pictures) -> Value {
    match message.role {
        // `system` is the name that every endpoint knows.
        MessageRole::System | MessageRole::Developer => json!({ "role": "system", "content": message.text }),
        MessageRole::User | MessageRole::Assistant | MessageRole::Tool if message.pictures.is_empty() => {
            json!({ "role": "user", "content": message.text })
        }
        MessageRole::User | MessageRole::Assistant | MessageRole::Tool => {
            let text = json!({ "type": "text", "text": message.text });
            let content = pictures.in_message(message).map(picture).chain([text]);
            json!({ "role": "user", "content": content.collect::<Value>() })
        }
    }
}

/// An answer of the model, with what the endpoint wants back beside it.
fn assistant_message(message: &Message, state: Option<&Value>, id: &dyn Fn(&str) -> String) -> Value {
    let state = state.unwrap_or(&Value::Null);
    let mut said = json!({ "role": "assistant" });
    said["content"] = match &state["content"] {
        Value::Array(parts) => {
            let text = Some(json!({ "type": "text", "text": message.text })).filter(|_| !message.text.is_empty());
            parts.iter().cloned().chain(text).collect()
        }
        _ if message.text.is_empty() && !message.calls.is_empty() => Value::Null,
        _ => message.text.as_str().into(),
    };
    if !message.calls.is_empty() {
        let call = |(place, call): (usize, &ToolCall)| {
            let function = json!({ "name": call.tool, "arguments": arguments_text(call) });
            let mut sent = json!({ "id": id(&call.id), "type": "function", "function": function });
            add(&mut sent, &state["calls"][place]);
            sent
        };
        said["tool_calls"] = message.calls.iter().enumerate().map(call).collect();
    }
    add(&mut said, &state["message"]);
    said
}

/// Adds keys that are not there.
fn add(to: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        match to.get_mut(key) {
            Some(there) => add(there, value),
            None => to[key] = value.clone(),
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
