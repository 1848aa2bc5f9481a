//! What `--events` writes, through the program.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use serde_json::Value;

use crate::program::{Ran, command, ran};

const PIPELINE: &str = "flow: 1
name: greets
description: Greets a person.
inputs:
  who: { type: text, pii: true }
secrets: { CRM_KEY: Key of the CRM }
models:
  default: { provider: scripted, replies: greets.replies.yaml, api_key: \"{{ secrets.CRM_KEY }}\" }
agents:
  writer: { instructions: You greet. }
steps:
  - { id: compose, agent: writer, prompt: \"Greet {{ inputs.who }} and call kiefer.brand@example.com.\" }
outputs: { text: \"{{ steps.compose.output }}\" }
";
const REPLIES: &str = "flow: 1\nreplies: { compose: \"Hello {{ inputs.who }}, the key is canary-5150-key.\" }\n";

fn events(arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), PIPELINE).unwrap();
    std::fs::write(folder.path().join("greets.replies.yaml"), REPLIES).unwrap();
    let mut command = command(folder.path(), &["run", "p.yaml", "--trust", "--input", "who=Zebulon Quick", "--events", "-"]);
    let Ran { exit, out: text, .. } = ran(command.args(arguments).env("CRM_KEY", "canary-5150-key"));
    assert_eq!(exit, 0, "{text}");
    for secret in ["Zebulon", "Quick", "kiefer.brand", "canary-5150"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn texts_are_left_out_of_events_and_with_content_they_are_masked() {
    let called = |events: &[Value]| events.iter().find(|e| e["type"] == "model_called").unwrap().clone();
    let without = events(&[]);
    assert_eq!(called(&without)["messages"], Value::Null);
    let with = events(&["--events-content"]);
    let messages = called(&with)["messages"].to_string();
    assert!(messages.contains("You greet.") && messages.contains("Greet <"), "{messages}");
    let types = |events: &[Value]| events.iter().map(|e| (e["seq"].clone(), e["type"].clone(), e["step"].clone())).collect::<Vec<_>>();
    assert_eq!(types(&without), types(&with));
    let end = with.last().unwrap();
    assert!(end["outputs"]["text"].as_str().unwrap().starts_with("Hello <"), "{end}");
}
