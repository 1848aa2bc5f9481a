//! "Interactive chat" and "Messages of the data analyst": what a chat with an agent, and runs with one conversation, leave.

use std::io::Write;
use std::process::Stdio;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Ran, list, program};
use crate::program::command;

const AGENTS: &str = "flow: 1
models:
  default: { provider: scripted, replies: replies.yaml }
tools:
  notes: { file: notes, description: Notes of the day }
agents:
  helper: { instructions: You help., tools: [notes] }
";

const REPLIES: &str = "flow: 1
replies:
  answer:
    - { calls: [{ tool: notes.read, with: { name: today.txt } }, { tool: notes.read, with: { name: none.txt } }] }
    - { text: Call the printer., usage: { input_tokens: 30, output_tokens: 5 } }
";

/// A router that remembers the conversation, a planner that remembers its plans, and a worker that begins anew each time.
const ANALYST: &str = "flow: 1
name: analyst
description: Answers questions about data, in three steps.
inputs: { who: text, message: text }
conversation: { id: \"{{ inputs.who }}\", message: inputs.message }
models: { default: { provider: scripted, replies: replies.yaml } }
agents:
  router: { instructions: You answer the person. }
  planner: { instructions: You plan the work. }
  worker: { instructions: You do one task. }
steps:
  - { id: plan, agent: planner, prompt: \"Plan this: {{ inputs.message }}\", history: own }
  - { id: work, agent: worker, prompt: \"{{ steps.plan.output }}\" }
  - { id: say, agent: router, prompt: \"{{ inputs.message }}: {{ steps.work.output }}\", history: true }
outputs: { reply: \"{{ steps.say.output }}\" }
";

const ANALYST_REPLIES: &str = "flow: 1\nreplies: { plan: Sum up sales., work: \"Sales are 50,000.\", say: \"$50,000.\" }\n";

static CHAT: LazyLock<Ran> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path();
    std::fs::create_dir(at.join("notes")).expect("a folder can be made");
    for (name, text) in
        [("flow.toml", ""), ("agents.yaml", AGENTS), ("replies.yaml", REPLIES), ("notes/today.txt", "Call \u{1b}[31mthe printer")]
    {
        std::fs::write(at.join(name), text).expect("a file can be written");
    }
    let mut chat = command(at, &["chat", "agents.yaml", "--no-tty", "--json", "-q"]);
    let mut child = chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("flow starts");
    // The newest run is the one whose record is read.
    child.stdin.take().expect("it reads").write_all(b"What else is there today?\nWhat do I have to do?\n").expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    let answers = read(&String::from_utf8_lossy(&output.stdout));
    let session = answers[0]["session"].as_str().unwrap_or_default();
    let (_, exported) = program(at, &["conversations", "export", session]);
    let ran = Ran::of(at, output.status.code().unwrap_or(-1), String::new());
    Ran { messages: read(&exported), answers, ..ran }
});

static ANALYSED: LazyLock<Ran> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is room");
    for (name, text) in [("flow.toml", ""), ("p.yaml", ANALYST), ("replies.yaml", ANALYST_REPLIES)] {
        std::fs::write(folder.path().join(name), text).expect("a file can be written");
    }
    let mut last = (0, String::new());
    for message in ["message=What did we sell?", "message=And last year?"] {
        last = program(folder.path(), &["run", "p.yaml", "-q", "--input", "who=maria", "--input", message]);
    }
    let said = |more: &[&str]| program(folder.path(), &[&["conversations", "export", "maria"], more].concat()).1;
    let messages = read(&(said(&[]) + &said(&["--agent", "planner"])));
    let ran = Ran::of(folder.path(), last.0, last.1);
    Ran { messages, ..ran }
});

fn read(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

pub(super) fn all() -> Vec<&'static Ran> {
    vec![&CHAT]
}

pub(super) fn analyst() -> Vec<&'static Ran> {
    vec![&ANALYSED]
}

#[test]
fn a_session_keeps_both_sides_and_an_answer_has_its_tokens() {
    let ran = &*CHAT;
    assert_eq!((ran.exit, ran.answers.len()), (0, 2), "{:?}", ran.answers);
    let (first, second) = (&ran.answers[0], &ran.answers[1]);
    assert_eq!((&first["session"], &first["status"]), (&second["session"], &json!("succeeded")));
    assert_eq!(first["usage"], json!({ "prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35 }));
    let texts: Vec<&str> = ran.messages.iter().filter_map(|message| message["text"].as_str()).collect();
    assert_eq!(texts, ["What else is there today?", "Call the printer.", "What do I have to do?", "Call the printer."]);
    assert!(ran.messages.iter().all(|message| message["time"].is_string() && message["run"].is_string()), "{:?}", ran.messages);
}

#[test]
fn a_tool_call_of_an_answer_has_its_arguments_its_time_and_how_it_ended() {
    let calls = list(&CHAT.answers[1]["tool_calls"]);
    assert_eq!(calls.len(), 2, "{:?}", CHAT.answers);
    assert_eq!((&calls[0]["name"], &calls[0]["arguments"]["name"]), (&json!("notes.read"), &json!("today.txt")));
    assert_eq!((&calls[0]["status"], &calls[0]["error"]), (&json!("success"), &Value::Null));
    assert!(calls.iter().all(|call| call["duration_ms"].is_u64()), "{calls:?}");
    assert_eq!(calls[1]["status"], "failed");
    assert!(calls[1]["error"].as_str().is_some_and(|error| error.contains("none.txt")), "{calls:?}");
}

#[test]
fn router_planner_and_worker_each_have_their_own_messages() {
    let of = |agent: Value| -> Vec<(&str, &str)> {
        let own = ANALYSED.messages.iter().filter(|message| message["agent"] == agent);
        own.filter_map(|message| Some((message["role"].as_str()?, message["text"].as_str()?))).collect()
    };
    let talk = [("user", "What did we sell?"), ("assistant", "$50,000."), ("user", "And last year?"), ("assistant", "$50,000.")];
    assert_eq!(of(Value::Null), talk);
    assert_eq!(of(json!("planner"))[..2], [("user", "Plan this: What did we sell?"), ("assistant", "Sum up sales.")]);
    assert_eq!(of(json!("planner")).len(), 4);
    // Those of one run, the worker's too, are in its events.
    let asked = |agent: &str| ANALYSED.events_of("model_called").filter(|event| event["agent"] == agent).count();
    assert_eq!((asked("router"), asked("planner"), asked("worker")), (1, 1, 1));
    let worker = ANALYSED.events_of("model_called").find(|event| event["agent"] == "worker").map(|event| &event["messages"]);
    let roles: Vec<&Value> = worker.map(list).unwrap_or_default().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
}

#[test]
fn a_chat_of_no_messages_is_rejected() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("agents.yaml"), AGENTS).expect("a file can be written");
    for most in ["0", "1", "-5", "many", "10001"] {
        let (exit, _) = program(folder.path(), &["chat", "agents.yaml", "--no-tty", "--max-messages", most]);
        assert_eq!(exit, 2, "{most}");
    }
}
