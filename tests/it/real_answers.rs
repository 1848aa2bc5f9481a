//! The shipped pipelines with a weak real model, as a person runs them: whatever it says, a run ends in time and with an answer that is
//! true. Nothing here judges the model's wit. How to start it: see `real_model`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Ran, command, ran};
use crate::real_model::real_model;
use crate::reference_systems::project;

/// A person with a weak model bounds the length of its answers.
const MOST_TOKENS: &str = "200";

/// Questions to the timesheet: phrases of the pipeline, free ones, in two languages, small talk, and what it cannot do.
const QUESTIONS: [(&str, &str); 8] = [
    ("Check my timesheet", "sms"),
    ("What was my last entry?", "email"),
    ("My projects", "sms"),
    ("How much did I work this month?", "email"),
    ("Wie viele Stunden habe ich letzte Woche gearbeitet?", "sms"),
    ("Guten Morgen, wie geht es dir?", "email"),
    ("Thank you!", "sms"),
    ("Please delete my entry of yesterday", "email"),
];

fn with_model<'c>(command: &'c mut Command, url: &str) -> &'c mut Command {
    let url = format!("{url}/v1");
    command.env("FLOW_MODEL", "smollm2").env("FLOW_MODEL_BASE_URL", url).env("FLOW_MODEL_MAX_OUTPUT_TOKENS", MOST_TOKENS)
}

fn asked(folder: &Path, url: &str, pipeline: &str, message: &str, channel: &str) -> (Ran, Value) {
    let ran =
        ran(with_model(&mut command(folder, &["run", pipeline, "--input", &format!("message={message}"), "--channel", channel]), url));
    let record = serde_json::from_str(&crate::program::flow(folder, &["runs", "export"]).out).unwrap_or_default();
    (ran, record)
}

/// A run that ended by itself, with an answer, and within its deadline.
fn ends_well(told: &str, ran: &Ran, record: &Value, deadline_ms: i64) {
    assert!(matches!(ran.exit, 0 | 5), "{told}: exit {}\n{}\n{}", ran.exit, ran.out, ran.err);
    assert!(!ran.out.trim().is_empty(), "{told}: nothing was said");
    let time =
        |key: &str| record[key].as_str().and_then(|time| chrono::DateTime::parse_from_rfc3339(time).ok()).expect("a record has times");
    let took = (time("ended") - time("started")).num_milliseconds();
    assert!(took < deadline_ms, "{told}: {took} ms");
    let steps = record["steps"].as_array().expect("a record has steps");
    let misshapen = steps.iter().find(|step| step["error"]["kind"] == "bad_shape");
    assert!(misshapen.is_none(), "{told}: {misshapen:?}");
}

#[test]
fn every_question_to_the_timesheet_is_answered_in_time_and_truly() {
    let Some(url) = real_model() else { return };
    for (message, channel) in QUESTIONS {
        let project = project();
        let (ran, record) = asked(project.path(), &url, "pipelines/timesheet/pipeline.yaml", message, channel);
        ends_well(message, &ran, &record, 120_000);
        let of = |id: &str| record["steps"].as_array().into_iter().flatten().find(|step| step["step"] == id).cloned().unwrap_or_default();
        // The data was there each time, so nobody is told otherwise.
        assert!(of("facts")["status"] != "failed", "{message}: {}", of("facts"));
        for untrue in ["can't reach your timesheet", "took too long"] {
            assert!(!ran.out.contains(untrue), "{message}: {}", ran.out);
        }
        // What no model wrote is what the tables say.
        if of("plain")["status"] == "succeeded" && of("facts")["status"] == "succeeded" && ran.exit == 0 {
            let facts = of("facts")["output"].to_string();
            let figures = ran.out.split(|sign: char| !sign.is_ascii_digit() && sign != '.').map(|figure| figure.trim_matches('.'));
            figures
                .filter(|figure| !figure.is_empty())
                .for_each(|figure| assert!(facts.contains(figure), "{message}: {figure} in {}", ran.out));
        }
    }
}

#[test]
fn a_question_about_a_city_is_answered_with_its_facts() {
    let Some(url) = real_model() else { return };
    let project = project();
    let case = |id: &str, query: &str| {
        format!("  - {{ id: {id}, inputs: {{ query: \"{query}\" }}, expect: {{ outputs: {{ message: {{ min_length: 1 }} }} }} }}\n")
    };
    let cases = case("temperature", "What is the temperature in Boston?") + &case("time", "Wie spät ist es in New York City?");
    let test = format!(
        "flow: 1\ntest: pipelines/city_facts/pipeline.yaml\nnow: \"2026-11-20T15:30:00Z\"\nmocks:\n  \
         weather.get_temperature: {{ temperature: 10, unit: C, description: cool }}\n  \
         clock.get_current_time: {{ timezone: America/New_York, datetime: \"2026-11-20T10:30:00-05:00\" }}\n  \
         echoer.echo: \"Echo: hello\"\ncases:\n{cases}"
    );
    std::fs::write(project.path().join("city.test.yaml"), test).unwrap();
    let ran = ran(with_model(&mut command(project.path(), &["test", "--live", "--trust", "city.test.yaml"]), &url));
    // A plan or a wording that failed has a stand-in: then the run is partial, and a wording that is not true is not shown, which a test must expect and
    // cannot here.
    let complaints: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("  ")).collect();
    let is_partial = |line: &&str| {
        ["partial", "quality_not_met"].iter().any(|status| line.contains(&format!("status: expected succeeded, found {status}")))
    };
    assert!(matches!(ran.exit, 0 | 1) && complaints.iter().all(is_partial), "exit {}\n{}\n{}", ran.exit, ran.out, ran.err);
    assert!(["temperature", "time"].iter().all(|id| ran.out.contains(&format!("city.test.yaml/{id}"))), "{}\n{}", ran.out, ran.err);
}

#[test]
fn the_shop_of_the_starter_answers() {
    let Some(url) = real_model() else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = crate::program::flow(folder.path(), &["init", "shop"]);
    assert_eq!(made.exit, 0, "{}", made.err);
    let folder = folder.path().join("shop");
    for (message, channel) in [("When do you open on Saturday?", "sms"), ("Habt ihr am Montag offen?", "email")] {
        let (ran, record) = asked(&folder, &url, "pipelines/shop/pipeline.yaml", message, channel);
        ends_well(message, &ran, &record, 120_000);
        assert!(!ran.out.contains("can't look up our opening hours"), "{message}: {}", ran.out);
    }
}
