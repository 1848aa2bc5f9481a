//! What the names that a text may read are made of.

use indexmap::IndexMap;

use super::files::of_field;
use super::places::{Back, Parts, Path, ValuePlace, below, named_place};
use super::{Caller, ChainIx, Labels, Seat};
use crate::model::{Data, Field, Filling, PERSONAL, PersonSource, Shape, StepKind, Text, Tool, ToolKind, Writer, closes};
use crate::plan::StepIx;
use crate::source::{Span, Spanned};
use crate::template::{EACH, is_place};

impl<'p> Labels<'p> {
    /// The place that a path of names leads to, as seen from a seat, and the chain of calls at whose end it is.
    pub(super) fn named(&self, chain: ChainIx, seat: Seat, path: &[String]) -> Option<(ChainIx, ValuePlace)> {
        let place = named_place(self.pipeline(chain), seat, path)?;
        let chain = if let ValuePlace::Person(_) = place { self.holder_of_person(chain)? } else { chain };
        Some((chain, place))
    }

    /// The pipeline that says who the person is: this one, or the nearest that calls it.
    fn holder_of_person(&self, mut chain: ChainIx) -> Option<ChainIx> {
        while self.pipeline(chain).pipeline.person.is_none() {
            chain = self.caller(chain)?.0;
        }
        Some(chain)
    }

    /// What a place is made of, one step back.
    pub(super) fn made_of(&mut self, chain: ChainIx, place: &ValuePlace) -> Vec<Back> {
        let planned = self.pipeline(chain);
        let step = place.step();
        let reader = step.map_or(String::new(), |ix| self.step_words(chain, ix));
        let mut parts = self.parts(chain, step.map(|ix| (ix, true)), &reader);
        match place {
            ValuePlace::Unknown => parts.written(Writer::Stranger, "what was not followed".into(), Span::default()),
            ValuePlace::Steps => planned.numbered_steps().for_each(|(ix, _)| parts.all_of(ValuePlace::Step(ix))),
            ValuePlace::Round(ix) => {
                let block = planned.step(*ix).cases.first().map(|block| planned.block(*block));
                block.into_iter().flat_map(|block| block.steps()).for_each(|ix| parts.all_of(ValuePlace::Step(ix)));
            }
            ValuePlace::Step(ix) => {
                parts.all_of(ValuePlace::Output(*ix, vec![]));
                parts.all_of(ValuePlace::Error(*ix));
                parts.all_of(ValuePlace::Details(*ix, vec![]));
            }
            ValuePlace::Output(ix, path) => parts.output(*ix, path),
            ValuePlace::Made(ix, path) => parts.made(*ix, path),
            ValuePlace::Error(ix) => parts.error(*ix),
            ValuePlace::Details(ix, path) => parts.details(*ix, path),
            ValuePlace::Given(ix) => parts.arguments(*ix),
            ValuePlace::Tested(ix) => parts.tested(*ix),
            ValuePlace::ShownToModels(ix) => parts.shown_to_models(*ix),
            ValuePlace::ToldFailures(ix) => parts.told_failures(*ix),
            // Below one element; which one is not known.
            ValuePlace::Element(ix, path) => parts.list_of(*ix, &[&[EACH.to_owned()], path.as_slice()].concat()),
            ValuePlace::List(ix) => parts.list_of(*ix, &[]),
            ValuePlace::Judged(ix) => {
                let span = parts.labels.span_of(chain, *ix);
                parts.written(Writer::Model, "what is judged".to_owned(), span);
            }
            ValuePlace::Inputs(path) => parts.input(path),
            ValuePlace::Person(path) => parts.person(path),
            ValuePlace::Conversation => parts.conversation(),
            ValuePlace::Kept => parts.kept_of_run(),
            ValuePlace::Asked(agent) => parts.asked_in_run(agent),
            ValuePlace::Files => parts.written_files(),
            ValuePlace::Tables => parts.table_files(),
            ValuePlace::ReadTables => {
                let reads = planned.numbered_steps().filter(|(_, step)| matches!(step.step.kind, StepKind::Read(_)));
                reads.for_each(|(ix, _)| parts.all_of(ValuePlace::Output(ix, vec![])));
            }
            // It tells of any step.
            ValuePlace::Failure => {
                planned.numbered_steps().for_each(|(ix, _)| parts.all_of(ValuePlace::Error(ix)));
                parts.tested_by_pipeline();
            }
            ValuePlace::Refinement => parts.refinement(),
            ValuePlace::Result(path) => parts.result(path),
        }
        parts.list
    }

    /// Where a step does its work.
    pub(crate) fn span_of(&self, chain: ChainIx, ix: StepIx) -> Span {
        let step = &self.pipeline(chain).step(ix).step;
        if step.kind_span == Span::default() { step.id.span } else { step.kind_span }
    }

    /// What tools that are a pipeline fix of an input; `None`: not all of them fix it.
    fn fixed_input(&self, chain: ChainIx, above: ChainIx, path: &[String]) -> (Vec<(&'p Text, Path)>, bool) {
        let called = self.id(chain);
        let (mut list, mut is_fixed) = (vec![], !path.is_empty());
        for tool in self.pipeline(above).pipeline.tools.values().filter(|tool| tool.kind.pipeline() == Some(called)) {
            let fixed = given_as(&tool.with, path);
            is_fixed &= !fixed.is_empty();
            list.extend(fixed.into_iter().flat_map(|value| below(value, path.get(1..).unwrap_or_default())));
        }
        (list, is_fixed)
    }
}

/// The values that are given for the input at a path, or for all.
fn given_as<'f>(with: &'f [(Spanned<String>, Filling)], path: &[String]) -> Vec<&'f Filling> {
    with.iter().filter(|(name, _)| path.first().is_none_or(|asked| *asked == name.value)).map(|(_, value)| value).collect()
}

fn input_words(path: &[String]) -> String {
    [&["inputs".to_owned()], path].concat().join(".")
}

impl Parts<'_, '_> {
    fn input(&mut self, path: &[String]) {
        let planned = self.labels.pipeline(self.chain);
        let pipeline = &planned.pipeline;
        let fields = along(&pipeline.inputs, path);
        let is_closed = leads_to_closed(&fields, path);
        let Some((above, caller)) = self.labels.caller(self.chain) else {
            let span = fields.last().map_or(pipeline.name.span, |field| field.span);
            let personal = match path.is_empty() {
                true => pipeline.input_fields().iter().find_map(of_field),
                false => personal_input(&fields, path),
            };
            // The person chose one of the author's words, which may still be personal.
            if !is_closed || personal.is_some() {
                let writer = if is_untrusted(pipeline.input_fields(), path) { Writer::Stranger } else { Writer::Person };
                self.personal(writer, personal.map(|below| input_words(&below)), input_words(path), span);
            }
            return;
        };
        if is_closed && matches!(caller, Caller::Model(_)) {
            return;
        }
        // What its file marks `untrusted` or `pii`, whoever gives it.
        if is_untrusted(pipeline.input_fields(), path) {
            self.written(Writer::Stranger, input_words(path), pipeline.name.span);
        }
        if let Some(below) = personal_part(&pipeline.inputs, path) {
            let words = input_words(&below);
            self.personal(Writer::Author, Some(words.clone()), words, pipeline.name.span);
        }
        let askers = self.labels.askers(self.chain);
        let (fixed, is_fixed) = self.labels.fixed_input(self.chain, above, path);
        let (ix, by) = (caller.step(), self.labels.step_words(above, caller.step()));
        let mut outside = self.labels.parts(above, Some((ix, true)), &by);
        match caller {
            Caller::Step(_) => {
                let facts = outside.labels.pipeline(above).step(ix).step.kind.facts();
                outside.texts(given_as(facts.with, path).into_iter().flat_map(|value| below(value, path.get(1..).unwrap_or_default())));
                outside.texts(fixed.into_iter().filter(|_| facts.called.is_none()));
            }
            Caller::Model(_) => {
                outside.texts(fixed);
                // What the author of the tool fixed, no model gives.
                if !is_fixed {
                    let span = outside.labels.span_of(above, ix);
                    outside.written(Writer::Model, format!("what the model of {by} gives to a tool"), span);
                    outside.all_of(ValuePlace::Given(ix));
                    outside.all_of(ValuePlace::ShownToModels(ix));
                    for asker in askers {
                        outside.at(asker, ValuePlace::Given(StepIx(0)));
                        outside.at(asker, ValuePlace::ShownToModels(StepIx(0)));
                    }
                }
            }
        }
        let list = outside.list;
        self.list.extend(list);
    }

    fn person(&mut self, path: &[String]) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let Some(person) = &pipeline.person else { return };
        let span = person.id.texts().first().map_or(pipeline.name.span, |text| text.place.span);
        let asks = |name: &str| path.first().is_none_or(|asked| asked == name);
        if asks("id") {
            self.reader = "person.id".into();
            self.texts(below(&person.id, &[]));
        }
        match &person.from {
            PersonSource::Nothing => {}
            PersonSource::Table(table) => {
                let data = pipeline.data.get(&table.value);
                let has_mark = |name: &str| data.is_some_and(|data| data.pii.iter().any(|column| column.value == name));
                let personal = match path.first().map(String::as_str) {
                    Some("id") if !has_mark("id") => return,
                    Some(name) => (PERSONAL.contains(&name) || has_mark(name)).then(|| format!("person.{name}")),
                    None => Some("person".to_owned()),
                };
                if let Some(data) = data.filter(|data| self.labels.may_write(&data.file.value)) {
                    let doubt = format!("{} is no file that the run itself has written", data.file.value.display());
                    self.reader = "person".into();
                    self.read(self.chain, ValuePlace::Files, "a file", span, Some(doubt));
                }
                let writer = of_tables(&pipeline.data, |name| name == table.value);
                self.personal(writer, personal, format!("the table {}", table.value), span);
            }
            PersonSource::Fields(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| asks(&name.value)) {
                    let words = format!("person.{}", name.value);
                    self.reader = words.as_str().into();
                    self.texts(below(value, path.get(1..).unwrap_or_default()));
                    if PERSONAL.contains(&name.value.as_str()) {
                        self.personal(Writer::Author, Some(words.clone()), words, name.span);
                    }
                }
            }
        }
    }

    fn conversation(&mut self) {
        let pipeline = &self.labels.pipeline(self.chain).pipeline;
        let id = pipeline.conversation.iter().flat_map(|own| below(&own.id, &[])).collect::<Vec<_>>();
        let span = id.first().map_or(pipeline.name.span, |(text, _)| text.place.span);
        let is_of_stranger = pipeline.is_talked_to_by_a_stranger();
        let by_person = if is_of_stranger { (Writer::Stranger, "a stranger") } else { (Writer::Person, "the person") };
        for (writer, who) in [by_person, (Writer::Model, "a model")] {
            self.written(writer, format!("what {who} said earlier in the conversation"), span);
        }
        // What was said earlier is as personal as what is said now.
        self.reader = "conversation".into();
        self.texts(id);
        self.of_run(ValuePlace::Kept);
    }

    /// What an agent is told when it tries once more.
    pub(super) fn told_again(&mut self) {
        if let Some(refinement) = &self.labels.pipeline(self.chain).refinement {
            let span = self.labels.span_of(self.chain, refinement.gate);
            self.read(self.chain, ValuePlace::Refinement, "refinement", span, None);
        }
    }

    /// What the target made first, and what the gate says, which may quote all that its judge was shown.
    fn refinement(&mut self) {
        let planned = self.labels.pipeline(self.chain);
        let Some(refinement) = &planned.refinement else { return };
        let gate = &planned.step(refinement.gate).step;
        let by = self.labels.step_words(self.chain, refinement.gate);
        self.all_of(ValuePlace::Given(refinement.gate));
        self.all_of(ValuePlace::Tested(refinement.gate));
        (self.seat, self.reader) = (Some((refinement.gate, true)), by.as_str().into());
        self.instructions_of_judges(&gate.kind);
        self.written(Writer::Model, format!("what the judge of {by} says"), gate.kind_span);
        self.all_of(ValuePlace::Output(refinement.target, vec![]));
    }

    /// What the list of a step is made of.
    fn list_of(&mut self, ix: StepIx, path: &[String]) {
        let each = self.labels.pipeline(self.chain).step(ix).step.for_each.as_ref();
        (self.seat, self.reader) = (Some((ix, false)), format!("the list of {}", self.reader).into());
        self.texts(each.into_iter().flat_map(|each| below(&each.list, path)));
    }
}

/// Whether a stranger wrote what is at a path of the inputs.
fn is_untrusted(fields: &[Field], path: &[String]) -> bool {
    match path.split_first() {
        Some((name, rest)) => fields.iter().any(|field| field.name == *name && field.is_untrusted_at(rest)),
        None => fields.iter().any(|field| field.is_untrusted_at(&[])),
    }
}

/// Who wrote what is in these tables.
pub(super) fn of_tables(data: &IndexMap<String, Data>, is_meant: impl Fn(&str) -> bool) -> Writer {
    let is_untrusted = data.iter().any(|(name, data)| data.is_untrusted && is_meant(name));
    if is_untrusted { Writer::Stranger } else { Writer::File }
}

/// The fields that a path leads through.
fn along<'s>(shape: &'s Shape, path: &[String]) -> Vec<&'s Field> {
    let mut found: Vec<&Field> = vec![];
    let Shape::Fields(fields) = shape else { return found };
    let mut fields = fields.as_slice();
    for name in path {
        let next = match found.last().and_then(|field| field.items.as_deref()) {
            Some(items) if is_place(name) => Some(items),
            _ => fields.iter().find(|field| field.name == *name),
        };
        let Some(field) = next else { break };
        found.push(field);
        fields = &field.fields;
    }
    found
}

/// Whether only the author's own words can be what is below a path.
pub(super) fn gives_closed(shape: &Shape, path: &[String]) -> bool {
    match shape {
        Shape::Fields(_) => leads_to_closed(&along(shape, path), path),
        Shape::Schema(schema) => closes(schema, path),
    }
}

/// Whether a path leads to a field of the author's own words, or to letters or elements of one.
fn leads_to_closed(fields: &[&Field], path: &[String]) -> bool {
    fields.last().is_some_and(|field| field.is_closed()) && path.iter().skip(fields.len()).all(|name| is_place(name))
}

/// Whether the same is so of a whole answer of an agent, which has no fields but those of its shape.
pub(super) fn is_closed_answer(shape: &Shape, path: &[String]) -> bool {
    let is_whole = || match shape {
        Shape::Fields(fields) => path.is_empty() && !fields.is_empty() && fields.iter().all(Field::is_closed),
        Shape::Schema(_) => false,
    };
    gives_closed(shape, path) || is_whole()
}

/// The path of the personal field on the way to a path of a value of this shape, or below it.
pub(super) fn personal_part(shape: &Shape, path: &[String]) -> Option<Vec<String>> {
    match shape {
        Shape::Fields(fields) if path.is_empty() => fields.iter().find_map(of_field),
        shape => personal_input(&along(shape, path), path),
    }
}

/// The path of the first field of what a tool gives that its author marks as personal.
pub fn marked_result(tool: &Tool) -> Option<Vec<String>> {
    let shape = if let ToolKind::Program { run, .. } = &tool.kind { run.shape() } else { None };
    personal_part(shape?, &[])
}

/// The path of the personal field on the way to a path of an input, or below it.
fn personal_input(fields: &[&Field], path: &[String]) -> Option<Vec<String>> {
    if let Some(at) = fields.iter().position(|field| field.is_pii) {
        return Some(path.get(..=at).unwrap_or_default().to_vec());
    }
    // What is at a place of something that is no list is a part of it.
    let (own, rest) = path.split_at_checked(fields.len())?;
    let last = fields.last().filter(|_| rest.first().is_none_or(|name| is_place(name)))?;
    let below = of_field(last)?;
    Some([own, below.get(1..).unwrap_or_default()].concat())
}
