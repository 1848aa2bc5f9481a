//! A run that runs the failed elements of another one again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::build::*;
use super::world::{Says, World, options, start, yes};
use crate::event::{Event, FailureKind, Happening, RunStatus};
use crate::model::{HttpStep, Method, OnFailure, Outputs, Step, StepKind};
use crate::plan::Plan;
use crate::{Input, Moment, NothingToRetry, RetryScope, Run, events_of, retry_of};

fn post(id: &str, key: Option<&str>) -> Step {
    let (url, headers, query) = (text("https://example.com/orders"), vec![], vec![]);
    let idempotency_key = key.map(text);
    step(id, StepKind::Http(HttpStep { method: Method::Post, url, headers, query, body: None, output: None, idempotency_key }))
}

fn continues(mut step: Step) -> Step {
    step.on_failure = OnFailure::Continue;
    step
}

/// Each element is written, checked and ordered; what was ordered is billed.
fn orders(key: Option<&str>, list: &str, is_once: bool) -> Arc<Plan> {
    let mut order = post("order", key);
    order.is_once = is_once;
    let inside = vec![agent("draft", "{{ item }}"), gate("check", "steps.draft.output", None, None), needs(order, &["check"])];
    let done = "steps.each.output | selectattr('status', 'eq', 'succeeded') | list";
    let steps = vec![
        continues(for_each(group("each", false, inside), list, false, Some(2))),
        needs(continues(for_each(post("bill", None), done, false, Some(1))), &["each"]),
        needs(set("count", "{{ steps.bill.output | length }}"), &["bill"]),
    ];
    let mut pipeline = pipeline("p", steps);
    pipeline.scorecards = [("card".to_string(), good())].into_iter().collect();
    pipeline.outputs = Outputs::Named(vec![output("count", "{{ steps.count.output }}")]);
    planned(vec![pipeline])
}

/// Answers everything: what fails says how, by path.
fn play(world: &mut World, fails: &BTreeMap<&str, FailureKind>, bad: &[&str]) {
    while !world.is_over() && !world.run.is_paused() {
        let Some((call, path)) = world.out.first().cloned() else {
            world.wait();
            continue;
        };
        world.out.retain(|(other, _)| *other != call);
        let says = match fails.get(path.as_str()) {
            Some(kind) => Says::No(*kind),
            None => Says::Text(if bad.contains(&path.as_str()) { "bad" } else { "good" }),
        };
        world.reply(call, says);
    }
    world.check();
}

/// The first events of a run that retries this one, and what it begins with.
fn begun(world: &World, id: &str) -> (Vec<Event>, RetryScope) {
    let retry = retry_of(&world.plan, &world.events).unwrap();
    let as_event = |happening| Event { happening, ..world.events[0].clone() };
    let kept = retry.kept.iter().cloned().map(as_event).chain(events_of(&retry.taken, &world.events));
    let all = world.events[..1].iter().cloned().chain(kept);
    ((1..).zip(all).map(|(seq, event)| Event { seq, run: id.into(), ..event }).collect(), retry)
}

fn resumed(world: &World, id: &str, events: Vec<Event>) -> World {
    let ms = events.last().map_or(0, |event| event.at_ms);
    let run = Run::resumed(id, world.plan.clone(), options(), Moment { wall: start(), ms }, &events).unwrap();
    let mut next =
        World { run, ms, events, out: vec![], cancelled: vec![], posted: vec![], asked: vec![], ..World::new(world.plan.clone()) };
    next.handle(Input::Resume { away_ms: 0 });
    next
}

fn retried(world: &World, id: &str) -> World {
    resumed(world, id, begun(world, id).0)
}

/// The keys under which something was posted, by path.
fn keys(world: &World) -> Vec<(&str, &str)> {
    let mut keys: Vec<_> = world.posted.iter().map(|(_, path, key)| (path.as_str(), key.as_str())).collect();
    keys.sort_unstable();
    keys
}

/// Five elements: the second may have been ordered, the fourth was no good.
fn partly(plan: Arc<Plan>) -> World {
    let mut world = World::new(plan);
    play(&mut world, &BTreeMap::from([("each[1]/order", FailureKind::UnknownOutcome)]), &["each[3]/draft"]);
    assert_eq!(world.end().outputs["count"], 3);
    world
}

#[test]
fn only_what_failed_runs_again_and_has_the_same_key() {
    let world = partly(orders(None, "[1, 2, 3, 4, 5]", false));
    let (_, retry) = begun(&world, "r_next");
    assert_eq!((retry.lists, retry.elements, retry.taken.len()), (vec!["each".to_string()], 2, 0));
    let mut next = retried(&world, "r_next");
    play(&mut next, &BTreeMap::new(), &[]);
    assert_eq!((next.status(), &next.end().outputs["count"]), (RunStatus::Succeeded, &json!(5)));
    // The second element was written before, and its order has the key and the text that it had; the fourth was never ordered. Bills are known by
    // what they are about, not by their place, which moved.
    let expected = [
        ("bill[1]", "r_next-bill[1]-1"),
        ("bill[3]", "r_next-bill[3]-1"),
        ("each[1]/order", "r_test-each[1]/order-1"),
        ("each[3]/order", "r_test-each[3]/order-1"),
    ];
    assert_eq!(keys(&next), expected);
    assert_eq!(next.asked.len(), 1, "only the fourth is written again");
    assert_eq!(next.most_out, 2, "as many at a time as the file says");
}

#[test]
fn a_key_of_the_author_with_the_id_of_the_run_stays_the_same() {
    let world = partly(orders(Some("{{ run.id }}-{{ item }}"), "[1, 2, 3, 4, 5]", false));
    let mut next = retried(&world, "r_next");
    play(&mut next, &BTreeMap::from([("each[1]/order", FailureKind::Timeout), ("each[3]/order", FailureKind::UnknownOutcome)]), &[]);
    assert_eq!(keys(&next)[0], ("each[1]/order", "r_test-2"));
    // And in a retry of the retry.
    let mut last = retried(&next, "r_last");
    play(&mut last, &BTreeMap::new(), &[]);
    let orders: Vec<_> = keys(&last).into_iter().filter(|(path, _)| path.ends_with("order")).collect();
    assert_eq!(orders, [("each[1]/order", "r_test-2"), ("each[3]/order", "r_test-4")]);
    assert_eq!((last.end().outputs["count"].clone(), last.asked.len()), (json!(5), 0));
}

#[test]
fn equal_elements_are_told_apart() {
    let world = partly(orders(None, "['a', 'a', 'a', 'a', 'a']", false));
    let mut next = retried(&world, "r_next");
    play(&mut next, &BTreeMap::new(), &[]);
    assert_eq!(next.end().outputs["count"], 5);
    assert_eq!(keys(&next).len(), 4);
}

#[test]
fn a_person_decides_about_a_once_step_that_may_have_acted() {
    let world = partly(orders(None, "[1, 2, 3, 4, 5]", true));
    let mut next = retried(&world, "r_next");
    play(&mut next, &BTreeMap::new(), &[]);
    assert!(next.run.is_paused() && !keys(&next).iter().any(|(path, _)| *path == "each[1]/order"), "{:?}", keys(&next));
    next.handle(yes("each[1]/order"));
    play(&mut next, &BTreeMap::new(), &[]);
    assert_eq!((next.status(), &next.end().outputs["count"]), (RunStatus::Succeeded, &json!(5)));
    assert!(keys(&next).contains(&("each[1]/order", "r_test-each[1]/order-1")));
}

#[test]
fn what_acted_beside_the_elements_and_would_act_again_is_told() {
    let steps = vec![
        post("before", None),
        continues(for_each(post("each", None), "[1, 2]", false, Some(1))),
        needs(post("after", None), &["each"]),
        needs(continues(post("unknown", None)), &["each"]),
    ];
    let mut world = World::new(planned(vec![pipeline("p", steps)]));
    let fails = BTreeMap::from([("each[1]", FailureKind::ServerError), ("unknown", FailureKind::UnknownOutcome)]);
    play(&mut world, &fails, &[]);
    let retry = retry_of(&world.plan, &world.events).unwrap();
    assert_eq!(retry.acts_again.iter().map(|path| &**path).collect::<Vec<_>>(), ["after", "unknown"]);
    let world = partly(orders(None, "[1, 2, 3, 4, 5]", false));
    assert!(retry_of(&world.plan, &world.events).unwrap().acts_again.is_empty());
}

#[test]
fn a_list_that_had_no_elements_did_not_act() {
    let steps = |after: &str| {
        let done = "steps.each.output | selectattr('status', 'eq', 'succeeded') | list";
        vec![
            continues(for_each(agent("each", "{{ item }}"), "[1, 2]", false, Some(1))),
            needs(continues(for_each(post(after, None), done, false, Some(1))), &["each"]),
        ]
    };
    let mut world = World::new(planned(vec![pipeline("p", steps("post"))]));
    let fails = ["each[0]", "each[1]"].map(|path| (path, FailureKind::BadRequest));
    play(&mut world, &BTreeMap::from(fails), &[]);
    assert_eq!(world.output("post"), Some(json!([])));
    let retry = retry_of(&world.plan, &world.events).unwrap();
    assert_eq!((retry.acts_again, retry.elements), (vec![], 2));
}

#[test]
fn what_a_step_did_is_not_forgotten_when_it_gets_another_id() {
    let plan = |each: &str, post_id: &str, last: &str| {
        let done = format!("steps.{each}.output | selectattr('status', 'eq', 'succeeded') | list");
        let steps = vec![
            continues(for_each(agent(each, "{{ item }}"), "[1, 2]", false, Some(1))),
            needs(continues(for_each(post(post_id, None), &done, false, Some(1))), &[each]),
            needs(post(last, None), &[post_id]),
        ];
        planned(vec![pipeline("p", steps)])
    };
    let mut world = World::new(plan("each", "post", "report"));
    play(&mut world, &BTreeMap::from([("each[1]", FailureKind::BadRequest)]), &[]);
    let as_now = |each, post, last| retry_of(&plan(each, post, last), &world.events);
    assert_eq!(as_now("all", "post", "report"), Err(NothingToRetry::Gone("each".into())));
    assert_eq!(as_now("each", "send", "report"), Err(NothingToRetry::Gone("post".into())));
    for last in ["report", "tell"] {
        let acts: Vec<String> = as_now("each", "post", last).unwrap().acts_again.iter().map(|path| path.to_string()).collect();
        assert_eq!(acts, ["report"], "{last}");
    }
}

#[test]
fn where_nothing_failed_nothing_is_retried() {
    let mut world = World::new(orders(None, "[1, 2]", false));
    play(&mut world, &BTreeMap::new(), &[]);
    assert_eq!(retry_of(&world.plan, &world.events), Err(NothingToRetry::AllSucceeded));
    let mut world = World::new(planned(vec![pipeline("p", vec![set("a", "1")])]));
    play(&mut world, &BTreeMap::new(), &[]);
    assert_eq!(retry_of(&world.plan, &world.events), Err(NothingToRetry::NoElements));
}

#[test]
fn a_retry_that_is_cut_off_anywhere_loses_nothing_and_repeats_nothing() {
    let world = partly(orders(None, "[1, 2, 3, 4, 5]", false));
    let (before, _) = begun(&world, "r_next");
    let mut uncut = resumed(&world, "r_next", before.clone());
    play(&mut uncut, &BTreeMap::new(), &[]);
    for kept in before.len()..uncut.events.len() {
        let mut cut = resumed(&world, "r_next", uncut.events[..kept].to_vec());
        let succeeded = |path: &str| {
            uncut.events[..kept].iter().any(|event| matches!(&event.happening, Happening::StepSucceeded { step, .. } if **step == *path))
        };
        let done: Vec<&str> = keys(&uncut).into_iter().map(|(path, _)| path).filter(|path| succeeded(path)).collect();
        play(&mut cut, &BTreeMap::new(), &[]);
        assert_eq!((cut.status(), &cut.end().outputs), (uncut.status(), &uncut.end().outputs), "after {kept} events");
        for (path, key) in keys(&cut) {
            assert!(!done.contains(&path), "{path} again after {kept} events");
            assert!(keys(&uncut).contains(&(path, key)), "{path} has another key after {kept} events: {key}");
        }
    }
}
