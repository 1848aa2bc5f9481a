//! A new run that reuses the finished steps of another one.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::changed::{ChangedFiles, Touched};
use super::session::{RunSession, begun};
use super::surroundings::{Surroundings, start_of};
use super::{RunError, told_from_project};
use crate::adapter::environment;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::{did_you_mean, visible};
use crate::driver::{RunClock, find_person};
use crate::engine::{Input, Run, UnknownStepError, check_inputs, events_of, taken_over};
use crate::event::{Event, Happening, RunOrigin, RunStart, VERSION};
use crate::model::{Limits, Pipeline, with_inner};
use crate::port::{EventLog, Store};

/// The origin of a new run.
pub struct ForkFrom<'a> {
    /// The run.
    pub run: &'a str,
    /// The store of the earlier run.
    pub store: &'a mut SqliteStore,
    /// The step that runs again, with all steps that depend on it.
    pub step: &'a str,
    /// Inputs that differ.
    pub inputs: Map<String, Value>,
}

impl RunSession {
    /// Creates a new run that reuses the steps of another one up to a step, and returns the reused steps. Errors: the step does not exist,
    /// or a reused step would now have a different result.
    pub fn fork(on: Surroundings, from: ForkFrom<'_>) -> Result<(RunSession, BTreeSet<String>), RunError> {
        let ForkFrom { run: origin, store, step, inputs: given } = from;
        let events = store.events(origin)?;
        let refused = |why: String| RunError::CannotResume(vec![format!("run {origin} cannot be forked: {why}")]);
        let start = start_of(&events).ok_or_else(|| refused("it has no beginning".into()))?;
        if start.conversation.is_some() || on.pipeline().conversation.is_some() {
            return Err(refused("it is part of a conversation; ask again there".into()));
        }
        let taken = taken_over(&on.plan(), &events, step).map_err(|error| unknown(&error))?;
        if on.pipeline().hash != start.hash {
            unchanged(&on, origin, start, store, &taken)?;
        }
        let pipeline = on.pipeline().clone();
        let (inputs, changed) = merged(&pipeline, start, given)?;
        let reading = |name: &String| taken.iter().find(|step| reads(&pipeline, step, name)).map(|step| (name.clone(), step.clone()));
        if let Some((input, step)) = changed.iter().find_map(reading) {
            let (input, step) = (visible(&input).into_owned(), visible(&step).into_owned());
            return Err(RunError::usage(format!(
                "--input {input}: step \"{step}\", which would be reused, reads it; start with --from {step} or an earlier step"
            )));
        }
        let mut first = RunStart {
            inputs: std::sync::Arc::new(Value::Object(inputs.clone())),
            origin: Some(RunOrigin { run: origin.to_owned(), from: step.to_owned(), elements: None }),
            ..start.clone()
        };
        if !changed.is_empty() {
            let found = on.runtime.block_on(find_person(&pipeline, &inputs, &*on.ports.database));
            let found = found.map_err(|error| RunError::usage(visible(&error.to_string()).into_owned()))?;
            let person = Value::Object(found.fields);
            if person != *start.person && !taken.is_empty() {
                return Err(RunError::usage("the new inputs are about another person; begin with the first step, or with flow run"));
            }
            (first.person, first.failure) = (std::sync::Arc::new(person), found.failure);
        }
        let session = begun_with(on, first, origin, &events_of(&taken, &events))?;
        Ok((session, taken))
    }
}

/// Creates a new run that starts with these events of another one. Errors: it cannot be stored.
pub(super) fn begun_with(mut on: Surroundings, mut first: RunStart, origin: &str, taken: &[Event]) -> Result<RunSession, RunError> {
    let refused = |why: String| RunError::CannotResume(vec![format!("run {origin} cannot be continued in a new one: {why}")]);
    begun(&on, &mut first);
    first = RunStart { tape: None, trace: on.runner.caller.clone(), served: false, scripted: on.scripted, ..first };
    on.know_prices()?;
    let id = environment::run_id();
    let file = on.runner.storage.journal(&on.runner.workflow.project)?.ok_or_else(|| refused("runs are not kept".into()))?;
    let sealing = on.sealing.clone();
    let mut log = on.runner.journals.log(&file, &sealing)?.with_files(&id, &on.texts()).audited(on.trail())?;
    let lock = RunLock::take(&file, &id)?;
    on.keep_results_of(&id, &file, &sealing);
    let of_run = Limits { max_cost_usd: first.max_cost_usd, ..Limits::default() };
    let before = renamed(&id, first, taken, on.ports.clock.now());
    log.append(&before)?;
    on.runtime.block_on(log.sync())?;
    let options = on.options(of_run.within(&on.runner.limits));
    let now = RunClock::new(on.ports.clock.clone(), 0).now();
    let run = Run::resumed(&*id, on.plan(), options, now, &before).map_err(|why| refused(why.to_string()))?;
    Ok(RunSession { id, on, run, begin: Input::Resume { away_ms: 0 }, before, log: Box::new(log), lock: Some(lock), turn: None })
}

/// Copies events of another run to this one: in order and with the times of the run's own clock, dated now.
fn renamed(id: &str, first: RunStart, taken: &[Event], time: chrono::DateTime<chrono::Utc>) -> Vec<Event> {
    let run: std::sync::Arc<str> = id.into();
    let first = Event { v: VERSION, seq: 1, time, at_ms: 0, run: run.clone(), happening: Happening::RunStarted(Box::new(first)) };
    let taken = (2..).zip(taken).map(|(seq, event)| Event { v: VERSION, seq, time, run: run.clone(), ..event.clone() });
    std::iter::once(first).chain(taken).collect()
}

fn unknown(error: &UnknownStepError) -> RunError {
    let outermost = crate::model::step_path::outermost(&error.step);
    let is_inner = outermost != error.step && error.known.iter().any(|known| known == outermost);
    let hint = if is_inner {
        format!("; a step inside another one runs with it: --from {outermost}")
    } else {
        did_you_mean(&error.step, error.known.iter().map(String::as_str)).to_string()
    };
    RunError::usage(format!("--from {}: {}{hint}", visible(&error.step), visible(&error.to_string())))
}

/// Errors: a reused step has changed, or its earlier definition is unknown.
pub(super) fn unchanged(
    on: &Surroundings,
    run: &str,
    start: &RunStart,
    store: &SqliteStore,
    taken: &BTreeSet<String>,
) -> Result<(), RunError> {
    let loaded = &on.runner.workflow.checked.loaded;
    let changed = ChangedFiles::between(run, &start.files, &loaded.prints);
    let Some(before) = store.files_of(run)? else { return Err(RunError::Changed(Box::new(changed))) };
    let now = on.texts();
    let touched = Touched::between(&before, &now, loaded.root_name());
    if !taken.iter().any(|step| touched.is_touched(step)) {
        return Ok(());
    }
    let taken: Vec<String> = taken.iter().cloned().collect();
    Err(RunError::Changed(Box::new(changed.with_texts(&before, &now, loaded.root_name(), &taken))))
}

/// Returns the inputs of a run with the changed ones, and the names of those.
fn merged(pipeline: &Pipeline, start: &RunStart, given: Map<String, Value>) -> Result<(Map<String, Value>, BTreeSet<String>), RunError> {
    let mut all: Map<String, Value> = start.inputs.as_object().cloned().unwrap_or_default();
    all.retain(|_, value| !value.is_null());
    all.extend(told_from_project(pipeline, Path::new(""), given));
    let inputs = check_inputs(pipeline, all).map_err(RunError::Inputs)?;
    let is_other = |(name, value): &(&String, &Value)| start.inputs.get(*name).unwrap_or(&Value::Null) != *value;
    let changed = inputs.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
    Ok((inputs, changed))
}

/// Whether a step may read an input: in its own texts, or in texts outside steps (an agent's instructions, a scorecard, a tool).
fn reads(pipeline: &Pipeline, step: &str, input: &str) -> bool {
    let mut is_read = false;
    let mut visit = |authored: crate::model::Authored<'_>| {
        let paths = authored.text().into_iter().flat_map(|text| &text.reads).map(|read| read.path.as_slice());
        is_read |= paths.into_iter().any(|path| match path {
            [first, name, ..] => first == "inputs" && name == input,
            [only] => only == "inputs",
            [] => false,
        });
    };
    for own in pipeline.steps.iter().filter(|own| own.id.value == step) {
        with_inner(std::slice::from_ref(own)).into_iter().for_each(|step| step.each_text(&mut visit));
    }
    pipeline.agents.values().for_each(|agent| agent.each_text(&mut visit));
    pipeline.tools.values().for_each(|tool| tool.each_text(&mut visit));
    pipeline.models.values().for_each(|model| model.each_text(&mut visit));
    pipeline.scorecards.values().for_each(|scorecard| scorecard.each_text(&mut visit));
    is_read
}
