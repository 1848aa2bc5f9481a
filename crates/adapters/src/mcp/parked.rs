//! Calls that a server interrupts with a question to a person (`elicitation/create`, before 2026-07-28). The call stays open: its question is
//! returned as an `input_required` answer whose state names the call, and the call that brings the answers continues it.
//!
//! A parked call belongs to its process: if the process, the server or the run has ended, the call is lost.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::JoinHandle;

use super::inbox::{LIVE, LiveQuestion, Said};
use super::session::{ServerLink, ServerSession};
use super::web::Trouble;
use crate::environment::random_name;
use crate::event::{Failure, FailureKind, ServerQuestion, ServerQuestions};
use crate::http::HttpFault;
use crate::lock;
use crate::port::ServerCall;

/// Maximum number of calls of a process that wait for a person.
const MOST_PARKED: usize = 64;

/// The key under which the state of a question holds the name of its parked call.
const KEY: &str = "flow/parked";

type CallResult = Pin<Box<dyn Future<Output = Result<Said, Trouble>> + Send>>;

/// A call that was sent and has no result yet. Dropping it cancels the call.
pub(super) struct LiveCall {
    session: Arc<ServerSession>,
    id: u64,
    result: CallResult,
    is_over: bool,
    /// `result` is there.
    is_ready: bool,
    questions: mpsc::Receiver<LiveQuestion>,
    /// The request that waits for a person's answer.
    asked: Option<Value>,
    /// While the server works on this call, no other call that may ask is sent, because a question does not say which call it belongs to.
    turn: Option<OwnedMutexGuard<()>>,
}

/// The next event of a call.
pub(super) enum LiveStep {
    Said(Said),
    /// The server first asks a person.
    Asked(ServerQuestion, Box<LiveCall>),
}

impl LiveCall {
    /// Sends a tool call that holds the `turn`.
    pub(super) async fn send(
        session: &Arc<ServerSession>,
        params: Value,
        more: &BTreeMap<String, String>,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<Box<LiveCall>, Trouble> {
        let (id, answer) = session.inbox().expect().map_err(HttpFault::before_sending)?;
        let questions = session.inbox().may_ask(id);
        let message = session.message(id, "tools/call", params);
        let result: CallResult = Box::pin(std::future::pending());
        let mut open =
            Box::new(LiveCall { session: Arc::clone(session), id, result, is_over: false, is_ready: false, questions, asked: None, turn });
        open.result = match &session.link {
            ServerLink::Program(program) => {
                program.send(&message).await.map_err(HttpFault::before_sending)?;
                let gone = || HttpFault::after_sending(Failure::new(FailureKind::Connection, "the server has ended"));
                Box::pin(async move { answer.await.map_err(|_| Trouble::from(gone())).and_then(|said| said.map_err(Trouble::from)) })
            }
            ServerLink::Web(web) => {
                let (web, more) = (Arc::clone(web), more.clone());
                // The answer is read in the background while a person is asked.
                let mut reading = AnswerTask(tokio::spawn(async move { web.request(id, &message, &more).await }));
                let broken = || Trouble::from(HttpFault::after_sending(Failure::new(FailureKind::Internal, "the answer was not read")));
                Box::pin(async move { (&mut reading.0).await.unwrap_or_else(|_| Err(broken())) })
            }
        };
        Ok(open)
    }

    /// Waits for the result, or for a question.
    pub(super) async fn next(mut self: Box<LiveCall>) -> Result<LiveStep, Trouble> {
        let asked = tokio::select! {
            biased;
            said = &mut self.result => {
                self.is_over = true;
                return said.map(LiveStep::Said);
            }
            Some(asked) = self.questions.recv() => asked,
        };
        self.turn = None;
        self.session.inbox().pauses(self.id);
        self.asked = Some(asked.request);
        Ok(LiveStep::Asked(asked.question, self))
    }

    /// Whether the server has ended the call, or has itself ended, without waiting for the answer.
    fn has_ended(&mut self) -> bool {
        if !self.is_ready
            && let Some(said) = futures_util::FutureExt::now_or_never(&mut self.result)
        {
            self.is_ready = true;
            self.result = Box::pin(std::future::ready(said));
        }
        self.is_ready
    }

    /// Continues with a person's answer. A server that did not wait for it may have sent the result already.
    pub(super) async fn answered(mut self: Box<LiveCall>, answer: Value) -> Result<LiveStep, Trouble> {
        if let Some(said) = futures_util::FutureExt::now_or_never(&mut self.result) {
            self.is_over = true;
            return said.map(LiveStep::Said);
        }
        self.turn = self.session.turn().await;
        self.session.inbox().resumes(self.id);
        if let Some(request) = self.asked.take() {
            let message = response(&request, answer);
            let sent = match &self.session.link {
                ServerLink::Program(program) => program.send(&message).await,
                ServerLink::Web(web) => web.notify(&message).await.map_err(|fault| fault.failure),
            };
            sent.map_err(HttpFault::after_sending)?;
        }
        self.next().await
    }

    pub(super) fn session(&self) -> &Arc<ServerSession> {
        &self.session
    }
}

impl Drop for LiveCall {
    fn drop(&mut self) {
        let session = Arc::clone(&self.session);
        // Without a runtime nothing can be sent; the server then ends with the process.
        if Handle::try_current().is_ok() {
            let mut open: Vec<Value> = self.asked.take().into_iter().collect();
            open.extend(std::iter::from_fn(|| self.questions.try_recv().ok()).map(|asked| asked.request));
            open.iter().for_each(|request| session.link.send_soon(response(request, json!({ "action": "cancel" }))));
            if !self.is_over {
                session.cancel(self.id, true);
            }
        }
        session.inbox().forget(self.id);
    }
}

fn response(request: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request, "result": result })
}

/// The task that reads the answer to a call. It ends with the call.
struct AnswerTask(JoinHandle<Result<Said, Trouble>>);

impl Drop for AnswerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A waiting call and its run.
type ParkedCall = (Arc<str>, Box<LiveCall>);

/// The calls of a process that wait for a person.
#[derive(Default)]
pub(super) struct ParkedCalls {
    inner: Mutex<HashMap<String, ParkedCall>>,
}

impl ParkedCalls {
    /// Stores a call until its question is answered. Returns the question, with a state that names the call.
    ///
    /// # Errors
    /// Fails if too many calls wait.
    pub(super) fn park(&self, run: &Arc<str>, question: ServerQuestion, open: Box<LiveCall>) -> Result<ServerQuestions, HttpFault> {
        let mut inner = lock(&self.inner);
        if inner.len() >= MOST_PARKED {
            let message = format!("it asks a person, and {MOST_PARKED} calls wait for one already");
            return Err(HttpFault::after_sending(Failure::new(FailureKind::Limit, message)));
        }
        let name = random_name();
        let state = Some(json!({ KEY: name }));
        inner.insert(name.clone(), (Arc::clone(run), open));
        Ok(ServerQuestions { questions: vec![question], state, live: Some(name) })
    }

    /// Whether a call needs no answer any more.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        lock(&self.inner).get_mut(name).is_none_or(|(_, open)| open.has_ended())
    }

    /// The parked call that `call` continues, with the person's answer; `None` if it continues none.
    ///
    /// # Errors
    /// Fails if the parked call is lost.
    pub(super) fn continued(&self, call: &ServerCall) -> Result<Option<(Box<LiveCall>, Value)>, HttpFault> {
        let Some(given) = &call.answers else { return Ok(None) };
        let Some(name) = given.state.as_ref().and_then(|state| state.get(KEY)).and_then(Value::as_str) else { return Ok(None) };
        let mut inner = lock(&self.inner);
        match inner.remove(name).filter(|(run, _)| *run == call.server.run) {
            Some((_, open)) => Ok(Some((open, given.answers.get(LIVE).cloned().unwrap_or_else(|| json!({ "action": "cancel" }))))),
            None => {
                let message = "its call waited for a person's answer and was lost when flow or the server ended";
                Err(HttpFault::after_sending(Failure::new(FailureKind::Connection, message)))
            }
        }
    }

    /// Removes and returns the calls of a run that ends, or of all runs if `run` is `None`.
    pub(super) fn leave(&self, run: Option<&str>) -> Vec<LiveCall> {
        let mut inner = lock(&self.inner);
        let names: Vec<String> =
            inner.iter().filter(|(_, (own, _))| run.is_none_or(|run| **own == *run)).map(|(name, _)| name.clone()).collect();
        names.iter().filter_map(|name| inner.remove(name)).map(|(_, open)| *open).collect()
    }
}
