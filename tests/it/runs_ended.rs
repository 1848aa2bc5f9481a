//! `flow runs cancel` and `flow runs resume --all`, through the program: runs that wait, that were killed, and that another process executes.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, command, flow, until};

const ASKS: &str = "flow: 1
name: asks
description: Asks a person before it says something.
steps:
  - { id: first, set: one }
  - { id: sure, approval: Go on? }
  - { id: last, set: \"{{ steps.first.output }} two\" }
outputs: { text: \"{{ steps.last.output }}\" }
";

const WAITS: &str = "flow: 1
name: waits
description: Waits between two steps.
inputs: { nap: { type: text, default: 60s } }
steps:
  - { id: first, set: one }
  - { id: nap, wait: \"{{ inputs.nap }}\" }
  - { id: last, set: two }
outputs: { text: \"{{ steps.last.output }}\" }
";

const FAILS: &str = "flow: 1
name: fails
description: Waits, then fails.
steps:
  - { id: nap, wait: 1s }
  - { id: last, stop: failed, reason: nothing }
";

pub(crate) fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("asks.yaml", ASKS), ("waits.yaml", WAITS), ("fails.yaml", FAILS)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Starts a run, and gives its process and id when `step` has started.
pub(crate) fn started(folder: &Path, file: &str, step: &str, more: &[&str]) -> (Child, String) {
    let events = folder.join(format!("{file}.events"));
    let name = events.display().to_string();
    let _ = std::fs::remove_file(&events);
    let mut call = command(folder, &[&["run", file, "--events", &name], more].concat());
    let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut run = None;
    until(&format!("{step} did not start"), || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before {step}");
        let text = std::fs::read_to_string(&events).unwrap_or_default();
        let mut all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        run = all
            .find(|event| event["type"] == "step_started" && event["step"] == step)
            .map(|event| event["run"].as_str().unwrap().to_owned());
        run.is_some()
    });
    (child, run.unwrap())
}

pub(crate) fn killed(folder: &Path, file: &str, step: &str, more: &[&str]) -> String {
    let (mut child, run) = started(folder, file, step, more);
    child.kill().unwrap();
    child.wait().unwrap();
    run
}

fn waiting(folder: &Path) -> String {
    let ran = flow(folder, &["run", "asks.yaml", "-q"]);
    assert_eq!(ran.exit, 8, "{}", ran.err);
    newest(folder)["run"].as_str().unwrap().to_owned()
}

pub(crate) fn newest(folder: &Path) -> Value {
    let list = flow(folder, &["runs", "list", "--json", "--limit", "1"]);
    serde_json::from_str::<Value>(&list.out).unwrap()[0].take()
}

fn says(ran: &Ran, exit: i32, text: &str) {
    assert_eq!((ran.exit, ran.err.contains(text)), (exit, true), "{text}: {}{}", ran.out, ran.err);
}

#[test]
fn a_run_that_waits_is_cancelled_and_its_question_is_not_answered_any_more() {
    let folder = project();
    let run = waiting(folder.path());
    says(&flow(folder.path(), &["runs", "cancel", &run]), 0, &format!("run {run} is cancelled"));
    assert_eq!(newest(folder.path())["state"], "cancelled");
    says(&flow(folder.path(), &["approve", &run, "sure"]), 2, "is not decided any more: the run is over");
    let shown = flow(folder.path(), &["runs", "show", &run]).out;
    assert!(!shown.contains("flow approve") && shown.contains("cancelled"), "{shown}");
    // Twice is once.
    says(&flow(folder.path(), &["runs", "cancel", &run]), 0, &format!("run {run} is cancelled already"));
    let resumed = flow(folder.path(), &["runs", "resume", &run]);
    says(&resumed, 130, "has ended; this is its outcome");
    assert!(resumed.out.is_empty() && resumed.err.contains("cancelled by a person"), "{}", resumed.err);
    assert_eq!(flow(folder.path(), &["doctor"]).exit, 0);
}

#[test]
fn a_killed_and_an_interrupted_run_are_cancelled_without_their_file() {
    let folder = project();
    let run = killed(folder.path(), "waits.yaml", "nap", &[]);
    let (mut child, interrupted) = started(folder.path(), "waits.yaml", "nap", &[]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    std::fs::remove_file(folder.path().join("waits.yaml")).unwrap();
    for run in [&run, &interrupted] {
        says(&flow(folder.path(), &["runs", "cancel", run]), 0, "is cancelled");
        let record: Value = serde_json::from_str(&flow(folder.path(), &["runs", "export", run]).out).unwrap();
        assert_eq!(record["status"], "cancelled");
        let steps: Vec<&str> = record["steps"].as_array().unwrap().iter().map(|step| step["status"].as_str().unwrap()).collect();
        assert!(steps.starts_with(&["succeeded", "cancelled"]), "{record}");
        assert_eq!(flow(folder.path(), &["runs", "resume", run]).exit, 130);
    }
}

#[test]
fn a_run_of_another_process_is_ended_in_order() {
    let folder = project();
    let (child, run) = started(folder.path(), "waits.yaml", "nap", &[]);
    let process = child.id();
    let cancelled = flow(folder.path(), &["runs", "cancel", &run]);
    says(&cancelled, 0, &format!("asking process {process} to end run {run}"));
    assert!(cancelled.err.contains(&format!("run {run} is cancelled")), "{}", cancelled.err);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.contains("cancelled by a person")), (Some(130), true), "{err}");
    assert_eq!(newest(folder.path())["state"], "cancelled");
    assert_eq!(flow(folder.path(), &["runs", "resume", &run]).exit, 130);
    let left: Vec<_> = std::fs::read_dir(folder.path().join(".flow")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".cancel")), "{left:?}");
}

#[test]
fn a_process_that_does_not_react_is_told_and_its_end_comes_later() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = project();
    let (mut child, run) = started(folder.path(), "waits.yaml", "nap", &[]);
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    says(&flow(folder.path(), &["runs", "cancel", &run]), 6, &format!("process {} does not react", child.id()));
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    says(&flow(folder.path(), &["runs", "cancel", &run]), 0, "is cancelled already");
}

#[test]
fn what_cannot_be_cancelled_is_told() {
    let folder = project();
    says(&flow(folder.path(), &["runs", "cancel", "r_1"]), 4, "no runs yet");
    assert_eq!(flow(folder.path(), &["run", "waits.yaml", "-q", "--input", "nap=1ms"]).exit, 0);
    assert_eq!(flow(folder.path(), &["run", "waits.yaml", "-q", "--input", "nap=1ms"]).exit, 0);
    let run = newest(folder.path())["run"].as_str().unwrap().to_owned();
    says(&flow(folder.path(), &["runs", "cancel", &run]), 2, "has ended (succeeded); there is nothing to cancel");
    says(&flow(folder.path(), &["runs", "cancel", "r_"]), 2, "2 runs begin with \"r_\"");
    says(&flow(folder.path(), &["runs", "cancel", "r_none"]), 2, "run \"r_none\" not found");
    let other = project();
    assert_eq!(flow(other.path(), &["run", "waits.yaml", "-q", "--input", "nap=1ms"]).exit, 0);
    says(&flow(other.path(), &["runs", "cancel", &run]), 2, "not found");
}

#[test]
fn all_that_was_cut_off_continues_and_one_failure_stops_no_other() {
    let folder = project();
    let at = folder.path();
    let nothing = flow(at, &["runs", "resume", "--all"]);
    says(&nothing, 4, "no runs yet");
    let first = killed(at, "fails.yaml", "nap", &[]);
    let changed = killed(at, "waits.yaml", "nap", &["--input", "nap=61s"]);
    std::fs::write(at.join("waits.yaml"), WAITS.replace("two", "three")).unwrap();
    let (mut child, interrupted) = started(at, "waits.yaml", "nap", &["--input", "nap=1s"]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let (open, answered, cancelled) = (waiting(at), waiting(at), waiting(at));
    assert_eq!(flow(at, &["approve", &answered, "sure", "-q"]).exit, 0);
    assert_eq!(flow(at, &["runs", "cancel", &cancelled, "-q"]).exit, 0);
    let all = flow(at, &["runs", "resume", "--all", "--no-progress"]);
    let lines: Vec<&str> = all.out.lines().collect();
    assert_eq!((all.exit, lines.len()), (6, 4), "{}{}", all.out, all.err);
    assert!(lines[0].starts_with(&format!("{first}  fails  failed")), "{}", all.out);
    assert!(lines[1].starts_with(&format!("{changed}  waits  not resumed: run {changed} cannot continue")), "{}", all.out);
    assert_eq!(lines[2], format!("{interrupted}  waits  succeeded"));
    assert_eq!(lines[3], format!("{answered}  asks  succeeded"));
    assert_eq!(flow(at, &["runs", "cancel", &changed]).exit, 0);
    let again = flow(at, &["runs", "resume", "--all"]);
    assert_eq!((again.exit, again.out.as_str()), (0, ""), "{}", again.err);
    says(&again, 0, "nothing to resume");
    let state = flow(at, &["runs", "list", "--status", "waiting", "--json"]).out;
    assert!(state.contains(&open), "{state}");
}

/// Replays a run of an unchanged file: its exit code and what it prints.
fn replayed(steps: &str, outputs: &str, more: &str) -> (Ran, Ran) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("p.yaml"), format!("flow: 1\nname: p\n{more}steps:\n{steps}outputs: {outputs}\n")).unwrap();
    let events = folder.path().join("events.jsonl").display().to_string();
    let ran = flow(folder.path(), &["run", "p.yaml", "--trust", "--events", &events]);
    let text = std::fs::read_to_string(&events).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let again = flow(folder.path(), &["runs", "replay", first["run"].as_str().unwrap()]);
    (ran, again)
}

#[test]
fn a_replay_has_the_details_and_the_failure_of_each_step_that_it_takes_from_the_record() {
    let query = "  - { id: q, sql: select 1 as a union select 2 }\n";
    let counted = format!("{query}  - {{ id: r, when: steps.q.details.row_count > 1, set: many }}\n");
    let waits = "  - { id: w, wait: 30ms }\n";
    let fails = "  - { id: h, http: \"GET http://127.0.0.1:1/x\", on_failure: continue }\n";
    let routed = format!(
        "{fails}  - {{ id: r, route: steps.h.error.message, cases: [{{ id: a, phrases: [no connection], set: later }}], otherwise: {{ set: other }} }}\n"
    );
    for (steps, outputs, said) in [
        (counted.as_str(), "\"{{ steps.r.output | default('few') }}\"", "many"),
        (query, "\"{{ steps.q.details.columns }}\"", "a"),
        (waits, "\"{{ steps.w.details.duration_ms }}\"", ""),
        (fails, "\"{{ steps.h.error.message }}\"", "127.0.0.1"),
        (routed.as_str(), "\"{{ steps.r.output }}\"", "later"),
    ] {
        let (ran, again) = replayed(steps, outputs, "");
        assert!(ran.exit == 0 && ran.out.contains(said), "{steps}{}{}", ran.out, ran.err);
        assert!(again.exit == 0 && again.out.contains("equal ("), "{steps}{}{}", again.out, again.err);
    }
}

#[test]
fn a_replay_of_a_wait_that_was_cut_does_not_say_that_the_run_is_different() {
    let two = "  - { id: wa, wait: 300ms }\n  - { id: wb, wait: 300ms }\n  - { id: s, set: x }\n";
    let group = "  - { id: g, timeout: 400ms, on_failure: continue, steps: [{ id: wa, wait: 300ms }, { id: wb, wait: 300ms }, { id: s, set: x }] }\n";
    let group_output = "\"{{ steps.g.output | default('none') }}\"";
    for (steps, outputs, more) in [(two, "\"{{ steps.s.output }}\"", "limits: { deadline: 400ms }\n"), (group, group_output, "")] {
        let (_, again) = replayed(steps, outputs, more);
        assert_eq!(again.exit, 6, "{}{}", again.out, again.err);
        let all = again.out + &again.err;
        assert!(all.contains("wb\" was cancelled, and the record does not say how far it was") && !all.contains("different"), "{all}");
    }
}
