//! The second round of the refinement, also inside what its steps hold: it does everything once more, and a crash nothing twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::*;
use super::tools::tool;
use super::world::{Says, World};
use crate::event::{Happening, RunStatus};
use crate::model::{CallStep, History, HttpStep, Method, Pipeline, PipelineId, PlanStep, RouteStep, Step, StepKind, ToolKind};
use crate::plan::Plan;

const PLAN: &str = r#"{"strategy": "parallel", "reasoning": "x", "steps": [{"id": "note", "use": "fetch", "with": {}}]}"#;

/// The effects of one round, by path.
const EFFECTS: [&str; 9] =
    ["alone", "kind/long/post", "views/post", "again[1]/post", "again[2]/post", "each[0]", "each[1]", "called/get", "work/note/get"];

fn post(id: &str) -> Step {
    step(
        id,
        StepKind::Http(HttpStep {
            method: Method::Post,
            url: text("https://example.com/"),
            headers: vec![],
            query: vec![],
            body: None,
            output: None,
            idempotency_key: None,
        }),
    )
}

fn called() -> Pipeline {
    pipeline("fetch", vec![post("get")])
}

/// Where the list of the gate is: the pipeline's own, or in a group.
const LISTS: [&str; 2] = ["", "held/"];

/// Everything that holds steps lies between the target and its gate, in this list.
fn plan(list: &str) -> Arc<Plan> {
    let route = RouteStep { subject: text("long"), cases: vec![case("long", vec![post("post")])], otherwise: None };
    let call = CallStep { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let work = PlanStep {
        agent: named("writer"),
        prompt: text("Go."),
        may_use: vec![named("fetch")],
        attach: None,
        max_steps: None,
        max_parallel: None,
        rounds: None,
        check: None,
        history: History::Nothing,
    };
    let holders = [
        post("alone"),
        step("kind", StepKind::Route(route)),
        group("views", true, vec![post("post")]),
        repeat("again", vec![post("post")], "round == 2", 2),
        for_each(post("each"), "[1, 2]", false, None),
        step("called", StepKind::Call(call)),
        step("work", StepKind::Plan(work)),
    ];
    let ids: Vec<String> = holders.iter().map(|step| step.id.value.clone()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut steps = vec![agent("compose", "Write.")];
    steps.extend(holders.into_iter().map(|step| needs(step, &["compose"])));
    steps.push(needs(set("fit", "{{ steps.compose.output }}"), &ids));
    steps.push(gate("check", "steps.fit.output", Some("compose"), Some("Sorry.")));
    let mut main = pipeline("p", if list.is_empty() { steps } else { vec![group("held", false, steps)] });
    main.scorecards.insert("card".into(), good());
    main.tools.insert("fetch".into(), tool(ToolKind::Pipeline { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)) }));
    planned(vec![main, called()])
}

/// Answers all that is out until the run has ended: the first text is bad. Notes after how many events an answer came.
fn go_on(world: &mut World) -> Vec<usize> {
    let mut ends = vec![];
    while !world.is_over() {
        ends.push(world.events.len());
        match world.out.first().cloned() {
            Some((call, path)) => {
                world.out.remove(0);
                let says = match path.trim_start_matches("held/") {
                    "work" => PLAN,
                    "compose" if world.count("refinement_started") == 0 => "bad",
                    _ => "good",
                };
                world.reply(call, Says::Text(says));
            }
            None => world.wait(),
        }
    }
    ends
}

/// The rounds in which a step began, as the events tell them.
fn rounds(world: &World, path: &str) -> Vec<u32> {
    let round = |event: &crate::event::Event| match &event.happening {
        Happening::StepStarted { step, round, .. } if **step == *path => Some(*round),
        _ => None,
    };
    world.events.iter().filter_map(round).collect()
}

#[test]
fn what_the_second_round_does_has_its_own_key_however_deep_it_lies() {
    for list in LISTS {
        let mut world = World::new(plan(list));
        go_on(&mut world);
        assert_eq!(world.status(), RunStatus::Succeeded);
        for path in EFFECTS.map(|path| format!("{list}{path}")) {
            let keys: Vec<&str> = world.posted.iter().filter(|(_, posted, _)| *posted == path).map(|(.., key)| key.as_str()).collect();
            assert_eq!(keys.len(), 2, "{path}");
            assert_eq!(keys[0], format!("r_test-{path}-1"), "the key of a first round stays what it was");
            assert_ne!(keys[0], keys[1], "{path}");
            assert_eq!(rounds(&world, &path), [1, 2], "{path}");
        }
        world.check();
    }
}

#[test]
fn each_round_of_a_called_pipeline_has_its_own_key_in_each_round_of_its_caller() {
    let mut inner = pipeline(
        "inner",
        vec![
            agent("draft", "Write."),
            post("post"),
            needs(set("fit", "{{ steps.draft.output }}"), &["draft", "post"]),
            gate("check", "steps.fit.output", Some("draft"), Some("Sorry.")),
        ],
    );
    inner.scorecards.insert("card".into(), good());
    let call = CallStep { file: named("inner.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let steps = vec![
        agent("compose", "Write."),
        step("called", StepKind::Call(call)),
        set("fit", "{{ steps.compose.output }}"),
        gate("check", "steps.fit.output", Some("compose"), Some("Sorry.")),
    ];
    let mut main = pipeline("p", steps);
    main.scorecards.insert("card".into(), good());
    let mut world = World::new(planned(vec![main, inner]));
    while let Some((call, path)) = world.out.first().cloned() {
        world.out.remove(0);
        world.reply(call, Says::Text(if path == "called/post" { "good" } else { "bad" }));
    }
    let keys: Vec<&str> = world.posted.iter().map(|(.., key)| key.as_str()).collect();
    let key = |rounds: &str| format!("r_test-called/post-{rounds}");
    assert_eq!(keys, [key("1"), key("2"), key("2.1"), key("2.2")]);
    world.check();
}

#[test]
fn an_element_is_told_its_own_first_answer() {
    let target = for_each(agent("compose", "Write."), "[1, 2]", false, None);
    let steps = vec![
        target,
        set("fit", "{{ steps.compose.output | join(' ') }}"),
        gate("check", "steps.fit.output", Some("compose"), Some("Sorry.")),
    ];
    let mut main = pipeline("p", steps);
    main.scorecards.insert("card".into(), good());
    let mut world = World::new(planned(vec![main]));
    world.answer("compose[0]", Says::Text("bad one"));
    world.answer("compose[1]", Says::Text("bad two"));
    let told = world.prompt("compose[1]");
    assert!(told.contains("Your first answer was:\nbad two\n") && !told.contains("bad one"), "{told}");
}

#[test]
fn from_every_point_of_the_second_round_nothing_that_was_done_is_done_again() {
    LISTS.iter().for_each(|list| nothing_is_done_again(list));
}

fn nothing_is_done_again(list: &str) {
    let mut uncut = World::new(plan(list));
    let ends = go_on(&mut uncut);
    assert_eq!(ends.len(), 2 * (EFFECTS.len() + 2), "{ends:?}");
    let keys = |world: &World| {
        let posted = world.posted.iter().map(|(call, path, key)| (*call, (path.clone(), key.clone())));
        posted.collect::<BTreeMap<u64, (String, String)>>()
    };
    let known = keys(&uncut);
    for kept in ends {
        let mut world = uncut.after_crash(kept, 0);
        go_on(&mut world);
        assert_eq!((world.status(), &world.end().outputs), (uncut.status(), &uncut.end().outputs), "after {kept} events");
        for path in EFFECTS.map(|path| format!("{list}{path}")) {
            assert_eq!(world.successes(&path), 2, "{path} after {kept} events");
        }
        for (path, key) in keys(&world).values() {
            assert!(known.values().any(|known| known == &(path.clone(), key.clone())), "{path}: {key} after {kept} events");
        }
        world.check();
    }
}

#[test]
fn a_key_of_the_authors_own_is_the_same_in_both_rounds_unless_it_says_otherwise() {
    let keyed = |key: &str| {
        let mut step = post("act");
        if let StepKind::Http(http) = &mut step.kind {
            http.idempotency_key = Some(text(key));
        }
        let steps = vec![agent("compose", "Write."), step, gate("check", "steps.compose.output", Some("compose"), Some("Sorry."))];
        let mut main = pipeline("p", steps);
        main.scorecards.insert("card".into(), good());
        let mut world = World::new(planned(vec![main]));
        go_on(&mut world);
        assert_eq!(world.status(), RunStatus::Succeeded);
        world.posted.iter().map(|(.., key)| key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keyed("order-7"), ["order-7", "order-7"]);
    assert_eq!(keyed("order-7{{ '-again' if refinement }}"), ["order-7", "order-7-again"]);
}
