//! "Conversation replies": what a run of the timesheet pipeline leaves in its record and its events.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Ran, list, program, project};

struct Runs {
    planned: Ran,
    small_talk: Ran,
    refined: Ran,
    unmet: Ran,
    unanswered: Ran,
    unread: Ran,
    long: Ran,
}

const GOOD: &str = "You've logged {{ steps.facts.output.logged }} of {{ steps.facts.output.target }} hours this week.";

static RUNS: LazyLock<Runs> = LazyLock::new(|| {
    let standard = |replies: &str| run("Check my timesheet", Some(replies));
    Runs {
        planned: run("What's my status?", None),
        small_talk: run("Thanks a lot!", None),
        refined: standard(&format!("[\"You did fine this week, write to {{{{ person.email }}}}.\", \"{GOOD}\"]")),
        unmet: standard("You did fine this week."),
        unanswered: standard("{ error: auth }"),
        unread: {
            let project = project();
            std::fs::remove_file(project.path().join("pipelines/timesheet/data/entries.csv")).expect("the pipeline has hours");
            run_in(&project, "Check my timesheet")
        },
        long: {
            let project = project();
            let data = project.path().join("pipelines/timesheet/data");
            let rows = |row: &dyn Fn(usize) -> String| (0..40).map(row).collect::<String>();
            let name = |n: usize| format!("q{n},The part {n} of the work that the customer in the old town has asked for in the spring\n");
            std::fs::write(data.join("projects.csv"), format!("id,name\n{}", rows(&name))).expect("a copy can be written");
            let entry = |n: usize| format!("e{n},p7,2026-11-{:02},q{n},,1,\n", n % 19 + 1);
            std::fs::write(data.join("entries.csv"), format!("id,person,day,project,task,hours,note\n{}", rows(&entry)))
                .expect("a copy can be written");
            run_in(&project, "My projects")
        },
    }
});

pub(super) fn all() -> Vec<&'static Ran> {
    let runs = &*RUNS;
    vec![&runs.planned, &runs.small_talk, &runs.refined, &runs.unmet, &runs.unanswered, &runs.unread, &runs.long]
}

/// Runs the pipeline by SMS, if wanted with other replies of the writer, and reads its record and its events.
fn run(message: &str, replies: Option<&str>) -> Ran {
    let project = project();
    if let Some(replies) = replies {
        let file = project.path().join("pipelines/timesheet/demo.replies.yaml");
        let shipped = std::fs::read_to_string(&file).expect("the pipeline has replies");
        let (before, _) = shipped.split_once("\n  compose:\n").expect("the writer has replies");
        std::fs::write(&file, format!("{before}\n  compose: {replies}\n  validate: passed\n")).expect("a copy can be written");
    }
    run_in(&project, message)
}

fn run_in(project: &tempfile::TempDir, message: &str) -> Ran {
    let message = format!("message={message}");
    let now = "2026-11-20T09:00:00Z";
    let (exit, out) =
        program(project.path(), &["run", "pipelines/timesheet/pipeline.yaml", "--input", &message, "--channel", "sms", "--now", now]);
    Ran::of(project.path(), exit, out)
}

/// Ids of the verdicts that did or did not pass.
fn ids(verdicts: &Value, passed: bool) -> Vec<&str> {
    list(verdicts).iter().filter(|verdict| verdict["passed"] == passed).filter_map(|verdict| verdict["id"].as_str()).collect()
}

#[test]
fn an_answered_question_leaves_plan_data_draft_reply_and_verdicts() {
    let ran = &RUNS.planned;
    assert_eq!(ran.exit, 0);
    assert_eq!(ran.phases(), ["created", "planning", "extracting", "composing", "formatting", "validating", "sending", "completed"]);
    let record = &ran.record;
    assert_eq!(json!([record["status"], record["channel"], record["inputs"]["message"]]), json!(["succeeded", "sms", "What's my status?"]));
    let plan = &ran.step("plan")["output"];
    assert_eq!(json!([plan["requires_timesheet_data"], plan["plan"]["steps"][0]["use"]]), json!([true, "timesheet"]));
    assert!(plan["plan"]["steps"][0]["prompt"].as_str().is_some_and(|prompt| !prompt.is_empty()));
    let data = &ran.step("facts")["output"];
    assert_eq!((data["logged"].as_f64(), data["target"].as_f64()), (Some(32.0), Some(40.0)));
    for (step, field) in [("compose", None), ("fit", Some("text")), ("validate", Some("text"))] {
        let output = &ran.step(step)["output"];
        let text = field.map_or(output, |field| &output[field]);
        assert!(text.as_str().is_some_and(|text| text.contains("32 of 40 hours this week")), "{step}: {text}");
        assert_eq!(ran.step(step)["status"], "succeeded");
    }
    let judged = list(&ran.step("validate")["details"]["verdicts"]).len();
    let written = list(&plan["scorecard"]["criteria"]);
    assert!(written.len() == 1 && judged > written.len(), "{judged}");
    assert_eq!(record["outputs"]["reply"], ran.step("fit")["output"]["text"]);
    let calls: Vec<(&str, &str)> =
        list(&record["interactions"]).iter().filter_map(|call| Some((call["agent"].as_str()?, call["action"].as_str()?))).collect();
    assert_eq!(calls, [("planner", "turn plan/otherwise"), ("composer", "turn compose"), ("quality", "judge validate")]);
    assert!(ran.events_of("tool_called").any(|call| call["step"] == "facts/hours/total" && call["with"]["with"]["inputs_person"] == "p7"));
    assert_eq!(ran.events_of("output_written").count(), 1);
    assert_eq!(list(&record["failures"]).len(), 0);
}

#[test]
fn a_question_without_data_has_no_extracting_phase() {
    let ran = &RUNS.small_talk;
    assert_eq!(ran.phases(), ["created", "planning", "composing", "formatting", "validating", "sending", "completed"]);
    assert_eq!(ran.step("facts")["status"], "skipped");
}

#[test]
fn a_refined_reply_leaves_both_rounds_and_its_failure_record() {
    let ran = &RUNS.refined;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([0, "succeeded"]));
    let second = ["refining", "composing", "formatting", "validating"];
    let first = ["created", "planning", "extracting", "composing", "formatting", "validating"];
    assert_eq!(ran.phases(), [first.as_slice(), &second, &["sending", "completed"]].concat());
    let details = &ran.step("validate")["details"];
    assert_eq!(json!([details["passed"], details["refined"], details["used_otherwise"]]), json!([true, true, false]));

    let failures = list(&ran.record["failures"]);
    assert_eq!(failures.len(), 1);
    let failure = &failures[0];
    assert_eq!(json!([failure["gate"], failure["question"]]), json!(["validate", "Check my timesheet"]));
    assert_eq!(json!([failure["refinement_tried"], failure["refinement_worked"]]), json!([true, true]));
    let rounds = list(&failure["verdicts"]);
    assert_eq!(rounds.len(), 2);
    assert_eq!(ids(&rounds[0], false), ["states_hours", "plain_words", "plain_signs", "no_personal_data"]);
    assert_eq!(ids(&rounds[1], false), [""; 0]);
    assert_eq!(failure["cause"], "not met: states_hours, plain_words, plain_signs, no_personal_data");
    assert!(failure["sent"].as_str().is_some_and(|sent| sent.contains("32 of 40 hours")), "{}", failure["sent"]);
    let scorecard = list(&failure["scorecard"]);
    assert_eq!(scorecard.len(), list(&rounds[0]).len());
    assert!(scorecard.iter().all(|criterion| criterion["description"].as_str().is_some_and(|text| text.chars().count() >= 10)));
    assert!(scorecard.iter().all(|criterion| criterion["expected"].is_string()));

    let asked = ran.events_of("refinement_started").collect::<Vec<_>>();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["target"], "compose");
    assert_eq!(ids(&asked[0]["failed"], false), ["states_hours", "plain_words", "plain_signs", "no_personal_data"]);
    assert!(asked[0]["feedback"].as_str().is_some_and(|text| text.contains("- states_hours: ") && text.contains("- no_personal_data: ")));
    let told = list(&asked[0]["failed"])[0]["feedback"].as_str();
    assert_eq!(told, Some("32 does not occur in the text."));
    let draft = ran.events_of("model_replied").next().map(|reply| &reply["reply"]["said"]["text"]);
    assert_eq!(draft, Some(&asked[0]["original"]));
    let round = |kind: &'static str| ran.events_of(kind).map(|event| event["round"].as_u64()).collect::<Vec<_>>();
    assert_eq!((round("gate_failed"), round("gate_passed")), (vec![Some(1)], vec![Some(2)]));
    let tries: Vec<_> =
        ran.events_of("step_started").filter(|event| event["step"] == "compose").map(|event| event["round"].as_u64()).collect();
    assert_eq!(tries, [Some(1), Some(2)]);
}

#[test]
fn a_reply_that_is_never_good_enough_leaves_what_was_sent_and_why() {
    let ran = &RUNS.unmet;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([5, "quality_not_met"]));
    let phases = ran.phases();
    assert_eq!(phases[phases.len() - 5..], ["composing", "formatting", "validating", "sending", "failed"]);
    assert!(ran.out.contains("Please try rephrasing your question.") && !ran.out.contains("You did fine"), "{}", ran.out);
    let failures = list(&ran.record["failures"]);
    assert_eq!(failures.len(), 1);
    assert_eq!(json!([failures[0]["refinement_tried"], failures[0]["refinement_worked"]]), json!([true, false]));
    assert_eq!(list(&failures[0]["verdicts"]).len(), 2);
    assert!(failures[0]["sent"].as_str().is_some_and(|sent| sent.contains("Please try rephrasing your question.")));
    assert_eq!(json!([failures[0]["sent"], failures[0]["cause"]]), json!([ran.record["outputs"]["reply"], "not met: states_hours"]));
    assert_eq!((ran.events_of("refinement_started").count(), ran.events_of("gate_failed").count()), (1, 2));
    let details = &ran.step("validate")["details"];
    assert_eq!(json!([details["passed"], details["refined"], details["used_otherwise"]]), json!([false, true, true]));
}

#[test]
fn an_agent_that_does_not_answer_is_recorded_with_its_error() {
    let ran = &RUNS.unanswered;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([0, "partial"]), "the facts are told without a writer");
    assert!(ran.out.contains("You have logged 32 hours this week."), "{}", ran.out);
    assert_eq!(json!([ran.step("compose")["status"], ran.step("compose")["error"]["kind"]]), json!(["failed", "auth"]));
    let calls = list(&ran.record["interactions"]);
    assert_eq!(json!([calls.len(), calls[0]["success"]]), json!([2, false]));
    assert!(calls[0]["error"].as_str().is_some_and(|error| error.starts_with("auth: ")), "{}", calls[0]["error"]);
}

#[test]
fn hours_that_cannot_be_read_end_a_run_as_failed_after_the_person_was_told() {
    let ran = &RUNS.unread;
    assert_eq!(json!([ran.exit, ran.record["status"]]), json!([6, "failed"]));
    assert_eq!(ran.phases(), ["created", "planning", "extracting", "formatting", "sending", "failed"]);
    assert!(ran.record["failure"]["message"].as_str().is_some_and(|message| message.contains("entries")), "{}", ran.record["failure"]);
    assert!(ran.out.contains("I can't reach your timesheet right now."), "{}", ran.out);
}

#[test]
fn a_gate_passes_only_if_every_criterion_did() {
    for ran in all() {
        for passed in ran.events_of("gate_passed") {
            assert!(!ids(&passed["verdicts"], true).is_empty());
            assert!(list(&passed["verdicts"]).iter().any(|verdict| verdict["scorecard"].is_string()));
            assert_eq!(ids(&passed["verdicts"], false), [""; 0]);
        }
        for failed in ran.events_of("gate_failed") {
            assert!(!ids(&failed["verdicts"], false).is_empty());
            assert!(failed["cause"].as_str().is_some_and(|cause| !cause.is_empty()));
        }
        for asked in ran.events_of("refinement_started") {
            assert!(!list(&asked["failed"]).is_empty() && ids(&asked["failed"], true).is_empty());
            assert_eq!(asked["feedback"].as_str().map(|text| text.lines().count()), Some(list(&asked["failed"]).len()));
        }
        let details = &ran.step("validate")["details"];
        if ran.step("validate")["status"] == "succeeded" {
            assert_eq!(details["passed"] == true, ids(&details["verdicts"], false).is_empty(), "{details}");
        }
        for failure in list(&ran.record["failures"]) {
            assert!(failure["refinement_tried"] == true || failure["refinement_worked"].is_null(), "{failure}");
            assert!(failure["cause"].as_str().is_some_and(|cause| !cause.is_empty()));
        }
    }
}

#[test]
fn a_long_reply_is_sent_in_numbered_parts() {
    for ran in all().into_iter().filter(|ran| ran.step("fit")["status"] == "succeeded") {
        let fitted = &ran.step("fit")["output"];
        let parts = list(&fitted["parts"]);
        assert!(!parts.is_empty());
        assert_eq!(fitted["is_split"], parts.len() > 1);
        for (number, part) in (1_u64..).zip(parts) {
            assert_eq!(part["number"], number);
            // In the record a name is masked, which may take more room than the name.
            let masked = "<PERSON_1>".len();
            assert!(part["content"].as_str().is_some_and(|text| text.chars().count() <= 1600 + masked));
        }
    }
    let ran = &RUNS.long;
    let fitted = &ran.step("fit")["output"];
    let indicators: Vec<&str> = list(&fitted["parts"]).iter().filter_map(|part| part["indicator"].as_str()).collect();
    assert_eq!(json!([fitted["is_split"], fitted["shortened"], indicators]), json!([true, false, ["(1/3)", "(2/3)", "(3/3)"]]));
    let written: Vec<_> = ran.events_of("output_written").map(|event| event["part"].as_u64()).collect();
    assert_eq!(written, [Some(1), Some(2), Some(3)]);
    assert!(ran.out.contains("(1/3)") && ran.out.contains("(3/3)"));
}

#[test]
fn the_record_for_others_names_nobody() {
    for ran in all() {
        assert!(ran.out.starts_with("Hi Ana,"), "{}", ran.out);
        for personal in ["Ana,", "Moreira", "moreira", "+493023125077"] {
            assert!(!ran.exported.contains(personal), "{personal} in\n{}", ran.exported);
        }
        assert!(ran.exported.contains("<PERSON_1>"), "{}", ran.exported);
    }
}

#[test]
fn the_record_names_the_style_guide_and_its_version() {
    for ran in all() {
        assert_eq!(ran.record["style_guide"], json!({ "name": "acme", "version": "1.0" }));
        assert!(ran.events_of("run_started").any(|start| start["style_guide"]["version"] == "1.0"));
    }
}

#[test]
fn style_guide_and_channel_reach_the_writer() {
    let call = list(&RUNS.planned.record["interactions"]).iter().find(|call| call["agent"] == "composer").unwrap();
    let told: String = list(&call["input"]).iter().filter_map(|message| message["text"].as_str()).collect();
    for rule in [
        "You speak for Acme Time.",
        "conversational in general, understanding when something went wrong, encouraging when something went well",
        "✅ for success, ⚠️ for a warning, ❌ for an error, ℹ️ for information",
        "Humour is welcome: light, about work, rarely.",
        "channel \"sms\"",
        "1,600 characters",
        "without Markdown",
        "Use no emojis.",
    ] {
        assert!(told.contains(rule), "no {rule:?} in\n{told}");
    }
}

#[test]
fn a_channel_the_pipeline_does_not_list_is_refused() {
    let project = project();
    let (exit, out) =
        program(project.path(), &["run", "pipelines/timesheet/pipeline.yaml", "--input", "message=My projects", "--channel", "fax"]);
    assert_eq!((exit, out.as_str()), (2, ""));
    assert!(!project.path().join(".flow/runs.db").exists(), "nothing ran");
}
