//! Anthropic's messages format.
//!
//! For a schema, the request offers one more tool, `flow_answer`, whose arguments are the answer. The model must call it, or, if other tools are
//! offered, any one of the tools. All Anthropic models enforce this; only some enforce the newer `output_config`. Other endpoints with this format
//! may drop tools (llama.cpp does if the model's chat template has none), so for them the schema is also described in the system text, and an answer
//! as text is accepted. The engine checks both.
//!
//! This format has no seed; a seed that is set is not sent.

use std::sync::Arc;

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::draft::{
    Draft, DraftCall, arguments_text, bad, cut_at_limit, error_complaint, event_json, model_name, set, system_text, text, tokens,
};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, WireCall, is_at, joined};
use crate::adapter::http::SseEvent;
use crate::event::{Failure, MessageRole, Usage};
use crate::model::{Addition, Effort, FailureKind, Reasoning};
use crate::port::{Message, ModelReply, ModelRequest, Secret};

/// `max_tokens` is required; this value is used if the author sets none.
const DEFAULT_MAX_TOKENS: u64 = 4096;
/// The fewest tokens that thoughts may be bounded to.
const LEAST_THOUGHT: u64 = 1_024;
/// The tool whose arguments are the answer.
const ANSWER_TOOL: &str = "flow_answer";

/// Builds a call of `{base_url}/v1/messages`. The base URL may already end in `/v1`.
pub(super) fn call(request: &ModelRequest, dialect: &Dialect, pictures: &Pictures) -> Result<WireCall, Failure> {
    let mut headers = vec![("anthropic-version".to_owned(), Secret::new("2023-06-01"))];
    headers.extend(request.api_key.iter().map(|key| ("x-api-key".to_owned(), key.clone())));
    let (thinking, most) = thinking(request)?;
    let mut body = json!({
        "model": request.model,
        "max_tokens": most,
        "messages": messages(&request.messages, pictures),
        "stream": dialect.has(Addition::Stream),
    });
    let thinks = thinking.as_ref().is_some_and(|thinking| thinking["type"] == "enabled");
    set(&mut body, "thinking", thinking);
    set(&mut body, "temperature", request.temperature);
    let tool = |name: &str, description: &str, schema: &Value| json!({ "name": name, "description": description, "input_schema": schema });
    let mut tools: Vec<Value> =
        request.tools.iter().map(|offered| tool(&offered.name, &offered.description, &offered.parameters)).collect();
    let (mut answer_tool, mut in_words) = (None, None);
    if let Some(schema) = &request.schema {
        let mut name = ANSWER_TOOL.to_owned();
        while request.tools.iter().any(|tool| tool.name == name) {
            name.push('_');
        }
        // A model that thinks first cannot be forced to call a tool.
        let is_forced = dialect.has(Addition::ToolChoice) && !thinks;
        if is_forced {
            body["tool_choice"] = if tools.is_empty() { json!({ "type": "tool", "name": name }) } else { json!({ "type": "any" }) };
        }
        tools.push(tool(&name, "Gives the final answer.", schema));
        in_words = (!is_forced || !is_at(&request.base_url, "api.anthropic.com")).then(|| {
            format!(
                "Give the final answer by calling the tool {name}. If you cannot call tools, answer with one JSON value and nothing else. \
                 It must fit this JSON Schema: {schema}"
            )
        });
        answer_tool = Some(name);
    }
    set(&mut body, "system", system_text(&request.messages, &INSTRUCTING, in_words));
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    request.endpoint.extra.iter().for_each(|(key, value)| body[key] = value.clone());
    let reader = Box::new(MessageReader { answer_tool, ..MessageReader::default() });
    Ok(WireCall { url: joined(&request.base_url, "/v1", "/messages"), headers, body, reader })
}

/// What the request says of thoughts, and the bound of the answer, of which thoughts are a part
/// (<https://docs.claude.com/en/docs/build-with-claude/extended-thinking>).
fn thinking(request: &ModelRequest) -> Result<(Option<Value>, u64), Failure> {
    let most = request.max_output_tokens;
    let wanted = match request.endpoint.reasoning {
        None => return Ok((None, most.unwrap_or(DEFAULT_MAX_TOKENS))),
        Some(Reasoning::Off) => return Ok((Some(json!({ "type": "disabled" })), most.unwrap_or(DEFAULT_MAX_TOKENS))),
        Some(Reasoning::Budget(tokens)) => tokens,
        Some(Reasoning::Effort(effort)) => {
            let usual = match effort {
                Effort::Minimal => LEAST_THOUGHT,
                Effort::Low => 2_048,
                Effort::Medium => 8_192,
                Effort::High => 16_384,
                Effort::Xhigh => 32_768,
            };
            most.map_or(usual, |most| usual.min(most / 2))
        }
    };
    if wanted < LEAST_THOUGHT || most.is_some_and(|most| most <= wanted) {
        let message = format!(
            "reasoning needs at least {LEAST_THOUGHT} tokens, and max_output_tokens must be above those of reasoning ({wanted}); raise it, or write reasoning: off"
        );
        return Err(Failure::new(FailureKind::BadRequest, message));
    }
    Ok((Some(json!({ "type": "enabled", "budget_tokens": wanted })), most.unwrap_or(wanted + DEFAULT_MAX_TOKENS)))
}

/// Roles whose messages are sent as one text, separate from the others.
const INSTRUCTING: [MessageRole; 2] = [MessageRole::System, MessageRole::Developer];

/// All messages except the instructions. Tool results are sent with the user's role, all results of a round in one message.
fn messages(messages: &[Arc<Message>], pictures: &Pictures) -> Vec<Value> {
    let mut turns: Vec<(MessageRole, Vec<Value>)> = Vec::new();
    for message in messages.iter().filter(|message| !INSTRUCTING.contains(&message.role)) {
        let blocks = blocks(message, pictures);
        match turns.last_mut() {
            Some((MessageRole::Tool, found)) if message.role == MessageRole::Tool => found.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((message.role, blocks)),
        }
    }
    turns
        .into_iter()
        .map(|(role, blocks)| json!({ "role": if role == MessageRole::Assistant { "assistant" } else { "user" }, "content": blocks }))
        .collect()
}

/// The blocks of a message. The format rejects an empty text, so it has no block.
fn blocks(message: &Message, pictures: &Pictures) -> Vec<Value> {
    let text = (!message.text.trim().is_empty()).then(|| json!({ "type": "text", "text": message.text }));
    let calls = message.calls.iter().map(|call| {
        // The format only accepts objects.
        let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({ "arguments": call.arguments }) };
        json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
    });
    let source = |picture: &Picture| json!({ "type": "base64", "media_type": picture.media_type, "data": picture.base64 });
    let pictures = pictures.of(message).map(|picture| json!({ "type": "image", "source": source(picture) }));
    if message.role == MessageRole::Tool {
        let content = if message.pictures.is_empty() { json!(message.text) } else { text.into_iter().chain(pictures).collect() };
        return vec![json!({ "type": "tool_result", "tool_use_id": message.call_id, "content": content })];
    }
    pictures.chain(text).chain(calls).collect()
}

/// The kind of the open block in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamBlock {
    Text,
    /// The arguments of the call at this index.
    Call(usize),
    /// Thinking and other kinds, which are not part of the answer.
    Other,
}

/// Reads events until `message_stop`, or one `message` object.
#[derive(Debug, Default)]
struct MessageReader {
    answer_tool: Option<String>,
    draft: Draft,
    /// The open block and its index.
    open: Option<(u64, StreamBlock)>,
    has_begun: bool,
    stop_reason: Option<String>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    is_done: bool,
}

impl AnswerReader for MessageReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        let value = event_json(&event.data)?;
        let kind = value["type"].as_str().unwrap_or(&event.event);
        match kind {
            "ping" => return Ok(ReadProgress::More),
            "error" => return Err(error_complaint(&value, !self.draft.text.is_empty() || !self.draft.calls.is_empty())),
            "message_start" if !self.has_begun => {
                let message = value.get("message").ok_or_else(|| bad("started its answer without a message"))?;
                self.has_begun = true;
                self.head(message);
            }
            "content_block_start" if self.has_begun && self.open.is_none() && self.stop_reason.is_none() => {
                let block = value.get("content_block").ok_or_else(|| bad("sent a block without content"))?;
                self.open = Some((place(&value)?, self.begin(block, true)?));
            }
            "content_block_delta" => {
                let place = place(&value)?;
                let block = self.open.filter(|(open, _)| *open == place).ok_or_else(out_of_order)?.1;
                self.delta(block, &value["delta"])?;
            }
            "content_block_stop" => {
                let place = place(&value)?;
                self.open.take().filter(|(open, _)| *open == place).ok_or_else(out_of_order)?;
            }
            "message_delta" if self.has_begun && self.open.is_none() => {
                if let Some(reason) = value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.count(&value["usage"]);
            }
            "message_stop" if self.has_begun && self.open.is_none() => {
                self.is_done = true;
                return Ok(ReadProgress::Done);
            }
            "message_start" | "content_block_start" | "message_delta" | "message_stop" => return Err(out_of_order()),
            // The format may add new kinds of events; they are ignored.
            _ => return Ok(ReadProgress::More),
        }
        Ok(ReadProgress::More)
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        let blocks = answer["content"].as_array().ok_or_else(|| bad("sent an answer without content"))?;
        for block in blocks {
            self.begin(block, false)?;
        }
        self.head(answer);
        self.stop_reason = answer["stop_reason"].as_str().map(str::to_owned);
        self.is_done = true;
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.draft.text
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        self.input_tokens.zip(self.output_tokens)
    }

    fn reply(mut self: Box<Self>) -> Result<ModelReply, AnswerFault> {
        if !self.is_done {
            return Err(bad("ended its answer before the end mark"));
        }
        match self.stop_reason.as_deref() {
            None => return Err(bad("ended its answer without a stop_reason")),
            Some("max_tokens") => return Err(cut_at_limit()),
            Some("model_context_window_exceeded") => {
                return Err((FailureKind::Truncated, "cut the answer where the model's context was full".to_owned()));
            }
            Some("refusal") => return Err((FailureKind::Refused, "refused to answer".to_owned())),
            Some("tool_use") if self.draft.calls.is_empty() => return Err(bad("ended with tool calls but sent none")),
            Some("end_turn" | "stop_sequence" | "tool_use") => {}
            Some(other) => return Err(bad(format!("ended its answer for an unknown reason: {other}"))),
        }
        let counts = self.input_tokens.zip(self.output_tokens);
        self.draft.usage = counts.map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens, ..Usage::default() });
        let mut reply = self.draft.reply()?;
        if let Some(name) = self.answer_tool {
            let (answers, calls): (Vec<_>, Vec<_>) = std::mem::take(&mut reply.calls).into_iter().partition(|call| call.tool == name);
            // An answer beside other calls is premature; the other calls are made first.
            if let (Some(answer), true) = (answers.into_iter().next(), calls.is_empty()) {
                reply.text = arguments_text(&answer);
            }
            reply.calls = calls;
        }
        Ok(reply)
    }
}

impl MessageReader {
    /// Reads the model's name and the first token counts.
    fn head(&mut self, message: &Value) {
        self.draft.model = model_name(message);
        self.count(&message["usage"]);
    }

    /// Counts are totals, so later ones replace earlier ones. Cached input counts as input.
    fn count(&mut self, usage: &Value) {
        let has = |key: &str| !usage[key].is_null();
        if has("input_tokens") {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter(|key| has(key));
            self.input_tokens = cached.map(|key| tokens(usage, key)).chain([tokens(usage, "input_tokens")]).sum();
        }
        if has("output_tokens") {
            self.output_tokens = tokens(usage, "output_tokens");
        }
    }

    /// Reads a block: its start in a stream, or the whole block.
    fn begin(&mut self, block: &Value, is_stream: bool) -> Result<StreamBlock, AnswerFault> {
        match text(block, "type")? {
            "" => Err(bad("sent a block without type")),
            "text" => {
                self.draft.text.push_str(text(block, "text")?);
                Ok(StreamBlock::Text)
            }
            "tool_use" => {
                // In a stream, the block starts with an empty object as input, and the arguments follow as text.
                let input = block.get("input").filter(|input| !is_stream || input.as_object().is_some_and(|input| !input.is_empty()));
                let call = DraftCall {
                    id: text(block, "id")?.to_owned(),
                    tool: text(block, "name")?.to_owned(),
                    arguments: input.map_or_else(String::new, Value::to_string),
                };
                Ok(StreamBlock::Call(self.draft.add_call(call)?))
            }
            _ => Ok(StreamBlock::Other),
        }
    }

    fn delta(&mut self, block: StreamBlock, delta: &Value) -> Result<(), AnswerFault> {
        match (block, text(delta, "type")?) {
            (StreamBlock::Text, "text_delta") => self.draft.text.push_str(text(delta, "text")?),
            (StreamBlock::Call(place), "input_json_delta") => {
                let call = self.draft.calls.get_mut(place).ok_or_else(out_of_order)?;
                call.arguments.push_str(text(delta, "partial_json")?);
            }
            (_, "") => return Err(bad("sent a piece without type")),
            (StreamBlock::Text, "input_json_delta") | (StreamBlock::Call(_), "text_delta") => return Err(out_of_order()),
            _ => {}
        }
        Ok(())
    }
}

fn place(event: &Value) -> Result<u64, AnswerFault> {
    event["index"].as_u64().ok_or_else(|| bad("sent a block without index"))
}

fn out_of_order() -> AnswerFault {
    bad("sent the parts of its answer out of order")
}
