//! A gate with `refine` in a group, an element, a round or a case: each has a second round of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{HttpStep, Method, OnFailure, RouteStep, Step, StepKind};
use crate::plan::Plan;
use crate::{events_of, taken_over};

fn file(steps: Vec<Step>) -> Arc<Plan> {
    let mut main = pipeline("p", steps);
    main.scorecards.insert("card".into(), good());
    planned(vec![main])
}

fn post(id: &str) -> Step {
    let url = text("https://example.com/");
    let (headers, query) = (vec![], vec![]);
    step(id, StepKind::Http(HttpStep { method: Method::Post, url, headers, query, body: None, output: None, idempotency_key: None }))
}

/// A draft, an effect, and a gate that sends both back once.
fn work() -> Vec<Step> {
    vec![
        agent("draft", "Write {{ item | default('it') }}. {{ refinement.feedback }}"),
        post("post"),
        gate("check", "steps.draft.output", Some("draft"), Some("Sorry.")),
    ]
}

/// Of each call of a draft what is said to it.
fn says(world: &mut World, texts: &[(&str, &[&'static str])]) {
    let mut left: BTreeMap<String, Vec<&'static str>> = texts.iter().map(|(path, all)| ((*path).to_owned(), all.to_vec())).collect();
    while !world.is_over() {
        let Some((_, path)) = world.out.first().cloned() else {
            world.wait();
            continue;
        };
        let text = left.get_mut(&path).filter(|all| !all.is_empty()).map_or("good", |all| all.remove(0));
        world.answer(&path, Says::Text(text));
    }
}

/// The gates that sent their work back, in order.
fn sent_back(world: &World) -> Vec<String> {
    let gate = |event: &crate::event::Event| match &event.happening {
        Happening::RefinementStarted { step, .. } => Some(step.to_string()),
        _ => None,
    };
    world.events.iter().filter_map(gate).collect()
}

#[test]
fn each_element_is_refined_on_its_own() {
    let mut world = World::new(file(vec![for_each(group("replies", false, work()), "['a', 'b', 'c']", false, None)]));
    world.answer("replies[0]/draft", Says::Text("good a"));
    world.answer("replies[1]/draft", Says::Text("bad b"));
    world.answer("replies[2]/draft", Says::Text("bad c"));
    world.answer("replies[2]/post", Says::Yes);
    let again = world.prompt("replies[2]/draft");
    assert!(again.starts_with("Write c. - good: "), "{again}");
    world.answer("replies[1]/post", Says::Yes);
    world.answer("replies[1]/draft", Says::Text("good b"));
    says(&mut world, &[("replies[2]/draft", &["bad again"])]);
    assert_eq!(sent_back(&world), ["replies[2]/check", "replies[1]/check"]);
    let replies = world.output("replies").unwrap();
    assert_eq!((&replies[0]["check"], &replies[1]["check"], &replies[2]["check"]), (&json!("good a"), &json!("good b"), &json!("Sorry.")));
    assert_eq!(replies[2].get("draft"), None, "what the gate did not let through");
    assert_eq!((world.status(), world.step("replies")), (RunStatus::QualityNotMet, Some(StepStatus::Succeeded)));
    let keys: Vec<&str> = world.posted.iter().map(|(.., key)| key.as_str()).collect();
    assert_eq!(
        keys.iter().filter(|key| key.starts_with("r_test-replies[1]/post-")).collect::<Vec<_>>(),
        [&"r_test-replies[1]/post-1", &"r_test-replies[1]/post-2"]
    );
    assert_eq!(keys.iter().filter(|key| key.ends_with("-2")).count(), 2, "{keys:?}");
    world.check();
}

#[test]
fn an_agent_that_reads_nothing_of_it_is_told_the_answer_of_its_own_element() {
    let steps = vec![agent("draft", "Write."), gate("check", "steps.draft.output", Some("draft"), None)];
    let mut world = World::new(file(vec![for_each(group("replies", false, steps), "[1, 2]", false, None)]));
    world.answer("replies[0]/draft", Says::Text("bad one"));
    world.answer("replies[1]/draft", Says::Text("bad two"));
    let told = world.prompt("replies[1]/draft");
    assert!(told.contains("Your first answer was:\nbad two\n") && !told.contains("bad one"), "{told}");
    says(&mut world, &[("replies[1]/draft", &["bad"])]);
    assert_eq!((world.status(), world.step("replies[1]/check")), (RunStatus::QualityNotMet, Some(StepStatus::Failed)));
    world.check();
}

#[test]
fn the_steps_beside_the_way_of_a_parallel_group_run_once_and_its_readers_wait() {
    let gate = needs(gate("check", "steps.draft.output", Some("draft"), None), &["draft"]);
    let reader = needs(set("shown", "{{ steps.draft.output }}"), &["draft"]);
    let mut world = World::new(file(vec![group("views", true, vec![agent("draft", "Write."), query("beside"), gate, reader])]));
    assert_eq!(world.out_now(), ["views/beside", "views/draft"]);
    world.answer("views/draft", Says::Text("bad"));
    assert_eq!(world.step("views/shown"), None);
    world.answer("views/draft", Says::Text("good"));
    assert_eq!(world.output("views/shown"), Some(json!("good")));
    world.answer("views/beside", Says::Yes);
    assert_eq!((world.status(), world.successes("views/beside")), (RunStatus::Succeeded, 1));
    world.check();
}

#[test]
fn each_round_of_a_loop_has_a_second_try_and_only_the_last_round_counts() {
    let steps = vec![agent("draft", "Write."), gate("check", "steps.draft.output", Some("draft"), Some("Sorry."))];
    let mut world = World::new(file(vec![repeat("reply", steps, "steps.check.details.passed", 3)]));
    says(&mut world, &[("reply[1]/draft", &["bad", "bad"]), ("reply[2]/draft", &["bad", "good"])]);
    assert_eq!(sent_back(&world), ["reply[1]/check", "reply[2]/check"]);
    assert_eq!((world.status(), world.output("reply")), (RunStatus::Succeeded, Some(json!({ "draft": "good", "check": "good" }))));
    world.check();
}

#[test]
fn the_list_of_a_case_and_a_group_in_a_group_refine_too() {
    let route = RouteStep { subject: text("long"), cases: vec![case("long", work())], otherwise: None };
    let deep = |inner: Step| vec![group("outer", false, vec![inner, set("after", "x")])];
    for (steps, inside) in [(vec![step("kind", StepKind::Route(route))], "kind/long"), (deep(group("inner", false, work())), "outer/inner")]
    {
        let mut world = World::new(file(steps));
        let draft = format!("{inside}/draft");
        says(&mut world, &[(&draft, &["bad"])]);
        assert_eq!((sent_back(&world), world.status()), (vec![format!("{inside}/check")], RunStatus::Succeeded));
        world.check();
    }
}

/// What the first round did no longer counts, and what other elements did still does.
#[test]
fn what_is_done_again_counts_once_for_the_run() {
    let steps = vec![
        agent("draft", "Write."),
        Step { on_failure: OnFailure::Continue, ..query("look") },
        gate("check", "steps.draft.output", Some("draft"), Some("Sorry.")),
    ];
    let each = || vec![for_each(group("replies", false, steps.clone()), "[1, 2]", false, None)];
    let mut met = World::new(file(each()));
    met.answer("replies[0]/draft", Says::Text("bad"));
    met.answer("replies[0]/look", Says::No(FailureKind::Auth));
    says(&mut met, &[]);
    assert_eq!(met.status(), RunStatus::Succeeded);
    met.check();

    let mut other = World::new(file(each()));
    other.answer("replies[1]/draft", Says::Text("good"));
    other.answer("replies[1]/look", Says::No(FailureKind::Auth));
    other.answer("replies[0]/draft", Says::Text("bad"));
    other.answer("replies[0]/look", Says::No(FailureKind::Auth));
    says(&mut other, &[]);
    assert_eq!(other.status(), RunStatus::Partial);
    other.check();

    // A gate on the way that was not met in the first round.
    let inside = group("looks", false, vec![gate("first", "steps.draft.output", None, Some("Sorry."))]);
    let steps = vec![agent("draft", "Write."), inside, gate("check", "steps.draft.output", Some("draft"), Some("Sorry."))];
    let mut both = World::new(file(vec![group("reply", false, steps)]));
    says(&mut both, &[("reply/draft", &["bad"])]);
    assert_eq!(both.status(), RunStatus::Succeeded);
    assert_eq!(both.output("reply"), Some(json!({ "draft": "good", "looks": { "first": "good" }, "check": "good" })));
    both.check();
}

#[test]
fn a_second_round_that_cannot_be_finished_ends_its_own_gate_only() {
    let mut world = World::new(file(vec![for_each(group("replies", false, work()), "[1, 2]", false, None)]));
    world.answer("replies[0]/draft", Says::Text("bad"));
    world.answer("replies[0]/post", Says::Yes);
    world.answer("replies[0]/draft", Says::No(FailureKind::Auth));
    says(&mut world, &[("replies[1]/draft", &["bad"])]);
    let replies = world.output("replies").unwrap();
    assert_eq!((&replies[0], &replies[1]["check"]), (&json!({ "check": "Sorry." }), &json!("good")));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    world.check();
}

#[test]
fn a_group_that_is_retried_begins_with_its_first_round() {
    let mut world = World::new(file(vec![Step { retry: Some(retry(2)), ..group("reply", false, [work(), vec![query("last")]].concat()) }]));
    for end in [Says::No(FailureKind::Timeout), Says::Yes] {
        world.answer("reply/draft", Says::Text("bad"));
        world.answer("reply/post", Says::Yes);
        assert!(world.prompt("reply/draft").contains("- good: "));
        world.answer("reply/draft", Says::Text("good"));
        world.answer("reply/post", Says::Yes);
        world.answer("reply/last", end);
        if !world.is_over() {
            world.wait();
            assert_eq!(world.prompt("reply/draft").trim(), "Write it.");
        }
    }
    assert_eq!((world.status(), world.count("refinement_started")), (RunStatus::Succeeded, 2));
    world.check();
}

#[test]
fn from_every_event_each_element_goes_on_in_its_round() {
    let plan = || file(vec![for_each(group("replies", false, work()), "['a', 'b']", false, None)]);
    let texts: &[(&str, &[&str])] = &[("replies[0]/draft", &["bad"]), ("replies[1]/draft", &["bad", "bad"])];
    let mut uncut = World::new(plan());
    says(&mut uncut, texts);
    assert_eq!(sent_back(&uncut).len(), 2);
    for kept in 1..uncut.events.len() {
        let mut world = uncut.after_crash(kept, 0);
        // How often a draft was answered before tells what is said to it next.
        let answered = |path: &str| {
            let is_its = |event: &&crate::event::Event| matches!(&event.happening, Happening::ModelReplied { step, .. } if **step == *path);
            uncut.events[..kept].iter().filter(is_its).count()
        };
        let left: Vec<(&str, Vec<&'static str>)> =
            texts.iter().map(|(path, all)| (*path, all.iter().copied().skip(answered(path)).collect())).collect();
        let left: Vec<(&str, &[&'static str])> = left.iter().map(|(path, all)| (*path, all.as_slice())).collect();
        says(&mut world, &left);
        assert_eq!((world.status(), world.output("replies")), (uncut.status(), uncut.output("replies")), "after {kept} events");
        let keys = |world: &World| world.posted.iter().map(|(.., key)| key.clone()).collect::<std::collections::BTreeSet<_>>();
        assert!(keys(&world).is_subset(&keys(&uncut)), "after {kept} events");
        world.check();
    }
}

#[test]
fn a_fork_takes_a_group_over_with_both_its_rounds() {
    let mut world = World::new(file(vec![group("reply", false, work()), query("after")]));
    says(&mut world, &[("reply/draft", &["bad"])]);
    let taken = taken_over(&world.plan, &world.events, "after").unwrap();
    assert!(taken.contains("reply"));
    let copied = events_of(&taken, &world.events);
    assert_eq!(copied.iter().filter(|event| matches!(event.happening, Happening::RefinementStarted { .. })).count(), 1);
    assert!(taken_over(&world.plan, &world.events, "reply").unwrap().is_empty());
}

/// What a step may fail with does not keep the gate from passing, and the run says so.
#[test]
fn a_failure_that_is_allowed_in_the_second_round_makes_the_run_partial() {
    let look = Step { on_failure: OnFailure::Continue, ..query("look") };
    let steps = || vec![agent("draft", "Write."), look.clone(), gate("check", "steps.draft.output", Some("draft"), None)];
    for (steps, inside) in [(steps(), ""), (vec![group("reply", false, steps())], "reply/")] {
        let (draft, looking) = (format!("{inside}draft"), format!("{inside}look"));
        let mut world = World::new(file(steps));
        for (text, looks) in [("bad", Says::Yes), ("good", Says::No(FailureKind::Auth))] {
            world.answer(&draft, Says::Text(text));
            world.answer(&looking, looks);
        }
        assert_eq!((world.status(), world.step(&format!("{inside}check"))), (RunStatus::Partial, Some(StepStatus::Succeeded)));
        world.check();
    }
}
