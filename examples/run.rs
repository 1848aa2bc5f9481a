//! Runs a shipped pipeline in an async program: its events while they happen, then its outputs. Its replies are scripted, so it needs no key.
//!
//! `cargo run --example run`

use std::error::Error;

use flow::runtime::{Consent, RunEnding, Workflow};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let workflow = Workflow::check("pipelines/timesheet/pipeline.yaml")?;
    // What it would start, connect to and read is known before; the default is that a file which wants something is rejected.
    let wants = workflow.wishes();
    println!("{}: {} programs, {} hosts, {} secrets", workflow.name(), wants.programs.len(), wants.hosts.len(), wants.secrets.len());
    let runner = workflow.runner().channel("sms").consent(Consent::Refused);
    let mut run = runner.run(json!({ "message": "Check my timesheet" }));
    while let Some(event) = run.next().await {
        println!("{:>3} {}", event.seq, serde_json::to_value(&event)?["type"]);
    }
    let outcome = run.outcome().await?;
    match &outcome.ending {
        RunEnding::Over(status) => println!("{} {}", outcome.run, status.word()),
        RunEnding::Waiting(questions) => println!("{} waits for a person: {questions:?}", outcome.run),
        _ => {}
    }
    outcome.printed.iter().for_each(|part| println!("sent: {part}"));
    println!("{}", outcome.text().unwrap_or_default());
    if outcome.is_good() { Ok(()) } else { Err("the run did not succeed".into()) }
}
