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
    let folder = project(&PIPELINE.replace("range(30)", "range(3, 15)").replace("    on_failure: continue\n", ""));
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.err.contains("; each: 11 of 12 sent, 1 failed: wrong_type\n"), "{}", ran.err);
}
