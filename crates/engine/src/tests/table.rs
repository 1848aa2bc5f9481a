//! The tables of how a failure continues, at every depth; and what may happen in any order.

use std::time::Duration;

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{Canceller, FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{CallStep, OnFailure, PipelineId, RouteStep, Step, StepKind};
use crate::{Input, Moment};

fn call(id: &str, to: usize) -> Step {
    step(id, StepKind::Call(CallStep { file: named("x.yaml"), pipeline: Some(PipelineId(to)), with: vec![], channel: None }))
}

fn each(fail_fast: bool, on_failure: OnFailure) -> Step {
    Step { on_failure, ..for_each(query("each"), "[1, 2, 3]", fail_fast, Some(2)) }
}

/// The list in the pipeline itself, in a case, in a called pipeline, in a case of a pipeline that a called one calls.
fn depths(list: &Step) -> Vec<(World, &'static str)> {
    let route = |inner: Vec<Step>| {
        let route = RouteStep { subject: text("one"), cases: vec![case("one", inner)], otherwise: None };
        step("r", StepKind::Route(route))
    };
    let own = || vec![list.clone(), set("next", "x")];
    let world = |pipelines: Vec<Vec<Step>>| {
        let pipelines = pipelines.into_iter().enumerate().map(|(ix, steps)| pipeline(["p", "q", "s"][ix], steps)).collect();
        World::new(planned(pipelines))
    };
    vec![
        (world(vec![own()]), ""),
        (world(vec![vec![route(own())]]), "r/one/"),
        (world(vec![vec![call("c", 1)], own()]), "c/"),
        (world(vec![vec![call("c", 1)], vec![call("d", 2)], vec![route(own())]]), "c/d/r/one/"),
    ]
}

#[test]
fn fail_fast_and_on_failure_mean_the_same_at_every_depth() {
    let rows = [
        (true, OnFailure::Stop, StepStatus::Cancelled, StepStatus::Failed, RunStatus::Failed),
        (true, OnFailure::Continue, StepStatus::Cancelled, StepStatus::Succeeded, RunStatus::Partial),
        (false, OnFailure::Stop, StepStatus::Succeeded, StepStatus::Failed, RunStatus::Failed),
        (false, OnFailure::Continue, StepStatus::Succeeded, StepStatus::Succeeded, RunStatus::Partial),
    ];
    for (fail_fast, on_failure, others, step, run) in rows {
        for (mut world, at) in depths(&each(fail_fast, on_failure.clone())) {
            let of = |id: &str| format!("{at}{id}");
            world.answer(&of("each[0]"), Says::No(FailureKind::Auth));
            for id in ["each[1]", "each[2]"] {
                if world.out.iter().any(|(_, path)| *path == of(id)) {
                    world.answer(&of(id), Says::Yes);
                }
            }
            let told = format!("fail_fast {fail_fast}, {on_failure:?}, in {at:?}");
            assert_eq!(world.status(), run, "{told}");
            for id in ["each[1]", "each[2]"] {
                assert_eq!(world.step(&of(id)), Some(others), "{id}: {told}");
            }
            assert_eq!(world.step(&of("each")), Some(step), "{told}");
            let next = if on_failure == OnFailure::Continue { StepStatus::Succeeded } else { StepStatus::Blocked };
            assert_eq!(world.step(&of("next")), Some(next), "{told}");
            world.check();
        }
    }
}

#[test]
fn a_try_that_fails_while_tries_are_left_ends_nothing_at_any_depth() {
    let mut list = each(true, OnFailure::Stop);
    list.retry = Some(retry(3));
    for (mut world, at) in depths(&list) {
        for _ in 0..2 {
            world.answer(&format!("{at}each[0]"), Says::No(FailureKind::Timeout));
            while world.out.iter().all(|(_, path)| *path != format!("{at}each[0]")) {
                match world.out.first().cloned() {
                    Some((_, path)) => world.answer(&path, Says::Yes),
                    None => world.wait(),
                }
            }
        }
        while let Some((_, path)) = world.out.first().cloned() {
            world.answer(&path, Says::Yes);
        }
        assert_eq!((world.status(), world.count("step_cancelled")), (RunStatus::Succeeded, 0), "{at}");
        world.check();
    }
}

/// Every order in which what is out can be answered.
fn orders(plan: &std::sync::Arc<crate::plan::Plan>, chosen: &mut Vec<usize>, seen: &mut dyn FnMut(World)) {
    let mut world = World::new(plan.clone());
    for pick in chosen.iter() {
        let path = world.out[*pick].1.clone();
        world.answer(&path, Says::Yes);
    }
    if world.is_over() {
        return seen(world);
    }
    for pick in 0..world.out.len() {
        chosen.push(pick);
        orders(plan, chosen, seen);
        chosen.pop();
    }
}

#[test]
fn in_every_order_of_answers_each_step_starts_once_and_after_what_it_needs() {
    let mut played = 0;
    let mut all = |edges: &dyn Fn(usize, usize) -> bool, count: usize| {
        let ids: Vec<String> = (0..count).map(|place| format!("s{place}")).collect();
        let of = |place: usize| (0..place).filter(|above| edges(*above, place)).collect::<Vec<_>>();
        let steps = (0..count).map(|place| needs(query(&ids[place]), &of(place).iter().map(|n| ids[*n].as_str()).collect::<Vec<_>>()));
        let mut p = pipeline("p", steps.collect());
        p.limits.max_parallel = Some(6);
        let plan = planned(vec![p]);
        orders(&plan, &mut vec![], &mut |world| {
            played += 1;
            let place = |kind: &str, id: &str| world.lines().iter().position(|line| *line == format!("{kind} {id}")).unwrap();
            for (step, id) in ids.iter().enumerate() {
                let starts = world.lines().iter().filter(|line| **line == format!("step_started {id}")).count();
                assert_eq!(starts, 1, "{id}: {:?}", world.lines());
                assert!(of(step).iter().all(|need| place("step_succeeded", &ids[*need]) < place("step_started", id)));
            }
            assert_eq!(world.status(), RunStatus::Succeeded);
        });
    };
    // Every graph of up to four steps.
    for graph in 0..64u32 {
        let bit = |above: usize, step: usize| graph & (1 << (step * (step - 1) / 2 + above)) != 0;
        all(&bit, 4);
    }
    // Six steps: two diamonds one after the other, and a fan that comes together.
    let diamonds = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)];
    all(&|above, step| diamonds.contains(&(above, step)), 6);
    let fan = [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5)];
    all(&|above, step| fan.contains(&(above, step)), 6);
    assert!(played > 400, "{played}");
}

#[test]
fn a_run_that_is_stuck_ends_at_once_and_names_the_steps() {
    let mut world = World::new(planned(vec![pipeline("p", vec![query("a"), query("b")])]));
    // What no event can do: `b` waits for something that never comes.
    world.run.context.state.broken().frames[0].as_mut().unwrap().nodes[1].waits_for = 2;
    world.answer("a", Says::Yes);
    assert_eq!((world.status(), world.step("b")), (RunStatus::Failed, Some(StepStatus::Cancelled)));
    let message = &world.end().failure.as_ref().unwrap().failure.message;
    assert!(message.contains("deadlock") && message.contains(": b"), "{message}");
}

#[test]
fn answers_that_come_twice_or_after_a_cancel_are_ignored() {
    let mut world = World::new(planned(vec![pipeline("p", vec![query("a"), query("b")])]));
    world.answer("a", Says::Yes);
    world.reply(1, Says::Yes);
    world.reply(1, Says::No(FailureKind::Auth));
    assert_eq!((world.count("reply_ignored"), world.step("a")), (2, Some(StepStatus::Succeeded)));
    world.cancel(Canceller::Person);
    assert_eq!(world.status(), RunStatus::Cancelled);
    let events = world.events.len();
    world.reply(2, Says::Yes);
    assert_eq!(world.events.len(), events, "a run that is over says nothing more");
    world.check();
}

#[test]
fn a_clock_that_jumps_by_ten_years_changes_nothing_but_the_times_people_read() {
    let steps = || {
        let mut tried = query("tried");
        tried.retry = Some(retry(2));
        tried.timeout = Some(Duration::from_secs(5));
        vec![tried, step("nap", StepKind::Wait(crate::model::Filling::Constant(json!("5s")))), query("last")]
    };
    let play = |years: i64| {
        let mut p = pipeline("p", steps());
        p.limits.deadline = Some(Duration::from_secs(60));
        let mut world = World::new(planned(vec![p]));
        let jump = |world: &mut World| {
            let moment = world.moment();
            let wall = moment.wall + chrono::TimeDelta::days(365 * years);
            world.run.handle(Input::Tick, Moment { wall, ..moment });
            world.handle(Input::Tick);
        };
        jump(&mut world);
        world.wait();
        jump(&mut world);
        world.wait();
        world.answer("tried", Says::Yes);
        jump(&mut world);
        world.wait();
        world.answer("last", Says::Yes);
        assert_eq!(world.status(), RunStatus::Succeeded);
        world.check();
        world.events.into_iter().map(|event| (event.seq, event.at_ms, event.happening)).collect::<Vec<_>>()
    };
    let untold = |events: Vec<(u64, u64, Happening)>| events.into_iter().map(|(seq, ms, happening)| (seq, ms, format!("{happening:?}")));
    let straight: Vec<_> = untold(play(0)).collect();
    assert_eq!(untold(play(10)).collect::<Vec<_>>(), straight);
    assert_eq!(untold(play(-10)).collect::<Vec<_>>(), straight);
}
