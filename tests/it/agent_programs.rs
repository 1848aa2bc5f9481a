//! Agents that are programs, as people run them, with a stand-in that misbehaves as it is told.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "part of each test; a bound on time is measured")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::extras::{Extra, has};
use crate::program::{Ran, command, flow, ran};
use crate::sandbox::{has_python_in, python_in};

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

#[test]
fn a_program_answers_and_its_use_is_in_the_record() {
    for kind in python_in() {
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
    for kind in python_in() {
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
        let names = seen["names"].as_array().unwrap().iter().filter(|name| !name.as_str().unwrap().to_lowercase().contains("proxy"));
        assert!(names.count() <= 6, "{seen}");
    }
}

#[test]
fn what_misbehaves_fails_with_its_reason_and_nothing_is_left() {
    if python_in().is_empty() {
        return;
    }
    for (kind, timeout, exit, told) in [
        ("hang", "2s", 6, "did not end within 2s, and was ended"),
        ("half", "2s", 6, "did not end within 2s, and was ended"),
        ("crash", "60s", 6, "was ended by signal 11: Segmentation fault"),
        ("garbage", "60s", 6, "printed no text: it is not UTF-8"),
        ("endless", "60s", 6, "32"),
        ("flood", "60s", 6, "wrote more than 1 GiB to its standard error, and was ended"),
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
    if !has_python_in("landlock") {
        return;
    }
    let place = project(&[("p.yaml", &one(", --do, escapes", ""))]);
    let ran = asked(place.path(), "landlock");
    assert_eq!((ran.exit, ran.out.trim()), (0, "Plain red {{ secrets.KEY }}"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn in_a_dialogue_a_program_continues_its_session_and_hears_only_what_is_new() {
    if !has_python_in("landlock") {
        return;
    }
    let pipeline =
        talk(", --do, prompt").replace("turns: \"{{ steps.talk.output.turns | length }}\"", "turns: \"{{ steps.talk.output.turns }}\"");
    let place = project(&[("p.yaml", &pipeline)]);
    let ran = asked(place.path(), "landlock");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let heard = |turn: usize| serde_json::from_str::<Value>(told["turns"][turn]["text"].as_str().unwrap()).unwrap();
    let (first, second) = (heard(1), heard(3));
    assert_eq!((&first["resumed"], &second["resumed"]), (&json!(null), &json!("session-1")));
    let prompt = |heard: &Value| heard["prompt"].as_str().unwrap().to_owned();
    assert!(prompt(&first).contains("Is it right?") && prompt(&first).contains("Turn 1, first:"), "{first}");
    assert!(prompt(&second).starts_with("This is turn 4 of at most 4.") && prompt(&second).contains("Turn 3, first:"), "{second}");
    assert!(!prompt(&second).contains("Turn 1, first:"), "{second}");
}

#[test]
fn the_files_of_a_turn_are_told_to_the_other() {
    if !has_python_in("landlock") {
        return;
    }
    let turns = ("turns: \"{{ steps.talk.output.turns | length }}\"", "turns: \"{{ steps.talk.output.turns }}\"");
    let pipeline = talk_with(", --do, look", "    folder: work\n    reads: agents\n    writes: work/out\n").replace(turns.0, turns.1);
    let pipeline = pipeline.replace("agent.py, --do, look", "../agents/agent.py, --do, look").replacen(
        "agent.py]",
        "agents/agent.py, --do, prompt]",
        1,
    );
    let place = project(&[("p.yaml", &pipeline), ("work/out/old.txt", ""), ("agents/x", "")]);
    std::fs::rename(place.path().join("agent.py"), place.path().join("agents/agent.py")).unwrap();
    let ran = asked(place.path(), "landlock");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["turns"][0]["attachments"], &told["turns"][1]["attachments"]), (&json!([]), &json!(["work/out/made.txt"])), "{told}");
    assert!(told["turns"][2]["text"].as_str().unwrap().contains(r#"Turn 2, second (files: \"work/out/made.txt\"):"#), "{told}");
    let shown = flow(place.path(), &["runs", "show"]).out;
    assert!(shown.contains("     files: work/out/made.txt"), "{shown}");
}

/// Two programs that talk, the second with these words.
fn talk(words: &str) -> String {
    talk_with(words, "")
}

/// The same, with these keys of the second.
fn talk_with(words: &str, keys: &str) -> String {
    format!(
        "flow: 1\nname: p\nmodels:\n  one:\n{}  two:\n{}agents: {{ first: {{ model: one }}, second: {{ model: two }} }}\nsteps:\n  - {{ id: talk, dialogue: [first, second], topic: Is it right?, max_turns: 4 }}\noutputs: {{ ended: \"{{{{ steps.talk.output.ended }}}}\", turns: \"{{{{ steps.talk.output.turns | length }}}}\" }}\n",
        model("", ""),
        model(words, keys),
    )
}

#[test]
fn two_programs_talk_and_one_that_fails_leaves_a_summary() {
    if !has_python_in("landlock") {
        return;
    }
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
    if python_in().is_empty() {
        return;
    }
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
    if !has_python_in("bubblewrap") {
        return;
    }
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
    if python_in().is_empty() {
        return;
    }
    let cases = "flow: 1\ntest: p.yaml\ncases:\n  - { id: said, replies: { ask: Fine. }, expect: { outputs: { answer: Fine. } } }\n  - { id: silent, expect: { outputs: { answer: x } } }\n";
    let place = project(&[("p.yaml", &one("", "")), ("p.test.yaml", cases)]);
    let tested = flow(place.path(), &["test"]);
    assert!(tested.exit != 0 && tested.out.contains("1 passed") || tested.err.contains("1 passed"), "{}{}", tested.out, tested.err);
    let looked = flow(place.path(), &["doctor"]);
    let told = format!("{}{}", looked.out, looked.err);
    assert!(told.contains("/usr/bin/python3") && told.contains("model default"), "{told}");
    // One that is trusted is asked for its version, by its own argument.
    let trusted = flow(place.path(), &["doctor", "--trust", "p.yaml"]).out;
    assert!(trusted.contains("ok     agent program /usr/bin/python3 agent.py is available (model default; looked at 2"), "{trusted}");
    assert!(
        trusted.contains("/usr/bin/python3 starts; what it runs was not asked for its version, since version: is not written"),
        "{trusted}"
    );
    assert!(!trusted.contains("UTC): Python 3."), "{trusted}");
    // Whoever does not ask an interpreter for the version of the agent finds no fault where that interpreter has none.
    for (program, keys, told) in [
        ("/usr/bin/python3, agent.py", "    version: --tell-version\n", "agent program /usr/bin/python3 agent.py is available"),
        ("/usr/bin/python3, agent.py", "    version: --tell-version\n", "UTC): stand-in 1.2"),
        ("/usr/bin/python3, -u, agent.py, --do, denied", "    version: --tell-version\n", "UTC): stand-in 1.2"),
        ("/usr/bin/python3, ../agent.py", "    folder: work\n    version: --tell-version\n", "UTC): stand-in 1.2"),
        ("/bin/sh, agent.sh", "", "ok     agent program /bin/sh agent.sh is available"),
        ("/bin/sh, -c, 'exit 3'", "    version: --tell-version\n", "fault  agent program /bin/sh -c exit 3 failed"),
        ("/bin/cat", "    version: --no-such-option\n", "fault  agent program /bin/cat failed"),
    ] {
        let pipeline = one("", keys).replace("/usr/bin/python3, agent.py", program);
        let place = project(&[("p.yaml", &pipeline), ("agent.sh", "exit 3\n"), ("work/x", "")]);
        let looked = flow(place.path(), &["doctor", "--trust", "p.yaml"]).out;
        assert!(looked.contains(told), "{program}: {looked}");
    }
    let other = one("", "    version: --no-such\n").replace("/usr/bin/python3", "/usr/bin/no-such-program");
    std::fs::write(place.path().join("q.yaml"), &other).unwrap();
    let failed = flow(place.path(), &["doctor", "--trust", "q.yaml"]).out;
    assert!(failed.contains("fault  agent program /usr/bin/no-such-program failed (model default; looked at"), "{failed}");
}

#[test]
fn a_key_that_is_missing_is_told_before_the_run() {
    if !has(&[Extra::Python]) {
        return;
    }
    let keys = "    api_key: \"{{ secrets.KEY }}\"\n    api_key_variable: AGENT_KEY\n";
    let place = project(&[("p.yaml", &one("", keys)), ("q.yaml", &one("", "    api_key_variable: AGENT_KEY\n"))]);
    let unset = flow(place.path(), &["run", "p.yaml", "--trust"]).err;
    assert!(unset.starts_with("secret KEY is not set (the key of the agent), and is read by model default;"), "{unset}");
    let told =
        "model default has no api_key, and in the sandbox its program has no login of yours; add api_key, which it finds as AGENT_KEY";
    let none = flow(place.path(), &["run", "q.yaml", "--trust"]);
    assert!(none.err.starts_with(told) && none.exit == 0, "{}", none.err);
    assert!(flow(place.path(), &["doctor", "q.yaml"]).out.contains(&format!("note   {told}")));
    let own = one("", "    api_key_variable: AGENT_KEY\n    env: { AGENT_KEY: own }\n");
    std::fs::write(place.path().join("q.yaml"), own).unwrap();
    assert!(!flow(place.path(), &["run", "q.yaml", "--trust"]).err.contains("no api_key"));
}

#[test]
fn how_its_agents_are_is_shown_where_not_all_is_well() {
    if !has_python_in("landlock") {
        return;
    }
    for (kind, exit, shows) in [("error", 6, Some("helper  failed since 20")), ("crash_once", 0, None)] {
        let place = project(&[("p.yaml", &one(&format!(", --do, {kind}"), ""))]);
        assert_eq!(asked(place.path(), "landlock").exit, exit);
        let shown = flow(place.path(), &["runs", "show"]).out;
        assert_eq!(shown.contains("\nagents:\n"), shows.is_some(), "{shown}");
        assert!(shows.is_none_or(|line| shown.contains(line) && shown.contains("(2 calls, 2 failed)")), "{shown}");
        let exported: Value = serde_json::from_str(&flow(place.path(), &["runs", "export"]).out).unwrap();
        let agent = &exported["agents"][0];
        let failures = if shows.is_some() { 2 } else { 1 };
        assert_eq!((&agent["agent"], &agent["calls"], &agent["failures"]), (&json!("helper"), &json!(2), &json!(failures)), "{exported}");
    }
}

/// A pipeline with one agent that speaks the Agent Client Protocol and is told to do this, and these keys.
fn talking(kind: &str, keys: &str, prompt: &str) -> String {
    format!(
        "flow: 1\nname: p\n{keys}models:\n  default:\n    provider: acp\n    program: [/usr/bin/python3, acp_agent.py, --do, {kind}]\n    timeout: 3s\n    retry: {{ max_attempts: 1 }}\nagents: {{ helper: {{ instructions: You help. }} }}\nsteps:\n  - {{ id: ask, agent: helper, prompt: {prompt:?} }}\noutputs: {{ answer: \"{{{{ steps.ask.output }}}}\" }}\n"
    )
}

fn talked(pipeline: &str, kind: &str) -> (TempDir, Ran) {
    let place = project(&[("p.yaml", pipeline)]);
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/acp_agent.py");
    std::fs::copy(agent, place.path().join("acp_agent.py")).unwrap();
    let ran = asked(place.path(), kind);
    (place, ran)
}

#[test]
fn a_program_that_speaks_the_protocol_answers() {
    if !has_python_in("landlock") {
        return;
    }
    for kind in python_in() {
        let (place, ran) = talked(&talking("answer", "", "What is there?"), kind);
        assert_eq!((ran.exit, ran.out.trim()), (0, "I read What is there? (call 1)."), "{}", ran.err);
        let shown = flow(place.path(), &["runs", "show"]).out;
        assert!(shown.contains("8 in, 4 out; 0.0200 USD"), "{shown}");
    }
    let (_, read) = talked(&talking("read", "", "x"), "landlock");
    assert_eq!(read.out.trim(), "read: -32601", "no file is read for it: {}", read.err);
    let (_, escapes) = talked(&talking("escapes", "", "x"), "landlock");
    assert_eq!(escapes.out.trim(), "Plain red {{ secrets.KEY }}", "{}", escapes.err);
}

#[test]
fn a_policy_answers_what_it_asks_and_the_audit_knows() {
    if !has_python_in("bubblewrap") {
        return;
    }
    let policy = "policies: { p: { file_access: { read: ['**'] }, allowed_tools: ['execute(git diff *)'], disallowed_tools: ['execute(rm *)'] } }\npolicy: p\n";
    let prompt = "RUN: git diff HEAD\nRUN: git diff HEAD; rm -rf /\nRUN: rm -rf /\nEDIT: notes.txt\nDone.";
    let (place, ran) = talked(&talking("obey", policy, prompt), "bubblewrap");
    assert_eq!(ran.out.trim(), "I read Done. (call 1). run yes. run no. run no. edit no.", "{}", ran.err);
    let audit = flow(place.path(), &["audit", "export", "--format", "jsonl"]).out;
    let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let decided: Vec<(String, String)> = records
        .filter(|record| record["action"] == "policy_decision" && record["target"].as_str().unwrap().starts_with("tool "))
        .map(|record| (record["target"].as_str().unwrap().to_owned(), record["result"].as_str().unwrap().to_owned()))
        .collect();
    let told: Vec<(&str, &str)> = decided.iter().map(|(target, result)| (target.as_str(), result.as_str())).collect();
    let expected = [
        ("tool execute git", "success"),
        ("tool execute git", "blocked"),
        ("tool execute rm", "blocked"),
        ("tool edit notes.txt", "blocked"),
    ];
    assert_eq!(told, expected);
    assert_eq!(flow(place.path(), &["audit", "verify"]).exit, 0);
}

#[test]
fn a_program_that_breaks_the_protocol_fails_with_its_reason() {
    if !has_python_in("bubblewrap") {
        return;
    }
    for (kind, told) in [
        ("hang", "(timeout)"),
        ("crash", "was ended by signal 11: Segmentation fault (server_error)"),
        ("noise", "printed more than 100 lines that are no message (bad_response)"),
        ("blank", "printed more than 100 lines that are no message (bad_response)"),
        ("endless", "sent more than 32 MiB (too_large)"),
        ("huge", "sent more than 32 MiB (too_large)"),
        ("banana", "stopped for a reason that flow does not know: \"banana\" (bad_response)"),
        ("no_reason", "did not say why it stopped (stopReason) (bad_response)"),
        ("no_session", "gave an answer to session/new that is none: it has no sessionId (bad_response)"),
        ("asks", "asked more than 1000 times in one turn (bad_response)"),
        ("flood", "(too_large)"),
        ("refuse", "refused to answer (refused)"),
        ("version", "speaks version 2 of the Agent Client Protocol, and flow version 1 (unavailable)"),
        ("auth", "says that it failed: Authentication required (auth)"),
    ] {
        let time = if kind == "hang" { "3s" } else { "60s" };
        let (_place, ran) = talked(&talking(kind, "", "x").replace("3s", time), "bubblewrap");
        assert!(ran.exit != 0 && ran.err.contains(told), "{kind}: {} {}", ran.exit, ran.err);
        for internal in ["variant", "expected", "Response", "struct"] {
            assert!(!ran.err.contains(internal), "{kind}: {}", ran.err);
        }
    }
}

#[test]
fn what_a_later_version_of_the_protocol_adds_is_passed_over_and_no_message_is_too_long() {
    if !has_python_in("landlock") {
        return;
    }
    let (_, long) = talked(&talking("long", "", "x").replace("3s", "60s"), "landlock");
    assert_eq!((long.exit, long.out.trim().len()), (0, 9_000_000), "{}", long.err);
    let (_, parts) = talked(&talking("parts", "", "x"), "landlock");
    assert_eq!((parts.exit, parts.out.trim()), (0, "Known. Known, too."), "{}", parts.err);
    assert!(parts.err.contains("a part of the answer that is no text is left out"), "{}", parts.err);
    let policy = "policies: { p: { file_access: { read: ['**'] }, allowed_tools: [execute] } }\npolicy: p\n";
    let (_, option) = talked(&talking("option", policy, "RUN: git status\nDone."), "landlock");
    assert_eq!(option.out.trim(), "I read Done. (call 1). run yes.", "{}", option.err);
}

#[test]
fn an_answer_counts_though_its_program_does_not_end() {
    for kind in python_in() {
        for (does, told) in [("lingers", true), ("holder", false)] {
            let place = project(&[("p.yaml", &one(&format!(", --do, {does}"), "    timeout: 4s\n"))]);
            let ran = asked(place.path(), kind);
            assert_eq!((ran.exit, ran.out.trim()), (0, "I read What is there? (call 1)."), "{does} {kind}: {}", ran.err);
            assert_eq!(ran.err.contains("did not end after its answer, and was ended"), told, "{does} {kind}: {}", ran.err);
        }
    }
    if !has(&[Extra::Python]) {
        return;
    }
    // Without a sandbox, too, nothing of a program is left that keeps its output open.
    let free =
        one(", --do, holder", "").replace("\nmodels:", "\npolicies: { p: { sandbox: none, permission_mode: auto } }\npolicy: p\nmodels:");
    let place = project(&[("p.yaml", &free)]);
    let ran = ran(command(place.path(), &["run", "p.yaml", "--trust"]).env("HOME", place.path()));
    assert_eq!((ran.exit, ran.out.trim()), (0, "I read What is there? (call 1)."), "{}", ran.err);
}

#[test]
fn what_a_program_told_before_it_failed_is_in_the_record() {
    if !has_python_in("landlock") {
        return;
    }
    let shown = |place: &TempDir| flow(place.path(), &["runs", "show"]).out;
    let place = project(&[("p.yaml", &one(", --do, answer_and_crash", "").replace("max_attempts: 2, delay: 10ms", "max_attempts: 1"))]);
    assert_ne!(asked(place.path(), "landlock").exit, 0);
    assert!(shown(&place).contains("0.0100 USD"), "{}", shown(&place));
    for (kind, told) in [("refuse", "8 in, 4 out; 0.0200 USD"), ("banana", "8 in, 4 out; 0.0200 USD"), ("tells_and_crashes", "0.0200 USD")]
    {
        let (place, ran) = talked(&talking(kind, "", "x"), "landlock");
        assert!(ran.exit != 0 && shown(&place).contains(told), "{kind}: {}", shown(&place));
    }
}

#[test]
fn what_a_person_must_confirm_is_rejected_and_paths_are_taken_as_they_lead() {
    if !has_python_in("landlock") {
        return;
    }
    let policy = "policies: { p: { file_access: { read: ['**'], write: ['out/**'] }, allowed_tools: [execute, 'edit(out/*)'], approval_required: ['execute(git push*)'] } }\npolicy: p\n";
    let prompt = "RUN: git status\nRUN: git push\nEDIT: out/a.txt\nEDIT: out/../notes.txt\nDone.";
    let (_, ran) = talked(&talking("obey", policy, prompt), "landlock");
    assert_eq!(ran.out.trim(), "I read Done. (call 1). run yes. run no. edit yes. edit no.", "{}", ran.err);
}

#[test]
fn a_folder_behind_a_link_is_not_read_where_a_policy_names_what_is() {
    if !has_python_in("landlock") {
        return;
    }
    for keys in ["    folder: work/link\n    reads: work\n", "    folder: work\n    reads: work/link\n"] {
        let pipeline = one("", keys).replace("agent.py", "AGENT");
        let policy = "policies: { p: { file_access: { read: ['work/**'] } } }\npolicy: p\nsecrets:";
        for (head, is_read) in [("secrets:", true), (policy, false)] {
            let place = project(&[("private/x", ""), ("work/x", "")]);
            std::os::unix::fs::symlink("../private", place.path().join("work/link")).unwrap();
            std::fs::rename(place.path().join("agent.py"), place.path().join("work/agent.py")).unwrap();
            let text = pipeline.replace("AGENT", &place.path().join("work/agent.py").display().to_string());
            std::fs::write(place.path().join("p.yaml"), text.replacen("secrets:", head, 1)).unwrap();
            let ran = asked(place.path(), "landlock");
            assert_eq!((ran.exit == 0, ran.err.contains("work/link was not opened: it is a link to")), (is_read, !is_read), "{}", ran.err);
        }
    }
}

#[test]
fn the_home_of_a_flow_that_was_killed_goes_when_the_next_one_starts() {
    if python_in().is_empty() {
        return;
    }
    let place = project(&[("p.yaml", &one(", --do, hang", "")), ("tmp/x", ""), ("q.yaml", &one("", ""))]);
    let homes = || {
        let all = std::fs::read_dir(place.path().join("tmp")).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("flow-agent-")).map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut first = command(place.path(), &["run", "p.yaml", "--trust"]);
    let mut first = first.env("TMPDIR", place.path().join("tmp")).spawn().unwrap();
    while !homes().iter().any(|home| home.join("home/calls").exists()) {
        assert_eq!(first.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(homes().len(), 1);
    let next = ran(command(place.path(), &["run", "q.yaml", "--trust"]).env("TMPDIR", place.path().join("tmp")));
    assert_eq!((next.exit, homes()), (0, vec![]), "{}", next.err);
}

#[test]
fn a_program_that_lacks_a_host_or_a_file_is_told_which_key_to_write() {
    if !has_python_in("bubblewrap") || !has_python_in("landlock") {
        return;
    }
    let place = project(&[(
        "p.yaml",
        &one(", --do, reach", "    retry: { max_attempts: 1 }\n").replace("    retry: { max_attempts: 2, delay: 10ms }\n", ""),
    )]);
    let kept = "it was kept from api.example.com:443 (network does not list it); what it may reach stands in network of the model";
    let ran = asked(place.path(), "bubblewrap");
    assert!(ran.exit != 0 && ran.err.contains(kept), "{}", ran.err);
    assert_eq!(decided(place.path())[0].0, "host api.example.com:443");
    let (spoken, ran) = talked(&talking("reach", "", "x").replace("3s", "60s"), "bubblewrap");
    assert!(ran.exit != 0 && ran.err.contains(kept), "{}", ran.err);
    assert_eq!(decided(spoken.path())[0].0, "host api.example.com:443");
    for (script, told) in [
        ("../agent.py", "../agent.py lies in none of the folders that it may read; name it in reads of the model"),
        ("agent.py", "agent.py is looked for in folder, where it is not; write its path from there"),
    ] {
        let pipeline = one("", "    folder: work\n").replace("agent.py", script);
        let place = project(&[("p.yaml", &pipeline), ("work/x", "")]);
        let ran = asked(place.path(), "landlock");
        assert!(ran.exit != 0 && ran.err.contains(told), "{}", ran.err);
    }
}

#[test]
fn a_program_of_the_other_provider_is_told_and_what_it_takes_is_not_known_before() {
    if !has_python_in("landlock") {
        return;
    }
    let printing = talking("answer", "", "x").replace("acp_agent.py, --do, answer", "-c, \"print('done')\"");
    let place = project(&[("p.yaml", &printing)]);
    let ran = asked(place.path(), "landlock");
    assert!(ran.exit != 0 && ran.err.contains("; one that prints its answer and ends is provider: cli"), "{}", ran.err);
    let limited = one("", "").replace("steps:\n", "limits: { max_tokens: 1000 }\nsteps:\n");
    let place = project(&[("p.yaml", &limited), ("q.yaml", &one("", ""))]);
    let planned = |file: &str| flow(place.path(), &["plan", file]).out;
    let told = "tokens: no call begins above 1,000 in and out (max_tokens); agent programs tell theirs after each call\n";
    assert!(planned("p.yaml").contains(told) && planned("p.yaml").contains("may take 10 minutes"), "{}", planned("p.yaml"));
    assert!(planned("q.yaml").contains("tokens: not known before: agent programs tell theirs after each call\n"));
}

/// What the policies said to what a program wanted: the target, the result and the rule.
fn decided(project: &Path) -> Vec<(String, String, String)> {
    let audit = flow(project, &["audit", "export", "--format", "jsonl"]).out;
    let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let all = records.filter(|record| record["action"] == "policy_decision");
    let all = all.map(|record| (text(&record, "target"), text(&record, "result"), text(&record, "policy_applied")));
    all.filter(|(target, ..)| target != "read **").collect()
}

#[test]
fn files_and_hosts_of_a_policy_decide_about_what_it_asks_for_without_a_sandbox_too() {
    if python_in().is_empty() {
        return;
    }
    let policy = "policies: { p: { sandbox: none, file_access: { read: ['**'], write: ['out/**'] }, network_access: { hosts: [docs.example.com] }, allowed_tools: [read, edit, fetch] } }\npolicy: p\n";
    let prompt = "READ: notes.txt\nREAD: /etc/passwd\nREAD: link\nREAD: .env\nEDIT: out/a\nEDIT: p.yaml\nFETCH: https://docs.example.com/x\nFETCH: https://evil.example:8443/x\nDone.";
    let place = project(&[("p.yaml", &talking("obey", policy, prompt)), ("out/x", "")]);
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/acp_agent.py");
    std::fs::copy(agent, place.path().join("acp_agent.py")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", place.path().join("link")).unwrap();
    let ran = ran(command(place.path(), &["run", "p.yaml", "--trust"]).env("HOME", place.path()));
    let said = "I read Done. (call 1). read yes. read no. read no. read no. edit yes. edit no. fetch yes. fetch no.";
    assert_eq!(ran.out.trim(), said, "{}", ran.err);
    let decided = decided(place.path());
    let blocked: Vec<&str> = decided.iter().filter(|(_, result, _)| result == "blocked").map(|(target, ..)| target.as_str()).collect();
    assert_eq!(blocked, ["read /etc/passwd", "read /etc/hostname", "read .env", "write p.yaml", "host evil.example:8443"]);
    let done: Vec<&str> = decided.iter().filter(|(_, result, _)| result == "success").map(|(target, ..)| target.as_str()).collect();
    assert_eq!(done, ["tool read notes.txt", "read notes.txt", "tool edit out/a", "write out/a", "tool fetch", "host docs.example.com"]);
}

#[test]
fn a_person_at_a_terminal_is_asked_in_the_middle_of_a_prompt() {
    if !has_python_in("landlock") {
        return;
    }
    for (mode, allowed) in
        [("deny", "allowed_tools: [execute], approval_required: ['execute(git push*)']"), ("prompt", "allowed_tools: []")]
    {
        let policy = format!("policies: {{ p: {{ permission_mode: {mode}, file_access: {{ read: ['**'] }}, {allowed} }} }}\npolicy: p\n");
        let place = project(&[("p.yaml", &talking("obey", &policy, "RUN: git push\nRUN: git push --force\nDone.").replace("3s", "60s"))]);
        let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/acp_agent.py");
        std::fs::copy(agent, place.path().join("acp_agent.py")).unwrap();
        let variables = [("FLOW_SANDBOX", "landlock")];
        let (exit, out, shown) = crate::terminal::at(place.path(), &["run", "p.yaml", "--trust"], "yes\nno, never\n", &variables);
        assert_eq!((exit, out.trim()), (0, "I read Done. (call 1). run yes. run no."), "{mode}: {shown}");
        let asked = "the program of \"ask\" wants to use execute with {\"command\":\"git push\"} (policy p: ";
        assert!(shown.contains(asked), "{shown}");
        let told = flow(place.path(), &["audit", "export", "--format", "jsonl"]).out;
        let by_a_person: Vec<Value> = told
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|one: &Value| one["security_context"]["decided_by"] == "person")
            .collect();
        let results: Vec<(&str, &str)> =
            by_a_person.iter().map(|one| (one["target"].as_str().unwrap(), one["result"].as_str().unwrap())).collect();
        assert_eq!(results, [("tool execute git", "success"), ("tool execute git", "blocked")], "{told}");
    }
}

#[test]
fn a_question_of_a_program_that_does_not_wait_for_the_answer_is_taken_back() {
    if !has_python_in("landlock") {
        return;
    }
    let policy = "policies: { p: { permission_mode: prompt, file_access: { read: ['**'] }, allowed_tools: [] } }\npolicy: p\n";
    for (kind, exit, tells) in [("asks_and_ends", 0, "I read Done. (call 1). run not waited for."), ("asks_and_dies", 6, "exit code 7")] {
        let place = project(&[("p.yaml", &talking(kind, policy, "RUN: git push\nDone.").replace("3s", "600s"))]);
        let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/acp_agent.py");
        std::fs::copy(agent, place.path().join("acp_agent.py")).unwrap();
        // Nothing is typed: it would be waited for as long as the call may take.
        let (ended, out, shown) = crate::terminal::at(place.path(), &["run", "p.yaml", "--trust"], "", &[("FLOW_SANDBOX", "landlock")]);
        assert!(ended == exit && (out + &shown).contains(tells), "{kind}: {ended}: {shown}");
    }
}

#[test]
fn what_was_rejected_is_in_the_audit_though_the_program_fails() {
    if !has_python_in("landlock") {
        return;
    }
    let policy = "policies: { p: { file_access: { read: ['**'] }, allowed_tools: [read] } }\npolicy: p\n";
    let (place, ran) = talked(&talking("obey_and_crash", policy, "RUN: rm -rf x"), "landlock");
    assert!(ran.exit != 0 && ran.err.contains("was ended by signal 11"), "{}", ran.err);
    assert_eq!(decided(place.path())[0].0, "tool execute rm");
}

#[test]
fn only_its_own_session_counts_and_of_options_with_one_id_the_safe_one_is_taken() {
    if !has_python_in("landlock") {
        return;
    }
    let (_, strangers) = talked(&talking("strangers", "", "x"), "landlock");
    assert_eq!(strangers.out.trim(), "Mine: None", "{}", strangers.err);
    let (place, twins) = talked(&talking("twins", "", "RUN: ls\nDone."), "landlock");
    assert_eq!(twins.out.trim(), "I read Done. (call 1). run no.", "{}", twins.err);
    assert!(decided(place.path())[0].2.ends_with("but the program offers no yes for this once"), "{:?}", decided(place.path()));
    let (place, dear) = talked(&talking("dear", "", "x"), "landlock");
    let shown = flow(place.path(), &["runs", "show"]).out;
    assert!(dear.exit == 0 && shown.contains("8 in, 4 out") && !shown.contains("USD"), "{shown}");
}

#[test]
fn a_call_without_a_cost_counts_as_the_most_it_may_cost() {
    if !has_python_in("landlock") {
        return;
    }
    let place = project(&[("p.yaml", &one("", "    max_cost_usd: 0.002\n"))]);
    let dear = asked(place.path(), "landlock");
    assert!(dear.exit == 0 && dear.err.contains("the call cost 0.0100 USD, and max_cost_usd is 0.002"), "{}", dear.err);
    let free = one("", "    max_cost_usd: 0.02\n").replace("cost_usd: cost, ", "");
    let steps = "  - { id: ask, agent: helper, prompt: What is there? }\n";
    let many: String = (0..5).map(|at| format!("  - {{ id: ask{at}, agent: helper, prompt: What is there? }}\n")).collect();
    let pipeline = free.replace("steps:\n", "limits: { max_cost_usd: 0.05 }\nsteps:\n").replace(steps, &format!("{many}{steps}"));
    let place = project(&[("p.yaml", &pipeline)]);
    let ran = asked(place.path(), "landlock");
    assert!(ran.exit != 0 && ran.err.contains("max_cost_usd is 0.05; 0.0400 are spent"), "{}", ran.err);
    let failing = pipeline.replace("agent.py]", "agent.py, --do, error]").replace("max_attempts: 2", "max_attempts: 5");
    let place = project(&[("p.yaml", &failing)]);
    let ran = asked(place.path(), "landlock");
    assert!(ran.err.contains("max_cost_usd is 0.05; 0.0400 are spent"), "failed calls count, too: {}", ran.err);
}

#[test]
fn a_folder_behind_a_link_is_not_written() {
    if !has_python_in("landlock") {
        return;
    }
    let pipeline =
        one(", --do, look", "    folder: work\n    reads: agents\n    writes: work/link\n").replace("agent.py", "../agents/agent.py");
    let place = project(&[("p.yaml", &pipeline), ("private/x", ""), ("agents/x", ""), ("work/x", "")]);
    std::fs::rename(place.path().join("agent.py"), place.path().join("agents/agent.py")).unwrap();
    std::os::unix::fs::symlink("../private", place.path().join("work/link")).unwrap();
    let ran = asked(place.path(), "landlock");
    assert!(ran.exit != 0 && ran.err.contains("is a link, or lies behind one"), "{}", ran.err);
}
