//! `approval`: a question to a person, with a form.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::build::*;
use super::world::{World, options, start};
use crate::event::{Event, Happening, RunStatus, StepStatus};
use crate::model::{ApprovalStep, Field, FieldKind, Filling, Mock, OnFailure, Shape, Step, StepKind};
use crate::{Input, Moment, Run};

/// `{ hours: integer from 1, text: { default: the draft } }`.
fn asks(id: &str, on_timeout: Option<&str>) -> Step {
    let hours = Field { minimum: Some(1.0), ..Field::new("hours", FieldKind::Integer) };
    let own = ApprovalStep::OWN.map(|name| Field::new(name, FieldKind::Text));
    let fields = own.into_iter().chain([hours, Field::new("text", FieldKind::Text)]).collect();
    step(
        id,
        StepKind::Approval(ApprovalStep {
            questions: None,
            question: text("Send {{ steps.draft.output }}?"),
            show: Some(Filling::Text(text("Draft: {{ steps.draft.output }}"))),
            gives: Shape::Fields(fields),
            defaults: vec![(named("text"), Filling::Text(text("{{ steps.draft.output }}")))],
            on_timeout: on_timeout.map(named),
        }),
    )
}

fn within(mut step: Step, seconds: u64) -> Step {
    step.timeout = Some(Duration::from_secs(seconds));
    step
}

fn world(steps: Vec<Step>) -> World {
    let all = std::iter::once(set("draft", "Hello")).chain(steps).collect();
    World::new(planned(vec![pipeline("p", all)]))
}

fn says(approved: bool, fields: Option<Value>) -> Input {
    Input::Decided { step: "ask".into(), question: 0, approved, comment: "fine".into(), by: "ana".into(), nobody: false, fields }
}

impl World {
    fn kind_of_end(&self) -> (&'static str, String) {
        let failure = &self.end().failure.as_ref().unwrap().failure;
        (failure.kind.word(), failure.message.clone())
    }
}

/// The run in a later process, which knows of it what its events say, and of one more.
fn later(world: &World, away_ms: u64, answer: Option<Happening>) -> World {
    let mut events = world.events.clone();
    let last = events.last().unwrap().clone();
    events.extend(answer.map(|happening| Event { seq: last.seq + 1, happening, ..last }));
    let now = Moment { wall: start(), ms: world.ms };
    let run = Run::resumed("r_test", world.plan.clone(), options(), now, &events).unwrap();
    let mut after = World { run, events, out: vec![], ms: world.ms, ..World::new(world.plan.clone()) };
    after.handle(Input::Resume { away_ms });
    after
}

#[test]
fn a_run_waits_for_the_answer_and_continues_with_it() {
    let mut world = world(vec![asks("ask", None), set("send", "{{ steps.ask.output.by }}: {{ steps.ask.output.text }}")]);
    assert!(world.run.is_paused() && !world.is_over());
    let form = world.events.iter().find_map(|event| match &event.happening {
        Happening::ApprovalRequested { question, form: Some(form), .. } => Some((question.clone(), form.clone())),
        _ => None,
    });
    let (question, form) = form.unwrap();
    assert_eq!((question.as_str(), form.show.as_deref(), form.until_ms), ("Send Hello?", Some("Draft: Hello"), None));
    assert_eq!(form.names().collect::<Vec<_>>(), ["hours", "text"]);
    assert_eq!(form.fields["properties"]["text"]["default"], "Hello");
    // What does not fit is not taken.
    for wrong in [None, Some(json!({ "hours": 0 })), Some(json!({ "hours": 2, "other": 1 })), Some(json!([2]))] {
        assert!(!world.run.form_problems("ask", wrong.as_ref()).is_empty());
        world.handle(says(true, wrong));
        assert!(world.run.is_paused(), "{:?}", world.lines());
    }
    world.handle(says(true, Some(json!({ "hours": 2 }))));
    assert_eq!(world.output("ask"), Some(json!({ "by": "ana", "comment": "fine", "hours": 2, "text": "Hello" })));
    assert_eq!((world.status(), world.output("send")), (RunStatus::Succeeded, Some(json!("ana: Hello"))));
    world.check();
}

#[test]
fn a_no_fails_the_run_with_its_reason_and_what_stands_in_runs() {
    let mut no = world(vec![asks("ask", None), set("send", "sent")]);
    no.handle(says(false, None));
    assert_eq!((no.status(), no.kind_of_end()), (RunStatus::Failed, ("rejected", "ana said no: fine".to_string())));
    assert_eq!(no.step("send"), Some(StepStatus::Blocked));
    no.check();

    let mut asked = asks("ask", None);
    asked.on_failure = OnFailure::Step(named("other"));
    let mut replaced = world(vec![asked, set("other", "kept")]);
    replaced.handle(says(false, None));
    assert_eq!((replaced.status(), replaced.output("other")), (RunStatus::Partial, Some(json!("kept"))));
    replaced.check();
}

#[test]
fn an_answer_of_another_process_counts_once_and_nobody_is_asked_twice() {
    for approved in [true, false] {
        let world = world(vec![asks("ask", None)]);
        let again = later(&world, 5_000, None);
        assert!(again.run.is_paused() && again.count("approval_requested") == 1, "{:?}", again.lines());
        let output = approved.then(|| Arc::new(json!({ "hours": 3, "text": "Bye" })));
        let answer =
            Happening::ApprovalAnswered { step: "ask".into(), approved, output, comment: String::new(), by: String::new(), nobody: false };
        let after = later(&world, 5_000, Some(answer));
        assert_eq!(after.status(), if approved { RunStatus::Succeeded } else { RunStatus::Failed });
        assert_eq!(after.count("approval_requested"), 1);
        if !approved {
            assert_eq!(after.kind_of_end(), ("rejected", "a person said no".to_string()));
        }
        after.check();
    }
}

#[test]
fn an_answer_to_a_once_step_is_followed_and_not_doubted() {
    let mut once = asks("ask", None);
    once.is_once = true;
    let world = world(vec![once]);
    let output = Some(Arc::new(json!({ "hours": 3 })));
    let answer = Happening::ApprovalAnswered {
        step: "ask".into(),
        approved: true,
        output,
        comment: String::new(),
        by: String::new(),
        nobody: false,
    };
    assert_eq!(later(&world, 0, Some(answer)).status(), RunStatus::Succeeded);
}

#[test]
fn time_for_an_answer_counts_over_processes_and_its_end_is_a_no() {
    let asked = world(vec![within(asks("ask", None), 60), set("send", "sent")]);
    assert!(asked.run.is_paused(), "waiting costs nothing: {:?}", asked.lines());
    assert_eq!(asked.run.state().time_to_answer(), Some(60_000));
    let early = later(&asked, 59_000, None);
    assert!(early.run.is_paused() && early.run.state().time_to_answer() == Some(1_000));
    let late = later(&asked, 61_000, None);
    assert_eq!((late.status(), late.kind_of_end()), (RunStatus::Failed, ("rejected", "nobody answered within 1m".to_string())));
    late.check();
    // An answer that was given in time counts, however late the run continues.
    let output = Some(Arc::new(json!({ "hours": 3 })));
    let answer = Happening::ApprovalAnswered {
        step: "ask".into(),
        approved: true,
        output,
        comment: String::new(),
        by: String::new(),
        nobody: false,
    };
    assert_eq!(later(&asked, 600_000, Some(answer)).status(), RunStatus::Succeeded);
    // One that comes too late in this process does not.
    let mut world = world(vec![within(asks("ask", None), 60)]);
    world.ms = 60_000;
    world.handle(says(true, Some(json!({ "hours": 3 }))));
    assert_eq!(world.kind_of_end().0, "rejected");
    world.check();
}

#[test]
fn a_step_runs_only_when_nobody_answered() {
    let steps = || vec![within(asks("ask", Some("remind")), 60), set("remind", "reminded"), needs(set("send", "sent"), &["ask"])];
    let late = later(&world(steps()), 61_000, None);
    assert_eq!((late.status(), late.output("remind")), (RunStatus::Partial, Some(json!("reminded"))));
    assert_eq!(late.step("send"), Some(StepStatus::Blocked));
    late.check();
    for (approved, status) in [(true, RunStatus::Succeeded), (false, RunStatus::Failed)] {
        let mut answered = world(steps());
        answered.handle(says(approved, Some(json!({ "hours": 1 }))));
        assert_eq!(answered.status(), status, "{:?}", answered.lines());
        assert_eq!(answered.output("remind"), None);
        answered.check();
    }
}

#[test]
fn other_work_goes_on_and_a_default_that_does_not_fit_is_told() {
    let mut beside = world(vec![needs(query("other"), &["draft"]), needs(asks("ask", None), &["draft"])]);
    assert!(!beside.run.is_paused());
    beside.handle(says(true, Some(json!({ "hours": 1 }))));
    beside.answer("other", super::world::Says::Yes);
    assert_eq!(beside.status(), RunStatus::Succeeded);
    beside.check();

    let mut wrong = asks("ask", None);
    let StepKind::Approval(approval) = &mut wrong.kind else { panic!("an approval") };
    approval.defaults = vec![(named("hours"), Filling::Text(text("{{ steps.draft.output }}")))];
    let wrong = world(vec![wrong]);
    let (kind, message) = wrong.kind_of_end();
    assert!(kind == "bad_shape" && message.contains("default of field \"hours\" does not fit"), "{message}");
}

#[test]
fn a_cancelled_run_asks_nobody_and_continues_to_ask_when_it_is_resumed() {
    let mut world = world(vec![within(asks("ask", None), 60)]);
    world.cancel(crate::event::Canceller::Interrupt);
    assert_eq!(world.status(), RunStatus::Cancelled);
    world.check();
    let after = later(&world, 1_000, None);
    assert!(after.run.is_paused() && after.count("approval_requested") == 1);
    assert_eq!(after.run.state().undecided().count(), 1);
}

#[test]
fn a_mock_answers_in_a_test_and_without_one_the_step_fails() {
    let with = |mock: Option<Mock>| {
        let mut options = options();
        options.mocks.refuses_effects = true;
        options.mocks.by_name.extend(mock.map(|mock| ("ask".to_string(), mock)));
        World::with(planned(vec![pipeline("p", vec![set("draft", "Hello"), asks("ask", None)])]), options)
    };
    let answered = with(Some(Mock::Output(json!({ "hours": 2, "by": "ana" }))));
    assert_eq!(answered.output("ask"), Some(json!({ "by": "ana", "comment": "", "hours": 2, "text": "Hello" })));
    let wrong = with(Some(Mock::Output(json!({ "hours": 0 }))));
    assert_eq!(wrong.kind_of_end().0, "bad_shape");
    let none = with(None);
    assert_eq!(none.kind_of_end(), ("denied", "\"ask\" asks a person; add a mock with the answer".to_string()));
    assert_eq!(none.run.noted().unanswered.len(), 1);
}

#[test]
fn a_question_that_no_step_could_use_is_taken_back() {
    // The run has failed, or a `stop` has ended it, beside the question.
    let fails = || needs(agent("bad", "Go."), &[]);
    let mut world = world(vec![needs(asks("ask", None), &["draft"]), fails(), needs(set("send", "x"), &["ask", "bad"])]);
    assert!(!world.run.is_paused(), "a call is out");
    world.reply_with(Err(crate::event::Failure::new(crate::event::FailureKind::BadRequest, "no")));
    assert_eq!(
        (world.status(), world.step("ask"), world.step("send")),
        (RunStatus::Failed, Some(StepStatus::Cancelled), Some(StepStatus::Blocked))
    );
    world.check();
    // Where the failure is allowed, somebody is asked as before.
    let allowed = Step { on_failure: OnFailure::Continue, ..fails() };
    let mut world = self::world(vec![needs(asks("ask", None), &["draft"]), allowed]);
    world.reply_with(Err(crate::event::Failure::new(crate::event::FailureKind::BadRequest, "no")));
    assert!(world.run.is_paused());
    world.handle(says(true, Some(json!({ "hours": 2 }))));
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}
