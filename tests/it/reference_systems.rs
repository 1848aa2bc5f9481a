//! `docs/reference_systems.md` tells the truth: what it names exists, and the records it speaks of hold what it says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flow::port::Store;
use flow_adapters::sqlite_store::SqliteStore;
use serde_json::Value;

use crate::golden::copy;
use crate::program::flow;

mod analyst;
mod bridge;
mod chat;
mod city_facts;
mod replies;

/// One system of the page, by its heading: the folder of its pipelines, and runs of them.
struct System {
    heading: &'static str,
    folder: &'static str,
    /// How many rows it has at least.
    least: usize,
    runs: fn() -> Vec<&'static Ran>,
}

const SYSTEMS: [System; 5] = [
    System { heading: "Conversation replies", folder: "pipelines/timesheet", least: 100, runs: replies::all },
    System { heading: "City facts", folder: "pipelines/city_facts", least: 100, runs: city_facts::all },
    System { heading: "Interactive chat", folder: "pipelines", least: 50, runs: chat::all },
    System { heading: "Data analyst", folder: "pipelines/analyst", least: 90, runs: analyst::all },
    System { heading: "Twin-agent bridge", folder: "pipelines/twin_review", least: 90, runs: bridge::all },
];

/// One row of a table of the page.
struct Row {
    line: usize,
    system: &'static System,
    places: Vec<String>,
    tests: Vec<String>,
    says_missing: bool,
}

/// One run of a pipeline in a copy of the project.
struct Ran {
    exit: i32,
    out: String,
    exported: String,
    record: Value,
    events: Vec<Value>,
    /// Of a chat: the line of each answer.
    answers: Vec<Value>,
    /// Of its conversation: the lines of the messages.
    messages: Vec<Value>,
    /// The records of its audit.
    audit: Vec<Value>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("there is room for a copy");
    std::fs::copy(root().join("flow.toml"), project.path().join("flow.toml")).expect("the project has settings");
    for folder in ["pipelines", "channels", "style_guides"] {
        copy(&root().join(folder), &project.path().join(folder));
    }
    project
}

/// Exit code and standard output.
fn program(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let ran = flow(folder, arguments);
    (ran.exit, ran.out)
}

impl Ran {
    /// What the one run of a project left there.
    fn of(project: &Path, exit: i32, out: String) -> Ran {
        let (_, exported) = program(project, &["runs", "export"]);
        let record: Value = serde_json::from_str(&exported).expect("the record is JSON");
        let mut store = SqliteStore::open(&project.join(".flow/runs.db")).expect("the run was kept");
        let events = store.events(record["run"].as_str().unwrap_or_default()).expect("the run has events");
        let events = events.iter().map(|event| serde_json::to_value(event).expect("an event is JSON")).collect();
        let audit = std::fs::read_to_string(project.join(".flow/audit.jsonl")).unwrap_or_default();
        let audit = audit.lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect();
        Ran { exit, out, exported, record, events, answers: vec![], messages: vec![], audit }
    }

    fn phases(&self) -> Vec<&str> {
        list(&self.record["phases"]).iter().filter_map(|phase| phase["name"].as_str()).collect()
    }

    /// What is known of a step.
    fn step(&self, name: &str) -> &Value {
        list(&self.record["steps"]).iter().find(|step| step["step"] == name).unwrap_or(&Value::Null)
    }

    fn events_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The rows of the page's tables, without their heads.
fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join("docs/reference_systems.md")).expect("the page is there");
    let is_head = |line: &str| {
        ["|---", "| there |", "| notation |", "| `record:", "| `event:", "| `answer:", "| `audit:", "| `channel:"]
            .iter()
            .any(|head| line.starts_with(*head))
    };
    let mut rows: Vec<Row> = vec![];
    let mut system = &SYSTEMS[0];
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(heading) = text.strip_prefix("# ") {
            system = SYSTEMS.iter().find(|system| system.heading == heading).unwrap_or(system);
        }
        if !text.starts_with('|') || is_head(text) {
            continue;
        }
        let cells: Vec<&str> = text.split('|').collect();
        assert_eq!(cells.len(), 5, "line {line} has not three columns");
        let says_missing = ["**missing**", "**Partly**"].iter().any(|word| cells[2].contains(word));
        rows.push(Row { line, system, places: codes(cells[2]), tests: codes(cells[3]), says_missing });
    }
    rows
}

/// What stands between backticks and has a colon.
fn codes(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).filter(|code| code.contains(": ")).map(str::to_owned).collect()
}

/// Whether a value has a field: `a.b`, `list[].b` of any element, `list[x].b` of the element that is called `x`.
fn has(value: &Value, path: &[&str]) -> bool {
    let [first, rest @ ..] = path else { return true };
    if let Value::Array(elements) = value {
        return elements.iter().any(|element| has(element, path));
    }
    let (field, wanted) = first.split_once('[').map_or((*first, None), |(field, wanted)| (field, Some(wanted.trim_end_matches(']'))));
    let Some(found) = value.get(field) else { return false };
    match wanted {
        None => has(found, rest),
        Some(wanted) => list(found).iter().any(|element| is_called(element, wanted) && has(element, rest)),
    }
}

fn is_called(element: &Value, wanted: &str) -> bool {
    wanted.is_empty() || ["step", "name", "gate", "agent", "id"].iter().any(|key| element.get(*key).is_some_and(|name| name == wanted))
}

/// Whether a file of a folder has all keys of a path.
fn is_written(folder: &str, path: &str) -> bool {
    let mut files = std::fs::read_dir(root().join(folder)).expect("the folder is there").flatten().map(|entry| entry.path());
    files.any(|file| {
        let text =
            if file.extension().is_some_and(|e| e == "yaml") { std::fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        path.split('.').all(|key| text.contains(&format!("{key}:")))
    })
}

/// Whether a place of the middle column exists.
fn place_exists(system: &System, place: &str) -> bool {
    let Some((kind, path)) = place.split_once(": ") else { return false };
    let parts: Vec<&str> = path.split('.').collect();
    match kind {
        "record" => (system.runs)().iter().any(|ran| has(&ran.record, &parts)),
        "event" => (system.runs)().iter().any(|ran| ran.events_of(parts[0]).any(|event| has(event, &parts[1..]))),
        "answer" => (system.runs)().iter().any(|ran| ran.answers.iter().any(|answer| has(answer, &parts))),
        "message" => (system.runs)().iter().any(|ran| ran.messages.iter().any(|message| has(message, &parts))),
        "audit" => (system.runs)().iter().any(|ran| ran.audit.iter().any(|record| has(record, &parts))),
        "channel" => is_written("channels", path),
        "style guide" => is_written("style_guides", path),
        "pipeline" => is_written(system.folder, path),
        _ => false,
    }
}

/// Whether a file has a test: `fn name` under `#[test]`, or a case of a test file.
fn test_exists(test: &str) -> bool {
    let Some((file, name)) = test.split_once(": ") else { return false };
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    if file.ends_with(".yaml") {
        return text.lines().any(|line| line.trim() == format!("- id: {name}"));
    }
    let is_mark = |line: &str| matches!(line.trim(), "#[test]" | "#[tokio::test]");
    text.split_once(&format!("fn {name}(")).is_some_and(|(before, _)| before.lines().rev().take(4).any(is_mark))
}

#[test]
fn every_row_is_mapped_and_tested_or_says_what_is_missing() {
    let rows = rows();
    for system in &SYSTEMS {
        let count = rows.iter().filter(|row| row.system.heading == system.heading).count();
        assert!(count > system.least, "only {count} rows found of {}", system.heading);
    }
    let silent: Vec<usize> =
        rows.iter().filter(|row| !row.says_missing && (row.places.is_empty() || row.tests.is_empty())).map(|row| row.line).collect();
    assert!(silent.is_empty(), "these lines name no place or no test: {silent:?}");
}

#[test]
fn every_place_the_page_names_exists() {
    let mut unknown: Vec<String> = vec![];
    // What has no runs needs something that is not here, and has said so.
    for row in rows().into_iter().filter(|row| !(row.system.runs)().is_empty()) {
        let missing = row.places.iter().filter(|place| !place_exists(row.system, place));
        unknown.extend(missing.map(|place| format!("line {}: {place}", row.line)));
    }
    assert!(unknown.is_empty(), "these do not exist:\n{}", unknown.join("\n"));
    for nonsense in ["record: steps[fit].output.nothing", "event: gate_failed.nothing", "channel: nothing", "nothing: run"] {
        assert!(SYSTEMS.iter().all(|system| !place_exists(system, nonsense)), "{nonsense}");
    }
}

#[test]
fn every_test_the_page_names_exists() {
    let mut unknown: Vec<String> = vec![];
    for row in rows() {
        unknown.extend(row.tests.iter().filter(|test| !test_exists(test)).map(|test| format!("line {}: {test}", row.line)));
    }
    assert!(unknown.is_empty(), "these do not exist:\n{}", unknown.join("\n"));
    assert!(!test_exists("tests/it/reference_systems.rs: place_exists"), "a function is not yet a test");
}

/// The runs of all systems.
fn all() -> Vec<&'static Ran> {
    SYSTEMS.iter().flat_map(|system| (system.runs)()).collect()
}

#[test]
fn every_run_has_an_id_of_its_own_and_readable_times() {
    let ids: BTreeSet<&str> = all().iter().filter_map(|ran| ran.record["run"].as_str()).collect();
    assert_eq!(ids.len(), all().len());
    for id in ids {
        let digits = id.strip_prefix("r_").unwrap_or_default();
        assert!(digits.len() == 32 && digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{id}");
    }
    for ran in all() {
        let own = [&ran.record["started"], &ran.record["ended"]];
        let lists = ["phases", "interactions", "failures"].iter().flat_map(|name| list(&ran.record[*name]));
        for time in own.into_iter().chain(lists.chain(&ran.events).map(|element| &element["time"])) {
            assert!(time.as_str().is_some_and(|time| chrono::DateTime::parse_from_rfc3339(time).is_ok()), "{time}");
        }
    }
}

#[test]
fn every_call_of_an_agent_has_a_time_and_failed_ones_an_error() {
    let mut count = 0;
    for call in all().into_iter().flat_map(|ran| list(&ran.record["interactions"])) {
        assert!(call["duration_ms"].is_u64(), "{call}");
        assert_eq!(call["success"] == true, call["error"].is_null(), "{call}");
        assert!(call["error"].is_null() || call["error"].as_str().is_some_and(|error| !error.is_empty()), "{call}");
        count += 1;
    }
    assert!(count > 12, "only {count} calls");
    for step in all().into_iter().flat_map(|ran| list(&ran.record["steps"])).filter(|step| step["status"] == "succeeded") {
        assert!(step["details"]["duration_ms"].is_u64(), "{step}");
    }
}
