//! One list of steps as a graph.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use serde::{Deserialize, Serialize};

use super::reach::{EdgeFilter, Reach};
use super::{StepIx, cycle};
use crate::diagnostic::{About, Code, Diagnostic, Hints, quoted, yaml_quoted};
use crate::model::{SUMMARY_STEP, Step};
use crate::source::Span;

/// Number of a block within its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockIx(pub u32);

/// Why one step waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Written in `needs`.
    Need,
    /// The step above, since there is no `needs`.
    Above,
    /// Runs only if the other failed (`on_failure: <id>`, or `on_timeout: <id>`: if nobody answered).
    Failure,
    /// Reads what the refinement may change, and waits for the gate; how the gate ends does not matter.
    Wait,
}

/// A list of steps and their order.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// The steps are numbered from here, in file order.
    pub first: StepIx,
    /// The step that holds it.
    pub owner: Option<StepIx>,
    /// Nodes are places in the list; an edge goes from what is waited for to what waits.
    pub graph: DiGraph<(), Edge, u32>,
    /// Steps on the longest way from each place to an end, itself included.
    pub longest: Vec<u32>,
    places: HashMap<Arc<str>, usize>,
    /// From where to where edges were drawn since the last `finish`: asking the graph takes as long as a step has readers.
    drawn: HashSet<(usize, usize)>,
    incoming: Vec<Vec<(usize, Edge)>>,
    outgoing: Vec<Vec<(usize, Edge)>>,
    all: Reach,
    blocking: Reach,
    /// Steps whose order is not known: of a circle, or with a need that does not exist; `finish` adds those below them.
    is_uncertain: Vec<bool>,
}

impl Block {
    pub(super) fn new(steps: &[Arc<Step>], first: StepIx, owner: Option<StepIx>) -> Block {
        let mut graph = DiGraph::with_capacity(steps.len(), steps.len() * 2);
        let mut places = HashMap::with_capacity(steps.len());
        for (place, step) in steps.iter().enumerate() {
            graph.add_node(());
            places.entry(Arc::from(step.id.as_str())).or_insert(place);
        }
        Block {
            first,
            owner,
            graph,
            places,
            drawn: HashSet::with_capacity(steps.len() * 2),
            is_uncertain: vec![false; steps.len()],
            ..Block::default()
        }
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// The numbers of its steps.
    pub fn steps(&self) -> impl Iterator<Item = StepIx> + use<> {
        (self.first.0..).map(StepIx).take(self.len())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a step's id.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// What a place waits for.
    pub fn needs(&self, place: usize) -> &[(usize, Edge)] {
        &self.incoming[place]
    }

    /// What waits for a place.
    pub fn readers(&self, place: usize) -> &[(usize, Edge)] {
        &self.outgoing[place]
    }

    /// Whether what a place waits for is known: no mistake that was reported (F100, F101) is above it.
    pub(crate) fn is_certain(&self, place: usize) -> bool {
        self.is_uncertain.get(place) == Some(&false)
    }

    /// Whether `above` is sure to be over before `below` starts. Cheap however often it is asked. Where the order is not
    /// known because of a mistake that was reported (F100, F101), the answer is yes.
    pub fn is_upstream(&self, above: usize, below: usize) -> bool {
        if above != below && self.is_uncertain.get(below) == Some(&true) {
            return true;
        }
        self.all.leads(&self.incoming, above, below)
    }

    /// Whether `below` runs only if `above` ended well or was skipped: a failure of `above` blocks it, directly or through
    /// the steps between them.
    pub(crate) fn is_held_back_by(&self, below: usize, above: usize) -> bool {
        self.blocking.leads(&self.incoming, above, below)
    }

    /// Draws the edges; of a parallel group only those that are written. Reports unknown names (F100), circles (F101), and stand-ins that run too early (F112).
    pub(super) fn connect(&mut self, steps: &[Arc<Step>], is_parallel: bool, diagnostics: &mut Vec<Diagnostic>) {
        let hints = Hints::default();
        let stands_in_for = self.stand_ins(steps, &hints, diagnostics);
        let mut stand_in_of = vec![None; steps.len()];
        for (stand_in, failing) in stands_in_for.iter().enumerate() {
            failing.iter().for_each(|place| {
                stand_in_of[*place].get_or_insert(stand_in);
            });
        }
        for (place, step) in steps.iter().enumerate() {
            for failing in &stands_in_for[place] {
                self.edge(*failing, place, Edge::Failure);
            }
            match &step.needs {
                // The summary of a conversation comes before all that may see it.
                Some(needs) if needs.is_empty() && place > 0 && steps[0].id.value == SUMMARY_STEP => self.edge(0, place, Edge::Above),
                Some(needs) => {
                    for need in needs {
                        match self.place(&need.value) {
                            Some(above) => self.edge(above, place, Edge::Need),
                            None => {
                                self.is_uncertain[place] = true;
                                // A step without an id may be the one that is meant.
                                if steps.iter().all(|step| step.is_named()) {
                                    diagnostics.push(unknown_need(step, need, steps, &hints));
                                }
                            }
                        }
                    }
                }
                None if place > 0 && !is_parallel && stands_in_for[place].is_empty() => {
                    self.edge(place - 1, place, Edge::Above);
                    // A stand-in waits only for what it stands in for: what follows it still follows the steps above it.
                    let mut above = place - 1;
                    while above > 0 && !stands_in_for[above].is_empty() && steps[above].needs.is_none() {
                        above -= 1;
                        if stand_in_of[above].is_none_or(|stand_in| stand_in > place) {
                            self.edge(above, place, Edge::Above);
                            break;
                        }
                    }
                }
                None => {}
            }
        }
        cycle::report(self, steps, diagnostics);
    }

    /// For each place, the places it stands in for: by `on_failure: <id>`, or `on_timeout: <id>` of an approval.
    fn stand_ins(&self, steps: &[Arc<Step>], hints: &Hints, diagnostics: &mut Vec<Diagnostic>) -> Vec<Vec<usize>> {
        let mut stands_in_for = vec![vec![]; steps.len()];
        for (place, step) in steps.iter().enumerate() {
            if step.continues_in_vain() {
                let message =
                    format!("on_failure: continue has no effect at gate {}: what it rejects does not go on", quoted(&step.id.value));
                diagnostics.push(
                    failure_target(step.on_failure_span, message).help(
                        "write otherwise: with the text to go on with, or in on_failure the id of a step below that stands in for it",
                    ),
                );
            }
            for (key, target) in step.stand_ins() {
                let words = if key == "on_failure" { &["stop", "continue"][..] } else { &["reject"] };
                let names = format!("{key} of \"{}\" names \"{}\"", step.id.value, target.value);
                match self.place(&target.value) {
                    Some(stand_in) if stand_in > place => stands_in_for[stand_in].push(place),
                    Some(above) => diagnostics.push(
                        failure_target(target.span, format!("{names}, which runs before it"))
                            .related(steps[above].id.span, format!("move this step below {}", quoted(&step.id.value)))
                            .help(format!(
                                "move step {} below {}, or write {}",
                                quoted(&target.value),
                                quoted(&step.id.value),
                                words.join(" or ")
                            )),
                    ),
                    None if steps.iter().any(|step| !step.is_named()) => {}
                    None => {
                        let known = words.iter().copied().chain(steps.iter().map(|step| step.id.as_str()));
                        let hint = hints.did_you_mean(&target.value, known);
                        let id = &step.id.value;
                        let message = match hint.is_empty() {
                            true => format!(
                                "{key} of \"{id}\" is {} or the id of a step below, and \"{}\" is none",
                                words.join(", "),
                                target.value
                            ),
                            false => format!("{names}, which does not exist{hint}"),
                        };
                        let help = match &*target.value {
                            _ if !hint.is_empty() => format!("write {}, or the id of a step below it in the same list", words.join(", ")),
                            "retry" | "repeat" => format!("write retry: {{ max_attempts: 3 }} in place of {key}"),
                            "ignore" | "skip" | "pass" | "next" if key == "on_failure" => "write continue".to_owned(),
                            "fail" | "abort" | "exit" | "raise" if key == "on_failure" => "write stop".to_owned(),
                            text if text.contains(' ') => {
                                let set = format!("- {{ id: {id}_failed, set: {} }}", yaml_quoted(text));
                                format!(
                                    "write {key}: {id}_failed here, below this step {set}, and where steps.{id}.output is read: steps.{id}.output | default(steps.{id}_failed.output | default(''))"
                                )
                            }
                            _ => format!("write {}, or the id of a step below it in the same list", words.join(", ")),
                        };
                        diagnostics
                            .push(Diagnostic::unknown_step(target.span, message).near(hint).about(About::Value(key.to_owned())).help(help));
                    }
                }
            }
        }
        stands_in_for
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, edge: Edge) {
        if self.drawn.insert((from, to)) {
            self.graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), edge);
        }
    }

    pub(super) fn break_circle(&mut self, members: &[usize], from: usize, to: usize) {
        members.iter().for_each(|place| self.is_uncertain[*place] = true);
        if let Some(edge) = self.graph.find_edge(NodeIndex::new(from), NodeIndex::new(to)) {
            self.graph.remove_edge(edge);
            self.drawn.remove(&(from, to));
        }
    }

    /// Computes what the engine asks for each step: neighbours and longest ways.
    pub(super) fn finish(&mut self) {
        self.drawn = HashSet::new();
        let neighbours = |direction: Direction| -> Vec<Vec<(usize, Edge)>> {
            let list = |node: NodeIndex<u32>| {
                let mut list: Vec<(usize, Edge)> = self
                    .graph
                    .edges_directed(node, direction)
                    .map(|e| (if direction == Direction::Incoming { e.source() } else { e.target() }.index(), *e.weight()))
                    .collect();
                list.sort_by_key(|(place, _)| *place);
                list
            };
            self.graph.node_indices().map(list).collect()
        };
        self.incoming = neighbours(Direction::Incoming);
        self.outgoing = neighbours(Direction::Outgoing);
        self.longest = vec![1; self.len()];
        // A circle has been reported and never runs; its lengths do not matter.
        let order: Vec<usize> = petgraph::algo::toposort(&self.graph, None).unwrap_or_default().into_iter().map(NodeIndex::index).collect();
        for place in order.iter().rev() {
            let below = self.outgoing[*place].iter().map(|(place, _)| self.longest[*place]).max().unwrap_or(0);
            self.longest[*place] = below + 1;
        }
        for place in &order {
            self.is_uncertain[*place] |= self.incoming[*place].iter().any(|(above, _)| self.is_uncertain[*above]);
        }
        self.all = Reach::new(order.clone(), &self.incoming, EdgeFilter::All);
        self.blocking = Reach::new(order, &self.incoming, EdgeFilter::Blocking);
    }
}

fn failure_target(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::FailureTarget, span, message)
}

fn unknown_need(step: &Step, need: &crate::source::Spanned<String>, steps: &[Arc<Step>], hints: &Hints) -> Diagnostic {
    let ids = || steps.iter().map(|step| step.id.as_str()).filter(|id| *id != step.id.value);
    let hint = hints.did_you_mean(&need.value, ids());
    let help = match hints.akin(&need.value, ids()) {
        Some(id) if hint.is_empty() => format!("write {id}"),
        _ => "name a step of the same list, or leave needs out to follow the step above".to_owned(),
    };
    Diagnostic::unknown_step(need.span, format!("step \"{}\" needs \"{}\", which does not exist{hint}", step.id.value, need.value))
        .near(hint)
        .help(help)
}
