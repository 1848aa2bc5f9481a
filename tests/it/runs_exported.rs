//! `flow runs export --events` and `flow runs import`: a run continues where there was no record of it.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

const TALK: &str = "flow: 1
name: talk
description: Two talk, then a person decides.
models: { default: { provider: scripted, replies: said.yaml } }
agents: { first: {}, second: {} }
steps:
  - { id: review, dialogue: [first, second], topic: Is it right?, max_turns: 2 }
  - { id: agree, approval: 'Say that {{ steps.review.output.positions.second }}?' }
outputs: { positions: \"{{ steps.review.output.positions }}\" }
";

const SAID: &str = "flow: 1
replies:
  review: [It is not., It is late.]
";

fn project(with_pipeline: bool) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    if with_pipeline {
        std::fs::write(place.path().join("talk.yaml"), TALK).unwrap();
        std::fs::write(place.path().join("said.yaml"), SAID).unwrap();
    }
    place
}

/// A run that waits for a person, and its events.
fn waiting() -> (TempDir, String, String) {
    let place = project(true);
    let waits = flow(place.path(), &["run", "talk.yaml", "-q"]);
    assert_eq!(waits.exit, 8, "{}", waits.err);
    let listed: Value = serde_json::from_str(&flow(place.path(), &["runs", "list", "--json"]).out).unwrap();
    let run = listed[0]["run"].as_str().unwrap().to_owned();
    let log = flow(place.path(), &["runs", "export", &run, "--events"]);
    assert_eq!(log.exit, 0, "{}", log.err);
    (place, run, log.out)
}

fn imported(to: &Path, log: &str, more: &[&str]) -> Ran {
    std::fs::write(to.join("log.jsonl"), log).unwrap();
    flow(to, &[&["runs", "import", "log.jsonl"], more].concat())
}

#[test]
fn a_run_that_waits_continues_in_another_place_and_asks_no_model_again() {
    let (_origin, run, log) = waiting();
    let there = project(true);
    // Whoever is asked again would have nothing to say.
    let told = imported(there.path(), &log, &["--file", "talk.yaml"]);
    assert_eq!(told.exit, 0, "{}", told.err);
    assert!(told.err.contains(&format!("continue it with: flow runs resume {run}")), "{}", told.err);
    let shown = flow(there.path(), &["runs", "show", &run]).out;
    assert!(shown.contains("2. second to first: It is late."), "{shown}");
    let done = flow(there.path(), &["approve", &run, "agree"]);
    assert_eq!(done.exit, 0, "{}", done.err);
    let done = flow(there.path(), &["runs", "resume", &run]);
    assert_eq!(done.exit, 0, "{}", done.err);
    let record: Value = serde_json::from_str(&flow(there.path(), &["runs", "export", &run]).out).unwrap();
    assert_eq!((&record["status"], &record["outputs"]["positions"]["first"]), (&json!("succeeded"), &json!("It is not.")), "{record}");
    assert_eq!(record["interactions"].as_array().unwrap().len(), 2, "no model is asked again");
    let audit = flow(there.path(), &["audit", "export", "--run", &run]).out;
    assert!(audit.lines().next().unwrap().contains(r#""action":"run_imported""#), "{audit}");
    assert_eq!(flow(there.path(), &["audit", "verify"]).exit, 0);
    let twice = imported(there.path(), &log, &["--file", "talk.yaml"]);
    assert!(twice.exit == 6 && twice.err.contains("is here already"), "{}", twice.err);
}

#[test]
fn a_log_that_is_not_whole_is_told_with_its_line_and_nothing_is_stored() {
    let (_origin, run, log) = waiting();
    let lines: Vec<&str> = log.lines().collect();
    let without =
        |place: usize| lines.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, line)| format!("{line}\n")).collect::<String>();
    let other = log.replacen(&run, "../../etc", 9_999);
    let last = lines.len();
    for (log, told) in [
        (without(0), "line 1: event 2 where event 1 was expected".to_owned()),
        (without(3), "line 4: event 5 where event 4 was expected".to_owned()),
        (log[..log.len() - 9].to_owned(), format!("line {last}: no event of a run as flow runs export --events prints it")),
        (format!("{log}{}\n", lines[0]), format!("line {}: event 1 where event {} was expected", last + 1, last + 1)),
        ("{\"a\": \"\u{1b}[2J\"}\n".to_owned(), "line 1: no event of a run".to_owned()),
        (
            format!("{log}{}\n", lines[0].replacen("\"seq\":1,", &format!("\"seq\":{},", last + 1), 1)),
            "the run starts a second time".to_owned(),
        ),
        (log.replacen("\"call\":1,", "\"call\":18446744073709551615,", 1), "a number that is too large".to_owned()),
        (String::new(), "it does not begin with the start of a run".to_owned()),
        (other, "line 1: the id of its run is not one of flow".to_owned()),
    ] {
        let there = project(true);
        let refused = imported(there.path(), &log, &[]);
        assert_eq!(refused.exit, 6, "{told}: {}", refused.err);
        assert!(refused.err.contains(&told) && !refused.err.contains('\u{1b}'), "{told}: {}", refused.err);
        assert_ne!(flow(there.path(), &["runs", "show"]).exit, 0, "{told}");
    }
    let there = project(true);
    let elsewhere = imported(there.path(), &log, &[]);
    assert!(elsewhere.exit == 6 && elsewhere.err.contains("is not in this project"), "{}", elsewhere.err);
    let there = project(false);
    let lost = imported(there.path(), &log, &["--file", "talk.yaml"]);
    assert!(lost.exit == 2 && lost.err.contains("there is no such file"), "{}", lost.err);
}

#[test]
fn what_a_person_does_outside_a_run_is_in_the_audit() {
    let (place, run, _) = waiting();
    std::fs::write(
        place.path().join("asks.yaml"),
        "flow: 1\nname: asks\ndescription: Asks.\nsteps: [{ id: a, program: [ls] }]\noutputs: { a: \"{{ steps.a.output }}\" }\n",
    )
    .unwrap();
    let home = tempfile::tempdir().unwrap();
    let mine =
        |arguments: &[&str]| ran(command(place.path(), arguments).env("XDG_STATE_HOME", home.path()).env("XDG_CONFIG_HOME", home.path()));
    for arguments in [["trust", "asks.yaml", "-q"], ["trust", "--remove", "asks.yaml"], ["runs", "rm", &run]] {
        let done = mine(&arguments);
        assert_eq!(done.exit, 0, "{arguments:?} {}", done.err);
    }
    let audit = flow(place.path(), &["audit", "export"]).out;
    let told: Vec<(String, String, String)> = audit
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["security_context"]["decided_by"] == "person" && record["event"] == 0)
        .map(|record| ["action", "target", "session_id"].map(|key| record[key].as_str().unwrap_or_default().to_owned()).into())
        .collect();
    let expected = [("file_trusted", "asks.yaml", ""), ("trust_removed", "asks.yaml", ""), ("run_removed", "", &*run)];
    assert_eq!(told, expected.map(|(action, target, run)| (action.to_owned(), target.to_owned(), run.to_owned())), "{audit}");
    assert_eq!(flow(place.path(), &["audit", "verify"]).exit, 0);
}
