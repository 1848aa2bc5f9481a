//! For programs: one JSON object.

use serde_json::{Value, json};

use super::super::outcome::{Golden, Report};
use crate::report::escape::json_text;

/// The whole report. Fields may be added; readers ignore those they do not know.
pub fn json(report: &Report) -> String {
    let (passed, failed) = report.counts();
    let tests: Value = report
        .outcomes
        .iter()
        .map(|outcome| {
            let failures: Value = outcome
                .complaints
                .iter()
                .map(|c| json!({ "line": c.line, "message": c.message, "diff": c.diff.as_ref().map(|(_, diff)| diff.draw(false)) }))
                .collect();
            let golden = outcome.golden.as_ref().map(|golden| match golden {
                Golden::Same => "same",
                Golden::Written(_) => "written",
                Golden::Wrong => "wrong",
            });
            json!({
                "file": outcome.file,
                "line": outcome.line,
                "case": outcome.case,
                "channel": outcome.channel,
                "passed": outcome.complaints.is_empty(),
                "golden": golden,
                "plays": outcome.tally.plays,
                "plays_passed": outcome.tally.passed,
                "recorded": outcome.recorded.as_ref().map(|path| path.display().to_string()),
                "failures": failures,
                "mutations": super::mutants::json(outcome),
            })
        })
        .collect();
    let broken: Value = report.broken.iter().map(|broken| json!({ "file": broken.file, "errors": broken.lines })).collect();
    let orphans: Value = report.orphans.iter().map(|path| Value::from(path.display().to_string())).collect();
    let summary =
        json!({ "passed": passed, "failed": failed, "files_with_errors": report.broken.len(), "unused_goldens": report.orphans.len() });
    json_text(&json!({ "version": 1, "summary": summary, "tests": tests, "files_with_errors": broken, "unused_goldens": orphans }), false)
        + "\n"
}
