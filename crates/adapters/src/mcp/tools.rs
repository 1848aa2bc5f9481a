//! The tools of one server: listing them, and calling those that have not changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, timeout_at};

use super::headers::{repeated, wrong_header};
use super::inbox::Said;
use super::parked::{LiveCall, LiveStep};
use super::program::LONGEST_LINE;
use super::protocol;
use super::session::{ListedTools, NO_SESSION, ServerLink, ServerSession};
use super::tasks;
use super::web::Trouble;
use crate::event::{Failure, FailureKind, ServerQuestion, ServerTool, TraceContext};
use crate::http::{HttpFault, in_words};
use crate::lock;
use crate::port::{INSTRUCTIONS, ServerCall, ServerReply};
use crate::scrub::visible;

/// Maximum number of tools or resources of a server, and of pages of a list.
const MOST_TOOLS: usize = 1_000;
const MOST_PAGES: usize = 100;
/// Maximum number of tools that cannot be called that are noted by name.
const MOST_LEFT_OUT: usize = 5;
/// Maximum size of a whole list, in bytes.
const LARGEST_LIST: usize = 8 << 20;

/// A time limit that expires shortly before the engine's own, whose message could show neither progress nor the last output.
pub(super) fn patience(time: Duration) -> Duration {
    time - (time / 10).min(Duration::from_millis(200))
}

/// Pictures of a result, each with its file extension.
type FoundPictures = Vec<(Vec<u8>, &'static str)>;

/// A session was lost for the second time.
const GONE: &str = "its new session was lost at once, too";

/// The outcome of a call so far.
pub(super) enum CallEnd {
    Reply(Box<ServerReply>, FoundPictures),
    /// The server asks a person before it continues.
    Asks(ServerQuestion, Box<LiveCall>),
}

impl ServerSession {
    /// Lists the tools of the server.
    ///
    /// # Errors
    /// Fails if the server returns no valid list, or one that exceeds a limit.
    pub(super) async fn list(&self) -> Result<Arc<ListedTools>, HttpFault> {
        let changes = self.inbox().changes();
        // A server may offer resources only.
        let items = if self.gives().tools { self.pages("tools/list", "tools", "tools").await? } else { vec![] };
        let mut said: BTreeMap<String, Value> =
            items.iter().filter_map(|item| Some((item.get("name")?.as_str()?.to_owned(), protocol::said_of(item)))).collect();
        said.remove(INSTRUCTIONS);
        let instructions = self.instructions();
        if !instructions.trim().is_empty() {
            said.insert(INSTRUCTIONS.to_owned(), protocol::said_of_instructions(&instructions));
        }
        let mut left_out: BTreeMap<String, String> = BTreeMap::new();
        let mut tools: Vec<ServerTool> = vec![];
        for item in &items {
            let name = || item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            match protocol::tool(item) {
                Ok(tool) => tools.push(tool),
                Err(why) => drop(left_out.insert(name(), why)),
            }
        }
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        // The same tool on two pages is one.
        tools.dedup();
        let twice: BTreeSet<String> =
            tools.windows(2).filter(|pair| pair[0].name == pair[1].name).map(|pair| pair[0].name.clone()).collect();
        tools.retain(|tool| !twice.contains(&tool.name));
        left_out.extend(twice.into_iter().map(|name| (name, "it has two tools of that name".to_owned())));
        // Headers are not sent to programs, and do not exist in older versions.
        if matches!(self.link, ServerLink::Web(_)) && !self.version().has_initialize() {
            tools.retain(|tool| {
                let why = wrong_header(&tool.input);
                why.iter().for_each(|why| drop(left_out.insert(tool.name.clone(), visible(why))));
                why.is_none()
            });
        }
        for (name, why) in left_out.iter().take(MOST_LEFT_OUT) {
            self.inbox().note(format!("its tool \"{}\" cannot be called: {why}", visible(name)));
        }
        if left_out.len() > MOST_LEFT_OUT {
            self.inbox().note(format!("{} more of its tools cannot be called", left_out.len() - MOST_LEFT_OUT));
        }
        let named = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
        let as_tasks = items.iter().filter(|item| tasks::are_required(item)).filter_map(named).collect();
        let listed = Arc::new(ListedTools { as_tasks, hash: protocol::hash(&json!(said)), said, tools, left_out, changes });
        let mut last = lock(&self.listed);
        if last.as_ref().is_none_or(|last| last.changes <= changes) {
            *last = Some(Arc::clone(&listed));
        }
        Ok(listed)
    }

    /// Reads all pages of a list. `key` holds the items in each answer; `what` names them in messages.
    ///
    /// # Errors
    /// Fails if the server returns no valid list, or one that exceeds a limit.
    pub(super) async fn pages(&self, method: &str, key: &str, what: &str) -> Result<Vec<Value>, HttpFault> {
        let (mut items, mut size) = (vec![], 0);
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for page in 0.. {
            if page >= MOST_PAGES {
                return Err(self.fault(FailureKind::TooLarge, &format!("its list of {what} has more than {MOST_PAGES} pages")));
            }
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut result = match self.ask(method, params).await? {
                Ok(result) => result,
                Err(error) => return Err(self.refused(method, &error)),
            };
            let Some(Value::Array(list)) = result.get_mut(key).map(Value::take) else {
                return Err(self.fault(FailureKind::BadResponse, &format!("its list of {what} is not valid")));
            };
            size += list.iter().map(|item| item.to_string().len()).sum::<usize>();
            items.extend(list);
            if items.len() > MOST_TOOLS {
                return Err(self.fault(FailureKind::TooLarge, &format!("it has more than {MOST_TOOLS} {what}")));
            }
            if size > LARGEST_LIST {
                return Err(self.fault(FailureKind::TooLarge, &format!("its list of {what} has more than {LARGEST_LIST} bytes")));
            }
            match result.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty()) {
                None => break,
                Some(next) if !seen.insert(next.to_owned()) => {
                    return Err(self.fault(FailureKind::BadResponse, &format!("the pages of its list of {what} never end")));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        Ok(items)
    }

    /// The tools as last listed. They are listed again if they may have changed.
    async fn known(&self) -> Result<Arc<ListedTools>, HttpFault> {
        let listed = lock(&self.listed).clone();
        match listed {
            Some(listed) if listed.changes == self.inbox().changes() => Ok(listed),
            _ => self.list().await,
        }
    }

    /// Calls a tool whose hash is still the expected one, or continues a call with a person's answer.
    ///
    /// # Errors
    /// Fails if the tool has changed or is gone, the call fails, or the answer is not valid.
    pub(super) async fn call(self: &Arc<Self>, call: &ServerCall, parked: Option<(Box<LiveCall>, Value)>) -> Result<CallEnd, HttpFault> {
        let time = call.timeout;
        let until = Instant::now() + patience(time);
        let in_time = |what: &str| {
            let message = format!("{what} within {}{}", in_words(time), self.link.last_line());
            self.fault(FailureKind::Timeout, &message)
        };
        let step = match parked {
            Some((open, answer)) => {
                let answered = async { open.answered(answer).await.map_err(|trouble| trouble.or_gone(GONE)) };
                timeout_at(until, answered).await
            }
            None => {
                let late = |_| self.without_token(time).unwrap_or_else(|| in_time("it did not list its tools"));
                let listed = timeout_at(until, self.known()).await.map_err(late)??;
                let turn = timeout_at(until, self.turn()).await.map_err(|_| in_time("it did not finish its other calls"))?;
                timeout_at(until, self.call_listed(listed, call, turn)).await
            }
        };
        match step {
            Err(_) => {
                if let Some(fault) = self.without_token(time) {
                    return Err(fault);
                }
                let told = self.inbox().take_progress();
                let progress = told.map(|told| format!("; its last progress was: {told}")).unwrap_or_default();
                let message = format!("no answer within {}{progress}{}", in_words(time), self.link.last_line());
                Err(HttpFault::after_sending(self.inbox().scrub.failure(FailureKind::Timeout, message)))
            }
            Ok(step) => match step? {
                LiveStep::Asked(question, open) => Ok(CallEnd::Asks(question, open)),
                LiveStep::Said(Ok(result)) if result.to_string().len() > LONGEST_LINE => Err(HttpFault::after_sending(Failure::new(
                    FailureKind::TooLarge,
                    format!("its result has more than {LONGEST_LINE} bytes"),
                ))),
                LiveStep::Said(Ok(result)) => {
                    let pictures = if call.server.pictures { protocol::pictures(&result) } else { vec![] };
                    let reply = protocol::reply(result, call.server.questions).map_err(HttpFault::before_sending)?;
                    Ok(CallEnd::Reply(Box::new(reply), pictures))
                }
                LiveStep::Said(Err(error)) => Err(self.refused("tools/call", &error)),
            },
        }
    }

    /// Sends a call of a tool that has not changed. If the session is gone, a new one is opened and the tool is checked again.
    async fn call_listed(
        self: &Arc<Self>,
        listed: Arc<ListedTools>,
        call: &ServerCall,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<LiveStep, HttpFault> {
        let ServerCall { tool, hash, .. } = call;
        let mut params = json!({ "name": tool, "arguments": call.arguments });
        if let Some(given) = &call.answers {
            if !given.answers.is_empty() {
                params["inputResponses"] = json!(given.answers);
            }
            given.state.iter().for_each(|state| params["requestState"] = state.clone());
        }
        put_trace(&mut params, call.trace.as_ref());
        if self.takes_tasks() && listed.as_tasks.contains(tool) {
            params["task"] = json!({ "ttl": call.timeout.as_millis() as u64 });
        }
        let more = headers_of(&listed, tool, hash, &params)?;
        let before = self.link.web_session();
        let step = match self.call_once(params.clone(), &more, turn).await {
            Err(Trouble::SessionGone) => {
                self.begin_again(before).await?;
                let listed = self.list().await?;
                let more = headers_of(&listed, tool, hash, &params)?;
                self.call_once(params, &more, self.turn().await).await
            }
            step => step,
        };
        match step.map_err(|trouble| trouble.or_gone(GONE))? {
            LiveStep::Said(said) => Ok(LiveStep::Said(self.ended(said).await?)),
            asked @ LiveStep::Asked(..) => Ok(asked),
        }
    }

    async fn call_once(
        self: &Arc<Self>,
        params: Value,
        more: &BTreeMap<String, String>,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<LiveStep, Trouble> {
        match self.asks_live() {
            true => LiveCall::send(self, params, more, turn).await?.next().await,
            false => self.request_with("tools/call", params, more).await.map(LiveStep::Said),
        }
    }

    /// Sends a request. If the session is gone, opens a new one and sends the request again, once.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Said, HttpFault> {
        let (more, before) = (BTreeMap::new(), self.link.web_session());
        let answer = match self.request_with(method, params.clone(), &more).await {
            // A server that does not know the session has not processed the request.
            Err(Trouble::SessionGone) => {
                self.begin_again(before).await?;
                self.request_with(method, params, &more).await
            }
            answer => answer,
        };
        answer.map_err(|trouble| trouble.or_gone(GONE))
    }

    /// Repeats the handshake to replace a lost session, unless another task has done so in the meantime.
    async fn begin_again(&self, gone: Option<String>) -> Result<(), HttpFault> {
        let _alone = self.again.lock().await;
        if self.link.web_session() != gone {
            return Ok(());
        }
        self.shake_hands().await.map_err(|trouble| trouble.or_gone(NO_SESSION))?;
        self.inbox().may_have_changed();
        self.inbox().note("its session was lost; a new one was opened".to_owned());
        Ok(())
    }
}

/// Says in a request from which place in a trace it goes out. The names have no prefix (SEP-414).
pub(super) fn put_trace(params: &mut Value, trace: Option<&TraceContext>) {
    trace.into_iter().flat_map(TraceContext::fields).for_each(|(name, value)| params["_meta"][name] = value.into());
}

/// The headers that repeat arguments of a call.
///
/// # Errors
/// Fails if the tool is gone, or does not match the hash.
fn headers_of(listed: &ListedTools, tool: &str, hash: &str, params: &Value) -> Result<BTreeMap<String, String>, HttpFault> {
    let found = listed.tools.iter().find(|found| found.name == tool);
    let Some(found) = found.filter(|found| found.hash == hash) else {
        let what = if found.is_some() { "has changed" } else { "is gone" };
        let message = format!(
            "the tool \"{tool}\" {what} since the server listed its tools; it was not called. Compare with: flow tools pin --check"
        );
        return Err(HttpFault::before_sending(Failure::new(FailureKind::Denied, message)));
    };
    let mut more = BTreeMap::new();
    repeated(&found.input, &params["arguments"], &mut more);
    Ok(more)
}
