//! A world that answers as the test says, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::event::{Canceller, Event, Failure, FailureKind, Happening, RunEnd, RunStart, RunStatus, StepStatus};
use crate::load::WrittenRules;
use crate::model::Limits;
use crate::plan::Plan;
use crate::port::{HttpReply, ModelReply, ModelRequest, ProgramCall, PythonCall, Rows, SearchRequest, Secret, ServerCall, ToolServer};
use crate::{CallReply, CallRequest, Command, Input, Mocks, Moment, Run, RunSettings, RunState, Unscripted};

pub(super) fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub(super) fn options() -> RunSettings {
    RunSettings {
        secrets: BTreeMap::new(),
        hidden: vec![],
        env: BTreeMap::new(),
        default_model: None,
        every_model: None,
        user_policies: vec![],
        unscripted: Unscripted::Nobody,
        replies: None,
        mocks: Mocks::default(),
        written: Box::new(WrittenRules),
        limits: Limits::default(),
        most_calls: u64::MAX,
        is_chat: false,
    }
}

/// What the world says to a call.
pub(super) enum Says {
    Yes,
    Text(&'static str),
    No(FailureKind),
}

pub(super) struct World {
    pub(super) run: Run,
    pub(super) plan: Arc<Plan>,
    pub(super) ms: u64,
    pub(super) events: Vec<Event>,
    /// Calls that are out: number and step path.
    pub(super) out: Vec<(u64, String)>,
    pub(super) cancelled: Vec<u64>,
    /// The journal does not answer: calls that act outside stay in the run.
    pub(super) keeps_nothing: bool,
    pub(super) most_out: usize,
    /// Keys that kept results were looked for under, and what was kept.
    pub(super) recalls: Vec<String>,
    pub(super) kept: BTreeMap<String, Value>,
    /// HTTP requests that went out: call, step path, and the key by which the receiver knows a repeated one.
    pub(super) posted: Vec<(u64, String, String)>,
    /// Files that must lie where they say: seen from the project, and whether links inside it are fine.
    pub(super) held: Vec<(String, bool)>,
    /// Requests that went to models.
    pub(super) asked: Vec<ModelRequest>,
    /// URIs of resources that servers were asked for.
    pub(super) read: Vec<String>,
    /// Servers that started before anything needed them.
    pub(super) started: Vec<ToolServer>,
    /// Searches that went out.
    pub(super) searched: Vec<SearchRequest>,
    /// Calls of servers' tools that went out.
    pub(super) served: Vec<ServerCall>,
    /// Programs and code that went out.
    pub(super) programs: Vec<ProgramCall>,
    pub(super) coded: Vec<PythonCall>,
}

/// A person says yes to whatever a step asks.
pub(super) fn yes(step: &str) -> Input {
    let (comment, by) = (String::new(), String::new());
    Input::Decided { step: step.into(), question: 0, approved: true, comment, by, nobody: false, fields: None }
}

impl World {
    pub(super) fn new(plan: Arc<Plan>) -> World {
        World::with(plan, options())
    }

    pub(super) fn with(plan: Arc<Plan>, options: RunSettings) -> World {
        World::started(plan, options, None, json!({}), false, false)
    }

    /// A world whose run has inputs.
    pub(super) fn given(plan: Arc<Plan>, options: RunSettings, inputs: Value) -> World {
        World::started(plan, options, None, inputs, false, false)
    }

    /// A world whose run a program asked for, over MCP.
    pub(super) fn served(plan: Arc<Plan>, inputs: Value) -> World {
        World::started(plan, options(), None, inputs, false, true)
    }

    /// A world whose run cannot start a step.
    pub(super) fn that_cannot_start(plan: Arc<Plan>, failure: Failure) -> World {
        World::started(plan, options(), Some(failure), json!({}), false, false)
    }

    /// A world whose journal does not answer.
    pub(super) fn that_keeps_nothing(plan: Arc<Plan>) -> World {
        World::started(plan, options(), None, json!({}), true, false)
    }

    fn started(plan: Arc<Plan>, options: RunSettings, failure: Option<Failure>, inputs: Value, keeps_nothing: bool, served: bool) -> World {
        let moment = Moment { wall: start(), ms: 0 };
        let run = Run::new("r_test", plan.clone(), options, moment);
        let mut world = World {
            run,
            plan,
            ms: 0,
            events: vec![],
            out: vec![],
            cancelled: vec![],
            keeps_nothing,
            most_out: 0,
            recalls: vec![],
            kept: BTreeMap::new(),
            posted: vec![],
            held: vec![],
            asked: vec![],
            read: vec![],
            searched: vec![],
            started: vec![],
            served: vec![],
            programs: vec![],
            coded: vec![],
        };
        world.handle(Input::Start(Box::new(RunStart {
            conversation: None,
            origin: None,
            names_outputs: false,
            pipeline: "test".into(),
            hash: String::new(),
            file: String::new(),
            inputs: Arc::new(inputs),
            channel: None,
            style_guide: None,
            person: Arc::new(json!({})),
            failure,
            now: start(),
            scripted: false,
            served,
            seed: 1,
            deadline_ms: None,
            files: Default::default(),
            tape: None,
            trace: None,
            max_cost_usd: None,
            marks: crate::event::Marks::default(),
        })));
        world
    }

    pub(super) fn moment(&self) -> Moment {
        Moment { wall: start() + TimeDelta::milliseconds(self.ms as i64), ms: self.ms }
    }

    /// An answer to question 0 is one to whatever is asked.
    pub(super) fn handle(&mut self, mut input: Input) {
        let moment = self.moment();
        if let Input::Decided { step, question: question @ 0, .. } = &mut input {
            *question = self.run.state().question(step).unwrap_or_default();
        }
        self.run.handle(input, moment);
        let mut told = BTreeMap::new();
        while let Some(event) = self.run.next_event() {
            if let Happening::ToolCalled { step, call, .. }
            | Happening::ModelCalled { step, call, .. }
            | Happening::CacheAsked { step, call, .. }
            | Happening::ToolsAsked { step, call, .. } = &event.happening
            {
                told.insert(*call, step.to_string());
            }
            self.events.push(event);
        }
        while let Some(command) = self.run.next_kept_command(if self.keeps_nothing { 0 } else { u64::MAX }) {
            match command {
                Command::Cancel { call } => {
                    self.cancelled.push(call);
                    self.out.retain(|(c, _)| *c != call);
                }
                Command::StartServer(server) => self.started.push(*server),
                Command::Keep { key, value, .. } => {
                    self.kept.insert(key, value);
                }
                Command::Call { call, request } => {
                    if let CallRequest::Held { files, within, .. } = &*request {
                        self.held.extend(files.iter().map(|(_, told)| (told.clone(), *within)));
                    }
                    if let CallRequest::Model(request) = &*request {
                        self.asked.push(request.clone());
                    }
                    if let CallRequest::Resource(request) = &*request {
                        self.read.push(request.uri.clone());
                    }
                    let held = if let CallRequest::Held { request, .. } = &*request { request } else { &request };
                    if let CallRequest::Search(request) = &**held {
                        self.searched.push(request.clone());
                    }
                    if let CallRequest::Tool(request) = &*request {
                        self.served.push(request.clone());
                    }
                    if let CallRequest::Program(call) = &*request {
                        self.programs.push((**call).clone());
                    }
                    if let CallRequest::Python(call) = &*request {
                        self.coded.push((**call).clone());
                    }
                    if let CallRequest::Recall { key, .. } = &*request {
                        self.recalls.push(key.clone());
                    }
                    let is_key = |(name, _): &&(String, Secret)| name == "Idempotency-Key";
                    let key = match &*request {
                        CallRequest::Http(request) => request.headers.iter().find(is_key).map(|(_, key)| key.reveal().to_string()),
                        _ => None,
                    };
                    let step = told.remove(&call).unwrap_or_else(|| panic!("a call without its event: {call}"));
                    self.posted.extend(key.map(|key| (call, step.clone(), key)));
                    self.out.push((call, step));
                }
            }
        }
        self.most_out = self.most_out.max(self.out.len());
    }

    /// Answers the call of a step.
    pub(super) fn answer(&mut self, path: &str, says: Says) {
        let place = self.out.iter().position(|(_, p)| p == path).unwrap_or_else(|| panic!("{path} is not out: {:?}", self.out));
        let (call, _) = self.out.remove(place);
        self.reply(call, says);
    }

    pub(super) fn reply(&mut self, call: u64, says: Says) {
        let is_model = self.events.iter().any(|e| matches!(&e.happening, Happening::ModelCalled { call: c, .. } if *c == call));
        let text = if let Says::Text(text) = says { text } else { "yes" };
        let result = match says {
            Says::Yes | Says::Text(_) if self.posted.iter().any(|(posted, ..)| *posted == call) => {
                Ok(CallReply::Http(HttpReply { status: 201, headers: vec![], body: Value::from(text) }))
            }
            Says::Yes | Says::Text(_) if is_model => Ok(CallReply::Model(ModelReply { text: text.into(), ..ModelReply::default() })),
            Says::Yes | Says::Text(_) => {
                let row = Map::from_iter([("said".to_string(), Value::from(text))]);
                Ok(CallReply::Rows(Rows { rows: vec![row], columns: vec![], personal: vec![], is_cut: false }))
            }
            Says::No(kind) => Err(Failure::new(kind, "the test says no")),
        };
        self.handle(Input::Reply { call, result });
    }

    /// Lets time continue to the next timer.
    pub(super) fn wait(&mut self) {
        let next = self.run.next_timeout().expect("a timer");
        self.ms = self.ms.max(next);
        self.handle(Input::Tick);
    }

    /// Somebody asks the run to end, and nothing that is out answers in time.
    pub(super) fn cancel(&mut self, by: Canceller) {
        self.handle(Input::Cancel { by });
        while self.run.state().stopping.is_some() {
            self.wait();
        }
    }

    pub(super) fn end(&self) -> &RunEnd {
        self.run.state().finished.as_ref().unwrap_or_else(|| panic!("have not ended:  {:#?}", self.lines()))
    }

    pub(super) fn is_over(&self) -> bool {
        self.run.state().finished.is_some()
    }

    pub(super) fn status(&self) -> RunStatus {
        self.end().status
    }

    /// The last status of a step, as the events tell it.
    pub(super) fn step(&self, path: &str) -> Option<StepStatus> {
        self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::StepSucceeded { step, .. } if **step == *path => Some(StepStatus::Succeeded),
            Happening::StepFailed { step, .. } if **step == *path => Some(StepStatus::Failed),
            Happening::StepSkipped { step } if **step == *path => Some(StepStatus::Skipped),
            Happening::StepBlocked { step, .. } if **step == *path => Some(StepStatus::Blocked),
            Happening::StepCancelled { step, .. } if **step == *path => Some(StepStatus::Cancelled),
            Happening::StepStarted { step, .. } if **step == *path => Some(StepStatus::Running),
            _ => None,
        })
    }

    pub(super) fn output(&self, path: &str) -> Option<Value> {
        self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::StepSucceeded { step, output, .. } if **step == *path => Some((**output).clone()),
            _ => None,
        })
    }

    /// Event types with their step, for reading.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |e: &Event| {
            let value = serde_json::to_value(e).unwrap();
            format!("{} {}", value["type"].as_str().unwrap_or(""), value["step"].as_str().unwrap_or(""))
        };
        self.events.iter().map(line).collect()
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.lines().iter().filter(|l| l.starts_with(&format!("{kind} "))).count()
    }

    /// Every prefix of the events replays to a state that serialises; all of them to the live one. Every step ended once.
    pub(super) fn check(&self) {
        self.check_at(1);
    }

    /// The same, but the state is written and read again at every so many events only: for properties of thousands of runs.
    pub(super) fn check_at(&self, every: usize) {
        let mut state = RunState::default();
        for (i, event) in self.events.iter().enumerate() {
            assert_eq!(event.seq, i as u64 + 1);
            let line = serde_json::to_string(event).unwrap();
            let read: Event = serde_json::from_str(&line).unwrap();
            assert_eq!(&read, event);
            state.apply(&self.plan, &read);
            if i % every == 0 {
                let text = serde_json::to_string(&state).unwrap();
                let back: RunState = serde_json::from_str(&text).unwrap();
                assert_eq!(back, state);
            }
        }
        assert_eq!(&state, self.run.state());
        if self.is_over() {
            let resumed = self.events.iter().rposition(|e| matches!(e.happening, Happening::RunResumed { .. })).unwrap_or_default();
            assert_eq!(self.events[resumed..].iter().filter(|e| matches!(e.happening, Happening::RunFinished(_))).count(), 1);
            assert_eq!(self.events.last().map(|e| matches!(e.happening, Happening::RunFinished(_))), Some(true));
            assert_eq!(self.run.state().calls.len(), 0);
        }
    }
}
