//! Cassettes: the traffic of a run with models, over HTTP and by mail, recorded in files or replayed from them.
//!
//! | module | content |
//! |---|---|
//! | `asked` | requests and answers as plain values |
//! | `placeholder` | placeholders for personal values and secrets, and restoring the values |
//! | `folder` | the files |
//! | `nearest` | the report for a call without a recording |
//!
//! How to add another kind of call: add its method to `port::Tape` and its request to `asked`.

mod asked;
mod folder;
mod nearest;
mod placeholder;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use self::asked::Recordable;
use self::folder::{RecordedAnswer, Recording, Steps};
use self::placeholder::{Bindings, Masker, Placeholder};
use super::lock;
use crate::event::{Event, Failure, FailureKind, Happening, StepPath};
use crate::journal::PersonalMask;
use crate::port::{
    AgentCall, AgentPrograms, Cache, HttpClient, HttpReply, HttpRequest, Mail, MailReceipt, MailSender, ModelClient, ModelReply,
    ModelRequest, Pending, ProgramCall, ProgramReply, Programs, Python, PythonCall, PythonReply, ResourceCall, ResourceReply, ServerCall,
    ServerReply, Tape, ToolList, ToolServer, ToolServers, WireFormat,
};
use crate::redact::Redactor;

pub use self::folder::{CassetteError, Head, head, is_free};

/// What a cassette does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Makes calls as usual. Only models whose provider is `replay` are answered from recordings.
    Live,
    /// Records requests and answers; [`Cassette::write`] writes them.
    Record,
    /// Answers every call from this folder, and never makes a real one.
    Replay(PathBuf),
}

/// The cassette of one run.
#[derive(Clone)]
pub struct Cassette {
    mode: Mode,
    inner: Arc<Mutex<CassetteState>>,
}

/// What is known about the run so far, and the recorded calls.
#[derive(Default)]
struct CassetteState {
    mask: PersonalMask,
    events: Vec<Event>,
    run: String,
    /// Texts that the run was started with, by their place: `person.name`, `inputs.phone`.
    given: BTreeMap<String, String>,
    /// Step and number of each call.
    calls: HashMap<u64, (StepPath, u64)>,
    numbers: HashMap<StepPath, u64>,
    /// Calls that have no answer yet.
    out: BTreeSet<u64>,
    /// Numbers of calls that were pending when the run was interrupted. They are repeated.
    again: HashMap<StepPath, BTreeSet<u64>>,
    kept: Vec<TakenCall>,
    /// Folders that were read.
    folders: HashMap<PathBuf, Arc<Result<Steps, CassetteError>>>,
    misses: Vec<String>,
    used: BTreeSet<(String, u64)>,
}

/// A recorded call, unmasked.
struct TakenCall {
    step: StepPath,
    call: u64,
    asked: Value,
    /// What was known to be personal when the call was made.
    then: Redactor,
    /// `None` if the call was cancelled before it had an answer.
    answer: Option<Result<Value, Failure>>,
}

impl Cassette {
    /// Creates a cassette that hides these secrets.
    pub fn new<'a>(mode: Mode, secrets: impl IntoIterator<Item = &'a str>) -> Cassette {
        let inner = CassetteState { mask: PersonalMask::new(secrets), ..CassetteState::default() };
        Cassette { mode, inner: Arc::new(Mutex::new(inner)) }
    }

    /// What the cassette does.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// The messages about calls without a recording.
    pub fn misses(&self) -> Vec<String> {
        lock(&self.inner).misses.clone()
    }

    /// Recordings of a folder that were not used: step and number of the call.
    pub fn left_over(&self, folder: &Path) -> Vec<(String, u64)> {
        let mut inner = lock(&self.inner);
        let steps = inner.steps(folder);
        let all = steps.iter().flatten().flat_map(|(step, list)| list.iter().map(move |recording| (step.clone(), recording.call)));
        all.filter(|place| !inner.used.contains(place)).collect()
    }

    /// The number of recorded calls.
    pub fn count(&self) -> usize {
        lock(&self.inner).kept.len()
    }

    /// Writes the recorded calls to a new or empty folder, masked with everything that is known now. Each call is replayed once before it is written.
    /// Returns a sentence for each call that a replay cannot reproduce exactly.
    ///
    /// # Errors
    /// Fails if a file or folder cannot be created.
    pub fn write(&self, folder: &Path, head: &Head) -> std::io::Result<Vec<String>> {
        let inner = lock(&self.inner);
        let mut kept: Vec<&TakenCall> = inner.kept.iter().collect();
        kept.sort_by_key(|taken| (&*taken.step, taken.call));
        let (mut steps, mut lost) = (Steps::new(), vec![]);
        for taken in kept {
            let (recording, told) = taken.recording(&inner);
            steps.entry(taken.step.to_string()).or_default().push(recording);
            lost.extend(told);
        }
        folder::write(folder, head, &steps).map(|()| lost)
    }

    /// Makes, records or replays a call, depending on the mode.
    fn pass<R, T>(&self, call: u64, request: R, asked: fn(&R) -> Value, live: impl FnOnce(R) -> Pending<T>) -> Pending<T>
    where
        T: Recordable + Send + 'static,
    {
        match &self.mode {
            Mode::Live => live(request),
            Mode::Record => self.keep(call, asked(&request), live(request)),
            Mode::Replay(folder) => self.answer(folder, call, &asked(&request)),
        }
    }

    /// Makes a call and records it.
    fn keep<T: Recordable + Send + 'static>(&self, call: u64, asked: Value, live: Pending<T>) -> Pending<T> {
        let mut inner = lock(&self.inner);
        let Some((step, number)) = inner.calls.get(&call).cloned() else { return live };
        let (then, place) = (inner.redactor().clone(), inner.kept.len());
        inner.kept.push(TakenCall { step, call: number, asked, then, answer: None });
        let own = self.clone();
        Box::pin(async move {
            let answer = live.await;
            if let Some(taken) = lock(&own.inner).kept.get_mut(place) {
                taken.answer = Some(
                    answer.as_ref().map(Recordable::to_recorded).map_err(|failure| Failure { retry_after_ms: None, ..failure.clone() }),
                );
            }
            answer
        })
    }

    /// Answers a call from a folder.
    fn answer<T: Recordable + Send + 'static>(&self, folder: &Path, call: u64, asked: &Value) -> Pending<T> {
        let broken = || Failure::new(FailureKind::Unavailable, "the recorded answer is of another kind; record it again");
        let answer = lock(&self.inner).answer(folder, call, asked).and_then(|reply| T::from_kept(reply).ok_or_else(broken));
        Box::pin(std::future::ready(answer))
    }
}

impl TakenCall {
    /// The recording of a call, and a sentence if a replay cannot reproduce it.
    fn recording(&self, of: &CassetteState) -> (Recording, Option<String>) {
        let mut masker = Masker::new(of.redactor(), &of.run).since(&self.then);
        let asked = masker.value(&self.asked);
        let in_asked = std::mem::take(&mut masker.used);
        let late = in_asked.iter().filter(|(place, _)| masker.late.contains(place));
        let lengths: Map<String, Value> = late.map(|(place, (raw, _))| (place.written(), raw.chars().count().into())).collect();
        let answer = match &self.answer {
            Some(Ok(reply)) => RecordedAnswer::Reply(with_counts(masker.value(reply), reply)),
            Some(Err(failure)) => RecordedAnswer::Failure(Failure::new(failure.kind, masker.text(&failure.message))),
            None => RecordedAnswer::Failure(Failure::new(FailureKind::Timeout, "no answer came in time")),
        };
        let is_new = |place: &Placeholder| in_asked.keys().all(|asked| asked.whole() != place.whole());
        let new = masker.used.iter().filter(|(place, _)| is_new(place));
        let origin = |whole: &str| of.given.iter().find(|(_, value)| *value == whole).map(|(origin, _)| Value::from(origin.as_str()));
        let origins = new.filter_map(|(place, (_, whole))| Some((place.whole().written(), origin(whole)?))).collect();
        let mut recording = Recording { call: self.call, asked, lengths, origins, answer };
        let lost = match self.replayed(&recording, &masker, of) {
            Replayed::Same => None,
            Replayed::Placeholders => {
                Some("its answer contains personal values or secrets that a replay does not know; it returns placeholders for them")
            }
            Replayed::NotFound => Some("a replay would not find its request; run the step live, or give it a scripted reply"),
            Replayed::Other => {
                let told = "its answer contains a personal value in a form that a recording cannot restore; run the step live, or give it a scripted reply";
                let failure = Failure::new(FailureKind::Unavailable, format!("this call was not recorded: {told}"));
                recording.answer = RecordedAnswer::Failure(failure);
                recording.origins = Map::new();
                Some(told)
            }
        };
        let told = lost.map(|lost| format!("call {} of step \"{}\": {lost}", self.call, self.step));
        (recording, told)
    }

    /// Compares a replay of the recording in the same run with the original answer.
    fn replayed(&self, recording: &Recording, masker: &Masker, of: &CassetteState) -> Replayed {
        let Some(mut bindings) = Bindings::compare(&recording.asked, &self.asked, &self.then, &of.run, &recording.lengths) else {
            return Replayed::NotFound;
        };
        bindings.know(&recording.origins, &of.given);
        let (masked, wanted) = match (&recording.answer, &self.answer) {
            (RecordedAnswer::Reply(masked), Some(Ok(reply))) => (masked.clone(), reply.clone()),
            (RecordedAnswer::Failure(masked), Some(Err(failure))) => (masked.message.clone().into(), failure.message.clone().into()),
            _ => return Replayed::Same,
        };
        let best = || with_counts(placeholder::without_secrets(&wanted, of.redactor()), &wanted);
        match bindings.restored(&masked) == wanted {
            true => Replayed::Same,
            false if bindings.with(&masker.used).restored(&masked) == best() => Replayed::Placeholders,
            false => Replayed::Other,
        }
    }
}

/// The result of a replay.
enum Replayed {
    /// Identical to the original.
    Same,
    /// Identical except for values that the replay does not know.
    Placeholders,
    /// No recording matches the request.
    NotFound,
    /// A different text.
    Other,
}

/// Keeps counts as numbers, even if a personal value is the same number.
fn with_counts(mut masked: Value, plain: &Value) -> Value {
    for name in ["usage", "status"] {
        if let (Some(masked), Some(plain)) = (masked.get_mut(name), plain.get(name)) {
            *masked = plain.clone();
        }
    }
    masked
}

impl CassetteState {
    /// The number of the next call of a step.
    fn number(&mut self, step: &StepPath) -> u64 {
        if let Some(number) = self.again.get_mut(step).and_then(BTreeSet::pop_first) {
            return number;
        }
        let last = self.numbers.entry(step.clone()).or_insert(0);
        *last += 1;
        *last
    }

    /// Hides everything that must not be recorded.
    fn redactor(&self) -> &Redactor {
        self.mask.for_run(&self.events).redactor()
    }

    fn steps(&mut self, folder: &Path) -> Arc<Result<Steps, CassetteError>> {
        self.folders.entry(folder.to_path_buf()).or_insert_with(|| Arc::new(folder::read(folder))).clone()
    }

    fn answer(&mut self, folder: &Path, call: u64, asked: &Value) -> Result<Value, Failure> {
        let steps = self.steps(folder);
        let steps = steps.as_ref().as_ref().map_err(|problem| self.miss(problem.to_string()))?;
        let Some((step, number)) = self.calls.get(&call).cloned() else {
            return Err(Failure::new(FailureKind::Internal, "a call has no step; please report it"));
        };
        let found = steps.get(&*step).and_then(|list| list.iter().find(|recording| recording.call == number));
        let fits = found.and_then(|recording| {
            let recorded = comparable(&recording.asked, asked);
            Some((recording, Bindings::compare(&recorded, asked, self.redactor(), &self.run, &recording.lengths)?))
        });
        if let Some((recording, mut bindings)) = fits {
            bindings.know(&recording.origins, &self.given);
            self.used.insert((step.to_string(), number));
            return match &recording.answer {
                RecordedAnswer::Reply(reply) => Ok(bindings.restored(reply)),
                RecordedAnswer::Failure(failure) => Err(Failure { message: bindings.restored_text(&failure.message), ..failure.clone() }),
            };
        }
        let masked = Masker::new(self.redactor(), &self.run).value(asked);
        let told = nearest::sentence(steps, &step, number, &masked);
        Err(self.miss(format!("{told} (recordings in {}; no live call was made)", folder.display())))
    }

    fn miss(&mut self, told: String) -> Failure {
        self.misses.push(told.clone());
        Failure::new(FailureKind::Unavailable, told)
    }
}

/// A text, or a number as text, in the form in which it is known to be personal.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The recorded request. If the current request does not name a model, the keys that identify the model are left out.
fn comparable(recorded: &Value, asked: &Value) -> Value {
    let mut recorded = recorded.clone();
    if let (Value::Object(parts), true) = (&mut recorded, asked["to"] == "model" && asked.get("model").is_none()) {
        parts.retain(|name, _| !asked::OF_THE_MODEL.contains(&name.as_str()));
    }
    recorded
}

impl Tape for Cassette {
    fn watch(&self, event: &Event) {
        let mut inner = lock(&self.inner);
        inner.events.push(event.clone());
        let CassetteState { mask, events, .. } = &mut *inner;
        mask.take(events);
        match &event.happening {
            Happening::RunStarted(start) => {
                inner.run = event.run.to_string();
                for (place, values) in [("person", &start.person), ("inputs", &start.inputs)] {
                    let texts = values.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, plain(value)?)));
                    inner.given.extend(texts.map(|(name, text)| (format!("{place}.{name}"), text)));
                }
            }
            Happening::ModelCalled { step, call, .. }
            | Happening::ToolCalled { step, call, .. }
            | Happening::ToolsAsked { step, call, .. } => {
                let number = inner.number(step);
                inner.calls.insert(*call, (step.clone(), number));
                inner.out.insert(*call);
            }
            Happening::ModelReplied { call, .. } | Happening::ToolReplied { call, .. } | Happening::ToolsListed { call, .. } => {
                inner.out.remove(call);
            }
            Happening::RunResumed { .. } => {
                for call in std::mem::take(&mut inner.out) {
                    if let Some((step, number)) = inner.calls.remove(&call) {
                        inner.again.entry(step).or_default().insert(number);
                    }
                }
            }
            _ => {}
        }
    }

    fn model(&self, call: u64, request: ModelRequest, live: &Arc<dyn ModelClient>) -> Pending<ModelReply> {
        if request.wire == WireFormat::Recorded {
            return self.answer(Path::new(&request.base_url), call, &asked::model(&request));
        }
        self.pass(call, request, asked::model, |request| live.call(request))
    }

    fn agent(&self, call: u64, prompt: AgentCall, live: &Arc<dyn AgentPrograms>) -> Pending<ModelReply> {
        self.pass(call, prompt, asked::agent, |prompt| live.ask(prompt))
    }

    fn http(&self, call: u64, request: HttpRequest, live: &Arc<dyn HttpClient>) -> Pending<HttpReply> {
        self.pass(call, request, asked::http, |request| live.send(request))
    }

    fn tools(&self, call: u64, server: ToolServer, live: &Arc<dyn ToolServers>) -> Pending<ToolList> {
        self.pass(call, server, asked::tools, |server| live.list(server))
    }

    fn tool(&self, call: u64, request: ServerCall, live: &Arc<dyn ToolServers>) -> Pending<ServerReply> {
        self.pass(call, request, asked::tool, |request| live.call(request))
    }

    fn resource(&self, call: u64, request: ResourceCall, live: &Arc<dyn ToolServers>) -> Pending<ResourceReply> {
        self.pass(call, request, asked::resource, |request| live.read(request))
    }

    fn python(&self, call: u64, code: PythonCall, live: &Arc<dyn Python>) -> Pending<PythonReply> {
        self.pass(call, code, asked::python, |code| live.run(code))
    }

    fn program(&self, call: u64, program: ProgramCall, live: &Arc<dyn Programs>) -> Pending<ProgramReply> {
        self.pass(call, program, asked::program, |program| live.run(program))
    }

    fn mail(&self, call: u64, mail: Mail, live: &Arc<dyn MailSender>) -> Pending<MailReceipt> {
        self.pass(call, mail, asked::mail, |mail| live.send(mail))
    }
}

/// Stores no results: a recording must contain every call, and replayed answers must not be stored as new results.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

impl Cache for NoCache {
    fn recall(&self, _: String, _: chrono::DateTime<chrono::Utc>) -> Pending<Option<Value>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn keep(&self, _: String, _: chrono::DateTime<chrono::Utc>, _: Value) -> Pending<()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod tests;
