//! What a person at a terminal sees, through a pseudo-terminal.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use nix::pty::openpty;

use crate::program::command;

const ASKS: &str = "flow: 1
name: asks
description: Asks for what it was not given.
inputs:
  who: { type: text, description: Whom to greet, example: Ana }
  times: integer
steps:
  - { id: greet, set: \"Hello {{ inputs.who }}, {{ inputs.times + 1 }} times\" }
  - { id: nap, wait: 700ms }
outputs: { text: \"{{ steps.greet.output }}\" }
";

/// Runs a pipeline at a terminal at which `typed` is typed; gives its exit code, its standard output and what the terminal showed.
fn at_terminal(pipeline: &str, typed: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    at(folder.path(), &["run", "p.yaml"], typed, variables)
}

/// The same for any call of the program in a folder. Each line is typed when something is asked.
pub(crate) fn at(folder: &Path, arguments: &[&str], typed: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
    at_typed_ahead(folder, arguments, "", typed, variables)
}

/// The same, where something was typed before anything was asked.
pub(crate) fn at_typed_ahead(
    folder: &Path,
    arguments: &[&str],
    ahead: &str,
    typed: &str,
    variables: &[(&str, &str)],
) -> (i32, String, String) {
    let pty = openpty(None, None).unwrap();
    let mut command = command(folder, arguments);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.stdin(Stdio::from(pty.slave.try_clone().unwrap())).stderr(Stdio::from(pty.slave)).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut keyboard = File::from(pty.master.try_clone().unwrap());
    keyboard.write_all(ahead.as_bytes()).unwrap();
    let mut screen = File::from(pty.master);
    let lines: Vec<String> = typed.split_inclusive('\n').map(str::to_owned).collect();
    let reader = std::thread::spawn(move || {
        let (mut shown, mut buffer, mut lines) = (vec![], [0; 4096], lines.into_iter());
        // The end of a pseudo-terminal is an error.
        while let Ok(read) = screen.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..read]);
            if shown.ends_with(b": ") || shown.ends_with(b"(yes/no) ") {
                keyboard.write_all(lines.next().unwrap_or_default().as_bytes()).unwrap();
            }
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let exit = child.wait().unwrap().code().unwrap_or(-1);
    (exit, out, reader.join().unwrap())
}

/// A call whose output and errors go to a terminal with a window of this width; gives its exit code and what the terminal showed.
pub(crate) fn at_window(folder: &Path, arguments: &[&str], width: u16, variables: &[(&str, &str)]) -> (i32, String) {
    let window = nix::pty::Winsize { ws_row: 40, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&window), None).unwrap();
    let mut command = command(folder, arguments);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.stdin(Stdio::from(pty.slave.try_clone().unwrap())).stderr(Stdio::from(pty.slave.try_clone().unwrap()));
    let mut child = command.stdout(Stdio::from(pty.slave)).spawn().unwrap();
    drop(command);
    let (mut screen, mut shown, mut buffer) = (File::from(pty.master), vec![], [0; 4096]);
    // The end of a pseudo-terminal is an error.
    while let Ok(read) = screen.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
    }
    (child.wait().unwrap().code().unwrap_or(-1), String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

/// The text without colours.
pub(crate) fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

#[test]
fn missing_inputs_are_asked_for_and_the_line_of_what_runs_is_gone_in_the_end() {
    let (exit, out, shown) = at_terminal(ASKS, "Ben\n2\n", &[]);
    assert_eq!((exit, out.as_str()), (0, "Hello Ben, 3 times\n"), "{shown}");
    assert!(shown.contains("who (Whom to greet), for example \"Ana\": "), "{shown:?}");
    assert!(shown.contains("times: "), "{shown:?}");
    assert!(shown.contains("nap (0s)"), "{shown:?}");
    assert!(shown.contains("nap: done"), "{shown:?}");
    let last = shown.rsplit_once("nap (0s)").unwrap().1;
    assert!(last.contains("\u{1b}[2K") && !shown.contains("\u{1b}[?25l"), "{last:?}");
}

#[test]
fn a_wrong_answer_is_told_and_a_build_server_is_never_asked() {
    let (exit, out, shown) = at_terminal(ASKS, "Ben\nmany\n", &[]);
    assert_eq!((exit, out.as_str()), (2, ""), "{shown}");
    assert!(shown.contains("\"times\""), "{shown}");
    for variable in [("CI", "true"), ("TERM", "dumb")] {
        let (exit, _, shown) = at_terminal(ASKS, "Ben\n2\n", &[variable]);
        assert_eq!((exit, shown.contains("Whom to greet")), (2, false), "{shown}");
        assert!(shown.contains("input \"who\" is missing") && shown.contains("\"times\" is missing"), "{shown}");
    }
    let (exit, _, shown) = at_terminal(ASKS, "\u{4}", &[]);
    assert_eq!((exit, shown.contains("\"who\" is missing")), (2, true), "{shown}");
}

#[test]
fn ctrl_c_at_a_question_ends_the_program_as_it_ends_a_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), ASKS).unwrap();
    let (exit, shown) = interrupted_at(folder.path(), &["run", "p.yaml"], "Ana");
    assert_eq!(exit, Some(130), "{shown}");
    assert!(!folder.path().join(".flow").exists(), "nothing ran");
}

/// Calls the program at a terminal and interrupts it when `asked` is shown; gives its exit code and what the terminal showed.
pub(crate) fn interrupted_at(folder: &Path, arguments: &[&str], asked: &str) -> (Option<i32>, String) {
    at_question(folder, arguments, asked, |process, _| {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(process as i32), nix::sys::signal::Signal::SIGINT).unwrap();
    })
}

/// Calls the program at a terminal and does something with its process, or the keyboard, when `asked` is shown; the same is given.
pub(crate) fn at_question(folder: &Path, arguments: &[&str], asked: &str, then: impl FnOnce(u32, &mut File)) -> (Option<i32>, String) {
    asked_at(folder, arguments, asked, false, then)
}

/// The same, where standard output is on the terminal, too.
pub(crate) fn at_window_question(
    folder: &Path,
    arguments: &[&str],
    asked: &str,
    then: impl FnOnce(u32, &mut File),
) -> (Option<i32>, String) {
    asked_at(folder, arguments, asked, true, then)
}

fn asked_at(
    folder: &Path,
    arguments: &[&str],
    asked: &str,
    shows_output: bool,
    then: impl FnOnce(u32, &mut File),
) -> (Option<i32>, String) {
    let pty = openpty(None, None).unwrap();
    let mut command = command(folder, arguments);
    command.env("TERM", "xterm").stdin(Stdio::from(pty.slave.try_clone().unwrap())).stderr(Stdio::from(pty.slave.try_clone().unwrap()));
    command.stdout(if shows_output { Stdio::from(pty.slave.try_clone().unwrap()) } else { Stdio::null() });
    let mut child = command.spawn().unwrap();
    drop((command, pty.slave));
    let mut screen = File::from(pty.master);
    let (mut shown, mut buffer) = (String::new(), [0; 4096]);
    while !shown.contains(asked) {
        let read = screen.read(&mut buffer).unwrap();
        shown.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    then(child.id(), &mut screen);
    (child.wait().unwrap().code(), shown)
}

const APPROVES: &str = "flow: 1
name: keeps
description: Writes a note when a person allows it.
tools: { notes: { file: ., allow: [write], approve: [write] } }
steps:
  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello }, on_failure: continue }
outputs: { done: \"{{ steps.keep.status }}\", why: \"{{ steps.keep.error.message | default('') }}\" }
";

#[test]
fn a_call_that_needs_approval_is_asked_about_with_its_arguments() {
    let (exit, out, shown) = at_terminal(APPROVES, "maybe\nyes\n", &[]);
    assert_eq!(exit, 0, "{shown}");
    assert!(out.contains("\"done\": \"succeeded\""), "{out}");
    assert!(
        shown.contains(r#""keep" wants to call notes.write with {"name":"note.txt","text":"Hello"}; allow it? (yes/no) "#),
        "{shown:?}"
    );
    assert!(shown.contains("please answer yes or no"), "{shown:?}");
    let (exit, out, shown) = at_terminal(APPROVES, "no\n", &[]);
    assert!(exit == 0 && out.contains("a person rejected this call"), "{out}{shown}");
    // Who decides sees all of it: nothing is masked, cut or out of sight.
    let (to, blanks, far) = ("eve@evil.example 4111111111111111", " ".repeat(2000), format!("{}EVIL", "x".repeat(2100)));
    let hides = APPROVES.replace("Hello", &format!("\"{to}{blanks}{far}\\u200d\\u3164\""));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), &hides).unwrap();
    let (exit, _, shown) = at(folder.path(), &["run", "p.yaml"], "\u{4}", &[]);
    let whole = format!(r#""text":"{to}\{{2000 blanks}}{far}\u200D\u3164"}}; allow it?"#);
    assert!(exit == 8 && shown.contains(&whole), "{shown}");
    let run = &shown[shown.find("r_").unwrap()..][..28];
    let question = format!("\"keep\" wants to call notes.write with {{\"name\":\"note.txt\",{whole}");
    let told = format!("this question has {} characters; show all of it: flow approve r_", question.chars().count());
    assert!(shown.contains(&told), "{told}: {shown}");
    let (exit, out, shown) = at(folder.path(), &["approve", run.split(' ').next().unwrap(), "keep", "--show"], "", &[]);
    assert!(exit == 0 && out.ends_with(&format!("{whole}\n")), "{out}{shown}");
    let (_, out, _) = at(folder.path(), &["runs", "show"], "", &[]);
    assert!(
        out.contains("<EMAIL_1>")
            && out.contains("it has 2")
            && out.contains("--show     shows the whole call")
            && !out.contains("evil.example"),
        "{out}"
    );
    // Who cannot be asked, or gives no answer, has not agreed.
    for (typed, variables) in [("\u{4}", &[][..]), ("yes\n", &[("CI", "true")][..])] {
        let (exit, out, shown) = at_terminal(APPROVES, typed, variables);
        assert_eq!((exit, out.as_str()), (8, ""), "{shown}");
        assert!(shown.contains("says yes") && shown.contains("flow runs resume r_"), "{shown}");
    }
}

#[test]
fn a_wrong_option_is_reported_before_anything_is_asked() {
    for wrong in [["--now", "nonsense"], ["--deadline", "soon"]] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("p.yaml"), ASKS).unwrap();
        let (exit, _, shown) = at(folder.path(), &["run", "p.yaml", wrong[0], wrong[1]], "Ben\n2\n", &[]);
        assert!(exit == 2 && shown.contains(wrong[0]) && !shown.contains("Whom to greet"), "{shown}");
    }
}

const SENDS: &str = "flow: 1
name: sends
description: Sends before it ends.
steps:
  - { id: say, set: Hello }
  - { id: send, send: stdout, of: steps.say.output }
  - { id: after, needs: [send], set: More }
outputs: { text: \"{{ steps.say.output }}\" }
";

#[test]
fn the_reply_is_the_last_that_a_terminal_shows_and_stands_apart() {
    let folder = tempfile::tempdir().unwrap();
    let prints = SENDS.replace("  - { id: send, send: stdout, of: steps.say.output }\n", "").replace("needs: [send], ", "");
    for (pipeline, reply) in [(SENDS.to_owned(), "Hello"), (prints, "Hello")] {
        std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
        let (exit, shown) = at_window(folder.path(), &["run", "p.yaml"], 60, &[("NO_COLOR", "1")]);
        let shown: String =
            without_colours(&shown).lines().map(|line| line.rsplit('\r').next().unwrap_or_default().to_owned() + "\n").collect();
        assert_eq!(exit, 0, "{shown}");
        assert!(shown.contains("say: done\n") && shown.ends_with(&format!("\n\n{reply}\n")), "{shown:?}");
        let (_, shown) = at_window(folder.path(), &["run", "p.yaml"], 60, &[]);
        assert!(shown.contains("\u{1b}[2msay: done\u{1b}[0m\n"), "{shown:?}");
        let (exit, out, shown) = at(folder.path(), &["run", "p.yaml"], "", &[]);
        assert_eq!((exit, out), (0, format!("{reply}\n")), "piped: {shown}");
        assert!(shown.contains("after: done"), "{shown}");
        let (_, shown) = at_window(folder.path(), &["run", "p.yaml", "-q"], 60, &[]);
        assert_eq!(shown, format!("{reply}\n"));
    }
}

#[test]
fn findings_fit_the_window_and_their_places_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(70);
    let pipeline = SENDS.replace("set: Hello", &format!("set: \"日本 {long} {{{{ steps.nobody.output }}}} {long}\""));
    std::fs::write(folder.path().join("a_pipeline_with_quite_a_long_name.yaml"), pipeline).unwrap();
    let place = "a_pipeline_with_quite_a_long_name.yaml:5:99";
    for width in [40, 60, 120] {
        let (exit, shown) = at_window(folder.path(), &["validate", "a_pipeline_with_quite_a_long_name.yaml"], width, &[("NO_COLOR", "1")]);
        assert!(exit == 1 && shown.contains(place), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        for line in lines.iter().filter(|line| !line.contains(place)) {
            assert!(line.chars().count() + line.matches(['日', '本']).count() <= usize::from(width), "{width}: {line}\n{shown}");
        }
        let source = lines.iter().position(|line| line.starts_with("5 |")).unwrap();
        let before =
            |line: &str, what: &str| line.split_once(what).map(|(before, _)| before.chars().count() + before.matches(['日', '本']).count());
        assert_eq!(before(lines[source], "steps.nobody"), before(lines[source + 1], "^"), "{shown}");
    }
}
