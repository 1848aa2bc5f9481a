//! A run and its public interface.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::Context;
use crate::command::{CallReply, CallRequest, Command, Input};
use crate::event::{Bound, Event, Failure, FailureKind, Happening, Limit, SharedValue, StepPath, VERSION};
#[cfg(test)]
use crate::faults;
use crate::model::{Mock, Replies};
use crate::outbox::{Outbox, WokenSteps};
use crate::plan::Plan;
use crate::port::{Secret, WrittenCheck};
use crate::state::{NodeRef, Timer};

/// A point in time, by the wall clock and by a monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// For the `time` of events.
    pub wall: DateTime<Utc>,
    /// Milliseconds since the run started.
    pub ms: u64,
}

/// The settings of a run besides its plan and inputs; none of them is recorded.
pub struct RunSettings {
    /// Values of declared secrets.
    pub secrets: BTreeMap<String, Secret>,
    /// Values that no event and no request may contain, except where the author wrote them; see [`secret_values`](crate::secret_values).
    pub hidden: Vec<Secret>,
    /// The environment, for `env`.
    pub env: BTreeMap<String, Secret>,
    /// Replaces the model named `default` (`FLOW_MODEL…`).
    pub default_model: Option<crate::model::Model>,
    /// For a test: a model of the first pipeline that every agent asks, in place of its own and without another one after it.
    pub every_model: Option<String>,
    /// Policies of the user. They bound every run, whatever its files allow.
    pub user_policies: Vec<crate::model::Policy>,
    /// What to do for models that have no scripted reply.
    pub unscripted: Unscripted,
    /// For a test: scripted replies by step. They replace the model that the step would call.
    pub replies: Option<Arc<Replies>>,
    /// For a test: outputs of steps and tools that are not run.
    pub mocks: Mocks,
    /// Checks plans and scorecards that a model wrote.
    pub written: Box<dyn WrittenCheck>,
    /// The smallest limits of flags and settings; the `limits` of the file apply too.
    pub limits: crate::model::Limits,
    /// The most calls that may be out at once, whatever `max_parallel` says: for more the machine lacks descriptors.
    pub most_calls: u64,
    /// The run answers a message of a chat: who ends it waits for no answer of a model, and who ends it twice for no call.
    pub is_chat: bool,
}

/// What happens when a model has no scripted reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Unscripted {
    /// Its endpoint is called.
    #[default]
    Live,
    /// The recordings in this folder are used, whatever the model is; no endpoint is called.
    Recorded(PathBuf),
    /// The reply is missing.
    Nobody,
}

/// Outputs of steps and tools that are not run, by path or `server.tool`.
#[derive(Debug, Clone, Default)]
pub struct Mocks {
    /// The mocks.
    pub by_name: BTreeMap<String, Mock>,
    /// What is taken from the record of a run; `None`: no run is replayed.
    pub recorded: Option<RecordedRun>,
    /// Whether side effects are rejected: a step that has any needs a mock, and `send` prints what it would deliver as [`CallRequest::Print`].
    ///
    /// [`CallRequest::Print`]: crate::CallRequest::Print
    pub refuses_effects: bool,
    /// What the ports would reject of a request before anything of it leaves this machine.
    pub ports: Option<PortRules>,
}

/// What the ports say of a request that is not sent.
#[derive(Clone)]
pub struct PortRules(pub Arc<PortRule>);

/// Whether a request would be sent; why not.
pub type PortRule = dyn Fn(&CallRequest) -> Result<(), Failure> + Send + Sync;

impl std::fmt::Debug for PortRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PortRules")
    }
}

/// The kind of a fault that only a test can have: what a request is made of is not known there.
pub(crate) const NOT_KNOWN_HERE: FailureKind = FailureKind::Unavailable;

/// Who answers the request that is being decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answerer {
    /// Whom it is sent to.
    World,
    /// A mock: the request is not sent, and nobody is asked.
    Mock,
    /// In a test, nobody: the request is not sent.
    Nobody,
}

/// What the record of a run answers with, in the order of then. One answer alone is given again and again.
#[derive(Debug, Clone, Default)]
pub struct RecordedRun {
    /// How steps ended, by path. Such a step needs no mock. `None`: it was cancelled, and is begun again.
    pub ends: BTreeMap<String, Vec<Option<RecordedEnd>>>,
    /// What agents were told of the calls that they made, by [`RecordedRun::call`].
    pub calls: BTreeMap<String, Vec<Result<Value, Failure>>>,
}

impl RecordedRun {
    /// The name of a call of an agent: who made it, of what, and with which arguments.
    pub fn call(step: &str, tool: &str, arguments: &Value) -> String {
        json!([step, tool, arguments]).to_string()
    }
}

/// How a step ended, as a record tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEnd {
    /// Its output, or why it failed.
    pub result: Result<SharedValue, Failure>,
    /// Its details, if it had any.
    pub details: Option<SharedValue>,
}

/// Facts about a run that a test needs and that are not in its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Noted {
    /// Names of the mocks that were used.
    pub mocks_used: BTreeSet<String>,
    /// How many scripted replies were used, by key.
    pub replies_used: BTreeMap<String, u64>,
    /// Calls without a scripted reply.
    pub missing_replies: Vec<MissingReply>,
    /// How many answers of a record were given, by name.
    pub answers_used: BTreeMap<String, usize>,
    /// Requests that mocks answered, and those of `send`, in order.
    pub requests: Vec<MockedRequest>,
    /// Steps that have side effects and no mock.
    pub refused: Vec<StepPath>,
    /// Steps that ask a person and have no mock, each with the tool that the question was about, or an empty string if it was about the step itself.
    pub unanswered: Vec<(StepPath, String)>,
}

/// A request that would have been made, but for a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockedRequest {
    /// The step that makes it, or whose agent does.
    pub step: StepPath,
    /// Method and address; `None`: it is no request over HTTP, or it could not be filled in.
    pub request: Option<String>,
    /// Its body: JSON, or a text. Null: it has none.
    pub body: Value,
    /// Its idempotency key.
    pub idempotency_key: Option<String>,
    /// What its tool is given; null for a step without a tool.
    pub arguments: Value,
}

/// A call without a scripted reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingReply {
    /// The step.
    pub step: StepPath,
    /// The agent that was asked.
    pub agent: String,
    /// The number of the call, from 1.
    pub call: u64,
    /// Of a task that had to try again: what was wrong with the last try.
    pub after: Option<String>,
}

/// Why a run cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// It has ended.
    #[error("it is over")]
    Over,
    /// The pipeline, or a file it imports, has changed.
    #[error("its pipeline, or a file that it imports, has changed since it began")]
    Changed,
}

/// A run.
pub struct Run {
    pub(crate) context: Context,
    pub(crate) outbox: Outbox,
    events: VecDeque<Event>,
    /// Whether an event is being applied. This stays set after a panic: the state may then contain half of an event that is never emitted, and the
    /// run must not continue from it.
    pub(crate) is_torn: bool,
    pub(crate) woken: WokenSteps,
    /// Frames whose remaining steps have been blocked, skipped or cancelled, with the mood that caused it.
    pub(crate) swept: HashMap<u32, crate::state::Mood>,
    /// Tool lists that arrived before an earlier request for tools was answered, each with its time in milliseconds.
    pub(crate) early_lists: BTreeMap<u64, (Result<CallReply, Failure>, u64)>,
    /// Whether only a person's answer is missing.
    pub(crate) is_paused: bool,
}

impl Deref for Run {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

impl Run {
    /// Creates a run that has not started.
    pub fn new(id: impl Into<Arc<str>>, plan: Arc<Plan>, options: RunSettings, now: Moment) -> Run {
        Run {
            context: Context::new(id.into(), plan, options, now),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            is_torn: false,
            woken: WokenSteps::default(),
            swept: HashMap::new(),
            early_lists: BTreeMap::new(),
            is_paused: false,
        }
    }

    /// Restores a run from its events. Pass it [`Input::Resume`] next.
    ///
    /// # Errors
    /// Fails if the run has ended, unless a signal ended it, or if the pipeline is not the one it began with.
    pub fn resumed(
        id: impl Into<Arc<str>>,
        plan: Arc<Plan>,
        options: RunSettings,
        now: Moment,
        events: &[Event],
    ) -> Result<Run, ResumeError> {
        let start = events.first().and_then(|event| match &event.happening {
            Happening::RunStarted(start) => Some(start),
            _ => None,
        });
        if start.is_none_or(|start| start.hash != plan.pipeline(crate::model::PipelineId(0)).pipeline.hash) {
            return Err(ResumeError::Changed);
        }
        let mut run = Run::new(id, plan, options, now);
        for event in events {
            run.context.apply(event);
        }
        if run.state.finished.is_some() && run.state.interrupted.is_none() {
            return Err(ResumeError::Over);
        }
        run.context.now.ms = run.state.last_ms;
        Ok(run)
    }

    /// Handles an input and decides everything that follows from it at this time.
    pub fn handle(&mut self, input: Input, now: Moment) {
        self.context.now = Moment { wall: now.wall, ms: now.ms.max(self.now.ms) };
        if self.is_torn || self.state.finished.is_some() && !matches!(input, Input::Resume { .. }) {
            return;
        }
        self.woken.try_again();
        let is_start = matches!(input, Input::Start(_));
        match input {
            Input::Start(start) => self.emit(Happening::RunStarted(start)),
            Input::Reply { call, result } => {
                let at = self.state.calls.get(&call).map(|open| open.node);
                self.guarded(at, |run| run.steps().replied(call, result));
            }
            Input::Resume { away_ms } => self.scheduler().go_on_after(away_ms),
            Input::Decided { step, question, approved, comment, by, nobody, fields } => {
                // An answer that arrives after its time is up does not count.
                self.ring();
                if self.state.question(&step) == Some(question) {
                    self.guarded(self.state.steps.find(&step), |run| {
                        run.gatekeeper().person_decided(&step, (approved, nobody), comment, by, fields)
                    });
                }
            }
            Input::Tick => {}
            Input::Cancel { by } => self.scheduler().asked_to_end(by),
        }
        self.ring();
        self.scheduler().end_grace();
        self.scheduler().pump();
        if is_start {
            self.servers().start_servers_early();
        }
        self.early_lists.retain(|call, _| self.context.state.calls.contains_key(call));
    }

    /// Returns the next command. Write the events that came before it to the journal first.
    pub fn next_command(&mut self) -> Option<Command> {
        self.next_kept_command(u64::MAX)
    }

    /// Returns the next command while the journal is being written. A call that acts outside is returned only if its number is at most `kept`, the
    /// last call whose events are durable.
    pub fn next_kept_command(&mut self, kept: u64) -> Option<Command> {
        self.outbox.next(kept)
    }

    /// The last call that has not been taken yet because it acts outside.
    pub fn last_unsent(&self) -> Option<u64> {
        self.outbox.last_unsent()
    }

    /// Returns the next event; each event is returned once.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call `handle(Tick)` at the latest, in milliseconds since the run started.
    pub fn next_timeout(&self) -> Option<u64> {
        self.state.steps.timers.iter().find(|(_, timer)| !self.is_woken(timer)).map(|(time, _)| *time)
    }

    fn is_woken(&self, timer: &Timer) -> bool {
        match timer {
            Timer::Backoff(at) => self.woken.contains(&self.state.steps.key(*at)),
            Timer::Call(call) => self.has_come(*call),
            _ => false,
        }
    }

    pub(crate) fn emit(&mut self, mut happening: Happening) {
        self.rules().hide_in_event(&mut happening);
        let event = self.event(happening);
        #[cfg(test)]
        faults::at(event.seq, faults::FaultPlace::Work);
        self.is_torn = true;
        #[cfg(test)]
        faults::at(event.seq, faults::FaultPlace::Before);
        self.context.apply(&event);
        #[cfg(test)]
        faults::at(event.seq, faults::FaultPlace::After);
        self.is_torn = false;
        self.events.push_back(event);
    }

    fn event(&self, happening: Happening) -> Event {
        Event { v: VERSION, seq: self.state.seq + 1, time: self.now.wall, at_ms: self.now.ms, run: self.id.clone(), happening }
    }

    /// Handles every timer that is due.
    fn ring(&mut self) {
        loop {
            let due = self.state.steps.timers.iter().take_while(|(time, _)| *time <= self.now.ms).find(|(_, timer)| !self.is_woken(timer));
            let Some((_, timer)) = due.copied() else { return };
            match timer {
                Timer::Call(call) => {
                    let at = self.state.calls.get(&call).map(|open| open.node);
                    self.guarded(at, |run| run.steps().call_timed_out(call));
                }
                Timer::Grace => return,
                Timer::Backoff(at) => self.wake(at),
                Timer::Pause(at) => self.guarded(Some(at), |run| run.succeed(at, Value::Null, None)),
                Timer::Answer(at) => self.guarded(Some(at), |run| run.steps().nobody_answered(at)),
                Timer::Attempt(at) => self.guarded(Some(at), |run| run.step_timed_out(at, Bound::Timeout)),
                Timer::StepDeadline(at) => self.guarded(Some(at), |run| run.step_timed_out(at, Bound::Deadline)),
                Timer::Deadline(ix) | Timer::Stage(ix) => {
                    let instance = self.state.steps.instance(ix);
                    let step = instance.path();
                    let is_deadline = matches!(timer, Timer::Deadline(_));
                    let limit = Limit { bound: Bound::Deadline, of_called: !step.is_empty() };
                    let message = if is_deadline {
                        self.schedule().deadline_passed(ix)
                    } else {
                        "on_failure and finally have 60s each, and that time is up".to_string()
                    };
                    self.emit(Happening::LimitReached { step, limit, message });
                }
            }
        }
    }

    fn step_timed_out(&mut self, at: NodeRef, bound: Bound) {
        use crate::state::StepWork;
        let node = self.state.steps.node(at);
        let message = self.schedule().time_passed(at, bound);
        if node.work.holds_steps() {
            let step = node.path.clone();
            self.scheduler().stop_calls(at);
            self.emit(Happening::LimitReached { step, limit: Limit { bound, of_called: false }, message });
            return;
        }
        let may_have_acted = matches!(node.work, StepWork::Call(call) if self.outbox.has_gone_out(call) && self.schedule().call_acts(call));
        let failure = if may_have_acted {
            Failure::unknown_outcome(FailureKind::Timeout, message)
        } else {
            Failure::new(FailureKind::Timeout, message)
        };
        if bound == Bound::Timeout { self.fail_attempt(at, failure) } else { self.fail(at, failure, None) }
    }

    /// Lets a step continue as soon as it may.
    pub(crate) fn wake(&mut self, at: NodeRef) {
        self.woken.wake(self.state.steps.key(at));
    }
}
