//! "Twin-agent bridge": what its runs leave. The two agents are the shipped stand-ins, started in a sandbox.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Ran, list, project};
use crate::program::{command, ran};
use crate::sandbox::has_python_in;

const PIPELINE: &str = "pipelines/twin_review/pipeline.yaml";

struct Runs {
    agreed: Ran,
    limited: Ran,
    crashed_once: Ran,
    failed: Ran,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| Runs {
    agreed: run(&[]),
    limited: run(&[("pipeline.yaml", "max_turns: 6", "max_turns: 2")]),
    crashed_once: run(&[("programs.yaml", "agents/reader.py]", "agents/reader.py, --do, crash_at_2]")]),
    failed: run(&[
        ("programs.yaml", "agents/reader.py]", "agents/reader.py, --do, crash_at_2]"),
        ("programs.yaml", "max_cost_usd: 0.05\n", "max_cost_usd: 0.05\n    retry: { max_attempts: 1 }\n"),
    ]),
});

pub(super) fn all() -> Vec<&'static Ran> {
    if !has_python_in("landlock") {
        return vec![];
    }
    let runs = &*RUNS;
    vec![&runs.agreed, &runs.limited, &runs.crashed_once, &runs.failed]
}

fn run(edits: &[(&str, &str, &str)]) -> Ran {
    let project = project();
    for (name, old, new) in edits {
        let file = project.path().join("pipelines/twin_review").join(name);
        let text = std::fs::read_to_string(&file).expect("the file is there");
        assert!(text.contains(old), "{name} holds no {old}");
        std::fs::write(file, text.replace(old, new)).expect("the file can be written");
    }
    let ran = ran(command(project.path(), &["run", PIPELINE, "--trust"]).env("FLOW_SANDBOX", "landlock"));
    Ran::of(project.path(), ran.exit, ran.out)
}

fn session(ran: &Ran) -> &Value {
    &ran.record["dialogues"][0]
}

#[test]
fn a_session_has_its_participants_topic_turns_and_policies() {
    if !has_python_in("landlock") {
        return;
    }
    let run = &RUNS.agreed;
    let session = session(run);
    assert_eq!((run.exit, &session["status"], &session["flow"]), (0, &json!("completed"), &json!("completed")), "{session}");
    let turns = list(&session["turns"]);
    let numbers: Vec<u64> = turns.iter().filter_map(|turn| turn["number"].as_u64()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let times: Vec<&str> = turns.iter().filter_map(|turn| turn["time"].as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    for turn in turns {
        assert_ne!(turn["from"], turn["to"]);
        assert!(["first", "second"].iter().all(|name| turn["from"] == *name || turn["to"] == *name), "{turn}");
        assert!(turn["text"].as_str().is_some_and(|text| !text.is_empty()), "{turn}");
        assert_eq!(turn["policies"], json!(["review"]));
        assert!(turn["duration_ms"].is_u64() && turn["usage"]["input_tokens"].is_u64() && turn["usage"]["cost_usd"].is_number(), "{turn}");
    }
    assert_eq!(list(&turns[3]["signals"]), ["says_word"]);
    let agents: Vec<&Value> = list(&run.record["agents"]).iter().map(|agent| &agent["status"]).collect();
    assert_eq!(agents, ["available", "available"]);
}

#[test]
fn a_limit_is_a_timeout_with_both_positions() {
    if !has_python_in("landlock") {
        return;
    }
    let run = &RUNS.limited;
    let session = session(run);
    assert_eq!((&session["status"], &session["ended"]), (&json!("timeout"), &json!("limit")), "{session}");
    let output = &run.step("review")["output"];
    for agent in ["first", "second"] {
        let position = output["positions"][agent].as_str().unwrap_or_default();
        assert!(!position.is_empty() && output["summary"].as_str().is_some_and(|summary| summary.contains(position)), "{output}");
    }
}

#[test]
fn an_agent_that_crashes_once_recovers_and_one_that_only_fails_ends_the_session() {
    if !has_python_in("landlock") {
        return;
    }
    let recovered = &RUNS.crashed_once;
    assert_eq!((recovered.exit, &session(recovered)["status"]), (0, &json!("completed")));
    assert!(recovered.events_of("attempt_failed").any(|event| event["retry_at_ms"].is_u64()), "its next try is recorded");
    let first = &list(&recovered.record["agents"])[0];
    assert_eq!((&first["status"], &first["failures"]), (&json!("available"), &json!(1)), "{first}");
    let run = &RUNS.failed;
    assert_eq!((run.exit, &session(run)["status"]), (6, &json!("failed")), "{}", run.exported);
    let details = &run.step("review")["details"];
    assert!(details["summary"].as_str().is_some_and(|summary| summary.contains("failed after 2 turns")), "{details}");
    assert_eq!(list(&run.record["agents"])[0]["status"], "failed");
}

#[test]
fn each_record_of_the_audit_has_its_session_result_policy_and_trace() {
    if !has_python_in("landlock") {
        return;
    }
    let run = &RUNS.agreed;
    let ids: BTreeSet<u64> = run.audit.iter().filter_map(|record| record["record_id"].as_u64()).collect();
    assert_eq!(ids.len(), run.audit.len());
    let ended: chrono::DateTime<chrono::Utc> = run.record["ended"].as_str().unwrap_or_default().parse().expect("the run has ended");
    for record in &run.audit {
        assert_eq!(record["session_id"], run.record["run"], "{record}");
        assert!(
            record["timestamp"]
                .as_str()
                .and_then(|time| time.parse::<chrono::DateTime<chrono::Utc>>().ok())
                .is_some_and(|time| time <= ended)
        );
        assert!(["action", "decision", "error", "security"].iter().any(|kind| record["event_type"] == *kind), "{record}");
        assert_eq!(record["trace_id"], run.audit[0]["trace_id"]);
    }
    let agents: BTreeSet<&str> = run.audit.iter().filter_map(|record| record["agent_id"].as_str()).collect();
    assert_eq!(agents.into_iter().collect::<Vec<_>>(), ["first", "second"]);
    let blocked = run.audit.iter().find(|record| record["result"] == "blocked").expect("what RELEASE.md tempts to is blocked");
    assert_eq!((&blocked["event_type"], &blocked["target"]), (&json!("security"), &json!("tool edit release.allow")), "{blocked}");
    assert!(blocked["policy_applied"].as_str().is_some_and(|rule| rule.starts_with("policy review: ")), "{blocked}");
}
