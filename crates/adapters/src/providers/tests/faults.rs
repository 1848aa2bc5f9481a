//! Every row of the fault table.

use super::*;

#[tokio::test]
async fn a_stream_is_read_however_it_is_cut_into_pieces() {
    for wire in WIRES {
        assert_eq!(streamed(wire, good(wire)).await.unwrap(), good_reply());
        let noisy = format!(": hello\r\n\r\n{}", good(wire).replace('\n', "\r\n").replace("\r\n\r\n", "\r\n: still here\r\n\r\n"));
        assert_eq!(streamed(wire, &noisy).await.unwrap(), good_reply());
        for size in [1, 2, 3, 7] {
            assert_eq!(play(wire, vec![FaultAct::Trickle(stream(&noisy), size), FaultAct::Close]).await.unwrap(), good_reply());
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_before_its_last_word_is_no_answer() {
    let client = client(small());
    for (wire, last_word) in
        WIRES.into_iter().zip(["\"finish_reason\":\"stop\"}]}", "\"usage\":{\"output_tokens\":3}}", "\"total_tokens\":10}}}"])
    {
        let whole = stream(good(wire));
        let last_word = String::from_utf8_lossy(&whole).rfind(last_word).unwrap() + last_word.len();
        for cut in 0..whole.len() {
            match play_to(&client, wire, vec![FaultAct::Send(whole[..cut].to_vec()), FaultAct::Close]).await {
                // What follows says nothing about the answer.
                Ok(reply) => assert!(cut >= last_word && reply.text == "Grün 🎈", "{wire:?} {cut}: {reply:?}"),
                Err(failure) => {
                    assert!(cut < last_word, "{wire:?} {cut}: {failure:?}");
                    assert!(
                        matches!(failure.kind, FailureKind::BadResponse | FailureKind::Connection | FailureKind::WrongType),
                        "{failure:?}"
                    );
                    assert!(!failure.message.contains("Grün"), "{}", failure.message);
                }
            }
        }
    }
}

#[tokio::test]
async fn one_json_object_is_read_where_the_stream_was_asked_for_and_cut_at_any_byte_is_no_answer() {
    let objects = [
        json!({ "model": "m-1", "choices": [{ "message": { "content": "Grün 🎈" }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 7, "completion_tokens": 3 } }),
        json!({ "type": "message", "model": "m-1", "content": [{ "type": "text", "text": "Grün 🎈" }], "stop_reason": "end_turn",
                "usage": { "input_tokens": 7, "output_tokens": 3 } }),
        json!({ "object": "response", "status": "completed", "model": "m-1", "output": [said("Grün 🎈")],
                "usage": { "input_tokens": 7, "output_tokens": 3 } }),
    ];
    let client = client(small());
    for (wire, object) in WIRES.into_iter().zip(objects) {
        let text = object.to_string();
        let whole = |body: &[u8]| vec![FaultAct::Send(answer("200 OK", &[("content-type", "application/json")], body))];
        assert_eq!(play(wire, whole(text.as_bytes())).await.unwrap(), good_reply());
        for cut in 0..text.len() {
            assert_eq!(play_to(&client, wire, whole(&text.as_bytes()[..cut])).await.unwrap_err().kind, FailureKind::BadResponse, "{cut}");
        }
    }
}

#[tokio::test]
async fn broken_streams_are_bad_responses_and_foreign_ones_are_not_asked_for_again() {
    let done = "data: [DONE]\n\n";
    let block = ("text", json!({ "type": "text", "text": "" }), vec![text_delta("a")]);
    let blocks = messages(std::slice::from_ref(&block), json!("end_turn"));
    for (wire, body) in [
        (WIRES[0], String::new()),
        (WIRES[0], done.to_owned()),
        (WIRES[0], good(WIRES[0]).replace("\"stop\"", "null")),
        (WIRES[0], good(WIRES[0]).replace("Grün", "Gr\u{0}n")),
        (WIRES[0], good(WIRES[0]).replace("Grün", "Gr\\u0000n")),
        (WIRES[0], good(WIRES[0]).replace("Grün", "Gr\\ud800n")),
        (WIRES[0], format!("data: {{}}\n\n{done}")),
        (WIRES[0], format!("data: {{\"choices\": [\n\n{done}")),
        (WIRES[0], chat(&[], "tool_calls")),
        (WIRES[1], String::new()),
        (WIRES[1], event(&json!({ "type": "message_stop" }))),
        (WIRES[1], event(&json!({ "type": "content_block_start", "index": 0, "content_block": block.1 }))),
        (WIRES[1], blocks.replace("\"end_turn\"", "null")),
        (WIRES[1], blocks.replace("end_turn", "tool_use")),
        (WIRES[1], blocks.replace("text_delta", "input_json_delta")),
        (WIRES[1], blocks.replacen("\"index\":0", "\"index\":1", 1)),
        (WIRES[1], blocks.replace("\"text\":\"a\"", "\"text\":\"a\\u0000\"")),
        (WIRES[2], String::new()),
        (WIRES[2], good(WIRES[2]).replace("\"response.completed\"", "\"response.sleepy\"")),
        (WIRES[2], good(WIRES[2]).replace("Grün", "Gr\\u0000n")),
    ] {
        let failure = streamed(wire, &body).await.expect_err(&body);
        assert_eq!(failure.kind, FailureKind::BadResponse, "{body}\n{}", failure.message);
    }
    for (wire, body) in [
        (WIRES[0], good(WIRES[0]).replace("\"stop\"", "7")),
        (WIRES[0], good(WIRES[0]).replace("\"Grün\"", "[1]")),
        (WIRES[0], good(WIRES[0]).replace("\"index\":0", "\"index\":1")),
        (WIRES[0], format!("data: 7\n\n{done}")),
        (WIRES[0], chat(&[json!({ "content": "part" })], "sleepy")),
        (WIRES[1], blocks.replace("content_block_stop", "content_block_start")),
        (WIRES[1], blocks.replace("end_turn", "pause_turn")),
        (WIRES[2], good(WIRES[2]).replace("\"status\":\"completed\"", "\"status\":\"sleepy\"")),
        (WIRES[2], good(WIRES[2]).replace("\"status\":\"completed\"", "\"status\":null")),
        (WIRES[2], good(WIRES[2]).replace("\"response\":", "\"answer\":")),
        (WIRES[2], good(WIRES[2]).replace("\"output\":", "\"text\":")),
        (WIRES[2], good(WIRES[2]).replace("\"type\":\"reasoning\"", "\"type\":null")),
        (WIRES[2], response(json!([]), "incomplete")),
        (WIRES[2], event(&json!({ "type": "response.output_text.delta", "delta": 7 }))),
    ] {
        let failure = streamed(wire, &body).await.expect_err(&body);
        assert_eq!(failure.kind, FailureKind::WrongType, "{body}\n{}", failure.message);
    }
    for wire in WIRES {
        let invalid = [b"data: \xff\n\n", good(wire).as_bytes()].concat();
        assert_eq!(streamed(wire, invalid).await.unwrap_err().kind, FailureKind::BadResponse);
    }
}

#[tokio::test]
async fn how_an_answer_ended_decides_its_class() {
    let part = json!({ "content": "part" });
    let block = |stop: &str| messages(&[("text", json!({ "type": "text", "text": "part" }), vec![])], json!(stop));
    for (wire, body, expected) in [
        (WIRES[0], chat(std::slice::from_ref(&part), "length"), FailureKind::Truncated),
        (WIRES[0], chat(std::slice::from_ref(&part), "content_filter"), FailureKind::Refused),
        (WIRES[0], chat(&[json!({ "refusal": "I cannot." })], "stop"), FailureKind::Refused),
        (WIRES[1], block("max_tokens"), FailureKind::Truncated),
        (WIRES[1], block("model_context_window_exceeded"), FailureKind::Truncated),
        (WIRES[1], block("refusal"), FailureKind::Refused),
    ] {
        let failure = streamed(wire, body).await.unwrap_err();
        assert_eq!(failure.kind, expected);
        assert!(!failure.message.contains("part"), "{}", failure.message);
    }
    assert_eq!(streamed(WIRES[1], block("stop_sequence")).await.unwrap().text, "part");
}

#[tokio::test]
async fn an_error_before_the_first_word_keeps_its_class() {
    for (wire, error, expected) in [
        (WIRES[0], json!({ "error": { "message": "slow down", "code": 429 } }), FailureKind::RateLimited),
        (WIRES[0], json!({ "error": { "message": "no key", "code": "invalid_api_key" } }), FailureKind::Auth),
        (WIRES[0], json!({ "error": "boom" }), FailureKind::ServerError),
        (WIRES[1], json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } }), FailureKind::ServerError),
        (WIRES[1], json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } }), FailureKind::BadRequest),
    ] {
        assert_eq!(streamed(wire, format!("data: {error}\n\n")).await.unwrap_err().kind, expected, "{error}");
        let whole = vec![FaultAct::Send(answer("200 OK", &[("content-type", "application/json")], error.to_string()))];
        assert_eq!(play(wire, whole).await.unwrap_err().kind, expected, "{error}");
    }
}

#[tokio::test]
async fn statuses_redirects_and_foreign_content_have_their_class() {
    for wire in WIRES {
        for (status, expected) in [
            ("400 Bad Request", FailureKind::BadRequest),
            ("401 Unauthorized", FailureKind::Auth),
            ("404 Not Found", FailureKind::BadRequest),
            ("408 Request Timeout", FailureKind::ServerError),
            ("302 Found", FailureKind::Blocked),
            ("304 Not Modified", FailureKind::BadResponse),
            ("429 Too Many Requests", FailureKind::RateLimited),
            ("529 Overloaded", FailureKind::ServerError),
        ] {
            let script =
                vec![FaultAct::Send(answer(status, &[("location", "http://127.0.0.1:1/"), ("retry-after", "3")], "")), FaultAct::Close];
            let failure = play(wire, script).await.unwrap_err();
            assert_eq!(failure.kind, expected, "{status}");
            let waits = matches!(expected, FailureKind::RateLimited | FailureKind::ServerError);
            assert_eq!(failure.retry_after_ms, waits.then_some(3_000), "{status}");
        }
        for content_type in ["text/html; charset=utf-8", "text/plain", "application/octet-stream"] {
            let script = vec![FaultAct::Send(answer("200 OK", &[("content-type", content_type)], "<html>"))];
            let failure = play(wire, script).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::WrongType);
            assert!(failure.message.contains("base_url"), "{}", failure.message);
        }
        assert_eq!(play(wire, vec![FaultAct::Send(answer("200 OK", &[], ""))]).await.unwrap_err().kind, FailureKind::WrongType);
        assert_eq!(play(wire, vec![FaultAct::Reset]).await.unwrap_err().kind, FailureKind::Connection);
    }
}

#[tokio::test]
async fn silence_ends_an_attempt_whose_time_nobody_wrote_and_comments_and_pings_are_life() {
    let hasty = |silence: bool, wire, server: &Faultd| ModelRequest {
        timeout: Duration::from_millis(600),
        silence: silence.then_some(Duration::from_millis(150)),
        ..request(wire, server.url())
    };
    for (wire, noise) in [(WIRES[0], ": still here\n\n"), (WIRES[1], ": x\n"), (WIRES[1], "event: ping\ndata: {\"type\": \"ping\"}\n\n")] {
        let script = vec![FaultAct::Send(stream("")), FaultAct::Forever(noise.as_bytes().to_vec(), Duration::from_millis(10))];
        let mut server = Faultd::start(script).await;
        let failure = call(hasty(true, wire, &server)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.message.contains("did not finish its answer within 600 ms"), "{}", failure.message);
        server.gone().await;
    }
    for wire in WIRES {
        let half = good(wire).as_bytes()[..200].to_vec();
        for (script, told) in [(vec![FaultAct::Send(stream(half))], "sent nothing for 150 ms"), (vec![], "gave no answer within 150 ms")] {
            let server = Faultd::start([script.clone(), vec![FaultAct::Stall]].concat()).await;
            let failure = call(hasty(true, wire, &server)).await.unwrap_err();
            assert!(failure.kind == FailureKind::Timeout && failure.message.contains(told), "{}", failure.message);
            let server = Faultd::start([script, vec![FaultAct::Stall]].concat()).await;
            let failure = call(hasty(false, wire, &server)).await.unwrap_err();
            assert!(failure.message.contains("did not finish its answer within 600 ms"), "{}", failure.message);
        }
    }
}

#[tokio::test]
async fn an_answer_without_end_stops_at_the_timeout_or_the_cap() {
    let word = format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": { "content": "word " } }] }));
    let slow = vec![FaultAct::Send(stream("")), FaultAct::Forever(word.clone().into_bytes(), Duration::from_millis(20))];
    let server = Faultd::start(slow).await;
    let failure = call(ModelRequest { timeout: Duration::from_millis(300), ..request(WIRES[0], server.url()) }).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("did not finish"), "{}", failure.message);

    for noise in [word, ": x\n".to_owned(), "\n".to_owned(), "data: x".repeat(100)] {
        let flood = vec![FaultAct::Send(stream("")), FaultAct::Forever(noise.repeat(1000).into_bytes(), Duration::ZERO)];
        assert_eq!(play(WIRES[0], flood).await.unwrap_err().kind, FailureKind::TooLarge, "{noise}");
    }
}

#[tokio::test]
async fn an_echoed_key_is_not_shown_wherever_it_comes_from() {
    let echo = json!({ "error": { "message": "key sk-canary-1 is wrong" } }).to_string();
    for wire in WIRES {
        let refused = vec![FaultAct::Send(answer("401 No", &[("content-type", "application/json")], &echo))];
        let in_stream = vec![FaultAct::Send(stream(format!("event: error\ndata: {echo}\n\n"))), FaultAct::Close];
        let to = vec![FaultAct::Send(answer("302 Go", &[("location", "http://x/?k=sk-canary-1")], ""))];
        let kind = vec![FaultAct::Send(answer("200 OK", &[("content-type", "text/sk-canary-1")], ""))];
        for script in [refused, in_stream, to, kind] {
            let message = play(wire, script).await.unwrap_err().message;
            assert!(message.contains("***") && !message.contains("canary"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_key_that_an_endpoint_puts_into_its_answer_stands_in_no_part_of_it() {
    let (key, base64, hex) = ("sk-canary-1", "c2stY2FuYXJ5LTE", "736b2d63616e6172792d31");
    let pieces: Vec<Value> = format!("{key} {base64}= {hex}").chars().map(|c| json!({ "content": c.to_string() })).collect();
    let asked =
        json!({ "tool_calls": [{ "index": 0, "id": key, "function": { "name": key, "arguments": json!({ key: [key] }).to_string() } }] });
    let named = |text: String| text.replace("m-1", key);
    for script in [named(chat(&pieces, "stop")), named(chat(&[asked], "tool_calls"))] {
        let reply = streamed(WireFormat::OpenAiChat, script).await.unwrap();
        let told = format!("{reply:?}");
        assert!(told.contains("***") && [key, base64, hex].iter().all(|form| !told.contains(form)), "{told}");
    }
    let reply = streamed(WireFormat::AnthropicMessages, good(WireFormat::AnthropicMessages).replace("Grün", key)).await.unwrap();
    assert_eq!(reply.text, "*** 🎈");
    let server = Faultd::start(vec![FaultAct::Send(stream(good(WireFormat::OpenAiChat)))]).await;
    let no_key = ModelRequest { api_key: Some(Secret::new("Grün")), ..request(WireFormat::OpenAiChat, server.url()) };
    assert_eq!(call(no_key).await.unwrap().text, "Grün 🎈", "a word that stands in for a key hides nothing");
}

#[tokio::test]
async fn a_key_with_a_line_break_is_refused_before_it_is_sent() {
    for wire in WIRES {
        let server = Faultd::start(vec![]).await;
        let with = ModelRequest { api_key: Some(Secret::new("sk-canary-1\r\nx-evil: 1")), ..request(wire, server.url()) };
        let failure = call(with).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadRequest);
        assert!(!failure.message.contains("canary"));
        assert_eq!(server.connections(), 0);
    }
}

#[tokio::test]
async fn streams_use_their_connection_again() {
    for wire in WIRES {
        let body = good(wire);
        let chunked = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
            body.len()
        );
        let server = Faultd::start(vec![FaultAct::Send(chunked.into_bytes()), FaultAct::Send(b"0\r\n\r\n".to_vec())]).await;
        let client = client(small());
        for _ in 0..5 {
            assert_eq!(client.call(request(wire, server.url())).await.unwrap(), good_reply());
        }
        assert_eq!((server.connections(), server.requests().len()), (1, 5));
    }
}

#[tokio::test]
async fn json_of_too_many_values_is_too_large() {
    let many = format!("{{\"choices\": [{}1]}}", "1,".repeat(450_000));
    let server = Faultd::answering("200 OK", "application/json", many).await;
    let failure = client(HttpSettings::default()).call(request(WIRES[0], server.url())).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge, "{}", failure.message);
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let mut server = Faultd::start(vec![FaultAct::Send(stream(": x\n")), FaultAct::Stall]).await;
    let client = HttpModelClient::new(Http::new(HttpSettings::default(), Arc::new(StoppedClock)), Arc::default());
    let mut pending = client.call(request(WIRES[0], server.url()));
    while server.requests().is_empty() {
        let _ = tokio::time::timeout(Duration::from_millis(5), &mut pending).await;
    }
    drop(pending);
    server.gone().await;
}

#[tokio::test]
async fn a_kept_connection_that_is_dead_costs_no_try() {
    let whole = json!({ "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] }).to_string();
    let whole = answer("200 OK", &[("content-type", "application/json")], whole);
    let client = client(small());
    let server = Faultd::start(vec![FaultAct::Send(whole), FaultAct::CloseOnNext]).await;
    for round in 1..4 {
        assert_eq!(client.call(request(WIRES[0], server.url())).await.expect("the server answers each new connection").text, "Hi");
        assert_eq!((server.requests().len(), server.connections()), (round, round));
    }
    // A new connection that ends without an answer is a failure, and nothing is sent twice.
    let closing = Faultd::start(vec![FaultAct::Close]).await;
    for round in 1..3 {
        let failure = client.call(request(WIRES[0], closing.url())).await.unwrap_err();
        assert_eq!((failure.kind, closing.requests().len()), (FailureKind::Connection, round), "{}", failure.message);
    }
}

#[tokio::test]
async fn tokens_of_an_answer_that_is_of_no_use_are_told_and_whose_bound_cut_it() {
    let whole = |reason: &str| {
        let choices = json!([{ "message": { "content": "Hi" }, "finish_reason": reason }]);
        json!({ "choices": choices, "usage": { "prompt_tokens": 7, "completion_tokens": 9 } }).to_string()
    };
    let told = async |reason: &str, most: Option<u64>, bounded_as| {
        let server = Faultd::answering("200 OK", "application/json", whole(reason)).await;
        call(ModelRequest { max_output_tokens: most, bounded_as, ..request(WIRES[0], server.url()) }).await.unwrap_err()
    };
    for (reason, most, bounded_as, words) in [
        ("length", Some(9), None, "max_output_tokens: 9"),
        ("length", Some(9), Some("a plan"), "a plan was cut at flow's default limit of 9 tokens"),
        ("length", Some(90), Some("a plan"), "cut its answer after 9 tokens, at a limit of its own"),
        ("content_filter", Some(9), Some("a plan"), "content filter"),
    ] {
        let failure = told(reason, most, bounded_as).await;
        assert!(failure.message.contains(words), "{}", failure.message);
        assert_eq!(failure.tokens, Some((7, 9)), "{reason}");
    }
}
