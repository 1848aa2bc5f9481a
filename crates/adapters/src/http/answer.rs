//! An answer whose status and headers have arrived, and whose body is read within limits.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use serde_json::Value;
use tokio::time::timeout;

use super::HttpSettings;
use super::fault::{HttpFault, class_of_body, in_words, last_cause, retry_after_ms, status_class};
use super::json::{read_json_in, read_text};
use super::sse::{SseDecoder, SseError, SseEvent, SseMarks};
use crate::diagnostic::cut;
use crate::event::Failure;
use crate::model::{FailureKind, REDIRECTS};
use crate::scrub::{MOST_BESIDE, Scrub};

/// Maximum number of bytes read of an error's body, and the time limit for them.
const ERROR_BODY: usize = 64 << 10;
const ERROR_TIME: Duration = Duration::from_secs(5);
/// Time limit for the data after the end mark of a stream.
const LAST_BYTES: Duration = Duration::from_millis(50);
/// Time limit for the end mark of a stream whose answer is complete.
const AFTER_LAST: Duration = Duration::from_secs(5);
/// The codes with which providers report that they rejected a prompt for its content (OpenAI, and endpoints like Azure's).
const FILTERED: [&str; 2] = ["content_filter", "content_policy_violation"];
/// The size counted for an empty chunk of a body, so that a flood of them reaches the limit.
const EMPTY_PIECE: usize = 64;

/// An answer. Dropping it closes its connection unless it was read to its end.
pub(crate) struct HttpAnswer {
    response: reqwest::Response,
    /// `https://host:port`, for messages.
    pub(crate) origin: String,
    settings: Arc<HttpSettings>,
    pub(crate) scrub: Scrub,
    received: usize,
    /// The beginning of the body that was looked at, and is still to be read.
    ahead: Vec<u8>,
}

/// What the reader of an event returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadProgress {
    /// More events are expected.
    More,
    /// The answer is complete; its end mark may follow or be missing.
    Last,
    /// The stream is complete.
    Done,
}

impl HttpAnswer {
    /// Creates an answer. Fails if its headers are too large or its status is a redirect.
    pub(super) fn new(
        response: reqwest::Response,
        origin: String,
        settings: Arc<HttpSettings>,
        scrub: Scrub,
    ) -> Result<HttpAnswer, HttpFault> {
        let answer = HttpAnswer { response, origin, settings, scrub, received: 0, ahead: vec![] };
        let size: usize = answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
        if size > answer.settings.max_headers {
            return Err(answer.fault(FailureKind::TooLarge, format!("sent more than {} bytes of headers", answer.settings.max_headers)));
        }
        let status = answer.status();
        if REDIRECTS.contains(&status.into()) {
            let to = answer.scrub.quote(answer.header(LOCATION).unwrap_or("nowhere"), false);
            let message = format!("answered with a redirect ({status}) to {to}; redirects are not followed");
            return Err(HttpFault::before_sending(answer.failure(FailureKind::Blocked, message)));
        }
        Ok(answer)
    }

    /// The status.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The value of a header, if it is plain text.
    pub(super) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// The content type without its parameters, in lower case; empty if there is none.
    pub(crate) fn content_type(&self) -> String {
        let value = self.header(CONTENT_TYPE).unwrap_or("");
        value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
    }

    /// The encoding that the content type names.
    pub(crate) fn charset(&self) -> Option<String> {
        self.header(CONTENT_TYPE)?.split(';').skip(1).find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        })
    }

    /// A failure whose message begins with the origin.
    pub(crate) fn failure(&self, kind: FailureKind, what: impl AsRef<str>) -> Failure {
        self.scrub.failure(kind, format!("{} {}", self.origin, what.as_ref()))
    }

    /// The same, as the fault of a request that was sent.
    pub(crate) fn fault(&self, kind: FailureKind, what: impl AsRef<str>) -> HttpFault {
        HttpFault::after_sending(self.failure(kind, what))
    }

    /// Returns the answer if its status is from 200 to 399. Otherwise fails with the error in its body.
    pub(crate) async fn checked(self, now: DateTime<Utc>) -> Result<HttpAnswer, HttpFault> {
        self.checked_with(now, None).await
    }

    /// Like `checked`. If there is `advice`, the message shows it before the error of the server, which is then shortened.
    pub(crate) async fn checked_with(mut self, now: DateTime<Utc>, advice: Option<&str>) -> Result<HttpAnswer, HttpFault> {
        let status = self.status();
        if (200..400).contains(&status) {
            return Ok(self);
        }
        let wait = self.header(RETRY_AFTER).and_then(|value| retry_after_ms(value, now));
        let (said, is_filtered, body) = self.error_text().await;
        let kind = if is_filtered && status == 400 { FailureKind::Refused } else { status_class(status) };
        let reason = self.response.status().canonical_reason().unwrap_or("unknown status");
        let said = match advice {
            None if said.is_empty() => said,
            None => format!(": {said}"),
            Some(advice) if said.is_empty() => format!("; {advice}"),
            Some(advice) => format!("; {advice}; it says: {}", cut(&said, MOST_BESIDE)),
        };
        let wait = wait.filter(|_| matches!(kind, FailureKind::RateLimited | FailureKind::ServerError));
        let asks = wait
            .filter(|wait| *wait != Failure::ENDLESS)
            .map(|wait| format!("; it asks to wait {}", in_words(Duration::from_millis(wait))))
            .unwrap_or_default();
        let mut failure = self.failure(kind, format!("answered {status} ({reason}){said}{asks}"));
        failure.retry_after_ms = wait;
        // A 4xx status is a rejection: nothing was done. For 408, the request was not read to its end.
        Err(HttpFault { failure, may_have_acted: !(200..500).contains(&status), rejection: Some(Box::new((status, body))) })
    }

    /// The error message in the body, ready to be shown, whether it comes from a content filter, and the body as it came. Never fails, because the
    /// status is already known.
    async fn error_text(&mut self) -> (String, bool, String) {
        let content_type = self.content_type();
        let mut bytes = Vec::new();
        let read = timeout(self.settings.silence.map_or(ERROR_TIME, |silence| silence.min(ERROR_TIME)), async {
            while let Ok(Some(piece)) = self.response.chunk().await {
                bytes.extend_from_slice(&piece);
                if bytes.len() > ERROR_BODY {
                    return false;
                }
            }
            true
        });
        let is_whole = read.await.unwrap_or(false);
        bytes.truncate(ERROR_BODY);
        if content_type == "text/html" {
            return ("a page in HTML".to_owned(), false, String::new());
        }
        let value = read_json_in(&bytes, self.charset().as_deref()).ok();
        let said = match value.as_ref().and_then(error_sentence) {
            Some(sentence) => self.scrub.quote(sentence, false),
            None => {
                let text = read_text(&bytes, self.charset().as_deref()).unwrap_or_else(|_| String::from_utf8_lossy(&bytes));
                self.scrub.quote(&text, !is_whole)
            }
        };
        let code = value.as_ref().and_then(|value| value.pointer("/error/code")?.as_str());
        let is_filtered = code.is_some_and(|code| FILTERED.contains(&code));
        (said, is_filtered, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the next decompressed chunk of the body; `None` at its end.
    async fn piece(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, HttpFault> {
        if !self.ahead.is_empty() {
            return Ok(Some(std::mem::take(&mut self.ahead).into()));
        }
        let piece = self.response.chunk().await.map_err(|error| {
            let message = format!("sent an answer that ended early, after {} bytes: {}", self.received, last_cause(&error));
            self.fault(class_of_body(&error), message)
        })?;
        if let Some(piece) = &piece {
            self.received = self.received.saturating_add(if piece.is_empty() { EMPTY_PIECE } else { piece.len() });
            if self.received > self.settings.max_body {
                return Err(self.fault(FailureKind::TooLarge, format!("sent more than {} bytes", self.settings.max_body)));
            }
        }
        Ok(piece)
    }

    /// Reads the little data that may follow the end mark, so that the connection can be reused.
    async fn finish(&mut self) {
        let rest = async { while self.piece().await.is_ok_and(|piece| piece.is_some()) {} };
        let _ = timeout(LAST_BYTES, rest).await;
    }

    /// Reads the next chunk, unless the other side is silent for too long.
    async fn next_piece(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, HttpFault> {
        let piece = unless_silent(self.settings.silence, self.piece()).await;
        piece.map_err(|silence| self.fault(FailureKind::Timeout, format!("sent nothing for {}", in_words(silence))))?
    }

    /// The beginning of the body without white space before it, which stays to be read: at least so many bytes, unless the body is shorter.
    pub(crate) async fn opening(&mut self, least: usize) -> Result<Vec<u8>, HttpFault> {
        let mut read = vec![];
        loop {
            let blank = |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
            let start: Vec<u8> = read.iter().skip_while(blank).copied().collect();
            if start.len() >= least {
                self.ahead = read;
                return Ok(start);
            }
            let Some(piece) = self.next_piece().await? else {
                self.ahead = read;
                return Ok(start);
            };
            read.extend_from_slice(piece.as_ref());
        }
    }

    /// Reads the whole body.
    pub(crate) async fn bytes(&mut self) -> Result<Vec<u8>, HttpFault> {
        self.bytes_within(self.settings.max_body).await
    }

    /// Reads the whole body. Fails as soon as it exceeds `most` bytes.
    pub(crate) async fn bytes_within(&mut self, most: usize) -> Result<Vec<u8>, HttpFault> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            bytes.extend_from_slice(piece.as_ref());
            if bytes.len() > most {
                return Err(self.fault(FailureKind::TooLarge, format!("sent a document of more than {most} bytes")));
            }
        }
        Ok(bytes)
    }

    /// Reads the whole body as JSON; `None` if there is no body.
    pub(crate) async fn json(&mut self) -> Result<Option<Value>, HttpFault> {
        let bytes = self.bytes().await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        read_json_in(&bytes, self.charset().as_deref()).map(Some).map_err(|fault| self.fault(fault.kind(), format!("sent {fault}")))
    }

    /// Reads a stream event by event until `read` returns [`ReadProgress::Done`], or until it ends after [`ReadProgress::Last`]. If the stream ends
    /// before that, the failure is `bad_response`. An event without the empty line after it counts if it is the last.
    pub(crate) async fn events(&mut self, mut read: impl FnMut(&SseEvent) -> Result<ReadProgress, Failure>) -> Result<(), HttpFault> {
        let mut is_last = false;
        let mut noted = |event: &SseEvent| {
            let progress = read(event)?;
            is_last = progress == ReadProgress::Last;
            Ok(progress)
        };
        let ended = self.read_events(&mut SseMarks::default(), &mut noted, true).await;
        // What breaks after the last word takes nothing away from the answer.
        match ended {
            Err(_) if is_last => Ok(()),
            ended => ended,
        }
    }

    /// Reads a stream event by event until `read` returns [`ReadProgress::Done`]. `marks` receives the last id and retry time of the stream, even if
    /// the stream breaks.
    pub(crate) async fn marked_events(
        &mut self,
        marks: &mut SseMarks,
        mut read: impl FnMut(&SseEvent) -> Result<ReadProgress, Failure>,
    ) -> Result<(), HttpFault> {
        self.read_events(marks, &mut read, false).await
    }

    async fn read_events(
        &mut self,
        marks: &mut SseMarks,
        read: &mut impl FnMut(&SseEvent) -> Result<ReadProgress, Failure>,
        takes_rest: bool,
    ) -> Result<(), HttpFault> {
        let mut decoder = SseDecoder::new(self.settings.max_line);
        let mut events = Vec::new();
        let mut is_last = false;
        loop {
            let piece = match is_last {
                // What is still missing then says nothing about the answer.
                true => timeout(AFTER_LAST, self.next_piece()).await.unwrap_or(Ok(None))?,
                false => self.next_piece().await?,
            };
            let is_end = piece.is_none();
            let rest: &[u8] = if takes_rest { b"\n\n" } else { b"" };
            let decoded = decoder.push(piece.as_ref().map_or(rest, AsRef::as_ref), &mut events);
            if decoder.marks != SseMarks::default() {
                marks.clone_from(&decoder.marks);
            }
            for event in events.drain(..) {
                match read(&event).map_err(HttpFault::after_sending)? {
                    ReadProgress::More => is_last = false,
                    ReadProgress::Last => is_last = true,
                    ReadProgress::Done => {
                        self.finish().await;
                        return Ok(());
                    }
                }
            }
            decoded.map_err(|fault| match fault {
                SseError::LongLine => {
                    self.fault(FailureKind::TooLarge, format!("sent a line of more than {} bytes", self.settings.max_line))
                }
                SseError::NotUtf8 => self.fault(FailureKind::BadResponse, "sent text that is not UTF-8"),
                SseError::Nul => self.fault(FailureKind::BadResponse, "sent a NUL character"),
            })?;
            if is_end {
                return Err(self.fault(FailureKind::BadResponse, "ended its answer before the end mark"));
            }
        }
    }
}

/// Waits for something that may be silent for at most so long; else fails with that time.
pub(super) async fn unless_silent<T>(silence: Option<Duration>, wait: impl Future<Output = T>) -> Result<T, Duration> {
    match silence {
        Some(silence) => timeout(silence, wait).await.map_err(|_| silence),
        None => Ok(wait.await),
    }
}

/// The message in the error formats that providers use: `{error: {message}}`, `{error: "…"}`, `{message}`, `{detail}`, `{errors: [{message}]}`.
pub(crate) fn error_sentence(value: &Value) -> Option<&str> {
    let places = ["/error/message", "/error", "/message", "/detail", "/errors/0/message"];
    places.iter().find_map(|place| value.pointer(place)?.as_str()).filter(|text| !text.trim().is_empty())
}
