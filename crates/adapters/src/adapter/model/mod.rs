//! Language models over HTTP: one attempt, always streamed, in OpenAI's chat or responses format or Anthropic's messages format.
//!
//! A reply counts only when the stream ended the way its format says; the text of anything else is dropped. An endpoint that ignores
//! `stream` and answers one JSON object is read too.
//!
//! How to add a wire format: a file here with a body and a `Reader`, a variant of `WireFormat`, its arms below and in `tests`.

mod anthropic;
mod draft;
mod in_words;
mod openai;
mod pictures;
mod responses;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use super::http::{Http, HttpAnswer, HttpCall, HttpFault, ReadProgress, SseEvent, connect_time, in_words as time_in_words};
use super::own::OwnFiles;
use super::wording::Scrub;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Listener, ModelClient, ModelReply, ModelRequest, Pending, Secret, WireFormat};
use crate::redact::is_recognised;

/// Calls models over HTTP, in every wire format.
#[derive(Clone)]
pub struct HttpModelClient {
    http: Http,
    own: Arc<OwnFiles>,
}

impl HttpModelClient {
    /// Calls over these connections; pictures that lie in these places are not sent.
    pub fn new(http: Http, own: Arc<OwnFiles>) -> HttpModelClient {
        HttpModelClient { http, own }
    }
}

impl ModelClient for HttpModelClient {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        let client = self.clone();
        Box::pin(async move {
            let scrub = Scrub::new(&request.api_key);
            match tokio::time::timeout(request.timeout, attempt(&client, &request, &scrub)).await {
                Ok(outcome) => {
                    let mut reply = outcome?;
                    // One that stands in for a key where none is needed (`none`, `ollama`) may be in any answer.
                    if request.api_key.as_ref().is_some_and(|key| is_recognised(key.reveal())) {
                        scrub.reply(&mut reply);
                    }
                    Ok(reply)
                }
                Err(_) => {
                    let message = format!("model {:?} did not finish its answer within {}", request.model, time_in_words(request.timeout));
                    Err(scrub.failure(FailureKind::Timeout, message))
                }
            }
        })
    }
}

/// What is wrong with an answer: a class and the words after `https://host`.
type AnswerFault = (FailureKind, String);

/// Puts an answer together. Each method fails with what is wrong.
trait AnswerReader {
    /// Takes the next event of a stream.
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault>;
    /// Takes an answer that was not streamed.
    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault>;
    /// The text so far.
    fn heard(&self) -> &str;
    /// The reply, once an end was read.
    fn reply(self) -> Result<ModelReply, AnswerFault>;
}

async fn attempt(client: &HttpModelClient, request: &ModelRequest, scrub: &Scrub) -> Result<ModelReply, HttpFault> {
    if request.wire == WireFormat::Recorded {
        let message = "this model answers from recordings, and none are open here";
        return Err(HttpFault::before_sending(Failure::new(FailureKind::Unavailable, message)));
    }
    let Some(told) = in_words::told(request) else { return ask(client, request, scrub).await };
    let reply = ask(client, &told, scrub).await?;
    let complain = |(kind, what): AnswerFault| scrub.failure(kind, format!("model {:?} {}", request.model, scrub.quote(&what, false)));
    in_words::read(request, reply).map_err(|complaint| HttpFault::after_sending(complain(complaint)))
}

async fn ask(HttpModelClient { http, own }: &HttpModelClient, request: &ModelRequest, scrub: &Scrub) -> Result<ModelReply, HttpFault> {
    let pictures = pictures::load(request, own).await?;
    let bearer =
        || request.api_key.iter().map(|key| ("authorization".to_owned(), Secret::new(format!("Bearer {}", key.reveal())))).collect();
    match request.wire {
        WireFormat::OpenAiChat | WireFormat::Recorded => {
            let url = openai::url(&request.base_url);
            exchange(http, request, scrub, (&url, bearer(), openai::body(request, &pictures)), openai::ChatReader::default()).await
        }
        WireFormat::OpenAiResponses => {
            let url = responses::url(&request.base_url);
            exchange(http, request, scrub, (&url, bearer(), responses::body(request, &pictures)), responses::ResponseReader::new(request))
                .await
        }
        WireFormat::AnthropicMessages => {
            let mut headers = vec![("anthropic-version".to_owned(), Secret::new("2023-06-01"))];
            headers.extend(request.api_key.iter().map(|key| ("x-api-key".to_owned(), key.clone())));
            let url = anthropic::url(&request.base_url);
            let (body, reader) = anthropic::body(request, &pictures);
            exchange(http, request, scrub, (&url, headers, body), reader).await
        }
    }
}

async fn exchange<R: AnswerReader>(
    http: &Http,
    request: &ModelRequest,
    scrub: &Scrub,
    (url, mut headers, body): (&str, Vec<(String, Secret)>, Value),
    mut reader: R,
) -> Result<ModelReply, HttpFault> {
    headers.push(("accept".to_owned(), Secret::new("text/event-stream, application/json")));
    let call = HttpCall {
        method: "POST",
        url,
        headers,
        body: Some(("application/json".to_owned(), body.to_string().into_bytes())),
        connect_timeout: connect_time(request.connect_timeout, request.timeout),
        scrub,
    };
    let mut answer = http.send(call).await?;
    read(&mut answer, &mut reader, request.listener.as_ref()).await?;
    reader.reply().map_err(|complaint| HttpFault::after_sending(complain(&answer.origin, scrub, complaint)))
}

async fn read<R: AnswerReader>(answer: &mut HttpAnswer, reader: &mut R, listener: Option<&Listener>) -> Result<(), HttpFault> {
    let (origin, scrub) = (answer.origin.clone(), answer.scrub.clone());
    let content_type = answer.content_type();
    if answer.status() >= 300 {
        let message = format!("answered {}, which is no answer of a model; check base_url", answer.status());
        return Err(HttpFault::after_sending(answer.failure(FailureKind::BadResponse, message)));
    }
    match content_type.as_str() {
        "text/event-stream" => {
            let mut take = |event: &SseEvent| {
                let length = reader.heard().len();
                let progress = reader.event(event).map_err(|complaint| complain(&origin, &scrub, complaint))?;
                if let Some(listener) = listener.filter(|_| reader.heard().len() != length) {
                    listener.hear(reader.heard());
                }
                Ok(progress)
            };
            answer.events(&mut take).await
        }
        "application/json" => {
            let Some(value) = answer.json().await? else {
                return Err(HttpFault::after_sending(answer.failure(FailureKind::BadResponse, "sent an empty answer")));
            };
            reader.whole(&value).map_err(|complaint| HttpFault::after_sending(complain(&origin, &scrub, complaint)))
        }
        other => {
            let sent = if other.is_empty() { "an answer without content type".to_owned() } else { scrub.quote(other, false) };
            let message = format!("sent {sent} where a model's answer was expected; check base_url");
            Err(HttpFault::after_sending(answer.failure(FailureKind::WrongType, message)))
        }
    }
}

fn complain(origin: &str, scrub: &Scrub, (kind, what): AnswerFault) -> Failure {
    scrub.failure(kind, format!("{origin} {}", scrub.quote(&what, false)))
}

/// The address of a method below a base URL. `version` stands between them unless the base URL ends with it.
fn joined(base_url: &str, version: &str, method: &str) -> String {
    let base = base_url.trim_end_matches('/');
    let version = if version.is_empty() || base.ends_with(version) { "" } else { version };
    format!("{base}{version}{method}")
}

/// Whether a base URL is on a host.
fn is_at(base_url: &str, host: &str) -> bool {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    rest.split(['/', ':']).next().is_some_and(|found| found.eq_ignore_ascii_case(host))
}
