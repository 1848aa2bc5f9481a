//! Which steps' outputs a text reads: through groups, rounds, cases and the elements of loops. What is asked of single texts (F410-F415, F419) and of
//! whole pipelines (guarantees) rests on it.

use std::collections::HashSet;

use super::Seat;
use super::places::{Path, ValuePlace, below, named_place};
use super::results::{is_of_engine_in, output_is_of_engine};
use crate::event::StepError;
use crate::model::{OnFailure, Step, StepKind, Text};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::Span;
use crate::template::{EACH, GivenPath, is_place, reached, value_paths};

/// Most reads that are followed from one text.
const MOST_READS: usize = 10_000;

/// What a step makes itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StepOutput {
    /// The step.
    pub ix: StepIx,
    /// What of it, below its output, and below an element of its own `for_each`.
    pub path: Vec<String>,
    /// Whether it was asked for by its id, and not as a part of all that is in a group.
    pub is_named: bool,
}

/// What is at a path of a step's output.
#[derive(Debug)]
pub(super) enum OutputPart {
    Made(StepOutput),
    /// The message of a step's failure.
    Failure(StepIx),
    /// The element for which a step failed.
    Element(StepIx),
}

/// Whether a path reads what a step made in the round before.
fn is_of_round_before(path: &[String]) -> bool {
    path.first().is_some_and(|root| root == "previous")
}

/// What is at a path of a step's output: what the step makes, or the steps that are in it.
pub(super) fn output_parts(planned: &PipelinePlan, ix: StepIx, path: &[String]) -> Vec<OutputPart> {
    let mut found = vec![];
    add_parts(planned, StepOutput { ix, path: path.to_vec(), is_named: true }, &mut found);
    found
}

fn add_parts(planned: &PipelinePlan, asked: StepOutput, found: &mut Vec<OutputPart>) {
    let StepOutput { ix, path, is_named } = asked;
    let step = &planned.step(ix).step;
    let mut path = path.as_slice();
    if step.for_each.is_some() {
        path = if path.first().is_some_and(|place| is_place(place)) { path.get(1..).unwrap_or_default() } else { &[] };
        if step.on_failure == OnFailure::Continue {
            match path.first().map(String::as_str) {
                Some("status") => return,
                Some("error") if is_of_engine_in::<StepError>(&path[1..]) => return,
                Some("error") => return found.push(OutputPart::Failure(ix)),
                Some("output") => path = path.get(1..).unwrap_or_default(),
                // `item`, or all of it.
                Some(_) | None => {
                    found.push(OutputPart::Element(ix));
                    if path.first().is_none_or(|field| field != "item") {
                        found.push(OutputPart::Failure(ix));
                    }
                    path = &[];
                }
            }
        }
    }
    let blocks = planned.step(ix).cases.iter().map(|block| planned.block(*block));
    let mut add = |ix: u32, path: &[String], is_named| {
        add_parts(planned, StepOutput { ix: StepIx(ix), path: path.to_vec(), is_named }, found);
    };
    if let StepKind::Route(_) = &step.kind {
        // That of the last step of the case that ran.
        for block in blocks {
            if let Some(last) = (block.len() as u32).checked_sub(1) {
                add(block.first.0 + last, path, is_named);
            }
        }
    } else if let StepKind::Group(_) | StepKind::Repeat(_) = &step.kind {
        for block in blocks {
            match path.split_first().filter(|(id, _)| !is_place(id)) {
                Some((id, rest)) => block.place(id).into_iter().for_each(|place| add(block.first.0 + place as u32, rest, is_named)),
                None => (0..block.len() as u32).for_each(|place| add(block.first.0 + place, &[], false)),
            }
        }
    } else {
        found.push(OutputPart::Made(StepOutput { ix, path: path.to_vec(), is_named }));
    }
}

/// A text on the way to an output.
#[derive(Debug, Clone)]
pub struct ReadHop<'p> {
    /// The text.
    pub text: &'p Text,
    /// Where it stands.
    pub seat: Seat,
    /// What it reads.
    pub path: Vec<String>,
    /// Where it does.
    pub span: Span,
}

/// A step's output that a text reads.
#[derive(Debug, Clone)]
pub struct OutputRead<'p> {
    /// Whose, and what of it.
    pub output: StepOutput,
    /// Whether it is that of the round before.
    pub is_earlier: bool,
    /// The texts that lead to it, the one that was asked about first.
    pub hops: Vec<ReadHop<'p>>,
}

/// What of the texts on the way counts as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// What a text shows.
    Shown,
    /// That, and what it only tests, compares or counts.
    All,
}

/// The texts of a step whose output is read, each with what is asked for below it.
type TextsOf<'f, 'p> = &'f mut dyn FnMut(&OutputRead<'p>) -> Vec<(&'p Text, Vec<String>)>;

/// The outputs that a text reads. `into`: the texts of a step whose output it reads, in which what it is made of is looked for, each with what is asked
/// for below it; then those outputs are given, too.
pub fn reads_of<'p>(planned: &'p PipelinePlan, seat: Seat, text: &'p Text, reads: Reads, into: TextsOf<'_, 'p>) -> Vec<OutputRead<'p>> {
    let mut found = vec![];
    let mut open: Vec<(Seat, &'p Text, Vec<String>, Vec<ReadHop<'p>>)> = vec![(seat, text, vec![], vec![])];
    let mut seen = HashSet::new();
    while let Some((seat, text, rest, hops)) = open.pop() {
        let paths = if reads == Reads::All { reached(text) } else { value_paths(text) };
        for path in paths {
            let span = span_of(text, &path);
            let path = path.below(&rest);
            if found.len() >= MOST_READS || !seen.insert((std::ptr::from_ref(text), seat, path.clone())) {
                continue;
            }
            let hop = ReadHop { text, seat, path: path.clone(), span };
            let hops: Vec<ReadHop> = hops.iter().cloned().chain([hop]).collect();
            let place = named_place(planned, seat, &path);
            if let Some(ValuePlace::Element(ix, rest)) = &place {
                let list = element_texts(planned, *ix, rest);
                open.extend(list.into_iter().map(|(seat, text, rest)| (seat, text, rest, hops.clone())));
                continue;
            }
            let Some((ix, rest)) = output_at(place) else { continue };
            for part in output_parts(planned, ix, &rest) {
                let OutputPart::Made(output) = part else { continue };
                let read = OutputRead { output, is_earlier: is_of_round_before(&path), hops: hops.clone() };
                let at = Some((read.output.ix, true));
                open.extend(into(&read).into_iter().map(|(text, rest)| (at, text, rest, hops.clone())));
                found.push(read);
            }
        }
    }
    found
}

/// Whether a text shows only what came in by `inputs`: itself, by steps that pass it on, or as an element of a list.
pub fn is_of_inputs<'p>(planned: &'p PipelinePlan, seat: Seat, text: &'p Text) -> bool {
    let mut open: Vec<(Seat, &'p Text, Vec<String>)> = vec![(seat, text, vec![])];
    let mut seen = HashSet::new();
    while let Some((seat, text, rest)) = open.pop() {
        let paths = value_paths(text);
        if paths.is_empty() || seen.len() >= MOST_READS {
            return false;
        }
        for path in paths {
            let path = path.below(&rest);
            if !seen.insert((std::ptr::from_ref(text), seat, path.clone())) {
                continue;
            }
            let made: Vec<(Seat, &Text, Path)> = match named_place(planned, seat, &path) {
                Some(ValuePlace::Inputs(_)) => continue,
                Some(ValuePlace::Element(ix, rest)) => element_texts(planned, ix, &rest),
                place => match output_at(place).filter(|(ix, _)| planned.step(*ix).step.for_each.is_none()) {
                    Some((ix, rest)) if !is_of_round_before(&path) => {
                        let texts = passed_on(&planned.step(ix).step, &rest).into_iter();
                        texts.map(|(text, rest)| (Some((ix, true)), text, rest)).collect()
                    }
                    Some(_) | None => vec![],
                },
            };
            if made.is_empty() {
                return false;
            }
            open.extend(made);
        }
    }
    true
}

/// The texts that the list of a step is made of whose element a path reads, each with what is asked for below it.
fn element_texts<'p>(planned: &'p PipelinePlan, ix: StepIx, rest: &[String]) -> Vec<(Seat, &'p Text, Path)> {
    let list = planned.step(ix).step.for_each.iter().flat_map(|each| below(&each.list, &[&[EACH.to_owned()], rest].concat()));
    list.map(|(text, rest)| (Some((ix, false)), text, rest)).collect()
}

/// The step whose output is at a place, and what of it; all of it where the place is all that can be read of the step.
fn output_at(place: Option<ValuePlace>) -> Option<(StepIx, Path)> {
    match place? {
        ValuePlace::Output(ix, path) => Some((ix, path)),
        ValuePlace::Step(ix) => Some((ix, vec![])),
        _ => None,
    }
}

fn span_of(text: &Text, path: &GivenPath) -> Span {
    text.reads.iter().find(|read| path.path.starts_with(&read.path)).map_or(text.place.span, |read| read.span)
}

/// The texts of a step that only passes them on, as it is (`set`) or made ready for a channel (`format`), each with what is asked for below it.
pub fn passed_on<'p>(step: &'p Step, path: &[String]) -> Vec<(&'p Text, Vec<String>)> {
    if let StepKind::Set(value) = &step.kind {
        below(value, path)
    } else if let StepKind::Format(format) = &step.kind {
        if output_is_of_engine(&step.kind, path) { vec![] } else { vec![(&format.text, vec![])] }
    } else {
        vec![]
    }
}

/// What an author writes at a seat to read a step's output: `steps.g.output.check`, of each element of a list `steps.g.output | map(attribute='check')`.
/// `None`: no name leads there. Whether the step has run by then is another question ([`is_over_before`]).
pub fn readable_as(planned: &PipelinePlan, seat: Seat, ix: StepIx) -> Option<String> {
    let id = &planned.step(ix).id;
    readable_beside(planned, seat, ix, id)
}

/// The same, of a step with this id in the place of that one.
pub fn readable_beside(planned: &PipelinePlan, seat: Seat, ix: StepIx, id: &str) -> Option<String> {
    let block = seat.map_or(planned.main, |(ix, _)| planned.step(ix).block);
    let mut at = ix;
    let mut names: Vec<&str> = vec![];
    let mut attribute = None;
    loop {
        let own = planned.step(at);
        if planned.seen_from(block, &own.id) == Some(at) {
            let own = if at == ix { id } else { &*own.id };
            let path: Vec<&str> = ["steps", own, "output"].into_iter().chain(names).collect();
            let list = attribute.map(|attribute: String| format!(" | map(attribute='{attribute}')"));
            return Some(format!("{}{}", path.join("."), list.unwrap_or_default()));
        }
        let holder = planned.owner(own.block)?;
        if let StepKind::Route(_) = planned.step(holder).step.kind {
            if own.place + 1 < planned.block(own.block).len() {
                return None;
            }
        } else {
            names.insert(0, if at == ix { id } else { &*own.id });
        }
        let around = &planned.step(holder).step;
        if around.for_each.is_some() {
            if attribute.is_some() {
                return None;
            }
            let outcome = (around.on_failure == OnFailure::Continue).then_some("output");
            attribute = Some(outcome.into_iter().chain(std::mem::take(&mut names)).collect::<Vec<_>>().join("."));
        }
        at = holder;
    }
}

/// Whether a step has ended, or may be made to, before a text at a seat is filled in.
pub fn is_over_before(planned: &PipelinePlan, ix: StepIx, seat: Seat) -> bool {
    let Some((reader, _)) = seat else { return true };
    let mut pairs = planned.around(reader).flat_map(|reader| planned.around(ix).map(move |ix| (reader, ix)));
    let Some((reader, ix)) = pairs.find(|(reader, ix)| planned.step(*reader).block == planned.step(*ix).block) else { return true };
    let (list, reader, own) = (planned.block(planned.step(ix).block), planned.step(reader).place, planned.step(ix).place);
    reader != own && (list.is_upstream(own, reader) || own < reader && !list.is_upstream(reader, own))
}
