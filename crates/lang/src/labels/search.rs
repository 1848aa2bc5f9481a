//! The search for a source, the shortest way first; ways with a doubt after those without.

use std::collections::{HashSet, VecDeque};

use super::{ChainIx, Hop, Labels, Seat, Source, Start, Way};
use crate::model::{Filling, Pipeline, Step, Text, Writer};
use crate::source::Span;
use crate::template::{EACH, given, is_place};

/// Most values that are followed for one question. Where there are more, the answer is a way with a doubt, and never none.
const MOST_VALUES: usize = 200_000;

/// Whether a value comes through a step that judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatePassage {
    /// As it is.
    Open,
    /// Only if this is not so.
    Doubt(String),
    /// It does not: what comes out was judged.
    Shut,
}

/// What a value is asked for.
pub(super) type Judges<'a> = &'a dyn Fn(&Step, &Pipeline) -> GatePassage;

/// A path of names, as seen from a seat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReadValue {
    pub(super) chain: ChainIx,
    pub(super) seat: Seat,
    pub(super) path: Vec<String>,
}

/// Where a value may come from, one step back.
#[derive(Debug)]
pub(super) enum Back {
    /// It was written here.
    From(Source),
    /// It is what this path gives.
    Of(ReadValue, Hop),
}

impl<'p> Labels<'p> {
    /// The shortest way to a source that is wanted. `wanted` sees each source once for each value; if it never says yes, it has seen all.
    pub fn way(&mut self, from: Vec<Start<'p>>, judges: Judges, wanted: &mut dyn FnMut(&Source) -> bool) -> Option<Way> {
        let mut starts = vec![];
        for start in from {
            self.begin(start, judges, &mut starts);
        }
        self.follow(starts, judges, wanted)
    }

    /// The same, from values.
    pub(super) fn follow(&mut self, from: Vec<Back>, judges: Judges, wanted: &mut dyn FnMut(&Source) -> bool) -> Option<Way> {
        let mut open = WaySearch::default();
        from.into_iter().for_each(|back| open.add(back, None));
        while let Some(at) = open.next() {
            let (read, _) = open.list.get(at)?.clone();
            for back in self.back(&read, judges) {
                if let Back::From(source) = &back
                    && wanted(source)
                {
                    return Some(Way { source: source.clone(), hops: open.hops(at) });
                }
                open.add(back, Some(at));
            }
            if open.list.len() > MOST_VALUES {
                return Some(open.given_up(at));
            }
        }
        None
    }
}

#[derive(Default)]
struct WaySearch {
    /// Each value with the text that read it, and the value that was made with it.
    list: Vec<(ReadValue, Hop)>,
    above: Vec<Option<usize>>,
    seen: HashSet<ReadValue>,
    sure: VecDeque<usize>,
    doubtful: VecDeque<(usize, ReadValue)>,
}

impl WaySearch {
    fn add(&mut self, back: Back, above: Option<usize>) {
        let Back::Of(read, hop) = back else { return };
        if hop.doubt.is_none() && !self.seen.insert(read.clone()) {
            return;
        }
        let is_sure = hop.doubt.is_none();
        let at = self.list.len();
        self.list.push((read.clone(), hop));
        self.above.push(above);
        if is_sure { self.sure.push_back(at) } else { self.doubtful.push_back((at, read)) }
    }

    fn next(&mut self) -> Option<usize> {
        if let Some(at) = self.sure.pop_front() {
            return Some(at);
        }
        while let Some((at, read)) = self.doubtful.pop_front() {
            if self.seen.insert(read) {
                return Some(at);
            }
        }
        None
    }

    /// The way as far as it was followed: what lies behind is not known, so nothing is said to hold.
    fn given_up(&self, at: usize) -> Way {
        let mut hops = self.hops(at);
        let span = hops.first().map_or(Span::default(), |hop| hop.span);
        if let Some(hop) = hops.last_mut() {
            hop.doubt = Some(format!("no more than {MOST_VALUES} values lead there, which is where the search ends"));
        }
        let at = self.list.get(at).map(|(read, _)| (read.chain, read.seat.map(|(ix, _)| ix)));
        Way {
            source: Source {
                writer: Writer::Stranger,
                personal: None,
                at: at.unwrap_or_default(),
                words: "what was not followed".into(),
                span,
            },
            hops,
        }
    }

    fn hops(&self, at: usize) -> Vec<Hop> {
        let way = std::iter::successors(Some(at), |at| self.above.get(*at).copied().flatten());
        let mut hops: Vec<Hop> = way.filter_map(|at| self.list.get(at)).map(|(_, hop)| hop.clone()).collect();
        hops.reverse();
        hops
    }
}

/// What texts are made of. With each text, the path below its value that is asked for.
pub(super) fn texts<'t>(
    chain: ChainIx,
    seat: Seat,
    list: impl IntoIterator<Item = (&'t Text, Vec<String>)>,
    reader: &str,
    doubt: Option<&str>,
    found: &mut Vec<Back>,
) {
    for (text, rest) in list {
        for given in given(text) {
            let span = text.reads.iter().find(|read| given.path.starts_with(&read.path)).map_or(text.place.span, |read| read.span);
            let hop = Hop { reader: reader.to_owned(), path: given.path.join("."), span, doubt: doubt.map(str::to_owned) };
            found.push(Back::Of(ReadValue { chain, seat, path: given.below(&rest) }, hop));
        }
    }
}

/// The texts that a part of a value is made of, each with what is asked for below it.
pub(super) fn below<'f>(filling: &'f Filling, path: &[String]) -> Vec<(&'f Text, Vec<String>)> {
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

/// What is asked for of an element of a list in an output: its path without the name of the list and the place in it.
pub(super) fn below_list(path: &[String]) -> Vec<&str> {
    path.iter().skip(1).map(String::as_str).filter(|part| !is_place(part)).collect()
}

/// Whether what is below a failure is a word of the engine, or a count.
pub(super) fn is_word_of_failure(path: &[String]) -> bool {
    path.first().is_some_and(|field| ["kind", "step", "attempts"].contains(&field.as_str()))
}

/// What a path gives, to begin with.
pub(super) fn reading(chain: ChainIx, seat: Seat, path: &[String]) -> Back {
    let hop = Hop { reader: String::new(), path: String::new(), span: Span::default(), doubt: None };
    Back::Of(ReadValue { chain, seat, path: path.to_vec() }, hop)
}

/// A source without personal data.
pub(super) fn written(writer: Writer, at: (ChainIx, Option<crate::plan::StepIx>), words: String, span: Span) -> Back {
    Back::From(Source { writer, personal: None, at, words, span })
}
