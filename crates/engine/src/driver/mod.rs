//! The tokio loop: it writes events to the journal, carries out commands, passes inputs to the run, and enforces time limits and cancellation.
//!
//! One thread owns a run. Calls are futures of this loop; all they do to the run is return inputs.
//! How to add a command: add a variant to `CallRequest` and its arm in [`carry_out`].

mod blocking;
mod carry;
mod door;
mod person;
mod runtime;
mod spans;
mod trace;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, Aborted, FutureExt, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tracing::Instrument;

pub use blocking::Blocking;
use carry::start_early;
pub use carry::{AnswerListener, Ports, carry_out};
pub use door::Door;
pub use person::{FoundPerson, PersonError, find_person};
pub use runtime::Runtime;
pub use trace::RunTrace;

use crate::event::{Canceller, Event, Failure, RunEnd, RunStatus};
use crate::journal::Journal;
use crate::port::{Clock, Pending, StoreError, ToolServer};
use crate::{CallReply, CallRequest, Command, Input, Moment, Run};
use spans::{Spans, answered};

/// The longest sleep without a timer.
const IDLE: Duration = Duration::from_secs(3600);
/// How long events wait to share the commit of the next outside effect before they are committed on their own.
const UNWRITTEN: Duration = Duration::from_millis(50);
/// How long an ended or paused run waits for its aborted calls to finish, and for step results to be stored for other runs; `LET_GO_SOON` if it was
/// cancelled.
const LET_GO: Duration = Duration::from_secs(5);
const LET_GO_SOON: Duration = Duration::from_millis(300);

/// The largest number of replies that are handled before a commit that calls wait for begins.
const MOST_AT_ONCE: usize = 256;

/// Receives the decisions of people while a run continues.
pub type DecisionReceiver = tokio::sync::mpsc::UnboundedReceiver<Input>;

/// Requests to end the run.
pub type StopReceiver = tokio::sync::mpsc::UnboundedReceiver<Canceller>;

/// The time of a run that a process drives: when the process began with it, and how long it had lasted by then.
pub struct RunClock {
    clock: Arc<dyn Clock>,
    began: Duration,
    before_ms: u64,
}

impl RunClock {
    /// The clock of a run that had lasted this long, in milliseconds.
    pub fn new(clock: Arc<dyn Clock>, before_ms: u64) -> RunClock {
        RunClock { began: clock.elapsed(), clock, before_ms }
    }

    /// The date, and how long the run has lasted.
    pub fn now(&self) -> Moment {
        let here = self.clock.elapsed().saturating_sub(self.began).as_millis() as u64;
        Moment { wall: self.clock.now(), ms: here + self.before_ms }
    }
}

/// Drives a run from an input to its end. Returns `None` if the run waits for a person, whose decision is the next input. A decision that arrives
/// through `decisions` while other steps run is handled at once. `watch` receives every event after it was written to disk.
///
/// # Errors
/// Fails if the journal cannot be written. Nothing new is started then, and open calls are dropped.
pub async fn drive(
    run: &mut Run,
    first: Input,
    ports: &Ports,
    journal: &mut Journal,
    stop: &mut StopReceiver,
    decisions: &mut DecisionReceiver,
    watch: &mut dyn FnMut(Event),
) -> Result<Option<RunEnd>, StoreError> {
    let mut driver = Driver::new(run, ports, journal, watch);
    driver.handle(first);
    loop {
        let ready = driver.take_commands();
        driver.take_events()?;
        let end = driver.run.state().finished.clone();
        if end.is_some() || driver.run.is_paused() {
            driver.let_go(end.as_ref()).await?;
            return Ok(end);
        }
        ready.into_iter().for_each(|(call, request)| driver.send(call, request));
        let input = match driver.take_reply() {
            Some(reply) => reply,
            None => {
                driver.commit();
                driver.wait(stop, decisions).await?
            }
        };
        input.into_iter().for_each(|input| driver.handle(input));
    }
}

/// What a call gives with its number, unless it is aborted.
type CallFuture = Abortable<LocalBoxFuture<'static, (u64, CallResult)>>;

/// A run that is driven. Its turns: decide (`handle`), let out what may go (`take_commands`, `take_events`, `send`), and wait for the world (`wait`).
struct Driver<'d> {
    run: &'d mut Run,
    ports: &'d Ports,
    journal: &'d mut Journal,
    watch: &'d mut dyn FnMut(Event),
    time: RunClock,
    calls: FuturesUnordered<CallFuture>,
    handles: HashMap<u64, AbortHandle>,
    spans: Spans,
    keeps: FuturesUnordered<Pending<()>>,
    /// Servers that are needed later: those that wait for a commit, and those that are starting.
    unstarted: Vec<ToolServer>,
    starts: FuturesUnordered<LocalBoxFuture<'static, ()>>,
    /// Since when events wait to be committed.
    dirty_since: Option<Duration>,
    /// A call that acts outside waits until all events before it are committed. The last call whose events are durable, and the last call whose events
    /// the commit in progress makes durable.
    kept_to: u64,
    writing_to: u64,
    /// Replies that were handled since the last commit began.
    taken_in: usize,
}

impl<'d> Driver<'d> {
    fn new(run: &'d mut Run, ports: &'d Ports, journal: &'d mut Journal, watch: &'d mut dyn FnMut(Event)) -> Driver<'d> {
        let (time, spans) = (RunClock::new(ports.clock.clone(), run.state().last_ms()), Spans::for_run(run));
        Driver {
            run,
            ports,
            journal,
            watch,
            time,
            calls: FuturesUnordered::new(),
            handles: HashMap::new(),
            spans,
            keeps: FuturesUnordered::new(),
            unstarted: vec![],
            starts: FuturesUnordered::new(),
            dirty_since: None,
            kept_to: 0,
            writing_to: 0,
            taken_in: 0,
        }
    }

    fn handle(&mut self, input: Input) {
        if let Input::Reply { call, .. } = &input {
            self.handles.remove(call);
        }
        let now = self.time.now();
        self.run.handle(self.ports.door.pass(input), now);
    }

    /// Takes all commands that may be carried out now. Returns the calls among them: they go out once the events are in the journal.
    fn take_commands(&mut self) -> Vec<(u64, Box<CallRequest>)> {
        let mut ready = vec![];
        while let Some(command) = self.run.next_kept_command(self.kept_to) {
            match command {
                // If a result cannot be stored, this run is not affected; an equal step makes the call again.
                Command::Keep { key, until, value } => self.keeps.push(self.ports.cache.keep(key, until, value)),
                Command::StartServer(server) => self.unstarted.push(*server),
                Command::Call { call, request } => ready.push((call, request)),
                Command::Cancel { call } => self.handles.remove(&call).into_iter().for_each(|handle| handle.abort()),
            }
        }
        ready
    }

    fn take_events(&mut self) -> Result<(), StoreError> {
        let events = std::iter::from_fn(|| self.run.next_event()).inspect(|event| self.spans.follow(event)).collect();
        self.journal.take(events)
    }

    fn send(&mut self, call: u64, request: Box<CallRequest>) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(call, handle);
        let span = self.spans.call(call, &request);
        let work = carry_out(call, *request, self.ports).instrument(span.clone());
        let work = work.inspect(move |answer| answered(&span, answer)).map(move |answer| (call, answer));
        self.calls.push(Abortable::new(work.boxed_local(), registration));
    }

    /// A reply that has already arrived while a call waits for the journal: it shares the commit.
    fn take_reply(&mut self) -> Option<Option<Input>> {
        if self.run.last_unsent().is_none() || self.taken_in >= MOST_AT_ONCE {
            return None;
        }
        let reply = self.calls.next().now_or_never().flatten()?;
        self.taken_in += 1;
        Some(replied(reply))
    }

    /// Begins a commit if a call waits for it, or if events have waited for long.
    fn commit(&mut self) {
        let (clock, unsent) = (&self.ports.clock, self.run.last_unsent());
        self.dirty_since = self.journal.is_dirty().then(|| self.dirty_since.unwrap_or_else(|| clock.elapsed()));
        let has_waited = self.dirty_since.is_some_and(|since| clock.elapsed().saturating_sub(since) >= UNWRITTEN);
        if (unsent.is_some() || has_waited) && self.journal.commit() {
            (self.taken_in, self.dirty_since) = (0, None);
            self.writing_to = unsent.unwrap_or(self.writing_to);
        }
    }

    /// Waits for the world: for someone who ends the run or decides, for the journal, a reply, or the next timer.
    async fn wait(&mut self, stop: &mut StopReceiver, decisions: &mut DecisionReceiver) -> Result<Option<Input>, StoreError> {
        let sleep = self.run.next_timeout().map_or(IDLE, |at| Duration::from_millis(at.saturating_sub(self.time.now().ms)));
        Ok(tokio::select! {
            biased;
            Some(by) = stop.recv() => Some(Input::Cancel { by }),
            Some(decided) = decisions.recv() => Some(decided),
            kept = self.journal.committed() => {
                self.show(kept?);
                self.kept_to = self.writing_to;
                self.starts.extend(self.unstarted.drain(..).map(|server| start_early(server, self.ports).boxed_local()));
                None
            }
            Some(answer) = self.calls.next(), if !self.calls.is_empty() => replied(answer),
            Some(_) = self.keeps.next(), if !self.keeps.is_empty() => None,
            Some(()) = self.starts.next(), if !self.starts.is_empty() => None,
            () = tokio::time::sleep(sleep) => Some(Input::Tick),
            () = tokio::time::sleep(UNWRITTEN), if self.journal.is_dirty() => {
                self.journal.commit();
                None
            }
        })
    }

    /// Writes all events of a run that has ended or is paused, and lets go of its calls.
    async fn let_go(&mut self, end: Option<&RunEnd>) -> Result<(), StoreError> {
        while self.journal.is_dirty() {
            self.journal.commit();
            let kept = self.journal.committed().await?;
            self.show(kept);
        }
        self.handles.values().for_each(AbortHandle::abort);
        let is_cancelled = end.is_some_and(|end| end.status == RunStatus::Cancelled);
        let _ = tokio::time::timeout(if is_cancelled { LET_GO_SOON } else { LET_GO }, async {
            while self.calls.next().await.is_some() {}
            while self.keeps.next().await.is_some() {}
        })
        .await;
        Ok(())
    }

    fn show(&mut self, kept: Vec<Event>) {
        for event in kept {
            self.ports.tape.iter().for_each(|tape| tape.watch(&event));
            (self.watch)(event);
        }
    }
}

/// The reply of a call, or `None` if the call was aborted.
fn replied(answer: Result<(u64, CallResult), Aborted>) -> Option<Input> {
    answer.ok().map(|(call, result)| Input::Reply { call, result })
}

/// The result of a call that ended.
pub type CallResult = Result<CallReply, Failure>;

#[cfg(test)]
mod tests;
