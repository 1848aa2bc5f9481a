//! Both wire formats against a server that plays faults.

mod answers;
mod endpoints;
mod families;
mod faults;
mod formats;
mod responses;
mod spoken;
mod tool_schemas;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::dialect::{Dialect, Rejected};
use super::pictures::Pictures;
use super::*;
use crate::event::{MessageRole, Usage};
use crate::faultd::{FaultAct, Faultd, answer, stream};
use crate::http::HttpSettings;
use crate::http::tests::{StoppedClock, small};
use crate::model::{Addition, ToolCalls};
use crate::port::{Message, ToolCall, ToolDescription};

const WIRES: [WireFormat; 3] = [WireFormat::OpenAiChat, WireFormat::AnthropicMessages, WireFormat::OpenAiResponses];

/// A whole streamed answer that says `Grün 🎈` and ends well.
fn good(wire: WireFormat) -> String {
    match wire {
        WireFormat::OpenAiChat => chat(
            &[
                json!({ "role": "assistant", "content": null }),
                json!({ "content": "Grün" }),
                json!({ "reasoning_content": "hm" }),
                json!({ "content": " 🎈" }),
            ],
            "stop",
        ),
        WireFormat::OpenAiResponses => response(json!([{ "type": "reasoning", "id": "r" }, said("Grün 🎈")]), "completed"),
        _ => messages(&[("text", json!({ "type": "text", "text": "" }), vec![text_delta("Grün"), text_delta(" 🎈")])], json!("end_turn")),
    }
}

fn chat(deltas: &[Value], finish: &str) -> String {
    let mut text = String::new();
    for delta in deltas {
        let chunk = json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 } });
    format!("{text}data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

/// A stream in the responses format: pieces of the text, then the whole.
fn response(output: Value, status: &str) -> String {
    let mut stream = event(&json!({ "type": "response.created", "response": { "status": "in_progress" } }));
    let whole = output.pointer("/1/content/0/text").and_then(Value::as_str).unwrap_or_default();
    for piece in whole.split_inclusive(' ') {
        stream.push_str(&event(&json!({ "type": "response.output_text.delta", "output_index": 1, "delta": piece })));
    }
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "total_tokens": 10 });
    let response = json!({ "status": status, "model": "m-1", "output": output, "usage": usage });
    stream + &event(&json!({ "type": format!("response.{status}"), "response": response }))
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn text_delta(text: &str) -> Value {
    json!({ "type": "text_delta", "text": text })
}

fn json_delta(text: &str) -> Value {
    json!({ "type": "input_json_delta", "partial_json": text })
}

fn messages(blocks: &[(&str, Value, Vec<Value>)], stop_reason: Value) -> String {
    let usage = json!({ "input_tokens": 2, "cache_read_input_tokens": 5, "output_tokens": 0 });
    let mut text = event(&json!({ "type": "message_start", "message": { "model": "m-1", "content": [], "usage": usage } }));
    text.push_str(&event(&json!({ "type": "ping" })));
    for (index, (_, block, deltas)) in blocks.iter().enumerate() {
        text.push_str(&event(&json!({ "type": "content_block_start", "index": index, "content_block": block })));
        for delta in deltas {
            text.push_str(&event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        }
        text.push_str(&event(&json!({ "type": "content_block_stop", "index": index })));
    }
    text.push_str(&event(&json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason }, "usage": { "output_tokens": 3 } })));
    text + &event(&json!({ "type": "message_stop" }))
}

fn good_reply() -> ModelReply {
    ModelReply {
        text: "Grün 🎈".to_owned(),
        calls: Vec::new(),
        usage: Some(Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() }),
        model: Some("m-1".to_owned()),
        ..ModelReply::default()
    }
}

fn shared(messages: impl IntoIterator<Item = Message>) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

fn message(role: MessageRole, text: &str) -> Message {
    Message { role, text: text.to_owned(), ..Message::default() }
}

pub(super) fn request(wire: WireFormat, base_url: String) -> ModelRequest {
    ModelRequest {
        wire,
        base_url,
        host_from: Default::default(),
        model: "m".to_owned(),
        api_key: Some(Secret::new("sk-canary-1")),
        endpoint: Default::default(),
        messages: shared([message(MessageRole::System, "Be brief."), message(MessageRole::User, "Hello")]),
        schema: None,
        tools: Vec::new(),
        tool_calls: ToolCalls::Native,
        temperature: None,
        max_output_tokens: None,
        bounded_as: None,
        seed: None,
        timeout: Duration::from_secs(10),
        silence: None,
        connect_timeout: Duration::from_secs(5),
        listener: None,
        trace: None,
    }
}

/// A request as it goes out to an endpoint that rejected nothing so far.
fn written(request: &ModelRequest) -> WireCall {
    let dialect = Dialect::from_request(request, &Rejected::default());
    let call = match request.wire {
        WireFormat::OpenAiChat => openai::call,
        WireFormat::OpenAiResponses => super::responses::call,
        WireFormat::AnthropicMessages => anthropic::call,
        WireFormat::Recorded => unreachable!(),
    };
    call(&dialect.in_words(request), &dialect, &Pictures::default()).unwrap()
}

fn client(settings: HttpSettings) -> HttpModelClient {
    HttpModelClient::new(Http::new(settings, Arc::new(StoppedClock)), Arc::default())
}

async fn call(request: ModelRequest) -> Result<ModelReply, Failure> {
    client(small()).call(request).await
}

async fn play(wire: WireFormat, script: Vec<FaultAct>) -> Result<ModelReply, Failure> {
    play_to(&client(small()), wire, script).await
}

async fn play_to(client: &HttpModelClient, wire: WireFormat, script: Vec<FaultAct>) -> Result<ModelReply, Failure> {
    let server = Faultd::start(script).await;
    let outcome = client.call(request(wire, server.url())).await;
    assert_eq!(server.requests().len(), 1, "one attempt is one request");
    outcome
}

async fn streamed(wire: WireFormat, body: impl AsRef<[u8]>) -> Result<ModelReply, Failure> {
    play(wire, vec![FaultAct::Send(stream(body)), FaultAct::Close]).await
}

async fn sent(mut request: ModelRequest) -> (String, Value) {
    let server = Faultd::start(vec![FaultAct::Send(stream(good(request.wire))), FaultAct::Close]).await;
    request.base_url = server.url() + &request.base_url;
    call(request).await.unwrap();
    let text = server.requests().remove(0);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), serde_json::from_str(body).unwrap())
}

pub(super) fn tool() -> Arc<ToolDescription> {
    let (name, description) = ("time".to_owned(), "Tells the time.".to_owned());
    Arc::new(ToolDescription { name, description, parameters: json!({ "type": "object" }) })
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false })
}
