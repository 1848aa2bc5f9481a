//! Conversations that cannot be read, stored or told: other keys, full disks, bytes that are no text.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, clean, command, flow, ran};
use crate::terminal::at_window_question;

const TALK: &str = "flow: 1
name: talk
description: Talks.
inputs: { message: text }
conversation: { id: maria, message: inputs.message }
steps:
  - { id: say, set: \"You said {{ inputs.message }}.\" }
outputs: { reply: \"{{ steps.say.output }}\" }
";

fn place(settings: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", settings), ("p.yaml", TALK)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn what_is_encrypted_with_another_key_is_reported_and_not_counted_as_erased() {
    let folder = place("[journal]\nencrypt = true\n");
    let keys = ["q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=", "AAAAEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="];
    let with = |key: &str, words: &[&str]| -> Ran { ran(command(folder.path(), words).env("FLOW_JOURNAL_KEY", key)) };
    assert_eq!(with(keys[0], &["run", "p.yaml", "-q", "--input", "message=I live at Secret Street"]).exit, 0);
    let other = "1 conversation is encrypted with another key";
    let unknown = with(keys[1], &["conversations", "show", "maria"]);
    assert!(unknown.exit == 2 && unknown.err.contains(other), "{}", unknown.err);
    assert_eq!(with(keys[1], &["run", "p.yaml", "-q", "--input", "message=two"]).exit, 0);
    let erased = with(keys[1], &["conversations", "erase", "maria"]);
    assert!(erased.exit == 6 && erased.err.contains(other) && erased.err.contains("FLOW_JOURNAL_KEY"), "{}", erased.err);
    let erased = with(keys[0], &["conversations", "erase", "maria"]);
    assert!(erased.exit == 0 && erased.err.contains("erased, with 1 run"), "{}", erased.err);
}

#[test]
fn a_message_that_cannot_be_stored_waits_for_nobody() {
    let folder = place("");
    let program = command(folder.path(), &[]).get_program().to_owned();
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q", "--input", "message=one"]).exit, 0);
    let size = std::fs::metadata(folder.path().join(".flow/runs.db")).unwrap().len().div_ceil(1024);
    // The shell counts in units of 512 or 1,024 bytes.
    let mut before = 1;
    for blocks in [size + 8, size + 24, size + 40] {
        let mut shell = Command::new("/bin/sh");
        let line = format!("ulimit -f {blocks}; exec \"$0\" chat p.yaml --no-tty --json -q");
        shell.current_dir(folder.path()).args(["-c", &line]).arg(&program);
        clean(&mut shell);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(format!("{}/usage\n/save\n", "m\n".repeat(60)).as_bytes());
        let output = child.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(6), "{blocks} {out}");
        assert!(!out.contains("\"waiting\""), "{blocks} {out}");
        let err = String::from_utf8(output.stderr).unwrap();
        let told = |what: &str| err.matches(what).count();
        let lost = out.lines().filter(|line| line.contains("\"status\":\"failed\"")).count();
        assert_eq!(told("the message is not kept, and has no answer"), lost, "{blocks} {out}{err}");
        // Each message was answered, or lost, or not sent; what the last lines say of the answers is what became of them.
        let answered = out.lines().filter(|line| line.contains("You said m.")).count();
        assert_eq!(answered + lost + told("the message was not sent"), 60, "{blocks} {out}{err}");
        let unkept = told("the answer above is not kept") + told("the answer above is in the record of its run");
        let saved = err.lines().last().unwrap();
        assert_eq!(unkept > 0, saved.starts_with("what could be kept is, in the conversation"), "{blocks} {out}{err}");
        let kept = flow(folder.path(), &["conversations", "export", "maria"]).out;
        let never = told("the answer above is not kept");
        assert_eq!(kept.lines().count(), 2 * (answered + before - never), "{blocks} {kept} {out}{err}");
        before += answered - never;
    }
}

#[test]
fn a_byte_that_is_no_text_does_not_end_a_chat() {
    let folder = place("");
    let (exit, shown) = at_window_question(folder.path(), &["chat", "p.yaml"], "> ", |_, keyboard| {
        let pause = || std::thread::sleep(std::time::Duration::from_millis(400));
        pause();
        keyboard.write_all(b"caf\xe9 au lait\r").unwrap();
        pause();
        keyboard.write_all("café\r".as_bytes()).unwrap();
        pause();
        let _ = keyboard.write_all(b"exit\r");
    });
    assert_eq!(exit, Some(0), "{shown}");
    let said = flow(folder.path(), &["conversations", "show", "maria"]).out;
    assert!(said.contains("You said café.") && !said.contains("lait"), "{said}");
}

#[test]
fn an_empty_message_that_was_stored_can_be_exported_and_added() {
    let folder = place("");
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q", "--input", "message="]).exit, 0);
    let exported = flow(folder.path(), &["conversations", "export", "maria"]).out;
    std::fs::write(folder.path().join("e.jsonl"), exported).unwrap();
    let added = flow(folder.path(), &["conversations", "add", "copy", "e.jsonl"]);
    assert_eq!((added.exit, added.err.as_str()), (0, "added 2 messages\n"));
}

fn events(folder: &Path, message: &str) -> String {
    let ran = flow(folder, &["run", "p.yaml", "-q", "--input", message, "--events", "e.jsonl", "--events-content"]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    std::fs::read_to_string(folder.join("e.jsonl")).unwrap()
}

#[test]
fn what_earlier_runs_know_to_be_personal_is_in_no_log_of_events() {
    let folder = place("");
    let personal = TALK.replace("message: text }", "message: { type: text, pii: true } }");
    std::fs::write(folder.path().join("p.yaml"), personal).unwrap();
    events(folder.path(), "message=Zoltan Qwertyman");
    let later = events(folder.path(), "message=Hello");
    assert!(later.contains("earlier") || later.contains("messages"), "{later}");
    assert!(!later.to_lowercase().contains("qwertyman"), "{later}");
}

#[test]
fn messages_of_one_client_are_answered_in_the_order_in_which_they_came() {
    let folder = place("");
    std::fs::write(folder.path().join("p.yaml"), TALK.replace("steps:\n", "steps:\n  - { id: pause, wait: 20ms }\n")).unwrap();
    let mut client = crate::mcp_server::start(folder.path(), &["p.yaml"]);
    let sent: Vec<String> = (0..24).map(|number| format!("m{number}")).collect();
    for (number, message) in sent.iter().enumerate() {
        client.send(number, "tools/call", json!({ "name": "talk", "arguments": { "message": message } }));
    }
    for _ in &sent {
        assert_eq!(client.next()["result"]["isError"], json!(false));
    }
    assert_eq!(client.end().0, 0);
    let exported = flow(folder.path(), &["conversations", "export", "maria"]).out;
    let messages = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kept: Vec<String> =
        messages.filter(|message| message["role"] == "user").map(|message| message["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kept, sent);
}

/// What was stored of a run whose process was killed between its last event and that.
fn take_back(folder: &Path, run: &str) {
    let store = rusqlite::Connection::open(folder.join(".flow/conversations.db")).unwrap();
    let removed = store.execute("delete from messages where run = ?1", [run]).unwrap();
    assert_eq!(removed, 2);
    store.execute("update conversations set messages = messages - 2", []).unwrap();
    assert_eq!(store.execute("update runs set state = 0 where run = ?1", [run]).unwrap(), 1);
}

#[test]
fn whatever_looks_at_messages_first_stores_those_of_a_run_that_was_killed_before_it_could() {
    let said = |folder: &Path, text: &str| {
        let ran = flow(folder, &["run", "p.yaml", "-q", "--input", &format!("message={text}")]);
        assert_eq!(ran.exit, 0, "{}", ran.err);
        let runs: Value = serde_json::from_str(&flow(folder, &["runs", "list", "--json"]).out).unwrap();
        runs[0]["run"].as_str().unwrap().to_owned()
    };
    let killed = || {
        let folder = place("");
        said(folder.path(), "zero");
        let run = said(folder.path(), "private");
        take_back(folder.path(), &run);
        (folder, run)
    };
    let exported = |folder: &Path| flow(folder, &["conversations", "export", "maria"]).out;
    for words in [&["list"][..], &["show", "maria"], &["export", "maria"]] {
        let (folder, _) = killed();
        let told = flow(folder.path(), &[&["conversations"], words].concat()).out;
        assert!(told.contains("private") || told.contains("4 messages"), "{words:?}: {told}");
    }
    let (folder, _) = killed();
    let cleared = flow(folder.path(), &["conversations", "clear", "maria"]);
    assert!(cleared.exit == 0 && cleared.err.contains("removed 4 messages"), "{}", cleared.err);
    said(folder.path(), "next");
    assert!(!exported(folder.path()).contains("private"), "{}", exported(folder.path()));
    // In the order in which it was said.
    let (folder, _) = killed();
    std::fs::write(folder.path().join("more.jsonl"), "{\"role\":\"user\",\"text\":\"later\"}\n").unwrap();
    assert_eq!(flow(folder.path(), &["conversations", "add", "maria", "more.jsonl"]).exit, 0);
    let told = exported(folder.path());
    assert!(told.find("private").unwrap() < told.find("later").unwrap(), "{told}");
    let (folder, run) = killed();
    assert_eq!(flow(folder.path(), &["runs", "resume", &run]).exit, 0);
    let store = rusqlite::Connection::open(folder.path().join(".flow/conversations.db")).unwrap();
    let stored: i64 = store.query_row("select count(*) from messages where run = ?1", [&run], |row| row.get(0)).unwrap();
    assert_eq!(stored, 2);
    // A run whose record is elsewhere keeps its place for whoever has it.
    let (folder, run) = killed();
    std::fs::rename(folder.path().join(".flow/runs.db"), folder.path().join("runs.db")).unwrap();
    said(folder.path(), "meanwhile");
    std::fs::rename(folder.path().join("runs.db"), folder.path().join(".flow/runs.db")).unwrap();
    assert!(exported(folder.path()).contains("private"), "{run}");
}
