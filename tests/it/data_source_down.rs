//! A data source that is down, through the program: the run starts, the person is told in the channel's form, the record says why.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Ran, flow};
use crate::reference_systems::project;

const PIPELINE: &str = "pipelines/timesheet/pipeline.yaml";
const SORRY: &str = "I can't reach your timesheet right now. Please try again in a few minutes.";

fn ask(folder: &Path, channel: &str, person: &str) -> Ran {
    let person = format!("person={person}");
    flow(folder, &["run", PIPELINE, "--input", "message=Check my timesheet", "--channel", channel, "--input", &person])
}

/// The record of the newest run.
fn record(folder: &Path) -> Value {
    serde_json::from_str(&flow(folder, &["runs", "export"]).out).unwrap()
}

fn status_of<'a>(record: &'a Value, step: &str) -> &'a Value {
    let steps = record["steps"].as_array().unwrap();
    steps.iter().find(|found| found["step"] == step).map_or(&Value::Null, |step| &step["status"])
}

#[test]
fn without_its_data_file_a_run_starts_and_the_person_is_told_on_every_channel() {
    let project = project();
    let folder = project.path();
    std::fs::remove_file(folder.join("pipelines/timesheet/data/entries.csv")).unwrap();
    for channel in ["sms", "email", "whatsapp", "teams", "telegram"] {
        let ran = ask(folder, channel, "p7");
        assert_eq!(ran.exit, 6, "{channel}: {}", ran.err);
        assert!(ran.out.contains(SORRY) && ran.out.contains("Ana"), "{channel}: {}", ran.out);
        assert_eq!(channel == "teams", ran.out.starts_with('{'), "{}", ran.out);
        let told = "pipelines/timesheet/tables.yaml:8:20: data file \"data/entries.csv\" does not exist (steps that read it will fail)";
        assert!(ran.err.contains(told), "{}", ran.err);
        assert!(!ran.err.contains("nothing was started"), "{}", ran.err);
        let record = record(folder);
        assert_eq!(json!([record["status"], record["failure"]["kind"]]), json!(["failed", "unavailable"]));
        assert!(record["failure"]["message"].as_str().unwrap().contains("entries.csv does not exist"), "{}", record["failure"]);
        assert_eq!(json!([status_of(&record, "facts"), status_of(&record, "say_sorry")]), json!(["failed", "succeeded"]));
    }
}

#[test]
fn a_missing_data_file_is_an_error_for_validate_and_any_other_error_still_stops_a_run() {
    let project = project();
    let folder = project.path();
    std::fs::remove_file(folder.join("pipelines/timesheet/data/entries.csv")).unwrap();
    let checked = flow(folder, &["validate", PIPELINE]);
    assert_eq!(checked.exit, 1);
    assert!(checked.out.contains("error[F025]: data file \"data/entries.csv\" does not exist"), "{}", checked.out);
    std::fs::remove_file(folder.join("pipelines/timesheet/planner.md")).unwrap();
    let ran = ask(folder, "sms", "p7");
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{}", ran.err);
    assert!(ran.err.contains("planner.md") && ran.err.contains("nothing was started"), "{}", ran.err);
}

#[test]
fn quiet_runs_do_not_warn() {
    let project = project();
    std::fs::remove_file(project.path().join("pipelines/timesheet/data/tasks.csv")).unwrap();
    let ran = flow(project.path(), &["-q", "run", PIPELINE, "--input", "message=Check my timesheet"]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{}", ran.out);
}

#[test]
fn quiet_runs_say_why_there_is_no_result_and_nothing_else() {
    let project = project();
    std::fs::remove_file(project.path().join("pipelines/timesheet/data/entries.csv")).unwrap();
    let ran = flow(project.path(), &["-q", "run", PIPELINE, "--input", "message=Check my timesheet"]);
    assert_eq!((ran.exit, ran.err.lines().count()), (6, 1), "{}", ran.err);
    assert!(ran.err.starts_with("failed at \"facts") && ran.err.contains("entries.csv does not exist"), "{}", ran.err);
}

#[test]
fn without_the_table_of_people_the_run_fails_as_a_run() {
    for (case, damage) in [
        ("missing", (|people| std::fs::remove_file(people)) as fn(&Path) -> std::io::Result<()>),
        ("a folder", |people| std::fs::remove_file(people).and_then(|()| std::fs::create_dir(people))),
        ("no text", |people| std::fs::write(people, [0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 2, 3])),
        ("without ids", |people| std::fs::write(people, "name,email\nAna,a@example.com\n")),
    ] {
        let project = project();
        let folder = project.path();
        damage(&folder.join("pipelines/timesheet/data/people.csv")).unwrap();
        for channel in ["sms", "teams"] {
            let ran = ask(folder, channel, "p7");
            assert_eq!(ran.exit, 6, "{case}, {channel}: {}", ran.err);
            assert!(ran.out.contains(SORRY) && ran.out.contains("Hello,"), "{case}, {channel}: {}", ran.out);
            assert!(!ran.out.contains("None") && !ran.out.contains("null"), "{case}, {channel}: {}", ran.out);
            let record = record(folder);
            assert_eq!(json!([record["status"], record["failure"]["step"]]), json!(["failed", ""]), "{case}");
            assert!(record["failure"]["message"].as_str().unwrap().starts_with("person: "), "{case}: {}", record["failure"]);
            let phases: Vec<&str> = record["phases"].as_array().unwrap().iter().filter_map(|phase| phase["name"].as_str()).collect();
            assert_eq!(phases, ["created", "formatting", "sending", "failed"], "{case}");
            let ended = ["plan", "compose", "deliver", "say_sorry"].map(|step| status_of(&record, step));
            assert_eq!(json!(ended), json!(["blocked", "blocked", "blocked", "succeeded"]), "{case}");
        }
    }
}

#[test]
fn somebody_who_is_not_in_the_table_is_still_a_wrong_command_line() {
    let project = project();
    let ran = ask(project.path(), "sms", "p99");
    assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("person \"p99\" not found in table \"people\""), "{}", ran.err);
    assert!(!project.path().join(".flow/runs.db").exists(), "nothing ran");
}
