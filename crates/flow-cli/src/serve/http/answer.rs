//! HTTP responses: a text, a JSON object, or a stream of events.

use std::convert::Infallible;
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::stream::poll_fn;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, interval_at};

/// Time between keep-alive comments of a stream.
const BEAT: Duration = Duration::from_secs(15);

/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    Full::new(bytes.into()).boxed_unsync()
}

fn response(status: u16, kind: Option<&'static str>, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Returns a response with a sentence for people.
pub(super) fn text(status: u16, text: &'static str) -> Response<AnswerBody> {
    response(status, Some("text/plain; charset=utf-8"), whole(text))
}

pub(super) fn json(status: u16, message: &Value) -> Response<AnswerBody> {
    response(status, Some("application/json"), whole(message.to_string()))
}

pub(super) fn empty(status: u16) -> Response<AnswerBody> {
    response(status, None, AnswerBody::default())
}

/// Returns the response to a message without an answer.
pub(super) fn accepted() -> Response<AnswerBody> {
    empty(202)
}

pub(super) fn not_allowed() -> Response<AnswerBody> {
    let mut response = text(405, "send messages with POST");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
    response
}

pub(super) fn with_session(mut response: Response<AnswerBody>, session: &str) -> Response<AnswerBody> {
    if let Ok(value) = HeaderValue::from_str(session) {
        response.headers_mut().insert(HeaderName::from_static("mcp-session-id"), value);
    }
    response
}

/// Streams messages, one event each; ends after the last.
pub(super) fn stream(mut messages: Receiver<Value>) -> Response<AnswerBody> {
    let mut beat = interval_at(Instant::now() + BEAT, BEAT);
    let frames = poll_fn(move |context| {
        let bytes = match messages.poll_recv(context) {
            Poll::Ready(message) => message.map(|message| Bytes::from(format!("event: message\ndata: {message}\n\n"))),
            Poll::Pending => Some(ready!(beat.poll_tick(context).map(|_| Bytes::from_static(b":\n\n")))),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    });
    let mut response = response(200, Some("text/event-stream"), StreamBody::new(frames).boxed_unsync());
    // Proxies must pass each event on at once.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
