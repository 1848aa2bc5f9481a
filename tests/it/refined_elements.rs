//! A second try for each element of a list, from the command line: run, planned, replayed and tested.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use crate::program::flow;

const PIPELINE: &str = "flow: 1
name: replies
description: Answers each question with a short text.
inputs: { questions: { type: list, items: text } }
models: { default: { provider: scripted, replies: said.yaml } }
agents: { writer: { instructions: You answer. } }
scorecards:
  reply: { criteria: [{ id: short, description: The reply has at most 20 characters., check: { max_length: 20 } }] }
steps:
  - id: replies
    for_each: inputs.questions
    as: question
    steps:
      - { id: draft, agent: writer, prompt: \"{{ question }}\" }
      - { id: check, gate: reply, of: steps.draft.output, refine: draft, otherwise: Sorry. }
outputs: { replies: \"{{ steps.replies.output | map(attribute='check') | join(' / ') }}\" }
";
const SAID: &str = "flow: 1
replies:
  replies[0]/draft: Fine.
  replies[1]/draft: [This is much too long for the card., Short now.]
  replies[2]/draft: [This is much too long for the card., This is still much too long.]
";
const TEST: &str = "flow: 1
test: p.yaml
cases:
  - id: on_its_own
    inputs: { questions: [a, b] }
    replies: { 'replies[0]/draft': Fine., 'replies[1]/draft': [This is much too long for the card., Short now.] }
    expect: { refined: true, outputs: { replies: Fine. / Short now. }, steps: { 'replies[1]/check': succeeded } }
";

#[test]
fn each_element_has_a_second_try_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    for (name, text) in [("p.yaml", PIPELINE), ("said.yaml", SAID), ("p.test.yaml", TEST), ("flow.toml", "")] {
        std::fs::write(place.join(name), text).unwrap();
    }
    let checked = flow(place, &["validate", "--deny-warnings", "."]);
    assert_eq!(checked.exit, 0, "{}", checked.out);
    let ran = flow(place, &["run", "p.yaml", "--input", "questions=[\"a\", \"b\", \"c\"]"]);
    assert_eq!((ran.exit, ran.out.as_str()), (5, "Fine. / Short now. / Sorry.\n"), "{}", ran.err);
    assert!(ran.err.contains("replies[1]/draft: running again with feedback\n"), "{}", ran.err);
    let id = flow(place, &["runs", "list"]).out.split_whitespace().next().unwrap().to_owned();
    let shown = flow(place, &["runs", "show", &id]).out;
    assert!(shown.contains("prompt: b Your first answer was: This is much too long for the card."), "{shown}");
    assert!(
        shown.contains("gate \"replies[1]/check\": met once the text was written again; before: not met: short\n  round 1: ")
            && shown.contains("sent: Short now."),
        "{shown}"
    );
    let again = flow(place, &["runs", "replay", &id]);
    assert_eq!((again.exit, again.out.ends_with("equal (quality_not_met)\n")), (0, true), "{}{}", again.out, again.err);
    let plan = flow(place, &["plan", "p.yaml", "--input", "questions=[\"a\"]"]).out;
    assert!(plan.contains("2 rounds, the second to fix what a gate found"), "{plan}");
    let tested = flow(place, &["test", "p.test.yaml"]);
    assert_eq!((tested.exit, tested.err.as_str()), (0, "1 passed, 0 failed\n"), "{}", tested.out);
}

#[test]
fn the_end_names_the_gates_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let head = PIPELINE.split("steps:").next().unwrap().replace("{ type: list, items: text }", "{ type: text, default: a }");
    let file = format!(
        "{head}steps:\n  - id: loop\n    repeat: {{ until: steps.check.details.passed, at_most: 3, unmet: keep }}\n    steps:\n      \
         - {{ id: draft, agent: writer, prompt: \"{{{{ round }}}}\" }}\n      - {{ id: check, gate: reply, of: steps.draft.output, otherwise: Sorry. }}\n  \
         - {{ id: last, agent: writer, prompt: \"{{{{ steps.loop.output.check }}}}\" }}\n  - {{ id: end, gate: reply, of: steps.last.output, otherwise: Sorry. }}\n\
         outputs: \"{{{{ steps.end.output }}}}\"\n"
    );
    let said = "flow: 1\nreplies:\n  loop/draft: [This is much too long for it., Short.]\n  last: This is much too long, too.\n";
    for (name, text) in [("p.yaml", file.as_str()), ("said.yaml", said), ("flow.toml", "")] {
        std::fs::write(place.join(name), text).unwrap();
    }
    let ran = flow(place, &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (5, "Sorry.\n"), "{}", ran.err);
    assert!(ran.err.ends_with("quality_not_met: gate \"end\" was not met (short); flow runs show shows why\n"), "{}", ran.err);
}

#[test]
fn the_last_round_counts_only_where_it_is_kept() {
    let ends = [
        ("", "on_failure: alt", "partial: a failure was allowed\n"),
        ("", "on_failure: continue", "partial: a failure was allowed\n"),
        (", unmet: keep", "on_failure: alt", "partial: \"g\" was not met, its last round counts\n"),
    ];
    for (unmet, on_failure, wanted) in ends {
        let file = format!(
            "flow: 1\nname: p\nsteps:\n  - {{ id: g, repeat: {{ until: round == 9, at_most: 2{unmet} }}, {on_failure}, steps: [{{ id: d, set: x }}] }}\n  \
             - {{ id: alt, set: y }}\noutputs: \"{{{{ steps.alt.output | default(steps.g.output.d | default('z')) }}}}\"\n"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flow.toml"), "").unwrap();
        std::fs::write(folder.path().join("p.yaml"), file).unwrap();
        let ran = flow(folder.path(), &["run", "p.yaml"]);
        assert!(ran.exit == 0 && ran.err.ends_with(wanted), "{unmet} {on_failure}\n{}{}", ran.out, ran.err);
    }
}

/// A project with this pipeline and these replies.
fn project(file: &str, said: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("p.yaml", file), ("said.yaml", said), ("flow.toml", "")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn last_run(place: &std::path::Path) -> String {
    flow(place, &["runs", "list"]).out.split_whitespace().next().unwrap().to_owned()
}

/// The head of a file whose gate wants the word "good".
const GOOD: &str = "flow: 1
name: p
models: { default: { provider: scripted, replies: said.yaml } }
agents: { writer: { instructions: You write. } }
scorecards: { ok: { criteria: [{ id: good, description: The text says good somewhere., check: { contains: good } }] } }
";

#[test]
fn what_a_gate_said_in_a_round_that_does_not_count_is_not_shown_as_sent() {
    let steps = "steps:
  - id: loop
    repeat: { until: steps.check.details.passed, at_most: 3 }
    steps:
      - { id: draft, agent: writer, prompt: x }
      - { id: check, gate: ok, of: steps.draft.output, refine: draft, otherwise: Sorry. }
  - { id: other, agent: writer, prompt: y }
  - { id: end, gate: ok, of: steps.other.output, otherwise: Nope. }
outputs: { loop: \"{{ steps.loop.output.check }}\", end: \"{{ steps.end.output }}\" }
";
    let folder = project(&format!("{GOOD}{steps}"), "flow: 1\nreplies: { loop/draft: [bad, bad, good], other: bad }\n");
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert!(ran.err.ends_with("quality_not_met: gate \"end\" was not met (good); flow runs show shows why\n"), "{}", ran.err);
    let shown = flow(folder.path(), &["runs", "show", &last_run(folder.path())]).out;
    let told = "gate \"loop[1]/check\": not met: good (does not count: a later round or try followed)\n  round 1: ";
    assert!(shown.contains(told) && !shown.contains("sent: Sorry.") && shown.contains("sent: Nope."), "{shown}");
}

#[test]
fn a_gate_in_an_attempt_that_was_tried_again_does_not_count() {
    let steps = "steps:
  - id: group
    retry: { max_attempts: 2, delay: 1ms }
    steps:
      - { id: draft, agent: writer, prompt: x }
      - { id: check, gate: ok, of: steps.draft.output, otherwise: Sorry. }
      - { id: last, agent: writer, prompt: y, retry: { max_attempts: 1 } }
  - { id: end, set: x }
outputs: { text: \"{{ steps.group.output.check }}\" }
";
    let said = "flow: 1\nreplies: { group/draft: [bad, good], group/last: [{ error: server_error }, done] }\n";
    let folder = project(&format!("{GOOD}{steps}"), said);
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "good\n"), "{}", ran.err);
    let shown = flow(folder.path(), &["runs", "show", &last_run(folder.path())]).out;
    assert!(shown.contains("(does not count: a later round or try followed)") && !shown.contains("sent: Sorry."), "{shown}");
}

#[test]
fn a_second_try_that_its_time_ended_is_replayed_as_what_it_was() {
    let steps = "steps:
  - id: a
    timeout: 200ms
    steps:
      - { id: draft, agent: writer, prompt: x }
      - { id: pause, wait: \"{{ '5s' if refinement else '1ms' }}\" }
      - { id: copy, set: \"{{ steps.draft.output }}\" }
      - { id: check, gate: ok, of: steps.copy.output, refine: draft, otherwise: Sorry. }
outputs: { a: \"{{ steps.a.status }}\" }
";
    let folder = project(&format!("{GOOD}{steps}"), "flow: 1\nreplies: { a/draft: bad }\n");
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).exit, 6);
    let again = flow(folder.path(), &["runs", "replay", &last_run(folder.path())]);
    assert_eq!((again.exit, again.out.contains("equal (failed)")), (0, true), "{}{}", again.out, again.err);
}

#[test]
fn a_run_that_failed_since_nothing_was_scripted_is_replayed() {
    let steps = "steps:
  - { id: draft, agent: writer, prompt: x }
  - { id: check, gate: ok, of: steps.draft.output, otherwise: Sorry. }
outputs: { a: \"{{ steps.check.output }}\" }
";
    let folder = project(&format!("{GOOD}{steps}"), "flow: 1\nreplies: { another: bad }\n");
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).exit, 6);
    let again = flow(folder.path(), &["runs", "replay", &last_run(folder.path())]);
    assert_eq!((again.exit, again.out.ends_with("equal (failed)\n")), (0, true), "{}{}", again.out, again.err);
}

#[test]
fn a_run_that_a_signal_ended_and_that_was_resumed_is_replayed_without_what_was_taken_back() {
    let steps = "steps: [{ id: pause, wait: 2s }]
finally: [{ id: fin, agent: writer, prompt: x }]
outputs: { a: done }
";
    let folder = project(&format!("{GOOD}{steps}"), "flow: 1\nreplies: { fin: [one, two, three] }\n");
    let (mut child, run) = crate::runs_ended::started(folder.path(), "p.yaml", "pause", &[]);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let resumed = flow(folder.path(), &["runs", "resume", &run]);
    assert_eq!((resumed.exit, resumed.out.as_str()), (0, "done\n"), "{}", resumed.err);
    let again = flow(folder.path(), &["runs", "replay", &run]);
    assert_eq!((again.exit, again.out.contains("equal (succeeded)")), (0, true), "{}{}", again.out, again.err);
}

#[test]
fn a_reply_that_a_crash_lost_is_the_same_when_its_call_is_made_again() {
    let folder = project(PIPELINE, SAID);
    let ran = flow(folder.path(), &["run", "p.yaml", "--input", "questions=[\"a\", \"b\", \"c\"]"]);
    let run = last_run(folder.path());
    let log = flow(folder.path(), &["runs", "export", &run, "--events"]).out;
    let lines: Vec<&str> = log.lines().collect();
    let calls: Vec<usize> = (0..lines.len()).filter(|place| lines[*place].contains("\"type\":\"model_called\"")).collect();
    assert_eq!(calls.len(), 5, "{log}");
    for end in calls {
        let there = project(PIPELINE, SAID);
        std::fs::write(there.path().join("log.jsonl"), lines[..=end].join("\n") + "\n").unwrap();
        let taken = flow(there.path(), &["runs", "import", "log.jsonl", "--file", "p.yaml"]);
        assert_eq!(taken.exit, 0, "{}", taken.err);
        let resumed = flow(there.path(), &["runs", "resume", &run]);
        assert_eq!((resumed.exit, &resumed.out), (ran.exit, &ran.out), "behind event {}: {}", end + 1, resumed.err);
        assert_eq!(flow(there.path(), &["runs", "replay", &run]).exit, 0, "behind event {}", end + 1);
    }
}
