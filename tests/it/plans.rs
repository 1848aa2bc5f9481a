//! `plan` steps through the program: the example in `tests/golden/cities`.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};

fn flow(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_flow")).current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The example in a folder of its own.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cities");
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|file| file.file_type().unwrap().is_file()) {
        std::fs::copy(file.path(), project.path().join(file.file_name())).unwrap();
    }
    std::fs::write(project.path().join("flow.toml"), "").unwrap();
    project
}

#[test]
fn the_cases_of_the_example_pass_with_their_goldens() {
    let (exit, out, err) = flow(Path::new(env!("CARGO_MANIFEST_DIR")), &["test", "tests/golden/cities"]);
    assert_eq!(exit, 0, "{out}{err}");
    assert!(err.contains("5 passed") || out.contains("5 passed"), "{out}{err}");
}

#[test]
fn what_ran_inside_a_plan_is_shown_drawn_and_told() {
    let project = project();
    let folder = project.path();
    let (exit, out, err) =
        flow(folder, &["run", "pipeline.yaml", "--input", "question=Which is warmer, Rome or Oslo?", "--json", "--events", "events.jsonl"]);
    assert_eq!(exit, 0, "{err}");
    assert!(err.contains("work: a plan of 3 steps, parallel\n"), "{err}");
    let ran: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(ran["outputs"]["invoked"], json!(["temperature", "warmest"]));
    assert_eq!(ran["outputs"]["answer"], "Rome is the warmest, with 24 degrees.");
    let run = ran["run_id"].as_str().unwrap();

    let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let accepted: Value = serde_json::from_str(events.lines().find(|line| line.contains("\"plan_accepted\"")).unwrap()).unwrap();
    assert_eq!(accepted["plan"]["steps"][2], json!({ "id": "which", "use": "warmest", "depends_on": ["rome", "oslo"] }));
    assert!(!events.contains("looked up at once"), "reasons are texts of a model");

    let (exit, shown, _) = flow(folder, &["runs", "show", run]);
    assert_eq!(exit, 0);
    for line in [
        "  work/rome           succeeded",
        "  work/which/compare  succeeded",
        "plan 1 of work: parallel. Both temperatures can be looked up at once.",
        "  work/which with warmest after work/rome, work/oslo",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }

    let (exit, drawn, _) = flow(folder, &["graph", "--run", run, "--json"]);
    assert_eq!(exit, 0);
    let drawn: Value = serde_json::from_str(&drawn).unwrap();
    let inner = &drawn["sections"][0]["nodes"][0]["inner"];
    let nodes: Vec<(&str, &str)> = inner["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["path"].as_str().unwrap(), node["state"]["status"].as_str().unwrap()))
        .collect();
    assert_eq!(nodes, [("work/rome", "succeeded"), ("work/oslo", "succeeded"), ("work/which", "succeeded")]);
    let edges: Vec<(u64, u64)> =
        inner["edges"].as_array().unwrap().iter().map(|e| (e["from"].as_u64().unwrap(), e["to"].as_u64().unwrap())).collect();
    assert_eq!(edges, [(0, 2), (1, 2)]);
    for format in ["mermaid", "dot", "svg"] {
        let (exit, picture, _) = flow(folder, &["graph", "--run", run, "--format", format]);
        assert!(exit == 0 && picture.contains("uses warmest") && picture.contains("which"), "{format}: {picture}");
    }
}
