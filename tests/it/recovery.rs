//! Killed processes, through the program: what was done is kept, and the run continues.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::{Ran, command, ran, until};

struct Place(TempDir);

impl Place {
    fn with(pipeline: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        std::fs::write(place.file(), pipeline).unwrap();
        std::fs::write(place.0.path().join("flow.toml"), "").unwrap();
        place
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("p.yaml")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        command(self.0.path(), arguments)
    }

    fn say(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// Starts the pipeline and waits until `step` has started, as its events tell; then it is killed.
    fn killed_in(&self, step: &str) -> String {
        let events = self.0.path().join("events.jsonl");
        let mut child =
            self.command(&["run", "p.yaml", "--events", "events.jsonl"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let run = wait_for(&events, step, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        run
    }
}

fn wait_for(events: &Path, step: &str, child: &mut Child) -> String {
    let mut run = None;
    until(&format!("{step} did not start"), || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        let text = std::fs::read_to_string(events).unwrap_or_default();
        let mut events = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        run = events
            .find(|event| event["type"] == "step_started" && event["step"] == step)
            .map(|event| event["run"].as_str().unwrap().to_string());
        run.is_some()
    });
    run.unwrap()
}

const WAITS: &str = "flow: 1
name: waits
description: Waits between two steps.
steps:
  - { id: first, set: one }
  - { id: nap, wait: 3s }
  - { id: last, set: \"{{ steps.first.output }} two\" }
outputs: { text: \"{{ steps.last.output }}\" }
";

#[test]
fn a_killed_run_is_in_the_list_and_goes_on_where_it_was() {
    let place = Place::with(WAITS);
    let run = place.killed_in("nap");
    assert!(place.say(&["runs", "list"]).out.contains("  killed  "));
    assert_eq!(place.say(&["runs", "show"]).out.lines().next(), Some(&*format!("{run}  waits  not over")));
    let resumed = place.say(&["runs", "resume", &run]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (0, "one two\n"), "{}", resumed.err);
    let shown = place.say(&["runs", "export", &run]).out;
    let record: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(record["status"], "succeeded");
    assert_eq!(record["steps"].as_array().unwrap().len(), 3);
    let again = place.say(&["runs", "resume", &run]);
    assert_eq!((again.exit, again.out.as_str(), again.err.contains("has ended")), (0, "one two\n", true), "{}", again.err);
}

#[test]
fn one_process_runs_a_run_and_a_changed_file_is_refused() {
    let place = Place::with(&WAITS.replace("3s", "30s"));
    let events = place.0.path().join("events.jsonl");
    let mut child =
        place.command(&["run", "p.yaml", "--events", "events.jsonl"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let run = wait_for(&events, "nap", &mut child);
    let second = place.say(&["runs", "resume", &run]);
    assert_eq!(second.exit, 2, "{}", second.err);
    assert!(second.err.contains(&format!("is being run by process {}", child.id())), "{}", second.err);
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(place.file(), WAITS.replace("two", "three")).unwrap();
    let changed = place.say(&["runs", "resume", &run]);
    assert_eq!((changed.exit, changed.out.as_str()), (6, ""));
    assert!(changed.err.contains("has changed since it began\n  changed: p.yaml\n"), "{}", changed.err);
}

#[test]
fn a_once_step_in_doubt_is_decided_by_a_person() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // It takes connections and never answers.
    let address = port.local_addr().unwrap();
    let pipeline = format!(
        "flow: 1\nname: pays\ndescription: Pays once.\nsteps:\n  - {{ id: pay, once: true, http: \"POST http://{address}/pay\", body: {{ sum: 5 }} }}\noutputs: {{ done: \"{{{{ steps.pay.status }}}}\" }}\n"
    );
    let place = Place::with(&pipeline);
    assert_eq!(place.say(&["trust", "p.yaml"]).exit, 0);
    let run = place.killed_in("pay");
    let paused = place.say(&["runs", "resume", &run]);
    assert_eq!((paused.exit, paused.out.as_str()), (8, ""), "{}", paused.err);
    assert!(paused.err.contains(&format!("flow approve {run} pay")), "{}", paused.err);
    let wrong = place.say(&["approve", &run, "payy"]);
    assert_eq!((wrong.exit, wrong.err.contains("waits for no decision")), (2, true), "{}", wrong.err);
    assert_eq!(place.say(&["approve", &run, "pay", "--reject", "--comment", "It was paid by hand."]).exit, 0);
    assert_eq!(place.say(&["approve", &run, "pay"]).exit, 2);
    let rejected = place.say(&["runs", "resume", &run]);
    assert_eq!((rejected.exit, rejected.err.contains("rejected")), (6, true), "{}", rejected.err);
}

#[test]
fn a_once_step_that_has_happened_is_answered_with_its_output_and_each_wrong_answer_is_told() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    let pipeline = format!(
        "flow: 1\nname: pays\ndescription: Pays once.\nsteps:\n  - {{ id: pay, once: true, timeout: 30s, http: \"POST http://{address}/pay\", body: {{ sum: 5 }} }}\noutputs: {{ receipt: \"{{{{ steps.pay.output.body.receipt }}}}\" }}\n"
    );
    let place = Place::with(&pipeline);
    assert_eq!(place.say(&["trust", "p.yaml"]).exit, 0);
    let run = place.killed_in("pay");
    let told = |arguments: &[&str], exit: i32, text: &str| {
        let said = place.say(&[&["approve", &run, "pay"], arguments].concat());
        assert_eq!((said.exit, said.err.contains(text)), (exit, true), "{}", said.err);
    };
    // Too early: nobody has asked yet.
    told(&[], 2, &format!("waits for no decision; flow runs resume {run} asks what must be decided"));
    assert_eq!(place.say(&["runs", "resume", &run]).exit, 8);
    // The record says what must be decided, and each answer's command.
    let shown = place.say(&["runs", "show", &run]).out;
    for answer in ["   ", " --reject", " --happened OUTPUT"] {
        assert!(shown.contains(&format!("  flow approve {run} pay{answer}")), "{shown}");
    }
    assert!(
        shown.contains("a person decides: \"pay\" was started and may have acted") && shown.contains("then: flow runs resume"),
        "{shown}"
    );
    told(&["--happened", "{\"paid\": true}"], 2, "this is not what \"pay\" gives: an http step returns { status, headers, body }");
    told(&["--happened", "paid"], 2, "it is not valid JSON");
    told(&["--happened", "@none.json"], 2, "cannot read none.json");
    std::fs::write(place.0.path().join("paid.json"), r#"{"status": 201, "headers": {}, "body": {"receipt": "r-7"}}"#).unwrap();
    told(&["--happened", "@paid.json"], 0, "noted");
    // Twice: the first answer holds.
    told(&[], 2, "has been decided already");
    let resumed = place.say(&["runs", "resume", &run]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (0, "r-7\n"), "{}", resumed.err);
    told(&["--reject"], 2, "has been decided already");
    assert!(!place.say(&["runs", "show", &run]).out.contains("a person decides"));
}

#[test]
fn nobody_decides_about_a_run_that_is_over() {
    let place =
        Place::with("flow: 1\nname: p\ndescription: Ends.\nsteps:\n  - { id: a, set: x }\noutputs: { text: \"{{ steps.a.output }}\" }\n");
    assert_eq!(place.say(&["run", "p.yaml"]).exit, 0);
    let listed = place.say(&["runs", "list"]).out;
    let said = place.say(&["approve", listed.split_whitespace().next().unwrap(), "a"]);
    assert_eq!((said.exit, said.err.contains("waits for no decision: the run has ended")), (2, true), "{}", said.err);
}

#[test]
fn a_call_that_needs_approval_waits_for_it_across_processes() {
    let pipeline = "flow: 1\nname: keeps\ndescription: Writes a note when a person allows it.\n\
        tools: { notes: { file: ., allow: [write], approve: true } }\n\
        steps:\n  - { id: keep, tool: notes.write, with: { name: note.txt, text: Hello } }\n\
        outputs: { done: \"{{ steps.keep.status }}\" }\n";
    for (arguments, exit, is_written) in [(vec![], 0, true), (vec!["--reject"], 6, false)] {
        let place = Place::with(pipeline);
        let note = place.0.path().join("note.txt");
        let paused = place.say(&["run", "p.yaml"]);
        assert_eq!((paused.exit, paused.out.as_str(), note.exists()), (8, "", false), "{}", paused.err);
        assert!(paused.err.contains("wants to call notes.write with"), "{}", paused.err);
        let run = paused.err.split_whitespace().find(|word| word.starts_with("r_")).unwrap().to_string();
        // Going on without an answer changes nothing.
        assert_eq!(place.say(&["runs", "resume", &run]).exit, 8);
        assert_eq!(place.say(&[&["approve", &run, "keep"], &arguments[..]].concat()).exit, 0);
        let resumed = place.say(&["runs", "resume", &run]);
        assert_eq!((resumed.exit, note.exists()), (exit, is_written), "{}", resumed.err);
    }
}

#[test]
fn a_run_that_a_signal_ended_says_how_to_go_on_and_goes_on() {
    let pipeline = WAITS.to_string() + "finally:\n  - { id: tidy, set: done }\n";
    use nix::sys::signal::Signal;
    crate::program::hear_hangups();
    for (signal, exit) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let place = Place::with(&pipeline);
        let events = place.0.path().join("events.jsonl");
        let mut child =
            place.command(&["run", "p.yaml", "--events", "events.jsonl"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let run = wait_for(&events, "nap", &mut child);
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(exit), "{told}");
        assert!(told.contains(&format!("flow runs resume {run}")), "{told}");
        assert!(place.say(&["runs", "list"]).out.contains("cancelled"));
        let resumed = place.say(&["runs", "resume", &run]);
        assert_eq!((resumed.exit, resumed.out.as_str()), (0, "one two\n"), "{}", resumed.err);
        assert!(place.say(&["runs", "list"]).out.contains("succeeded"));
    }
}

#[test]
fn of_many_processes_that_go_on_with_one_run_one_does() {
    let place = Place::with(&WAITS.replace("3s", "4s"));
    let run = place.killed_in("nap");
    let start = || place.command(&["runs", "resume", &run]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<Child> = (0..20).map(|_| start()).collect();
    let ends: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    // A process that came when the winner was already through reports the outcome.
    let has_run = |end: &std::process::Output| end.status.code() == Some(0) && !String::from_utf8_lossy(&end.stderr).contains("has ended");
    let (told, lost): (Vec<_>, Vec<_>) = ends.iter().partition(|end| end.status.code() == Some(0));
    assert_eq!(told.iter().filter(|end| has_run(end)).count(), 1);
    assert!(told.iter().all(|end| end.stdout == b"one two\n"));
    for end in lost {
        let told = String::from_utf8_lossy(&end.stderr);
        let is_held = end.status.code() == Some(2) && told.contains("is being run by process");
        assert!(is_held, "{:?}: {told}", end.status);
    }
    let record: serde_json::Value = serde_json::from_str(&place.say(&["runs", "export", &run]).out).unwrap();
    assert_eq!((&record["status"], record["steps"].as_array().unwrap().len()), (&"succeeded".into(), 3));
}

#[test]
fn a_run_that_another_process_runs_is_not_removed() {
    let place = Place::with(&WAITS.replace("3s", "30s"));
    let events = place.0.path().join("events.jsonl");
    let mut child =
        place.command(&["run", "p.yaml", "--events", "events.jsonl"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let run = wait_for(&events, "nap", &mut child);
    let removed = place.say(&["runs", "rm", &run]);
    assert_eq!((removed.exit, removed.err.contains("is being run by process")), (2, true), "{}", removed.err);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.say(&["runs", "rm", &run]).exit, 0);
}

#[test]
fn nobody_who_reads_standard_error_ends_the_run() {
    let place = Place::with(&WAITS.replace("3s", "300ms"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = place.command(&["run", "p.yaml"]).stderr(Stdio::from(full)).output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(0), b"one two\n".as_slice()));
}
