//! Gates, the one refinement, `otherwise`.

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, RunStatus, StepStatus};
use crate::model::{Outputs, ScorecardRef, Step};

fn world(refine: bool, otherwise: Option<&str>, more: Vec<Step>) -> World {
    let mut steps = vec![
        agent("compose", "Write. {{ refinement.feedback }}"),
        set("fit", "{{ steps.compose.output | trim }}"),
        gate("check", "steps.fit.output", refine.then_some("compose"), otherwise),
    ];
    steps.extend(more);
    let mut p = pipeline("p", steps);
    p.scorecards.insert("card".into(), good());
    p.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}"), output("draft", "{{ steps.compose.output }}")]);
    World::new(planned(vec![p]))
}

#[test]
fn a_text_that_passes_goes_through() {
    let mut world = world(true, None, vec![]);
    world.answer("compose", Says::Text("all good"));
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.end().outputs["reply"], "all good");
    world.check();
}

#[test]
fn a_text_that_fails_is_refined_once_with_the_feedback_and_judged_again() {
    let mut world = world(true, None, vec![]);
    world.answer("compose", Says::Text("bad"));
    assert_eq!(world.count("refinement_started"), 1);
    world.answer("compose", Says::Text("now good"));
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.end().outputs["reply"], "now good");
    assert_eq!((world.count("gate_failed"), world.count("gate_passed")), (1, 1));
    world.check();
}

#[test]
fn a_text_that_fails_twice_gives_otherwise_and_nothing_else() {
    let mut world = world(true, Some("Sorry."), vec![set("after", "{{ steps.check.output }}")]);
    world.answer("compose", Says::Text("bad"));
    world.answer("compose", Says::Text("still bad"));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    assert_eq!(world.end().outputs["reply"], "Sorry.");
    assert_eq!(world.end().outputs["draft"], json!(null));
    assert_eq!(world.output("after"), Some(json!("Sorry.")));
    assert_eq!(world.step("check"), Some(StepStatus::Succeeded));
    assert_eq!(world.count("gate_failed"), 2);
    world.check();
}

#[test]
fn without_otherwise_what_needs_the_gate_is_blocked_and_the_run_is_not_failed() {
    let mut world = world(false, None, vec![query("after")]);
    world.answer("compose", Says::Text("bad"));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    assert_eq!(world.step("check"), Some(StepStatus::Failed));
    assert_eq!(world.step("after"), Some(StepStatus::Blocked));
    assert_eq!(world.end().outputs["reply"], json!(null));
    world.check();
}

#[test]
fn a_second_round_that_cannot_be_finished_counts_as_not_met() {
    let mut world = world(true, Some("Sorry."), vec![]);
    world.answer("compose", Says::Text("bad"));
    world.answer("compose", Says::No(FailureKind::Auth));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    assert_eq!(world.end().outputs["reply"], "Sorry.");
    world.check();
}

#[test]
fn a_reader_beside_the_way_waits_for_the_gate() {
    let mut world = world(true, None, vec![needs(query("beside"), &["compose"])]);
    world.answer("compose", Says::Text("bad"));
    assert!(world.out.iter().all(|(_, path)| path == "compose"));
    world.answer("compose", Says::Text("good"));
    world.answer("beside", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn retry_and_refinement_are_two_counters() {
    let mut world = world(true, Some("Sorry."), vec![]);
    world.answer("compose", Says::No(FailureKind::Timeout));
    world.wait();
    world.answer("compose", Says::Text("bad"));
    world.answer("compose", Says::No(FailureKind::Timeout));
    world.wait();
    world.answer("compose", Says::Text("bad"));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    assert_eq!((world.count("attempt_failed"), world.count("gate_failed"), world.count("refinement_started")), (2, 2, 1));
    world.check();
}

struct Panics;

impl crate::port::WrittenCheck for Panics {
    fn scorecard(&self, _: &serde_json::Value) -> Result<Vec<crate::model::Criterion>, Vec<String>> {
        panic!("the test panics");
    }

    fn plan(&self, _: &serde_json::Value, _: &crate::model::PlanRules) -> Result<crate::model::WrittenPlan, Vec<String>> {
        panic!("the test panics");
    }
}

#[test]
fn a_panic_in_a_step_fails_that_step_alone() {
    let mut written = gate("check", "steps.card.output", None, None);
    if let crate::model::StepKind::Gate(gate) = &mut written.kind {
        gate.scorecards = vec![crate::model::ScorecardRef::Written(bare("steps.card.output"))];
    }
    let written = needs(written, &["card"]);
    let p = pipeline("p", vec![set("card", "x"), written, needs(query("beside"), &["card"])]);
    let mut options = super::world::options();
    options.written = Box::new(Panics);
    let mut world = World::with(planned(vec![p]), options);
    assert_eq!(world.step("check"), Some(StepStatus::Failed));
    while let Some((_, path)) = world.out.first().cloned() {
        world.answer(&path, Says::Yes);
    }
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::Internal);
    world.check();
}

#[test]
fn an_empty_answer_is_no_draft() {
    let mut world = World::new(planned(vec![pipeline("p", vec![agent("a", "Go.")])]));
    world.answer("a", Says::Text(" "));
    assert_eq!(world.step("a"), Some(StepStatus::Running));
    world.wait();
    world.answer("a", Says::Text("Here."));
    assert_eq!(world.output("a"), Some(json!("Here.")));
    world.check();
}

#[test]
fn of_two_criteria_with_one_id_the_files_counts() {
    let told = json!({ "criteria": [{ "id": "good", "description": "The text is there.", "check": { "contains": "text" } }] });
    let mut gate = gate("check", "steps.text.output", None, None);
    if let crate::model::StepKind::Gate(gate) = &mut gate.kind {
        gate.scorecards.insert(0, ScorecardRef::Written(bare("steps.card.output")));
    }
    let mut pipeline = pipeline("p", vec![set("text", "good"), step("card", constant(told)), gate]);
    pipeline.scorecards = [("card".to_string(), good())].into_iter().collect();
    let options = crate::engine::Options { written: Box::new(crate::load::WrittenRules), ..super::world::options() };
    let world = World::with(planned(vec![pipeline]), options);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_gate_that_no_criterion_was_found_for_lets_nothing_through() {
    for written in [json!(null), json!({ "criteria": [] })] {
        let mut gate = gate("check", "steps.text.output", None, Some("Sorry."));
        if let crate::model::StepKind::Gate(gate) = &mut gate.kind {
            gate.scorecards = vec![ScorecardRef::Written(bare("steps.card.output | default(none)"))];
        }
        let mut pipeline = pipeline("p", vec![set("text", "good"), step("card", constant(written)), gate]);
        pipeline.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}")]);
        let options = crate::engine::Options { written: Box::new(crate::load::WrittenRules), ..super::world::options() };
        let world = World::with(planned(vec![pipeline]), options);
        assert_eq!((world.status(), &world.end().outputs["reply"]), (RunStatus::QualityNotMet, &json!("Sorry.")));
        assert_eq!((world.count("gate_failed"), world.count("gate_passed")), (1, 0));
        world.check();
    }
}
