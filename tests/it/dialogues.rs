//! `dialogue` steps from the command line.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use tempfile::TempDir;

use crate::program::flow;
use crate::readme::blocks;

/// The example of the manual as a project, and what its page says that it prints.
fn example() -> (TempDir, String, String) {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/dialogues.md")).unwrap();
    let (yaml, console) = (blocks(&page, "yaml"), blocks(&page, "console"));
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("review.yaml", yaml[0]), ("review.replies.yaml", yaml[1])] {
        std::fs::write(project.path().join(name), text).unwrap();
    }
    let told: Vec<&str> = console[0].lines().skip(1).collect();
    let (said, result): (Vec<&str>, Vec<&str>) = told.into_iter().partition(|line| line.starts_with("review:"));
    (project, said.join("\n"), result.join("\n"))
}

#[test]
fn the_example_of_the_manual_talks_as_it_says() {
    let (project, said, result) = example();
    let ran = flow(project.path(), &["run", "review.yaml"]);
    assert_eq!((ran.exit, ran.out.trim_end()), (0, result.as_str()), "{}", ran.err);
    assert!(ran.err.contains(&said), "{}", ran.err);
    let shown = flow(project.path(), &["runs", "show"]).out;
    assert!(shown.contains("dialogue review: completed (completed), 4 turns\n  1. first to second: It is not."), "{shown}");
    assert!(shown.contains("\n  ended: the last turn of each says AGREED\n"), "{shown}");
    let run = shown.split_whitespace().next().unwrap();
    let again = flow(project.path(), &["runs", "replay", run]);
    assert_eq!(again.exit, 0, "{}{}", again.out, again.err);
    let plan = flow(project.path(), &["plan", "review.yaml"]);
    assert!(plan.out.contains("agent first on default: 9 calls (3 tries × 3 turns)"), "{}", plan.out);
}

#[test]
fn a_test_gives_the_turns_or_the_summary_alone() {
    let (project, ..) = example();
    let cases = "flow: 1
test: review.yaml
cases:
  - id: disagree
    replies: { review: [\"Yes.\", \"No.\", \"yes\", \"no!\"] }
    expect: { outputs: { ended: stalled, summary: { includes: 'No agreement after 4 turns: nobody said anything new in 2 turns.' } } }
  - id: mocked
    mocks: { review: { summary: They agree., positions: { first: Right. } } }
    expect: { outputs: { ended: agreed, summary: They agree., positions: { first: Right., second: '' } } }
";
    std::fs::write(project.path().join("review.test.yaml"), cases.replace("includes", "contains")).unwrap();
    let ran = flow(project.path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    std::fs::write(project.path().join("review.test.yaml"), cases.replace("They agree.,", "[]").replace("includes", "contains")).unwrap();
    let ran = flow(project.path(), &["test"]);
    assert_ne!(ran.exit, 0, "a summary is a text");
}

#[test]
fn a_turn_that_fails_keeps_what_was_said() {
    let (project, ..) = example();
    let replies = "flow: 1\nreplies:\n  review:\n    - It is not.\n    - { error: auth }\n";
    std::fs::write(project.path().join("review.replies.yaml"), replies).unwrap();
    let ran = flow(project.path(), &["run", "review.yaml"]);
    assert_eq!(ran.exit, 6, "{}", ran.err);
    assert!(ran.err.contains("review: failed (auth): agent \"second\": "), "{}", ran.err);
    let shown = flow(project.path(), &["runs", "show"]).out;
    assert!(shown.contains("dialogue review: failed (processing), 1 turn\n  1. first to second: It is not."), "{shown}");
    let record = flow(project.path(), &["runs", "export"]).out;
    assert!(record.contains("The dialogue failed after 1 turn (auth: "), "{record}");
}
