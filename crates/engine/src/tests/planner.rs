//! A planner is an agent: its limits bound the step, and it may use its own tools while it plans.

use std::time::Duration;

use serde_json::{Value, json};

use super::build::*;
use super::planning::{fetch, get, main, plan, with, work};
use super::serving::{gives, listed, server};
use super::tools::{asks, hook};
use super::world::{Says, World};
use crate::event::{Failure, FailureKind, RunStatus, StepStatus};
use crate::model::{Agent, Pipeline, Step};
use crate::{CallReply, Input};

fn world(step: Step, change: impl FnOnce(&mut Pipeline)) -> World {
    let mut main = main(vec![step]);
    main.tools.insert("hook".into(), hook("https://example.com/"));
    change(&mut main);
    World::new(planned(vec![main, fetch()]))
}

fn uses(pipeline: &mut Pipeline, agent: &str, tools: &[&str]) {
    pipeline.agents[agent] = Agent { tools: tools.iter().map(|name| named(name)).collect(), ..pipeline.agents[agent].clone() };
}

impl World {
    /// The model of a step asks for tools.
    fn ask_for(&mut self, path: &str, result: Result<CallReply, Failure>) {
        let place = self.out.iter().position(|(_, out)| out == path).unwrap_or_else(|| panic!("{path} is not out: {:?}", self.out));
        let (call, _) = self.out.remove(place);
        self.handle(Input::Reply { call, result });
    }
}

#[test]
fn the_deadline_of_a_planner_bounds_its_planning_and_the_steps_of_its_plan() {
    let within = |seconds| world(work(), |main| main.agents["writer"].limits.deadline = Some(Duration::from_secs(seconds)));
    let mut silent = within(4);
    silent.wait();
    assert_eq!((silent.ms, silent.status()), (4_000, RunStatus::Failed));
    assert_eq!(silent.end().failure.as_ref().map(|told| told.failure.kind), Some(FailureKind::Timeout));
    silent.check();
    let mut slow = within(4);
    slow.say("work", &plan("parallel", json!([get("a", &[])])));
    slow.wait();
    assert_eq!((slow.ms, slow.status(), slow.step("work/a/get")), (4_000, RunStatus::Failed, Some(StepStatus::Cancelled)));
    slow.check();
}

#[test]
fn a_planner_uses_its_own_tools_before_it_plans() {
    let mut world = world(work(), |main| uses(main, "writer", &["ask", "fetch"]));
    world.ask_for("work", asks(&[("c1", "ask", json!({ "query": "select 1" })), ("c2", "fetch", json!({ "city": "Rome" }))]));
    let inside = world.out_now().into_iter().find(|path| path.ends_with("/get")).unwrap().to_string();
    world.answer(&inside, Says::Text("warm"));
    world.answer("work", Says::Text("a row"));
    world.check();
    assert!(world.prompt("work").contains("warm"), "{}", world.prompt("work"));
    world.say("work", &plan("parallel", json!([get("rome", &[])])));
    world.answer("work/rome/get", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    let details = world.details("work");
    let tools: Vec<&Value> = details["tool_calls"].as_array().unwrap().iter().map(|used| &used["tool"]).collect();
    assert_eq!(tools, ["ask", "fetch"]);
    world.check();
}

#[test]
fn what_a_planner_asked_for_after_a_crash_is_done_once_and_with_the_same_key() {
    let mut world = world(work(), |main| uses(main, "writer", &["hook"]));
    world.ask_for("work", asks(&[("c1", "hook", json!({ "id": "1" }))]));
    let mut again = world.after_crash(world.events.len(), 0);
    assert_eq!(again.posted.iter().map(|(.., key)| key).collect::<Vec<_>>(), world.posted.iter().map(|(.., key)| key).collect::<Vec<_>>());
    again.answer("work", Says::Yes);
    let mut done = again.after_crash(again.events.len(), 0);
    assert!(done.posted.is_empty(), "{:?}", done.posted);
    done.say("work", &plan("parallel", json!([get("rome", &[])])));
    done.answer("work/rome/get", Says::Yes);
    assert_eq!(done.status(), RunStatus::Succeeded);
    done.check();
}

#[test]
fn each_conversation_of_a_plan_has_keys_of_its_own() {
    let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(2), Some(named("writer"))));
    let mut world = world(step, |main| uses(main, "writer", &["hook"]));
    for (id, answer) in [
        ("a", plan("parallel", json!([get("a", &[])]))),
        ("", json!({ "fulfilled": false, "progress": "not yet" }).to_string()),
        ("b", plan("parallel", json!([get("b", &[])]))),
        ("", json!({ "fulfilled": true, "progress": "done" }).to_string()),
    ] {
        world.ask_for("work", asks(&[("c1", "hook", json!({ "id": "1" }))]));
        world.answer("work", Says::Yes);
        world.say("work", &answer);
        if !id.is_empty() {
            world.answer(&format!("work/{id}/get"), Says::Yes);
        }
    }
    assert_eq!(world.status(), RunStatus::Succeeded);
    let keys: Vec<&str> = world.posted.iter().map(|(.., key)| key.as_str()).collect();
    assert_eq!(keys, ["r_test-work-1-1-1", "r_test-work-1-1-1-1", "r_test-work-1-2-1-1", "r_test-work-1-3-1-1"]);
    assert_eq!(world.details("work")["tool_calls"].as_array().map(Vec::len), Some(4));
    world.check();
}

#[test]
fn what_a_planner_may_spend_holds_for_all_its_conversations_in_a_step() {
    let step = with(work(), |plan| (plan.rounds, plan.check) = (Some(2), Some(named("checker"))));
    let mut world = world(step, |main| {
        uses(main, "writer", &["ask"]);
        main.agents["writer"].limits.max_steps = Some(1);
    });
    let asking = || asks(&[("c1", "ask", json!({ "query": "select 1" }))]);
    world.ask_for("work", asking());
    world.answer("work", Says::Yes);
    world.say("work", &plan("parallel", json!([get("a", &[])])));
    world.answer("work/a/get", Says::Yes);
    world.say("work", &json!({ "fulfilled": false, "progress": "not yet" }).to_string());
    world.ask_for("work", asking());
    let failure = world.end().failure.clone().unwrap().failure;
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Limit, "the agent may make 1 tool calls (limits.max_steps)"));
    world.check();
}

#[test]
fn a_planner_is_told_what_the_tools_of_a_server_take_before_it_plans() {
    let step = with(work(), |plan| plan.may_use = vec![named("weather")]);
    let mut world = world(step, |main| {
        main.tools.insert("weather".into(), server(Some(&["say"])));
    });
    assert_eq!((world.count("tools_asked"), world.count("model_called")), (1, 0));
    world.ask_for("work", Ok(CallReply::Tools(listed())));
    let prompt = world.prompt("work");
    assert!(prompt.contains("- tool weather.say: Tells the weather. {{ 7*7 }} Give its arguments"), "{prompt}");
    assert!(prompt.contains("\"required\":[\"city\"]") && !prompt.contains("weather.wipe"), "{prompt}");
    world.say("work", &plan("parallel", json!([{ "id": "a", "use": "weather.say", "with": { "city": "Rome" } }])));
    world.ask_for("work/a", gives(json!("sunny")));
    assert_eq!((world.status(), world.count("tools_asked")), (RunStatus::Succeeded, 1));
    world.check();
}

#[test]
fn the_rounds_of_tool_calls_of_a_planner_count_in_the_upper_bounds() {
    let turns = |tools: &[&str]| {
        let mut main = main(vec![with(work(), |plan| plan.check = Some(named("checker")))]);
        uses(&mut main, "writer", tools);
        let bounds = crate::plan::bounds(&planned(vec![main, fetch()]), None, &|_, _| None);
        let askings = &bounds[0].steps[0].askings;
        askings.iter().take(2).map(|asking| (asking.agent.clone(), asking.turns)).collect::<Vec<_>>()
    };
    let of = |writer: u64| vec![("writer".to_string(), writer), ("checker".to_string(), 0)];
    assert_eq!((turns(&[]), turns(&["fetch"])), (of(0), of(crate::model::MOST_TURNS)));
}
