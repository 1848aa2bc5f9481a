//! Twelve families of endpoints, played: what each rejects, how its answers look, and what it wants back. The forms are from their public documentation
//! (`families.json` names it) and from what users of other clients report of them.

use super::*;
use crate::event::MessageRole;
use crate::model::{Effort, Reasoning, Service};

/// A family.
struct Played {
    name: &'static str,
    wire: WireFormat,
    /// Where it is, if it is known what it rejects. Empty: anybody may run it, or it depends.
    at: &'static str,
    service: Option<Service>,
    /// The error with which it rejects a request.
    rejects: fn(&Value) -> Option<&'static str>,
    answers: fn(&Said, bool) -> String,
    /// Whether what it wants back with its calls is in a request.
    is_back: fn(&Value) -> bool,
}

/// What a model says.
enum Said {
    Text(&'static str),
    /// Two calls of `time`.
    Calls,
}

const ZONES: [&str; 2] = ["UTC", "CET"];

/// How a family writes answers in the chat format.
struct ChatStyle {
    thinks: fn(&str) -> Value,
    says: fn(&str) -> Value,
    id: fn(usize) -> Value,
    pieces: fn(usize, Value) -> Vec<Value>,
    /// What stands beside each call.
    beside: Value,
    /// Why it stopped, behind a text and behind calls.
    finish: [&'static str; 2],
    /// What it streams before everything.
    before: &'static str,
    /// Whether its counts come with the last piece.
    counts_last: bool,
}

const PLAIN: ChatStyle = ChatStyle {
    thinks: |text| json!({ "reasoning_content": text }),
    says: |text| json!({ "content": text }),
    id: |place| json!(format!("call_{place}")),
    pieces: by_index,
    beside: Value::Null,
    finish: ["stop", "tool_calls"],
    before: "",
    counts_last: false,
};

/// A call whose arguments come in pieces that its index holds together.
fn by_index(place: usize, mut call: Value) -> Vec<Value> {
    let arguments = call["function"]["arguments"].take().as_str().unwrap_or_default().to_owned();
    call["function"]["arguments"] = json!("");
    call["index"] = json!(place);
    let (one, other) = arguments.split_at(5);
    let more = |text: &str| json!({ "index": place, "function": { "arguments": text } });
    vec![call, more(one), more(other)]
}

/// A call that comes whole, with this index.
fn whole(index: Value, mut call: Value) -> Vec<Value> {
    call["index"] = index;
    vec![call]
}

impl ChatStyle {
    fn call(&self, place: usize) -> Value {
        let function = json!({ "name": "time", "arguments": json!({ "zone": ZONES[place] }).to_string() });
        let mut call = json!({ "id": (self.id)(place), "type": "function", "function": function });
        if let Value::Object(more) = &self.beside {
            call.as_object_mut().unwrap().extend(more.clone());
        }
        call
    }

    fn answer(&self, said: &Said, is_streamed: bool) -> String {
        let counts = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 });
        let (text, calls) = match said {
            Said::Text(text) => (*text, 0),
            Said::Calls => ("", 2),
        };
        let finish = self.finish[usize::from(calls > 0)];
        if !is_streamed {
            let mut message = json!({ "role": "assistant", "content": null });
            for part in [(self.thinks)("Secret thoughts."), (self.says)(text)] {
                match (part["content"].clone(), message["content"].take()) {
                    (Value::Array(more), Value::Array(before)) => message["content"] = [before, more].concat().into(),
                    (Value::Null, before) => message["content"] = before,
                    (more, _) => message["content"] = more,
                }
                part.as_object().unwrap().iter().filter(|(key, _)| *key != "content").for_each(|(key, value)| message[key] = value.clone());
            }
            if calls > 0 {
                message["tool_calls"] = (0..calls).map(|place| self.call(place)).collect();
            }
            let choice = json!({ "index": 0, "message": message, "finish_reason": finish, "logprobs": null });
            return json!({ "id": "x", "model": "m-1", "choices": [choice], "usage": counts }).to_string();
        }
        let mut deltas = vec![json!({ "role": "assistant", "content": "" }), (self.thinks)("Secret "), (self.thinks)("thoughts.")];
        deltas.extend(text.split_inclusive(' ').map(self.says));
        for place in 0..calls {
            deltas.extend((self.pieces)(place, self.call(place)).into_iter().map(|piece| json!({ "tool_calls": [piece] })));
        }
        let chunk = |delta: &Value, finish: Value| json!({ "id": "x", "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        let mut chunks: Vec<Value> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
        chunks.push(chunk(&json!({}), json!(finish)));
        match self.counts_last {
            true => chunks.last_mut().unwrap()["usage"] = counts,
            false => chunks.push(json!({ "choices": [], "usage": counts })),
        }
        let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        format!("{}{events}data: [DONE]\n\n", self.before)
    }
}

/// The last answer of the model that a request holds.
fn last_answer(body: &Value) -> Option<&Value> {
    body["messages"].as_array()?.iter().rev().find(|message| message["role"] == "assistant")
}

/// Whether each answer with calls has this beside them.
fn has_back(body: &Value, pointer: &str) -> bool {
    last_answer(body).is_none_or(|answer| answer.pointer(pointer).is_some_and(|value| !value.is_null()))
}

fn thinks_back(body: &Value) -> bool {
    has_back(body, "/reasoning_content")
}

fn sends(body: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| body.get(key).is_some())
}

fn messages_answer(said: &Said, is_streamed: bool) -> String {
    let thinks = json!({ "type": "thinking", "thinking": "Secret thoughts.", "signature": "c2ln" });
    let used =
        |place: usize| json!({ "type": "tool_use", "id": format!("toolu_{place}"), "name": "time", "input": { "zone": ZONES[place] } });
    let (blocks, reason) = match said {
        Said::Text(text) => (vec![thinks, json!({ "type": "text", "text": text })], "end_turn"),
        Said::Calls => (vec![thinks, used(0), used(1)], "tool_use"),
    };
    if !is_streamed {
        let usage = json!({ "input_tokens": 7, "output_tokens": 3 });
        return json!({ "type": "message", "role": "assistant", "model": "m-1", "content": blocks, "stop_reason": reason, "usage": usage })
            .to_string();
    }
    let streamed: Vec<_> = blocks
        .into_iter()
        .map(|mut block| match block["type"].as_str() {
            Some("thinking") => {
                let (text, signature) = (block["thinking"].take(), block["signature"].take());
                let deltas = vec![
                    json!({ "type": "thinking_delta", "thinking": text }),
                    json!({ "type": "signature_delta", "signature": signature }),
                ];
                ("", json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
            }
            Some("text") => ("", json!({ "type": "text", "text": "" }), vec![text_delta(block["text"].as_str().unwrap())]),
            _ => {
                let input = std::mem::replace(&mut block["input"], json!({})).to_string();
                ("", block, vec![json_delta(""), json_delta(&input[..4]), json_delta(&input[4..])])
            }
        })
        .collect();
    messages(&streamed, json!(reason))
}

fn responses_answer(said: &Said, is_streamed: bool) -> String {
    let thinks = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" });
    let called = |place: usize| {
        let arguments = json!({ "zone": ZONES[place] }).to_string();
        json!({ "type": "function_call", "id": format!("fc_{place}"), "call_id": format!("call_{place}"), "name": "time", "arguments": arguments, "status": "completed" })
    };
    let output = match said {
        Said::Text(text) => json!([thinks, self::said(text)]),
        Said::Calls => json!([thinks, called(0), called(1)]),
    };
    if is_streamed {
        return response(output, "completed");
    }
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "total_tokens": 10 });
    json!({ "object": "response", "status": "completed", "model": "m-1", "output": output, "usage": usage, "error": null }).to_string()
}

const CHAT: WireFormat = WireFormat::OpenAiChat;

const FAMILIES: &[Played] = &[
    Played {
        name: "OpenAI",
        wire: CHAT,
        at: "https://api.openai.com/v1",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if sends(body, &["max_tokens"]) => {
                Some("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
            }
            () if sends(body, &["chat_template_kwargs"]) => Some("Unrecognized request argument supplied: chat_template_kwargs"),
            () => None,
        },
        answers: |said, is_streamed| ChatStyle { thinks: |_| json!({ "refusal": null }), ..PLAIN }.answer(said, is_streamed),
        is_back: |_| true,
    },
    Played {
        name: "OpenAI, responses",
        wire: WireFormat::OpenAiResponses,
        at: "https://api.openai.com/v1",
        service: Some(Service::OpenAi),
        rejects: |body| sends(body, &["max_tokens", "response_format", "stream_options"]).then_some("Unknown parameter"),
        answers: responses_answer,
        is_back: |body| {
            let input = body["input"].to_string();
            !input.contains("function_call") || input.contains("ZW5j") && body["include"][0] == "reasoning.encrypted_content"
        },
    },
    Played {
        name: "Azure OpenAI",
        wire: CHAT,
        // What it rejects depends on the model and the version.
        at: "",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if sends(body, &["stream_options"]) => Some("Unrecognized request argument supplied: stream_options"),
            () if sends(body, &["max_tokens"]) => Some("Unsupported parameter: 'max_tokens' is not supported with this model."),
            () if sends(body, &["chat_template_kwargs"]) => Some("Unrecognized request argument supplied: chat_template_kwargs"),
            () => None,
        },
        answers: |said, is_streamed| {
            let before = "data: {\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\",\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}\n\n";
            ChatStyle { before, thinks: |_| json!({ "content": null }), counts_last: true, ..PLAIN }.answer(said, is_streamed)
        },
        is_back: |_| true,
    },
    Played {
        name: "Anthropic",
        wire: WireFormat::AnthropicMessages,
        at: "https://api.anthropic.com",
        service: Some(Service::Anthropic),
        rejects: |body| match () {
            () if sends(body, &["tool_choice"]) && body["thinking"]["type"] == "enabled" => {
                Some("Thinking may not be enabled when tool_choice forces tool use.")
            }
            () if body["thinking"]["budget_tokens"].as_u64() >= body["max_tokens"].as_u64() => {
                Some("`max_tokens` must be greater than `thinking.budget_tokens`")
            }
            () => None,
        },
        answers: messages_answer,
        is_back: |body| has_back(body, "/content/0/signature"),
    },
    Played {
        name: "Gemini",
        wire: CHAT,
        at: "https://generativelanguage.googleapis.com/v1beta/openai",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if sends(body, &["chat_template_kwargs"]) => {
                Some("Invalid JSON payload received. Unknown name \"chat_template_kwargs\": Cannot find field.")
            }
            () if !has_back(body, "/tool_calls/0/extra_content/google/thought_signature") => {
                Some("Function call `default_api:time` is missing a `thought_signature`.")
            }
            () => None,
        },
        answers: |said, is_streamed| {
            let beside = json!({ "extra_content": { "google": { "thought_signature": "c2ln" } } });
            let finish = if is_streamed { ["stop", "stop"] } else { ["stop", "tool_calls"] };
            let style = ChatStyle {
                beside,
                finish,
                thinks: |_| json!({ "role": "assistant" }),
                id: |_| json!(""),
                pieces: |_, call| whole(json!(0), call),
                counts_last: true,
                ..PLAIN
            };
            style.answer(said, is_streamed)
        },
        is_back: |_| true,
    },
    Played {
        name: "DeepSeek",
        wire: CHAT,
        at: "https://api.deepseek.com",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if body["response_format"]["type"] == "json_schema" => Some("This response_format type is unavailable now"),
            () if !thinks_back(body) => Some("The `reasoning_content` in the thinking mode must be passed back to the API."),
            () => None,
        },
        answers: |said, is_streamed| ChatStyle { before: ": keep-alive\n\n: keep-alive\n\n", ..PLAIN }.answer(said, is_streamed),
        is_back: thinks_back,
    },
    Played {
        name: "Mistral",
        wire: CHAT,
        at: "https://api.mistral.ai/v1",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if sends(body, &["stream_options"]) => {
                Some("{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"],\"msg\":\"Extra inputs are not permitted\"}")
            }
            () if sends(body, &["chat_template_kwargs"]) => Some(
                "{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"chat_template_kwargs\"],\"msg\":\"Extra inputs are not permitted\"}",
            ),
            () => None,
        },
        answers: |said, is_streamed| {
            let style = ChatStyle {
                thinks: |text| json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": text }] }] }),
                says: |text| json!({ "content": [{ "type": "text", "text": text }] }),
                id: |place| json!(format!("D681PevK{place}")),
                pieces: |place, call| whole(json!(place), call),
                counts_last: true,
                ..PLAIN
            };
            style.answer(said, is_streamed)
        },
        is_back: |body| has_back(body, "/content/0/thinking"),
    },
    Played {
        name: "Groq",
        wire: CHAT,
        at: "https://api.groq.com/openai/v1",
        service: Some(Service::OpenAi),
        rejects: |body| match () {
            () if sends(body, &["tools"]) && sends(body, &["response_format"]) => {
                Some("response_format `json_schema` cannot be combined with tool calling")
            }
            () if sends(body, &["chat_template_kwargs"]) => Some("property 'chat_template_kwargs' is unsupported"),
            () => None,
        },
        answers: |said, is_streamed| {
            let before = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}],\"x_groq\":{\"id\":\"req_1\"}}\n\n";
            let style =
                ChatStyle { before, thinks: |text| json!({ "reasoning": text }), pieces: |place, call| whole(json!(place), call), ..PLAIN };
            style.answer(said, is_streamed)
        },
        is_back: |_| true,
    },
    Played {
        name: "Ollama",
        wire: CHAT,
        at: "",
        service: Some(Service::Ollama),
        rejects: |_| None,
        answers: |said, is_streamed| {
            let style = ChatStyle {
                thinks: |text| json!({ "reasoning": text, "content": "" }),
                pieces: |_, call| whole(json!(0), call),
                finish: ["stop", "stop"],
                ..PLAIN
            };
            style.answer(said, is_streamed)
        },
        is_back: |_| true,
    },
    Played {
        name: "llama.cpp",
        wire: CHAT,
        at: "",
        service: Some(Service::OpenAi),
        rejects: |body| (body["messages"][0]["role"] == "system").then_some("System role not supported"),
        answers: |said, is_streamed| {
            let before = "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"system_fingerprint\":\"b1\"}\n\n";
            ChatStyle { before, id: |_| json!(null), ..PLAIN }.answer(said, is_streamed)
        },
        is_back: thinks_back,
    },
    Played {
        name: "vLLM",
        wire: CHAT,
        at: "",
        service: Some(Service::OpenAi),
        rejects: |_| None,
        answers: |said, is_streamed| {
            let style = ChatStyle {
                thinks: |text| json!({ "reasoning": text, "reasoning_content": text }),
                id: |place| json!(format!("chatcmpl-tool-{place}")),
                ..PLAIN
            };
            style.answer(said, is_streamed).replace("\"finish_reason\":null", "\"finish_reason\":null,\"stop_reason\":null")
        },
        is_back: |_| true,
    },
    Played {
        name: "SGLang",
        wire: CHAT,
        at: "",
        service: Some(Service::OpenAi),
        rejects: |body| {
            (body["response_format"]["json_schema"]["strict"] == true).then_some("[{'loc': ('body', 'response_format', 'strict')}]")
        },
        answers: |said, is_streamed| {
            let style = ChatStyle { thinks: |text| json!({ "reasoning_content": text, "content": null, "tool_calls": null }), ..PLAIN };
            style.answer(said, is_streamed).replace("\"finish_reason\":null", "\"finish_reason\":\"\",\"matched_stop\":null")
        },
        is_back: |_| true,
    },
    Played {
        name: "LM Studio",
        wire: CHAT,
        at: "",
        service: Some(Service::OpenAi),
        rejects: |body| {
            let is_any = body["response_format"]["type"] == "json_object";
            is_any.then_some("'response_format.type' must be 'json_schema' or 'text'")
        },
        answers: |said, is_streamed| ChatStyle { id: |place| json!(format!("{}", 331_000_000 + place)), ..PLAIN }.answer(said, is_streamed),
        is_back: |_| true,
    },
];

/// A family's server.
async fn server(family: &'static Played) -> Faultd {
    let make = move |text: &str| {
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        if let Some(error) = (family.rejects)(&body) {
            let status = if error.starts_with("System role") { "500 Internal Server Error" } else { "400 Bad Request" };
            let error = json!({ "error": { "message": error, "type": "invalid_request_error" } });
            return answer(status, &[("content-type", "application/json"), ("connection", "close")], error.to_string());
        }
        assert!((family.is_back)(&body), "{}: {body}", family.name);
        let (is_streamed, has_results) = (body["stream"] == true, body.to_string().contains("noon"));
        let wants_schema = body.to_string().contains("additionalProperties");
        let said = match () {
            () if sends(&body, &["tools"]) && body.to_string().contains("\"time\"") && !has_results => Said::Calls,
            () if wants_schema && sends(&body, &["tool_choice"]) => return stream(forced()),
            () if wants_schema => Said::Text("{\"city\": \"Bonn\"}"),
            () => Said::Text("Grün 🎈"),
        };
        match is_streamed {
            true => stream((family.answers)(&said, true)),
            false => answer("200 OK", &[("content-type", "application/json"), ("connection", "close")], (family.answers)(&said, false)),
        }
    };
    Faultd::start(vec![FaultAct::Reply(Arc::new(make)), FaultAct::Close]).await
}

/// An answer by the tool that Anthropic's format is made to call.
fn forced() -> String {
    let block = json!({ "type": "tool_use", "id": "toolu_9", "name": "flow_answer", "input": {} });
    messages(&[("", block, vec![json_delta("{\"city\": \"Bonn\"}")])], json!("tool_use"))
}

/// What is asked of every family.
fn asked() -> Vec<(&'static str, ModelRequest)> {
    let plain = ModelRequest { max_output_tokens: Some(5_000), ..request(CHAT, String::new()) };
    let thinks = |reasoning| EndpointOptions { reasoning: Some(reasoning), ..EndpointOptions::default() };
    let zoned =
        ToolDescription { parameters: json!({ "type": "object", "properties": { "zone": { "type": "string" } } }), ..(*tool()).clone() };
    let tools = vec![Arc::new(zoned)];
    let effort = thinks(Reasoning::Effort(Effort::Low));
    vec![
        ("a text", plain.clone()),
        ("tools", ModelRequest { tools: tools.clone(), ..plain.clone() }),
        ("a schema", ModelRequest { schema: Some(schema()), ..plain.clone() }),
        ("tools and a schema", ModelRequest { tools: tools.clone(), schema: Some(schema()), ..plain.clone() }),
        ("no thoughts", ModelRequest { endpoint: thinks(Reasoning::Off), ..plain.clone() }),
        ("thoughts and tools", ModelRequest { endpoint: effort.clone(), tools, ..plain.clone() }),
        ("thoughts and a schema", ModelRequest { endpoint: effort, schema: Some(schema()), ..plain }),
    ]
}

/// Asks, makes the calls that the model wants, and asks again; gives the last answer.
async fn answered(client: &HttpModelClient, mut request: ModelRequest, about: &str) -> ModelReply {
    let mut reply = client.call(request.clone()).await.unwrap_or_else(|failure| panic!("{about}: {}", failure.message));
    if !request.tools.is_empty() {
        let zones: Vec<&Value> = reply.calls.iter().map(|call| &call.arguments["zone"]).collect();
        assert_eq!((zones, reply.text.as_str()), (vec![&json!("UTC"), &json!("CET")], ""), "{about}");
        // The engine gives ids to calls that have none.
        for (place, call) in reply.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("c{place}");
        }
        let results: Vec<Message> =
            reply.calls.iter().map(|call| Message { call_id: Some(call.id.clone()), ..message(MessageRole::Tool, "noon") }).collect();
        let said = Message { text: reply.text, calls: reply.calls, state: reply.state, ..message(MessageRole::Assistant, "") };
        request.messages.extend(shared([said]).into_iter().chain(shared(results)));
        reply = client.call(request).await.unwrap_or_else(|failure| panic!("{about}, with results: {}", failure.message));
    }
    reply
}

#[tokio::test]
async fn each_family_is_understood_and_asked_for_what_it_takes() {
    for family in FAMILIES {
        for is_streamed in [true, false] {
            let (server, client) = (server(family).await, client(small()));
            for again in [false, true] {
                for (what, request) in asked() {
                    let about = format!("{}, {what}, streamed: {is_streamed}, again: {again}", family.name);
                    let omit = (!is_streamed).then(|| vec![Addition::Stream]);
                    let endpoint = EndpointOptions { omit, service: family.service, ..request.endpoint.clone() };
                    let request = ModelRequest { wire: family.wire, base_url: server.url(), endpoint, ..request };
                    let before = server.requests().len();
                    let reply = answered(&client, request.clone(), &about).await;
                    let expected = if request.schema.is_some() { "{\"city\":\"Bonn\"}" } else { "Grün 🎈" };
                    assert_eq!(reply.text.replace(": ", ":"), expected, "{about}");
                    assert_eq!(reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((7, 3)), "{about}");
                    let least = if request.tools.is_empty() { 1 } else { 2 };
                    let made = server.requests().len() - before;
                    assert!(made == least || !again && made <= least + 2, "{about}: {made} requests");
                }
            }
        }
    }
}

#[test]
fn a_family_that_is_known_by_its_host_has_nothing_to_reject() {
    for family in FAMILIES.iter().filter(|family| !family.at.is_empty()) {
        for (what, request) in asked() {
            let endpoint = EndpointOptions { service: family.service, ..request.endpoint.clone() };
            let body = written(&ModelRequest { wire: family.wire, base_url: family.at.to_owned(), endpoint, ..request }).body;
            assert_eq!((family.rejects)(&body), None, "{}, {what}: {body}", family.name);
        }
    }
}

#[test]
fn the_manual_lists_the_families_that_are_known_and_those_that_are_played() {
    let manual = include_str!("../../../../../docs/endpoints.md");
    for family in dialect::families() {
        assert!(manual.contains(&format!("| {} | ", family.name)), "docs/endpoints.md lacks {}", family.name);
    }
    let (_, table) = manual.split_once("## What is tested").expect("the manual has a table of them");
    for family in FAMILIES {
        assert!(table.contains(&format!("| {} |", family.name)), "docs/endpoints.md lacks {}", family.name);
    }
}
