//! What README shows runs as it is shown.

use assert_cmd::Command;

#[test]
fn the_pipeline_of_the_readme_runs_and_refines_once() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let yaml = readme.split("```yaml\n").nth(1).unwrap().split("\n```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greeting.yaml"), yaml).unwrap();
    let replies = "flow: 1\nreplies:\n  compose: [\"Hi!\", \"Welcome, {{ inputs.who }}!\"]\n";
    std::fs::write(folder.path().join("greeting.replies.yaml"), replies).unwrap();
    let flow = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("flow").unwrap();
        command.current_dir(folder.path()).args(arguments).output().unwrap()
    };
    let checked = flow(&["validate", "--deny-warnings", "greeting.yaml"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let ran = flow(&["run", "greeting.yaml"]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Welcome, Ana!\n", "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0));
    let shown = flow(&["runs", "show"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("refining"));
}
