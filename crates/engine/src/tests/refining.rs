//! Gates, the one refinement, `otherwise`.

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{Outputs, RouteStep, ScorecardRef, Step, StepKind};

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
    let record = crate::journal::record(&world.events).unwrap();
    let [failure] = record.failures.as_slice() else { panic!("{:#?}", record.failures) };
    assert_eq!((failure.judged.as_slice(), failure.verdicts.len()), ([json!("bad")].as_slice(), 1), "the gate judged once");
    assert!(failure.cause.starts_with("the second try could not be finished: \"compose\": "), "{}", failure.cause);
    assert_eq!(failure.not_met().map(|verdict| &*verdict.id).collect::<Vec<_>>(), ["good"]);
    assert_eq!((failure.refinement_tried, failure.refinement_worked), (true, Some(false)));
    let last = world.events.iter().rev().find_map(|event| match &event.happening {
        Happening::GateFailed { verdicts, judged, .. } => Some((verdicts.len(), judged.clone())),
        _ => None,
    });
    assert_eq!(last, Some((0, json!(null))));
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

/// A draft and its gate, in a file that judges by `good`.
fn refined_in(prompt: &str, wrap: impl FnOnce(Vec<Step>) -> Step) -> World {
    let inner = vec![agent("draft", prompt), gate("check", "steps.draft.output", Some("draft"), Some("Sorry."))];
    let mut main = pipeline("p", vec![wrap(inner)]);
    main.scorecards.insert("card".into(), good());
    World::new(planned(vec![main]))
}

#[test]
fn a_gate_that_rejected_a_text_cannot_be_skipped_in_the_second_try() {
    for wrap in [None, Some(())] {
        let judged =
            Step { when: Some(bare("steps.draft.output != 'none'")), ..gate("check", "steps.draft.output", Some("draft"), Some("Sorry.")) };
        let inner = vec![agent("draft", "Write."), judged];
        let steps = if wrap.is_some() { vec![group("all", false, inner)] } else { inner };
        let mut main = pipeline("p", steps);
        main.scorecards.insert("card".into(), good());
        let mut world = World::new(planned(vec![main]));
        let path = if wrap.is_some() { "all/draft" } else { "draft" };
        world.answer(path, Says::Text("bad"));
        world.answer(path, Says::Text("none"));
        assert_eq!(world.status(), RunStatus::QualityNotMet, "{:#?}", world.lines());
        let output = if wrap.is_some() { json!({ "check": "Sorry." }) } else { json!("Sorry.") };
        assert_eq!(world.output(if wrap.is_some() { "all" } else { "check" }), Some(output));
        world.check();
    }
}

#[test]
fn each_element_of_a_list_of_groups_is_refined_on_its_own() {
    let mut world = refined_in("Write {{ item }}.", |inner| for_each(group("each", false, inner), "[1, 2, 3]", false, None));
    for (path, text) in [("each[0]/draft", "good"), ("each[1]/draft", "bad"), ("each[2]/draft", "bad")] {
        world.answer(path, Says::Text(text));
    }
    let prompt = world.prompt("each[1]/draft");
    assert!(prompt.starts_with("Write 2.") && prompt.contains("Your first answer was:\nbad"), "{prompt}");
    world.answer("each[2]/draft", Says::Text("bad"));
    world.answer("each[1]/draft", Says::Text("good now"));
    assert_eq!((world.status(), world.count("refinement_started")), (RunStatus::QualityNotMet, 2));
    let judged = |draft: &str| json!({ "draft": draft, "check": draft });
    assert_eq!(world.output("each"), Some(json!([judged("good"), judged("good now"), { "check": "Sorry." }])));
    world.check();
}

#[test]
fn what_the_first_try_of_a_group_left_does_not_count() {
    // The first try lets an inner gate fail for good and a step fail that may; the second does neither.
    let lenient = Step { on_failure: crate::model::OnFailure::Continue, ..agent("lenient", "Look.") };
    let inside = || {
        let judged = gate("inner", "steps.draft.output", None, Some("Sorry."));
        let inner = vec![agent("draft", "Write."), group("judging", false, vec![judged]), lenient.clone()];
        [inner, vec![gate("check", "steps.draft.output", Some("draft"), Some("Sorry."))]].concat()
    };
    for wrap in [|inner| group("all", false, inner), |inner| for_each(group("all", false, inner), "[1]", false, None)] {
        let mut main = pipeline("p", vec![wrap(inside())]);
        main.scorecards.insert("card".into(), good());
        let mut world = World::new(planned(vec![main]));
        let all = if world.out[0].1.contains('[') { "all[0]" } else { "all" };
        world.answer(&format!("{all}/draft"), Says::Text("bad"));
        world.answer(&format!("{all}/lenient"), Says::No(FailureKind::Auth));
        world.answer(&format!("{all}/draft"), Says::Text("good"));
        world.answer(&format!("{all}/lenient"), Says::Text("seen"));
        assert_eq!(world.status(), RunStatus::Succeeded, "{:#?}", world.lines());
        let output = json!({ "draft": "good", "judging": { "inner": "good" }, "lenient": "seen", "check": "good" });
        assert_eq!(world.output("all"), Some(if all == "all" { output } else { json!([output]) }));
        world.check();
    }
}

#[test]
fn each_round_of_a_loop_has_a_second_try_and_so_has_a_case() {
    let mut world = refined_in("Write.", |inner| repeat("loop", inner, "round == 2", 2));
    for (path, text) in [("loop[1]/draft", "bad"), ("loop[1]/draft", "bad"), ("loop[2]/draft", "bad"), ("loop[2]/draft", "good")] {
        world.answer(path, Says::Text(text));
    }
    assert_eq!((world.status(), world.count("refinement_started")), (RunStatus::Succeeded, 2), "only the last round counts");
    world.check();
    let route = |inner| RouteStep { subject: text("long"), cases: vec![case("long", inner)], otherwise: None };
    let mut world = refined_in("Write.", |inner| step("kind", StepKind::Route(route(inner))));
    world.answer("kind/long/draft", Says::Text("bad"));
    world.answer("kind/long/draft", Says::No(FailureKind::Auth));
    assert_eq!((world.status(), world.output("kind")), (RunStatus::QualityNotMet, Some(json!("Sorry."))));
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
    let options = crate::RunSettings { written: Box::new(crate::load::WrittenRules), ..super::world::options() };
    let world = World::with(planned(vec![pipeline]), options);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

/// A gate that cannot judge the second text: a name of its check cannot be worked out.
fn unjudgeable(otherwise: Option<&str>) -> World {
    let mut check = gate("check", "steps.compose.output", Some("compose"), otherwise);
    if let crate::model::StepKind::Gate(gate) = &mut check.kind {
        gate.with = vec![(named("x"), crate::model::Filling::Text(text("{{ 1 / (steps.compose.output | length - 4) }}")))];
    }
    let mut p = pipeline("p", vec![agent("compose", "Write."), check, set("after", "{{ steps.check.output }}")]);
    p.scorecards.insert("card".into(), good());
    p.on_failure = vec![set("sad", "{{ failure.message }}").into()];
    p.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}")]);
    World::new(planned(vec![p]))
}

#[test]
fn a_gate_that_cannot_judge_the_second_text_counts_as_not_met() {
    let mut world = unjudgeable(Some("Sorry."));
    world.answer("compose", Says::Text("bad"));
    world.answer("compose", Says::Text("nope"));
    assert_eq!((world.status(), world.step("check")), (RunStatus::QualityNotMet, Some(StepStatus::Succeeded)));
    assert_eq!(world.end().outputs["reply"], "Sorry.");
    assert_eq!((world.output("after"), world.step("sad")), (Some(json!("Sorry.")), None));
    assert_eq!((world.count("gate_failed"), world.count("step_started")), (2, 5));
    world.check();

    let mut world = unjudgeable(None);
    world.answer("compose", Says::Text("bad"));
    world.answer("compose", Says::Text("nope"));
    assert_eq!((world.status(), world.step("check")), (RunStatus::QualityNotMet, Some(StepStatus::Failed)));
    assert_eq!(world.step("after"), Some(StepStatus::Blocked));
    world.check();

    // In the first round nothing was judged yet: the step fails as any other.
    let mut world = unjudgeable(Some("Sorry."));
    world.answer("compose", Says::Text("nope"));
    assert_eq!((world.status(), world.step("sad")), (RunStatus::Failed, Some(StepStatus::Succeeded)));
    world.check();
}

#[test]
fn an_otherwise_that_cannot_be_worked_out_fails_the_run_in_both_rounds() {
    for rounds in [1, 2] {
        let mut check = gate("check", "steps.compose.output", (rounds == 2).then_some("compose"), Some("{{ 1 / 0 }}"));
        check.needs = None;
        let mut p = pipeline("p", vec![agent("compose", "Write."), check]);
        p.scorecards.insert("card".into(), good());
        p.on_failure = vec![set("sad", "x").into()];
        let mut world = World::new(planned(vec![p]));
        for _ in 0..rounds {
            world.answer("compose", Says::Text("bad"));
        }
        assert_eq!((world.status(), world.count("gate_failed")), (RunStatus::Failed, rounds));
        assert_eq!(world.step("sad"), Some(StepStatus::Succeeded));
        world.check();
    }
}

/// A gate whose scorecard asks an agent with this much time for the step.
fn judged(deadline: u64, refine: bool) -> World {
    let mut p =
        pipeline("p", vec![agent("compose", "Write."), gate("check", "steps.compose.output", refine.then_some("compose"), Some("Sorry."))]);
    let mut card = good();
    card.judge = Some(named("judge"));
    card.criteria[0].judging = crate::model::Judging::Judge;
    p.scorecards.insert("card".into(), card);
    p.agents.insert("judge".into(), crate::model::Agent::default());
    p.agents.get_mut("judge").unwrap().limits.deadline = Some(std::time::Duration::from_secs(deadline));
    p.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}")]);
    World::new(planned(vec![p]))
}

const NOT_GOOD: &str = r#"{"verdicts": [{"id": "good", "passed": false, "feedback": "say good", "evidence": "all of it"}]}"#;

#[test]
fn the_deadline_of_a_judge_bounds_its_gate() {
    let mut world = judged(5, false);
    world.answer("compose", Says::Text("a text"));
    world.wait();
    assert_eq!((world.ms, world.status()), (5_000, RunStatus::Failed));
    assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::Timeout);
    world.check();

    let mut world = judged(5, true);
    world.answer("compose", Says::Text("a text"));
    world.answer("check", Says::Text(NOT_GOOD));
    world.answer("compose", Says::Text("a better text"));
    world.wait();
    assert_eq!((world.ms, world.status()), (5_000, RunStatus::QualityNotMet));
    assert_eq!(world.end().outputs["reply"], "Sorry.");
    world.check();
}

#[test]
fn what_the_second_round_does_anew_counts_no_more() {
    use crate::model::{CallStep, OnFailure, PipelineId};
    // On the way: a called pipeline whose own gate gives something else in the first round, and a step that may fail.
    let call = CallStep { file: named("q.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let asks = |last: &'static str| {
        let shaky = Step { on_failure: OnFailure::Continue, ..query("shaky") };
        let steps = vec![
            agent("compose", "Write."),
            step("called", crate::model::StepKind::Call(call.clone())),
            shaky,
            gate("check", "steps.compose.output", Some("compose"), Some("Sorry.")),
        ];
        let mut main = pipeline("p", steps);
        main.scorecards.insert("card".into(), good());
        let mut inner = pipeline("q", vec![agent("inner", "Write."), gate("own", "steps.inner.output", None, Some("x"))]);
        inner.scorecards.insert("card".into(), good());
        let mut world = World::new(planned(vec![main, inner]));
        world.answer("compose", Says::Text("bad"));
        world.answer("called/inner", Says::Text("bad"));
        world.answer("shaky", Says::No(FailureKind::Auth));
        world.answer("compose", Says::Text("good"));
        world.answer("called/inner", Says::Text(last));
        world.answer("shaky", Says::Yes);
        world.check();
        world
    };
    assert_eq!(asks("good").status(), RunStatus::Succeeded);
    assert_eq!(asks("bad").status(), RunStatus::QualityNotMet);
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
        let options = crate::RunSettings { written: Box::new(crate::load::WrittenRules), ..super::world::options() };
        let world = World::with(planned(vec![pipeline]), options);
        assert_eq!((world.status(), &world.end().outputs["reply"]), (RunStatus::QualityNotMet, &json!("Sorry.")));
        assert_eq!((world.count("gate_failed"), world.count("gate_passed")), (1, 0));
        world.check();
    }
}

#[test]
fn style_in_the_texts_of_an_agent_is_the_agents_own_style_guide() {
    use crate::model::StyleGuide;
    let style = |name: &str| Some(std::sync::Arc::new(StyleGuide { name: name.into(), ..StyleGuide::default() }));
    let mut p = pipeline("p", vec![agent("a", "Write as {{ style.name }}."), set("b", "{{ style.name }}")]);
    p.style_guide = style("formal");
    let writer = p.agents.get_mut("writer").unwrap();
    (writer.style_guide, writer.instructions) = (style("friendly"), Some(text("You are {{ style.name }}.")));
    let mut world = World::new(planned(vec![p]));
    let texts: Vec<String> = world.told().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["You are friendly.", "Write as friendly."]);
    world.answer("a", Says::Yes);
    assert_eq!(world.output("b"), Some(serde_json::json!("formal")));
    world.check();
}

/// A gate with one criterion for a judge and one with a check, each only if its condition holds.
fn conditional(judged: &str, checked: &str) -> World {
    let mut p = pipeline("p", vec![gate("check", "'a good text'", None, None)]);
    let mut card = good();
    card.judge = Some(named("judge"));
    let mut asked = card.criteria[0].clone();
    (asked.id, asked.judging, asked.when) = (named("asked"), crate::model::Judging::Judge, Some(bare(judged)));
    card.criteria[0].when = Some(bare(checked));
    card.criteria.push(asked);
    p.scorecards.insert("card".into(), card);
    p.agents.insert("judge".into(), crate::model::Agent::default());
    World::new(planned(vec![p]))
}

#[test]
fn a_criterion_whose_condition_is_false_is_not_judged_and_its_judge_not_asked() {
    let skipped = |world: &World| -> Vec<(String, bool)> {
        let verdicts = world.details("check")["verdicts"].as_array().unwrap().clone();
        verdicts.iter().map(|v| (v["id"].as_str().unwrap().to_string(), v["skipped"] == true)).collect()
    };
    let world = conditional("'bad' in text", "'good' in value");
    assert_eq!((world.status(), world.asked.len()), (RunStatus::Succeeded, 0));
    assert_eq!(skipped(&world), [("good".to_string(), false), ("asked".to_string(), true)]);
    world.check();

    let world = conditional("'bad' in text", "'bad' in text");
    assert_eq!((world.status(), world.asked.len(), world.count("gate_passed")), (RunStatus::Succeeded, 0, 1));
    assert_eq!(skipped(&world), [("good".to_string(), true), ("asked".to_string(), true)], "all are skipped: the gate passes");
    world.check();

    let mut world = conditional("'good' in text", "'bad' in text");
    assert_eq!(world.asked.len(), 1);
    world.answer("check", Says::Text(r#"{"verdicts": [{"id": "asked", "passed": false, "feedback": "no", "evidence": ""}]}"#));
    assert_eq!(world.status(), RunStatus::QualityNotMet);
    world.check();
}

#[test]
fn a_condition_of_a_criterion_that_cannot_be_worked_out_fails_the_gate() {
    let world = conditional("1 / 0 > 1", "true");
    assert_eq!(world.status(), RunStatus::Failed);
    world.check();
}

#[test]
fn what_a_step_says_is_the_feedback_of_a_criterion() {
    for (feedback, told) in [
        ("{{ steps.review.output.notes }} ({{ text | length }})", "- good: Say that it is good. (3)"),
        ("{{ steps.review.output.none }}", "- good: \"good\" does not occur in the text."),
        ("{{ steps.review.output.lost }}", "- good: \"good\" does not occur in the text. Its own feedback cannot be filled in: "),
    ] {
        let steps = vec![
            agent("compose", "Write. {{ refinement.feedback }}"),
            step("review", constant(json!({ "notes": "Say that it is good.", "none": "" }))),
            gate("check", "steps.compose.output", Some("compose"), None),
        ];
        let mut p = pipeline("p", steps);
        let mut card = good();
        card.criteria[0].feedback = Some(text(feedback));
        p.scorecards.insert("card".into(), card);
        let mut world = World::new(planned(vec![p]));
        world.answer("compose", Says::Text("bad"));
        let started = world.events.iter().find_map(|event| match &event.happening {
            Happening::RefinementStarted { feedback, failed, .. } => Some((feedback.clone(), failed[0].feedback.clone())),
            _ => None,
        });
        let (line, own) = started.unwrap();
        assert!(line.starts_with(told) && line == format!("- good: {own}"), "{line}");
        world.answer("compose", Says::Text("now good"));
        assert_eq!(world.status(), RunStatus::Succeeded);
        world.check();
    }
}
