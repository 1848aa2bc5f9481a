//! A run that waits for a person, and continues later: it is kept on disk, so that another process could resume it, too.
//!
//! `cargo run --example approve`

use std::error::Error;

use flow::event::Happening;
use flow::runtime::{Answer, Policy, RunEnding, Storage, Workflow};
use serde_json::json;

const PIPELINE: &str = r#"
flow: 1
name: keeps_a_note
description: Writes a note when a person allows it.
inputs: { text: text }
tools: { notes: { file: ., allow: [write], approve: true } }
steps:
  - { id: keep, tool: notes.write, with: { name: note.txt, text: "{{ inputs.text }}" } }
outputs: { done: "{{ steps.keep.status }}" }
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("keeps.yaml"), PIPELINE)?;
    let workflow = Workflow::check_in(folder.path().join("keeps.yaml"), folder.path())?;
    // Whatever the file says, a run calls this tool and writes texts, and nothing else.
    let policy = Policy { allowed_tools: Some(vec!["notes.write".into()]), write: Some(vec!["*.txt".into()]), ..Policy::default() };
    let runner = workflow.runner().storage(Storage::Folder(folder.path().join("runs"))).policy(policy);

    let outcome = runner.run(json!({ "text": "Water the plants" })).outcome().await?;
    let RunEnding::Waiting(questions) = &outcome.ending else { return Err("nobody was asked".into()) };
    println!("{} waits for {} answer", outcome.run, questions.len());

    let mut run = runner.resume(&outcome.run);
    while let Some(event) = run.next().await {
        if let Happening::ApprovalRequested { step, question, .. } = &event.happening {
            println!("{question} - yes");
            run.answer(step, Answer { approved: true, comment: "they are dry".into(), ..Answer::default() });
        }
    }
    let outcome = run.outcome().await?;
    println!("{}: {}", outcome.run, std::fs::read_to_string(folder.path().join("note.txt"))?);
    if outcome.is_good() { Ok(()) } else { Err("the run did not succeed".into()) }
}
