//! What an MCP server asks a person during a call.

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::*;
use super::serving::{agent_with, asks, gives, listed, pipeline_with, server, uses};
use super::world::{World, options};
use crate::event::{Event, Failure, FailureKind, FormRequest, Happening, RunStatus, ServerQuestion, ServerQuestions};
use crate::model::Tool;
use crate::port::ServerReply;
use crate::{CallReply, Input, Moment, Run};

fn question(id: &str) -> ServerQuestion {
    let fields = json!({ "type": "object", "additionalProperties": false, "required": ["nights"], "properties": {
        "nights": { "type": "integer", "minimum": 1, "default": "two" }, "view": { "type": "string", "default": "sea" },
    } });
    ServerQuestion { id: id.into(), message: format!("Room {id}?\n\u{202e}ok"), fields, url: None }
}

fn wants(questions: Vec<ServerQuestion>) -> Result<CallReply, Failure> {
    let asks = Some(Box::new(ServerQuestions { questions, state: Some(json!("s-1")), live: None }));
    Ok(CallReply::Tool(ServerReply { asks, ..ServerReply::default() }))
}

fn says(approved: bool, fields: Value) -> Input {
    Input::Decided {
        step: "a".into(),
        question: 0,
        approved,
        comment: String::new(),
        by: "ana".into(),
        nobody: false,
        fields: Some(fields),
    }
}

impl World {
    fn form(&self) -> (String, FormRequest) {
        let asked = self.events.iter().rev().find_map(|event| match &event.happening {
            Happening::ApprovalRequested { question, form: Some(form), .. } => Some((question.clone(), (**form).clone())),
            _ => None,
        });
        asked.unwrap()
    }

    /// What the call that is out gives back.
    fn sent_back(&self) -> (Value, Option<Value>) {
        assert!(!self.out.is_empty(), "no call is out: {:?}", self.lines());
        let answers = self.served.last().and_then(|call| call.answers.clone()).unwrap_or_default();
        (json!(answers.answers), answers.state)
    }
}

/// A step whose server has asked this.
fn asked(questions: Vec<ServerQuestion>) -> World {
    let tool = Tool { questions: true, ..server(None) };
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.say", json!({ "city": "Bonn" }))], tool)]));
    world.hands(Ok(CallReply::Tools(listed())));
    world.hands(wants(questions));
    world
}

#[test]
fn questions_are_asked_one_by_one_and_the_call_is_made_again_with_the_answers() {
    let mut world = asked(vec![question("one"), question("two")]);
    assert!(world.run.is_paused() && world.out.is_empty());
    let (ask, form) = world.form();
    assert_eq!(form.show.as_deref(), Some("server \"weather\" asks, during a call of its tool \"say\":\n  | Room one?\n  | ok"));
    assert_eq!(ask, "Answer server \"weather\"? What you type goes to it: never type passwords, keys or card numbers.");
    // A default that does not fit is none.
    assert_eq!((form.fields["properties"]["nights"].get("default"), &form.fields["properties"]["view"]["default"]), (None, &json!("sea")));
    world.handle(says(true, json!({ "nights": 0 })));
    assert_eq!((world.count("approval_requested"), world.count("approval_answered")), (1, 0));
    world.handle(says(true, json!({ "nights": 2 })));
    assert!(world.form().1.show.unwrap().contains("Room two?") && world.run.is_paused());
    world.handle(says(false, Value::Null));
    let one = json!({ "action": "accept", "content": { "nights": 2, "view": "sea" } });
    assert_eq!(world.sent_back(), (json!({ "one": one, "two": { "action": "decline" } }), Some(json!("s-1"))));
    world.hands(gives(json!("booked")));
    assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!("booked"))));
    assert_eq!((world.count("server_asked"), world.count("tool_called"), world.count("tool_replied")), (1, 2, 1));
    world.check();
}

#[test]
fn a_call_that_fails_after_a_no_tells_what_was_asked() {
    let mut world = asked(vec![question("one")]);
    world.handle(Input::Decided {
        step: "a".into(),
        question: 0,
        approved: false,
        comment: "too dear".into(),
        by: String::new(),
        nobody: false,
        fields: None,
    });
    let reply = ServerReply { value: json!("nothing booked"), is_error: true, ..ServerReply::default() };
    world.hands(Ok(CallReply::Tool(reply)));
    let expected = "tool \"weather.say\" reported an error: nothing booked; it had asked \"Room one? ok\", and a person said no (too dear)";
    assert_eq!((world.failure().kind, world.failure().message.as_str()), (FailureKind::Refused, expected));
    world.check();
}

#[test]
fn a_page_is_shown_with_its_host_and_only_a_yes_goes_back() {
    let fields = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let url = Some("https://pay.example:8443/x?y=https://bank.example".to_owned());
    let mut world = asked(vec![ServerQuestion { id: "p".into(), message: "Pay".into(), fields, url }]);
    let (ask, form) = world.form();
    assert_eq!(
        ask,
        "Server \"weather\" wants you to open a page of pay.example:8443: open it only if you trust that host. Have you done what it asks there?"
    );
    assert!(form.show.unwrap().contains("The page is of pay.example:8443; flow does not open it:\n  https://pay.example:8443/x?y="));
    world.handle(says(true, json!({})));
    assert_eq!(world.sent_back().0, json!({ "p": { "action": "accept" } }));
}

#[test]
fn a_server_that_asks_on_and_on_is_answered_a_few_times_and_no_more() {
    let mut world = asked(vec![]);
    for _ in 0..7 {
        assert_eq!(world.sent_back(), (json!({}), Some(json!("s-1"))));
        world.hands(wants(vec![]));
    }
    world.hands(wants(vec![question("late")]));
    assert_eq!((world.failure().kind, world.count("server_asked")), (FailureKind::Limit, 8));
    assert!(world.failure().message.contains("has asked 8 times during one call"), "{}", world.failure().message);
    world.check();
}

#[test]
fn a_later_process_makes_the_call_with_the_answer_that_was_given_meanwhile() {
    let world = asked(vec![question("one")]);
    let mut events = world.events.clone();
    let last = events.last().unwrap().clone();
    let output = Some(Arc::new(json!({ "nights": 3 })));
    let happening =
        Happening::ApprovalAnswered { step: "a".into(), approved: true, output, comment: String::new(), by: String::new(), nobody: false };
    events.push(Event { seq: last.seq + 1, happening, ..last });
    let now = Moment { wall: super::world::start(), ms: world.ms };
    let run = Run::resumed("r_test", world.plan.clone(), options(), now, &events).unwrap();
    let mut after = World { run, events, out: vec![], ms: world.ms, ..World::new(world.plan.clone()) };
    after.handle(Input::Resume { away_ms: 5_000 });
    assert_eq!(after.sent_back().0["one"]["content"]["nights"], 3);
    after.hands(gives(json!("booked")));
    assert_eq!(after.status(), RunStatus::Succeeded);
}

#[test]
fn a_call_of_an_agent_waits_for_its_answer_and_the_model_hears_the_result_alone() {
    let mut world = agent_with(&["weather.say"], Tool { questions: true, approve: crate::model::Approve::Always, ..server(None) });
    world.hands(Ok(CallReply::Tools(listed())));
    world.hands(asks("weather-say", json!({ "city": "Bonn" })));
    world.handle(says(true, Value::Null));
    world.hands(wants(vec![question("one")]));
    world.handle(says(true, json!({ "nights": 2 })));
    // Nobody is asked a second time whether the call may be made.
    assert_eq!((world.count("approval_requested"), world.sent_back().0["one"]["action"].clone()), (2, json!("accept")));
    world.hands(gives(json!("booked")));
    assert!(world.heard().contains("booked") && !world.heard().contains("Room one"), "{}", world.heard());
    world.check();
}
