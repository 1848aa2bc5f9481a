//! Which steps of a list come before which. Asked often, by checks of large files, so the answers are worked out for 64
//! steps at once and kept: the work of all questions together stays below (steps + edges) × steps / 64. Most questions need
//! none of it: steps that follow each other, that name each other, or of which the upper one stands no higher.

use std::sync::OnceLock;

use super::Edge;

/// How many of the steps that a step waits for are looked through before anything is worked out.
const NEAR: usize = 16;

/// Answers for one list and one choice of edges.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    /// The places, each after all it waits for.
    order: Vec<usize>,
    /// For each place, the first of the unbroken row of places above it that wait for each other.
    row: Vec<usize>,
    /// For each place, the most places that are above it in one way.
    depth: Vec<u32>,
    /// For 64 places at a time: one bit for each of them that comes before a place.
    columns: Vec<OnceLock<Box<[u64]>>>,
    /// The edges that count.
    counts: EdgeFilter,
}

/// Which edges count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum EdgeFilter {
    /// All.
    #[default]
    All,
    /// Those over which a step that was blocked or failed holds back what waits for it.
    Blocking,
}

impl EdgeFilter {
    fn has(self, edge: Edge) -> bool {
        self == EdgeFilter::All || matches!(edge, Edge::Need | Edge::Above)
    }
}

impl Reach {
    /// `order` is a topological order of the places; `incoming` what each place waits for. Without an order, because circles are
    /// left, every place counts as above every other: the circles are reported, and nothing follows from them.
    pub(super) fn new(order: Vec<usize>, incoming: &[Vec<(usize, Edge)>], counts: EdgeFilter) -> Reach {
        let mut row: Vec<usize> = Vec::with_capacity(incoming.len());
        for (place, edges) in incoming.iter().enumerate() {
            let follows = edges.iter().any(|(above, edge)| above + 1 == place && counts.has(*edge));
            row.push(if follows { row[place - 1] } else { place });
        }
        let mut depth = vec![0; incoming.len()];
        for place in &order {
            let above = incoming[*place].iter().filter(|(_, edge)| counts.has(*edge)).map(|(above, _)| depth[*above] + 1);
            depth[*place] = above.max().unwrap_or(0);
        }
        Reach { order, row, depth, columns: vec![OnceLock::new(); incoming.len().div_ceil(64)], counts }
    }

    /// Whether a way leads from `above` down to `below`.
    pub(super) fn leads(&self, incoming: &[Vec<(usize, Edge)>], above: usize, below: usize) -> bool {
        match self.row.get(below) {
            Some(first) if *first <= above && above < below => return true,
            Some(_) if self.order.is_empty() => return above != below,
            Some(_) if self.depth.get(above) >= self.depth.get(below) => return false,
            Some(_) if incoming[below].iter().take(NEAR).any(|(near, edge)| *near == above && self.counts.has(*edge)) => return true,
            Some(_) => {}
            None => return false,
        }
        let Some(column) = self.columns.get(above / 64) else { return false };
        let column = column.get_or_init(|| self.column(incoming, above / 64));
        column.get(below).is_some_and(|bits| bits & (1 << (above % 64)) != 0)
    }

    fn column(&self, incoming: &[Vec<(usize, Edge)>], column: usize) -> Box<[u64]> {
        let mut bits = vec![0u64; incoming.len()];
        for place in &self.order {
            let mut found = 0;
            for (above, edge) in &incoming[*place] {
                if self.counts.has(*edge) {
                    let own = if above / 64 == column { 1 << (above % 64) } else { 0 };
                    found |= bits[*above] | own;
                }
            }
            bits[*place] = found;
        }
        bits.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All places above one, by following every edge.
    fn all_above(incoming: &[Vec<(usize, Edge)>], counts: EdgeFilter, below: usize) -> Vec<usize> {
        let mut found = vec![];
        let mut open = vec![below];
        while let Some(place) = open.pop() {
            for (above, edge) in &incoming[place] {
                if counts.has(*edge) && !found.contains(above) {
                    found.push(*above);
                    open.push(*above);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn answers_are_those_of_following_every_edge(edges in prop::collection::btree_map((0usize..70, 0usize..70), 0usize..8, 0..120)) {
            let mut incoming = vec![vec![]; 70];
            for ((one, other), kind) in edges {
                let edge = if kind == 0 { Edge::Failure } else { Edge::Need };
                if one != other {
                    incoming[one.max(other)].push((one.min(other), edge));
                }
            }
            for counts in [EdgeFilter::All, EdgeFilter::Blocking] {
                let reach = Reach::new((0..70).collect(), &incoming, counts);
                for below in 0..70 {
                    let expected = all_above(&incoming, counts, below);
                    for above in 0..70 {
                        prop_assert_eq!(reach.leads(&incoming, above, below), expected.contains(&above), "{} {}", above, below);
                    }
                }
            }
        }
    }
}
