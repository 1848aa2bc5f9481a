//! A pipeline, or what really ran of it, as a picture: one shape ([`Graph`]) and one file for each format.
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

/// Version of the JSON form, `v` in it.
const VERSION: u32 = 1;

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// Version of this form.
    pub v: u32,
    /// The pipeline's name.
    pub name: String,
    /// Its sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Sentences about the whole: what it is given and gives, or how the run ended.
    pub notes: Vec<String>,
    /// Its own steps, then `on_failure` and `finally` where it has them.
    pub sections: Vec<GraphSection>,
}

/// One of a pipeline's own lists of steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphSection {
    /// `steps`, `on_failure` or `finally`.
    pub name: &'static str,
    /// What people read; empty for `steps`.
    pub title: &'static str,
    /// Its steps.
    #[serde(flatten)]
    pub list: List,
}

/// Steps and how they hang together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct List {
    /// The steps, in file order.
    pub nodes: Vec<GraphNode>,
    /// What waits for what.
    pub edges: Vec<GraphArrow>,
    /// One of them is done, and no other: the cases of a route.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_choice: bool,
}

/// A step, or a case of a route that has steps of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GraphNode {
    /// Its path, as in events and tests.
    pub path: String,
    /// Its title for people, else its id.
    pub title: String,
    /// The kind of step, or `case` or `for_each`.
    pub kind: &'static str,
    /// What it does, in a few words.
    pub lines: Vec<String>,
    /// Its condition, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<List>,
    /// What became of it in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeState>,
}

/// What became of a step in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// Its status; `not run` for one that never started.
    pub status: String,
    /// How long it took, where the record says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tries, if more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// Whether it ran a second time, with feedback.
    pub is_refined: bool,
    /// More, such as how many elements succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One arrow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphArrow {
    /// Place of the node it leaves.
    pub from: usize,
    /// Place of the node it leads to.
    pub to: usize,
    /// What it means.
    pub kind: EdgeKind,
}

/// What an arrow means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// Runs after it.
    Order,
    /// Runs only if it failed.
    StandIn,
    /// Runs only if nobody answered it in time.
    NoAnswer,
    /// Waits for the gate, since the refinement may change what it reads.
    Wait,
    /// Back to the step that tries once more.
    Refinement,
    /// Back to the first step of a `repeat`.
    Round,
}

impl Graph {
    /// How many steps it has, with those inside others.
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

    /// What is beside the arrow; empty for plain order.
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
    /// `succeeded · 12 ms · 2 tries · refined`.
    fn line(&self) -> String {
        let took = self.duration_ms.map(words::milliseconds);
        let tries = self.attempts.map(|tries| format!("{tries} tries"));
        let refined = self.is_refined.then(|| "refined".to_string());
        let parts = [Some(self.status.clone()), took, tries, refined, self.note.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

impl GraphNode {
    /// All lines under the title, the condition and the state too.
    fn all_lines(&self) -> impl Iterator<Item = String> + '_ {
        let when = self.when.iter().map(|when| format!("only if {when}"));
        when.chain(self.lines.iter().cloned()).chain(self.state.iter().map(NodeState::line))
    }
}

/// The graph as JSON: nested as in the file.
pub fn json(graph: &Graph) -> String {
    let value = serde_json::to_value(graph).unwrap_or_default();
    super::escape::json_text(&value, false) + "\n"
}
