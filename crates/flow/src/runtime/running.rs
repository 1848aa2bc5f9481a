//! The handle of a run in progress.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::asking::{Answer, Decide, Decided, RunQuestion};
use super::session::{Attend, RunSession};
use super::{RunError, RunOutcome};
use crate::driver::StopReceiver;
use crate::event::{Canceller, Event};
use crate::journal::RunMask;

/// A run in its own thread, independent of the caller's runtime.
///
/// It is a stream of its events; each is sent after it was stored. Dropping the handle cancels the run like [`Control::cancel`].
#[derive(Debug)]
#[must_use = "a run whose handle is dropped is cancelled"]
pub struct RunHandle {
    events: UnboundedReceiver<Event>,
    control: Control,
    done: oneshot::Receiver<Result<RunOutcome, RunError>>,
}

/// Controls a run from another place or thread.
#[derive(Debug, Clone)]
pub struct Control {
    stop: UnboundedSender<Canceller>,
    answers: UnboundedSender<(String, Answer)>,
}

impl Control {
    /// Cancels the run: nothing new starts, calls with side effects may still answer for a while, `finally` runs, and the status is `cancelled`. A run
    /// that waits for a person stays as it is, with the ending `Waiting`.
    pub fn cancel(&self) {
        let _ = self.stop.send(Canceller::Client);
    }

    /// Sends a person's decision about a step of an `approval_requested` event. It may be sent before the question arrives. `true` and
    /// `false` are [answers](Answer) without a comment.
    pub fn answer(&self, step: impl AsRef<str>, answer: impl Into<Answer>) {
        let _ = self.answers.send((step.as_ref().to_owned(), answer.into()));
    }
}

impl RunHandle {
    pub(super) fn new() -> (RunHandle, Listening, oneshot::Sender<Result<RunOutcome, RunError>>) {
        let (told, events) = unbounded_channel();
        let (stop, stopped) = unbounded_channel();
        let (answers, answered) = unbounded_channel();
        let (sender, done) = oneshot::channel();
        let (told, hearing) = (EventSender(told), Hearing { answered, early: HashMap::new() });
        (RunHandle { events, control: Control { stop, answers }, done }, Listening { stopped, told, hearing }, sender)
    }

    /// Returns the handle of a run that failed to start.
    pub(super) fn that_failed(mut self, error: RunError) -> RunHandle {
        let (sender, done) = oneshot::channel();
        let _ = sender.send(Err(error));
        self.done = done;
        self
    }

    /// Returns the next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Cancels the run, as [`Control::cancel`] does.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Answers a question, as [`Control::answer`] does.
    pub fn answer(&self, step: impl AsRef<str>, answer: impl Into<Answer>) {
        self.control.answer(step, answer);
    }

    /// Returns a control to cancel and answer from another place.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Waits for the end. A run that needs a person's decision waits as long as a [`Control`] of it exists; then it ends with
    /// `Waiting`. Dropping the future cancels the run.
    ///
    /// # Errors
    /// The run did not start.
    pub async fn outcome(mut self) -> Result<RunOutcome, RunError> {
        self.gives_no_answer();
        (&mut self.done).await.unwrap_or_else(|_| Err(fault()))
    }

    /// Like [`RunHandle::outcome`], for a thread without an async runtime.
    ///
    /// # Errors
    /// As [`RunHandle::outcome`].
    ///
    /// # Panics
    /// In async code: use [`RunHandle::outcome`] there.
    pub fn wait(mut self) -> Result<RunOutcome, RunError> {
        self.gives_no_answer();
        let (_, nothing) = oneshot::channel();
        std::mem::replace(&mut self.done, nothing).blocking_recv().unwrap_or_else(|_| Err(fault()))
    }

    fn gives_no_answer(&mut self) {
        self.control.answers = unbounded_channel().0;
    }
}

fn fault() -> RunError {
    RunError::system("internal error of flow; please report it")
}

impl Stream for RunHandle {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_recv(context)
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The run's side of its handle.
pub(super) struct Listening {
    stopped: StopReceiver,
    told: EventSender,
    hearing: Hearing,
}

impl Listening {
    /// Sends events to the handle again.
    pub(super) fn repeat(&self, events: Vec<&Event>) {
        events.into_iter().for_each(|event| drop(self.told.0.send(event.clone())));
    }

    /// Plays the run, and sends its events to the handle.
    pub(super) fn outcome_of(mut self, session: RunSession) -> RunOutcome {
        session.play(&mut self.stopped, &mut self.told, &mut self.hearing).outcome
    }
}

/// Sends the events to the handle.
struct EventSender(UnboundedSender<Event>);

impl Attend for EventSender {
    fn see(&mut self, event: &Event, _: RunMask<'_>) {
        let _ = self.0.send(event.clone());
    }
}

struct Hearing {
    answered: UnboundedReceiver<(String, Answer)>,
    /// Answers to questions that were not asked yet.
    early: HashMap<String, Answer>,
}

impl Decide for Hearing {
    fn decide(&mut self, question: RunQuestion) -> Decided<'_> {
        Box::pin(async move {
            loop {
                if let Some(answer) = self.early.remove(&question.step) {
                    return Some(answer);
                }
                let (step, answer) = self.answered.recv().await?;
                self.early.insert(step, answer);
            }
        })
    }
}
