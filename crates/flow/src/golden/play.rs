//! Runs one trial in virtual time. Tables and files are really read; no other external call is made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::calls::PlayedCalls;
use super::file::SentMessage;
use super::judge::{self, JudgeRun};
use super::mutate::{Mutant, mutants};
use super::outcome::{Complaint, TrialEnding};
use super::suite::{Suite, Trial, TrialOptions};
use super::taping::TrialTape;
use crate::adapter::clock::SystemClock;
use crate::driver::{Blocking, CallResult, FoundPerson, PersonError};
use crate::engine::{CallReply, CallRequest, Noted, PersonFrom, RunMessage, check_inputs, person, run_message};
use crate::event::{ConversationSoFar, Event, Failure, FailureKind, Happening, RunStart};
use crate::journal::{Record, record};
use crate::model::{HistoryBounds, JUDGE_REPLY, Mock, PastMessage, Pipeline, ProgramNetwork, SandboxMode, TestCase, newest};
use crate::port::{Clock, Embedding, ProgramCall, SearchRequest, Tape, WireFormat};
use crate::runtime::{VirtualRun, first_event, told_from_project};

/// The time of a test without `now`: a Monday morning.
const NOW: &str = "2026-01-05T09:00:00Z";

/// The result of a play.
#[derive(Default)]
pub(super) struct Played {
    pub(super) ending: TrialEnding,
    pub(super) inputs: Value,
    pub(super) person: Value,
    pub(super) sent: Vec<SentMessage>,
    pub(super) record: Option<Record>,
    pub(super) is_refined: bool,
    pub(super) noted: Noted,
    /// The calls that it made.
    pub(super) calls: PlayedCalls,
    /// The folder of its recordings, if it was recorded.
    pub(super) recorded: Option<PathBuf>,
    /// Problems with its recordings.
    pub(super) untaped: Vec<Complaint>,
    /// Why a judge rejects its result.
    pub(super) misjudged: Option<String>,
    /// Time spent waiting for models.
    pub(super) waited: Duration,
    /// The results of broken outputs.
    pub(super) mutants: Vec<Mutant>,
}

/// Runs a trial to its end. `number` counts its plays: from the second on, delays and the order of replies vary.
pub(super) fn play(suite: &Suite, trial: &Trial, world: &Blocking, how: &TrialOptions, number: u64) -> Played {
    let case = &suite.test.cases[trial.case];
    let now = case.now.as_ref().map_or(NOW, |now| now.as_str());
    let now = DateTime::parse_from_rfc3339(now).map(|now| now.with_timezone(&Utc)).unwrap_or_default();
    let mut mocks_used = BTreeSet::new();
    let start = match first(suite, trial, world, (now, number), &mut mocks_used) {
        Ok(start) => start,
        Err(problems) => {
            let noted = Noted { mocks_used, ..Noted::default() };
            return Played { ending: TrialEnding::NotStarted(problems), noted, ..Played::default() };
        }
    };
    let taping = TrialTape::from_trial(suite, trial, how.live.as_ref());
    let tape = taping.port();
    let begun = start.clone();
    let settings = |model| taping.settings(suite, case, model, &how.rules);
    let virtual_run = |plan, settings| VirtualRun::new("r_test", plan, settings, now, tape.clone(), taping.door.clone(), number);
    let mut played = virtual_run(suite.plan.clone(), settings(trial.model.clone()));
    let mut stage = TrialStage {
        world,
        sent: vec![],
        tape: tape.clone(),
        goes_live: taping.goes_live(),
        clock: SystemClock::new(),
        waited: Duration::ZERO,
    };
    let ending = match played.play(start, &mut |events, call, request| stage.answer(events, call, request)) {
        Ok(end) => TrialEnding::Over(Box::new(end)),
        Err(endless) => TrialEnding::Endless(endless.to_string()),
    };
    let mut noted = played.run.noted();
    noted.mocks_used.extend(mocks_used);
    let waited = stage.waited;
    let is_judged = judge::is_wanted(case.expect.as_ref()) && ending.is_as_expected(case.expect.as_ref());
    let asked = if is_judged { judge::run_of(suite, case, (&begun, &ending, &stage.sent)) } else { None };
    let misjudged = match asked {
        None => None,
        Some(Err(nothing)) => Some(nothing),
        Some(Ok(JudgeRun { plan, start })) => {
            let mut judging = virtual_run(plan, settings(None));
            let ended = judging.play(start, &mut |events, call, request| stage.answer(events, call, request));
            let own = judging.run.noted();
            noted.replies_used.extend(own.replies_used.into_iter().filter(|(name, _)| name == JUDGE_REPLY));
            match ended {
                Ok(_) => judge::complaint(&judging.events, !own.missing_replies.is_empty()),
                Err(endless) => Some(endless.to_string()),
            }
        }
    };
    let failure = if let TrialEnding::Over(end) = &ending { end.failure.as_ref() } else { None };
    let (recorded, untaped) = taping.finish(suite, failure.map_or("", |failure| &failure.failure.message));
    let again = || virtual_run(suite.plan.clone(), settings(trial.model.clone())).run;
    let mutants = if how.mutate { mutants(again(), &played.events) } else { vec![] };
    let is_refined = played.events.iter().any(|event| matches!(event.happening, Happening::RefinementStarted { .. }));
    Played {
        ending,
        calls: PlayedCalls::from_events(&played.events, &noted.requests),
        inputs: (*begun.inputs).clone(),
        person: (*begun.person).clone(),
        sent: stage.sent,
        record: record(&played.events),
        is_refined,
        noted,
        recorded,
        untaped,
        misjudged,
        waited,
        mutants,
    }
}

/// Returns the first event of a trial's run, and the mocks that defined the person. Errors: why it does not start.
fn first(
    suite: &Suite,
    trial: &Trial,
    world: &Blocking,
    (now, number): (DateTime<Utc>, u64),
    mocks_used: &mut BTreeSet<String>,
) -> Result<RunStart, Vec<String>> {
    let (pipeline, case) = (suite.pipeline(), &suite.test.cases[trial.case]);
    let channel = trial.channel.as_deref();
    if let Some(name) = channel.filter(|_| suite.channel(channel).is_none()) {
        return Err(vec![format!("the pipeline has no channel \"{name}\"")]);
    }
    let home = suite.path.parent().unwrap_or(Path::new(""));
    // A path in a test file is relative to that file.
    let given = case.inputs.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
    let inputs = check_inputs(pipeline, told_from_project(pipeline, home, given))?;
    let (found, used) = find_person(pipeline, case, &inputs, world);
    *mocks_used = used;
    let found = found.map_err(|problem| vec![problem.to_string()])?;
    let said = run_message(pipeline, &inputs, &found.fields, channel, now).map_err(|problem| vec![problem.to_string()])?;
    let mut start = first_event(&suite.plan.program, pipeline, inputs, trial.channel.clone(), found, now, number + 1);
    start.conversation = said.zip(pipeline.conversation.as_ref()).map(|(RunMessage { conversation, said }, own)| {
        let bounds = HistoryBounds::from_conversation(own);
        let (of_agents, mut messages): (Vec<PastMessage>, Vec<PastMessage>) =
            case.conversation.iter().cloned().partition(|message| message.agent.is_some());
        let all = messages.len();
        let older = bounds.cut(&mut messages);
        let left_out = (all - messages.len()) as u64;
        let mut agents: BTreeMap<String, Vec<PastMessage>> = BTreeMap::new();
        of_agents.into_iter().for_each(|one| agents.entry(one.agent.clone().unwrap_or_default()).or_default().push(one));
        agents.values_mut().for_each(|own| drop(newest(own, bounds.keep, bounds.max_tokens)));
        Box::new(ConversationSoFar { of: conversation, message: said, messages, left_out, older, agents, ..ConversationSoFar::default() })
    });
    Ok(start)
}

/// Why the person of a case cannot be determined.
#[derive(Debug, thiserror::Error)]
enum CasePersonError {
    #[error(transparent)]
    Person(#[from] PersonError),
    #[error("the mock of \"person\" must hold the person's fields, or be empty, or an error")]
    Mock,
}

/// Returns the person of the run, and the mocks that defined it: `person` mocks the table of people, unless a step has that name.
fn find_person(
    pipeline: &Pipeline,
    case: &TestCase,
    inputs: &Map<String, Value>,
    world: &Blocking,
) -> (Result<FoundPerson, CasePersonError>, BTreeSet<String>) {
    const MOCK: &str = "person";
    let is_step = pipeline.steps.iter().any(|step| step.id.value == MOCK);
    let mock = case.mocks.get(MOCK).filter(|_| !is_step);
    let (Some(mock), Ok(PersonFrom::Row { id, table, .. })) = (mock, person(pipeline, inputs)) else {
        return (world.find_person(pipeline, inputs).map_err(CasePersonError::from), BTreeSet::new());
    };
    let used = BTreeSet::from([MOCK.to_string()]);
    let found = match &mock.value {
        Mock::Error(kind) => FoundPerson::of_row(&id, &table, Err(Failure::new(*kind, "mocked failure"))),
        Mock::Output(Value::Object(fields)) => FoundPerson::of_row(&id, &table, Ok(Some(fields.clone()))),
        Mock::Output(Value::Null) => FoundPerson::of_row(&id, &table, Ok(None)),
        Mock::Output(_) => return (Err(CasePersonError::Mock), used),
    };
    (found.map_err(CasePersonError::from), used)
}

/// The external calls that a trial may make.
struct TrialStage<'a> {
    world: &'a Blocking,
    sent: Vec<SentMessage>,
    tape: Arc<dyn Tape>,
    /// Models may be called over the network.
    goes_live: bool,
    clock: SystemClock,
    /// Time spent waiting for models.
    waited: Duration,
}

impl TrialStage<'_> {
    /// Checks whether a search is allowed; it may call a model for vectors.
    fn searched(&self, search: &SearchRequest) -> Result<(), Failure> {
        if self.goes_live || !matches!(search.embed, Some(Embedding::Endpoint(_))) {
            return Ok(());
        }
        let message = "a test asks no model for vectors; add a mock of the step, or give it a model with provider: scripted";
        Err(Failure::new(FailureKind::Denied, message))
    }

    /// Calls a model.
    fn ask(&mut self, call: u64, request: CallRequest) -> CallResult {
        let from = self.clock.elapsed();
        let answer = self.world.carry_out(call, request, Some(&self.tape));
        self.waited += self.clock.elapsed().saturating_sub(from);
        answer
    }

    fn answer(&mut self, events: &[Event], call: u64, request: CallRequest) -> CallResult {
        let world = self.world;
        match request {
            CallRequest::Print(parts) => {
                let (step, to) = sender(events, call);
                self.sent.push(SentMessage { step, to, parts });
                Ok(CallReply::Sent(String::new()))
            }
            CallRequest::Scripted(_)
            | CallRequest::Query(_)
            | CallRequest::Read(_)
            | CallRequest::Python(_)
            | CallRequest::List { .. }
            | CallRequest::Open { .. } => world.carry_out(call, request, None),
            // Nobody has consented to the programs of a test, so they run in the sandbox regardless of the file's policy.
            CallRequest::Program(program) => {
                let shut_in = ProgramCall { sandbox: SandboxMode::Required, network: ProgramNetwork::None, ..*program };
                world.carry_out(call, CallRequest::Program(Box::new(shut_in)), None)
            }
            CallRequest::Search(ref search) => self.searched(search).and_then(|()| world.carry_out(call, request, None)),
            CallRequest::Held { request: ref held, .. } if !matches!(**held, CallRequest::Write { .. }) => {
                if let CallRequest::Search(search) = &**held {
                    self.searched(search)?;
                }
                world.carry_out(call, request, None)
            }
            CallRequest::Model(request) if self.goes_live || request.wire == WireFormat::Recorded => {
                self.ask(call, CallRequest::Model(request))
            }
            CallRequest::Agent(mut prompt) if self.goes_live => {
                prompt.program.sandbox = SandboxMode::Required;
                self.ask(call, CallRequest::Agent(prompt))
            }
            // The engine does not issue these in a test; a new kind of external call would be rejected here.
            CallRequest::Model(_)
            | CallRequest::Agent(_)
            | CallRequest::Recall { .. }
            | CallRequest::Http(_)
            | CallRequest::Mail(_)
            | CallRequest::Write { .. }
            | CallRequest::Held { .. }
            | CallRequest::Tools(_)
            | CallRequest::Tool(_)
            | CallRequest::Resource(_) => Err(Failure::new(FailureKind::Denied, "a test calls nothing outside; add a mock of the step")),
        }
    }
}

/// Returns the `send` step of a call, and its receiver.
fn sender(events: &[Event], call: u64) -> (String, String) {
    let called = events.iter().rev().find_map(|event| match &event.happening {
        Happening::ToolCalled { step, call: known, tool, .. } if *known == call => Some((step.to_string(), tool.clone())),
        _ => None,
    });
    called.unwrap_or_default()
}
