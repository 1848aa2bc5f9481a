//! A run that is driven from a loop of our own, step by step: what a durable workflow or a server does. The events are kept here, the process "crashes" in
//! the middle, and a second loop continues from them.
//!
//! `cargo run --example stepped`

use std::error::Error;

use flow::event::Event;
use flow::port::MemoryFiles;
use flow::runtime::{Answer, RunOutcome, Runner, SteppedRun, Turn, Workflow};
use serde_json::json;

const PIPELINE: &str = r#"
flow: 1
name: order
description: Orders what somebody wants, when a person allows it.
inputs: { what: text }
steps:
  - { id: pause, wait: 1s }
  - { id: allowed, approval: "Order {{ inputs.what }}?" }
  - { id: ordered, set: "Ordered: {{ inputs.what }}" }
outputs: { done: "{{ steps.ordered.output }}" }
"#;

/// Drives a run until it has ended, or `crashes` when somebody is asked.
async fn drive(mut run: SteppedRun, kept: &mut Vec<Event>, crashes: bool) -> Result<Option<RunOutcome>, Box<dyn Error>> {
    loop {
        match run.turn()? {
            Turn::Keep(events) => kept.extend(events),
            Turn::Call(call) => {
                let number = call.number();
                println!("call {number}");
                let outcome = call.carry_out().await;
                run.reply(number, outcome);
            }
            Turn::Cancel(number) => println!("call {number} is no longer needed"),
            Turn::Wait { questions, .. } if !questions.is_empty() => {
                println!("{}", questions[0].text);
                if crashes {
                    return Ok(None);
                }
                run.answer(&questions[0].step, Answer::from(true));
            }
            Turn::Wait { at_most, .. } => tokio::time::sleep(at_most.ok_or("nothing is awaited")?).await,
            Turn::Ended(outcome) => return Ok(Some(*outcome)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let files = MemoryFiles::from_iter([("order.yaml", PIPELINE)]);
    let runner: Runner = Workflow::check_with("order.yaml", "", &files)?.runner();
    let mut kept = vec![];
    assert!(drive(runner.stepped(json!({ "what": "tea" }))?, &mut kept, true).await?.is_none());
    println!("{} events are kept", kept.len());

    let run = runner.stepped_after(kept.clone())?;
    let outcome = drive(run, &mut kept, false).await?.ok_or("the run did not end")?;
    println!("{}", outcome.outputs["done"]);
    if outcome.is_good() { Ok(()) } else { Err("the run did not succeed".into()) }
}
