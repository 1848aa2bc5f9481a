//! Conversations, through the program: what is kept, sent to models, shown and erased, and who waits for whom.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::endpoint::served;
use crate::program::{Ran, command, flow, ran, until};
use crate::terminal::at_question;

/// Answers with what it knows of the conversation.
const TALK: &str = "flow: 1
name: talk
description: Talks.
inputs: { who: text, message: text, nap: { type: text, default: 1ms } }
conversation: { id: \"{{ inputs.who }}\", message: inputs.message, keep: 4 }
models: { default: { provider: scripted, replies: replies.yaml } }
agents: { talker: { instructions: Be brief. } }
steps:
  - { id: nap, wait: \"{{ inputs.nap }}\" }
  - { id: say, agent: talker, prompt: \"{{ inputs.message }}\", history: true }
outputs: { reply: \"{{ steps.say.output }}\" }
";

const REPLIES: &str = "flow: 1\nreplies: { say: \"{{ inputs.message }} after {{ conversation.messages | length }}\" }\n";

fn place(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("p.yaml", pipeline), ("replies.yaml", REPLIES)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn said(folder: &Path, who: &str, message: &str) -> Ran {
    let ran = flow(folder, &["run", "p.yaml", "--quiet", "--input", &format!("who={who}"), "--input", &format!("message={message}")]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran
}

/// A run whose process is in its nap, or waits for its turn: standard error says which.
fn begun(folder: &Path, who: &str, message: &str, nap: &str) -> Child {
    let (who, message, nap) = (format!("who={who}"), format!("message={message}"), format!("nap={nap}"));
    let arguments = ["run", "p.yaml", "--events", "-", "--input", &who, "--input", &message, "--input", &nap];
    command(folder, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn hears(from: impl Read, what: &str) {
    let found = BufReader::new(from).lines().map_while(Result::ok).any(|line| line.contains(what));
    assert!(found, "{what} was not said");
}

fn export(folder: &Path, who: &str) -> Vec<Value> {
    let ran = flow(folder, &["conversations", "export", who]);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["text"].as_str().unwrap()).collect()
}

#[test]
fn runs_with_one_id_know_what_was_said_before_and_tell_what_was_left_out() {
    let folder = place(TALK);
    assert_eq!(said(folder.path(), "maria", "one").out, "one after 0\n");
    assert_eq!(said(folder.path(), "jonas", "hello").out, "hello after 0\n");
    assert_eq!(said(folder.path(), "maria", "two").out, "two after 2\n");
    assert_eq!(said(folder.path(), "maria", "three").out, "three after 4\n");
    assert_eq!(said(folder.path(), "maria", "four").out, "four after 4\n");
    let shown = flow(folder.path(), &["runs", "show"]).out;
    assert!(shown.contains("history:  4 earlier messages of maria, 2 older left out"), "{shown}");
    let all = export(folder.path(), "maria");
    assert_eq!(texts(&all), ["one", "one after 0", "two", "two after 2", "three", "three after 4", "four", "four after 4"]);
    assert_eq!((&all[0]["role"], &all[1]["role"]), (&json!("user"), &json!("assistant")));
    let listed: Value = serde_json::from_str(&flow(folder.path(), &["conversations", "list", "--json"]).out).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["messages"], &listed[1]["id"]), (&json!("maria"), &json!(8), &json!("jonas")));
    let shown = flow(folder.path(), &["conversations", "show", "jonas"]).out;
    assert!(shown.contains("user\n  hello\n") && shown.contains("assistant\n  hello after 0\n"), "{shown}");
}

#[test]
fn tokens_of_a_conversation_are_bounded() {
    let folder = place(&TALK.replace("keep: 4", "max_tokens: 60"));
    said(folder.path(), "maria", "one");
    said(folder.path(), "maria", "two");
    // Two messages of 19 and 27 tokens at most are within the bound, four are not.
    assert_eq!(said(folder.path(), "maria", "three").out, "three after 2\n");
}

/// An endpoint that keeps what it is sent, and answers "Fine." in the form of its address.
pub(crate) fn endpoint() -> (String, Arc<Mutex<Vec<Value>>>) {
    endpoint_that(|_| "Fine.".to_owned())
}

/// An endpoint that keeps what it is sent, and answers a text that follows from it in the form of its address.
pub(crate) fn endpoint_that(says: impl Fn(&Value) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<Value>>>) {
    let heard = Arc::<Mutex<Vec<Value>>>::default();
    let kept = heard.clone();
    let address = served(move |head, request| {
        let text = says(request);
        kept.lock().unwrap().push(request.clone());
        let path = head.lines().next().unwrap_or_default();
        if path.contains("/messages") {
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn" })
        } else if path.contains("/responses") {
            let output = json!([{ "type": "message", "content": [{ "type": "output_text", "text": text }] }]);
            json!({ "object": "response", "status": "completed", "output": output })
        } else {
            json!({ "choices": [{ "message": { "content": text }, "finish_reason": "stop" }] })
        }
    });
    (format!("http://{address}/v1"), heard)
}

#[test]
fn an_agent_with_history_is_sent_the_messages_before_its_prompt_in_each_format() {
    let pipeline = TALK.replace("models: { default: { provider: scripted, replies: replies.yaml } }\n", "");
    for (variables, texts_of) in [
        (vec![], (|body| messages(body, "messages")) as fn(&Value) -> Vec<(String, String)>),
        (vec![("FLOW_MODEL_API", "responses")], |body| messages(body, "input")),
        (vec![("FLOW_MODEL_PROVIDER", "anthropic")], |body| messages(body, "messages")),
    ] {
        let folder = place(&pipeline);
        let (url, heard) = endpoint();
        for message in ["Check my timesheet", "And yesterday?"] {
            let mut command = command(folder.path(), &["run", "p.yaml", "--input", "who=maria", "--input", &format!("message={message}")]);
            command
                .env("FLOW_MODEL", "m")
                .env("FLOW_MODEL_BASE_URL", &url)
                .env("FLOW_API_KEY", "sk-canary-12345678")
                .envs(variables.clone());
            let ran = ran(&mut command);
            assert_eq!((ran.exit, ran.out.as_str()), (0, "Fine.\n"), "{variables:?}: {}", ran.err);
        }
        let heard = heard.lock().unwrap();
        let sent: Vec<(String, String)> = texts_of(&heard[1]).into_iter().filter(|(role, _)| role != "system").collect();
        let sent: Vec<(&str, &str)> = sent.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
        assert_eq!(sent, [("user", "Check my timesheet"), ("assistant", "Fine."), ("user", "And yesterday?")], "{variables:?}");
    }
}

pub(crate) fn messages(body: &Value, key: &str) -> Vec<(String, String)> {
    let text = |content: &Value| content.as_str().or_else(|| content[0]["text"].as_str()).unwrap().to_owned();
    body[key].as_array().unwrap().iter().map(|one| (one["role"].as_str().unwrap().to_owned(), text(&one["content"]))).collect()
}

#[test]
fn a_replay_knows_what_the_recorded_run_knew() {
    let folder = place(&TALK.replace("models: { default: { provider: scripted, replies: replies.yaml } }\n", ""));
    let (url, _) = endpoint();
    let run = |message: &str, more: &[&str]| {
        let message = format!("message={message}");
        let mut command = command(folder.path(), &[&["run", "p.yaml", "--input", "who=maria", "--input", &message], more].concat());
        ran(command.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", &url).env("FLOW_API_KEY", "sk-canary-12345678"))
    };
    assert_eq!(run("Check my timesheet", &[]).exit, 0);
    assert_eq!(run("And yesterday?", &["--record", "tape"]).exit, 0);
    let replayed = run("And yesterday?", &["--replay", "tape"]);
    assert_eq!((replayed.exit, replayed.out.as_str()), (0, "Fine.\n"), "{}", replayed.err);
    assert_eq!(export(folder.path(), "maria").len(), 4);
}

#[test]
fn a_message_waits_for_the_one_before_it_until_that_has_ended_or_its_process_has() {
    let folder = place(TALK);
    let mut first = begun(folder.path(), "maria", "first", "60s");
    hears(first.stdout.take().unwrap(), "step_paused");
    // Somebody else does not wait.
    assert_eq!(said(folder.path(), "jonas", "hello").out, "hello after 0\n");
    // One that is interrupted while it waits leaves nothing behind.
    let mut second = begun(folder.path(), "maria", "second", "1ms");
    hears(second.stderr.take().unwrap(), "; waiting for it");
    kill(Pid::from_raw(second.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(130));
    let mut third = begun(folder.path(), "maria", "third", "1ms");
    hears(third.stderr.take().unwrap(), &format!("is running in process {}; waiting for it", first.id()));
    let refused = flow(folder.path(), &["conversations", "erase", "maria"]);
    assert!(refused.exit == 2 && refused.err.contains("of this conversation is running"), "{}", refused.err);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(third.wait().unwrap().code(), Some(0));
    assert_eq!(texts(&export(folder.path(), "maria")), ["third", "third after 0"]);
    let locks = std::fs::read_dir(folder.path().join(".flow"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().to_string_lossy().contains("turn"));
    // Not even that of the killed process.
    assert_eq!(locks.count(), 0);
}

#[test]
fn a_run_that_continues_knows_what_it_knew_at_first() {
    let folder = place(TALK);
    said(folder.path(), "maria", "one");
    let mut killed = begun(folder.path(), "maria", "two", "1s");
    hears(killed.stdout.take().unwrap(), "step_paused");
    killed.kill().unwrap();
    killed.wait().unwrap();
    said(folder.path(), "maria", "three");
    let runs: Value = serde_json::from_str(&flow(folder.path(), &["runs", "list", "--status", "killed", "--json"]).out).unwrap();
    let resumed = flow(folder.path(), &["runs", "resume", runs[0]["run"].as_str().unwrap()]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (0, "two after 2\n"), "{}", resumed.err);
    assert_eq!(texts(&export(folder.path(), "maria")), ["one", "one after 0", "three", "three after 2", "two", "two after 2"]);
}

/// Everything in the project's folder that holds part of what was said: texts, and the blobs that they are kept in.
fn traces(folder: &Path, canary: &str, blobs: &[Vec<u8>]) -> Vec<String> {
    let mut found = vec![];
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let bytes = std::fs::read(&entry).unwrap_or_default();
            let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
            if holds(canary.as_bytes()) || blobs.iter().any(|blob| holds(blob)) {
                found.push(entry.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn blobs(file: &Path, query: &str) -> Vec<Vec<u8>> {
    let store = rusqlite::Connection::open(file).unwrap();
    let mut query = store.prepare(query).unwrap();
    let blobs: Vec<Vec<u8>> = query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    // Large ones are spread over pages.
    blobs.into_iter().map(|blob| blob[..blob.len().min(64)].to_vec()).collect()
}

#[test]
fn an_erased_conversation_is_in_no_file_any_more_also_after_a_crash_in_the_middle() {
    for patience in [None, Some(0), Some(3), Some(6), Some(10), Some(20), Some(40)] {
        let folder = place(TALK);
        said(folder.path(), "jonas", "stays");
        let state = folder.path().join(".flow");
        let others: Vec<String> = blobs(&state.join("runs.db"), "select body from blocks").iter().map(hex::encode).collect();
        for message in ["the canary sings", "at noon", "and at night"] {
            said(folder.path(), "canary-7788", message);
        }
        let mut own = blobs(&state.join("runs.db"), "select body from blocks");
        own.retain(|blob| !others.contains(&hex::encode(blob)));
        own.extend(blobs(
            &state.join("conversations.db"),
            "select body from messages where run in (select run from runs where conversation > 1)",
        ));
        assert!(own.len() >= 9, "{}", own.len());
        assert_eq!(traces(&state, "canary-7788", &own), ["conversations.db", "runs.db"]);
        if let Some(ms) = patience {
            let mut child = command(folder.path(), &["conversations", "erase", "canary-7788"]).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(ms));
            let _ = child.kill();
            child.wait().unwrap();
        }
        let erased = flow(folder.path(), &["conversations", "erase", "canary-7788"]);
        assert!(erased.exit == 0 || patience.is_some() && erased.err.contains("not found"), "{patience:?}: {}", erased.err);
        assert_eq!(traces(folder.path(), "canary-7788", &own), [""; 0], "{patience:?}");
        assert_eq!(texts(&export(folder.path(), "jonas")), ["stays", "stays after 0"]);
        assert_eq!(flow(folder.path(), &["conversations", "export", "canary-7788"]).exit, 2);
        assert_eq!(said(folder.path(), "canary-7788", "anew").out, "anew after 0\n");
    }
}

/// Asks a person before it ends.
fn asking() -> String {
    TALK.replace("agents:", "tools: { notes: { file: ., allow: [write], approve: true } }\nagents:")
        .replace("outputs:", "  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }\noutputs:")
}

#[test]
fn a_question_at_a_terminal_keeps_nobody_waiting() {
    let folder = place(&asking());
    let run = ["run", "p.yaml", "--input", "who=maria", "--input", "message=one"];
    let (exit, shown) = at_question(folder.path(), &run, "note.txt", |_, keyboard| {
        let mut other = begun(folder.path(), "maria", "two", "1ms");
        until("the other message is no longer kept waiting", || other.try_wait().unwrap().is_some());
        assert_eq!(other.wait().unwrap().code(), Some(8));
        keyboard.write_all(b"yes\n").unwrap();
    });
    assert_eq!(exit, Some(0), "{shown}");
    assert_eq!(texts(&export(folder.path(), "maria")), ["one", "one after 0"]);
}

#[test]
fn a_conversation_with_a_run_that_waits_for_a_person_is_not_erased() {
    let folder = place(&asking());
    let ran = flow(folder.path(), &["run", "p.yaml", "--input", "who=maria", "--input", "message=hi"]);
    assert_eq!(ran.exit, 8, "{}", ran.err);
    let refused = flow(folder.path(), &["conversations", "erase", "maria"]);
    assert!(refused.exit == 2 && refused.err.contains("waits for a person"), "{}", refused.err);
}

#[test]
fn what_is_shown_is_masked_and_safe_for_terminals_and_the_next_run_knows_it_as_it_was() {
    let folder = place(&TALK.replace("who: text", "who: { type: text, pii: true }"));
    let canary = "Zsofia Canary-Quux77";
    said(folder.path(), canary, "I am Zsofia Canary-Quux77 \u{1b}[2J");
    for call in ["show", "export"] {
        let shown = flow(folder.path(), &["conversations", call, canary]).out;
        assert!(!shown.contains("Quux77") && shown.contains("<PERSON_1>") && !shown.contains('\u{1b}'), "{shown}");
    }
    let events =
        flow(folder.path(), &["run", "p.yaml", "--events", "-", "--input", &format!("who={canary}"), "--input", "message=again"]).out;
    assert!(events.contains("\"conversation\":{\"earlier\":2,\"left_out\":0}") && !events.contains("Quux77"), "{events}");
    let shown = flow(folder.path(), &["runs", "export"]).out;
    assert!(!shown.contains("Quux77"), "{shown}");
    std::fs::write(folder.path().join("replies.yaml"), "flow: 1\nreplies: { say: \"{{ conversation.text }}\" }\n").unwrap();
    assert!(said(folder.path(), canary, "third").out.contains("I am Zsofia Canary-Quux77"));
}

#[test]
fn a_run_whose_process_ended_before_its_messages_were_kept_is_caught_up_with() {
    let folder = place(TALK);
    said(folder.path(), "maria", "one");
    // As a crash between the last event and the keeping leaves it.
    let store = rusqlite::Connection::open(folder.path().join(".flow/conversations.db")).unwrap();
    store.execute_batch("delete from messages; update runs set state = 0; update conversations set messages = 0").unwrap();
    drop(store);
    assert_eq!(said(folder.path(), "maria", "two").out, "two after 2\n");
}

#[test]
fn a_store_of_its_own_is_used_by_runs_and_commands_and_no_step_reads_it() {
    let folder = place(
        &TALK.replace("keep: 4", "store: talks.db").replace("outputs:", "  - { id: peep, read: talks.db, on_failure: continue }\noutputs:"),
    );
    assert_eq!(said(folder.path(), "maria", "one").out, "one after 0\n");
    let second = flow(folder.path(), &["run", "p.yaml", "--json", "--input", "who=maria", "--input", "message=two"]);
    let second: Value = serde_json::from_str(&second.out).unwrap();
    assert_eq!((&second["outputs"]["reply"], &second["steps"]["peep"]["status"]), (&json!("two after 2"), &json!("failed")));
    assert_eq!(flow(folder.path(), &["conversations", "list"]).exit, 4);
    let listed = flow(folder.path(), &["conversations", "list", "--store", "talks.db"]).out;
    assert!(listed.starts_with("maria  4 messages"), "{listed}");
    until("no lock is left", || {
        !std::fs::read_dir(folder.path()).unwrap().any(|entry| entry.unwrap().path().to_string_lossy().ends_with(".lock"))
    });
}

#[test]
fn an_id_that_is_empty_is_rejected_before_anything_runs() {
    let folder = place(TALK);
    let ran = flow(folder.path(), &["run", "p.yaml", "--input", "who= ", "--input", "message=hi"]);
    assert!(ran.exit == 2 && ran.err.contains("conversation.id is empty"), "{}", ran.err);
}

#[test]
fn records_of_its_runs_that_are_not_here_are_told_until_they_are_found_or_said_to_be_removed() {
    let folder = place(&TALK.replace("keep: 4", "store: talks.db"));
    let elsewhere = tempfile::tempdir().unwrap();
    let erase = |variables: &[(&str, &Path)], more: &[&str]| {
        let arguments = [&["conversations", "erase", "maria", "--store", "talks.db"], more].concat();
        ran(command(folder.path(), &arguments).envs(variables.iter().copied()))
    };
    let of_other = [("FLOW_STATE_DIR", elsewhere.path())];
    let other = ["run", "p.yaml", "--quiet", "--json", "--input", "who=maria", "--input", "message=two"];
    let say_both = || {
        said(folder.path(), "maria", "one");
        let other = ran(command(folder.path(), &other).envs(of_other));
        assert_eq!(other.exit, 0, "{}", other.err);
        serde_json::from_str::<Value>(&other.out).unwrap()["run_id"].as_str().unwrap().to_owned()
    };
    let run = say_both();
    for _ in 0..2 {
        let erased = erase(&[], &[]);
        assert!(erased.exit == 6 && erased.err.contains(&run), "{} {}", erased.exit, erased.err);
        assert_eq!(flow(folder.path(), &["conversations", "export", "maria", "--store", "talks.db"]).out, "");
        assert_eq!(flow(folder.path(), &["runs", "list", "--json"]).out.trim(), "[]");
    }
    let erased = erase(&of_other, &[]);
    assert_eq!(erased.exit, 0, "{}", erased.err);
    assert_eq!(erase(&[], &[]).exit, 2);
    say_both();
    assert_eq!(erase(&[], &[]).exit, 6);
    let erased = erase(&[], &["--forget-missing"]);
    assert_eq!(erased.exit, 0, "{}", erased.err);
    assert_eq!(erase(&[], &[]).exit, 2);
}

#[test]
fn a_message_that_was_not_answered_is_kept_and_no_later_run_sees_it() {
    let folder = place(TALK);
    said(folder.path(), "maria", "one");
    let failed = flow(folder.path(), &["run", "p.yaml", "--input", "who=maria", "--input", "message=two", "--input", "nap=soon"]);
    assert_eq!(failed.exit, 6, "{}", failed.err);
    let third = flow(folder.path(), &["run", "p.yaml", "--json", "--input", "who=maria", "--input", "message=three"]);
    assert!(third.out.contains("three after 2"), "{}", third.out);
    let shown = flow(folder.path(), &["runs", "show"]).out;
    assert!(shown.contains("history:  2 earlier messages of maria\n"), "{shown}");
    let all = export(folder.path(), "maria");
    assert_eq!(texts(&all), ["one", "one after 0", "two", "three", "three after 2"]);
    let marked: Vec<bool> = all.iter().map(|message| message["unanswered"] == json!(true)).collect();
    assert_eq!(marked, [false, false, true, false, false]);
    let shown = flow(folder.path(), &["conversations", "show", "maria"]).out;
    assert_eq!(shown.matches("user, not answered\n  two\n").count(), 1, "{shown}");
    let listed = flow(folder.path(), &["conversations", "list"]).out;
    assert!(listed.starts_with("maria  5 messages"), "{listed}");
}

#[test]
fn a_store_that_goes_while_a_run_lasts_and_an_empty_one_are_told() {
    let folder = place(TALK);
    let store = folder.path().join(".flow/conversations.db");
    said(folder.path(), "maria", "one");
    let mut run = begun(folder.path(), "maria", "two", "1s");
    hears(run.stdout.take().unwrap(), "step_paused");
    std::fs::remove_file(&store).unwrap();
    let ended = run.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.code() == Some(6) && err.contains("the conversation store") && err.contains("was removed"), "{err}");
    std::fs::write(&store, "").unwrap();
    for call in [&["list"][..], &["show", "maria"], &["export", "maria"], &["erase", "maria"]] {
        let ran = flow(folder.path(), &[&["conversations"], call].concat());
        assert!(ran.exit == 6 && ran.err.contains("is empty"), "{call:?}: {} {}", ran.exit, ran.err);
    }
    let sick = flow(folder.path(), &["doctor"]);
    assert!(sick.exit == 1 && sick.out.contains("conversations: the conversation store") && sick.out.contains("is empty"), "{}", sick.out);
    assert_eq!(said(folder.path(), "maria", "three").out, "three after 0\n");
    assert!(flow(folder.path(), &["doctor"]).out.contains("conversations: 1, in "));
    std::fs::write(&store, vec![b'x'; 8192]).unwrap();
    let sick = flow(folder.path(), &["doctor"]);
    assert!(sick.exit == 1 && sick.out.contains("it is not a file of conversations"), "{}", sick.out);
}

#[test]
fn a_file_that_is_no_store_of_conversations_is_never_taken() {
    let folder = place(&TALK.replace("keep: 4", "store: talks.db"));
    let store = folder.path().join("talks.db");
    for text in ["", "hello", "- a note\n"] {
        std::fs::write(&store, text).unwrap();
        for call in
            [&["run", "p.yaml", "--input", "who=maria", "--input", "message=hi"][..], &["conversations", "list", "--store", "talks.db"]]
        {
            let ran = flow(folder.path(), call);
            assert_eq!(ran.exit, 6, "{text:?} {call:?}: {}", ran.err);
            assert!(ran.err.contains("conversation store") && !ran.err.contains("journal") && !ran.err.contains("move it"), "{}", ran.err);
            assert_eq!(std::fs::read_to_string(&store).unwrap(), text);
        }
    }
    let checked = |store: &str| {
        std::fs::write(folder.path().join("p.yaml"), TALK.replace("keep: 4", &format!("store: {store}"))).unwrap();
        flow(folder.path(), &["validate", "p.yaml"])
    };
    for file in ["flow.toml", "p.yaml", "notes.md", "talks"] {
        let found = checked(file);
        assert!(found.exit == 1 && (found.out.clone() + &found.err).contains("F007"), "{file}: {} {}", found.exit, found.out + &found.err);
    }
    assert_eq!(checked("talks.db").exit, 0);
}
