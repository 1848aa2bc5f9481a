//! What is filled in by a run: the case of a route, the channel of a call, the feedback of a criterion, and dates.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, flow};

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("flow.toml", ""), ("channels/sms.yaml", "flow: 1\nchannel: sms\nbody: text\n")]) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn run(folder: &Path, input: &str) -> Ran {
    flow(folder, &["run", "a.yaml", "--input", input, "--json", "--now", "2026-11-18T09:00:00Z"])
}

fn outputs(folder: &Path, input: &str) -> Value {
    let ran = run(folder, input);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    serde_json::from_str::<Value>(&ran.out).unwrap()["outputs"].clone()
}

#[test]
fn a_case_is_chosen_by_its_text_letter_by_letter() {
    let folder = project(&[(
        "a.yaml",
        "flow: 1
name: a
inputs: { topic: text }
steps:
  - id: team
    route: inputs.topic
    cases:
      - { id: sales, equals: [sales, \"\"], set: Ana }
      - { id: bills, equals: a bill, phrases: [refund], set: Bo }
    otherwise: { set: Cem }
outputs: '{{ steps.team.output }} {{ steps.team.details.case }}'
",
    )]);
    for (topic, team) in [
        ("sales", "Ana sales"),
        ("", "Ana sales"),
        ("Sales", "Cem otherwise"),
        ("sales ", "Cem otherwise"),
        ("a bill", "Bo bills"),
        ("a bill?", "Cem otherwise"),
        ("I want a refund!", "Bo bills"),
    ] {
        assert_eq!(outputs(folder.path(), &format!("topic={topic}")), json!(team), "{topic:?}");
    }
}

#[test]
fn a_channel_that_is_filled_in_must_be_listed() {
    let called = "flow: 1\nname: b\nchannels: [sms]\nsteps: [{ id: s, set: 'On {{ channel.name }}' }]\noutputs: '{{ steps.s.output }}'\n";
    let calling = "flow: 1\nname: a\ninputs: { where: text }\nsteps: [{ id: c, call: b.yaml, channel: '{{ inputs.where }}' }]\noutputs: '{{ steps.c.output }}'\n";
    let folder = project(&[("a.yaml", calling), ("b.yaml", called)]);
    assert_eq!(outputs(folder.path(), "where=sms"), json!("On sms"));
    let ran = run(folder.path(), "where=fax");
    assert_eq!(ran.exit, 6, "{}", ran.err);
    assert!(ran.err.contains("pipeline \"b\" does not list channel \"fax\"; it lists: sms"), "{}", ran.err);
}

#[test]
fn what_a_reviewer_said_reaches_the_writer() {
    let file = "flow: 1
name: a
inputs: { topic: text }
models: { default: { provider: scripted, replies: a.replies.yaml } }
agents: { writer: { instructions: You write. }, reviewer: { instructions: You review. } }
scorecards:
  good:
    criteria:
      - id: score
        description: The reviewer gives 90 points.
        check: { expression: steps.review.output.score >= 90 }
        feedback: \"{{ steps.review.output.notes }} (for {{ text }})\"
steps:
  - { id: draft, agent: writer, prompt: \"About {{ inputs.topic }}\" }
  - { id: review, agent: reviewer, prompt: \"{{ steps.draft.output }}\", output: { score: integer, notes: text } }
  - { id: check, gate: good, of: steps.draft.output, refine: draft }
outputs: { text: \"{{ steps.check.output }}\", told: \"{{ steps.check.details.verdicts[0].feedback }}\" }
";
    let replies = "flow: 1
replies:
  draft:
    - First.
    - 'Told: {{ refinement.feedback }}'
  review:
    - { data: { score: 10, notes: Name the price. } }
    - { data: { score: 95, notes: Fine. } }
";
    let folder = project(&[("a.yaml", file), ("a.replies.yaml", replies)]);
    assert_eq!(outputs(folder.path(), "topic=Prices"), json!({ "text": "Told: - score: Name the price. (for First.)", "told": "" }));
}

#[test]
fn dates_are_reckoned_in_the_time_zone_of_the_person() {
    let file = "flow: 1
name: a
inputs: { day: date }
person: { id: p, time_zone: Europe/Berlin }
steps:
  - { id: since, set: \"{{ run.today | days(-7) }} {{ run.now | months(1) }} {{ inputs.day | start_of('week') }} {{ run.today | days_until(inputs.day) }}\" }
outputs: '{{ steps.since.output }}'
";
    let folder = project(&[("a.yaml", file)]);
    assert_eq!(outputs(folder.path(), "day=2026-12-24"), json!("2026-11-11 2026-12-18T10:00:00+01:00 2026-12-21 36"));
}
