//! `task` steps through the program: the example in `tests/golden/hours`, and the one of the manual.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};

use crate::readme::blocks;

fn flow(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_flow")).current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_cases_of_the_example_pass() {
    let (exit, out, err) = flow(root(), &["test", "tests/golden/hours"]);
    assert_eq!(exit, 0, "{out}{err}");
    assert!(err.contains("6 passed") || out.contains("6 passed"), "{out}{err}");
}

#[test]
fn each_try_is_told_shown_and_recorded() {
    let project = tempfile::tempdir().unwrap();
    for name in ["pipeline.yaml", "entries.csv", "demo.replies.yaml"] {
        std::fs::copy(root().join("tests/golden/hours").join(name), project.path().join(name)).unwrap();
    }
    std::fs::write(project.path().join("flow.toml"), "").unwrap();
    let folder = project.path();
    let (exit, out, err) = flow(folder, &["run", "pipeline.yaml", "--json", "--events", "events.jsonl"]);
    assert_eq!(exit, 0, "{err}");
    for line in [
        "work: try 1 failed: bad_request: SQLite: no such column: town",
        "work: try 2 not accepted, 1 criterion not met\n",
        "work: try 3 accepted\n",
    ] {
        assert!(err.contains(line), "{line}\n{err}");
    }
    let ran: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&ran["outputs"]["attempts"], &ran["outputs"]["answer"]), (&json!(3), &json!("Most hours went to Berlin.")));
    let run = ran["run_id"].as_str().unwrap();

    // What models wrote and what came of it is no part of events without content.
    let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    assert!(events.contains("\"task_tried\"") && events.contains("\"task_executed\"") && events.contains("\"task_judged\""), "{events}");
    assert!(!events.contains("group by") && !events.contains("three times"), "{events}");

    let (exit, shown, _) = flow(folder, &["runs", "show", run]);
    assert_eq!(exit, 0);
    for line in [
        "task work: recorded, 3 tries\n  1. Sum the hours of each town.\n     | select town, sum(hours) as hours from entries group by town\n     failed: bad_request: SQLite: no such column: town",
        "     not met, c1: Berlin is there three times.\n",
        "from entries group by city order by hours desc\n     accepted\n",
        "task summary: recorded, 1 try\n",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let (_, exported, _) = flow(folder, &["runs", "export", run]);
    let record: Value = serde_json::from_str(&exported).unwrap();
    let task = &record["tasks"][0];
    assert_eq!((&task["step"], &task["state"], task["tries"].as_array().map(Vec::len)), (&json!("work"), &json!("recorded"), Some(3)));
    assert_eq!(task["tries"][1]["verdicts"][0]["feedback"], "Berlin is there three times.");
}

#[test]
fn a_task_that_is_given_up_says_why() {
    let project = tempfile::tempdir().unwrap();
    let folder = project.path();
    std::fs::write(folder.join("flow.toml"), "").unwrap();
    std::fs::write(folder.join("t.csv"), "a\n1\n").unwrap();
    std::fs::write(
        folder.join("p.yaml"),
        "flow: 1\nname: p\ndata: { t: { file: t.csv } }\nmodels: { default: { provider: scripted, replies: r.yaml } }\nagents: { w: {}, j: {} }\n\
         steps:\n  - { id: work, task: w, prompt: Go., artefact: sql, accept: [It has the letter b.], judge: j, max_attempts: 5 }\n\
         outputs: { rows: \"{{ steps.work.output.result }}\" }\n",
    )
    .unwrap();
    std::fs::write(folder.join("r.yaml"), "flow: 1\nreplies:\n  work: { data: { thought: Try., sql_code: drop table t } }\n").unwrap();
    let (exit, _, err) = flow(folder, &["run", "p.yaml"]);
    assert_eq!(exit, 6, "{err}");
    assert!(err.contains("work: failed (not_accepted): the same failure 3 times in a row (stop_on_identical_failures): denied:"), "{err}");
}

#[test]
fn the_example_of_the_manual_runs_as_it_says() {
    let page = std::fs::read_to_string(root().join("docs/tasks.md")).unwrap();
    let (yaml, csv, console) = (blocks(&page, "yaml"), blocks(&page, "csv"), blocks(&page, "console"));
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("hours.yaml", yaml[0]), ("entries.csv", csv[0])] {
        std::fs::write(project.path().join(name), text).unwrap();
    }
    let (exit, out, err) = flow(project.path(), &["run", "hours.yaml"]);
    assert_eq!(exit, 0, "{err}");
    let told: Vec<&str> = console[0].lines().skip(1).collect();
    let (said, result): (Vec<&str>, Vec<&str>) = told.into_iter().partition(|line| line.starts_with("work:"));
    said.iter().for_each(|line| assert!(err.contains(line), "{line}\n{err}"));
    assert_eq!(out.trim_end(), result.join("\n"));
    let (_, shown, _) = flow(project.path(), &["runs", "show"]);
    let run = shown.split_whitespace().next().unwrap();
    let (exit, replayed, err) = flow(project.path(), &["runs", "replay", run]);
    assert_eq!(exit, 0, "{replayed}{err}");
    let tries = page.split_once("```\ntask work").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let tries = format!("task work{tries}");
    tries.lines().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
}

#[test]
fn a_scripted_judge_that_is_misspelled_is_told_what_to_write() {
    let project = tempfile::tempdir().unwrap();
    let folder = project.path();
    std::fs::write(
        folder.join("p.yaml"),
        "flow: 1\nname: p\nmodels: { default: { provider: scripted, replies: r.yaml } }\nagents: { w: {}, j: {} }\n\
         steps:\n  - { id: work, task: w, prompt: Go., artefact: text, accept: [It is short.], judge: j, max_attempts: 2 }\n\
         outputs: { text: \"{{ steps.work.output.result }}\" }\n",
    )
    .unwrap();
    let tried = "{ data: { thought: Try., result: Short. } }";
    std::fs::write(folder.join("r.yaml"), format!("flow: 1\nreplies:\n  work:\n    - {tried}\n    - pased\n")).unwrap();
    let (exit, _, err) = flow(folder, &["run", "p.yaml"]);
    assert_eq!(exit, 6, "{err}");
    assert!(err.contains("as a scripted reply write passed, or failed: { c1: feedback }"), "{err}");
}

#[test]
fn code_that_an_agent_may_write_is_told_by_explain() {
    let (exit, told, err) = flow(root(), &["-q", "explain", "pipelines/analyst/one_task.yaml"]);
    assert_eq!(exit, 0, "{err}");
    assert!(told.contains("Step work may run code that agent worker writes in a sandbox, without a network."), "{told}");
    let (_, told, _) = flow(root(), &["-q", "explain", "tests/golden/hours/pipeline.yaml"]);
    assert!(!told.contains("run code"), "a query is no code: {told}");
}
