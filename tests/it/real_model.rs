//! The wire formats against a real model: `tests/real/install.sh`, then
//! `FLOW_REAL_MODEL_URL=$(tests/real/serve.sh) cargo test --test it real_model`.
//!
//! The model is small and weak: nothing here judges what it says, only how the answer travels.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::extras::not_tried;
use flow::event::Failure;
use flow::event::MessageRole;
use flow::port::{Listener, Message, ModelClient, ModelReply, ModelRequest, ToolDescription, WireFormat};
use flow_adapters::clock::SystemClock;
use flow_adapters::http::{Http, HttpSettings};
use flow_adapters::providers::HttpModelClient;
use flow_base::model::{FailureKind, ToolCalls};
use serde_json::{Value, json};

/// The address of the real model; `None`: the test is skipped, and says so.
#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
pub(crate) fn real_model() -> Option<String> {
    let url = std::env::var("FLOW_REAL_MODEL_URL").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        not_tried("REAL_MODEL", "a real model", "set FLOW_REAL_MODEL_URL to the address that tests/real/serve.sh prints");
    }
    url
}

fn request(wire: WireFormat, url: &str) -> ModelRequest {
    let message = |role, text: &str| Message { role, text: text.to_owned(), ..Message::default() }.into();
    ModelRequest {
        wire,
        base_url: format!("{url}/v1"),
        host_from: Default::default(),
        model: "smollm2".to_owned(),
        endpoint: Default::default(),
        silence: None,
        api_key: None,
        messages: vec![message(MessageRole::System, "You are brief."), message(MessageRole::User, "Name a city and its country.")],
        schema: None,
        tools: Vec::new(),
        tool_calls: ToolCalls::Native,
        temperature: Some(0.0),
        max_output_tokens: Some(120),
        bounded_as: None,
        seed: Some(7),
        timeout: Duration::from_secs(120),
        connect_timeout: Duration::from_secs(5),
        listener: None,
        trace: None,
    }
}

async fn call(request: ModelRequest) -> Result<ModelReply, Failure> {
    HttpModelClient::new(Http::new(HttpSettings::default(), Arc::new(SystemClock::new())), Arc::default()).call(request).await
}

/// The reply, where a small model may also run into its length limit: then the failure says so and there is no text.
async fn reply(request: ModelRequest) -> Option<ModelReply> {
    match call(request).await {
        Ok(reply) => {
            let usage = reply.usage.expect("a real endpoint counts tokens");
            assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
            assert!(reply.model.is_some(), "a real endpoint names its model");
            Some(reply)
        }
        Err(failure) => {
            assert_eq!(failure.kind, FailureKind::Truncated, "{}", failure.message);
            None
        }
    }
}

fn schema() -> Value {
    let text = json!({ "type": "string", "maxLength": 20 });
    let both = json!({ "city": text, "country": text });
    json!({ "type": "object", "properties": both, "required": ["city", "country"], "additionalProperties": false })
}

#[tokio::test]
async fn openai_chat_streams_text_and_usage() {
    let Some(url) = real_model() else { return };
    if let Some(reply) = reply(request(WireFormat::OpenAiChat, &url)).await {
        assert!(!reply.text.trim().is_empty());
    }
}

#[tokio::test]
async fn openai_chat_keeps_to_a_schema() {
    let Some(url) = real_model() else { return };
    let reply =
        reply(ModelRequest { schema: Some(schema()), ..request(WireFormat::OpenAiChat, &url) }).await.expect("a bounded schema ends");
    let answer: Value = serde_json::from_str(&reply.text).expect("the schema makes the answer JSON");
    assert!(answer["city"].is_string() && answer["country"].is_string(), "{answer}");
}

#[tokio::test]
async fn anthropic_messages_stream_text_and_usage() {
    let Some(url) = real_model() else { return };
    if let Some(reply) = reply(request(WireFormat::AnthropicMessages, &url)).await {
        assert!(!reply.text.trim().is_empty());
    }
}

#[tokio::test]
async fn anthropic_messages_take_a_schema_and_give_an_answer_to_check() {
    let Some(url) = real_model() else { return };
    // This endpoint does not enforce it, so that the text may be anything; the engine checks and repairs.
    if let Some(reply) = reply(ModelRequest { schema: Some(schema()), ..request(WireFormat::AnthropicMessages, &url) }).await {
        assert!(!reply.text.is_empty() && reply.calls.is_empty(), "{reply:?}");
    }
}

#[tokio::test]
async fn openai_responses_stream_text_and_usage_and_the_text_is_heard_on_the_way() {
    let Some(url) = real_model() else { return };
    let heard = Arc::new(Mutex::new(vec![]));
    let kept = heard.clone();
    let listener = Some(Listener::new(move |so_far| kept.lock().unwrap().push(so_far.to_owned())));
    let told = reply(ModelRequest { listener, ..request(WireFormat::OpenAiResponses, &url) }).await;
    let heard = heard.lock().unwrap();
    assert!(heard.len() > 2 && heard.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "{heard:?}");
    if let Some(reply) = told {
        assert_eq!(heard.last(), Some(&reply.text));
    }
}

#[tokio::test]
async fn openai_responses_keep_to_a_schema() {
    let Some(url) = real_model() else { return };
    // Whether this endpoint enforces a schema in this format is its affair: the engine checks and repairs.
    if let Some(reply) = reply(ModelRequest { schema: Some(schema()), ..request(WireFormat::OpenAiResponses, &url) }).await {
        assert!(!reply.text.is_empty() && reply.calls.is_empty(), "{reply:?}");
    }
}

#[tokio::test]
async fn a_model_without_tool_calls_asks_for_tools_by_a_schema() {
    let Some(url) = real_model() else { return };
    let zone = json!({ "zone": { "type": "string", "maxLength": 20 } });
    let parameters = json!({ "type": "object", "properties": zone, "required": ["zone"], "additionalProperties": false });
    let clock = ToolDescription { name: "clock".into(), description: "Tells the time in a zone.".into(), parameters };
    let schema = Some(schema());
    let asked = ModelRequest { tools: vec![clock.into()], tool_calls: ToolCalls::Schema, schema, ..request(WireFormat::OpenAiChat, &url) };
    let Some(reply) = reply(ModelRequest { max_output_tokens: Some(600), ..asked }).await else { return };
    // What it decides is its affair; that it is one of the two, and well formed, is ours.
    if reply.calls.is_empty() {
        let answer: Value = serde_json::from_str(&reply.text).expect("the answer fits the schema");
        assert!(answer["city"].is_string(), "{answer}");
    }
    assert!(reply.calls.iter().all(|call| call.tool == "clock" && call.arguments["zone"].is_string()), "{reply:?}");
}

#[tokio::test]
async fn a_length_limit_is_told_and_gives_no_text() {
    let Some(url) = real_model() else { return };
    for wire in [WireFormat::OpenAiChat, WireFormat::AnthropicMessages, WireFormat::OpenAiResponses] {
        let failure = call(ModelRequest { max_output_tokens: Some(2), ..request(wire, &url) }).await.expect_err("two tokens are too few");
        assert_eq!(failure.kind, FailureKind::Truncated, "{}", failure.message);
    }
}

#[tokio::test]
async fn a_prompt_longer_than_the_context_is_a_bad_request() {
    let Some(url) = real_model() else { return };
    for wire in [WireFormat::OpenAiChat, WireFormat::AnthropicMessages] {
        let mut long = request(wire, &url);
        long.messages.iter_mut().for_each(|message| Arc::make_mut(message).text = "word ".repeat(6000));
        let failure = call(long).await.expect_err("12,000 words do not fit");
        assert_eq!(failure.kind, FailureKind::BadRequest, "{}", failure.message);
        assert!(failure.message.contains("context"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cut_and_the_server_serves_on() {
    let Some(url) = real_model() else { return };
    let mut long = request(WireFormat::OpenAiChat, &url);
    long.max_output_tokens = Some(3000);
    long.messages.iter_mut().for_each(|message| Arc::make_mut(message).text = "Count from one to a thousand in words.".to_owned());
    let failure = call(ModelRequest { timeout: Duration::from_millis(300), ..long }).await.expect_err("300 ms are too short");
    assert_eq!(failure.kind, FailureKind::Timeout, "{}", failure.message);
    let _ = reply(ModelRequest { max_output_tokens: Some(8), ..request(WireFormat::OpenAiChat, &url) }).await;
}

#[tokio::test]
async fn a_wrong_base_url_is_told() {
    let Some(url) = real_model() else { return };
    let failure = call(ModelRequest { base_url: format!("{url}/nowhere"), ..request(WireFormat::OpenAiChat, &url) }).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadRequest, "{}", failure.message);
}
