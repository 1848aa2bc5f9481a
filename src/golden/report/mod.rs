//! Drawing what `flow test` found: one file per format.

mod human;
mod json;
mod junit;
mod mutants;

pub use human::{human, summary};
pub use json::json;
pub use junit::junit;
pub use mutants::survived;

use super::outcome::{Complaint, Outcome};

/// A complaint as text: the sentence with its place, then how things differ.
fn told(outcome: &Outcome, complaint: &Complaint, colour: bool) -> String {
    let at = complaint.line.map(|line| format!("{}:{line}: ", outcome.file)).unwrap_or_default();
    let mut text = format!("{at}{}\n", complaint.message);
    if let Some((old, diff)) = &complaint.diff {
        text.push_str(&format!("      - {old}   + this run\n{}", diff.draw(colour)));
    }
    text
}
