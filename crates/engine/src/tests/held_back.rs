//! What a gate did not let through is in no output of the list that it stands in, however the gate ended.

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, RunStatus, StepStatus};
use crate::model::{CallStep, Filling, OnFailure, Outputs, PipelineId, RouteStep, Step, StepKind, StopStep};

/// A world whose gates need the word "good".
fn world(steps: Vec<Step>) -> World {
    let mut main = pipeline("p", steps);
    main.scorecards.insert("card".into(), good());
    World::new(planned(vec![main]))
}

fn stands_in(name: &str, step: Step) -> Step {
    Step { on_failure: OnFailure::Step(named(name)), ..step }
}

fn stop(when: &str) -> Step {
    Step { when: Some(bare(when)), ..step("stop", StepKind::Stop(StopStep { succeeds: true, reason: None })) }
}

fn route(id: &str, inner: crate::model::Case) -> Step {
    step(id, StepKind::Route(RouteStep { subject: text("way"), cases: vec![inner], otherwise: None }))
}

/// A gate that also reads something else.
fn with_question(mut step: Step, question: &str) -> Step {
    if let StepKind::Gate(gate) = &mut step.kind {
        gate.with.push((named("question"), Filling::Text(text(question))));
    }
    step
}

/// A draft, its gate, and what comes below.
fn drafted(check: Step, below: Vec<Step>) -> Vec<Step> {
    [vec![agent("draft", "Write."), check], below].concat()
}

fn check() -> Step {
    gate("check", "steps.draft.output", None, None)
}

#[test]
fn a_gate_that_could_not_judge_lets_nothing_through() {
    let check = with_question(stands_in("fb", check()), "{{ steps.look.output }}");
    let look = Step { on_failure: OnFailure::Continue, ..query("look") };
    let steps = vec![agent("draft", "Write."), look, check, set("fb", "sorry")];
    let mut world = world(vec![group("g", false, steps), set("after", "x")]);
    world.answer("g/draft", Says::Text("good, but not judged"));
    world.answer("g/look", Says::No(FailureKind::Auth));
    assert_eq!((world.step("g/check"), world.output("g")), (Some(StepStatus::Failed), Some(json!({ "fb": "sorry" }))));
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn a_gate_that_was_blocked_lets_nothing_through() {
    let check = needs(check(), &["draft", "look"]);
    let steps = vec![agent("draft", "Write."), stands_in("fb", query("look")), set("fb", "sorry"), check];
    let mut world = world(vec![group("g", false, steps), set("after", "{{ steps.g.output | length }}")]);
    world.answer("g/draft", Says::Text("good, but not judged"));
    world.answer("g/look", Says::No(FailureKind::Auth));
    assert_eq!((world.step("g/check"), world.output("g")), (Some(StepStatus::Blocked), Some(json!({ "fb": "sorry" }))));
    assert_eq!((world.output("after"), world.status()), (Some(json!(1)), RunStatus::Partial));
    world.check();
}

#[test]
fn a_gate_behind_a_stop_lets_nothing_through_and_one_that_was_left_out_before_it_does() {
    let mut behind = world(vec![group("g", false, vec![agent("draft", "Write."), stop("1 == 1"), check()])]);
    behind.answer("g/draft", Says::Text("good, but not judged"));
    assert_eq!((behind.step("g/check"), behind.output("g")), (Some(StepStatus::Skipped), Some(json!({}))));
    assert_eq!(behind.status(), RunStatus::Succeeded);
    behind.check();

    let left_out = Step { when: Some(bare("1 == 2")), ..check() };
    let mut before = world(vec![group("g", false, drafted(left_out, vec![stop("1 == 1")]))]);
    before.answer("g/draft", Says::Text("needs no judgement"));
    assert_eq!(before.output("g"), Some(json!({ "draft": "needs no judgement" })));
    before.check();
}

#[test]
fn an_output_of_the_file_holds_nothing_that_a_gate_did_not_come_to_judge() {
    let mut main = pipeline("p", vec![agent("draft", "Write."), stop("1 == 1"), check()]);
    main.scorecards.insert("card".into(), good());
    main.outputs = Outputs::Named(vec![output("text", "{{ steps.draft.output }}")]);
    let mut world = World::new(planned(vec![main]));
    world.answer("draft", Says::Text("good, but not judged"));
    assert_eq!((&*world.end().outputs, world.status()), (&json!({ "text": null }), RunStatus::Succeeded));
    world.check();
}

#[test]
fn an_output_may_read_another_field_than_the_one_that_was_judged() {
    for refine in [None, Some("made")] {
        let fields = [("kind", "help"), ("note", "bad")].map(|(name, value)| (name.to_owned(), Filling::Text(text(value))));
        let made = step("made", StepKind::Set(Filling::Map(fields.into())));
        let mut main = pipeline("p", vec![made, gate("check", "steps.made.output.note", refine, Some("Sorry."))]);
        main.scorecards.insert("card".into(), good());
        main.outputs = Outputs::Named(vec![
            output("said", "{{ steps.made.output.kind }}: {{ steps.check.output }}"),
            output("all", "{{ steps.made.output | tojson }}"),
            output("note", "{{ steps.made.output.note }}"),
        ]);
        let world = World::new(planned(vec![main]));
        let outputs = json!({ "said": "help: Sorry.", "all": null, "note": null });
        assert_eq!((&*world.end().outputs, world.status()), (&outputs, RunStatus::QualityNotMet));
        world.check();
    }
}

#[test]
fn a_case_whose_last_step_lies_before_the_gate_gives_nothing_that_it_rejected() {
    let check = gate("check", "steps.draft.output", None, Some("Sorry."));
    let way = case("way", vec![needs(check, &["draft"]), needs(agent("draft", "Write."), &[])]);
    let mut world = world(vec![route("route", way)]);
    world.answer("route/way/draft", Says::Text("bad"));
    assert_eq!((world.output("route"), world.status()), (Some(json!(null)), RunStatus::QualityNotMet));
    world.check();
}

#[test]
fn a_stand_in_of_a_gate_goes_on_in_a_group_a_round_a_case_and_a_called_pipeline() {
    let steps = || drafted(stands_in("fb", check()), vec![set("fb", "sorry")]);
    let after = || set("after", "x");
    let mut grouped = world(vec![group("g", false, steps()), after()]);
    grouped.answer("g/draft", Says::Text("bad"));
    assert_eq!((grouped.output("g"), grouped.step("g/check")), (Some(json!({ "fb": "sorry" })), Some(StepStatus::Failed)));
    assert_eq!((grouped.step("after"), grouped.status()), (Some(StepStatus::Succeeded), RunStatus::QualityNotMet));
    grouped.check();

    let mut looped = world(vec![repeat("g", steps(), "steps.check.status == 'succeeded'", 2)]);
    looped.answer("g[1]/draft", Says::Text("bad"));
    looped.answer("g[2]/draft", Says::Text("good"));
    assert_eq!((looped.output("g"), looped.status()), (Some(json!({ "draft": "good", "check": "good" })), RunStatus::Succeeded));
    looped.check();

    let mut elements = world(vec![for_each(group("g", false, steps()), "[1, 2]", false, None), after()]);
    elements.answer("g[0]/draft", Says::Text("bad"));
    elements.answer("g[1]/draft", Says::Text("good"));
    assert_eq!(elements.output("g"), Some(json!([{ "fb": "sorry" }, { "draft": "good", "check": "good" }])));
    assert_eq!(elements.step("after"), Some(StepStatus::Succeeded));
    elements.check();

    let mut routed = world(vec![route("g", case("way", steps())), after()]);
    routed.answer("g/way/draft", Says::Text("bad"));
    assert_eq!((routed.output("g"), routed.step("after")), (Some(json!("sorry")), Some(StepStatus::Succeeded)));
    routed.check();

    let mut inner = pipeline("inner", steps());
    inner.scorecards.insert("card".into(), good());
    inner.outputs = Outputs::Whole(text("{{ steps.fb.output | default(steps.check.output) }}"));
    let call = CallStep { file: named("inner.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let call = step("g", StepKind::Call(call));
    let mut called = World::new(planned(vec![pipeline("p", vec![call, after()]), inner]));
    called.answer("g/draft", Says::Text("bad"));
    assert_eq!((called.output("g"), called.step("after")), (Some(json!("sorry")), Some(StepStatus::Succeeded)));
    assert_eq!(called.status(), RunStatus::QualityNotMet);
    called.check();
}

#[test]
fn a_group_that_may_fail_does_not_fail_what_it_stands_in_when_its_gate_is_not_met() {
    let fails = || Step { on_failure: OnFailure::Continue, ..group("inner", false, drafted(check(), vec![])) };
    let after = || set("after", "x");
    let mut nested = world(vec![group("g", false, vec![fails(), set("note", "on")]), after()]);
    nested.answer("g/inner/draft", Says::Text("bad"));
    assert_eq!((nested.output("g"), nested.step("after")), (Some(json!({ "note": "on" })), Some(StepStatus::Succeeded)));
    assert_eq!(nested.status(), RunStatus::QualityNotMet);
    nested.check();

    let mut inner = pipeline("inner", vec![fails(), set("note", "on")]);
    inner.scorecards.insert("card".into(), good());
    inner.outputs = Outputs::Whole(text("{{ steps.note.output }}"));
    let call = CallStep { file: named("inner.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let call = step("g", StepKind::Call(call));
    let mut called = World::new(planned(vec![pipeline("p", vec![call, after()]), inner]));
    called.answer("g/inner/draft", Says::Text("bad"));
    assert_eq!((called.output("g"), called.status()), (Some(json!("on")), RunStatus::QualityNotMet));
    called.check();
}

/// A gate that falls back, a step that may fail, and one that ends a try: each attempt of a step that holds them says it anew.
fn tried() -> Vec<Step> {
    let check = gate("check", "steps.draft.output", None, Some("Sorry."));
    drafted(check, vec![Step { on_failure: OnFailure::Continue, ..query("may_fail") }, query("last")])
}

/// The first attempt is not met, allows a failure and fails; the second goes well.
fn fails_once(world: &mut World, inside: &str) {
    world.answer(&format!("{inside}/draft"), Says::Text("bad"));
    world.answer(&format!("{inside}/may_fail"), Says::No(FailureKind::Auth));
    world.answer(&format!("{inside}/last"), Says::No(FailureKind::Timeout));
    world.wait();
    world.answer(&format!("{inside}/draft"), Says::Text("good"));
    world.answer(&format!("{inside}/may_fail"), Says::Yes);
    world.answer(&format!("{inside}/last"), Says::Yes);
}

#[test]
fn only_the_last_attempt_of_a_step_that_holds_others_counts() {
    let retried = |step: Step| Step { retry: Some(retry(2)), ..step };
    let whole = |output: serde_json::Value| (output["draft"].clone(), output["check"].clone());
    let good = (json!("good"), json!("good"));

    let mut grouped = world(vec![retried(group("g", false, tried()))]);
    fails_once(&mut grouped, "g");
    assert_eq!((grouped.status(), grouped.output("g").map(whole)), (RunStatus::Succeeded, Some(good.clone())));
    grouped.check();

    let mut nested = world(vec![group("o", false, vec![retried(group("g", false, tried())), set("after", "x")])]);
    fails_once(&mut nested, "o/g");
    assert_eq!(nested.status(), RunStatus::Succeeded);
    assert_eq!(nested.output("o").map(|output| whole(output["g"].clone())), Some(good.clone()));
    nested.check();

    let mut looped = world(vec![retried(repeat("g", tried(), "round == 1", 2))]);
    fails_once(&mut looped, "g[1]");
    assert_eq!((looped.status(), looped.output("g").map(whole)), (RunStatus::Succeeded, Some(good)));
    looped.check();

    let mut routed = world(vec![retried(route("g", case("way", tried())))]);
    fails_once(&mut routed, "g/way");
    assert_eq!(routed.status(), RunStatus::Succeeded);
    routed.check();
}

#[test]
fn an_element_that_is_tried_again_takes_back_what_it_said_and_not_what_others_said() {
    let elements = |other| {
        let mut world = world(vec![for_each(Step { retry: Some(retry(2)), ..group("g", false, tried()) }, "[1, 2]", false, None)]);
        for (step, says) in [("draft", Says::Text(other)), ("may_fail", Says::Yes), ("last", Says::Yes)] {
            world.answer(&format!("g[1]/{step}"), says);
        }
        fails_once(&mut world, "g[0]");
        world.check();
        world
    };
    assert_eq!(elements("good").status(), RunStatus::Succeeded);
    assert_eq!(elements("bad").status(), RunStatus::QualityNotMet);
}

#[test]
fn the_last_attempt_counts_also_where_it_goes_badly() {
    let mut world =
        world(vec![Step { retry: Some(retry(2)), on_failure: OnFailure::Continue, ..group("g", false, tried()) }, set("after", "x")]);
    world.answer("g/draft", Says::Text("good"));
    world.answer("g/may_fail", Says::Yes);
    world.answer("g/last", Says::No(FailureKind::Timeout));
    world.wait();
    world.answer("g/draft", Says::Text("bad"));
    world.answer("g/may_fail", Says::Yes);
    world.answer("g/last", Says::No(FailureKind::Timeout));
    assert_eq!((world.step("g"), world.status()), (Some(StepStatus::Failed), RunStatus::QualityNotMet));
    world.check();
}

/// What waits for a gate behind a step that has a stand-in: the step (which may be a gate, too), its stand-in, and what follows both.
fn behind(check: Step, second: Step) -> Vec<Step> {
    drafted(check, vec![stands_in("alt", second), set("alt", "alt"), set("book", "booked"), query("sent")])
}

#[test]
fn a_stand_in_does_not_let_go_what_waits_for_a_gate_that_was_not_met() {
    let gates = [("", "bad"), ("g/", "bad"), ("g[0]/", "bad"), ("g[1]/", "bad"), ("g/way/", "bad")];
    for second in [set("c", "x"), gate("c", "steps.check.output", None, None), query("c")] {
        for refine in [None, Some("draft")] {
            for (inside, draft) in gates {
                let steps = || behind(gate("check", "steps.draft.output", refine, None), second.clone());
                let mut world = world(match inside {
                    "" => steps(),
                    "g/" => vec![group("g", false, steps())],
                    "g[0]/" => vec![for_each(group("g", false, steps()), "[1]", false, None)],
                    "g[1]/" => vec![repeat("g", steps(), "1 == 2", 1)],
                    _ => vec![route("g", case("way", steps()))],
                });
                world.answer(&format!("{inside}draft"), Says::Text(draft));
                if refine.is_some() {
                    world.answer(&format!("{inside}draft"), Says::Text(draft));
                }
                let ends = ["check", "c", "alt", "book", "sent"].map(|id| world.step(&format!("{inside}{id}")));
                let blocked = Some(StepStatus::Blocked);
                let lines = world.lines();
                assert_eq!(ends, [Some(StepStatus::Failed), blocked, blocked, blocked, blocked], "{inside} {refine:?} {lines:#?}");
                world.check();
            }
        }
    }
}

#[test]
fn a_stand_in_for_two_steps_stays_blocked_where_a_gate_blocked_one_of_them_and_not_where_the_other_did() {
    let may_fail = |id: &str, above: &[&str]| needs(stands_in("alt", query(id)), above);
    let below = || vec![may_fail("c", &["check"]), may_fail("e", &[]), set("alt", "alt"), set("book", "booked")];
    let mut refused = world(drafted(check(), below()));
    refused.answer("draft", Says::Text("bad"));
    refused.answer("e", Says::No(FailureKind::Auth));
    let blocked = Some(StepStatus::Blocked);
    assert_eq!(["c", "alt", "book"].map(|id| refused.step(id)), [blocked; 3]);
    refused.check();

    let mut replaced = world(vec![may_fail("a", &[]), may_fail("c", &["a"]), set("alt", "alt"), set("book", "booked")]);
    replaced.answer("a", Says::No(FailureKind::Auth));
    assert_eq!(["c", "alt", "book"].map(|id| replaced.step(id)), [blocked, Some(StepStatus::Succeeded), Some(StepStatus::Succeeded)]);
    replaced.check();
}
