//! `flow chat`: with lines of a script, and with a person at a pseudo-terminal.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use serde_json::Value;
use tempfile::TempDir;

use crate::conversations::{endpoint, messages};
use crate::program::{Ran, command, flow};
use crate::terminal::without_colours;

pub(crate) const TEAM: &str = "flow: 1
models:
  default: { provider: scripted, replies: replies.yaml }
agents:
  helper:
    instructions: You help.
";

const REPLIES: &str = "flow: 1
replies:
  answer:
    - when: \"'hostile' in inputs.message\"
      text: \"Look: \\e[2J\\e]52;c;aGk=\\a \\u009b31m \\u202etxt\"
    - when: \"'list' in inputs.message\"
      text: \"# Three\\n\\n- **one**\\n- two\\n\\n```\\nlet x;\\n\\nlet y;\\n```\"
    - when: \"'fail' in inputs.message\"
      error: server_error
    - when: \"true\"
      text: \"You said {{ inputs.message | upper }}.\"
";

/// A folder with a file of one agent.
pub(crate) fn place(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("team.yaml"), text).unwrap();
    std::fs::write(folder.path().join("replies.yaml"), REPLIES).unwrap();
    folder
}

/// Gives the lines of a script to a chat.
fn lines(command: &mut Command, lines: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that has ended already does not read.
    let _ = child.stdin.take().unwrap().write_all(lines);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

pub(crate) fn chat(folder: &Path, more: &[&str], typed: &[u8]) -> Ran {
    lines(&mut command(folder, &[&["chat", "team.yaml", "--no-tty"], more].concat()), typed)
}

fn answers(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_line_of_a_script_is_a_message_and_what_is_wrong_is_told_with_its_line() {
    let folder = place(TEAM);
    let long = "x".repeat(10_001);
    let typed = [b"hello\n\n/nope\n".as_slice(), b"\xff\xfe\n", long.as_bytes(), b"\na\x1b[31mb\nexit\nnever sent\n"].concat();
    let ran = chat(folder.path(), &[], &typed);
    assert_eq!((ran.exit, ran.out.as_str()), (2, "You said HELLO.\nYou said A[31MB.\n"), "{}", ran.err);
    for told in [
        "chat with helper",
        "line 3: there is no command /nope",
        "line 4: it is not UTF-8",
        "line 5: the message has 10001 characters",
        "1 control character was removed",
    ] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
}

#[test]
fn an_answer_as_json_has_the_session_the_status_and_the_tokens() {
    let folder = place(TEAM);
    let ran = chat(folder.path(), &["--json", "-q"], b"one\nfail\ntwo\n");
    let answers = answers(&ran);
    let statuses: Vec<&str> = answers.iter().map(|answer| answer["status"].as_str().unwrap()).collect();
    assert_eq!((ran.exit, statuses), (6, vec!["succeeded", "failed", "succeeded"]), "{}", ran.err);
    let (usage, session) = (&answers[0]["usage"], answers[0]["session"].as_str().unwrap());
    let count = |key: &str| usage[key].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    assert_eq!((session.len(), session.matches('-').count()), (36, 4), "a session is named by a UUID: {session}");
    assert!(answers.iter().all(|answer| answer["session"] == session));
}

#[test]
fn the_model_gets_the_history_of_the_session_and_of_one_that_continues() {
    let folder = place("flow: 1\nagents:\n  helper: { instructions: You help. }\n");
    let (url, heard) = endpoint();
    let with_model = |more: &[&str], typed: &str| {
        let mut call = command(folder.path(), &[&["chat", "team.yaml", "--no-tty", "--json", "-q"], more].concat());
        call.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", &url).env("FLOW_API_KEY", "sk-canary-12345678");
        lines(&mut call, typed.as_bytes())
    };
    let ran = with_model(&[], "one\ntwo\n/clear\nthree\n");
    let answers = answers(&ran);
    assert_eq!((ran.exit, answers.len()), (0, 3), "{}", ran.err);
    let session = answers[0]["session"].as_str().unwrap();
    assert_ne!(session, answers[2]["session"]);
    assert_eq!(with_model(&["--resume", &session[..8]], "four\n").exit, 0);
    let heard = heard.lock().unwrap();
    let sent = |at: usize| -> Vec<String> {
        messages(&heard[at], "messages").into_iter().filter(|(role, _)| role != "system").map(|(_, text)| text).collect()
    };
    assert_eq!(
        (sent(0), sent(1), sent(2)),
        (vec!["one".into()], vec!["one".into(), "Fine.".into(), "two".into()], vec!["three".to_owned()])
    );
    assert_eq!(sent(3), ["one", "Fine.", "two", "Fine.", "four"]);
}

#[test]
fn a_session_is_written_to_a_new_file_only_and_continues_masked() {
    let folder = place(TEAM);
    let ran = chat(folder.path(), &["--json"], b"my card is 4111 1111 1111 1111\n/save out.jsonl\n/save out.jsonl\n/save none/out.jsonl\n");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.err.contains("wrote 2 messages to out.jsonl") && ran.err.contains("out.jsonl exists already"), "{}", ran.err);
    let written = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert!(written.lines().count() == 2 && written.contains("<CARD_1>") && !written.contains("4111"), "{written}");
    let session = answers(&ran)[0]["session"].as_str().unwrap().to_owned();
    let again = chat(folder.path(), &["--resume", &session[..6]], b"/usage\n");
    assert!(again.err.contains("continues, with 2 messages") && !again.err.contains("4111"), "{}", again.err);
}

#[test]
fn a_signal_ends_a_script_and_nobody_there_is_a_no() {
    let asks = "flow: 1\ntools:\n  notes: { file: ., allow: [write], approve: true }\nmodels:\n  default: { provider: scripted, replies: calls.yaml }\n\
        agents:\n  helper: { instructions: Hi, tools: [notes] }\n";
    let folder = place(asks);
    let calls =
        "flow: 1\nreplies:\n  answer:\n    - { calls: [{ tool: notes.write, with: { name: a.txt, text: x } }] }\n    - Done without.\n";
    std::fs::write(folder.path().join("calls.yaml"), calls).unwrap();
    let ran = chat(folder.path(), &["--json"], b"write it\n");
    let answer = &answers(&ran)[0];
    assert_eq!(
        (ran.exit, answer["text"].as_str(), answer["status"].as_str()),
        (0, Some("Done without."), Some("succeeded")),
        "{}",
        ran.err
    );
    assert!(!folder.path().join("a.txt").exists() && ran.err.contains("nobody decides: the call is rejected"), "{}", ran.err);
    let waits = "flow: 1\nname: waits\ninputs: { message: text }\nsteps:\n  - { id: nap, wait: 60s }\noutputs: { said: \"{{ inputs.message }}\" }\n";
    std::fs::write(folder.path().join("team.yaml"), waits).unwrap();
    let mut call = command(folder.path(), &["chat", "team.yaml", "--no-tty", "-v"]);
    let mut child = call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(err.any(|line| line.unwrap().contains("step_started")));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGTERM).unwrap();
    let rest: String = err.map(|line| line.unwrap() + "\n").collect();
    assert_eq!((child.wait().unwrap().code(), rest.contains("step_started")), (Some(143), false), "{rest}");
}

#[test]
fn near_the_most_messages_a_warning_is_given_once() {
    let folder = place(TEAM);
    let ran = chat(folder.path(), &["--max-messages", "10"], b"a\nb\nc\nd\ne\nf\n");
    assert_eq!((ran.exit, ran.err.matches("a model sees the newest 10").count()), (0, 1), "{}", ran.err);
    assert!(ran.err.contains("8 messages: a model"), "{}", ran.err);
}

#[test]
fn a_file_that_is_wrong_is_told_before_anything_is_read() {
    let folder = place(&TEAM.replace("instructions", "instruction"));
    let ran = chat(folder.path(), &[], b"hello\n");
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("F002") && ran.err.contains("team.yaml:6:5"), "{}", ran.err);
    let several = place(&format!("{TEAM}  other: {{ instructions: Hi }}\n"));
    for (more, told) in [
        (&[][..], "has 2 agents; choose one with --agent: helper, other"),
        (&["--agent", "helpr"][..], "has no agent \"helpr\"; did you mean \"helper\"?"),
        (&["--agent", "helper", "--resume", "abc"][..], "there is no session \"abc\""),
    ] {
        let ran = chat(several.path(), more, b"hello\n");
        assert_eq!((ran.exit, ran.err.contains(told)), (2, true), "{more:?}: {}", ran.err);
    }
    assert_eq!(chat(several.path(), &["--agent", "other"], b"hello\n").out, "You said HELLO.\n");
    assert_eq!(flow(several.path(), &["chat", "none.yaml", "--no-tty"]).exit, 4);
    let no_terminal = flow(several.path(), &["chat", "team.yaml", "--agent", "other"]);
    assert!(no_terminal.exit == 2 && no_terminal.err.contains("--no-tty"), "{}", no_terminal.err);
}

#[test]
fn a_pipeline_and_each_of_its_agents_are_talked_with() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(flow(folder.path(), &["init", "shop"]).exit, 0);
    let shop = folder.path().join("shop");
    let of = |more: &[&str], typed: &[u8]| {
        lines(&mut command(&shop, &[&["chat", "pipelines/shop/pipeline.yaml", "--no-tty"], more].concat()), typed)
    };
    let ran = of(&[], b"When do you open on Saturday?\n/channel email\nAnd on Monday?\n/channel fax\n");
    assert_eq!(ran.exit, 2, "{}", ran.err);
    assert!(ran.out.contains("On Saturday we are open from") && ran.err.contains("has no channel \"fax\""), "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("each message is answered by itself"), "{}", ran.err);
    assert_eq!(ran.err.matches("models are scripted: replies come from a file, no model is called").count(), 1, "{}", ran.err);
}

#[test]
fn a_pipeline_with_a_conversation_remembers_and_says_each_answer_once() {
    let project = crate::reference_systems::project();
    let chat = ["chat", "pipelines/timesheet/pipeline.yaml", "--no-tty", "--channel", "sms"];
    let ran = lines(&mut command(project.path(), &chat), b"Check my timesheet\nAnd what about yesterday?\n/clear\n");
    assert_eq!((ran.exit, ran.out.matches("Hi Ana,").count()), (2, 2), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("yesterday") && ran.err.contains("which conversation this is") && !ran.err.contains("--resume"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    let other = tempfile::tempdir().unwrap();
    let file = project.path().join("pipelines/timesheet/team.yaml").display().to_string();
    let from_elsewhere =
        lines(&mut command(other.path(), &["chat", &file, "--agent", "composer", "--no-tty", "--trust", "--resume", "0"]), b"");
    assert!(from_elsewhere.err.contains("there is no session \"0\""), "{}", from_elsewhere.err);
}

#[test]
fn servers_are_started_once_for_a_chat_and_tools_lists_what_they_offer() {
    let folder = place("");
    let hours = "flow: 1\nname: hours\ndescription: Opening hours of a day.\ninputs: { day: text }\nsteps:\n  - { id: a, set: { open: \"nine on {{ inputs.day }}\" } }\noutputs: { open: \"{{ steps.a.output.open }}\" }\n";
    std::fs::write(folder.path().join("hours.yaml"), hours).unwrap();
    let started = format!("echo started >> starts; exec '{}' mcp hours.yaml -q", assert_cmd::cargo::cargo_bin!("flow").display());
    let team = format!(
        "{}tools:\n  shop: {{ command: sh, args: [-c, {started:?}], allow: [hours] }}\n  notes: {{ file: ., description: Our notes. }}\n",
        TEAM.replace("replies.yaml", "calls.yaml").replace("You help.", "You help.\n    tools: [shop, notes]")
    );
    std::fs::write(folder.path().join("team.yaml"), team).unwrap();
    let calls = "flow: 1\nreplies:\n  answer:\n    - { calls: [{ tool: shop.hours, with: { day: Monday } }, { tool: shop.prices, with: { of: tea } }] }\n    - Nine.\n";
    std::fs::write(folder.path().join("calls.yaml"), calls).unwrap();
    let ran = chat(folder.path(), &["--json", "--trust"], b"when?\n/tools\nand then?\n");
    let answers = answers(&ran);
    assert_eq!((ran.exit, answers.len()), (0, 2), "{}", ran.err);
    let told: Vec<(&str, &str)> = answers[0]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (call["name"].as_str().unwrap(), call["status"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("shop.hours", "success"), ("shop.prices", "failed")], "{}", ran.out);
    assert!(answers[0]["tool_calls"][1]["error"].as_str().unwrap().contains("there is no tool"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(folder.path().join("starts")).unwrap(), "started\n");
    for line in ["shop.hours  Opening hours of a day.", "notes.list  Our notes.", "notes.read  Our notes."] {
        assert!(ran.err.contains(line), "{line}: {}", ran.err);
    }
}

#[test]
fn agents_that_a_file_imports_are_talked_with() {
    let folder = place(TEAM);
    std::fs::write(folder.path().join("all.yaml"), "flow: 1\nimports: [team.yaml]\n").unwrap();
    let ran = lines(&mut command(folder.path(), &["chat", "all.yaml", "--no-tty"]), b"hello\n");
    assert_eq!((ran.exit, ran.out.as_str()), (0, "You said HELLO.\n"), "{}", ran.err);
}

#[test]
fn what_somebody_erased_is_counted_no_more() {
    let folder = place(TEAM);
    let mut call = command(folder.path(), &["chat", "team.yaml", "--no-tty", "--json"]);
    let mut child = call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut typed, mut out) = (child.stdin.take().unwrap(), std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut answered = |text: &[u8]| -> Value {
        typed.write_all(text).unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    answered(b"one\n");
    let session = answered(b"two\n")["session"].as_str().unwrap().to_owned();
    let erased = flow(folder.path(), &["conversations", "erase", &session]);
    assert_eq!(erased.exit, 0, "{}", erased.err);
    answered(b"three\n");
    typed.write_all(b"/usage\n").unwrap();
    drop(typed);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(child.wait().unwrap().success() && err.contains(": 2 messages"), "{err}");
}

#[test]
fn lines_that_are_typed_ahead_are_sent_one_after_the_other() {
    let folder = place(TEAM);
    let (exit, shown) = at_terminal(folder.path(), 80, &[(PROMPT, "one\rtwo\rthree\r"), ("said THREE", ""), (PROMPT, "\u{4}")]);
    assert_eq!(exit, 0, "{shown}");
    for said in ["You said ONE.", "You said TWO.", "You said THREE."] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

#[test]
fn a_rejected_key_is_reported_below_the_answer_of_a_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
    });
    let text = "flow: 1\nname: talks\ninputs: { message: text }\nagents: { talker: { instructions: Hi } }\nsteps:\n  \
        - { id: say, agent: talker, prompt: \"{{ inputs.message }}\", on_failure: plain }\n  - { id: plain, set: Hello. }\n\
        outputs: { text: \"{{ steps.say.output | default(steps.plain.output) }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), text).unwrap();
    let mut call = command(folder.path(), &["chat", "p.yaml", "--no-tty"]);
    call.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", &url).env("FLOW_API_KEY", "sk-canary-12345678");
    let ran = lines(&mut call, b"hello\n");
    assert_eq!((ran.exit, ran.out.as_str()), (6, "Hello.\n"), "{}", ran.err);
    assert!(ran.err.contains("key rejected: agent \"talker\"") && !ran.err.contains("sk-canary"), "{}", ran.err);
}

/// The line editor waits for a line: it asks for pasted text in brackets.
pub(crate) const PROMPT: &str = "\u{1b}[?2004h";

/// Typed while no line is edited: the terminal makes a signal of it.
const CTRL_C: &str = "<SIGINT>";

/// Asks the process to end.
pub(crate) const TERMINATE: &str = "<SIGTERM>";

/// The terminal is gone.
pub(crate) const HANG_UP: &str = "<SIGHUP>";

/// A terminal that a chat has left: the exit code of the chat, what was shown, and how the terminal is set.
pub(crate) struct LeftTerminal {
    pub(crate) exit: i32,
    pub(crate) shown: String,
    pub(crate) modes: LocalFlags,
}

/// What a person does at a terminal of this width: waits for a text, then types another.
fn at_terminal(folder: &Path, width: u16, steps: &[(&str, &str)]) -> (i32, String) {
    at_terminal_of(command(folder, &["chat", "team.yaml"]), width, steps, Duration::from_secs(60))
}

/// The same for any chat, which is ended after this time.
fn at_terminal_of(call: Command, width: u16, steps: &[(&str, &str)], most: Duration) -> (i32, String) {
    let LeftTerminal { exit, shown, .. } = at_terminal_left(call, width, steps, most);
    (exit, shown)
}

/// The same, with the terminal as it is left.
pub(crate) fn at_terminal_left(mut call: Command, width: u16, steps: &[(&str, &str)], most: Duration) -> LeftTerminal {
    let pty = openpty(Some(&Winsize { ws_row: 40, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }), None).unwrap();
    call.env("TERM", "xterm-256color")
        .stdin(Stdio::from(pty.slave.try_clone().unwrap()))
        .stderr(Stdio::from(pty.slave.try_clone().unwrap()));
    let mut child = call.stdout(Stdio::from(pty.slave)).spawn().unwrap();
    drop(call);
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    // What never comes ends the chat, and the test sees what did.
    let watch = std::thread::spawn(move || {
        if is_over.recv_timeout(most).is_err() {
            let _ = kill(process, Signal::SIGKILL);
        }
    });
    let (mut keyboard, mut screen) = (File::from(pty.master.try_clone().unwrap()), File::from(pty.master));
    let (mut shown, mut buffer, mut steps) = (vec![], [0; 4096], steps.iter().peekable());
    let mut seen = 0;
    // The end of a pseudo-terminal is an error.
    while let Ok(read) = screen.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
        while let Some((wanted, typed)) = steps.peek() {
            let Some(at) = shown[seen..].windows(wanted.len()).position(|part| part == wanted.as_bytes()) else { break };
            seen += at + wanted.len();
            match *typed {
                CTRL_C => kill(process, Signal::SIGINT).unwrap(),
                TERMINATE => kill(process, Signal::SIGTERM).unwrap(),
                HANG_UP => kill(process, Signal::SIGHUP).unwrap(),
                typed => keyboard.write_all(typed.as_bytes()).unwrap(),
            }
            steps.next();
        }
    }
    let _ = over.send(());
    watch.join().unwrap();
    let modes = tcgetattr(&screen).unwrap().local_flags;
    let exit = child.wait().unwrap().code().unwrap_or(-1);
    LeftTerminal { exit, shown: String::from_utf8_lossy(&shown).replace("\r\n", "\n"), modes }
}

#[test]
fn a_person_reads_markdown_stops_nothing_by_chance_and_leaves_with_ctrl_d() {
    let folder = place(TEAM);
    for width in [80, 40] {
        let (exit, shown) = at_terminal(
            folder.path(),
            width,
            &[
                (PROMPT, "a list please\r"),
                ("let y;", ""),
                (PROMPT, "/us\t\r"),
                ("messages", ""),
                (PROMPT, "hostile\r"),
                ("Look: ", ""),
                (PROMPT, "\u{3}"),
                ("Ctrl-D or exit", ""),
                (PROMPT, "\u{4}"),
            ],
        );
        assert_eq!(exit, 0, "{shown}");
        let plain = without_colours(&shown);
        assert!(plain.contains("Three\n\n• one\n• two\n\n    let x;\n\n    let y;\n"), "{plain}");
        assert!(shown.contains("\u{1b}[1mone") && shown.contains("> /usage") && !shown.contains("**one**"), "{shown:?}");
        for control in ["\u{1b}[2J", "\u{1b}]52", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(control), "{control:?} reached the terminal: {shown:?}");
        }
        assert!(shown.contains("flow chat") && shown.contains("--resume"), "{shown}");
    }
}

/// Keeps each request open after the first words of its answer.
fn endpoint_that_stops_in_the_middle() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = vec![];
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 65_536]);
            let words = r#"{"choices": [{"index": 0, "delta": {"content": "The first words"}}]}"#;
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {words}\n\n");
            open.push(stream);
        }
    });
    address
}

#[test]
fn ctrl_c_stops_an_answer_at_once() {
    let address = endpoint_that_stops_in_the_middle();
    let model = format!("provider: openai, model: m, base_url: \"http://{address}/v1\"");
    let folder = place(&TEAM.replace("provider: scripted, replies: replies.yaml", &model));
    let steps = [("(yes/no)", "yes\r"), (PROMPT, "hello\r"), ("The first", CTRL_C), ("stopped: the message", ""), (PROMPT, "\u{4}")];
    let (exit, shown) = at_terminal(folder.path(), 80, &steps);
    let plain = without_colours(&shown);
    assert_eq!(exit, 0, "{plain}");
    // The last word may be the beginning of a mark, so it is held back.
    assert!(shown.replace('\r', "").contains("The first\nstopped: the message") && !plain.contains("a second signal"), "{shown:?}");
    let listed = flow(folder.path(), &["runs", "list"]).out;
    assert!(listed.contains("cancelled"), "{listed}");
    // Nothing waited for the model.
    let events = flow(folder.path(), &["runs", "export"]).out;
    assert!(!events.contains("\"waits_until_ms\""), "{events}");
}

#[test]
fn ctrl_c_at_a_question_of_an_agent_is_a_no_and_nothing_waits_for_ever() {
    let asks = "flow: 1\ntools:\n  notes: { file: ., allow: [write], approve: true }\nmodels:\n  default: { provider: scripted, replies: calls.yaml }\n\
        agents:\n  helper: { instructions: Hi, tools: [notes] }\n";
    let folder = place(asks);
    let calls = "flow: 1\nreplies:\n  answer:\n    - { calls: [{ tool: notes.write, with: { name: a.txt, text: x } }] }\n    - Done.\n";
    std::fs::write(folder.path().join("calls.yaml"), calls).unwrap();
    let steps = [(PROMPT, "write it\r"), ("a.txt", ""), ("(yes/no)", CTRL_C), ("stopped: the message", ""), (PROMPT, "\u{4}")];
    let (exit, shown) = at_terminal(folder.path(), 120, &steps);
    let plain = without_colours(&shown);
    assert_eq!(exit, 0, "{plain}");
    assert!(!plain.contains("flow approve") && !folder.path().join("a.txt").exists(), "{plain}");
    let listed = flow(folder.path(), &["runs", "list"]).out;
    assert!(listed.contains("cancelled") && !listed.contains("waiting"), "{listed}");
    assert!(!flow(folder.path(), &["runs", "show"]).out.contains("flow approve"), "nothing is left to decide");
}

#[test]
fn what_no_message_could_do_without_is_told_before_the_first() {
    let secret = "flow: 1\nsecrets: { NOPE: The key }\nmodels:\n  default: { provider: openai, model: m, api_key: \"{{ secrets.NOPE }}\" }\nagents:\n  helper: { instructions: You help. }\n";
    let folder = place(secret);
    let ran = chat(folder.path(), &["--trust"], b"one\ntwo\n");
    assert_eq!((ran.exit, ran.out.as_str()), (6, ""), "{}", ran.err);
    assert_eq!(ran.err.matches("secret NOPE is not set (The key)").count(), 1, "{}", ran.err);
    let none = place("flow: 1\nagents:\n  helper: { instructions: You help. }\n");
    let ran = chat(none.path(), &[], b"one\ntwo\n");
    assert!(ran.exit == 6 && ran.err.matches("agent \"helper\" has no model here").count() == 1, "{}", ran.err);
    let needed = "name: p\ninputs: { message: text }\nsteps: [{ id: a, agent: helper, prompt: \"{{ inputs.message }}\" }]\noutputs: { x: \"{{ steps.a.output }}\" }\n";
    let perhaps =
        needed.replace("agent: helper", "agent: helper, when: \"inputs.message == 'two'\"").replace("a.output", "a.output | default('no')");
    for (pipeline, exit, out, told) in [
        (
            secret.replace("flow: 1\n", &format!("flow: 1\n{needed}")),
            6,
            "",
            "secret NOPE is not set (The key), and is read by model default;",
        ),
        (format!("flow: 1\n{needed}agents:\n  helper: {{ instructions: You help. }}\n"), 6, "", "agent \"helper\" has no model here;"),
        (secret.replace("flow: 1\n", &format!("flow: 1\n{perhaps}")), 6, "no\n", "secret NOPE is not set; set the variable"),
    ] {
        std::fs::write(folder.path().join("team.yaml"), pipeline).unwrap();
        let ran = chat(folder.path(), &["--trust"], b"one\ntwo\n");
        assert_eq!((ran.exit, ran.out.as_str()), (exit, out), "{}", ran.err);
        assert!(ran.err.contains(told) && !ran.err.contains("cannot be filled in"), "{}", ran.err);
    }
    // A pipeline may get along without: it is told, and goes on.
    let pipeline = "flow: 1\nname: p\ninputs: { message: text }\nsteps: [{ id: a, http: \"GET {{ env.NOPE_NOT_SET }}/x\", on_failure: continue, timeout: 5s }]\noutputs: { x: \"{{ inputs.message }}\" }\n";
    std::fs::write(folder.path().join("team.yaml"), pipeline).unwrap();
    let ran = chat(folder.path(), &["--trust"], b"one\n");
    assert!(ran.exit == 0 && ran.err.contains("variable NOPE_NOT_SET is not set") && ran.out == "one\n", "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("--resume"), "{}", ran.err);
}

#[test]
fn real_model_talks_at_a_terminal() {
    let Some(url) = crate::real_model::real_model() else { return };
    let folder = place("flow: 1\nagents:\n  helper: { instructions: You are brief. }\n");
    for width in [80, 40] {
        let mut call = command(folder.path(), &["chat", "team.yaml", "-v"]);
        call.env("FLOW_MODEL", "smollm2").env("FLOW_MODEL_BASE_URL", format!("{url}/v1")).env("FLOW_MODEL_MAX_OUTPUT_TOKENS", "60");
        let steps = [(PROMPT, "Name a city.\r"), (" tokens", ""), (PROMPT, "\u{4}")];
        let (exit, shown) = at_terminal_of(call, width, &steps, Duration::from_secs(180));
        assert_eq!(exit, 0, "{shown}");
        let plain = without_colours(&shown);
        let widest = plain.lines().filter(|line| line.starts_with("chat with")).map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| widest <= width.into()) && plain.contains(" + "), "{plain}");
    }
}
