//! The page of a run: one HTML file without scripts and external resources.
//!
//! Texts of people, models and tools stay texts: `maud` escapes HTML, and finally every invisible character on the page is replaced with an
//! escape.
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

/// Content security policy: the page may only apply its own styles.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("page.css");
/// Maximum number of steps that are drawn as a graph.
const MOST_DRAWN: usize = 150;

/// Formats the page of a run from its masked record and its graph.
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
    // XML and HTML escapes are already in the markup: any invisible character that remains is part of a text.
    visible_lines(&markup.into_string())
}

/// Draws the graph with the state of each step.
fn drawn(graph: &Graph, room: &PageRoom) -> Markup {
    let count = graph.count();
    html! {
        section aria-labelledby="graph" {
            h2 id="graph" { "Graph" }
            @if count > MOST_DRAWN {
                p.left-out { "Not drawn here: it has " (counted(count, "step", "steps")) ". " code { "flow graph --run " (room.run()) " --format svg" } " draws it." }
            } @else {
                // If it is wider than a small window, this part scrolls, also with the arrow keys.
                div.scroll tabindex="0" role="region" aria-label="Graph of the run" { (PreEscaped(svg(graph))) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
