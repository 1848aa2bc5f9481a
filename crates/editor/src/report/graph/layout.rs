//! The layout of a picture. Lists are nested: the content of a node is laid out first and determines the size of the node.

use super::label::{width, wrap};
use super::order::{LayerSpot, Layers, layers};
use super::{EdgeKind, GraphArrow, GraphNode, List};

/// Width of a title in columns, and its maximum number of lines.
const TITLE: (usize, usize) = (26, 2);
/// Width of a line under the title in columns, and its maximum number of lines.
const LINE: (usize, usize) = (32, 2);
/// Width of a column of a title and of a line in pixels: more than common fonts need.
const TITLE_COLUMN: f64 = 8.8;
const LINE_COLUMN: f64 = 6.9;
/// Heights of a title line and of other lines.
pub(super) const TITLE_HEIGHT: f64 = 19.0;
pub(super) const LINE_HEIGHT: f64 = 16.0;
/// Space around texts, between nodes horizontally and vertically, and inside a group.
pub(super) const PAD: f64 = 11.0;
const BESIDE: f64 = 26.0;
const BELOW: f64 = 40.0;
const INSIDE: f64 = 16.0;
/// Maximum width of a row of nodes before it is broken.
const MOST_WIDE: f64 = 1240.0;
/// Space to the right of a list for the arrow back of the refinement.
const WAY_BACK: f64 = 30.0;
/// Number of passes that move nodes towards their neighbours.
const PULLS: usize = 24;

/// A list with a position for everything, relative to its upper left corner.
#[derive(Debug)]
pub(super) struct PlacedList<'a> {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) nodes: Vec<PlacedNode<'a>>,
    pub(super) edges: Vec<PlacedEdge>,
}

/// A node with its position and texts.
#[derive(Debug)]
pub(super) struct PlacedNode<'a> {
    pub(super) node: &'a GraphNode,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) title: Vec<String>,
    pub(super) lines: Vec<String>,
    /// Its content, with the position.
    pub(super) inner: Option<(f64, f64, PlacedList<'a>)>,
}

/// An arrow.
#[derive(Debug)]
pub(super) struct PlacedEdge {
    pub(super) kind: EdgeKind,
    /// Its course: four corners for a refinement, for others the points between which it runs straight down.
    pub(super) points: Vec<(f64, f64)>,
}

/// Lays out a list.
pub(super) fn place(list: &List) -> PlacedList<'_> {
    let mut nodes: Vec<PlacedNode> = list.nodes.iter().map(sized).collect();
    if list.is_choice {
        return in_rows(nodes);
    }
    let forward: Vec<&GraphArrow> = list.edges.iter().filter(|edge| !edge.kind.is_back()).collect();
    let arrows: Vec<(usize, usize)> = forward.iter().map(|edge| (edge.from, edge.to)).collect();
    let widths: Vec<f64> = nodes.iter().map(|node| node.width + BESIDE).collect();
    let layers = layers(nodes.len(), &arrows, &widths, MOST_WIDE);
    let centres = centres(&layers, &nodes);
    let mut y = 0.0;
    let mut span = vec![(0.0, 0.0); layers.spots.len()];
    for row in &layers.rows {
        let height = row.iter().map(|spot| nodes.get(*spot).map_or(0.0, |node| node.height)).fold(0.0, f64::max);
        for spot in row {
            span[*spot] = (y, y + height);
            if let Some(node) = nodes.get_mut(*spot) {
                (node.x, node.y) = (centres[*spot] - node.width / 2.0, y);
            }
        }
        y += height + BELOW;
    }
    let mut edges: Vec<PlacedEdge> = vec![];
    for (edge, way) in forward.iter().zip(&layers.ways) {
        let mut points = vec![];
        for spot in way {
            match layers.spots[*spot] {
                LayerSpot::Bend => points.extend([(centres[*spot], span[*spot].0), (centres[*spot], span[*spot].1)]),
                LayerSpot::Node(place) if place == edge.from => points.push((centres[*spot], nodes[place].y + nodes[place].height)),
                LayerSpot::Node(place) => points.push((centres[*spot], nodes[place].y)),
            }
        }
        edges.push(PlacedEdge { kind: edge.kind, points });
    }
    let mut width = nodes.iter().map(|node| node.x + node.width).chain(centres.iter().copied()).fold(0.0, f64::max);
    // For each arrow back: its upper and lower end, and the right end of its label.
    let mut ways_back: Vec<(f64, f64, f64)> = vec![];
    for edge in list.edges.iter().filter(|edge| edge.kind.is_back()) {
        let (from, to) = (&nodes[edge.from], &nodes[edge.to]);
        // To the right of everything between the two nodes, but no farther.
        let between = nodes.iter().filter(|node| node.y < from.y + from.height && node.y + node.height > to.y);
        let bends = centres.iter().zip(&span).filter(|(_, (top, _))| *top > to.y && *top < from.y).map(|(centre, _)| *centre);
        let (low, high) = (from.y + from.height / 2.0, to.y + to.height / 2.0);
        let beside = ways_back.iter().filter(|(top, bottom, _)| *top < low && *bottom > high).map(|(_, _, right)| *right);
        let aside = between.map(|node| node.x + node.width).chain(bends).chain(beside).fold(0.0, f64::max) + WAY_BACK;
        edges.push(PlacedEdge {
            kind: edge.kind,
            points: vec![(from.x + from.width, low), (aside, low), (aside, high), (to.x + to.width, high)],
        });
        let right = aside + width_of(edge.kind.label()) + PAD;
        ways_back.push((high, low, right));
        width = width.max(right);
    }
    PlacedList { width, height: (y - BELOW).max(0.0), nodes, edges }
}

/// Returns the width of a line of text in pixels.
pub(super) fn width_of(line: &str) -> f64 {
    width(line) as f64 * LINE_COLUMN
}

/// Computes the texts and the size of a node, and lays out its content.
fn sized(node: &GraphNode) -> PlacedNode<'_> {
    let inner = node.inner.as_ref().map(place);
    // A group has room for longer lines.
    let room = inner.as_ref().map_or(0, |inner| (inner.width / LINE_COLUMN) as usize);
    let title = wrap(&node.title, TITLE.0.max(room), TITLE.1);
    let lines: Vec<String> = node.all_lines().flat_map(|line| wrap(&line, LINE.0.max(room), LINE.1)).collect();
    let of_title = title.iter().map(|line| width(line) as f64 * TITLE_COLUMN).fold(0.0, f64::max);
    let of_lines = lines.iter().map(|line| width_of(line)).fold(0.0, f64::max);
    let text_width = (of_title.max(of_lines) + 2.0 * PAD).max(110.0);
    let text_height = title.len() as f64 * TITLE_HEIGHT + lines.len() as f64 * LINE_HEIGHT + PAD + 6.0;
    let (width, height, inner) = match inner {
        None => (text_width, text_height, None),
        Some(inner) => {
            let width = text_width.max(inner.width + 2.0 * INSIDE);
            let height = text_height + inner.height + INSIDE;
            let aside = (width - inner.width) / 2.0;
            (width, height, Some((aside, text_height, inner)))
        }
    };
    PlacedNode { node, x: 0.0, y: 0.0, width, height, title, lines, inner }
}

/// Places nodes beside each other, in several rows of similar width if one would be too wide.
fn in_rows(mut nodes: Vec<PlacedNode<'_>>) -> PlacedList<'_> {
    let all: f64 = nodes.iter().map(|node| node.width + INSIDE).sum();
    let most = (all / (all / MOST_WIDE).ceil()).max(1.0) + INSIDE;
    let (mut x, mut y, mut tallest, mut width) = (0.0, 0.0, 0.0_f64, 0.0_f64);
    for node in &mut nodes {
        if x > 0.0 && x + node.width / 2.0 > most {
            (x, y, tallest) = (0.0, y + tallest + INSIDE, 0.0);
        }
        (node.x, node.y) = (x, y);
        x += node.width + INSIDE;
        width = width.max(x - INSIDE);
        tallest = tallest.max(node.height);
    }
    PlacedList { width, height: y + tallest, nodes, edges: vec![] }
}

/// Computes the centre of each spot: as close to its neighbours as the order of the layer and the widths of the nodes allow.
fn centres(layers: &Layers, nodes: &[PlacedNode]) -> Vec<f64> {
    let half = |spot: usize| nodes.get(spot).map_or(4.0, |node| node.width / 2.0);
    let apart = |left: usize, right: usize| half(left) + half(right) + BESIDE;
    let mut centres = vec![0.0; layers.spots.len()];
    for row in &layers.rows {
        let mut x = 0.0;
        for (at, spot) in row.iter().enumerate() {
            x += if at == 0 { half(*spot) } else { apart(row[at - 1], *spot) };
            centres[*spot] = x;
        }
    }
    let count = layers.rows.len();
    for pull in 0..PULLS + 1 {
        // The last pass goes down and only considers nodes above, so that simple successors are placed exactly below.
        let is_last = pull == PULLS;
        for step in 0..count {
            let row = &layers.rows[if pull % 2 == 0 { step } else { count - 1 - step }];
            let wanted: Vec<f64> = row
                .iter()
                .map(|spot| {
                    let below = layers.down[*spot].iter().filter(|_| !is_last);
                    let near: Vec<f64> = layers.up[*spot].iter().chain(below).map(|other| centres[*other]).collect();
                    if near.is_empty() { centres[*spot] } else { near.iter().sum::<f64>() / near.len() as f64 }
                })
                .collect();
            let gaps: Vec<f64> = row.windows(2).map(|pair| apart(pair[0], pair[1])).collect();
            for (spot, centre) in row.iter().zip(nearest(&wanted, &gaps)) {
                centres[*spot] = centre;
            }
        }
    }
    let left = (0..centres.len()).map(|spot| centres[spot] - half(spot)).fold(f64::INFINITY, f64::min);
    centres.iter().map(|centre| centre - if left.is_finite() { left } else { 0.0 }).collect()
}

/// Returns positions in order, at least `gaps` apart, with the least squared distance to the wanted ones (pool adjacent violators).
fn nearest(wanted: &[f64], gaps: &[f64]) -> Vec<f64> {
    let mut offsets = vec![0.0];
    gaps.iter().for_each(|gap| offsets.push(offsets.last().copied().unwrap_or(0.0) + gap));
    let mut pools: Vec<(f64, usize)> = vec![];
    for (want, offset) in wanted.iter().zip(&offsets) {
        pools.push((want - offset, 1));
        while let [.., (above, many), (last, count)] = pools[..] {
            if above <= last {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push(((above * many as f64 + last * count as f64) / (many + count) as f64, many + count));
        }
    }
    let base = pools.iter().flat_map(|(mean, count)| std::iter::repeat_n(*mean, *count));
    base.zip(&offsets).map(|(base, offset)| base + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_their_distance_and_stay_as_near_as_they_can() {
        assert_eq!(nearest(&[0.0, 100.0], &[10.0]), [0.0, 100.0]);
        assert_eq!(nearest(&[50.0, 50.0], &[10.0]), [45.0, 55.0]);
        let packed = nearest(&[100.0, 0.0, 0.0], &[10.0, 10.0]);
        assert!(packed.windows(2).all(|pair| (pair[1] - pair[0] - 10.0).abs() < 1e-9), "{packed:?}");
    }

    fn node(title: &str) -> GraphNode {
        GraphNode { path: title.into(), title: title.into(), kind: "set", lines: vec![], when: None, inner: None, state: None }
    }

    #[test]
    fn nodes_never_lie_on_each_other() {
        let nodes: Vec<GraphNode> = (0..30).map(|at| node(&format!("step number {at}"))).collect();
        let order = |from, to| GraphArrow { from, to, kind: EdgeKind::Order };
        let edges = (1..30).map(|to| order((to * 7) % to.max(1), to)).chain((10..30).map(|to| order(to - 10, to))).collect();
        let list = List { nodes, edges, is_choice: false };
        let placed = place(&list);
        for (at, one) in placed.nodes.iter().enumerate() {
            assert!(one.x >= -0.01 && one.x + one.width <= placed.width + 0.01 && one.y + one.height <= placed.height + 0.01);
            for other in &placed.nodes[at + 1..] {
                let apart = one.x + one.width <= other.x
                    || other.x + other.width <= one.x
                    || one.y + one.height <= other.y
                    || other.y + other.height <= one.y;
                assert!(apart, "{} and {}", one.node.title, other.node.title);
            }
        }
    }
}
