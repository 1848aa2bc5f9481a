//! Plans that an agent writes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::*;
use super::tools::tool;
use super::world::{Says, World};
use crate::event::{Event, FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{
    Agent, Field, FieldKind, History, OnFailure, Outputs, Pipeline, PipelineId, PlanStep, Policy, Shape, Step, StepKind, ToolKind,
};
use crate::plan::Plan;
use crate::port::ModelReply;
use crate::{CallReply, Input};

/// A `plan` step `work` that may use the agent `helper`, the pipeline `fetch` and the tool `ask` (SQL).
pub(super) fn work() -> Step {
    let plan = PlanStep {
        agent: named("writer"),
        prompt: text("Go."),
        may_use: ["helper", "fetch", "ask"].map(named).to_vec(),
        attach: None,
        max_steps: Some(4),
        max_parallel: None,
        rounds: None,
        check: None,
        history: History::Nothing,
    };
    step("work", StepKind::Plan(plan))
}

pub(super) fn with(mut step: Step, change: impl FnOnce(&mut PlanStep)) -> Step {
    let StepKind::Plan(plan) = &mut step.kind else { panic!("no plan") };
    change(plan);
    step
}

pub(super) fn continues(step: Step) -> Step {
    Step { on_failure: OnFailure::Continue, ..step }
}

pub(super) fn main(steps: Vec<Step>) -> Pipeline {
    let mut main = pipeline("p", steps);
    let writer = main.agents["writer"].clone();
    main.agents.insert("helper".into(), Agent { instructions: Some(text("You help {{ run.id }}.")), ..writer.clone() });
    main.agents.insert("checker".into(), writer);
    main.tools.insert("fetch".into(), tool(ToolKind::Pipeline { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)) }));
    main.tools.insert("ask".into(), tool(ToolKind::Sql(vec![])));
    main
}

/// The pipeline behind `fetch`: takes `city`, and `previous` if it is given.
pub(super) fn fetch() -> Pipeline {
    let mut fetch = pipeline("fetch", vec![query("get")]);
    fetch.inputs = Shape::Fields(vec![
        Field { is_required: true, ..Field::new("city", FieldKind::Text) },
        Field { is_required: false, ..Field::new("previous", FieldKind::Any) },
    ]);
    fetch.outputs = Outputs::Named(vec![output("said", "{{ steps.get.output[0].said }}"), output("before", "{{ inputs.previous }}")]);
    fetch
}

pub(super) fn graph(steps: Vec<Step>) -> Arc<Plan> {
    planned(vec![main(steps), fetch()])
}

pub(super) fn world(step: Step) -> World {
    World::new(graph(vec![step]))
}

pub(super) fn plan(strategy: &str, steps: Value) -> String {
    json!({ "strategy": strategy, "reasoning": "It is quick.", "steps": steps }).to_string()
}

/// A step that fetches a city.
pub(super) fn get(id: &str, depends_on: &[&str]) -> Value {
    json!({ "id": id, "use": "fetch", "with": { "city": id }, "depends_on": depends_on })
}

pub(super) fn help(id: &str, prompt: &str, depends_on: &[&str]) -> Value {
    json!({ "id": id, "use": "helper", "prompt": prompt, "depends_on": depends_on })
}

impl World {
    /// Answers the model call of a step.
    pub(super) fn say(&mut self, path: &str, text: &str) {
        let place = self.out.iter().position(|(_, p)| p == path).unwrap_or_else(|| panic!("{path} is not out: {:?}", self.out));
        let (call, _) = self.out.remove(place);
        self.handle(Input::Reply { call, result: Ok(CallReply::Model(ModelReply { text: text.into(), ..ModelReply::default() })) });
    }

    pub(super) fn out_now(&self) -> Vec<&str> {
        self.out.iter().map(|(_, path)| path.as_str()).collect()
    }

    pub(super) fn refusals(&self) -> Vec<Vec<String>> {
        let findings = |e: &Event| match &e.happening {
            Happening::PlanRefused { findings, .. } => Some(findings.clone()),
            _ => None,
        };
        self.events.iter().filter_map(findings).collect()
    }

    pub(super) fn prompt(&self, path: &str) -> String {
        let found = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ModelCalled { step, messages, .. } if **step == *path => Some(messages.last().unwrap().text.clone()),
            _ => None,
        });
        found.unwrap()
    }
}

#[test]
fn steps_of_a_plan_run_at_the_same_time_and_their_results_are_data() {
    let mut world = world(work());
    let prompt = world.prompt("work");
    for told in [
        "Go.",
        "at most 4 steps",
        "- agent helper: You help r_test. Say in \"prompt\" what it is asked.",
        "- tool fetch: A tool of the test. Give its arguments in \"with\", by this JSON Schema: {\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"],\"additionalProperties\":false}",
        "- tool ask: A tool of the test.",
    ] {
        assert!(prompt.contains(told), "{told}\n{prompt}");
    }
    world.say("work", &plan("parallel", json!([get("rome", &[]), get("oslo", &[])])));
    assert_eq!(world.out_now(), ["work/rome/get", "work/oslo/get"]);
    world.answer("work/oslo/get", Says::Text("cold"));
    world.answer("work/rome/get", Says::Text("warm"));
    assert_eq!(world.status(), RunStatus::Succeeded);
    let result = |id: &str, said: &str| {
        json!({
            "id": id, "use": "fetch", "with": { "city": id }, "depends_on": [], "status": "succeeded",
            "output": { "said": said, "before": null }, "error": null,
        })
    };
    let expected = json!({
        "strategy": "parallel",
        "reasoning": "It is quick.",
        "steps": [result("rome", "warm"), result("oslo", "cold")],
        "by_use": { "fetch": { "said": "cold", "before": null } },
        "invoked": ["fetch"],
        "errors": [],
        "log": [
            "Plan 1 by writer: 2 steps, parallel. Reason: It is quick.",
            "Planned: rome with fetch.",
            "Planned: oslo with fetch.",
            "rome uses fetch.",
            "oslo uses fetch.",
            "oslo succeeded.",
            "rome succeeded.",
        ],
        "fulfilled": true,
        "progress": "",
    });
    assert_eq!(world.output("work"), Some(expected));
    assert_eq!(world.details("work")["model"], "default");
    world.check();
}

#[test]
fn a_sequential_plan_goes_on_in_its_order_whether_a_step_failed_or_not() {
    let mut world = world(continues(work()));
    world.say("work", &plan("sequential", json!([get("c", &["b"]), get("a", &[]), get("b", &[])])));
    assert_eq!(world.out_now(), ["work/a/get"]);
    world.answer("work/a/get", Says::No(FailureKind::Auth));
    assert_eq!(world.out_now(), ["work/b/get"]);
    world.answer("work/b/get", Says::Yes);
    assert_eq!(world.out_now(), ["work/c/get"]);
    world.answer("work/c/get", Says::Yes);
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn a_step_gets_what_it_depends_on() {
    let mut world = world(work());
    world.say("work", &plan("parallel", json!([get("rome", &[]), help("sum", "Sum up.", &["rome"]), get("next", &["rome", "sum"])])));
    world.answer("work/rome/get", Says::Text("warm {{ 1 }}"));
    assert_eq!(world.prompt("work/sum"), "Sum up.\n\nResult of rome:\n{\"said\":\"warm {{ 1 }}\",\"before\":null}");
    world.say("work/sum", "Warm.");
    world.answer("work/next/get", Says::Yes);
    let given = json!({ "rome": { "said": "warm {{ 1 }}", "before": null }, "sum": "Warm." });
    assert_eq!(world.output("work").unwrap()["by_use"]["fetch"]["before"], given);
    assert_eq!(world.output("work").unwrap()["invoked"], json!(["fetch", "helper"]));
    world.check();
}

#[test]
fn texts_of_a_plan_are_data() {
    let mut world = world(work());
    let steps = json!([help("a", "{{ 7*7 }} {% raw %}", &[]), { "id": "b", "use": "fetch", "with": { "city": "{{ secrets.KEY }}" } }]);
    world.say("work", &plan("parallel", steps));
    assert_eq!(world.prompt("work/a"), "{{ 7*7 }} {% raw %}");
    let inputs = world.events.iter().find_map(|e| match &e.happening {
        Happening::CallOpened { inputs, .. } => Some((**inputs).clone()),
        _ => None,
    });
    assert_eq!(inputs.unwrap()["city"], "{{ secrets.KEY }}");
    world.check();
}

#[test]
fn a_failed_step_blocks_only_what_depends_on_it() {
    let steps = || json!([get("a", &[]), get("b", &["a"]), get("c", &[]), get("d", &["c"])]);
    let play = |step: Step| {
        let mut world = world(step);
        world.say("work", &plan("parallel", steps()));
        world.answer("work/a/get", Says::No(FailureKind::Auth));
        assert_eq!(world.step("work/b"), Some(StepStatus::Blocked));
        world.answer("work/c/get", Says::Yes);
        world.answer("work/d/get", Says::Yes);
        world.check();
        world
    };
    let goes_on = play(continues(work()));
    assert_eq!(goes_on.status(), RunStatus::Partial);
    let output = goes_on.output("work").unwrap();
    assert_eq!(output["errors"], json!(["a (fetch): auth: pipeline \"fetch\" failed: the test says no"]));
    assert_eq!((&output["fulfilled"], &output["steps"][1]["status"]), (&json!(false), &json!("blocked")));
    assert_eq!(output["log"][7], "a failed (auth): pipeline \"fetch\" failed: the test says no");
    assert_eq!(output["log"][8], "b was not started: what it depends on did not succeed.");

    let stops = play(work());
    assert_eq!((stops.status(), stops.step("work")), (RunStatus::Failed, Some(StepStatus::Failed)));
    let failure = stops.end().failure.clone().unwrap();
    assert_eq!(failure.failure.kind, FailureKind::Auth);
    assert_eq!(failure.failure.message, "1 of 4 steps of the plan failed: a (fetch): auth: pipeline \"fetch\" failed: the test says no");
}

#[test]
fn a_plan_of_which_every_step_failed_fails() {
    let mut world = world(continues(work()));
    world.say("work", &plan("parallel", json!([get("a", &[]), get("b", &[])])));
    world.answer("work/a/get", Says::No(FailureKind::Auth));
    world.answer("work/b/get", Says::No(FailureKind::Timeout));
    assert_eq!((world.status(), world.step("work")), (RunStatus::Partial, Some(StepStatus::Failed)));
    let details = world.events.iter().find_map(|e| match &e.happening {
        Happening::StepFailed { step, details, .. } if **step == *"work" => details.clone(),
        _ => None,
    });
    assert_eq!(details.unwrap()["plan"]["errors"].as_array().map(Vec::len), Some(2));
    world.check();
}

#[test]
fn a_refused_plan_is_sent_back_once() {
    let mut world = world(work());
    world.say("work", &plan("parallel", json!([{ "id": "a", "use": "fetsh", "with": { "city": "Rome" } }])));
    assert_eq!(
        world.refusals(),
        [["plan step \"a\" uses \"fetsh\", which does not exist; did you mean \"fetch\"? (use one of: helper, fetch, ask)"]]
    );
    assert!(world.prompt("work").starts_with("Your plan was refused:\n- plan step \"a\" uses"), "{}", world.prompt("work"));
    world.say("work", &plan("parallel", json!([get("a", &[])])));
    world.answer("work/a/get", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert!(world.output("work").unwrap()["log"][0].as_str().unwrap().starts_with("Plan 1 was refused: plan step"));
    world.check();
}

#[test]
fn a_plan_that_is_refused_twice_fails_the_step_with_what_is_wrong() {
    let mut world = world(work());
    world.say("work", "I would rather not.");
    world.say("work", &plan("parallel", json!([])));
    assert_eq!(world.status(), RunStatus::Failed);
    let failure = world.end().failure.clone().unwrap().failure;
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::BadShape, "the plan was rejected: \"steps\" is empty (fill it in, or remove the key)")
    );
    assert_eq!((world.count("plan_refused"), world.count("model_called")), (2, 2));
    world.check();
}

#[test]
fn what_a_plan_may_not_do_is_refused() {
    let one = |step: Value| json!([step]);
    let cases = [
        (one(json!({ "id": "a", "use": "checker", "prompt": "x" })), "plan step \"a\" uses \"checker\", which is not in may_use"),
        (one(json!({ "id": "a", "use": "ask.all", "with": {} })), "plan step \"a\" uses \"ask.all\", which is not in may_use"),
        (one(json!({ "id": "a", "use": "helper" })), "plan step \"a\" uses agent \"helper\" and has no \"prompt\""),
        (
            one(json!({ "id": "a", "use": "helper", "prompt": "x", "with": { "y": 1 } })),
            "plan step \"a\" uses agent \"helper\", which takes no \"with\"",
        ),
        (
            one(json!({ "id": "a", "use": "fetch", "with": { "city": "x" }, "prompt": "x" })),
            "plan step \"a\" uses tool \"fetch\", which takes no \"prompt\"",
        ),
        (
            one(json!({ "id": "a", "use": "fetch" })),
            "the arguments of plan step \"a\" do not fit tool \"fetch\": \"city\" is a required property",
        ),
        (
            one(json!({ "id": "a", "use": "fetch", "with": { "city": "x", "previous": 1 } })),
            "the arguments of plan step \"a\" do not fit tool \"fetch\": Additional properties are not allowed ('previous' was unexpected)",
        ),
        (json!([get("a", &["b"]), get("b", &["a"])]), "steps wait for each other: a -> b -> a"),
        (json!([get("a", &["a"])]), "step \"a\" waits for itself"),
        (json!([get("a", &[]), get("b", &["c"])]), "plan step \"b\" depends on \"c\", which does not exist"),
        (json!([get("a", &[]), get("a", &[])]), "two plan steps are called \"a\""),
        (json!((0..5).map(|i| get(&format!("s{i}"), &[])).collect::<Vec<_>>()), "the plan has 5 steps; at most 4 are allowed"),
    ];
    for (steps, told) in cases {
        let mut world = world(work());
        world.say("work", &plan("parallel", steps));
        let refusals = world.refusals();
        assert!(refusals.len() == 1 && refusals[0].iter().any(|finding| finding.starts_with(told)), "{told}: {refusals:?}");
        world.check();
    }
}

#[test]
fn a_tool_outside_the_policy_is_refused_and_the_decision_is_recorded() {
    let policy = Policy {
        disallowed_tools: vec![named("ask(drop*)")],
        permission_mode: Some(crate::model::PermissionMode::Auto),
        ..Policy::default()
    };
    let mut main = main(vec![work()]);
    main.policies.insert("office".into(), policy);
    main.agents.get_mut("writer").unwrap().policy = Some(named("office"));
    let mut world = World::new(planned(vec![main, fetch()]));
    let ask = |query: &str| plan("parallel", json!([{ "id": "a", "use": "ask", "with": { "query": query } }]));
    world.say("work", &ask("drop table x"));
    assert_eq!(world.refusals(), [["plan step \"a\": tool \"ask\" is not allowed: policy office: disallowed_tools ask(drop*)"]]);
    assert_eq!(world.decisions(), ["writer tool ask blocked: policy office: disallowed_tools ask(drop*)"]);
    world.say("work", &ask("select 1"));
    assert_eq!(world.decisions().last().unwrap(), "writer tool ask allowed: policy office: permission_mode auto");
    world.answer("work/a", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn the_policy_of_the_planner_holds_inside_the_pipelines_it_plans() {
    let policy = Policy {
        permission_mode: Some(crate::model::PermissionMode::Deny),
        allowed_tools: Some(vec![named("fetch")]),
        read: Some(vec![]),
        ..Policy::default()
    };
    let mut main = main(vec![continues(work())]);
    main.policies.insert("office".into(), policy);
    main.agents.get_mut("writer").unwrap().policy = Some(named("office"));
    let mut fetch = fetch();
    fetch.data.insert("t".into(), crate::model::Data { file: crate::source::Spanned::new("t.csv".into(), Default::default()), ..data() });
    fetch.steps = vec![Arc::new(step(
        "get",
        StepKind::Sql(crate::model::SqlStep { query: text("select * from t"), with: vec![], filled: vec![], one: None, max_rows: None }),
    ))];
    let mut world = World::new(planned(vec![main, fetch]));
    world.say("work", &plan("parallel", json!([get("a", &[])])));
    assert_eq!(world.step("work/a/get"), Some(StepStatus::Failed));
    assert!(world.decisions().iter().any(|told| told.contains("read t.csv blocked")), "{:?}", world.decisions());
    world.check();
}

fn data() -> crate::model::Data {
    crate::model::Data {
        file: crate::source::Spanned::new("t.csv".into(), Default::default()),
        kind: crate::model::DataKind::Csv,
        table: None,
        pii: vec![],
        is_untrusted: false,
        form: Default::default(),
        columns: Default::default(),
        engine: None,
        header: None,
        oddities: vec![],
        looks: Default::default(),
    }
}

#[test]
fn one_more_plan_is_asked_for_as_long_as_the_work_is_not_done() {
    let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(2), Some(named("checker"))));
    let mut world = world(continues(step));
    world.say("work", &plan("parallel", json!([get("rome", &[])])));
    world.answer("work/rome/get", Says::Text("warm"));
    assert!(world.prompt("work").contains("\"output\":{\"said\":\"warm\""), "{}", world.prompt("work"));
    world.say("work", r#"{"fulfilled": "no"}"#);
    world.say("work", r#"{"fulfilled": false, "progress": "Oslo is missing."}"#);
    let prompt = world.prompt("work");
    assert!(prompt.contains("It is not fulfilled yet: Oslo is missing.") && prompt.contains("\"said\":\"warm\""), "{prompt}");
    // Ids of the first plan are taken, and its results can be depended on.
    world.say("work", &plan("parallel", json!([get("rome", &[])])));
    assert_eq!(world.refusals(), [["plan step \"rome\" has the id of a step of an earlier plan (give it another id)"]]);
    world.say("work", &plan("parallel", json!([help("sum", "Sum up.", &["rome"])])));
    assert!(world.prompt("work/sum").contains("Result of rome:\n{\"said\":\"warm\""));
    world.say("work/sum", "Warm.");
    world.say("work", r#"{"fulfilled": false, "progress": "Oslo is still missing."}"#);
    assert_eq!(world.status(), RunStatus::Succeeded);
    let output = world.output("work").unwrap();
    assert_eq!((&output["fulfilled"], output["steps"].as_array().map(Vec::len)), (&json!(false), Some(2)));
    assert_eq!(output["progress"], "Oslo is still missing.");
    assert_eq!((world.count("plan_accepted"), world.count("plan_checked")), (2, 2));
    world.check();
}

#[test]
fn what_a_plan_gave_can_be_read_when_its_check_or_a_second_plan_fails() {
    for second in [false, true] {
        let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(2), Some(named("checker"))));
        let mut world = world(continues(step));
        world.say("work", &plan("parallel", json!([get("rome", &[])])));
        world.answer("work/rome/get", Says::Text("warm"));
        if second {
            world.say("work", r#"{"fulfilled": false, "progress": "Oslo is missing."}"#);
        }
        (0..3).for_each(|_| {
            if world.step("work").is_none_or(|status| !status.is_final()) {
                world.say("work", "garbage");
            }
        });
        assert_eq!(world.step("work"), Some(StepStatus::Failed), "{second}");
        assert_eq!(world.details("work")["plan"]["steps"][0]["output"]["said"], "warm", "{second}");
        world.check();
    }
}

#[test]
fn work_that_is_done_needs_no_second_plan() {
    let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(5), Some(named("checker"))));
    let mut world = world(step);
    world.say("work", &plan("parallel", json!([get("rome", &[])])));
    world.answer("work/rome/get", Says::Yes);
    world.say("work", r#"{"fulfilled": true, "progress": "All of it."}"#);
    assert_eq!(world.output("work").unwrap()["fulfilled"], true);
    assert_eq!(world.count("plan_accepted"), 1);
    world.check();
}
