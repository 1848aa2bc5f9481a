//! Places that hold values, and what each is made of: a graph that is drawn as far as it is asked for, each place once.

use std::collections::HashMap;
use std::sync::Arc;

use super::results::is_of_engine_in;
use super::{ChainIx, Hop, Labels, Seat, Source};
use crate::event::{PipelineFailure, StepError};
use crate::model::{Filling, Text, Writer};
use crate::plan::{PipelinePlan, StepIx};
use crate::source::Span;
use crate::template::{EACH, is_place, value_paths};

/// Most places that are followed. Where there are more, what is behind them may be anything.
const MOST_PLACES: usize = 1_000_000;

/// So many names of a path are told apart: a loop may ask for a longer one in each round.
const MOST_NAMES: usize = 16;

/// Names below a value.
pub(super) type Path = Vec<String>;

/// A place that holds a value, in a pipeline at the end of a chain of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ValuePlace {
    /// What was not followed: anything.
    Unknown,
    /// All that can be read of all steps.
    Steps,
    /// All that can be read of the steps in a `repeat`.
    Round(StepIx),
    /// All that can be read of a step.
    Step(StepIx),
    /// What is in the output of a step, as texts read it.
    Output(StepIx, Path),
    /// What is in what a step makes itself: of a list, in each element.
    Made(StepIx, Path),
    /// The message of a step's failure.
    Error(StepIx),
    /// What is in the details of a step.
    Details(StepIx, Path),
    /// All that a step is given.
    Given(StepIx),
    /// What a failure of a step may quote though its output shows nothing of it.
    Tested(StepIx),
    /// What the models of a step are shown beside what the step itself gives them.
    ShownToModels(StepIx),
    /// What an agent is told of calls of its tools that failed, and of tries of a task that were not accepted.
    ToldFailures(StepIx),
    /// What is in one element of the list of a step's `for_each`.
    Element(StepIx, Path),
    /// The list of a step's `for_each`.
    List(StepIx),
    /// What is judged in a step, seen from its scorecard.
    Judged(StepIx),
    /// What is in the inputs.
    Inputs(Path),
    /// What is in `person`.
    Person(Path),
    /// What was said in the conversation.
    Conversation,
    /// What a conversation keeps of the run that begins here.
    Kept,
    /// What an agent of this name was asked in the run that begins here, and what it was shown and said then.
    Asked(String),
    /// Files that the run itself writes.
    Files,
    /// Files of tables.
    Tables,
    /// What `read` steps give.
    ReadTables,
    /// Why the pipeline failed.
    Failure,
    /// What an agent is told of the refinement.
    Refinement,
    /// What is in the outputs of a pipeline that is called.
    Result(Path),
}

impl ValuePlace {
    /// The step that it belongs to.
    pub(super) fn step(&self) -> Option<StepIx> {
        match self {
            ValuePlace::Round(ix) | ValuePlace::Step(ix) | ValuePlace::Error(ix) | ValuePlace::Given(ix) | ValuePlace::Tested(ix) => {
                Some(*ix)
            }
            ValuePlace::Output(ix, _) | ValuePlace::Made(ix, _) | ValuePlace::Details(ix, _) | ValuePlace::Element(ix, _) => Some(*ix),
            ValuePlace::ShownToModels(ix) | ValuePlace::ToldFailures(ix) | ValuePlace::Judged(ix) | ValuePlace::List(ix) => Some(*ix),
            ValuePlace::Unknown
            | ValuePlace::Steps
            | ValuePlace::Inputs(_)
            | ValuePlace::Person(_)
            | ValuePlace::Conversation
            | ValuePlace::Kept => None,
            ValuePlace::Asked(_)
            | ValuePlace::Files
            | ValuePlace::Tables
            | ValuePlace::ReadTables
            | ValuePlace::Failure
            | ValuePlace::Refinement => None,
            ValuePlace::Result(_) => None,
        }
    }
}

/// The place that a path of names leads to, as seen from a seat; `None`: nobody wrote what is there, or the engine did.
pub(super) fn named_place(planned: &PipelinePlan, seat: Seat, path: &[String]) -> Option<ValuePlace> {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let rest = |from: usize| path.get(from..).unwrap_or_default().to_vec();
    Some(match names.as_slice() {
        [] => return None,
        ["steps"] => ValuePlace::Steps,
        ["steps", id, ..] if is_place(id) => ValuePlace::Steps,
        ["steps", id, member @ ..] => {
            let block = seat.map_or(planned.main, |(ix, _)| planned.step(ix).block);
            member_of(planned.seen_from(block, id)?, member, rest(3))?
        }
        // The round before, of the `repeat` around.
        ["previous", id, member @ ..] if !is_place(id) => {
            let (repeat, _) = planned.repeat_around(seat?.0)?;
            let block = planned.block(*planned.step(repeat).cases.first()?);
            member_of(StepIx(block.first.0 + block.place(id)? as u32), member, rest(3))?
        }
        ["previous", ..] => ValuePlace::Round(planned.repeat_around(seat?.0)?.0),
        ["inputs", ..] => ValuePlace::Inputs(rest(1)),
        ["run", "time_zone"] => ValuePlace::Person(vec!["time_zone".to_owned()]),
        ["person", ..] => ValuePlace::Person(rest(1)),
        ["conversation", ..] => ValuePlace::Conversation,
        ["failure", ..] if is_of_engine_in::<PipelineFailure>(&rest(1)) => return None,
        ["failure", ..] => ValuePlace::Failure,
        ["refinement", ..] => ValuePlace::Refinement,
        // The element of a loop around, or what is made by the engine from the author's files and the clock.
        [name, ..] => match (planned.element(seat?, name), *name) {
            (Some((ix, _)), _) => ValuePlace::Element(ix, rest(1)),
            // Arguments of a tool are looked at where they are given.
            (None, "with") if planned.step(seat?.0).step.kind.facts().judges.is_none() => return None,
            (None, "value" | "text" | "with" | "turns" | "turn") => ValuePlace::Judged(seat?.0),
            (None, _) => return None,
        },
    })
}

/// A part of what can be read of a step; of all of it, if the path ends before.
fn member_of(ix: StepIx, member: &[&str], path: Path) -> Option<ValuePlace> {
    match member.first() {
        None => Some(ValuePlace::Step(ix)),
        Some(&"output") => Some(ValuePlace::Output(ix, path)),
        Some(&"error") => (!is_of_engine_in::<StepError>(&path)).then_some(ValuePlace::Error(ix)),
        Some(&"details") => Some(ValuePlace::Details(ix, path)),
        Some(_) => None,
    }
}

/// Number of a place.
pub(super) type PlaceIx = u32;

/// [`ValuePlace::Unknown`].
pub(super) const UNKNOWN: PlaceIx = 0;

/// Where a value may come from, one step back.
#[derive(Debug)]
pub(super) enum Back {
    /// It was written here.
    From(Source),
    /// It is what is at a place.
    Of(ValueEdge),
}

/// From a place to one that it is made of.
#[derive(Debug)]
pub(super) struct ValueEdge {
    pub(super) to: PlaceIx,
    /// The text that reads it; `None`: it is a part of the place itself.
    pub(super) hop: Option<Hop>,
    /// The step of the same pipeline that judges the value on this way.
    pub(super) judged_by: Option<StepIx>,
}

/// The places that were asked for.
#[derive(Debug)]
pub(super) struct ValueGraph {
    list: Vec<(ChainIx, ValuePlace)>,
    known: HashMap<(ChainIx, ValuePlace), PlaceIx>,
    /// What each is made of, of those that were looked at.
    backs: Vec<Vec<Back>>,
}

impl Default for ValueGraph {
    fn default() -> ValueGraph {
        ValueGraph { list: vec![(ChainIx::default(), ValuePlace::Unknown)], known: HashMap::new(), backs: vec![] }
    }
}

impl ValueGraph {
    pub(super) fn number(&mut self, chain: ChainIx, mut place: ValuePlace) -> PlaceIx {
        if let ValuePlace::Output(_, path) | ValuePlace::Made(_, path) | ValuePlace::Details(_, path) | ValuePlace::Element(_, path) =
            &mut place
        {
            path.truncate(MOST_NAMES);
        }
        if let ValuePlace::Inputs(path) | ValuePlace::Person(path) | ValuePlace::Result(path) = &mut place {
            path.truncate(MOST_NAMES);
        }
        let next = self.list.len();
        if next >= MOST_PLACES {
            return self.known.get(&(chain, place)).copied().unwrap_or(UNKNOWN);
        }
        let ix = *self.known.entry((chain, place.clone())).or_insert(next as PlaceIx);
        if ix as usize == next {
            self.list.push((chain, place));
        }
        ix
    }

    pub(super) fn chain(&self, ix: PlaceIx) -> ChainIx {
        self.list.get(ix as usize).map(|(chain, _)| *chain).unwrap_or_default()
    }

    pub(super) fn backs(&self, ix: PlaceIx) -> &[Back] {
        self.backs.get(ix as usize).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.backs.len()
    }
}

impl<'p> Labels<'p> {
    /// Looks at all places that were asked for, and at what they are made of.
    pub(super) fn draw(&mut self) {
        while let Some((chain, place)) = self.places.list.get(self.places.backs.len()).cloned() {
            let backs = self.made_of(chain, &place);
            self.places.backs.push(backs);
        }
    }

    pub(super) fn parts(&mut self, chain: ChainIx, seat: Seat, reader: &str) -> Parts<'_, 'p> {
        Parts { labels: self, chain, seat, reader: reader.into(), list: vec![] }
    }
}

/// What a place is made of, as it is collected.
pub(super) struct Parts<'l, 'p> {
    pub(super) labels: &'l mut Labels<'p>,
    pub(super) chain: ChainIx,
    /// Where the texts stand that are read.
    pub(super) seat: Seat,
    /// Who reads them, in words.
    pub(super) reader: Arc<str>,
    pub(super) list: Vec<Back>,
}

impl<'p> Parts<'_, 'p> {
    /// All that is at a place.
    pub(super) fn all_of(&mut self, place: ValuePlace) {
        self.at(self.chain, place);
    }

    /// All that is at a place of a pipeline.
    pub(super) fn at(&mut self, chain: ChainIx, place: ValuePlace) {
        self.add(chain, place, None, None);
    }

    /// What is read at a place without a text that names it: in these words, and unless something keeps it from being so.
    pub(super) fn read(&mut self, chain: ChainIx, place: ValuePlace, what: &str, span: Span, doubt: Option<String>) {
        let hop = Hop { reader: self.reader.clone(), path: what.to_owned(), span, doubt };
        self.add(chain, place, Some(hop), None);
    }

    fn add(&mut self, chain: ChainIx, place: ValuePlace, hop: Option<Hop>, judged_by: Option<StepIx>) {
        let to = self.labels.places.number(chain, place);
        let hop = if to == UNKNOWN { Some(lost(hop, &self.reader)) } else { hop };
        self.list.push(Back::Of(ValueEdge { to, hop, judged_by }));
    }

    /// What texts are made of. With each text, the path below its value that is asked for.
    pub(super) fn texts<'t>(&mut self, list: impl IntoIterator<Item = (&'t Text, Path)>) {
        self.texts_with(list, None, None);
    }

    /// What the whole values of texts are made of.
    pub(super) fn whole<'t>(&mut self, list: impl IntoIterator<Item = &'t Text>) {
        self.texts(list.into_iter().map(|text| (text, vec![])));
    }

    /// The same, on a condition.
    pub(super) fn whole_unless<'t>(&mut self, list: impl IntoIterator<Item = &'t Text>, doubt: &str) {
        self.texts_with(list.into_iter().map(|text| (text, vec![])), Some(doubt), None);
    }

    /// What texts are made of, as far as the step lets it through.
    pub(super) fn judged<'t>(&mut self, list: impl IntoIterator<Item = (&'t Text, Path)>, by: StepIx) {
        self.texts_with(list, None, Some(by));
    }

    fn texts_with<'t>(&mut self, list: impl IntoIterator<Item = (&'t Text, Path)>, doubt: Option<&str>, judged_by: Option<StepIx>) {
        for (text, rest) in list {
            for given in value_paths(text) {
                let span = text.reads.iter().find(|read| given.path.starts_with(&read.path)).map_or(text.place.span, |read| read.span);
                let hop = Hop { reader: self.reader.clone(), path: given.path.join("."), span, doubt: doubt.map(str::to_owned) };
                self.named(&given.below(&rest), hop, judged_by);
            }
        }
    }

    /// What is at a path that a text of the seat reads.
    pub(super) fn named(&mut self, path: &[String], hop: Hop, judged_by: Option<StepIx>) {
        if let Some((chain, place)) = self.labels.named(self.chain, self.seat, path) {
            self.add(chain, place, Some(hop), judged_by);
        }
    }

    /// Something that was written here.
    pub(super) fn written(&mut self, writer: Writer, words: String, span: Span) {
        let at = (self.chain, self.seat.map(|(ix, _)| ix));
        self.list.push(Back::From(Source { writer, personal: None, at, words, span }));
    }

    /// The same, with the name of the personal value that it is.
    pub(super) fn personal(&mut self, writer: Writer, personal: Option<String>, words: String, span: Span) {
        let at = (self.chain, self.seat.map(|(ix, _)| ix));
        self.list.push(Back::From(Source { writer, personal, at, words, span }));
    }
}

/// The end of what is followed: what lies behind is not known, so nothing is said to hold.
fn lost(hop: Option<Hop>, reader: &Arc<str>) -> Hop {
    let hop = hop.unwrap_or_else(|| Hop { reader: reader.clone(), path: "more".to_owned(), span: Span::default(), doubt: None });
    Hop { doubt: Some(format!("no more than {MOST_PLACES} values lead there, which is where the search ends")), ..hop }
}

/// The texts that a part of a value is made of, each with what is asked for below it.
pub(super) fn below<'f>(filling: &'f Filling, path: &[String]) -> Vec<(&'f Text, Path)> {
    match (filling, path.split_first()) {
        (Filling::Constant(_), _) => vec![],
        (Filling::Text(text), _) => vec![(text, path.to_vec())],
        (Filling::List(list), Some((place, rest))) if place == EACH => list.iter().flat_map(|one| below(one, rest)).collect(),
        (Filling::List(list), Some((place, rest))) => match place.parse::<usize>().ok().and_then(|place| list.get(place)) {
            Some(one) => below(one, rest),
            None => list.iter().flat_map(|one| below(one, &[])).collect(),
        },
        (Filling::List(list), None) => list.iter().flat_map(|one| below(one, &[])).collect(),
        (Filling::Map(map), Some((name, rest))) => match map.iter().find(|(own, _)| own == name) {
            Some((_, one)) => below(one, rest),
            None if is_place(name) => map.iter().flat_map(|(_, one)| below(one, &[])).collect(),
            None => vec![],
        },
        (Filling::Map(map), None) => map.iter().flat_map(|(_, one)| below(one, &[])).collect(),
    }
}
