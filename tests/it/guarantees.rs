//! Guarantees at the command line: what is said of a pipeline, and what is required of one.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::flow;

const PIPELINE: &str = "flow: 1
name: reply
description: Answers a question.
inputs: { question: text }
agents: { writer: { instructions: Answer in one sentence. } }
scorecards: { short: { criteria: [{ id: fits, description: It is short enough to be read., check: { max_length: 300 } }] } }
steps:
  - { id: draft, agent: writer, prompt: \"{{ inputs.question }}\" }
  - { id: check, gate: short, of: steps.draft.output, otherwise: Please call us. }
outputs: { reply: \"{{ steps.check.output }}\" }
";

fn place(pipeline: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    std::fs::write(folder.path().join("p.yaml"), pipeline).unwrap();
    folder
}

fn past_the_gate() -> String {
    PIPELINE.replace("steps.check.output }}", "steps.draft.details | tojson }}")
}

fn verdicts(folder: &Path) -> Vec<(String, String)> {
    let said = flow(folder, &["explain", "--guarantees", "p.yaml", "--json"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said: Value = serde_json::from_str(&said.out).unwrap();
    let list = said["pipelines"][0]["guarantees"].as_array().unwrap().clone();
    let word = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    list.iter().map(|one| (word(one, "name"), word(one, "verdict"))).collect()
}

#[test]
fn each_guarantee_has_a_verdict_and_a_broken_one_its_way() {
    let right = place(PIPELINE);
    let holds = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned());
    assert_eq!(
        verdicts(right.path()),
        [
            holds("model_text_judged", "holds"),
            holds("secrets_kept", "holds"),
            holds("personal_declared", "holds"),
            holds("bounded", "broken"),
            holds("effects_keyed", "holds"),
        ]
    );
    let wrong = place(&past_the_gate());
    assert_eq!(verdicts(wrong.path())[0], holds("model_text_judged", "broken"));
    let told = flow(wrong.path(), &["explain", "--guarantees", "p.yaml"]);
    for line in [
        "model_text_judged: broken",
        "  - outputs.reply gives a person what no gate judged: what the models of step draft say",
        "    at p.yaml:10:",
        "      p.yaml:8:11: here is what the models of step draft say",
    ] {
        assert!(told.out.contains(line), "{line}\n{}", told.out);
    }
    let drawn = flow(right.path(), &["graph", "--guarantees", "p.yaml", "--json"]);
    assert!(drawn.out.contains("model_text_judged: holds"), "{}", drawn.out);
    // In Mermaid they are a box of their own.
    let drawn = flow(right.path(), &["graph", "--guarantees", "p.yaml"]);
    assert!(drawn.out.contains("  legend[\"model_text_judged: holds<br/>"), "{}", drawn.out);
    assert!(!flow(right.path(), &["graph", "p.yaml"]).out.contains("legend"));
}

#[test]
fn what_is_required_is_an_error_where_it_does_not_hold() {
    let (right, wrong) = (place(PIPELINE), place(&past_the_gate()));
    let required = |folder: &TempDir, list: &str| flow(folder.path(), &["validate", "p.yaml", "--require", list]);
    assert_eq!(required(&right, "model_text_judged,secrets_kept").exit, 0);
    let found = required(&wrong, "model_text_judged");
    assert_eq!(found.exit, 1);
    assert!(found.out.contains("error[F618]: model_text_judged is broken: outputs.reply gives a person"), "{}", found.out);
    let unknown = required(&right, "nothing");
    assert!(unknown.exit != 0 && unknown.err.contains("model_text_judged"), "{}", unknown.err);
    // In the file it holds for everybody who checks it, and stops a run.
    let asked = place(&past_the_gate().replace("inputs:", "guarantees: [model_text_judged]\ninputs:"));
    let run = flow(asked.path(), &["run", "p.yaml", "--input", "question=Hi"]);
    assert!(run.exit == 1 && run.err.contains("F618"), "{}{}", run.out, run.err);
}

#[test]
fn what_sqlite_says_of_a_query_decides_which_personal_columns_it_gives() {
    let of = |query: &str| {
        let folder = place(&format!(
            "flow: 1
name: people
description: Writes about people.
data: {{ people: {{ file: people.csv, pii: [name, tel$] }} }}
agents: {{ writer: {{ instructions: Write one sentence. }} }}
steps:
  - {{ id: rows, sql: \"{query}\" }}
  - {{ id: note, agent: writer, prompt: \"{{{{ steps.rows.output }}}}\" }}
outputs: {{ note: \"{{{{ steps.note.output }}}}\" }}
"
        ));
        std::fs::write(folder.path().join("people.csv"), "id,name,city,tel$\n1,Ana,Basel,2\n").unwrap();
        verdicts(folder.path()).into_iter().find(|(name, _)| name == "personal_declared").unwrap().1
    };
    for (query, verdict) in [
        ("select id, city from people where name = 'Ana'", "holds"),
        ("select * from (select id, city from people)", "holds"),
        ("select x from (select id as x, name from people)", "holds"),
        ("with all_of_them as (select * from people) select city from all_of_them", "holds"),
        ("select id, people.'name' as who from people", "broken"),
        ("select id, tel$ as who from people", "broken"),
        // It is read, and the words do not show for what.
        ("select id, upper(tel$) as who from people", "holds_if"),
        // SQLite tells of one part, or of none.
        ("select city from people union select name from people", "broken"),
        ("select name from people full join (select 'x' as name) using (name)", "broken"),
        // The order of the columns of the file decides.
        ("with x(a, b, c, d) as (select * from people) select a from x", "broken"),
    ] {
        assert_eq!(of(query), verdict, "{query}");
    }
}
