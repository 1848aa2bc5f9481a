//! A mock is held to what a real result is held to: whatever is given, the step ends the same way.

use serde_json::{Value, json};

use super::build::*;
use super::tools::{hook, tool};
use super::world::{World, options};
use crate::event::{Event, Failure, FailureKind, Happening, RunStatus, StepStatus};
use crate::model::*;
use crate::port::{HttpReply, ModelReply};
use crate::{CallReply, Input, Mocks, RunSettings};

/// `{ celsius: number, unit: F or C }`.
fn shape() -> Shape {
    let unit = Field { is_required: true, one_of: vec![json!("F"), json!("C")], ..Field::new("unit", FieldKind::Text) };
    Shape::Fields(vec![Field { is_required: true, ..Field::new("degrees", FieldKind::Number) }, unit])
}

fn ask() -> Step {
    step("a", StepKind::Tool(ToolStep { tool: named("hook"), with: vec![], output: Some(shape()), idempotency_key: None }))
}

fn page() -> Step {
    let http = HttpStep {
        method: Method::Get,
        url: text("https://example.com/"),
        headers: vec![],
        query: vec![],
        body: None,
        output: Some(shape()),
        idempotency_key: None,
    };
    step("a", StepKind::Http(http))
}

fn write(output: Option<Shape>) -> Step {
    step(
        "a",
        StepKind::Agent(AgentStep {
            agent: named("writer"),
            prompt: text("Go."),
            model: None,
            output,
            attach: None,
            history: History::Nothing,
        }),
    )
}

fn world(step: Step, mock: Option<Value>) -> World {
    let mut main = pipeline("p", vec![step, set("after", "{{ steps.a.status }}")]);
    main.tools.insert("hook".into(), hook("https://example.com/"));
    let by_name = mock.into_iter().map(|value| ("a".to_string(), Mock::Output(value))).collect();
    World::with(planned(vec![main]), RunSettings { mocks: Mocks { by_name, refuses_effects: false, ..Mocks::default() }, ..options() })
}

/// How step `a` ended: its output, or its failure; and how often it was tried.
fn end(world: &World) -> (Result<Value, Failure>, usize) {
    let found = world.events.iter().rev().find_map(|event: &Event| match &event.happening {
        Happening::StepSucceeded { step, output, .. } if **step == *"a" => Some(Ok((**output).clone())),
        Happening::StepFailed { step, failure, .. } if **step == *"a" => Some(Err(failure.clone())),
        _ => None,
    });
    (found.unwrap_or_else(|| panic!("a is not over: {:#?}", world.lines())), world.count("attempt_failed"))
}

fn answered(step: Step, answer: impl Fn() -> CallReply) -> World {
    let mut world = world(step, None);
    while let Some((call, _)) = world.out.pop() {
        world.handle(Input::Reply { call, result: Ok(answer()) });
    }
    world
}

#[test]
fn a_mock_ends_its_step_as_the_real_result_would() {
    let values = [
        json!({ "degrees": 20, "unit": "C" }),
        json!({ "degrees": 20, "unit": "K" }),
        json!({ "degrees": "warm", "unit": "C" }),
        json!({ "degrees": 20 }),
        json!({ "degrees": 20, "unit": "C", "more": 1 }),
        json!("{\"degrees\": 20, \"unit\": \"C\"}"),
        json!("warm"),
        json!(null),
        json!([]),
    ];
    let mut failed = 0;
    for value in values {
        let http = || HttpReply { status: 200, headers: vec![], body: value.clone() };
        let real = end(&answered(ask(), || CallReply::Http(http())));
        assert_eq!(end(&world(ask(), Some(value.clone()))), real, "tool: {value}");
        failed += usize::from(real.0.is_err());
        let whole = json!({ "status": 200, "headers": {}, "body": value });
        assert_eq!(end(&world(page(), Some(whole))), end(&answered(page(), || CallReply::Http(http()))), "http: {value}");
        let said = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let real = end(&answered(write(Some(shape())), || CallReply::Model(ModelReply { text: said.clone(), ..ModelReply::default() })));
        let (mocked, _) = end(&world(write(Some(shape())), Some(value.clone())));
        let kind = |end: &Result<Value, Failure>| end.as_ref().map_err(|failure| failure.kind).cloned();
        assert_eq!(kind(&mocked), kind(&real.0), "agent: {value}");
    }
    assert_eq!(failed, 7);
}

#[test]
fn a_mock_that_does_not_fit_fails_its_step_with_what_is_wrong() {
    let mut retried = ask();
    retried.retry = Some(retry(3));
    retried.on_failure = OnFailure::Continue;
    let world = world(retried, Some(json!({ "degrees": 20, "unit": "K" })));
    let (ended, tries) = end(&world);
    let failure = ended.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadShape);
    assert_eq!(failure.message, "the result does not match its schema: unit: \"K\" is not one of \"F\" or \"C\"");
    assert_eq!((tries, world.status(), world.output("after")), (0, RunStatus::Partial, Some(json!("failed"))));
    world.check();
}

#[test]
fn a_mock_is_of_the_form_of_its_kind() {
    let sql = |one| SqlStep { query: text("select 1"), with: vec![], filled: vec![], one, max_rows: None };
    let one = |one: bool| step("a", StepKind::Sql(sql(one.then(crate::source::Span::default))));
    let each = |step| for_each(step, "[1, 2]", false, None);
    let two = || step("a", StepKind::Sql(SqlStep { max_rows: Some(2), ..sql(None) }));
    let read = |path: Value| step("a", StepKind::Read(ReadStep { paths: Filling::Constant(path), kind: None }));
    let reply = |status: u16| json!({ "status": status, "headers": {}, "body": { "degrees": 1, "unit": "F" } });
    for (step, value, fits) in [
        (one(false), json!([{ "x": 1 }]), true),
        (one(false), json!({ "x": 1 }), false),
        (one(false), json!([1]), false),
        (one(true), json!({ "x": 1 }), true),
        (one(true), json!(null), true),
        (one(true), json!([{ "x": 1 }]), false),
        (one(false), json!([{ "x": 1, "y": 2 }, { "y": null, "x": 2 }]), true),
        (one(false), json!([{ "x": 1, "y": 2 }, { "x": 2 }]), false),
        (one(false), json!([{ "x": 1 }, { "z": 2 }]), false),
        (two(), json!([{ "x": 1 }, { "x": 2 }]), true),
        (two(), json!([{ "x": 1 }, { "x": 2 }, { "x": 3 }]), false),
        (each(two()), json!([[{ "x": 1 }], [{ "x": 1 }, { "x": 2 }, { "x": 3 }]]), false),
        (read(json!("a.md")), json!({ "path": "a.md", "type": "text", "text": "Hi" }), true),
        (read(json!("a.md")), json!("Hi"), false),
        (read(json!("a.md")), json!([{ "text": "Hi" }]), false),
        (read(json!(["a.md"])), json!([{ "text": "Hi" }]), true),
        (read(json!(["a.md"])), json!({ "text": "Hi" }), false),
        (read(json!("a.md")), json!({ "txt": "Hi" }), false),
        (page(), reply(201), true),
        (page(), reply(404), false),
        (page(), json!({ "degrees": 1, "unit": "F" }), false),
        (write(None), json!("Hello"), true),
        (write(None), json!({ "text": "Hello" }), false),
        (each(write(None)), json!(["a", "b"]), true),
        (each(write(None)), json!("a"), false),
        (each(write(None)), json!(["a", 2]), false),
        (each(write(None)), json!(["a", { "error": "timeout" }]), false),
        (each(write(None)), json!(["a"]), false),
        (each(write(None)), json!([]), false),
        (each(write(None)), json!(["a", "b", "c"]), false),
        (set("a", "x"), json!({ "any": "thing" }), true),
    ] {
        let world = world(step, Some(value.clone()));
        let expected = if fits { StepStatus::Succeeded } else { StepStatus::Failed };
        assert_eq!(world.step("a"), Some(expected), "{value}");
        world.check();
    }
}

#[test]
fn under_continue_the_mocks_of_a_list_end_its_elements_alone() {
    let failed = |kind: &str| json!({ "item": 2, "status": "failed", "output": null, "error": { "kind": kind } });
    for (second, status) in [
        (json!("b"), RunStatus::Succeeded),
        (json!({ "item": 2, "status": "succeeded", "output": "b", "error": null }), RunStatus::Succeeded),
        (json!({ "item": 2, "status": "succeeded", "output": 2, "error": null }), RunStatus::Partial),
        (json!({ "error": "timeout" }), RunStatus::Partial),
        (failed("timeout"), RunStatus::Partial),
    ] {
        let step = Step { on_failure: OnFailure::Continue, ..for_each(write(None), "[1, 2]", false, None) };
        let world = world(step, Some(json!(["a", second.clone()])));
        assert_eq!((world.step("a"), world.status()), (Some(StepStatus::Succeeded), status), "{second}");
        let entry = &world.output("a").unwrap()[1];
        assert_eq!((entry["item"] == 2, entry["status"] == "failed"), (true, status == RunStatus::Partial), "{entry}");
        world.check();
    }
}

#[test]
fn a_mock_of_a_pipeline_gives_its_outputs() {
    let call = CallStep { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)), with: vec![], channel: None };
    let by_tool = ToolStep { tool: named("fetch"), with: vec![], output: None, idempotency_key: None };
    for kind in [StepKind::Call(call), StepKind::Tool(by_tool)] {
        for (value, fits) in [(json!({ "said": 1 }), true), (json!({ "sad": 1 }), false), (json!({}), false), (json!("x"), false)] {
            let mut inner = pipeline("fetch", vec![query("get")]);
            inner.outputs = Outputs::Named(vec![output("said", "{{ steps.get.output }}")]);
            let mut main = pipeline("p", vec![step("a", kind.clone())]);
            main.tools.insert("fetch".into(), tool(ToolKind::Pipeline { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)) }));
            let by_name = [("a".to_string(), Mock::Output(value.clone()))].into();
            let mocks = Mocks { by_name, refuses_effects: true, ..Mocks::default() };
            let world = World::with(planned(vec![main, inner]), RunSettings { mocks, ..options() });
            let expected = if fits { RunStatus::Succeeded } else { RunStatus::Failed };
            assert_eq!(world.status(), expected, "{value}");
        }
    }
}

#[test]
fn what_a_pipeline_gives_as_a_tool_is_held_to_the_output_of_its_step() {
    for (said, fits) in [("F", true), ("K", false)] {
        let mut inner = pipeline("fetch", vec![set("get", said)]);
        inner.outputs = Outputs::Named(vec![(named("degrees"), Filling::Constant(json!(1))), output("unit", "{{ steps.get.output }}")]);
        let by_tool = ToolStep { tool: named("fetch"), with: vec![], output: Some(shape()), idempotency_key: None };
        let mut main = pipeline("p", vec![step("a", StepKind::Tool(by_tool))]);
        main.tools.insert("fetch".into(), tool(ToolKind::Pipeline { file: named("fetch.yaml"), pipeline: Some(PipelineId(1)) }));
        let world = World::new(planned(vec![main, inner]));
        assert_eq!(end(&world).0.map_err(|failure| failure.kind).is_ok(), fits, "{said}");
        world.check();
    }
}
