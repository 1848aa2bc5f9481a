//! Language models over HTTP: a single attempt, always streamed, in OpenAI's chat or responses format or Anthropic's messages format.
//!
//! A reply is only accepted if the stream ended as its format requires; otherwise its text is dropped. An endpoint that ignores `stream` and answers
//! with one JSON object is supported too.
//!
//! How to add a wire format: add a variant to `model::WireFormat`, a file here that builds a [`WireCall`] with its [`AnswerReader`], an arm in
//! [`ask`] (the compiler requires it), and rows in `tests`. To add a provider that uses an existing format, see [`Service`](crate::model::Service).

mod anthropic;
mod chat_answer;
mod dialect;
mod draft;
pub mod embeddings;
mod ended;
mod in_words;
mod openai;
mod pictures;
mod responses;
mod spoken;
mod state;
mod tool_schemas;
mod window;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

pub use dialect::{Family, families, family};

use self::dialect::{Dialect, Rejected};
use self::draft::DraftAnswer;
use self::ended::{error_complaint, error_in};
use self::pictures::Pictures;
use super::http::{Http, HttpAnswer, HttpCall, HttpFault, ReadProgress, SseEvent, connect_time, in_words as time_in_words, read_json};
use super::lock;
use super::own::OwnFiles;
use super::scrub::Scrub;
use crate::event::{Failure, TraceContext};
use crate::model::FailureKind;
use crate::port::{EndpointOptions, ModelClient, ModelReply, ModelRequest, Pending, Secret, WireFormat};
use crate::redact::is_recognised;
use crate::said::so_far;

/// Calls models over HTTP, in every wire format.
#[derive(Clone)]
pub struct HttpModelClient {
    http: Http,
    own: Arc<OwnFiles>,
    rejected: Rejected,
    /// Whether models begin their answers with thoughts and do not say so, as their answers have shown: what those say is not shown while it comes.
    think_first: Arc<Mutex<HashMap<String, bool>>>,
}

impl HttpModelClient {
    /// Creates a client that uses these connections. Pictures in the protected places of `own` are not sent.
    pub fn new(http: Http, own: Arc<OwnFiles>) -> HttpModelClient {
        HttpModelClient { http, own, rejected: Rejected::default(), think_first: Arc::default() }
    }
}

impl ModelClient for HttpModelClient {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        let client = self.clone();
        Box::pin(async move {
            let scrub = client.http.scrub(secrets(&request.api_key, &request.endpoint));
            let too_slow = |_| {
                let message = format!("model {:?} did not finish its answer within {}", request.model, time_in_words(request.timeout));
                scrub.failure(FailureKind::Timeout, message)
            };
            let reply = tokio::time::timeout(request.timeout, attempt(&client, &request, &scrub)).await.map_err(too_slow)?;
            let mut reply = reply.map_err(|fault| said_by_whom(fault.into(), &request))?;
            // Short keys and plain words, such as the placeholders `none` and `ollama`, may occur in any answer, so they are not hidden.
            if request.api_key.as_ref().is_some_and(|key| is_recognised(key.reveal())) {
                scrub.reply(&mut reply);
            }
            Ok(reply)
        })
    }
}

/// Adds whose limit an answer was cut at.
fn said_by_whom(mut failure: Failure, request: &ModelRequest) -> Failure {
    let used = failure.tokens.map_or(0, |(_, output)| output);
    if failure.message.ends_with(draft::CUT_AT_LIMIT)
        && let Some(most) = request.max_output_tokens
    {
        failure.message = match request.bounded_as {
            // The endpoint reports fewer tokens than allowed, so the model's own limit was reached first.
            _ if used > 0 && used < most => format!("model {:?} cut its answer after {used} tokens, at a limit of its own", request.model),
            Some(what) => {
                format!("{what} was cut at flow's default limit of {most} tokens; set max_output_tokens of the model to allow more")
            }
            None => format!("the answer was cut at max_output_tokens: {most}; raise it to allow more"),
        };
    }
    failure
}

/// What is wrong with an answer: a failure kind, and a message that follows `https://host`.
type AnswerFault = (FailureKind, String);

/// Assembles an answer. The fallible methods return what is wrong with it.
trait AnswerReader: Send {
    /// Reads the next event of a stream.
    fn event(&mut self, event: &SseEvent) -> Result<ReadProgress, AnswerFault>;
    /// Reads an answer that was not streamed and is not an error.
    fn whole(&mut self, answer: &Value) -> Result<(), AnswerFault>;
    /// The text received so far.
    fn heard(&self) -> &str;
    /// The numbers of input and output tokens, if the endpoint reported them.
    fn tokens(&self) -> Option<(u64, u64)>;
    /// The answer, after its end was read.
    fn reply(self: Box<Self>) -> Result<DraftAnswer, AnswerFault>;
}

/// A request in one wire format, and the reader of its answer.
struct WireCall {
    url: String,
    /// Authentication, and other headers that the format requires.
    headers: Vec<(String, Secret)>,
    body: Value,
    reader: Box<dyn AnswerReader>,
}

async fn attempt(client: &HttpModelClient, request: &ModelRequest, scrub: &Scrub) -> Result<ModelReply, HttpFault> {
    let told = in_words::with_tools_in_words(request);
    let (accepted, renamed) = tool_schemas::accepted(told.as_ref().unwrap_or(request));
    let (answered, noted) = ask(client, &accepted, scrub).await?;
    let tokens = answered.reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
    let complain = |(kind, what): AnswerFault| {
        let failure = scrub.failure(kind, format!("model {:?} {}", request.model, scrub.quote(&what, false)));
        HttpFault::after_sending(Failure { tokens, ..failure })
    };
    let asked = if told.is_some() { request } else { &accepted };
    let spoken::Spoken { mut reply, thinks_first } = spoken::read(asked, answered).map_err(complain)?;
    *lock(&client.think_first).entry(state::whose(request)).or_default() |= thinks_first;
    reply.notes.extend(noted);
    reply.notes.extend(window::cut(request, &reply));
    Ok(tool_schemas::as_the_server_names(reply, &renamed))
}

/// Makes the call. What the endpoint rejects by name, and flow added by itself, is left out, and the call made again; that is noted.
async fn ask(client: &HttpModelClient, request: &ModelRequest, scrub: &Scrub) -> Result<(DraftAnswer, Option<String>), HttpFault> {
    let pictures = pictures::load(request, &client.own).await?;
    let mut dialect = Dialect::from_request(request, &client.rejected);
    let mut rejected = vec![];
    loop {
        match send(client, request, &dialect, &pictures, scrub).await {
            Ok(answered) => {
                let words: Vec<&str> = rejected.iter().map(<&str>::from).collect();
                let note =
                    (!words.is_empty()).then(|| format!("the endpoint rejected {}, so the call was made again without", words.join(", ")));
                client.rejected.remember(request, rejected);
                return Ok((answered, note));
            }
            Err(fault) => rejected.push(dialect.leave_out(request, &fault).ok_or(fault)?),
        }
    }
}

async fn send(
    client: &HttpModelClient,
    request: &ModelRequest,
    dialect: &Dialect,
    pictures: &Pictures,
    scrub: &Scrub,
) -> Result<DraftAnswer, HttpFault> {
    window::fits(request).map_err(HttpFault::before_sending)?;
    let told = dialect.in_words(request);
    let call = match request.wire {
        WireFormat::OpenAiChat => openai::call(&told, dialect, pictures),
        WireFormat::OpenAiResponses => responses::call(&told, dialect, pictures),
        WireFormat::AnthropicMessages => anthropic::call(&told, dialect, pictures),
        WireFormat::Recorded => Err(Failure::new(FailureKind::Unavailable, "this model replays recordings, and none are loaded")),
    };
    let WireCall { url, headers, body, reader } = call.map_err(HttpFault::before_sending)?;
    let url = with_query(url, &request.endpoint.query);
    let mut headers = with_own(headers, &request.endpoint.headers);
    headers.push(("accept".to_owned(), Secret::new("text/event-stream, application/json")));
    headers.extend(request.trace.iter().flat_map(TraceContext::fields).map(|(name, value)| (name.to_owned(), Secret::new(value))));
    let call = HttpCall {
        method: "POST",
        url: &url,
        headers,
        body: Some(("application/json".to_owned(), body.to_string().into_bytes())),
        is_repeatable: true,
        connect_timeout: connect_time(request.connect_timeout, request.timeout),
        scrub,
    };
    let known = if request.listener.is_some() { lock(&client.think_first).get(&state::whose(request)).copied() } else { Some(false) };
    let thinks_first = known.unwrap_or_else(|| may_think(&request.model));
    let shown = |heard: &str| so_far(heard, thinks_first);
    let listener = request.listener.as_ref().map(|listener| move |heard: &str| listener.hear(heard));
    read(client.http.with_silence(request.silence).send(call).await?, reader, &|heard| {
        listener.iter().for_each(|listener| listener(&shown(heard)))
    })
    .await
}

/// In how many steps a text is shown until it is three times as long. Each step reads all of it, so that the work grows as the text does.
const STEPS: usize = 128;

async fn read(mut answer: HttpAnswer, mut reader: Box<dyn AnswerReader>, hear: &(dyn Fn(&str) + Sync)) -> Result<DraftAnswer, HttpFault> {
    let (origin, scrub) = (answer.origin.clone(), answer.scrub.clone());
    let complain = |(kind, what): AnswerFault| scrub.failure(kind, format!("{origin} {}", scrub.quote(&what, false)));
    if answer.status() >= 300 {
        let message = format!("answered {}, which is not an answer of a model; check base_url", answer.status());
        return Err(answer.fault(FailureKind::BadResponse, message));
    }
    match kind_of_body(&mut answer).await? {
        BodyKind::Events => {
            let mut shown = 0;
            let mut take = |event: &SseEvent| {
                let progress = reader.event(event).map_err(&complain)?;
                let length = reader.heard().len();
                if length > shown + shown / STEPS {
                    shown = length;
                    hear(reader.heard());
                }
                Ok(progress)
            };
            answer.events(&mut take).await?;
            if reader.heard().len() > shown {
                hear(reader.heard());
            }
        }
        BodyKind::Json => {
            let bytes = answer.bytes().await?;
            whole(&bytes, &mut *reader).map_err(|complaint| HttpFault::after_sending(complain(complaint)))?;
        }
        BodyKind::Empty => return Err(answer.fault(FailureKind::BadResponse, "sent an empty answer")),
        BodyKind::Other(kind) => {
            let sent = if kind.is_empty() { "an answer without content type".to_owned() } else { scrub.quote(&kind, false) };
            let message = format!("sent {sent} where a model's answer was expected; check base_url");
            return Err(answer.fault(FailureKind::WrongType, message));
        }
    }
    let tokens = reader.tokens();
    reader.reply().map_err(|complaint| HttpFault::after_sending(Failure { tokens, ..complain(complaint) }))
}

/// Whether a model may begin with thoughts and not say so, by its name. It is only asked until the model has answered once.
fn may_think(model: &str) -> bool {
    let name = model.to_lowercase();
    ["r1", "qwq", "qwen3", "deepseek", "glm", "magistral", "minimax", "nemotron", "think", "reason", "gpt-oss"]
        .iter()
        .any(|part| name.contains(part))
}

/// What the body of an answer is.
enum BodyKind {
    Events,
    /// One JSON object, or one a line.
    Json,
    Empty,
    /// Something else, with this content type.
    Other(String),
}

/// What the body of an answer is, by its first characters: some servers give another content type than they send, or none.
async fn kind_of_body(answer: &mut HttpAnswer) -> Result<BodyKind, HttpFault> {
    let kind = answer.content_type();
    let is_stream = kind == "text/event-stream";
    let start = answer.opening(if is_stream { 1 } else { b"event:".len() }).await?;
    let is_field = || ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| start.starts_with(field.as_bytes()));
    Ok(match start.first() {
        Some(b'{' | b'[') => BodyKind::Json,
        _ if is_stream || is_field() => BodyKind::Events,
        None if kind == "application/json" => BodyKind::Empty,
        Some(_) if kind == "application/json" => BodyKind::Json,
        None | Some(_) => BodyKind::Other(kind),
    })
}

/// Reads a body of JSON: one answer, or a chunk of one on each line.
fn whole(bytes: &[u8], reader: &mut dyn AnswerReader) -> Result<(), AnswerFault> {
    let fault = match read_json(bytes) {
        // Some servers put the one answer into a list.
        Ok(Value::Array(list)) if list.len() == 1 => return whole(list[0].to_string().as_bytes(), reader),
        Ok(answer) => return error_in(&answer).map_or_else(|| reader.whole(&answer), |error| Err(error_complaint(error, false))),
        Err(fault) => (fault.kind(), format!("sent {fault}")),
    };
    let lines = std::str::from_utf8(bytes).unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    if lines.len() < 2 || read_json(lines[0].as_bytes()).is_err() {
        return Err(fault);
    }
    for line in lines {
        let data = line.strip_prefix("data:").unwrap_or(line).to_owned();
        if reader.event(&SseEvent { data, ..SseEvent::default() })? == ReadProgress::Done {
            break;
        }
    }
    Ok(())
}

/// The header with the key, as the family of the endpoint has it.
fn bearer(request: &ModelRequest, dialect: &Dialect) -> Vec<(String, Secret)> {
    key_header(request.api_key.as_ref(), dialect.key_header()).into_iter().collect()
}

/// The header with a key: `Authorization`, which most endpoints use, or another one.
fn key_header(key: Option<&Secret>, name: Option<&str>) -> Option<(String, Secret)> {
    key.map(|key| match name {
        Some(name) => (name.to_owned(), key.clone()),
        None => ("authorization".to_owned(), Secret::new(format!("Bearer {}", key.reveal()))),
    })
}

/// The headers of flow, and those of the file, which replace them.
fn with_own(headers: Vec<(String, Secret)>, own: &[(String, Secret)]) -> Vec<(String, Secret)> {
    let is_replaced = |name: &str| own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    headers.into_iter().filter(|(name, _)| !is_replaced(name)).chain(own.iter().cloned()).collect()
}

/// A URL with more values behind it.
fn with_query(url: String, query: &str) -> String {
    if query.is_empty() { url } else { format!("{url}?{query}") }
}

/// What must not appear in messages: the key, and headers that look like one. Other headers may be ordinary words.
fn secrets<'a>(key: &'a Option<Secret>, endpoint: &'a EndpointOptions) -> impl Iterator<Item = &'a Secret> {
    let headers = endpoint.headers.iter().map(|(_, value)| value).filter(|value| is_recognised(value.reveal()));
    key.iter().chain(headers)
}

/// The URL of a method below a base URL. `version` is inserted between them unless the base URL ends with it.
fn joined(base_url: &str, version: &str, method: &str) -> String {
    let base = base_url.trim_end_matches('/');
    let version = if version.is_empty() || base.ends_with(version) { "" } else { version };
    format!("{base}{version}{method}")
}

/// Whether a base URL is on a host.
fn is_at(base_url: &str, host: &str) -> bool {
    host_of(base_url).eq_ignore_ascii_case(host)
}

/// The host of a base URL.
fn host_of(base_url: &str) -> &str {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}
