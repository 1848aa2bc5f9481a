//! The page of a run: one HTML file without a script, and nothing from elsewhere.
//!
//! What people, models and tools said is text: `maud` escapes what means something in HTML, and at the end every character that cannot be
//! seen becomes an escape, wherever it is.
//!
//! How to show more of a run: a field of the record, and its line in `head.rs` or `steps.rs`.

mod bounds;
mod dialogues;
mod elements;
mod head;
mod rounds;
mod steps;
mod timeline;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::bounds::PageRoom;
use super::batches::Batches;
use super::graph::{Graph, svg};
use crate::diagnostic::{counted, visible_lines};
use crate::journal::Record;

/// What a browser may do with the page: apply its own styles, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("page.css");
/// Steps that are drawn as a graph at most.
const MOST_DRAWN: usize = 150;

/// The page of a run, from its record as others may read it, and its graph.
pub fn page(record: &Record, graph: &Graph) -> String {
    let room = PageRoom::new(&record.run);
    let batches = Batches::from_record(record, false);
    let title = format!("Run {} of {}", record.run, record.pipeline);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (head::head(record, &room, &batches)) }
                main {
                    (elements::failed(&batches, &room))
                    (drawn(graph, &room))
                    (timeline::timeline(record, &room, &batches))
                    (dialogues::dialogues(record, &room))
                    (rounds::rounds(record, &room, &batches))
                    (steps::steps(record, &room, &batches))
                }
                footer { p { "Written by " code { "flow runs show " (record.run) " --html" } ". Personal values and secrets are masked." } }
            }
        }
    };
    // Escapes of XML and HTML stand in the markup already: what is still there as itself is a text's.
    visible_lines(&markup.into_string())
}

/// The graph with the state of each step.
fn drawn(graph: &Graph, room: &PageRoom) -> Markup {
    let count = graph.count();
    html! {
        section aria-labelledby="graph" {
            h2 id="graph" { "Graph" }
            @if count > MOST_DRAWN {
                p.left-out { "Not drawn here: it has " (counted(count, "step", "steps")) ". " code { "flow graph --run " (room.run()) " --format svg" } " draws it." }
            } @else {
                // Wider than a small window: this part scrolls, also with the arrow keys.
                div.scroll tabindex="0" role="region" aria-label="Graph of the run" { (PreEscaped(svg(graph))) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
