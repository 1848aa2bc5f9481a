//! What the criteria that failed say, for the writer of the next try.

use crate::event::Verdict;

/// What the criteria that failed say, one a line.
pub(crate) fn failed_lines(verdicts: &[Verdict]) -> String {
    let failed = verdicts.iter().filter(|verdict| !verdict.passed && !verdict.skipped);
    failed.map(feedback_line).collect::<Vec<_>>().join("\n")
}

fn feedback_line(verdict: &Verdict) -> String {
    let feedback = if verdict.feedback.is_empty() { &verdict.description } else { &verdict.feedback };
    format!("- {}: {feedback}", verdict.id)
}
