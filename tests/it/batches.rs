//! Batches: what the last line, `flow runs show` and the page of a run say of the elements of a `for_each`.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::flow;
use crate::runs_ended::newest;

/// Of 30 letters three are too long, and 16 cannot be written.
const PIPELINE: &str = "flow: 1
name: letters
description: Writes letters.
scorecards:
  card: { criteria: [{ id: short, description: The text is short., check: { max_length: 12 } }] }
steps:
  - { id: list, set: '{{ range(30) | list }}' }
  - id: each
    for_each: steps.list.output
    on_failure: continue
    steps:
      - { id: draft, set: \"letter {{ 10 // (1 if item < 14 else 0) }}{{ ' too long' if item < 3 else '' }}\" }
      - { id: check, gate: card, of: steps.draft.output }
      - { id: out, send: stdout, of: steps.check.output }
  - { id: sum, set: \"{{ steps.each.output | selectattr('status', 'eq', 'succeeded') | list | length }}\" }
outputs: { sent: '{{ steps.sum.output }}' }
";

const COUNT: &str = "11 of 30 sent, 19 failed: 16 wrong_type, 3 not met";

fn project(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("p.yaml", pipeline)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn id(folder: &Path) -> String {
    newest(folder)["run"].as_str().unwrap().to_owned()
}

#[test]
fn the_last_line_of_a_run_counts_the_elements_by_their_reasons() {
    let folder = project(PIPELINE);
    let ran = flow(folder.path(), &["run", "p.yaml", "--color", "never"]);
    let last = format!("quality_not_met: each: {COUNT}; gate \"each/check\" was not met 3 times (short); flow runs show shows why\n");
    assert!(ran.err.ends_with(&last) && ran.err.contains(&format!("\neach: {COUNT}")), "{}", ran.err);
    let shown = flow(folder.path(), &["runs", "show"]);
    assert!(shown.out.contains(&format!("elements: each: {COUNT}\n")), "{}", shown.out);
    let record: Value = serde_json::from_str(&flow(folder.path(), &["runs", "show", "--json"]).out).unwrap();
    let failed = serde_json::json!([{ "kind": "wrong_type", "count": 16 }, { "kind": "quality", "count": 3 }]);
    assert_eq!((&record["batches"][0]["failed"], &record["batches"][0]["sent"]), (&failed, &11.into()));
}

#[test]
fn a_run_that_succeeded_or_stopped_counts_its_elements_too() {
    let folder = project(&PIPELINE.replace("range(30)", "range(3, 14)"));
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.exit == 0 && ran.err.ends_with("succeeded: each: 11 of 11 sent\n"), "{}", ran.err);
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).err, "");
    let folder = project(
        &PIPELINE
            .replace("range(30)", "range(3, 15)")
            .replace("    on_failure: continue\n", "")
            .replace(" | selectattr('status', 'eq', 'succeeded') | list", ""),
    );
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.err.contains("; each: 11 of 12 sent, 1 failed: wrong_type\n"), "{}", ran.err);
}

#[test]
fn the_failed_elements_of_a_long_batch_come_first_and_the_others_are_counted() {
    let folder = project(PIPELINE);
    assert_eq!(flow(folder.path(), &["run", "p.yaml", "-q"]).exit, 5);
    let shown = flow(folder.path(), &["runs", "show"]).out;
    for line in [
        "sent:     11 × 1 part to stdout (each/out)\n",
        "\n  each[0] 0  not met at check: criteria not met: short\n",
        "\n  each[14] 14  wrong_type at draft: ",
        "  each/draft               14 of 30 succeeded, 16 failed: wrong_type\n",
        "\nto run these again: flow runs retry r_",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("each[5]") && shown.lines().count() < 60, "{shown}");
    let whole = flow(folder.path(), &["runs", "show", "--verbose"]).out;
    assert!(whole.contains("\n  each[5]/out ") && whole.lines().count() > 120, "{whole}");
}

/// Reads a note for each element; whether it is there is no part of the pipeline.
const NOTES: &str = "flow: 1
name: notes
description: Reads notes and says them.
inputs: { nap: { type: text, default: 1ms } }
steps:
  - id: each
    for_each: [{ id: ant }, { id: bee }, { id: cat }, { id: dog }]
    max_parallel: 1
    on_failure: continue
    steps:
      - { id: before, send: stdout, of: item.id }
      - { id: note, read: 'notes/{{ item.id }}.txt', needs: [before] }
      - { id: nap, wait: '{{ inputs.nap }}' }
      - { id: text, set: 'after {{ item.id }}', needs: [nap] }
      - { id: out, send: stdout, of: steps.text.output }
  - { id: count, set: \"{{ steps.each.output | selectattr('status', 'eq', 'succeeded') | list | length }}\" }
outputs: { read: '{{ steps.count.output }}' }
";

/// A project of which the notes of two elements are missing, and its run.
fn partly() -> (TempDir, String) {
    let folder = project(NOTES);
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    ["ant", "dog"].iter().for_each(|name| std::fs::write(folder.path().join(format!("notes/{name}.txt")), "note").unwrap());
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.err.contains("partial: each: 2 of 4 sent, 2 failed: ") && ran.exit == 0, "{}{}", ran.out, ran.err);
    let run = id(folder.path());
    (folder, run)
}

fn write_notes(folder: &Path) {
    ["bee", "cat"].iter().for_each(|name| std::fs::write(folder.join(format!("notes/{name}.txt")), "note").unwrap());
}

#[test]
fn a_retry_runs_the_failed_elements_alone() {
    let (folder, run) = partly();
    let at = folder.path();
    let again = flow(at, &["runs", "retry", &run, "--no-progress"]);
    let left = id(at);
    assert!(
        again.err.contains("runs 2 elements of each again")
            && again.err.contains("partial: each: 2 of 4 sent (2 in an earlier run), 2 failed"),
        "{}",
        again.err
    );
    write_notes(at);
    // What acted already is not done again, and nothing of the elements that succeeded is.
    let refused = flow(at, &["runs", "retry", &run]);
    assert_eq!(
        (refused.exit, refused.err.contains(&format!("was retried by run {left}; to retry what failed there: flow runs retry {left}"))),
        (2, true),
        "{}",
        refused.err
    );
    let last = flow(at, &["runs", "retry", &left, "--no-progress"]);
    assert_eq!((last.exit, last.out.as_str()), (0, "after bee\n\nafter cat\n"), "{}", last.err);
    assert!(last.err.ends_with("succeeded: each: 4 of 4 sent (2 in an earlier run)\n"), "{}", last.err);
    let shown = flow(at, &["runs", "show"]).out;
    assert!(shown.contains(&format!("origin:   2 elements of each again that did not succeed in {left}\n")), "{shown}");
    assert!(shown.contains("reply:    {\"read\":4}") || shown.contains("\"read\": 4"), "{shown}");
    let replayed = flow(at, &["runs", "replay", &id(at)]);
    assert_eq!((replayed.exit, replayed.out.contains("equal (succeeded)")), (0, true), "{}{}", replayed.out, replayed.err);
    let nothing = flow(at, &["runs", "retry", &id(at)]);
    assert_eq!((nothing.exit, nothing.err.contains("nothing to retry in run r_")), (0, true), "{}", nothing.err);
    assert_eq!(flow(at, &["doctor"]).exit, 0);
    // Without the run between them, the first one does not act again what the last one did.
    let newest = id(at);
    assert_eq!(flow(at, &["runs", "rm", &left]).exit, 0);
    let refused = flow(at, &["runs", "retry", &run]);
    let told = format!("may have been retried: run {newest} has its inputs, and retried a run that is no longer kept");
    assert_eq!((refused.exit, refused.err.contains(&told), id(at)), (2, true, newest), "{}", refused.err);
}

#[test]
fn a_retry_that_was_killed_continues_and_repeats_nothing() {
    let (folder, run) = partly();
    let at = folder.path();
    write_notes(at);
    std::fs::write(at.join("notes/bee.txt"), "note").unwrap();
    let mut child = crate::program::command(at, &["runs", "retry", &run, "-q"]).spawn().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let newest = id(at);
    let ended = if newest == run { flow(at, &["runs", "retry", &run]) } else { flow(at, &["runs", "resume", &newest]) };
    assert_eq!(ended.exit, 0, "{}", ended.err);
    let record: Value = serde_json::from_str(&flow(at, &["runs", "show", "--json"]).out).unwrap();
    assert_eq!((&record["status"], &record["outputs"]["read"]), (&"succeeded".into(), &4.into()));
}

#[test]
fn a_retry_says_why_it_cannot_be() {
    let (folder, run) = partly();
    let at = folder.path();
    let text = std::fs::read_to_string(at.join("p.yaml")).unwrap();
    std::fs::write(at.join("p.yaml"), text.replace("after {{", "later {{")).unwrap();
    let changed = flow(at, &["runs", "retry", &run]);
    assert_eq!((changed.exit, changed.err.contains("finished steps that it touches: each")), (6, true), "{}", changed.err);
    // What comes after the elements may have changed.
    std::fs::write(at.join("p.yaml"), text.replace("| list | length", "| list | length + 10")).unwrap();
    write_notes(at);
    let other = flow(at, &["runs", "retry", &run, "--no-progress"]);
    assert_eq!((other.exit, other.out.as_str()), (0, "after bee\n\nafter cat\n"), "{}", other.err);
    let folder = crate::runs_ended::project();
    let (mut child, waits) = crate::runs_ended::started(folder.path(), "waits.yaml", "nap", &[]);
    let running = flow(folder.path(), &["runs", "retry", &waits]);
    assert_eq!((running.exit, running.err.contains("is running in process")), (2, true), "{}", running.err);
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = flow(folder.path(), &["runs", "retry", &waits]);
    assert_eq!((killed.exit, killed.err.contains(&format!("flow runs resume {waits}"))), (2, true), "{}", killed.err);
    flow(folder.path(), &["run", "fails.yaml"]);
    let none = flow(folder.path(), &["runs", "retry", &id(folder.path())]);
    assert_eq!((none.exit, none.err.contains("none of its steps ran the elements of a list (for_each)")), (2, true), "{}", none.err);
}
