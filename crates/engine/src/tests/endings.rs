//! One test per rule of how steps and runs end.

use std::time::Duration;

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{Canceller, Failure, FailureKind, RunStatus, StepStatus};
use crate::model::{CallStep, ForEach, Limits, OnFailure, Outputs, PipelineId, RouteStep, Step, StepKind, StopStep};

fn run(steps: Vec<Step>) -> World {
    World::new(planned(vec![pipeline("p", steps)]))
}

#[test]
fn steps_without_needs_run_from_top_to_bottom() {
    let mut world = run(vec![query("a"), query("b")]);
    assert_eq!(world.out.len(), 1);
    world.answer("a", Says::Yes);
    world.answer("b", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_failure_stops_the_rest_and_running_steps_finish() {
    let mut world = run(vec![needs(query("a"), &[]), needs(query("b"), &[]), needs(query("c"), &["b"])]);
    world.answer("a", Says::No(FailureKind::Auth));
    assert!(!world.is_over());
    world.answer("b", Says::Yes);
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.step("b"), Some(StepStatus::Succeeded));
    assert_eq!(world.step("c"), Some(StepStatus::Blocked));
    world.check();
}

#[test]
fn with_continue_the_next_step_starts_and_the_run_is_partial() {
    let mut a = query("a");
    a.on_failure = OnFailure::Continue;
    let mut world = run(vec![a, query("b")]);
    world.answer("a", Says::No(FailureKind::Auth));
    world.answer("b", Says::Yes);
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn a_stand_in_runs_only_after_the_failure_it_stands_in_for() {
    let steps = || {
        let mut a = query("a");
        a.on_failure = OnFailure::Step(named("b"));
        vec![a, query("b"), set("c", "{{ steps.a.output | default(steps.b.output | default('none')) }}")]
    };
    let mut world = run(steps());
    world.answer("a", Says::Yes);
    assert_eq!(world.step("b"), Some(StepStatus::Skipped));
    assert_eq!(world.status(), RunStatus::Succeeded);
    let mut world = run(steps());
    world.answer("a", Says::No(FailureKind::Auth));
    world.answer("b", Says::Yes);
    assert_eq!(world.output("c"), Some(json!([{ "said": "yes" }])));
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn a_skipped_step_satisfies_needs_and_reading_it_without_default_fails() {
    let skipped = |reader: &str| {
        let mut a = set("a", "x");
        a.when = Some(bare("1 == 2"));
        run(vec![a, set("b", reader)])
    };
    assert_eq!(skipped("{{ steps.a.output.x.y | default('none') }}").output("b"), Some(json!("none")));
    let world = skipped("{{ steps.a.output }}");
    assert_eq!(world.step("b"), Some(StepStatus::Failed));
    assert_eq!(world.status(), RunStatus::Failed);
    assert!(world.end().failure.as_ref().unwrap().failure.message.contains("skipped"));
    world.check();
}

#[test]
fn only_the_last_try_counts_and_nothing_waits_after_it() {
    let mut a = query("a");
    a.retry = Some(retry(3));
    let mut world = run(vec![a.clone()]);
    world.answer("a", Says::No(FailureKind::Timeout));
    world.wait();
    assert_eq!(world.ms, 1_000);
    world.answer("a", Says::No(FailureKind::Timeout));
    world.wait();
    world.answer("a", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
    let mut world = run(vec![a]);
    for _ in 0..2 {
        world.answer("a", Says::No(FailureKind::Timeout));
        world.wait();
    }
    world.answer("a", Says::No(FailureKind::Timeout));
    assert_eq!(world.ms, 2_000);
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.count("attempt_failed"), 2);
}

#[test]
fn backoff_gives_the_permit_back() {
    let mut a = needs(query("a"), &[]);
    a.retry = Some(retry(2));
    let mut p = pipeline("p", vec![a, needs(query("b"), &[])]);
    p.limits.max_parallel = Some(1);
    let mut world = World::new(planned(vec![p]));
    assert_eq!(world.out.len(), 1);
    world.answer("a", Says::No(FailureKind::Timeout));
    world.answer("b", Says::Yes);
    world.wait();
    world.answer("a", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.most_out, 1);
    world.check();
}

fn items(fail_fast: bool, on_failure: OnFailure, max_parallel: u64) -> Vec<Step> {
    let list = step("list", constant(json!([1, 2, 3])));
    let mut each = for_each(query("each"), "steps.list.output", fail_fast, Some(max_parallel));
    each.on_failure = on_failure;
    vec![list, each]
}

#[test]
fn fail_fast_cancels_the_other_elements() {
    let mut world = run(items(true, OnFailure::Stop, 2));
    world.answer("each[0]", Says::No(FailureKind::Auth));
    assert_eq!(world.step("each[1]"), Some(StepStatus::Cancelled));
    assert_eq!(world.step("each[2]"), Some(StepStatus::Cancelled));
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.cancelled.len(), 1);
    world.check();
    let mut world = run(items(true, OnFailure::Continue, 2));
    world.answer("each[0]", Says::No(FailureKind::Auth));
    assert_eq!(world.status(), RunStatus::Partial);
    assert_eq!(world.step("each"), Some(StepStatus::Succeeded));
    world.check();
}

#[test]
fn without_fail_fast_all_elements_run_to_their_end() {
    let mut world = run(items(false, OnFailure::Stop, 2));
    world.answer("each[0]", Says::No(FailureKind::Auth));
    world.answer("each[1]", Says::Yes);
    world.answer("each[2]", Says::Yes);
    assert_eq!(world.status(), RunStatus::Failed);
    world.check();
    let mut world = run(items(false, OnFailure::Continue, 3));
    world.answer("each[2]", Says::Yes);
    world.answer("each[1]", Says::No(FailureKind::Auth));
    world.answer("each[0]", Says::Yes);
    assert_eq!(world.status(), RunStatus::Partial);
    let list = world.output("each").unwrap();
    assert_eq!(list[1]["status"], "failed");
    assert_eq!(list[1]["item"], 2);
    assert_eq!(list[1]["error"]["kind"], "auth");
    assert_eq!(list[2]["output"], json!([{ "said": "yes" }]));
    world.check();
}

#[test]
fn an_empty_list_succeeds_with_one_event() {
    let world = run(vec![step("list", constant(json!([]))), for_each(query("each"), "steps.list.output", false, None)]);
    assert_eq!(world.output("each"), Some(json!([])));
    assert_eq!(world.lines().iter().filter(|l| l.ends_with(" each")).count(), 1);
    assert_eq!(world.status(), RunStatus::Succeeded);
}

#[test]
fn an_element_in_backoff_lets_the_next_one_in() {
    let mut steps = items(false, OnFailure::Stop, 1);
    steps[1].retry = Some(retry(2));
    let mut world = run(steps);
    world.answer("each[0]", Says::No(FailureKind::Timeout));
    world.answer("each[1]", Says::Yes);
    world.answer("each[2]", Says::Yes);
    world.wait();
    world.answer("each[0]", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.most_out, 1);
    world.check();
}

fn route(id: &str, subject: &str, cases: Vec<crate::model::Case>) -> Step {
    step(id, StepKind::Route(RouteStep { subject: text(subject), cases, otherwise: None }))
}

#[test]
fn unless_takes_a_case_out_of_the_choice_whatever_else_fits() {
    for (subject, chosen) in [("one", "one!"), ("One from LAST  week", "two!"), ("one at last", "one!"), ("last week", "two!")] {
        let one = crate::model::Case {
            unless: vec![named("last week"), named("october")],
            when: Some(bare("1 == 1")),
            ..case("one", vec![set("x", "one!")])
        };
        let two = crate::model::Case { when: Some(bare("1 == 1")), ..case("two", vec![set("y", "two!")]) };
        let world = run(vec![route("r", subject, vec![one, two]), set("after", "{{ steps.r.output }}")]);
        assert_eq!(world.output("after"), Some(json!(chosen)), "{subject}");
    }
}

#[test]
fn a_route_does_the_first_case_that_fits_and_gives_its_last_output() {
    let cases = vec![case("one", vec![query("x"), set("y", "{{ steps.x.output[0].said }}!")]), case("two", vec![query("z")])];
    let mut world = run(vec![route("r", "please do ONE", cases), set("after", "{{ steps.r.output }}")]);
    world.answer("r/one/x", Says::Yes);
    assert_eq!(world.output("after"), Some(json!("yes!")));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_route_without_a_fitting_case_fails() {
    let world = run(vec![route("r", "nothing", vec![case("one", vec![query("x")])])]);
    assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::NoCase);
    world.check();
}

fn call(id: &str, to: usize) -> Step {
    step(id, StepKind::Call(CallStep { file: named("x.yaml"), pipeline: Some(PipelineId(to)), with: vec![], channel: None }))
}

#[test]
fn calls_nest_and_need_no_permit_of_their_own() {
    let mut pipelines = vec![];
    for depth in 0..5 {
        let inner = if depth == 4 { query("work") } else { call("deeper", depth + 1) };
        let mut p = pipeline("p", vec![inner]);
        p.limits.max_parallel = Some(1);
        let id = if depth == 4 { "work" } else { "deeper" };
        p.outputs = Outputs::Named(vec![output("value", &format!("{{{{ steps.{id}.output }}}}"))]);
        pipelines.push(p);
    }
    let mut world = World::new(planned(pipelines));
    world.answer("deeper/deeper/deeper/deeper/work", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.end().outputs["value"]["value"]["value"]["value"]["value"], json!([{ "said": "yes" }]));
    world.check();
}

#[test]
fn a_failure_means_the_same_at_every_depth() {
    for on_failure in [OnFailure::Stop, OnFailure::Continue] {
        let mut inner = query("work");
        inner.on_failure = on_failure.clone();
        let expected = if on_failure == OnFailure::Stop { RunStatus::Failed } else { RunStatus::Partial };
        let mut world = run(vec![inner.clone()]);
        world.answer("work", Says::No(FailureKind::Auth));
        assert_eq!(world.status(), expected);
        let mut world = World::new(planned(vec![pipeline("p", vec![call("c", 1)]), pipeline("q", vec![inner.clone(), set("last", "x")])]));
        world.answer("c/work", Says::No(FailureKind::Auth));
        assert_eq!(world.status(), expected, "in a call");
        world.check();
        let mut world = run(vec![route("r", "one", vec![case("one", vec![inner.clone(), set("last", "x")])])]);
        world.answer("r/one/work", Says::No(FailureKind::Auth));
        assert_eq!(world.status(), expected, "in a route");
        world.check();
    }
}

#[test]
fn on_failure_and_finally_run_after_a_failure_and_read_it() {
    let mut p = pipeline("p", vec![query("a"), query("b")]);
    p.on_failure = vec![set("sorry", "{{ failure.step }}: {{ failure.kind }}").into()];
    p.finally = vec![query("clean").into()];
    let plan = planned(vec![p]);
    let mut world = World::new(plan.clone());
    world.answer("a", Says::No(FailureKind::Connection));
    assert_eq!(world.output("sorry"), Some(json!("a: connection")));
    world.answer("clean", Says::Yes);
    assert_eq!(world.status(), RunStatus::Failed);
    world.check();
    let mut world = World::new(plan);
    world.answer("a", Says::Yes);
    world.answer("b", Says::Yes);
    assert_eq!(world.step("sorry"), None);
    world.answer("clean", Says::No(FailureKind::Auth));
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn the_deadline_ends_what_runs_and_finally_still_has_its_time() {
    let mut p = pipeline("p", vec![query("a")]);
    p.limits = Limits { deadline: Some(Duration::from_secs(5)), ..Limits::default() };
    p.finally = vec![query("clean").into()];
    let mut world = World::new(planned(vec![p]));
    world.wait();
    assert_eq!(world.ms, 5_000);
    assert_eq!(world.step("a"), Some(StepStatus::Cancelled));
    assert_eq!(world.out.len(), 1);
    world.wait();
    assert_eq!(world.status(), RunStatus::TimedOut);
    world.check();
}

#[test]
fn a_late_answer_is_ignored() {
    let mut a = query("a");
    a.timeout = Some(Duration::from_secs(2));
    a.retry = Some(retry(2));
    let mut world = run(vec![a]);
    world.wait();
    assert_eq!(world.cancelled, [1]);
    world.reply(1, Says::Yes);
    assert_eq!(world.count("reply_ignored"), 1);
    world.wait();
    world.answer("a", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn cancelling_ends_a_run_in_every_kind_of_wait() {
    let mut retrying = query("a");
    retrying.retry = Some(retry(2));
    let mut world = run(vec![retrying]);
    world.answer("a", Says::No(FailureKind::Timeout));
    world.cancel(Canceller::Interrupt);
    assert_eq!(world.status(), RunStatus::Cancelled);
    world.check();
    let wait = step("w", StepKind::Wait(crate::model::Filling::Text(text("1h"))));
    let mut world = run(vec![wait]);
    world.cancel(Canceller::Interrupt);
    assert_eq!(world.status(), RunStatus::Cancelled);
    let mut world = run(vec![query("a")]);
    world.cancel(Canceller::Terminate);
    assert_eq!(world.status(), RunStatus::Cancelled);
    world.check();
}

#[test]
fn stop_skips_the_rest_and_its_reason_is_the_failure() {
    let stop = |succeeds| step("s", StepKind::Stop(StopStep { succeeds, reason: Some(text("no such city")) }));
    let world = run(vec![stop(false), query("a")]);
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.end().failure.as_ref().unwrap().failure.message, "no such city");
    assert_eq!(world.step("a"), Some(StepStatus::Skipped));
    world.check();
    let world = run(vec![stop(true), query("a")]);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn wait_ends_by_the_clock() {
    let mut world = run(vec![step("w", StepKind::Wait(crate::model::Filling::Text(text("90s")))), set("after", "x")]);
    world.wait();
    assert_eq!(world.ms, 90_000);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn text_of_a_value_is_never_a_template() {
    let world = run(vec![step("a", constant(json!("{{ 7*7 }}{% for x in y %}"))), set("b", "<{{ steps.a.output }}>")]);
    assert_eq!(world.output("b"), Some(json!("<{{ 7*7 }}{% for x in y %}>")));
}

#[test]
fn a_thousand_elements_two_at_a_time_all_end() {
    let list: Vec<u32> = (0..1_000).collect();
    let mut each = query("each");
    each.for_each = Some(ForEach {
        list: crate::model::Filling::Constant(json!(list)),
        name: None,
        max_parallel: Some(2),
        fail_fast: false,
        is_broken: false,
    });
    let mut world = run(vec![each]);
    for i in 0..1_000 {
        world.answer(&format!("each[{i}]"), Says::Yes);
    }
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.most_out, 2);
}

#[test]
fn a_tool_that_is_a_pipeline_runs_it_with_what_its_author_fixed() {
    let tool = crate::model::Tool {
        span: crate::source::Span::default(),
        kind: crate::model::ToolKind::Pipeline { file: named("x.yaml"), pipeline: Some(PipelineId(1)) },
        description: None,
        with: vec![output("fixed", "by the author")],
        allow: None,
        deny: vec![],
        timeout: None,
        connect_timeout: None,
        optional: false,
        without_instructions: false,
        pictures: false,
        questions: false,
        approve: crate::model::Approve::Never,
    };
    let call =
        crate::model::ToolStep { tool: named("inner"), with: vec![output("fixed", "by the step")], output: None, idempotency_key: None };
    let mut outer = pipeline("p", vec![step("t", StepKind::Tool(call))]);
    outer.tools.insert("inner".into(), tool);
    let mut inner = pipeline("q", vec![set("a", "{{ inputs.fixed }}")]);
    inner.inputs = crate::model::Shape::Schema(std::sync::Arc::new(json!({})));
    inner.outputs = Outputs::Whole(text("{{ steps.a.output }}"));
    let world = World::new(planned(vec![outer, inner]));
    assert_eq!(world.output("t"), Some(json!("by the author")));
    world.check();
}

#[test]
fn a_run_that_cannot_start_blocks_its_steps_and_tells_on_failure_and_finally() {
    let mut p = pipeline("p", vec![query("a"), set("b", "x")]);
    p.on_failure = vec![set("sorry", "{{ failure.kind }} {{ failure.message }}").into()];
    p.finally = vec![set("last", "x").into()];
    p.outputs = Outputs::Named(vec![output("b", "{{ steps.b.output }}")]);
    let world = World::that_cannot_start(planned(vec![p]), Failure::new(FailureKind::Unavailable, "people.csv is gone"));
    assert_eq!([world.step("a"), world.step("b")], [Some(StepStatus::Blocked); 2]);
    assert_eq!((world.count("step_started"), world.count("stage_started")), (2, 2));
    assert_eq!(world.output("sorry"), Some(json!("unavailable people.csv is gone")));
    assert_eq!(world.step("last"), Some(StepStatus::Succeeded));
    assert_eq!((world.status(), &*world.end().outputs), (RunStatus::Failed, &json!(null)));
    world.check();
}

#[test]
fn a_failure_that_there_was_not_is_empty_in_finally_and_so_are_its_fields() {
    let mut p = pipeline("p", vec![set("a", "x")]);
    p.finally = vec![
        set("last", "{{ failure.step }}{{ failure.message }}{{ failure }}{{ 'failed' if failure else 'fine' }}{{ failure is none }}")
            .into(),
    ];
    let world = World::new(planned(vec![p]));
    assert_eq!((world.output("last"), world.status()), (Some(json!("finetrue")), RunStatus::Succeeded));
    world.check();
}

#[test]
fn outputs_tell_how_a_step_ended_also_when_it_failed() {
    let mut broken = set("broken", "{{ 1 / 0 }}");
    broken.on_failure = OnFailure::Continue;
    let mut p = pipeline("p", vec![broken]);
    let texts = ["{{ steps.broken.status }}", "{{ steps.broken.error.kind }}", "{{ steps.broken.output }}"];
    p.outputs = Outputs::Named(["status", "why", "value"].into_iter().zip(texts).map(|(name, text)| output(name, text)).collect());
    let world = World::new(planned(vec![p]));
    assert_eq!(*world.end().outputs, json!({ "status": "failed", "why": "wrong_type", "value": null }));
    world.check();
}

#[test]
fn an_output_may_name_a_stand_in_that_it_does_without() {
    for (fails, told) in [
        (false, json!({ "either": "made", "only": null, "inside": null })),
        (true, json!({ "either": "in its place", "only": "in its place", "inside": "in its place" })),
    ] {
        let first = Step { on_failure: OnFailure::Step(named("late")), ..set("first", if fails { "{{ 1 / 0 }}" } else { "made" }) };
        let mut p = pipeline("p", vec![first, set("late", "in its place")]);
        let either = output("either", "{{ steps.first.output | default(steps.late.output) }}");
        let inside = output("inside", "{{ (steps.first.output ~ 'x') if steps.first.status == 'none' else steps.late.output }}");
        p.outputs = Outputs::Named(vec![either, output("only", "{{ steps.late.output }}"), inside]);
        let world = World::new(planned(vec![p]));
        assert_eq!(*world.end().outputs, told);
        world.check();
    }
}

/// A `for_each` over two elements that goes on where they fail, and a step that reads its list.
fn tolerant() -> World {
    let each = Step { on_failure: OnFailure::Continue, ..for_each(query("each"), "[1, 2]", false, None) };
    run(vec![each, set("told", "{{ steps.each.output | length }} {{ steps.each.details.failed }}")])
}

#[test]
fn a_list_of_which_every_element_failed_is_no_success() {
    let mut world = tolerant();
    world.answer("each[0]", Says::No(FailureKind::Auth));
    world.answer("each[1]", Says::No(FailureKind::Timeout));
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.output("told"), Some(json!("2 2")), "what is below runs and may tell of it");
    let failure = world.end().failure.clone().unwrap();
    assert_eq!((failure.step.to_string(), failure.failure.kind), ("each".to_string(), FailureKind::Auth));
    assert_eq!(failure.failure.message, "all 2 elements that ran failed; the first: the test says no");
    world.check();

    let mut world = tolerant();
    world.answer("each[0]", Says::No(FailureKind::Auth));
    world.answer("each[1]", Says::Yes);
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}
