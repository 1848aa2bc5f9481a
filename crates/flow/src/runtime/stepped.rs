//! A run driven by another loop: a durable workflow engine, a server, a scheduler. It stores nothing, makes no calls and never waits.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::Value;

use super::asking::{Answer, RunQuestion};
use super::runner::object;
use super::session::RunSession;
use super::{RunError, RunOutcome, Runner, STACK, Storage};
use crate::driver::{CallResult, Ports, RunClock, carry_out};
use crate::engine::{CallRequest, Command, Input, Run};
use crate::event::{Canceller, Event};

/// A run that does only what the caller requests; created by [`Runner::stepped`] and [`Runner::stepped_after`].
///
/// The caller requests the [next turn](SteppedRun::turn) and does what it says. The run's state follows from its events alone: if a process
/// stores them, it can end at any time, and another one can continue.
pub struct SteppedRun(Sender<Work>);

type Work = Box<dyn FnOnce(&mut Stepping) + Send>;

/// The next action of a run.
#[derive(Debug)]
pub enum Turn {
    /// These events are new. Store them before the next turn if the run must continue after a crash.
    Keep(Vec<Event>),
    /// Carry out this call anywhere, and pass in its [reply](SteppedRun::reply). The next turn may be another, concurrent call.
    Call(SteppedCall),
    /// The reply to the call of this number is no longer expected.
    Cancel(u64),
    /// Nothing more can be done now. Come back with a reply or an answer, or after this time; `None`: there is no time limit.
    Wait {
        /// The time after which the run continues by itself.
        at_most: Option<Duration>,
        /// Questions that people must answer.
        questions: Vec<RunQuestion>,
    },
    /// The run has ended.
    Ended(Box<RunOutcome>),
}

/// A call that a run requests.
pub struct SteppedCall {
    number: u64,
    request: Box<CallRequest>,
    ports: Box<Ports>,
}

/// The result of a call.
pub struct SteppedReply(CallResult);

impl std::fmt::Debug for SteppedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SteppedCall").field("number", &self.number).finish_non_exhaustive()
    }
}

impl SteppedCall {
    /// Returns its number in the run.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Carries it out with the ports of the runner, on a tokio runtime.
    pub async fn carry_out(self) -> SteppedReply {
        SteppedReply(carry_out(self.number, *self.request, &self.ports).await)
    }
}

impl Runner {
    /// Starts a run that the caller drives. Inputs are an object, or null for none. It ignores the [storage](Runner::storage).
    ///
    /// # Errors
    /// As for any run that does not start.
    pub fn stepped(&self, inputs: Value) -> Result<SteppedRun, RunError> {
        SteppedRun::new(self, move |runner| {
            let RunSession { run, on, begin, .. } = RunSession::begin(runner.surroundings()?, object(inputs)?)?;
            Ok(Stepping::new(run, on.ports, vec![], begin))
        })
    }

    /// Continues such a run in another process, from all stored events. Open calls are repeated, unless they act outside; then their step
    /// fails or asks, as after any crash.
    ///
    /// # Errors
    /// The files have changed, or the events are not those of a run that can continue.
    pub fn stepped_after(&self, events: Vec<Event>) -> Result<SteppedRun, RunError> {
        SteppedRun::new(self, move |runner| {
            let on = runner.surroundings()?;
            let run = on.as_its_events_tell(&events)?;
            let begin = on.resumed_after(&events);
            Ok(Stepping::new(run, on.ports, events, begin))
        })
    }
}

impl SteppedRun {
    /// Starts a thread, because the engine and its templates need a large stack.
    fn new(runner: &Runner, begin: impl FnOnce(Runner) -> Result<Stepping, RunError> + Send + 'static) -> Result<SteppedRun, RunError> {
        let runner = runner.clone().storage(Storage::Memory);
        let (work, works) = channel::<Work>();
        let (begun, is_begun) = channel();
        let body = move || match begin(runner) {
            Ok(mut stepping) => {
                let _ = begun.send(Ok(()));
                works.iter().for_each(|work| work(&mut stepping));
            }
            Err(error) => drop(begun.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("flow run".into()).stack_size(STACK).spawn(body);
        thread.map_err(|error| RunError::system(format!("flow cannot start: {error}")))?;
        is_begun.recv().unwrap_or_else(|_| Err(RunError::system("internal error of flow; please report it")))?;
        Ok(SteppedRun(work))
    }

    fn ask<T: Send + 'static>(&self, work: impl FnOnce(&mut Stepping) -> T + Send + 'static) -> Option<T> {
        let (give, take) = channel();
        let work: Work = Box::new(move |stepping| drop(give.send(work(stepping))));
        self.0.send(work).ok()?;
        take.recv().ok()
    }

    /// Returns the next action. It computes briefly and never waits.
    ///
    /// # Errors
    /// An internal error of flow.
    pub fn turn(&mut self) -> Result<Turn, RunError> {
        self.ask(Stepping::turn).ok_or_else(|| RunError::system("internal error of flow; please report it"))
    }

    /// Passes in the result of a call. An unexpected reply is ignored.
    pub fn reply(&mut self, call: u64, outcome: SteppedReply) {
        self.ask(move |stepping| stepping.handle(Input::Reply { call, result: outcome.0 }));
    }

    /// Passes in a person's decision about a step with an open question; `false`: there is no such question.
    pub fn answer(&mut self, step: impl Into<String>, answer: impl Into<Answer>) -> bool {
        let (step, answer) = (step.into(), answer.into());
        self.ask(move |stepping| stepping.answer(&step, answer)).unwrap_or(false)
    }

    /// Cancels the run: nothing new starts, and `finally` runs.
    pub fn cancel(&mut self) {
        self.ask(|stepping| stepping.handle(Input::Cancel { by: Canceller::Client }));
    }
}

/// The run, in its thread.
struct Stepping {
    run: Run,
    ports: Ports,
    events: Vec<Event>,
    /// How many events the caller has received.
    kept: usize,
    time: RunClock,
}

impl Stepping {
    fn new(run: Run, ports: Ports, events: Vec<Event>, begin: Input) -> Stepping {
        let (time, kept) = (RunClock::new(ports.clock.clone(), run.state().last_ms()), events.len());
        let mut stepping = Stepping { run, ports, events, kept, time };
        stepping.handle(begin);
        stepping
    }

    fn handle(&mut self, input: Input) {
        let now = self.time.now();
        self.run.handle(self.ports.door.pass(input), now);
        self.events.extend(std::iter::from_fn(|| self.run.next_event()));
    }

    fn turn(&mut self) -> Turn {
        if self.run.next_timeout().is_some_and(|at| at <= self.time.now().ms) {
            self.handle(Input::Tick);
        }
        if self.kept < self.events.len() {
            let new = self.events[self.kept..].to_vec();
            self.kept = self.events.len();
            return Turn::Keep(new);
        }
        while let Some(command) = self.run.next_command() {
            match command {
                Command::Call { call, request } => {
                    return Turn::Call(SteppedCall { number: call, request, ports: Box::new(self.ports.clone()) });
                }
                Command::Cancel { call } => return Turn::Cancel(call),
                // Cached results and early server starts only improve speed.
                Command::Keep { .. } | Command::StartServer(_) => {}
            }
        }
        match self.run.state().finished.clone() {
            Some(end) => Turn::Ended(Box::new(RunOutcome::from_events(self.run.id(), self.events.clone(), Some(end)))),
            None => {
                let now = self.time.now().ms;
                let at_most = self.run.next_timeout().map(|at| Duration::from_millis(at.saturating_sub(now)));
                Turn::Wait { at_most, questions: RunQuestion::open(&self.events) }
            }
        }
    }

    fn answer(&mut self, step: &str, answer: Answer) -> bool {
        let question = RunQuestion::open(&self.events).into_iter().find(|question| question.step == step);
        question.map(|question| self.handle(answer.input(question))).is_some()
    }
}
