//! `http` steps and what lies beneath every call, against a server that plays faults.

mod reach;

pub(crate) use reach::self_signed_acceptor;

use std::io::Write;

use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};

use super::*;
use crate::event::Failure;
use crate::faultd::{FaultAct, Faultd, answer};
use crate::model::Method;
use crate::port::{HttpClient, HttpReply, HttpRequest};

/// A clock that stands still.
pub(crate) struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 8, 8, 49, 30).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Small caps.
pub(crate) fn small() -> HttpSettings {
    HttpSettings { max_body: 64 << 10, max_line: 16 << 10, ..HttpSettings::default() }
}

/// Small caps and short times, for answers that do not come.
pub(crate) fn hasty() -> HttpSettings {
    HttpSettings { silence: Some(Duration::from_millis(150)), ..small() }
}

fn get(url: &str) -> HttpRequest {
    HttpRequest {
        method: Method::Get,
        url: url.to_owned(),
        told: None,
        host_from: Default::default(),
        headers: Vec::new(),
        body: None,
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
    }
}

fn post(url: &str) -> HttpRequest {
    HttpRequest { method: Method::Post, body: Some(("application/json".to_owned(), b"{}".to_vec())), ..get(url) }
}

async fn send(request: HttpRequest) -> Result<HttpReply, Failure> {
    send_with(small(), request).await
}

async fn send_with(settings: HttpSettings, request: HttpRequest) -> Result<HttpReply, Failure> {
    StepHttpClient::new(Http::new(settings, Arc::new(StoppedClock))).send(request).await
}

async fn kind(script: Vec<FaultAct>, change: impl FnOnce(HttpRequest) -> HttpRequest) -> FailureKind {
    let server = Faultd::start(script).await;
    send(change(get(&server.url()))).await.expect_err("the call went well").kind
}

fn as_post(request: HttpRequest) -> HttpRequest {
    post(&request.url)
}

#[tokio::test]
async fn json_text_and_other_encodings_are_read() {
    for (content_type, body, expected) in [
        ("application/json", &b"{\"a\": [1, null]}"[..], json!({ "a": [1, null] })),
        ("application/problem+json; charset=utf-8", b"3", json!(3)),
        ("text/plain", "grün".as_bytes(), json!("grün")),
        ("text/plain; charset=\"ISO-8859-1\"", b"gr\xfcn", json!("grün")),
        ("application/octet-stream", b"plain", json!("plain")),
        ("application/json", b"", Value::Null),
    ] {
        let server = Faultd::answering("200 OK", content_type, body).await;
        let reply = send(get(&format!("{}/a?b=c%20d", server.url()))).await.unwrap();
        assert_eq!((reply.status, reply.body), (200, expected), "{content_type}");
        assert!(reply.headers.contains(&("content-type".to_owned(), content_type.to_owned())));
        assert!(server.requests()[0].starts_with("GET /a?b=c%20d HTTP/1.1\r\n"));
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_never_guessed() {
    for (content_type, body, expected) in [
        ("application/json", &b"{\"a\": 1"[..], FailureKind::BadResponse),
        ("application/json", b"{} {}", FailureKind::BadResponse),
        ("application/json", b"NaN", FailureKind::BadResponse),
        ("application/json", b"\"\\ud800\"", FailureKind::BadResponse),
        ("text/plain", b"gr\xfcn", FailureKind::BadResponse),
        ("text/plain", b"a\0b", FailureKind::BadResponse),
        ("text/plain; charset=klingon", b"a", FailureKind::WrongType),
        ("image/png", b"\x89PNG\r\n", FailureKind::WrongType),
    ] {
        let server = Faultd::answering("200 OK", content_type, body).await;
        assert_eq!(send(get(&server.url())).await.unwrap_err().kind, expected, "{content_type}");
    }
    let deep = "[".repeat(200) + &"]".repeat(200);
    let server = Faultd::answering("200 OK", "application/json", deep).await;
    assert_eq!(send(get(&server.url())).await.unwrap_err().kind, FailureKind::BadResponse);
}

#[tokio::test]
async fn each_status_has_its_class() {
    for (status, expected) in [
        ("400 Bad Request", FailureKind::BadRequest),
        ("401 Unauthorized", FailureKind::Auth),
        ("403 Forbidden", FailureKind::Auth),
        ("404 Not Found", FailureKind::BadRequest),
        ("408 Request Timeout", FailureKind::ServerError),
        ("413 Content Too Large", FailureKind::BadRequest),
        ("422 Unprocessable Content", FailureKind::BadRequest),
        ("429 Too Many Requests", FailureKind::RateLimited),
        ("500 Internal Server Error", FailureKind::ServerError),
        ("502 Bad Gateway", FailureKind::ServerError),
        ("503 Service Unavailable", FailureKind::ServerError),
        ("504 Gateway Timeout", FailureKind::ServerError),
        ("529 Overloaded", FailureKind::ServerError),
        ("599 What", FailureKind::ServerError),
    ] {
        let server = Faultd::answering(status, "text/plain", "no").await;
        assert_eq!(send(get(&server.url())).await.unwrap_err().kind, expected, "{status}");
    }
    let server = Faultd::start(vec![FaultAct::Send(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec())]).await;
    assert_eq!(send(get(&server.url())).await.unwrap().status, 304);
}

#[tokio::test]
async fn a_request_that_may_have_acted_ends_as_unknown_outcome_but_get_and_head_do_not() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ncontent-type: text/plain\r\n\r\nhalf".to_vec();
    for script in [
        vec![FaultAct::Stall],
        vec![FaultAct::Close],
        vec![FaultAct::Reset],
        vec![FaultAct::Send(half.clone()), FaultAct::Close],
        vec![FaultAct::Send(half), FaultAct::Stall],
        vec![FaultAct::Send(answer("500 Oh", &[], ""))],
        vec![FaultAct::Send(answer("503 Busy", &[], "")), FaultAct::Close],
        vec![FaultAct::Send(answer("200 OK", &[("content-type", "application/json")], "{"))],
    ] {
        let server = Faultd::start(script).await;
        let failure = send_with(hasty(), post(&server.url())).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::UnknownOutcome, "{}", failure.message);
        for method in [Method::Get, Method::Head] {
            let outcome = send_with(hasty(), HttpRequest { method, ..get(&server.url()) }).await;
            assert_ne!(outcome.err().map(|failure| failure.kind), Some(FailureKind::UnknownOutcome));
        }
    }
}

#[tokio::test]
async fn a_refusal_is_no_unknown_outcome() {
    for (status, expected) in [("400 No", FailureKind::BadRequest), ("401 No", FailureKind::Auth), ("429 No", FailureKind::RateLimited)] {
        assert_eq!(kind(vec![FaultAct::Send(answer(status, &[], ""))], as_post).await, expected);
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(send(post(&format!("http://{closed}"))).await.unwrap_err().kind, FailureKind::Connection);
}

#[tokio::test]
async fn slow_answers_end_at_the_clocks() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n".to_vec();
    let in_time = |script, time| async move {
        let mut server = Faultd::start(script).await;
        let failure = send_with(hasty(), HttpRequest { timeout: Duration::from_millis(time), ..get(&server.url()) }).await.unwrap_err();
        server.gone().await;
        assert_eq!(failure.kind, FailureKind::Timeout, "{}", failure.message);
        failure.message
    };
    assert!(in_time(vec![FaultAct::Stall], 10_000).await.contains("no answer within 150 ms"));
    let slow_head = FaultAct::Forever(b"x".to_vec(), Duration::from_millis(20));
    assert!(in_time(vec![FaultAct::Send(head.clone()), slow_head.clone()], 10_000).await.contains("no answer within 150 ms"));
    let begun = [head, b"\r\nbegun".to_vec()].concat();
    assert!(in_time(vec![FaultAct::Send(begun.clone()), FaultAct::Stall], 10_000).await.contains("nothing for 150 ms"));
    assert!(in_time(vec![FaultAct::Send(begun), slow_head], 400).await.contains("no whole answer within 400 ms"));
}

#[tokio::test]
async fn bodies_and_headers_stop_at_their_caps_after_decompression() {
    let big = vec![b'x'; (64 << 10) + 1];
    assert_eq!(kind(vec![FaultAct::Send(answer("200 OK", &[], &big))], |request| request).await, FailureKind::TooLarge);
    let endless = vec![FaultAct::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), FaultAct::Forever(vec![b'x'; 4096], Duration::ZERO)];
    assert_eq!(kind(endless, as_post).await, FailureKind::TooLarge);

    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(&vec![0; 1 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 16 << 10);
    let server = Faultd::start(vec![FaultAct::Send(answer("200 OK", &[("content-encoding", "gzip")], &bomb))]).await;
    assert_eq!(send(get(&server.url())).await.unwrap_err().kind, FailureKind::TooLarge);

    for size in [80 << 10, 600 << 10] {
        let long = "y".repeat(size / 10);
        let headers: Vec<String> = (0..10).map(|number| format!("x-{number}")).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|name| (name.as_str(), long.as_str())).collect();
        assert_eq!(kind(vec![FaultAct::Send(answer("200 OK", &headers, ""))], |request| request).await, FailureKind::TooLarge, "{size}");
    }
}

#[tokio::test]
async fn compressed_answers_are_read_and_broken_ones_are_not() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"{\"a\": 1}").unwrap();
    let gzip = gzip.finish().unwrap();
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let server = Faultd::start(vec![FaultAct::Send(answer("200 OK", &headers, &gzip))]).await;
    assert_eq!(send(get(&server.url())).await.unwrap().body, json!({ "a": 1 }));
    for cut in 0..gzip.len() {
        let script = vec![FaultAct::Send(answer("200 OK", &headers, &gzip[..cut]))];
        let server = Faultd::start(script).await;
        let outcome = send(get(&server.url())).await;
        // An empty body decompresses to an empty body.
        assert!(cut == 0 || outcome.is_err_and(|failure| failure.kind == FailureKind::BadResponse), "cut at {cut}");
    }
}

#[tokio::test]
async fn something_that_is_not_http_is_a_bad_response() {
    assert_eq!(
        kind(vec![FaultAct::Send(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec()), FaultAct::Close], |request| request).await,
        FailureKind::BadResponse
    );
    let two_lengths = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab".to_vec();
    assert_eq!(kind(vec![FaultAct::Send(two_lengths), FaultAct::Close], |request| request).await, FailureKind::BadResponse);
}

#[tokio::test]
async fn headers_that_could_smuggle_are_refused_before_anything_is_sent() {
    let server = Faultd::answering("200 OK", "text/plain", "").await;
    for (name, value) in [
        ("x-a", "b\r\nx-c: d"),
        ("x-a", "b\nc"),
        ("x-a", "b\0c"),
        ("x a", "b"),
        ("x:a", "b"),
        ("", "b"),
        ("Host", "other.example"),
        ("Content-Length", "0"),
        ("transfer-encoding", "chunked"),
        ("Proxy-Authorization", "x"),
    ] {
        let request = HttpRequest { headers: vec![(name.to_owned(), Secret::new(value))], ..get(&server.url()) };
        assert_eq!(send(request).await.unwrap_err().kind, FailureKind::BadRequest, "{name}: {value}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_secret_that_is_echoed_is_not_shown() {
    for content_type in ["text/plain", "application/json"] {
        let body = json!({ "error": { "message": "key sk-canary-1\u{1b}[2J\nBearer sk-canary-1 is wrong" } }).to_string();
        let server = Faultd::answering("401 No", content_type, body).await;
        let request = HttpRequest { headers: vec![("Authorization".to_owned(), Secret::new("Bearer sk-canary-1"))], ..get(&server.url()) };
        let failure = send(request).await.unwrap_err();
        assert!(server.requests()[0].contains("Bearer sk-canary-1"));
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains("*** is wrong"), "{}", failure.message);
        assert!(!failure.message.contains("sk-canary") && !failure.message.chars().any(char::is_control), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_wait_is_read_from_refusals_and_server_errors() {
    for (status, header, expected) in [
        ("429 No", Some("7"), Some(7_000)),
        ("429 No", Some("Sun, 08 Nov 2026 08:49:37 GMT"), Some(7_000)),
        ("503 No", Some("2"), Some(2_000)),
        ("429 No", Some("-1"), None),
        ("429 No", Some("soon"), None),
        ("429 No", None, None),
        ("400 No", Some("7"), None),
    ] {
        let headers: Vec<(&str, &str)> = header.into_iter().map(|value| ("retry-after", value)).collect();
        let server = Faultd::start(vec![FaultAct::Send(answer(status, &headers, ""))]).await;
        let failure = send(get(&server.url())).await.unwrap_err();
        assert_eq!(failure.retry_after_ms, expected, "{status} {header:?}");
        let told = expected.map(|wait| format!("; it asks to wait {} s", wait / 1000));
        assert_eq!(failure.message.split_once(";").map(|(_, told)| format!(";{told}")), told, "{}", failure.message);
    }
}

#[tokio::test]
async fn a_prompt_that_a_content_filter_refused_is_refused_and_no_other_mistake_is() {
    for (status, code, kind) in [
        ("400 Bad Request", "content_filter", FailureKind::Refused),
        ("400 Bad Request", "content_policy_violation", FailureKind::Refused),
        ("400 Bad Request", "context_length_exceeded", FailureKind::BadRequest),
        ("429 Too Many Requests", "content_filter", FailureKind::RateLimited),
    ] {
        let body = serde_json::json!({ "error": { "message": "The prompt was filtered.", "code": code } }).to_string();
        let server = Faultd::answering(status, "application/json", &body).await;
        let failure = send(get(&server.url())).await.unwrap_err();
        assert_eq!((failure.kind, failure.message.contains("The prompt was filtered.")), (kind, true), "{code}: {}", failure.message);
    }
}
