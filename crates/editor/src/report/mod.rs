//! Output formats: one file per format, formatting only.
//!
//! How to add a format: a file with one function `fn(&Findings) -> String`, a golden test in it, and its name in the
//! command that offers it.

mod batches;
mod difference;
pub mod escape;
pub mod explain;
mod github;
mod gitlab;
pub mod graph;
mod guarantees;
mod human;
mod json;
mod junit;
mod look;
pub mod page;
mod picture;
pub mod planned;
mod record;
mod runs;
mod sarif;
mod wishes;

pub use difference::Diff;
pub use github::github;
pub use gitlab::gitlab;
pub use guarantees::{guarantees, guarantees_json};
pub use human::human;
pub use json::{json, jsonl};
pub use junit::{JunitCase, JunitFailure, JunitSuite, junit, junit_suites};
pub use look::{Look, fit};
pub use record::{how_to_decide, record, show_command, utc};
pub use runs::{RunRow, runs};
pub use sarif::sarif;
pub use wishes::wish_lines;

use crate::diagnostic::{Diagnostic, Severity, Suppressed, counted, listed};
use crate::source::Sources;

/// The findings of a check, for output. Nothing is left out or sorted here.
#[derive(Debug, Clone, Copy)]
pub struct Findings<'a> {
    /// The files that were checked.
    pub sources: &'a Sources,
    /// The findings to show, in order.
    pub shown: &'a [Diagnostic],
    /// Findings that an author suppressed; only `sarif` includes them.
    pub hidden: &'a [Suppressed],
}

/// The number of findings of each severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FindingCounts {
    /// Files checked.
    pub files: usize,
    /// Errors, including those from `deny`.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Remarks.
    pub remarks: usize,
}

impl<'a> Findings<'a> {
    /// Creates findings to show, with none hidden.
    pub fn new(sources: &'a Sources, shown: &'a [Diagnostic]) -> Findings<'a> {
        Findings { sources, shown, hidden: &[] }
    }

    /// Counts the shown findings.
    pub fn counts(&self) -> FindingCounts {
        let of = |severity| self.shown.iter().filter(|d| d.severity() == severity).count();
        FindingCounts {
            files: self.sources.files().count(),
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            remarks: of(Severity::Info),
        }
    }
}

/// Formats the summary, without a line end: `2 errors and 1 warning in 3 files`.
pub fn summary(findings: &Findings<'_>) -> String {
    let counts = findings.counts();
    let parts: Vec<String> =
        [(counts.errors, "error", "errors"), (counts.warnings, "warning", "warnings"), (counts.remarks, "remark", "remarks")]
            .into_iter()
            .filter(|(count, _, _)| *count > 0)
            .map(|(count, one, several)| counted(count, one, several))
            .collect();
    let what = if parts.is_empty() { "no findings".to_owned() } else { listed(&parts, "and") };
    format!("{what} in {}", counted(counts.files, "file", "files"))
}

#[cfg(test)]
mod machine_tests;
#[cfg(test)]
mod tests;
