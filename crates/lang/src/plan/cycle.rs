//! Circles of steps that wait for each other (F101).

use std::collections::VecDeque;
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::{Block, Edge};
use crate::diagnostic::{Code, Diagnostic, way};
use crate::model::Step;
use crate::source::Span;

/// Most circles reported at once; a file that has more is better fixed step by step.
const MOST_CIRCLES: usize = 20;
/// How many steps of a tangle are tried as the start of its shortest circle: keeps the work in step with the size of the file.
const STARTS: usize = 32;

/// Reports each circle once, by its shortest way, and takes its last edge out so that the rest can be checked.
pub(super) fn report(block: &mut Block, steps: &[Arc<Step>], diagnostics: &mut Vec<Diagnostic>) {
    for _ in 0..MOST_CIRCLES {
        // Kosaraju's way keeps its own stack; a recursive one would overflow the thread's on a long list.
        let mut groups = petgraph::algo::kosaraju_scc(&block.graph);
        let mut group_of = vec![0; block.len()];
        for (number, group) in groups.iter_mut().enumerate() {
            group.sort_unstable();
            group.iter().for_each(|node| group_of[node.index()] = number);
        }
        let mut search = Search { group_of, from: vec![0; block.len()], found_in: vec![0; block.len()], number: 0 };
        let circles: Vec<Vec<usize>> = groups
            .iter()
            .filter(|group| group.len() > 1 || group.iter().any(|node| block.graph.find_edge(*node, *node).is_some()))
            .filter_map(|group| {
                let ways = group.iter().take(STARTS).filter_map(|node| search.shortest(block, node.index()));
                ways.min_by_key(|way| (way.len(), way.clone()))
            })
            .collect();
        if circles.is_empty() {
            return;
        }
        for circle in circles {
            diagnostics.push(diagnose(block, steps, &circle));
            // Every circle of the group needs an edge less before the next look; the reported one loses its first.
            block.break_circle(&circle, circle[1 % circle.len()], circle[0]);
        }
    }
}

/// What is kept from one search to the next, so that each costs no more than the places it looks at.
struct Search {
    /// For each place, its group: places that wait for each other. A circle never leaves one.
    group_of: Vec<usize>,
    /// For each place, from where the present search came to it.
    from: Vec<usize>,
    /// In which search that was.
    found_in: Vec<usize>,
    /// The present search.
    number: usize,
}

impl Search {
    /// The shortest circle through a place: places in the order "waits for", the lowest place first.
    fn shortest(&mut self, block: &Block, start: usize) -> Option<Vec<usize>> {
        self.number += 1;
        let mut queue = VecDeque::from([start]);
        while let Some(place) = queue.pop_front() {
            for edge in block.graph.edges_directed(NodeIndex::new(place), petgraph::Direction::Incoming) {
                let above = edge.source().index();
                if above == start {
                    return Some(self.way_back(place, start));
                }
                if self.group_of[above] == self.group_of[start] && self.found_in[above] != self.number {
                    self.found_in[above] = self.number;
                    self.from[above] = place;
                    queue.push_back(above);
                }
            }
        }
        None
    }

    fn way_back(&self, place: usize, start: usize) -> Vec<usize> {
        let mut way = vec![place];
        let mut at = place;
        while at != start {
            at = self.from[at];
            way.push(at);
        }
        way.reverse();
        let lowest = way.iter().enumerate().min_by_key(|(_, p)| **p).map_or(0, |(i, _)| i);
        way.rotate_left(lowest);
        way
    }
}

fn diagnose(block: &Block, steps: &[Arc<Step>], circle: &[usize]) -> Diagnostic {
    let id = |place: usize| steps[place].id.value.as_str();
    let next = |i: usize| circle[(i + 1) % circle.len()];
    let names: Vec<&str> = circle.iter().chain(&circle[..1]).map(|p| id(*p)).collect();
    let place_of = |i: usize| -> (Span, bool) {
        let step = &steps[circle[i]];
        let written = step.needs.iter().flatten().find(|need| need.value == id(next(i)));
        (written.map_or(step.id.span, |need| need.span), written.is_some())
    };
    let last = circle.len() - 1;
    let is_written = |i: &usize| place_of(*i).1;
    // A need of a step below is the one that is wrong: steps run from top to bottom.
    let below = (0..circle.len()).find(|i| is_written(i) && next(*i) > circle[*i]);
    let marked = below.or_else(|| (0..circle.len()).rev().find(is_written)).unwrap_or(last);
    let message = if circle.len() == 1 {
        format!("step \"{}\" waits for itself", names[0])
    } else {
        format!("steps wait for each other: {}", way(&names))
    };
    let mut diagnostic = Diagnostic::new(Code::Cycle, place_of(marked).0, message);
    let mut by_order = vec![];
    for i in 0..circle.len() {
        let edge = block.graph.find_edge(NodeIndex::new(next(i)), NodeIndex::new(circle[i])).and_then(|e| block.graph.edge_weight(e));
        if edge == Some(&Edge::Above) {
            by_order.push(format!("\"{}\" waits for \"{}\"", id(circle[i]), id(next(i))));
        }
        if circle.len() > 1 {
            // The one at the finding's own place is the label of what is marked.
            diagnostic = diagnostic.related(place_of(i).0, format!("\"{}\" waits for \"{}\"", id(circle[i]), id(next(i))));
        }
    }
    if let Some(i) = below {
        diagnostic.help(format!("remove {} from needs of \"{}\": it stands below and waits for it in its turn", id(next(i)), id(circle[i])))
    } else if by_order.is_empty() {
        diagnostic.help("remove one of the names")
    } else {
        diagnostic.help(format!("give a step its own needs: from the order in the file, {}", by_order.join(", ")))
    }
}
