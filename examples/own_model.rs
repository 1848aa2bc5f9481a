//! A model in Rust: everything that agents ask is answered here, and no network is needed.
//!
//! `cargo run --example own_model`

use std::error::Error;
use std::sync::Arc;

use flow::port::{MemoryFiles, ModelClient, ModelReply, ModelRequest, Pending};
use flow::runtime::Workflow;
use serde_json::json;

const PIPELINE: &str = r#"
flow: 1
name: greeting
description: Greets a person.
inputs:
  who: { type: text }
agents:
  writer: { instructions: You write one friendly sentence. }
steps:
  - { id: compose, agent: writer, prompt: "Greet {{ inputs.who }}." }
outputs: { greeting: "{{ steps.compose.output }}" }
"#;

/// Answers with the last words of what it is asked. A real one would call a library, a service or a model in this process; an error would be a
/// `Failure`, whose kind says whether it is worth another try.
struct Echo;

impl ModelClient for Echo {
    fn call(&self, request: ModelRequest) -> Pending<ModelReply> {
        let asked = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        let who = asked.trim().trim_end_matches('.').rsplit(' ').next().unwrap_or_default().to_owned();
        Box::pin(async move { Ok(ModelReply { text: format!("Good morning, {who}!"), ..ModelReply::default() }) })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let files = MemoryFiles::from_iter([("greeting.yaml", PIPELINE)]);
    let runner = Workflow::check_with("greeting.yaml", "", &files)?.runner().model_client(Arc::new(Echo));
    // Without a runtime, `wait` blocks until the end.
    let outcome = runner.run(json!({ "who": "Ana" })).wait()?;
    println!("{}", outcome.outputs["greeting"]);
    assert_eq!(outcome.outputs["greeting"], "Good morning, Ana!");
    assert!(!outcome.is_scripted);
    Ok(())
}
