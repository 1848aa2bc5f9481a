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
    for (name, text) in [("flow.toml", ""), ("review.yaml", yaml[0])] {
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
    let file = project.path().join("review.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let fails = text.replace("- I thought the lock covers it, but line 1 shows that the read comes first.", "- { error: auth }");
    assert_ne!(fails, text);
    std::fs::write(&file, fails).unwrap();
    let ran = flow(project.path(), &["run", "review.yaml"]);
    assert_eq!(ran.exit, 6, "{}", ran.err);
    assert!(ran.err.contains("review: failed (auth): agent \"second\": "), "{}", ran.err);
    let shown = flow(project.path(), &["runs", "show"]).out;
    assert!(shown.contains("dialogue review: failed (processing), 1 turn\n  1. first to second: It is not."), "{shown}");
    let record = flow(project.path(), &["runs", "export"]).out;
    assert!(record.contains("The dialogue failed after 1 turn (auth: "), "{record}");
}

/// Two reviewers with a budget of so many tokens, and a case with these replies.
fn budget(tokens: u64, replies: &str) -> (TempDir, String) {
    let project = tempfile::tempdir().unwrap();
    let pipeline = format!(
        "flow: 1\nname: talk\ndescription: Two review a title.\nmodels: {{ default: {{ provider: openai, model: small }} }}\nagents: {{ first: {{ instructions: Propose. }}, second: {{ instructions: Object. }} }}\nsteps:\n  - {{ id: review, dialogue: [first, second], topic: A title, max_turns: 6, limits: {{ max_tokens: {tokens} }} }}\noutputs: {{ ended: \"{{{{ steps.review.output.ended }}}}\" }}\n"
    );
    let cases = format!(
        "flow: 1\ntest: talk.yaml\ncases:\n  - id: budget\n    replies:\n      review: {replies}\n    expect: {{ outputs: {{ ended: limit }} }}\n"
    );
    for (name, text) in [("flow.toml", ""), ("talk.yaml", &pipeline), ("talk.test.yaml", &cases)] {
        std::fs::write(project.path().join(name), text).unwrap();
    }
    (project, cases)
}

#[test]
fn a_budget_that_ends_a_dialogue_takes_the_replies_of_the_turns_before() {
    let turn = |text: &str| format!("{{ text: {text}, usage: {{ input_tokens: 3000, output_tokens: 500 }} }}");
    let two = [turn("Yes."), turn("No.")].join(", ");
    let (project, cases) = budget(10_000, &format!("[{two}]"));
    let ran = flow(project.path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    for (replies, why) in [
        (turn("Yes."), "no reply for call 2 of step \"review\", which asks agent \"second\"; add one to replies"),
        (
            format!("{two}, Maybe."),
            "reply 3 of 3 for step \"review\" is left over: call 3 never came, since a limit ended the dialogue (limits.max_tokens: max_tokens is 10000; 7000 are used",
        ),
    ] {
        std::fs::write(project.path().join("talk.test.yaml"), cases.replace(&format!("[{two}]"), &format!("[{replies}]"))).unwrap();
        let ran = flow(project.path(), &["test"]);
        assert!(ran.exit == 1 && ran.out.contains(why), "{}", ran.out);
    }
}

#[test]
fn a_budget_that_lets_no_turn_begin_is_told_before_any_endpoint_is_asked() {
    let (project, _) = budget(4_000, "[Yes., No., Yes., No., Yes., No.]");
    let found = flow(project.path(), &["validate", "talk.yaml"]);
    assert!(
        found.out.contains("F510") && found.out.contains("sets aside 4,096 tokens for its answer, and max_tokens is 4,000"),
        "{}",
        found.out
    );
    let ran = flow(project.path(), &["test"]);
    assert!(ran.exit == 1 && ran.out.contains("max_tokens is 4000; 0 are used and the next call may need "), "{}", ran.out);
    let plan = flow(project.path(), &["plan", "talk.yaml"]);
    assert!(plan.out.contains("; each sets aside 4,096 tokens and one per byte sent\n"), "{}", plan.out);
}
