//! Runs whose file has changed, and `flow runs fork`: what changed, which steps that touches, which are taken over.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, flow};
use crate::runs_ended::{killed, newest};

const PIPELINE: &str = "flow: 1
name: letters
description: Writes a letter from two sources.
models: { default: { provider: scripted, replies: replies.yaml } }
agents: { writer: { instructions: You write letters. } }
inputs: { nap: { type: text, default: 1ms }, tone: { type: text, default: warm }, topic: { type: text, default: rain } }
steps:
  - { id: facts, agent: writer, prompt: 'Facts about {{ inputs.topic }}.' }
  - { id: beside, needs: [], set: beside }
  - { id: nap, needs: [facts], wait: '{{ inputs.nap }}' }
  - { id: letter, agent: writer, prompt: 'A {{ inputs.tone }} letter: {{ steps.facts.output }}' }
  - { id: last, needs: [letter, beside], set: '{{ steps.letter.output }}!' }
outputs: { text: '{{ steps.last.output }}' }
";

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("flow.toml", ""),
        ("p.yaml", PIPELINE),
        ("replies.yaml", "flow: 1\nreplies:\n  facts: { text: It rained. }\n  letter: { text: Dear Ana }\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn run(folder: &Path) -> String {
    let ran = flow(folder, &["run", "p.yaml", "-q"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "Dear Ana!\n"), "{}", ran.err);
    newest(folder)["run"].as_str().unwrap().to_owned()
}

fn change(folder: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.join("p.yaml")).unwrap();
    assert!(text.contains(from));
    std::fs::write(folder.join("p.yaml"), text.replace(from, to)).unwrap();
}

fn says(ran: &Ran, exit: i32, text: &str) {
    assert_eq!((ran.exit, ran.err.contains(text)), (exit, true), "{text}: {}{}", ran.out, ran.err);
}

/// The events of a run that began anew, by steps; those that were taken over come before `run_resumed`.
fn after_resume(folder: &Path, run: &str) -> (Value, Vec<String>) {
    let record: Value = serde_json::from_str(&flow(folder, &["runs", "export", run]).out).unwrap();
    let asked = record["interactions"].as_array().unwrap().iter().map(|one| one["step"].as_str().unwrap_or_default().to_owned()).collect();
    (record, asked)
}

#[test]
fn a_resume_shows_what_changed_and_which_finished_steps_that_touches() {
    let folder = project();
    let at = folder.path();
    let run = killed(at, "p.yaml", "nap", &["--input", "nap=60s"]);
    change(at, "Facts about", "Some facts about");
    let refused = flow(at, &["runs", "resume", &run]);
    says(&refused, 6, "has changed since it began\n  changed: p.yaml\nfinished steps that it touches: facts\n");
    assert!(
        refused.err.contains("p.yaml, as it was and as it is:\n") && refused.err.contains("prompt: '{+Some facts+} about")
            || refused.err.contains("{+"),
        "{}",
        refused.err
    );
    let coloured = flow(at, &["runs", "resume", &run, "--color", "always"]);
    assert!(coloured.err.contains("\x1b[31m") && coloured.err.contains("\x1b[32m"), "{}", coloured.err);
    std::fs::write(at.join("p.yaml"), PIPELINE.replace("output }}!", "output }}?")).unwrap();
    says(&flow(at, &["runs", "resume", &run]), 6, "no finished step is touched by that");
    std::fs::write(at.join("p.yaml"), PIPELINE).unwrap();
    says(&flow(at, &["runs", "cancel", &run]), 0, "is cancelled");
}

#[test]
fn a_key_in_a_changed_file_is_not_shown() {
    let folder = project();
    let at = folder.path();
    let secret = "hunter2-Canary-93817";
    std::fs::write(at.join("env"), format!("APP_TOKEN={secret}\n")).unwrap();
    change(at, "inputs: {", "secrets: { APP_TOKEN: Token of the app. }\ninputs: {");
    change(at, "You write letters.", &format!("You write letters. {secret}"));
    let run = killed(at, "p.yaml", "nap", &["--input", "nap=60s", "--env-file", "env", "--trust"]);
    change(at, "You write letters.", "You write short letters.");
    let refused = flow(at, &["runs", "resume", &run, "--env-file", "env", "--trust"]);
    says(&refused, 6, "as it was and as it is");
    assert!(!refused.err.contains(secret) && refused.err.contains("***"), "{}", refused.err);
    let store = std::fs::read(at.join(".flow/runs.db")).unwrap();
    assert!(!store.windows(secret.len()).any(|part| part == secret.as_bytes()));
}

#[test]
fn the_files_of_many_runs_are_kept_once_and_go_with_the_last_of_them() {
    let folder = project();
    let at = folder.path();
    let runs: Vec<String> = (0..3).map(|_| run(at)).collect();
    let count = |table: &str| {
        let store = rusqlite::Connection::open(at.join(".flow/runs.db")).unwrap();
        store.query_row(&format!("select count(*) from {table}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((count("definitions"), count("defined")), (1, 3));
    change(at, "You write", "You always write");
    let other = run(at);
    assert_eq!((count("definitions"), count("defined")), (2, 4));
    assert_eq!(flow(at, &["runs", "rm", &runs[0], &other]).exit, 0);
    assert_eq!((count("definitions"), count("defined")), (1, 2));
    assert_eq!(flow(at, &["runs", "rm", "--all", "--yes"]).exit, 0);
    assert_eq!((count("definitions"), count("defined")), (0, 0));
}

#[test]
fn a_fork_runs_a_step_and_all_that_follows_anew_and_nothing_else() {
    let folder = project();
    let at = folder.path();
    let origin = run(at);
    let forked = flow(at, &["runs", "fork", &origin, "--from", "letter", "--no-progress"]);
    assert_eq!((forked.exit, forked.out.as_str()), (0, "Dear Ana!\n"), "{}", forked.err);
    let new = newest(at)["run"].as_str().unwrap().to_owned();
    says(&forked, 0, &format!("run {new} reuses 3 finished steps of run {origin}"));
    assert_ne!(new, origin);
    let (record, _) = after_resume(at, &new);
    assert_eq!(record["origin"], serde_json::json!({ "run": origin, "from": "letter" }));
    assert_eq!((record["status"].as_str(), record["steps"].as_array().unwrap().len()), (Some("succeeded"), 5));
    assert!(flow(at, &["runs", "show", &new]).out.contains(&format!("forked from {origin} at letter")));
    assert_eq!(flow(at, &["doctor"]).exit, 0);
    // The old run is what it was.
    assert!(flow(at, &["runs", "show", &origin]).out.contains("succeeded"));
}

#[test]
fn a_fork_of_a_killed_run_continues_where_that_was_cut_off() {
    let folder = project();
    let at = folder.path();
    let origin = killed(at, "p.yaml", "nap", &["--input", "nap=60s"]);
    says(&flow(at, &["runs", "fork", &origin, "--from", "nap", "--input", "nap=1ms"]), 0, "reuses 2 finished steps of run");
    says(
        &flow(at, &["runs", "fork", &origin, "--from", "facts", "--input", "topic=snow", "--input", "nap=1ms"]),
        0,
        "reuses 1 finished step",
    );
    says(&flow(at, &["runs", "cancel", &origin]), 0, "is cancelled");
}

#[test]
fn a_fork_takes_a_changed_file_if_what_it_takes_over_is_the_same() {
    let folder = project();
    let at = folder.path();
    let origin = run(at);
    change(at, "output }}!", "output }}?");
    let forked = flow(at, &["runs", "fork", &origin, "--from", "last", "--no-progress"]);
    assert_eq!((forked.exit, forked.out.as_str()), (0, "Dear Ana?\n"), "{}", forked.err);
    change(at, "Facts about", "Some facts about");
    let refused = flow(at, &["runs", "fork", &origin, "--from", "last"]);
    says(&refused, 6, "finished steps that it touches: facts");
    assert!(refused.err.contains("as it was and as it is"), "{}", refused.err);
    assert_eq!(flow(at, &["runs", "fork", &origin, "--from", "facts", "-q"]).exit, 0);
}

#[test]
fn what_cannot_be_forked_is_told() {
    let folder = project();
    let at = folder.path();
    says(&flow(at, &["runs", "fork", "r_1", "--from", "facts"]), 4, "no runs yet");
    let origin = run(at);
    says(&flow(at, &["runs", "fork", "r_none", "--from", "facts"]), 2, "run \"r_none\" not found");
    says(&flow(at, &["runs", "fork", &origin, "--from", "fakts"]), 2, "the pipeline has no step \"fakts\"; did you mean \"facts\"?");
    says(&flow(at, &["runs", "fork", &origin, "--from", "letter/x"]), 2, "--from letter");
    says(
        &flow(at, &["runs", "fork", &origin, "--from", "last", "--input", "tone=cold"]),
        2,
        "step \"letter\", which would be reused, reads it",
    );
    says(&flow(at, &["runs", "fork", &origin, "--from", "last", "--input", "tune=cold"]), 2, "\"tune\" is not an input");
    std::fs::remove_file(at.join("p.yaml")).unwrap();
    says(&flow(at, &["runs", "fork", &origin, "--from", "last"]), 6, "no longer exists");
}

#[test]
fn a_replay_asks_nobody_and_shows_the_first_place_that_is_not_what_it_was() {
    let folder = project();
    let at = folder.path();
    let origin = run(at);
    // Whatever the model would say now does not count.
    std::fs::write(at.join("replies.yaml"), "flow: 1\nreplies:\n  facts: { text: It snowed. }\n  letter: { text: Dear Bob }\n").unwrap();
    let equal = flow(at, &["runs", "replay", &origin]);
    assert_eq!(equal.exit, 0, "{}{}", equal.out, equal.err);
    assert_eq!(equal.out, format!("{origin}  equal (succeeded); 1 step that calls something was taken from the record\n"));
    change(at, "output }}!", "output }}?");
    let other = flow(at, &["runs", "replay", &origin]);
    assert_eq!(other.exit, 1, "{}{}", other.out, other.err);
    assert!(other.out.starts_with(&format!("{origin}  different: the first difference is in step \"last\"")), "{}", other.out);
    assert!(other.out.contains("Dear Ana[-!-]") && other.out.contains("Dear Ana{+?+}"), "{}", other.out);
    says(&other, 1, "have changed since it began");
    change(at, "  - { id: letter,", "  - { id: more, agent: writer, prompt: More. }\n  - { id: letter,");
    says(&flow(at, &["runs", "replay", &origin]), 6, "step \"more\" asks its model more often than it did then");
    assert_eq!(flow(at, &["runs", "list", "--json"]).out.matches("\"run\"").count(), 1, "a replay is no run");
    let open = killed(at, "p.yaml", "nap", &["--input", "nap=60s"]);
    says(&flow(at, &["runs", "replay", &open]), 6, "it has not ended");
    says(&flow(at, &["runs", "replay", "r_none"]), 2, "not found");
}

#[test]
fn what_an_agent_was_told_of_each_call_is_told_again_in_a_replay() {
    let pipeline = "flow: 1
name: asks
description: An agent that calls one tool again and again.
models: { default: { provider: scripted, replies: said.yaml } }
data: { facts: { file: facts.csv } }
agents: { clerk: { instructions: You look facts up., tools: [look, stamp.read], max_turns: 9 } }
tools: { look: { sql: [facts] }, stamp: { file: ., allow: [read] } }
steps:
  - { id: first, agent: clerk, prompt: Look them up. }
  - { id: each, agent: clerk, prompt: \"Look {{ item }} up.\", for_each: [a, b], max_parallel: 1 }
outputs: { first: \"{{ steps.first.details.tool_calls | length }}\", each: \"{{ steps.each.output }}\" }
";
    let look = |name: &str| format!("{{ tool: look, with: {{ query: \"select fact from facts where name = '{name}'\" }} }}");
    let (a, b, none, item) = (look("a"), look("b"), look("none"), look("{{ item }}"));
    let said = format!(
        "flow: 1
replies:
  first:
    - calls: [{a}, {b}, {{ tool: stamp.read, with: {{ name: stamp.txt }} }}, {{ tool: stamp.read, with: {{ name: no.txt }} }}]
    - calls: [{{ tool: look, with: {{ wrong: 7 }} }}, {none}, {a}]
    - Done.
  each: [{{ calls: [{item}] }}, \"Looked {{{{ item }}}} up.\", {{ calls: [{item}] }}, \"Looked {{{{ item }}}} up.\"]
"
    );
    let place = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let facts = ("facts.csv", "name,fact\na,alpha\nb,beta\n");
    let files = [("flow.toml", ""), ("asks.yaml", pipeline), ("said.yaml", &said), facts, ("stamp.txt", "one")];
    files.iter().for_each(|(name, text)| put(name, text));
    let ran = flow(place.path(), &["run", "asks.yaml", "--trust"]);
    assert!(ran.exit == 0 && ran.out.contains("\"first\": 7"), "{}{}", ran.out, ran.err);
    put("facts.csv", "name,fact\na,other\n");
    let runs: Value = serde_json::from_str(&flow(place.path(), &["runs", "list", "--json"]).out).unwrap();
    let run = runs[0]["run"].as_str().unwrap();
    let equal = flow(place.path(), &["runs", "replay", run]);
    assert!(equal.exit == 0 && equal.out.contains("equal (succeeded)"), "{}{}", equal.out, equal.err);
    // A change of the file shows.
    put("asks.yaml", &pipeline.replace("max_turns: 9", "max_turns: 1"));
    let other = flow(place.path(), &["runs", "replay", run]);
    assert_eq!(other.exit, 1, "{}{}", other.out, other.err);
}
