//! Messages from a server: answers are passed to the requests that wait for them, requests are rejected, notifications are counted. All of it is
//! bounded.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::questions;
use crate::diagnostic::cut_words;
use crate::event::{Failure, ServerQuestion};
use crate::http::HttpFault;
use crate::lock;
use crate::model::FailureKind;
use crate::scrub::{Scrub, visible};

/// Maximum number of output lines that are not messages, before the server is given up.
const MOST_NOISE: usize = 100;
/// Maximum number of unexpected messages between two answers, before the server is given up.
const MOST_UNASKED: usize = 1_000;
/// Maximum number of progress messages for pending requests between two answers, before the server is given up.
const MOST_PROGRESS: usize = 100_000;
/// Maximum length of one that is looked at, in characters. What is shown of it is shorter.
const LONGEST_PROGRESS: usize = 4_000;
/// Maximum number of notes kept.
const MOST_NOTES: usize = 20;
/// Maximum number of messages in one batch.
const MOST_IN_BATCH: usize = 1_000;

/// Maximum number of questions of one call that wait for a person.
const MOST_ASKED: usize = 8;

/// The name of a question that a server asks during a call.
pub(super) const LIVE: &str = "question";

/// A question that a server asks a person during a call.
pub(super) struct LiveQuestion {
    /// The id of its request.
    pub(super) request: Value,
    pub(super) question: ServerQuestion,
}

/// The content of an answer: a result, or an error object.
pub(super) type Said = Result<Value, ErrorData>;

/// The requests that wait for an answer, and notes about the other messages.
pub(super) struct Inbox {
    inner: Mutex<InboxState>,
    pub(super) scrub: Scrub,
}

#[derive(Default)]
struct InboxState {
    waiting: HashMap<u64, oneshot::Sender<Result<Said, HttpFault>>>,
    last_id: u64,
    /// Calls that may ask a person (`asking`). The server works on those that are also in `running`; the others wait for a person's answer.
    asking: HashMap<u64, mpsc::Sender<LiveQuestion>>,
    running: BTreeSet<u64>,
    /// Notes that some run has not received yet, with their numbers.
    notes: VecDeque<(u64, String)>,
    last_note: u64,
    /// The last note that any run has received, and the last one that each run has received.
    told: u64,
    heard: HashMap<Arc<str>, u64>,
    noise: usize,
    unasked: usize,
    progressed: usize,
    progress: HashMap<u64, String>,
    last_progress: Option<String>,
    changes: u64,
    closed: Option<Failure>,
}

impl Inbox {
    pub(super) fn new(scrub: Scrub) -> Inbox {
        Inbox { inner: Mutex::default(), scrub }
    }

    /// Returns the id for a new request, and the channel that receives its answer.
    pub(super) fn expect(&self) -> Result<(u64, oneshot::Receiver<Result<Said, HttpFault>>), Failure> {
        let mut inner = lock(&self.inner);
        if let Some(failure) = &inner.closed {
            return Err(failure.clone());
        }
        inner.last_id += 1;
        let (sender, receiver) = oneshot::channel();
        let id = inner.last_id;
        inner.waiting.insert(id, sender);
        Ok((id, receiver))
    }

    /// Lets a call ask a person, until it is forgotten. Returns the channel that receives its questions.
    pub(super) fn may_ask(&self, id: u64) -> mpsc::Receiver<LiveQuestion> {
        let (sender, receiver) = mpsc::channel(MOST_ASKED);
        let mut inner = lock(&self.inner);
        inner.asking.insert(id, sender);
        inner.running.insert(id);
        receiver
    }

    /// Marks a call as paused: the server waits for a person's answer before it continues.
    pub(super) fn pauses(&self, id: u64) {
        lock(&self.inner).running.remove(&id);
    }

    /// Marks a call as running again: the server has received the answer.
    pub(super) fn resumes(&self, id: u64) {
        let mut inner = lock(&self.inner);
        if inner.asking.contains_key(&id) {
            inner.running.insert(id);
        }
    }

    /// Stops waiting for an answer. If it arrives later, it is dropped.
    pub(super) fn forget(&self, id: u64) {
        let mut inner = lock(&self.inner);
        inner.waiting.remove(&id);
        inner.asking.remove(&id);
        inner.running.remove(&id);
        inner.last_progress = inner.progress.remove(&id);
    }

    /// Takes the last progress that the server reported for the most recently forgotten request.
    pub(super) fn take_progress(&self) -> Option<String> {
        lock(&self.inner).last_progress.take()
    }

    /// Stores the last progress that the server reported for an abandoned task.
    pub(super) fn tell_progress(&self, told: &str) {
        lock(&self.inner).last_progress = Some(self.scrub.short_quote(told));
    }

    /// Whether a request still waits for this answer.
    pub(super) fn awaits(&self, id: u64) -> bool {
        lock(&self.inner).waiting.contains_key(&id)
    }

    /// Reads one message. Returns the messages to send back.
    ///
    /// # Errors
    /// Fails if the server is given up.
    pub(super) fn take(&self, bytes: &[u8]) -> Result<Vec<Value>, Failure> {
        self.take_of(None, bytes)
    }

    /// Reads one message that came with the answer to request `of`; `None` if the request is not known. Returns the messages to send back.
    ///
    /// # Errors
    /// Fails if the server is given up.
    pub(super) fn take_of(&self, of: Option<u64>, bytes: &[u8]) -> Result<Vec<Value>, Failure> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(vec![]);
        }
        let message = match crate::http::read_json(bytes) {
            Ok(message @ (Value::Object(_) | Value::Array(_))) => message,
            _ => {
                let mut inner = lock(&self.inner);
                inner.noise += 1;
                if inner.noise > MOST_NOISE {
                    let first = self.scrub.short_quote(&String::from_utf8_lossy(bytes));
                    let message = format!("wrote more than {MOST_NOISE} lines that are not messages, such as: {first}");
                    return Err(Failure::new(FailureKind::BadResponse, message));
                }
                return Ok(vec![]);
            }
        };
        let list = match message {
            Value::Array(list) if list.len() > MOST_IN_BATCH => {
                return Err(Failure::new(FailureKind::TooLarge, format!("sent more than {MOST_IN_BATCH} messages at once")));
            }
            Value::Array(list) => list,
            one => vec![one],
        };
        let mut back = vec![];
        for message in list {
            back.extend(self.message(of, message)?);
        }
        Ok(back)
    }

    fn message(&self, of: Option<u64>, mut message: Value) -> Result<Option<Value>, Failure> {
        let mut inner = lock(&self.inner);
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let Some(method) = method else {
            let number = id.as_ref().and_then(Value::as_u64);
            let Some(sender) = number.and_then(|number| inner.waiting.remove(&number)) else {
                // An answer to an unknown request, a second answer, or a late one.
                return inner.count_unasked("unexpected answers").map(|()| None);
            };
            (inner.unasked, inner.progressed) = (0, 0);
            if let Some(number) = number {
                inner.progress.remove(&number);
                inner.asking.remove(&number);
                inner.running.remove(&number);
            }
            let neither = || Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, "an answer without result and error", None));
            let _ = sender.send(Ok(take_outcome(&mut message).unwrap_or_else(neither)));
            return Ok(None);
        };
        let progress = if method == "notifications/progress" { progress(&message) } else { None };
        if let Some((id, told)) = progress.filter(|(id, _)| inner.waiting.contains_key(id)) {
            inner.progressed += 1;
            if inner.progressed > MOST_PROGRESS {
                return Err(Failure::new(FailureKind::TooLarge, format!("reported its progress more than {MOST_PROGRESS} times")));
            }
            inner.progress.insert(id, self.scrub.short_quote(&told));
            return Ok(None);
        }
        inner.count_unasked("unexpected messages")?;
        match (id, method.as_str()) {
            (Some(id), "ping") => Ok(Some(json!({ "jsonrpc": "2.0", "id": id, "result": {} }))),
            (Some(id), "elicitation/create") if inner.asker(of).is_some() => {
                let asked = questions::question(LIVE.to_owned(), &message["params"]).and_then(|question| inner.asks(of, &id, question));
                Ok(asked.err().map(|failure| inner.rejected(&id, &method, ErrorCode::INVALID_PARAMS, &failure.message)))
            }
            (Some(id), _) => Ok(Some(inner.rejected(&id, &method, ErrorCode::METHOD_NOT_FOUND, ""))),
            (None, "notifications/tools/list_changed") => {
                inner.changes += 1;
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    /// Closes the inbox when the server is gone: all waiting requests fail with `failure`, and no new ones are accepted.
    pub(super) fn close(&self, failure: Failure) {
        let mut inner = lock(&self.inner);
        if inner.closed.is_some() {
            return;
        }
        inner.asking.clear();
        for (_, sender) in inner.waiting.drain() {
            let _ = sender.send(Err(HttpFault::after_sending(failure.clone())));
        }
        inner.closed = Some(failure);
    }

    /// Why no new requests are accepted.
    pub(super) fn closed(&self) -> Option<Failure> {
        lock(&self.inner).closed.clone()
    }

    /// Notes that this run has not received yet, one sentence each. Every run that uses the server receives them.
    pub(super) fn notes(&self, run: &Arc<str>) -> Vec<String> {
        let mut inner = lock(&self.inner);
        let noise = std::mem::take(&mut inner.noise);
        if noise > 0 {
            let noun = if noise == 1 { "line that is not a message" } else { "lines that are not messages" };
            inner.note(format!("it wrote {noise} {noun}"));
        }
        let from = inner.heard.get(run).copied().unwrap_or(inner.told);
        let notes = inner.notes.iter().filter(|(number, _)| *number > from).map(|(_, what)| what.clone()).collect();
        inner.told = inner.last_note;
        let told = inner.told;
        inner.heard.insert(Arc::clone(run), told);
        inner.tidy();
        notes
    }

    /// A run stops using the server.
    pub(super) fn leave(&self, run: &str) {
        let mut inner = lock(&self.inner);
        inner.heard.remove(run);
        inner.tidy();
    }

    /// How often the server reported, or may have missed reporting, that its tools changed.
    pub(super) fn changes(&self) -> u64 {
        lock(&self.inner).changes
    }

    /// Counts a possible change of the tools that was not reported.
    pub(super) fn may_have_changed(&self) {
        lock(&self.inner).changes += 1;
    }

    /// Resets the bounds on unexpected messages, after an answer that did not arrive as a message here.
    pub(super) fn answered(&self) {
        let mut inner = lock(&self.inner);
        (inner.unasked, inner.progressed) = (0, 0);
    }

    /// Adds a note for the record.
    pub(super) fn note(&self, what: String) {
        lock(&self.inner).note(what);
    }
}

impl InboxState {
    /// The call that a question belongs to: the one that it came with, otherwise the only candidate.
    fn asker(&self, of: Option<u64>) -> Option<&mpsc::Sender<LiveQuestion>> {
        let only = || match (self.running.len(), self.asking.len()) {
            (1, _) => self.running.first(),
            (0, 1) => self.asking.keys().next(),
            _ => None,
        };
        self.asking.get(of.as_ref().or_else(only)?)
    }

    fn asks(&self, of: Option<u64>, request: &Value, question: ServerQuestion) -> Result<(), Failure> {
        let too_many = || Failure::new(FailureKind::TooLarge, format!("it asks more than {MOST_ASKED} questions at once"));
        let asker = self.asker(of).ok_or_else(too_many)?;
        asker.try_send(LiveQuestion { request: request.clone(), question }).map_err(|_| too_many())
    }

    /// Returns the error with which a request is rejected. `why` may add a reason.
    fn rejected(&mut self, id: &Value, method: &str, code: ErrorCode, why: &str) -> Value {
        let method = visible(&cut_words(method, 80));
        self.note(format!("it requested {method}; rejected{}{why}", if why.is_empty() { "" } else { ": " }));
        let message = if why.is_empty() { "this client does not answer requests" } else { why };
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": message } })
    }

    fn note(&mut self, what: String) {
        let told = self.told;
        if self.notes.iter().any(|(number, known)| *number > told && *known == what) {
            return;
        }
        self.last_note += 1;
        self.notes.push_back((self.last_note, what));
        if self.notes.len() > MOST_NOTES {
            self.notes.pop_front();
        }
    }

    /// Removes the notes that every run has received.
    fn tidy(&mut self) {
        let all = self.heard.values().copied().min().unwrap_or(self.told);
        self.notes.retain(|(number, _)| *number > all);
    }

    fn count_unasked(&mut self, what: &str) -> Result<(), Failure> {
        self.unasked += 1;
        if self.unasked > MOST_UNASKED {
            return Err(Failure::new(FailureKind::TooLarge, format!("sent more than {MOST_UNASKED} {what}")));
        }
        Ok(())
    }
}

/// Reads a progress notification: the id of its request, and a text such as `3 of 10 (copying)`.
fn progress(message: &Value) -> Option<(u64, String)> {
    let params = message.get("params")?;
    let id = params.get("progressToken")?.as_u64()?;
    let of = params.get("total").and_then(Value::as_f64).map(|total| format!(" of {total}")).unwrap_or_default();
    let what = params.get("message").and_then(Value::as_str).map(|text| format!(" ({text})")).unwrap_or_default();
    let told = format!("{}{of}{what}", params.get("progress")?.as_f64()?);
    Some((id, cut_words(&told, LONGEST_PROGRESS)))
}

/// Takes the result or the error of an answer; `None` if it has neither.
pub(super) fn take_outcome(answer: &mut Value) -> Option<Said> {
    match (answer.get_mut("error").map(Value::take), answer.get_mut("result").map(Value::take)) {
        (Some(error), _) if !error.is_null() => Some(Err(error_of(error))),
        (_, result) => result.map(Ok),
    }
}

/// Reads an error object; missing parts are replaced by defaults.
pub(super) fn error_of(value: Value) -> ErrorData {
    let code = value.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
    let message = value.get("message").and_then(Value::as_str).unwrap_or("it says no more").to_owned();
    ErrorData::new(ErrorCode(code), message, value.get("data").cloned())
}
