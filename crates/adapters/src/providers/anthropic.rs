//! Anthropic's messages format.
//!
//! For a schema, the request offers one more tool, `flow_answer`, whose arguments are the answer. The model must call it, or, if other tools are
//! offered, any one of the tools. All Anthropic models enforce this; only some enforce the newer `output_config`. Other endpoints with this format
//! may drop tools (llama.cpp does if the model's chat template has none), so for them the schema is also described in the system text, and an answer
//! as text is accepted. The engine checks both.
//!
//! This format has no seed; a seed that is set is not sent.

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::draft::{
    Draft, DraftAnswer, DraftCall, arguments_text, bad, event_json, foreign, model_name, sent_id, set, system_text, text, tokens,
};
use super::ended::{AnswerEnd, answer_end, error_complaint, error_in};
use super::pictures::{Picture, Pictures};
use super::{AnswerFault, AnswerReader, ReadProgress, WireCall, is_at, joined, state};
use crate::event::{Failure, MessageRole, Usage};
use crate::http::{SseEvent, error_sentence};
use crate::model::{Addition, Effort, FailureKind, Reasoning};
use crate::port::{Message, ModelRequest, Secret, ToolCall};

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
        "messages": messages(request, pictures),
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
fn messages(request: &ModelRequest, pictures: &Pictures) -> Vec<Value> {
    let whose = state::whose(request);
    let mut turns: Vec<(MessageRole, Vec<Value>)> = Vec::new();
    for message in request.messages.iter().filter(|message| !INSTRUCTING.contains(&message.role)) {
        let blocks = blocks(message, state::state_from(message, &whose), pictures);
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
fn blocks(message: &Message, state: Option<&Value>, pictures: &Pictures) -> Vec<Value> {
    let id =
        |id: &str| sent_id(id, |id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')));
    let text = (!message.text.trim().is_empty()).then(|| json!({ "type": "text", "text": message.text }));
    let call = |call: &ToolCall| {
        // The format only accepts objects.
        let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({ "arguments": call.arguments }) };
        json!({ "type": "tool_use", "id": id(&call.id), "name": call.tool, "input": input })
    };
    let source = |picture: &Picture| json!({ "type": "base64", "media_type": picture.media_type, "data": picture.base64 });
    let pictures = pictures.in_message(message).map(|picture| json!({ "type": "image", "source": source(picture) }));
    if message.role == MessageRole::Tool {
        let content = if message.pictures.is_empty() { json!(message.text) } else { text.into_iter().chain(pictures).collect() };
        return vec![json!({ "type": "tool_result", "tool_use_id": message.call_id.as_deref().map(id), "content": content })];
    }
    let (mut text, mut calls) = (text.into_iter(), message.calls.iter().map(call));
    let mut blocks: Vec<Value> = pictures.collect();
    // Thoughts stand where they stood among texts and calls.
    for part in state.and_then(Value::as_array).into_iter().flatten() {
        match part.as_str() {
            Some("text") => blocks.extend(text.next()),
            Some(_) => blocks.extend(calls.next()),
            None => blocks.push(part.clone()),
        }
    }
    blocks.extend(text.chain(calls));
    blocks
}

/// The kind of a block.
#[derive(Debug)]
enum MessageBlockKind {
    Text(String),
    Call(DraftCall),
    /// Thoughts, as they came: the endpoint wants them back.
    Thoughts(Value),
    /// Other kinds, which are not part of the answer.
    Other,
}

/// A block and its index.
#[derive(Debug)]
struct MessageBlock {
    index: Option<u64>,
    kind: MessageBlockKind,
    is_open: bool,
}

/// Reads events until `message_stop`, or one `message` object. Other servers leave out events that say nothing new; the reason of the end is enough.
#[derive(Debug, Default)]
struct MessageReader {
    answer_tool: Option<String>,
    blocks: Vec<MessageBlock>,
    /// The text received so far.
    heard: String,
    model: Option<String>,
    stop_reason: Option<String>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    is_done: bool,
}

impl AnswerReader for MessageReader {
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault> {
        if event.data.trim() == "[DONE]" {
            return Ok(ReadProgress::More);
        }
        let value = event_json(&event.data)?;
        let kind = value["type"].as_str().unwrap_or(&event.event);
        if kind == "error" || error_in(&value).is_some() {
            return Err(error_complaint(&value, !self.blocks.is_empty()));
        }
        match kind {
            "ping" => return Ok(ReadProgress::More),
            "message_start" => self.head(&value["message"]),
            "content_block_start" => {
                let block = value.get("content_block").ok_or_else(|| foreign("sent a block without content"))?;
                let index = value["index"].as_u64();
                if self.blocks.iter().any(|block| index.is_some() && block.index == index) {
                    return Err(bad("sent the parts of its answer out of order"));
                }
                let kind = self.begin(block, true)?;
                self.blocks.push(MessageBlock { index, kind, is_open: true });
            }
            "content_block_delta" => {
                let index = value["index"].as_u64();
                let is_it = |block: &&mut MessageBlock| block.is_open && (index.is_none() || block.index.is_none() || block.index == index);
                let block = self.blocks.iter_mut().rev().find(is_it).ok_or_else(|| bad("sent the parts of its answer out of order"))?;
                delta(&mut block.kind, &value["delta"], &mut self.heard)?;
            }
            "content_block_stop" => {
                let index = value["index"].as_u64();
                let ended = self.blocks.iter_mut().rev().find(|block| block.is_open && (index.is_none() || block.index == index));
                ended.ok_or_else(|| bad("sent the parts of its answer out of order"))?.is_open = false;
            }
            "message_delta" => {
                if let Some(reason) = value.pointer("/delta/stop_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.count(&value["usage"]);
            }
            "message_stop" => {
                self.is_done = true;
                return Ok(ReadProgress::Done);
            }
            // The format may add new kinds of events; they are ignored.
            _ => return Ok(ReadProgress::More),
        }
        Ok(if self.stop_reason.is_some() { ReadProgress::Last } else { ReadProgress::More })
    }

    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault> {
        match &answer["content"] {
            Value::String(text) => {
                self.blocks.push(MessageBlock { index: None, kind: MessageBlockKind::Text(text.clone()), is_open: false })
            }
            Value::Array(blocks) => {
                for block in blocks {
                    let kind = self.begin(block, false)?;
                    self.blocks.push(MessageBlock { index: None, kind, is_open: false });
                }
            }
            _ if error_sentence(answer).is_some() => return Err(error_complaint(answer, false)),
            _ => return Err(foreign("sent an answer without content")),
        }
        self.head(answer);
        self.stop_reason = Some(answer["stop_reason"].as_str().filter(|reason| !reason.is_empty()).unwrap_or("end_turn").to_owned());
        self.is_done = true;
        Ok(())
    }

    fn heard(&self) -> &str {
        &self.heard
    }

    fn tokens(&self) -> Option<(u64, u64)> {
        self.input_tokens.zip(self.output_tokens)
    }

    fn reply(mut self: Box<Self>) -> Result<DraftAnswer, AnswerFault> {
        let Some(reason) = &self.stop_reason else {
            return Err(bad(if self.is_done { "ended its answer without a stop_reason" } else { "ended its answer before the end mark" }));
        };
        let end = answer_end(reason)?;
        let counts = self.input_tokens.zip(self.output_tokens);
        let usage = counts.map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens, ..Usage::default() });
        let mut draft = Draft { usage, model: self.model, ..Draft::default() };
        self.blocks.sort_by_key(|block| block.index);
        let is_answer = |call: &DraftCall| self.answer_tool.as_ref() == Some(&call.tool);
        let (mut answer, mut order, mut has_thoughts) = (None, vec![], false);
        for block in self.blocks {
            order.push(match block.kind {
                MessageBlockKind::Text(text) => {
                    draft.text.push_str(&text);
                    json!("text")
                }
                MessageBlockKind::Call(call) if is_answer(&call) => {
                    answer.get_or_insert(call);
                    continue;
                }
                MessageBlockKind::Call(call) => {
                    draft.add_call(call)?;
                    json!("call")
                }
                MessageBlockKind::Thoughts(thoughts) => {
                    has_thoughts = true;
                    thoughts
                }
                MessageBlockKind::Other => continue,
            });
        }
        let has_answer = answer.is_some();
        // An answer beside other calls is premature; the other calls are made first.
        if let Some(answer) = answer.filter(|_| draft.calls.is_empty()) {
            let answer = Draft { calls: vec![answer], ..Draft::default() }.reply()?.calls;
            draft.text = answer.first().map(arguments_text).unwrap_or_default();
        }
        let state = if has_thoughts { Value::Array(order) } else { Value::Null };
        Ok(DraftAnswer { reply: draft.reply()?, state, announces_calls: end == AnswerEnd::Calls && !has_answer })
    }
}

impl MessageReader {
    /// Reads the model's name and the first token counts.
    fn head(&mut self, message: &Value) {
        self.model = self.model.take().or_else(|| model_name(message));
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
    fn begin(&mut self, block: &Value, is_stream: bool) -> Result<MessageBlockKind, AnswerFault> {
        Ok(match text(block, "type")? {
            "" => return Err(foreign("sent a block without type")),
            "text" => {
                let text = text(block, "text")?;
                self.heard.push_str(text);
                MessageBlockKind::Text(text.to_owned())
            }
            "tool_use" => {
                // In a stream, the block starts with an empty object as input, and the arguments follow as text.
                let input = block.get("input").filter(|input| !is_stream || input.as_object().is_none_or(|input| !input.is_empty()));
                MessageBlockKind::Call(DraftCall::new(text(block, "id")?, text(block, "name")?, input.unwrap_or(&Value::Null)))
            }
            "thinking" | "redacted_thinking" => MessageBlockKind::Thoughts(block.clone()),
            _ => MessageBlockKind::Other,
        })
    }
}

fn delta(block: &mut MessageBlockKind, delta: &Value, heard: &mut String) -> Result<(), AnswerFault> {
    match (block, text(delta, "type")?) {
        (MessageBlockKind::Text(so_far), "text_delta") => {
            let text = text(delta, "text")?;
            so_far.push_str(text);
            heard.push_str(text);
        }
        (MessageBlockKind::Call(call), "input_json_delta") => call.arguments.push_str(text(delta, "partial_json")?),
        (MessageBlockKind::Thoughts(thoughts), "thinking_delta" | "signature_delta") => {
            for key in ["thinking", "signature"] {
                let so_far = text(thoughts, key)?.to_owned() + text(delta, key)?;
                if !so_far.is_empty() || key == "thinking" {
                    thoughts[key] = so_far.into();
                }
            }
        }
        (_, "") => return Err(foreign("sent a piece without type")),
        (MessageBlockKind::Text(_), "input_json_delta") | (MessageBlockKind::Call(_), "text_delta") => {
            return Err(bad("sent the parts of its answer out of order"));
        }
        _ => {}
    }
    Ok(())
}
