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
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable, Aborted, FutureExt};
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
use crate::port::{Clock, StoreError};
use crate::{CallReply, Command, Input, Moment, Run};
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

/// The date, and the milliseconds since `began` on this clock.
pub fn moment(clock: &dyn Clock, began: Duration) -> Moment {
    Moment { wall: clock.now(), ms: clock.elapsed().saturating_sub(began).as_millis() as u64 }
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
    let (began, before) = (ports.clock.elapsed(), run.state().last_ms());
    let moment = |clock: &dyn Clock| {
        let here = moment(clock, began);
        Moment { ms: here.ms + before, ..here }
    };
    let mut calls = FuturesUnordered::new();
    let mut handles: HashMap<u64, AbortHandle> = HashMap::new();
    let mut spans = Spans::of(run);
    let mut keeps = FuturesUnordered::new();
    // Servers that are needed later: those that wait for a commit, and those that are starting.
    let (mut unstarted, mut starts) = (vec![], FuturesUnordered::new());
    let mut dirty_since: Option<Duration> = None;
    // A call that acts outside waits until all events before it are committed. `kept_to` is the last call whose events are durable, `writing_to` the
    // last call whose events the commit in progress makes durable.
    let (mut kept_to, mut writing_to) = (0, 0);
    let mut taken_in = 0;
    let mut show = |kept: Vec<Event>| {
        for event in kept {
            ports.tape.iter().for_each(|tape| tape.watch(&event));
            watch(event);
        }
    };
    run.handle(ports.door.pass(first), moment(&*ports.clock));
    loop {
        let mut ready = vec![];
        while let Some(command) = run.next_kept_command(kept_to) {
            match command {
                // If a result cannot be stored, this run is not affected; an equal step makes the call again.
                Command::Keep { key, until, value } => keeps.push(ports.cache.keep(key, until, value)),
                Command::StartServer(server) => unstarted.push(*server),
                Command::Call { call, request } => ready.push((call, request)),
                Command::Cancel { call } => {
                    if let Some(handle) = handles.remove(&call) {
                        handle.abort();
                    }
                }
            }
        }
        journal.take(std::iter::from_fn(|| run.next_event()).inspect(|event| spans.follow(event)).collect())?;
        let end = run.state().finished.clone();
        if end.is_some() || run.is_paused() {
            while journal.is_dirty() {
                journal.commit();
                show(journal.committed().await?);
            }
            for handle in handles.values() {
                handle.abort();
            }
            let is_cancelled = end.as_ref().is_some_and(|end| end.status == RunStatus::Cancelled);
            let _ = tokio::time::timeout(if is_cancelled { LET_GO_SOON } else { LET_GO }, async {
                while calls.next().await.is_some() {}
                while keeps.next().await.is_some() {}
            })
            .await;
            return Ok(end);
        }
        for (call, request) in ready {
            let (handle, registration) = AbortHandle::new_pair();
            handles.insert(call, handle);
            let span = spans.call(call, &request);
            let work = carry_out(call, *request, ports).instrument(span.clone());
            let work = work.inspect(move |answer| answered(&span, answer)).map(move |answer| (call, answer));
            calls.push(Abortable::new(work, registration));
        }
        // Replies that have already arrived share the commit.
        let unsent = run.last_unsent();
        let early = if unsent.is_some() && taken_in < MOST_AT_ONCE { calls.next().now_or_never().flatten() } else { None };
        let input = if let Some(answer) = early {
            taken_in += 1;
            replied(answer)
        } else {
            dirty_since = journal.is_dirty().then(|| dirty_since.unwrap_or_else(|| ports.clock.elapsed()));
            let has_waited = dirty_since.is_some_and(|since| ports.clock.elapsed().saturating_sub(since) >= UNWRITTEN);
            if (unsent.is_some() || has_waited) && journal.commit() {
                (taken_in, dirty_since) = (0, None);
                writing_to = unsent.unwrap_or(writing_to);
            }
            let now = moment(&*ports.clock);
            let sleep = run.next_timeout().map_or(IDLE, |at| Duration::from_millis(at.saturating_sub(now.ms)));
            tokio::select! {
                biased;
                Some(by) = stop.recv() => Some(Input::Cancel { by }),
                Some(decided) = decisions.recv() => Some(decided),
                kept = journal.committed() => {
                    show(kept?);
                    kept_to = writing_to;
                    starts.extend(unstarted.drain(..).map(|server| start_early(server, ports)));
                    None
                }
                Some(answer) = calls.next(), if !calls.is_empty() => replied(answer),
                Some(_) = keeps.next(), if !keeps.is_empty() => None,
                Some(()) = starts.next(), if !starts.is_empty() => None,
                () = tokio::time::sleep(sleep) => Some(Input::Tick),
                () = tokio::time::sleep(UNWRITTEN), if journal.is_dirty() => {
                    journal.commit();
                    None
                }
            }
        };
        if let Some(Input::Reply { call, .. }) = &input {
            handles.remove(call);
        }
        if let Some(input) = input {
            run.handle(ports.door.pass(input), moment(&*ports.clock));
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
