//! Endpoints that reject a part of a request, and what a file says about an endpoint.

use super::*;
use crate::event::MessageRole;
use crate::model::{Effort, Reasoning};

/// What an endpoint is asked: the body of each request, and the outcome.
async fn against(
    request: ModelRequest,
    rejects: impl Fn(&Value) -> Option<(&'static str, Value)> + Send + Sync + 'static,
) -> (Vec<Value>, Result<ModelReply, Failure>) {
    let wire = request.wire;
    let make = move |text: &str| {
        let body: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        match rejects(&body) {
            Some((status, error)) => answer(status, &[("content-type", "application/json"), ("connection", "close")], error.to_string()),
            None => stream(good(wire)),
        }
    };
    let server = Faultd::start(vec![FaultAct::Reply(Arc::new(make)), FaultAct::Close]).await;
    let outcome = call(ModelRequest { base_url: server.url(), ..request }).await;
    let bodies = server.requests().iter().map(|text| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()).collect();
    (bodies, outcome)
}

fn error(message: &str) -> Value {
    json!({ "error": { "message": message, "type": "invalid_request_error" } })
}

fn structured(wire: WireFormat) -> ModelRequest {
    ModelRequest { schema: Some(schema()), ..request(wire, String::new()) }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one list of cases")]
async fn what_an_endpoint_rejects_by_name_is_left_out_and_the_call_made_again() {
    type Rejects = fn(&Value) -> Option<(&'static str, Value)>;
    let bounded = ModelRequest { max_output_tokens: Some(50), ..request(WIRES[0], String::new()) };
    let by_flow = ModelRequest { bounded_as: Some("the answer of a judge"), ..bounded.clone() };
    let with_tools = ModelRequest { tools: vec![tool()], ..structured(WIRES[0]) };
    let cases: Vec<(&str, ModelRequest, Rejects, usize)> = vec![
        (
            "DeepSeek: only json_object",
            structured(WIRES[0]),
            |body| {
                (body["response_format"]["type"] == "json_schema")
                    .then(|| ("400 Bad Request", error("This response_format type is unavailable now")))
            },
            2,
        ),
        (
            "DeepSeek, as text",
            structured(WIRES[0]),
            |body| {
                let said = "Failed to deserialize the JSON body into the target type: response_format: `json_schema` is unavailable now";
                (body["response_format"]["type"] == "json_schema").then(|| ("422 Unprocessable Entity", json!(said)))
            },
            2,
        ),
        (
            "no JSON mode at all",
            structured(WIRES[0]),
            |body| body.get("response_format").map(|_| ("400 Bad Request", error("response_format is not supported by this model"))),
            3,
        ),
        (
            "LM Studio: no json_object",
            structured(WIRES[0]),
            |body| {
                let kind = body["response_format"]["type"].as_str();
                kind.map(|_| ("400 Bad Request", json!({ "error": "'response_format.type' must be 'text'" })))
            },
            3,
        ),
        (
            "Groq: not with tools",
            with_tools,
            |body| {
                (body.get("tools").is_some() && body.get("response_format").is_some())
                    .then(|| ("400 Bad Request", error("json mode cannot be combined with tool/function calling")))
            },
            2,
        ),
        (
            "Mistral: unknown keys",
            request(WIRES[0], String::new()),
            |body| {
                let detail = json!([{ "type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"], "msg": "Extra inputs are not permitted" }]);
                body.get("stream_options")
                    .map(|_| ("422 Unprocessable Entity", json!({ "object": "error", "message": { "detail": detail } })))
            },
            2,
        ),
        (
            "a template without a system role",
            request(WIRES[0], String::new()),
            |body| {
                (body["messages"][0]["role"] == "system")
                    .then(|| ("500 Internal Server Error", error("Conversation roles must alternate; System role not supported")))
            },
            2,
        ),
        (
            "no streaming",
            request(WIRES[0], String::new()),
            |body| (body["stream"] == true).then(|| ("400 Bad Request", error("Your organization must be verified to stream this model."))),
            2,
        ),
        (
            "the o-series: another name for the bound",
            bounded.clone(),
            |body| {
                body.get("max_tokens").map(|_| {
                    (
                        "400 Bad Request",
                        error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
                    )
                })
            },
            2,
        ),
        (
            "a bound that flow added is too high",
            by_flow,
            |body| {
                (body.get("max_tokens").is_some() || body.get("max_completion_tokens").is_some())
                    .then(|| ("400 Bad Request", error("max_tokens (or max_completion_tokens) is too large")))
            },
            3,
        ),
        (
            "no strict schemas",
            structured(WIRES[0]),
            |body| body["response_format"]["json_schema"].get("strict").map(|_| ("400 Bad Request", error("unknown field `strict`"))),
            2,
        ),
        (
            "a thinking model that cannot be forced",
            structured(WIRES[1]),
            |body| {
                body.get("tool_choice").map(|_| ("400 Bad Request", error("Thinking may not be enabled when tool_choice forces tool use.")))
            },
            2,
        ),
        (
            "responses without formats",
            structured(WIRES[2]),
            |body| {
                (body["text"]["format"]["type"] == "json_schema")
                    .then(|| ("400 Bad Request", error("Unsupported: text.format of type json_schema")))
            },
            2,
        ),
    ];
    for (name, request, rejects, requests) in cases {
        let (bodies, outcome) = against(request.clone(), rejects).await;
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        assert_eq!(bodies.len(), requests, "{name}");
        let last = bodies.last().unwrap().to_string();
        assert!(request.schema.is_none() || last.contains("additionalProperties"), "{name}: the schema is told in words: {last}");
        assert!(last.contains("Be brief.") && last.contains("Hello"), "{name}");
    }
}

#[tokio::test]
async fn what_an_author_wrote_and_what_no_error_names_is_not_left_out() {
    let bounded = ModelRequest { max_output_tokens: Some(50), temperature: Some(0.5), ..request(WIRES[0], String::new()) };
    for said in
        ["temperature is not supported", "max_tokens and max_completion_tokens are not supported", "upstream failed", "this is restricted"]
    {
        let (bodies, outcome) = against(bounded.clone(), move |_| Some(("400 Bad Request", error(said)))).await;
        assert_eq!(outcome.unwrap_err().kind, FailureKind::BadRequest, "{said}");
        assert!(bodies.iter().all(|body| body["temperature"] == 0.5 && (body["max_tokens"] == 50 || body["max_completion_tokens"] == 50)));
    }
    // A server error and a rejected key are no rejection of a part, whatever their text says.
    for status in ["500 Internal Server Error", "401 Unauthorized", "429 Too Many Requests", "503 Service Unavailable"] {
        let (bodies, _) = against(structured(WIRES[0]), move |_| Some((status, error("stream: response_format, stream_options")))).await;
        assert_eq!(bodies.len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_rejection_is_remembered_for_the_endpoint_and_the_model_once_it_helped() {
    let make = |text: &str| match text.contains("stream_options") {
        true => answer("400 Bad Request", &[("connection", "close")], "unknown key stream_options"),
        false => stream(good(WIRES[0])),
    };
    let server = Faultd::start(vec![FaultAct::Reply(Arc::new(make)), FaultAct::Close]).await;
    let client = client(small());
    for (model, requests) in [("m", 2), ("m", 3), ("other", 5)] {
        client.call(ModelRequest { model: model.to_owned(), ..request(WIRES[0], server.url()) }).await.unwrap();
        assert_eq!(server.requests().len(), requests, "{model}");
    }
}

#[tokio::test]
async fn a_file_decides_what_is_left_out_and_what_is_added() {
    let with = |endpoint: EndpointOptions| ModelRequest { endpoint, ..request(WIRES[0], "/v1".to_owned()) };
    let header = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
    let (head, body) = sent(with(EndpointOptions {
        headers: vec![header("X-Title", "flow"), header("Authorization", "Token abc")],
        query: "api-version=2024-10-21&x=a%20b".to_owned(),
        extra: json!({ "top_k": 5, "chat_template_kwargs": { "enable_thinking": false } }).as_object().unwrap().clone(),
        omit: Some(vec![Addition::StreamOptions, Addition::SystemRole]),
        ..EndpointOptions::default()
    }))
    .await;
    assert!(head.starts_with("post /v1/chat/completions?api-version=2024-10-21&x=a%20b "), "{head}");
    assert!(head.contains("x-title: flow") && head.contains("authorization: token abc") && !head.contains("canary"), "{head}");
    assert_eq!((&body["top_k"], &body["chat_template_kwargs"]["enable_thinking"]), (&json!(5), &json!(false)));
    assert_eq!((body.get("stream_options"), &body["messages"]), (None, &json!([{ "role": "user", "content": "Be brief.\n\nHello" }])));
    // What is known of a family holds unless the file says otherwise.
    let at = |host: &str, omit: Option<Vec<Addition>>| ModelRequest {
        endpoint: EndpointOptions { omit, ..EndpointOptions::default() },
        base_url: format!("https://{host}/v1"),
        ..structured(WIRES[0])
    };
    assert_eq!(written(&at("api.deepseek.com", None)).body["response_format"], json!({ "type": "json_object" }));
    assert_eq!(written(&at("api.deepseek.com", Some(vec![]))).body["response_format"]["type"], "json_schema");
    assert!(written(&at("api.mistral.ai", None)).body.get("stream_options").is_none());
    let azure = written(&at("x.openai.azure.com", None)).headers;
    assert!(azure.iter().any(|(name, value)| name == "api-key" && value.reveal() == "sk-canary-1"));
}

#[test]
fn reasoning_is_written_as_each_family_has_it() {
    let keys = ["reasoning_effort", "thinking", "reasoning", "extra_body", "enable_thinking", "thinking_budget", "chat_template_kwargs"];
    let body = |wire: WireFormat, base_url: &str, reasoning: Reasoning| {
        let endpoint = EndpointOptions { reasoning: Some(reasoning), ..EndpointOptions::default() };
        let request = ModelRequest { endpoint, ..request(wire, base_url.to_owned()) };
        let dialect = Dialect::from_request(&request, &Rejected::default());
        let mut body = json!({});
        dialect.complete(&mut body, &request).map(|()| body).map_err(|failure| failure.message)
    };
    let (off, low, most) = (Reasoning::Off, Reasoning::Effort(Effort::Low), Reasoning::Budget(4096));
    let chat = |host: &str, reasoning| body(WIRES[0], &format!("https://{host}/v1"), reasoning);
    for (host, reasoning, expected) in [
        ("api.openai.com", low, json!({ "reasoning_effort": "low" })),
        ("api.openai.com", off, json!({ "reasoning_effort": "none" })),
        ("api.deepseek.com", off, json!({ "thinking": { "type": "disabled" } })),
        ("api.deepseek.com", low, json!({ "thinking": { "type": "enabled" } })),
        ("openrouter.ai", most, json!({ "reasoning": { "max_tokens": 4096 } })),
        ("openrouter.ai", off, json!({ "reasoning": { "enabled": false } })),
        (
            "generativelanguage.googleapis.com",
            most,
            json!({ "extra_body": { "google": { "thinking_config": { "thinking_budget": 4096 } } } }),
        ),
        ("dashscope.aliyuncs.com", most, json!({ "enable_thinking": true, "thinking_budget": 4096 })),
        ("my.host.example", low, json!({ "reasoning_effort": "low" })),
        ("my.host.example", off, json!({ "reasoning_effort": "none", "chat_template_kwargs": { "enable_thinking": false } })),
    ] {
        assert_eq!(chat(host, reasoning).unwrap(), expected, "{host}");
        assert!(expected.as_object().unwrap().keys().all(|key| keys.contains(&key.as_str())));
    }
    assert_eq!(body(WIRES[2], "https://api.openai.com/v1", low).unwrap(), json!({ "reasoning": { "effort": "low" } }));
    for (wire, host) in [(WIRES[0], "api.openai.com"), (WIRES[0], "my.host.example"), (WIRES[2], "api.openai.com")] {
        assert!(body(wire, &format!("https://{host}/v1"), most).unwrap_err().contains("takes no number of tokens"));
    }
}

#[test]
fn thoughts_of_the_messages_format_are_a_part_of_its_bound() {
    let asked = |reasoning, most| {
        let endpoint = EndpointOptions { reasoning: Some(reasoning), ..EndpointOptions::default() };
        let request = ModelRequest { endpoint, max_output_tokens: most, ..structured(WIRES[1]) };
        let dialect = Dialect::from_request(&request, &Rejected::default());
        anthropic::call(&request, &dialect, &Pictures::default()).map(|call| call.body)
    };
    let body = asked(Reasoning::Budget(2_000), None).unwrap();
    assert_eq!((&body["thinking"]["budget_tokens"], &body["max_tokens"]), (&json!(2_000), &json!(6_096)));
    assert!(body.get("tool_choice").is_none() && body["system"].as_str().unwrap().contains("JSON Schema"));
    let body = asked(Reasoning::Effort(Effort::High), Some(8_000)).unwrap();
    assert_eq!((&body["thinking"]["budget_tokens"], &body["max_tokens"]), (&json!(4_000), &json!(8_000)));
    assert_eq!(asked(Reasoning::Off, None).unwrap()["thinking"], json!({ "type": "disabled" }));
    for (reasoning, most) in
        [(Reasoning::Budget(2_000), Some(2_000)), (Reasoning::Effort(Effort::Low), Some(1_500)), (Reasoning::Budget(10), None)]
    {
        assert_eq!(asked(reasoning, most).err().unwrap().kind, FailureKind::BadRequest);
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_fit_the_window_is_not_sent() {
    let long = message(MessageRole::User, &"word ".repeat(300));
    let endpoint = EndpointOptions { context: Some(299), service: Some(crate::model::Service::Ollama), ..EndpointOptions::default() };
    let too_long = ModelRequest { messages: shared([long]), endpoint, ..request(WIRES[0], String::new()) };
    let (bodies, outcome) = against(too_long.clone(), |_| None).await;
    assert!(bodies.is_empty() && outcome.unwrap_err().kind == FailureKind::TooLarge);
    let endpoint = EndpointOptions { context: Some(4096), ..too_long.endpoint.clone() };
    assert_eq!(written(&ModelRequest { endpoint, ..too_long }).body["options"], json!({ "num_ctx": 4096 }));
}

#[test]
fn each_family_is_known_by_its_hosts_and_no_other() {
    use crate::model::Service;
    let name = |url: &str, service| dialect::family(url, service).map(|family| family.name.as_str());
    assert!(dialect::families().len() >= 10, "families.json is read");
    assert_eq!(name("https://api.deepseek.com/anthropic", None), Some("DeepSeek"));
    assert_eq!(name("https://API.deepseek.com:443/v1", None), Some("DeepSeek"));
    assert_eq!(name("https://a.b.openai.azure.com/x", None), Some("Azure OpenAI"));
    assert_eq!(name("http://127.0.0.1:1/openai/deployments/gpt", None), Some("Azure OpenAI"));
    assert_eq!(name("http://127.0.0.1:1/v1", Some(Service::Ollama)), Some("Ollama"));
    for other in
        ["https://api.deepseek.com.evil.example/v1", "https://evil-api.mistral.ai.example", "http://127.0.0.1:1/v1", "openai.azure.com"]
    {
        assert_eq!(name(other, Some(Service::OpenAi)), None, "{other}");
    }
}
