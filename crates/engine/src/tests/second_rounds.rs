//! Random pipelines with a gate, its refinement and steps around it, in the pipeline's own list or in one inside: whatever is answered, a run ends once and never calls itself a success
//! when something failed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, RunStatus, StepStatus};
use crate::model::{Filling, OnFailure, Outputs, RouteStep, Step, StepKind, step_path};

#[derive(Debug, Clone)]
struct Drawn {
    place: Place,
    /// What lies between the target and its gate: nothing, a query, a list, a route, a step that may be skipped.
    between: Vec<u8>,
    beside: bool,
    refine: bool,
    otherwise: u8,
    stands_in: bool,
    parallel: u64,
    answers: Vec<u8>,
}

/// The list that the gate is in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Own,
    Group,
    Elements,
    Rounds,
    Case,
    Deep,
}

impl Place {
    /// The lists that the gate is in, as they begin in paths; of a loop only the last round, which counts.
    fn lists(self) -> &'static [&'static str] {
        match self {
            Place::Own => &[""],
            Place::Group => &["held/"],
            Place::Elements => &["held[0]/", "held[1]/"],
            Place::Rounds => &["held[2]/"],
            Place::Case => &["held/x/"],
            Place::Deep => &["held[0]/deep/", "held[1]/deep/"],
        }
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let place = prop_oneof![
        3 => Just(Place::Own), 1 => Just(Place::Group), 2 => Just(Place::Elements), 1 => Just(Place::Rounds), 1 => Just(Place::Case),
        1 => Just(Place::Deep),
    ];
    let between = proptest::collection::vec(0u8..5, 0..4);
    let answers = proptest::collection::vec(0u8..9, 40);
    (place, between, any::<bool>(), 0u8..4, 0u8..4, any::<bool>(), 1u64..3, answers).prop_map(
        |(place, between, beside, refine, otherwise, stands_in, parallel, answers)| Drawn {
            place,
            between,
            beside,
            refine: refine > 0,
            otherwise,
            stands_in,
            parallel,
            answers,
        },
    )
}

fn build(drawn: &Drawn) -> Vec<Step> {
    let mut steps = vec![agent("compose", "Write.")];
    for (place, kind) in drawn.between.iter().enumerate() {
        let id = format!("m{place}");
        steps.push(match kind {
            0 => query(&id),
            1 => for_each(query(&id), "[1, 2]", false, None),
            2 => {
                let cases = vec![case("good one", vec![query("in")]), case("bad", vec![set("in", "x"), query("too")])];
                let otherwise = (place % 2 == 0).then(|| case("otherwise", vec![set("in", "x")]));
                step(&id, StepKind::Route(RouteStep { subject: bare("steps.compose.output"), cases, otherwise }))
            }
            3 => Step { when: Some(bare("not refinement")), ..query(&id) },
            _ => Step { on_failure: OnFailure::Continue, ..query(&id) },
        });
    }
    if let Some(last) = steps.last_mut().filter(|last| drawn.stands_in && *last.id.value != *"compose") {
        last.on_failure = OnFailure::Step(named("rescue"));
    }
    let otherwise = [None, Some("Sorry."), Some("Sorry."), Some("{{ 1 / 0 }}")][drawn.otherwise as usize];
    let mut check = gate("check", "steps.compose.output", drawn.refine.then_some("compose"), otherwise);
    if let StepKind::Gate(gate) = &mut check.kind {
        // "oops" is a text that the gate cannot judge.
        gate.with = vec![(named("x"), Filling::Text(text("{{ 1 / (steps.compose.output | length - 4) }}")))];
    }
    steps.push(check);
    steps.push(query("after"));
    if drawn.stands_in {
        steps.push(set("rescue", "x"));
    }
    if drawn.beside {
        steps.push(needs(query("beside"), &["compose"]));
    }
    match drawn.place {
        Place::Own => steps,
        Place::Group => vec![group("held", false, steps)],
        Place::Elements => vec![for_each(group("held", false, steps), "[1, 2]", false, None)],
        Place::Rounds => vec![repeat("held", steps, "round == 2", 3)],
        Place::Case => {
            vec![step("held", StepKind::Route(RouteStep { subject: text("x"), cases: vec![case("x", steps)], otherwise: None }))]
        }
        Place::Deep => vec![for_each(group("held", true, vec![group("deep", false, steps), query("alone")]), "[1, 2]", false, Some(1))],
    }
}

fn play(drawn: &Drawn) -> World {
    let mut p = pipeline("p", build(drawn));
    p.limits.max_parallel = Some(drawn.parallel);
    p.scorecards.insert("card".into(), good());
    p.finally = vec![set("last", "{{ failure.step }}").into()];
    let reply = if drawn.place == Place::Own { "{{ steps.check.output }}" } else { "{{ steps.held.output }}" };
    p.outputs = Outputs::Named(vec![output("reply", reply)]);
    let mut world = World::new(planned(vec![p]));
    for turn in 0..400 {
        if world.is_over() {
            return world;
        }
        if world.out.is_empty() {
            world.wait();
            continue;
        }
        let drawn = drawn.answers[turn % drawn.answers.len()];
        let path = world.out[usize::from(drawn) % world.out.len()].1.clone();
        let says = match (step_path::last(&path) == "compose", drawn) {
            (true, 0 | 1) => Says::Text("good one"),
            (true, 2..=4) => Says::Text("bad"),
            (true, 5 | 6) => Says::Text("oops"),
            (true, 7) => Says::No(FailureKind::Timeout),
            (false, 0) => Says::No(FailureKind::Auth),
            (true, _) => Says::No(FailureKind::Auth),
            _ => Says::Yes,
        };
        world.answer(&path, says);
    }
    panic!("the run does not end: {:#?}", world.lines());
}

/// The last status of each step that the events name.
fn last(world: &World) -> BTreeMap<String, StepStatus> {
    let named: BTreeSet<&str> =
        world.events.iter().filter_map(|event| Some(&**event.happening.step()?)).filter(|step| !step.is_empty()).collect();
    named.into_iter().filter_map(|step| Some((step.to_owned(), world.step(step)?))).collect()
}

/// What gates let through.
fn let_through(value: &serde_json::Value) -> Vec<&serde_json::Value> {
    match value {
        serde_json::Value::Array(list) => list.iter().flat_map(let_through).collect(),
        serde_json::Value::Object(steps) => {
            steps.iter().flat_map(|(id, output)| if id == "check" { vec![output] } else { let_through(output) }).collect()
        }
        _ => vec![],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_run_is_a_success_in_which_a_step_failed_for_good(drawn in drawn()) {
        let world = play(&drawn);
        let ended = last(&world);
        let own = &world.plan.pipeline(crate::model::PipelineId(0)).pipeline.steps;
        prop_assert!(own.iter().all(|step| ended.contains_key(&step.id.value)), "a step has no final status: {:?}", ended);
        prop_assert!(ended.values().all(|status| status.is_final()), "{:?}", ended);
        let is_fine = world.status() == RunStatus::Succeeded;
        let mut given = vec![];
        for list in drawn.place.lists() {
            let is_in = |path: &&String| path.strip_prefix(list).is_some_and(|rest| !rest.contains(['/', '[']));
            let mut statuses = ended.iter().filter(|(path, _)| is_in(path)).map(|(_, status)| status);
            prop_assert!(!is_fine || statuses.all(|status| !matches!(status, StepStatus::Failed | StepStatus::Blocked)), "{:?}", ended);
            // A text is given only if its gate let it through.
            let gate = format!("{list}check");
            let count = |kind: &str| world.lines().iter().filter(|line| **line == format!("{kind} {gate}")).count();
            let (rounds, failed, passed) = (count("refinement_started"), count("gate_failed"), count("gate_passed"));
            let output = world.output(&gate);
            prop_assert!(output.as_ref().is_none_or(|output| *output == "Sorry." || passed == 1), "{:?}", output);
            given.extend(output);
            prop_assert!(rounds <= usize::from(drawn.refine), "one round at most");
            prop_assert!(failed + passed <= 1 + rounds, "{:#?}", world.lines());
            // After a refinement began, the gate's end says how it went: passed, otherwise, or not met.
            prop_assert!(rounds == 0 || !is_fine || passed == 1, "{:#?}", world.lines());
        }
        let reply = &world.end().outputs["reply"];
        let shown = if drawn.place == Place::Own && !reply.is_null() { vec![reply] } else { let_through(reply) };
        prop_assert!(shown.iter().all(|text| given.contains(text)), "{}", reply);
        world.check_at(16);
    }
}

#[test]
fn every_list_is_drawn_with_a_second_round_that_passes_and_one_that_does_not() {
    let places = [Place::Own, Place::Group, Place::Elements, Place::Rounds, Place::Case, Place::Deep];
    for (place, passes) in places.into_iter().flat_map(|place| [(place, true), (place, false)]) {
        let answers = if passes { [vec![2], vec![1; 39]].concat() } else { vec![2] };
        let (between, beside, stands_in) = (vec![], false, false);
        let world = play(&Drawn { place, between, beside, refine: true, otherwise: 1, stands_in, parallel: 1, answers });
        assert!(world.count("refinement_started") > 0, "{place:?}: {:#?}", world.lines());
        assert_eq!(world.status() == RunStatus::Succeeded, passes, "{place:?}: {:#?}", world.lines());
    }
}
