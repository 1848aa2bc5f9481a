//! A run that begins from a step of another run: which steps are taken over, and their events.

use std::collections::BTreeSet;

use crate::event::{Event, Happening};
use crate::model::{PipelineId, step_path};
use crate::plan::{PipelinePlan, Plan};

/// Why a run cannot begin from a step of another run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pipeline has no step \"{step}\"")]
pub struct UnknownStepError {
    /// The step.
    pub step: String,
    /// The steps of the pipeline.
    pub known: Vec<String>,
}

/// The steps of a run that a new run takes over when it begins from `from`: those that succeeded or were skipped and depend neither on `from` nor on
/// any other step that runs again. If the gate of a refinement runs again, the step that it had refined runs again too.
///
/// # Errors
/// Fails if the pipeline has no such step in its own list.
pub fn taken_over(plan: &Plan, events: &[Event], from: &str) -> Result<BTreeSet<String>, UnknownStepError> {
    let planned = plan.pipeline(PipelineId(0));
    let Some(first) = planned.block(planned.main).place(from) else {
        let known = planned.pipeline.steps.iter().map(|step| step.id.value.clone()).collect();
        return Err(UnknownStepError { step: from.to_owned(), known });
    };
    Ok(taken_without(planned, events, &[first]))
}

/// The steps that a new run takes over when those at these places of the pipeline's own list run again.
pub(super) fn taken_without(planned: &PipelinePlan, events: &[Event], anew: &[usize]) -> BTreeSet<String> {
    let block = planned.block(planned.main);
    let steps = &planned.pipeline.steps;
    let (mut done, mut is_refined) = (BTreeSet::new(), false);
    for happening in events_that_count(events).map(|event| &event.happening) {
        let place = |step: &str| block.place(step);
        match happening {
            Happening::StepSucceeded { step, .. } | Happening::StepSkipped { step } => done.extend(place(step)),
            Happening::StepStarted { step, .. }
            | Happening::StepFailed { step, .. }
            | Happening::StepBlocked { step, .. }
            | Happening::StepCancelled { step, .. } => {
                done.retain(|done| Some(*done) != place(step));
            }
            Happening::RefinementStarted { target, .. } if place(target).is_some() => is_refined = true,
            _ => {}
        }
    }
    done.retain(|place| !anew.contains(place));
    let refined = planned.refinement.as_ref().filter(|_| is_refined);
    let of = |ix| Some(planned.step(ix)).filter(|step| step.block == planned.main).map(|step| step.place);
    loop {
        let is_torn = |refined: &&crate::plan::Refinement| of(refined.gate).is_some_and(|gate| !done.contains(&gate));
        let torn = refined.filter(is_torn).and_then(|refined| of(refined.target));
        let rests_on_new = |place: &usize| Some(*place) == torn || block.needs(*place).iter().any(|(above, _)| !done.contains(above));
        let anew: Vec<usize> = done.iter().copied().filter(rests_on_new).collect();
        if anew.is_empty() {
            break;
        }
        done.retain(|place| !anew.contains(place));
    }
    done.into_iter().filter_map(|place| steps.get(place)).map(|step| step.id.value.clone()).collect()
}

/// The events that a run takes over with these steps, without the first event. Numbers and times are those of the old run.
pub fn events_of(steps: &BTreeSet<String>, events: &[Event]) -> Vec<Event> {
    let is_of = |event: &&Event| match event.happening.step() {
        Some(step) => steps.contains(step_path::outermost(step)),
        // A resume loses the open calls, and does so in the copy too.
        None => matches!(event.happening, Happening::RunResumed { .. }),
    };
    events_that_count(events).filter(is_of).cloned().collect()
}

/// The events of a run without those that a resume undid: between a cancellation and the resume after it, only the decisions of people count.
pub(super) fn events_that_count(events: &[Event]) -> impl Iterator<Item = &Event> {
    let mut is_cancelled = false;
    events.iter().filter(move |event| match event.happening {
        Happening::CancelRequested { waits_until_ms: None, .. } | Happening::GraceEnded => {
            is_cancelled = true;
            false
        }
        Happening::RunResumed { .. } => {
            is_cancelled = false;
            true
        }
        Happening::ApprovalAnswered { .. } => true,
        _ => !is_cancelled,
    })
}
