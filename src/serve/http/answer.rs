//! What goes back: a text, a JSON object, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, Interval, interval_at};

/// How often a stream shows that it is alive.
const BEAT: Duration = Duration::from_secs(15);

/// The body of an answer.
pub(super) enum AnswerBody {
    /// All of it.
    Whole(Option<Bytes>),
    /// One event a message; it ends with the last.
    Stream { messages: Receiver<Value>, beat: Interval },
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes: Bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        match self.get_mut() {
            AnswerBody::Whole(bytes) => bytes.take().map_or(Poll::Ready(None), frame),
            AnswerBody::Stream { messages, beat } => match messages.poll_recv(context) {
                Poll::Ready(Some(message)) => frame(Bytes::from(format!("event: message\ndata: {message}\n\n"))),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => match beat.poll_tick(context) {
                    Poll::Ready(_) => frame(Bytes::from_static(b":\n\n")),
                    Poll::Pending => Poll::Pending,
                },
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, AnswerBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            AnswerBody::Stream { .. } => SizeHint::default(),
        }
    }
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

/// A sentence for whoever looks.
pub(super) fn text(status: u16, text: &'static str) -> Response<AnswerBody> {
    response(status, Some("text/plain; charset=utf-8"), AnswerBody::Whole(Some(Bytes::from_static(text.as_bytes()))))
}

pub(super) fn json(status: u16, message: &Value) -> Response<AnswerBody> {
    response(status, Some("application/json"), AnswerBody::Whole(Some(Bytes::from(message.to_string()))))
}

pub(super) fn empty(status: u16) -> Response<AnswerBody> {
    response(status, None, AnswerBody::Whole(None))
}

/// A message that wants no answer has come.
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

pub(super) fn stream(messages: Receiver<Value>) -> Response<AnswerBody> {
    let beat = interval_at(Instant::now() + BEAT, BEAT);
    let mut response = response(200, Some("text/event-stream"), AnswerBody::Stream { messages, beat });
    // Whoever stands between passes each event on at once.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
