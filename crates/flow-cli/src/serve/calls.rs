//! Calls in progress: concurrency, progress, cancelling.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion, Tool};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::messages;
use super::protocol::{ServedCall, complete};
use super::{Bounds, CallLine, InvalidArguments, PipelineService, ServedOutcome};
use crate::adapter::lock;
use crate::event::Canceller;

/// Prefix of the metadata about a run in a result.
const META: &str = "flow/";

/// The server, independent of the transport.
pub(super) struct CallServer {
    work: Arc<dyn PipelineService>,
    bounds: Bounds,
    permits: Arc<Semaphore>,
    waiting: Semaphore,
    is_ending: AtomicBool,
    /// The stop senders of all calls in progress, by a number of their own.
    under_way: Mutex<HashMap<u64, UnboundedSender<Canceller>>>,
    last: AtomicU64,
}

/// The state of a client: the agreed version, and its open requests.
#[derive(Default)]
pub(super) struct ClientSession {
    version: Mutex<Option<ProtocolVersion>>,
    /// By the id of the request, as JSON.
    running: Mutex<HashMap<String, Running>>,
}

#[derive(Clone)]
struct Running {
    stop: UnboundedSender<Canceller>,
    /// Whether the client cancelled the request, so that no answer is sent.
    is_unwanted: Arc<AtomicBool>,
}

impl Running {
    fn cancel(self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        let _ = self.stop.send(Canceller::Client);
    }
}

impl ClientSession {
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        lock(&self.version).clone()
    }

    pub(super) fn agree(&self, version: ProtocolVersion) {
        *lock(&self.version) = Some(version);
    }

    /// Handles a message without an answer.
    pub(super) fn notice(&self, method: &str, params: &Map<String, Value>) {
        let id = params.get("requestId").filter(|_| method == "notifications/cancelled");
        if let Some(running) = id.and_then(|id| lock(&self.running).remove(&id.to_string())) {
            running.cancel();
        }
    }

    /// Ends all requests of this client without answers.
    pub(super) fn leave(&self) {
        lock(&self.running).drain().for_each(|(_, running)| running.cancel());
    }

    pub(super) fn is_idle(&self) -> bool {
        lock(&self.running).is_empty()
    }
}

/// A registered call, which can be cancelled until it is dropped.
pub(super) struct Entered {
    server: Arc<CallServer>,
    session: Arc<ClientSession>,
    call: ServedCall,
    number: u64,
    running: Running,
    stopped: UnboundedReceiver<Canceller>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        lock(&self.server.under_way).remove(&self.number);
        let id = self.call.id.to_string();
        let mut running = lock(&self.session.running);
        // A cancelled call is already removed, and its id may have been reused.
        if running.get(&id).is_some_and(|running| Arc::ptr_eq(&running.is_unwanted, &self.running.is_unwanted)) {
            running.remove(&id);
        }
    }
}

impl CallServer {
    pub(super) fn new(work: Arc<dyn PipelineService>, bounds: Bounds) -> CallServer {
        CallServer {
            work,
            bounds,
            permits: Arc::new(Semaphore::new(bounds.running)),
            waiting: Semaphore::new(bounds.waiting),
            is_ending: AtomicBool::new(false),
            under_way: Mutex::default(),
            last: AtomicU64::new(0),
        }
    }

    pub(super) fn tools(&self) -> &[Tool] {
        self.work.tools()
    }

    /// Ends all calls and waits for them; no new call starts.
    pub(super) async fn end(&self, by: Canceller) {
        self.is_ending.store(true, Ordering::Relaxed);
        for stop in lock(&self.under_way).values() {
            let _ = stop.send(by);
        }
        let all = u32::try_from(self.bounds.running).unwrap_or(u32::MAX);
        let _ = self.permits.acquire_many(all).await;
    }

    /// Registers a call.
    ///
    /// # Errors
    /// Another call has its id, or the server is ending.
    pub(super) fn enter(self: &Arc<CallServer>, session: &Arc<ClientSession>, call: ServedCall) -> Result<Entered, ErrorData> {
        if self.is_ending.load(Ordering::Relaxed) {
            return Err(fault("flow is shutting down and accepts no more calls"));
        }
        let (stop, stopped) = unbounded_channel();
        let running = Running { stop, is_unwanted: Arc::default() };
        let id = call.id.to_string();
        match lock(&session.running).entry(id.clone()) {
            Entry::Occupied(_) => {
                let message = format!("a request with the id {id} is already in progress; ids must be unique");
                return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None));
            }
            Entry::Vacant(free) => {
                free.insert(running.clone());
            }
        }
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        lock(&self.under_way).insert(number, running.stop.clone());
        Ok(Entered { server: Arc::clone(self), session: Arc::clone(session), call, number, running, stopped })
    }
}

impl Entered {
    /// Executes the call and sends progress and the answer. `ends_with_reader`: whether it is cancelled when the reader disconnects.
    pub(super) async fn carry(mut self, out: Sender<Value>, ends_with_reader: bool) {
        let answer = match self.carried(&out, ends_with_reader).await {
            Ok(Some(given)) => messages::result(&self.call.id, complete(given_result(given), self.call.is_stateless)),
            Ok(None) => return,
            Err(error) => messages::error(Some(&self.call.id), &error),
        };
        // The client may reuse the id once it has the answer.
        drop(self);
        let _ = out.send(answer).await;
    }

    fn is_wanted(&self) -> bool {
        !self.running.is_unwanted.load(Ordering::Relaxed)
    }

    /// Returns the answer of a call that was ended before it started.
    fn never_began(&self) -> Result<Option<ServedOutcome>, ErrorData> {
        if self.is_wanted() { Err(fault("flow is shutting down; the call was not started")) } else { Ok(None) }
    }

    /// Executes the call. `None`: no answer is sent.
    async fn carried(&mut self, out: &Sender<Value>, ends_with_reader: bool) -> Result<Option<ServedOutcome>, ErrorData> {
        let server = Arc::clone(&self.server);
        let permit = match Arc::clone(&server.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let Bounds { running, waiting, .. } = server.bounds;
                let full = || fault(&format!("{running} calls are running and {waiting} are waiting; try again later"));
                let _waiting = server.waiting.try_acquire().map_err(|_| full())?;
                tokio::select! {
                    biased;
                    _ = self.stopped.recv() => return self.never_began(),
                    () = out.closed(), if ends_with_reader => return Ok(None),
                    permit = Arc::clone(&server.permits).acquire_owned() => permit.map_err(|_| fault("flow is ending"))?,
                }
            }
        };
        if self.stopped.try_recv().is_ok() {
            return self.never_began();
        }
        let (progress, mut told) = unbounded_channel();
        let (_, nobody) = unbounded_channel();
        let stop = std::mem::replace(&mut self.stopped, nobody);
        let line = CallLine { stop, progress, caller: self.call.caller.take().map(|caller| *caller) };
        let mut done = server.work.begin(&self.call.tool, std::mem::take(&mut self.call.arguments), line);
        let (mut count, mut has_reader) = (0_u64, true);
        let mut tell = |text: String| {
            if let Some(token) = &self.call.token {
                count += 1;
                let params = json!({ "progressToken": token, "progress": count, "message": text });
                // A slow reader misses progress lines, but not the result.
                let _ = out.try_send(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
            }
        };
        let given = loop {
            tokio::select! {
                given = &mut done => break given,
                Some(text) = told.recv() => if self.is_wanted() { tell(text) },
                () = out.closed(), if ends_with_reader && has_reader => {
                    has_reader = false;
                    let _ = self.running.stop.send(Canceller::Client);
                }
            }
        };
        drop(permit);
        if !self.is_wanted() {
            return Ok(None);
        }
        while let Ok(text) = told.try_recv() {
            tell(text);
        }
        match given {
            Ok(Ok(given)) => Ok(Some(given)),
            Ok(Err(InvalidArguments(why))) => Err(ErrorData::new(ErrorCode::INVALID_PARAMS, why, None)),
            Err(_) => Err(fault("internal error of flow; see its standard error")),
        }
    }
}

fn fault(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, what.to_owned(), None)
}

/// Formats the result of a call.
fn given_result(given: ServedOutcome) -> Value {
    let content: Vec<Value> = given.texts.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
    let mut result = json!({ "content": content, "isError": given.is_error });
    if let Some(structured) = given.structured {
        result["structuredContent"] = structured;
    }
    let meta: Map<String, Value> = given.meta.into_iter().map(|(name, value)| (format!("{META}{name}"), value)).collect();
    if !meta.is_empty() {
        result["_meta"] = Value::Object(meta);
    }
    result
}
