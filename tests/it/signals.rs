//! What a signal leaves of calls that act: counted at the other end. What had answered is done once, whatever moment the signal came at;
//! what had not is repeated with the same key, and a `once` step never.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::program::{command, until};

/// How often each effect has happened, by what the receiver knows it again by.
type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

fn note(effects: &Effects, key: &str) {
    *effects.lock().unwrap().entry(key.to_string()).or_default() += 1;
}

/// Something that acts and answers after a while.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Takes requests: the effect happens when one has come; `after` says when it is answered, by its path.
fn http(effects: &Effects, after: impl Fn(&str) -> Duration + Send + Sync + 'static) -> SocketAddr {
    let effects = effects.clone();
    listen(move |mut stream| {
        let mut from = BufReader::new(stream.try_clone().unwrap());
        loop {
            let mut head = vec![];
            loop {
                let mut line = String::new();
                if from.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_string());
            }
            let value = |name: &str| {
                let found = head.iter().find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)));
                found.map(|(_, value)| value.to_string())
            };
            let length = value("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            from.read_exact(&mut vec![0; length]).unwrap();
            note(&effects, &value("idempotency-key").unwrap());
            std::thread::sleep(after(head[0].split(' ').nth(1).unwrap()));
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"done\":true}";
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Takes mail: the effect happens when one has been handed over whole; it is told a while later.
fn smtp(effects: &Effects, after: Duration) -> SocketAddr {
    let effects = effects.clone();
    listen(move |mut stream| {
        let from = BufReader::new(stream.try_clone().unwrap());
        let mut say = |line: &str| stream.write_all(format!("{line}\r\n").as_bytes()).is_ok();
        let (mut is_data, mut key) = (false, String::new());
        say("220 here");
        for line in from.lines().map_while(Result::ok) {
            if is_data && line != "." {
                if let Some(id) = line.strip_prefix("Message-ID: ") {
                    key = id.to_string();
                }
                continue;
            }
            let told = match line.as_str() {
                "." => {
                    is_data = false;
                    note(&effects, &key);
                    std::thread::sleep(after);
                    say("250 ok")
                }
                "DATA" => {
                    is_data = true;
                    say("354 go on")
                }
                line if line.starts_with("EHLO") => say("250-here\r\n250 8BITMIME"),
                _ => say("250 ok"),
            };
            if !told {
                return;
            }
        }
    })
}

/// Not a test of its own: with the variable set, this is a tool server that takes a while.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch, not a setting of flow")]
fn acts_as_a_slow_server() {
    let Ok(after) = std::env::var("SLOW_SERVER") else { return };
    println!();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
            Some("tools/list") => json!({ "tools": [{ "name": "book", "inputSchema": { "type": "object" } }] }),
            Some("tools/call") => {
                let mut calls = std::fs::OpenOptions::new().create(true).append(true).open("booked").unwrap();
                writeln!(calls, "booked").unwrap();
                std::thread::sleep(Duration::from_millis(after.parse().unwrap()));
                json!({ "content": [{ "type": "text", "text": "booked" }] })
            }
            Some("notifications/cancelled") => {
                std::fs::write("cancelled", "").unwrap();
                continue;
            }
            _ => continue,
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        std::io::stdout().flush().unwrap();
    }
    std::process::exit(0);
}

/// Every kind of call that acts, each in a chain of its own.
fn pipeline(http: SocketAddr, smtp: SocketAddr, server_after: u64) -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "flow: 1
name: acts
description: Acts in every way there is.
models: {{ default: {{ provider: scripted, replies: replies.yaml }} }}
agents: {{ clerk: {{ instructions: You order., tools: [hook], max_turns: 3 }} }}
tools:
  hook: {{ http: \"POST http://{http}/hook\", description: Orders., arguments: {{ id: text }}, timeout: 30s }}
  mail: {{ smtp: \"{smtp}\", from: flow@sender.example, timeout: 30s }}
  rooms:
    command: {program}
    args: [--exact, signals::acts_as_a_slow_server, --nocapture, --test-threads=1, --quiet]
    env: {{ SLOW_SERVER: \"{server_after}\" }}
    allow: [book]
    connect_timeout: 25s
    timeout: 30s
steps:
  - {{ id: pay, needs: [], timeout: 30s, http: \"POST http://{http}/pay\" }}
  - {{ id: again, needs: [pay], timeout: 30s, http: \"PUT http://{http}/again\" }}
  - {{ id: ask, needs: [], agent: clerk, prompt: Order. }}
  - {{ id: book, needs: [], tool: rooms.book }}
  - {{ id: post, needs: [], send: hook, of: \"'Hello'\", with: {{ id: \"7\" }} }}
  - {{ id: write, needs: [], send: mail, of: \"'Hello'\", with: {{ to: ana@example.org, subject: Hello }} }}
outputs: {{ done: \"{{{{ steps.again.output.status }}}}\" }}
",
        program = program.display()
    )
}

const REPLIES: &str = "flow: 1
replies:
  ask:
    - calls: [{ tool: hook, with: { id: \"1\" } }, { tool: hook, with: { id: \"2\" } }]
    - Ordered.
";

/// Runs the program in a folder until `is_so`, sends it a signal, and gives its exit code and the run.
fn signalled(folder: &Path, signal: Signal, is_so: impl Fn() -> bool, then: Duration) -> (Option<i32>, String) {
    let mut command = command(folder, &["run", "p.yaml", "--trust", "--events", "events.jsonl", "--quiet"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the run did not get there", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before the signal");
        is_so()
    });
    std::thread::sleep(then);
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    let exit = child.wait().unwrap().code();
    let first = std::fs::read_to_string(folder.join("events.jsonl")).unwrap().lines().next().unwrap().to_string();
    (exit, serde_json::from_str::<Value>(&first).unwrap()["run"].as_str().unwrap().to_string())
}

fn resumed(folder: &Path, run: &str) -> Option<i32> {
    let mut command = command(folder, &["runs", "resume", run, "--trust", "--quiet"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code()
}

fn folder_with(pipeline: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("p.yaml", pipeline), ("replies.yaml", REPLIES), ("flow.toml", "")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// One run that is signalled somewhere within its calls, and resumed.
fn once_each(signal: Signal, number: u64) {
    let effects = Effects::default();
    let after = move |path: &str| Duration::from_millis(200 + (number * 131 + path.len() as u64 * 97) % 500);
    let folder = folder_with(&pipeline(http(&effects, after), smtp(&effects, Duration::from_millis(500)), 600));
    let has_begun = || !effects.lock().unwrap().is_empty();
    let (exit, run) = signalled(folder.path(), signal, has_begun, Duration::from_millis(number * 173 % 900));
    let expected = if signal == Signal::SIGINT { 130 } else { 143 };
    assert!(exit == Some(expected) || exit == Some(0), "{exit:?} after {signal}");
    if exit != Some(0) {
        assert_eq!(resumed(folder.path(), &run), Some(0), "{signal}, {number}");
    }
    // All have answered within the grace: each effect has happened once.
    let effects = effects.lock().unwrap();
    assert!(effects.values().all(|count| *count == 1), "{signal}, {number}: {effects:?}");
    assert_eq!(effects.len(), 6, "two requests, two of the agent, two sendings: {effects:?}");
    let booked = std::fs::read_to_string(folder.path().join("booked")).unwrap_or_default();
    assert_eq!(booked, "booked\n", "{signal}, {number}");
    assert!(!folder.path().join("cancelled").exists(), "the call was cancelled though it had time");
}

#[test]
fn every_call_that_acts_and_is_out_when_a_signal_comes_happens_once() {
    crate::program::hear_hangups();
    let cases = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().flat_map(|signal| (0..4).map(move |n| (signal, n)));
    let cases: Vec<(Signal, u64)> = cases.collect();
    std::thread::scope(|scope| {
        for hand in cases.chunks(3) {
            scope.spawn(move || hand.iter().for_each(|(signal, number)| once_each(*signal, *number)));
        }
    });
}

#[test]
fn what_has_not_answered_in_time_is_in_doubt_and_repeats_with_its_key_only_where_it_may() {
    let effects = Effects::default();
    // The first answers come too late.
    let began = std::sync::atomic::AtomicU32::new(0);
    let address =
        http(&effects, move |_| Duration::from_secs(if began.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 { 20 } else { 0 }));
    let text = format!(
        "flow: 1
name: late
description: Answers come late.
steps:
  - {{ id: plain, needs: [], timeout: 60s, http: \"POST http://{address}/plain\" }}
  - {{ id: single, needs: [], once: true, timeout: 60s, http: \"POST http://{address}/single\" }}
outputs: {{ done: \"{{{{ steps.plain.output.status }}}}\" }}
"
    );
    let folder = folder_with(&text);
    let counts = || effects.lock().unwrap().values().copied().collect::<Vec<_>>();
    let (exit, run) = signalled(folder.path(), Signal::SIGTERM, || counts().len() == 2, Duration::ZERO);
    assert_eq!(exit, Some(143));
    let events = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    assert_eq!(events.matches("\"type\":\"outcome_unknown\"").count(), 2, "{events}");
    let shown = command(folder.path(), &["runs", "show", &run]).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.matches("whether the call has acted is not known").count(), 2, "{shown}");
    // Once more with the same key, and not the one that a person decides about.
    assert_eq!(resumed(folder.path(), &run), Some(8));
    let effects = effects.lock().unwrap();
    let of = |step: &str| effects.iter().filter(|(key, _)| key.contains(step)).map(|(_, count)| *count).collect::<Vec<_>>();
    assert_eq!((of("plain"), of("single")), (vec![2], vec![1]), "{effects:?}");
}

#[test]
fn a_second_signal_ends_the_program_at_once_though_a_call_is_awaited() {
    let effects = Effects::default();
    let address = http(&effects, |_| Duration::from_secs(60));
    let text = format!(
        "flow: 1\nname: p\ndescription: Waits.\nsteps:\n  - {{ id: a, timeout: 90s, http: \"POST http://{address}/a\" }}\noutputs: {{ done: \"{{{{ steps.a.output.status }}}}\" }}\n"
    );
    let folder = folder_with(&text);
    let mut command = command(folder.path(), &["run", "p.yaml", "--trust", "--events", "events.jsonl"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_raw(child.id() as i32);
    let events = || std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap_or_default();
    until("the call never went out", || !effects.lock().unwrap().is_empty());
    kill(pid, Signal::SIGINT).unwrap();
    until("the signal was not heard", || events().contains("cancel_requested"));
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!events().contains("grace_ended"), "{}", events());
}

#[test]
fn a_run_whose_output_nobody_reads_ends_all_the_same() {
    let text = "flow: 1\nname: p\ndescription: Prints much.\nsteps:\n  - { id: much, read: much.txt }\n  - { id: a, send: stdout, of: steps.much.output.text }\n";
    for (signal, exit) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let folder = folder_with(text);
        std::fs::write(folder.path().join("much.txt"), "much \n".repeat(100_000)).unwrap();
        let mut command = command(folder.path(), &["run", "p.yaml", "--trust", "--events", "events.jsonl"]);
        // A pipe that is never read.
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let events = || std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap_or_default();
        until("nothing was printed", || events().contains("\"tool\":\"stdout\""));
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(exit), "{}", events());
        assert!(events().contains("outcome_unknown") && events().contains("run_finished"), "{}", events());
    }
}
