//! [`HttpClient`]: the calls of `http` steps and tools.

use reqwest::header::HeaderValue;
use serde_json::Value;

use super::fault::{HttpFault, in_words};
use super::json::{TextError, read_text};
use super::{Http, HttpAnswer, HttpCall, connect_time, head_of};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{HttpClient, HttpReply, HttpRequest, Pending, Secret};
use crate::scrub::Scrub;

/// Headers whose values are not secrets: hiding them would remove ordinary words from messages.
const PLAIN_HEADERS: [&str; 6] = ["accept", "accept-language", "content-type", "if-none-match", "if-modified-since", "user-agent"];

/// Sends the requests of `http` steps and tools.
#[derive(Clone)]
pub struct StepHttpClient {
    http: Http,
}

impl StepHttpClient {
    /// Creates a client that uses these connections.
    pub fn new(http: Http) -> StepHttpClient {
        StepHttpClient { http }
    }
}

impl HttpClient for StepHttpClient {
    fn send(&self, request: HttpRequest) -> Pending<HttpReply> {
        let http = self.http.clone();
        Box::pin(async move {
            let is_safe = request.method.is_safe();
            let scrub = http.scrub(hidden(&request));
            let time = request.timeout;
            let too_slow =
                |_| HttpFault::after_sending(scrub.failure(FailureKind::Timeout, format!("no whole answer within {}", in_words(time))));
            let outcome = tokio::time::timeout(time, attempt(&http, request, &scrub)).await.map_err(too_slow).flatten();
            outcome.map_err(|fault| if is_safe { fault.failure } else { honest(fault) })
        })
    }
}

/// The failure of a request that may change something. If it is unknown whether the request had an effect, the kind is `unknown_outcome`.
pub(crate) fn honest(fault: HttpFault) -> Failure {
    let is_retryable = matches!(
        fault.failure.kind,
        FailureKind::Timeout | FailureKind::Connection | FailureKind::ServerError | FailureKind::BadResponse | FailureKind::RateLimited
    );
    if fault.may_have_acted && is_retryable {
        return Failure {
            kind: FailureKind::UnknownOutcome,
            met: Some(fault.failure.kind),
            message: format!("{}; it is unknown whether the request had an effect", fault.failure.message),
            ..fault.failure
        };
    }
    fault.failure
}

/// The values of headers that messages hide.
fn hidden(request: &HttpRequest) -> impl Iterator<Item = &Secret> {
    let is_plain = |name: &str| PLAIN_HEADERS.iter().any(|plain| plain.eq_ignore_ascii_case(name));
    request.headers.iter().filter(move |(name, _)| !is_plain(name)).map(|(_, value)| value)
}

fn call_of<'a>(request: &'a HttpRequest, scrub: &'a Scrub) -> HttpCall<'a> {
    HttpCall {
        method: request.method.word(),
        url: &request.url,
        headers: request.headers.clone(),
        body: request.body.clone(),
        is_repeatable: false,
        connect_timeout: connect_time(request.connect_timeout, request.timeout),
        scrub,
    }
}

/// Checks what must hold of a request before anything of it leaves this machine. Which hosts of private networks the user allows is not asked.
///
/// # Errors
/// It would not be sent, whatever the user's settings are.
pub fn may_be_sent(request: &HttpRequest) -> Result<(), Failure> {
    let own = reqwest::Url::parse(&request.url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let scrub = Scrub::new(&hidden(request).cloned().collect::<Vec<_>>());
    head_of(&call_of(request, &scrub), own.as_slice()).map(|_| ()).map_err(|fault| fault.failure)
}

async fn attempt(http: &Http, request: HttpRequest, scrub: &Scrub) -> Result<HttpReply, HttpFault> {
    let mut answer = http.send(call_of(&request, scrub)).await?;
    let text = |value: &HeaderValue| std::str::from_utf8(value.as_bytes()).map(str::to_owned).ok();
    let headers = answer.headers().iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?))).collect();
    let status = answer.status();
    let body = body(&mut answer).await?;
    Ok(HttpReply { status, headers, body })
}

async fn body(answer: &mut HttpAnswer) -> Result<Value, HttpFault> {
    let content_type = answer.content_type();
    let is_json = content_type == "application/json" || content_type == "text/json" || content_type.ends_with("+json");
    if is_json {
        return Ok(answer.json().await?.unwrap_or(Value::Null));
    }
    let bytes = answer.bytes().await?;
    match read_text(&bytes, answer.charset().as_deref()) {
        Ok(text) if !text.contains('\0') => Ok(Value::String(text.into_owned())),
        Err(error @ TextError::Unknown(_)) => Err(answer.fault(error.kind(), format!("sent {error}"))),
        found if content_type.is_empty() || content_type.starts_with("text/") => {
            let error = found.err().unwrap_or(TextError::Broken("text"));
            Err(answer.fault(error.kind(), format!("sent {error}")))
        }
        _ => Err(answer.fault(FailureKind::WrongType, format!("sent {content_type}; only JSON and text can be read"))),
    }
}
