//! From events to spans.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};

use super::{Completed, RunSpans, context_of_call};
use crate::event::{Event, Happening, Marks, RunStart, StepPath, TraceContext, Usage, VERSION, span_id, trace_id};
use crate::journal::PersonalMask;
use crate::port::{AttributeValue, CallFacts, Measurement, Metric, SpanRecord, WireFormat};

const RUN: &str = "r_1";

/// Events from their JSON, one second apart.
fn events(happened: &[Value]) -> Vec<Event> {
    let event = |(place, happening): (usize, &Value)| {
        let seconds = place as i64;
        let happening: Happening = serde_json::from_value(happening.clone()).unwrap_or_else(|why| panic!("{happening}: {why}"));
        let time = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        Event { v: VERSION, seq: seconds as u64 + 1, time, at_ms: seconds as u64 * 1000, run: RUN.into(), happening }
    };
    happened.iter().enumerate().map(event).collect()
}

fn started(trace: Option<&str>) -> Value {
    let start =
        RunStart { pipeline: "shop".into(), trace: trace.and_then(|parent| TraceContext::read(parent, None)), ..RunStart::default() };
    serde_json::to_value(Happening::RunStarted(Box::new(start))).unwrap()
}

fn ended(status: &str) -> Value {
    json!({ "type": "run_finished", "status": status, "outputs": null, "usage": Usage::default() })
}

fn began(step: &str) -> Value {
    json!({ "type": "step_started", "step": step, "attempt": 1, "round": 1 })
}

fn succeeded(step: &str) -> Value {
    json!({ "type": "step_succeeded", "step": step, "output": null, "details": {} })
}

fn asked(step: &str, call: u64, agent: &str, purpose: &str, fresh: bool) -> Value {
    json!({
        "type": "model_called", "step": step, "call": call, "agent": agent, "model": "default", "purpose": purpose, "attempt": 1, "fresh": fresh,
        "timeout_at_ms": 0, "messages": [{ "role": "user", "text": "canary asks" }], "reserved_tokens": 0,
    })
}

fn said(step: &str, call: u64) -> Value {
    let usage = json!({ "input_tokens": 7, "output_tokens": 3 });
    json!({ "type": "model_replied", "step": step, "call": call, "reply": { "said": { "text": "canary says" } }, "duration_ms": 5, "usage": usage })
}

fn failure() -> Value {
    json!({ "kind": "timeout", "message": "canary was late" })
}

fn all(happened: &[Value]) -> Completed {
    taken(RunSpans::default(), &events(happened), false)
}

fn taken(mut spans: RunSpans, events: &[Event], with_content: bool) -> Completed {
    let mut all = Completed::default();
    let mut mask = PersonalMask::default();
    for (place, event) in events.iter().enumerate() {
        mask.take(&events[..=place]);
        let content = with_content.then(|| mask.for_run(&events[..=place]));
        let facts = CallFacts {
            wire: Some(WireFormat::AnthropicMessages),
            model: "m-1".into(),
            server: ("api.example".into(), 443),
            temperature: Some(0.5),
            is_json: true,
            ..CallFacts::default()
        };
        let is_reply = matches!(event.happening, Happening::ModelReplied { .. });
        let done = spans.take(event, is_reply.then_some(&facts), content);
        all.spans.extend(done.spans);
        all.measured.extend(done.measured);
    }
    all
}

fn named<'a>(done: &'a Completed, name: &str) -> &'a SpanRecord {
    let found: Vec<&SpanRecord> = done.spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name}: {:#?}", done.spans);
    found[0]
}

fn of<'a>(span: &'a SpanRecord, name: &str) -> Option<&'a AttributeValue> {
    span.attributes.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
}

fn is_in(inner: &SpanRecord, outer: &SpanRecord) -> bool {
    inner.parent.as_ref().is_some_and(|parent| parent.span_id == outer.span_id && !parent.is_remote) && inner.trace_id == outer.trace_id
}

#[test]
fn a_run_is_a_tree_of_run_step_agent_and_call() {
    let tool = json!({ "type": "tool_called", "step": "answer", "call": 2, "tool": "crm", "with": { "id": "canary" }, "timeout_at_ms": 0, "attempt": 1, "asked": 0 });
    let gave = json!({ "type": "tool_replied", "step": "answer", "call": 2, "duration_ms": 1, "result": "canary", "asked": 0 });
    let done = all(&[
        started(None),
        began("answer"),
        asked("answer", 1, "writer", "turn", true),
        said("answer", 1),
        tool,
        gave,
        asked("answer", 3, "writer", "turn", false),
        said("answer", 3),
        succeeded("answer"),
        ended("succeeded"),
    ]);
    let (run, step, agent) = (named(&done, "invoke_workflow shop"), named(&done, "step answer"), named(&done, "invoke_agent writer"));
    let tool = named(&done, "execute_tool crm");
    let chats: Vec<&SpanRecord> = done.spans.iter().filter(|span| span.name == "chat m-1").collect();
    assert_eq!((chats.len(), done.spans.len(), run.parent.as_ref()), (2, 6, None));
    assert!(is_in(step, run) && is_in(agent, step) && is_in(tool, agent) && chats.iter().all(|chat| is_in(chat, agent)));
    assert_eq!(run.trace_id, trace_id(RUN, &RunStart::default()));
    assert!(chats[0].is_client && !tool.is_client);
    let text = |text: &str| Some(AttributeValue::from(text));
    assert_eq!(of(chats[0], "gen_ai.provider.name").cloned(), text("anthropic"));
    assert_eq!(of(chats[0], "gen_ai.output.type").cloned(), text("json"));
    assert_eq!(of(chats[0], "server.port"), Some(&AttributeValue::Int(443)));
    assert_eq!(of(chats[0], "gen_ai.usage.input_tokens"), Some(&AttributeValue::Int(7)));
    assert_eq!(of(tool, "gen_ai.agent.name").cloned(), text("writer"));
    assert_eq!((run.end - run.start).num_seconds(), 9);
    // What others are told of a call is its span.
    let here = TraceContext { trace_id: run.trace_id.clone(), sampled: true, ..TraceContext::default() };
    assert_eq!(context_of_call(RUN, &here, 2).span_id, tool.span_id);
    assert!(!format!("{done:?}").contains("canary"), "{done:#?}");
}

#[test]
fn measurements_are_the_durations_and_tokens() {
    let done = all(&[
        started(None),
        began("answer"),
        asked("answer", 1, "writer", "turn", true),
        said("answer", 1),
        succeeded("answer"),
        ended("succeeded"),
    ]);
    let values = |metric| -> Vec<f64> { done.measured.iter().filter(|one| one.metric == metric).map(|one| one.value).collect() };
    assert_eq!(values(Metric::OperationDuration), [1.0]);
    assert_eq!(values(Metric::TokenUsage), [7.0, 3.0]);
    assert_eq!(values(Metric::AgentDuration), [2.0]);
    assert_eq!(values(Metric::WorkflowDuration), [5.0]);
    let Measurement { attributes, .. } = done.measured.iter().find(|one| one.metric == Metric::TokenUsage).unwrap();
    for name in ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type", "server.address"] {
        assert!(attributes.iter().any(|(own, _)| *own == name), "{name}");
    }
    assert!(!attributes.iter().any(|(own, _)| own.starts_with("flow.") || *own == "gen_ai.usage.input_tokens"));
}

#[test]
fn a_retried_try_and_a_failed_step_say_why() {
    let again = json!({ "type": "step_started", "step": "answer", "attempt": 2, "round": 1 });
    let late = json!({ "type": "model_replied", "step": "answer", "call": 1, "reply": { "failed": failure() }, "duration_ms": 5 });
    let done = all(&[
        started(None),
        began("answer"),
        asked("answer", 1, "writer", "turn", true),
        late,
        json!({ "type": "attempt_failed", "step": "answer", "attempt": 1, "failure": failure(), "retry_at_ms": 0 }),
        again,
        asked("answer", 2, "writer", "turn", true),
        said("answer", 2),
        json!({ "type": "step_failed", "step": "answer", "failure": failure(), "attempts": 2 }),
        ended("failed"),
    ]);
    let step = named(&done, "step answer");
    assert_eq!((step.error, of(step, "flow.attempt")), (Some("timeout"), Some(&AttributeValue::Int(2))));
    assert_eq!(step.events.iter().map(|event| event.name).collect::<Vec<_>>(), ["flow.attempt.failed"]);
    let agents: Vec<&SpanRecord> = done.spans.iter().filter(|span| span.name == "invoke_agent writer").collect();
    assert!(agents.len() == 2 && agents.iter().all(|agent| is_in(agent, step) && agent.error == Some("timeout")));
    let errors: Vec<_> = done.spans.iter().filter(|span| span.name == "chat m-1").map(|chat| chat.error).collect();
    assert_eq!(errors, [Some("timeout"), None]);
    let run = named(&done, "invoke_workflow shop");
    assert_eq!((run.error, of(run, "error.type").cloned()), (Some("failed"), Some("failed".into())));
}

#[test]
fn elements_calls_and_refined_steps_have_their_places() {
    let call = json!({ "type": "call_opened", "step": "each[1]", "pipeline": "inner", "inputs": {}, "channel": null, "person": {} });
    let verdicts = json!([{ "id": "polite", "description": "", "passed": false, "feedback": "canary", "evidence": "" }]);
    let gate = json!({
        "type": "gate_failed", "step": "check", "round": 1, "verdicts": verdicts, "for_good": false, "question": null, "judged": null, "cause": "",
    });
    let second = json!({ "type": "step_started", "step": "draft", "attempt": 1, "round": 2 });
    let done = all(&[
        started(None),
        began("each"),
        began("each[0]"),
        began("each[1]"),
        call,
        began("each[1]/note"),
        succeeded("each[0]"),
        succeeded("each[1]/note"),
        succeeded("each[1]"),
        succeeded("each"),
        began("draft"),
        succeeded("draft"),
        began("check"),
        gate,
        json!({ "type": "refinement_started", "step": "check", "target": "draft", "original": null, "failed": [], "feedback": "canary" }),
        second,
        succeeded("draft"),
        succeeded("check"),
        ended("partial"),
    ]);
    let list = done.spans.iter().find(|span| of(span, "flow.step.path") == Some(&"each".into())).unwrap();
    let element = named(&done, "invoke_workflow inner");
    assert!(is_in(element, list) && is_in(named(&done, "step note"), element));
    let rounds: Vec<_> = done.spans.iter().filter(|span| span.name == "step draft").map(|span| of(span, "flow.round").unwrap()).collect();
    assert_eq!(rounds, [&AttributeValue::Int(1), &AttributeValue::Int(2)]);
    let check = named(&done, "step check");
    assert_eq!(check.events.iter().map(|event| event.name).collect::<Vec<_>>(), ["gen_ai.evaluation.result", "flow.refinement.started"]);
    assert!(check.events[0].attributes.contains(&("gen_ai.evaluation.score.label", "fail".into())));
    assert!(!format!("{done:?}").contains("canary"));
}

#[test]
fn a_plan_is_planned_apart_from_its_steps_and_each_turn_of_a_dialogue_is_an_agent() {
    let turned = |number: u32| {
        json!({
            "type": "dialogue_turned", "step": "talk", "turn": { "number": number, "from": "a", "to": "b", "text": "canary" }, "duration_ms": 1,
            "usage": Usage::default(),
        })
    };
    let done = all(&[
        started(None),
        began("work"),
        asked("work", 1, "planner", "plan", true),
        said("work", 1),
        json!({ "type": "plan_refused", "step": "work", "round": 1, "findings": ["canary"] }),
        asked("work", 2, "planner", "plan", false),
        said("work", 2),
        json!({ "type": "plan_accepted", "step": "work", "round": 1, "plan": { "strategy": "parallel", "reasoning": "canary", "steps": [] } }),
        began("work/fetch"),
        succeeded("work/fetch"),
        succeeded("work"),
        began("talk"),
        asked("talk", 3, "a", "turn", true),
        said("talk", 3),
        turned(1),
        asked("talk", 4, "a", "turn", true),
        said("talk", 4),
        turned(2),
        succeeded("talk"),
        ended("succeeded"),
    ]);
    let work = named(&done, "step work");
    let plans: Vec<&SpanRecord> = done.spans.iter().filter(|span| span.name == "plan planner").collect();
    assert_eq!(plans.iter().map(|plan| plan.error).collect::<Vec<_>>(), [Some("plan_rejected"), None]);
    assert!(plans.iter().all(|plan| is_in(plan, work)) && is_in(named(&done, "step fetch"), work));
    assert_eq!(done.spans.iter().filter(|span| span.name == "invoke_agent a").count(), 2);
}

#[test]
fn a_run_that_another_process_continues_is_one_tree() {
    let before = [started(None), began("answer"), asked("answer", 1, "writer", "turn", true)];
    let after = [
        json!({ "type": "run_resumed", "away_ms": 9 }),
        asked("answer", 2, "writer", "turn", true),
        said("answer", 2),
        succeeded("answer"),
        ended("succeeded"),
    ];
    let whole = events(&before.iter().chain(&after).cloned().collect::<Vec<_>>());
    let (first, rest) = whole.split_at(before.len());
    assert!(taken(RunSpans::default(), first, false).spans.is_empty());
    let done = taken(RunSpans::default().after(first), rest, false);
    let (run, step) = (named(&done, "invoke_workflow shop"), named(&done, "step answer"));
    assert!(run.parent.is_none() && is_in(step, run));
    assert_eq!(run.events.iter().map(|event| event.name).collect::<Vec<_>>(), ["flow.run.resumed"]);
    let lost = done.spans.iter().find(|span| span.error == Some("lost")).unwrap();
    assert_eq!((lost.name.as_str(), lost.end), ("chat", first[2].time));
    let ids: std::collections::BTreeSet<&str> = done.spans.iter().map(|span| span.span_id.as_str()).collect();
    assert_eq!(ids.len(), done.spans.len());
}

#[test]
fn a_run_that_a_signal_ended_goes_on_below_what_was_told() {
    let done = all(&[
        started(None),
        began("a"),
        json!({ "type": "cancel_requested", "by": "interrupt" }),
        json!({ "type": "step_cancelled", "step": "a" }),
        ended("cancelled"),
        json!({ "type": "run_resumed", "away_ms": 9 }),
        asked("a", 1, "writer", "turn", true),
        said("a", 1),
        succeeded("a"),
        ended("succeeded"),
    ]);
    let (first, again) = (named(&done, "invoke_workflow shop"), named(&done, "invoke_workflow"));
    assert!(first.error.is_none() && is_in(again, first));
    assert_eq!(done.spans.iter().filter(|span| span.name == "step a").map(|span| is_in(span, first)).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_caller_is_the_parent_and_a_forked_run_does_not_tell_what_it_took_over() {
    let done = all(&[started(Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")), ended("succeeded")]);
    let parent = done.spans[0].parent.as_ref().unwrap();
    assert_eq!(
        (parent.span_id.as_str(), parent.is_remote, done.spans[0].trace_id.as_str()),
        ("00f067aa0ba902b7", true, "4bf92f3577b34da6a3ce929d0e0e4736")
    );
    let mut fork = started(None);
    fork["origin"] = json!({ "run": "r_0", "from": "b" });
    let resumed = json!({ "type": "run_resumed", "away_ms": 0 });
    let done = all(&[fork, began("a"), succeeded("a"), resumed, began("b"), succeeded("b"), ended("succeeded")]);
    assert_eq!(done.spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["step b", "invoke_workflow shop"]);
}

#[test]
fn content_is_there_if_it_is_wanted_and_masked() {
    let mut first = started(None);
    first["inputs"] = json!({ "who": "Ana Canary" });
    first["marks"] = serde_json::to_value(Marks { inputs: vec!["who".into()], ..Marks::default() }).unwrap();
    let mut question = asked("answer", 1, "writer", "turn", true);
    question["messages"] = json!([{ "role": "user", "text": "Write to Ana Canary at ana@example.com about shoes." }]);
    let happened = [first, began("answer"), question, said("answer", 1), succeeded("answer"), ended("succeeded")];
    let done = taken(RunSpans::default(), &events(&happened), true);
    let chat = named(&done, "chat m-1");
    let Some(AttributeValue::Text(input)) = of(chat, "gen_ai.input.messages") else { panic!("{chat:#?}") };
    let input: Value = serde_json::from_str(input).unwrap();
    assert_eq!((&input[0]["role"], &input[0]["parts"][0]["type"]), (&json!("user"), &json!("text")));
    let text = input[0]["parts"][0]["content"].as_str().unwrap();
    assert!(text.contains("about shoes") && !text.contains("Canary") && !text.contains("ana@"), "{text}");
    let Some(AttributeValue::Text(output)) = of(chat, "gen_ai.output.messages") else { panic!("{chat:#?}") };
    assert!(output.contains("\"finish_reason\":\"stop\"") && output.contains("assistant"), "{output}");
}

#[test]
fn the_steps_of_a_pipeline_that_is_a_tool_are_in_its_call() {
    let tool = json!({ "type": "tool_called", "step": "answer", "call": 2, "tool": "sum", "with": {}, "timeout_at_ms": 0, "attempt": 1, "asked": 0 });
    let opened =
        json!({ "type": "call_opened", "step": "answer", "asked": 0, "pipeline": "sums", "inputs": {}, "channel": null, "person": {} });
    let done = all(&[
        started(None),
        began("answer"),
        asked("answer", 1, "writer", "turn", true),
        said("answer", 1),
        tool,
        opened,
        began("answer/sum[2]/add"),
        succeeded("answer/sum[2]/add"),
        json!({ "type": "tool_replied", "step": "answer", "call": 2, "duration_ms": 1, "asked": 0 }),
        succeeded("answer"),
        ended("succeeded"),
    ]);
    assert!(is_in(named(&done, "step add"), named(&done, "execute_tool sum")));
}

#[test]
fn a_name_that_holds_something_personal_is_masked() {
    let tool =
        |name: &str| json!({ "type": "tool_called", "step": "a", "call": 1, "tool": name, "with": {}, "timeout_at_ms": 0, "attempt": 1 });
    let gave = json!({ "type": "tool_replied", "step": "a", "call": 1, "duration_ms": 1 });
    let done = all(&[started(None), began("a"), tool("ana@example.com"), gave, succeeded("a"), ended("succeeded")]);
    assert_eq!(of(named(&done, "execute_tool (masked)"), "gen_ai.tool.name"), Some(&"(masked)".into()));
    assert!(!format!("{done:?}").contains("ana@"));
}

#[test]
fn ids_are_those_of_a_span() {
    let step: StepPath = Arc::from("a");
    assert_eq!(span_id(RUN, &step).len(), 16);
    assert_ne!(span_id(RUN, "call 1"), span_id("r_2", "call 1"));
}
