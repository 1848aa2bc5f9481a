//! Runs that are asked to end while calls are out that act: what answers in time is done, and nothing that was answered is sent again.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::build::*;
use super::tools::{asks, hook, tool, with_tools};
use super::world::{Says, World};
use crate::Input;
use crate::event::{Canceller, FailureKind, Happening, RunStatus, StepStatus};
use crate::model::{HttpStep, Method, Pipeline, PipelineId, SendStep, Step, StepKind, ToolKind};

pub(super) fn http(id: &str, method: Method) -> Step {
    let http = HttpStep {
        method,
        url: text("https://example.com/"),
        headers: vec![],
        query: vec![],
        body: None,
        output: None,
        idempotency_key: None,
    };
    step(id, StepKind::Http(http))
}

fn post(id: &str) -> Step {
    http(id, Method::Post)
}

fn send(id: &str) -> Step {
    let parts = json!({ "parts": [{ "number": 1, "text": "a", "content": "a" }, { "number": 2, "text": "b", "content": "b" }] });
    let of = bare(&parts.to_string());
    step(id, StepKind::Send(SendStep { of, to: named("hook"), with: vec![], idempotency_key: None }))
}

/// A step of a random graph: what it is, and which of those before it it needs.
type Drawn = (u8, Vec<usize>);

const ONCE: u8 = 6;

fn build(drawn: &[Drawn], parallel: u64) -> Vec<Pipeline> {
    let mut steps = vec![];
    for (place, (kind, needed)) in drawn.iter().enumerate() {
        let id = format!("s{place}");
        let mut made = match kind % 8 {
            0 => post(&id),
            1 => query(&id),
            2 => agent(&id, "Go."),
            3 => for_each(post(&id), "[1, 2, 3]", false, Some(2)),
            4 => send(&id),
            5 => set(&id, "x"),
            ONCE => Step { is_once: true, ..post(&id) },
            _ => {
                let call = crate::model::CallStep { file: named("inner.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
                step(&id, StepKind::Call(call))
            }
        };
        let needed: BTreeSet<String> = needed.iter().filter(|_| place > 0).map(|need| format!("s{}", need % place.max(1))).collect();
        made.needs = Some(needed.iter().map(|need| named(need)).collect());
        steps.push(made);
    }
    let mut outer = with_tools(steps, vec![("hook", hook("https://example.com/x"))]);
    outer.limits.max_parallel = Some(parallel);
    outer.finally = vec![set("tidy", "done").into()];
    vec![outer, pipeline("inner", vec![post("pay"), query("look")])]
}

impl World {
    /// Answers one of the calls that are out: a model asks for a tool first.
    fn answer_one(&mut self, pick: u8) {
        let place = pick as usize % self.out.len();
        let (call, path) = self.out.remove(place);
        let of_step = |e: &&crate::event::Event| matches!(&e.happening, Happening::ModelCalled { step, .. } if **step == *path);
        let is_model = self.events.iter().any(|e| matches!(&e.happening, Happening::ModelCalled { call: c, .. } if *c == call));
        let has_asked = self.events.iter().any(|e| matches!(&e.happening, Happening::ToolCalled { step, .. } if **step == *path));
        if is_model && !has_asked && self.events.iter().filter(of_step).count() > 0 {
            let result = asks(&[("c1", "hook", json!({ "id": "7" })), ("c2", "hook", json!({ "id": "8" }))]);
            self.handle(Input::Reply { call, result });
        } else {
            self.reply(call, Says::Yes);
        }
    }

    fn is_stopping(&self) -> bool {
        self.run.state().stopping.is_some()
    }

    /// Keys of the requests that have an answer among the first events.
    fn answered(&self, events: usize) -> BTreeSet<&str> {
        let replied = |call: u64| {
            let is_reply = |e: &crate::event::Event| matches!(&e.happening, Happening::ToolReplied { call: replied, failure: None, .. } if *replied == call);
            self.events[..events].iter().any(is_reply)
        };
        self.posted.iter().filter(|(call, ..)| replied(*call)).map(|(_, _, key)| key.as_str()).collect()
    }

    fn place(&self, is: impl Fn(&Happening) -> bool) -> Option<usize> {
        self.events.iter().position(|event| is(&event.happening))
    }
}

fn starts_something(happening: &Happening) -> bool {
    matches!(
        happening,
        Happening::StepStarted { .. }
            | Happening::ToolCalled { .. }
            | Happening::ModelCalled { .. }
            | Happening::ToolsAsked { .. }
            | Happening::CacheAsked { .. }
            | Happening::StageStarted { .. }
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_answers_in_time_is_done_and_is_not_sent_again(
        drawn in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<usize>(), 0..3)), 1..9),
        parallel in 1u64..7,
        order in proptest::collection::vec(any::<u8>(), 16),
        before in 0usize..12,
        in_grace in 0usize..6,
        cut in any::<prop::sample::Index>(),
        by in prop_oneof![Just(Canceller::Interrupt), Just(Canceller::Terminate), Just(Canceller::Client)],
    ) {
        let mut world = World::new(planned(build(&drawn, parallel)));
        let mut picks = order.iter().copied().cycle();
        for _ in 0..before {
            if world.out.is_empty() { break }
            world.answer_one(picks.next().unwrap());
        }
        if world.is_over() { return Ok(()) }
        world.handle(Input::Cancel { by });
        // What follows from one input is in one commit.
        let mut commits = vec![world.events.len()];
        for _ in 0..in_grace {
            if !world.is_stopping() { break }
            world.ms += 500;
            world.answer_one(picks.next().unwrap());
            commits.push(world.events.len());
        }
        while world.is_stopping() { world.wait(); commits.push(world.events.len()) }
        prop_assert_eq!(world.status(), RunStatus::Cancelled);
        world.check_at(16);

        let asked = world.place(|h| matches!(h, Happening::CancelRequested { .. })).unwrap();
        let waited = world.place(|h| matches!(h, Happening::GraceEnded)).unwrap_or(asked);
        prop_assert!(world.events[asked].at_ms + 4_000 >= world.events[waited].at_ms);
        for event in &world.events[asked..waited] {
            prop_assert!(!starts_something(&event.happening), "{:?} while the run was ending", event.happening);
        }
        // Whatever went out and acts has an answer, or is reported as unknown.
        for (call, step, _) in &world.posted {
            let is_told = |e: &&crate::event::Event| match &e.happening {
                Happening::ToolReplied { call: told, .. } | Happening::OutcomeUnknown { call: told, .. } => told == call,
                _ => false,
            };
            prop_assert_eq!(world.events.iter().filter(is_told).count(), 1, "call {} of {}", call, step);
        }

        // However much of it the journal holds, what it knows as answered is not sent again.
        for kept in [world.events.len(), *cut.get(&commits)] {
            let answered = world.answered(kept);
            let mut resumed = world.after_crash(kept, 0);
            prop_assert!(!resumed.is_stopping());
            while !resumed.is_over() && !resumed.run.is_paused() {
                if resumed.out.is_empty() { resumed.wait() } else { resumed.answer_one(0) }
            }
            resumed.check_at(16);
            let once: Vec<String> = (0..drawn.len()).filter(|place| drawn[*place].0 % 8 == ONCE).map(|place| format!("s{place}")).collect();
            let before: BTreeSet<&str> = world.posted.iter().map(|(_, _, key)| key.as_str()).collect();
            for (_, step, key) in &resumed.posted {
                prop_assert!(!answered.contains(key.as_str()), "{} was answered and is sent again", key);
                prop_assert!(!(once.contains(step) && before.contains(key.as_str())), "{} is once and was sent before", step);
            }
            let in_doubt: BTreeSet<&str> = before.difference(&answered).copied().collect();
            let again: BTreeSet<&str> = resumed.posted.iter().map(|(_, _, key)| key.as_str()).collect();
            if resumed.is_over() {
                prop_assert_eq!(resumed.status(), RunStatus::Succeeded);
                prop_assert!(in_doubt.is_subset(&again), "{:?} is not sent again with its key", in_doubt.difference(&again));
            }
        }
    }
}

#[test]
fn only_calls_that_may_act_or_are_paid_for_are_waited_for() {
    let waits = |step: Step| {
        let mut world = World::new(planned(vec![with_tools(vec![step], vec![("hook", hook("https://example.com/x"))])]));
        assert_eq!(world.out.len(), 1);
        world.handle(Input::Cancel { by: Canceller::Interrupt });
        let waits = world.is_stopping();
        assert_eq!(waits, !world.is_over());
        waits
    };
    assert!(
        waits(post("a"))
            && waits(http("a", Method::Put))
            && waits(http("a", Method::Delete))
            && waits(agent("a", "Go."))
            && waits(send("a"))
    );
    assert!(!waits(http("a", Method::Get)) && !waits(http("a", Method::Head)) && !waits(query("a")));
}

#[test]
fn an_answer_that_comes_in_time_ends_the_wait_at_once() {
    let mut world = World::new(planned(vec![pipeline("p", vec![post("pay"), set("after", "x")])]));
    world.handle(Input::Cancel { by: Canceller::Interrupt });
    assert!(world.is_stopping() && world.cancelled.is_empty());
    world.handle(Input::Cancel { by: Canceller::Interrupt });
    world.ms += 300;
    world.answer("pay", Says::Yes);
    assert_eq!((world.status(), world.step("pay"), world.ms), (RunStatus::Cancelled, Some(StepStatus::Succeeded), 300));
    assert_eq!((world.count("cancel_requested"), world.count("outcome_unknown")), (1, 0));
    let mut resumed = world.after_crash(world.events.len(), 0);
    assert_eq!((resumed.posted.len(), resumed.status()), (0, RunStatus::Succeeded));
    resumed.finish();
    resumed.check();
}

#[test]
fn a_failure_that_comes_in_time_is_recorded_like_any_other() {
    let mut world = World::new(planned(vec![pipeline("p", vec![post("pay"), set("after", "x")])]));
    world.handle(Input::Cancel { by: Canceller::Interrupt });
    world.answer("pay", Says::No(FailureKind::BadRequest));
    assert_eq!((world.status(), world.step("pay")), (RunStatus::Cancelled, Some(StepStatus::Failed)));
    let resumed = world.after_crash(world.events.len(), 0);
    assert_eq!((resumed.posted.len(), resumed.status()), (0, RunStatus::Failed));
    resumed.check();
}

/// What cuts a call off besides a signal: each way, the call is reported as unknown.
#[test]
fn whatever_cuts_a_call_off_that_may_have_acted_its_outcome_is_told_as_unknown() {
    let second = std::time::Duration::from_secs(1);
    let told = |pipelines: Vec<Pipeline>, act: &dyn Fn(&mut World)| {
        let mut world = World::new(planned(pipelines));
        act(&mut world);
        world.check();
        let unknown = world.events.iter().filter_map(|e| match &e.happening {
            Happening::OutcomeUnknown { step, .. } => Some(step.to_string()),
            Happening::ToolReplied { step, failure: Some(failure), .. } if failure.kind == FailureKind::UnknownOutcome => {
                Some(step.to_string())
            }
            _ => None,
        });
        (world.is_over(), unknown.collect::<Vec<_>>())
    };
    let wait = |world: &mut World| {
        while !world.is_over() {
            world.wait();
        }
    };
    // The run's deadline, and that of a pipeline that it calls.
    let mut late = pipeline("p", vec![post("pay")]);
    late.limits.deadline = Some(second);
    assert_eq!(told(vec![late.clone()], &wait), (true, vec!["pay".to_string()]));
    let call = crate::model::CallStep { file: named("inner.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    assert_eq!(
        told(vec![pipeline("o", vec![step("c", StepKind::Call(call.clone()))]), late.clone()], &wait),
        (true, vec!["c/pay".to_string()])
    );
    // A step's own timeout and deadline, and those of a step that holds it.
    assert_eq!(told(vec![pipeline("p", vec![Step { timeout: Some(second), ..post("pay") }])], &wait).1, ["pay"]);
    assert_eq!(told(vec![pipeline("p", vec![Step { deadline: Some(second), ..post("pay") }])], &wait).1, ["pay"]);
    let holds = Step { timeout: Some(second), ..step("c", StepKind::Call(call)) };
    late.limits.deadline = None;
    assert_eq!(told(vec![pipeline("o", vec![holds]), late], &wait).1, ["c/pay"]);
    // A sibling that failed.
    let elements = for_each(post("pay"), "[1, 2, 3]", true, Some(3));
    let fails = |world: &mut World| world.answer("pay[1]", Says::No(FailureKind::BadRequest));
    assert_eq!(told(vec![pipeline("p", vec![elements])], &fails), (true, vec!["pay[0]".to_string(), "pay[2]".to_string()]));
    // A budget: of steps.
    let mut spent = pipeline("p", vec![needs(query("a"), &[]), needs(post("pay"), &[]), needs(query("b"), &["a"])]);
    spent.limits.max_steps = Some(2);
    assert_eq!(told(vec![spent], &|world| world.answer("a", Says::Yes)), (true, vec!["pay".to_string()]));
    // The agent's time is up while its tool is out.
    let mut bounded = with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))]);
    super::tools::writer(&mut bounded).limits.deadline = Some(second);
    let ask = |world: &mut World| {
        world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
        wait(world);
    };
    assert_eq!(told(vec![bounded], &ask), (true, vec!["a".to_string()]));
}

#[test]
fn a_call_that_had_not_gone_out_is_not_told_as_unknown() {
    // The step limit ends the run in the same moment in which the first call was decided on.
    let mut p = pipeline("p", vec![needs(post("a"), &[]), needs(post("b"), &[])]);
    p.limits.max_steps = Some(1);
    let world = World::new(planned(vec![p]));
    assert_eq!((world.status(), world.posted.len(), world.count("outcome_unknown")), (RunStatus::OverBudget, 0, 0));
    world.check();
}

#[test]
fn a_call_that_still_waits_for_the_journal_has_no_unknown_outcome() {
    let second = std::time::Duration::from_secs(1);
    let begin = || World::that_keeps_nothing(planned(vec![pipeline("p", vec![Step { timeout: Some(second), ..post("pay") }])]));
    // Its time is up before it was taken, or a signal comes.
    let mut late = begin();
    late.wait();
    assert_eq!(late.end().failure.as_ref().unwrap().failure.kind, FailureKind::Timeout);
    late.check();
    let mut ended = begin();
    ended.cancel(Canceller::Interrupt);
    assert_eq!((ended.status(), ended.posted.len(), ended.count("outcome_unknown")), (RunStatus::Cancelled, 0, 0));
    ended.check();
}

#[test]
fn a_process_that_is_killed_while_it_waits_leaves_a_run_that_goes_on() {
    let mut world = World::new(planned(vec![pipeline("p", vec![post("pay"), set("after", "x")])]));
    world.handle(Input::Cancel { by: Canceller::Interrupt });
    let mut resumed = world.after_crash(world.events.len(), 0);
    let sent = |world: &World| world.posted.iter().map(|(_, step, key)| (step.clone(), key.clone())).collect::<Vec<_>>();
    assert_eq!((sent(&resumed), sent(&resumed).len()), (sent(&world), 1));
    assert!(resumed.run.next_timeout().is_none_or(|at| at > 4_000));
    resumed.finish();
    assert_eq!(resumed.status(), RunStatus::Succeeded);
    resumed.check();
}

#[test]
fn an_agent_gets_its_tools_answer_in_time_and_asks_its_model_when_the_run_goes_on() {
    let inner = tool(ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(PipelineId(1)) });
    let outer = with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x")), ("look_up", inner)]);
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![post("pay")])]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" })), ("c2", "look_up", json!({}))]));
    assert_eq!(world.out.len(), 2);
    world.handle(Input::Cancel { by: Canceller::Interrupt });
    let keys: BTreeSet<String> = world.posted.iter().map(|(_, _, key)| key.clone()).collect();
    for _ in 0..2 {
        let call = world.out.remove(0).0;
        world.reply(call, Says::Yes);
    }
    assert_eq!((world.status(), world.count("model_called")), (RunStatus::Cancelled, 1));
    let mut resumed = world.after_crash(world.events.len(), 0);
    assert_eq!((resumed.count("model_called"), resumed.posted.len(), keys.len()), (2, 0, 2));
    let tools: Vec<Value> = resumed.told().into_iter().map(|(role, _)| json!(role)).collect();
    assert_eq!(tools, ["tool", "tool"]);
    resumed.finish();
    resumed.check();
}

#[test]
fn an_older_journal_whose_run_was_cancelled_at_once_reads_as_it_did() {
    let line = r#"{"v":1,"seq":2,"time":"2026-01-05T09:00:00Z","at_ms":1,"run":"r","type":"cancel_requested","by":"interrupt"}"#;
    let event: crate::event::Event = serde_json::from_str(line).unwrap();
    assert_eq!(event.happening, Happening::CancelRequested { by: Canceller::Interrupt, waits_until_ms: None });
    assert_eq!(serde_json::to_string(&event).unwrap(), line);
    let world = World::new(planned(vec![pipeline("p", vec![post("pay")])]));
    let mut state = crate::RunState::default();
    world.events.iter().for_each(|event| state.apply(&world.plan, event));
    state.apply(&world.plan, &crate::event::Event { seq: world.events.len() as u64 + 1, ..event });
    assert!(state.stopping.is_none() && state.interrupted.is_some());
}

#[test]
fn in_a_chat_no_model_is_awaited_and_a_second_request_waits_for_nothing() {
    let chat = |p: Pipeline| World::with(planned(vec![p]), crate::RunSettings { is_chat: true, ..super::world::options() });
    let mut asking = chat(pipeline("p", vec![agent("a", "Go.")]));
    asking.handle(Input::Cancel { by: Canceller::Person });
    assert_eq!((asking.status(), asking.ms, asking.count("grace_ended")), (RunStatus::Cancelled, 0, 0));
    let mut acting = chat(pipeline("p", vec![post("pay")]));
    acting.handle(Input::Cancel { by: Canceller::Person });
    assert!(acting.is_stopping(), "what may act has its time");
    acting.handle(Input::Cancel { by: Canceller::Person });
    assert_eq!((acting.status(), acting.ms, acting.count("outcome_unknown")), (RunStatus::Cancelled, 0, 1));
    acting.check();
    // In any other run a second request changes nothing.
    let mut run = World::new(planned(vec![pipeline("p", vec![agent("a", "Go.")])]));
    run.handle(Input::Cancel { by: Canceller::Interrupt });
    run.handle(Input::Cancel { by: Canceller::Interrupt });
    assert!(run.is_stopping());
}
