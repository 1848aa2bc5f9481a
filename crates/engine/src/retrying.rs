//! A run that runs the failed elements of another run again: what of that run is not done again, and how it stays so.
//!
//! What an element did is kept by its item. An element that succeeded is not done again. Of one that failed, the steps that succeeded are not done
//! again, unless they rest on one that runs again; what acted outside never is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::event::{Event, FailureKind, Happening, KeptState, SharedValue, StepPath, StepStatus};
use crate::forking::{events_that_count, taken_without};
use crate::model::{Pipeline, PipelineId, STDOUT, StepKind, step_path};
use crate::parts::Scheduler;
use crate::plan::{BlockIx, PipelinePlan, Plan, PlannedStep};
use crate::state::NodeRef;
use crate::state::kept::{KeptResults, KeptStep};

/// What calls are named in events that change nothing.
const READS: [&str; 5] = ["sql", "read", "search", "person", STDOUT];

/// What a run that retries another one begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryScope {
    /// Steps of the pipeline's own list that are taken over.
    pub taken: BTreeSet<String>,
    /// The `for_each` steps with elements that run again.
    pub lists: Vec<String>,
    /// How many elements of those run again.
    pub elements: u64,
    /// What elements did that is not done again: [`Happening::ResultKept`].
    pub kept: Vec<Happening>,
    /// All lists of which something is kept.
    pub kept_lists: BTreeSet<String>,
    /// Steps that acted outside in that run, or may have, and would act again with what they stand in.
    pub acts_again: Vec<StepPath>,
}

/// Why there is nothing to retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NothingToRetry {
    /// No step of the pipeline's own list had elements.
    #[error("none of its steps ran the elements of a list (for_each)")]
    NoElements,
    /// All elements succeeded.
    #[error("none of its elements failed")]
    AllSucceeded,
    /// A list that ran is none of the pipeline any more: its elements are known by the id of their step.
    #[error("step \"{0}\" ran the elements of a list in it, and is no such step any more")]
    Gone(String),
    /// The list ran in the second round of a refinement, whose texts would be made anew.
    #[error("step \"{0}\" ran in a refinement, whose second round cannot be repeated alone")]
    Refined(String),
}

/// What of a run is not done again when its failed elements run again.
///
/// # Errors
/// Fails if no element failed.
pub fn retry_of(plan: &Plan, events: &[Event]) -> Result<RetryScope, NothingToRetry> {
    let planned = plan.pipeline(PipelineId(0));
    let course = Course::from_events(events);
    let is_there = |id: &StepPath| planned.steps_of(planned.main).any(|(_, own)| own.id == *id && own.step.for_each.is_some());
    if let Some(gone) = course.lists.keys().filter(|id| !is_there(id)).min() {
        return Err(NothingToRetry::Gone(gone.to_string()));
    }
    let lists: Vec<(usize, &PlannedStep)> = planned.steps_of(planned.main).filter(|(_, own)| course.lists.contains_key(&own.id)).collect();
    if lists.is_empty() {
        return Err(NothingToRetry::NoElements);
    }
    let open: Vec<usize> = lists.iter().filter(|(_, own)| course.open(&own.id) > 0).map(|(place, _)| *place).collect();
    if open.is_empty() {
        return Err(NothingToRetry::AllSucceeded);
    }
    let taken = taken_without(planned, events, &open);
    let named = |place: &usize| planned.pipeline.steps.get(*place).map(|step| step.id.value.clone());
    let anew: Vec<&PlannedStep> = lists.iter().map(|(_, own)| *own).filter(|own| !taken.contains(&*own.id)).collect();
    let mut retry = RetryScope {
        lists: open.iter().filter_map(named).collect(),
        elements: lists.iter().filter(|(place, _)| open.contains(place)).map(|(_, own)| course.open(&own.id)).sum(),
        taken,
        kept: vec![],
        kept_lists: BTreeSet::new(),
        acts_again: vec![],
    };
    for own in anew {
        if course.rounds.get(&own.id).is_some_and(|round| *round > 1) {
            return Err(NothingToRetry::Refined(own.id.to_string()));
        }
        retry.kept_lists.insert(own.id.to_string());
        for (place, item) in course.lists.get(&own.id).into_iter().flatten().enumerate() {
            course.keep(planned, own, &step_path::element(&own.id, place).into(), item, &mut retry.kept);
        }
    }
    retry.acts_again = acts_again(plan, events, &retry);
    Ok(retry)
}

/// The steps that acted and are not kept: beside the lists, and inside what an element holds and runs again as a whole. A step of an element itself is
/// kept if it succeeded, and has its key if nobody knows.
fn acts_again(plan: &Plan, events: &[Event], retry: &RetryScope) -> Vec<StepPath> {
    let changes = |planned: &PipelinePlan, step: &PlannedStep| step.step.kind.effects(&planned.pipeline).changes;
    let acting: HashSet<&str> = plan
        .pipelines
        .iter()
        .flat_map(|planned| planned.steps.iter().filter(|step| changes(planned, step)).map(|step| &*step.step.id.value))
        .collect();
    let known: HashSet<&str> = plan.pipelines.iter().flat_map(|planned| &planned.steps).map(|step| &*step.step.id.value).collect();
    let (mut acted, mut begun, mut called) = (BTreeMap::<StepPath, bool>::new(), HashSet::new(), HashSet::new());
    for event in events_that_count(events) {
        match &event.happening {
            Happening::StepStarted { step, .. } => {
                begun.insert(step);
                None
            }
            Happening::ToolCalled { step, tool, .. } => {
                called.extend(Some(step).filter(|_| !READS.contains(&tool.as_str())));
                None
            }
            // A list without elements, and what an earlier run did, began nothing.
            Happening::StepSucceeded { step, .. } if !begun.contains(step) => None,
            Happening::StepSucceeded { step, .. } => acted.insert(step.clone(), true),
            Happening::StepFailed { step, failure, .. } if failure.kind == FailureKind::UnknownOutcome => acted.insert(step.clone(), false),
            _ => None,
        };
    }
    let kept: HashSet<&str> = retry
        .kept
        .iter()
        .filter_map(|kept| match kept {
            Happening::ResultKept { step, state: KeptState::Done | KeptState::InDoubt, .. } => Some(&**step),
            _ => None,
        })
        .collect();
    let is_kept = |path: &str| {
        let around = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(around, _)| around));
        retry.taken.contains(step_path::outermost(path))
            || retry.kept_lists.contains(path)
            || around.into_iter().any(|path| kept.contains(path))
    };
    let has_key = |path: &str, is_done: bool| !is_done && step_path::outermost_element(path).is_some();
    // Of a step that is not in the file any more, its calls tell.
    let may_act = |path: &StepPath| {
        let id = step_path::id(path);
        acting.contains(id) || !known.contains(id) && called.contains(path)
    };
    let is_told = |(path, is_done): &(StepPath, bool)| may_act(path) && !is_kept(path) && !has_key(path, *is_done);
    acted.into_iter().filter(is_told).map(|(path, _)| path).collect()
}

/// How a step went, as the last events about it say.
#[derive(Debug, Clone, Default)]
struct StepCourse {
    status: StepStatus,
    output: SharedValue,
    details: SharedValue,
    /// Of one that failed.
    kind: Option<FailureKind>,
    has_started: bool,
    has_sent: bool,
    /// Of a gate: it was not met for good.
    is_unmet: bool,
}

/// How a run went, as far as its lists are concerned.
#[derive(Default)]
struct Course<'a> {
    run: &'a str,
    /// The items of each list in the pipeline's own list.
    lists: HashMap<StepPath, Vec<SharedValue>>,
    rounds: HashMap<StepPath, u32>,
    /// Elements and what is in them, by path.
    steps: HashMap<StepPath, StepCourse>,
    /// Paths below each element.
    below: HashMap<StepPath, BTreeSet<StepPath>>,
    kept: KeptResults,
}

impl<'a> Course<'a> {
    fn from_events(events: &'a [Event]) -> Course<'a> {
        let mut course = Course { run: events.first().map_or("", |event| &event.run), ..Course::default() };
        events_that_count(events).for_each(|event| course.take(&event.happening));
        course
    }

    fn take(&mut self, happening: &Happening) {
        self.kept.take(happening);
        if let Happening::StepStarted { step, items: Some(items), round, .. } = happening
            && step_path::outermost(step) == &**step
        {
            self.steps.retain(|path, _| !step_path::leads_into(path, step));
            self.below.retain(|path, _| !step_path::leads_into(path, step));
            self.lists.insert(step.clone(), items.clone());
            self.rounds.insert(step.clone(), *round);
            return;
        }
        let Some(step) = happening.step().filter(|step| step_path::outermost_element(step).is_some()) else { return };
        if let Some((element, _)) = step.split_once('/') {
            self.below.entry(element.into()).or_default().insert(step.clone());
        }
        let own = self.steps.entry(step.clone()).or_default();
        match happening {
            Happening::StepStarted { .. } => (own.status, own.has_started, own.is_unmet) = (StepStatus::Running, true, false),
            Happening::StepSucceeded { output, details, .. } => {
                *own = StepCourse {
                    status: StepStatus::Succeeded,
                    output: output.clone(),
                    details: details.clone(),
                    has_sent: own.has_sent || details["sent"] == true,
                    has_started: true,
                    is_unmet: own.is_unmet,
                    kind: None,
                };
            }
            Happening::StepFailed { failure, .. } => (own.status, own.kind) = (StepStatus::Failed, Some(failure.kind)),
            Happening::StepSkipped { .. } => own.status = StepStatus::Skipped,
            Happening::StepBlocked { .. } => own.status = StepStatus::Blocked,
            Happening::StepCancelled { .. } => own.status = StepStatus::Cancelled,
            Happening::OutputWritten { .. } => own.has_sent = true,
            Happening::GateFailed { for_good, .. } => own.is_unmet = *for_good,
            Happening::GatePassed { .. } => own.is_unmet = false,
            _ => {}
        }
    }

    fn status(&self, path: &str) -> StepStatus {
        self.steps.get(path).map_or(StepStatus::Pending, |own| own.status)
    }

    /// How many elements of a list did not end well.
    fn open(&self, list: &StepPath) -> u64 {
        let elements = self.lists.get(list).map_or(0, Vec::len);
        let is_open =
            |place: &usize| !matches!(self.status(&step_path::element(list, *place)), StepStatus::Succeeded | StepStatus::Skipped);
        (0..elements).filter(is_open).count() as u64
    }

    /// Keeps what was done with an element: all of it, or the steps in it that are not done again.
    fn keep(&self, planned: &PipelinePlan, list: &PlannedStep, element: &StepPath, item: &SharedValue, kept: &mut Vec<Happening>) {
        let (key_run, key_step) = self.kept.key_of(element).unwrap_or((self.run, element.to_string()));
        let own = self.steps.get(element);
        let is_done = own.is_some_and(|own| own.status == StepStatus::Succeeded);
        let holds_steps = matches!(list.step.kind, StepKind::Group(_));
        let state = match own {
            Some(_) if is_done => KeptState::Done,
            Some(own) if own.has_started && list.step.is_once && !holds_steps => KeptState::InDoubt,
            Some(_) | None => KeptState::Open,
        };
        kept.push(Happening::ResultKept {
            step: element.clone(),
            state,
            item: item.clone(),
            key_run: key_run.to_owned(),
            key_step: key_step.into(),
            output: own.filter(|_| is_done).map(|own| own.output.clone()).unwrap_or_default(),
            details: own.filter(|_| is_done).map(|own| self.details(planned, element, own)).unwrap_or_default(),
        });
        if let (false, true, Some(block)) = (is_done, holds_steps, list.cases.first()) {
            self.keep_inside(planned, list, *block, element, kept);
        }
    }

    /// Keeps the steps of an element that failed.
    fn keep_inside(&self, planned: &PipelinePlan, list: &PlannedStep, block: BlockIx, element: &StepPath, kept: &mut Vec<Happening>) {
        let done = self.done_inside(planned, block, element);
        for (place, inner) in planned.steps_of(block) {
            let path: StepPath = step_path::inside(element, &inner.id).into();
            let Some(own) = self.steps.get(&path) else { continue };
            let is_done = done.contains(&place);
            let is_in_doubt = own.has_started && own.status == StepStatus::Failed && (inner.step.is_once || list.step.is_once);
            if is_done || is_in_doubt {
                kept.push(Happening::ResultKept {
                    state: if is_done { KeptState::Done } else { KeptState::InDoubt },
                    item: SharedValue::default(),
                    key_run: String::new(),
                    key_step: StepPath::default(),
                    output: if is_done { own.output.clone() } else { SharedValue::default() },
                    details: if is_done { with_mark(&own.details, Map::new()) } else { SharedValue::default() },
                    step: path,
                });
            }
        }
    }

    /// The steps of an element that are not done again: those that succeeded and rest on none that runs again, and all that acted outside.
    fn done_inside(&self, planned: &PipelinePlan, block_ix: BlockIx, element: &StepPath) -> BTreeSet<usize> {
        let block = planned.block(block_ix);
        let status = |place: usize, inner: &PlannedStep| (place, self.status(&step_path::inside(element, &inner.id)));
        let ended: HashMap<usize, StepStatus> = planned.steps_of(block_ix).map(|(place, inner)| status(place, inner)).collect();
        let is = |place: &usize, wanted: StepStatus| ended.get(place) == Some(&wanted);
        let mut done: BTreeSet<usize> = ended.keys().copied().filter(|place| is(place, StepStatus::Succeeded)).collect();
        let acted: BTreeSet<usize> = planned
            .steps_of(block_ix)
            .filter(|(place, inner)| done.contains(place) && acts(inner, &planned.pipeline))
            .map(|(place, _)| place)
            .collect();
        for (_, gate) in planned.steps_of(block_ix) {
            let of_gate = self.steps.get(step_path::inside(element, &gate.id).as_str());
            if of_gate.is_some_and(|own| own.status == StepStatus::Failed && own.kind == Some(FailureKind::Quality)) {
                let again = judged(planned, block_ix, gate);
                done.retain(|place| !again.contains(place));
            }
        }
        done.extend(&acted);
        loop {
            let is_new = |place: &usize| !done.contains(place) && !is(place, StepStatus::Skipped);
            let rests_on_new = |place: &&usize| !acted.contains(place) && block.needs(**place).iter().any(|(above, _)| is_new(above));
            let anew: Vec<usize> = done.iter().filter(rests_on_new).copied().collect();
            if anew.is_empty() {
                return done;
            }
            done.retain(|place| !anew.contains(place));
        }
    }

    /// The details of an element that is kept, with what counts for the run.
    fn details(&self, planned: &PipelinePlan, element: &StepPath, own: &StepCourse) -> SharedValue {
        let inside: Vec<(&StepPath, &StepCourse)> =
            self.below.get(element).into_iter().flatten().filter_map(|path| Some((path, self.steps.get(path)?))).collect();
        let formats = |path: &StepPath| {
            let is_format = |step: &PlannedStep| matches!(step.step.kind, StepKind::Format(_)) && *step.id == *step_path::id(path);
            planned.steps.iter().any(is_format)
        };
        let marks = [
            ("sent", own.has_sent || inside.iter().any(|(_, step)| step.has_sent)),
            ("allowed_failure", own.details["allowed_failure"] == true || inside.iter().any(|(_, step)| step.status == StepStatus::Failed)),
            (
                "formatted",
                own.details["formatted"] == true
                    || formats(element)
                    || inside.iter().any(|(path, step)| step.output == own.output && formats(path)),
            ),
        ];
        let mut marks: Map<String, Value> =
            marks.into_iter().filter(|(_, is)| *is).map(|(name, is)| (name.to_owned(), is.into())).collect();
        if own.is_unmet || inside.iter().any(|(_, step)| step.is_unmet) {
            marks.insert("passed".into(), false.into());
        }
        with_mark(&own.details, marks)
    }
}

/// Details with what says that an earlier run did it.
fn with_mark(details: &SharedValue, mut marks: Map<String, Value>) -> SharedValue {
    let mut all = details.as_object().cloned().unwrap_or_default();
    marks.insert("kept".into(), json!(true));
    all.extend(marks);
    Value::Object(all).into()
}

/// Whether a step acts outside: what it did is there, whatever its result is.
fn acts(step: &PlannedStep, pipeline: &Pipeline) -> bool {
    let effects = step.step.kind.effects(pipeline);
    effects.go_outside() || effects.prints
}

/// The places of the steps whose texts a gate judged.
fn judged(planned: &PipelinePlan, block_ix: BlockIx, gate: &PlannedStep) -> Vec<usize> {
    let StepKind::Gate(own) = &gate.step.kind else { return vec![] };
    let block = planned.block(block_ix);
    let read = own.of.reads.iter().filter_map(|read| match read.path.as_slice() {
        [steps, id, ..] if steps == "steps" => block.place(id),
        _ => None,
    });
    let is_of_gate = |place: usize| place == gate.place;
    let refined = planned.refinement.as_ref().filter(|refinement| {
        let judge = planned.step(refinement.gate);
        refinement.block == block_ix && judge.block == block_ix && is_of_gate(judge.place)
    });
    read.chain(refined.into_iter().flat_map(|refinement| refinement.stretch.iter().copied()).filter(|place| !is_of_gate(*place))).collect()
}

impl Scheduler<'_> {
    /// Ends a step that an earlier run did, or asks a person about one that may have acted there. `false`: it begins as any other.
    pub(crate) fn keeps(&mut self, at: NodeRef) -> bool {
        let Some(KeptStep { state, output, details }) = self.state.kept.kept_for(&self.state.steps, at).cloned() else { return false };
        let step = self.path(at);
        match state {
            KeptState::Open => return false,
            KeptState::Done => self.emit(Happening::StepSucceeded { step, output, details }),
            KeptState::InDoubt => {
                let own = self.step(at);
                self.steps().begin_attempt(at, &own, None);
                self.asks_again(step);
            }
        }
        true
    }
}
