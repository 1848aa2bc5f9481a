//! One server that was reached: the first words, its tools, calls.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::inbox::{Inbox, Said};
use super::program::{LONGEST_LINE, Program};
use super::protocol::{self, STATELESS};
use super::web::{Trouble, Web, repeated};
use crate::adapter::http::{Fault, in_words};
use crate::event::{Failure, FailureKind, ServerTool};
use crate::port::ServerReply;

/// Most tools of a server, and pages of its list.
const MOST_TOOLS: usize = 1_000;
const MOST_PAGES: usize = 100;
/// Most bytes of a whole list.
const LARGEST_LIST: usize = 8 << 20;
/// How long a program that missed a call's time has to show that it still reads and answers.
const PROOF_OF_LIFE: Duration = Duration::from_secs(2);

/// The way to a server.
pub(super) enum Link {
    Program(Program),
    Web(Arc<Web>),
}

/// A server that was reached.
pub(super) struct Session {
    link: Link,
    version: Mutex<ProtocolVersion>,
    listed: Mutex<Option<Arc<Listed>>>,
    /// A handshake is made again by one alone.
    again: tokio::sync::Mutex<()>,
}

/// The tools of a server as it last told them.
pub(super) struct Listed {
    pub(super) tools: Vec<ServerTool>,
    /// What it said of each, as far as it is pinned.
    pub(super) said: BTreeMap<String, Value>,
    pub(super) hash: String,
}

impl Session {
    /// Agrees on a version with a server.
    ///
    /// # Errors
    /// It cannot be reached, speaks another protocol, gives no tools, or does not answer until then.
    pub(super) async fn open(link: Link, until: Instant) -> Result<Session, Fault> {
        let version = Mutex::new(STATELESS);
        let session = Session { link, version, listed: Mutex::default(), again: tokio::sync::Mutex::default() };
        match timeout_at(until, session.agree(until)).await {
            Ok(Ok(())) => Ok(session),
            Ok(Err(fault)) => {
                session.give_up();
                Err(fault)
            }
            Err(_) => {
                session.give_up();
                Err(Fault::before_sending(Failure::new(FailureKind::Timeout, "it did not say hello in time (connect_timeout)")))
            }
        }
    }

    pub(super) fn inbox(&self) -> &Inbox {
        match &self.link {
            Link::Program(program) => &program.inbox,
            Link::Web(web) => &web.inbox,
        }
    }

    /// The version that is spoken.
    pub(super) fn version(&self) -> ProtocolVersion {
        self.version.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn speak(&self, version: ProtocolVersion) {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// Whether it can still be asked.
    pub(super) fn is_open(&self) -> bool {
        self.inbox().closed().is_none()
    }

    pub(super) fn give_up(&self) {
        if let Link::Program(program) = &self.link {
            program.give_up();
        }
    }

    /// Ends it.
    pub(super) async fn end(&self) {
        match &self.link {
            Link::Program(program) => program.end().await,
            Link::Web(web) => web.end().await,
        }
    }

    /// The first words: the new version, or a handshake.
    async fn agree(&self, until: Instant) -> Result<(), Fault> {
        if let Link::Web(web) = &self.link {
            web.agree(STATELESS.as_str(), true);
        }
        // An old server may leave a word it does not know unanswered.
        let half = until.saturating_duration_since(Instant::now()) / 2;
        let mut first_was_slow = false;
        let first = timeout(half, self.request("server/discover", json!({}))).await;
        match first {
            Ok(Ok(Ok(found))) if protocol::is_stateless(&found) => return self.has_tools(&found),
            Ok(Ok(Err(error))) if matches!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH) => {
                return Err(self.refused("server/discover", &error));
            }
            // It has other versions, an error of its own for what it does not know, or leaves it unanswered.
            Ok(Ok(_)) => {}
            Err(_) => first_was_slow = true,
            Ok(Err(Trouble::Fault(fault))) if is_final(&fault, &self.link) => return Err(fault),
            Ok(Err(_)) => {}
        }
        let fault = match self.shake_hands().await {
            Err(Trouble::Fault(fault)) => fault,
            Err(Trouble::SessionGone) => return Err(self.fault(FailureKind::BadResponse, "it has no session for the first word")),
            Ok(()) => return Ok(()),
        };
        // One that was only slow to start has heard the new version first.
        if !first_was_slow {
            return Err(fault);
        }
        self.speak(STATELESS);
        match self.request("server/discover", json!({})).await {
            Ok(Ok(found)) if protocol::is_stateless(&found) => self.has_tools(&found),
            _ => Err(fault),
        }
    }

    async fn shake_hands(&self) -> Result<(), Trouble> {
        self.speak(protocol::WITH_HANDSHAKE);
        if let Link::Web(web) = &self.link {
            web.forget();
        }
        let result = self.request("initialize", protocol::initialize()).await?.map_err(|error| self.refused("initialize", &error))?;
        let version = protocol::agreed(&result).map_err(Fault::before_sending)?;
        if let Link::Web(web) = &self.link {
            web.agree(version.as_str(), false);
        }
        self.speak(version);
        self.notify(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(self.has_tools(&result)?)
    }

    fn has_tools(&self, result: &Value) -> Result<(), Fault> {
        if protocol::has_tools(result) { Ok(()) } else { Err(self.fault(FailureKind::BadResponse, "it gives no tools")) }
    }

    fn fault(&self, kind: FailureKind, what: &str) -> Fault {
        Fault::before_sending(self.inbox().scrub.failure(kind, what))
    }

    fn refused(&self, what: &str, error: &rmcp::model::ErrorData) -> Fault {
        let message = format!("it answered {what} with an error ({}): {}", error.code.0, error.message);
        self.fault(protocol::class(error), &message)
    }

    async fn notify(&self, message: Value) -> Result<(), Fault> {
        match &self.link {
            Link::Program(program) => program.send(&message).await.map_err(Fault::before_sending),
            Link::Web(web) => web.notify(&message).await,
        }
    }

    async fn request(&self, method: &str, params: Value) -> Result<Said, Trouble> {
        self.request_with(method, params, &BTreeMap::new()).await
    }

    /// Sends a request and waits for its answer. Whoever stops waiting has cancelled it.
    async fn request_with(&self, method: &str, params: Value, more: &BTreeMap<String, String>) -> Result<Said, Trouble> {
        let (id, answer) = self.inbox().expect().map_err(Fault::before_sending)?;
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        let version = self.version();
        let mut meta = if version.has_initialize() { Map::new() } else { protocol::meta(&version) };
        if method == "tools/call" {
            meta.insert("progressToken".into(), id.into());
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta));
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let cancel = Cancel { session: self, id, tells: method == "tools/call" };
        let said = match &self.link {
            Link::Program(program) => {
                program.send(&message).await.map_err(Fault::before_sending)?;
                let gone = || Fault::after_sending(Failure::new(FailureKind::Connection, "the server has ended"));
                answer.await.map_err(|_| Trouble::from(gone())).and_then(|said| said.map_err(Trouble::from))
            }
            Link::Web(web) => web.request(id, &message, more).await,
        };
        if !matches!(self.link, Link::Program(_)) {
            self.inbox().forget(id);
        }
        drop(cancel);
        said
    }

    /// Its tools, asked for anew.
    ///
    /// # Errors
    /// It gives no list, or one beyond bounds.
    pub(super) async fn list(&self) -> Result<Arc<Listed>, Fault> {
        self.inbox().take_tools_changed();
        let (mut items, mut size) = (vec![], 0);
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for page in 0.. {
            if page >= MOST_PAGES {
                return Err(self.fault(FailureKind::TooLarge, &format!("its list of tools has more than {MOST_PAGES} pages")));
            }
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut result = match self.again_if_gone("tools/list", params, &BTreeMap::new()).await? {
                Ok(result) => result,
                Err(error) => return Err(self.refused("tools/list", &error)),
            };
            let Some(Value::Array(list)) = result.get_mut("tools").map(Value::take) else {
                return Err(self.fault(FailureKind::BadResponse, "its list of tools is none"));
            };
            size += list.iter().map(|item| item.to_string().len()).sum::<usize>();
            items.extend(list);
            if items.len() > MOST_TOOLS {
                return Err(self.fault(FailureKind::TooLarge, &format!("it has more than {MOST_TOOLS} tools")));
            }
            if size > LARGEST_LIST {
                return Err(self.fault(FailureKind::TooLarge, &format!("its list of tools has more than {LARGEST_LIST} bytes")));
            }
            match result.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty()) {
                None => break,
                Some(next) if !seen.insert(next.to_owned()) => {
                    return Err(self.fault(FailureKind::BadResponse, "the pages of its list of tools go round in a circle"));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        let said: BTreeMap<String, Value> =
            items.iter().filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), protocol::said_of(item)))).collect();
        let mut tools: Vec<ServerTool> = items.iter().filter_map(protocol::tool).collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        if let Some(pair) = tools.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(self.fault(FailureKind::BadResponse, &format!("it has two tools called \"{}\"", pair[0].name)));
        }
        if tools.len() < items.len() {
            self.inbox()
                .note(format!("{} of its tools cannot be called: a name or a schema is missing or broken", items.len() - tools.len()));
        }
        let listed = Arc::new(Listed { hash: protocol::hash(&json!(said)), said, tools });
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&listed));
        Ok(listed)
    }

    /// Its tools as it last told them; asked for anew if it said that they changed.
    async fn known(&self) -> Result<Arc<Listed>, Fault> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match listed {
            Some(listed) if !self.inbox().take_tools_changed() => Ok(listed),
            _ => self.list().await,
        }
    }

    /// Calls a tool that is still the one with this hash.
    ///
    /// # Errors
    /// It is another one now, the call failed, or the answer is none.
    pub(super) async fn call(&self, tool: &str, hash: &str, arguments: &Map<String, Value>, time: Duration) -> Result<ServerReply, Fault> {
        let until = Instant::now() + time;
        let in_time = |what: &str| {
            Fault::before_sending(self.inbox().scrub.failure(FailureKind::Timeout, format!("{what} within {}", in_words(time))))
        };
        let listed = timeout_at(until, self.known()).await.map_err(|_| in_time("it did not tell its tools"))??;
        let found = listed.tools.iter().find(|found| found.name == tool);
        if found.is_none_or(|found| found.hash != hash) {
            let what = if found.is_some() { "has changed" } else { "is gone" };
            let message = format!("the tool \"{tool}\" {what} since its server told its tools; it is not called");
            return Err(Fault::before_sending(Failure::new(FailureKind::Denied, message)));
        }
        let arguments = Value::Object(arguments.clone());
        let mut more = BTreeMap::new();
        found.into_iter().for_each(|found| repeated(&found.input, &arguments, &mut more));
        let params = json!({ "name": tool, "arguments": arguments });
        match timeout_at(until, self.again_if_gone("tools/call", params, &more)).await {
            Err(_) => {
                let told = self.inbox().take_progress();
                let progress = told.map(|told| format!("; it had last told its progress: {told}")).unwrap_or_default();
                self.prove_life();
                let message = format!("no answer within {}{progress}", in_words(time));
                Err(Fault::after_sending(self.inbox().scrub.failure(FailureKind::Timeout, message)))
            }
            Ok(said) => match said? {
                Ok(result) if result.to_string().len() > LONGEST_LINE => {
                    Err(Fault::after_sending(Failure::new(FailureKind::TooLarge, format!("its result has more than {LONGEST_LINE} bytes"))))
                }
                Ok(result) => protocol::reply(result).map_err(Fault::before_sending),
                Err(error) => Err(self.refused("tools/call", &error)),
            },
        }
    }

    /// A request. If the session is gone, there is one new handshake; then a call may have acted, and is not made again.
    async fn again_if_gone(&self, method: &str, params: Value, more: &BTreeMap<String, String>) -> Result<Said, Fault> {
        match self.request_with(method, params.clone(), more).await {
            Ok(said) => return Ok(said),
            Err(Trouble::Fault(fault)) => return Err(fault),
            Err(Trouble::SessionGone) => {}
        }
        {
            let _alone = self.again.lock().await;
            match self.shake_hands().await {
                Ok(()) => {}
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::SessionGone) => return Err(self.fault(FailureKind::BadResponse, "it has no session for the first word")),
            }
        }
        self.inbox().note("its session was gone; a new one was begun".to_owned());
        // A server that does not know the session has not read the request.
        match self.request_with(method, params, more).await {
            Ok(said) => Ok(said),
            Err(Trouble::Fault(fault)) => Err(fault),
            Err(Trouble::SessionGone) => Err(Fault::before_sending(Failure::new(
                FailureKind::BadResponse,
                "its session is gone again, right after a new one was begun",
            ))),
        }
    }

    /// After a call that had no answer in time: a program that does not answer now either is ended, so that the next call starts it anew.
    fn prove_life(&self) {
        let Link::Program(program) = &self.link else { return };
        let Ok((id, answer)) = program.inbox.expect() else { return };
        program.send_soon(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        let (inbox, end) = (Arc::clone(&program.inbox), program.ender());
        tokio::spawn(async move {
            if timeout(PROOF_OF_LIFE, answer).await.is_err() {
                inbox.close(Failure::new(FailureKind::Connection, "the server does not answer any more, and was ended"));
                end.notify_one();
            }
        });
    }
}

/// Tells the server that nobody waits any more, unless the answer has come.
struct Cancel<'a> {
    session: &'a Session,
    id: u64,
    tells: bool,
}

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        if !self.session.inbox().awaits(self.id) {
            return;
        }
        self.session.inbox().forget(self.id);
        if !self.tells {
            return;
        }
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": self.id, "reason": "no longer wanted" } });
        match &self.session.link {
            Link::Program(program) => program.send_soon(&message),
            // Without a session the end of the request itself says so.
            Link::Web(web) if self.session.version().has_initialize() => web.notify_soon(message),
            Link::Web(_) => {}
        }
    }
}

/// Whether a fault of the first word says that no other word helps.
fn is_final(fault: &Fault, link: &Link) -> bool {
    match link {
        // A program that has ended is not there to be greeted.
        Link::Program(_) => true,
        Link::Web(_) => !matches!(
            fault.failure.kind,
            FailureKind::BadRequest | FailureKind::ServerError | FailureKind::WrongType | FailureKind::BadResponse
        ),
    }
}
