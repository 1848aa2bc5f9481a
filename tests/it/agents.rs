//! Agents that call tools, under a policy, through the program.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, flow};

const PIPELINE: &str = "flow: 1
name: desk
description: Answers from its tools.
data: { entries: { file: entries.csv } }
models: { default: { provider: scripted, replies: demo.yaml } }
agents:
  clerk: { instructions: You answer from the tools., tools: [hours, docs, sum], max_turns: 3, policy: office }
tools:
  hours: { sql: [entries], description: Hours people logged. }
  docs: { file: notes }
  sum: { pipeline: sum.yaml }
policies:
  office:
    allowed_tools: [hours, docs.read, sum]
    file_access: { read: [entries.csv, \"notes/*.md\"] }
steps:
  - { id: answer, agent: clerk, prompt: How many hours did Ana log? }
outputs: { answer: \"{{ steps.answer.output }}\", calls: \"{{ steps.answer.details.tool_calls }}\" }
";
const SUM: &str = "flow: 1
name: sum
description: Adds two numbers.
inputs: { a: number, b: number }
steps:
  - { id: add, set: \"{{ inputs.a + inputs.b }}\" }
outputs: { total: \"{{ steps.add.output }}\" }
";
const REPLIES: &str = "flow: 1
replies:
  answer:
    - calls:
        - { tool: hours, with: { query: select sum(hours) as h from entries where person = 'ana' } }
        - { tool: docs.read, with: { name: rules.md } }
        - { tool: docs.read, with: { name: ../demo.yaml } }
        - { tool: docs.list }
        - { tool: sum, with: { a: 5, b: 7 } }
        - { tool: shell, with: { command: ls } }
    - Ana logged 12 hours.
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("flow.toml", "");
    write("p.yaml", PIPELINE);
    write("sum.yaml", SUM);
    write("demo.yaml", REPLIES);
    write("entries.csv", "person,hours\nana,5\nana,7\nbo,3\n");
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    write("notes/rules.md", "# Rules\n");
    folder
}

#[test]
fn an_agent_uses_its_tools_inside_its_policy_and_every_decision_is_in_the_record() {
    let folder = folder();
    let Ran { exit, out, err } = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!(exit, 0, "{err}");
    let outputs: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(outputs["answer"], "Ana logged 12 hours.");
    let calls = outputs["calls"].as_array().unwrap();
    assert_eq!(calls[0]["result"], json!({ "rows": [{ "h": 12 }] }));
    assert_eq!(calls[1]["result"], "# Rules\n");
    for (place, told) in [
        (2, "denied: read \"demo.yaml\" is not allowed: policy office"),
        (3, "denied: tool \"docs.list\" is not allowed: policy office"),
        (5, "bad_request: there is no tool \"shell\"; there are: hours, docs-read, sum"),
    ] {
        assert!(calls[place]["error"].as_str().unwrap().starts_with(told), "{}", calls[place]);
    }
    assert_eq!(calls[4]["result"], json!({ "total": 12 }));
    let Ran { out, .. } = flow(folder.path(), &["runs", "export"]);
    let record: Value = serde_json::from_str(&out).unwrap();
    let decided = |d: &Value| (d["target"].as_str().unwrap().to_owned(), d["allowed"].as_bool().unwrap());
    let decisions: Vec<(String, bool)> = record["decisions"].as_array().unwrap().iter().map(decided).collect();
    for expected in
        [("hours", true), ("entries.csv", true), ("notes/rules.md", true), ("demo.yaml", false), ("docs.list", false), ("sum", true)]
    {
        assert!(decisions.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {decisions:?}");
    }
}

#[test]
fn a_result_is_used_again_while_it_is_kept() {
    let folder = folder();
    let pipeline = "flow: 1\nname: keeps\ndescription: Keeps what it read.\ndata: { entries: { file: entries.csv } }\nsteps:\n  - { id: rows, sql: select count(*) as n from entries, one: true, cache: 1h }\noutputs: { n: \"{{ steps.rows.output.n }}\" }\n";
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).out, "3\n");
    std::fs::write(folder.path().join("entries.csv"), "person,hours\nana,5\n").unwrap();
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).out, "3\n");
    std::fs::remove_file(folder.path().join(".flow/cache.db")).unwrap();
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).out, "1\n");
}
