//! Calls of tools that a person must allow.

use serde_json::json;

use super::build::*;
use super::tools::{asks, file, hook, says, with_tools, world, writer};
use super::world::{World, options};
use crate::event::{Happening, MessageRole, RunStatus, StepStatus};
use crate::model::{Approve, Filling, Policy, StepKind, Tool, ToolStep};
use crate::{CallReply, Input, Moment, Run};

fn asked(tool: Tool) -> Tool {
    Tool { approve: Approve::Always, ..tool }
}

impl World {
    fn questions(&self) -> Vec<String> {
        let told = |e: &crate::event::Event| match &e.happening {
            Happening::ApprovalRequested { question, .. } => Some(question.clone()),
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }

    fn decide(&mut self, step: &str, approved: bool) {
        self.handle(Input::Decided {
            step: step.into(),
            question: 0,
            approved,
            comment: "not today".into(),
            by: String::new(),
            nobody: false,
            fields: None,
        });
    }
}

/// An agent that asked for one call of a tool that a person must allow.
fn waiting() -> World {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("hook", asked(hook("https://example.com/x")))]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
    world
}

#[test]
fn nothing_goes_out_before_a_person_has_said_yes_and_each_call_is_asked_about() {
    let mut world = waiting();
    assert!(world.run.is_paused() && world.out.is_empty());
    assert_eq!(world.questions(), [r#""a" wants to call hook with {"id":"7"}; allow it?"#]);
    let state = world.run.state();
    assert_eq!(state.steps.node(state.steps.paths["a"]).status, StepStatus::Waiting);
    world.decide("a", true);
    assert_eq!(world.out.len(), 1);
    world.reply_with(Ok(CallReply::Value(json!("done"))));
    // The same call once more is another act.
    world.reply_with(asks(&[("c2", "hook", json!({ "id": "7" }))]));
    assert!(world.run.is_paused() && world.questions().len() == 2);
    world.decide("a", true);
    world.reply_with(Ok(CallReply::Value(json!("done"))));
    world.reply_with(says("All done."));
    assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!("All done."))));
    world.check();
}

#[test]
fn a_no_is_told_to_the_model_and_fails_a_step() {
    let mut world = waiting();
    world.decide("a", false);
    let heard = "This did not work (rejected): a person rejected this call of \"hook\": not today";
    assert_eq!(world.told(), [(MessageRole::Tool, heard.to_string())]);
    world.reply_with(says("Then not."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();

    let kind = StepKind::Tool(ToolStep {
        tool: named("hook"),
        with: vec![(named("id"), Filling::Constant(json!("7")))],
        output: None,
        idempotency_key: None,
    });
    let mut world = super::tools::world(with_tools(vec![step("call", kind)], vec![("hook", asked(hook("https://example.com/x")))]));
    assert!(world.run.is_paused() && world.out.is_empty());
    world.decide("call", false);
    assert_eq!((world.status(), world.end().failure.as_ref().unwrap().failure.kind.word()), (RunStatus::Failed, "rejected"));
    world.check();
}

#[test]
fn other_calls_go_on_meanwhile() {
    let tools = vec![("docs", file()), ("hook", asked(hook("https://example.com/x")))];
    let mut world = world(with_tools(vec![agent("a", "Go."), needs(query("b"), &[])], tools));
    let (call, _) = world.out.iter().find(|(_, step)| step == "a").cloned().unwrap();
    world.out.retain(|(other, _)| *other != call);
    world.handle(Input::Reply {
        call,
        result: asks(&[("c1", "hook", json!({ "id": "7" })), ("c2", "docs-read", json!({ "name": "a.md" }))]),
    });
    assert_eq!(world.out.len(), 2, "the query and the other call");
    assert!(!world.run.is_paused());
    world.reply_with(Ok(CallReply::Value(json!("Notes."))));
    assert!(!world.run.is_paused());
    world.answer("b", super::world::Says::Yes);
    assert!(world.run.is_paused());
    world.decide("a", true);
    assert_eq!(world.out.len(), 1);
    world.check();
}

#[test]
fn an_answer_from_another_process_counts_when_the_run_goes_on() {
    for approved in [true, false] {
        let world = waiting();
        let mut events = world.events.clone();
        let last = events.last().unwrap().clone();
        let happening = Happening::ApprovalAnswered {
            step: "a".into(),
            approved,
            output: None,
            comment: String::new(),
            by: String::new(),
            nobody: false,
        };
        events.push(crate::event::Event { seq: last.seq + 1, happening, ..last });
        let now = Moment { wall: super::world::start(), ms: world.ms };
        let run = Run::resumed("r_test", world.plan.clone(), options(), now, &events).unwrap();
        let mut after = World { run, events, out: vec![], ..World::new(world.plan.clone()) };
        after.handle(Input::Resume { away_ms: 1000 });
        assert_eq!(after.out.len(), 1, "the call, or what the model is told");
        let is_tool = matches!(after.events.last().map(|e| &e.happening), Some(Happening::ToolCalled { .. }));
        assert_eq!(is_tool, approved);
        assert_eq!(after.questions().len(), 1, "nobody is asked twice");
    }
}

#[test]
fn a_policy_asks_by_pattern_and_nobody_is_asked_about_what_it_refuses() {
    let with = |policy: Policy| {
        let mut pipeline = with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))]);
        pipeline.policies = [("careful".to_string(), policy)].into_iter().collect();
        writer(&mut pipeline).policy = Some(named("careful"));
        let mut world = world(pipeline);
        world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
        world
    };
    let open = Policy { allowed_tools: Some(vec![named("hook")]), hosts: Some(vec![named("example.com")]), ..Policy::default() };
    let asking = with(Policy { approval_required: vec![named("hook")], ..open.clone() });
    assert!(asking.run.is_paused() && asking.questions().len() == 1);
    let refusing = with(Policy { approval_required: vec![named("hook")], disallowed_tools: vec![named("hook")], ..open });
    assert!(!refusing.run.is_paused() && refusing.questions().is_empty());
}
