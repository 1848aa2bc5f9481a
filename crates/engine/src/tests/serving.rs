//! MCP servers: their tools are asked for once, recorded, and held to what was allowed, pinned and promised.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::build::*;
use super::world::{World, options};
use crate::event::{Failure, FailureKind, Happening, RunStatus, ServerTool};
use crate::model::{Mock, Pipeline, ServerKind, Step, StepKind, Tool, ToolKind, ToolStep};
use crate::port::{ModelReply, ServerReply, ToolCall, ToolList};
use crate::{CallReply, Input, Mocks};

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
        optional: false,
        without_instructions: false,
        pictures: false,
        questions: false,
        approve: Default::default(),
    }
}

pub(super) fn uses(tool: &str, with: Value) -> Step {
    let with =
        with.as_object().unwrap().iter().map(|(name, value)| (named(name), crate::model::Filling::Constant(value.clone()))).collect();
    step("a", StepKind::Tool(ToolStep { tool: named(tool), with, output: None, idempotency_key: None }))
}

/// A pipeline with a server called `weather`.
pub(super) fn pipeline_with(steps: Vec<Step>, tool: Tool) -> Pipeline {
    let mut pipeline = pipeline("p", steps);
    pipeline.tools.insert("weather".to_string(), tool);
    pipeline
}

pub(super) fn agent_with(tools: &[&str], tool: Tool) -> World {
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

pub(super) fn gives(value: Value) -> Result<CallReply, Failure> {
    let is_structured = !value.is_string();
    Ok(CallReply::Tool(ServerReply { value, is_structured, ..ServerReply::default() }))
}

pub(super) fn asks(tool: &str, arguments: Value) -> Result<CallReply, Failure> {
    let calls = vec![ToolCall { id: "c1".into(), tool: tool.into(), arguments }];
    Ok(CallReply::Model(ModelReply { calls, ..ModelReply::default() }))
}

impl World {
    pub(super) fn hands(&mut self, result: Result<CallReply, Failure>) {
        let (call, _) = self.out.pop().expect("a call is out");
        self.handle(Input::Reply { call, result });
    }

    pub(super) fn failure(&self) -> Failure {
        let found = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::StepFailed { failure, .. } => Some(failure.clone()),
            _ => None,
        });
        found.unwrap()
    }

    pub(super) fn heard(&self) -> String {
        let messages = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ModelCalled { messages, .. } => Some(messages.clone()),
            _ => None,
        });
        messages.unwrap().into_iter().map(|message| message.text.clone()).collect()
    }
}

#[test]
fn a_step_asks_for_the_tools_then_calls_and_has_structured_content_as_its_output() {
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
    assert_eq!(world.count("tools_asked"), 1);
    let notes = vec!["it requested sampling/createMessage; rejected".to_string()];
    world.hands(Ok(CallReply::Tools(ToolList { notes, ..listed() })));
    assert_eq!((world.count("tools_listed"), world.count("server_noted"), world.count("tool_called")), (1, 1, 1));
    world.hands(gives(json!({ "f": 71.5 })));
    assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!({ "f": 71.5 }))));
    world.check();
}

#[test]
fn steps_that_use_other_tools_of_a_server_share_its_one_list() {
    let second = Step { id: named("b"), ..uses("weather.say", json!({ "city": "Rome" })) };
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" })), second], server(None))]));
    world.hands(Ok(CallReply::Tools(listed())));
    world.hands(gives(json!({ "f": 71.5 })));
    world.hands(gives(json!("sunny")));
    assert_eq!((world.output("b"), world.count("tools_asked")), (Some(json!("sunny")), 1));
    world.check();
}

/// An agent with two servers, whose calls are 1 (clock) and 2 (weather).
fn agent_with_two_servers(max_parallel: Option<u64>) -> World {
    let mut pipeline = pipeline_with(vec![agent("a", "Go.")], server(Some(&["get"])));
    pipeline.tools.insert("clock".into(), server(Some(&["get"])));
    pipeline.agents.get_mut("writer").unwrap().tools = ["clock", "weather"].map(named).to_vec();
    pipeline.limits.max_parallel = max_parallel;
    World::new(planned(vec![pipeline]))
}

impl World {
    /// The call by which a server was asked for its tools.
    fn asked(&self, name: &str) -> u64 {
        let found = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ToolsAsked { server, call, .. } if server == name => Some(*call),
            _ => None,
        });
        found.unwrap()
    }

    fn tells(&mut self, server: &str, result: Result<ToolList, Failure>) {
        let call = self.asked(server);
        self.out.retain(|(out, _)| *out != call);
        self.handle(Input::Reply { call, result: result.map(CallReply::Tools) });
    }

    fn listed_now(&self) -> Vec<String> {
        let listed = |e: &crate::event::Event| match &e.happening {
            Happening::ToolsListed { server, .. } => Some(server.clone()),
            _ => None,
        };
        self.events.iter().filter_map(listed).collect()
    }
}

#[test]
fn servers_are_asked_at_once_and_their_lists_stand_in_order_whichever_comes_first() {
    let mut events = vec![];
    for order in [["clock", "weather"], ["weather", "clock"]] {
        let mut world = agent_with_two_servers(None);
        assert_eq!((world.count("tools_asked"), world.out.len()), (2, 2));
        for name in order {
            world.tells(name, Ok(listed()));
        }
        assert_eq!(world.listed_now(), ["clock", "weather"]);
        assert_eq!(world.count("model_called"), 1);
        world.check();
        events.push(world.lines());
    }
    assert_eq!(events[0], events[1]);
}

#[test]
fn a_list_that_waits_for_another_one_is_never_late_itself() {
    let mut world = agent_with_two_servers(None);
    world.tells("weather", Ok(listed()));
    assert_eq!(world.count("tools_listed"), 0);
    world.wait();
    assert_eq!((world.failure().kind, world.count("tools_listed")), (FailureKind::Timeout, 0));
    assert_eq!(world.cancelled, [world.asked("clock"), world.asked("weather")]);
    world.check();
}

#[test]
fn a_server_that_fails_ends_the_try_at_once_and_the_next_one_asks_all_again() {
    let mut pipeline = pipeline_with(vec![agent("a", "Go.")], server(Some(&["get"])));
    pipeline.tools.insert("clock".into(), server(Some(&["get"])));
    pipeline.agents.get_mut("writer").unwrap().tools = ["clock", "weather"].map(named).to_vec();
    pipeline.steps = vec![std::sync::Arc::new(Step { retry: Some(retry(2)), ..agent("a", "Go.") })];
    let mut world = World::new(planned(vec![pipeline]));
    let clock = world.asked("clock");
    world.tells("weather", Err(Failure::new(FailureKind::Connection, "it ended")));
    assert_eq!((world.count("attempt_failed"), world.cancelled.clone()), (1, vec![clock]));
    world.check();
    // What comes for the first try is left aside.
    world.handle(Input::Reply { call: clock, result: Ok(CallReply::Tools(listed())) });
    world.wait();
    assert_eq!(world.count("tools_asked"), 4);
    world.tells("weather", Ok(listed()));
    world.tells("clock", Ok(listed()));
    assert_eq!((world.listed_now(), world.count("model_called")), (vec!["clock".into(), "weather".into()], 1));
    world.check();
}

#[test]
fn no_more_servers_are_asked_at_once_than_calls_may_be_out() {
    let mut world = agent_with_two_servers(Some(1));
    assert_eq!((world.out.len(), world.count("tools_asked")), (1, 1));
    world.tells("clock", Ok(listed()));
    assert_eq!((world.out.len(), world.count("tools_asked")), (1, 2));
    world.tells("weather", Ok(listed()));
    assert_eq!((world.most_out, world.count("model_called")), (1, 1));
    world.check();
}

#[test]
fn a_run_that_ends_while_servers_are_asked_goes_on_from_every_event() {
    let mut uncut = agent_with_two_servers(None);
    uncut.tells("weather", Ok(listed()));
    uncut.tells("clock", Ok(ToolList { notes: vec!["it requested roots/list; rejected".into()], ..listed() }));
    for kept in 1..=uncut.events.len() {
        let mut world = uncut.after_crash(kept, 0);
        for _ in 0..2 {
            for name in ["weather", "clock"] {
                if world.events.iter().any(|e| matches!(&e.happening, Happening::ToolsAsked { server, .. } if server == name))
                    && world.out.iter().any(|(call, _)| *call == world.asked(name))
                {
                    world.tells(name, Ok(listed()));
                }
            }
        }
        let mut known = world.listed_now();
        known.sort();
        known.dedup();
        assert_eq!(known, ["clock", "weather"], "after {kept} events: {:#?}", world.lines());
        world.hands(Ok(CallReply::Model(ModelReply { text: "Sunny.".into(), ..ModelReply::default() })));
        assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!("Sunny."))), "after {kept} events");
        world.check();
    }
}

#[test]
fn a_planner_is_told_what_a_server_says_of_its_tools_and_the_plan_is_held_to_it() {
    use super::planning::{plan, with, work};
    for may_use in ["weather.say", "weather"] {
        let step = with(work(), |own| own.may_use = vec![named(may_use)]);
        let allow: Option<&[&str]> = (may_use == "weather").then_some(&["sa*"]);
        let mut world = World::new(planned(vec![pipeline_with(vec![step], server(allow))]));
        assert_eq!((world.count("tools_asked"), world.count("model_called")), (1, 0), "{may_use}");
        world.tells("weather", Ok(listed()));
        let prompt = world.prompt("work");
        assert!(prompt.contains("Tells the weather. {{ 7*7 }}") && prompt.contains("\"city\""), "{prompt}");
        assert!(!prompt.contains("wipe") && !prompt.contains("weather.get"), "{prompt}");
        let calls = |tool: &str, with: Value| plan("sequential", json!([{ "id": "one", "use": tool, "with": with }]));
        let wrong = [("one", "weather.wipe", json!({ "city": "Bonn" })), ("two", "weather.say", json!({ "town": "Bonn" }))];
        let wrong = wrong.map(|(id, tool, with)| json!({ "id": id, "use": tool, "with": with }));
        world.say("work", &plan("parallel", Value::from(wrong.to_vec())));
        let refused = world.refusals().concat().join("\n");
        assert!(refused.contains("uses \"weather.wipe\", which is not in may_use"), "{refused}");
        assert!(refused.contains("do not fit tool \"weather.say\""), "{refused}");
        assert_eq!(world.count("tool_called"), 0);
        world.say("work", &calls("weather.say", json!({ "city": "Bonn" })));
        world.hands(gives(json!("sunny")));
        assert_eq!((world.status(), world.count("tool_called"), world.count("tools_asked")), (RunStatus::Succeeded, 1, 1));
        assert_eq!(world.output("work").unwrap()["by_use"]["weather.say"], "sunny");
        world.check();
    }
}

#[test]
fn what_does_not_fit_is_not_sent_and_not_taken() {
    let run = |with: Value| World::new(planned(vec![pipeline_with(vec![uses("weather.get", with)], server(None))]));
    let mut world = run(json!({ "city": 5 }));
    world.hands(Ok(CallReply::Tools(listed())));
    assert_eq!((world.count("tool_called"), world.failure().kind), (0, FailureKind::BadRequest));
    for wrong in [json!({ "f": "warm" }), json!("a text")] {
        let mut world = run(json!({ "city": "Bonn" }));
        world.hands(Ok(CallReply::Tools(listed())));
        world.hands(gives(wrong));
        assert_eq!(world.failure().kind, FailureKind::BadShape);
        world.check();
    }
    let mut world = run(json!({ "city": "Bonn" }));
    world.hands(Ok(CallReply::Tools(listed())));
    world.hands(Ok(CallReply::Tool(ServerReply { value: json!("no such\u{1b}[31m city"), is_error: true, ..ServerReply::default() })));
    assert_eq!(world.failure(), Failure::new(FailureKind::Refused, "tool \"weather.get\" reported an error: no such city"));
    world.check();
}

#[test]
fn a_tool_that_is_gone_changed_or_has_an_endless_schema_stops_the_step() {
    let fails = |change: &dyn Fn(&mut ToolList)| {
        let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
        let mut list = listed();
        change(&mut list);
        world.hands(Ok(CallReply::Tools(list)));
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
    assert!(bomb.message.contains("has too many references"), "{}", bomb.message);
    let unusable = fails(&|list| {
        list.tools.remove(0);
        list.left_out.insert("get".into(), "its inputSchema is no JSON object".into());
    });
    assert_eq!(unusable.message, "tool \"weather.get\" cannot be used: its inputSchema is no JSON object");
    // What the file does not use may change as it likes.
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]));
    world.hands(Ok(CallReply::Tools(ToolList { changed: BTreeMap::from([("wipe".to_string(), "x".to_string())]), ..listed() })));
    assert_eq!(world.count("tool_called"), 1);
}

#[test]
fn what_only_the_server_can_check_is_left_to_it_and_noted() {
    let schemas = [
        json!({ "type": "object", "properties": { "city": { "$ref": "https://example.com/s.json" } } }),
        json!({ "type": "object", "properties": { "city": { "type": "string", "pattern": "^(?=.*n).*$" } } }),
        json!({ "$schema": "https://example.com/draft", "properties": { "city": { "type": "string", "format": "city" } } }),
        json!({ "type": "object", "properties": { "city": { "type": "string" }, "n": { "minimum": 0, "exclusiveMinimum": true } } }),
        json!({ "type": "object", "properties": { "city": { "type": "str" } }, "required": null }),
    ];
    for (place, schema) in schemas.into_iter().enumerate() {
        let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.say", json!({ "city": "Bonn" }))], server(None))]));
        let mut list = listed();
        list.tools[1].input = schema;
        world.hands(Ok(CallReply::Tools(list)));
        assert_eq!((world.count("tool_called"), world.count("server_noted")), (1, usize::from(place < 2)), "{place}");
        world.check();
    }
    // A schema beyond all bounds is left out where only a pattern opens the tool.
    let mut world = agent_with(&["weather"], server(Some(&["*"])));
    let mut list = listed();
    list.tools[2].input = json!({ "description": "x".repeat(100_000) });
    world.hands(Ok(CallReply::Tools(list)));
    assert_eq!((world.asked[0].tools.len(), world.count("server_noted")), (2, 1));
    world.check();
}

#[test]
fn a_tool_with_an_unusual_name_is_called_by_it_and_offered_under_another() {
    let long = "x".repeat(130);
    let names = ["get page title", "get-page-title", "ends in blank ", "crm.contacts/list", "créer", long.as_str()];
    let list = || {
        let tool = listed().tools.remove(1);
        ToolList { tools: names.iter().map(|name| ServerTool { name: name.to_string(), ..tool.clone() }).collect(), ..listed() }
    };
    for name in names {
        let mut world =
            World::new(planned(vec![pipeline_with(vec![uses(&format!("weather.{name}"), json!({ "city": "Bonn" }))], server(None))]));
        world.hands(Ok(CallReply::Tools(list())));
        assert_eq!(world.count("tool_called"), 1, "{name}");
        world.hands(gives(json!("done")));
        assert_eq!(world.output("a"), Some(json!("done")), "{name}");
    }
    let mut world = agent_with(&["weather"], server(Some(&names)));
    world.hands(Ok(CallReply::Tools(list())));
    let offered: Vec<String> = world.asked[0].tools.iter().map(|tool| tool.name.clone()).collect();
    let is_fine = |name: &String| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    assert!(offered.len() == names.len() && offered.iter().all(is_fine), "{offered:?}");
    assert_eq!(offered.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len(), "{offered:?}");
    world.hands(asks(&offered[0], json!({ "city": "Bonn" })));
    assert!(
        world.events.iter().any(|event| matches!(&event.happening, Happening::ToolCalled { tool, .. } if tool == "weather.get page title"))
    );
    world.check();
}

/// What nobody sees, or changes how the text around it is shown.
const HIDDEN: &str = r#"a\u202eb\u001b[31mc\u200bd\u2066e\udb40\udc41f"#;

#[test]
fn results_are_cleaned_after_their_json_is_read() {
    let shape = |name: &str, kind| crate::model::Shape::Fields(vec![crate::model::Field::new(name, kind)]);
    let given = |value: Value, field: &str, kind: crate::model::FieldKind| {
        let mut step = uses("weather.say", json!({ "city": "Bonn" }));
        if let StepKind::Tool(own) = &mut step.kind {
            own.output = Some(shape(field, kind));
        }
        let mut world = World::new(planned(vec![pipeline_with(vec![step], server(None))]));
        world.hands(Ok(CallReply::Tools(listed())));
        world.hands(gives(value));
        world.output("a").unwrap_or_else(|| panic!("{:?}", world.failure()))
    };
    use crate::model::FieldKind::{Any, List, Object, Text};
    let clean = "abcdef";
    assert_eq!(given(json!(format!(r#"{{"v": "{HIDDEN}"}}"#)), "v", Text), json!({ "v": clean }));
    assert_eq!(given(json!(format!("```json\n{{\"v\": \"{HIDDEN}\"}}\n```")), "v", Text), json!({ "v": clean }));
    assert_eq!(given(json!(format!(r#"{{"v": ["{HIDDEN}", {{"{HIDDEN}": 1}}]}}"#)), "v", List), json!({ "v": [clean, { clean: 1 }] }));
    assert_eq!(given(json!(format!(r#"{{"\u200bv": {{"{HIDDEN}": "{HIDDEN}"}}}}"#)), "v", Object), json!({ "v": { clean: clean } }));
    let structured: Value = serde_json::from_str(&format!(r#"{{"v": "{HIDDEN}"}}"#)).unwrap();
    assert_eq!(given(structured, "v", Any), json!({ "v": clean }));
}

#[test]
fn a_tool_that_was_never_pinned_is_not_shown_and_not_called() {
    let newer = || ToolList { unpinned: vec!["say".into(), "wipe".into()], ..listed() };
    for allow in [&["get", "s*"], &["*ay", "get"], &["get", "say"]] {
        let mut world = agent_with(&["weather"], server(Some(allow)));
        world.hands(Ok(CallReply::Tools(newer())));
        let shown = world.events.iter().find_map(|e| match &e.happening {
            Happening::ToolsListed { tools, unpinned, .. } => {
                Some((tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(), unpinned.clone()))
            }
            _ => None,
        });
        // `wipe` is not the file's business.
        assert_eq!(shown, Some((vec!["get".to_string()], vec!["say".to_string()])));
        assert_eq!((world.count("server_noted"), world.count("model_called")), (1, 1));
        for name in ["weather-say", "weather.say"] {
            world.hands(asks(name, json!({ "city": "Bonn" })));
            assert!(world.heard().contains("\"weather.say\" is new since its server was pinned"), "{}", world.heard());
            assert!(world.heard().contains("accept it with: flow tools pin"), "{}", world.heard());
        }
        assert_eq!(world.count("tool_called"), 0);
        world.check();
    }
    // What the file names, a step, an agent or `may_use`, it waits for.
    let by_step = World::new(planned(vec![pipeline_with(vec![uses("weather.say", json!({ "city": "Bonn" }))], server(None))]));
    let elsewhere = Step { id: named("b"), ..uses("weather.say", json!({ "city": "Bonn" })) };
    let by_another =
        World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" })), elsewhere], server(None))]));
    for mut world in [by_step, by_another, agent_with(&["weather.say"], server(None))] {
        world.hands(Ok(CallReply::Tools(newer())));
        assert_eq!((world.failure().kind, world.count("tool_called"), world.count("model_called")), (FailureKind::Denied, 0, 0));
        assert!(world.failure().message.contains("flow tools pin"), "{}", world.failure().message);
        world.check();
    }
    // A plan names what it may use, too.
    use super::planning::{plan, with, work};
    let step = with(work(), |own| own.may_use = vec![named("weather")]);
    let mut world = World::new(planned(vec![pipeline_with(vec![step], server(Some(&["get", "s*"])))]));
    world.tells("weather", Ok(newer()));
    assert!(!world.prompt("work").contains("weather.say"), "{}", world.prompt("work"));
    world.say("work", &plan("sequential", json!([{ "id": "one", "use": "weather.say", "with": { "city": "Bonn" } }])));
    assert_eq!((world.count("plan_refused"), world.count("tool_called")), (1, 0));
}

#[test]
fn a_changed_tool_that_nobody_may_call_stops_nothing() {
    let changed = || ToolList { changed: BTreeMap::from([("say".to_string(), "- a\n+ b".to_string())]), ..listed() };
    let allow = || server(Some(&["get", "s*"]));
    let step = || uses("weather.get", json!({ "city": "Bonn" }));
    let tools = |world: &World| {
        world.events.iter().find_map(|e| match &e.happening {
            Happening::ToolsListed { tools, .. } => Some(tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()),
            _ => None,
        })
    };
    let mut by_step = World::new(planned(vec![pipeline_with(vec![step()], allow())]));
    by_step.hands(Ok(CallReply::Tools(changed())));
    assert_eq!((tools(&by_step), by_step.count("tool_called")), (Some(vec!["get".to_string()]), 1));
    let mut by_agent = agent_with(&["weather.get"], allow());
    by_agent.hands(Ok(CallReply::Tools(changed())));
    assert_eq!((tools(&by_agent), by_agent.count("model_called")), (Some(vec!["get".to_string()]), 1));
    by_agent.hands(asks("weather-say", json!({ "city": "Bonn" })));
    assert!(by_agent.heard().contains("there is no tool"), "{}", by_agent.heard());
    // Who is offered all that the server opens is offered this one.
    let mut by_all = agent_with(&["weather"], allow());
    by_all.hands(Ok(CallReply::Tools(changed())));
    assert_eq!((by_all.failure().kind, by_all.count("model_called")), (FailureKind::Denied, 0));
    [by_step, by_agent, by_all].iter().for_each(World::check);
}

#[test]
fn an_agent_is_offered_what_allow_opens_and_no_more_and_its_words_are_data() {
    let mut world = agent_with(&["weather"], server(Some(&["get(*)", "say(*onn*)"])));
    world.hands(Ok(CallReply::Tools(listed())));
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
    world.hands(Ok(CallReply::Model(ModelReply { text: "Sunny.".into(), ..ModelReply::default() })));
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
    let mocks = |by_name: BTreeMap<String, Mock>| crate::RunSettings {
        mocks: Mocks { by_name, refuses_effects: true, ..Mocks::default() },
        ..options()
    };
    let plan = || planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], server(None))]);
    let world = World::with(plan(), mocks(BTreeMap::new()));
    assert_eq!((world.failure().kind, world.count("tools_asked")), (FailureKind::Denied, 0));
    let mocked = BTreeMap::from([("weather.get".to_string(), Mock::Output(json!({ "f": 1 })))]);
    let world = World::with(plan(), mocks(mocked));
    assert_eq!(world.output("a"), Some(json!({ "f": 1 })));
}

#[test]
fn an_optional_server_that_is_not_there_leaves_its_tools_out_and_a_step_that_calls_one_fails() {
    let optional = || Tool { optional: true, ..server(Some(&["get"])) };
    let absent = || {
        let why = Some(Failure::new(FailureKind::Connection, "the server ended (exit code 3)"));
        Ok(CallReply::Tools(ToolList { absent: why, ..ToolList::default() }))
    };
    for tools in [&["weather"], &["weather.get"]] {
        let mut world = agent_with(tools, optional());
        world.hands(absent());
        assert!(world.asked[0].tools.is_empty(), "{tools:?}: {:?}", world.asked[0].tools);
        world.hands(Ok(CallReply::Model(ModelReply { text: "Without.".into(), ..ModelReply::default() })));
        assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!("Without."))));
        world.check();
    }
    let mut world = World::new(planned(vec![pipeline_with(vec![uses("weather.get", json!({ "city": "Bonn" }))], optional())]));
    world.hands(absent());
    let failure = world.failure();
    assert_eq!((failure.kind, world.count("tool_called")), (FailureKind::Unavailable, 0));
    assert!(
        failure.message.contains("optional server \"weather\" was not available") && failure.message.contains("exit code 3"),
        "{}",
        failure.message
    );
    world.check();
}

#[test]
fn the_time_of_an_optional_server_may_run_out_and_other_failures_count() {
    let with = |optional| agent_with(&["weather"], Tool { optional, ..server(Some(&["get"])) });
    for optional in [true, false] {
        let mut world = with(optional);
        world.ms += 60_000;
        world.handle(Input::Tick);
        assert_eq!(world.count("model_called") == 1, optional, "{:?}", world.events.last());
        world.check();
    }
    let mut world = with(true);
    world.hands(Err(Failure::new(FailureKind::Denied, "other files")));
    assert_eq!((world.failure().kind, world.count("model_called")), (FailureKind::Denied, 0));
}
