//! From where values come to each place, for one question: forward from those who wrote them, over each edge once. Each place keeps the edge on which
//! its value comes, so that an answer has its way. What was answered stays: places that are asked for later lead only to more of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::places::{Back, PlaceIx, UNKNOWN, ValueEdge};
use super::source::MOST_TOLD;
use super::{ChainIx, Hop, Labels, Source, Start, Way};
use crate::model::{Pipeline, PipelineId, Step};
use crate::plan::StepIx;

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

/// What is asked of values, and the answer for each place that was looked at.
pub struct ValueWays {
    /// What a step that judges lets through.
    passage: fn(&Step, &Pipeline) -> GatePassage,
    /// Which sources count.
    wanted: fn(&Source) -> bool,
    passages: HashMap<(PipelineId, StepIx), GatePassage>,
    best: Vec<Option<Best>>,
    /// For a place, the nearest on its way whose edge has a doubt.
    doubtful: HashMap<PlaceIx, PlaceIx>,
    /// For a place, the nearest on its way from which few texts are left.
    last: HashMap<PlaceIx, PlaceIx>,
}

/// Where values are followed from; it is no place itself.
const START: PlaceIx = PlaceIx::MAX;

/// How much lies on a way: its doubts, then its texts.
type Cost = (u32, u32);

/// The best way to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    cost: Cost,
    /// On which of its backs.
    by: u32,
}

impl ValueWays {
    /// A question.
    pub fn new(passage: fn(&Step, &Pipeline) -> GatePassage, wanted: fn(&Source) -> bool) -> ValueWays {
        ValueWays { passage, wanted, passages: HashMap::new(), best: vec![], doubtful: HashMap::new(), last: HashMap::new() }
    }

    /// The shortest way from a source that is wanted to where values are followed from; ways with a doubt after those without.
    pub fn find<'p>(&mut self, labels: &mut Labels<'p>, from: Vec<Start<'p>>) -> Option<Way> {
        let mut starts = vec![];
        for start in from {
            starts.extend(labels.begin(start));
        }
        labels.draw();
        self.settle(labels);
        let costs = starts.iter().filter_map(|back| Some((back, self.cost_over(labels, START, back)?)));
        let (first, _) = costs.min_by_key(|(_, cost)| *cost)?;
        self.way(labels, first)
    }

    /// Works out the best way to each place that has been drawn since.
    fn settle(&mut self, labels: &Labels) {
        let (first, end) = (self.best.len(), labels.places.len());
        self.best.resize(end, None);
        let mut readers: Vec<Vec<(PlaceIx, u32, Cost)>> = vec![vec![]; end - first];
        let mut open = BinaryHeap::new();
        for ix in first as PlaceIx..end as PlaceIx {
            for (by, back) in (0..).zip(labels.places.backs(ix)) {
                let reader = match back {
                    Back::From(_) => None,
                    Back::Of(edge) => readers.get_mut((edge.to as usize).wrapping_sub(first)).zip(self.step_over(labels, ix, edge)),
                };
                match reader {
                    Some((readers, cost)) => readers.push((ix, by, cost)),
                    None => {
                        let cost = self.cost_over(labels, ix, back);
                        self.offer(ix, by, cost, &mut open);
                    }
                }
            }
        }
        while let Some(Reverse((cost, ix))) = open.pop() {
            if self.best(ix).is_none_or(|best| best.cost != cost) {
                continue;
            }
            for (reader, by, step) in std::mem::take(&mut readers[ix as usize - first]) {
                self.offer(reader, by, Some((cost.0 + step.0, cost.1 + step.1)), &mut open);
            }
        }
    }

    fn offer(&mut self, ix: PlaceIx, by: u32, cost: Option<Cost>, open: &mut BinaryHeap<Reverse<(Cost, PlaceIx)>>) {
        let (Some(cost), Some(known)) = (cost, self.best.get_mut(ix as usize)) else { return };
        let best = Best { cost, by };
        if known.is_none_or(|known| best < known) {
            if known.is_none_or(|known| cost < known.cost) {
                open.push(Reverse((cost, ix)));
            }
            *known = Some(best);
        }
    }

    fn best(&self, ix: PlaceIx) -> Option<Best> {
        self.best.get(ix as usize).copied().flatten()
    }

    /// What a back of a place costs with all behind it; `None`: nothing that is wanted comes over it.
    fn cost_over(&mut self, labels: &Labels, ix: PlaceIx, back: &Back) -> Option<Cost> {
        match back {
            Back::From(source) => (ix == UNKNOWN || (self.wanted)(source)).then_some((0, 0)),
            Back::Of(edge) => {
                let (behind, step) = (self.best(edge.to)?.cost, self.step_over(labels, ix, edge)?);
                Some((behind.0 + step.0, behind.1 + step.1))
            }
        }
    }

    /// What an edge costs; `None`: it is shut.
    fn step_over(&mut self, labels: &Labels, ix: PlaceIx, edge: &ValueEdge) -> Option<Cost> {
        let is_doubtful = match edge.judged_by.map(|by| self.passage(labels, labels.places.chain(ix), by)) {
            Some(GatePassage::Shut) => return None,
            Some(GatePassage::Doubt(_)) => true,
            Some(GatePassage::Open) | None => edge.hop.as_ref().is_some_and(|hop| hop.doubt.is_some()),
        };
        Some((u32::from(is_doubtful), u32::from(edge.hop.is_some())))
    }

    fn passage(&mut self, labels: &Labels, chain: ChainIx, by: StepIx) -> &GatePassage {
        let (id, planned) = (labels.id(chain), labels.pipeline(chain));
        self.passages.entry((id, by)).or_insert_with(|| (self.passage)(&planned.step(by).step, &planned.pipeline))
    }

    /// The edge on which the value of a place comes; `None`: it was written there.
    fn edge<'l>(&self, labels: &'l Labels, ix: PlaceIx) -> Option<&'l ValueEdge> {
        match labels.places.backs(ix).get(self.best(ix)?.by as usize)? {
            Back::From(_) => None,
            Back::Of(edge) => Some(edge),
        }
    }

    /// The text that reads on an edge, with what a judge makes of it.
    fn hop(&mut self, labels: &Labels, ix: PlaceIx, edge: &ValueEdge) -> Option<Hop> {
        let mut hop = edge.hop.clone()?;
        if let Some(GatePassage::Doubt(doubt)) = edge.judged_by.map(|by| self.passage(labels, labels.places.chain(ix), by)) {
            hop.doubt = Some(doubt.clone());
        }
        Some(hop)
    }

    fn way(&mut self, labels: &Labels, first: &Back) -> Option<Way> {
        let mut way = match first {
            Back::From(source) => return Some(Way { source: source.clone(), hops: vec![], left_out: 0, doubts: vec![] }),
            Back::Of(edge) => Walk { at: edge.to, hops: self.hop(labels, START, edge).into_iter().collect() },
        };
        let mut doubts: Vec<String> = way.hops.iter().filter_map(|hop| hop.doubt.clone()).collect();
        let begin = way.at;
        while way.hops.len() < MOST_TOLD && self.walk(labels, &mut way) {}
        let left_out = self.best(way.at)?.cost.1.saturating_sub(MOST_TOLD as u32);
        let mut last = std::mem::take(&mut self.last);
        way.at = self.further(labels, &mut last, way.at, |ways, at| ways.best(at).is_none_or(|best| best.cost.1 <= MOST_TOLD as u32));
        self.last = last;
        while self.walk(labels, &mut way) {}
        let source = match labels.places.backs(way.at).get(self.best(way.at)?.by as usize)? {
            Back::From(source) => source.clone(),
            Back::Of(_) => return None,
        };
        let mut walk = Walk { at: begin, hops: vec![] };
        let mut doubtful = std::mem::take(&mut self.doubtful);
        while doubts.len() < MOST_TOLD && self.best(walk.at)?.cost.0 > 0 {
            walk.at = self.further(labels, &mut doubtful, walk.at, |ways, at| {
                let cost = |at| ways.best(at).map(|best| best.cost.0);
                ways.edge(labels, at).is_none_or(|edge| cost(edge.to) != cost(at))
            });
            self.walk(labels, &mut walk);
            doubts.extend(walk.hops.drain(..).filter_map(|hop| hop.doubt));
        }
        self.doubtful = doubtful;
        let more = self.best(walk.at)?.cost.0;
        doubts.extend((more > 0).then(|| format!("one of {more} more on this way")));
        Some(Way { source, hops: way.hops, left_out, doubts })
    }

    /// One edge on; `false`: the value was written here.
    fn walk(&mut self, labels: &Labels, walk: &mut Walk) -> bool {
        let Some(edge) = self.edge(labels, walk.at) else { return false };
        walk.hops.extend(self.hop(labels, walk.at, edge));
        walk.at = edge.to;
        true
    }

    /// The first place on a way of which something is so, which is looked for once from each.
    fn further(
        &self,
        labels: &Labels,
        known: &mut HashMap<PlaceIx, PlaceIx>,
        mut at: PlaceIx,
        is_end: impl Fn(&ValueWays, PlaceIx) -> bool,
    ) -> PlaceIx {
        let mut walked = vec![];
        while !is_end(self, at) {
            if let Some(end) = known.get(&at) {
                at = *end;
                break;
            }
            let Some(edge) = self.edge(labels, at) else { break };
            walked.push(at);
            at = edge.to;
        }
        known.extend(walked.into_iter().map(|from| (from, at)));
        at
    }
}

/// How far a way was walked, and the texts on it.
struct Walk {
    at: PlaceIx,
    hops: Vec<Hop>,
}
