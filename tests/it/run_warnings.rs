//! What a reader must see: gates that passed without their judge, criteria that were skipped, lists of which nothing succeeded.

use tempfile::TempDir;

use crate::program::flow;

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("flow.toml", "")]) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const JUDGED: &str = "flow: 1
name: judged
inputs: { kind: { type: text, default: note } }
models: { default: { provider: scripted, replies: r.replies.yaml } }
agents: { judge: { instructions: Judge. } }
scorecards:
  card:
    judge: judge
    on_judge_error: pass
    criteria:
      - { id: kind, description: The tone is kind., expected: Kind., judge: true }
      - { id: total, when: inputs.kind == \"bill\", description: It has the total., check: { contains: total } }
steps:
  - { id: draft, set: \"Hello {{ inputs.kind }}\" }
  - { id: check, gate: card, of: steps.draft.output }
outputs: { text: \"{{ steps.check.output }}\" }
";

#[test]
fn a_gate_that_passed_without_its_judge_is_seen_wherever_the_run_is_shown() {
    let folder = project(&[("p.yaml", JUDGED), ("r.replies.yaml", "flow: 1\nreplies: { check: { error: refused } }\n")]);
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "Hello note\n"), "{}", ran.err);
    let line = "needs review: gate \"check\" passed without its judge (kind: The judge could not answer: scripted failure)";
    assert!(ran.err.contains(line), "{}", ran.err);
    assert!(!flow(folder.path(), &["run", "p.yaml", "-q"]).err.contains("needs review"));
    let shown = flow(folder.path(), &["runs", "show"]).out;
    assert!(
        shown.contains("needs review: gate \"check\" passed without its judge\n  kind: The judge could not answer: scripted failure"),
        "{shown}"
    );
    assert!(shown.contains("gate \"check\": skipped, since their when was false: total\n"), "{shown}");
    let json = |arguments: &[&str]| -> serde_json::Value { serde_json::from_str(&flow(folder.path(), arguments).out).unwrap() };
    let listed = json(&["runs", "list", "--json"]);
    assert_eq!(
        (&listed[0]["needs_review"], &listed[0]["status"], &listed[0]["state"]),
        (&true.into(), &"succeeded".into(), &"succeeded".into())
    );
    assert_eq!(json(&["runs", "show", "--json"])["needs_review"][0]["criterion"], "kind");
    assert_eq!(json(&["run", "p.yaml", "--json"])["needs_review"], true);

    std::fs::write(folder.path().join("r.replies.yaml"), "flow: 1\nreplies: { check: passed }\n").unwrap();
    let ran = flow(folder.path(), &["run", "p.yaml", "--input", "kind=bill"]);
    assert!(ran.exit == 5 && !ran.err.contains("needs review"), "{}", ran.err);
    assert_eq!(json(&["runs", "list", "--json"])[0].get("needs_review"), None);
    assert!(!flow(folder.path(), &["runs", "show"]).out.contains("skipped, since"));
}

#[test]
fn parts_of_a_formatted_text_are_sent_as_its_reader_reads_them() {
    let folder = project(&[(
        "p.yaml",
        "flow: 1
name: sends
channels: [sms]
steps:
  - { id: fit, format: \"You logged **32** hours. Well done today. Bye now.\" }
  - { id: parts, send: stdout, of: steps.fit.output.parts }
  - { id: last, send: stdout, of: steps.fit.output.parts | last }
  - { id: each, for_each: [One., Two.], format: \"{{ item }}\" }
  - { id: all, send: stdout, of: steps.each.output }
",
    )]);
    std::fs::create_dir(folder.path().join("channels")).unwrap();
    let sms = "flow: 1\nchannel: sms\nmax_length: 30\nsplit: { at: sentence, most_parts: 3, indicator: \"({part}/{parts})\" }\n";
    std::fs::write(folder.path().join("channels/sms.yaml"), sms).unwrap();
    let ran = flow(folder.path(), &["run", "p.yaml"]);
    let sent = "You logged 32 hours. (1/3)\n\nWell done today. (2/3)\n\nBye now. (3/3)\n\nBye now. (3/3)\n";
    assert!(
        ran.exit == 0 && ran.out.contains(sent) && !ran.out.contains('{') && ran.out.contains("One.\n\nTwo.\n"),
        "{}{}",
        ran.out,
        ran.err
    );
}
