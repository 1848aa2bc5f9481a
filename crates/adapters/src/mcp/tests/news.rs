//! What web servers tell of their own accord: a stream that is beside the calls.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::web::*;
use super::*;
use crate::event::FailureKind;

/// A server of the old or the new version whose tools are others once `change` was called.
struct Changing {
    url: String,
    seen: Arc<Mutex<Vec<Heard>>>,
    news: News,
    tools_now: Arc<AtomicUsize>,
}

impl Changing {
    /// `stands`: the answer to who asks for the stream.
    async fn start(is_old: bool, stands: impl Fn() -> String + Send + 'static) -> Changing {
        let tools_now = Arc::new(AtomicUsize::new(0));
        let told_now = Arc::clone(&tools_now);
        let answer: Answer = Box::new(move |heard| match heard.body["method"].as_str() {
            Some("server/discover") if is_old => http("400 Bad Request", "", "no session"),
            Some("server/discover") => {
                json_answer(heard, &json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } } }))
            }
            Some("initialize") => {
                let capabilities = json!({ "tools": { "listChanged": true } });
                let result =
                    json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": { "name": "s", "version": "1" } });
                json_answer(heard, &result).replacen("\r\n", "\r\nmcp-session-id: s1\r\n", 1)
            }
            Some("tools/list") => {
                let description = format!("Version {}.", told_now.load(Ordering::SeqCst));
                let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
                json_answer(heard, &json!({ "tools": [{ "name": "echo", "description": description, "inputSchema": schema }] }))
            }
            Some("tools/call") => json_answer(heard, &told("hi")),
            Some("subscriptions/listen") => stands(),
            None if heard.method == "GET" => stands(),
            _ => http("202 Accepted", "", ""),
        });
        let news = News::default();
        let (url, seen) = serve_with(answer, news.clone()).await;
        Changing { url, seen, news, tools_now }
    }

    /// The tools are others now, and whoever listens hears it.
    fn change(&self) {
        self.tools_now.fetch_add(1, Ordering::SeqCst);
        self.news.say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    }

    fn count(&self, what: impl Fn(&Heard) -> bool) -> usize {
        self.seen.lock().unwrap().iter().filter(|heard| what(heard)).count()
    }
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn changes(world: &World, server: &ToolServer) -> u64 {
    world.servers.session(server).await.map(|(session, _)| session.inbox().changes()).unwrap_or_else(|_| panic!("it is there"))
}

#[test]
fn a_change_that_is_told_on_the_stream_stops_the_next_call_until_it_is_accepted() {
    for is_old in [true, false] {
        run(async {
            let changing = Changing::start(is_old, || standing("")).await;
            let world = World::new();
            let server = world.web(&changing.url);
            let first = world.list(&server).await.unwrap();
            assert_eq!(world.call(&server, &first, "x", LONG).await.unwrap().value, text("hi"));
            until(|| changing.news.listeners() == 1).await;
            changing.change();
            while changes(&world, &server).await == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let failure = world.call(&server, &first, "x", LONG).await.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Denied, "{}", failure.message);
            assert!(failure.message.contains("has changed since the server listed its tools"), "{}", failure.message);
            assert_eq!(changing.count(|heard| heard.is("tools/call")), 1);
            let second = world.list(&server).await.unwrap();
            assert!(second.changed["echo"].contains("+ \"description\": \"Version 1.\""), "{:?}", second.changed);
            // It is looked at and accepted.
            let look = world.servers.look(&server).await.unwrap();
            let mut pins = crate::mcp::pins::Pins::read(world.home.path()).unwrap();
            pins.pin(&server.identity, &look.said);
            pins.write(world.home.path()).unwrap();
            let third = world.list(&server).await.unwrap();
            assert!(third.changed.is_empty());
            assert_eq!(world.call(&server, &third, "x", LONG).await.unwrap().value, text("hi"));
            // In the old version it is a GET of the same session; in the new one a request of its own.
            let asked = |heard: &Heard| match is_old {
                true => heard.method == "GET" && heard.has("mcp-session-id: s1") && heard.has("authorization: bearer canary-5150"),
                false => heard.is("subscriptions/listen") && heard.body["params"]["notifications"]["toolsListChanged"] == true,
            };
            assert_eq!(changing.count(asked), 1);
            world.close().await;
            until(|| changing.news.listeners() == 0).await;
        });
    }
}

#[test]
fn a_server_without_a_stream_is_asked_for_none_again_and_works_as_before() {
    run(async {
        for refusal in ["405 Method Not Allowed", "404 Not Found"] {
            let changing = Changing::start(true, move || http(refusal, "", "")).await;
            let world = World::new();
            let server = world.web(&changing.url);
            assert_eq!(world.echo(&server, "x", LONG).await.unwrap().value, text("hi"));
            until(|| changing.count(|heard| heard.method == "GET") == 1).await;
            assert_eq!(world.echo(&server, "x", LONG).await.unwrap().value, text("hi"));
            assert_eq!(changing.count(|heard| heard.method == "GET"), 1);
            world.close().await;
        }
    });
}

#[test]
fn a_stream_that_breaks_off_is_taken_up_where_it_was_and_the_tools_are_asked_for_anew() {
    run(async {
        let changing =
            Changing::start(true, || events("retry: 100\nid: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"))
                .await;
        let world = World::new();
        let server = world.web(&changing.url);
        let list = world.list(&server).await.unwrap();
        until(|| changing.count(|heard| heard.method == "GET" && heard.has("last-event-id: 7")) == 1).await;
        assert_eq!(world.call(&server, &list, "x", LONG).await.unwrap().value, text("hi"));
        assert_eq!(changing.count(|heard| heard.is("tools/list")), 2);
        world.close().await;
    });
}

#[test]
fn a_server_that_floods_its_stream_is_given_up_and_begun_anew() {
    run(async {
        let message = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
        let flood = message.repeat(1_100);
        let is_first = std::sync::atomic::AtomicBool::new(true);
        let changing =
            Changing::start(true, move || if is_first.swap(false, Ordering::SeqCst) { events(&flood) } else { standing("") }).await;
        let world = World::new();
        let server = world.web(&changing.url);
        let first = world.servers.session(&server).await.ok().unwrap().0;
        until(|| !first.link.is_open()).await;
        let closed = first.inbox().closed().unwrap();
        assert!(closed.message.contains("more than 1000 unexpected messages"), "{}", closed.message);
        assert!(world.list(&server).await.is_ok());
        assert_eq!(changing.count(|heard| heard.is("initialize")), 2);
        world.close().await;
    });
}

#[test]
fn a_server_asks_on_its_stream_and_is_refused() {
    run(async {
        let ask = "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\"}\n\n";
        let changing = Changing::start(true, move || standing(ask)).await;
        let world = World::new();
        let server = world.web(&changing.url);
        let mut notes = world.list(&server).await.unwrap().notes;
        until(|| changing.count(|heard| heard.body["id"] == "q" && heard.body["error"]["code"] == -32601) == 1).await;
        notes.extend(world.list(&server).await.unwrap().notes);
        assert!(notes.contains(&"it requested sampling/createMessage; rejected".to_owned()), "{notes:?}");
        world.close().await;
    });
}

#[test]
fn progress_on_the_stream_of_a_call_is_told_when_its_time_is_over() {
    run(async {
        let answer: Answer = Box::new(|heard| match heard.body["method"].as_str() {
            Some("server/discover") => json_answer(heard, &json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })),
            Some("tools/list") => json_answer(heard, &json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })),
            _ => {
                let token = &heard.body["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": 3, "total": 10, "message": "copying" });
                let other = json!({ "progressToken": 999, "progress": 9 });
                let told = |params: &Value| format!("data: {}\n\n", json!({ "method": "notifications/progress", "params": params }));
                standing(&(told(&params) + &told(&other)))
            }
        });
        let (url, _) = serve_with(answer, News::default()).await;
        let world = World::new();
        let failure = world.echo(&world.web(&url), "x", SHORT).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::UnknownOutcome);
        assert!(failure.message.contains("its last progress was: 3 of 10 (copying)"), "{}", failure.message);
    });
}

/// A server whose calls tell so often of their progress: as far as their text says. Then they answer, unless the text is `stuck`.
async fn progressing(times: usize) -> String {
    let answer: Answer = Box::new(move |heard| match heard.body["method"].as_str() {
        Some("server/discover") => json_answer(heard, &json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })),
        Some("tools/list") => json_answer(heard, &json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })),
        _ => {
            let text = heard.body["params"]["arguments"]["text"].as_str().unwrap_or_default();
            let token = &heard.body["params"]["_meta"]["progressToken"];
            let params = json!({ "progressToken": token, "progress": text.len(), "message": text });
            let progress = format!("data: {}\n\n", json!({ "method": "notifications/progress", "params": params })).repeat(times);
            let result = json!({ "jsonrpc": "2.0", "id": heard.body["id"], "result": told("hi") });
            if text.starts_with("stuck") { standing(&progress) } else { events(&format!("{progress}data: {result}\n\n")) }
        }
    });
    serve_with(answer, News::default()).await.0
}

#[test]
fn each_call_is_told_its_own_progress_and_not_that_of_another() {
    run(async {
        let (url, world) = (progressing(1).await, World::new());
        let server = world.web(&url);
        let list = world.list(&server).await.unwrap();
        let call = |text: &'static str| world.call(&server, &list, text, SHORT);
        assert!(call("done").await.is_ok());
        for (text, failure) in
            ["stuck", "stuck fast"].into_iter().zip(futures_util::future::join_all(["stuck", "stuck fast"].map(call)).await)
        {
            let message = failure.unwrap_err().message;
            assert!(message.contains(&format!("its last progress was: {} ({text});", text.len())), "{message}");
        }
    });
}

#[test]
fn a_call_may_tell_its_progress_often_and_not_without_end() {
    run(async {
        for (times, is_fine) in [(3_000, true), (150_000, false)] {
            let (url, world) = (progressing(times).await, World::new());
            match world.echo(&world.web(&url), "x", LONG).await {
                Ok(reply) => assert!(is_fine && reply.value == text("hi")),
                Err(failure) => assert!(!is_fine, "{}", failure.message),
            }
        }
    });
}
