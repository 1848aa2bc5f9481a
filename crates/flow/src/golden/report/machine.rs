//! Output for programs: one JSON object, or JUnit XML for build servers (one suite per test file, one test per case and channel).

use serde_json::{Value, json};

use super::super::mutate::{Mutant, Noticed};
use super::super::outcome::{ComparedModel, Golden, Outcome, Report};
use super::{compared, complaint_text};
use crate::report::escape::json_text;
use crate::report::{JunitCase, JunitFailure, JunitSuite, junit_suites};

/// Formats the whole report as JSON. Fields may be added; readers ignore unknown ones.
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
            let golden = outcome.golden.as_ref().map(|golden| match golden.state {
                Golden::Same | Golden::Accepted => "same",
                Golden::Written => "written",
                Golden::Wrong => "wrong",
            });
            json!({
                "file": outcome.file,
                "line": outcome.line,
                "case": outcome.case,
                "channel": outcome.channel,
                "model": outcome.model,
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
    let models: Value = report.models().iter().map(of_model).collect();
    let all = json!({
        "version": 1, "summary": summary, "tests": tests, "models": models, "files_with_errors": broken, "unused_goldens": orphans,
    });
    json_text(&all, false) + "\n"
}

/// Formats the results of cases on one model.
fn of_model(model: &ComparedModel) -> Value {
    json!({
        "model": model.name,
        "cases": model.cases,
        "passed": model.passed,
        "cost_usd": model.usage.cost_usd,
        "input_tokens": model.usage.input_tokens,
        "output_tokens": model.usage.output_tokens,
        "seconds": model.waited.as_secs_f64(),
    })
}

/// Formats the results of broken outputs.
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

/// Formats the whole report as JUnit XML.
pub fn junit(report: &Report) -> String {
    let suite = |name: &str, cases: Vec<JunitCase>| JunitSuite { name: name.into(), cases, output: vec![] };
    let mut suites: Vec<JunitSuite> = vec![];
    for group in report.outcomes.chunk_by(|a, b| a.file == b.file) {
        suites.push(suite(&group[0].file, group.iter().map(of_outcome).collect()));
    }
    suites.extend(report.broken.iter().map(|broken| suite(&broken.file, vec![case("the file can be read".into(), &broken.lines)])));
    if !report.orphans.is_empty() {
        let problems: Vec<String> = report.orphans.iter().map(|path| format!("{} belongs to no case", path.display())).collect();
        suites.push(suite("goldens", vec![case("every golden belongs to a case".into(), &problems)]));
    }
    let models = compared(report);
    if !models.is_empty() {
        suites.push(JunitSuite { name: "models".into(), cases: vec![], output: models });
    }
    junit_suites("flow test", &suites)
}

fn of_outcome(outcome: &Outcome) -> JunitCase {
    let channel = outcome.channel.as_ref().map(|channel| format!("/{channel}")).unwrap_or_default();
    let problems: Vec<String> = outcome.complaints.iter().map(|complaint| complaint_text(outcome, complaint, false)).collect();
    let model = outcome.model.as_ref().map(|model| format!("@{model}")).unwrap_or_default();
    case(format!("{}{channel}{model}", outcome.case), &problems)
}

fn case(name: String, problems: &[String]) -> JunitCase {
    let message = |first: &String| first.lines().next().unwrap_or_default().to_owned();
    let failure = problems.first().map(|first| JunitFailure { code: None, message: message(first), text: problems.join("\n") });
    JunitCase { name, failure }
}
