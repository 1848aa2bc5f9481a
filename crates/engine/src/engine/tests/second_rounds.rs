//! Random pipelines with a gate, its refinement and steps around it: whatever is answered, a run ends once and never calls itself a success
//! when something failed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{Filling, OnFailure, Outputs, RouteStep, Step, StepKind};

#[derive(Debug, Clone)]
struct Drawn {
    /// What lies between the target and its gate: nothing, a query, a list, a route, a step that may be skipped.
    between: Vec<u8>,
    beside: bool,
    refine: bool,
    otherwise: u8,
    stands_in: bool,
    parallel: u64,
    answers: Vec<u8>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let between = proptest::collection::vec(0u8..5, 0..4);
    let answers = proptest::collection::vec(0u8..9, 40);
    (between, any::<bool>(), 0u8..4, 0u8..4, any::<bool>(), 1u64..3, answers).prop_map(
        |(between, beside, refine, otherwise, stands_in, parallel, answers)| Drawn {
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
                let cases = vec![case("good", vec![query("in")]), case("bad", vec![set("in", "x"), query("too")])];
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
    steps
}

fn play(drawn: &Drawn) -> World {
    let mut p = pipeline("p", build(drawn));
    p.limits.max_parallel = Some(drawn.parallel);
    p.scorecards.insert("card".into(), good());
    p.finally = vec![set("last", "{{ failure.step }}").into()];
    p.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}")]);
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
        let says = match (path == "compose", drawn) {
            (true, 0 | 1) => Says::Text("good"),
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

/// The last status of each step of the pipeline's own list.
fn last(world: &World) -> BTreeMap<String, StepStatus> {
    let own = world.plan.pipeline(crate::model::PipelineId(0)).pipeline.steps.iter().map(|step| step.id.value.clone());
    own.filter_map(|id| Some((id.clone(), world.step(&id)?))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn no_run_is_a_success_in_which_a_step_failed_for_good(drawn in drawn()) {
        let world = play(&drawn);
        let ended = last(&world);
        let count = world.plan.pipeline(crate::model::PipelineId(0)).pipeline.steps.len();
        prop_assert_eq!(ended.len(), count, "a step has no final status: {:?}", ended);
        prop_assert!(ended.values().all(|status| status.is_final()), "{:?}", ended);
        let failed: Vec<&String> = ended.iter().filter(|(_, status)| **status == StepStatus::Failed).map(|(id, _)| id).collect();
        let is_fine = matches!(world.status(), RunStatus::Succeeded);
        prop_assert!(!is_fine || failed.is_empty() && !ended.values().any(|status| *status == StepStatus::Blocked), "{:?} {:?}", world.status(), ended);
        // A text reaches the outputs only if its gate let it through.
        let passed = world.events.iter().any(|event| matches!(event.happening, Happening::GatePassed { .. }));
        let reply = &world.end().outputs["reply"];
        prop_assert!(reply.is_null() || *reply == "Sorry." || passed, "{}", reply);
        let rounds = world.count("refinement_started");
        prop_assert!(rounds <= usize::from(drawn.refine), "one round at most");
        prop_assert!(world.count("gate_failed") + world.count("gate_passed") <= 1 + rounds, "{:#?}", world.lines());
        // After a refinement began, the gate's end says how it went: passed, otherwise, or not met.
        if rounds == 1 && world.status() == RunStatus::Succeeded {
            prop_assert!(passed);
        }
        world.check_at(16);
    }
}
