//! What a case sees of the calls of a run: prompts, pictures, requests, agents and how many at once. Each is broken in the pipeline, and the case fails.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use tempfile::TempDir;

use crate::program::flow;

const PIPELINE: &str = r#"flow: 1
name: orders
description: Sums up orders and reports each.
inputs: { id: { type: text, default: "7" }, notes: { type: list, items: text, default: [one, two, three] } }
secrets: { TOKEN: The key of the desk. }
models: { default: { provider: openai, model: small } }
agents:
  writer: { instructions: You sum up orders. }
  checker: { instructions: You check sums. }
steps:
  - { id: picture, read: chart.png }
  - { id: each, for_each: inputs.notes, max_parallel: 2, agent: writer, prompt: "Sum up note {{ item }}." }
  - { id: all, agent: writer, attach: steps.picture.output, prompt: "Sum up order {{ inputs.id }}." }
  - id: report
    http: POST {{ env.DESK_URL }}/orders/{{ inputs.id }}
    headers: { Authorization: "Bearer {{ secrets.TOKEN }}" }
    body: { order: "{{ inputs.id }}", text: "{{ steps.all.output }}" }
    idempotency_key: order-{{ inputs.id }}
outputs: { text: "{{ steps.all.output }}", each: "{{ steps.each.output }}", status: "{{ steps.report.output.status }}" }
"#;

const CASES: &str = r#"flow: 1
test: orders.yaml
cases:
  - id: sent
    replies: { each: Noted., all: Two apples. }
    mocks: { report: { status: 201, headers: {}, body: null } }
    expect:
      calls:
        each: { agent: writer, prompt: { contains: Sum up note two. } }
        "each[2]": { prompt: { contains: Sum up note three., not_contains: note two } }
        all: { prompt: { regex: "(?s)You sum up orders.*Sum up order 7" }, pictures: [chart.png] }
        report: { request: { contains: /orders/7 }, body: { order: "7", text: Two apples. }, idempotency_key: order-7 }
      asked: [writer]
      max_parallel: 2
"#;

fn project(pipeline: &str, cases: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let chart = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/pipelines/analyst/data/chart.png")).unwrap();
    for (name, text) in
        [("flow.toml", "".as_bytes()), ("orders.yaml", pipeline.as_bytes()), ("orders.test.yaml", cases.as_bytes()), ("chart.png", &chart)]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn what_a_run_sends_is_seen_and_each_change_of_it_fails_the_case() {
    let ran = flow(project(PIPELINE, CASES).path(), &["test"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    for (from, to, why) in [
        ("Sum up note {{ item }}.", "Note {{ item }}.", "step \"each\": prompt: "),
        ("You sum up orders.", "You sum.", "step \"all\": prompt: "),
        ("max_parallel: 2, ", "", "max_parallel: expected at most 2, found 3 calls at once"),
        ("attach: steps.picture.output, ", "", "step \"all\": pictures: \"chart.png\" was not shown"),
        ("/orders/{{", "/order/{{", "step \"report\": request: "),
        ("body: { order: \"{{ inputs.id }}\"", "body: { order: \"{{ inputs.id }}x\"", "step \"report\": body: "),
        ("idempotency_key: order-", "idempotency_key: o-", "step \"report\": idempotency_key: "),
        ("max_parallel: 2, agent: writer", "max_parallel: 2, agent: checker", "asked: \"checker\" was asked, too: step \"each[0]\""),
    ] {
        let ran = flow(project(&PIPELINE.replacen(from, to, 1), CASES).path(), &["test"]);
        assert!(ran.exit == 1 && ran.out.contains(why), "{to}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn names_of_calls_that_do_not_exist_are_found() {
    for (from, to, why) in [
        ("        all: {", "        al: {", "test \"sent\" expects calls of step \"al\", which does not exist; did you mean \"all\"?"),
        (
            "asked: [writer]",
            "asked: [writers]",
            "test \"sent\" expects calls of agent \"writers\", which does not exist; did you mean \"writer\"?",
        ),
        ("agent: writer", "agent: checkers", "expects calls of agent \"checkers\", which does not exist; did you mean \"checker\"?"),
        ("pictures:", "picture:", "unknown key \"picture\" in calls of \"all\"; did you mean \"pictures\"?"),
    ] {
        let ran = flow(project(PIPELINE, &CASES.replacen(from, to, 1)).path(), &["validate", "orders.test.yaml"]);
        assert!(ran.exit == 1 && ran.out.contains(why), "{to}: {}", ran.out);
    }
}
