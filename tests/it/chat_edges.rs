//! `flow chat` where something goes wrong on the way: texts that change while they come, lines that are too long, signals.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use nix::sys::termios::LocalFlags;
use serde_json::json;
use tempfile::TempDir;

use crate::chat::{HANG_UP, LeftTerminal, PROMPT, TEAM, TERMINATE, at_terminal_left, chat, place};
use crate::program::{command, flow};
use crate::terminal::without_colours;

/// Answers each request with these pieces, one after the other.
fn endpoint(pieces: &[&str], pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pieces: Vec<String> =
        pieces.iter().map(|piece| json!({ "choices": [{ "index": 0, "delta": { "content": piece } }] }).to_string()).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, pieces) = (stream.unwrap(), pieces.clone());
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 65_536]);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
                for piece in pieces {
                    let _ = write!(stream, "data: {piece}\n\n");
                    std::thread::sleep(pause);
                }
                let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
                let _ = write!(stream, "data: {end}\n\ndata: [DONE]\n\n");
            });
        }
    });
    address
}

fn talks_with(address: SocketAddr) -> TempDir {
    let model = format!("provider: openai, model: m, base_url: \"http://{address}/v1\"");
    place(&TEAM.replace("provider: scripted, replies: replies.yaml", &model))
}

fn at(folder: &Path, steps: &[(&str, &str)]) -> LeftTerminal {
    at_terminal_left(command(folder, &["chat", "team.yaml"]), 100, steps, Duration::from_secs(60))
}

#[test]
fn an_answer_whose_live_text_was_no_part_of_it_is_shown_as_it_is_kept() {
    for (pieces, kept) in [
        (&["Your HTML has a stray tag here:\n\n", "Line 3:\n", "</think>\n", "Fix it."][..], "Fix it."),
        (&["One.\n\n", "Two.\n\n", "Three."], "One.\n\nTwo.\n\nThree."),
        (&["<think>Hm.\n\n", "So.</think>\n\n", "One.\n\n", "Two."], "One.\n\nTwo."),
    ] {
        let folder = talks_with(endpoint(pieces, Duration::from_millis(150)));
        let steps = [("(yes/no)", "yes\r"), (PROMPT, "hello\r"), (PROMPT, "\u{4}")];
        // The line of what runs would repeat the text.
        let left = at_terminal_left(command(folder.path(), &["chat", "team.yaml", "--no-progress"]), 100, &steps, Duration::from_secs(60));
        let shown = without_colours(&left.shown);
        assert_eq!(left.exit, 0, "{shown}");
        assert!(!shown.contains("internal error"), "{shown}");
        for paragraph in kept.split("\n\n") {
            assert_eq!(shown.matches(paragraph).count(), 1, "{paragraph} {shown}");
        }
        assert_eq!(shown.contains("the answer, as it is kept:\n"), pieces[0].starts_with("Your"), "{shown}");
    }
}

#[test]
fn a_line_that_the_terminal_cut_during_an_answer_is_not_sent() {
    for length in [5_000, 4_095, 4_094] {
        let folder = talks_with(endpoint(&["The first words.\n\n", "The last."], Duration::from_millis(700)));
        let long = "x".repeat(length) + "\r";
        let last = if length < 4_095 { "The last" } else { "is too long" };
        let steps = [("(yes/no)", "yes\r"), (PROMPT, "hello\r"), ("first words", &*long), ("The last", ""), (last, ""), (PROMPT, "\u{4}")];
        let left = at(folder.path(), &steps);
        assert_eq!(left.exit, 0, "{}", left.shown);
        let runs = flow(folder.path(), &["runs", "list", "--json"]).out;
        let runs = serde_json::from_str::<serde_json::Value>(&runs).unwrap();
        assert_eq!(
            runs["runs"].as_array().or(runs.as_array()).unwrap().len(),
            if length < 4_095 { 2 } else { 1 },
            "{length} {}",
            left.shown
        );
    }
}

#[test]
fn ctrl_d_during_an_answer_ends_the_chat_behind_what_was_typed_before_it() {
    for (typed, answers, then) in [
        ("\u{4}", 1, &[][..]),
        ("\u{4}\u{4}", 1, &[]),
        ("more\r\u{4}", 2, &[]),
        ("more\rand more\r\u{4}never\r", 3, &[]),
        // Ctrl-D behind words ends nothing: they stay.
        ("mo\u{4}", 2, &[(PROMPT, "re\r"), ("The last", ""), (PROMPT, "\u{4}")]),
        ("mo", 2, &[(PROMPT, "re\r"), ("The last", ""), (PROMPT, "\u{4}")]),
    ] {
        let folder = talks_with(endpoint(&["The first words.\n\n", "The last."], Duration::from_millis(700)));
        let steps = [&[("(yes/no)", "yes\r"), (PROMPT, "hello\r"), ("first words", typed), ("The last", "")][..], then].concat();
        let left = at_terminal_left(command(folder.path(), &["chat", "team.yaml", "--no-progress"]), 100, &steps, Duration::from_secs(40));
        assert_eq!((left.exit, left.shown.matches("The last.").count()), (0, answers), "{typed:?} {}", left.shown);
        assert!(left.shown.contains("continue with flow chat team.yaml --resume "), "{typed:?} {}", left.shown);
    }
}

#[test]
fn a_signal_at_the_prompt_leaves_the_terminal_as_it_was_and_says_how_to_continue() {
    for signal in [TERMINATE, HANG_UP] {
        let folder = talks_with(endpoint(&["Fine."], Duration::ZERO));
        let left = at(folder.path(), &[("(yes/no)", "yes\r"), (PROMPT, signal)]);
        let set = |left: &LeftTerminal| left.modes.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
        assert_eq!((left.exit, set(&left)), (143, true), "{}", left.shown);
        assert!(left.shown.contains("\u{1b}[?2004l") && !left.shown.contains("--resume"), "{}", left.shown);
        let left = at(folder.path(), &[(PROMPT, "hello\r"), ("Fine.", ""), (PROMPT, signal)]);
        assert_eq!((left.exit, set(&left)), (143, true), "{}", left.shown);
        assert_eq!(left.shown.matches("\u{1b}[?2004h").count(), left.shown.matches("\u{1b}[?2004l").count(), "{}", left.shown);
        assert!(left.shown.contains("continue with flow chat team.yaml --resume "), "{}", left.shown);
    }
}

#[test]
fn a_signal_during_the_first_answer_says_what_ended_it_and_how_to_continue() {
    let folder = talks_with(endpoint(&["The first words.\n\n"; 40], Duration::from_millis(250)));
    let left = at(folder.path(), &[("(yes/no)", "yes\r"), (PROMPT, "hello\r"), ("first words", TERMINATE)]);
    assert_eq!(left.exit, 143, "{}", left.shown);
    assert!(left.shown.contains("stopped by a signal") && !left.shown.contains("by a person"), "{}", left.shown);
    let again = left.shown.split("--resume ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let mut call = command(folder.path(), &["chat", "team.yaml", "--resume", &again]);
    call.env("TERM", "xterm");
    let left = at_terminal_left(call, 100, &[(PROMPT, "\u{4}")], Duration::from_secs(60));
    assert!(left.exit == 0 && left.shown.contains("continues"), "{}", left.shown);
}

#[test]
fn usage_says_since_when_it_counts() {
    let folder = talks_with(endpoint(&["Fine."], Duration::ZERO));
    let steps = [("(yes/no)", "yes\r"), (PROMPT, "hello\r"), ("Fine.", ""), (PROMPT, "/clear\r"), (PROMPT, "/usage\r"), (PROMPT, "\u{4}")];
    let left = at(folder.path(), &steps);
    assert!(left.exit == 0 && left.shown.contains("0 + 0 = 0 tokens since this session began"), "{}", left.shown);
}

/// A policy that allows one tool of a folder, and no program to see the project.
const NARROW: &str = "flow: 1
models: { default: { provider: scripted, replies: calls.yaml } }
policies:
  q: { allowed_tools: [notes.read, lines], file_access: { read: ['notes/**'] } }
tools:
  notes: { file: notes, allow: [list, read, write] }
  lines: { program: [/usr/bin/wc, -l], reads_only: true }
agents:
  helper: { instructions: You help., tools: [notes, lines], policy: q }
";

#[test]
fn tools_that_policies_always_reject_are_listed_nowhere() {
    let folder = place(NARROW);
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    let calls = "flow: 1\nreplies:\n  answer:\n    - { calls: [{ tool: shell, with: {} }] }\n    - Done.\n";
    std::fs::write(folder.path().join("calls.yaml"), calls).unwrap();
    let ran = chat(folder.path(), &["--json", "--trust"], b"/tools\ngo\n");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(ran.err.contains("notes.read") && !ran.err.contains("notes.write") && !ran.err.contains("notes.list"), "{}", ran.err);
    assert!(!ran.err.lines().any(|line| line.starts_with("lines")), "{}", ran.err);
    assert!(ran.out.contains("there is no tool \\\"shell\\\"; there are: notes-read\""), "{}", ran.out);
}

#[test]
fn a_limit_that_a_policy_sets_names_the_policy() {
    let address = endpoint(&["Fine."], Duration::ZERO);
    let head = format!(
        "flow: 1\nmodels: {{ default: {{ provider: openai, model: m, base_url: \"http://{address}/v1\" }} }}\n\
         policies: {{ q: {{ permission_mode: auto, resource_limits: {{ tokens: 50 }} }} }}\n"
    );
    let steps = "name: p\nsteps: [{ id: a, agent: helper, prompt: Go. }]\n";
    for (limits, agent, wanted) in [
        ("policy: q\n", "", "policy q: resource_limits.tokens is 50; 0 are used"),
        ("", ", policy: q", "agent \"helper\": policy q: resource_limits.tokens is 50; 0 are used"),
        ("limits: { max_tokens: 40 }\npolicy: q\n", "", "max_tokens is 40; 0 are used"),
    ] {
        let folder = place(&format!("{head}{limits}{steps}agents: {{ helper: {{ instructions: You help.{agent} }} }}\n"));
        let ran = flow(folder.path(), &["run", "team.yaml", "--trust"]);
        assert!(ran.exit != 0 && ran.err.contains(wanted), "{wanted}: {}", ran.err);
    }
    let folder = place("");
    let slow = "flow: 1\nname: slow\npolicies: { q: { permission_mode: auto, resource_limits: { time: 1s } } }\npolicy: q\nsteps: [{ id: nap, wait: 30s }]\n";
    std::fs::write(folder.path().join("slow.yaml"), slow).unwrap();
    let ran = flow(folder.path(), &["run", "slow.yaml"]);
    assert!(ran.exit == 7 && ran.err.contains("policy q: resource_limits.time is 1s"), "{} {}", ran.exit, ran.err);
}
