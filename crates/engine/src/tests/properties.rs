//! Random graphs, outcomes and orders of answers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::build::*;
use super::talking::{dialogue, with_talkers};
use super::tasking::{judged, queried, rows, task, with_tables, wrote};
use super::world::{Says, World, options, start};
use crate::event::{Event, Failure, FailureKind, Happening, StepStatus};
use crate::model::{History, OnFailure, PlanStep, Step, StepKind, step_path};
use crate::{Input, Moment, Run, events_of, taken_over};

/// What a random step is: its needs (places before it), whether it calls or plans, how it fails, what a failure means.
#[derive(Debug, Clone)]
struct Drawn {
    needs: Vec<usize>,
    calls: bool,
    plans: bool,
    tasks: bool,
    fails: u8,
    on_failure: u8,
    skipped: bool,
    items: u8,
    /// How it stands in others: 1 and 2 in a group, 3 to 5 in a `repeat`, 6 in a group and 7 in a `repeat` with a gate that refines, else not at all.
    holder: u8,
}

impl Drawn {
    fn holds_nothing(&self) -> bool {
        !(1..=7).contains(&self.holder)
    }

    /// Whether what is in it may run twice.
    fn refines(&self) -> bool {
        self.calls && !self.plans && (6..=7).contains(&self.holder)
    }

    /// Whether it is a dialogue: some of the tasks are.
    fn talks(&self) -> bool {
        self.tasks && self.holds_nothing() && self.on_failure != 2 && self.skipped | (self.items == 2)
    }
}

fn drawn(place: usize) -> impl Strategy<Value = Drawn> {
    let needs = proptest::collection::vec(0..place.max(1), 0..=place.min(3));
    let kind = prop_oneof![
        5 => Just((false, false, false)), 5 => Just((true, false, false)), 1 => Just((true, true, false)), 1 => Just((true, false, true))
    ];
    let rest = (0u8..6, 0u8..6, 0u8..12);
    (needs, kind, 0u8..4, 0u8..3, rest).prop_map(move |(needs, (calls, plans, tasks), fails, on_failure, (skipped, items, holder))| Drawn {
        needs: if place == 0 { vec![] } else { needs },
        calls,
        plans,
        tasks,
        fails,
        on_failure,
        skipped: skipped == 0,
        items: items.saturating_sub(3),
        holder,
    })
}

fn graph() -> impl Strategy<Value = (Vec<Drawn>, Vec<u8>, u64)> {
    let steps = (1usize..9).prop_flat_map(|n| (0..n).map(drawn).collect::<Vec<_>>());
    (steps, proptest::collection::vec(any::<u8>(), 64), 1u64..4)
}

/// A step whose plan asks agents: `b` after `a`, `c` and `d` beside them.
fn planning(id: &str, at_once: u64) -> Step {
    let plan = PlanStep {
        agent: named("writer"),
        prompt: text("Go."),
        may_use: vec![named("writer")],
        attach: None,
        max_steps: None,
        max_parallel: Some(at_once),
        rounds: None,
        check: None,
        history: History::Nothing,
    };
    step(id, StepKind::Plan(plan))
}

const PARALLEL: &str = r#"{"strategy": "parallel", "reasoning": "x", "steps": [{"id": "b", "use": "writer", "prompt": "x", "depends_on": ["a"]}, {"id": "a", "use": "writer", "prompt": "x"}, {"id": "c", "use": "writer", "prompt": "x"}, {"id": "d", "use": "writer", "prompt": "x"}]}"#;
const SEQUENTIAL: &str = r#"{"strategy": "sequential", "reasoning": "x", "steps": [{"id": "b", "use": "writer", "prompt": "x", "depends_on": ["a"]}, {"id": "a", "use": "writer", "prompt": "x"}]}"#;

/// What an agent says in a step that plans: a plan, or something else that is rejected at first.
fn says_in_plan(drawn: &Drawn, path: &str, tried: u32) -> Says {
    match path.rsplit_once('/').map(|(_, id)| id) {
        None if drawn.on_failure == 2 && tried == 1 => Says::Text("no plan"),
        None if drawn.items.is_multiple_of(2) => Says::Text(PARALLEL),
        None => Says::Text(SEQUENTIAL),
        Some("a") if drawn.fails == 3 => Says::No(FailureKind::Auth),
        Some("c") if drawn.on_failure == 1 => Says::No(FailureKind::Refused),
        Some(_) => Says::Yes,
    }
}

/// What becomes of a call in a step that is a task: queries that fail, results that are not accepted at first.
fn does_task(world: &mut World, drawn: &Drawn, path: &str, tried: u32) {
    let (call, _) = *world.out.iter().find(|(_, out)| out == path).unwrap();
    let of_model = world.events.iter().any(|e| matches!(&e.happening, Happening::ModelCalled { call: other, .. } if *other == call));
    let is_judging = world.run.state().steps.node(world.run.state().steps.find(path).unwrap()).judges_task();
    match (of_model, is_judging) {
        (false, _) if drawn.fails == 3 && tried > 1 => {
            world.give(path, Err(Failure::new(FailureKind::BadRequest, format!("line {tried}: no such column"))));
        }
        (false, _) => world.give(path, Ok(rows(serde_json::json!([{ "city": "Rome" }])))),
        (true, true) => world.say(path, &judged(tried.is_multiple_of(3) && drawn.on_failure != 2, if drawn.skipped { "x" } else { path })),
        (true, false) if tried % 5 == 2 => world.say(path, "no JSON"),
        (true, false) if drawn.items % 2 == 1 => world.say(path, &wrote("Rome")),
        (true, false) => world.say(path, &queried("select 1")),
    }
}

/// A text that its gate never lets through, and a query that follows it.
fn judged_twice() -> Vec<Step> {
    vec![agent("a", "x"), query("b"), gate("c", "steps.a.output", Some("a"), Some("Sorry.")), query("d")]
}

fn build(drawn: &[Drawn]) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![];
    for (place, d) in drawn.iter().enumerate() {
        let id = format!("s{place}");
        let mut step = match (d.plans, d.calls) {
            (true, _) => planning(&id, 1 + u64::from(d.skipped)),
            (false, true) if d.talks() => dialogue(&id),
            (false, true) if d.holder == 1 || d.holder == 2 => group(&id, d.holder == 2, vec![query("a"), query("b"), set("c", "x")]),
            (false, true) if d.holder == 3 => repeat(&id, vec![query("a"), query("b")], "round == 2", 3),
            (false, true) if d.holder == 4 => repeat(&id, vec![set("a", "x"), query("b")], "steps.b.status == 'failed'", 2),
            (false, true) if d.holder == 5 => repeat(&id, vec![group("g", true, vec![query("a"), query("b")])], "round == 2", 2),
            (false, true) if d.holder == 6 => group(&id, false, judged_twice()),
            (false, true) if d.holder == 7 => repeat(&id, judged_twice(), "round == 2", 3),
            (false, true) if d.tasks => task(&id, if d.items % 2 == 1 { "text" } else { "sql" }),
            (false, true) => query(&id),
            (false, false) => set(&id, "x"),
        };
        let names: BTreeSet<String> = d.needs.iter().map(|n| format!("s{n}")).collect();
        step.needs = Some(names.iter().map(|n| named(n)).collect());
        if d.skipped {
            step.when = Some(bare("1 == 2"));
        }
        if d.calls && d.items > 0 {
            step.for_each = Some(crate::model::ForEach {
                list: crate::model::Filling::Constant((0..d.items).collect::<Vec<_>>().into()),
                name: None,
                max_parallel: Some(1 + u64::from(d.items) % 2),
                fail_fast: d.items % 2 == 1,
                is_broken: false,
            });
        }
        if d.fails == 2 {
            step.retry = Some(retry(2));
        }
        step.on_failure = if d.on_failure == 1 { OnFailure::Continue } else { OnFailure::Stop };
        steps.push(step);
    }
    steps
}

/// Answers in an order drawn beforehand until the run has ended. Gives the world back, and what each call came to.
fn play(drawn: &[Drawn], order: &[u8], parallel: u64) -> World {
    let mut p = with_talkers(with_tables(pipeline("p", build(drawn)), &["hours"]));
    p.limits.max_parallel = Some(parallel);
    p.finally = vec![set("last", "x").into()];
    p.scorecards.insert("card".into(), good());
    let mut world = World::new(planned(vec![p]));
    let mut tries: BTreeMap<String, u32> = BTreeMap::new();
    for turn in 0..1_000 {
        if world.is_over() {
            return world;
        }
        if world.out.is_empty() {
            world.wait();
            continue;
        }
        let pick = order[turn % order.len()] as usize % world.out.len();
        let path = world.out[pick].1.clone();
        let place: usize = path.trim_start_matches('s').split(['[', '/']).next().unwrap().parse().unwrap();
        let tried = tries.entry(path.clone()).or_default();
        *tried += 1;
        let says = match drawn[place].fails {
            1 => Says::No(FailureKind::Auth),
            2 if *tried == 1 => Says::No(FailureKind::Timeout),
            _ if drawn[place].plans => says_in_plan(&drawn[place], &path, *tried),
            _ if drawn[place].talks() && drawn[place].fails == 3 && *tried == 3 => Says::No(FailureKind::Refused),
            _ if drawn[place].talks() && tried.is_multiple_of(2) => Says::Text("AGREED"),
            _ if drawn[place].talks() => Says::Yes,
            _ if drawn[place].tasks && drawn[place].holds_nothing() => {
                does_task(&mut world, &drawn[place], &path, *tried);
                continue;
            }
            3 if path.ends_with("[1]") => Says::No(FailureKind::Auth),
            _ => Says::Yes,
        };
        world.answer(&path, says);
    }
    panic!("the run does not end: {:#?}", world.lines());
}

/// A run that begins with what another one had done of these steps, as it continues.
fn forked(world: &World, events: &[Event], steps: &BTreeSet<String>) -> World {
    let taken = events[..1].iter().cloned().chain(events_of(steps, events));
    let events: Vec<Event> = (1..).zip(taken).map(|(seq, event)| Event { seq, ..event }).collect();
    let ms = events.last().map_or(0, |event| event.at_ms);
    let now = Moment { wall: start(), ms };
    let run = Run::resumed("r_test", world.plan.clone(), options(), now, &events).unwrap();
    let mut forked = World { run, ms, events, out: vec![], cancelled: vec![], posted: vec![], ..World::new(world.plan.clone()) };
    forked.handle(Input::Resume { away_ms: 0 });
    forked
}

fn statuses(world: &World, count: usize) -> Vec<Option<crate::event::StepStatus>> {
    (0..count).map(|i| world.step(&format!("s{i}"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_run_ends_once_and_no_step_starts_before_what_it_needs((drawn, order, parallel) in graph()) {
        let world = play(&drawn, &order, parallel);
        let mut over: BTreeSet<String> = BTreeSet::new();
        let mut started: BTreeSet<String> = BTreeSet::new();
        let mut finished = 0;
        // A retry of a group or of a `repeat` begins what is inside it anew, and a refinement does.
        let may_repeat = |step: &str| {
            let place = step.strip_prefix('s').and_then(|s| s.split(['[', '/']).next()?.parse::<usize>().ok());
            place.is_some_and(|place| drawn[place].refines() || drawn[place].fails == 2 && drawn[place].calls && !drawn[place].holds_nothing())
                && step.contains('/')
        };
        for event in &world.events {
            match &event.happening {
                Happening::StepStarted { step, attempt, .. } => {
                    if let Some(place) = step.strip_prefix('s').and_then(|s| s.parse::<usize>().ok()) {
                        for need in &drawn[place].needs {
                            prop_assert!(over.contains(&format!("s{need}")), "{step} started before s{need} was over");
                        }
                    }
                    let is_planned = |holder: &&str| holder.trim_start_matches('s').split('[').next().is_some_and(|place| drawn[place.parse::<usize>().unwrap()].plans);
                    if let Some(plan) = step.strip_suffix("/b").filter(is_planned) {
                        prop_assert!(over.contains(&format!("{plan}/a")), "{step} started before what it depends on");
                    }
                    prop_assert!(*attempt > 1 || started.insert(step.to_string()) || may_repeat(step), "{step} started twice");
                }
                Happening::StepSucceeded { step, .. } | Happening::StepFailed { step, .. } | Happening::StepSkipped { step }
                | Happening::StepBlocked { step, .. } | Happening::StepCancelled { step, .. } => {
                    prop_assert!(over.insert(step.to_string()) || may_repeat(step), "{step} ended twice");
                }
                Happening::RunFinished(_) => finished += 1,
                _ => {}
            }
        }
        prop_assert_eq!(finished, 1);
        prop_assert!((0..drawn.len()).all(|i| over.contains(&format!("s{i}"))), "a step has no final status");
        prop_assert!(world.most_out as u64 <= parallel, "more calls out than permits");
        prop_assert_eq!(world.run.state().calls.len(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_prefix_of_the_events_replays_and_serialises((drawn, order, parallel) in graph()) {
        play(&drawn, &order, parallel).check();
    }

    #[test]
    fn the_same_answers_in_the_same_order_give_the_same_events((drawn, order, parallel) in graph()) {
        prop_assert_eq!(play(&drawn, &order, parallel).events, play(&drawn, &order, parallel).events);
    }

    #[test]
    fn the_order_of_answers_does_not_change_how_steps_end_when_nothing_stops((mut drawn, order, parallel) in graph(), other in proptest::collection::vec(any::<u8>(), 64)) {
        for d in &mut drawn {
            d.on_failure = 1;
            d.items = if d.items % 2 == 1 { 2 } else { d.items };
            // Which of its steps a try of a group gets to depends on the order of answers.
            d.fails = if d.fails == 2 && !d.holds_nothing() { 3 } else { d.fails };
        }
        let (first, second) = (play(&drawn, &order, parallel), play(&drawn, &other, parallel));
        prop_assert_eq!(statuses(&first, drawn.len()), statuses(&second, drawn.len()));
        prop_assert_eq!(first.status(), second.status());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_fork_after_any_event_ends_and_runs_no_step_that_it_takes_over((drawn, order, parallel) in graph(), from in any::<usize>()) {
        let world = play(&drawn, &order, parallel);
        let from = format!("s{}", from % drawn.len());
        for kept in 1..=world.events.len() {
            let events = &world.events[..kept];
            let taken = taken_over(&world.plan, events, &from).unwrap();
            prop_assert!(!taken.contains(&from));
            let mut forked = forked(&world, events, &taken);
            let copied = events_of(&taken, events).len() + 1;
            for _ in 0..1_000 {
                match forked.out.first().map(|(_, path)| path.clone()) {
                    _ if forked.is_over() => break,
                    Some(path) => forked.answer(&path, Says::Yes),
                    None => forked.wait(),
                }
            }
            prop_assert!(forked.is_over(), "{:#?}", forked.lines());
            for event in &forked.events[copied..] {
                let step = event.happening.step().map(|step| step_path::outermost(step).to_owned());
                prop_assert!(step.is_none_or(|step| !taken.contains(&step)), "{:#?}", forked.lines());
            }
            for step in &taken {
                prop_assert!(matches!(forked.step(step), Some(StepStatus::Succeeded | StepStatus::Skipped)));
            }
            prop_assert_eq!(forked.run.state().calls.len(), 0);
        }
    }
}
