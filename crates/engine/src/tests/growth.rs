//! Long lists of steps: no work and no stack that grows faster than they do.

use std::sync::Arc;

use super::build::*;
use super::world::*;
use crate::event::{Bound, Happening, RunStatus};
use crate::model::{CallStep, Pipeline, PipelineId, StepKind};
use crate::plan::Plan;

/// Each step waits for the one above.
fn chain(steps: usize) -> Arc<Plan> {
    planned(vec![pipeline("chain", (0..steps).map(|i| step(&format!("s{i}"), constant(i.into()))).collect())])
}

#[test]
fn a_chain_of_100_000_steps_is_planned_on_an_ordinary_stack() {
    let worker = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(|| {
        let plan = chain(100_000);
        let main = plan.pipelines[0].block(plan.pipelines[0].main);
        (main.longest[0], main.is_upstream(0, 99_999), main.is_upstream(99_999, 0))
    });
    assert_eq!(worker.unwrap().join().unwrap(), (100_000, true, false));
}

#[test]
fn steps_that_one_other_waits_for_all_end_once() {
    let steps = 500;
    let ids: Vec<String> = (0..steps).map(|i| format!("s{i}")).collect();
    let mut list: Vec<_> = ids.iter().map(|id| needs(step(id, constant(1.into())), &[])).collect();
    list.push(needs(step("last", constant(2.into())), &ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let world = World::new(planned(vec![pipeline("gather", list)]));
    assert_eq!((world.status(), world.count("step_succeeded")), (RunStatus::Succeeded, steps + 1));
}

/// Pipelines that call the next one twice each.
fn doubling(levels: usize) -> Vec<Pipeline> {
    let call = |id: &str, to: usize| {
        let call = CallStep { file: named("next.yaml"), pipeline: Some(PipelineId(to)), with: vec![], channel: None };
        needs(step(id, StepKind::Call(call)), &[])
    };
    let mut list: Vec<Pipeline> = (0..levels).map(|n| pipeline(&format!("p{n}"), vec![call("a", n + 1), call("b", n + 1)])).collect();
    list.push(pipeline("last", vec![step("a", constant(1.into()))]));
    list
}

#[test]
fn calls_that_double_end_at_a_bound_of_their_own_unless_the_file_sets_one() {
    let world = World::new(planned(doubling(15)));
    let message = world.events.iter().find_map(|event| match &event.happening {
        Happening::LimitReached { limit, message, .. } => Some((*limit, message.clone())),
        _ => None,
    });
    let (limit, message) = message.unwrap();
    assert_eq!((world.status(), limit.bound), (RunStatus::OverBudget, Bound::MaxSteps));
    assert!(message.starts_with("10000 pipelines were called in this run") && message.contains("limits: { max_steps: … }"), "{message}");
    let mut few = doubling(3);
    few[0].limits.max_steps = Some(5);
    assert_eq!(World::new(planned(few)).status(), RunStatus::OverBudget);
    assert_eq!(World::new(planned(doubling(3))).status(), RunStatus::Succeeded);
}
