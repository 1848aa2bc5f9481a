//! Mermaid flowchart text (mermaid.js.org, "Flowcharts"), which many Markdown viewers draw.

use std::collections::HashMap;
use std::fmt::Write;

use super::label::{short, wrap};
use super::{EdgeKind, Graph, GraphNode, List};

/// Width of a label's line in columns, and maximum number of lines of one text.
const COLUMNS: usize = 28;
const LINES: usize = 3;
/// Width of a group's title in columns.
const GROUP_COLUMNS: usize = 60;

/// Formats the graph as a Mermaid flowchart, with a separate box for the lines of the legend.
pub fn mermaid(graph: &Graph, legend: &[String]) -> String {
    let mut writer = MermaidWriter { out: String::from("flowchart TD\n"), ids: HashMap::new(), classes: vec![] };
    let _ = writeln!(writer.out, "  accTitle: {}", plain(&short(&graph.name, 80)));
    if let Some(description) = &graph.description {
        let _ = writeln!(writer.out, "  accDescr: {}", plain(&short(description, 160)));
    }
    if !legend.is_empty() {
        let _ = writeln!(writer.out, "  legend[\"{}\"]", wrapped(legend, GROUP_COLUMNS).join("<br/>"));
    }
    for section in &graph.sections {
        if section.title.is_empty() {
            writer.list(&section.list, 1);
            continue;
        }
        let id = writer.id(&section.list);
        let _ = writeln!(writer.out, "  subgraph {id}[\"{}\"]", section.title);
        writer.list(&section.list, 2);
        writer.out.push_str("  end\n");
    }
    for (name, style) in CLASSES {
        let ids: Vec<&str> = writer.classes.iter().filter(|(_, class)| *class == name).map(|(id, _)| id.as_str()).collect();
        if !ids.is_empty() {
            let _ = writeln!(writer.out, "  classDef {name} {style}\n  class {} {name}", ids.join(","));
        }
    }
    writer.out
}

const CLASSES: [(&str, &str); 6] = [
    ("model", "fill:#eef1fd,stroke:#4a5fc1,color:#1b1f24"),
    ("check", "fill:#fdf4e3,stroke:#a06a00,color:#1b1f24"),
    ("send", "fill:#e9f6ee,stroke:#2f7d4f,color:#1b1f24"),
    ("good", "fill:#e9f6ee,stroke:#2f7d4f,stroke-width:2px,color:#1b1f24"),
    ("bad", "fill:#fdecea,stroke:#b3261e,stroke-width:2px,color:#1b1f24"),
    ("aside", "stroke-dasharray:4 3,opacity:0.6"),
];

struct MermaidWriter {
    out: String,
    /// Assigned ids, by the address of the node, because two lists may have a step with the same id.
    ids: HashMap<usize, String>,
    classes: Vec<(String, &'static str)>,
}

impl MermaidWriter {
    fn id<T>(&mut self, of: &T) -> String {
        let next = format!("n{}", self.ids.len() + 1);
        self.ids.entry(std::ptr::from_ref(of).addr()).or_insert(next).clone()
    }

    fn list(&mut self, list: &List, depth: usize) {
        let indent = "  ".repeat(depth);
        for node in &list.nodes {
            self.node(node, 0, depth);
        }
        for edge in &list.edges {
            let (Some(from), Some(to)) = (list.nodes.get(edge.from), list.nodes.get(edge.to)) else { continue };
            let (from, to) = (self.id(from), self.id(to));
            let _ = match edge.kind {
                EdgeKind::Order => writeln!(self.out, "{indent}{from} --> {to}"),
                EdgeKind::StandIn | EdgeKind::NoAnswer | EdgeKind::Wait => {
                    writeln!(self.out, "{indent}{from} -->|\"{}\"| {to}", edge.kind.label())
                }
                EdgeKind::Refinement | EdgeKind::Round => writeln!(self.out, "{indent}{from} -.->|\"{}\"| {to}", edge.kind.label()),
            };
        }
    }

    /// Writes a node. `skipped`: number of lines that are shown elsewhere.
    fn node(&mut self, node: &GraphNode, skipped: usize, depth: usize) {
        let indent = "  ".repeat(depth);
        let id = self.id(node);
        if let Some(class) = class(node) {
            self.classes.push((id.clone(), class));
        }
        let title = wrap(&node.title, COLUMNS, LINES).iter().map(|line| format!("<b>{}</b>", escaped(line))).collect::<Vec<_>>();
        let lines: Vec<String> = node.all_lines().filter(|line| !node.lines[..skipped].contains(line)).collect();
        let text = wrapped(&lines, COLUMNS);
        let Some(inner) = &node.inner else {
            let (open, close) = match node.kind {
                "gate" => ("{{", "}}"),
                "send" => ("([", "])"),
                _ => ("[", "]"),
            };
            let _ = writeln!(self.out, "{indent}{id}{open}\"{}\"{close}", title.into_iter().chain(text).collect::<Vec<_>>().join("<br/>"));
            return;
        };
        // The title of a group has one line; more details are inside it.
        let own = if inner.is_choice { String::new() } else { lines.iter().map(|line| format!(", {line}")).collect() };
        let label = escaped(&short(&format!("{}{own}", node.title), GROUP_COLUMNS));
        let _ = writeln!(self.out, "{indent}subgraph {id}[\"<b>{label}</b>\"]\n{indent}  direction TB");
        if inner.is_choice {
            let question = self.id(&node.lines);
            let _ = writeln!(self.out, "{indent}  {question}[/\"{}\"\\]", wrapped(&lines, COLUMNS).join("<br/>"));
            for case in &inner.nodes {
                self.node(case, 1, depth + 1);
                let (case_id, condition) = (self.id(case), wrapped(&case.lines[..1], COLUMNS).join("<br/>"));
                let _ = writeln!(self.out, "{indent}  {question} -->|\"{condition}\"| {case_id}");
            }
        } else {
            self.list(inner, depth + 1);
        }
        let _ = writeln!(self.out, "{indent}end");
    }
}

fn wrapped(lines: &[String], columns: usize) -> Vec<String> {
    lines.iter().flat_map(|line| wrap(line, columns, LINES)).map(|line| escaped(&line)).collect()
}

fn class(node: &GraphNode) -> Option<&'static str> {
    match (node.state.as_ref().map(|state| state.status.as_str()), node.kind) {
        (Some("succeeded"), _) => Some("good"),
        (Some("failed" | "mixed"), _) => Some("bad"),
        (Some("chosen"), _) => None,
        (Some(_), _) => Some("aside"),
        (None, _) if node.inner.is_some() => None,
        (None, "agent" | "plan") => Some("model"),
        (None, "gate") => Some("check"),
        (None, "send") => Some("send"),
        _ => None,
    }
}

/// Escapes a text in quotes: every character that Mermaid, its Markdown or HTML could interpret becomes its number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | ',' | '.' | '_' | '=' | ':' | '/' | '?' | '\'' | '(' | ')' => out.push(c),
            _ if c.is_ascii() => {
                let _ = write!(out, "#{};", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Returns a text for a separate line, where character numbers are not interpreted.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || " ,.-'".contains(c) { c } else { ' ' }).collect()
}
