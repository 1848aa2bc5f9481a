//! Plans under bounds: how many steps at once, how long, and across a crash.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::build::*;
use super::planning::{continues, fetch, get, graph, help, main, plan, with, work, world};
use super::tools::tool;
use super::world::{Says, World};
use crate::event::{Canceller, Happening, MessageRole, RunStatus, StepStatus};
use crate::model::{Filling, PipelineId, Step, StepKind, ToolKind};
use crate::port::ModelReply;
use crate::{CallReply, Input};

#[test]
fn no_more_steps_run_at_once_than_the_plan_may() {
    let mut world = world(with(work(), |plan| plan.max_parallel = Some(2)));
    world.say("work", &plan("parallel", json!([get("a", &[]), get("b", &[]), get("c", &[]), get("d", &["a"])])));
    assert_eq!(world.out_now(), ["work/a/get", "work/b/get"]);
    world.answer("work/a/get", Says::Yes);
    assert_eq!(world.out.len(), 2);
    while !world.is_over() {
        let (call, _) = world.out.remove(0);
        world.reply(call, Says::Yes);
        assert!(world.out.len() <= 2);
    }
    assert_eq!((world.status(), world.most_out), (RunStatus::Succeeded, 2));
    world.check();
}

#[test]
fn plans_inside_plans_end_with_one_permit() {
    let mut pipelines = vec![];
    for depth in 0..5usize {
        let mut here = main(vec![with(work(), |plan| plan.may_use = vec![named("fetch")])]);
        here.tools.insert("fetch".into(), tool(ToolKind::Pipeline { file: named("next.yaml"), pipeline: Some(PipelineId(depth + 1)) }));
        if depth > 0 {
            here.inputs = fetch().inputs;
        }
        here.limits.max_parallel = Some(1);
        pipelines.push(here);
    }
    pipelines.push(fetch());
    let mut world = World::new(planned(pipelines));
    while !world.is_over() {
        let (call, path) = world.out.remove(0);
        let result = match path.ends_with("get") {
            true => return_rows(),
            false => Ok(CallReply::Model(ModelReply { text: plan("parallel", json!([get("a", &[])])), ..ModelReply::default() })),
        };
        world.handle(Input::Reply { call, result });
        assert!(world.out.len() <= 1);
    }
    assert_eq!((world.status(), world.count("plan_accepted")), (RunStatus::Succeeded, 5));
    world.check();
}

fn return_rows() -> Result<CallReply, crate::event::Failure> {
    Ok(CallReply::Rows(crate::port::Rows {
        rows: vec![serde_json::Map::from_iter([("said".to_string(), json!("x"))])],
        ..Default::default()
    }))
}

#[test]
fn time_limits_and_cancelling_reach_the_steps_of_a_plan() {
    let both = || plan("parallel", json!([get("a", &[]), get("b", &["a"])]));
    let mut slow = world(Step { timeout: Some(Duration::from_secs(5)), ..work() });
    slow.say("work", &both());
    slow.wait();
    assert_eq!((slow.ms, slow.status()), (5_000, RunStatus::Failed));
    assert_eq!((slow.step("work/a/get"), slow.step("work/b")), (Some(StepStatus::Cancelled), Some(StepStatus::Cancelled)));
    assert_eq!(slow.cancelled.len(), 1);
    slow.check();

    let mut tried_again = world(Step { timeout: Some(Duration::from_secs(5)), retry: Some(retry(2)), ..work() });
    tried_again.say("work", &both());
    tried_again.wait();
    tried_again.wait();
    tried_again.say("work", &both());
    tried_again.answer("work/a/get", Says::Yes);
    tried_again.answer("work/b/get", Says::Yes);
    assert_eq!(tried_again.status(), RunStatus::Succeeded);
    assert_eq!(tried_again.output("work").unwrap()["steps"].as_array().map(Vec::len), Some(2));
    tried_again.check();

    let mut bounded = main(vec![work()]);
    bounded.limits.deadline = Some(Duration::from_secs(9));
    let mut late = World::new(planned(vec![bounded, fetch()]));
    late.say("work", &both());
    late.wait();
    assert_eq!((late.ms, late.status()), (9_000, RunStatus::TimedOut));
    late.check();

    let mut ended = world(work());
    ended.say("work", &both());
    ended.cancel(Canceller::Person);
    assert_eq!((ended.status(), ended.step("work")), (RunStatus::Cancelled, Some(StepStatus::Cancelled)));
    ended.check();
}

#[test]
fn the_time_of_a_pipeline_tool_holds_for_its_step() {
    let mut main = main(vec![continues(work())]);
    main.tools.get_mut("fetch").unwrap().timeout = Some(Duration::from_secs(2));
    let mut world = World::new(planned(vec![main, fetch()]));
    world.say("work", &plan("parallel", json!([get("a", &[]), help("b", "x", &[])])));
    world.say("work/b", "y");
    world.wait();
    assert_eq!((world.ms, world.step("work/a"), world.step("work")), (2_000, Some(StepStatus::Failed), Some(StepStatus::Succeeded)));
    assert_eq!(world.output("work").unwrap()["errors"], json!(["a (fetch): timeout: no end after 2s"]));
    world.check();
}

#[test]
fn steps_of_plans_count_for_the_limit_of_the_run() {
    let mut main = main(vec![work()]);
    main.limits.max_steps = Some(3);
    let mut world = World::new(planned(vec![main, fetch()]));
    world.say("work", &plan("sequential", json!([get("a", &[]), get("b", &[])])));
    world.answer("work/a/get", Says::Yes);
    assert_eq!(world.status(), RunStatus::OverBudget);
    assert_eq!(world.step("work/b/get"), None);
    world.check();
}

#[test]
fn a_plan_in_each_element_of_a_list_has_paths_of_its_own() {
    let list = for_each(work(), "['x', 'y']", false, None);
    let mut world = world(list);
    for element in ["work[0]", "work[1]"] {
        world.say(element, &plan("parallel", json!([get("a", &[])])));
    }
    assert_eq!(world.out_now(), ["work[0]/a/get", "work[1]/a/get"]);
    world.answer("work[1]/a/get", Says::Yes);
    world.answer("work[0]/a/get", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_step_of_a_plan_is_no_step_that_templates_can_read() {
    let mut main = main(vec![set("facts", "file"), work()]);
    main.agents.get_mut("helper").unwrap().instructions = Some(text("{{ steps.facts.output }}"));
    let mut world = World::new(planned(vec![main, fetch()]));
    world.say("work", &plan("parallel", json!([help("facts", "x", &[]), help("b", "y", &["facts"])])));
    world.say("work/facts", "model");
    let system = world.told().into_iter().find(|(role, _)| *role == MessageRole::System).unwrap().1;
    assert_eq!(system, "file");
    world.check();
}

/// After a crash at any point nothing that is recorded as done is done again, and the run ends as it would have.
#[test]
fn a_crash_between_the_steps_of_a_plan_repeats_nothing() {
    let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(2), Some(named("checker"))));
    let last =
        Step { kind: StepKind::Set(Filling::Text(text("{{ steps.work.output.steps }}"))), ..super::build::step("last", StepKind::Broken) };
    let graph = graph(vec![step, last]);
    let answer = |world: &mut World| {
        let (call, path) = world.out.remove(0);
        let purpose = world.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ModelCalled { call: other, purpose, .. } if *other == call => Some(*purpose),
            _ => None,
        });
        let plans = world.count("plan_accepted");
        let text = match purpose {
            Some(crate::event::Purpose::Check) => json!({ "fulfilled": plans == 2, "progress": "so" }).to_string(),
            Some(crate::event::Purpose::Plan) if plans == 0 && world.count("plan_refused") == 0 => "no plan".to_string(),
            _ if plans == 0 => plan("parallel", json!([get("a", &[]), get("b", &["a"]), help("c", "x", &["b"])])),
            Some(crate::event::Purpose::Plan) => plan("sequential", json!([help("d", "y", &["c"]), get("e", &[])])),
            _ => "fine".to_string(),
        };
        let result = if path.ends_with("get") { return_rows() } else { Ok(CallReply::Model(ModelReply { text, ..ModelReply::default() })) };
        world.handle(Input::Reply { call, result });
    };
    let mut whole = World::new(graph.clone());
    while !whole.is_over() {
        answer(&mut whole);
    }
    assert_eq!(whole.status(), RunStatus::Succeeded);
    whole.check();
    for kept in 1..whole.events.len() {
        let mut world = whole.after_crash(kept, 1_000);
        while !world.is_over() {
            assert!(!world.out.is_empty(), "{kept}: {:#?}", world.lines());
            answer(&mut world);
        }
        assert_eq!(world.output("last"), whole.output("last"), "{kept}");
        let done: BTreeSet<&str> = ["a", "b", "c", "d", "e"].into();
        for id in done {
            assert_eq!(world.successes(&format!("work/{id}")), 1, "{kept} {id}");
        }
        assert_eq!(world.count("plan_accepted"), 2, "{kept}");
        if kept % 9 == 0 {
            world.check();
        }
    }
}

#[test]
fn a_wide_and_a_deep_plan_end() {
    let wide: Vec<Value> = (0..200).map(|i| help(&format!("s{i}"), "x", &[])).collect();
    let above = |i: usize| i.checked_sub(1).map(|above| format!("s{above}"));
    let deep: Vec<Value> =
        (0..200).map(|i| help(&format!("s{i}"), "x", above(i).iter().map(String::as_str).collect::<Vec<_>>().as_slice())).collect();
    for steps in [wide, deep] {
        let mut world = world(with(work(), |plan| plan.max_steps = Some(200)));
        world.say("work", &plan("parallel", steps.into()));
        while !world.is_over() {
            let (call, _) = world.out.remove(0);
            world.reply(call, Says::Text("y"));
        }
        assert_eq!(world.status(), RunStatus::Succeeded);
    }
}
