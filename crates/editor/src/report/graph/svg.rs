//! SVG 1.1, written without another program: no script, no external resources, every text escaped.

use std::fmt::Write;

use super::label::{short, wrap};
use super::layout::{LINE_HEIGHT, PAD, PlacedEdge, PlacedList, PlacedNode, TITLE_HEIGHT, place, width_of};
use super::style::sheet;
use super::{EdgeKind, Graph, GraphNode, words};
use crate::report::escape::xml;

/// Space around the picture.
const MARGIN: f64 = 24.0;
/// Width of the sentences above the steps in columns.
const COLUMNS: usize = 96;
/// Minimum width, so that the sentences have room.
const LEAST: f64 = 420.0;
/// The CSS class of the picture.
const CLASS: &str = "flow-graph";

/// Formats the graph as one SVG document.
pub fn svg(graph: &Graph) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 20.0;
    let mut widest = LEAST;
    text(&mut body, "name", MARGIN, y, &short(&graph.name, 60));
    y += 8.0;
    let said = graph.description.iter().chain(&graph.notes);
    for line in said.flat_map(|sentence| wrap(sentence, COLUMNS, 3)) {
        y += LINE_HEIGHT + 2.0;
        widest = widest.max(width_of(&line));
        text(&mut body, "line", MARGIN, y, &line);
    }
    y += 26.0;
    for section in &graph.sections {
        let placed = place(&section.list);
        if section.title.is_empty() {
            draw(&mut body, &placed, MARGIN, y);
            y += placed.height + 30.0;
            widest = widest.max(placed.width);
            continue;
        }
        let width = placed.width.max(width_of(section.title) * 1.25) + 32.0;
        let height = placed.height + 56.0;
        rect(&mut body, "group", (MARGIN, y, width, height), 10.0);
        text(&mut body, "title", MARGIN + 14.0, y + 24.0, section.title);
        draw(&mut body, &placed, MARGIN + 16.0, y + 40.0);
        y += height + 24.0;
        widest = widest.max(width);
    }
    legend(&mut body, graph, &mut y);
    let (width, height) = (widest + 2.0 * MARGIN, y + MARGIN - 10.0);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{CLASS}\" role=\"img\" aria-labelledby=\"flow-graph-title flow-graph-desc\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <title id=\"flow-graph-title\">{}</title>\n<desc id=\"flow-graph-desc\">{}</desc>\n<style>{}</style>\n<defs>\n",
        xml(&format!("Pipeline {}", graph.name)),
        xml(&description(graph)),
        sheet(CLASS),
    );
    for (id, class) in [("head", "head"), ("back-head", "back-head"), ("fail-head", "fail-head")] {
        let _ = writeln!(
            out,
            "<marker id=\"flow-graph-{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto-start-reverse\"><path class=\"{class}\" d=\"M0 0L10 5L0 10z\"/></marker>"
        );
    }
    let _ = writeln!(out, "</defs>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>");
    out.push_str(&body);
    out.push_str("</svg>\n");
    out
}

/// Describes the picture in sentences, for people who cannot see it.
fn description(graph: &Graph) -> String {
    let mut said: Vec<String> = graph.description.iter().chain(&graph.notes).map(|line| line.trim_end_matches('.').to_string()).collect();
    for section in &graph.sections {
        let steps: Vec<String> = section.list.nodes.iter().map(sentence).collect();
        let title = if section.title.is_empty() { "Steps" } else { section.title };
        said.push(format!("{title}: {}", steps.join("; ")));
        for edge in section.list.edges.iter().filter(|edge| !matches!(edge.kind, EdgeKind::Order | EdgeKind::Wait)) {
            let title = |place: usize| section.list.nodes.get(place).map_or("", |node: &GraphNode| &node.title);
            said.push(match edge.kind {
                EdgeKind::Refinement => format!("If {} is not met, {} runs once more", title(edge.from), title(edge.to)),
                EdgeKind::Round => format!("After {} another round begins with {}", title(edge.from), title(edge.to)),
                EdgeKind::NoAnswer => format!("If nobody answers {} in time, {} runs", title(edge.from), title(edge.to)),
                EdgeKind::StandIn | EdgeKind::Order | EdgeKind::Wait => format!("If {} fails, {} runs", title(edge.from), title(edge.to)),
            });
        }
    }
    said.iter().map(|sentence| format!("{sentence}.")).collect::<Vec<_>>().join(" ")
}

fn sentence(node: &GraphNode) -> String {
    let lines: Vec<String> = node.all_lines().collect();
    let inner = node.inner.as_ref().map(|list| {
        let inner: Vec<String> = list.nodes.iter().map(|node| node.title.clone()).collect();
        format!(", one of: {}", inner.join(", ")).replace("one of", if list.is_choice { "one of" } else { "with" })
    });
    let lines = if lines.is_empty() { String::new() } else { format!(" ({})", lines.join(", ")) };
    format!("{}{lines}{}", node.title, inner.unwrap_or_default())
}

fn draw(out: &mut String, placed: &PlacedList, x: f64, y: f64) {
    for edge in &placed.edges {
        arrow(out, edge, x, y);
    }
    for node in &placed.nodes {
        draw_node(out, node, x + node.x, y + node.y);
    }
    // Labels are drawn last, so that no arrow crosses them.
    for edge in placed.edges.iter().filter(|edge| !edge.kind.label().is_empty()) {
        label(out, edge, x, y);
    }
}

fn draw_node(out: &mut String, placed: &PlacedNode, x: f64, y: f64) {
    let node = placed.node;
    let status = node.state.as_ref().map(|state| state.status.as_str());
    let aside = matches!(status, Some("not run" | "skipped" | "blocked" | "cancelled"));
    let _ = writeln!(out, "<g{}>", if aside { " class=\"aside\"" } else { "" });
    let full: Vec<String> = std::iter::once(format!("{} ({})", node.path, node.kind)).chain(node.all_lines()).collect();
    let _ = writeln!(out, "<title>{}</title>", xml(&full.join("\n").chars().take(2000).collect::<String>()));
    let (class, round) = match node.kind {
        _ if node.inner.is_some() => ("group", 10.0),
        "agent" | "plan" => ("model", 7.0),
        "gate" => ("check", 7.0),
        "send" => ("send", 7.0),
        _ => ("step", 7.0),
    };
    rect(out, class, (x, y, placed.width, placed.height), round);
    match status {
        Some("succeeded") => rect(out, "good", (x, y + 7.0, 4.0, placed.height - 14.0), 0.0),
        Some("failed" | "mixed") => rect(out, "bad", (x, y + 7.0, 4.0, placed.height - 14.0), 0.0),
        _ => {}
    }
    let mut line_y = y + 5.0;
    for line in &placed.title {
        line_y += TITLE_HEIGHT;
        text(out, "title", x + PAD, line_y - 2.0, line);
    }
    for line in &placed.lines {
        line_y += LINE_HEIGHT;
        text(out, "line", x + PAD, line_y, line);
    }
    if let Some((dx, dy, inner)) = &placed.inner {
        draw(out, inner, x + dx, y + dy);
    }
    out.push_str("</g>\n");
}

fn class_of(kind: EdgeKind) -> (&'static str, &'static str) {
    match kind {
        EdgeKind::Order | EdgeKind::Wait => ("way", "head"),
        EdgeKind::StandIn | EdgeKind::NoAnswer => ("fail", "fail-head"),
        EdgeKind::Refinement | EdgeKind::Round => ("back", "back-head"),
    }
}

fn arrow(out: &mut String, edge: &PlacedEdge, x: f64, y: f64) {
    let (class, head) = class_of(edge.kind);
    let mut path = String::new();
    for (at, (px, py)) in edge.points.iter().enumerate() {
        let (px, py) = (px + x, py + y);
        if at == 0 {
            let _ = write!(path, "M{px:.1} {py:.1}");
        } else if edge.kind.is_back() {
            let _ = write!(path, "L{px:.1} {py:.1}");
        } else {
            let (qx, qy) = edge.points[at - 1];
            let (qx, qy) = (qx + x, qy + y);
            let half = (qy + py) / 2.0;
            if (qx - px).abs() < 0.5 {
                let _ = write!(path, "L{px:.1} {py:.1}");
            } else {
                let _ = write!(path, "C{qx:.1} {half:.1} {px:.1} {half:.1} {px:.1} {py:.1}");
            }
        }
    }
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#flow-graph-{head})\"/>");
}

fn label(out: &mut String, edge: &PlacedEdge, x: f64, y: f64) {
    let label = edge.kind.label();
    let width = width_of(label);
    let (class, left, base) = match (edge.kind, edge.points.as_slice()) {
        (EdgeKind::Refinement | EdgeKind::Round, [_, (corner, low), (_, high), _]) => {
            ("back-label", corner + 5.0, (low + high) / 2.0 + 4.0)
        }
        (kind, [(x1, y1), (x2, y2), ..]) => {
            let class = if matches!(kind, EdgeKind::StandIn | EdgeKind::NoAnswer) { "fail-label" } else { "line" };
            (class, (x1 + x2) / 2.0 - width / 2.0, (y1 + y2) / 2.0 + 4.0)
        }
        _ => return,
    };
    rect(out, "under", (x + left - 3.0, y + base - 12.0, width + 6.0, 16.0), 3.0);
    text(out, class, x + left, y + base, label);
}

/// Adds a legend of the kinds of arrows that occur.
fn legend(out: &mut String, graph: &Graph, y: &mut f64) {
    let kinds: Vec<EdgeKind> = graph.sections.iter().flat_map(|section| kinds(&section.list)).collect();
    let mut x = MARGIN;
    let lines = [
        (EdgeKind::Order, "then"),
        (EdgeKind::Refinement, "the text did not pass: written once more, then checked again"),
        (EdgeKind::Round, "the next round, until the condition holds"),
        (EdgeKind::StandIn, "only if the step above failed"),
        (EdgeKind::NoAnswer, "only if nobody answered in time"),
    ];
    for (kind, meaning) in lines.into_iter().filter(|(kind, _)| kinds.contains(kind)) {
        let (class, head) = class_of(kind);
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {:.1}h30\" marker-end=\"url(#flow-graph-{head})\"/>", *y - 4.0);
        text(out, "legend", x + 38.0, *y, meaning);
        x += 38.0 + width_of(meaning) + 24.0;
        if x > 600.0 {
            (x, *y) = (MARGIN, *y + LINE_HEIGHT + 4.0);
        }
    }
    if graph.sections.iter().any(|section| has_choice(&section.list)) {
        if x > MARGIN {
            *y += LINE_HEIGHT + 4.0;
        }
        text(out, "legend", MARGIN, *y, words::CHOICE);
        *y += 4.0;
    }
}

fn kinds(list: &super::List) -> Vec<EdgeKind> {
    let inner = list.nodes.iter().filter_map(|node| node.inner.as_ref()).flat_map(kinds);
    list.edges.iter().map(|edge| edge.kind).chain(inner).collect()
}

fn has_choice(list: &super::List) -> bool {
    list.is_choice || list.nodes.iter().filter_map(|node| node.inner.as_ref()).any(has_choice)
}

fn rect(out: &mut String, class: &str, (x, y, width, height): (f64, f64, f64, f64), round: f64) {
    let _ =
        writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.0}\"/>");
}

fn text(out: &mut String, class: &str, x: f64, y: f64, line: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(line));
}
