//! Tests the server over HTTP with raw bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::{Bounds, Doors, LONGEST_MESSAGE, PATIENCE, serve_http};
use super::{StandIn, alone, hello, request};
use crate::event::Canceller;
use crate::port::Secret;

struct Place {
    address: SocketAddr,
    stop: UnboundedSender<Canceller>,
    begun: UnboundedReceiver<()>,
    work: Arc<StandIn>,
    server: tokio::task::JoinHandle<Option<Canceller>>,
}

async fn place(token: Option<&str>) -> Place {
    patient(token, PATIENCE).await
}

async fn patient(token: Option<&str>, patience: Duration) -> Place {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, mut stopped) = unbounded_channel();
    let (began, begun) = unbounded_channel();
    let work = StandIn::new(Some(began));
    let doors = Doors::new(address, &["flow.example".to_owned()], token.map(Secret::new));
    let served = Arc::clone(&work);
    let bounds = Bounds { running: 2, waiting: 1, patience };
    let server = tokio::spawn(async move { serve_http(served, bounds, listener, doors, &mut stopped).await });
    Place { address, stop, begun, work, server }
}

/// An answer: status, head, body.
type Said = (u16, String, String);

impl Place {
    async fn open(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that rejects a request may close before it has read everything.
        let _ = stream.write_all(body).await;
        stream
    }

    async fn raw(&self, head: &str, body: &[u8]) -> Said {
        said(self.open(head, body).await).await
    }

    fn head(&self, more: &[(&str, &str)]) -> String {
        let mut head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json", self.address);
        for (name, value) in more {
            head.push_str(&format!("\r\n{name}: {value}"));
        }
        head
    }

    async fn post(&self, more: &[(&str, &str)], message: &Value) -> Said {
        self.raw(&self.head(more), message.to_string().as_bytes()).await
    }

    /// Sends a request of the stateless version with the required headers.
    async fn alone(&self, more: &[(&str, &str)], method: &str, params: Value) -> Said {
        let message = alone(1, method, params);
        let name = message["params"]["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend((!name.is_empty()).then_some(("Mcp-Name", name.as_str())));
        headers.extend(more);
        self.post(&headers, &message).await
    }

    async fn end(self) {
        self.stop.send(Canceller::Terminate).unwrap();
        assert_eq!(self.server.await.unwrap(), Some(Canceller::Terminate));
    }
}

async fn said(mut stream: TcpStream) -> Said {
    let mut bytes = vec![];
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_lowercase(), body.to_owned())
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{body}"))
}

const STREAM: (&str, &str) = ("Accept", "application/json, text/event-stream");

#[tokio::test]
async fn only_its_own_names_and_pages_may_ask() {
    let place = place(None).await;
    let port = place.address.port();
    let ping = request(1, "ping", json!({})).to_string();
    let ask = |host: String, more: &'static str| {
        let more = more.replace("PORT", &port.to_string());
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json{more}");
        let (place, ping) = (&place, ping.clone());
        async move { place.raw(&head, ping.as_bytes()).await.0 }
    };
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "flow.example"] {
        assert_eq!(ask(format!("{host}:{port}"), "").await, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1:1", "localhost", "127.0.0.1.evil.example", ""] {
        assert_eq!(ask(host.to_owned(), "").await, 403, "{host}");
    }
    let own = format!("127.0.0.1:{port}");
    for more in ["\r\nOrigin: http://localhost:PORT", "\r\nSec-Fetch-Site: same-origin", "\r\nSec-Fetch-Site: none"] {
        assert_eq!(ask(own.clone(), more).await, 200, "{more}");
    }
    for more in [
        "\r\nOrigin: http://evil.example",
        "\r\nOrigin: null",
        "\r\nOrigin: https://localhost:PORT",
        "\r\nOrigin: http://localhost:PORT.evil.example",
        "\r\nSec-Fetch-Site: cross-site",
        "\r\nSec-Fetch-Site: same-site",
        "\r\nSec-Fetch-Site: ",
        "\r\nSec-Fetch-Site: Same-Origin-Allow",
        "\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: same-site",
        "\r\nHost: evil.example",
    ] {
        assert!([400, 403].contains(&ask(own.clone(), more).await), "{more}");
    }
    assert_eq!(place.raw("POST /mcp HTTP/1.0\r\nContent-Type: application/json", ping.as_bytes()).await.0, 403);
    place.end().await;
}

#[tokio::test]
async fn a_token_is_asked_of_everyone() {
    let place = place(Some("0123456789abcdefABCDEF")).await;
    let ping = request(1, "ping", json!({}));
    let (status, head, _) = place.post(&[], &ping).await;
    assert_eq!(status, 401);
    assert!(head.contains("www-authenticate: bearer"), "{head}");
    for wrong in ["Bearer 0123456789abcdefABCDEf", "Bearer ", "Basic 0123456789abcdefABCDEF", "0123456789abcdefABCDEF"] {
        assert_eq!(place.post(&[("Authorization", wrong)], &ping).await.0, 401, "{wrong}");
    }
    assert_eq!(place.post(&[("Authorization", "bearer 0123456789abcdefABCDEF")], &ping).await.0, 200);
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_its_status() {
    let place = place(None).await;
    let host = format!("Host: {}", place.address);
    let get = place.raw(&format!("GET /mcp HTTP/1.1\r\n{host}"), b"").await;
    assert_eq!(get.0, 405);
    assert!(get.1.contains("allow: post, delete"), "{}", get.1);
    assert_eq!(place.raw(&format!("DELETE /mcp HTTP/1.1\r\n{host}"), b"").await.0, 405);
    assert_eq!(place.raw(&format!("POST / HTTP/1.1\r\n{host}"), b"").await.0, 404);
    let form = format!("POST /mcp HTTP/1.1\r\n{host}\r\nContent-Type: application/x-www-form-urlencoded");
    assert_eq!(place.raw(&form, b"a=1").await.0, 415);
    assert_eq!(place.raw(&format!("POST /mcp HTTP/1.1\r\n{host}"), b"{}").await.0, 415);
    assert_eq!(place.raw(&place.head(&[]), &vec![b' '; LONGEST_MESSAGE + 1]).await.0, 413);
    assert_eq!(place.raw(&place.head(&[("X-Long", &"x".repeat(70 << 10))]), b"").await.0, 431);
    let (status, head, body) = place.raw(&place.head(&[]), b"{ oh").await;
    assert_eq!((status, &parsed(&body)["error"]["code"]), (400, &json!(-32700)));
    assert!(head.contains("cache-control: no-store") && head.contains("x-content-type-options: nosniff"), "{head}");
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let (status, _, body) = place.post(&[], &notice).await;
    assert_eq!((status, body.as_str()), (202, ""));
}

#[tokio::test]
async fn a_request_that_stands_alone_repeats_itself_in_its_headers() {
    let place = place(None).await;
    let (status, _, body) = place.alone(&[], "server/discover", json!({})).await;
    assert_eq!((status, &parsed(&body)["result"]["supportedVersions"][0]), (200, &json!("2026-07-28")));
    let (status, head, body) = place.alone(&[], "tools/call", json!({ "name": "echo", "arguments": { "text": "Hi" } })).await;
    assert_eq!((status, &parsed(&body)["result"]["structuredContent"]), (200, &json!({ "said": "Hi" })));
    assert!(head.contains("content-type: application/json") && !head.contains("mcp-session-id"), "{head}");
    let (status, _, body) = place.alone(&[], "resources/list", json!({})).await;
    assert_eq!((status, &parsed(&body)["error"]["code"]), (404, &json!(-32601)));

    let call = alone(1, "tools/call", json!({ "name": "echo" }));
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let method = ("Mcp-Method", "tools/call");
    let name = ("Mcp-Name", "echo");
    for wrong in [
        vec![method, name],
        vec![("MCP-Protocol-Version", "2025-11-25"), method, name],
        vec![version, name],
        vec![version, ("Mcp-Method", "tools/list"), name],
        vec![version, method],
        vec![version, method, ("Mcp-Name", "wait")],
        vec![version, method, ("Mcp-Name", "=?base64?!?=")],
        vec![version, method, name, name],
    ] {
        let (status, _, body) = place.post(&wrong, &call).await;
        assert_eq!((status, &parsed(&body)["error"]["code"]), (400, &json!(-32020)), "{wrong:?}");
    }
    assert_eq!(place.post(&[version, method, ("Mcp-Name", "=?base64?ZWNobw==?=")], &call).await.0, 200);
    let mut old = alone(1, "tools/list", json!({}));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    let (status, _, body) = place.post(&[("MCP-Protocol-Version", "1900-01-01"), ("Mcp-Method", "tools/list")], &old).await;
    assert_eq!((status, &parsed(&body)["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(parsed(&body)["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(place.post(&[version], &request(1, "tools/list", json!({}))).await.0, 400);
}

#[tokio::test]
async fn an_older_client_has_a_session_until_it_ends_it() {
    let place = place(None).await;
    let (status, head, _) = place.post(&[], &hello("2025-11-25")).await;
    assert_eq!(status, 200);
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let mine = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let list = request(1, "tools/list", json!({}));
    assert_eq!(place.post(&mine, &list).await.0, 200);
    assert_eq!(place.post(&[], &list).await.0, 400);
    assert_eq!(place.post(&[("Mcp-Session-Id", "another")], &list).await.0, 404);
    let (status, _, body) = place.post(&[mine[0], ("MCP-Protocol-Version", "1900-01-01")], &list).await;
    assert_eq!((status, &parsed(&body)["error"]["code"]), (400, &json!(-32600)));
    let end = format!("DELETE /mcp HTTP/1.1\r\nHost: {}\r\nMcp-Session-Id: {session}", place.address);
    assert_eq!(place.raw(&end, b"").await.0, 204);
    assert_eq!(place.raw(&end, b"").await.0, 404);
    assert_eq!(place.post(&mine, &list).await.0, 404);
}

#[tokio::test]
async fn a_call_is_answered_with_a_stream_of_progress_and_the_result() {
    let place = place(None).await;
    let (status, head, body) = place.alone(&[STREAM], "tools/call", json!({ "name": "steps", "_meta": { "progressToken": 5 } })).await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/event-stream") && head.contains("x-accel-buffering: no"), "{head}");
    let events: Vec<Value> = body.lines().filter_map(|line| line.strip_prefix("data: ")).map(parsed).collect();
    let told: Vec<&Value> = events.iter().map(|event| &event["params"]["progress"]).collect();
    assert_eq!(told, [&json!(1), &json!(2), &Value::Null], "{body}");
    assert_eq!(events[2]["result"]["structuredContent"]["said"], "both");
}

#[tokio::test]
async fn the_trace_of_a_call_comes_from_its_metadata_or_from_the_headers() {
    let place = place(None).await;
    let parent = |digit: &str| format!("00-{}-{}-01", digit.repeat(32), digit.repeat(16));
    let (own, outer) = (parent("a"), parent("b"));
    let headers = [("traceparent", outer.as_str()), ("tracestate", "x=1")];
    place.alone(&headers, "tools/call", json!({ "name": "echo", "_meta": { "traceparent": own } })).await;
    place.alone(&headers, "tools/call", json!({ "name": "echo", "_meta": { "traceparent": 7, "tracestate": [] } })).await;
    place.alone(&[("traceparent", "00-zz")], "tools/call", json!({ "name": "echo" })).await;
    let begins = "echo begins".to_owned();
    assert_eq!(place.work.log(), [begins.clone(), format!("from {own} "), begins.clone(), format!("from {outer} x=1"), begins]);
}

#[tokio::test]
async fn two_calls_run_at_once_and_a_third_waits() {
    let mut place = place(None).await;
    let body = |id: u64| alone(id, "tools/call", json!({ "name": "wait" })).to_string();
    let head = place.head(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "wait")]);
    let mut streams = vec![];
    // Equal ids do not conflict between independent requests.
    for _ in 0..2 {
        streams.push(place.open(&head, body(1).as_bytes()).await);
        place.begun.recv().await.unwrap();
    }
    let third = place.open(&head, body(1).as_bytes()).await;
    assert_eq!(place.work.log(), ["wait begins", "wait begins"]);
    place.work.go();
    place.begun.recv().await.unwrap();
    place.work.go();
    place.work.go();
    for stream in streams.into_iter().chain([third]) {
        let (status, _, body) = said(stream).await;
        assert_eq!((status, &parsed(&body)["result"]["structuredContent"]["said"]), (200, &json!("itself")));
    }
}

#[tokio::test]
async fn whoever_closes_the_stream_cancels_the_call_in_the_newest_version_only() {
    let mut place = place(None).await;
    for accept in [STREAM, ("Accept", "application/json")] {
        let head = place.head(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "wait"), accept]);
        let stream = place.open(&head, alone(1, "tools/call", json!({ "name": "wait" })).to_string().as_bytes()).await;
        place.begun.recv().await.unwrap();
        drop(stream);
    }
    // Both seats are free again, so these calls start.
    let head = place.post(&[], &hello("2025-06-18")).await.1;
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let mine = place.head(&[("Mcp-Session-Id", &session), STREAM]);
    let call = |id: u64| request(id, "tools/call", json!({ "name": "wait" })).to_string();
    for id in 1..=2 {
        let stream = place.open(&mine, call(id).as_bytes()).await;
        place.begun.recv().await.unwrap();
        drop(stream);
    }
    assert_eq!(place.work.log().iter().filter(|line| *line == "wait ends by client").count(), 2, "{:?}", place.work.log());
    // Such a call continues until a message cancels it.
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(place.post(&[("Mcp-Session-Id", &session)], &cancel).await.0, 202);
    place.open(&mine, call(3).as_bytes()).await;
    place.begun.recv().await.unwrap();
    let work = Arc::clone(&place.work);
    place.end().await;
    let ends: Vec<String> = work.log().into_iter().filter(|line| line.starts_with("wait ends")).collect();
    assert_eq!(ends.iter().filter(|line| *line == "wait ends by client").count(), 3, "{ends:?}");
    assert_eq!(ends.iter().filter(|line| *line == "wait ends by terminate").count(), 2, "{ends:?}");
}

/// Waits until the server has closed the connection, and returns what it sent.
async fn closed(mut stream: TcpStream) -> String {
    let mut bytes = vec![];
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}";

#[tokio::test]
async fn whoever_sends_nothing_too_little_or_takes_nothing_is_left() {
    let mut place = patient(None, Duration::from_millis(300)).await;
    let connect = || TcpStream::connect(place.address);
    // Nothing; half a head; half a body; a request, and then nothing.
    assert_eq!(closed(connect().await.unwrap()).await, "");
    let mut half = connect().await.unwrap();
    half.write_all(b"POST /mcp HTTP/1.1\r\nHo").await.unwrap();
    let told = closed(half).await;
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 408"), "{told}");
    let mut slow = connect().await.unwrap();
    slow.write_all(format!("{}\r\nContent-Length: 100\r\n\r\n{{", place.head(&[])).as_bytes()).await.unwrap();
    assert!(closed(slow).await.starts_with("HTTP/1.1 408"));
    let mut kept = connect().await.unwrap();
    kept.write_all(format!("{}\r\nContent-Length: {}\r\n\r\n{PING}", place.head(&[]), PING.len()).as_bytes()).await.unwrap();
    assert!(closed(kept).await.starts_with("HTTP/1.1 200"));
    // An open, silent stream is none of these: the call is in progress.
    let head = place.head(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "wait"), STREAM]);
    let waits = place.open(&head, alone(1, "tools/call", json!({ "name": "wait" })).to_string().as_bytes()).await;
    place.begun.recv().await.unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    place.work.go();
    assert!(said(waits).await.2.contains("itself"));
    place.end().await;
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_its_connection() {
    let (near, far) = tokio::io::duplex(64);
    let mut near = super::super::http::Impatient::new(near, Duration::from_millis(50));
    let error = near.write_all(&[0; 1_000]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    drop(far);
}

#[tokio::test]
async fn a_new_connection_takes_the_place_of_the_one_that_was_idle_longest() {
    let place = patient(None, Duration::from_secs(600)).await;
    let mut idle = vec![];
    for _ in 0..256 {
        let mut stream = TcpStream::connect(place.address).await.unwrap();
        stream.write_all(format!("{}\r\nContent-Length: {}\r\n\r\n{PING}", place.head(&[]), PING.len()).as_bytes()).await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        idle.push(stream);
    }
    for _ in 0..3 {
        assert_eq!(place.post(&[], &request(1, "ping", json!({}))).await.0, 200);
    }
    closed(idle.remove(0)).await;
    // The newest of them still has its seat.
    let mut newest = idle.pop().unwrap();
    newest
        .write_all(format!("{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{PING}", place.head(&[]), PING.len()).as_bytes())
        .await
        .unwrap();
    assert!(closed(newest).await.contains("HTTP/1.1 200 OK"));
    place.end().await;
}

#[tokio::test]
async fn when_every_place_is_served_others_are_sent_away_and_may_come_again() {
    let place = patient(None, Duration::from_secs(600)).await;
    let mut served = vec![];
    for _ in 0..256 {
        let mut stream = TcpStream::connect(place.address).await.unwrap();
        stream.write_all(format!("{}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", place.head(&[])).as_bytes()).await.unwrap();
        let mut first = [0; 21];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 100 Continue");
        served.push(stream);
    }
    let told = closed(TcpStream::connect(place.address).await.unwrap()).await;
    assert!(told.starts_with("HTTP/1.1 503") && told.contains("Retry-After: 1"), "{told}");
    drop(served.pop());
    while place.post(&[], &request(1, "ping", json!({}))).await.0 != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(served);
    place.end().await;
}
