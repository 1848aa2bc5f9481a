//! Going on after a crash, from every point at which the journal may end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;

use super::build::*;
use super::world::{Says, World, options, yes};
use crate::event::{Canceller, Event, Happening, RunStatus, StepStatus};
use crate::faults::{self, FaultPlace};
use crate::model::{Outputs, Pipeline, Step, StepKind};
use crate::plan::Plan;
use crate::{Input, ResumeError, Run};
use std::sync::Arc;

impl World {
    /// The world as another process finds it: of the events only the first `kept`, calls that were out are lost.
    pub(super) fn after_crash(&self, kept: usize, away_ms: u64) -> World {
        let events: Vec<Event> = self.events[..kept].to_vec();
        let ms = events.last().map_or(0, |e| e.at_ms);
        let now = crate::Moment { wall: super::world::start(), ms };
        let run = Run::resumed("r_test", self.plan.clone(), options(), now, &events).unwrap();
        let mut world = World {
            run,
            plan: self.plan.clone(),
            ms,
            events,
            out: vec![],
            cancelled: vec![],
            posted: vec![],
            ..World::new(self.plan.clone())
        };
        world.handle(Input::Resume { away_ms });
        world
    }

    /// Answers everything until nothing is out.
    pub(super) fn finish(&mut self) {
        while !self.is_over() && !self.run.is_paused() {
            match self.out.first().cloned() {
                Some((call, _)) => {
                    self.out.retain(|(other, _)| *other != call);
                    self.reply(call, Says::Text("good"));
                }
                None => self.wait(),
            }
        }
    }

    pub(super) fn successes(&self, path: &str) -> usize {
        let fits = |e: &&Event| matches!(&e.happening, Happening::StepSucceeded { step, .. } if **step == *path);
        self.events.iter().filter(fits).count()
    }
}

fn mixed() -> Arc<Plan> {
    let mut retried = query("retried");
    retried.retry = Some(retry(3));
    let steps = vec![
        needs(query("first"), &[]),
        needs(for_each(query("each"), "[1, 2, 3]", false, Some(2)), &[]),
        needs(step("nap", StepKind::Wait(crate::model::Filling::Constant(json!("5s")))), &[]),
        needs(retried, &["first"]),
        needs(agent("draft", "{{ steps.first.output }}"), &["first"]),
        needs(gate("check", "steps.draft.output", Some("draft"), Some("none")), &["draft"]),
        needs(set("last", "{{ steps.check.output }}"), &["check", "each", "nap", "retried"]),
    ];
    let mut pipeline = pipeline("p", steps);
    pipeline.scorecards = [("card".to_string(), good())].into_iter().collect();
    pipeline.outputs = Outputs::Named(vec![output("last", "{{ steps.last.output }}"), output("each", "{{ steps.each.output | length }}")]);
    planned(vec![pipeline])
}

/// A run of `mixed` with a retry, a refinement and a wait in it, and the numbers of events after which the journal may end.
fn whole() -> (World, Vec<usize>) {
    let mut world = World::new(mixed());
    let mut ends = vec![world.events.len()];
    world.answer("first", Says::Yes);
    ends.push(world.events.len());
    world.answer("retried", Says::No(crate::event::FailureKind::Connection));
    ends.push(world.events.len());
    world.answer("draft", Says::Text("bad"));
    ends.push(world.events.len());
    while !world.is_over() {
        match world.out.first().cloned() {
            Some((call, _)) => {
                world.out.retain(|(other, _)| *other != call);
                world.reply(call, Says::Text("good"));
            }
            None => world.wait(),
        }
        ends.push(world.events.len());
    }
    ends.pop();
    (world, ends)
}

#[test]
fn from_every_point_the_run_ends_the_same_and_what_was_done_is_not_done_again() {
    let (uncut, ends) = whole();
    assert_eq!(uncut.status(), RunStatus::Succeeded);
    assert!(ends.len() > 8, "{ends:?}");
    for kept in ends {
        let mut world = uncut.after_crash(kept, 0);
        world.finish();
        assert_eq!((world.status(), &world.end().outputs), (uncut.status(), &uncut.end().outputs), "after {kept} events");
        assert_eq!(world.count("run_resumed"), 1);
        for path in ["first", "each[0]", "each[1]", "each[2]", "nap", "retried", "last"] {
            assert_eq!(world.successes(path), 1, "{path} after {kept} events");
        }
        assert!(world.count("refinement_started") <= 1, "after {kept} events");
        world.check();
        // And once more, from the middle of the second try.
        let again = world.after_crash(kept + 1, 10);
        assert_eq!(again.count("run_resumed"), 2);
    }
}

#[test]
fn a_run_that_a_signal_ended_goes_on_as_if_it_had_not() {
    let (uncut, ends) = whole();
    for kept in ends {
        for (first, second) in [(Canceller::Interrupt, false), (Canceller::Terminate, false), (Canceller::Interrupt, true)] {
            let mut world = uncut.after_crash(kept, 0);
            world.cancel(first);
            assert_eq!(world.status(), RunStatus::Cancelled, "after {kept} events");
            // The second signal ends the process at once: the journal may end anywhere after the first.
            let told = world.events.iter().rposition(|e| matches!(e.happening, Happening::CancelRequested { .. })).unwrap();
            let end = if second { told + 1 } else { world.events.len() };
            let mut world = world.after_crash(end, 0);
            world.finish();
            assert_eq!((world.status(), &world.end().outputs), (uncut.status(), &uncut.end().outputs), "after {kept} events");
            for path in ["first", "each[0]", "each[1]", "each[2]", "nap", "retried", "last"] {
                assert_eq!(world.successes(path), 1, "{path} after {kept} events");
            }
            world.check();
        }
    }
}

#[test]
fn what_a_person_decides_after_a_signal_ended_the_run_holds_when_it_goes_on() {
    let mut paying = once(query("pay"));
    paying.steps.push(needs(step("nap", StepKind::Wait(crate::model::Filling::Constant(json!("5s")))), &[]).into());
    let world = World::new(planned(vec![paying]));
    let mut doubtful = world.after_crash(world.events.len(), 0);
    assert_eq!(doubtful.run.state().undecided().count(), 1);
    doubtful.cancel(Canceller::Interrupt);
    assert_eq!(doubtful.status(), RunStatus::Cancelled);
    for approved in [true, false] {
        let mut decided = World { events: doubtful.events.clone(), ..world.after_crash(world.events.len(), 0) };
        let seq = decided.events.len() as u64 + 1;
        let happening = Happening::ApprovalAnswered {
            step: "pay".into(),
            approved,
            output: None,
            comment: String::new(),
            by: String::new(),
            nobody: false,
        };
        decided.events.push(Event { seq, happening, ..decided.events[0].clone() });
        let mut resumed = decided.after_crash(decided.events.len(), 0);
        assert!(!resumed.run.is_paused(), "asked again");
        resumed.finish();
        let expected = if approved { StepStatus::Succeeded } else { StepStatus::Failed };
        assert_eq!(resumed.step("pay"), Some(expected));
    }
}

#[test]
fn a_person_who_ends_a_run_ends_it_for_good_and_finally_runs_at_each_end() {
    let mut with_finally = pipeline("p", vec![query("a"), query("b")]);
    with_finally.finally = vec![set("tidy", "done").into()];
    let mut world = World::new(planned(vec![with_finally]));
    world.answer("a", Says::Yes);
    world.cancel(Canceller::Terminate);
    assert_eq!((world.status(), world.successes("tidy")), (RunStatus::Cancelled, 1));
    let mut again = world.after_crash(world.events.len(), 1000);
    again.finish();
    assert_eq!((again.status(), again.successes("tidy"), again.successes("a")), (RunStatus::Succeeded, 2, 1));
    again.check();
    let record = crate::journal::record(&again.events).unwrap();
    assert_eq!(record.phases.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["created", "completed"]);
    let resume = |world: &World| Run::resumed("r", world.plan.clone(), options(), world.moment(), &world.events).err();
    assert_eq!(resume(&again), Some(ResumeError::Over));
    let mut ended = World::new(world.plan.clone());
    ended.cancel(Canceller::Person);
    assert_eq!(resume(&ended), Some(ResumeError::Over));
}

#[test]
fn a_wait_ends_by_the_clock_of_people_and_a_deadline_does_not_run_while_nothing_does() {
    let mut pipeline = pipeline("p", vec![step("nap", StepKind::Wait(crate::model::Filling::Constant(json!("1h")))), query("a")]);
    pipeline.limits.deadline = Some(std::time::Duration::from_secs(7200));
    let world = World::new(planned(vec![pipeline]));
    let mut later = world.after_crash(world.events.len(), 86_400_000);
    assert_eq!(later.ms, 0);
    later.answer("a", Says::Yes);
    assert_eq!(later.status(), RunStatus::Succeeded);
    later.check();
}

fn once(mut step: Step) -> Pipeline {
    step.is_once = true;
    step.timeout = Some(std::time::Duration::from_secs(30));
    pipeline("p", vec![step, query("after")])
}

#[test]
fn a_once_step_in_doubt_waits_for_a_person() {
    let world = World::new(planned(vec![once(query("pay"))]));
    assert_eq!(world.out.len(), 1);
    let paused = world.after_crash(world.events.len(), 5);
    assert!(paused.run.is_paused() && paused.out.is_empty());
    assert_eq!(paused.run.state().undecided().map(|s| &**s).collect::<Vec<_>>(), ["pay"]);
    assert_eq!(paused.lines().last().map(String::as_str), Some("run_paused "));
    paused.check();
    let unasked = paused.after_crash(paused.events.len(), 5);
    assert!(unasked.run.is_paused() && unasked.out.is_empty());
    assert_eq!(unasked.count("approval_requested"), 1);
    assert!(paused.run.next_timeout().is_none());
    let decide = |approved: bool| {
        let mut decided = World { events: paused.events.clone(), ..paused.after_crash(paused.events.len(), 0) };
        let seq = decided.events.len() as u64 + 1;
        let happening = Happening::ApprovalAnswered {
            step: "pay".into(),
            approved,
            output: None,
            comment: String::new(),
            by: String::new(),
            nobody: false,
        };
        decided.events.push(Event { seq, happening, ..decided.events[0].clone() });
        let mut world = decided.after_crash(decided.events.len(), 0);
        if approved {
            // It may have acted again before another crash, so it is asked again.
            let killed = world.after_crash(world.events.len(), 0);
            assert!(killed.run.is_paused() && killed.out.is_empty());
        }
        world.finish();
        world.check();
        (world.status(), world.step("pay"), world.step("after"))
    };
    assert_eq!(decide(true), (RunStatus::Succeeded, Some(StepStatus::Succeeded), Some(StepStatus::Succeeded)));
    assert_eq!(decide(false), (RunStatus::Failed, Some(StepStatus::Failed), Some(StepStatus::Blocked)));
}

#[test]
fn a_run_that_is_over_or_whose_pipeline_changed_does_not_go_on() {
    let mut world = World::new(planned(vec![pipeline("p", vec![query("a")])]));
    let events = world.events.clone();
    world.answer("a", Says::Yes);
    let resume = |plan: &Arc<Plan>, events: &[Event]| Run::resumed("r", plan.clone(), options(), world.moment(), events).err();
    assert_eq!(resume(&world.plan, &world.events), Some(ResumeError::Over));
    let mut other = pipeline("p", vec![query("a")]);
    other.hash = "another".into();
    assert_eq!(resume(&planned(vec![other]), &events), Some(ResumeError::Changed));
    assert_eq!(resume(&world.plan, &[]), Some(ResumeError::Changed));
}

#[test]
fn a_once_agent_goes_on_only_when_a_person_says_so_though_its_pipeline_has_ended() {
    use super::tools::{asks, hook, tool, with_tools};
    let kind = crate::model::ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(crate::model::PipelineId(1)) };
    let mut asked = agent("a", "Go.");
    asked.is_once = true;
    let outer = with_tools(vec![asked], vec![("look_up", tool(kind)), ("hook", hook("https://example.com/x"))]);
    let nap = step("nap", StepKind::Wait(crate::model::Filling::Constant(json!("5s"))));
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![nap])]));
    world.reply_with(asks(&[("c1", "look_up", json!({})), ("c2", "hook", json!({ "id": "7" }))]));
    assert_eq!(world.out.iter().map(|(_, step)| step.as_str()).collect::<Vec<_>>(), ["a"]);

    let mut world = world.after_crash(world.events.len(), 0);
    assert_eq!(world.run.state().undecided().map(|s| &**s).collect::<Vec<_>>(), ["a"]);
    world.wait();
    assert_eq!(world.successes("a/look_up[2]/nap"), 1);
    assert!(world.out.is_empty() && world.run.is_paused(), "{:?}", world.lines());
    world.check();
    world.handle(yes("a"));
    assert_eq!(world.out.len(), 1, "{:?}", world.lines());
    world.finish();
    assert_eq!((world.status(), world.count("approval_requested")), (RunStatus::Succeeded, 1));
    world.check();
}

#[test]
fn once_holds_for_what_runs_inside_the_step() {
    let mut call = step(
        "c",
        StepKind::Call(crate::model::CallStep {
            file: named("inner.yaml"),
            pipeline: Some(crate::model::PipelineId(1)),
            with: vec![],
            channel: None,
        }),
    );
    call.is_once = true;
    let world = World::new(planned(vec![pipeline("p", vec![call]), pipeline("inner", vec![query("pay")])]));
    assert_eq!(world.out.len(), 1);
    let mut paused = world.after_crash(world.events.len(), 5);
    assert!(paused.run.is_paused() && paused.out.is_empty());
    assert_eq!(paused.run.state().undecided().map(|s| &**s).collect::<Vec<_>>(), ["c/pay"]);
    paused.handle(yes("c/pay"));
    paused.finish();
    assert_eq!(paused.status(), RunStatus::Succeeded);
    paused.check();

    // An agent whose own calls have ended waits for its pipeline alone; only what was out in there is in doubt.
    use super::tools::{asks, tool, with_tools};
    let kind = crate::model::ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(crate::model::PipelineId(1)) };
    let mut asked = agent("a", "Go.");
    asked.is_once = true;
    let outer = with_tools(vec![asked], vec![("look_up", tool(kind))]);
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![query("pay")])]));
    world.reply_with(asks(&[("c1", "look_up", json!({}))]));
    let paused = world.after_crash(world.events.len(), 0);
    assert_eq!(paused.run.state().undecided().map(|s| &**s).collect::<Vec<_>>(), ["a/look_up[2]/pay"]);
}

#[test]
fn a_once_step_that_has_happened_gives_what_the_person_says_and_is_not_run_again() {
    let mut paying = once(super::stopping::http("pay", crate::model::Method::Post));
    paying.outputs = Outputs::Named(vec![output("paid", "{{ steps.pay.output.body }}")]);
    let world = World::new(planned(vec![paying]));
    // After a crash, and after a signal that came while the question was open.
    let crashed = world.after_crash(world.events.len(), 5);
    let mut interrupted = world.after_crash(world.events.len(), 5);
    interrupted.cancel(Canceller::Interrupt);
    for paused in [crashed, interrupted] {
        let told = |output: serde_json::Value| {
            let run = Run::resumed("r_test", paused.plan.clone(), options(), paused.moment(), &paused.events).unwrap();
            run.reported_output("pay", output)
        };
        assert_eq!(told(json!({ "paid": true })), Err(vec!["an http step returns { status, headers, body }".to_string()]));
        let output = told(json!({ "status": 201, "headers": {}, "body": "receipt 7" })).unwrap();
        let mut decided = World { events: paused.events.clone(), ..World::new(paused.plan.clone()) };
        let seq = decided.events.len() as u64 + 1;
        let happening = Happening::ApprovalAnswered {
            step: "pay".into(),
            approved: false,
            output: Some(Arc::new(output)),
            comment: String::new(),
            by: String::new(),
            nobody: false,
        };
        decided.events.push(Event { seq, happening, ..decided.events[0].clone() });
        let mut resumed = decided.after_crash(decided.events.len(), 0);
        assert!(resumed.posted.is_empty(), "it is run again");
        resumed.finish();
        assert_eq!((resumed.status(), resumed.step("pay")), (RunStatus::Succeeded, Some(StepStatus::Succeeded)));
        assert_eq!(*resumed.end().outputs, json!({ "paid": "receipt 7" }));
        assert_eq!(resumed.details("pay")["decided"], true);
        resumed.check();
        // Killed once more before anything was written: the answer still holds.
        let again = decided.after_crash(decided.events.len(), 9);
        assert!(again.posted.is_empty() && again.count("approval_requested") == 1);
    }
}

#[test]
fn an_answer_of_an_older_journal_reads_as_it_did() {
    let line =
        r#"{"v":1,"seq":2,"time":"2026-01-05T09:00:00Z","at_ms":1,"run":"r","type":"approval_answered","step":"pay","approved":true}"#;
    let event: Event = serde_json::from_str(line).unwrap();
    let happening = Happening::ApprovalAnswered {
        step: "pay".into(),
        approved: true,
        output: None,
        comment: String::new(),
        by: String::new(),
        nobody: false,
    };
    assert_eq!(event.happening, happening);
    assert_eq!(serde_json::to_string(&event).unwrap(), line);
}

#[test]
fn a_fault_at_any_event_leaves_a_journal_from_which_the_run_goes_on() {
    let mut uncut = World::new(mixed());
    uncut.finish();
    for seq in 1..=uncut.events.len() as u64 {
        for place in [FaultPlace::Work, FaultPlace::Before, FaultPlace::After] {
            faults::set(seq, place);
            let mut world = None;
            let whole = catch_unwind(AssertUnwindSafe(|| {
                let world = world.insert(World::new(mixed()));
                world.finish();
            }));
            faults::clear();
            let what = format!("{place:?} {seq}");
            // A step's own work fails that step alone; a list of steps, a stage and the run are nobody's work.
            let line = &uncut.lines()[seq as usize - 1];
            let of_a_step = !line.ends_with(' ') && !["stage_started", "step_blocked"].iter().any(|kind| line.starts_with(kind));
            assert_eq!(whole.is_ok(), place == FaultPlace::Work && of_a_step, "{what} {line}");
            let Some(world) = world else { continue };
            if whole.is_ok() {
                world.check();
                continue;
            }
            // What the journal may hold replays to a sound state, and the run ends from there.
            let mut resumed = world.after_crash(world.events.len(), 0);
            resumed.finish();
            resumed.check();
            assert_eq!((resumed.status(), &resumed.end().outputs), (uncut.status(), &uncut.end().outputs), "{what}");
        }
    }
}
