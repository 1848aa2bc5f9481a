//! "Data analyst": what its runs leave. The models are scripted, the queries and the code run on the shipped files.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Ran, list, project};
use crate::conversations::endpoint_that;
use crate::extras::{Extra, has};
use crate::program;

const PIPELINE: &str = "pipelines/analyst/pipeline.yaml";

struct Runs {
    missed: Ran,
    months: Ran,
    plan_2026: Ran,
    chart: Ran,
    each: Ran,
    greeting: Ran,
    stuck: Ran,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| Runs {
    missed: run("Which regions missed their target, and why?", &[]),
    months: run("Which month was the best, by revenue?", &[]),
    plan_2026: run("What revenue is planned for 2026?", &[]),
    chart: run("How satisfied are the customers?", &[]),
    each: run("What does each file hold?", &[]),
    greeting: run("Hello!", &[]),
    // The column that the worker is told of is none either.
    stuck: run(
        "Which month was the best, by revenue?",
        &[
            ("substr(day, 1, 7)", "substr(date, 1, 7)"),
            (
                "    - passed\n",
                "    - &again\n      data: { thought: Once more., sql_code: select date from orders, reason_code_not_created: \"\" }\n    - *again\n    - *again\n",
            ),
        ],
    ),
});

/// None where there is no Python, which one of them needs.
pub(super) fn all() -> Vec<&'static Ran> {
    if !has(&[Extra::Python]) {
        return vec![];
    }
    let runs = &*RUNS;
    let own = vec![&runs.missed, &runs.months, &runs.plan_2026, &runs.chart, &runs.each, &runs.greeting, &runs.stuck];
    own.into_iter().chain(super::chat::analyst()).collect()
}

/// Asks the pipeline, with other words in what is scripted for the months.
fn run(question: &str, instead: &[(&str, &str)]) -> Ran {
    let project = project();
    let replies = project.path().join("pipelines/analyst/demo.replies.yaml");
    let text = std::fs::read_to_string(&replies).expect("the replies are there");
    let from = text.find("  answer/otherwise/work/months/work:").expect("the months are scripted");
    let to = from + text[from..].find("  answer/otherwise/work/missed/work:").expect("the targets come next");
    let months = instead.iter().fold(text[from..to].to_owned(), |text, (old, new)| text.replace(old, new));
    std::fs::write(&replies, format!("{}{months}{}", &text[..from], &text[to..])).expect("the replies can be written");
    let input = format!("question={question}");
    let (exit, out) = super::program(project.path(), &["run", PIPELINE, "--trust", "--input", &input]);
    Ran::of(project.path(), exit, out)
}

/// A document of more than 20,000 characters, with one sentence that matters.
#[test]
fn of_a_long_document_a_task_sees_the_pieces_that_fit_it() {
    let project = project();
    let filler = |number: usize| format!("Paragraph {number} describes how the office keeps its cupboards, keys and plants in order.\n\n");
    let pages: String = (0..600).map(filler).collect();
    // The scripted router answers questions about the shipped files only.
    let replies = project.path().join("pipelines/analyst/demo.replies.yaml");
    let text = std::fs::read_to_string(&replies).unwrap();
    std::fs::write(&replies, text.replace("inputs.files | length != 4", "inputs.files | length != 2")).unwrap();
    let (before, after) = pages.split_at(pages.find("Paragraph 300").unwrap());
    std::fs::write(
        project.path().join("long.md"),
        format!("{before}The planned growth for 2026 is 8 percent, in East 12 percent.\n\n{after}"),
    )
    .unwrap();
    let files = "files=[\"pipelines/analyst/data/orders.csv\", \"long.md\"]";
    let (exit, out) = super::program(
        project.path(),
        &["run", PIPELINE, "--trust", "--input", "question=What revenue is planned for 2026?", "--input", files],
    );
    let ran = Ran::of(project.path(), exit, out);
    assert_eq!(ran.exit, 0, "{}", ran.out);
    let step = "answer/otherwise/work/growth/work";
    let prompt = ran.events_of("model_called").find(|event| event["step"] == step).map(|event| event["messages"].to_string());
    let prompt = prompt.expect("the worker is asked");
    assert!(prompt.contains("The planned growth for 2026 is 8 percent, in East 12 percent."), "{prompt}");
    assert!(prompt.len() < 30_000 && !prompt.contains("Paragraph 555"), "{}", prompt.len());
    assert_eq!(ran.step("answer/otherwise/work/growth/pieces")["output"][0]["file"], "long.md");
}

fn outputs(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).expect("the outputs are JSON")
}

#[test]
fn an_answer_has_its_workings() {
    let run = &RUNS.missed;
    let outputs = outputs(run);
    assert_eq!((run.exit, &outputs["fulfilled"]), (0, &json!(true)), "{}", run.out);
    let workings = list(&outputs["workings"]);
    let ids: Vec<&Value> = workings.iter().map(|task| &task["task_id"]).collect();
    assert_eq!(ids, ["missed", "reasons"]);
    for task in workings {
        assert!(
            ["task_title", "task_description", "task_outcome"].iter().all(|key| task[key].as_str().is_some_and(|text| text.len() > 5)),
            "{task}"
        );
    }
    assert_eq!(
        workings[0]["result"][0],
        json!({ "region": "East", "quarter": "2025-Q2", "manager": "Marta Nowak", "target": 50000, "revenue": 33388.55, "difference": -16611.45 })
    );
    assert!(
        outputs["markdown_response"].as_str().is_some_and(|text| text.starts_with("East missed its target of 2025-Q2 by 16611.45")),
        "{}",
        run.out
    );
}

#[test]
fn a_simple_question_is_answered_at_once() {
    let run = &RUNS.greeting;
    assert_eq!((run.exit, outputs(run)["workings"].clone()), (0, json!([])));
    let asked: Vec<&Value> = run.events_of("model_called").map(|event| &event["agent"]).collect();
    assert_eq!(asked, ["router"]);
}

#[test]
fn each_file_is_answered_by_itself_where_the_router_says_so() {
    let outputs = outputs(&RUNS.each);
    let titles: Vec<&str> = list(&outputs["workings"]).iter().filter_map(|task| task["task_title"].as_str()).collect();
    assert_eq!(titles.len(), 4, "{outputs}");
    assert!(list(&outputs["workings"]).iter().all(|task| list(&task["tasks"]).len() == 1), "{outputs}");
    assert_eq!(RUNS.each.step("router")["output"]["request_type"], "multiple");
    assert_eq!(RUNS.missed.step("router")["output"]["request_type"], "single");
}

#[test]
fn a_task_sees_the_results_that_it_waited_for() {
    if !has(&[Extra::Python]) {
        return;
    }
    let step = RUNS.plan_2026.step("answer/otherwise/work/plan_2026/work");
    let plan = list(&step["output"]["result"]["plan"]);
    let of_2026: Vec<&Value> = plan.iter().map(|row| &row["revenue_2026"]).collect();
    assert_eq!(of_2026, [333713.35, 292353.13, 243425.13, 234262.79]);
}

#[test]
fn a_failed_try_is_told_to_the_next_one_and_is_recorded() {
    let step = RUNS.months.step("answer/otherwise/work/months/work");
    assert_eq!((&step["status"], list(&step["details"]["tries"]).len()), (&json!("succeeded"), 2), "{step}");
    assert!(step["details"]["tries"][0]["error"].as_str().is_some_and(|error| error.contains("no such column: order_date")), "{step}");
    let told = RUNS.months.events_of("model_called").filter(|event| event["step"] == "answer/otherwise/work/months/work");
    let prompts: Vec<String> = told.map(|event| event["messages"].to_string()).collect();
    assert!(prompts.iter().any(|prompt| prompt.contains("no such column: order_date")), "{prompts:?}");
}

#[test]
fn three_identical_failures_end_a_task_with_the_latest_of_them() {
    let run = &RUNS.stuck;
    let step = run.step("answer/otherwise/work/months/work");
    assert_eq!((run.exit, &step["status"], &step["details"]["identical_failures"]), (6, &json!("failed"), &json!(3)), "{step}");
    let failures = list(&step["details"]["latest_failures"]);
    assert_eq!(failures.len(), 3, "{step}");
    assert!(failures.iter().all(|failure| failure.as_str().is_some_and(|text| text.contains("no such column: date"))), "{failures:?}");
    assert_eq!(step["details"]["state"], "failed");
}

#[test]
fn files_are_described_with_the_figures_of_their_kind() {
    let step = RUNS.missed.step("answer/otherwise/files");
    let files = list(&step["output"]);
    let of = |kind: &str| files.iter().filter(|file| file["type"] == kind).collect::<Vec<_>>();
    let table = &of("table")[0]["tables"][0];
    assert_eq!((&table["name"], &table["row_count"]), (&json!("orders"), &json!(10_480)));
    assert_eq!(table["sample_markdown"].as_str().map(|text| text.lines().count()), Some(12));
    let region = list(&table["columns"]).iter().find(|column| column["name"] == "region").expect("it has regions");
    assert_eq!((&region["min"], &region["max"], &region["top_3"][0]["value"]), (&json!("East"), &json!("West"), &json!("North")));
    let document = of("document")[0];
    assert_eq!((&document["page_count"], &document["image_count"], list(&document["pages"]).len()), (&json!(3), &json!(1), 3));
    assert!(document["text_length"].as_u64() >= document["longest_page"].as_u64() && document["median_page"].is_number(), "{document}");
    let picture = of("image")[0];
    assert!(picture["width"].is_u64() && picture["height"].is_u64(), "{picture}");
}

#[test]
fn a_picture_is_described_by_its_elements_and_its_values_are_read() {
    let seen = &RUNS.chart.step("answer/otherwise/pictures")["output"][0];
    assert_eq!(
        (&seen["unreadable"], &seen["elements"][0]["element_type"], &seen["elements"][0]["required"]),
        (&json!(false), &json!("chart"), &json!(true))
    );
    let read = RUNS.chart.step("answer/otherwise/work/chart/reading");
    assert_eq!(read["output"]["values"][0]["value"], 82);
}

/// A stand-in for a model that sees, over the format of chat completions: it answers what the schema of each call asks for.
#[test]
fn a_model_that_sees_is_sent_the_picture_itself_and_only_where_it_is_needed() {
    let says = |request: &Value| {
        let schema = request["response_format"].to_string();
        let answer = if schema.contains("\"needs_files\"") {
            json!({ "needs_files": true, "request_type": "single", "answer": null })
        } else if schema.contains("\"elements\"") {
            let chart = json!({ "element_desc": "Bars", "element_location": "all", "element_type": "chart", "required": true });
            json!({ "unreadable": false, "image_quality": "Sharp.", "elements": [chart] })
        } else if schema.contains("\"estimated\"") {
            let value = json!({ "label": "West", "series": null, "value": 79, "estimated": false });
            json!({ "unreadable": false, "problem": null, "title": "Satisfaction", "unit": "points", "values": [value] })
        } else if schema.contains("\"strategy\"") {
            let with = json!({ "picture": "pipelines/analyst/data/chart.png", "asked": "The value of West" });
            let step = json!({ "id": "chart", "use": "read_chart", "depends_on": [], "with": with });
            json!({ "strategy": "parallel", "reasoning": "The chart tells it.", "steps": [step] })
        } else if schema.contains("\"fulfilled\"") {
            json!({ "fulfilled": true, "progress": "The chart was read." })
        } else if schema.contains("\"verdicts\"") {
            json!({ "verdicts": { "answers_question": { "passed": true, "feedback": "", "evidence": "" } } })
        } else {
            return "West has 79 points.".to_owned();
        };
        answer.to_string()
    };
    let (url, heard) = endpoint_that(says);
    let project = project();
    let arguments = [
        "run",
        PIPELINE,
        "--trust",
        "--input",
        "question=How satisfied is West?",
        "--input",
        "files=[\"pipelines/analyst/data/chart.png\"]",
    ];
    let mut command = program::command(project.path(), &arguments);
    let ran = program::ran(command.env("FLOW_MODEL", "seer").env("FLOW_MODEL_BASE_URL", &url));
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let outputs: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(outputs["markdown_response"], "West has 79 points.");
    let requests = heard.lock().unwrap();
    let bytes = std::fs::read(super::root().join("pipelines/analyst/data/chart.png")).unwrap();
    let picture = format!("data:image/png;base64,{}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes));
    let with_picture: Vec<bool> = requests.iter().map(|request| request["messages"].to_string().contains(&picture)).collect();
    // Router, observer, planner, the chart, the check, the writer, the judge.
    assert_eq!(with_picture, [false, true, false, true, false, false, false]);
}
