//! Servers that the runs of a process share.

use tokio::sync::oneshot;

use super::super::pool::MOST_IDLE;
use super::super::{Lent, SharedServers};
use super::*;
use crate::event::FailureKind;
use crate::mcp::auth::LoginCommand;

/// A process: its servers live on a thread of their own.
fn in_process(test: impl FnOnce(&World, &SharedServers)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shared = Arc::new(SharedServers::new(runtime.handle().clone(), Arc::new(SystemClock::new())));
    let (stop, stopped) = oneshot::channel::<()>();
    let of_thread = Arc::clone(&shared);
    let thread = std::thread::spawn(move || {
        runtime.block_on(async {
            let _ = stopped.await;
            of_thread.close().await;
        });
    });
    test(&World::new(), &shared);
    drop(stop);
    thread.join().unwrap();
}

/// A run: what it does with its servers, on a runtime of its own.
fn one_run<T>(shared: &SharedServers, run_id: &str, server: &ToolServer, work: impl AsyncFnOnce(&Lent, ToolServer) -> T) -> T {
    let lent = shared.lend(run_id, &[], None, LoginCommand::default());
    let server = ToolServer { run: run_id.into(), ..server.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(&lent, server))
}

/// Lists, then calls `echo`.
fn echoes(shared: &SharedServers, run_id: &str, server: &ToolServer, said: &str) -> Result<ServerReply, Failure> {
    one_run(shared, run_id, server, async |lent, server| {
        let list = lent.list(server.clone()).await?;
        lent.call(echo(&server, &list, said, LONG)).await
    })
}

fn count(world: &World, what: &str) -> usize {
    world.heard().iter().filter(|line| line.contains(what)).count()
}

#[test]
fn one_program_serves_all_runs_and_each_asks_for_its_tools() {
    in_process(|world, shared| {
        let server = world.program("fine");
        for run_id in ["r_1", "r_2"] {
            assert_eq!(echoes(shared, run_id, &server, run_id).unwrap().value, text(run_id));
        }
        std::thread::scope(|scope| {
            let runs = ["r_3", "r_4", "r_5"].map(|run_id| (run_id, scope.spawn(|| echoes(shared, run_id, &server, run_id))));
            for (run_id, done) in runs {
                assert_eq!(done.join().unwrap().unwrap().value, text(run_id));
            }
        });
        assert_eq!((count(world, "server/discover"), count(world, "tools/list")), (1, 5));
    });
}

#[test]
fn other_secrets_environments_arguments_and_projects_make_another_server() {
    in_process(|world, shared| {
        let server = world.program("fine");
        let mut others = vec![server.clone(), server.clone(), server.clone(), server.clone()];
        others[0].secrets = vec![Secret::new("canary-1")];
        others[1].secrets = vec![Secret::new("canary-2")];
        if let ServerTransport::Program { env, .. } = &mut others[2].transport {
            env[2].1 = Secret::new("canary-3");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        others[3].project = elsewhere.path().to_path_buf();
        for (number, other) in std::iter::once(&server).chain(&others).enumerate() {
            echoes(shared, &format!("r_{number}"), other, "x").unwrap();
            assert_eq!(count(world, "server/discover"), number + 1);
        }
    });
}

#[test]
fn one_that_fell_over_is_started_again_for_the_next_run() {
    in_process(|world, shared| {
        let server = world.program("crashes_in_call");
        for starts in 1..=6 {
            // More often than one run may start it.
            let failure = echoes(shared, &format!("r_{starts}"), &server, "x").unwrap_err();
            assert_eq!(failure.kind, FailureKind::UnknownOutcome, "{}", failure.message);
            assert_eq!(count(world, "server/discover"), starts);
        }
    });
}

#[test]
fn what_a_program_wrote_for_one_run_is_not_told_to_another() {
    in_process(|world, shared| {
        let server = world.program("crashes_in_call");
        let other = ToolServer { run: "r_2".into(), ..server.clone() };
        let failure = one_run(shared, "r_1", &server, async |lent, server| {
            let beside = shared.lend("r_2", &[], None, LoginCommand::default());
            beside.list(other).await.unwrap();
            let list = lent.list(server.clone()).await.unwrap();
            lent.call(echo(&server, &list, "x", LONG)).await.unwrap_err()
        });
        assert!(failure.message.contains("is not shown, since several runs use it"), "{}", failure.message);
        let failure = echoes(shared, "r_3", &server, "x").unwrap_err();
        assert!(failure.message.contains("its last output: ") && failure.message.contains("about to fall over"), "{}", failure.message);
    });
}

#[test]
fn a_server_that_fell_silent_for_one_run_is_left_and_who_still_waits_has_its_answer() {
    in_process(|world, shared| {
        let server = world.program("deaf");
        std::thread::scope(|scope| {
            let patient = scope.spawn(|| echoes(shared, "r_1", &server, "later"));
            while count(world, "\"later\"") == 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
            let failure = one_run(shared, "r_2", &server, async |lent, server| {
                let list = lent.list(server.clone()).await.unwrap();
                lent.call(echo(&server, &list, "never", SHORT)).await.unwrap_err()
            });
            assert_eq!(failure.kind, FailureKind::UnknownOutcome);
            // The next run begins another one as soon as this one has not even said that it lives.
            let mut number = 3;
            while count(world, "server/discover") < 2 {
                let asked = one_run(shared, &format!("r_{number}"), &server, async |lent, server| lent.list(server).await);
                asked.unwrap();
                number += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            std::fs::write(world.home.path().join("go"), "").unwrap();
            assert_eq!(patient.join().unwrap().unwrap().value, text("later"));
        });
    });
}

#[test]
fn a_run_that_is_given_up_while_a_server_starts_leaves_it_to_the_one_that_waits() {
    in_process(|world, shared| {
        let server = world.program("slow_start");
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                one_run(shared, "r_1", &server, async |lent, server| {
                    tokio::time::timeout(Duration::from_millis(200), lent.list(server)).await.is_err()
                })
            });
            assert_eq!(echoes(shared, "r_2", &server, "x").unwrap().value, text("x"));
            assert!(first.join().unwrap(), "it did not wait to the end");
        });
        assert_eq!(count(world, "server/discover"), 1);
    });
}

#[test]
fn of_servers_that_no_run_uses_only_some_are_kept() {
    in_process(|world, shared| {
        let labelled = |label: usize| {
            let mut server = world.program("fine");
            server.secrets = vec![Secret::new(format!("label-{label}"))];
            server
        };
        for label in 0..=MOST_IDLE {
            echoes(shared, &format!("r_{label}"), &labelled(label), "x").unwrap();
        }
        assert_eq!(count(world, "server/discover"), MOST_IDLE + 1);
        echoes(shared, "r_again", &labelled(MOST_IDLE), "x").unwrap();
        assert_eq!(count(world, "server/discover"), MOST_IDLE + 1, "the last one was kept");
        echoes(shared, "r_first", &labelled(0), "x").unwrap();
        assert_eq!(count(world, "server/discover"), MOST_IDLE + 2, "the first one was ended");
    });
}

#[test]
fn a_changed_list_is_found_by_every_run_and_not_called() {
    in_process(|world, shared| {
        let server = world.program("changes");
        let first = one_run(shared, "r_1", &server, async |lent, server| lent.list(server).await).unwrap();
        assert!(first.changed.is_empty());
        for run_id in ["r_2", "r_3"] {
            let later = one_run(shared, run_id, &server, async |lent, server| lent.list(server).await).unwrap();
            assert!(later.changed.contains_key("echo"), "{:?}", later.changed);
        }
        let failure = one_run(shared, "r_4", &server, async |lent, server| lent.call(echo(&server, &first, "x", LONG)).await);
        assert_eq!(failure.unwrap_err().kind, FailureKind::Denied);
        assert_eq!(count(world, "tools/call"), 0);
    });
}

#[test]
fn every_run_hears_once_what_a_server_asked_for() {
    use super::super::inbox::Inbox;
    let inbox = Inbox::new(crate::scrub::Scrub::new([]));
    let asks = |method: &str| inbox.take(json!({ "id": 1, "method": method }).to_string().as_bytes()).unwrap();
    let (one, other, late) = ("r_1".into(), "r_2".into(), "r_3".into());
    asks("a");
    assert_eq!(inbox.notes(&one), ["it requested a; rejected"]);
    assert!(inbox.notes(&other).is_empty(), "it came before this run");
    asks("b");
    assert_eq!(inbox.notes(&one), ["it requested b; rejected"]);
    assert_eq!(inbox.notes(&other), ["it requested b; rejected"]);
    asks("b");
    inbox.leave("r_1");
    assert_eq!(inbox.notes(&other), ["it requested b; rejected"]);
    inbox.leave("r_2");
    // Nobody was there: the next run has it in its record.
    asks("c");
    assert_eq!(inbox.notes(&late), ["it requested c; rejected"]);
    (0..100).for_each(|n| drop(asks(&format!("m{n}"))));
    assert_eq!(inbox.notes(&late).len(), 20);
}
