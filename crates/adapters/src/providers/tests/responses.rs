//! What is sent and what is read in OpenAI's responses format alone.

use std::sync::Mutex;

use super::*;
use crate::event::MessageRole;
use crate::port::Listener;

const RESPONSES: WireFormat = WireFormat::OpenAiResponses;

#[tokio::test]
async fn a_request_tells_the_whole_conversation_and_asks_to_keep_nothing() {
    let call = |id: &str, arguments: Value| ToolCall { id: id.to_owned(), tool: "time".to_owned(), arguments };
    let result = Message { call_id: Some("a".to_owned()), ..message(MessageRole::Tool, "noon") };
    let messages = vec![
        message(MessageRole::System, "Be brief."),
        message(MessageRole::User, "When?"),
        Message {
            calls: vec![call("a", json!({ "zone": "UTC" })), call("b", json!("[1]"))],
            ..message(MessageRole::Assistant, "Let me see.")
        },
        result,
    ];
    let request = ModelRequest {
        messages: shared(messages),
        schema: Some(schema()),
        tools: vec![tool()],
        temperature: Some(0.5),
        max_output_tokens: Some(9),
        seed: Some(-4),
        ..request(RESPONSES, "/v1".to_owned())
    };
    let (head, body) = sent(request).await;
    assert!(head.starts_with("post /v1/responses ") && head.contains("authorization: bearer sk-canary-1"));
    assert_eq!(
        body,
        json!({
            "model": "m",
            "instructions": "Be brief.",
            "input": [
                { "role": "user", "content": "When?" },
                { "role": "assistant", "content": "Let me see." },
                { "type": "function_call", "call_id": "a", "name": "time", "arguments": "{\"zone\":\"UTC\"}" },
                { "type": "function_call", "call_id": "b", "name": "time", "arguments": "[1]" },
                { "type": "function_call_output", "call_id": "a", "output": "noon" },
            ],
            "stream": true,
            "store": false,
            "temperature": 0.5,
            "max_output_tokens": 9,
            "text": { "format": { "type": "json_schema", "name": "answer", "schema": schema(), "strict": true } },
            "tools": [{ "type": "function", "name": "time", "description": "Tells the time.", "parameters": { "type": "object", "properties": {} },
                        "strict": false }],
        })
    );
    let bare = written(&request_without_system()).body;
    assert!(bare.get("instructions").is_none() && bare.get("tools").is_none() && bare.get("text").is_none());
}

fn request_without_system() -> ModelRequest {
    ModelRequest { messages: shared([message(MessageRole::User, "Hello")]), ..request(RESPONSES, String::new()) }
}

#[tokio::test]
async fn tool_calls_are_read_from_the_whole_response() {
    let call =
        |id: &str, arguments: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": "time", "arguments": arguments });
    let output = json!([{ "type": "reasoning", "id": "r" }, call("a", "{\"zone\": \"UTC\"}"), call("", "[1]")]);
    let reply = streamed(RESPONSES, response(output, "completed")).await.unwrap();
    let calls: Vec<(&str, &Value)> = reply.calls.iter().map(|call| (call.id.as_str(), &call.arguments)).collect();
    assert_eq!(calls, [("a", &json!({ "zone": "UTC" })), ("fc_1", &json!("[1]"))]);
    let many = |count| response(Value::Array(vec![call("a", "{}"); count]), "completed");
    assert_eq!(streamed(RESPONSES, many(64)).await.unwrap().calls.len(), 64);
    assert_eq!(streamed(RESPONSES, many(65)).await.unwrap_err().kind, FailureKind::BadResponse);
}

#[tokio::test]
async fn how_a_response_ended_decides_its_class() {
    let ended = |key: &str, value: Value| {
        let mut response = json!({ "status": key, "output": [said("part")] });
        response[if key == "failed" { "error" } else { "incomplete_details" }] = value;
        event(&json!({ "type": format!("response.{key}"), "response": response }))
    };
    let refusal = json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "I cannot." }] }]);
    for (body, expected) in [
        (ended("incomplete", json!({ "reason": "max_output_tokens" })), FailureKind::Truncated),
        (ended("incomplete", json!({ "reason": "content_filter" })), FailureKind::Refused),
        (ended("failed", json!({ "code": "rate_limit_exceeded", "message": "slow down" })), FailureKind::RateLimited),
        (ended("failed", json!({ "code": "server_error", "message": "boom" })), FailureKind::ServerError),
        (response(refusal, "completed"), FailureKind::Refused),
        (event(&json!({ "type": "error", "code": "rate_limit_exceeded", "message": "slow down" })), FailureKind::RateLimited),
    ] {
        let failure = streamed(RESPONSES, body).await.unwrap_err();
        assert_eq!(failure.kind, expected, "{}", failure.message);
        assert!(!failure.message.contains("part"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_response_that_used_all_its_tokens_counts_as_cut() {
    let server = Faultd::start(vec![FaultAct::Send(stream(good(RESPONSES))), FaultAct::Close]).await;
    let with = |most| ModelRequest { max_output_tokens: Some(most), ..request(RESPONSES, server.url()) };
    assert_eq!(call(with(3)).await.unwrap_err().kind, FailureKind::Truncated);
    assert_eq!(call(with(4)).await.unwrap(), good_reply());
}

#[tokio::test]
async fn the_text_is_heard_while_it_comes_in_every_format() {
    for wire in WIRES {
        let heard = Arc::new(Mutex::new(vec![]));
        let kept = heard.clone();
        let server = Faultd::start(vec![FaultAct::Send(stream(good(wire))), FaultAct::Close]).await;
        let listener = Some(Listener::new(move |so_far| kept.lock().unwrap().push(so_far.to_owned())));
        call(ModelRequest { listener, ..request(wire, server.url()) }).await.unwrap();
        let heard = heard.lock().unwrap().clone();
        assert_eq!(heard.last().map(String::as_str), Some("Grün 🎈"), "{wire:?}");
        assert!(heard.len() == 2 && heard[1].starts_with(&heard[0]), "{heard:?}");
    }
}

#[tokio::test]
async fn an_endpoint_without_tools_is_given_words_and_a_schema_instead() {
    for wire in WIRES {
        let said = r#"{"calls": [{"tool": "time", "with": {"zone": "UTC"}}]}"#;
        let body = match wire {
            WireFormat::OpenAiChat => chat(&[json!({ "content": said })], "stop"),
            WireFormat::AnthropicMessages => messages(&[("", json!({ "type": "text", "text": said }), vec![])], json!("end_turn")),
            _ => response(json!([super::said(said)]), "completed"),
        };
        let server = Faultd::start(vec![FaultAct::Send(stream(body)), FaultAct::Close]).await;
        let with = ModelRequest { tools: vec![tool()], tool_calls: ToolCalls::Schema, ..request(wire, server.url()) };
        let reply = call(with).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls[0].tool.as_str()), ("", "time"));
        assert_eq!(reply.calls[0].arguments, json!({ "zone": "UTC" }));
        let sent = server.requests().remove(0);
        assert!(sent.contains("You may use these tools") && sent.contains("additionalProperties"), "{sent}");
        assert!(!sent.contains("\"tools\":") || wire == WireFormat::AnthropicMessages, "{sent}");
    }
    let plain = Faultd::start(vec![FaultAct::Send(stream(chat(&[json!({ "content": "It is noon." })], "stop"))), FaultAct::Close]).await;
    let with = ModelRequest { tools: vec![tool()], tool_calls: ToolCalls::Schema, ..request(WIRES[0], plain.url()) };
    assert_eq!(call(with).await.unwrap_err().kind, FailureKind::BadResponse);
}
