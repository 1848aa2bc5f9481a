//! Requests that their receiver knows again by a key, and judges that cannot answer.

use super::build::*;
use super::world::{Says, World};
use crate::Input;
use crate::event::{Failure, FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{Agent, HttpStep, Judging, Method, OnJudgeError, Outputs, Retry, Step, StepKind};

fn post(key: Option<&str>, retry: Option<Retry>) -> Step {
    let http = HttpStep {
        method: Method::Post,
        url: text("https://example.com/orders"),
        headers: vec![],
        query: vec![],
        body: None,
        output: None,
        idempotency_key: key.map(text),
    };
    Step { retry, ..step("order", StepKind::Http(http)) }
}

/// Lets every try end with this; returns the kind of the last failure, and how many tries there were.
fn tries(step: Step, end: &Failure) -> (FailureKind, usize) {
    let mut world = World::new(planned(vec![pipeline("p", vec![step])]));
    let mut tries = 0;
    loop {
        while let Some((call, _)) = world.out.pop() {
            tries += 1;
            world.handle(Input::Reply { call, result: Err(end.clone()) });
        }
        if world.step("order").is_some_and(StepStatus::is_final) {
            break;
        }
        world.wait();
    }
    world.check();
    let failed = world.events.iter().find_map(|event| match &event.happening {
        Happening::StepFailed { failure, .. } => Some(failure.kind),
        _ => None,
    });
    (failed.unwrap(), tries)
}

#[test]
fn what_may_have_been_done_is_tried_again_only_with_a_key() {
    let unknown = |met| Failure::unknown_outcome(met, "lost");
    let (server, lost, late) = (unknown(FailureKind::ServerError), unknown(FailureKind::Connection), unknown(FailureKind::Timeout));
    let refused = Failure::new(FailureKind::BadRequest, "no");
    let limited = Failure::new(FailureKind::RateLimited, "wait");
    let all = Retry::of_model_calls;
    let once = Retry { max_attempts: 1, ..all() };
    let only = |kind| Retry { on: vec![kind], ..all() };
    for (key, retry, end, expected) in [
        (None, None, &server, 1),
        (None, Some(all()), &server, 1),
        (None, Some(all()), &limited, 3),
        (Some("k"), None, &server, 3),
        (Some("k"), None, &lost, 3),
        (Some("k"), None, &late, 1),
        (Some("k"), None, &refused, 1),
        (Some("k"), Some(all()), &late, 3),
        (Some("k"), Some(once), &server, 1),
        (Some("k"), Some(only(FailureKind::RateLimited)), &server, 1),
        (Some("k"), Some(only(FailureKind::Connection)), &lost, 3),
    ] {
        assert_eq!(tries(post(key, retry.clone()), end), (end.kind, expected), "{key:?} {retry:?} {:?}", end.met);
    }
}

#[test]
fn a_server_that_asks_to_wait_for_ever_is_called_again_after_the_longest_delay() {
    let limited = |wait| Failure { retry_after_ms: Some(wait), ..Failure::new(FailureKind::RateLimited, "wait") };
    assert_eq!(tries(post(Some("k"), None), &limited(Failure::ENDLESS)).1, 3);
    assert_eq!(tries(post(Some("k"), None), &limited(3_600_000)).1, 1, "an hour is longer than max_delay");
}

fn judged(on_judge_error: OnJudgeError) -> World {
    let steps =
        vec![agent("compose", "Write. {{ refinement.feedback }}"), gate("check", "steps.compose.output", Some("compose"), Some("Sorry."))];
    let mut p = pipeline("p", steps);
    let mut card = good();
    let mut asked = card.criteria[0].clone();
    (asked.id, asked.judging) = (named("kind"), Judging::Judge);
    card.criteria.push(asked);
    (card.judge, card.on_judge_error) = (Some(named("judge")), on_judge_error);
    p.scorecards.insert("card".into(), card);
    p.agents.insert("judge".into(), Agent::default());
    p.outputs = Outputs::Named(vec![output("reply", "{{ steps.check.output }}")]);
    World::new(planned(vec![p]))
}

#[test]
fn a_judge_that_cannot_answer_is_no_reason_to_write_a_text_anew() {
    let mut world = judged(OnJudgeError::Fail);
    world.answer("compose", Says::Text("all good"));
    world.answer("check", Says::No(FailureKind::Auth));
    assert_eq!((world.status(), world.count("refinement_started")), (RunStatus::QualityNotMet, 0));
    assert_eq!(world.end().outputs["reply"], "Sorry.");
    let record = crate::journal::record(&world.events).unwrap();
    assert_eq!(record.failures[0].cause, "the judge could not answer: kind");
    world.check();
    // What a check found is reason enough; what the judge did not say is no part of the feedback.
    let mut world = judged(OnJudgeError::Fail);
    world.answer("compose", Says::Text("bad"));
    world.answer("check", Says::No(FailureKind::Auth));
    assert_eq!(world.count("refinement_started"), 1);
    let record = crate::journal::record(&world.events).unwrap();
    assert!(
        record.failures.iter().all(|failure| failure.cause == "not met: good; the judge could not answer: kind"),
        "{:?}",
        record.failures
    );
    world.answer("compose", Says::Text("now good"));
    world.answer("check", Says::Text(r#"{"verdicts": {"kind": {"passed": true, "feedback": "", "evidence": ""}}}"#));
    assert_eq!((world.status(), &world.end().outputs["reply"]), (RunStatus::Succeeded, &serde_json::json!("now good")));
    world.check();
}

#[test]
fn a_judge_whose_answer_was_cut_is_asked_again() {
    let mut world = judged(OnJudgeError::Fail);
    world.answer("compose", Says::Text("all good"));
    world.answer("check", Says::No(FailureKind::Truncated));
    world.wait();
    world.answer("check", Says::Text(r#"{"verdicts": {"kind": {"passed": true, "feedback": "", "evidence": ""}}}"#));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}
