//! HTTP out of this process: one set of connections, bounded and checked, for models, `http` steps and tools.
//!
//! [`Http`] makes single attempts. It never follows a redirect, never uses a proxy from the environment, connects only to addresses that it has
//! checked, and enforces the limits of [`HttpSettings`] on decompressed data. Every fault has a failure kind that decides whether `retry.on` can
//! retry it; see `fault`.
//!
//! How to add another use of HTTP: take an [`Http`], build an [`HttpCall`], and read the [`HttpAnswer`] as a whole or event by event.

mod address;
mod answer;
mod connection;
mod fault;
mod json;
mod sse;
mod step;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use address::{checked, is_loopback_host, literal};
pub(crate) use answer::{HttpAnswer, ReadProgress, error_sentence};
use connection::Connections;
pub(crate) use connection::{HostLookup, SystemLookup, connect_time, is_refused, resolve};
pub(crate) use fault::{HttpFault, certificate_fault, in_words, status_class};
pub(crate) use json::read_json;
pub(crate) use sse::{SseEvent, SseMarks};
pub(crate) use step::honest;
pub use step::{StepHttpClient, may_be_sent};

use super::lock;
use super::scrub::Scrub;
use crate::model::FailureKind;
use crate::port::{Clock, Secret};

/// Limits of every call. The defaults are those in the manual.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Longest time in which not one byte arrives; comments and pings of a stream count as life. `None`: only the caller's own time limit ends a call.
    pub silence: Option<Duration>,
    /// Time for a whole exchange with a small answer, from connecting to the last byte: the documents and tokens of logins.
    pub exchange: Duration,
    /// Maximum size of a body after decompression, in bytes.
    pub max_body: usize,
    /// Maximum length of one line of a stream, in bytes.
    pub max_line: usize,
    /// Maximum size of all headers, in bytes.
    pub max_headers: usize,
    /// Hosts that may be in a private network, or resolve to this machine although their name does not say so. They come only from the user's own
    /// settings, never from a pipeline file.
    pub private_hosts: Vec<String>,
    /// Uses HTTP/2 without TLS, which no real endpoint does.
    #[cfg(test)]
    pub(crate) is_http2: bool,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            silence: None,
            exchange: Duration::from_secs(30),
            max_body: 8 << 20,
            max_line: 1 << 20,
            max_headers: 64 << 10,
            private_hosts: Vec::new(),
            #[cfg(test)]
            is_http2: false,
        }
    }
}

/// Makes HTTP calls. Clones share their connections.
#[derive(Clone)]
pub struct Http {
    settings: Arc<HttpSettings>,
    connections: Arc<Connections>,
    clock: Arc<dyn Clock>,
    /// Origins that have answered: there may be an idle connection to them.
    answered: Arc<Mutex<HashSet<String>>>,
    /// The most recent secrets and their scrub, since most calls send the same secrets.
    last_scrub: Arc<Mutex<(Vec<Secret>, Scrub)>>,
}

/// One request.
pub(crate) struct HttpCall<'a> {
    /// The method, in upper case.
    pub(crate) method: &'a str,
    /// The full URL.
    pub(crate) url: &'a str,
    /// The headers. Those that frame the message or name the host are rejected.
    pub(crate) headers: Vec<(String, Secret)>,
    /// The content type and the body.
    pub(crate) body: Option<(String, Vec<u8>)>,
    /// Whether the request changes nothing, so that it may be sent again if an idle connection from an earlier call turns out to be dead.
    pub(crate) is_repeatable: bool,
    /// Time to connect.
    pub(crate) connect_timeout: Duration,
    /// The secrets that must not appear in messages.
    pub(crate) scrub: &'a Scrub,
}

/// Headers that frame a message, name its host or belong to one connection: only flow sets them (RFC 9112; request smuggling).
const OWN_HEADERS: [&str; 9] =
    ["host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"];

impl Http {
    /// Creates a client. Connections are opened when first needed; the root certificates are loaded at the first `https` call.
    pub fn new(settings: HttpSettings, clock: Arc<dyn Clock>) -> Http {
        Http::with_lookup(settings, clock, Arc::new(SystemLookup))
    }

    /// Like [`Http::new`], with another way to resolve names.
    pub(crate) fn with_lookup(settings: HttpSettings, clock: Arc<dyn Clock>, lookup: Arc<dyn HostLookup>) -> Http {
        let settings = Arc::new(settings);
        let connections = Arc::new(Connections::new(Arc::clone(&settings), lookup));
        Http { settings, connections, clock, answered: Arc::default(), last_scrub: Arc::default() }
    }

    /// Returns the same connections with another bound for silence.
    pub(crate) fn with_silence(&self, silence: Option<Duration>) -> Http {
        Http { settings: Arc::new(HttpSettings { silence, ..(*self.settings).clone() }), ..self.clone() }
    }

    /// Returns a scrub that removes the secrets of a call from texts.
    pub(crate) fn scrub<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) -> Scrub {
        let secrets: Vec<Secret> = secrets.into_iter().cloned().collect();
        let mut last = lock(&self.last_scrub);
        if last.0 != secrets {
            *last = (secrets.clone(), Scrub::new(&secrets));
        }
        last.1.clone()
    }

    /// Time limit for a whole exchange with a small answer.
    pub(crate) fn exchange_time(&self) -> Duration {
        self.settings.exchange
    }

    /// Hosts in private networks that may be reached.
    pub(crate) fn private_hosts(&self) -> &[String] {
        &self.settings.private_hosts
    }

    /// Sends a call and waits for the status and headers. Redirects, and statuses below 200 or above 399, are faults.
    pub(crate) async fn send(&self, call: HttpCall<'_>) -> Result<HttpAnswer, HttpFault> {
        self.send_any(call).await?.checked(self.clock.now()).await
    }

    /// Like [`Http::send`], but returns answers with any status except a redirect, for callers that read errors themselves.
    pub(crate) async fn send_any(&self, call: HttpCall<'_>) -> Result<HttpAnswer, HttpFault> {
        let (method, url, headers) = head_of(&call, &self.settings.private_hosts)?;
        let origin = url.origin().ascii_serialization();
        let is_tls = url.scheme() == "https";
        let no_client = |reason: connection::ClientError| {
            let message = format!("no connection can be made to {origin}: {reason}");
            HttpFault::before_sending(call.scrub.failure(FailureKind::Unavailable, message))
        };
        let client = self.connections.client(is_tls, call.connect_timeout).map_err(no_client)?;
        let mut request = client.request(method, url).headers(headers);
        if let Some((_, body)) = call.body {
            request = request.body(body);
        }
        let fault = |error: &reqwest::Error| fault::of_request(error, &origin, call.connect_timeout, call.scrub);
        let request = request.build().map_err(|error| fault(&error))?;
        let is_repeatable = call.is_repeatable && lock(&self.answered).contains(&origin);
        let again = if is_repeatable { request.try_clone() } else { None };
        let sent = async {
            match (client.execute(request).await, again) {
                // A server may close an idle connection at any time. No part of an answer was received, so sending the request again does not count
                // as a retry.
                (Err(error), Some(again)) if fault::is_dead_connection(&error) => {
                    let client = self.connections.unshared(is_tls, call.connect_timeout).map_err(no_client)?;
                    client.execute(again).await.map_err(|error| fault(&error))
                }
                (sent, _) => sent.map_err(|error| fault(&error)),
            }
        };
        let response = answer::unless_silent(self.settings.silence, sent).await.map_err(|silence| {
            let message = format!("{origin} gave no answer within {}", in_words(silence));
            HttpFault::after_sending(call.scrub.failure(FailureKind::Timeout, message))
        })??;
        lock(&self.answered).insert(origin.clone());
        HttpAnswer::new(response, origin, Arc::clone(&self.settings), call.scrub.clone())
    }
}

/// The part of an unchecked address that may be shown: nothing after its host, and nothing before an `@`.
fn origin_of(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    let host = authority.rsplit('@').next().unwrap_or("");
    let end = if scheme.is_empty() { "" } else { "://" };
    format!("{:?}", format!("{scheme}{end}{host}").chars().take(200).collect::<String>())
}

/// The first line and the headers of a call, checked; nothing is sent before.
fn head_of(
    call: &HttpCall<'_>,
    private_hosts: &[String],
) -> Result<(reqwest::Method, reqwest::Url, reqwest::header::HeaderMap), HttpFault> {
    let before = |kind, message: String| HttpFault::before_sending(call.scrub.failure(kind, message));
    let url = address::checked(call.url, private_hosts)
        .map_err(|reason| before(FailureKind::Blocked, format!("the address {} cannot be called: {reason}", origin_of(call.url))))?;
    let method = reqwest::Method::from_bytes(call.method.as_bytes())
        .map_err(|_| before(FailureKind::BadRequest, format!("{} is not an HTTP method", call.method)))?;
    Ok((method, url, headers(call)?))
}

fn headers(call: &HttpCall<'_>) -> Result<reqwest::header::HeaderMap, HttpFault> {
    use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
    let refuse = |message: String| HttpFault::before_sending(call.scrub.failure(FailureKind::BadRequest, message));
    let mut headers = HeaderMap::with_capacity(call.headers.len() + 1);
    for (name, value) in &call.headers {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse(format!("{name:?} is not a valid header name")))?;
        if OWN_HEADERS.contains(&header.as_str()) || header.as_str().starts_with("proxy-") {
            return Err(refuse(format!("the header {header} is set by flow and cannot be changed")));
        }
        let mut value = HeaderValue::from_bytes(value.reveal().as_bytes())
            .map_err(|_| refuse(format!("the value of the header {header} contains a line break or another control character")))?;
        value.set_sensitive(true);
        headers.append(header, value);
    }
    if let Some((content_type, _)) = &call.body
        && !headers.contains_key(CONTENT_TYPE)
    {
        let value = HeaderValue::from_str(content_type).map_err(|_| refuse(format!("{content_type:?} is not a valid content type")))?;
        headers.insert(CONTENT_TYPE, value);
    }
    Ok(headers)
}
