//! The personal values of a run, found by what its author marked, and the mask made of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Record;
use crate::event::{Event, Happening, Marks, RunStart};
use crate::redact::Redactor;

/// Fields of a person that are personal data.
const PERSON: [&str; 3] = ["name", "email", "phone"];

/// Learns the personal values of a run while it goes on, or from its events afterwards.
#[derive(Debug, Default)]
pub struct Mask {
    personal: Personal,
    redactor: Redactor,
}

impl Mask {
    /// A mask that knows secrets only.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Mask {
        Mask { personal: Personal::default(), redactor: Redactor::new(secrets, []) }
    }

    /// Takes an event in.
    pub fn take(&mut self, event: &Event) {
        let new = self.personal.take(event);
        if !new.is_empty() {
            self.redactor.learn(&new);
        }
    }

    /// Masks texts with all that is known so far.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

/// A record for others: everything that people, models and tools said is masked.
pub fn masked(mut record: Record, events: &[Event]) -> Record {
    let mut mask = Mask::default();
    events.iter().for_each(|event| mask.take(event));
    let redactor = mask.redactor();
    let hide = |value: &mut Value| *value = redactor.redact_value(value);
    hide(&mut record.inputs);
    hide(&mut record.outputs);
    record.failure.iter_mut().for_each(hide);
    for step in &mut record.steps {
        hide(&mut step.output);
        hide(&mut step.details);
        step.error.iter_mut().for_each(hide);
    }
    for interaction in &mut record.interactions {
        hide(&mut interaction.input);
        hide(&mut interaction.output);
        interaction.error.iter_mut().for_each(|error| *error = redactor.redact(error));
    }
    for asked in &mut record.questions {
        asked.question = redactor.redact(&asked.question);
    }
    for plan in &mut record.plans {
        plan.reasoning = redactor.redact(&plan.reasoning);
    }
    for decision in &mut record.decisions {
        decision.target = redactor.redact(&decision.target);
    }
    for failure in &mut record.failures {
        hide(&mut failure.question);
        hide(&mut failure.sent);
        failure.cause = redactor.redact(&failure.cause);
        hide(&mut failure.scorecard);
        for verdict in failure.verdicts.iter_mut().flatten() {
            verdict.description = redactor.redact(&verdict.description);
            verdict.expected.iter_mut().for_each(|expected| *expected = redactor.redact(expected));
            verdict.feedback = redactor.redact(&verdict.feedback);
            verdict.evidence = redactor.redact(&verdict.evidence);
        }
    }
    record
}

#[derive(Debug, Default)]
struct Personal {
    marks: Marks,
    /// Marked steps that run a plan: what its steps give is personal too.
    plans: BTreeSet<String>,
    values: BTreeSet<String>,
}

impl Personal {
    /// Takes an event in and gives the values that are new.
    fn take(&mut self, event: &Event) -> Vec<Value> {
        let mut found = BTreeSet::new();
        match &event.happening {
            Happening::RunStarted(start) => {
                self.marks = start.marks.clone();
                found = given(start);
            }
            Happening::PlanAccepted { step, .. } if self.is_marked(step) => {
                self.plans.insert(step.to_string());
            }
            Happening::StepSucceeded { step, output, .. } => {
                let is_planned = step.rsplit_once('/').is_some_and(|(plan, _)| self.plans.contains(plan));
                if self.is_marked(step) || is_planned {
                    leaves(output, &mut found);
                } else {
                    columns(output, &self.marks.columns, &mut found);
                }
            }
            Happening::ToolReplied { result: Some(result), .. } => columns(result, &self.marks.columns, &mut found),
            _ => {}
        }
        found.retain(|value| self.values.insert(value.clone()));
        found.into_iter().map(Value::String).collect()
    }

    /// Whether the author of a step marked what it gives.
    fn is_marked(&self, step: &str) -> bool {
        let id = step.rsplit('/').next().unwrap_or(step).split('[').next().unwrap_or(step);
        self.marks.steps.iter().any(|marked| marked == id)
    }
}

/// Personal values that a run is started with.
fn given(start: &RunStart) -> BTreeSet<String> {
    let mut values = BTreeSet::new();
    let inputs = start.marks.inputs.iter().filter_map(|name| start.inputs.get(name));
    let person = PERSON.iter().filter_map(|name| start.person.get(name));
    inputs.chain(person).for_each(|value| leaves(value, &mut values));
    values
}

/// Texts and numbers of a value; true, false and empty say nothing about a person.
fn leaves(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => {
            into.insert(text.clone());
        }
        Value::Number(number) => {
            into.insert(number.to_string());
        }
        Value::Array(list) => list.iter().for_each(|v| leaves(v, into)),
        Value::Object(object) => object.values().for_each(|v| leaves(v, into)),
        _ => {}
    }
}

fn columns(value: &Value, marked: &[String], into: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| columns(v, marked, into)),
        Value::Object(object) => {
            for (name, value) in object {
                if marked.contains(name) { leaves(value, into) } else { columns(value, marked, into) }
            }
        }
        _ => {}
    }
}
