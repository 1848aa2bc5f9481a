//! For programs: one JSON object; JUnit XML, which build servers show (one suite a test file, one test a case and channel).

use serde_json::{Value, json};

use super::super::mutate::{Mutant, Noticed};
use super::super::outcome::{Golden, Outcome, Report};
use super::told;
use crate::report::escape::{json_text, xml};

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
                "mutations": mutants_of(outcome),
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

/// The outputs that were broken on purpose.
fn mutants_of(outcome: &Outcome) -> Value {
    let one = |mutant: &Mutant| {
        let (result, more) = match &mutant.noticed {
            Noticed::By(criteria) => ("noticed", json!(criteria)),
            Noticed::Nobody(text) => ("survived", json!(text)),
            Noticed::NotApplicable(why) => ("not_applicable", json!(why)),
        };
        json!({ "gate": mutant.gate, "mutation": mutant.way.words(), "result": result, "by": more })
    };
    outcome.mutants.iter().map(one).collect()
}

/// The whole report.
pub fn junit(report: &Report) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    let mut add = |name: &str, cases: Vec<JunitCase>| {
        let failed = cases.iter().filter(|case| !case.problems.is_empty()).count();
        tests += cases.len();
        failures += failed;
        suites.push_str(&suite(name, &cases, failed));
    };
    for group in report.outcomes.chunk_by(|a, b| a.file == b.file) {
        add(&group[0].file, group.iter().map(case).collect());
    }
    for broken in &report.broken {
        add(&broken.file, vec![JunitCase { name: "the file can be read".into(), problems: broken.lines.clone() }]);
    }
    if !report.orphans.is_empty() {
        let problems = report.orphans.iter().map(|path| format!("{} belongs to no case", path.display())).collect();
        add("goldens", vec![JunitCase { name: "every golden belongs to a case".into(), problems }]);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"flow test\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n{suites}</testsuites>\n"
    )
}

struct JunitCase {
    name: String,
    problems: Vec<String>,
}

fn case(outcome: &Outcome) -> JunitCase {
    let channel = outcome.channel.as_ref().map(|channel| format!("/{channel}")).unwrap_or_default();
    let problems = outcome.complaints.iter().map(|complaint| told(outcome, complaint, false)).collect();
    JunitCase { name: format!("{}{channel}", outcome.case), problems }
}

fn suite(name: &str, cases: &[JunitCase], failed: usize) -> String {
    let name = xml(name);
    let mut text = format!("  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\">\n", cases.len());
    for case in cases {
        let head = format!("    <testcase name=\"{}\" classname=\"{name}\"", xml(&case.name));
        let Some(first) = case.problems.first() else {
            text.push_str(&format!("{head}/>\n"));
            continue;
        };
        let message = xml(first.lines().next().unwrap_or_default());
        let all = xml(&case.problems.join("\n"));
        text.push_str(&format!("{head}>\n      <failure message=\"{message}\">{all}</failure>\n    </testcase>\n"));
    }
    text + "  </testsuite>\n"
}
