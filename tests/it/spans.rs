//! `FLOW_LOG=spans`: what standard error shows of a run for those who watch the program.

use crate::program::{command, flow, ran};

const OUTER: &str = "flow: 1
name: outer
description: It calls.
secrets: { TOKEN: The key. }
inputs: { who: { type: text, pii: true } }
steps:
  - { id: fetch, http: \"GET http://127.0.0.1:1/canary\", headers: { authorization: \"Bearer {{ secrets.TOKEN }}\" }, on_failure: continue }
  - { id: ask, needs: [], call: inner.yaml, with: { who: \"{{ inputs.who }}\" } }
outputs: { text: \"{{ steps.ask.output.text }}\" }
";
const INNER: &str = "flow: 1
name: inner
description: It reads.
inputs: { who: text }
steps:
  - { id: note, read: note.txt }
  - { id: answer, set: \"{{ inputs.who }}: {{ steps.note.output.text }}\" }
outputs: { text: \"{{ steps.answer.output }}\" }
";

#[test]
fn spans_nest_run_step_and_call_and_hold_nothing_of_what_a_run_reads_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("flow.toml", ""), ("p.yaml", OUTER), ("inner.yaml", INNER), ("note.txt", "the canary sings")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let arguments = ["run", "p.yaml", "--trust", "-q", "--input", "who=Ana Canary", "--env-file", "secrets.env"];
    std::fs::write(folder.path().join("secrets.env"), "TOKEN=canary-7f3a9c51d2\n").unwrap();
    let watched = ran(command(folder.path(), &arguments).env("FLOW_LOG", "spans"));
    assert_eq!(watched.exit, 0, "{}", watched.err);
    let lines: Vec<&str> = watched.err.lines().collect();
    let ends = |with: &str, end: &str| lines.iter().any(|line| line.contains(with) && line.ends_with(end));
    let inside = "INFO run{run=\"r_";
    assert!(lines.iter().all(|line| line.starts_with(inside) && line.ends_with(": close")), "{lines:#?}");
    assert!(
        ends("}:step{step=\"ask\" attempt=1 round=1}:step{step=\"ask/note\" attempt=1 round=1}:call{call=", " kind=\"read\"}: close"),
        "{lines:#?}"
    );
    assert!(ends("}:step{step=\"fetch\" attempt=1 round=1}:call{call=", " kind=\"http\" failure=\"connection\"}: close"), "{lines:#?}");
    assert!(ends("}:step{step=\"ask\" attempt=1 round=1 status=\"succeeded\" ms=", "}: close"), "{lines:#?}");
    assert!(ends(" pipeline=\"outer\" status=\"partial\" ms=", "}: close"), "{lines:#?}");
    assert!(!watched.err.to_lowercase().contains("canary"), "{}", watched.err);
    let plain = ran(&mut command(folder.path(), &arguments));
    assert_eq!((plain.out, plain.exit), (watched.out, 0));
}

#[test]
fn another_word_in_the_variable_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let told = ran(command(folder.path(), &["runs", "list"]).env("FLOW_LOG", "debug"));
    assert_eq!((told.exit, told.err.as_str()), (2, "FLOW_LOG is \"debug\"; set it to spans, or remove it\n"));
    assert_eq!(ran(command(folder.path(), &["schema"]).env("FLOW_LOG", "")).exit, flow(folder.path(), &["schema"]).exit);
}
