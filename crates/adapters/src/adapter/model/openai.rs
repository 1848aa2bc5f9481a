//! OpenAI's chat format, which most other endpoints speak too.

use serde_json::{Map, Value, json};

use super::draft::{Draft, DraftCall, bad, error_complaint, event_json, text, tokens};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, is_at, joined};
use crate::adapter::http::SseEvent;
use crate::event::{MessageRole, Usage};
use crate::model::FailureKind;
use crate::port::{Message, ModelReply, ModelRequest};

/// `{base_url}/chat/completions`; the base URL holds the version (`http://127.0.0.1:11434/v1`).
pub(super) fn url(base_url: &str) -> String {
    joined(base_url, "", "/chat/completions")
}

/// The body of a request.
pub(super) fn body(request: &ModelRequest, pictures: &Pictures) -> Value {
    let mut body = json!({
        "model": request.model,
        "messages": request.messages.iter().map(|m| message(m, pictures)).collect::<Vec<_>>(),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(most) = request.max_output_tokens {
        // OpenAI's own newer models refuse the old name, which is the one other endpoints know.
        let key = if is_at(&request.base_url, "api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
        body[key] = most.into();
    }
    if let Some(seed) = request.seed {
        body["seed"] = seed.into();
    }
    if let Some(schema) = &request.schema {
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": { "name": "answer", "schema": schema, "strict": is_strict(schema) },
        });
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
            })
        });
        body["tools"] = tools.collect();
    }
    body
}

fn message(message: &Message, pictures: &Pictures) -> Value {
    match message.role {
        MessageRole::System => json!({ "role": "system", "content": message.text }),
        MessageRole::User if message.pictures.is_empty() => json!({ "role": "user", "content": message.text }),
        MessageRole::User => {
            let text = json!({ "type": "text", "text": message.text });
            let picture = |p: &Picture| {
                let url = format!("data:{};base64,{}", p.media_type, p.base64);
                json!({ "type": "image_url", "image_url": { "url": url } })
            };
            let content = pictures.of(message).map(picture).chain([text]);
            json!({ "role": "user", "content": content.collect::<Value>() })
        }
        MessageRole::Tool => json!({ "role": "tool", "tool_call_id": message.call_id, "content": message.text }),
        MessageRole::Assistant if message.calls.is_empty() => json!({ "role": "assistant", "content": message.text }),
        MessageRole::Assistant => {
            let calls = message.calls.iter().map(|call| {
                // Arguments that were not an object are kept as the text they came as.
                let arguments = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
                json!({ "id": call.id, "type": "function", "function": { "name": call.tool, "arguments": arguments } })
            });
            let content = if message.text.is_empty() { Value::Null } else { message.text.as_str().into() };
            json!({ "role": "assistant", "content": content, "tool_calls": calls.collect::<Value>() })
        }
    }
}

/// Keys that strict structured output knows (OpenAI, "Structured Outputs", supported schemas).
const STRICT_KEYS: [&str; 17] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "title",
    "description",
    "anyOf",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

/// Whether OpenAI would take a schema as strict: the root is an object, each object lists all its properties as required and allows no
/// others. A schema that does not fit would be refused; without `strict` it is taken as a wish. Others enforce any schema.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("object")) && schema.get("anyOf").is_none() && is_strict_part(schema, 0)
}

fn is_strict_part(schema: &Value, depth: usize) -> bool {
    let Value::Object(keys) = schema else { return false };
    if depth > 5 || keys.keys().any(|key| !STRICT_KEYS.contains(&key.as_str())) {
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
pub(super) struct ChatReader {
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
        let none = Value::Null;
        let delta = choice.get("delta").unwrap_or(&none);
        let was_finished = self.finish.is_some();
        let is_new = self.part(delta, true)?;
        if was_finished && is_new {
            return Err(bad("went on after the end of its answer"));
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
        self.finish = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
        self.is_done = true;
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.draft.text
    }

    fn reply(self) -> Result<ModelReply, AnswerFault> {
        if !self.is_done {
            return Err(bad("ended its answer before the end mark"));
        }
        match self.finish.as_deref() {
            None => Err(bad("ended its answer without a finish_reason")),
            Some("content_filter") => Err((FailureKind::Refused, "withheld the answer: content filter".to_owned())),
            _ if !self.refusal.is_empty() => Err((FailureKind::Refused, format!("refused to answer: {}", self.refusal))),
            Some("length") => Err((FailureKind::Truncated, "cut the answer at its length limit; raise max_output_tokens".to_owned())),
            Some("tool_calls") if self.draft.calls.is_empty() => Err(bad("ended with tool calls but sent none")),
            Some("stop" | "tool_calls") => self.draft.reply(),
            Some(other) => Err(bad(format!("ended its answer for an unknown reason: {other}"))),
        }
    }
}

impl ChatReader {
    /// Errors, usage and the model's name.
    fn head(&mut self, chunk: &Value) -> Result<(), AnswerFault> {
        if !chunk.is_object() {
            return Err(bad("sent JSON that is not an answer of a model"));
        }
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error_complaint(chunk, self.has_begun));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| !usage.is_null()) {
            self.draft.usage = tokens(usage, "prompt_tokens")
                .zip(tokens(usage, "completion_tokens"))
                .map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens, cost_usd: None });
        }
        let model = chunk.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        if self.draft.model.is_none() {
            self.draft.model = model.map(str::to_owned);
        }
        Ok(())
    }

    /// The one choice; the last chunk of a stream has none.
    fn choice<'a>(&self, chunk: &'a Value) -> Result<Option<&'a Value>, AnswerFault> {
        match chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice) {
            None if chunk.get("usage").is_none_or(Value::is_null) => Err(bad("sent an answer without choices")),
            None | Some([]) => Ok(None),
            Some([choice]) if choice.get("index").is_none_or(|index| index == 0) => Ok(Some(choice)),
            Some(_) => Err(bad("sent more than one choice")),
        }
    }

    /// A delta of a stream, or a whole message. Gives whether it held anything.
    fn part(&mut self, part: &Value, is_delta: bool) -> Result<bool, AnswerFault> {
        let (content, refusal) = (text(part, "content")?, text(part, "refusal")?);
        self.draft.text.push_str(content);
        self.refusal.push_str(refusal);
        let mut is_new = !content.is_empty() || !refusal.is_empty();
        for call in part.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call, is_delta)?;
            is_new = true;
        }
        self.has_begun |= is_new;
        Ok(is_new)
    }

    fn call(&mut self, call: &Value, is_delta: bool) -> Result<(), AnswerFault> {
        let none = Value::Null;
        let function = call.get("function").unwrap_or(&none);
        let (id, tool) = (text(call, "id")?, text(function, "name")?);
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            // Some endpoints send the object itself.
            Some(other) => other.to_string(),
        };
        let count = self.draft.calls.len();
        let place = match call.get("index").filter(|_| is_delta) {
            Some(index) => {
                index.as_u64().and_then(|index| usize::try_from(index).ok()).ok_or_else(|| bad("sent a tool call without place"))?
            }
            // Without places, a name begins the next call.
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
