//! Answers in the forms in which endpoints send them: what is certain is read, and what is not is told.

use super::*;

const CHAT: WireFormat = WireFormat::OpenAiChat;

fn part(delta: Value, finish: Value) -> Value {
    json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

/// A stream of these chunks, without an end mark.
fn chunks(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// An answer with this content type; none if it is empty.
async fn sends(wire: WireFormat, content_type: &str, body: impl AsRef<[u8]>) -> Result<ModelReply, Failure> {
    let headers: &[(&str, &str)] = if content_type.is_empty() { &[] } else { &[("content-type", content_type)] };
    play(wire, vec![FaultAct::Send(answer("200 OK", headers, body)), FaultAct::Close]).await
}

/// The text of a streamed answer, or the kind of its failure.
async fn text_of(wire: WireFormat, body: &str) -> Result<String, FailureKind> {
    streamed(wire, body).await.map(|reply| reply.text).map_err(|failure| failure.kind)
}

#[tokio::test]
async fn an_answer_ends_with_the_word_of_its_endpoint() {
    let (hello, ana) = (part(json!({ "content": "Hello" }), json!(null)), part(json!({ "content": " Ana!" }), json!(null)));
    let ended = |reason: Value| chunks(&[hello.clone(), ana.clone(), part(json!({}), reason)]);
    for reason in ["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "endoftext", "COMPLETE", "FINISH_REASON_STOP"] {
        for end in ["", "data: [DONE]\n\n", "data:[DONE]\n\n", "data: [DONE]"] {
            assert_eq!(text_of(CHAT, &(ended(json!(reason)) + end)).await, Ok("Hello Ana!".into()), "{reason} {end:?}");
        }
    }
    for (reason, kind) in [
        ("length", FailureKind::Truncated),
        ("max_tokens", FailureKind::Truncated),
        ("MAX_TOKENS", FailureKind::Truncated),
        ("model_length", FailureKind::Truncated),
        ("content_filter", FailureKind::Refused),
        ("SAFETY", FailureKind::Refused),
        ("sensitive", FailureKind::Refused),
        ("error", FailureKind::ServerError),
        ("insufficient_system_resource", FailureKind::ServerError),
        ("malformed_function_call", FailureKind::BadResponse),
        ("tool_calls", FailureKind::BadResponse),
        ("sleepy", FailureKind::WrongType),
    ] {
        assert_eq!(text_of(CHAT, &ended(json!(reason))).await, Err(kind), "{reason}");
    }
    let done = "data: [DONE]\n\n";
    let camel = json!({ "choices": [{ "index": 0, "delta": {}, "finishReason": "stop" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } });
    let empty = |chunk: &Value| part(chunk["choices"][0]["delta"].clone(), json!(""));
    for body in [
        chunks(&[empty(&hello), empty(&ana), part(json!({}), json!("stop"))]),
        chunks(&[hello.clone(), ana.clone(), camel]),
        chunks(&[hello.clone(), ana.clone(), part(json!({}), json!("stop")), usage.clone()]),
        chunks(&[part(json!({ "reasoning_content": "hm" }), json!("stop")), hello.clone(), ana.clone(), part(json!({}), json!("stop"))]),
        chunks(&[part(json!({ "content": "Hello" }), json!("stop")), part(json!({ "content": " Ana!" }), json!("stop"))]),
        chunks(&[hello.clone(), part(json!({}), json!("stop")), ana.clone()]) + done,
        chunks(&[
            json!({ "id": "x" }),
            hello.clone(),
            json!({ "choices": null, "usage": null }),
            ana.clone(),
            part(json!({}), json!("stop")),
        ]),
        ": keep\n\nevent: ping\ndata: {}\n\n".to_owned() + &ended(json!("stop")),
        chunks(&[hello.clone(), ana.clone()]) + &format!("data: {}", part(json!({}), json!("stop"))),
        chunks(&[hello.clone(), ana.clone()]) + &format!("data: {}\ndata", part(json!({}), json!("stop"))),
        chunks(&[hello.clone(), ana.clone(), json!({ "choices": [{ "message": { "content": "Hello Ana!" }, "finish_reason": "stop" }] })]),
        chunks(&[json!({ "choices": [{ "index": null, "message": { "content": "Hello Ana!" }, "finish_reason": "stop" }] })]),
    ] {
        assert_eq!(text_of(CHAT, &body).await, Ok("Hello Ana!".into()), "{body}");
    }
    for reason in ["content_filter", "refusal"] {
        assert_eq!(text_of(CHAT, &chunks(&[part(json!({}), json!(reason))])).await, Err(FailureKind::Refused), "{reason}");
    }
    for body in [
        chunks(&[part(json!({ "reasoning_content": "hm" }), json!("stop"))]),
        chunks(&[hello.clone(), ana.clone()]),
        chunks(&[hello.clone(), ana.clone()]) + done,
        chunks(&[hello.clone(), part(json!({}), json!("stop")), ana.clone()]),
        chunks(&[empty(&hello), empty(&ana)]),
        chunks(std::slice::from_ref(&hello)) + &format!("data: {}", ana.to_string().replace('}', "")),
    ] {
        assert_eq!(text_of(CHAT, &body).await, Err(FailureKind::BadResponse), "{body}");
    }
}

#[tokio::test]
async fn the_body_says_what_it_is_and_not_its_type() {
    let whole = json!({ "choices": [{ "message": { "content": "Grün 🎈" }, "finish_reason": null }] }).to_string();
    for kind in ["text/event-stream", "", "text/plain", "application/octet-stream", "application/json"] {
        assert_eq!(sends(CHAT, kind, format!("\n\n {whole}")).await.unwrap().text, "Grün 🎈", "{kind}");
        assert_eq!(sends(CHAT, kind, format!("[{whole}]")).await.unwrap().text, "Grün 🎈", "{kind}");
    }
    for wire in WIRES {
        for kind in ["application/json", "", "text/plain", "application/x-ndjson"] {
            assert_eq!(sends(wire, kind, format!(": hello\n\n{}", good(wire))).await.unwrap().text, "Grün 🎈", "{wire:?} {kind}");
        }
    }
    let lines: String = good(CHAT).lines().filter_map(|line| line.strip_prefix("data: ")).map(|line| format!("{line}\n")).collect();
    let lines = lines.replace("[DONE]\n", "");
    assert_eq!(sends(CHAT, "application/x-ndjson", &lines).await.unwrap(), good_reply());
    for (kind, body, expected) in [
        ("text/html", "<html>", FailureKind::WrongType),
        ("text/plain", "internal error", FailureKind::WrongType),
        ("", "", FailureKind::WrongType),
        ("application/json", "", FailureKind::BadResponse),
        ("application/json", "internal error", FailureKind::BadResponse),
        ("application/json", "{\"choices\": [", FailureKind::BadResponse),
        ("text/event-stream", "<html>", FailureKind::BadResponse),
        ("application/json", "{}", FailureKind::WrongType),
    ] {
        assert_eq!(sends(CHAT, kind, body).await.unwrap_err().kind, expected, "{kind} {body}");
    }
}

#[tokio::test]
async fn content_in_parts_is_its_texts() {
    let thinks = |text: &str| json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
    let says = |text: &str| json!({ "type": "text", "text": text });
    let streams = |contents: &[Value]| {
        let deltas: Vec<Value> = contents.iter().map(|content| json!({ "content": content })).collect();
        chat(&deltas, "stop")
    };
    for contents in [
        vec![json!(""), json!([thinks("Greet")]), json!([thinks(" her.")]), json!([says("Hello")]), json!([says(" Ana!")]), json!("")],
        vec![json!([thinks("Greet her.")]), json!("Hello Ana!")],
        vec![json!([says("Hello Ana!"), { "type": "reference", "reference_ids": [1] }])],
        vec![json!([{ "type": "output_text", "text": "Hello Ana!" }])],
        vec![json!(["Hello", " Ana!"])],
        vec![json!(null), json!("Hello Ana!")],
    ] {
        assert_eq!(text_of(CHAT, &streams(&contents)).await, Ok("Hello Ana!".into()), "{contents:?}");
    }
    assert_eq!(
        text_of(
            CHAT,
            &chat(
                &[json!({ "content": "<thought>Hm", "extra_content": { "google": { "thought": true } } }), json!({ "content": "Hi" })],
                "stop"
            )
        )
        .await,
        Ok("Hi".into())
    );
    for foreign in [json!(7), json!({ "text": "x" }), json!([7]), json!([{ "text": "x" }]), json!([{ "type": "text", "text": 7 }])] {
        assert_eq!(text_of(CHAT, &streams(std::slice::from_ref(&foreign))).await, Err(FailureKind::WrongType), "{foreign}");
    }
}

#[tokio::test]
async fn tool_calls_are_told_apart_however_they_are_numbered() {
    let piece = |call: Value| part(json!({ "tool_calls": [call] }), json!(null));
    let one = |zone: &str| json!({ "name": "time", "arguments": format!("{{\"zone\":\"{zone}\"}}") });
    let two = [("time", json!({ "zone": "A" })), ("time", json!({ "zone": "B" }))];
    let finish = part(json!({}), json!("tool_calls"));
    for pieces in [
        vec![json!({ "index": 0, "id": "a", "function": one("A") }), json!({ "index": 0, "id": "b", "function": one("B") })],
        vec![json!({ "index": 0, "function": one("A") }), json!({ "index": 0, "function": one("B") })],
        vec![json!({ "id": "a", "function": one("A") }), json!({ "id": "b", "function": one("B") })],
        vec![json!({ "function": one("A") }), json!({ "function": one("B") })],
        vec![json!({ "index": 0, "id": "a", "function": one("A") }), json!({ "index": 1, "id": "a", "function": one("B") })],
        vec![json!({ "id": "a", "function": one("A") }), json!({ "id": "a", "function": one("B") })],
        vec![json!({ "index": 1, "id": "a", "function": one("A") }), json!({ "index": 5, "id": "b", "function": one("B") })],
        vec![json!({ "index": null, "id": "a", "function": one("A") }), json!({ "index": null, "id": "b", "function": one("B") })],
        vec![
            json!({ "index": 0, "id": "a", "function": one("A") }),
            json!({ "index": 0, "id": "a", "function": one("A") }),
            json!({ "index": 1, "id": "b", "function": one("B") }),
        ],
        vec![
            json!({ "index": 0, "id": "", "function": { "name": "time", "arguments": "" } }),
            json!({ "index": 0, "id": "a", "function": { "name": "", "arguments": "{\"zone\"" } }),
            json!({ "index": 0, "function": { "arguments": ":\"A\"}" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "time" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "time", "arguments": "{\"zone\":" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "time", "arguments": "\"B\"}" } }),
        ],
        vec![
            json!({ "index": 0, "id": "a", "function": { "name": "time", "arguments": "{\"zone\":" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "time", "arguments": "{\"zone\":" } }),
            json!({ "index": 0, "function": { "arguments": "\"A\"}" } }),
            json!({ "index": 1, "function": { "arguments": "\"B\"}" } }),
        ],
        vec![
            json!({ "id": "a", "function": { "name": "time", "arguments": { "zone": "A" } } }),
            json!({ "id": "b", "name": "time", "arguments": { "zone": "B" } }),
        ],
    ] {
        let body = chunks(&pieces.iter().cloned().map(piece).chain([finish.clone()]).collect::<Vec<_>>());
        let reply = streamed(CHAT, body).await.unwrap();
        let calls: Vec<(&str, Value)> = reply.calls.iter().map(|call| (call.tool.as_str(), call.arguments.clone())).collect();
        assert_eq!(calls, two, "{pieces:?}");
    }
    // The form before tool calls, in pieces and whole, and a call that comes after the end was told.
    let legacy = json!({ "function_call": { "name": "time", "arguments": "{\"zone\":" } });
    let rest = json!({ "function_call": { "arguments": "\"A\"}" } });
    let streamed_legacy = chunks(&[part(legacy, json!(null)), part(rest, json!("function_call"))]);
    let late =
        chunks(&[part(json!({ "content": "" }), json!("stop")), piece(json!({ "index": 0, "function": one("A") }))]) + "data: [DONE]\n\n";
    for body in [streamed_legacy, late] {
        assert_eq!(streamed(CHAT, &body).await.unwrap().calls[0].arguments, json!({ "zone": "A" }), "{body}");
    }
    let whole = json!({ "choices": [{ "message": { "content": null, "function_call": one("A") }, "finish_reason": "function_call" }] });
    assert_eq!(sends(CHAT, "application/json", whole.to_string()).await.unwrap().calls[0].arguments, json!({ "zone": "A" }));
}

#[tokio::test]
async fn an_error_has_its_class_wherever_it_stands() {
    let hello = part(json!({ "content": "Hello" }), json!(null));
    for (error, expected) in [
        (json!({ "error": { "message": "boom", "code": 429 } }), FailureKind::RateLimited),
        (json!({ "error": { "message": "boom", "code": "429" } }), FailureKind::RateLimited),
        (
            json!({ "error": { "message": "boom", "type": "invalid_request_error", "code": "context_length_exceeded" } }),
            FailureKind::BadRequest,
        ),
        (json!({ "error": { "message": "boom", "status": "RESOURCE_EXHAUSTED" } }), FailureKind::RateLimited),
        (json!({ "error": { "message": "boom", "type": "BadRequestError", "param": null, "code": 400 } }), FailureKind::BadRequest),
        (json!({ "object": "error", "message": "boom", "type": "NotFoundError", "code": 404 }), FailureKind::BadRequest),
        (json!({ "error": { "message": "boom", "code": "invalid_api_key" } }), FailureKind::Auth),
        (json!({ "error": "boom" }), FailureKind::ServerError),
        (json!({ "error": { "message": "boom" } }), FailureKind::ServerError),
        (
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "error", "error": { "message": "boom", "code": 502 } }] }),
            FailureKind::ServerError,
        ),
    ] {
        for body in [chunks(std::slice::from_ref(&error)), chunks(&[hello.clone(), error.clone()]) + "data: [DONE]\n\n"] {
            let failure = streamed(CHAT, &body).await.unwrap_err();
            assert_eq!(failure.kind, expected, "{body}");
            assert!(failure.message.contains("boom") && !failure.message.contains("Hello"), "{}", failure.message);
        }
        let failure = sends(CHAT, "application/json", error.to_string()).await.unwrap_err();
        assert!(failure.kind == expected && failure.message.contains("boom"), "{error}: {failure:?}");
    }
    for (wire, data) in [
        (WIRES[0], "{\"message\": \"boom\"}"),
        (WIRES[0], "boom"),
        (WIRES[0], "{\"error\": {\"message\": \"boom\", \"type\": \"api_error\"}}"),
        (WIRES[1], "{\"error\": {\"message\": \"boom\", \"type\": \"api_error\"}}"),
        (WIRES[1], "{\"type\": \"error\", \"error\": {\"message\": \"boom\"}}"),
        (WIRES[2], "{\"type\": \"error\", \"message\": \"boom\"}"),
    ] {
        let failure = streamed(wire, format!("event: error\ndata: {data}\n\n")).await.unwrap_err();
        assert!(failure.kind == FailureKind::ServerError && failure.message.contains("boom"), "{wire:?} {data}: {failure:?}");
    }
    // What is no error is none.
    for none in [json!(null), json!(""), json!({}), json!(false)] {
        let mut last = part(json!({}), json!("stop"));
        last["error"] = none;
        assert_eq!(text_of(CHAT, &chunks(&[hello.clone(), last])).await, Ok("Hello".into()));
    }
}

#[tokio::test]
async fn the_messages_format_is_read_without_the_events_that_say_nothing() {
    let wire = WireFormat::AnthropicMessages;
    let events = |kept: &dyn Fn(&str) -> bool| -> String {
        let whole = good(wire);
        whole.split_inclusive("\n\n").filter(|event| kept(event)).collect()
    };
    let interleaved = {
        let start = |index: u64| json!({ "type": "content_block_start", "index": index, "content_block": { "type": "text", "text": "" } });
        let delta = |index: u64, text: &str| json!({ "type": "content_block_delta", "index": index, "delta": text_delta(text) });
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
        [start(0), start(1), delta(1, " 🎈"), delta(0, "Grün"), end].iter().map(event).collect::<String>()
    };
    for body in [
        events(&|event| !event.contains("message_stop")),
        events(&|event| !event.contains("content_block_stop")),
        events(&|event| !event.contains("message_start")),
        good(wire).replace("\"index\":0,", "").replace(",\"index\":0", ""),
        good(wire).replace("\"end_turn\"", "\"stop\""),
        good(wire).replace("\"end_turn\"", "\"STOP\""),
        good(wire).replacen(
            "event: message_start",
            &format!("{}event: message_start", event(&json!({ "type": "message_start", "message": {} }))),
            1,
        ),
        good(wire) + "data: [DONE]\n\n",
        good(wire).lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect(),
        interleaved,
    ] {
        assert_eq!(text_of(wire, &body).await, Ok("Grün 🎈".into()), "{body}");
    }
    for whole in [
        json!({ "type": "message", "content": "Grün 🎈", "stop_reason": "end_turn" }),
        json!({ "type": "message", "content": [{ "type": "text", "text": "Grün 🎈" }], "stop_reason": null }),
    ] {
        assert_eq!(sends(wire, "application/json", whole.to_string()).await.unwrap().text, "Grün 🎈");
    }
    let calls = messages(
        &[("", json!({ "type": "tool_use", "id": "a", "name": "time", "input": "{\"zone\": \"UTC\"}" }), vec![])],
        json!("tool_use"),
    );
    assert_eq!(streamed(wire, calls).await.unwrap().calls[0].arguments, json!({ "zone": "UTC" }));
}

#[tokio::test]
async fn the_responses_format_is_read_from_what_is_whole_in_it() {
    let wire = WireFormat::OpenAiResponses;
    let delta = event(&json!({ "type": "response.output_text.delta", "delta": "Grün 🎈" }));
    let item = event(&json!({ "type": "response.output_item.done", "output_index": 0, "item": said("Grün 🎈") }));
    let ended = |kind: &str, response: Value| event(&json!({ "type": kind, "response": response }));
    for body in [
        delta.clone() + &ended("response.completed", json!({ "status": "completed", "output": [] })),
        item + &ended("response.completed", json!({ "status": "completed", "output": [] })),
        delta.clone() + &ended("response.done", json!({ "status": "completed", "output": [said("Grün 🎈")] })),
        ended("response.completed", json!({ "status": "completed", "output": [{ "type": "message", "content": "Grün 🎈" }] })),
    ] {
        assert_eq!(text_of(wire, &body).await, Ok("Grün 🎈".into()), "{body}");
    }
    let whole = json!({ "object": "response", "output": [said("Grün 🎈")] });
    assert_eq!(sends(wire, "application/json", whole.to_string()).await.unwrap().text, "Grün 🎈");
    assert_eq!(text_of(wire, &(delta + "data: [DONE]\n\n")).await, Err(FailureKind::BadResponse));
    let call = json!({ "type": "function_call", "call_id": "a", "name": "time", "arguments": { "zone": "UTC" } });
    assert_eq!(streamed(wire, response(json!([call]), "completed")).await.unwrap().calls[0].arguments, json!({ "zone": "UTC" }));
    let cut =
        ended("response.incomplete", json!({ "status": "incomplete", "incomplete_details": { "reason": "max_tokens" }, "output": [] }));
    assert_eq!(text_of(wire, &cut).await, Err(FailureKind::Truncated));
}

#[tokio::test]
async fn usage_is_read_wherever_it_stands_and_nonsense_takes_nothing_away() {
    let usage = json!({ "prompt_tokens": 7, "completion_tokens": 3 });
    let hello = |usage: Value| {
        let mut chunk = part(json!({ "content": "Hi" }), json!(null));
        chunk["usage"] = usage;
        chunk
    };
    let end = part(json!({}), json!("stop"));
    let in_choice = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop", "usage": usage }] });
    let groq = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "x_groq": { "usage": usage } });
    for body in [
        chunks(&[hello(usage.clone()), end.clone()]),
        chunks(&[hello(json!({ "prompt_tokens": 7, "completion_tokens": 1 })), hello(usage.clone()), end.clone()]),
        chunks(&[hello(usage.clone()), hello(json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })), end.clone()]),
        chunks(&[hello(json!({ "prompt_tokens": "7", "completion_tokens": 3.0 })), end.clone()]),
        chunks(&[hello(json!(null)), in_choice]),
        chunks(&[hello(json!({})), groq]),
    ] {
        let told = streamed(CHAT, &body).await.unwrap().usage;
        assert_eq!(told, Some(Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() }), "{body}");
    }
}
