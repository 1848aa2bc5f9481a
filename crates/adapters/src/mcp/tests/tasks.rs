//! Calls of tools that are tasks.

use super::*;
use crate::event::FailureKind;

#[test]
fn a_tool_that_wants_it_is_called_as_a_task_and_asked_about_until_it_has_ended() {
    run(async {
        let world = World::new();
        assert_eq!(world.echo(&world.program("task_done"), "x", LONG).await.unwrap().value, text("copied"));
        world.close().await;
        let heard = world.heard();
        let count = |what: &str| heard.iter().filter(|line| line.contains(what)).count();
        assert_eq!((count("\"ttl\":"), count("tasks/get"), count("tasks/result"), count("tasks/cancel")), (1, 3, 1, 0), "{heard:?}");
    });
}

#[test]
fn a_task_that_ends_without_a_result_fails_its_call_with_the_reason() {
    run(async {
        let world = World::new();
        for (mode, kind, what, cancels) in [
            ("task_fails", FailureKind::Refused, "the disk is full", 0),
            ("task_cancelled", FailureKind::Refused, "it cancelled the call's task: copying 1", 0),
            ("task_asks", FailureKind::Refused, "its task asks a person; flow does not answer questions of tasks: copying 1", 1),
            ("task_strange", FailureKind::UnknownOutcome, "its task is in an unknown state: \"danc", 1),
            ("task_lost", FailureKind::UnknownOutcome, "no such task", 1),
            ("task_nameless", FailureKind::UnknownOutcome, "its task has no name", 0),
        ] {
            let before = world.heard().len();
            let failure = world.echo(&world.program(mode), "x", LONG).await.unwrap_err();
            assert!(failure.kind == kind && failure.message.contains(what), "{mode}: {failure:?}");
            assert!(!failure.message.contains('\u{1b}'));
            world.close().await;
            let heard = world.heard();
            assert_eq!(heard[before..].iter().filter(|line| line.contains("tasks/cancel")).count(), cancels, "{mode}: {heard:?}");
        }
    });
}

#[test]
fn a_task_that_never_ends_is_cancelled_in_time_however_often_it_may_be_asked_about() {
    run(async {
        let world = World::new();
        for mode in ["task_endless", "task_slow"] {
            let before = world.heard().len();
            let failure = world.echo(&world.program(mode), "x", Duration::from_millis(1_500)).await.unwrap_err();
            let told = failure.message.contains("its last progress was: copying");
            assert!(told && failure.message.contains("no answer within"), "{mode}: {}", failure.message);
            world.close().await;
            let heard = world.heard();
            let count = |what: &str| heard[before..].iter().filter(|line| line.contains(what)).count();
            assert!(count("tasks/get") <= 8 && count("tasks/cancel") == 1, "{mode}: {heard:?}");
        }
    });
}
