//! The DOT language of Graphviz (graphviz.org/doc/info/lang.html).

use std::fmt::Write;

use super::label::wrap;
use super::{EdgeKind, Graph, GraphNode, List};

/// Width of a label's line in columns, and maximum number of lines of one text.
const COLUMNS: usize = 36;
const LINES: usize = 3;

/// Formats the graph in the DOT language.
pub fn dot(graph: &Graph) -> String {
    let mut writer = DotWriter { out: String::new(), next: 0 };
    let title: Vec<String> =
        std::iter::once(&graph.name).chain(&graph.description).chain(&graph.notes).flat_map(|line| wrap(line, 90, LINES)).collect();
    let _ = write!(
        writer.out,
        "digraph flow {{\n  graph [compound=true, rankdir=TB, labelloc=t, labeljust=l, fontname=\"sans-serif\", label={}];\n  \
         node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
        lines(&title)
    );
    for section in &graph.sections {
        if section.title.is_empty() {
            writer.list(&section.list, 1);
            continue;
        }
        writer.next += 1;
        let _ = writeln!(writer.out, "  subgraph cluster_{} {{\n    label={};", writer.next, lines(&[section.title.to_string()]));
        writer.list(&section.list, 2);
        writer.out.push_str("  }\n");
    }
    writer.out.push_str("}\n");
    writer.out
}

struct DotWriter {
    out: String,
    next: usize,
}

/// The ends of arrows at a node, and the group that the node represents.
struct Ends {
    /// The target of incoming arrows.
    first: String,
    /// The source of outgoing arrows.
    last: String,
    group: Option<String>,
}

impl DotWriter {
    fn list(&mut self, list: &List, depth: usize) -> Vec<Ends> {
        let indent = "  ".repeat(depth);
        let ends: Vec<Ends> = list.nodes.iter().map(|node| self.node(node, depth)).collect();
        for edge in &list.edges {
            let (Some(from), Some(to)) = (ends.get(edge.from), ends.get(edge.to)) else { continue };
            let mut with: Vec<String> = vec![];
            with.extend(from.group.as_ref().map(|group| format!("ltail={group}")));
            with.extend(to.group.as_ref().map(|group| format!("lhead={group}")));
            if !edge.kind.label().is_empty() {
                with.push(format!("label=\"{}\"", edge.kind.label()));
            }
            match edge.kind {
                EdgeKind::Refinement | EdgeKind::Round => with.push("style=dashed, constraint=false".into()),
                EdgeKind::StandIn | EdgeKind::NoAnswer => with.push("color=\"#b3261e\", fontcolor=\"#b3261e\"".into()),
                EdgeKind::Order | EdgeKind::Wait => {}
            }
            let with = if with.is_empty() { String::new() } else { format!(" [{}]", with.join(", ")) };
            let _ = writeln!(self.out, "{indent}{} -> {}{with};", from.last, to.first);
        }
        ends
    }

    fn node(&mut self, node: &GraphNode, depth: usize) -> Ends {
        let indent = "  ".repeat(depth);
        self.next += 1;
        let number = self.next;
        let texts: Vec<String> =
            std::iter::once(node.title.clone()).chain(node.all_lines()).flat_map(|line| wrap(&line, COLUMNS, LINES)).collect();
        let label = lines(&texts);
        let status = match node.state.as_ref().map(|state| state.status.as_str()) {
            None | Some("chosen") => "",
            Some("succeeded") => ", color=\"#2f7d4f\", penwidth=2",
            Some("failed" | "mixed") => ", color=\"#b3261e\", penwidth=2",
            Some(_) => ", color=\"#9aa4b1\", fontcolor=\"#5b6573\", style=\"rounded,dashed\"",
        };
        let Some(list) = &node.inner else {
            let shape = match node.kind {
                "gate" => ", shape=hexagon, style=solid",
                "send" => ", shape=cds, style=solid",
                _ => "",
            };
            let _ = writeln!(self.out, "{indent}n{number} [label={label}{shape}{status}];");
            return Ends { first: format!("n{number}"), last: format!("n{number}"), group: None };
        };
        let group = format!("cluster_{number}");
        let _ = writeln!(self.out, "{indent}subgraph {group} {{");
        let _ = writeln!(self.out, "{indent}  label={label}; labeljust=l; fontsize=11; style=\"rounded\"; color=\"#9aa4b1\";");
        let inner = self.list(list, depth + 1);
        let _ = writeln!(self.out, "{indent}}}");
        // Uses the longest case, so that following nodes are below all cases.
        let longest = |place: &usize| list.nodes[*place].inner.as_ref().map_or(1, |list| list.nodes.len());
        let last = (0..inner.len()).max_by_key(|place| (longest(place), *place));
        let first = inner.first().map(|ends| ends.first.clone());
        let last = last.and_then(|place| inner.into_iter().nth(place)).map(|ends| ends.last);
        match (first, last) {
            (Some(first), Some(last)) => Ends { first, last, group: Some(group) },
            _ => Ends { first: format!("n{number}"), last: format!("n{number}"), group: None },
        }
    }
}

/// Formats lines as one quoted, left-aligned label.
fn lines(lines: &[String]) -> String {
    let mut out = String::from("\"");
    for line in lines {
        for c in line.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                _ => out.push(c),
            }
        }
        out.push_str("\\l");
    }
    out.push('"');
    out
}
