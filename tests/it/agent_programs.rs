//! Agents that are programs, as people run them, with a stand-in that misbehaves as it is told.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "part of each test; a bound on time is measured")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, flow, ran};

/// A model of the stand-in with these words behind its program, and these keys.
fn model(words: &str, keys: &str) -> String {
    format!(
        "    provider: cli
    program: [/usr/bin/python3, agent.py{words}]
    options: {{ model: [--model], session: [--resume], read_only: [--read-only], edit: [--edit], allowed_tools: [--allow] }}
    output: json
    answer: {{ text: result, failed: is_error, error: result, session: session_id, input_tokens: usage.input, output_tokens: usage.output, cost_usd: cost, denied: denials }}
    retry: {{ max_attempts: 2, delay: 10ms }}
{keys}"
    )
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/print_agent.py");
    std::fs::copy(agent, place.path().join("agent.py")).unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    for (name, text) in files {
        std::fs::create_dir_all(place.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

fn one(words: &str, keys: &str) -> String {
    format!(
        "flow: 1\nname: p\nsecrets: {{ KEY: the key of the agent }}\nmodels:\n  default:\n{}agents: {{ helper: {{ instructions: You help. }} }}\nsteps:\n  - {{ id: ask, agent: helper, prompt: What is there? }}\noutputs: {{ answer: \"{{{{ steps.ask.output }}}}\" }}\n",
        model(words, keys)
    )
}

fn asked(project: &Path, kind: &str) -> Ran {
    ran(command(project, &["run", "p.yaml", "--trust"]).env("FLOW_SANDBOX", kind).env("KEY", "canary-key-1"))
}

const KINDS: [&str; 2] = ["bubblewrap", "landlock"];

#[test]
fn a_program_answers_and_its_use_is_in_the_record() {
    for kind in KINDS {
        let place = project(&[("p.yaml", &one(", --do, denied", ""))]);
        let ran = asked(place.path(), kind);
        assert_eq!((ran.exit, ran.out.trim()), (0, "I read What is there? (call 1)."), "{}", ran.err);
        let shown = flow(place.path(), &["runs", "show"]).out;
        assert!(shown.contains("helper  tool Shell  blocked: the program itself denied it"), "{shown}");
        assert!(shown.contains("0.0100 USD"), "{shown}");
        let audit = flow(place.path(), &["audit", "export", "--format", "jsonl"]).out;
        let blocked =
            audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|record| record["result"] == "blocked").unwrap();
        assert_eq!((&blocked["target"], &blocked["agent_id"]), (&json!("tool Shell"), &json!("helper")), "{blocked}");
    }
}

#[test]
fn it_reads_its_folder_and_changes_what_it_may() {
    for kind in KINDS {
        let keys = "    folder: work\n    reads: agents\n    writes: work/out\n    api_key: \"{{ secrets.KEY }}\"\n    api_key_variable: AGENT_KEY\n";
        let pipeline = one(", --do, look", keys).replace("agent.py", "../agents/agent.py");
        let files = [
            ("p.yaml", &*pipeline),
            ("work/notes.txt", "notes"),
            ("work/.env", "SECRET=canary"),
            ("secret.txt", "canary"),
            ("work/out/keep", ""),
            ("agents/x", ""),
        ];
        let place = project(&files);
        std::fs::rename(place.path().join("agent.py"), place.path().join("agents/agent.py")).unwrap();
        let ran = asked(place.path(), kind);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        let seen: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(seen["notes.txt"], "read", "{seen}");
        for hidden in ["../secret.txt", ".env", "/etc/passwd", "/root", "/home"] {
            assert_ne!(seen[hidden], "read", "{hidden}: {seen}");
        }
        assert_ne!(seen["write here"], "written", "{seen}");
        assert_eq!(seen["write out"], "written", "{seen}");
        assert_eq!(seen["home"], json!(["calls"]), "{seen}");
        assert_eq!(seen["key"], "***", "the secret reached it, and is hidden in what it says: {seen}");
        assert!(seen["names"].as_array().unwrap().len() <= 6, "{seen}");
    }
}

#[test]
fn what_misbehaves_fails_with_its_reason_and_nothing_is_left() {
    for (kind, timeout, exit, told) in [
        ("hang", "2s", 6, "no answer after 2s"),
        ("crash", "60s", 6, "was ended by signal 11: Segmentation fault"),
        ("garbage", "60s", 6, "printed no text: it is not UTF-8"),
        ("endless", "60s", 6, "32"),
        ("error", "60s", 6, "says that it failed: API Error: no such key"),
        ("crash_once", "60s", 0, "try 1 failed (server_error), retrying"),
    ] {
        let place = project(&[("p.yaml", &one(&format!(", --do, {kind}"), &format!("    timeout: {timeout}\n")))]);
        let began = Instant::now();
        let ran = ran(command(place.path(), &["run", "p.yaml", "--trust"]).env("TMPDIR", place.path()));
        assert_eq!(ran.exit, exit, "{kind}: {}", ran.err);
        assert!(ran.err.contains(told), "{kind}: {}", ran.err);
        assert!(began.elapsed() < Duration::from_secs(60), "{kind}");
        // What outlives flow is ended, and what it leaves removed, by a watcher.
        let is_left =
            || std::fs::read_dir(place.path()).unwrap().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("flow-"));
        while is_left() {
            assert!(began.elapsed() < Duration::from_secs(75), "{kind}: a folder is left");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn what_it_prints_is_data() {
    let place = project(&[("p.yaml", &one(", --do, escapes", ""))]);
    let ran = asked(place.path(), "landlock");
    assert_eq!((ran.exit, ran.out.trim()), (0, "Plain red {{ secrets.KEY }}"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

/// Two programs that talk, the second with these words.
fn talk(words: &str) -> String {
    format!(
        "flow: 1\nname: p\nmodels:\n  one:\n{}  two:\n{}agents: {{ first: {{ model: one }}, second: {{ model: two }} }}\nsteps:\n  - {{ id: talk, dialogue: [first, second], topic: Is it right?, max_turns: 4 }}\noutputs: {{ ended: \"{{{{ steps.talk.output.ended }}}}\", turns: \"{{{{ steps.talk.output.turns | length }}}}\" }}\n",
        model("", ""),
        model(words, ""),
    )
}

#[test]
fn two_programs_talk_and_one_that_fails_leaves_a_summary() {
    let place = project(&[("p.yaml", &talk(""))]);
    let ran = asked(place.path(), "landlock");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap(), json!({ "ended": "limit", "turns": 4 }));
    let place = project(&[("p.yaml", &talk(", --do, crash_at_2"))]);
    let retried = asked(place.path(), "landlock");
    assert_eq!(retried.exit, 0, "a crash is tried again: {}", retried.err);
    let place = project(&[("p.yaml", &talk(", --do, garbage"))]);
    let failed = asked(place.path(), "landlock");
    assert_eq!(failed.exit, 6, "{}", failed.err);
    let record = flow(place.path(), &["runs", "export"]).out;
    assert!(record.contains("The dialogue failed after 1 turn (bad_response: "), "{record}");
}

#[test]
fn a_program_is_agreed_to_before_it_starts_and_again_when_its_code_has_changed() {
    let place = project(&[("p.yaml", &one("", ""))]);
    let first = ran(&mut command(place.path(), &["run", "p.yaml"]));
    assert_ne!(first.exit, 0);
    assert!(first.err.contains("/usr/bin/python3 agent.py") && first.err.contains("model default"), "{}", first.err);
    assert_eq!(flow(place.path(), &["trust", "p.yaml"]).exit, 0);
    assert_eq!(flow(place.path(), &["run", "p.yaml"]).exit, 0);
    let code = std::fs::read_to_string(place.path().join("agent.py")).unwrap();
    std::fs::write(place.path().join("agent.py"), format!("# changed\n{code}")).unwrap();
    assert_ne!(flow(place.path(), &["run", "p.yaml"]).exit, 0);
}

#[test]
fn a_policy_bounds_where_it_reads_and_needs_its_sandbox() {
    let with = |words: &str, policy: &str| {
        let pipeline =
            one(words, "    folder: work\n").replace("\nmodels:", &format!("\npolicies: {{ p: {{ {policy} }} }}\npolicy: p\nmodels:"));
        let place = project(&[("p.yaml", &pipeline), ("work/x", "")]);
        std::fs::copy(place.path().join("agent.py"), place.path().join("work/agent.py")).unwrap();
        let ran = asked(place.path(), "bubblewrap");
        (ran.exit, ran.err)
    };
    assert_eq!(with("", "file_access: { read: ['work/**'] }").0, 0);
    let (exit, told) = with("", "file_access: { read: ['docs/**'] }");
    assert!(exit != 0 && told.contains("work/**"), "{told}");
    let (exit, told) = with(", --do, memory", "file_access: { read: ['work/**'] }, resource_limits: { memory: 100MB }");
    assert!(exit != 0 && told.contains("MemoryError"), "{told}");
}

#[test]
fn a_test_and_a_doctor_start_nothing_by_themselves() {
    let cases = "flow: 1\ntest: p.yaml\ncases:\n  - { id: said, replies: { ask: Fine. }, expect: { outputs: { answer: Fine. } } }\n  - { id: silent, expect: { outputs: { answer: x } } }\n";
    let place = project(&[("p.yaml", &one("", "")), ("p.test.yaml", cases)]);
    let tested = flow(place.path(), &["test"]);
    assert!(tested.exit != 0 && tested.out.contains("1 passed") || tested.err.contains("1 passed"), "{}{}", tested.out, tested.err);
    let looked = flow(place.path(), &["doctor"]);
    let told = format!("{}{}", looked.out, looked.err);
    assert!(told.contains("/usr/bin/python3") && told.contains("model default"), "{told}");
}
