//! A pipeline, or a run of it, as a picture: one data structure ([`Graph`]) and one file for each format.
//!
//! How to add a format: a file here with `pub fn NAME(&Graph) -> String` that escapes every label for its format, a golden in
//! `tests/it/draw.rs`, and its name in `flow graph`. How to show more of a step: a line in `words.rs`.

mod build;
mod dot;
mod label;
mod layout;
mod mermaid;
mod order;
mod ran;
mod style;
mod svg;
pub mod words;

use serde::Serialize;

pub use build::graph;
pub use dot::dot;
pub use mermaid::mermaid;
pub use ran::{ran, ran_alone};
pub use svg::svg;

/// Version of the JSON form, stored as `v`.
const VERSION: u32 = 1;

/// The graph of a pipeline or a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// Version of this form.
    pub v: u32,
    /// The pipeline's name.
    pub name: String,
    /// Its description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Sentences about the whole: inputs and outputs, or how the run ended.
    pub notes: Vec<String>,
    /// Its own steps, then `on_failure` and `finally` if it has them.
    pub sections: Vec<GraphSection>,
}

/// One of a pipeline's own lists of steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphSection {
    /// `steps`, `on_failure` or `finally`.
    pub name: &'static str,
    /// The title for people; empty for `steps`.
    pub title: &'static str,
    /// Its steps.
    #[serde(flatten)]
    pub list: List,
}

/// Steps and their connections.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct List {
    /// The steps, in file order.
    pub nodes: Vec<GraphNode>,
    /// The arrows between them.
    pub edges: Vec<GraphArrow>,
    /// Exactly one of them runs: the cases of a route.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_choice: bool,
}

/// A step, or a case of a route with several steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GraphNode {
    /// Its path, as in events and tests.
    pub path: String,
    /// Its title for people, or its id.
    pub title: String,
    /// The kind of step, or `case` or `for_each`.
    pub kind: &'static str,
    /// What it does, in a few words.
    pub lines: Vec<String>,
    /// Its condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<List>,
    /// Its result in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeState>,
}

/// The result of a step in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// Its status; `not run` for one that never started.
    pub status: String,
    /// How long it took, if the record has this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Number of tries, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// Whether it ran a second time, with feedback.
    pub is_refined: bool,
    /// Further facts, such as how many elements succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One arrow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphArrow {
    /// Index of the source node.
    pub from: usize,
    /// Index of the target node.
    pub to: usize,
    /// Its meaning.
    pub kind: EdgeKind,
}

/// The meaning of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// Runs after the source.
    Order,
    /// Runs only if the source failed.
    StandIn,
    /// Runs only if nobody answered the source in time.
    NoAnswer,
    /// Waits for the gate, because the refinement may change its inputs.
    Wait,
    /// Leads back to the step that runs once more.
    Refinement,
    /// Leads back to the first step of a `repeat`.
    Round,
}

impl Graph {
    /// Returns the number of its steps, including nested ones.
    pub fn count(&self) -> usize {
        self.sections.iter().map(|section| section.list.count()).sum()
    }
}

impl List {
    fn count(&self) -> usize {
        self.nodes.iter().map(|node| 1 + node.inner.as_ref().map_or(0, List::count)).sum()
    }
}

impl EdgeKind {
    /// Whether it leads back up.
    fn is_back(self) -> bool {
        matches!(self, EdgeKind::Refinement | EdgeKind::Round)
    }

    /// Returns the label of the arrow; empty for plain order.
    fn label(self) -> &'static str {
        match self {
            EdgeKind::Order => "",
            EdgeKind::StandIn => "if it fails",
            EdgeKind::NoAnswer => "if nobody answers",
            EdgeKind::Wait => "once it is judged",
            EdgeKind::Refinement => "not met: once more",
            EdgeKind::Round => "next round",
        }
    }
}

impl NodeState {
    /// Formats the state: `succeeded · 12 ms · 2 tries · refined`.
    fn line(&self) -> String {
        let took = self.duration_ms.map(words::milliseconds);
        let tries = self.attempts.map(|tries| format!("{tries} tries"));
        let refined = self.is_refined.then(|| "refined".to_string());
        let parts = [Some(self.status.clone()), took, tries, refined, self.note.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

impl GraphNode {
    /// Returns all lines under the title, including the condition and the state.
    fn all_lines(&self) -> impl Iterator<Item = String> + '_ {
        let when = self.when.iter().map(|when| format!("only if {when}"));
        when.chain(self.lines.iter().cloned()).chain(self.state.iter().map(NodeState::line))
    }
}

/// Formats the graph as JSON, nested as in the file.
pub fn json(graph: &Graph) -> String {
    let value = serde_json::to_value(graph).unwrap_or_default();
    super::escape::json_text(&value, false) + "\n"
}
