//! What of an answer goes back to its model in later turns: ids of calls, and what its endpoint wants back.

use std::sync::Arc;

use serde_json::json;

use super::build::*;
use super::tools::{asks, file, says, with_tools, world};
use super::world::{World, options, start};
use crate::event::{AnswerState, Event, Happening, ModelAnswer, RunStatus};
use crate::journal::{PersonalMask, public_value, record};
use crate::port::ModelReply;
use crate::{CallReply, Input, Moment, Run};

/// The ids of the calls in the answers, and of the results that went back, in their order.
fn ids(events: &[Event]) -> (Vec<String>, Vec<String>) {
    let (mut asked, mut told) = (vec![], vec![]);
    for event in events {
        match &event.happening {
            Happening::ModelReplied { reply: ModelAnswer::Said { calls, .. }, .. } => {
                asked.extend(calls.iter().map(|call| call.id.clone()))
            }
            Happening::ModelCalled { messages, .. } => told.extend(messages.iter().filter_map(|message| message.call_id.clone())),
            _ => {}
        }
    }
    (asked, told)
}

#[test]
fn ids_of_calls_are_unique_in_a_conversation() {
    let call = |id| (id, "shell", json!({}));
    for (turns, expected) in [
        (vec![vec!["call_0"], vec!["call_0"]], vec!["call_0", "call00002"]),
        (vec![vec![""], vec![""], vec!["", "x"]], vec!["call00001", "call00002", "call00003", "x"]),
        (vec![vec!["a", "a", ""]], vec!["a", "call00001", "call00002"]),
        (vec![vec!["", "call00001"], vec!["call00001"]], vec!["call00002", "call00001", "call00003"]),
        (vec![vec!["functions.note:0/é", "b"]], vec!["functions.note:0/é", "b"]),
    ] {
        let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file())]));
        for turn in turns {
            world.reply_with(asks(&turn.into_iter().map(call).collect::<Vec<_>>()));
        }
        world.reply_with(says("Done."));
        assert_eq!(
            ids(&world.events),
            (expected.iter().map(ToString::to_string).collect(), expected.iter().map(ToString::to_string).collect())
        );
        assert_eq!(world.status(), RunStatus::Succeeded);
        world.check();
    }
}

#[test]
fn what_an_endpoint_wants_back_goes_back_also_after_a_resume_and_nobody_else_sees_it() {
    let mut before = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file())]));
    let state = Arc::new(AnswerState { from: "m".into(), parts: json!({ "reasoning_content": "I must not mention Ana." }) });
    let Ok(CallReply::Model(reply)) = asks(&[("c1", "shell", json!({}))]) else { panic!() };
    let notes = vec!["thoughts before it were left out".to_owned()];
    before.reply_with(Ok(CallReply::Model(ModelReply { state: Some(Arc::clone(&state)), notes: notes.clone(), ..reply })));
    let sent = |world: &World| world.asked.last().unwrap().messages.iter().find_map(|message| message.state.clone());
    assert_eq!(sent(&before), Some(Arc::clone(&state)));
    before.check();

    let now = Moment { wall: start(), ms: before.ms };
    let run = Run::resumed("r_test", before.plan.clone(), options(), now, &before.events).unwrap();
    let mut after = World { run, events: before.events, out: vec![], ..World::new(before.plan.clone()) };
    after.handle(Input::Resume { away_ms: 1000 });
    assert_eq!(sent(&after), Some(state));
    after.reply_with(says("Hello."));
    assert_eq!(after.status(), RunStatus::Succeeded);
    after.check();
    let record = record(&after.events).unwrap();
    assert_eq!(record.interactions[0].readings, notes);
    assert!(!serde_json::to_string(&record).unwrap().contains("must not"));
    let mut mask = PersonalMask::default();
    mask.take(&after.events);
    for event in &after.events {
        let told = public_value(event, mask.for_run(&after.events), true).to_string();
        assert!(!told.contains("must not") && !told.contains("reasoning_content"), "{told}");
    }
}
