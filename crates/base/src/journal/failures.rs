//! Gates that did not pass their first text, and how they ended.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::{Event, Happening, StepPath, Verdict};
use crate::model::step_path;

/// The history of a gate that did not pass the first text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct FailureRecord {
    /// The gate.
    pub gate: String,
    /// What was asked.
    pub question: Value,
    /// The criteria: id, description, expected.
    pub scorecard: Value,
    /// The verdicts of each judged round; a second round that could not be finished has none.
    pub verdicts: Vec<Vec<Verdict>>,
    /// The text judged in each round that did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Value>,
    /// Whether the refinement was tried.
    pub refinement_tried: bool,
    /// Whether it worked; empty: no refinement was tried.
    pub refinement_worked: Option<bool>,
    /// The text that was sent in the end.
    pub sent: Value,
    /// The cause in one sentence.
    pub cause: String,
    /// When the outcome was final.
    pub time: DateTime<Utc>,
    /// Whether a later round, try or attempt replaced this one: it then does not count for the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

impl FailureRecord {
    /// Whether the second round passed.
    pub fn is_mended(&self) -> bool {
        self.refinement_worked == Some(true)
    }

    /// Whether it counts for the run: the gate did not pass in the end.
    pub fn counts(&self) -> bool {
        !self.superseded && !self.is_mended()
    }

    /// Returns the criteria that were not met in the last judged round.
    pub fn not_met(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.last().into_iter().flatten().filter(|verdict| !verdict.passed)
    }
}

/// Places of the records of gates that may still change.
#[derive(Default)]
pub(super) struct FailedGates(HashMap<StepPath, usize>);

impl FailedGates {
    pub(super) fn take(&mut self, failures: &mut Vec<FailureRecord>, event: &Event) {
        match &event.happening {
            Happening::StepStarted { step, .. }
            | Happening::StepSkipped { step }
            | Happening::StepBlocked { step, .. }
            | Happening::StepsOpened { step, round: 2.., .. } => self.begins_anew(failures, step),
            Happening::StepSucceeded { step, output, .. } => self.over(failures, step, output, event),
            Happening::StepFailed { step, .. } => self.over(failures, step, &Value::Null, event),
            Happening::GateFailed { step, verdicts, question, judged, cause, for_good, .. } => {
                let scorecard =
                    verdicts.iter().map(|v| json!({ "id": v.id, "description": v.description, "expected": v.expected })).collect();
                let place = *self.0.entry(step.clone()).or_insert_with(|| {
                    failures.push(FailureRecord {
                        gate: step.to_string(),
                        question: question.clone(),
                        scorecard,
                        time: event.time,
                        ..FailureRecord::default()
                    });
                    failures.len() - 1
                });
                let failure = &mut failures[place];
                if !judged.is_null() {
                    failure.verdicts.push(verdicts.clone());
                    failure.judged.push(judged.clone());
                }
                failure.cause.clone_from(cause);
                if *for_good && failure.refinement_tried {
                    failure.refinement_worked = Some(false);
                }
            }
            Happening::GatePassed { step, verdicts, .. } => {
                if let Some(failure) = self.failure_of(failures, step) {
                    failure.verdicts.push(verdicts.clone());
                    failure.refinement_worked = Some(true);
                }
            }
            Happening::RefinementStarted { step, .. } => {
                if let Some(failure) = self.failure_of(failures, step) {
                    failure.refinement_tried = true;
                }
            }
            _ => {}
        }
    }

    fn failure_of<'f>(&self, failures: &'f mut [FailureRecord], gate: &StepPath) -> Option<&'f mut FailureRecord> {
        failures.get_mut(*self.0.get(gate)?)
    }

    /// Starts a containing step again: verdicts of the gates inside it from earlier rounds, tries and attempts no longer count.
    fn begins_anew(&mut self, failures: &mut [FailureRecord], step: &StepPath) {
        self.0.retain(|gate, place| {
            let is_over = step_path::leads_into(gate, step);
            failures[*place].superseded |= is_over;
            !is_over
        });
    }

    /// Stores the final output of a gate that had failed.
    fn over(&self, failures: &mut [FailureRecord], gate: &StepPath, output: &Value, event: &Event) {
        if let Some(failure) = self.failure_of(failures, gate) {
            failure.sent = output.get("text").cloned().unwrap_or_else(|| output.clone());
            failure.time = event.time;
        }
    }
}
