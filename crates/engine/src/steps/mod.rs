//! The behaviour of each kind of step, in one table ([`with_kind`]); how steps start, and what their calls have in common. Kinds that call models are in
//! `model_calls`, `gates`, `plans`, `tasks` and `dialogues`.

mod approval;
mod call;
mod computed;
pub(crate) mod decision;
pub(crate) mod http;
pub(crate) mod kept;
pub(crate) mod mail;
pub(crate) mod program;
mod python;
mod read;
mod replies;
pub(crate) mod requests;
mod resource;
mod rounds;
mod search;
mod send;
mod sql;
mod tool;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::command::{CallReply, CallRequest};
use crate::diagnostic::counted;
use crate::event::{Bound, Failure, FailureKind, Happening, Limit, ListDetails, SharedValue};
use crate::gate::{mocked, result};
use crate::model::ToolStep;
use crate::model::{ForEach, Knowledge, MOST_CALLED, MOST_STEP_RUNS, Mock, OnFailure, Sample, Step, StepKind, ToolKind, step_path};
use crate::parts::Steps;
use crate::parts::{Gatekeeper, Schedule, Toolbox};
use crate::questions::{Brief, JudgeAnswer, Question};
use crate::run::{Answerer, NOT_KNOWN_HERE};
use crate::state::NodeRef;
use crate::words::kind_of;
use crate::{Context, RecordedEnd, RecordedRun, Run};
use decision::{StepDecision, Then};

/// What a kind of step decides. It reads the context; the run carries its decisions out.
pub(crate) trait Kind {
    /// Starts the step, or starts it again after it waited for a permit.
    fn start(&self, _context: &Context, _at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        Ok(Then::GoOn.into())
    }

    /// Continues a step that talks with models: after the start, and after each reply.
    fn next(&self, _context: &Context, _at: NodeRef) -> Result<StepDecision, Failure> {
        Ok(Then::Wait.into())
    }

    /// What the agent that is asked now is told; with the first messages if it opens a conversation.
    fn brief(&self, _context: &Context, _at: NodeRef, _opens: bool) -> Result<Brief, Failure> {
        Err(wrong_answer())
    }

    /// Continues with the answer of the agent.
    fn heard(&self, _context: &Context, _at: NodeRef, _text: &str) -> Result<StepDecision, Failure> {
        wrong_answer_decision()
    }

    /// Continues when the agent gave no answer, and will give none.
    fn unanswered(&self, context: &Context, at: NodeRef, failure: Failure) -> StepDecision {
        Then::Fail(failure, Some(context.conversations().model_details(at))).into()
    }

    /// Continues when the agent could not be asked.
    fn not_asked(&self, _context: &Context, _at: NodeRef, failure: Failure) -> Result<StepDecision, Failure> {
        Err(failure)
    }

    /// Continues with the answers of the judges.
    fn judged(
        &self,
        _context: &Context,
        _at: NodeRef,
        _question: Box<Question>,
        _answers: &[JudgeAnswer],
    ) -> Result<StepDecision, Failure> {
        wrong_answer_decision()
    }

    /// Continues when rules reject the step's call.
    fn denied(&self, _context: &Context, _at: NodeRef, failure: Failure) -> Result<StepDecision, Failure> {
        Err(failure)
    }

    /// Turns the reply to the step's call into its result.
    fn take(&self, _context: &Context, _at: NodeRef, _reply: CallReply) -> Result<StepDecision, Failure> {
        wrong_answer_decision()
    }

    /// Handles the failure of the step's call.
    fn fails(&self, _context: &Context, _at: NodeRef, failure: Failure, told: Option<Value>) -> StepDecision {
        Then::FailAttempt(failure, told).into()
    }

    /// Whether the step returns one value where it could return a list.
    fn is_single(&self, _context: &Context, _at: NodeRef) -> bool {
        false
    }
}

/// The table of kinds.
pub(crate) fn with_kind<R>(kind: &StepKind, then: impl FnOnce(&dyn Kind) -> R) -> R {
    match kind {
        StepKind::Agent(step) => then(step),
        StepKind::Set(filling) => then(&computed::Set(filling)),
        StepKind::Http(step) => then(step),
        StepKind::Sql(step) => then(step),
        StepKind::Program(run) => then(run),
        StepKind::Python(step) => then(step),
        StepKind::Read(step) => then(step),
        StepKind::Search(step) => then(step),
        StepKind::Resource(step) => then(step),
        StepKind::Tool(step) => then(step),
        StepKind::Plan(step) => then(step),
        StepKind::Task(step) => then(step),
        StepKind::Dialogue(step) => then(step),
        StepKind::Route(step) => then(step),
        StepKind::Group(step) => then(step),
        StepKind::Repeat(step) => then(step),
        StepKind::Call(step) => then(step),
        StepKind::Format(step) => then(step),
        StepKind::Gate(step) => then(step),
        StepKind::Approval(step) => then(step),
        StepKind::Send(step) => then(step),
        StepKind::Wait(filling) => then(&computed::Wait(filling)),
        StepKind::Stop(step) => then(step),
        StepKind::Broken => then(&BrokenStep),
    }
}

/// A step that could not be read.
struct BrokenStep;

impl Kind for BrokenStep {
    fn start(&self, _context: &Context, _at: NodeRef, _step: &Step) -> Result<StepDecision, Failure> {
        Err(Failure::new(FailureKind::Internal, format!("a step of kind \"{}\" cannot start here", StepKind::Broken.word())))
    }
}

/// What a step or tool cannot give, as the failure of the mock that has it.
pub(crate) fn no_result(problems: &[String]) -> Failure {
    Failure::new(FailureKind::BadShape, format!("the mock is no result that could be given here: {}", problems.join("; ")))
}

fn wrong_answer_decision() -> Result<StepDecision, Failure> {
    Err(wrong_answer())
}

/// The failure of a step for whose call an answer of another kind came.
pub(crate) fn wrong_answer() -> Failure {
    Failure::new(FailureKind::Internal, "an answer of the wrong kind arrived")
}

impl Steps<'_> {
    /// Starts a step whose turn has come; elements of a `for_each` start one by one.
    pub(crate) fn start(&mut self, at: NodeRef) {
        if let Err(failure) = self.try_start(at) {
            // A step whose preparation failed counts as started and failed.
            self.fail(at, failure, None);
        }
    }

    /// Same as `start_again`, for a step whose call has ended and freed a place. If the run is to end, the step waits.
    pub(crate) fn goes_on_with_permit(&mut self, at: NodeRef) {
        if self.state.stopping.is_none() { self.start_again(at) } else { self.wake(at) }
    }

    fn try_start(&mut self, at: NodeRef) -> Result<(), Failure> {
        let step = self.step(at);
        if let Some(over) = self.schedule().step_limit() {
            let limit = Limit { bound: Bound::MaxSteps, of_called: false };
            self.emit(Happening::LimitReached { step: "".into(), limit, message: over });
            return Ok(());
        }
        if let Some(end) = self.schedule().recorded(&self.path(at), |run| &run.ends).flatten() {
            self.begin_attempt(at, &step, None);
            self.end_as_recorded(at, &step, end);
            return Ok(());
        }
        let list = step.for_each.as_ref().filter(|_| !self.state.steps.is_element(at));
        let mut elements = None;
        match (self.schedule().mock(at), list) {
            // The list of a `for_each` has a mock for each element.
            (Some((name, Mock::Output(Value::Array(mocks)))), Some(_)) => elements = Some((name, mocks.len())),
            (Some((name, mock)), _) => {
                self.begin_attempt(at, &step, None);
                self.answer_by_mock(at, &step, name, mock);
                return Ok(());
            }
            (None, _) => {}
        }
        if let Some(list) = list {
            return self.open_list(at, &step, list, elements);
        }
        let refuses = self.options.mocks.refuses_effects;
        if refuses && self.schedule().goes_outside(at, &step) {
            self.begin_attempt(at, &step, None);
            self.refuse(at, &step);
            return Ok(());
        }
        if refuses && matches!(step.kind, StepKind::Approval(_)) {
            let path = self.path(at);
            let message = format!("\"{path}\" asks a person; add a mock with the answer");
            self.noted.borrow_mut().unanswered.push((path, String::new()));
            return Err(Failure::new(FailureKind::Denied, message));
        }
        self.begin_attempt(at, &step, None);
        self.start_again(at);
        Ok(())
    }

    /// Ends a step as the record of a run tells it.
    fn end_as_recorded(&mut self, at: NodeRef, step: &Step, end: RecordedEnd) {
        let details = end.details.map(|details| (*details).clone());
        match end.result {
            Ok(output) => self.give_mock(at, step, (*output).clone(), details),
            Err(failure) => self.fail(at, failure, details),
        }
    }

    /// Ends a step with its mock.
    fn answer_by_mock(&mut self, at: NodeRef, step: &Step, name: String, mock: Mock) {
        if let Err(failure) = self.gatekeeper().judged(at, step, Answerer::Mock) {
            return self.fail_attempt(at, failure);
        }
        self.schedule().answers(name);
        let is_whole = step.for_each.is_some() && !self.state.steps.is_element(at);
        match mock {
            Mock::Output(output) => match mocked::problems(step, &self.planned_of(at).pipeline, &output) {
                problems if problems.is_empty() || is_whole => self.give_mock(at, step, output, None),
                problems => self.fail_attempt(at, no_result(&problems)),
            },
            Mock::Error(kind) => self.fail_attempt(at, Failure::new(kind, "mocked failure")),
        }
    }

    /// Opens the elements of a `for_each`. `mocks`: the name of the mock that has its elements, and their number.
    fn open_list(&mut self, at: NodeRef, step: &Step, list: &ForEach, mocks: Option<(String, usize)>) -> Result<(), Failure> {
        let list = match self.filling(at, &list.list)? {
            Value::Array(list) => list,
            other => return Err(Failure::new(FailureKind::WrongType, format!("for_each takes a list, found {}", kind_of(&other)))),
        };
        if let Some((name, mocked)) = mocks {
            self.schedule().answers(name);
            if mocked != list.len() {
                self.begin_attempt(at, step, None);
                let (elements, mocks) = (counted(list.len(), "element", "elements"), counted(mocked, "entry", "entries"));
                let message = format!("the list has {elements}, and its mock {mocks}; a mock of a for_each has one for each");
                self.fail_attempt(at, Failure::new(FailureKind::BadShape, message));
                return Ok(());
            }
        }
        if list.is_empty() {
            // As after a list of which no element failed.
            let details = (step.on_failure == OnFailure::Continue).then(|| ListDetails { failed: 0 }.into_value());
            self.succeed(at, json!([]), details);
        } else {
            self.begin_attempt(at, step, Some(list.into_iter().map(Arc::new).collect()));
        }
        Ok(())
    }

    /// Ends a step that has side effects and no mock, in a test.
    fn refuse(&mut self, at: NodeRef, step: &Step) {
        if let Err(failure) = self.gatekeeper().judged(at, step, Answerer::Nobody) {
            return self.fail_attempt(at, failure);
        }
        let path = self.path(at);
        let message = format!("\"{path}\" has side effects; add a mock");
        self.noted.borrow_mut().refused.push(path);
        self.fail(at, Failure::new(FailureKind::Denied, message), None);
    }

    pub(crate) fn begin_attempt(&mut self, at: NodeRef, step: &Step, items: Option<Vec<SharedValue>>) {
        let node = self.state.steps.node(at);
        let happening = Happening::StepStarted {
            step: node.path.clone(),
            attempt: node.attempt + 1,
            round: self.state.steps.rounds(at).into_iter().max().unwrap_or(1),
            phase: step.phase.clone(),
            items,
        };
        self.emit(happening);
    }

    /// Whether a step waits for its tool: for the list of its server, or for a person's answer to that.
    fn awaits_server(&mut self, at: NodeRef, own: &ToolStep) -> Result<bool, Failure> {
        self.gatekeeper().permit_tool(at, &own.tool.value)?;
        let servers = self.toolbox().servers_among(at, None, std::slice::from_ref(&own.tool));
        Ok(self.servers().lists_tools(at, &servers)? || self.gatekeeper().asks_for_server(at, 0, &own.tool.value))
    }

    fn start_kind(&mut self, at: NodeRef, step: &Step) -> Result<(), Failure> {
        if let Some(called) = self.planned_of(at).called(step) {
            return self.start_call(at, step, called);
        }
        if let StepKind::Tool(own) = &step.kind
            && self.awaits_server(at, own)?
        {
            return Ok(());
        }
        self.decide(at, |kind, context| kind.start(context, at, step))
    }
}

impl Run {
    /// Continues a step that had started and waited for a permit.
    pub(crate) fn start_again(&mut self, at: NodeRef) {
        let step = self.step(at);
        if let Err(failure) = self.steps().start_kind(at, &step) {
            self.fail_attempt(at, failure);
        }
    }
}

impl Gatekeeper<'_> {
    /// Sends a request of a step, unless it is one that is not sent in a test.
    pub(crate) fn call_out(&mut self, at: NodeRef, tool: &str, with: Value, request: CallRequest, timeout_ms: u64) {
        if self.answerer != Answerer::World || self.scheduler().recalls(at, &request) {
            return;
        }
        let node = self.state.steps.node(at);
        let call = self.state.calls.last() + 1;
        let happening = Happening::ToolCalled {
            step: node.path.clone(),
            call,
            tool: tool.to_string(),
            with,
            timeout_at_ms: self.now.ms + timeout_ms,
            attempt: node.attempt,
            asked: None,
        };
        let agent = if let StepKind::Task(own) = &self.step(at).kind { Some(own.agent.value.clone()) } else { self.rules().planner_of(at) };
        let request = self.rules().bound_to_place(at, agent.as_deref(), request);
        self.emit(happening);
        self.send_out(at, tool, call, request);
    }

    /// Does all that a run does with a step up to the call that it makes: its request is filled in and checked, and rules decide about it.
    ///
    /// # Errors
    /// The run would fail before the call, too.
    pub(super) fn judged(&mut self, at: NodeRef, step: &Step, answerer: Answerer) -> Result<(), Failure> {
        // A list is asked for by its elements.
        let is_whole = step.for_each.is_some() && !self.state.steps.is_element(at);
        if is_whole || !step.kind.makes_one_request() {
            return Ok(());
        }
        self.unsent(answerer, |run| run.steps().start_kind(at, step))
    }

    /// Begins a call that is not sent. What nobody knows in a test, such as the value of a secret, is no fault of it.
    pub(crate) fn unsent(&mut self, answerer: Answerer, begin: impl FnOnce(&mut Run) -> Result<(), Failure>) -> Result<(), Failure> {
        self.context.answerer = answerer;
        let begun = begin(self);
        self.context.answerer = Answerer::World;
        begun.or_else(|failure| if failure.kind == NOT_KNOWN_HERE { Ok(()) } else { Err(failure) })
    }
}

impl Schedule<'_> {
    /// The mock of a step, by its path or by the tool it uses; that of a whole `for_each` only by its path.
    fn mock(&self, at: NodeRef) -> Option<(String, Mock)> {
        let step = self.step(at);
        let is_whole = step.for_each.is_some() && !self.state.steps.is_element(at);
        let tool = if let StepKind::Tool(tool) = &step.kind {
            Some(tool.tool.value.clone())
        } else {
            step.kind.facts().knowledge.map(|knowledge| Knowledge::tool_name(&knowledge.value))
        };
        let path = self.path(at);
        let (name, mock) = self.mock_named(&path).or_else(|| self.mock_named(&tool.filter(|_| !is_whole)?))?;
        // The whole list has a mock, and this is one of its elements.
        let is_listed = step.for_each.is_some() && !is_whole && path.ends_with(']') && !name.ends_with(']');
        match mock {
            Mock::Output(Value::Array(list)) if is_listed && step_path::id(&name) == step_path::id(&path) => {
                let entry = list.into_iter().nth(at.node as usize)?;
                Some((name, result::of_element(&step, entry)))
            }
            mock => Some((name, mock)),
        }
    }

    /// The mock with this name: a path, also one that is written once for all elements and rounds, or a tool that an agent calls; and its name in the
    /// test.
    pub(crate) fn mock_named(&self, tool: &str) -> Option<(String, Mock)> {
        let mocks = &self.options.mocks.by_name;
        let name = step_path::written_for(tool, |name| mocks.contains_key(name))?;
        let (name, mock) = mocks.get_key_value(&*name)?;
        Some((name.clone(), mock.clone()))
    }

    /// Notes that a mock answers.
    pub(crate) fn answers(&self, mock: String) {
        self.noted.borrow_mut().mocks_used.insert(mock);
    }

    /// The next of the answers with this name in the record that is replayed.
    pub(crate) fn recorded<T: Clone>(&self, name: &str, answers: impl FnOnce(&RecordedRun) -> &BTreeMap<String, Vec<T>>) -> Option<T> {
        let all = answers(self.options.mocks.recorded.as_ref()?).get(name)?;
        let mut noted = self.noted.borrow_mut();
        let given = noted.answers_used.entry(name.to_owned()).or_default();
        let answer = if all.len() == 1 { all.first() } else { all.get(*given) };
        *given += 1;
        answer.cloned()
    }

    /// Whether a step reaches anything other than tables, files that it reads, and the receiver of a `send`.
    fn goes_outside(&self, at: NodeRef, step: &Step) -> bool {
        !step.kind.facts().sends && step.kind.effects(&self.planned_of(at).pipeline).go_outside()
    }

    fn step_limit(&self) -> Option<String> {
        let file = self.own_pipeline().and_then(|own| own.limits.max_steps);
        let started = self.state.spent.steps_started;
        if let Some(most) = [file, self.options.limits.max_steps].into_iter().flatten().min() {
            return (started >= most).then(|| format!("max_steps is reached: {most} steps have started"));
        }
        let called = self.state.spent.pipelines_begun.saturating_sub(1);
        let (what, most) =
            if called > MOST_CALLED { ("pipelines were called", MOST_CALLED) } else { ("steps have started", MOST_STEP_RUNS) };
        let is_over = called > MOST_CALLED || started >= MOST_STEP_RUNS;
        is_over.then(|| {
            format!("{most} {what} in this run, the most without limits.max_steps; if that is meant, set limits: {{ max_steps: … }}")
        })
    }
}

impl Toolbox<'_> {
    /// The same for a tool that a model calls, `tool` or `tool.part`. Only a step can send mail.
    pub(crate) fn tool_goes_outside(&self, at: NodeRef, name: &str) -> bool {
        let found = self.planned_of(at).pipeline.tool(name).filter(|(tool, _)| !matches!(tool.kind, ToolKind::Smtp { .. }));
        found.is_some_and(|(tool, part)| tool.effects(Some(part.unwrap_or_default())).go_outside())
    }
}
