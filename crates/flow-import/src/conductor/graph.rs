//! Agents that name who is next, as lists of steps: loops are found, and what is left has an order.

use std::collections::BTreeSet;

/// A part of a list of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ArrangedPart {
    Step(usize),
    /// Steps that are done again; `head` is the first of them.
    Loop {
        head: usize,
        inner: Vec<ArrangedPart>,
    },
}

impl ArrangedPart {
    /// Whether something in it is done again.
    pub(super) fn is_loop(&self) -> bool {
        matches!(self, ArrangedPart::Loop { .. })
    }

    /// The steps in it, in order.
    pub(super) fn members(&self) -> Vec<usize> {
        match self {
            ArrangedPart::Step(number) => vec![*number],
            ArrangedPart::Loop { inner, .. } => inner.iter().flat_map(ArrangedPart::members).collect(),
        }
    }
}

/// All nodes that can be reached from one, by one way or more.
fn reached(from: usize, edges: &[(usize, usize)]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        let next = edges.iter().filter(|(source, _)| *source == node).map(|(_, target)| *target);
        open.extend(next.filter(|target| found.insert(*target)).collect::<Vec<_>>());
    }
    found
}

/// The nodes that can be reached from the entry, and the entry.
pub(super) fn in_use(entry: usize, edges: &[(usize, usize)]) -> BTreeSet<usize> {
    let mut found = reached(entry, edges);
    found.insert(entry);
    found
}

/// The nodes in an order in which each stands below those that lead to it; those that lead back to each other are a loop.
pub(super) fn arrange(nodes: &BTreeSet<usize>, edges: &[(usize, usize)], entry: usize) -> Vec<ArrangedPart> {
    let is_own = |(from, to): &&(usize, usize)| nodes.contains(from) && nodes.contains(to) && *to != entry;
    let edges: Vec<(usize, usize)> = edges.iter().filter(is_own).copied().collect();
    let from: Vec<(usize, BTreeSet<usize>)> = nodes.iter().map(|node| (*node, reached(*node, &edges))).collect();
    let reaches = |a: usize, b: usize| from.iter().any(|(node, reached)| *node == a && reached.contains(&b));
    let mut open: BTreeSet<usize> = nodes.clone();
    let mut found = vec![];
    while !open.is_empty() {
        let is_free = |node: &usize| !open.iter().any(|other| reaches(*other, *node) && !reaches(*node, *other));
        let first = if open.contains(&entry) { Some(entry) } else { open.iter().copied().find(is_free) };
        let Some(first) = first.or_else(|| open.first().copied()) else { break };
        let circle: BTreeSet<usize> = open.iter().copied().filter(|node| reaches(first, *node) && reaches(*node, first)).collect();
        if circle.is_empty() {
            open.remove(&first);
            found.push(ArrangedPart::Step(first));
            continue;
        }
        open.retain(|node| !circle.contains(node));
        let is_entered = |node: &&usize| edges.iter().any(|(from, to)| to == *node && !circle.contains(from));
        let head = circle.iter().find(is_entered).copied().unwrap_or(first);
        found.push(ArrangedPart::Loop { head, inner: arrange(&circle, &edges, head) });
    }
    found
}
