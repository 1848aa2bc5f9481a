//! Notifications that a web server sends unprompted, above all that its tools changed.
//!
//! In version 2026-07-28 the answer to `subscriptions/listen` is a stream that stays open; older versions use a GET for it. A server need not offer
//! it. When the stream breaks, it is reopened. Since a notification may have been missed, the tools are then listed again before the next call.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::web::{LONGEST_ID, LONGEST_WAIT, RESUME_AFTER, Web, WebEndpoint};
use crate::event::Failure;
use crate::http::{HttpAnswer, HttpFault, ReadProgress, SseMarks};
use crate::lock;
use crate::port::Secret;

/// Maximum silence on a stream; after that the server may be gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(300);
/// How many streams in a row may end early and without a notification.
const MOST_FAILED: usize = 5;
/// Minimum wait before a stream is reopened.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
/// A stream that was open for this long did not end early.
const LONG_ENOUGH: Duration = Duration::from_secs(10);

/// Listens for notifications of one server.
struct ServerListener {
    /// Weak, so that listening ends when the server is dropped.
    web: Weak<Web>,
    endpoint: WebEndpoint,
    headers: Vec<(String, Secret)>,
    /// The body of the request for the stream; `None` for a GET.
    request: Option<Vec<u8>>,
}

/// How a stream ended.
enum Ended {
    /// The server does not offer a stream.
    NotOffered,
    /// The stream was opened and ended, or could not be opened. `is_useful`: it brought a notification or stayed open for long.
    After { is_useful: bool },
    /// The server sent too many messages.
    Flood(Failure),
}

impl Web {
    /// Starts listening, and stops an earlier listener. `request` requests the stream; without it, a GET does.
    pub(super) fn listen(self: &Arc<Web>, request: Option<Value>) {
        let listener = ServerListener {
            web: Arc::downgrade(self),
            endpoint: WebEndpoint { http: self.endpoint.http.with_silence(Some(LONGEST_SILENCE)), ..self.endpoint.clone() },
            headers: self.headers(request.as_ref(), &BTreeMap::new()),
            request: request.map(|request| request.to_string().into_bytes()),
        };
        let task = tokio::spawn(listener.listen()).abort_handle();
        let before = lock(&self.listening).replace(task);
        before.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl ServerListener {
    async fn listen(self) {
        let mut marks = SseMarks::default();
        let mut failed = 0;
        while failed < MOST_FAILED {
            match self.one_stream(&mut marks).await {
                Ended::NotOffered => return,
                Ended::After { is_useful } => failed = if is_useful { 0 } else { failed + 1 },
                Ended::Flood(failure) => {
                    return self.endpoint.inbox.close(Failure { message: format!("the server {}", failure.message), ..failure });
                }
            }
            let wait = marks.retry_ms.map_or(RESUME_AFTER, Duration::from_millis).clamp(SHORTEST_WAIT, LONGEST_WAIT);
            tokio::time::sleep(wait).await;
            self.endpoint.inbox.may_have_changed();
        }
        self.endpoint.inbox.note("it no longer reports changes of its tools: its streams end at once".to_owned());
    }

    async fn one_stream(&self, marks: &mut SseMarks) -> Ended {
        let Ok(mut answer) = self.ask(marks).await else { return Ended::After { is_useful: false } };
        if answer.content_type() != "text/event-stream" || answer.status() != 200 {
            return if answer.status() < 500 { Ended::NotOffered } else { Ended::After { is_useful: false } };
        }
        let (began, before) = (Instant::now(), self.endpoint.inbox.changes());
        let mut flood = None;
        // However the stream ends, it is reopened.
        let _ = answer
            .marked_events(marks, |event| {
                if !event.event.is_empty() && event.event != "message" {
                    return Ok(ReadProgress::More);
                }
                let back = self.endpoint.inbox.take(event.data.as_bytes()).inspect_err(|failure| flood = Some(failure.clone()))?;
                if let Some(web) = self.web.upgrade() {
                    back.into_iter().for_each(|message| web.notify_soon(message));
                }
                Ok(ReadProgress::More)
            })
            .await;
        let is_useful = self.endpoint.inbox.changes() > before || began.elapsed() >= LONG_ENOUGH;
        flood.map_or(Ended::After { is_useful }, Ended::Flood)
    }

    async fn ask(&self, marks: &SseMarks) -> Result<HttpAnswer, HttpFault> {
        let mut headers = self.headers.clone();
        // A stream may outlive a token, so the token is set for each request.
        if let Some(web) = self.web.upgrade() {
            web.put_token(&mut headers).await?;
        }
        if let Some(last) = marks.last_id.as_ref().filter(|last| self.request.is_none() && !last.is_empty() && last.len() <= LONGEST_ID) {
            headers.push(("Last-Event-ID".to_owned(), Secret::new(last)));
        }
        let method = if self.request.is_some() { "POST" } else { "GET" };
        self.endpoint.ask(method, headers, self.request.clone()).await
    }
}
