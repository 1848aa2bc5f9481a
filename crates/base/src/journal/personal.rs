//! The personal values of a run, found by what its author marked, and the mask made of them.

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

/// Learns the personal values of a run while it continues, or from its events afterwards. Whoever takes the same events masks a value
/// with the same marker.
#[derive(Debug, Default)]
pub struct PersonalMask {
    personal: PersonalTexts,
    redactor: Redactor,
    /// Events that were taken in.
    taken: usize,
    /// Events whose texts have their numbers: most runs show nothing that needs one.
    numbered: Cell<usize>,
}

/// A mask with the events of its run.
#[derive(Debug, Clone, Copy)]
pub struct RunMask<'a> {
    mask: &'a PersonalMask,
    events: &'a [Event],
}

impl PersonalMask {
    /// A mask that knows secrets only.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> PersonalMask {
        PersonalMask { redactor: Redactor::new(secrets, []), ..PersonalMask::default() }
    }

    /// Takes in what has come, of all events of the run; whether there was something personal in it that was not known.
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

    /// Learns the personal values of one event, for texts that get no marker with a number ([`PersonalMask::name`]).
    pub(crate) fn learn(&mut self, event: &Event) {
        let new = self.personal.take(event);
        self.personal.placed.clear();
        self.redactor.learn(&new);
    }

    /// A name that a model, an endpoint or a server may have made; `(masked)` if it holds a secret or something personal, as far as that is known or
    /// can be seen.
    pub(crate) fn name(&self, name: &str) -> String {
        if self.redactor.redact(name) == name { name } else { "(masked)" }.to_owned()
    }

    /// With all events of the run.
    pub fn of<'a>(&'a self, events: &'a [Event]) -> RunMask<'a> {
        RunMask { mask: self, events }
    }

    /// Numbers what has the shape of personal data in the events that were taken in. In their order, so that a value has the same number wherever
    /// the run is shown, whatever is shown first.
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
    /// Masks texts with all that is known so far.
    pub fn redactor(&self) -> &'a Redactor {
        self.mask.number(self.events);
        &self.mask.redactor
    }

    /// How the elements of a step of the pipeline's own list ended, where it has some and has just ended.
    pub fn batch(&self, step: &str) -> Option<BatchRecord> {
        batch_that_ended(step, self.events)
    }

    /// The mask, to hide fields of events.
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

    /// A failure as it may be read.
    pub fn failure(&self, failure: &Failure) -> Failure {
        Failure { message: self.redactor.redact(&failure.message), ..failure.clone() }
    }

    /// Inputs, a person, or outputs: what is marked as a whole.
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

    /// The text of a model: of a marked step as a whole, whatever it is.
    fn hide_reply(&self, step: &str, text: &mut Value) {
        if self.personal.is_personal(step) { self.hide_whole(text) } else { self.hide_texts(text) }
    }

    /// Arguments, of a pipeline too: its marked inputs as a whole.
    fn hide_arguments(&self, value: &mut Value) {
        self.hide_values(value, &self.personal.marks.inputs.iter().cloned().collect());
    }

    /// Values; those of marked columns and fields, and of `also`, as a whole.
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

    /// A value that is personal, whatever it is.
    fn hide_whole(&self, value: &mut Value) {
        match value {
            Value::Null => {}
            Value::String(text) => *text = self.redactor.redact_whole(text),
            Value::Bool(_) | Value::Number(_) => *value = Value::String(self.redactor.redact_whole(&value.to_string())),
            Value::Array(list) => list.iter_mut().for_each(|value| self.hide_whole(value)),
            Value::Object(map) => self.each(map, |_, value| self.hide_whole(value)),
        }
    }

    /// Texts among names and ids, which stay.
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

    /// Hides each value of an object, and what is personal in its keys.
    fn each(&self, map: &mut Map<String, Value>, hide: impl Fn(&str, &mut Value)) {
        for (key, mut value) in std::mem::take(map) {
            hide(&key, &mut value);
            map.insert(self.redactor.redact(&key), value);
        }
    }
}

/// A run in a few words, for others: nothing personal. `None`: the events do not begin with `run_started`.
pub fn brief(events: &[Event]) -> Option<RunBrief> {
    let mut record = record(events)?;
    let mut mask = PersonalMask::default();
    mask.take(events);
    mask.of(events).mask().hide_given("inputs", &mut record.inputs);
    Some(RunBrief::of(&record))
}

/// A record for others: everything that people, models and tools said is masked.
pub fn masked(mut record: Record, events: &[Event]) -> Record {
    let mut mask = PersonalMask::default();
    mask.take(events);
    let redactor = mask.of(events).redactor();
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
    for call in &mut record.tool_calls {
        mask.hide_arguments(&mut call.with);
        call.result.iter_mut().for_each(|result| mask.hide_output(&call.step, result));
        call.error.iter_mut().for_each(|error| *error = redactor.redact(error));
    }
    for interaction in &mut record.interactions {
        mask.hide_texts(&mut interaction.input);
        let step = interaction.action.split_once(' ').map_or("", |(_, step)| step);
        match &mut interaction.output {
            said @ Value::Object(_) => {
                said.get_mut("text").into_iter().for_each(|text| mask.hide_reply(step, text));
                mask.hide_texts(said);
            }
            said => mask.hide_reply(step, said),
        }
        interaction.error.iter_mut().for_each(|error| *error = redactor.redact(error));
    }
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
    /// Marked steps that run a plan: what its steps give is personal too.
    plans: BTreeSet<String>,
    /// Columns that a query made of personal ones, by step.
    found: BTreeMap<String, BTreeSet<String>>,
    /// Values that are masked at their place only, and have no number yet.
    placed: Vec<String>,
    /// Values that are known, each with the key that it was met under.
    values: BTreeSet<(String, String)>,
}

impl PersonalTexts {
    /// Takes an event in and gives the values that are new, each as `{ key: value }`.
    fn take(&mut self, event: &Event) -> Vec<Value> {
        let mut found = KeyedValues::default();
        match &event.happening {
            Happening::RunStarted(start) => {
                self.marks = start.marks.clone();
                self.given(&start.inputs, &start.person, &mut found);
                // What earlier runs knew of those who speak in them.
                let earlier = start.conversation.iter().flat_map(|own| &own.personal);
                found.extend(earlier.map(|value| (value.clone(), EARLIER.to_owned())));
            }
            Happening::CallOpened { inputs, person, .. } => self.given(inputs, person, &mut found),
            Happening::PlanAccepted { step, .. } if self.is_marked(step) => {
                self.plans.insert(step.to_string());
            }
            Happening::StepSucceeded { step, output, details } | Happening::ResultKept { step, output, details, .. } => {
                self.output(step, output, StepDetails::of(details).personal(), &mut found);
            }
            // Before the step or the pipeline has it: lines about a run are written as it continues.
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

    /// Takes the output of a step in, with the columns that its query made of personal ones.
    fn output<'a>(&mut self, step: &str, output: &Value, of_query: impl Iterator<Item = &'a str>, found: &mut KeyedValues) {
        let of_query: Vec<String> = of_query.map(str::to_owned).collect();
        if self.is_personal(step) {
            leaves("", output, found);
        } else {
            columns(output, &self.marks.columns, found);
            let mut made = KeyedValues::new();
            columns(output, &of_query, &mut made);
            // A sum or a count over people is looked for nowhere else, unless it is as long as the number of a phone.
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

    /// Personal values among arguments, which a called pipeline may take as its inputs.
    fn arguments(&self, with: &Value, found: &mut KeyedValues) {
        columns(with, &self.marks.columns, found);
        columns(with, &self.marks.inputs, found);
    }

    /// Personal values that a run, or a called pipeline, is started with.
    fn given(&self, inputs: &Value, person: &Value, found: &mut KeyedValues) {
        for name in &self.marks.inputs {
            inputs.get(name).into_iter().for_each(|value| leaves(name, value, found));
        }
        for name in PERSONAL {
            person.get(name).into_iter().for_each(|value| leaves(name, value, found));
        }
        columns(inputs, &self.marks.columns, found);
    }

    /// Whether the output of a step is personal as a whole: its author marked it, or the step whose plan it is of.
    fn is_personal(&self, step: &str) -> bool {
        self.is_marked(step) || step_path::split(step).is_some_and(|(plan, _)| self.plans.contains(plan))
    }

    /// Whether the author of a step marked what it gives.
    fn is_marked(&self, step: &str) -> bool {
        self.marks.steps.iter().any(|marked| marked == step_path::id(step))
    }
}

/// The key of values from earlier runs of a conversation.
const EARLIER: &str = "earlier";

/// Values with the keys they are under.
type KeyedValues = BTreeSet<(String, String)>;

/// Texts, numbers, true and false of a value.
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

/// Whether two names mean the same column: SQL knows no case.
fn same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
