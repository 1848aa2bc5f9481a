//! Groups and `repeat`: what they give, how they end, what texts inside read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, RunStatus, StepStatus};
use crate::model::{OnFailure, Step};
use crate::source::Span;

fn world(steps: Vec<Step>) -> World {
    World::new(planned(vec![pipeline("p", steps)]))
}

/// Drafts and reviews until the reviewer says 90; the draft reads the notes of the round before.
fn improve(at_most: u64) -> Step {
    let draft = agent("draft", "Round {{ round }}: {{ previous.review.output | default('nothing yet', true) }}");
    repeat("improve", vec![draft, agent("review", "{{ steps.draft.output }}")], "'90' in steps.review.output", at_most)
}

#[test]
fn a_group_gives_the_outputs_of_its_steps_by_their_ids() {
    let skipped = Step { when: Some(bare("1 == 2")), ..set("c", "x") };
    let views = group("views", true, vec![agent("a", "x"), agent("b", "y"), skipped]);
    let mut world = world(vec![views, set("sum", "{{ steps.views.output.a }} {{ steps.views.output.b }}")]);
    assert_eq!(world.out_now(), ["views/a", "views/b"], "they start together");
    world.answer("views/b", Says::Text("two"));
    world.answer("views/a", Says::Text("one"));
    assert_eq!(world.output("views"), Some(json!({ "a": "one", "b": "two" })));
    assert_eq!(world.output("sum"), Some(json!("one two")));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn the_steps_of_a_group_follow_each_other_unless_it_is_parallel() {
    let mut world = world(vec![group("g", false, vec![agent("a", "x"), agent("b", "{{ steps.a.output }}")])]);
    assert_eq!(world.out_now(), ["g/a"]);
    world.answer("g/a", Says::Text("one"));
    assert_eq!(world.prompt("g/b"), "one");
    world.answer("g/b", Says::Yes);
    world.check();
}

#[test]
fn a_group_is_repeated_for_a_list_and_counts_its_elements() {
    let inner = agent("say", "{{ item }} is {{ item_number }} of {{ item_count }}");
    let mut world = world(vec![for_each(group("each", false, vec![inner]), "['x', 'y']", false, None)]);
    assert_eq!(world.prompt("each[1]/say"), "y is 2 of 2");
    world.answer("each[0]/say", Says::Text("one"));
    world.answer("each[1]/say", Says::Text("two"));
    assert_eq!(world.output("each"), Some(json!([{ "say": "one" }, { "say": "two" }])));
    world.check();
}

#[test]
fn a_step_that_fails_fails_its_group_and_a_retry_begins_the_group_anew() {
    let steps = || vec![agent("a", "x"), query("b")];
    let mut once = world(vec![group("g", false, steps())]);
    once.answer("g/a", Says::Yes);
    once.answer("g/b", Says::No(FailureKind::Timeout));
    assert_eq!((once.step("g"), once.status()), (Some(StepStatus::Failed), RunStatus::Failed));
    once.check();

    let mut again = world(vec![Step { retry: Some(retry(2)), ..group("g", false, steps()) }]);
    again.answer("g/a", Says::Yes);
    again.answer("g/b", Says::No(FailureKind::Timeout));
    again.wait();
    assert_eq!(again.out_now(), ["g/a"]);
    again.answer("g/a", Says::Yes);
    again.answer("g/b", Says::Yes);
    assert_eq!(again.status(), RunStatus::Succeeded);
    again.check();

    let mut on = world(vec![group("g", false, vec![Step { on_failure: OnFailure::Continue, ..query("a") }, set("b", "x")])]);
    on.answer("g/a", Says::No(FailureKind::Auth));
    assert_eq!((on.output("g"), on.status()), (Some(json!({ "b": "x" })), RunStatus::Partial));
    on.check();
}

#[test]
fn the_time_of_a_group_is_that_of_all_its_steps() {
    let mut world = world(vec![Step { timeout: Some(Duration::from_secs(5)), ..group("g", true, vec![query("a"), query("b")]) }]);
    world.answer("g/a", Says::Yes);
    world.wait();
    assert_eq!((world.ms, world.step("g"), world.step("g/b")), (5_000, Some(StepStatus::Failed), Some(StepStatus::Cancelled)));
    world.check();
}

#[test]
fn each_round_reads_the_one_before_until_the_condition_holds() {
    let mut world = world(vec![
        improve(5),
        set("text", "{{ steps.improve.output.draft }} {{ steps.improve.output.review }} {{ steps.improve.details.rounds }}"),
    ]);
    assert_eq!(world.prompt("improve[1]/draft"), "Round 1: nothing yet");
    world.answer("improve[1]/draft", Says::Text("first"));
    assert_eq!(world.prompt("improve[1]/review"), "first");
    world.answer("improve[1]/review", Says::Text("too long: 40"));
    assert_eq!(world.prompt("improve[2]/draft"), "Round 2: too long: 40");
    world.answer("improve[2]/draft", Says::Text("second"));
    world.answer("improve[2]/review", Says::Text("fine: 90"));
    assert_eq!(world.output("text"), Some(json!("second fine: 90 2")));
    assert_eq!((world.status(), world.count("steps_opened")), (RunStatus::Succeeded, 2));
    world.check();
}

/// Answers all that is out with one text until the run has ended.
fn says_always(world: &mut World, text: &'static str) {
    while let Some((_, path)) = world.out.first().cloned() {
        world.answer(&path, Says::Text(text));
    }
}

#[test]
fn what_is_not_met_fails_or_is_kept() {
    let mut fails = world(vec![improve(3)]);
    says_always(&mut fails, "10");
    assert_eq!((fails.status(), fails.step("improve[3]/review")), (RunStatus::Failed, Some(StepStatus::Succeeded)));
    let failure = fails.end().failure.clone().unwrap().failure;
    assert_eq!(failure.kind, FailureKind::Limit);
    assert_eq!(failure.message, "until is still false after 3 rounds: '90' in steps.review.output");
    fails.check();

    let mut keeps = world(vec![keeping(improve(3)), set("after", "{{ steps.improve.output.review }} {{ steps.improve.details.met }}")]);
    says_always(&mut keeps, "10");
    assert_eq!((keeps.status(), keeps.output("after")), (RunStatus::Partial, Some(json!("10 false"))));
    keeps.check();
}

#[test]
fn rounds_end_when_nothing_that_is_asked_for_changes() {
    let mut world = world(vec![stopping_on_same(keeping(improve(50)), 2)]);
    world.answer("improve[1]/draft", Says::Text("a"));
    world.answer("improve[1]/review", Says::Text("1"));
    world.answer("improve[2]/draft", Says::Text("b"));
    world.answer("improve[2]/review", Says::Text("2"));
    says_always(&mut world, "3");
    // The third round is new, the fourth and fifth say the same.
    assert_eq!((world.count("steps_opened"), world.status()), (5, RunStatus::Partial));
    world.check();
}

#[test]
fn a_condition_that_cannot_be_read_fails_the_step() {
    let mut world = world(vec![repeat("r", vec![agent("a", "x")], "steps.a.output > 3", 5)]);
    world.answer("r[1]/a", Says::Text("many"));
    let failure = world.end().failure.clone().unwrap().failure;
    assert_eq!(failure.kind, FailureKind::WrongType);
    assert!(failure.message.starts_with("until: "), "{}", failure.message);
    world.check();
}

#[test]
fn a_repeat_may_stand_in_a_repeat_and_reads_the_rounds_of_its_own() {
    let inner = repeat("inner", vec![agent("a", "{{ round }}{{ previous.a.output }}")], "round == 2", 3);
    let mut world = world(vec![repeat("outer", vec![inner, agent("b", "{{ round }}{{ previous.inner.output.a }}")], "round == 2", 3)]);
    world.answer("outer[1]/inner[1]/a", Says::Text("x"));
    assert_eq!(world.prompt("outer[1]/inner[2]/a"), "2x");
    world.answer("outer[1]/inner[2]/a", Says::Text("y"));
    assert_eq!(world.prompt("outer[1]/b"), "1");
    world.answer("outer[1]/b", Says::Yes);
    world.answer("outer[2]/inner[1]/a", Says::Text("z"));
    world.answer("outer[2]/inner[2]/a", Says::Text("z"));
    assert_eq!(world.prompt("outer[2]/b"), "2y");
    world.answer("outer[2]/b", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn from_every_event_a_loop_continues_where_it_was() {
    let mut uncut = world(vec![improve(5)]);
    let texts = ["a", "20", "b", "60", "c", "90"];
    for text in texts {
        let path = uncut.out[0].1.clone();
        uncut.answer(&path, Says::Text(text));
    }
    assert_eq!(uncut.status(), RunStatus::Succeeded);
    for kept in 1..uncut.events.len() {
        let mut world = uncut.after_crash(kept, 0);
        while let Some((_, path)) = world.out.first().cloned() {
            let done = (1..=3u32).flat_map(|round| ["draft", "review"].map(|id| format!("improve[{round}]/{id}")));
            let place = done.into_iter().position(|known| known == path).unwrap();
            world.answer(&path, Says::Text(texts[place]));
        }
        assert_eq!((world.status(), &world.end().outputs), (uncut.status(), &uncut.end().outputs), "after {kept} events");
        assert_eq!(world.output("improve"), Some(json!({ "draft": "c", "review": "90" })), "after {kept} events");
        world.check();
    }
}

#[test]
fn a_stop_inside_ends_the_rounds() {
    let stop = step("halt", crate::model::StepKind::Stop(crate::model::StopStep { succeeds: true, reason: None }));
    let mut world = world(vec![repeat("r", vec![agent("a", "x"), stop], "false", 5), set("after", "x")]);
    world.answer("r[1]/a", Says::Yes);
    assert_eq!((world.status(), world.step("after"), world.count("steps_opened")), (RunStatus::Succeeded, Some(StepStatus::Skipped), 1));
    world.check();
}

/// A text that many rounds make stays one text: what is kept of them is the last two.
#[test]
fn the_state_of_a_loop_does_not_grow_with_its_rounds() {
    let size = |rounds: usize| {
        let mut world = world(vec![keeping(improve(100))]);
        for _ in 0..2 * rounds - 1 {
            let path = world.out[0].1.clone();
            world.answer(&path, Says::Text("no"));
        }
        serde_json::to_vec(world.run.state()).unwrap().len()
    };
    let (small, large) = (size(10), size(90));
    assert!(large < small + small / 4 + 80 * 40, "{small} bytes after 10 rounds, {large} after 90");
}

/// A gate inside judges each round; only the last one counts.
#[test]
fn a_gate_in_a_loop_is_a_refinement_with_more_rounds() {
    let draft = agent("draft", "{{ round }} {{ previous.check.details.feedback }}");
    let inner = || vec![draft.clone(), gate("check", "steps.draft.output", None, Some("Sorry."))];
    let reply = || keeping(repeat("reply", inner(), "steps.check.details.passed", 3));
    let in_file = |step: Step| {
        let mut main = pipeline("p", vec![step]);
        main.scorecards.insert("card".into(), good());
        World::new(planned(vec![main]))
    };
    let mut met = in_file(reply());
    met.answer("reply[1]/draft", Says::Text("bad"));
    assert!(met.prompt("reply[2]/draft").starts_with("2 - good: "), "{}", met.prompt("reply[2]/draft"));
    met.answer("reply[2]/draft", Says::Text("good"));
    assert_eq!((met.status(), met.output("reply")), (RunStatus::Succeeded, Some(json!({ "draft": "good", "check": "good" }))));
    met.check();

    let mut unmet = in_file(reply());
    says_always(&mut unmet, "bad");
    assert_eq!((unmet.status(), unmet.output("reply")), (RunStatus::QualityNotMet, Some(json!({ "check": "Sorry." }))));
    unmet.check();

    // What is made of a draft is held back, too, and what a gate inside another step did not let through.
    let shown = set("shown", "{{ steps.draft.output }}");
    let judged = gate("check", "steps.shown.output", None, Some("Sorry."));
    let mut made = in_file(group("reply", false, vec![agent("draft", "Write."), shown, judged, set("after", "x")]));
    says_always(&mut made, "bad");
    assert_eq!(made.output("reply"), Some(json!({ "check": "Sorry.", "after": "x" })));
    let inside = group("judging", false, vec![gate("check", "steps.draft.output", None, Some("Sorry."))]);
    let mut deep = in_file(keeping(repeat("reply", vec![agent("draft", "Write."), inside], "false", 2)));
    says_always(&mut deep, "bad");
    assert_eq!(deep.output("reply"), Some(json!({ "judging": { "check": "Sorry." } })));

    let mut each = in_file(for_each(reply(), "[1, 2]", false, None));
    each.answer("reply[0][1]/draft", Says::Text("bad"));
    each.answer("reply[1][1]/draft", Says::Text("good"));
    each.answer("reply[0][2]/draft", Says::Text("good"));
    assert_eq!(each.status(), RunStatus::Succeeded);
    each.check();
}

fn keeping(step: Step) -> Step {
    with_repeat(step, |own| own.unmet = crate::model::Unmet::Keep)
}

fn stopping_on_same(step: Step, rounds: u64) -> Step {
    with_repeat(step, |own| own.stop_on_same = Some(rounds))
}

fn with_repeat(mut step: Step, change: impl FnOnce(&mut crate::model::RepeatStep)) -> Step {
    if let crate::model::StepKind::Repeat(own) = &mut step.kind {
        change(own);
    }
    step
}

/// That the list of a group knows its place is a matter of the file alone.
#[test]
fn a_list_has_no_id() {
    let list = crate::model::Case::list(Span::default(), vec![Arc::new(set("a", "x"))]);
    assert_eq!((list.id.value.as_str(), list.path_in("g")), ("", "g".to_owned()));
}
