//! The elements of a long `for_each`: failed elements, one per line, and closed groups of succeeded ones.

use maud::{Markup, html};

use super::bounds::PageRoom;
use super::head::badge;
use crate::diagnostic::{counted, grouped};
use crate::journal::{BatchRecord, OpenElement, StepRecord};
use crate::report::batches::{Batches, item_name, why};

/// Maximum number of failed elements that are shown.
const MOST_FAILED: usize = 200;
/// Maximum number of rows or steps in a group of succeeded elements.
pub(super) const MOST_WELL: usize = 100;

/// Formats lists with elements that failed or did not finish.
pub(super) fn failed(batches: &Batches<'_>, room: &PageRoom) -> Markup {
    let with_failures: Vec<&BatchRecord> = batches.many().iter().copied().filter(|batch| !batch.open.is_empty()).collect();
    html! {
        @if !with_failures.is_empty() {
            section aria-labelledby="elements" {
                h2 id="elements" { "Elements that failed" }
                @for batch in with_failures { (list(batch, room)) }
            }
        }
    }
}

fn list(batch: &BatchRecord, room: &PageRoom) -> Markup {
    let more = batch.open.len().saturating_sub(MOST_FAILED);
    html! {
        p { code { (batch.step) } ": " (batch.words()) }
        ul.elements {
            @for element in batch.open.iter().take(MOST_FAILED) {
                li { (named(element)) " " (why(element)) }
            }
        }
        @if more > 0 { p.left-out { (counted(more, "more is", "more are")) " left out here. " (room.export()) } }
    }
}

/// Formats the path of an element, its status and its name.
pub(super) fn named(element: &OpenElement) -> Markup {
    html! {
        code { (element.step) } " " (badge(element.status.word()))
        @if let Some(name) = item_name(&element.item) { " " strong { (name) } }
    }
}

/// Splits steps into those to show first and those in succeeded elements, by list. `is_looked_for`: which steps of elements to show first.
pub(super) fn parted<'a, 'b>(
    steps: Vec<&'a StepRecord>,
    batches: &Batches<'b>,
    is_looked_for: impl Fn(&StepRecord) -> bool,
) -> (Vec<&'a StepRecord>, Vec<(&'b BatchRecord, Vec<&'a StepRecord>)>) {
    let (first, well): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| !batches.holds(&step.step) || is_looked_for(step));
    let of = |batch: &&'b BatchRecord| {
        let own = well.iter().copied().filter(|step| crate::model::step_path::outermost(&step.step) == batch.step);
        (*batch, own.collect::<Vec<_>>())
    };
    (first, batches.many().iter().map(of).filter(|(_, own)| !own.is_empty()).collect())
}

/// Formats a closed group for succeeded elements.
pub(super) fn group(batch: &BatchRecord, all: usize, shown: usize, content: &Markup, room: &PageRoom) -> Markup {
    html! {
        details {
            summary { code { (batch.step) } ": " (grouped(batch.succeeded)) " succeeded, " (counted(all, "step", "steps")) }
            div.step {
                (content)
                @if all > shown { p.left-out { (counted(all - shown, "step is", "steps are")) " left out here. " (room.export()) } }
            }
        }
    }
}
