//! JUnit XML, which build servers show: one suite a test file, one test a case and channel.

use super::super::outcome::{Outcome, Report};
use super::told;
use crate::report::escape::xml;

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

/// One `testcase`.
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
