//! A second try for each element of a list, from the command line: run, planned, replayed and tested.

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
    assert!(shown.contains("gate \"replies[1]/check\": not met: short\n  round 1: ") && shown.contains("sent: Short now."), "{shown}");
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
