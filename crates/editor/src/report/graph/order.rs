//! Assigns nodes of a list to layers by the longest path, and orders each layer by barycentres (Sugiyama's method).

use std::collections::VecDeque;

/// Maximum number of bends of arrows over several layers; in a larger picture these arrows are straight.
const MOST_BENDS: usize = 20_000;
/// Number of passes through the layers, alternately down and up.
const SWEEPS: usize = 12;

/// A place on a layer: a node, or a bend of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerSpot {
    /// A node of the list.
    Node(usize),
    /// A bend of an arrow.
    Bend,
}

/// The layers of a list.
#[derive(Debug)]
pub(super) struct Layers {
    /// All spots; the nodes come first, so the index of a node is also its index here.
    pub(super) spots: Vec<LayerSpot>,
    /// Spots from left to right, in rows from top to bottom.
    pub(super) rows: Vec<Vec<usize>>,
    /// The predecessors of each spot, one layer up.
    pub(super) up: Vec<Vec<usize>>,
    /// The successors of each spot, one layer down.
    pub(super) down: Vec<Vec<usize>>,
    /// For each arrow the spots on its path, including both ends.
    pub(super) ways: Vec<Vec<usize>>,
}

/// Assigns `count` nodes to layers so that every arrow leads down. `widths` and `most` limit the width of a layer: a wider one is split.
pub(super) fn layers(count: usize, arrows: &[(usize, usize)], widths: &[f64], most: f64) -> Layers {
    let mut rows: Vec<Vec<usize>> = vec![];
    for row in by_longest_path(count, arrows) {
        let mut wide = 0.0;
        rows.push(vec![]);
        for node in row {
            let is_full = wide > 0.0 && wide + widths[node] > most;
            if is_full {
                rows.push(vec![]);
                wide = 0.0;
            }
            wide += widths[node];
            if let Some(last) = rows.last_mut() {
                last.push(node);
            }
        }
    }
    let mut layer_of = vec![0; count];
    for (layer, row) in rows.iter().enumerate() {
        row.iter().for_each(|node| layer_of[*node] = layer);
    }
    let bends: usize = arrows.iter().map(|(from, to)| layer_of[*to].saturating_sub(layer_of[*from] + 1)).sum();
    let mut layers =
        Layers { spots: (0..count).map(LayerSpot::Node).collect(), rows, up: vec![vec![]; count], down: vec![vec![]; count], ways: vec![] };
    for (from, to) in arrows {
        let mut way = vec![*from];
        if bends <= MOST_BENDS {
            for layer in layer_of[*from] + 1..layer_of[*to] {
                way.push(layers.spots.len());
                layers.rows[layer].push(layers.spots.len());
                layers.spots.push(LayerSpot::Bend);
                layers.up.push(vec![]);
                layers.down.push(vec![]);
            }
            way.push(*to);
            for pair in way.windows(2) {
                layers.down[pair[0]].push(pair[1]);
                layers.up[pair[1]].push(pair[0]);
            }
        } else {
            way.push(*to);
        }
        layers.ways.push(way);
    }
    layers.untangle();
    layers
}

/// Groups nodes by the length of the longest path to them. Each member of a cycle, which no checked file has, is included once.
fn by_longest_path(count: usize, arrows: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut below = vec![vec![]; count];
    let mut waits = vec![0usize; count];
    for (from, to) in arrows {
        below[*from].push(*to);
        waits[*to] += 1;
    }
    let mut depth = vec![0usize; count];
    let mut open: VecDeque<usize> = (0..count).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = open.pop_front() {
        for next in &below[node] {
            depth[*next] = depth[*next].max(depth[node] + 1);
            waits[*next] -= 1;
            if waits[*next] == 0 {
                open.push_back(*next);
            }
        }
    }
    let mut rows = vec![vec![]; depth.iter().max().map_or(0, |deepest| deepest + 1)];
    (0..count).for_each(|node| rows[depth[node]].push(node));
    rows
}

impl Layers {
    /// Orders each layer by the mean position of the neighbours of its spots, and keeps the order with the fewest crossings.
    fn untangle(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for sweep in 0..SWEEPS {
            if best.0 == 0 {
                break;
            }
            let goes_down = sweep % 2 == 0;
            let mut place = self.places();
            let count = self.rows.len();
            for step in 0..count {
                let row = if goes_down { step } else { count - 1 - step };
                let beside = if goes_down { &self.up } else { &self.down };
                let mean = |spot: &usize| {
                    let near = &beside[*spot];
                    if near.is_empty() { place[*spot] } else { near.iter().map(|other| place[*other]).sum::<f64>() / near.len() as f64 }
                };
                let mut keyed: Vec<(f64, usize)> = self.rows[row].iter().map(|spot| (mean(spot), *spot)).collect();
                keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
                self.rows[row] = keyed.into_iter().map(|(_, spot)| spot).collect();
                self.rows[row].iter().enumerate().for_each(|(at, spot)| place[*spot] = at as f64);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    fn places(&self) -> Vec<f64> {
        let mut place = vec![0.0; self.spots.len()];
        for row in &self.rows {
            row.iter().enumerate().for_each(|(at, spot)| place[*spot] = at as f64);
        }
        place
    }

    /// Returns how many pairs of arrows between adjacent layers cross.
    fn crossings(&self) -> u64 {
        let place = self.places();
        let of_row = |row: &Vec<usize>| {
            let mut ends: Vec<usize> = vec![];
            for spot in row {
                let mut own: Vec<usize> = self.down[*spot].iter().map(|other| place[*other] as usize).collect();
                own.sort_unstable();
                ends.extend(own);
            }
            inversions(&mut ends)
        };
        self.rows.iter().map(of_row).sum()
    }
}

/// Counts the pairs in the wrong order by merge sort; sorts the list.
fn inversions(list: &mut [usize]) -> u64 {
    if list.len() < 2 {
        return 0;
    }
    let middle = list.len() / 2;
    let mut count = inversions(&mut list[..middle]) + inversions(&mut list[middle..]);
    let (left, right) = (list[..middle].to_vec(), list[middle..].to_vec());
    let (mut l, mut r) = (0, 0);
    for slot in list.iter_mut() {
        if r == right.len() || (l < left.len() && left[l] <= right[r]) {
            *slot = left[l];
            l += 1;
        } else {
            count += (left.len() - l) as u64;
            *slot = right[r];
            r += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(count: usize) -> Vec<f64> {
        vec![10.0; count]
    }

    #[test]
    fn every_arrow_leads_down_and_long_ones_bend_on_each_layer_between() {
        let found = layers(4, &[(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)], &wide(4), 1000.0);
        assert_eq!(found.rows.len(), 4);
        assert_eq!(found.ways[4].len(), 4, "{:?}", found.ways);
        let row_of = |spot: usize| found.rows.iter().position(|row| row.contains(&spot));
        assert!(found.ways.iter().all(|way| way.windows(2).all(|pair| row_of(pair[0]) < row_of(pair[1]))));
    }

    #[test]
    fn arrows_that_need_not_cross_do_not() {
        // Above 0 1 2, below 5 4 3 in file order: after sorting, nothing crosses.
        let found = layers(6, &[(0, 5), (1, 4), (2, 3)], &wide(6), 1000.0);
        assert_eq!(found.crossings(), 0, "{:?}", found.rows);
        let tangled = Layers { rows: vec![vec![0, 1, 2], vec![3, 4, 5]], ..found };
        assert_eq!(tangled.crossings(), 3);
    }

    #[test]
    fn a_layer_that_is_too_wide_is_broken_into_several() {
        let found = layers(7, &[], &wide(7), 30.0);
        assert_eq!(found.rows.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    }

    #[test]
    fn a_great_many_long_arrows_stay_straight() {
        let count = 400;
        let mut arrows: Vec<(usize, usize)> = (1..count).map(|to| (to - 1, to)).collect();
        arrows.extend((2..count).map(|to| (0, to)));
        let found = layers(count, &arrows, &wide(count), 1000.0);
        assert_eq!((found.rows.len(), found.spots.len()), (count, count));
    }
}
