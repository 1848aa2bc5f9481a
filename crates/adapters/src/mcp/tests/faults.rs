//! The fault table for programs: one test for each row.

use super::*;
use crate::event::FailureKind;

/// The kind and message of a failed call of `echo`.
async fn fails(world: &World, mode: &str, time: Duration) -> (FailureKind, String) {
    let failure = world.echo(&world.program(mode), "x", time).await.unwrap_err();
    (failure.kind, failure.message)
}

#[test]
fn a_program_that_exits_at_once_fails_with_its_last_words_and_is_started_three_times_more() {
    run(async {
        let world = World::new();
        for start in 0..4 {
            let (kind, message) = fails(&world, "exits", LONG).await;
            assert_eq!(kind, FailureKind::Connection, "{start}: {message}");
            assert!(message.contains("exit status: 3") && message.contains("no such table: weather"), "{message}");
        }
        let (kind, message) = fails(&world, "exits", LONG).await;
        assert_eq!(kind, FailureKind::Unavailable);
        assert!(message.contains("has ended 4 times in this run"), "{message}");
        // Another run begins anew.
        let other = ToolServer { run: "r_2".into(), ..world.program("exits") };
        assert_eq!(world.list(&other).await.unwrap_err().kind, FailureKind::Connection);
    });
}

#[test]
fn a_program_that_falls_over_in_a_call_may_have_acted_and_its_words_hold_no_secret() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "crashes_in_call", LONG).await;
        assert_eq!(kind, FailureKind::UnknownOutcome);
        assert!(message.contains("signal") && message.contains("about to fall over with key ***"), "{message}");
        assert!(!message.contains("canary-5150"));
        // It is started again for the next one.
        assert_eq!(world.list(&world.program("crashes_in_call")).await.unwrap().tools.len(), 1);
        world.close().await;
    });
}

#[test]
fn a_program_that_never_answers_fails_at_the_limit_and_one_of_another_version_at_once() {
    run(async {
        let world = World::new();
        let silent = ToolServer { connect_timeout: SHORT, ..world.program("silent") };
        let failure = world.list(&silent).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.message.contains("connect_timeout"), "{}", failure.message);
        let stuck = ToolServer { connect_timeout: Duration::from_secs(4), ..world.program("stuck") };
        let failure = world.list(&stuck).await.unwrap_err();
        let wanted = "server \"stuck\": it did not complete the handshake within 4 s (connect_timeout); its last output: ";
        assert!(failure.message.starts_with(wanted) && failure.message.contains("waiting for the database"), "{}", failure.message);
        assert!(!failure.message.contains("loading"), "one line: {}", failure.message);
        // A run that does without it hears the same; what is rejected is no absence.
        let optional = ToolServer { optional: true, ..world.program("exits") };
        let absent = world.list(&optional).await.unwrap().absent.unwrap();
        assert_eq!(absent.kind, FailureKind::Connection);
        assert!(absent.message.contains("no such table: weather"), "{}", absent.message);
        std::fs::write(world.home.path().join("flow.lock"), "{").unwrap();
        let failure = world.list(&ToolServer { optional: true, ..world.program("plain") }).await.unwrap_err();
        assert!(failure.message.contains("flow.lock"), "{}", failure.message);
        std::fs::remove_file(world.home.path().join("flow.lock")).unwrap();
        let (kind, message) = fails(&world, "wrong_version", LONG).await;
        assert_eq!(kind, FailureKind::BadResponse);
        assert!(message.contains("uses protocol version \"1999-01-01\""), "{message}");
        // One that leaves a word it does not know unanswered is greeted in the old way.
        let slow = ToolServer { connect_timeout: Duration::from_secs(6), ..world.program("late_first_word") };
        assert_eq!(world.list(&slow).await.unwrap().version, "2025-11-25");
        // One that has started late answers the first word, and leaves the old one unanswered.
        let late = ToolServer { connect_timeout: Duration::from_secs(7), ..world.program("slow_to_start") };
        assert_eq!(world.list(&late).await.unwrap().version, "2026-07-28");
        world.close().await;
    });
}

#[test]
fn a_banner_is_counted_and_a_hundred_lines_of_noise_are_too_many() {
    run(async {
        let world = World::new();
        let list = world.list(&world.program("banner")).await.unwrap();
        let counted = list.notes.iter().find(|note| note.contains("that are not messages")).unwrap();
        // Three of its own and what the test program prints before it becomes a server.
        assert!(counted.starts_with("it wrote "), "{counted}");
        let (kind, message) = fails(&world, "noise", LONG).await;
        assert_eq!(kind, FailureKind::BadResponse);
        assert!(message.contains("more than 100 lines that are not messages"), "{message}");
        world.close().await;
    });
}

#[test]
fn a_program_that_wants_a_terminal_has_none_and_fails_with_its_question() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "asks", LONG).await;
        assert_eq!(kind, FailureKind::Connection);
        assert!(message.contains("Password: "), "{message}");
    });
}

#[test]
fn answers_to_nobody_and_second_answers_are_left_aside() {
    run(async {
        let world = World::new();
        let server = world.program("strange_ids");
        assert_eq!(world.echo(&server, "one", LONG).await.unwrap().value, text("one"));
        assert_eq!(world.echo(&server, "two", LONG).await.unwrap().value, text("two"));
        world.close().await;
    });
}

#[test]
fn half_a_line_and_silence_fails_in_time_and_the_program_is_started_again() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "half_line", SHORT).await;
        assert_eq!(kind, FailureKind::UnknownOutcome);
        assert!(message.contains("no answer within 400 ms"), "{message}");
        let server = world.program("half_line");
        let entry = world.servers.entry(&server);
        while entry.session.lock().await.as_ref().is_some_and(|session| session.link.is_open()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(world.list(&server).await.unwrap().tools.len(), 1);
        assert_eq!(world.heard().iter().filter(|line| line.contains("server/discover")).count(), 2);
        world.close().await;
    });
}

#[test]
fn a_late_answer_is_dropped_the_server_hears_of_the_cancelling_and_the_next_call_is_served() {
    run(async {
        let world = World::new();
        let server = world.program("slow");
        let failure = world.echo(&server, "wait", SHORT).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::UnknownOutcome);
        // Whoever tells progress has no more time for it.
        assert!(failure.message.contains("no answer within 400 ms; its last progress was: "), "{}", failure.message);
        assert!(failure.message.contains(" of 10 (copying)"), "{}", failure.message);
        assert_eq!(world.echo(&server, "next", LONG).await.unwrap().value, text("next"));
        let heard = world.heard();
        assert!(heard.iter().any(|line| line.contains("notifications/cancelled")));
        assert_eq!(heard.iter().filter(|line| line.contains("server/discover")).count(), 1, "it was not started again");
        world.close().await;
    });
}

#[test]
fn a_line_of_two_mebibytes_ends_the_program() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "long_line", LONG).await;
        assert_eq!(kind, FailureKind::TooLarge);
        assert!(message.contains("a line of more than 1048576 bytes"), "{message}");
        assert_eq!(world.list(&world.program("long_line")).await.unwrap().tools.len(), 1, "it is started again");
        world.close().await;
    });
}

#[test]
fn standard_error_is_read_however_much_it_is() {
    run(async {
        let world = World::new();
        for mode in ["big_stderr", "large_stderr_in_call"] {
            assert_eq!(world.echo(&world.program(mode), "x", LONG).await.unwrap().value, text("x"), "{mode}");
        }
        world.close().await;
    });
}

#[test]
fn a_program_that_stops_reading_holds_up_nobody() {
    run(async {
        let world = World::new();
        let server = world.program("stops_reading");
        let list = world.list(&server).await.unwrap();
        let long = "x".repeat(200_000);
        let calls = (0..8).map(|_| world.call(&server, &list, &long, SHORT));
        for answer in futures_util::future::join_all(calls).await {
            assert_eq!(answer.unwrap_err().kind, FailureKind::UnknownOutcome);
        }
        assert_eq!(world.echo(&world.program("fine"), "x", LONG).await.unwrap().value, text("x"));
        world.close().await;
    });
}

#[test]
fn nothing_is_left_of_a_program_that_ignores_its_end_nor_of_what_it_started() {
    for mode in ["ignores_term", "grandchild"] {
        run(async {
            let world = World::new();
            world.list(&world.program(mode)).await.unwrap();
            world.close().await;
            let heard = world.heard();
            let child = heard.iter().find_map(|line| line.strip_prefix("grandchild ")).unwrap();
            // Killed it is; the system may take a moment to bury it.
            for _ in 0..500 {
                if runs(child) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            assert!(!runs(child), "{mode}: {child} is left");
        });
    }
}

#[test]
fn a_program_that_closes_its_output_and_lives_is_ended() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "closes_output", LONG).await;
        assert_eq!(kind, FailureKind::UnknownOutcome);
        assert!(message.contains("closed its output"), "{message}");
        world.close().await;
    });
}

#[test]
fn floods_of_notifications_tools_and_pages_are_ended() {
    run(async {
        let world = World::new();
        for (mode, told) in [
            ("flood", "more than 1000 unexpected messages"),
            ("many_tools", "more than 1000 tools"),
            ("endless_pages", "more than 100 pages"),
        ] {
            let (kind, message) = fails(&world, mode, LONG).await;
            assert!(kind == FailureKind::TooLarge && message.contains(told), "{mode}: {kind:?} {message}");
        }
        let (kind, message) = fails(&world, "pages_in_a_circle", LONG).await;
        assert!(kind == FailureKind::BadResponse && message.contains("never end"), "{message}");
        let listed = world.list(&world.program("twins")).await.unwrap();
        assert_eq!(listed.left_out["echo"], "it has two tools of that name");
        world.close().await;
    });
}

#[test]
fn an_error_object_is_a_failure_and_an_error_result_is_a_result_that_says_so() {
    run(async {
        let world = World::new();
        let (kind, message) = fails(&world, "error", LONG).await;
        assert_eq!(kind, FailureKind::Refused);
        assert!(message.contains("the table is locked"), "{message}");
        let reply = world.echo(&world.program("is_error"), "x", LONG).await.unwrap();
        assert_eq!((reply.is_error, reply.value), (true, text("no such city")));
        world.close().await;
    });
}
