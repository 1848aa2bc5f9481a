//! Checks files and prints what is found, as `flow validate` does.
//!
//! `cargo run --example check -- FILE…`; without files, a shipped pipeline.

use flow::runtime::{CheckError, Workflow};

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let files = if named.is_empty() { vec!["pipelines/timesheet/pipeline.yaml".to_owned()] } else { named };
    let mut has_errors = false;
    for file in files {
        match Workflow::check(&file) {
            Ok(workflow) => {
                let inputs = workflow.inputs_schema();
                println!("{file}: {} takes {}", workflow.name(), inputs["properties"]);
                for finding in workflow.findings() {
                    println!("  {} {}", finding.code.id(), finding.message);
                }
            }
            Err(error) => {
                has_errors = true;
                // Each finding has its code, place and help; `Display` draws them all.
                if let CheckError::Findings(_) = &error {
                    println!("{file}: {} errors", error.findings().len());
                }
                println!("{error}");
            }
        }
    }
    std::process::exit(i32::from(has_errors));
}
