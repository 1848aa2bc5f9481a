//! Agents whose model is a tool: an MCP server or an endpoint takes part like every other agent.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process_limits::{endpoint, http};
use crate::program::flow;

fn project(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("flow.toml"), "").unwrap();
    for (name, text) in files {
        std::fs::create_dir_all(place.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

/// A pipeline that an MCP server offers as its tool `reviewer`.
const SERVED: &str = "flow: 1
name: reviewer
description: Reviews what it is given.
inputs: { prompt: text, instructions: { type: text, default: none } }
models: { default: { provider: scripted, replies: said.yaml } }
agents: { one: {} }
steps:
  - { id: say, agent: one, prompt: \"{{ inputs.prompt }}\" }
outputs: { reply: { text: \"{{ steps.say.output }}\", told: \"{{ inputs.instructions }}\" } }
";

const SAID: &str = "flow: 1
replies:
  say:
    - when: \"'Turn 2' in inputs.prompt\"
      text: \"By {{ inputs.instructions }}.\\n\\nAGREED\"
    - text: \"The lock is taken too late, says {{ inputs.instructions }}\"
";

/// A dialogue of that server and a model.
fn talk(policy: &str) -> String {
    format!(
        "flow: 1
name: talk
description: Two talk.
models:
  server: {{ provider: tool, tool: review.reviewer, system: instructions, answer: reply.text }}
  default: {{ provider: scripted, replies: checks.yaml }}
tools: {{ review: {{ command: '{}', args: [mcp, other/served.yaml, -q], allow: [reviewer] }} }}
{policy}agents:
  first: {{ model: server, instructions: the server }}
  second: {{ instructions: You check. }}
steps:
  - {{ id: review, dialogue: [first, second], topic: Is it right?, max_turns: 6, until: {{ all_say: AGREED }} }}
outputs: {{ ended: \"{{{{ steps.review.output.ended }}}}\", positions: \"{{{{ steps.review.output.positions }}}}\" }}
",
        env!("CARGO_BIN_EXE_flow")
    )
}

const CHECKS: &str = "flow: 1
replies:
  review: [It is not., AGREED]
";

fn talked(policy: &str) -> TempDir {
    project(&[
        ("other/flow.toml", ""),
        ("other/served.yaml", SERVED),
        ("other/said.yaml", SAID),
        ("talk.yaml", &talk(policy)),
        ("checks.yaml", CHECKS),
    ])
}

fn audited(project: &Path, action: &str) -> Vec<Value> {
    let all = flow(project, &["audit", "export", "--format", "jsonl"]).out;
    all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|record| record["action"] == action).collect()
}

#[test]
fn an_mcp_server_talks_with_a_model() {
    let place = talked("");
    let checked = flow(place.path(), &["validate", "talk.yaml"]);
    assert_eq!(checked.exit, 0, "{}{}", checked.out, checked.err);
    let ran = flow(place.path(), &["run", "talk.yaml", "--trust"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
    assert_eq!(told, json!({ "ended": "agreed", "positions": { "first": "By the server.\n\nAGREED", "second": "AGREED" } }), "{}", ran.err);
    let shown = flow(place.path(), &["runs", "show"]).out;
    assert!(shown.contains("1. first to second: The lock is taken too late, says the server"), "{shown}");
    let calls = audited(place.path(), "tool_call");
    assert!(calls.iter().any(|call| call["target"].as_str().is_some_and(|target| target.contains("review.reviewer"))), "{calls:?}");
    assert_eq!(flow(place.path(), &["audit", "verify"]).exit, 0);
    let explained = flow(place.path(), &["explain", "talk.yaml"]).out;
    assert!(explained.contains("model server: the tool review.reviewer"), "{explained}");
}

#[test]
fn a_policy_holds_for_the_tool_of_a_model() {
    let place = talked("policies: { strict: { disallowed_tools: [review.reviewer] } }\npolicy: strict\n");
    let ran = flow(place.path(), &["run", "talk.yaml", "--trust"]);
    assert_ne!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(audited(place.path(), "tool_call").is_empty());
}

#[test]
fn what_no_policy_in_force_allows_is_denied_once_and_audited() {
    let place = talked("policies: { strict: { allowed_tools: [other], permission_mode: deny } }\npolicy: strict\n");
    let ran = flow(place.path(), &["run", "talk.yaml", "--trust"]);
    assert!(ran.exit == 6 && ran.err.contains("tool \"review.reviewer\" is not allowed: policy strict"), "{}", ran.err);
    assert!(!ran.err.contains("retrying"), "{}", ran.err);
    let blocked = audited(place.path(), "policy_decision");
    assert!(blocked.iter().any(|record| record["target"] == "tool review.reviewer" && record["result"] == "blocked"), "{blocked:?}");
}

#[test]
fn what_the_tool_of_a_model_does_not_take_is_told_before_the_run() {
    let place = project(&[]);
    let findings = |model: &str, tool: &str| {
        let text = format!(
            "flow: 1\nname: asks\nmodels: {{ far: {{ provider: tool, {model} }} }}\ntools: {{ far: {{ {tool}, description: Answers. }} }}\nagents: {{ one: {{ model: far }} }}\nsteps: [{{ id: ask, agent: one, prompt: x }}]\noutputs: {{ a: \"{{{{ steps.ask.output }}}}\" }}\n"
        );
        std::fs::write(place.path().join("asks.yaml"), text).unwrap();
        flow(place.path(), &["validate", "asks.yaml"]).out
    };
    let http = |arguments: &str| format!("http: 'POST https://a.example.com', arguments: {{ {arguments} }}");
    assert_eq!(findings("tool: far", &http("prompt: text")), "");
    for (model, tool, told) in [
        ("tool: far, prompt: question", http("questions: text"), "tool \"far\" has no argument \"question\"; did you mean \"questions\"?"),
        ("tool: far", http("prompt: integer"), "argument \"prompt\" of tool \"far\" takes no text"),
        ("tool: far", http("prompt: text, user: text"), "needs argument \"user\", which a model does not give"),
        ("tool: far, system: prompt", http("prompt: text"), "prompt and instructions in one argument"),
        ("tool: far", format!("{}, with: {{ prompt: x }}", http("prompt: text")), "has a fixed \"prompt\""),
        ("tool: far", "command: agent, allow: [ask]".to_owned(), "\"far\" is a server, and answers by none of its tools"),
    ] {
        let found = findings(model, &tool);
        assert!(found.contains("error[F303]") && found.contains(told), "{told}: {found}");
    }
}

/// An agent behind an endpoint that fails the first time.
fn behind(url: &str) -> String {
    format!(
        "flow: 1
name: asks
description: Asks.
models: {{ far: {{ provider: tool, tool: far, answer: body.choices.0.text, retry: {{ max_attempts: 2, delay: 10ms }} }} }}
tools: {{ far: {{ http: 'POST {url}', body: {{ question: '{{{{ with.prompt }}}}' }}, arguments: {{ prompt: text }}, description: Answers. }} }}
agents: {{ one: {{ model: far, output: {{ right: boolean }} }} }}
steps:
  - {{ id: ask, agent: one, prompt: Is it right? }}
outputs: {{ right: \"{{{{ steps.ask.output.right }}}}\" }}
"
    )
}

#[test]
fn an_endpoint_that_fails_once_answers_and_one_that_fails_always_is_told() {
    for (failures, expected) in [(1, 0), (9, 6)] {
        let heard = Arc::<AtomicUsize>::default();
        let count = heard.clone();
        let url = endpoint(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            number if number < failures => http("429 Too Many Requests", "{}"),
            // An answer of the wrong shape is sent back.
            1 => http("200 OK", &json!({ "choices": [{ "text": "Perhaps." }] }).to_string()),
            _ => http("200 OK", &json!({ "choices": [{ "text": "{\"right\": true}" }] }).to_string()),
        });
        let place = project(&[("asks.yaml", &behind(&url))]);
        let ran = flow(place.path(), &["run", "asks.yaml", "--trust"]);
        assert_eq!(ran.exit, expected, "{}{}", ran.out, ran.err);
        if expected == 0 {
            assert_eq!((ran.out.trim(), heard.load(Ordering::SeqCst)), ("true", 3), "{}", ran.err);
        } else {
            assert!(ran.err.contains("429") && heard.load(Ordering::SeqCst) == 2, "{}", ran.err);
        }
    }
}

#[test]
fn a_test_mocks_the_tool_or_says_what_the_agent_answers() {
    let cases = "tests:
  - { id: by_mock, mocks: { far: { status: 200, body: { choices: [{ text: '{\"right\": false}' }] } } }, expect: { outputs: { right: false } } }
  - { id: by_reply, replies: { ask: { data: { right: true } } }, expect: { outputs: { right: true } } }
";
    let place = project(&[("asks.yaml", &format!("{}{cases}", behind("https://agents.example.com/ask")))]);
    let ran = flow(place.path(), &["test", "asks.yaml"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
}
