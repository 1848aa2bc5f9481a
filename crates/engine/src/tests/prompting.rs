//! `permission_mode: prompt`: what no list of a policy names is asked of a person.

use serde_json::{Value, json};

use super::build::*;
use super::serving::pipeline_with;
use super::tools::{asks, file, hook, says, tool, with_tools, writer};
use super::world::{Says, World, options};
use crate::event::{Event, FailureKind, Happening, MessageRole, RunStatus, StepStatus};
use crate::model::{
    Filling, HttpStep, Method, PermissionMode, Pipeline, PipelineId, Policy, ReadStep, ServerKind, Step, StepKind, ToolKind, ToolStep,
};
use crate::{CallReply, Input, Mocks, Moment, Run, RunSettings};

fn prompting() -> Policy {
    Policy { permission_mode: Some(PermissionMode::Prompt), ..Policy::default() }
}

/// The policy `careful` in force for the whole file.
fn under(policy: Policy, mut pipeline: Pipeline) -> Pipeline {
    pipeline.policies = [("careful".to_string(), policy)].into_iter().collect();
    pipeline.policy = Some(named("careful"));
    pipeline
}

fn world(policy: Policy, pipeline: Pipeline) -> World {
    World::new(planned(vec![under(policy, pipeline)]))
}

const ASKS: &str = "policy careful: no list names it, and permission_mode is prompt";

impl World {
    fn asked_of_people(&self) -> Vec<&str> {
        let mut asked = vec![];
        for event in &self.events {
            if let Happening::ApprovalRequested { question, .. } = &event.happening {
                asked.push(question.as_str());
            }
        }
        asked
    }

    fn says(&mut self, step: &str, approved: bool) {
        let (comment, by) = ("not today".to_owned(), "ana".to_owned());
        self.handle(Input::Decided { step: step.into(), question: 0, approved, comment, by, nobody: false, fields: None });
    }

    /// Of each decision who made it, and what it was.
    fn audit(&self) -> Vec<(String, bool, String, String)> {
        let told = |e: &Event| match &e.happening {
            Happening::PolicyDecided { target, allowed, rule, by, .. } => Some((target.clone(), *allowed, rule.clone(), by.clone())),
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }
}

fn row(target: &str, allowed: bool, rule: &str, by: &str) -> (String, bool, String, String) {
    (target.to_owned(), allowed, rule.to_owned(), by.to_owned())
}

/// An agent that asked for one call of a tool that no list names.
fn waiting(policy: Policy) -> World {
    let mut world = world(policy, with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
    world
}

#[test]
fn a_call_that_no_list_names_waits_for_a_person_and_the_answer_stands_in_the_audit() {
    let mut world = waiting(prompting());
    assert!(world.run.is_paused() && world.out.is_empty());
    let question = format!(r#""a" wants to call hook with {{"id":"7"}} (reach https://example.com) ({ASKS}); allow it?"#);
    assert_eq!(world.asked_of_people(), [question]);
    world.says("a", true);
    assert_eq!(world.out.len(), 1);
    let yes = format!("{ASKS}, and a person said yes");
    assert_eq!(world.audit(), [row("hook", true, &yes, "ana"), row("example.com", true, &yes, "ana")]);
    world.reply_with(Ok(CallReply::Value(json!("done"))));
    // The same call once more is another act.
    world.reply_with(asks(&[("c2", "hook", json!({ "id": "7" }))]));
    assert!(world.run.is_paused() && world.asked_of_people().len() == 2);
    world.says("a", true);
    world.reply_with(Ok(CallReply::Value(json!("done"))));
    world.reply_with(says("All done."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn a_no_is_told_to_the_model_and_nothing_goes_out() {
    let mut world = waiting(Policy { allowed_tools: Some(vec![named("hook")]), ..prompting() });
    let question = format!(r#""a" wants to call hook with {{"id":"7"}} (reach https://example.com) ({ASKS}); allow it?"#);
    assert_eq!(world.asked_of_people(), [question]);
    world.says("a", false);
    assert_eq!(world.count("tool_called"), 0);
    assert_eq!(world.audit(), [row("example.com", false, &format!("{ASKS}, and a person said no"), "ana")]);
    let heard = "This did not work (rejected): a person rejected this call of \"hook\": not today";
    assert_eq!(world.told(), [(MessageRole::Tool, heard.to_string())]);
    world.reply_with(says("Then not."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn nobody_is_asked_about_what_a_list_allows_or_denies() {
    let open = Policy { allowed_tools: Some(vec![named("hook")]), hosts: Some(vec![named("example.com")]), ..prompting() };
    let world = waiting(open.clone());
    assert!(world.asked_of_people().is_empty() && world.out.len() == 1);
    let world = waiting(Policy { disallowed_tools: vec![named("hook")], ..open.clone() });
    assert!(world.asked_of_people().is_empty() && world.count("tool_called") == 0);
    // Another policy that denies comes before the question.
    let mut both = under(prompting(), with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://example.com/x"))]));
    both.policies.insert("strict".into(), Policy::default());
    writer(&mut both).policy = Some(named("strict"));
    let mut world = World::new(planned(vec![both]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "7" }))]));
    assert!(world.asked_of_people().is_empty() && world.count("tool_called") == 0);
    // One question where a list asks for confirmation, too.
    let world = waiting(Policy { approval_required: vec![named("hook")], ..prompting() });
    assert_eq!(world.asked_of_people().len(), 1);
}

#[test]
fn a_host_that_the_data_names_is_no_question() {
    let mut world = world(prompting(), with_tools(vec![agent("a", "Go.")], vec![("hook", hook("https://{{ with.id }}/x"))]));
    world.reply_with(asks(&[("c1", "hook", json!({ "id": "evil.example" }))]));
    assert!(world.asked_of_people().is_empty() && world.count("tool_called") == 0, "{:?}", world.lines());
}

fn http() -> Step {
    let body = Some(Filling::Constant(json!({ "n": 1 })));
    let url = text("https://example.com:8443/x?y=1");
    step(
        "get",
        StepKind::Http(HttpStep { method: Method::Post, url, headers: vec![], query: vec![], body, output: None, idempotency_key: None }),
    )
}

#[test]
fn steps_that_call_something_themselves_ask_with_all_that_they_do() {
    let read = || step("look", StepKind::Read(ReadStep { paths: Filling::Constant(json!(["a.md", "b.md"])), kind: None }));
    for (step, path, question) in
        [(http(), "get", r#"send POST https://example.com:8443/x?y=1 with {"n":1}"#), (read(), "look", "read files (read a.md, read b.md)")]
    {
        let mut world = world(prompting(), pipeline("p", vec![step]));
        assert!(world.run.is_paused() && world.out.is_empty(), "{path}");
        assert_eq!(world.asked_of_people(), [format!(r#""{path}" wants to {question} ({ASKS}); allow it?"#)]);
        assert_eq!(world.run.state().steps.node(world.run.state().steps.paths[path]).status, StepStatus::Waiting);
        let mut no = world.again();
        world.says(path, true);
        assert_eq!((world.out.len(), world.asked_of_people().len()), (1, 1), "{path}");
        world.check();
        no.says(path, false);
        let failure = &no.end().failure.as_ref().unwrap().failure;
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Rejected, "a person rejected this: not today"));
        assert!(no.audit().iter().all(|(_, allowed, _, by)| !allowed && by == "ana") && !no.audit().is_empty());
        no.check();
    }
    // A query over no table of a file reads nothing that a policy is about.
    let sql = world(prompting(), pipeline("p", vec![query("q")]));
    assert!(sql.asked_of_people().is_empty() && sql.out.len() == 1);
}

impl World {
    /// The same run in another process, before anybody has answered.
    fn again(&self) -> World {
        let now = Moment { wall: super::world::start(), ms: self.ms };
        let run = Run::resumed("r_test", self.plan.clone(), options(), now, &self.events).unwrap();
        let mut after = World { run, events: self.events.clone(), out: vec![], ..World::new(self.plan.clone()) };
        after.handle(Input::Resume { away_ms: 1000 });
        assert!(after.run.is_paused() && after.out.is_empty(), "nobody has answered");
        after
    }
}

#[test]
fn an_answer_from_another_process_counts_once_the_run_continues() {
    for approved in [true, false] {
        let world = waiting(prompting());
        let mut events = world.events.clone();
        let last = events.last().unwrap().clone();
        let happening = Happening::ApprovalAnswered {
            step: "a".into(),
            approved,
            output: None,
            comment: String::new(),
            by: "bo".into(),
            nobody: false,
        };
        events.push(Event { seq: last.seq + 1, happening, ..last });
        let now = Moment { wall: super::world::start(), ms: world.ms };
        let run = Run::resumed("r_test", world.plan.clone(), options(), now, &events).unwrap();
        let mut after = World { run, events, out: vec![], ..World::new(world.plan.clone()) };
        after.handle(Input::Resume { away_ms: 1000 });
        assert_eq!((after.count("tool_called"), after.asked_of_people().len()), (usize::from(approved), 1));
        assert!(after.audit().iter().all(|(_, allowed, _, by)| *allowed == approved && by == "bo"), "{:?}", after.audit());
    }
}

#[test]
fn a_once_step_that_waited_for_a_person_is_not_in_doubt() {
    let mut step = http();
    step.is_once = true;
    let world = world(prompting(), pipeline("p", vec![step]));
    let mut after = world.again();
    assert_eq!(after.asked_of_people().len(), 1);
    after.says("get", true);
    assert_eq!(after.out.len(), 1);
    // It may have acted now.
    let now = Moment { wall: super::world::start(), ms: after.ms };
    let run = Run::resumed("r_test", after.plan.clone(), options(), now, &after.events).unwrap();
    let mut doubt = World { run, events: after.events.clone(), out: vec![], ..World::new(after.plan.clone()) };
    doubt.handle(Input::Resume { away_ms: 0 });
    assert_eq!(doubt.asked_of_people().last(), Some(&r#""get" was started and may have acted; run it again?"#));
}

#[test]
fn a_tool_that_is_a_pipeline_is_asked_about_once_with_its_person() {
    let kind = || ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(PipelineId(1)) };
    let call = StepKind::Tool(ToolStep { tool: named("look_up"), with: vec![], output: None, idempotency_key: None });
    let mut outer = pipeline("outer", vec![step("c", call)]);
    outer.tools.insert("look_up".into(), tool(kind()));
    let mut world = World::new(planned(vec![under(prompting(), outer), pipeline("inner", vec![query("q")])]));
    assert_eq!(world.asked_of_people(), [format!(r#""c" wants to call look_up with {{}} ({ASKS}); allow it?"#)]);
    world.says("c", true);
    assert_eq!(world.out.iter().map(|(_, step)| step.as_str()).collect::<Vec<_>>(), ["c/q"]);
    world.answer("c/q", Says::Yes);
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();

    // Of an agent, too.
    let outer = with_tools(vec![agent("a", "Go.")], vec![("look_up", tool(kind()))]);
    let mut world = World::new(planned(vec![under(prompting(), outer), pipeline("inner", vec![query("q")])]));
    world.reply_with(asks(&[("c1", "look_up", json!({}))]));
    assert!(world.run.is_paused());
    world.says("a", true);
    assert_eq!(world.out.len(), 1, "{:?}", world.lines());
    world.check();
}

#[test]
fn servers_at_hosts_that_no_list_names_are_asked_for_their_tools_once_a_person_agrees() {
    let url = |host: &str| ToolKind::Server(ServerKind::Url { url: text(&format!("https://{host}/mcp")), headers: vec![], auth: None });
    let mut own = pipeline_with(vec![agent("a", "Go.")], tool(url("weather.example")));
    own.tools.insert("maps".to_string(), tool(url("maps.example")));
    writer(&mut own).tools = vec![named("weather.get"), named("maps.get")];
    let mut world = world(Policy { allowed_tools: Some(vec![named("weather"), named("maps")]), ..prompting() }, own);
    let first = format!(r#""a" wants to list the tools of server weather (reach https://weather.example) ({ASKS}); allow it?"#);
    assert_eq!((world.asked_of_people(), world.out.len()), (vec![first.as_str()], 0));
    world.says("a", true);
    assert_eq!((world.asked_of_people().len(), world.count("tools_asked")), (2, 1), "{:?}", world.lines());
    world.says("a", true);
    assert_eq!((world.asked_of_people().len(), world.count("tools_asked")), (2, 2), "{:?}", world.lines());
    world.check();
}

#[test]
fn in_a_test_nobody_can_be_asked_and_a_mock_answers() {
    let mocks = |by_name: Vec<(&str, Value)>| {
        let by_name = by_name.into_iter().map(|(name, value)| (name.to_owned(), crate::model::Mock::Output(value))).collect();
        RunSettings { mocks: Mocks { by_name, refuses_effects: true, ..Mocks::default() }, ..options() }
    };
    let plan = || planned(vec![under(prompting(), with_tools(vec![agent("a", "Go.")], vec![("docs", file())]))]);
    let mut world = World::with(plan(), mocks(vec![]));
    world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "a.md" }))]));
    assert_eq!(world.run.noted().unanswered, [("a".into(), "docs.read".to_owned())]);
    assert!(
        world.told()[0].1.contains(r#"(denied): "a" asks a person before it may call docs.read with {"name":"a.md"}"#),
        "{:?}",
        world.told()
    );
    let mut world = World::with(plan(), mocks(vec![("docs.read", json!("Notes."))]));
    world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "a.md" }))]));
    assert!(world.run.noted().unanswered.is_empty());
    assert_eq!(world.told(), [(MessageRole::Tool, "Notes.".to_string())]);
}

#[test]
fn nobody_is_asked_about_a_file_name_that_is_rejected_anyway() {
    let mut world = World::new(planned(vec![under(prompting(), with_tools(vec![agent("a", "Go.")], vec![("docs", file())]))]));
    world.reply_with(asks(&[("c1", "docs-read", json!({ "name": "../secret.txt" }))]));
    assert!(!world.run.is_paused() && world.asked_of_people().is_empty());
    world.reply_with(says("Done."));
    assert_eq!((world.status(), world.audit().iter().any(|row| row.1)), (RunStatus::Succeeded, false));
}
