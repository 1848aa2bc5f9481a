//! A server behind a web address (streamable HTTP): each request is a POST whose answer is JSON or a stream of events.
//!
//! A stream that breaks is resumed where it ended, if the server numbers its events. As for every other request, [`Http`] enforces the limits on
//! hosts, redirects, sizes and times.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorData, ProtocolVersion};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::auth::{Asker, Challenge, LoginCommand, Logins, ServerTokens};
use super::headers::header_value;
use super::inbox::{Inbox, Said, error_of, take_outcome};
use super::protocol::STATELESS;
use crate::event::Failure;
use crate::http::{Http, HttpAnswer, HttpCall, HttpFault, ReadProgress, SseMarks, read_json, status_class};
use crate::lock;
use crate::model::FailureKind;
use crate::port::{Clock, Secret, ToolServer};
use crate::scrub::Scrub;

/// How often a stream is resumed, and the wait before that if the server does not set one.
const MOST_RESUMED: usize = 10;
pub(super) const RESUME_AFTER: Duration = Duration::from_secs(1);
/// Maximum wait that a server may request.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Maximum number of times that one request is sent, each time with another token.
const MOST_TOKENS: usize = 3;
/// Time limit for sending a message that has no answer.
const NOTICE_TIME: Duration = Duration::from_secs(2);
/// Maximum length of the id of a session or an event, in bytes.
pub(super) const LONGEST_ID: usize = 1024;
/// Headers that belong to the protocol; a file cannot set them.
const OWN: [&str; 7] = ["accept", "content-type", "last-event-id", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"];

/// A connection to a web server.
pub(super) struct Web {
    pub(super) endpoint: WebEndpoint,
    headers: Vec<(String, Secret)>,
    agreed: Mutex<Handshake>,
    /// The source of tokens; `None` if the file sets an `Authorization` header, or no token is used.
    tokens: Option<ServerTokens>,
    /// The server's last challenge.
    wanted: Mutex<Option<Challenge>>,
    /// The task that listens for notifications.
    pub(super) listening: Mutex<Option<AbortHandle>>,
}

/// The address of a server, and the inbox for its messages.
#[derive(Clone)]
pub(super) struct WebEndpoint {
    pub(super) inbox: Arc<Inbox>,
    pub(super) http: Http,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) url: String,
    pub(super) connect_timeout: Duration,
    /// The command to log in.
    pub(super) command: LoginCommand,
}

impl WebEndpoint {
    fn call(&self, method: &'static str, headers: Vec<(String, Secret)>, message: Option<Vec<u8>>) -> HttpCall<'_> {
        let body = message.map(|message| ("application/json".to_owned(), message));
        HttpCall {
            method,
            url: &self.url,
            headers,
            body,
            is_repeatable: false,
            connect_timeout: self.connect_timeout,
            scrub: &self.inbox.scrub,
        }
    }

    /// Creates an [`Asker`] for metadata and tokens.
    pub(super) fn asker(&self) -> Asker {
        Asker {
            http: self.http.clone(),
            connect_timeout: self.connect_timeout,
            scrub: self.inbox.scrub.clone(),
            clock: Arc::clone(&self.clock),
            awaited: Arc::default(),
            command: self.command.clone(),
        }
    }

    /// Sends a request, with a message as its body if there is one. The answer may have any status.
    pub(super) async fn ask(
        &self,
        method: &'static str,
        headers: Vec<(String, Secret)>,
        message: Option<Vec<u8>>,
    ) -> Result<HttpAnswer, HttpFault> {
        self.http.send_any(self.call(method, headers, message)).await
    }
}

/// What was agreed on with the server.
#[derive(Default, Clone)]
struct Handshake {
    version: Option<ProtocolVersion>,
    session: Option<String>,
}

/// Why a request has no answer.
pub(super) enum Trouble {
    /// The server no longer knows the session.
    SessionGone,
    /// Anything else.
    Fault(HttpFault),
}

impl From<HttpFault> for Trouble {
    fn from(fault: HttpFault) -> Trouble {
        Trouble::Fault(fault)
    }
}

impl Trouble {
    /// Converts to a fault. `gone` is the message if the session is gone.
    pub(super) fn or_gone(self, gone: &str) -> HttpFault {
        match self {
            Trouble::SessionGone => HttpFault::before_sending(Failure::new(FailureKind::BadResponse, gone)),
            Trouble::Fault(fault) => fault,
        }
    }
}

impl Web {
    /// Creates a connection. `logins` is where logins are stored, and the command to log in.
    pub(super) fn new(
        http: Http,
        clock: Arc<dyn Clock>,
        server: &ToolServer,
        url: &str,
        headers: &[(String, Secret)],
        logins: Logins,
    ) -> Web {
        let headers = headers.iter().filter(|(name, _)| !OWN.contains(&name.to_ascii_lowercase().as_str()));
        let headers: Vec<(String, Secret)> = headers.cloned().collect();
        let inbox = Arc::new(Inbox::new(Scrub::new(headers.iter().map(|(_, value)| value).chain(&server.secrets))));
        let (connect_timeout, command) = (server.connect_timeout, logins.command);
        let endpoint = WebEndpoint { inbox, http, clock, url: url.to_owned(), connect_timeout, command };
        let tokens = ServerTokens::new(endpoint.asker(), server, logins.folder);
        Web { endpoint, headers, agreed: Mutex::default(), tokens, wanted: Mutex::default(), listening: Mutex::default() }
    }

    /// Returns the same connection without tokens, to find out what the server requires.
    pub(super) fn without_tokens(mut self) -> Web {
        self.tokens = None;
        self
    }

    /// The server's last challenge.
    pub(super) fn wanted(&self) -> Option<Challenge> {
        lock(&self.wanted).clone()
    }

    fn agreed(&self) -> Handshake {
        lock(&self.agreed).clone()
    }

    /// Sets the protocol version for the following requests.
    pub(super) fn agree(&self, version: ProtocolVersion) {
        lock(&self.agreed).version = Some(version);
    }

    /// The session id, if the server uses sessions.
    pub(super) fn session(&self) -> Option<String> {
        self.agreed().session
    }

    /// The headers of a message. `more` holds those that repeat its arguments.
    pub(super) fn headers(&self, message: Option<&Value>, more: &BTreeMap<String, String>) -> Vec<(String, Secret)> {
        // A handshake starts a new session.
        let agreed = if message.is_some_and(greets) { Handshake::default() } else { self.agreed() };
        let mut headers = self.headers.clone();
        headers.extend(self.token().map(|token| ("Authorization".to_owned(), bearer(&token))));
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), Secret::new(value)));
        add("Accept", if message.is_some() { "application/json, text/event-stream" } else { "text/event-stream" });
        agreed.version.iter().for_each(|version| add("MCP-Protocol-Version", version.as_str()));
        agreed.session.iter().for_each(|session| add("Mcp-Session-Id", session));
        if let (Some(message), true) = (message, agreed.version == Some(STATELESS)) {
            message.get("method").and_then(Value::as_str).iter().for_each(|method| add("Mcp-Method", method));
            message.pointer("/params/name").and_then(Value::as_str).iter().for_each(|name| add("Mcp-Name", &header_value(name)));
            more.iter().for_each(|(name, value)| add(&format!("Mcp-Param-{name}"), &header_value(value)));
        }
        headers
    }

    async fn post(&self, message: &Value, more: &BTreeMap<String, String>) -> Result<HttpAnswer, HttpFault> {
        if let Some(tokens) = &self.tokens {
            tokens.prepare().await?;
        }
        let mut tries = 0;
        loop {
            let used = self.token();
            self.tokens.iter().for_each(ServerTokens::are_there);
            let answer = self.endpoint.ask("POST", self.headers(Some(message), more), Some(message.to_string().into_bytes())).await?;
            let challenge = Challenge::from_headers(answer.headers());
            let is_for_scopes = answer.status() == 403 && challenge.error.as_deref() == Some("insufficient_scope");
            if answer.status() != 401 && !is_for_scopes {
                return Ok(answer);
            }
            *lock(&self.wanted) = Some(challenge.clone());
            tries += 1;
            // The server has not processed the request, so it may be sent again.
            match &self.tokens {
                Some(tokens) if tries < MOST_TOKENS && tokens.renew(used.as_ref(), &challenge, is_for_scopes).await? => {}
                _ => return Ok(answer),
            }
        }
    }

    /// Replaces the token in headers that were created earlier.
    pub(super) async fn put_token(&self, headers: &mut Vec<(String, Secret)>) -> Result<(), HttpFault> {
        let Some(tokens) = &self.tokens else { return Ok(()) };
        tokens.prepare().await?;
        headers.retain(|(name, _)| name != "Authorization");
        headers.extend(tokens.current().map(|token| ("Authorization".to_owned(), bearer(&token))));
        Ok(())
    }

    /// The host that a token was requested from and that has not answered.
    pub(super) fn awaited(&self) -> Option<String> {
        self.tokens.as_ref().and_then(ServerTokens::awaited)
    }

    fn token(&self) -> Option<Secret> {
        self.tokens.as_ref().and_then(ServerTokens::current)
    }

    /// Sends a message that has no answer.
    pub(super) async fn notify(&self, message: &Value) -> Result<(), HttpFault> {
        let answer = self.post(message, &BTreeMap::new()).await?;
        answer.checked(self.endpoint.clock.now()).await.map(|_| ())
    }

    /// Like [`Web::notify`], in the background. Failures are ignored.
    pub(super) fn notify_soon(self: &Arc<Web>, message: Value) {
        let own = Arc::clone(self);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(NOTICE_TIME, own.notify(&message)).await;
        });
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(self: &Arc<Web>, id: u64, message: &Value, more: &BTreeMap<String, String>) -> Result<Said, Trouble> {
        let has_session = self.agreed().session.is_some() && !greets(message);
        let mut answer = self.post(message, more).await?;
        let status = answer.status();
        if status == 404 && has_session {
            return Err(Trouble::SessionGone);
        }
        if status >= 400 {
            return self.error(answer, status).await;
        }
        if greets(message) {
            let is_fine = |session: &&str| session.len() <= LONGEST_ID && session.bytes().all(|byte| byte.is_ascii_graphic());
            let session = answer.headers().get("mcp-session-id").and_then(|value| value.to_str().ok()).filter(is_fine);
            lock(&self.agreed).session = session.map(str::to_owned);
        }
        match answer.content_type().as_str() {
            "text/event-stream" => self.stream(id, answer).await,
            "application/json" => {
                let bytes = answer.bytes().await?;
                let (_, said) = self.taken(id, &bytes).map_err(|failure| answer.fault(failure.kind, failure.message))?;
                Ok(said.ok_or_else(|| answer.fault(FailureKind::BadResponse, "sent no answer to the request"))?)
            }
            other => {
                let message = format!("sent {}, which is not an answer of an MCP server", if other.is_empty() { "nothing" } else { other });
                Err(answer.fault(FailureKind::WrongType, message).into())
            }
        }
    }

    /// Reads an answer with a status of 400 or above: an error object, if its body is one.
    async fn error(&self, mut answer: HttpAnswer, status: u16) -> Result<Said, Trouble> {
        if answer.content_type() == "application/json" && !matches!(status, 401 | 403 | 407 | 429) {
            let bytes = answer.bytes().await?;
            let error =
                serde_json::from_slice::<Value>(&bytes).ok().and_then(|mut message| Some(error_of(message.get_mut("error")?.take())));
            if let Some(error) = error.filter(|error: &ErrorData| error.code.0 != 0) {
                return Ok(Err(error));
            }
            let message = format!("answered {status}: {}", self.endpoint.inbox.scrub.quote(&String::from_utf8_lossy(&bytes), false));
            return Err(HttpFault { may_have_acted: status >= 500, ..answer.fault(status_class(status), message) }.into());
        }
        let wanted = answer.headers().get("www-authenticate").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let challenge = self.wanted().unwrap_or_default();
        let is_for_scopes = status == 403 && challenge.error.as_deref() == Some("insufficient_scope");
        let own = self.tokens.as_ref().filter(|_| status == 401 || is_for_scopes);
        let help = own.and_then(|tokens| tokens.help(&challenge, is_for_scopes));
        let help = help.or_else(|| (status == 401).then(|| self.how_to_authorise(wanted.as_deref())));
        match answer.checked_with(self.endpoint.clock.now(), help.as_deref()).await {
            Err(fault) => Err(fault.into()),
            Ok(answer) => Err(answer.fault(FailureKind::BadResponse, "sent no answer").into()),
        }
    }

    /// What to write in the file after a 401, with the server's challenge.
    fn how_to_authorise(&self, wanted: Option<&str>) -> String {
        let has_token = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let help = match has_token {
            true => "the token in its headers (Authorization) is not accepted",
            false => "set headers: { Authorization: \"Bearer {{ secrets.NAME }}\" } with a token of this server",
        };
        let wanted = wanted.map(|wanted| format!("; it wants: {}", self.endpoint.inbox.scrub.short_quote(wanted))).unwrap_or_default();
        format!("{help}{wanted}")
    }

    /// Reads messages. Returns the messages to send back, and the answer to the request if it is among them.
    fn taken(&self, id: u64, bytes: &[u8]) -> Result<(Vec<Value>, Option<Said>), Failure> {
        let mut message: Value = read_json(bytes).map_err(|fault| Failure::new(FailureKind::BadResponse, format!("sent {fault}")))?;
        // Hides tokens that the server repeats in its answer.
        self.endpoint.inbox.scrub.hide_learnt(&mut message);
        let list = match message {
            Value::Array(list) => list,
            one => vec![one],
        };
        let (mut back, mut answer) = (vec![], None);
        for mut message in list {
            let is_answer = message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id);
            if is_answer && answer.is_none() {
                self.endpoint.inbox.answered();
                let neither = || Failure::new(FailureKind::BadResponse, "sent an answer without result and error");
                answer = Some(take_outcome(&mut message).ok_or_else(neither)?);
            } else {
                back.extend(self.endpoint.inbox.take_of(Some(id), message.to_string().as_bytes())?);
            }
        }
        Ok((back, answer))
    }

    /// Reads a stream until the answer arrives. A stream that breaks is resumed.
    async fn stream(self: &Arc<Web>, id: u64, mut answer: HttpAnswer) -> Result<Said, Trouble> {
        let mut marks = SseMarks::default();
        for _ in 0..=MOST_RESUMED {
            let mut said = None;
            let read = answer.marked_events(&mut marks, |event| {
                if !event.event.is_empty() && event.event != "message" {
                    return Ok(ReadProgress::More);
                }
                let (back, answer) = self.taken(id, event.data.as_bytes())?;
                back.into_iter().for_each(|message| self.notify_soon(message));
                said = answer;
                Ok(if said.is_some() { ReadProgress::Done } else { ReadProgress::More })
            });
            let fault = match read.await {
                Ok(()) => return said.ok_or_else(|| answer.fault(FailureKind::BadResponse, "sent no answer").into()),
                Err(fault) => fault,
            };
            let can_go_on = matches!(fault.failure.kind, FailureKind::BadResponse | FailureKind::Connection);
            let Some(last_id) = marks.last_id.clone().filter(|last| can_go_on && !last.is_empty() && last.len() <= LONGEST_ID) else {
                return Err(fault.into());
            };
            let wait = marks.retry_ms.map_or(RESUME_AFTER, Duration::from_millis).min(LONGEST_WAIT);
            tokio::time::sleep(wait).await;
            let mut headers = self.headers(None, &BTreeMap::new());
            headers.push(("Last-Event-ID".to_owned(), Secret::new(last_id)));
            // The request may have had an effect, whether or not the stream can be resumed.
            let acted = |fault: HttpFault| HttpFault { may_have_acted: true, ..fault };
            answer = self.endpoint.http.send(self.endpoint.call("GET", headers, None)).await.map_err(acted)?;
        }
        Err(answer.fault(FailureKind::BadResponse, format!("ended its answer early {MOST_RESUMED} times")).into())
    }

    pub(super) fn stop_listening(&self) {
        let task = lock(&self.listening).take();
        task.iter().for_each(AbortHandle::abort);
    }

    /// Ends the session, if there is one.
    pub(super) async fn end(&self) {
        self.stop_listening();
        if self.agreed().session.is_none() {
            return;
        }
        let goodbye = self.endpoint.ask("DELETE", self.headers(None, &BTreeMap::new()), None);
        let _ = tokio::time::timeout(NOTICE_TIME, goodbye).await;
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

fn bearer(token: &Secret) -> Secret {
    Secret::new(format!("Bearer {}", token.reveal()))
}

/// Whether a message starts a handshake.
fn greets(message: &Value) -> bool {
    message.get("method").is_some_and(|method| method == "initialize")
}
