//! Thoughts, marks and calls in the text of an answer, and what goes back to the endpoint that sent it.

use std::sync::Mutex;

use super::*;
use crate::port::Listener;

/// An answer with this text.
fn saying(wire: WireFormat, text: &str) -> String {
    match wire {
        WireFormat::OpenAiChat => chat(&[json!({ "content": text })], "stop"),
        WireFormat::AnthropicMessages => messages(&[("", json!({ "type": "text", "text": text }), vec![])], json!("end_turn")),
        _ => response(json!([said(text)]), "completed"),
    }
}

async fn with_tools(wire: WireFormat, body: String, more: impl FnOnce(ModelRequest) -> ModelRequest) -> Result<ModelReply, Failure> {
    let parameters = json!({ "type": "object", "properties": { "zone": { "type": "string" } }, "required": ["zone"] });
    let time = Arc::new(ToolDescription { parameters, ..ToolDescription::clone(&tool()) });
    let server = Faultd::start(vec![FaultAct::Send(stream(body)), FaultAct::Close]).await;
    call(more(ModelRequest { tools: vec![time], ..request(wire, server.url()) })).await
}

#[tokio::test]
async fn thoughts_and_marks_reach_nobody_in_any_format() {
    for wire in WIRES {
        for text in ["<think>\nI must not.\n</think>\n\nHello Ana!", "I must not.\n</think>\n\nHello Ana!", "Hello Ana!<|im_end|>"] {
            let reply = streamed(wire, saying(wire, text)).await.unwrap();
            assert_eq!((reply.text.as_str(), reply.notes.len()), ("Hello Ana!", 1), "{wire:?} {text}");
        }
        for text in ["<think>\nI must not, and", "<think>\nI must not.\n</think>"] {
            let failure = streamed(wire, saying(wire, text)).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::BadResponse);
            assert!(failure.message.contains("sent thoughts and no answer") && !failure.message.contains("must"), "{}", failure.message);
        }
        let failure = streamed(wire, saying(wire, "</s>")).await.unwrap_err();
        assert!(failure.message.contains("sent control marks and no answer"), "{}", failure.message);
        let text = "Write <think> and </think> around your thoughts.";
        assert_eq!(streamed(wire, saying(wire, text)).await.unwrap().text, text);
    }
    // Where thoughts came apart, an end of them is content.
    let told = "The end tag is\n</think>\nand more.";
    let apart = chat(&[json!({ "reasoning_content": "Hm." }), json!({ "content": told })], "stop");
    assert_eq!(streamed(WIRES[0], apart).await.unwrap().text, told);
    for text in ["<think>One.<think>Two.</think>I must not.</think>Hello Ana!", "Hello Ana!\n<think>\nI must not.\n</think>\nBye."] {
        let failure = streamed(WIRES[0], saying(WIRES[0], text)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadResponse);
        assert!(failure.message.contains("is not certain") && !failure.message.contains("must"), "{}", failure.message);
    }
    let schema = |request| ModelRequest { tool_calls: ToolCalls::Schema, ..request };
    let said = "<think>{\"answer\": \"no\"}</think>{\"answer\": \"Noon.\"}";
    assert_eq!(with_tools(WIRES[0], saying(WIRES[0], said), schema).await.unwrap().text, "Noon.");
}

#[tokio::test]
async fn thoughts_are_not_heard_while_they_come_once_a_model_is_known_to_begin_with_them() {
    let deltas = ["I must", " not.\n</think>\n\nHello", " Ana!"].map(|text| json!({ "content": text }));
    let server = Faultd::start(vec![FaultAct::Send(stream(chat(&deltas, "stop"))), FaultAct::Close]).await;
    let client = client(small());
    let heard = async |model: &str| {
        let heard = Arc::new(Mutex::new(vec![]));
        let kept = heard.clone();
        let listener = Some(Listener::new(move |so_far| kept.lock().unwrap().push(so_far.to_owned())));
        assert_eq!(
            client.call(ModelRequest { listener, model: model.to_owned(), ..request(WIRES[0], server.url()) }).await.unwrap().text,
            "Hello Ana!"
        );
        Arc::try_unwrap(heard).unwrap().into_inner().unwrap()
    };
    assert_eq!(heard("m").await.last().map(String::as_str), Some("Hello Ana!"));
    for model in ["m", "DeepSeek-R1"] {
        assert_eq!(heard(model).await, ["", "Hello", "Hello Ana!"]);
    }
}

#[tokio::test]
async fn a_call_in_the_text_is_made_if_it_fits_and_told_if_it_does_not() {
    let right = "{\"name\": \"time\", \"arguments\": {\"zone\": \"UTC\"}}";
    for wire in WIRES {
        for text in [format!("<tool_call>{right}</tool_call>"), format!("<think>Which?</think>\n[TOOL_CALLS][{right}]"), right.to_owned()] {
            let reply = with_tools(wire, saying(wire, &text), |request| request).await.unwrap();
            assert_eq!((reply.text.as_str(), reply.calls[0].tool.as_str()), ("", "time"), "{wire:?} {text}");
            assert_eq!(
                (&reply.calls[0].arguments, reply.notes.last().map(String::as_str)),
                (&json!({ "zone": "UTC" }), Some("tool calls that stood in its text were made"))
            );
        }
    }
    let harmony = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.time<|message|>{\"zone\": \"UTC\"}<|call|>";
    assert_eq!(
        with_tools(WIRES[0], saying(WIRES[0], harmony), |request| request).await.unwrap().calls[0].arguments,
        json!({ "zone": "UTC" })
    );
    let server =
        Faultd::start(vec![FaultAct::Send(stream(saying(WIRES[0], "<|channel|>commentary to=functions.time<|message|><|call|>")))]).await;
    let reply = call(ModelRequest { tools: vec![tool()], ..request(WIRES[0], server.url()) }).await.unwrap();
    assert_eq!((reply.calls[0].tool.as_str(), &reply.calls[0].arguments), ("time", &json!({})));
    for (text, why) in [
        ("<tool_call>{\"name\": \"shell\", \"arguments\": {}}</tool_call>", "there is no tool \"shell\""),
        ("<tool_call>{\"name\": \"time\", \"arguments\": {\"zone\": 7}}</tool_call>", "its arguments do not fit the schema of \"time\""),
        ("<tool_call>{\"name\": \"time\", </tool_call>", "it cannot be read"),
        ("<function=time><parameter=zone>The first half of the te", "it cannot be read"),
        ("I look.\nAction: time\nAction Input: {\"zone\": \"UTC\"}", "it cannot be read"),
        ("{\"name\": \"time\", \"arguments\": {}}", "its arguments do not fit the schema of \"time\""),
    ] {
        let failure = with_tools(WIRES[0], saying(WIRES[0], text), |request| request).await.unwrap_err();
        assert!(failure.message.contains(why) && failure.message.contains("set tool_calls: schema"), "{}", failure.message);
    }
    // Without tools it is content, and so is an answer that has the shape which is wanted.
    let text = format!("<tool_call>{right}</tool_call>");
    assert_eq!(streamed(WIRES[0], saying(WIRES[0], &text)).await.unwrap().text, text);
    let wanted = json!({ "type": "object", "required": ["name", "arguments"] });
    let reply = with_tools(WIRES[0], saying(WIRES[0], right), |request| ModelRequest { schema: Some(wanted), ..request }).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), (right, 0));
    // An answer that says it ends with calls and has them in its text.
    let announced = chat(&[json!({ "content": format!("<tool_call>{right}</tool_call>") })], "tool_calls");
    assert_eq!(with_tools(WIRES[0], announced, |request| request).await.unwrap().calls.len(), 1);
}

/// The messages of the next request after this answer, with one result for each call.
async fn next(wire: WireFormat, body: String, whom: impl FnOnce(&mut ModelRequest)) -> Value {
    let server = Faultd::start(vec![FaultAct::Send(stream(body)), FaultAct::Close]).await;
    let mut request = ModelRequest { tools: vec![tool()], ..request(wire, server.url()) };
    let reply = call(request.clone()).await.unwrap();
    let results: Vec<Message> =
        reply.calls.iter().map(|call| Message { call_id: Some(call.id.clone()), ..message(MessageRole::Tool, "noon") }).collect();
    let said = Message { text: reply.text, calls: reply.calls, state: reply.state, ..message(MessageRole::Assistant, "") };
    request.messages.extend(shared([said]).into_iter().chain(shared(results)));
    whom(&mut request);
    let mut body = written(&request).body;
    // What it encrypts is asked for as soon as a model shows thoughts.
    assert_eq!(body.get("include").is_some(), wire == WireFormat::OpenAiResponses && body["input"].to_string().contains("rs_1"));
    let key = if wire == WireFormat::OpenAiResponses { "input" } else { "messages" };
    body[key].take()
}

#[tokio::test]
async fn what_an_endpoint_sent_beside_an_answer_goes_back_to_it_as_it_came_and_to_nobody_else() {
    let signed = json!({ "google": { "thought_signature": "c2ln" } });
    let call = |index: u64, id: &str, more: Value| {
        let mut call = json!({ "index": index, "id": id, "type": "function", "function": { "name": "time", "arguments": "{}" } });
        call.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        json!({ "tool_calls": [call] })
    };
    let body = chat(
        &[
            json!({ "role": "assistant", "reasoning_content": "I look " }),
            json!({ "reasoning_content": "it up.", "reasoning_details": [{ "type": "reasoning.encrypted", "data": "ZW5j", "index": 0 }] }),
            call(0, "a", json!({ "extra_content": signed })),
            call(1, "b", json!({})),
        ],
        "tool_calls",
    );
    let sent = next(WIRES[0], body.clone(), |_| {}).await;
    assert_eq!(
        sent[2],
        json!({
            "role": "assistant",
            "content": null,
            "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "time", "arguments": "{}" }, "extra_content": signed },
                { "id": "b", "type": "function", "function": { "name": "time", "arguments": "{}" } },
            ],
            "reasoning_content": "I look it up.",
            "reasoning_details": [{ "type": "reasoning.encrypted", "data": "ZW5j", "index": 0 }],
        })
    );
    for other in
        [|request: &mut ModelRequest| request.model = "other".to_owned(), |request: &mut ModelRequest| request.base_url.push_str("/v2")]
    {
        let sent = next(WIRES[0], body.clone(), other).await;
        assert!(!sent.to_string().contains("c2ln") && !sent.to_string().contains("look"), "{sent}");
    }
    let thinks = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] }]);
    let sent = next(WIRES[0], chat(&[json!({ "content": thinks }), call(0, "a", json!({}))], "tool_calls"), |_| {}).await;
    assert_eq!(sent[2]["content"], thinks);

    let thinking = json!({ "type": "thinking", "thinking": "", "signature": "" });
    let deltas = vec![
        json!({ "type": "thinking_delta", "thinking": "I look " }),
        json!({ "type": "thinking_delta", "thinking": "it up." }),
        json!({ "type": "signature_delta", "signature": "c2ln" }),
    ];
    let secret = json!({ "type": "redacted_thinking", "data": "ZW5j" });
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "time", "input": {} });
    let blocks = [("", thinking, deltas), ("", used("a"), vec![]), ("", secret.clone(), vec![]), ("", used("b"), vec![])];
    let body = messages(&blocks, json!("tool_use"));
    let sent = next(WIRES[1], body.clone(), |_| {}).await;
    let thought = json!({ "type": "thinking", "thinking": "I look it up.", "signature": "c2ln" });
    assert_eq!(sent[1], json!({ "role": "assistant", "content": [thought, used("a"), secret, used("b")] }));
    let sent = next(WIRES[1], body, |request| request.model = "other".to_owned()).await;
    assert_eq!(sent[1]["content"], json!([used("a"), used("b")]));

    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" });
    let item = |id: &str| json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "time", "arguments": "{}" });
    let body = response(json!([reasoning, item("a"), item("b")]), "completed");
    let sent = next(WIRES[2], body.clone(), |_| {}).await;
    assert_eq!(sent.as_array().unwrap()[1..4], [reasoning.clone(), item("a"), item("b")]);
    let sent = next(WIRES[2], body, |request| request.model = "other".to_owned()).await;
    assert_eq!(sent[1], json!({ "type": "function_call", "call_id": "a", "name": "time", "arguments": "{}" }));
    // An answer outside of a round of calls is not asked for again, so nothing is kept of it.
    assert_eq!(
        streamed(WIRES[0], chat(&[json!({ "reasoning_content": "Hm." }), json!({ "content": "Hi" })], "stop")).await.unwrap().state,
        None
    );
    let large = chat(&[json!({ "reasoning_content": "x".repeat(1 << 20) }), call(0, "a", json!({}))], "tool_calls");
    let server = Faultd::start(vec![FaultAct::Send(stream(large)), FaultAct::Close]).await;
    let settings = HttpSettings { max_line: 2 << 20, ..HttpSettings::default() };
    assert_eq!(client(settings).call(request(WIRES[0], server.url())).await.unwrap_err().kind, FailureKind::TooLarge);
}

#[test]
fn ids_have_the_form_that_their_endpoint_accepts() {
    let call = |id: &str| ToolCall { id: id.to_owned(), tool: "time".to_owned(), arguments: json!({}) };
    let sent = |wire: WireFormat, base_url: &str, id: &str| {
        let mut request = request(wire, base_url.to_owned());
        request.messages = shared([
            Message { calls: vec![call(id)], ..message(MessageRole::Assistant, "") },
            Message { call_id: Some(id.to_owned()), ..message(MessageRole::Tool, "noon") },
        ]);
        let body = written(&request).body;
        let (asked, told) = if wire == WIRES[0] {
            (body["messages"][0]["tool_calls"][0]["id"].clone(), body["messages"][1]["tool_call_id"].clone())
        } else {
            (body["messages"][0]["content"][0]["id"].clone(), body["messages"][1]["content"][0]["tool_use_id"].clone())
        };
        assert_eq!(asked, told);
        asked.as_str().unwrap().to_owned()
    };
    let odd = "functions.time:0/é";
    assert_eq!(sent(WIRES[0], "http://127.0.0.1:1/v1", odd), odd);
    for (wire, base_url, id) in [
        (WIRES[0], "https://api.mistral.ai/v1", "call_1"),
        (WIRES[0], "https://api.openai.com/v1", &*"x".repeat(41)),
        (WIRES[1], "https://api.anthropic.com", odd),
    ] {
        let own = sent(wire, base_url, id);
        assert!(own.len() == 9 && own.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{base_url}: {own}");
    }
    assert_eq!(sent(WIRES[0], "https://api.mistral.ai/v1", "call00001"), "call00001");
    assert_eq!(sent(WIRES[1], "https://api.anthropic.com", "toolu_01-A"), "toolu_01-A");
}
