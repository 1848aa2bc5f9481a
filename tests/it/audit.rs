//! The audit of runs, through the program: what it holds, who may append, what is found when it was touched, and that nothing is done without it.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use sha2::Digest;
use tempfile::TempDir;

use crate::program::{Ran, command, flow, until};

const NAME: &str = "Quendolin-Brackwater";

/// It asks an agent, reads and writes files, is stopped by a policy, and sends.
const DOES: &str = "flow: 1
name: does
description: Does what is recorded.
inputs: { who: { type: text, pii: true }, place: { type: text, default: a.txt } }
policies: { tidy: { allowed_tools: [notes.write, inner.write], file_access: { write: ['*.txt'] } } }
models: { default: { provider: scripted, replies: replies.yaml } }
agents: { greeter: { instructions: 'You greet {{ inputs.who }}.' } }
tools: { notes: { file: ., allow: [write] }, inner: { file: secret, allow: [write] } }
policy: tidy
steps:
  - { id: ask, agent: greeter, prompt: 'Greet {{ inputs.who }}.', pii: true }
  - { id: keep, tool: notes.write, with: { name: \"{{ inputs.who }}.txt\", text: \"{{ steps.ask.output }}\" } }
  - { id: stopped, tool: inner.write, with: { name: \"{{ inputs.place }}\", text: x }, on_failure: continue }
  - { id: out, send: stdout, of: \"'Done'\" }
";

const WAITS: &str = "flow: 1
name: waits
description: Writes a note after a wait.
tools: { notes: { file: ., allow: [write] } }
steps:
  - { id: nap, wait: 1500ms }
  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }
";

fn project(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("p.yaml", pipeline), ("replies.yaml", "flow: 1\nreplies: { ask: Hello }\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::create_dir(folder.path().join("secret")).unwrap();
    folder
}

fn audit(folder: &Path) -> PathBuf {
    folder.join(".flow/audit.jsonl")
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    let given = ["run", "p.yaml", "-q", "--trust", "--events", "events.jsonl"];
    flow(folder, &[&given[..], arguments].concat())
}

fn records(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let ran = flow(folder, &[&["audit", "export"][..], arguments].concat());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verified(folder: &Path, arguments: &[&str]) -> Ran {
    flow(folder, &[&["audit", "verify"][..], arguments].concat())
}

fn head(folder: &Path) -> String {
    let ran = verified(folder, &[]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out.trim_end().rsplit_once("head ").unwrap().1.to_owned()
}

#[test]
fn what_a_run_did_is_recorded_once_and_says_nothing_personal() {
    let folder = project(DOES);
    let done = run(folder.path(), &["--input", &format!("who={NAME}")]);
    assert!(folder.path().join(format!("{NAME}.txt")).exists(), "{}", done.err);
    let all = records(folder.path(), &[]);
    // Each event that is an effect or a decision has its record, found by its number.
    let mut expected = BTreeMap::new();
    for line in std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let action = match event["type"].as_str().unwrap() {
            "run_started" => "run_started",
            "run_finished" => "run_finished",
            "model_called" | "model_replied" => "model_call",
            "tool_called" | "tool_replied" => "tool_call",
            "output_written" => "delivery",
            "policy_decided" => "policy_decision",
            "step_failed" => "step_failed",
            _ => continue,
        };
        expected.insert(event["seq"].as_u64().unwrap(), action.to_owned());
    }
    let found: BTreeMap<u64, String> =
        all.iter().map(|record| (record["event"].as_u64().unwrap(), record["action"].as_str().unwrap().to_owned())).collect();
    assert_eq!((found.len(), found), (all.len(), expected));
    let of = |action: &str| all.iter().filter(|record| record["action"] == action).cloned().collect::<Vec<_>>();
    let asked = of("model_call");
    assert!(asked.len() == 2 && asked.iter().all(|record| record["agent_id"] == "greeter"), "{asked:?}");
    assert!(asked[0]["result"].is_null() && asked[1]["result"] == "success" && asked[1]["resource_usage"]["duration_ms"].is_u64());
    let blocked: Vec<Value> = of("policy_decision").into_iter().filter(|record| record["result"] == "blocked").collect();
    assert!(blocked.len() == 1 && blocked[0]["policy_applied"].as_str().unwrap().contains("tidy"), "{blocked:?}");
    assert_eq!(blocked[0]["target"], "write secret/a.txt");
    let failed = of("step_failed");
    assert_eq!(
        (&failed[0]["event_type"], &failed[0]["result"], &failed[0]["reason"]),
        (&json!("security"), &json!("blocked"), &json!("denied"))
    );
    let text = std::fs::read_to_string(audit(folder.path())).unwrap();
    assert!(text.contains("write (masked)"), "{text}");
    assert!(["Quendolin", "Brackwater", "Greet", "Hello"].iter().all(|said| !text.contains(said)), "{text}");
    let trace = all[0]["trace_id"].as_str().unwrap();
    assert!(trace.len() == 32 && all.iter().all(|record| record["trace_id"] == trace));
}

#[test]
fn what_was_touched_is_found_and_said_where() {
    let folder = project(DOES);
    assert_eq!(verified(folder.path(), &[]).exit, 4);
    assert_eq!(flow(folder.path(), &["audit", "export"]).exit, 4);
    run(folder.path(), &["--input", "who=Ana"]);
    let (saved, whole) = (head(folder.path()), std::fs::read(audit(folder.path())).unwrap());
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let told = |bytes: &[u8], arguments: &[&str]| {
        std::fs::write(audit(folder.path()), bytes).unwrap();
        let ran = verified(folder.path(), arguments);
        (ran.exit, ran.err)
    };
    let mut changed = whole.clone();
    changed[lines[0].len() + 30] ^= 1;
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    for (bytes, what) in [
        (changed, "line 2: it was changed"),
        ([lines[..2].concat(), lines[3..].concat()].concat(), "line 3: record 3 is missing before it"),
        (swapped.concat(), "line 2: it is record 3, out of order: record 2 belongs here"),
        ([lines[..3].concat(), lines[0].to_vec(), lines[3..].concat()].concat(), "line 4: it is record 1 again"),
        (whole[..whole.len() - 5].to_vec(), "the file ends in the middle of it"),
    ] {
        let (exit, err) = told(&bytes, &[]);
        assert!(exit == 1 && err.contains(what), "{what}: {err}");
    }
    let cut = lines[..lines.len() - 1].concat();
    for (name, bytes) in [("cut", &cut[..]), ("emptied", b"")] {
        let (exit, err) = told(bytes, &[]);
        assert!(exit == 1 && err.contains(&format!("the record with the hash {saved}, once the last one, is missing")), "{name}: {err}");
    }
    let (exit, err) = told(&cut, &["--head", &saved]);
    assert!(exit == 1 && err.contains("the record of the saved hash is not in the file"), "{err}");
    assert_eq!(told(&whole, &["--head", &saved.to_uppercase()]).0, 0);
    assert_eq!(told(&whole, &["--head", "12ab"]).0, 2);
    // A record that is no longer as it was written is no place to go on from: the run does nothing.
    let mut last = whole.clone();
    let place = last.len() - 80;
    last[place] ^= 1;
    told(&last, &[]);
    let refused = run(folder.path(), &["--input", "who=Ben"]);
    assert!(refused.exit == 6 && refused.err.contains("flow audit verify"), "{}", refused.err);
    assert!(!folder.path().join("Ben.txt").exists());
    let doctor = flow(folder.path(), &["doctor"]);
    assert!(doctor.exit == 1 && doctor.out.contains("audit: "), "{}", doctor.out);
}

#[test]
fn processes_that_run_at_once_make_one_chain_and_a_torn_line_is_told() {
    let folder = project(DOES);
    run(folder.path(), &["--input", "who=Ana"]);
    let each = records(folder.path(), &[]).len();
    let mut file = std::fs::OpenOptions::new().append(true).open(audit(folder.path())).unwrap();
    std::io::Write::write_all(&mut file, b"{\"record_id\":").unwrap();
    let begin = || {
        let mut flow = command(folder.path(), &["run", "p.yaml", "-q", "--trust", "--input", "who=Ben"]);
        flow.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..6).map(|_| begin()).collect();
    for mut child in all {
        child.wait().unwrap();
    }
    head(folder.path());
    let all = records(folder.path(), &[]);
    assert_eq!(all.len(), 7 * each + 1);
    let repaired: Vec<&Value> = all.iter().filter(|record| record["action"] == "audit_repaired").collect();
    assert_eq!((repaired.len(), &repaired[0]["reason"]), (1, &json!("a torn line of 13 bytes was cut off")));
}

#[test]
fn nothing_is_done_that_cannot_be_recorded() {
    let folder = project(WAITS);
    let spawned = command(folder.path(), &["run", "p.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the run is recorded", || audit(folder.path()).metadata().is_ok_and(|file| file.len() > 0));
    let before = std::fs::read(audit(folder.path())).unwrap();
    std::fs::rename(audit(folder.path()), folder.path().join("before")).unwrap();
    std::fs::create_dir(audit(folder.path())).unwrap();
    let output = spawned.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(6) && err.contains("audit.jsonl cannot be written"), "{err}");
    assert!(!folder.path().join("note.txt").exists());
    let refused = flow(folder.path(), &["run", "p.yaml"]);
    assert!(refused.exit == 6 && refused.err.contains("nothing is done without it"), "{}", refused.err);
    // As soon as it can be written again, the run continues, and nothing is missing.
    std::fs::remove_dir(audit(folder.path())).unwrap();
    std::fs::rename(folder.path().join("before"), audit(folder.path())).unwrap();
    assert_eq!(std::fs::read(audit(folder.path())).unwrap(), before);
    assert_eq!(flow(folder.path(), &["runs", "resume", "--all"]).exit, 0);
    assert!(folder.path().join("note.txt").exists());
    head(folder.path());
    let actions: Vec<String> = records(folder.path(), &[]).iter().map(|record| record["action"].as_str().unwrap().to_owned()).collect();
    assert_eq!(actions, ["run_started", "run_resumed", "tool_call", "tool_call", "run_finished"]);
}

#[test]
fn an_audit_that_is_lost_between_runs_is_noticed_without_a_saved_hash() {
    for lose in [|path: &Path| std::fs::remove_file(path).unwrap(), |path: &Path| std::fs::write(path, "").unwrap()] {
        let folder = project(DOES);
        run(folder.path(), &["--input", "who=Ana"]);
        let (saved, moved) = (head(folder.path()), folder.path().join("moved.jsonl"));
        std::fs::copy(audit(folder.path()), &moved).unwrap();
        lose(&audit(folder.path()));
        let told = verified(folder.path(), &[]);
        assert!(
            told.exit == 1 && told.err.contains(&format!("the record with the hash {saved}, once the last one, is missing")),
            "{}",
            told.err
        );
        assert_eq!(verified(folder.path(), &["--earlier", "moved.jsonl"]).exit, 0);
        run(folder.path(), &["--input", "who=Ben"]);
        let first = &records(folder.path(), &[])[0];
        assert!(first["action"] == "audit_lost" && first["reason"].as_str().unwrap().contains(&saved), "{first}");
        assert_eq!(verified(folder.path(), &[]).exit, 1);
        assert_eq!(verified(folder.path(), &["--earlier", "moved.jsonl", "--head", &saved]).exit, 0);
        assert_eq!(verified(folder.path(), &["--earlier", "none.jsonl"]).exit, 2);
        // Also when the runs are removed, the earlier file is needed.
        assert_eq!(flow(folder.path(), &["runs", "rm", "--all", "--yes"]).exit, 0);
        assert_eq!(verified(folder.path(), &[]).exit, 1);
        assert_eq!(verified(folder.path(), &["--earlier", "moved.jsonl"]).exit, 0);
        std::fs::write(audit(folder.path()), "").unwrap();
        assert_eq!(verified(folder.path(), &["--earlier", "moved.jsonl"]).exit, 1);
    }
}

#[test]
fn records_of_no_run_cannot_be_cut_off_and_none_can_be_added_unseen() {
    let folder = project(DOES);
    run(folder.path(), &["--input", "who=Ana"]);
    assert_eq!(flow(folder.path(), &["trust", "p.yaml"]).exit, 0);
    let trusted = std::fs::read(audit(folder.path())).unwrap();
    assert_eq!(flow(folder.path(), &["runs", "rm", "--all", "--yes"]).exit, 0);
    let (saved, removed) = (head(folder.path()), std::fs::read(audit(folder.path())).unwrap());
    let told = |bytes: &[u8]| {
        std::fs::write(audit(folder.path()), bytes).unwrap();
        let ran = verified(folder.path(), &[]);
        (ran.exit, ran.err)
    };
    let lines: Vec<&[u8]> = trusted.split_inclusive(|byte| *byte == b'\n').collect();
    for (name, bytes) in [("the removal", &trusted[..]), ("the trust", &lines[..lines.len() - 1].concat())] {
        let (exit, err) = told(bytes);
        assert!(exit == 1 && err.contains(&saved), "{name}: {err}");
    }
    // A record with the right place in the chain, as somebody else could write it.
    let last: Value = serde_json::from_slice(removed.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let number = last["record_id"].as_u64().unwrap() + 1;
    let before = format!(
        "{{\"record_id\":{number},\"timestamp\":\"2026-01-01T00:00:00Z\",\"event_type\":\"decision\",\"session_id\":\"\",\"trace_id\":\"\",\"event\":0,\"action\":\"approval\",\"previous\":\"{saved}\""
    );
    let hash = hex::encode(sha2::Sha256::digest(&before));
    let forged = [&removed[..], format!("{before},\"hash\":\"{hash}\"}}\n").as_bytes()].concat();
    let (exit, err) = told(&forged);
    assert!(exit == 1 && err.contains(&format!("flow did not write records {number} to {number}")), "{err}");
    // What comes after it does not make it one of flow's.
    run(folder.path(), &["--input", "who=Ben"]);
    assert!(records(folder.path(), &[]).iter().any(|record| record["action"] == "audit_added"));
    let again = verified(folder.path(), &[]);
    assert!(again.exit == 1 && again.err.contains(&format!("records {number} to {number}")), "{}", again.err);
}

#[test]
fn verify_says_where_no_store_knows_the_end() {
    let folder = project(DOES);
    run(folder.path(), &["--input", "who=Ana"]);
    let known = verified(folder.path(), &[]);
    assert!(known.exit == 0 && known.err.is_empty(), "{}", known.err);
    for file in ["runs.db", "runs.db-wal", "runs.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(".flow").join(file));
    }
    let unknown = verified(folder.path(), &[]);
    assert!(unknown.exit == 0 && unknown.err.contains("what was cut off or added at the end is not known"), "{}", unknown.err);
    run(folder.path(), &["--input", "who=Ben"]);
    let known = verified(folder.path(), &[]);
    assert!(known.exit == 0 && known.err.is_empty(), "{}", known.err);
}

#[test]
fn an_audit_that_is_lost_during_a_run_ends_it() {
    for lose in [|path: &Path| std::fs::remove_file(path).unwrap(), |path: &Path| std::fs::write(path, "").unwrap()] {
        let folder = project(WAITS);
        let spawned = command(folder.path(), &["run", "p.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the run is recorded", || audit(folder.path()).metadata().is_ok_and(|file| file.len() > 0));
        lose(&audit(folder.path()));
        let output = spawned.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(6) && err.contains("it was removed, emptied or replaced"), "{err}");
        assert!(!folder.path().join("note.txt").exists());
        assert_eq!(flow(folder.path(), &["runs", "resume", "--all"]).exit, 0);
        assert_eq!(records(folder.path(), &[])[0]["action"], "audit_lost");
    }
}

#[test]
fn records_are_chosen_by_run_and_time_and_outlive_their_run() {
    let folder = project(DOES);
    run(folder.path(), &["--input", "who=Ana"]);
    run(folder.path(), &["--input", "who=Ben"]);
    let all = records(folder.path(), &[]);
    let first = all[0]["session_id"].as_str().unwrap();
    let (of_first, beginning) = (records(folder.path(), &["--run", first]), &first[..12]);
    assert_eq!(of_first, all[..all.len() / 2]);
    assert_eq!(records(folder.path(), &["--run", beginning]), of_first);
    let second = all[all.len() / 2]["timestamp"].as_str().unwrap();
    assert_eq!(records(folder.path(), &["--until", second]), of_first);
    assert_eq!(records(folder.path(), &["--since", second]), all[all.len() / 2..]);
    assert_eq!(records(folder.path(), &["--since", "1h", "--until", "2001-01-01"]), Vec::<Value>::new());
    let wrong = flow(folder.path(), &["audit", "export", "--until", "soon"]);
    assert!(wrong.exit == 2 && wrong.err.contains("--until soon"), "{}", wrong.err);
    let table = flow(folder.path(), &["audit", "export", "--format", "csv"]).out;
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(table.as_bytes()).records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), all.len());
    assert!(rows.iter().zip(&all).all(|(row, record)| row[3] == *record["session_id"].as_str().unwrap()));
    assert_eq!(flow(folder.path(), &["runs", "rm", "--all", "--yes"]).exit, 0);
    let left = records(folder.path(), &[]);
    assert_eq!(left[..all.len()], all);
    assert!(left.len() == all.len() + 2 && left[all.len()..].iter().all(|record| record["action"] == "run_removed"), "{left:?}");
    head(folder.path());
}

#[test]
fn a_run_that_a_person_ends_and_one_that_nobody_keeps() {
    let folder = project(&WAITS.replace("wait: 1500ms", "approval: Go on?"));
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).exit, 8);
    let run = records(folder.path(), &[])[0]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(flow(folder.path(), &["approve", &run, "nap"]).exit, 0);
    assert_eq!(flow(folder.path(), &["runs", "cancel", &run]).exit, 0);
    let all = records(folder.path(), &[]);
    let approved = all.iter().find(|record| record["action"] == "approval").unwrap();
    assert_eq!((&approved["result"], &approved["security_context"]), (&json!("success"), &json!({ "decided_by": "person" })));
    let cancelled = all.iter().find(|record| record["action"] == "run_cancelled").unwrap();
    assert_eq!((&cancelled["event_type"], &cancelled["reason"]), (&json!("decision"), &json!("person")));
    assert_eq!(all.last().unwrap()["action"], "run_finished");
    head(folder.path());
    let folder = project(DOES);
    flow(folder.path(), &["validate"]);
    flow(folder.path(), &["plan", "p.yaml", "--input", "who=Ana"]);
    assert!(!audit(folder.path()).exists());
}
