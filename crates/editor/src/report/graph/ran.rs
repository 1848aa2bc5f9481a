//! Shows the record of a run on the graph of its pipeline or, if that is unavailable, alone.

use std::collections::HashMap;

use super::{EdgeKind, Graph, GraphArrow, GraphNode, GraphSection, List, NodeState, VERSION, words};
use crate::journal::{BatchRecord, Record, StepRecord};
use crate::model::{PlanStrategy, step_path};

/// Adds the result of each step to the graph of the pipeline.
pub fn ran(graph: &mut Graph, record: &Record) {
    let known = RecordedSteps::new(record);
    graph.notes = notes(record);
    for section in &mut graph.sections {
        for node in &mut section.list.nodes {
            known.put(node, None);
        }
        mark_second_round(&mut section.list, record);
    }
    graph.sections.retain(|section| section.name == "steps" || section.list.nodes.iter().any(|node| !is_not_run(node)));
}

/// Returns the steps of a record in the order in which they started, for a run whose file has changed or cannot be read.
pub fn ran_alone(record: &Record) -> Graph {
    let known = RecordedSteps::new(record);
    let nodes: Vec<GraphNode> = record
        .steps
        .iter()
        .map(|step| GraphNode {
            path: step.step.clone(),
            title: step.step.clone(),
            kind: "step",
            state: Some(known.state(&step.step)),
            ..GraphNode::default()
        })
        .collect();
    let edges = (1..nodes.len()).map(|to| GraphArrow { from: to - 1, to, kind: EdgeKind::Order }).collect();
    let list = List { nodes, edges, is_choice: false };
    let sections = vec![GraphSection { name: "steps", title: "", list }];
    Graph { v: VERSION, name: record.pipeline.clone(), description: None, notes: notes(record), sections }
}

fn notes(record: &Record) -> Vec<String> {
    let status = record.status.map_or("not over", |status| status.word());
    let took = record.ended.map(|end| (end - record.started).num_milliseconds().max(0) as u64).map(words::milliseconds);
    let mut notes = vec![format!("Run {}: {status}{}", record.run, took.map(|took| format!(", {took}")).unwrap_or_default())];
    if let Some(channel) = &record.channel {
        notes.push(format!("Channel: {channel}"));
    }
    if record.scripted {
        notes.push("Models were scripted".into());
    }
    if let Some(message) = record.failure.as_ref().and_then(|failure| failure["message"].as_str()) {
        notes.push(format!("Cause: {message}"));
    }
    notes
}

/// Marks the step that a gate sent back, and the gate, as run twice. A repeated step is drawn once for all elements and rounds.
fn mark_second_round(list: &mut List, record: &Record) {
    for edge in list.edges.iter().filter(|edge| edge.kind == EdgeKind::Refinement) {
        let gate = list.nodes.get(edge.from).map(|node| node.path.clone()).unwrap_or_default();
        let is_drawn_as = |path: &str| step_path::ids(path).eq(step_path::ids(&gate));
        let was_tried = record.failures.iter().any(|failure| failure.refinement_tried && is_drawn_as(&failure.gate));
        let both = [edge.from, edge.to].into_iter().filter(|_| was_tried);
        for place in both {
            if let Some(state) = list.nodes.get_mut(place).and_then(|node| node.state.as_mut()) {
                state.is_refined = true;
            }
        }
    }
}

fn is_not_run(node: &GraphNode) -> bool {
    node.state.as_ref().is_none_or(|state| state.status == NOT_RUN)
}

const NOT_RUN: &str = "not run";

/// The steps of a record by path.
struct RecordedSteps<'a> {
    record: &'a Record,
    steps: HashMap<&'a str, &'a StepRecord>,
    /// The elements of each `for_each`, by its path.
    elements: HashMap<String, Vec<&'a StepRecord>>,
}

impl<'a> RecordedSteps<'a> {
    fn new(record: &'a Record) -> RecordedSteps<'a> {
        let mut elements: HashMap<String, Vec<&StepRecord>> = HashMap::new();
        for step in &record.steps {
            if let Some(list) = step_path::element_of(&step.step) {
                elements.entry(list.to_owned()).or_default().push(step);
            }
            // A step inside a `for_each` or a `repeat` is drawn once for all elements and rounds.
            let drawn: Vec<&str> = step_path::ids(&step.step).collect();
            let drawn = drawn.join("/");
            if drawn != step.step && step_path::element_of(&step.step).is_none() {
                elements.entry(drawn).or_default().push(step);
            }
        }
        RecordedSteps { record, steps: record.steps.iter().map(|step| (step.step.as_str(), step)).collect(), elements }
    }

    /// Sets the state of a node and its content. `chosen`: for a case, whether its route chose it.
    fn put(&self, node: &mut GraphNode, chosen: Option<bool>) {
        let mut state = match (node.kind, chosen) {
            ("case", Some(true)) => NodeState { status: "chosen".into(), ..empty() },
            ("case", _) => empty(),
            _ => self.state(&node.path),
        };
        if chosen == Some(false) {
            state = empty();
        }
        let case = self.steps.get(node.path.as_str()).and_then(|step| step.details().case()).map(str::to_string);
        let (path, kind) = (node.path.clone(), node.kind);
        if kind == "plan" {
            node.inner = planned(self.record, &path);
        }
        for inner in node.inner.iter_mut().flat_map(|list| list.nodes.iter_mut()) {
            match kind {
                "route" => {
                    let id = step_path::last(&inner.path).to_string();
                    // A failed route has no details; a case with a record was chosen.
                    let was_taken = self.steps.keys().any(|step| **step == inner.path || step_path::leads_into(step, &inner.path));
                    self.put(inner, Some(case.as_ref().map_or(was_taken, |case| *case == id)));
                }
                "for_each" => {
                    self.put(inner, None);
                    inner.state = Some(self.of_many(&path));
                }
                _ => self.put(inner, None),
            }
        }
        if let Some(inner) = &mut node.inner {
            mark_second_round(inner, self.record);
        }
        node.state = Some(state);
    }

    /// Combines all runs of a step that is drawn once: the elements of a `for_each`, or the rounds around it.
    fn of_many(&self, path: &str) -> NodeState {
        let Some(elements) = self.elements.get(path) else { return empty() };
        let is_one = elements.iter().all(|element| element.status == elements[0].status);
        let status = if is_one { elements[0].status.clone() } else { "mixed".into() };
        let durations: Vec<u64> = elements.iter().filter_map(|element| element.details().duration_ms()).collect();
        let attempts = elements.iter().filter_map(|element| attempts(element)).max();
        let note = Some(BatchRecord::of_steps(path, elements.iter().copied()).words());
        NodeState { status, duration_ms: durations.into_iter().max(), attempts, note, ..empty() }
    }

    fn state(&self, path: &str) -> NodeState {
        let Some(step) = self.steps.get(path) else { return self.of_many(path) };
        let details = step.details();
        let message = step.error.as_ref().and_then(|error| error["message"].as_str());
        let count = |wanted: &[Option<bool>]| details.verdicts().filter(|(_, met)| wanted.contains(met)).count();
        let skipped = || match count(&[None]) {
            0 => String::new(),
            count => format!(", {count} skipped"),
        };
        let note = match (message, details.passed()) {
            (Some(message), _) => Some(message.to_string()),
            (None, Some(false)) => Some("not met, the fixed text was given".into()),
            (None, Some(true)) => Some(format!("{} of {} met{}", count(&[Some(true)]), count(&[Some(true), Some(false)]), skipped())),
            (None, None) => None,
        };
        NodeState {
            status: step.status.clone(),
            duration_ms: details.duration_ms(),
            attempts: attempts(step),
            is_refined: details.is_refined(),
            note,
        }
    }
}

/// Returns the plans that an agent wrote for a step, one below the other.
fn planned(record: &Record, path: &str) -> Option<List> {
    let mut list = List::default();
    for plan in record.plans.iter().filter(|plan| plan.step == path) {
        let first = list.nodes.len();
        list.nodes.extend(plan.steps.iter().map(|step| GraphNode {
            path: step.step.clone(),
            title: step_path::last(&step.step).to_string(),
            kind: "planned",
            lines: vec![format!("uses {}", step.uses)],
            ..GraphNode::default()
        }));
        let place = |path: &String| list.nodes.iter().position(|node| node.path == *path);
        let mut ways: Vec<(usize, usize)> = vec![];
        if plan.strategy == PlanStrategy::Sequential.word() {
            let began: Vec<usize> = record.steps.iter().filter_map(|step| place(&step.step)).filter(|place| *place >= first).collect();
            ways.extend(began.windows(2).map(|pair| (pair[0], pair[1])));
            ways.extend(began.first().filter(|_| first > 0).map(|to| (first - 1, *to)));
        } else {
            for (to, step) in plan.steps.iter().enumerate() {
                let mut from: Vec<usize> = step.depends_on.iter().filter_map(place).collect();
                if from.is_empty() && first > 0 {
                    from.push(first - 1);
                }
                ways.extend(from.into_iter().map(|from| (from, first + to)));
            }
        }
        list.edges.extend(ways.into_iter().map(|(from, to)| GraphArrow { from, to, kind: EdgeKind::Order }));
    }
    (!list.nodes.is_empty()).then_some(list)
}

fn attempts(step: &StepRecord) -> Option<u64> {
    let of_error = step.error.as_ref().and_then(|error| error["attempts"].as_u64());
    step.details().attempts().or(of_error).filter(|tries| *tries > 1)
}

fn empty() -> NodeState {
    NodeState { status: NOT_RUN.into(), duration_ms: None, attempts: None, is_refined: false, note: None }
}
