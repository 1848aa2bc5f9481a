//! A session with one server: the handshake, and requests.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, timeout, timeout_at};

use super::inbox::{Inbox, Said};
use super::program::ServerProgram;
use super::protocol::{self, Offers, STATELESS};
use super::web::{Trouble, Web};
use crate::event::{Failure, FailureKind, ServerTool};
use crate::http::{HttpFault, in_words};
use crate::lock;

/// How long a program that did not answer a call in time has to answer a ping.
const PROOF_OF_LIFE: Duration = Duration::from_secs(2);

/// The server answered a handshake as if it belonged to an existing session.
pub(super) const NO_SESSION: &str = "it returned no session for the handshake";

/// The connection to a server.
pub(super) enum ServerLink {
    Program(ServerProgram),
    Web(Arc<Web>),
}

impl ServerLink {
    pub(super) fn inbox(&self) -> &Inbox {
        match self {
            ServerLink::Program(program) => &program.inbox,
            ServerLink::Web(web) => &web.endpoint.inbox,
        }
    }

    /// The last line that a program wrote to standard error, for a message.
    pub(super) fn last_line(&self) -> String {
        match self {
            ServerLink::Program(program) => program.last_line(),
            ServerLink::Web(_) => String::new(),
        }
    }

    /// Whether it still accepts requests.
    pub(super) fn is_open(&self) -> bool {
        self.inbox().closed().is_none()
    }

    /// A run starts to use the session, alone or together with others.
    pub(super) fn joined(&self, is_shared: bool) {
        if let ServerLink::Program(program) = self {
            program.joined(is_shared);
        }
    }

    pub(super) fn give_up(&self) {
        if let ServerLink::Program(program) = self {
            program.give_up();
        }
    }

    /// Ends the server or its session.
    pub(super) async fn end(&self) {
        match self {
            ServerLink::Program(program) => program.end().await,
            ServerLink::Web(web) => web.end().await,
        }
    }

    /// Sends a message that has no answer, without waiting.
    pub(super) fn send_soon(&self, message: Value) {
        match self {
            ServerLink::Program(program) => program.send_soon(&message),
            ServerLink::Web(web) => web.notify_soon(message),
        }
    }

    /// The id of the session with a server on the web.
    pub(super) fn web_session(&self) -> Option<String> {
        match self {
            ServerLink::Web(web) => web.session(),
            ServerLink::Program(_) => None,
        }
    }
}

/// A session with a server.
pub(super) struct ServerSession {
    pub(super) link: ServerLink,
    version: Mutex<ProtocolVersion>,
    /// The instructions that it sent in the handshake.
    instructions: Mutex<String>,
    /// What it offers.
    gives: Mutex<Offers>,
    pub(super) listed: Mutex<Option<Arc<ListedTools>>>,
    /// Whether it accepts calls as tasks.
    takes_tasks: AtomicBool,
    /// Whether it may ask a person.
    asks: bool,
    /// Only one task at a time repeats the handshake.
    pub(super) again: tokio::sync::Mutex<()>,
    /// If calls may ask a person while they run, the server works on one call at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The tools of a server, as last listed.
pub(super) struct ListedTools {
    pub(super) tools: Vec<ServerTool>,
    /// The names of tools that cannot be called, and why.
    pub(super) left_out: BTreeMap<String, String>,
    /// The pinned parts of each tool's description.
    pub(super) said: BTreeMap<String, Value>,
    pub(super) hash: String,
    /// Names of the tools that can only be called as tasks.
    pub(super) as_tasks: HashSet<String>,
    /// How often the tools had changed, or may have changed, before this list.
    pub(super) changes: u64,
}

impl ServerSession {
    /// Agrees on a protocol version with a server.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, speaks another protocol, has neither tools nor resources, or does not answer before `until`. `time` is
    /// the `connect_timeout` that messages show.
    pub(super) async fn open(link: ServerLink, until: Instant, time: Duration, asks: bool) -> Result<ServerSession, HttpFault> {
        let version = Mutex::new(STATELESS);
        let (instructions, gives, listed) = (Mutex::default(), Mutex::default(), Mutex::default());
        let session = ServerSession {
            link,
            version,
            instructions,
            gives,
            listed,
            takes_tasks: AtomicBool::default(),
            asks,
            again: tokio::sync::Mutex::default(),
            turn: Arc::default(),
        };
        let late = |_| {
            let (shown, last) = (in_words(time), session.link.last_line());
            let own = || {
                session.fault(FailureKind::Timeout, &format!("it did not complete the handshake within {shown} (connect_timeout){last}"))
            };
            Err(session.without_token(time).unwrap_or_else(own))
        };
        match timeout_at(until, session.agree(until)).await.unwrap_or_else(late) {
            Ok(()) => Ok(session),
            Err(fault) => {
                session.link.give_up();
                Err(fault)
            }
        }
    }

    pub(super) fn inbox(&self) -> &Inbox {
        self.link.inbox()
    }

    /// The agreed protocol version.
    pub(super) fn version(&self) -> ProtocolVersion {
        lock(&self.version).clone()
    }

    /// The server's instructions.
    pub(super) fn instructions(&self) -> String {
        lock(&self.instructions).clone()
    }

    /// Which kinds of things it offers.
    pub(super) fn gives(&self) -> Offers {
        *lock(&self.gives)
    }

    fn speak(&self, version: ProtocolVersion) {
        if let ServerLink::Web(web) = &self.link {
            web.agree(version.clone());
        }
        *lock(&self.version) = version;
    }

    /// The fault of a timeout, if not the server was waited for, but the host that issues its tokens: nothing was sent to the server.
    pub(super) fn without_token(&self, time: Duration) -> Option<HttpFault> {
        let ServerLink::Web(web) = &self.link else { return None };
        let giver = web.awaited()?;
        let message = format!("no token within {}: {giver} does not respond", in_words(time));
        Some(self.fault(FailureKind::Timeout, &message))
    }

    /// Whether it accepts calls as tasks.
    pub(super) fn takes_tasks(&self) -> bool {
        self.takes_tasks.load(Ordering::Relaxed)
    }

    /// Agrees on a version: the stateless version, or one from a handshake.
    async fn agree(&self, until: Instant) -> Result<(), HttpFault> {
        // An old server may leave a request that it does not know unanswered.
        let half = until.saturating_duration_since(Instant::now()) / 2;
        let mut first = pin!(self.discover());
        let is_slow = match timeout(half, &mut first).await {
            Ok(Some(end)) => return end,
            Ok(None) => false,
            Err(_) => true,
        };
        let shaken = async { self.shake_hands().await.map_err(|trouble| trouble.or_gone(NO_SESSION)) };
        if !is_slow {
            return shaken.await;
        }
        // A server that was only slow to start answers the first request first.
        let mut shaken = pin!(shaken);
        tokio::select! {
            biased;
            found = &mut first => match found {
                Some(end) => end,
                None => shaken.await,
            },
            end = &mut shaken => match end {
                Ok(()) => Ok(()),
                Err(fault) => first.await.unwrap_or(Err(fault)),
            },
        }
    }

    /// Asks for the stateless version. `None` if a handshake may succeed.
    async fn discover(&self) -> Option<Result<(), HttpFault>> {
        self.speak(STATELESS);
        let mut first = self.request("server/discover", json!({})).await;
        // The server rejected the version but lists it as supported. During a rolling update some instances may be older than others, so the request
        // is repeated.
        if matches!(&first, Ok(Err(error)) if protocol::offers_stateless(error)) {
            first = self.request("server/discover", json!({})).await;
        }
        match first {
            Ok(Ok(found)) if protocol::is_stateless(&found) => {
                self.speak(STATELESS);
                Some(self.begins(&found))
            }
            Ok(Err(error)) if matches!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH) => {
                Some(Err(self.refused("server/discover", &error)))
            }
            Err(Trouble::Fault(fault)) if is_final(&fault, &self.link) => Some(Err(fault)),
            // The server supports other versions only, or answers an unknown request with an error of its own.
            Ok(_) | Err(_) => None,
        }
    }

    pub(super) async fn shake_hands(&self) -> Result<(), Trouble> {
        self.speak(protocol::WITH_HANDSHAKE);
        let result =
            self.request("initialize", protocol::initialize(self.asks)).await?.map_err(|error| self.refused("initialize", &error))?;
        let version = protocol::agreed(&result).map_err(HttpFault::before_sending)?;
        self.speak(version);
        self.notify(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(self.begins(&result)?)
    }

    /// Starts the session after a version was agreed on. Subscribes to changes of the tools, if the server reports them.
    fn begins(&self, result: &Value) -> Result<(), HttpFault> {
        let gives = protocol::gives(result);
        if gives == Offers::default() {
            return Err(self.fault(FailureKind::BadResponse, "it has neither tools nor resources"));
        }
        *lock(&self.gives) = gives;
        *lock(&self.instructions) = protocol::instructions(result);
        self.takes_tasks.store(self.version().has_initialize() && protocol::takes_tasks(result), Ordering::Relaxed);
        // Some servers send their questions on the stream of notifications.
        if !protocol::tells_changes(result) && !self.asks_live() {
            return Ok(());
        }
        let version = self.version();
        let request = if version.has_initialize() {
            None
        } else {
            // The answer comes when the subscription ends; nothing waits for it.
            let (id, _) = self.inbox().expect().map_err(HttpFault::before_sending)?;
            Some(protocol::listen(&version, id, self.asks))
        };
        match (&self.link, request) {
            (ServerLink::Program(program), Some(request)) => program.send_soon(&request),
            // With older versions, programs report changes without a subscription.
            (ServerLink::Program(_), None) => {}
            (ServerLink::Web(web), request) => web.listen(request),
        }
        Ok(())
    }

    pub(super) fn fault(&self, kind: FailureKind, what: &str) -> HttpFault {
        HttpFault::before_sending(self.inbox().scrub.failure(kind, what))
    }

    pub(super) fn refused(&self, what: &str, error: &rmcp::model::ErrorData) -> HttpFault {
        let message = format!("it answered {what} with an error ({}): {}", error.code.0, error.message);
        self.fault(protocol::class(error), &message)
    }

    async fn notify(&self, message: Value) -> Result<(), HttpFault> {
        match &self.link {
            ServerLink::Program(program) => program.send(&message).await.map_err(HttpFault::before_sending),
            ServerLink::Web(web) => web.notify(&message).await,
        }
    }

    async fn request(&self, method: &str, params: Value) -> Result<Said, Trouble> {
        self.request_with(method, params, &BTreeMap::new()).await
    }

    /// Builds a request, with the metadata that this version requires beside those in `params`.
    pub(super) fn message(&self, id: u64, method: &str, params: Value) -> Value {
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        let version = self.version();
        let mut meta = if version.has_initialize() { Map::new() } else { protocol::meta(&version, self.asks) };
        if method == "tools/call" {
            meta.insert("progressToken".into(), id.into());
        }
        if let Some(Value::Object(given)) = params.remove("_meta") {
            meta.extend(given);
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta));
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Whether the server may ask a person while a call runs. Since 2026-07-28, a question is the answer to a call.
    pub(super) fn asks_live(&self) -> bool {
        self.asks && self.version().has_initialize()
    }

    /// Waits for the turn of a call that may ask a person; `None` if calls do not ask.
    pub(super) async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        if self.asks_live() { Some(Arc::clone(&self.turn).lock_owned().await) } else { None }
    }

    /// Stops waiting for the answer to a request. `tells`: the server is notified, unless the answer has arrived.
    pub(super) fn cancel(&self, id: u64, tells: bool) {
        if !self.inbox().awaits(id) {
            return;
        }
        self.inbox().forget(id);
        // A stateless web server notices that the request itself was dropped.
        if tells && (self.version().has_initialize() || matches!(self.link, ServerLink::Program(_))) {
            let params = json!({ "requestId": id, "reason": "no longer wanted" });
            self.link.send_soon(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
        }
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(super) async fn request_with(&self, method: &str, params: Value, more: &BTreeMap<String, String>) -> Result<Said, Trouble> {
        let (id, answer) = self.inbox().expect().map_err(HttpFault::before_sending)?;
        let message = self.message(id, method, params);
        let cancel = CancelNotice { session: self, id, tells: method == "tools/call" };
        let said = match &self.link {
            ServerLink::Program(program) => {
                program.send(&message).await.map_err(HttpFault::before_sending)?;
                let gone = || HttpFault::after_sending(Failure::new(FailureKind::Connection, "the server has ended"));
                answer.await.map_err(|_| Trouble::from(gone())).and_then(|said| said.map_err(Trouble::from))
            }
            ServerLink::Web(web) => web.request(id, &message, more).await,
        };
        if !matches!(self.link, ServerLink::Program(_)) {
            self.inbox().forget(id);
        }
        drop(cancel);
        said
    }

    /// Pings a program to check that it still reads and answers; `None` if the server is not a program or is closed.
    pub(super) fn proof_of_life(&self) -> Option<impl Future<Output = bool> + Send + use<>> {
        let ServerLink::Program(program) = &self.link else { return None };
        let (id, answer) = program.inbox.expect().ok()?;
        program.send_soon(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        let inbox = Arc::clone(&program.inbox);
        Some(async move {
            let lives = timeout(PROOF_OF_LIFE, answer).await.is_ok();
            inbox.forget(id);
            lives
        })
    }
}

/// Cancels a request when dropped, unless the answer has arrived.
struct CancelNotice<'a> {
    session: &'a ServerSession,
    id: u64,
    tells: bool,
}

impl Drop for CancelNotice<'_> {
    fn drop(&mut self) {
        self.session.cancel(self.id, self.tells);
    }
}

/// Whether a fault of the first request means that no other request can succeed.
fn is_final(fault: &HttpFault, link: &ServerLink) -> bool {
    match link {
        // A program that has ended cannot answer a handshake.
        ServerLink::Program(_) => true,
        ServerLink::Web(_) => !matches!(
            fault.failure.kind,
            FailureKind::BadRequest | FailureKind::ServerError | FailureKind::WrongType | FailureKind::BadResponse
        ),
    }
}
