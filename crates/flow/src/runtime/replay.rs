//! Replays a run against its own record: models and tools return the recorded answers, and no external call is made.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::session::begun;
use super::surroundings::{Surroundings, start_of};
use super::{RunError, VirtualRun};
use crate::driver::CallResult;
use crate::engine::{CallReply, CallRequest, Mocks, RecordedEnd, RecordedRun};
use crate::event::{Event, Failure, FailureKind, Happening, ModelAnswer, RunEnd, RunStatus, StepDetails, StepPath, ToolCall, Usage};
use crate::journal::{Record, record};
use crate::model::{Limits, step_path};
use crate::port::{ModelReply, ModelRequest};

/// The result of a replay.
pub struct ReplayedRun {
    /// How the run ended originally, and in the replay.
    pub status: [Option<RunStatus>; 2],
    /// The first difference: its place, the original value and the new one; `None`: everything is equal.
    pub difference: Option<(String, Value, Value)>,
    /// Facts that the record does not contain, so that the replay proves nothing; one sentence each.
    pub missing: Vec<String>,
    /// Steps whose outputs were taken from the record because they make external calls.
    pub given: BTreeSet<String>,
}

/// Answers of models by step, in order, each with the number of its event. Calls that are open at once are answered in the original order,
/// because it determines the numbers of later calls.
type Answers = HashMap<StepPath, VecDeque<(u64, ModelAnswer, Usage)>>;

/// The answers that a record contains.
#[derive(Default)]
struct RunAnswers {
    answers: Answers,
    /// The ends of the steps that made external calls, and the results of tools.
    recorded: RecordedRun,
    /// Those of these steps that were cancelled: their time in the replay is unknown.
    cut: BTreeSet<String>,
    given: BTreeSet<String>,
    /// Steps that failed because no reply was scripted for them.
    unanswered: BTreeSet<StepPath>,
    missing: Vec<String>,
}

/// Replays a record. Errors: it has no start event, or the run does not end.
pub fn replay(on: &Surroundings, events: &[Event]) -> Result<ReplayedRun, RunError> {
    let refused = |why: &str| RunError::CannotResume(vec![format!("this run cannot be replayed: {why}")]);
    let start = start_of(events).ok_or_else(|| refused("its record has no start event"))?;
    let before = record(events).ok_or_else(|| refused("its record has no start event"))?;
    if before.status.is_none() {
        return Err(refused("it has not ended; flow runs resume continues it"));
    }
    let RunAnswers { answers, recorded, cut, given, unanswered, mut missing } = RunAnswers::from_events(&counted(events));
    if !missing.is_empty() {
        return Ok(ReplayedRun { status: [before.status, None], difference: None, missing, given });
    }
    let (answers, callers) = (RefCell::new(answers), RefCell::new(Callers::default()));
    let mut options = on.options(Limits { max_cost_usd: start.max_cost_usd, ..Limits::default() });
    options.mocks = Mocks { by_name: BTreeMap::new(), recorded: Some(recorded), refuses_effects: true, ports: None };
    let mut start = start.clone();
    begun(on, &mut start);
    let (now, door) = (start.now, on.ports.door.clone());
    let mut run = VirtualRun::new(&before.run, on.plan(), options, now, Arc::new(on.tape.clone()), door, 0);
    let mut answer = |events: &[Event], call: u64, request: CallRequest| -> CallResult {
        let step = callers.borrow_mut().step(events, call);
        let request = match request {
            CallRequest::Model(request) => Some(request),
            CallRequest::Agent(_) | CallRequest::Scripted(_) => None,
            CallRequest::Recall { .. } => return Ok(CallReply::Value(Value::Null)),
            CallRequest::Query(_)
            | CallRequest::Read(_)
            | CallRequest::Program(_)
            | CallRequest::Python(_)
            | CallRequest::Search(_)
            | CallRequest::Http(_)
            | CallRequest::Tools(_)
            | CallRequest::Tool(_)
            | CallRequest::Resource(_)
            | CallRequest::Mail(_)
            | CallRequest::Print(_)
            | CallRequest::Write { .. }
            | CallRequest::List { .. }
            | CallRequest::Open { .. }
            | CallRequest::Held { .. } => {
                missing.push(format!("step \"{step}\" calls something now that it did not call then"));
                return Err(unrecorded());
            }
        };
        match answers.borrow_mut().get_mut(&step).and_then(VecDeque::pop_front) {
            Some((_, said, usage)) => said_again(said, usage, request.as_ref()),
            None => {
                missing.push(format!("step \"{step}\" asks its model more often than it did then"));
                Err(unrecorded())
            }
        }
    };
    let mut rank = |events: &[Event], call: u64| {
        let next = answers.borrow().get(&callers.borrow_mut().step(events, call)).and_then(|said| Some(said.front()?.0));
        next.unwrap_or_default()
    };
    let end = run.play_in_order(start, Some(&mut rank), &mut answer).map_err(|error| refused(&error.to_string()))?;
    let unscripted = run.run.noted().missing_replies;
    let unscripted = unscripted.iter().filter(|missing| !unanswered.contains(&missing.step));
    missing.extend(unscripted.map(|missing| format!("step \"{}\" asks its model more often than it did then", missing.step)));
    missing.extend(run.run.noted().refused.iter().map(|step| format!("step \"{step}\" acts outside, and did not get there then")));
    missing.extend(run.run.noted().unanswered.iter().map(|(step, _)| format!("step \"{step}\" asks a person, and has no answer")));
    let now = record(&run.events).ok_or_else(|| refused("it did not begin"))?;
    let difference = difference(&before, &now, &end, &given);
    if difference.is_some() {
        missing.extend(cut.iter().map(|step| format!("\"{step}\" was cancelled, and the record does not say how far it was")));
    }
    missing.dedup();
    Ok(ReplayedRun { status: [before.status, Some(end.status)], difference, missing, given })
}

/// Returns the first difference between a run and its replay: its place, the original value and the new one.
fn difference(before: &Record, now: &Record, end: &RunEnd, given: &BTreeSet<String>) -> Option<(String, Value, Value)> {
    let outputs = |record: &Record| -> BTreeMap<String, Value> {
        let steps = record.steps.iter();
        steps.map(|step| (step.step.clone(), serde_json::json!({ "status": step.status, "output": step.output }))).collect()
    };
    let (was, is) = (outputs(before), outputs(now));
    // A step whose output was taken from the record has no inner steps in the replay.
    let is_inside = |step: &str| given.iter().any(|whole| step_path::leads_into(step, whole));
    let mut names = before.steps.iter().chain(&now.steps).map(|step| step.step.as_str()).filter(|step| !is_inside(step));
    let of_step = names.find(|step| was.get(*step) != is.get(*step)).map(|step| {
        let of = |all: &BTreeMap<String, Value>| all.get(step).cloned().unwrap_or(Value::Null);
        (format!("step \"{step}\""), of(&was), of(&is))
    });
    let of_outputs = || {
        let (was, is) = (&before.outputs, &*end.outputs);
        (was != is).then(|| ("the outputs".to_owned(), was.clone(), is.clone()))
    };
    let of_status = || {
        let word = |status: Option<RunStatus>| Value::from(status.map_or("not over", |status| status.word()));
        let (was, is) = (before.status, Some(end.status));
        (was != is).then(|| ("the status of the run".to_owned(), word(was), word(is)))
    };
    of_step.or_else(of_outputs).or_else(of_status)
}

/// Returns the events that count: those between a signal that ended the run and its resumption were undone.
fn counted(events: &[Event]) -> Vec<&Event> {
    let mut counted: Vec<&Event> = vec![];
    let mut ended = None;
    for event in events {
        match event.happening {
            Happening::CancelRequested { waits_until_ms: None, .. } | Happening::GraceEnded => ended = Some(counted.len()),
            Happening::RunResumed { .. } => ended.take().into_iter().for_each(|from| counted.truncate(from)),
            _ => {}
        }
        counted.push(event);
    }
    counted
}

fn unrecorded() -> Failure {
    Failure::new(FailureKind::Unavailable, "the record has no answer for this")
}

/// The steps by the numbers of their calls, for the events read so far.
#[derive(Default)]
struct Callers {
    read: usize,
    steps: HashMap<u64, StepPath>,
}

impl Callers {
    /// Returns the step that made a call.
    fn step(&mut self, events: &[Event], call: u64) -> StepPath {
        for event in events.get(self.read..).unwrap_or_default() {
            if let Happening::ModelCalled { step, call, .. }
            | Happening::ToolCalled { step, call, .. }
            | Happening::CacheAsked { step, call, .. }
            | Happening::ToolsAsked { step, call, .. } = &event.happening
            {
                self.steps.insert(*call, step.clone());
            }
        }
        self.read = events.len();
        self.steps.get(&call).cloned().unwrap_or_default()
    }
}

/// Returns the recorded answer of a model, with the names of the tools as they are offered now.
fn said_again(said: ModelAnswer, usage: Usage, request: Option<&ModelRequest>) -> CallResult {
    let plain = |name: &str| -> String { name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect() };
    let offered = |call: ToolCall| {
        let tools = request.into_iter().flat_map(|request| &request.tools).map(|tool| tool.name.clone());
        let tool = tools.into_iter().find(|name| plain(name) == plain(&call.tool)).unwrap_or_else(|| call.tool.clone());
        ToolCall { tool, ..call }
    };
    match said {
        ModelAnswer::Said { text, calls, model, session, files, state: _, notes } => {
            let calls = calls.into_iter().map(offered).collect();
            Ok(CallReply::Model(ModelReply { text, calls, usage: Some(usage), model, session, files, notes, ..ModelReply::default() }))
        }
        ModelAnswer::Failed(failure) => {
            let used = (usage != Usage::default()).then_some(usage);
            ModelReply::failing(failure, ModelReply { usage: used, ..ModelReply::default() }).map(CallReply::Model)
        }
    }
}

impl RunAnswers {
    /// Collects the outputs of steps that made external calls, and the results of agents' tools.
    fn from_events(events: &[&Event]) -> RunAnswers {
        let mut all = RunAnswers::default();
        // `None`: the step was cancelled.
        let mut ended: BTreeMap<String, Vec<Option<RecordedEnd>>> = BTreeMap::new();
        let mut calls: BTreeMap<String, Vec<Result<Value, Failure>>> = BTreeMap::new();
        // The last answers with tool calls, and those of their calls that were made.
        let mut asked: HashMap<StepPath, &[ToolCall]> = HashMap::new();
        let mut made: HashSet<(&StepPath, u64)> = HashSet::new();
        for event in events {
            match &event.happening {
                Happening::ModelReplied { step, reply, usage, .. } => {
                    if let ModelAnswer::Said { calls, .. } = reply {
                        asked.insert(step.clone(), calls);
                    }
                    all.answers.entry(step.clone()).or_default().push_back((event.seq, reply.clone(), *usage));
                }
                Happening::ToolCalled { step, call, asked: Some(_), .. } => drop(made.insert((step, *call))),
                Happening::ToolReplied { step, call, failure, result, asked: Some(place), .. } => {
                    // Results of calls that were not made are reproduced: an invalid call, and the output of a pipeline used as a tool.
                    let is_made = made.contains(&(step, *call));
                    let Some(asked) = asked.get(step).and_then(|asked| asked.get(*place)).filter(|_| is_made) else { continue };
                    let gave = failure.clone().map_or_else(|| Ok(result.clone().unwrap_or_default()), Err);
                    calls.entry(RecordedRun::call(step, &asked.tool, &asked.arguments)).or_default().push(gave);
                }
                Happening::ToolCalled { step, asked: None, .. }
                | Happening::StepPaused { step, .. }
                | Happening::ApprovalRequested { step, form: Some(_), .. }
                | Happening::CacheAsked { step, .. } => drop(all.given.insert(step.to_string())),
                Happening::StepSucceeded { step, output, details } => {
                    // What an earlier run did is taken from the record, too.
                    if StepDetails::from_value(details).is_kept() {
                        all.given.insert(step.to_string());
                    }
                    let end = RecordedEnd { result: Ok(output.clone()), details: Some(details.clone()) };
                    ended.entry(step.to_string()).or_default().push(Some(end));
                }
                Happening::StepFailed { step, failure, details, .. } => {
                    if failure.kind == FailureKind::NoAnswer {
                        all.unanswered.insert(step.clone());
                    }
                    let end = RecordedEnd { result: Err(failure.clone()), details: details.clone() };
                    ended.entry(step.to_string()).or_default().push(Some(end));
                }
                Happening::StepCancelled { step, .. } => ended.entry(step.to_string()).or_default().push(None),
                _ => {}
            }
        }
        ended.retain(|step, _| all.given.contains(step));
        let result = |end: &Option<RecordedEnd>| end.as_ref().map(|end| end.result.clone());
        let is_alone = |gave: &[Result<Value, Failure>]| gave.windows(2).all(|two| two.first() == two.last());
        calls.values_mut().filter(|gave| is_alone(gave)).for_each(|gave| gave.truncate(1));
        all.recorded.calls = calls;
        for (name, mut ends) in ended {
            if ends.windows(2).all(|two| two.first().map(result) == two.last().map(result)) {
                ends.truncate(1);
            }
            if ends.iter().any(Option::is_none) {
                all.cut.insert(name.clone());
            }
            all.recorded.ends.insert(name, ends);
        }
        all
    }
}
