//! MCP servers: their tools are asked for once, recorded, and held to what was allowed, pinned and promised.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::build::*;
use super::world::{World, options};
use crate::engine::{Input, Mocks, Reply};
use crate::event::{Failure, FailureKind, Happening, RunStatus, ServerTool};
use crate::model::{Mock, Pipeline, ServerKind, Step, StepKind, Tool, ToolKind, ToolStep};
use crate::port::{ModelReply, ServerReply, ToolCall, ToolList};

pub(super) fn server(allow: Option<&[&str]>) -> Tool {
    let kind = ServerKind::Program { command: named("weather-mcp"), args: vec![], env: vec![] };
    Tool {
        span: Default::default(),
        kind: ToolKind::Server(kind),
        description: None,
        with: vec![],
        allow: allow.map(|names| names.iter().map(|name| named(name)).collect()),
        deny: vec![],
        timeout: None,
        connect_timeout: None,
        approve: Default::default(),
    }
}

fn uses(tool: &str, with: Value) -> Step {
    let with =
        with.as_object().unwrap().iter().map(|(name, value)| (named(name), crate::model::Filling::Constant(value.clone()))).collect();
    step("a", StepKind::Tool(ToolStep { tool: named(tool), with, output: None, idempotency_key: None }))
}

fn pipeline_with(steps: Vec<Step>, tool: Tool) -> Pipeline {
    let mut pipeline = pipeline("p", steps);
    pipeline.tools.insert("weather".to_string(), tool);
    pipeline
}

fn agent_with(tools: &[&str], tool: Tool) -> World {
    let mut pipeline = pipeline_with(vec![agent("a", "Go.")], tool);
    pipeline.agents.get_mut("writer").unwrap().tools = tools.iter().map(|name| named(name)).collect();
    World::new(planned(vec![pipeline]))
}

pub(super) fn listed() -> ToolList {
    let input = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let output = Some(json!({ "type": "object", "properties": { "f": { "type": "number" } }, "required": ["f"] }));
    let tool = |name: &str, output| ServerTool {
        name: name.into(),
        description: "Tells\u{202e} the weather. {{ 7*7 }}".into(),
        input: input.clone(),
        output,
        hash: format!("hash of {name}"),
    };
    ToolList {
        version: "2026-07-28".into(),
        hash: "all".into(),
        tools: vec![tool("get", output), tool("say", None), tool("wipe", None)],
        ..ToolList::default()
    }
}

pub(super) fn gives(value: Value) -> Result<Reply, Failure> {
    let is_structured = !value.is_string();
    Ok(Reply::Tool(ServerReply { value, is_structured, ..ServerReply::default() }))
}

fn asks(tool: &str, arguments: Value) -> Result<Reply, Failure> {
    let calls = vec![ToolCall { id: "c1".into(), tool: tool.into(), arguments }];
    Ok(Reply::Model(ModelReply { calls, ..ModelReply::default() }))
}

impl World {
    fn hands(&mut self, result: Result<Reply, Failure>) {
        let (call, _) = self.out.pop().expect("a call is out");
        self.handle(Input::Reply { call, result });
    }

    fn failure(&self) -> Failure {
        let found = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::StepFailed { failure, .. } => Some(failure.clone()),
            _ => None,
        });
        found.unwrap()
    }

    fn heard(&self) -> String {
        let messages = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ModelCalled { messages, .. } => Some(messages.clone()),
            _ => None,
        });
        messages.unwrap().into_iter().map(|message| message.text).collect()
    }
}

#[test]
fn a_step_asks_for_the_tools_then_calls_and_has_structured_content_as_its_output() {
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
    assert_eq!(world.count("tools_asked"), 1);
    let notes = vec!["it asked for sampling/createMessage; refused".to_string()];
    world.hands(Ok(Reply::Tools(ToolList { notes, ..listed() })));
    assert_eq!((world.count("tools_listed"), world.count("server_noted"), world.count("tool_called")), (1, 1, 1));
    world.hands(gives(json!({ "f": 71.5 })));
    assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!({ "f": 71.5 }))));
    world.check();
}

#[test]
fn steps_that_use_other_tools_of_a_server_share_its_one_list() {
    let second = Step { id: named("b"), ..uses("weather.say", json!({ "city": "Rome" })) };
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" })), second], server(None))]));
    world.hands(Ok(Reply::Tools(listed())));
    world.hands(gives(json!({ "f": 71.5 })));
    world.hands(gives(json!("sunny")));
    assert_eq!((world.output("b"), world.count("tools_asked")), (Some(json!("sunny")), 1));
    world.check();
}

#[test]
fn what_does_not_fit_is_not_sent_and_not_taken() {
    let run = |with: Value| World::new(planned(vec![pipeline_with(vec![uses("weather.get", with)], server(None))]));
    let mut world = run(json!({ "city": 5 }));
    world.hands(Ok(Reply::Tools(listed())));
    assert_eq!((world.count("tool_called"), world.failure().kind), (0, FailureKind::BadRequest));
    for wrong in [json!({ "f": "warm" }), json!("a text")] {
        let mut world = run(json!({ "city": "Bonn" }));
        world.hands(Ok(Reply::Tools(listed())));
        world.hands(gives(wrong));
        assert_eq!(world.failure().kind, FailureKind::BadShape);
        world.check();
    }
    let mut world = run(json!({ "city": "Bonn" }));
    world.hands(Ok(Reply::Tools(listed())));
    world.hands(Ok(Reply::Tool(ServerReply { value: json!("no such\u{1b}[31m city"), is_error: true, ..ServerReply::default() })));
    assert_eq!(world.failure(), Failure::new(FailureKind::Refused, "tool \"weather.get\" says that it did not work: no such[31m city"));
    world.check();
}

#[test]
fn a_tool_that_is_gone_changed_or_has_an_endless_schema_stops_the_step() {
    let fails = |change: &dyn Fn(&mut ToolList)| {
        let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
        let mut list = listed();
        change(&mut list);
        world.hands(Ok(Reply::Tools(list)));
        world.check();
        assert_eq!(world.count("tool_called"), 0);
        world.failure()
    };
    let gone = fails(&|list| list.tools.retain(|tool| tool.name != "get"));
    assert_eq!(gone, Failure::new(FailureKind::BadRequest, "server \"weather\" has no tool \"get\"; it has: say, wipe"));
    let changed = fails(&|list| list.changed = BTreeMap::from([("get".to_string(), "- a\n+ b".to_string())]));
    assert_eq!(changed.kind, FailureKind::Denied);
    assert!(changed.message.contains("accept it with: flow tools pin"), "{}", changed.message);
    let bomb = fails(&|list| {
        let mut defs: serde_json::Map<String, Value> = (0..20)
            .map(|n| {
                (
                    format!("d{n}"),
                    json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", n + 1) }, { "$ref": format!("#/$defs/d{}", n + 1) }] }),
                )
            })
            .collect();
        defs.insert("d20".to_string(), json!({ "type": "object" }));
        list.tools[0].input = json!({ "$ref": "#/$defs/d0", "$defs": defs });
    });
    assert!(bomb.message.contains("leads more ways than can be followed"), "{}", bomb.message);
    let outside = fails(&|list| list.tools[0].input = json!({ "$ref": "https://example.com/s.json" }));
    assert!(outside.message.contains("refers to another document"), "{}", outside.message);
    // What the file does not use may change as it likes.
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
    world.hands(Ok(Reply::Tools(ToolList { changed: BTreeMap::from([("wipe".to_string(), "x".to_string())]), ..listed() })));
    assert_eq!(world.count("tool_called"), 1);
}

#[test]
fn an_agent_is_offered_what_allow_opens_and_no_more_and_its_words_are_data() {
    let mut world = agent_with(&["weather"], server(Some(&["get(*)", "say(*onn*)"])));
    world.hands(Ok(Reply::Tools(listed())));
    let described = world.events.iter().find_map(|e| match &e.happening {
        Happening::ToolsListed { tools, .. } => Some(tools.clone()),
        _ => None,
    });
    let described = described.unwrap();
    assert_eq!(described.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["get", "say"]);
    assert_eq!(described[0].description, "Tells the weather. {{ 7*7 }}");
    world.hands(asks("weather-wipe", json!({ "city": "Bonn" })));
    assert!(world.heard().contains("there is no tool"), "{}", world.heard());
    world.hands(asks("weather-say", json!({ "city": "Rome" })));
    assert!(world.heard().contains("is not allowed with these arguments: no entry of allow fits"), "{}", world.heard());
    world.hands(asks("weather-say", json!({ "town": "Bonn" })));
    assert!(world.heard().contains("the arguments do not fit"), "{}", world.heard());
    world.hands(asks("weather-say", json!({ "city": "Bonn" })));
    world.hands(gives(json!("{{ 7*7 }}\u{202e} and sun")));
    assert_eq!(world.heard(), "{{ 7*7 }} and sun");
    world.hands(Ok(Reply::Model(ModelReply { text: "Sunny.".into(), ..ModelReply::default() })));
    assert_eq!(world.output("a"), Some(json!("Sunny.")));
    assert_eq!(world.count("tools_asked"), 1);
    world.check();
}

#[test]
fn a_server_that_does_not_tell_its_tools_fails_the_step_and_the_next_try_asks_again() {
    let mut step = uses("weather.get", json!({ "city": "Bonn" }));
    step.retry = Some(crate::model::Retry { max_attempts: 2, ..crate::model::Retry::of_model_calls() });
    let mut world = World::new(planned(vec![pipeline_with(vec![step], server(None))]));
    world.hands(Err(Failure::new(FailureKind::Connection, "it ended")));
    world.wait();
    assert_eq!(world.count("tools_asked"), 2);
    // Time is up: nothing was called, so it is no unknown outcome.
    world.wait();
    assert_eq!(world.failure().kind, FailureKind::Timeout);
    world.check();
}

#[test]
fn in_a_test_no_server_is_asked_and_a_call_needs_a_mock() {
    let mocks = |by_name: BTreeMap<String, Mock>| crate::engine::Options { mocks: Mocks { by_name, refuses_effects: true }, ..options() };
    let plan = || planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]);
    let world = World::with(plan(), mocks(BTreeMap::new()));
    assert_eq!((world.failure().kind, world.count("tools_asked")), (FailureKind::Denied, 0));
    let mocked = BTreeMap::from([("weather.get".to_string(), Mock::Output(json!({ "f": 1 })))]);
    let world = World::with(plan(), mocks(mocked));
    assert_eq!(world.output("a"), Some(json!({ "f": 1 })));
}
