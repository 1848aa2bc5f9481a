//! What the names that a text may read are made of.

use indexmap::IndexMap;

use super::beside::{FILES, MEMBERS, TABLES};
use super::conversation::{ASKED, KEPT};
use super::files::of_field;
use super::outputs::element_of;
use super::search::{Back, Judges, ReadValue, below, is_word_of_failure, texts, written};
use super::{Caller, ChainIx, Hop, Labels, Seat, Source};
use crate::model::{Data, Field, PERSONAL, PersonSource, Shape, StepKind, Tool, ToolKind, Writer};
use crate::plan::StepIx;
use crate::source::Span;
use crate::template::{EACH, is_place};

/// What a step reads when it tries once more.
const REFINEMENT: &str = "refinement";

impl Labels<'_> {
    /// Where what a path gives comes from, one step back.
    pub(super) fn back(&mut self, read: &ReadValue, judges: Judges) -> Vec<Back> {
        let mut found = vec![];
        let ReadValue { chain, seat, path } = read;
        let planned = self.pipeline(*chain);
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["steps", rest @ ..] => {
                let block = seat.map_or(planned.main, |(ix, _)| planned.step(ix).block);
                let seen: Vec<StepIx> = match rest.first().filter(|id| !is_place(id)) {
                    Some(id) => planned.seen_from(block, id).into_iter().collect(),
                    None => planned.numbered_steps().map(|(ix, _)| ix).collect(),
                };
                // A step as a whole, or all of them: whatever can be read of it.
                let members = rest.get(1).map_or(&MEMBERS[..], std::slice::from_ref);
                for ix in seen {
                    members.iter().for_each(|member| self.step(*chain, ix, member, path.get(3..).unwrap_or_default(), judges, &mut found));
                }
            }
            // The round before, of the `repeat` around.
            ["previous", rest @ ..] => {
                let Some((repeat, _)) = seat.and_then(|(ix, _)| planned.repeat_around(ix)) else { return found };
                let Some(block) = planned.step(repeat).cases.first().map(|block| planned.block(*block)) else { return found };
                let places = match rest.first().filter(|id| !is_place(id)) {
                    Some(id) => block.place(id).into_iter().collect(),
                    None => (0..block.len()).collect::<Vec<_>>(),
                };
                let members = rest.get(1).map_or(&MEMBERS[..], std::slice::from_ref);
                for ix in places.into_iter().map(|place| StepIx(block.first.0 + place as u32)) {
                    members.iter().for_each(|member| self.step(*chain, ix, member, path.get(3..).unwrap_or_default(), judges, &mut found));
                }
            }
            [KEPT] => self.kept_of_run(*chain).into_iter().for_each(|start| self.begin(start, judges, &mut found)),
            [ASKED, agent] => self.asked_in_run(*chain, agent).into_iter().for_each(|start| self.begin(start, judges, &mut found)),
            [FILES] => found.push(self.written_files(*chain)),
            [TABLES] => found.extend(self.table_files(*chain)),
            ["inputs", ..] => self.input(*chain, path.get(1..).unwrap_or_default(), judges, &mut found),
            ["run", "time_zone"] => self.person(*chain, &["time_zone".to_owned()], &mut found),
            ["person", ..] => self.person(*chain, path.get(1..).unwrap_or_default(), &mut found),
            ["conversation", ..] => {
                let span = planned.pipeline.conversation.as_ref().and_then(|own| own.id.texts().first().map(|text| text.place.span));
                let span = span.unwrap_or(planned.pipeline.name.span);
                let earlier =
                    |writer, what: &str| written(writer, (*chain, None), format!("what {what} said earlier in the conversation"), span);
                let by_person = if planned.pipeline.is_talked_to_by_a_stranger() {
                    (Writer::Stranger, "a stranger")
                } else {
                    (Writer::Person, "the person")
                };
                found.extend([earlier(by_person.0, by_person.1), earlier(Writer::Model, "a model")]);
                // What was said earlier is as personal as what is said now.
                let id = planned.pipeline.conversation.iter().flat_map(|own| below(&own.id, &[]));
                texts(*chain, None, id, "conversation", None, &mut found);
                found.push(self.kept(*chain, "conversation"));
            }
            ["failure", ..] if is_word_of_failure(path.get(1..).unwrap_or_default()) => {}
            // It tells of any step.
            ["failure", ..] => {
                let all: Vec<StepIx> = planned.numbered_steps().map(|(ix, _)| ix).collect();
                all.into_iter().for_each(|ix| self.step(*chain, ix, "error", &[], judges, &mut found));
                self.tested_by_pipeline(*chain, &mut found);
            }
            [REFINEMENT, ..] => self.refinement(*chain, judges, &mut found),
            // The element of a loop around, or what is made by the engine from the author's files and the clock.
            [name, ..] => self.element(*chain, *seat, name, path.get(1..).unwrap_or_default(), &mut found),
            [] => {}
        }
        found
    }

    fn input(&mut self, chain: ChainIx, path: &[String], judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let pipeline = &planned.pipeline;
        let words = |path: &[String]| [&["inputs".to_owned()], path].concat().join(".");
        let fields = along(&pipeline.inputs, path);
        let is_closed = fields.len() == path.len() && fields.last().is_some_and(|field| field.is_closed());
        match self.chains.get(chain).1 {
            None => {
                let span = fields.last().map_or(pipeline.name.span, |field| field.span);
                let personal = match path.is_empty() {
                    true => pipeline.input_fields().iter().find_map(of_field),
                    false => personal_input(&fields, path),
                };
                // The person chose one of the author's words, which may still be personal.
                if is_closed && personal.is_none() {
                    return;
                }
                let personal = personal.map(|below| words(&below));
                let writer = if is_untrusted(pipeline.input_fields(), path) { Writer::Stranger } else { Writer::Person };
                found.push(Back::From(Source { writer, personal, at: (chain, None), words: words(path), span }));
            }
            Some((_, Caller::Model(_))) if is_closed => {}
            Some((above, Caller::Model(ix))) => {
                let by = self.step_words(above, ix);
                self.marked_input(chain, path, found);
                // What the author of the tool fixed, no model gives.
                if self.fixed_input(chain, (above, ix), path, found) {
                    return;
                }
                found.push(written(
                    Writer::Model,
                    (above, Some(ix)),
                    format!("what the model of {by} gives to a tool"),
                    self.span_of(above, ix),
                ));
                self.given(above, ix, found);
                self.told_to_models(above, ix, judges, found);
            }
            Some((above, Caller::Step(ix))) => {
                self.marked_input(chain, path, found);
                let caller = self.pipeline(above).step(ix);
                let with = caller.step.kind.facts().with;
                let given = with.iter().filter(|(name, _)| path.first().is_none_or(|asked| *asked == name.value));
                let rest = path.get(1..).unwrap_or_default();
                let list = given.flat_map(|(_, value)| below(value, rest));
                texts(above, Some((ix, true)), list, &self.step_words(above, ix), None, found);
                if matches!(caller.step.kind, StepKind::Tool(_)) {
                    self.fixed_input(chain, (above, ix), path, found);
                }
            }
        }
    }

    /// What tools that are a pipeline fix of an input; whether it is fixed by all of them.
    fn fixed_input(&self, chain: ChainIx, (above, ix): (ChainIx, StepIx), path: &[String], found: &mut Vec<Back>) -> bool {
        let (called, rest) = (self.chains.get(chain).0, path.get(1..).unwrap_or_default());
        let tools = self.pipeline(above).pipeline.tools.values().filter(|tool| tool.kind.pipeline() == Some(called));
        let mut is_fixed = !path.is_empty();
        for tool in tools {
            let given: Vec<_> = tool.with.iter().filter(|(name, _)| path.first().is_none_or(|asked| *asked == name.value)).collect();
            is_fixed &= !given.is_empty();
            let list = given.into_iter().flat_map(|(_, value)| below(value, rest));
            texts(above, Some((ix, true)), list, &self.step_words(above, ix), None, found);
        }
        is_fixed
    }

    /// An input of a called pipeline that its file marks `untrusted` or `pii`, whoever gives it.
    fn marked_input(&self, chain: ChainIx, path: &[String], found: &mut Vec<Back>) {
        let pipeline = &self.pipeline(chain).pipeline;
        if is_untrusted(pipeline.input_fields(), path) {
            let words = [&["inputs".to_owned()], path].concat().join(".");
            found.push(written(Writer::Stranger, (chain, None), words, pipeline.name.span));
        }
        if let Some(below) = personal_part(&pipeline.inputs, path) {
            let words = [&["inputs".to_owned()], below.as_slice()].concat().join(".");
            let span = pipeline.name.span;
            found.push(Back::From(Source { writer: Writer::Author, personal: Some(words.clone()), at: (chain, None), words, span }));
        }
    }

    fn person(&self, chain: ChainIx, path: &[String], found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let Some(person) = &planned.pipeline.person else {
            if let Some((above, _)) = self.chains.get(chain).1 {
                self.person(above, path, found);
            }
            return;
        };
        let span = person.id.texts().first().map_or(planned.pipeline.name.span, |text| text.place.span);
        let asks = |name: &str| path.first().is_none_or(|asked| asked == name);
        if asks("id") {
            texts(chain, None, below(&person.id, &[]), "person.id", None, found);
        }
        match &person.from {
            PersonSource::Nothing => {}
            PersonSource::Table(table) => {
                let is_marked = |name: &str| {
                    let data = planned.pipeline.data.get(&table.value);
                    PERSONAL.contains(&name) || data.is_some_and(|data| data.pii.iter().any(|column| column.value == name))
                };
                let data = planned.pipeline.data.get(&table.value);
                if path.first().is_some_and(|name| name == "id")
                    && !data.is_some_and(|data| data.pii.iter().any(|column| column.value == "id"))
                {
                    return;
                }
                let personal = match path.first() {
                    Some(name) => is_marked(name).then(|| format!("person.{name}")),
                    None => Some("person".to_owned()),
                };
                if let Some(data) = planned.pipeline.data.get(&table.value).filter(|data| self.may_write(&data.file.value)) {
                    let doubt = Some(format!("{} is no file that the run itself has written", data.file.value.display()));
                    let hop = Hop { reader: "person".to_owned(), path: "a file".to_owned(), span, doubt };
                    found.push(Back::Of(ReadValue { chain, seat: None, path: vec![FILES.to_owned()] }, hop));
                }
                let words = format!("the table {}", table.value);
                let writer = of_tables(&planned.pipeline.data, |name| name == table.value);
                found.push(Back::From(Source { writer, personal, at: (chain, None), words, span }));
            }
            PersonSource::Fields(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| asks(&name.value)) {
                    texts(chain, None, below(value, path.get(1..).unwrap_or_default()), &format!("person.{}", name.value), None, found);
                    if PERSONAL.contains(&name.value.as_str()) {
                        let personal = Some(format!("person.{}", name.value));
                        let words = format!("person.{}", name.value);
                        found.push(Back::From(Source { writer: Writer::Author, personal, at: (chain, None), words, span: name.span }));
                    }
                }
            }
        }
    }

    /// What an agent is told when it tries once more.
    pub(super) fn told_again(&self, chain: ChainIx, seat: Seat, reader: &str) -> Option<Back> {
        let refinement = self.pipeline(chain).refinement.as_ref()?;
        let span = self.span_of(chain, refinement.gate);
        let hop = Hop { reader: reader.to_owned(), path: REFINEMENT.into(), span, doubt: None };
        Some(Back::Of(ReadValue { chain, seat, path: vec![REFINEMENT.to_owned()] }, hop))
    }

    /// What the target made first, and what the gate says, which may quote all that its judge was shown.
    fn refinement(&mut self, chain: ChainIx, judges: Judges, found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let Some(refinement) = &planned.refinement else { return };
        let (gate, reader) = (&planned.step(refinement.gate).step, self.step_words(chain, refinement.gate));
        self.given(chain, refinement.gate, found);
        self.tested(chain, refinement.gate, found);
        let agents = gate.kind.agents(&planned.pipeline).into_iter().filter_map(|name| planned.pipeline.agents.get(&name.value));
        let instructions = agents.filter_map(|agent| agent.instructions.as_ref()).map(|text| (text, vec![]));
        texts(chain, Some((refinement.gate, true)), instructions, &reader, None, found);
        found.push(written(Writer::Model, (chain, Some(refinement.gate)), format!("what the judge of {reader} says"), gate.kind_span));
        self.step(chain, refinement.target, "output", &[], judges, found);
    }

    fn element(&self, chain: ChainIx, seat: Seat, name: &str, path: &[String], found: &mut Vec<Back>) {
        let planned = self.pipeline(chain);
        let Some((ix, own)) = seat else { return };
        match element_of(planned, (ix, own), name) {
            Some((ix, each)) => {
                let reader = format!("the list of {}", self.step_words(chain, ix));
                // Below one element of the list; which one is not known.
                let below_one = below(&each.list, &[&[EACH.to_owned()], path].concat());
                texts(chain, Some((ix, false)), below_one, &reader, None, found);
            }
            // Arguments of a tool are looked at where they are given.
            None if name == "with" && planned.step(ix).step.kind.facts().judges.is_none() => {}
            None if matches!(name, "value" | "text" | "with" | "turns" | "turn") => {
                let what = "what is judged".to_owned();
                found.push(written(Writer::Model, (chain, Some(ix)), what, self.span_of(chain, ix)));
            }
            None => {}
        }
    }

    /// Where a step does its work.
    pub(crate) fn span_of(&self, chain: ChainIx, ix: StepIx) -> Span {
        let step = &self.pipeline(chain).step(ix).step;
        if step.kind_span == Span::default() { step.id.span } else { step.kind_span }
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
    let fields = along(shape, path);
    !path.is_empty() && fields.len() == path.len() && fields.last().is_some_and(|field| field.is_closed())
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
