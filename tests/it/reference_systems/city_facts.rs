//! "City facts": what a run leaves in its record and its events. Small scripts stand in for the three MCP servers.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Ran, list, project, root};
use crate::program;

/// The programs that the pipelines start; each is the same script, which knows its name.
const SERVERS: [&str; 3] = ["python3", "mcp-server-time", "mcp-server-everything"];
const CLOSED: (&str, &str) = ("python3", r#""error":{"code":-32000,"message":"The station is closed."}"#);
const IN_KELVIN: (&str, &str) =
    ("python3", r#""result":{"content":[],"structuredContent":{"temperature":283,"unit":"K","description":"cool"}}"#);
const NO_TIME: (&str, &str) = ("mcp-server-time", r#""result":{"content":[],"structuredContent":{"timezone":"America/New_York"}}"#);
const PIPELINE: &str = "pipelines/city_facts/pipeline.yaml";

struct Runs {
    both: Ran,
    all_three: Ran,
    one_fact: Ran,
    one_down: Ran,
    all_down: Ran,
    wrong: Ran,
    no_city: Ran,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| {
    let both = "What is the temperature and the time in New York City?";
    Runs {
        both: run(both, &SERVERS, &[]),
        all_three: run("Echo this, and say temperature and time in NYC", &SERVERS, &[]),
        one_fact: run("How is the weather in Boston?", &SERVERS, &[]),
        one_down: run(both, &SERVERS, &[CLOSED]),
        all_down: run(both, &["python3"], &[CLOSED]),
        wrong: run(both, &SERVERS, &[IN_KELVIN, NO_TIME]),
        no_city: run("How warm is it on the moon?", &SERVERS, &[]),
    }
});

pub(super) fn all() -> Vec<&'static Ran> {
    let runs = &*RUNS;
    vec![&runs.both, &runs.all_three, &runs.one_fact, &runs.one_down, &runs.all_down, &runs.wrong, &runs.no_city]
}

/// Asks the pipeline. Only these servers are there, and some say something else than usual when they are called.
fn run(query: &str, servers: &[&str], says: &[(&str, &str)]) -> Ran {
    let project = project();
    let (exit, out) = ask(project.path(), PIPELINE, &format!("query={query}"), servers, says);
    Ran::of(project.path(), exit, out)
}

fn ask(project: &Path, file: &str, input: &str, servers: &[&str], says: &[(&str, &str)]) -> (i32, String) {
    let bin = tempfile::tempdir().unwrap();
    for name in servers {
        let server = bin.path().join(name);
        std::fs::copy(root().join("tests/it/reference_systems/stand_in.sh"), &server).unwrap();
        std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    for (name, answer) in says {
        std::fs::write(bin.path().join(format!("{name}.says")), format!("{answer}\n")).unwrap();
    }
    let mut command = program::command(project, &["run", file, "--trust", "--input", input, "--now", "2026-11-20T15:30:00Z"]);
    let ran = program::ran(command.env("PATH", bin.path()));
    (ran.exit, ran.out)
}

impl Ran {
    /// Number of the first event of a kind and step.
    fn when(&self, kind: &str, step: &str) -> u64 {
        let found = self.events.iter().find(|event| event["type"] == kind && event["step"] == step);
        found.and_then(|event| event["seq"].as_u64()).unwrap_or_else(|| panic!("no {kind} of {step}"))
    }
}

/// Whether an event ends the step it is of.
fn ends(event: &Value) -> bool {
    ["step_succeeded", "step_failed", "step_cancelled"].iter().any(|kind| event["type"] == *kind)
}

/// The steps of a plan that were open at the same time, at most.
fn most_at_once(ran: &Ran) -> usize {
    let (mut open, mut most) = (BTreeSet::new(), 0);
    for event in &ran.events {
        let Some(path) = event["step"].as_str().filter(|path| path.matches('/').count() == 1) else { continue };
        if event["type"] == "step_started" {
            open.insert(path);
        } else if ends(event) {
            open.remove(path);
        }
        most = most.max(open.len());
    }
    most
}

#[test]
fn both_facts_are_planned_fetched_side_by_side_and_told() {
    let ran = &RUNS.both;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([0, "succeeded"]));
    let outputs = &ran.record["outputs"];
    assert_eq!(outputs["message"], "It is about 50 °F (cool) in New York City. It is 10:30 in New York City on 2026-11-20.");
    assert_eq!(
        outputs["city"],
        json!({ "name": "New York City", "state": "NY", "latitude": 40.71, "longitude": -74.01, "time_zone": "America/New_York" })
    );
    let now = "2026-11-20T15:30:00Z";
    let warmth =
        json!({ "city": "New York City", "temperature": 50.0, "unit": "F", "description": "cool", "source": "weather", "fetched_at": now });
    assert_eq!(json!([outputs["temperature"], outputs["echo"]]), json!([warmth, null]));
    let time = &outputs["date_time"];
    assert_eq!(
        json!([time["datetime"], time["timezone"], time["utc_offset"], time["fetched_at"]]),
        json!(["2026-11-20T10:30:00-05:00", "America/New_York", "-05:00", now])
    );
    assert_eq!(json!([outputs["invoked"], outputs["errors"]]), json!([["temperature", "local_time"], []]));
    let log: Vec<&str> = list(&outputs["log"]).iter().filter_map(Value::as_str).collect();
    assert!(log[0].starts_with("Plan 1 by coordinator: 2 steps, parallel. Reason: ") && log.contains(&"clock succeeded."), "{log:?}");
    let plans = list(&ran.record["plans"]);
    assert_eq!(json!([plans.len(), plans[0]["step"], plans[0]["strategy"]]), json!([1, "work", "parallel"]));
    assert!(plans[0]["reasoning"].as_str().is_some_and(|reason| !reason.is_empty()));
    let steps: Vec<Value> = list(&plans[0]["steps"]).iter().map(|step| json!([step["step"], step["use"], step["depends_on"]])).collect();
    assert_eq!(steps, [json!(["work/warmth", "temperature", []]), json!(["work/clock", "local_time", []])]);
    let calls: Vec<&Value> = list(&ran.record["interactions"]).iter().map(|call| &call["action"]).collect();
    assert_eq!(calls, ["plan work", "turn answer"]);
}

#[test]
fn the_states_of_a_question_are_phases_and_the_plan_an_event() {
    let own = |ran: &'static Ran| -> Vec<&str> {
        list(&ran.record["phases"])
            .iter()
            .filter(|phase| phase["step"].as_str().is_some_and(|step| !step.contains('/')))
            .filter_map(|phase| phase["name"].as_str())
            .collect()
    };
    assert_eq!(own(&RUNS.both), ["created", "analyzing", "dispatching", "aggregating", "completed"]);
    assert_eq!(own(&RUNS.one_down), own(&RUNS.both));
    assert_eq!(own(&RUNS.all_down), ["created", "analyzing", "dispatching", "failed"]);
    assert_eq!(own(&RUNS.no_city), ["created", "analyzing", "failed"]);
    let phases = RUNS.one_fact.phases();
    assert_eq!(phases, ["created", "analyzing", "dispatching", "querying", "responding", "aggregating", "completed"]);
    for ran in [&RUNS.both, &RUNS.all_three, &RUNS.one_fact, &RUNS.one_down, &RUNS.all_down] {
        let planned = ran.when("plan_accepted", "work");
        assert!(ran.when("step_started", "work") < planned && planned < ran.when("plan_ended", "work"));
        assert_eq!(ran.events_of("plan_accepted").count(), 1);
    }
    assert_eq!(RUNS.no_city.events_of("plan_accepted").count(), 0);
}

#[test]
fn an_agent_waits_connects_asks_waits_and_answers() {
    for (ran, steps) in
        [(&RUNS.one_fact, vec!["work/warmth"]), (&RUNS.both, vec!["work/warmth", "work/clock"]), (&RUNS.all_three, vec!["work/say"])]
    {
        for step in steps {
            let ask = &format!("{step}/ask");
            let way = [
                ran.when("plan_accepted", "work"),
                ran.when("step_started", step),
                ran.when("call_opened", step),
                ran.when("tools_asked", ask),
                ran.when("tools_listed", ask),
                ran.when("tool_called", ask),
                ran.when("tool_replied", ask),
                ran.when("step_succeeded", ask),
                ran.when("gate_passed", &format!("{step}/check")),
                ran.when("step_succeeded", step),
            ];
            assert!(way.is_sorted(), "{step}: {way:?}");
        }
    }
}

#[test]
fn at_most_two_agents_are_asked_at_once() {
    assert_eq!(RUNS.all_three.record["outputs"]["invoked"], json!(["temperature", "local_time", "echo"]));
    assert_eq!([&RUNS.all_three, &RUNS.both, &RUNS.one_fact].map(most_at_once), [2, 2, 1]);
    let ran = &RUNS.all_three;
    let first = ran.events.iter().find(|event| ends(event) && ["work/warmth", "work/clock"].iter().any(|step| event["step"] == *step));
    assert!(first.and_then(|event| event["seq"].as_u64()).unwrap() < ran.when("step_started", "work/say"), "the third waits for a place");
}

#[test]
fn a_connection_has_two_seconds_and_a_call_five() {
    let mut count = 0;
    for ran in all() {
        let time = |event: &Value| event["timeout_at_ms"].as_u64().zip(event["at_ms"].as_u64()).map(|(until, at)| until - at);
        for asked in ran.events_of("tools_asked") {
            assert_eq!(time(asked), Some(2_000), "{asked}");
            count += 1;
        }
        for called in ran.events_of("tool_called").filter(|event| event["step"].as_str().is_some_and(|step| step.ends_with("/ask"))) {
            assert_eq!(time(called), Some(5_000), "{called}");
            count += 1;
        }
    }
    assert!(count > 12, "only {count}");
}

#[test]
fn a_server_is_asked_with_what_its_tool_takes_and_its_answer_is_kept() {
    let ran = &RUNS.all_three;
    let asked = |step: &str| ran.events_of("tool_called").find(|event| event["step"] == step).unwrap();
    for (step, tool, with) in [
        ("warmth", "weather.get_temperature", json!({ "latitude": 40.71, "longitude": -74.01, "date": "2026-11-20" })),
        ("clock", "clock.get_current_time", json!({ "timezone": "America/New_York" })),
        ("say", "echoer.echo", json!({ "message": "Echo this, and say temperature and time in NYC" })),
    ] {
        let call = asked(&format!("work/{step}/ask"));
        assert_eq!(json!([call["tool"], call["with"]]), json!([tool, with]));
    }
    assert_eq!(ran.step("work/warmth/ask")["output"], json!({ "temperature": 10, "unit": "C", "description": "cool" }));
    assert_eq!(ran.step("work/clock/ask")["output"]["datetime"], "2026-11-20T10:30:00-05:00");
    assert_eq!(ran.step("work/say/ask")["output"], "Echo: Echo this, and say temperature and time in NYC");
    let echo = &ran.record["outputs"]["echo"];
    assert_eq!(
        json!([echo["original_text"], echo["echo_text"]]),
        json!(["Echo this, and say temperature and time in NYC", "Echo this, and say temperature and time in NYC"])
    );
    let numbers: BTreeSet<_> = ran.events_of("tool_called").map(|call| call["call"].as_u64()).collect();
    assert_eq!(numbers.len(), ran.events_of("tool_called").count(), "every call has a number of its own");
}

#[test]
fn with_one_source_down_the_other_fact_is_told_and_the_error_named() {
    let ran = &RUNS.one_down;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([0, "partial"]));
    let outputs = &ran.record["outputs"];
    assert_eq!(json!([outputs["temperature"], outputs["date_time"]["clock"]]), json!([null, "10:30"]));
    let error = outputs["errors"][0].as_str().unwrap();
    assert!(error.starts_with("warmth (temperature): refused: ") && error.contains("(-32000): The station is closed."), "{error}");
    let told = outputs["message"].as_str().unwrap();
    assert!(told.starts_with("It is 10:30 in New York City on 2026-11-20. Not found: warmth (temperature): "), "{told}");
    assert_eq!(outputs["invoked"], json!(["temperature", "local_time"]));
    let replied = ran.events_of("tool_replied").find(|event| event["step"] == "work/warmth/ask").unwrap();
    assert_eq!(replied["failure"]["kind"], "refused");
    assert_eq!(json!([ran.step("work/warmth")["status"], ran.step("work/clock")["status"]]), json!(["failed", "succeeded"]));
}

#[test]
fn with_all_sources_down_the_question_fails_and_says_why() {
    let ran = &RUNS.all_down;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([6, "failed"]));
    let why = ran.record["failure"]["message"].as_str().unwrap();
    assert!(
        why.contains("The station is closed.") && why.contains("the program \"mcp-server-time\" of server \"clock\" was not found in PATH"),
        "{why}"
    );
    assert_eq!(ran.step("answer")["status"], "skipped");
    assert_eq!(ran.events_of("model_called").count(), 1, "nobody is asked to tell what is not there");
}

#[test]
fn an_agent_that_succeeded_has_data_and_one_that_failed_an_error() {
    let mut count = 0;
    for step in all().into_iter().flat_map(|ran| list(&ran.record["steps"])) {
        if step["step"].as_str().is_none_or(|path| path.matches('/').count() != 1) {
            continue;
        }
        let is_good = step["status"] == "succeeded";
        assert_eq!(is_good, step["output"].is_object(), "{step}");
        assert_eq!(!is_good, step["error"]["message"].as_str().is_some_and(|error| !error.is_empty()), "{step}");
        count += 1;
    }
    assert_eq!(count, 12);
}

#[test]
fn an_answer_that_is_not_of_its_shape_is_no_fact() {
    let ran = &RUNS.wrong;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([6, "failed"]));
    for (step, problem) in
        [("work/warmth", "unit: \"K\" is not one of \"F\" or \"C\""), ("work/clock", "\"datetime\" is a required property")]
    {
        let error = &ran.step(&format!("{step}/ask"))["error"];
        assert_eq!(error["kind"], "bad_shape");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(problem)), "{error}");
        assert_eq!(ran.step(step)["status"], "failed");
    }
    let log = list(&ran.step("work")["details"]["plan"]["log"]);
    assert!(log.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with("warmth failed (bad_shape): "))), "{log:?}");
}

#[test]
fn a_question_without_a_city_asks_nobody() {
    let ran = &RUNS.no_city;
    assert_eq!(json!([ran.exit, ran.record["failure"]["step"]]), json!([6, "no_city"]));
    assert!(ran.record["failure"]["message"].as_str().is_some_and(|why| why.starts_with("I know no city of the United States")));
    assert_eq!(["model_called", "tools_asked"].map(|kind| ran.events_of(kind).count()), [0, 0]);
}

#[test]
fn questions_and_names_that_may_not_be_are_refused_before_anything_runs() {
    let project = project();
    let refused = |file: &str, input: &str| ask(project.path(), file, input, &[], &[]).0 == 2;
    for query in ["query=", "query=  ", &format!("query=time in Boston {}", "x".repeat(500))] {
        assert!(refused(PIPELINE, query), "{query:?}");
    }
    let long = format!("text={}", "x".repeat(1001));
    assert!(["text=", "text= ", long.as_str()].iter().all(|text| refused("pipelines/city_facts/echo.yaml", text)));
    for file in ["pipelines/city_facts/temperature.yaml", "pipelines/city_facts/local_time.yaml"] {
        assert!(["city=", "city=Bos;ton", "city=Boston1"].iter().all(|city| refused(file, city)));
    }
    assert!(!project.path().join(".flow/runs.db").exists(), "nothing ran");
}

#[test]
fn the_table_of_cities_holds_names_states_places_and_zones() {
    let mut table = csv::Reader::from_path(root().join("pipelines/city_facts/data/us_cities.csv")).unwrap();
    let mut count = 0;
    for city in table.deserialize::<std::collections::BTreeMap<String, String>>() {
        let city = city.unwrap();
        assert!(
            city["name"].chars().all(|c| c.is_ascii_alphabetic() || c == ' ' || c == '-') && city["name"].starts_with(char::is_uppercase),
            "{city:?}"
        );
        assert!(city["state"].len() == 2 && city["state"].chars().all(|c| c.is_ascii_uppercase()), "{city:?}");
        let degrees = |key: &str| city[key].parse::<f64>().unwrap();
        assert!((18.0..72.0).contains(&degrees("latitude")) && (-180.0..-60.0).contains(&degrees("longitude")), "{city:?}");
        assert!(city["time_zone"].parse::<chrono_tz::Tz>().is_ok(), "{city:?}");
        count += 1;
    }
    assert!(count > 300, "only {count} cities");
}

#[test]
fn times_are_kept_in_utc() {
    for ran in all() {
        for time in [&ran.record["started"], &ran.record["ended"], &ran.events[0]["now"]]
            .into_iter()
            .chain(ran.events.iter().map(|event| &event["time"]))
        {
            assert!(time.as_str().is_some_and(|time| time.ends_with('Z')), "{time}");
        }
    }
}
