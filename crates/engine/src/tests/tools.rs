//! Agents that call tools, and the policies that decide what goes out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::*;
use super::world::{Says, World, options};
use crate::event::{Canceller, Event, Failure, FailureKind, Happening, Message, MessageRole, RunStatus, StepStatus};
use crate::model::{
    Agent, Field, FieldKind, Filling, Limits, Method, Mock, Outputs, Pipeline, PipelineId, Policy, Shape, Step, Tool, ToolKind,
};
use crate::port::{ModelReply, Rows, ToolCall};
use crate::source::Spanned;
use crate::{CallReply, Input, Mocks};

pub(super) fn tool(kind: ToolKind) -> Tool {
    Tool {
        span: Default::default(),
        kind,
        description: Some("A tool of the test.".into()),
        with: vec![],
        allow: None,
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

pub(super) fn hook(url: &str) -> Tool {
    let arguments = vec![Field::new("id", FieldKind::Text)];
    tool(ToolKind::Http { method: Method::Post, url: text(url), headers: vec![], query: vec![], body: None, arguments })
}

pub(super) fn file() -> Tool {
    tool(ToolKind::File("notes".into()))
}

/// A pipeline whose agent `writer` may use these tools.
pub(super) fn with_tools(steps: Vec<Step>, tools: Vec<(&str, Tool)>) -> Pipeline {
    let mut pipeline = pipeline("p", steps);
    let names: Vec<Spanned<String>> = tools.iter().map(|(name, _)| named(name)).collect();
    pipeline.tools = tools.into_iter().map(|(name, tool)| (name.to_string(), tool)).collect();
    writer(&mut pipeline).tools = names;
    pipeline
}

pub(super) fn writer(pipeline: &mut Pipeline) -> &mut Agent {
    pipeline.agents.get_mut("writer").unwrap()
}

pub(super) fn world(pipeline: Pipeline) -> World {
    World::new(planned(vec![pipeline]))
}

pub(super) fn asks(calls: &[(&str, &str, Value)]) -> Result<CallReply, Failure> {
    let calls =
        calls.iter().map(|(id, tool, arguments)| ToolCall { id: id.to_string(), tool: tool.to_string(), arguments: arguments.clone() });
    Ok(CallReply::Model(ModelReply { calls: calls.collect(), ..ModelReply::default() }))
}

pub(super) fn says(text: &str) -> Result<CallReply, Failure> {
    Ok(CallReply::Model(ModelReply { text: text.into(), ..ModelReply::default() }))
}

impl World {
    pub(super) fn call(&self) -> u64 {
        self.out.last().map(|(call, _)| *call).expect("a call is out")
    }

    /// Answers the newest call.
    pub(super) fn reply_with(&mut self, result: Result<CallReply, Failure>) {
        let call = self.call();
        self.out.retain(|(other, _)| *other != call);
        self.handle(Input::Reply { call, result });
    }

    /// The messages of the newest model call.
    pub(super) fn told(&self) -> Vec<(MessageRole, String)> {
        let messages = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::ModelCalled { messages, .. } => Some(messages.clone()),
            _ => None,
        });
        messages.unwrap().into_iter().map(|m| (m.role, m.text.clone())).collect()
    }

    pub(super) fn details(&self, path: &str) -> Value {
        let found = self.events.iter().rev().find_map(|e| match &e.happening {
            Happening::StepSucceeded { step, details, .. } | Happening::StepFailed { step, details: Some(details), .. }
                if **step == *path =>
            {
                Some((**details).clone())
            }
            _ => None,
        });
        found.unwrap()
    }

    pub(super) fn decisions(&self) -> Vec<String> {
        let told = |e: &crate::event::Event| match &e.happening {
            Happening::PolicyDecided { agent, act, target, allowed, rule, .. } => {
                Some(format!("{agent} {} {target} {}: {rule}", act.word(), if *allowed { "allowed" } else { "blocked" }))
            }
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }
}

#[test]
fn an_agent_is_shown_what_its_tools_gave_and_answers() {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file()), ("hook", hook("https://example.com/x"))]));
    world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "a.md" })), ("c2", "hook", json!({ "id": "7" }))]));
    assert_eq!(world.out.len(), 2);
    world.reply_with(Err(Failure::new(FailureKind::ServerError, "it is down")));
    world.reply_with(Ok(CallReply::Value(json!("Notes."))));
    assert_eq!(
        world.told(),
        [(MessageRole::Tool, "Notes.".to_string()), (MessageRole::Tool, "This did not work (server_error): it is down".to_string())]
    );
    world.reply_with(says("Done."));
    assert_eq!((world.status(), world.output("a")), (RunStatus::Succeeded, Some(json!("Done."))));
    let uses = world.details("a")["tool_calls"].clone();
    assert_eq!(
        (&uses[0]["tool"], &uses[0]["with"], &uses[0]["result"]),
        (&json!("docs.read"), &json!({ "name": "a.md" }), &json!("Notes."))
    );
    assert_eq!((&uses[1]["tool"], &uses[1]["error"]), (&json!("hook"), &json!("server_error: it is down")));
    world.check();
}

#[test]
fn a_later_turn_shares_the_messages_before_it_and_the_tools() {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file()), ("hook", hook("https://example.com/x"))]));
    for id in ["c1", "c2"] {
        world.reply_with(asks(&[(id, "hook", json!({ "id": id }))]));
        world.reply_with(Ok(CallReply::Value(json!("Notes."))));
    }
    world.reply_with(asks(&[("c3", "docs-read", json!({ "name": "a.md" }))]));
    world.reply_with(Ok(CallReply::Value(json!("Notes."))));
    let sent: Vec<&Arc<Message>> = world.events.iter().filter_map(sent).flatten().collect();
    let counts: Vec<usize> = world.asked.iter().map(|request| request.messages.len()).collect();
    assert_eq!((counts, sent.len()), (vec![1, 3, 5, 7], 4));
    let [.., before, last] = world.asked.as_slice() else { panic!("four requests") };
    for (place, message) in before.messages.iter().enumerate() {
        assert!(Arc::ptr_eq(message, &last.messages[place]), "message {place} is a copy");
    }
    for (message, place) in sent.into_iter().zip([0, 2, 4, 6]) {
        assert!(Arc::ptr_eq(message, &last.messages[place]), "message {place} is not that of the event");
    }
    // The names in the file and on the wire differ, so this one is a copy.
    assert_eq!(last.messages[5].calls[0].tool, "docs-read");
    for (first, tool) in world.asked[0].tools.iter().zip(&last.tools) {
        assert!(Arc::ptr_eq(first, tool), "{} was described again", tool.name);
    }
}

fn sent(event: &Event) -> Option<&Vec<Arc<Message>>> {
    if let Happening::ModelCalled { messages, .. } = &event.happening { Some(messages) } else { None }
}

#[test]
fn the_same_call_again_and_again_is_not_made() {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file())]));
    for _ in 0..3 {
        world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "a.md" }))]));
        world.reply_with(Ok(CallReply::Value(json!("Notes."))));
    }
    // Once more it stays in; another one goes out.
    world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "a.md" })), ("c2", "docs-read", json!({ "name": "b.md" }))]));
    assert_eq!(world.out.len(), 1);
    world.reply_with(Ok(CallReply::Value(json!("More."))));
    let heard = "This did not work (limit): this call was made 3 times with the same arguments; go on with what it gave, or answer";
    assert_eq!(world.told(), [(MessageRole::Tool, heard.to_string()), (MessageRole::Tool, "More.".to_string())]);
    world.reply_with(says("Done."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_call_that_cannot_be_made_costs_a_turn_and_the_model_hears_why() {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("docs", file()), ("hook", hook("https://example.com/x"))]));
    world.reply_with(asks(&[
        ("c1", "shell", json!({ "command": "ls" })),
        ("c2", "docs-write", json!({ "name": "a", "text": "b" })),
        ("c3", "docs-read", json!({ "file": "a.md" })),
        ("c4", "hook", json!("{broken")),
    ]));
    let told: Vec<String> = world.told().into_iter().map(|(_, text)| text).collect();
    assert!(told[0].contains("there is no tool \"shell\"; there are: docs-list, docs-read, hook"), "{told:?}");
    assert!(told[1].contains("there is no tool \"docs-write\""), "{told:?}");
    assert!(told[2].contains("the arguments do not fit") && told[2].contains("name"), "{told:?}");
    assert!(told[3].contains("not a JSON object"), "{told:?}");
    assert_eq!(world.count("tool_called"), 0);
    world.reply_with(says("Sorry."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn rounds_tool_calls_and_tokens_of_an_agent_have_bounds() {
    let endless = |change: &dyn Fn(&mut Agent)| {
        let mut pipeline = with_tools(vec![agent("a", "Go.")], vec![("docs", file())]);
        change(writer(&mut pipeline));
        let mut world = world(pipeline);
        let mut rounds = 0;
        while !world.is_over() {
            rounds += 1;
            world.reply_with(asks(&[("c", "docs-read", json!({ "name": format!("{rounds}.md") }))]));
            if !world.is_over() {
                world.reply_with(Ok(CallReply::Value(json!([]))));
            }
            assert!(rounds < 50);
        }
        world.check();
        let ended = world.events.iter().find_map(|e| match &e.happening {
            crate::event::Happening::StepFailed { attempts, details, .. } => Some((*attempts, details.clone()?)),
            _ => None,
        });
        // Rounds of tools are no tries, and what they gave is kept.
        let (attempts, details) = ended.expect("it fails with its details");
        assert!(attempts == 1 && details["tool_calls"].as_array().is_some_and(|calls| calls.len() >= rounds - 1), "{attempts} {details}");
        let failure = world.end().failure.clone().unwrap();
        (rounds, world.status(), failure.failure.kind, failure.failure.message)
    };
    let limit = |rounds, message: &str| (rounds, RunStatus::Failed, FailureKind::Limit, message.to_string());
    assert_eq!(endless(&|_| ()), limit(11, "no answer after 10 rounds of tool calls (max_turns)"));
    assert_eq!(endless(&|a| a.max_turns = Some(2)), limit(3, "no answer after 2 rounds of tool calls (max_turns)"));
    assert_eq!(
        endless(&|a| a.limits = Limits { max_steps: Some(3), ..Limits::default() }),
        limit(4, "the agent may make 3 tool calls (limits.max_steps)")
    );
    let tokens = endless(&|a| a.limits = Limits { max_tokens: Some(9_000), ..Limits::default() });
    assert_eq!((tokens.1, tokens.2), (RunStatus::Failed, FailureKind::Limit));
    assert!(tokens.3.starts_with("agent \"writer\": limits.max_tokens: max_tokens is 9000;"), "{}", tokens.3);
}

#[test]
fn tool_calls_take_permits_and_a_list_of_their_own() {
    let calls: Vec<(String, &str, Value)> = (0..5).map(|i| (format!("c{i}"), "docs-read", json!({ "name": format!("{i}.md") }))).collect();
    let calls: Vec<(&str, &str, Value)> = calls.iter().map(|(id, tool, with)| (id.as_str(), *tool, with.clone())).collect();
    for (of_run, of_agent, most) in [(Some(2), None, 2), (None, Some(3), 3), (Some(1), Some(4), 1)] {
        let mut pipeline = with_tools(vec![agent("a", "Go.")], vec![("docs", file())]);
        pipeline.limits.max_parallel = of_run;
        writer(&mut pipeline).limits.max_parallel = of_agent;
        let mut world = world(pipeline);
        world.reply_with(asks(&calls));
        world.most_out = 0;
        for _ in 0..5 {
            world.reply_with(Ok(CallReply::Value(json!([]))));
        }
        assert_eq!(world.most_out, most);
        world.reply_with(says("Done."));
        assert_eq!(world.status(), RunStatus::Succeeded);
        world.check();
    }
}

#[test]
fn a_tool_that_is_a_pipeline_runs_inside_and_its_failure_is_told() {
    let mut inner = pipeline("inner", vec![query("rows")]);
    inner.inputs = Shape::Fields(vec![Field::new("day", FieldKind::Text)]);
    inner.outputs = Outputs::Named(vec![output("said", "{{ steps.rows.output[0].said }} on {{ inputs.day }}")]);
    let outer = || {
        let kind = ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(PipelineId(1)) };
        with_tools(vec![agent("a", "Go.")], vec![("look_up", tool(kind))])
    };
    let mut world = World::new(planned(vec![outer(), inner.clone()]));
    world.reply_with(asks(&[("c1", "look_up", json!({ "day": "Monday" }))]));
    assert_eq!(world.out.last().unwrap().1, "a/look_up[2]/rows");
    world.answer("a/look_up[2]/rows", Says::Text("8 hours"));
    assert_eq!(world.told(), [(MessageRole::Tool, "{\"said\":\"8 hours on Monday\"}".to_string())]);
    world.reply_with(says("Eight."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();

    let mut world = World::new(planned(vec![outer(), inner.clone()]));
    world.reply_with(asks(&[("c1", "look_up", json!({ "day": "Monday" }))]));
    world.answer("a/look_up[2]/rows", Says::No(FailureKind::Connection));
    assert!(world.told()[0].1.contains("This did not work (connection): pipeline \"inner\" failed"));
    world.cancel(Canceller::Person);
    assert_eq!(world.status(), RunStatus::Cancelled);
    world.check();

    let mut world = World::new(planned(vec![outer(), inner]));
    world.reply_with(asks(&[("c1", "look_up", json!({ "day": "Monday" })), ("c2", "look_up", json!({ "day": "Friday" }))]));
    assert_eq!(world.out.len(), 2);
    world.cancel(Canceller::Person);
    assert_eq!(world.status(), RunStatus::Cancelled);
    assert_eq!(world.step("a/look_up[2]/rows"), Some(StepStatus::Cancelled));
    assert_eq!(world.step("a"), Some(StepStatus::Cancelled));
    world.check();
}

#[test]
fn a_deadline_of_an_agent_ends_its_pipelines_too() {
    let kind = ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(PipelineId(1)) };
    let mut outer = with_tools(vec![agent("a", "Go.")], vec![("look_up", tool(kind))]);
    writer(&mut outer).limits.deadline = Some(std::time::Duration::from_secs(5));
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![query("rows")])]));
    world.reply_with(asks(&[("c1", "look_up", json!({}))]));
    world.wait();
    assert_eq!((world.ms, world.status()), (5_000, RunStatus::Failed));
    assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::Timeout);
    assert_eq!(world.step("a/look_up[2]/rows"), Some(StepStatus::Cancelled));
    world.check();
}

#[test]
fn a_hung_tool_is_cut_off_and_the_agent_goes_on() {
    let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
    let call = world.call();
    world.wait();
    assert!(world.cancelled.contains(&call));
    assert!(world.told()[0].1.contains("unknown_outcome"), "{:?}", world.told());
    world.reply_with(says("It may have happened."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_mock_stands_in_for_a_tool_and_without_one_nothing_goes_out_in_a_test() {
    let start = |mocks: Vec<(&str, Mock)>| {
        let by_name = mocks.into_iter().map(|(name, mock)| (name.to_string(), mock)).collect();
        let options = crate::RunSettings { mocks: Mocks { by_name, refuses_effects: true, ..Mocks::default() }, ..options() };
        let plan = planned(vec![with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))])]);
        let mut world = World::with(plan, options);
        world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
        world
    };
    let mut mocked = start(vec![("hook", Mock::Output(json!({ "ok": true })))]);
    assert_eq!(mocked.told()[0].1, "{\"ok\":true}");
    mocked.reply_with(says("Done."));
    assert_eq!(mocked.status(), RunStatus::Succeeded);
    assert!(mocked.run.noted().mocks_used.contains("hook"));
    mocked.check();
    let refused = start(vec![]);
    assert_eq!(refused.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied);
    assert_eq!(refused.run.noted().refused, ["a".into()] as [Arc<str>; 1]);
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

#[test]
fn what_an_agent_calls_is_decided_by_its_policy_and_by_the_files() {
    let mut pipeline = with_tools(vec![agent("a", "Go.")], vec![("docs", file()), ("hook", hook("https://example.com/x"))]);
    pipeline.policies = [
        (
            "office".to_string(),
            policy(|p| {
                p.allowed_tools = Some(vec![named("docs"), named("hook")]);
                p.read = Some(vec![named("notes/*.md")]);
                p.hosts = Some(vec![named("example.com")]);
            }),
        ),
        ("reader".to_string(), policy(|p| p.allowed_tools = Some(vec![named("docs.read"), named("hook")]))),
    ]
    .into_iter()
    .collect();
    pipeline.policy = Some(named("office"));
    let ask = |pipeline: Pipeline, tool: &str, with: Value| {
        let mut world = world(pipeline);
        world.reply_with(asks(&[("c1", tool, with)]));
        world
    };
    let allowed = ask(pipeline.clone(), "docs-read", json!({ "name": "a.md" }));
    assert_eq!(allowed.count("tool_called"), 1);
    assert_eq!(
        allowed.decisions(),
        [
            "writer tool docs.read allowed: policy office: allowed_tools docs",
            "writer read notes/a.md allowed: policy office: file_access.read notes/*.md",
        ]
    );
    let path = ask(pipeline.clone(), "docs-read", json!({ "name": "../secret.md" }));
    assert_eq!(path.count("tool_called"), 0);
    assert!(path.told()[0].1.contains("This did not work (denied): read \"secret.md\" is not allowed: policy office"), "{:?}", path.told());
    let host = ask(pipeline.clone(), "hook", json!({ "id": "1" }));
    assert_eq!(host.count("tool_called"), 1);
    writer(&mut pipeline).policy = Some(named("reader"));
    let both = ask(pipeline, "hook", json!({ "id": "1" }));
    assert_eq!(both.count("tool_called"), 0);
    assert_eq!(
        both.decisions(),
        [
            "writer tool hook allowed: policy reader: allowed_tools hook, policy office: allowed_tools hook",
            "writer host example.com blocked: policy reader: no list names it, and permission_mode is deny",
        ]
    );
    both.check();
}

#[test]
fn without_a_policy_a_model_cannot_choose_a_host() {
    let of = |url: &str| {
        let mut world = world(with_tools(vec![agent("a", "Go.")], vec![("hook", hook(url))]));
        world.reply_with(asks(&[("c1", "hook", json!({ "id": "evil.example" }))]));
        world.count("tool_called")
    };
    assert_eq!(of("https://example.com/{{ with.id }}"), 1);
    assert_eq!(of("https://{{ with.id }}/x"), 0);
    assert_eq!(of("https://api.{{ with.id }}/x"), 0);
    assert_eq!(of("https://{{ 'a/' ~ with.id }}.example.com/x"), 0);
    assert_eq!(of("{{ with.id }}"), 0);
}

#[test]
fn a_step_keeps_to_the_policy_of_its_file_and_of_the_file_that_called_it() {
    let refuse = |mut pipeline: Pipeline| {
        pipeline.policies = [("none".to_string(), Policy::default())].into_iter().collect();
        pipeline.policy = Some(named("none"));
        pipeline
    };
    let hooked = || {
        let mut pipeline = pipeline("p", vec![step("t", crate::model::StepKind::Tool(call_of("hook")))]);
        pipeline.tools = [("hook".to_string(), hook("https://example.com/x"))].into_iter().collect();
        pipeline
    };
    let free = world(hooked());
    assert_eq!((free.out.len(), free.decisions().len()), (1, 0));
    let own = world(refuse(hooked()));
    assert_eq!(own.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied);
    assert_eq!(own.decisions(), [" tool hook blocked: policy none: no list names it, and permission_mode is deny"]);
    let outer = refuse(pipeline("outer", vec![call("c", PipelineId(1))]));
    let called = World::new(planned(vec![outer, hooked()]));
    assert_eq!(called.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied);
    called.check();
}

fn call_of(tool: &str) -> crate::model::ToolStep {
    let with = vec![(named("id"), Filling::Constant(json!("1")))];
    crate::model::ToolStep { tool: named(tool), with, output: None, idempotency_key: None }
}

fn call(id: &str, pipeline: PipelineId) -> Step {
    let call = crate::model::CallStep { file: named("inner.yaml"), pipeline: Some(pipeline), with: vec![], channel: None };
    step(id, crate::model::StepKind::Call(call))
}

#[test]
fn a_called_pipeline_has_a_person_of_its_own_and_keeps_to_its_own_limits() {
    let person = |id: &str| crate::model::Person { id: Filling::Text(text(id)), from: crate::model::PersonSource::Table(named("people")) };
    let mut inner = pipeline("inner", vec![needs(query("a"), &[]), needs(query("b"), &[]), needs(query("c"), &[])]);
    inner.data = [("people".to_string(), people())].into_iter().collect();
    inner.person = Some(person("p9"));
    inner.limits.max_parallel = Some(2);
    inner.outputs = Outputs::Named(vec![output("name", "{{ person.name }}")]);
    let mut outer = pipeline("outer", vec![call("c", PipelineId(1))]);
    outer.outputs = Outputs::Named(vec![output("name", "{{ steps.c.output.name }}")]);
    let mut world = World::new(planned(vec![outer, inner]));
    let row = json!({ "id": "p9", "name": "Bo" }).as_object().cloned().unwrap();
    world.reply_with(Ok(CallReply::Rows(Rows { rows: vec![row], columns: vec![], personal: vec![], is_cut: false })));
    assert_eq!(world.out.iter().map(|(_, path)| path.as_str()).collect::<Vec<_>>(), ["c/a", "c/b"]);
    for path in ["c/a", "c/b", "c/c"] {
        world.answer(path, Says::Yes);
    }
    assert_eq!(*world.end().outputs, json!({ "name": "Bo" }));
    assert_eq!(world.most_out, 2);
    world.check();
}

fn people() -> crate::model::Data {
    crate::model::Data {
        file: Spanned::new("people.csv".into(), Default::default()),
        kind: crate::model::DataKind::Csv,
        table: None,
        pii: vec![],
        is_untrusted: false,
        form: Default::default(),
        columns: Default::default(),
        engine: None,
        header: None,
        oddities: vec![],
        looks: Default::default(),
    }
}

#[test]
fn a_called_pipeline_over_its_budget_fails_its_step_and_not_the_run_budget() {
    let mut inner = pipeline("inner", vec![agent("a", "Go.")]);
    inner.limits.max_tokens = Some(100);
    let mut outer = pipeline("outer", vec![call("c", PipelineId(1)), set("after", "x")]);
    Arc::make_mut(&mut outer.steps[0]).on_failure = crate::model::OnFailure::Continue;
    let world = World::new(planned(vec![outer, inner]));
    assert_eq!(world.status(), RunStatus::Partial);
    let failed = world.events.iter().find_map(|e| match &e.happening {
        Happening::StepFailed { step, failure, .. } if **step == *"c" => Some(failure.clone()),
        _ => None,
    });
    let failure = failed.unwrap();
    assert_eq!(failure.kind, FailureKind::Limit);
    assert!(failure.message.contains("pipeline \"inner\" went over its budget: max_tokens is 100"), "{}", failure.message);
    world.check();
}

#[test]
fn steps_that_wait_for_the_budget_wait_for_those_that_are_out() {
    let mut pipeline = pipeline("p", vec![needs(agent("a", "Go."), &[]), needs(agent("b", "Go."), &[])]);
    pipeline.limits.max_tokens = Some(6_000);
    let mut world = world(pipeline);
    assert_eq!(world.out.len(), 1);
    let usage = Some(crate::event::Usage { input_tokens: 10, output_tokens: 10, ..crate::event::Usage::default() });
    let answer = || Ok(CallReply::Model(ModelReply { text: "Done.".into(), usage, ..ModelReply::default() }));
    world.reply_with(answer());
    world.reply_with(answer());
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_gate_with_a_judge_waits_for_a_permit() {
    let mut gate = gate("check", "steps.text.output", None, None);
    if let crate::model::StepKind::Gate(gate) = &mut gate.kind {
        gate.judge = Some(named("writer"));
    }
    let mut pipeline = pipeline("p", vec![needs(agent("slow", "Go."), &[]), needs(set("text", "good"), &[]), needs(gate, &["text"])]);
    let mut card = good();
    card.criteria[0].judging = crate::model::Judging::Judge;
    card.criteria[0].expected = Some("The word good.".into());
    pipeline.scorecards = [("card".to_string(), card)].into_iter().collect();
    pipeline.limits.max_parallel = Some(1);
    let mut world = world(pipeline);
    assert_eq!(world.out.len(), 1);
    world.reply_with(says("Done."));
    assert_eq!(world.out.len(), 1);
    world.reply_with(says("{\"verdicts\": [{\"id\": \"good\", \"passed\": true, \"feedback\": \"\", \"evidence\": \"good\"}]}"));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn an_agent_that_passes_its_bound_starts_nothing_of_that_answer() {
    let kind = ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(PipelineId(1)) };
    let mut outer = with_tools(vec![agent("a", "Go.")], vec![("look_up", tool(kind)), ("docs", file())]);
    writer(&mut outer).limits.max_steps = Some(1);
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![query("rows")])]));
    world.reply_with(asks(&[("c1", "look_up", json!({})), ("c2", "docs-list", json!({}))]));
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.count("call_opened"), 0);
    world.check();
}

#[test]
fn an_element_that_waits_is_forgotten_with_its_list() {
    let mut each = for_each(query("each"), "[1, 2]", true, None);
    each.retry = Some(retry(2));
    each.on_failure = crate::model::OnFailure::Continue;
    let mut pipeline = pipeline("p", vec![needs(each, &[]), needs(query("y"), &[]), needs(query("z"), &["each"])]);
    pipeline.limits.max_parallel = Some(1);
    let mut world = world(pipeline);
    while !world.is_over() {
        match world.out.first().cloned() {
            Some((_, path)) if path.starts_with("each") => world.answer(&path, Says::No(FailureKind::Timeout)),
            Some((_, path)) => world.answer(&path, Says::Yes),
            None => world.wait(),
        }
    }
    assert_eq!(world.status(), RunStatus::Partial);
    world.check();
}

#[test]
fn an_answer_that_asks_for_a_tool_where_none_was_offered_is_a_bad_response_and_tried_again() {
    let mut world = world(pipeline("p", vec![agent("a", "Go.")]));
    for _ in 0..2 {
        world.reply_with(asks(&[("c1", "shell", json!({}))]));
        world.wait();
    }
    world.reply_with(asks(&[("c1", "shell", json!({}))]));
    assert_eq!(world.status(), RunStatus::Failed);
    let failure = &world.end().failure.as_ref().unwrap().failure;
    assert_eq!((failure.kind, world.count("model_called")), (FailureKind::BadResponse, 3));
    assert!(failure.message.contains("no tool was offered"), "{}", failure.message);
}
