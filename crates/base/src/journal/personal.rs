//! Finds the personal values of a run from its author's marks, and masks them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::batches::{BatchRecord, batch_that_ended};
use super::content::{NAMES, VALUES};
use super::record::record;
use super::{Record, RunBrief};
use crate::event::{Event, Failure, Happening, HasTexts, Marks, ModelAnswer, StepDetails, TextHolds, TextMut, Verdict};
use crate::model::{PERSONAL, step_path};
use crate::redact::Redactor;

/// Learns the personal values of a run, during the run or from its events afterwards. The same events always give a value the same marker.
#[derive(Debug, Default)]
pub struct PersonalMask {
    personal: PersonalTexts,
    redactor: Redactor,
    /// Number of events applied.
    taken: usize,
    /// Number of events whose texts have been numbered. This is done on demand, since most runs never show a number.
    numbered: Cell<usize>,
}

/// A mask together with the events of its run.
#[derive(Debug, Clone, Copy)]
pub struct RunMask<'a> {
    mask: &'a PersonalMask,
    events: &'a [Event],
}

impl PersonalMask {
    /// Creates a mask that knows secrets only.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> PersonalMask {
        PersonalMask { redactor: Redactor::new(secrets, []), ..PersonalMask::default() }
    }

    /// Applies the new events, given all events of the run. Returns whether they held new personal values.
    pub fn take(&mut self, events: &[Event]) -> bool {
        let mut is_new = false;
        for event in events.get(self.taken..).unwrap_or_default() {
            let new = self.personal.take(event);
            if !new.is_empty() || !self.personal.placed.is_empty() {
                self.number(events);
            }
            if !new.is_empty() {
                self.redactor.learn_in_order(&new);
                is_new = true;
            }
            self.personal.placed.drain(..).for_each(|value| self.redactor.number_whole(&value));
            self.taken += 1;
        }
        is_new
    }

    /// Learns the personal values of one event, for texts without numbered markers ([`PersonalMask::name`]).
    pub(crate) fn learn(&mut self, event: &Event) {
        let new = self.personal.take(event);
        self.personal.placed.clear();
        self.redactor.learn(&new);
    }

    /// Returns a name that a model, an endpoint or a server may have made, or `(masked)` if it holds a known secret or something that is
    /// known or looks to be personal.
    pub(crate) fn name(&self, name: &str) -> String {
        if self.redactor.redact(name) == name { name } else { "(masked)" }.to_owned()
    }

    /// With all events of the run.
    pub fn for_run<'a>(&'a self, events: &'a [Event]) -> RunMask<'a> {
        RunMask { mask: self, events }
    }

    /// Numbers values that look personal in the applied events. They are numbered in the order of the events, so that a value has the same
    /// number regardless of what is shown first.
    fn number(&self, events: &[Event]) {
        let from = self.numbered.replace(self.taken);
        for event in events.get(from..self.taken).unwrap_or_default() {
            let content = event.happening.text_fields();
            if let (false, Ok(Value::Object(fields))) = (content.is_empty(), serde_json::to_value(&event.happening)) {
                content
                    .iter()
                    .filter(|(_, holds)| *holds != TextHolds::Hash)
                    .filter_map(|(name, _)| fields.get(*name))
                    .for_each(|value| self.redactor.number(value));
            }
        }
    }
}

impl<'a> RunMask<'a> {
    /// Returns a redactor for all personal values known so far.
    pub fn redactor(&self) -> &'a Redactor {
        self.mask.number(self.events);
        &self.mask.redactor
    }

    /// Returns how the elements of a step of the pipeline's own list ended, if it has elements and has just ended.
    pub fn batch(&self, step: &str) -> Option<BatchRecord> {
        batch_that_ended(step, self.events)
    }

    /// Returns the mask, to hide fields of events.
    pub(super) fn mask(&self) -> &'a PersonalMask {
        self.mask.number(self.events);
        self.mask
    }
}

impl PersonalMask {
    /// Masks a field of an event.
    pub(super) fn hide(&self, event: &Event, name: &str, holds: TextHolds, value: &mut Value) {
        let step = event.happening.step().map_or("", |step| step);
        match holds {
            TextHolds::Given => self.hide_given(name, value),
            TextHolds::Output => self.hide_output(step, value),
            TextHolds::Arguments => self.hide_arguments(value),
            TextHolds::Reply => {
                let said = value.get_mut("said").and_then(|said| said.get_mut("text"));
                said.into_iter().for_each(|text| self.hide_reply(step, text));
                self.hide_texts(value);
            }
            TextHolds::Values => self.hide_values(value, &BTreeSet::new()),
            TextHolds::Texts | TextHolds::Sentence => self.hide_texts(value),
            TextHolds::Hash => *value = Value::Null,
        }
    }

    /// Returns a failure with its message masked.
    pub fn failure(&self, failure: &Failure) -> Failure {
        Failure { message: self.redactor.redact(&failure.message), ..failure.clone() }
    }

    /// Masks inputs, a person or outputs: fields marked as a whole.
    fn hide_given(&self, name: &str, value: &mut Value) {
        let marks = &self.personal.marks;
        if name == "outputs" && marks.whole_output {
            return self.hide_whole(value);
        }
        let Value::Object(fields) = value else { return self.hide_values(value, &BTreeSet::new()) };
        for (key, value) in fields {
            let is_marked = match name {
                "person" => PERSONAL.contains(&key.as_str()),
                "outputs" => marks.outputs.contains(key) || marks.columns.iter().any(|marked| same(marked, key)),
                _ => marks.inputs.contains(key) || marks.columns.iter().any(|marked| same(marked, key)),
            };
            if is_marked { self.hide_whole(value) } else { self.hide_values(value, &BTreeSet::new()) }
        }
    }

    fn hide_output(&self, step: &str, value: &mut Value) {
        if self.personal.is_personal(step) {
            self.hide_whole(value)
        } else {
            let mut also = self.personal.found.get(step).cloned().unwrap_or_default();
            let copies = self.personal.marks.fields.iter().filter(|(of, _)| *of == step_path::id(step));
            also.extend(copies.map(|(_, field)| field.clone()));
            self.hide_values(value, &also)
        }
    }

    /// Masks the text of a model; as a whole if its step is marked.
    fn hide_reply(&self, step: &str, text: &mut Value) {
        if self.personal.is_personal(step) { self.hide_whole(text) } else { self.hide_texts(text) }
    }

    /// Masks arguments; those that are marked inputs of a pipeline as a whole.
    fn hide_arguments(&self, value: &mut Value) {
        self.hide_values(value, &self.personal.marks.inputs.iter().cloned().collect());
    }

    /// Masks values; those of marked columns and fields, and of `also`, as a whole.
    fn hide_values(&self, value: &mut Value, also: &BTreeSet<String>) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_values(value, also)),
            Value::Object(map) => self.each(map, |name, value| {
                if self.personal.marks.columns.iter().any(|marked| same(marked, name)) || also.contains(name) {
                    self.hide_whole(value);
                } else {
                    self.hide_values(value, also);
                }
            }),
            plain => *plain = self.redactor.redact_value(plain),
        }
    }

    /// Masks a value that is personal as a whole, of whatever type.
    fn hide_whole(&self, value: &mut Value) {
        match value {
            Value::Null => {}
            Value::String(text) => *text = self.redactor.redact_whole(text),
            Value::Bool(_) | Value::Number(_) => *value = Value::String(self.redactor.redact_whole(&value.to_string())),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_whole(value)),
            Value::Object(map) => self.each(map, |_, value| self.hide_whole(value)),
        }
    }

    /// Masks texts among names and ids, which stay.
    fn hide_texts(&self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_texts(value)),
            Value::Object(map) => {
                for (key, value) in map.iter_mut().filter(|(key, _)| !NAMES.contains(&key.as_str())) {
                    if VALUES.contains(&key.as_str()) { self.hide_arguments(value) } else { self.hide_texts(value) }
                }
            }
            plain => *plain = self.redactor.redact_value(plain),
        }
    }

    /// Masks each value of an object, and personal values in its keys.
    fn each(&self, map: &mut Map<String, Value>, hide: impl Fn(&str, &mut Value)) {
        for (key, mut value) in std::mem::take(map) {
            hide(&key, &mut value);
            map.insert(self.redactor.redact(&key), value);
        }
    }

    /// The calls of tools and models in a record.
    fn hide_calls(&self, record: &mut Record, redactor: &Redactor) {
        for call in &mut record.tool_calls {
            self.hide_arguments(&mut call.with);
            call.result.iter_mut().for_each(|result| self.hide_output(&call.step, result));
            call.error.iter_mut().for_each(|error| *error = redactor.redact(error));
        }
        for interaction in &mut record.interactions {
            self.hide_texts(&mut interaction.input);
            let step = interaction.action.split_once(' ').map_or("", |(_, step)| step);
            match &mut interaction.output {
                said @ Value::Object(_) => {
                    said.get_mut("text").into_iter().for_each(|text| self.hide_reply(step, text));
                    self.hide_texts(said);
                }
                said => self.hide_reply(step, said),
            }
            interaction.error.iter_mut().for_each(|error| *error = redactor.redact(error));
        }
    }
}

/// Returns the summary of a run for others, without personal data. `None`: the events do not start with `run_started`.
pub fn brief(events: &[Event]) -> Option<RunBrief> {
    let mut record = record(events)?;
    let mut mask = PersonalMask::default();
    mask.take(events);
    mask.for_run(events).mask().hide_given("inputs", &mut record.inputs);
    Some(RunBrief::from_record(&record))
}

/// Masks a record for others: all texts of people, models and tools.
pub fn masked(mut record: Record, events: &[Event]) -> Record {
    let mut mask = PersonalMask::default();
    mask.take(events);
    let redactor = mask.for_run(events).redactor();
    let none = BTreeSet::new();
    mask.hide_given("inputs", &mut record.inputs);
    mask.hide_given("outputs", &mut record.outputs);
    mask.hide_given("person", &mut record.person);
    record.conversation.iter_mut().for_each(|own| own.of = redactor.redact(&own.of));
    record.failure.iter_mut().for_each(|failure| mask.hide_texts(failure));
    for step in &mut record.steps {
        mask.hide_output(&step.step, &mut step.output);
        mask.hide_texts(&mut step.details);
        step.error.iter_mut().for_each(|error| mask.hide_texts(error));
        step.tries.iter_mut().filter_map(|one| one.error.as_mut()).for_each(|error| *error = redactor.redact(error));
    }
    for element in record.batches.iter_mut().flat_map(|batch| &mut batch.open) {
        mask.hide_values(&mut element.item, &none);
        element.message = redactor.redact(&element.message);
    }
    mask.hide_calls(&mut record, redactor);
    for sent in &mut record.sent {
        let rejected = sent.rejected.iter_mut().flat_map(|one| [&mut one.recipient, &mut one.reason]);
        sent.texts.iter_mut().chain(rejected).for_each(|text| *text = redactor.redact(text));
    }
    for asked in &mut record.questions {
        asked.show.iter_mut().chain([&mut asked.question]).for_each(|text| *text = redactor.redact(text));
    }
    for answer in &mut record.answers {
        let texts = [&mut answer.question, &mut answer.comment, &mut answer.by];
        answer.show.iter_mut().chain(texts).for_each(|text| *text = redactor.redact(text));
        mask.hide_values(&mut answer.fields, &none);
    }
    for plan in &mut record.plans {
        plan.reasoning = redactor.redact(&plan.reasoning);
    }
    for one in record.tasks.iter_mut().flat_map(|task| &mut task.tries) {
        [&mut one.thought, &mut one.code].into_iter().chain(&mut one.error).for_each(|text| *text = redactor.redact(text));
        one.verdicts.iter_mut().for_each(|verdict| hide_verdict(redactor, verdict));
    }
    for dialogue in &mut record.dialogues {
        let texts = dialogue.turns.iter_mut().map(|one| &mut one.turn.text).chain([&mut dialogue.reason]);
        texts.for_each(|text| *text = redactor.redact(text));
    }
    for decision in &mut record.decisions {
        decision.target = redactor.redact(&decision.target);
        decision.by = redactor.redact(&decision.by);
    }
    for review in &mut record.needs_review {
        review.cause = redactor.redact(&review.cause);
    }
    for key in &mut record.rejected_keys {
        key.message = redactor.redact(&key.message);
    }
    for failure in &mut record.failures {
        mask.hide_values(&mut failure.question, &none);
        mask.hide_values(&mut failure.sent, &none);
        failure.judged.iter_mut().for_each(|judged| mask.hide_values(judged, &none));
        failure.cause = redactor.redact(&failure.cause);
        mask.hide_texts(&mut failure.scorecard);
        for verdict in failure.verdicts.iter_mut().flatten() {
            hide_verdict(redactor, verdict);
        }
    }
    record
}

fn hide_verdict(redactor: &Redactor, verdict: &mut Verdict) {
    verdict.each_text_mut(&mut |text| {
        if let TextMut::Text(text) = text {
            *text = redactor.redact(text);
        }
    });
}

#[derive(Debug, Default)]
struct PersonalTexts {
    marks: Marks,
    /// Marked steps that run a plan: the outputs of the plan's steps are personal too.
    plans: BTreeSet<String>,
    /// Columns that a query derived from personal ones, by step.
    found: BTreeMap<String, BTreeSet<String>>,
    /// Values that are masked only at their place and have no number yet.
    placed: Vec<String>,
    /// Known values, each with the key where it was found.
    values: BTreeSet<(String, String)>,
}

impl PersonalTexts {
    /// Applies an event and returns the new values, each as `{ key: value }`.
    fn take(&mut self, event: &Event) -> Vec<Value> {
        let mut found = KeyedValues::default();
        match &event.happening {
            Happening::RunStarted(start) => {
                self.marks = start.marks.clone();
                self.add_inputs(&start.inputs, &start.person, &mut found);
                // Values known from earlier runs of the conversation.
                let earlier = start.conversation.iter().flat_map(|own| &own.personal);
                found.extend(earlier.map(|value| (value.clone(), EARLIER.to_owned())));
            }
            Happening::CallOpened { inputs, person, .. } => self.add_inputs(inputs, person, &mut found),
            Happening::PlanAccepted { step, .. } if self.is_marked(step) => {
                self.plans.insert(step.to_string());
            }
            Happening::StepSucceeded { step, output, details } | Happening::ResultKept { step, output, details, .. } => {
                self.output(step, output, StepDetails::from_value(details).personal(), &mut found);
            }
            // Learned before the step ends, because lines about a run are written while it is running.
            Happening::ModelReplied { step, reply: ModelAnswer::Said { text, calls, .. }, .. } => {
                calls.iter().for_each(|call| self.arguments(&call.arguments, &mut found));
                if !self.marks.columns.is_empty() || self.is_personal(step) {
                    let said = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
                    self.output(step, &said, std::iter::empty(), &mut found);
                }
            }
            Happening::ToolCalled { with, .. } => self.arguments(with, &mut found),
            Happening::TaskTried { step, result: Some(result), .. } => self.output(step, result, std::iter::empty(), &mut found),
            Happening::TaskExecuted { step, result: Some(result), personal, .. } => {
                self.output(step, result, personal.iter().map(String::as_str), &mut found);
            }
            Happening::ToolReplied { step, result: Some(result), personal, .. } => {
                let of_query = personal.iter().map(String::as_str);
                if personal.is_empty() {
                    columns(result, &self.marks.columns, &mut found)
                } else {
                    self.output(step, result, of_query, &mut found)
                }
            }
            _ => {}
        }
        found.retain(|value| self.values.insert(value.clone()));
        found.into_iter().map(|(value, key)| json!({ key: value })).collect()
    }

    /// Learns from the output of a step, with the columns that its query derived from personal ones.
    fn output<'a>(&mut self, step: &str, output: &Value, of_query: impl Iterator<Item = &'a str>, found: &mut KeyedValues) {
        let of_query: Vec<String> = of_query.map(str::to_owned).collect();
        if self.is_personal(step) {
            leaves("", output, found);
        } else {
            columns(output, &self.marks.columns, found);
            let mut made = KeyedValues::new();
            columns(output, &of_query, &mut made);
            // A sum or count over people is not masked elsewhere unless it is as long as a phone number.
            let is_count = |value: &str| value.parse::<f64>().is_ok() && value.bytes().filter(u8::is_ascii_digit).count() < 5;
            for (value, key) in made {
                if is_count(&value) {
                    self.placed.push(value)
                } else {
                    found.insert((value, key));
                }
            }
        }
        if !of_query.is_empty() {
            self.found.entry(step.to_owned()).or_default().extend(of_query);
        }
    }

    /// Learns personal values from arguments, which a called pipeline may use as its inputs.
    fn arguments(&self, with: &Value, found: &mut KeyedValues) {
        columns(with, &self.marks.columns, found);
        columns(with, &self.marks.inputs, found);
    }

    /// Learns the personal values that a run or a called pipeline starts with.
    fn add_inputs(&self, inputs: &Value, person: &Value, found: &mut KeyedValues) {
        for name in &self.marks.inputs {
            inputs.get(name).into_iter().for_each(|value| leaves(name, value, found));
        }
        for name in PERSONAL {
            person.get(name).into_iter().for_each(|value| leaves(name, value, found));
        }
        columns(inputs, &self.marks.columns, found);
    }

    /// Whether the output of a step is personal as a whole: its author marked the step, or the step whose plan contains it.
    fn is_personal(&self, step: &str) -> bool {
        self.is_marked(step) || step_path::split(step).is_some_and(|(plan, _)| self.plans.contains(plan))
    }

    /// Whether the author marked the output of a step.
    fn is_marked(&self, step: &str) -> bool {
        self.marks.steps.iter().any(|marked| marked == step_path::id(step))
    }
}

/// The key of values from earlier runs of a conversation.
const EARLIER: &str = "earlier";

/// Values with their keys.
type KeyedValues = BTreeSet<(String, String)>;

/// Collects the texts, numbers and booleans of a value.
fn leaves(key: &str, value: &Value, into: &mut KeyedValues) {
    match value {
        Value::String(text) if !text.trim().is_empty() => {
            into.insert((text.clone(), key.to_owned()));
        }
        Value::Bool(_) | Value::Number(_) => {
            into.insert((value.to_string(), key.to_owned()));
        }
        Value::Array(list) => list.iter().for_each(|v| leaves(key, v, into)),
        Value::Object(object) => object.iter().for_each(|(key, v)| leaves(key, v, into)),
        _ => {}
    }
}

fn columns(value: &Value, marked: &[String], into: &mut KeyedValues) {
    if marked.is_empty() {
        return;
    }
    match value {
        Value::Array(list) => list.iter().for_each(|v| columns(v, marked, into)),
        Value::Object(object) => {
            for (name, value) in object {
                if marked.iter().any(|marked| same(marked, name)) { leaves(name, value, into) } else { columns(value, marked, into) }
            }
        }
        _ => {}
    }
}

/// Whether two names mean the same column: SQL ignores case.
fn same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
