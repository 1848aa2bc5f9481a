//! Executes a run to its end, or until a person must decide. Every caller uses this.

use std::cell::Cell;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::asking::{AskingRun, Decide, OpenQuestions, ask_each, asker};
use super::conversation::{ConversationTurn, Waited};
use super::observed::{ObservedRun, observed};
use super::stored::StoredRun;
use super::surroundings::{Surroundings, start_of};
use super::{RunEnding, RunError, RunOutcome, Workflow, kept, lacking, told_from_project};
use crate::adapter::environment;
use crate::adapter::run_lock::RunLock;
use crate::diagnostic::visible;
use crate::driver::{DecisionReceiver, FoundPerson, RunClock, StopReceiver, drive, find_person};
use crate::engine::{Input, Run, RunMessage, check_inputs, marks, named_message, run_message};
use crate::event::{Canceller, ConversationSoFar, Event, Happening, RunEnd, RunStart, RunStatus, StyleUsed};
use crate::journal::{Journal, PersonalMask, RunMask};
use crate::model::{Outputs, Pipeline, Program};
use crate::port::{EventLog, Secret, StoreError, ToolServers};
use crate::redact::Redactor;

/// A run that has not started, or is being resumed.
pub struct RunSession {
    /// The id of the run.
    pub id: String,
    /// Its environment: settings, secrets, ports.
    pub on: Surroundings,
    pub(super) run: Run,
    pub(super) begin: Input,
    /// The events so far.
    pub(super) before: Vec<Event>,
    pub(super) log: Box<dyn EventLog>,
    pub(super) lock: Option<RunLock>,
    pub(super) turn: Option<ConversationTurn>,
}

/// Observes a run.
pub trait Attend {
    /// The set of values that must not be shown has grown.
    fn masks(&mut self, _: &Redactor) {}

    /// The run waits for another run of its conversation, which belongs to a process.
    fn waits(&mut self, _ahead: &str, _process: &str) {}

    /// Receives each event once it is stored.
    fn see(&mut self, event: &Event, mask: RunMask<'_>);
}

/// The outcome of a run, with what is needed to show it.
pub struct PlayedRun {
    /// How it ended, and its outputs.
    pub outcome: RunOutcome,
    mask: PersonalMask,
    /// Prevents other processes from resuming the run as long as it is held.
    _lock: Option<RunLock>,
}

impl PlayedRun {
    /// Combines an outcome with the mask that has learned its events.
    pub fn new(outcome: RunOutcome, mask: PersonalMask, lock: Option<RunLock>) -> PlayedRun {
        PlayedRun { outcome, mask, _lock: lock }
    }

    /// Returns the redactor of values that must not be shown.
    pub fn redactor(&self) -> &Redactor {
        self.mask.for_run(&self.outcome.events).redactor()
    }
}

impl RunSession {
    /// Creates a new run. Errors: inputs or options do not match the pipeline, something is missing on this machine, or the run cannot be
    /// stored.
    pub fn begin(mut on: Surroundings, inputs: Map<String, Value>) -> Result<RunSession, RunError> {
        let Workflow { checked, pipeline, file, project } = on.runner.workflow.clone();
        let limits = on.runner.limits.clone();
        let channel = channel(&pipeline, on.runner.channel.as_deref())?;
        // Paths from a client of a server are not relative to a folder here.
        let inputs = if on.runner.is_served { inputs } else { told_from_project(&pipeline, Path::new(""), inputs) };
        let inputs = check_inputs(&pipeline, inputs).map_err(RunError::Inputs)?;
        if let Some(failure) = lacking(&checked) {
            return Err(RunError::Lacking(failure));
        }
        let person = on.runtime.block_on(find_person(&pipeline, &inputs, &*on.ports.database));
        let person = person.map_err(|error| RunError::usage(visible(&error.to_string())))?;
        on.know_prices()?;
        let id = environment::run_id();
        let now = on.now()?;
        let said = match &on.runner.talk {
            Some(talk) => {
                let named = (talk.id.as_str(), talk.message.as_str());
                named_message(&pipeline, &inputs, &person.fields, channel.as_deref(), now, named).map(Some)
            }
            None => run_message(&pipeline, &inputs, &person.fields, channel.as_deref(), now),
        };
        let said = said.map_err(|error| RunError::usage(visible(&error.to_string())))?;
        let conversation = said.map(|RunMessage { conversation, said }| {
            let store = pipeline.conversation.as_ref().filter(|_| on.runner.talk.is_none()).and_then(|own| own.store.as_ref());
            let store = store.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()).display().to_string());
            Box::new(ConversationSoFar { of: conversation, message: said, store, ..on.recorded_conversation() })
        });
        let start = RunStart {
            names_outputs: conversation.is_some() && matches!(pipeline.outputs, Outputs::Named(_)),
            conversation,
            files: checked.loaded.prints.clone(),
            tape: on.runner.taping.recorded_as(),
            trace: on.runner.caller.clone(),
            // A single agent is not a pipeline of its file, so the run cannot be resumed.
            file: if on.runner.talk.as_ref().is_some_and(|talk| talk.is_alone) { String::new() } else { whole(file) },
            scripted: on.scripted,
            served: on.runner.is_served,
            deadline_ms: limits.deadline.map(|time| time.as_millis() as u64),
            max_cost_usd: limits.max_cost_usd,
            ..first_event(&checked.loaded.program, &pipeline, inputs, channel, person, now, environment::seed())
        };
        let (log, lock, turn): (Box<dyn EventLog>, _, _) = match on.runner.storage.journal(&project)? {
            None => (Box::new(kept::Unkept), None, None),
            Some(file) => {
                let sealing = on.sealing.clone();
                let opened =
                    on.runner.journals.log(&file, &sealing).and_then(|log| Ok((log.audited(on.trail())?, RunLock::take(&file, &id)?)));
                let (log, lock) = opened.map_err(|error| kept::with_help(error, &project))?;
                on.keep_results_of(&id, &file, &sealing);
                let log = log.with_files(&id, &on.texts());
                // A replay does not belong to the conversation.
                let own = start.conversation.as_deref().filter(|_| !on.runner.taping.is_replay());
                let turn = own.map(|own| ConversationTurn::arrive(&on.runner.journals, own, &id, &file, &sealing)).transpose()?;
                (Box::new(log), Some(lock), turn)
            }
        };
        let now = RunClock::new(on.ports.clock.clone(), 0).now();
        let run = Run::new(&*id, on.plan(), on.options(limits), now);
        Ok(RunSession { id, on, run, begin: Input::Start(Box::new(start)), before: vec![], log, lock, turn })
    }

    /// Resumes a run from its record. Errors: its files have changed.
    pub fn resume(mut on: Surroundings, stored: StoredRun) -> Result<RunSession, RunError> {
        let run = on.as_its_events_tell(&stored.events).map_err(|error| with_texts(error, &on, &stored))?;
        let StoredRun { id, events, store, file, lock } = stored;
        let sealing = store.sealing().clone();
        drop(store);
        on.keep_results_of(&id, &file, &sealing);
        let begin = on.resumed_after(&events);
        let log = Box::new(on.runner.journals.log(&file, &sealing)?.audited(on.trail().after(&events))?);
        let own = start_of(&events).and_then(|start| start.conversation.as_deref()).filter(|_| !on.runner.taping.is_replay());
        let turn = own.map(|own| ConversationTurn::arrive(&on.runner.journals, own, &id, &file, &sealing)).transpose()?;
        Ok(RunSession { id, on, run, begin, before: events, log, lock: Some(lock), turn })
    }

    /// Runs on this thread until the end, or until a decision is needed and nobody decides. `stop` receives requests to end it.
    pub fn play(mut self, stop: &mut StopReceiver, attend: &mut dyn Attend, decide: &mut dyn Decide) -> PlayedRun {
        if let Some(outcome) = self.wait_for_turn(stop, attend) {
            return PlayedRun::new(outcome, PersonalMask::default(), self.lock);
        }
        let RunSession { id, mut on, run, begin, before, log, lock, turn } = self;
        let start = if let Input::Start(start) = &begin { Some(&**start) } else { start_of(&before) };
        let (trace, observed) = observed(&id, start, &before, on.runner.telemetry.as_ref(), &on.hidden);
        on.ports.trace = trace;
        if let Some(tape) = &on.ports.tape {
            before.iter().for_each(|event| tape.watch(event));
        }
        let (asker, of_programs) = asker();
        on.ports.person = Some(asker);
        let (asked, open) = OpenQuestions::new(&before, run.state(), on.ports.clock.now());
        let (ends, ended) = unbounded_channel();
        let (decides, decisions) = unbounded_channel();
        let (nobody, is_nobody) = watch::channel(false);
        let mut heard = Heard { stop: ended, decisions, is_nobody };
        let is_alone = on.runner.talk.as_ref().is_some_and(|talk| talk.is_alone);
        let (first, is_told, is_idle) = (Cell::new(None), Cell::new(false), Cell::new(true));
        let ended_elsewhere = asked_elsewhere(stop, lock.as_ref(), ends, is_alone.then_some(&first));
        let watched = WatchedRun::new(before, &on.hidden, asked, observed, attend, &is_told);
        let mut playing = Playing { on: &on, run, journal: Journal::new(log), watched, turn, answered: None, is_idle: &is_idle };
        let driven = on.runtime.block_on(async {
            tokio::select! {
                driven = playing.play(begin, &mut heard) => driven,
                never = ended_elsewhere => match never {},
                // After `None` is returned, the decider is not asked again.
                never = async {
                    let beside = Beside { id: &id, lock: lock.as_ref(), is_told: &is_told, is_idle: &is_idle, servers: &*on.ports.servers };
                    ask_each(open, of_programs, decide, decides, nobody, &beside).await;
                    std::future::pending::<Infallible>().await
                } => match never {},
            }
        });
        let Playing { run, journal, watched: WatchedRun { events, mask, .. }, turn, .. } = playing;
        let outcome = RunOutcome { ended_by: first.get(), ..closed(&id, on, &run, journal, events, turn, driven) };
        PlayedRun::new(outcome, mask, lock)
    }

    /// Waits for this run's turn in its conversation. Returns the outcome if the run was stopped while waiting, or the store failed.
    fn wait_for_turn(&mut self, stop: &mut StopReceiver, attend: &mut dyn Attend) -> Option<RunOutcome> {
        let RunSession { id, on, begin, turn, .. } = self;
        let turn = turn.as_mut()?;
        let waited = on.runtime.block_on(turn.wait(stop, &mut |ahead, process| attend.waits(ahead, process))).and_then(|waited| {
            match (begin, on.runner.kept_messages()) {
                (Input::Start(start), Some(most)) if matches!(waited, Waited::Over) => {
                    let agents = on.agents_with_own_history();
                    start.conversation.as_deref_mut().map_or(Ok(()), |so_far| turn.begin(most, agents, so_far)).map(|()| waited)
                }
                (Input::Resume { .. }, _) if matches!(waited, Waited::Over) => turn.go_on().map(|()| waited),
                _ => Ok(waited),
            }
        });
        let nothing = RunOutcome {
            ending: RunEnding::Over(RunStatus::Cancelled),
            is_scripted: on.scripted,
            ..RunOutcome::from_events(id, vec![], None)
        };
        match waited {
            Ok(Waited::Over) => None,
            Ok(Waited::Stopped(by)) => Some(RunOutcome { ended_by: Some(by), ..nothing }),
            Err(error) => Some(RunOutcome { ending: RunEnding::Lost, loss: Some(error), is_forgotten: true, ..nothing }),
        }
    }
}

/// The events of a run, and their observers.
struct WatchedRun<'p> {
    events: Vec<Event>,
    mask: PersonalMask,
    asked: OpenQuestions,
    observed: Option<ObservedRun>,
    attend: &'p mut dyn Attend,
    /// Whether the run has received the request to end.
    is_told: &'p Cell<bool>,
}

impl<'p> WatchedRun<'p> {
    fn new(
        events: Vec<Event>,
        hidden: &[Secret],
        asked: OpenQuestions,
        observed: Option<ObservedRun>,
        attend: &'p mut dyn Attend,
        is_told: &'p Cell<bool>,
    ) -> WatchedRun<'p> {
        let mut mask = PersonalMask::new(hidden.iter().map(Secret::reveal));
        mask.take(&events);
        attend.masks(mask.for_run(&events).redactor());
        WatchedRun { events, mask, asked, observed, attend, is_told }
    }

    fn see(&mut self, event: Event) {
        self.asked.take(&event);
        self.is_told.set(self.is_told.get() || matches!(event.happening, Happening::CancelRequested { .. }));
        self.events.push(event);
        let is_new = self.mask.take(&self.events);
        let known = self.mask.for_run(&self.events);
        if is_new {
            self.attend.masks(known.redactor());
        }
        if let Some(event) = self.events.last() {
            self.observed.iter_mut().for_each(|observed| observed.see(event, known));
            self.attend.see(event, known);
        }
    }
}

/// The inputs of a run while it is played: requests to end it, decisions, and the fact that nobody decides any more.
struct Heard {
    stop: StopReceiver,
    decisions: DecisionReceiver,
    is_nobody: watch::Receiver<bool>,
}

/// The result of driving a run; `None`: it waits for a person.
type Driven = Result<Option<RunEnd>, StoreError>;

/// The state of a run that is played. Before that, it waits for its turn in its conversation; afterwards, its outcome is built.
enum PlayState {
    /// It continues with this input.
    Driving(Input),
    /// Only a person's decision lets it continue.
    Asking,
    /// It has stopped.
    Over(Driven),
}

/// A run that is being played.
struct Playing<'p> {
    on: &'p Surroundings,
    run: Run,
    journal: Journal,
    watched: WatchedRun<'p>,
    turn: Option<ConversationTurn>,
    /// The decision; the run first receives how long it took.
    answered: Option<Input>,
    is_idle: &'p Cell<bool>,
}

impl Playing<'_> {
    /// Alternates between driving the run and asking people, until it has ended or nobody decides.
    async fn play(&mut self, begin: Input, heard: &mut Heard) -> Driven {
        let mut state = PlayState::Driving(begin);
        loop {
            state = match state {
                PlayState::Driving(input) => self.drive(input, heard).await,
                PlayState::Asking => self.ask(heard).await,
                PlayState::Over(driven) => {
                    let _ = self.on.ports.servers.close().await;
                    return driven;
                }
            };
        }
    }

    async fn drive(&mut self, input: Input, heard: &mut Heard) -> PlayState {
        let watched = &mut self.watched;
        let mut watch = |event: Event| watched.see(event);
        let driven =
            drive(&mut self.run, input, &self.on.ports, &mut self.journal, &mut heard.stop, &mut heard.decisions, &mut watch).await;
        match (driven, self.answered.take()) {
            (Ok(None), Some(answer)) => PlayState::Driving(answer),
            (Ok(None), None) if !self.watched.asked.is_empty() => PlayState::Asking,
            (driven, _) => PlayState::Over(driven),
        }
    }

    /// Waits for a person's decision. While only a person can let the run continue, other runs of its conversation have their turn.
    async fn ask(&mut self, heard: &mut Heard) -> PlayState {
        if self.is_idle.get() && heard.decisions.is_empty() {
            self.watched.asked.ask_again();
        }
        let left = self.run.state().time_to_answer().map(Duration::from_millis);
        let asked_at = self.on.ports.clock.elapsed();
        if let Some(Err(error)) = self.turn.as_mut().map(ConversationTurn::pause) {
            return PlayState::Over(Err(error));
        }
        let decided = tokio::select! {
            biased;
            Some(decided) = heard.decisions.recv() => Some(decided),
            _ = heard.is_nobody.wait_for(|is_nobody| *is_nobody), if self.watched.asked.can_wait() => None,
            () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => Some(Input::Tick),
            // A signal leaves the question open; a person who ends the run closes it.
            Some(by) = heard.stop.recv() => (by == Canceller::Person).then_some(Input::Cancel { by }),
        };
        let Some(decided) = decided else { return PlayState::Over(Ok(None)) };
        let away = self.on.ports.clock.elapsed().saturating_sub(asked_at);
        if let Some(turn) = &mut self.turn {
            match turn.come_back(&mut heard.stop, &mut |ahead, process| self.watched.attend.waits(ahead, process)).await {
                Ok(Waited::Over) => {}
                Ok(Waited::Stopped(_)) => return PlayState::Over(Ok(None)),
                Err(error) => return PlayState::Over(Err(error)),
            }
        }
        // The time of a person does not count for the run, unless the time to answer is limited.
        if left.is_none() {
            return PlayState::Driving(decided);
        }
        self.answered = Some(decided);
        PlayState::Driving(Input::Resume { away_ms: away.as_millis() as u64 })
    }
}

/// Builds the outcome of a run. Recordings and messages are written independently of each other; incomplete recordings are not written.
fn closed(
    id: &str,
    on: Surroundings,
    run: &Run,
    mut journal: Journal,
    mut events: Vec<Event>,
    turn: Option<ConversationTurn>,
    driven: Driven,
) -> RunOutcome {
    let head = on.head(&events);
    let Surroundings { runner, tape, scripted, printed, runtime, ports, .. } = on;
    drop(ports);
    drop(runtime);
    let end = run.state().finished.clone();
    let waits = end.is_none() && driven.is_ok();
    let recorded = if waits { Ok(None) } else { runner.taping.finish(&tape, &head).map_err(RunError::system) };
    let is_lost = driven.is_err() && end.is_none();
    let loss = match driven {
        Ok(_) => journal.into_loss(),
        Err(error) => {
            // An end that could not be stored is still reported, and stored in the conversation.
            events.extend(journal.unkept().into_iter().filter(|_| end.is_some()));
            Some(error)
        }
    };
    let said = match turn {
        Some(turn) if end.is_some() && !is_lost => Some(turn.end(&events)),
        _ => None,
    };
    let is_said = matches!(said, Some(Ok(())));
    let mut outcome = RunOutcome {
        // Messages in the record are added to the conversation later.
        is_forgotten: loss.is_some() && !is_said,
        loss: loss.or(said.and_then(Result::err)),
        recorded,
        misses: tape.misses(),
        printed: printed.take(),
        is_scripted: scripted,
        ..RunOutcome::from_events(id, events, end)
    };
    if is_lost {
        outcome.ending = RunEnding::Lost;
    }
    outcome
}

fn whole(file: PathBuf) -> String {
    std::path::absolute(&file).unwrap_or(file).display().to_string()
}

/// Sets the fields of a run's first event that describe its files as they are now.
pub(super) fn begun(on: &Surroundings, start: &mut RunStart) {
    let Workflow { checked, pipeline, file, .. } = &on.runner.workflow;
    start.pipeline.clone_from(&pipeline.name.value);
    start.hash.clone_from(&pipeline.hash);
    start.files.clone_from(&checked.loaded.prints);
    start.file = whole(file.clone());
    start.style_guide = pipeline.style_guide.as_deref().map(StyleUsed::from_guide);
    start.marks = marks(&checked.loaded.program);
}

/// Adds the differences of the changed files, if the store has the old texts.
fn with_texts(error: RunError, on: &Surroundings, stored: &StoredRun) -> RunError {
    match (error, stored.store.files_of(&stored.id)) {
        (RunError::Changed(changed), Ok(Some(before))) => {
            let root = on.runner.workflow.checked.loaded.root_name();
            RunError::Changed(Box::new(changed.with_texts(&before, &on.texts(), root, &stored.ended_steps())))
        }
        (error, _) => error,
    }
}

/// The run as the asker of its questions knows it.
struct Beside<'a> {
    id: &'a str,
    lock: Option<&'a RunLock>,
    is_told: &'a Cell<bool>,
    is_idle: &'a Cell<bool>,
    servers: &'a dyn ToolServers,
}

impl AskingRun for Beside<'_> {
    fn id(&self) -> &str {
        self.id
    }

    fn is_ending(&self) -> bool {
        !self.is_told.get() && self.lock.is_some_and(RunLock::is_asked_to_end)
    }

    fn has_ended(&self, call: &str) -> bool {
        self.servers.has_ended(call)
    }

    fn waits(&self, waits: bool) {
        self.is_idle.set(waits);
    }
}

/// How often a run checks whether another process has requested its end.
const LOOK: Duration = Duration::from_millis(200);

/// Passes on requests to end a run, from `stop` or, through the run's lock, from another process. `for_good`: nobody could resume the run,
/// so it ends for good; the first requester is stored there.
async fn asked_elsewhere(
    stop: &mut StopReceiver,
    lock: Option<&RunLock>,
    ends: UnboundedSender<Canceller>,
    for_good: Option<&Cell<Option<Canceller>>>,
) -> Infallible {
    let (mut is_open, mut is_passed_on) = (true, false);
    loop {
        tokio::select! {
            by = stop.recv(), if is_open => match by {
                Some(by) => {
                    for_good.into_iter().for_each(|first| first.set(first.get().or(Some(by))));
                    let _ = ends.send(if for_good.is_some() { Canceller::Person } else { by });
                }
                None => is_open = false,
            },
            () = tokio::time::sleep(LOOK) => {
                if !is_passed_on && lock.is_some_and(RunLock::is_asked_to_end) {
                    is_passed_on = true;
                    let _ = ends.send(Canceller::Person);
                }
            }
        }
    }
}

/// Creates the first event of a run, without its file and without facts about the machine.
pub(crate) fn first_event(
    program: &Program,
    pipeline: &Pipeline,
    inputs: Map<String, Value>,
    channel: Option<String>,
    person: FoundPerson,
    now: DateTime<Utc>,
    seed: u64,
) -> RunStart {
    RunStart {
        pipeline: pipeline.name.value.clone(),
        hash: pipeline.hash.clone(),
        inputs: Arc::new(Value::Object(inputs)),
        channel,
        style_guide: pipeline.style_guide.as_deref().map(StyleUsed::from_guide),
        person: Arc::new(Value::Object(person.fields)),
        names_outputs: pipeline.conversation.is_some() && matches!(pipeline.outputs, Outputs::Named(_)),
        failure: person.failure,
        now,
        scripted: true,
        seed,
        marks: marks(program),
        ..RunStart::default()
    }
}

/// Returns the channel of a run: the requested one, else the first of the pipeline. Errors: the pipeline has no such channel.
pub fn channel(pipeline: &Pipeline, wanted: Option<&str>) -> Result<Option<String>, RunError> {
    let names: Vec<&str> = pipeline.channels.iter().map(|c| c.name.as_str()).collect();
    match wanted {
        None => Ok(names.first().map(|n| n.to_string())),
        Some(name) if names.contains(&name) => Ok(Some(name.to_string())),
        Some(name) => {
            let near = crate::diagnostic::did_you_mean(name, names.iter().copied());
            let hint = near.or("; another one is a file in channels/ and its name in channels of the pipeline");
            let listed = if names.is_empty() { "it lists no channels".to_string() } else { format!("it lists: {}", names.join(", ")) };
            Err(RunError::usage(format!("the pipeline has no channel \"{}\"; {listed}{hint}", visible(name))))
        }
    }
}
