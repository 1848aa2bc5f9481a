//! Search in documents: as a step, as the tool of an agent, under policies, in tests.

use serde_json::{Value, json};

use super::build::*;
use super::tools::{asks, says, tool, with_tools, writer};
use super::world::{World, options};
use crate::event::{FailureKind, Happening};
use crate::model::*;
use crate::port::{Embedding, FoundPiece, FoundPieces};
use crate::{CallReply, Mocks, RunSettings};

fn handbook(search: SearchMode) -> Tool {
    let pattern = |root: &str, rest: &str| Spanned::new(FilePattern { root: root.into(), rest: rest.to_owned() }, Default::default());
    let embed = search.needs_vectors().then(|| named("default"));
    let files = vec![pattern("docs", "**/*.md"), pattern("terms.pdf", "")];
    Tool { description: None, ..tool(ToolKind::Knowledge(Knowledge { files, search, embed, ..Knowledge::default() })) }
}

use crate::source::Spanned;

fn search(query: &str, top: Option<u64>) -> Step {
    step("found", StepKind::Search(SearchStep { knowledge: named("handbook"), query: text(query), top }))
}

fn with_step(query: &str, mode: SearchMode) -> Pipeline {
    let mut pipeline = with_tools(vec![search(query, None)], vec![("handbook", handbook(mode))]);
    pipeline.outputs =
        Outputs::Named(vec![output("first", "{{ steps.found.output[0].text }}"), output("files", "{{ steps.found.details.files }}")]);
    pipeline
}

fn pieces() -> FoundPieces {
    let piece = FoundPiece { text: "Thirty days.".into(), file: "docs/leave.md".into(), heading: "Leave".into(), score: 2.5, page: None };
    FoundPieces { pieces: vec![piece], files: 4, all_pieces: 9, ..FoundPieces::default() }
}

fn reading(patterns: &[&str]) -> Policy {
    Policy {
        read: Some(patterns.iter().map(|pattern| named(pattern)).collect()),
        allowed_tools: Some(vec![named("handbook")]),
        ..Policy::default()
    }
}

fn under(mut pipeline: Pipeline, policy: Policy) -> Pipeline {
    pipeline.policies = [("office".to_string(), policy)].into_iter().collect();
    pipeline.policy = Some(named("office"));
    pipeline
}

#[test]
fn a_step_gives_the_pieces_that_were_found() {
    let mut world = World::new(planned(vec![with_step("holidays {{ '{{' }}", SearchMode::Words)]));
    let [request] = world.searched.as_slice() else { panic!("one search is out") };
    assert_eq!((request.query.as_str(), request.top, request.mode), ("holidays {{", FOUND_PIECES, SearchMode::Words));
    assert!(request.embed.is_none());
    world.reply_with(Ok(CallReply::Found(pieces())));
    assert_eq!(*world.end().outputs, json!({ "first": "Thirty days.", "files": 4 }));
    let expected = json!([{ "text": "Thirty days.", "file": "docs/leave.md", "page": null, "heading": "Leave", "score": 2.5 }]);
    assert_eq!(world.output("found"), Some(expected));
    world.check();
}

#[test]
fn an_empty_question_looks_for_nothing() {
    let world = World::new(planned(vec![with_step(" ", SearchMode::Words)]));
    let failure = &world.end().failure.as_ref().unwrap().failure;
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::BadRequest, "nothing is looked for: the question is empty"));
    assert!(world.searched.is_empty());
}

#[test]
fn an_agent_searches_with_a_tool() {
    let mut world = World::new(planned(vec![with_tools(vec![agent("a", "Go.")], vec![("handbook", handbook(SearchMode::Words))])]));
    let offered = &world.asked[0].tools;
    assert_eq!(offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["handbook-search"]);
    assert_eq!(offered[0].parameters["required"], json!(["query"]));
    world.reply_with(asks(&[
        ("c1", "handbook-search", json!({ "query": "holidays", "top": 2 })),
        ("c2", "handbook-search", json!({ "query": "holidays", "top": 51 })),
        ("c3", "handbook-search", json!({})),
    ]));
    assert_eq!(world.searched.iter().map(|request| (request.query.as_str(), request.top)).collect::<Vec<_>>(), [("holidays", 2)]);
    world.reply_with(Ok(CallReply::Found(pieces())));
    let told = |id: &str| {
        let messages = world.asked.last().unwrap().messages.iter();
        messages.filter(|message| message.call_id.as_deref() == Some(id)).map(|message| message.text.clone()).collect::<String>()
    };
    assert_eq!(serde_json::from_str::<Value>(&told("c1")).unwrap()[0]["text"], "Thirty days.");
    assert!(told("c2").contains("arguments do not fit") && told("c3").contains("arguments do not fit"), "{} {}", told("c2"), told("c3"));
    world.reply_with(says("Thirty."));
    world.check();
}

#[test]
fn a_policy_decides_about_every_file_that_fits() {
    let of = |patterns: &[&str]| World::new(planned(vec![under(with_step("x", SearchMode::Words), reading(patterns))]));
    let allowed = of(&["docs/**", "terms.pdf"]);
    assert_eq!(allowed.searched.len(), 1);
    let decisions = |world: &World| {
        let decided = world.events.iter().filter_map(|event| match &event.happening {
            Happening::PolicyDecided { target, allowed, .. } => Some((target.clone(), *allowed)),
            _ => None,
        });
        decided.collect::<Vec<_>>()
    };
    assert_eq!(decisions(&allowed), [("docs/**/*.md".to_owned(), true), ("terms.pdf".to_owned(), true)]);
    for narrow in [&["docs/*.md", "terms.pdf"][..], &["docs/**"], &["docs/a?.md", "terms.pdf"]] {
        let world = of(narrow);
        assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied, "{narrow:?}");
        assert!(world.searched.is_empty());
    }
    let mut by_agent = with_tools(vec![agent("a", "Go.")], vec![("handbook", handbook(SearchMode::Words))]);
    by_agent.policies = [("office".to_string(), reading(&["docs/*.md"]))].into_iter().collect();
    writer(&mut by_agent).policy = Some(named("office"));
    let mut world = World::new(planned(vec![by_agent]));
    world.reply_with(asks(&[("c1", "handbook-search", json!({ "query": "holidays" }))]));
    assert!(world.searched.is_empty());
    assert!(world.asked.last().unwrap().messages.last().unwrap().text.contains("(denied)"));
}

#[test]
fn vectors_are_asked_of_the_model_that_the_file_names() {
    let mut pipeline = with_step("x", SearchMode::Both);
    let model = pipeline.models.get_mut("default").unwrap();
    model.base_url = Some(text("http://127.0.0.1:9/v1/"));
    model.api_key = Some(text("key"));
    let world = World::new(planned(vec![pipeline.clone()]));
    let Some(Embedding::Endpoint(endpoint)) = world.searched[0].embed.clone() else { panic!("an endpoint is asked") };
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("http://127.0.0.1:9/v1", "m"));
    assert_eq!(endpoint.api_key.map(|key| key.reveal().to_owned()), Some("key".to_owned()));
    let replies = Replies { meanings: vec![vec!["a".to_owned(), "b".to_owned()]], ..Replies::default() };
    pipeline.models.insert("default".to_owned(), Model::new(Provider::Scripted(replies.into())));
    let world = World::new(planned(vec![pipeline.clone()]));
    assert!(matches!(&world.searched[0].embed, Some(Embedding::Scripted { meanings }) if meanings.len() == 1));
    // An input names the host: a policy that lists hosts must list it.
    let mut model = Model::new(Provider::Service(Service::OpenAi));
    model.base_url = Some(text("https://{{ inputs.host }}/v1"));
    pipeline.models.insert("default".to_owned(), model);
    pipeline.inputs = Shape::Fields(vec![Field::new("host", FieldKind::Text)]);
    let policy = Policy { hosts: Some(vec![named("example.com")]), ..reading(&["**"]) };
    let pipeline = under(pipeline, policy);
    let of = |host: &str| World::given(planned(vec![pipeline.clone()]), options(), json!({ "host": host }));
    assert_eq!(of("example.com").searched.len(), 1);
    assert_eq!(of("evil.example").end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied);
}

#[test]
fn a_mock_stands_for_the_step_or_for_the_tool() {
    let mocked = |name: &str| {
        let by_name = [(name.to_owned(), Mock::Output(json!([{ "text": "Mocked.", "file": "a.md" }])))].into_iter().collect();
        let options = RunSettings { mocks: Mocks { by_name, refuses_effects: true, ..Mocks::default() }, ..options() };
        let mut pipeline = with_step("x", SearchMode::Words);
        pipeline.outputs = Outputs::Named(vec![output("first", "{{ steps.found.output[0].text }}")]);
        World::with(planned(vec![pipeline]), options)
    };
    for name in ["found", "handbook.search"] {
        let world = mocked(name);
        assert_eq!(*world.end().outputs, json!({ "first": "Mocked." }), "{name}");
        assert!(world.searched.is_empty());
    }
}

/// A pipeline that searches the files of its input.
fn of_a_run(files: &str) -> Pipeline {
    with_given(files, search("x", None))
}

fn with_given(files: &str, step: Step) -> Pipeline {
    let given = vec![text(files)];
    let documents = tool(ToolKind::Knowledge(Knowledge { given, ..Knowledge::default() }));
    let mut pipeline = with_tools(vec![step], vec![("handbook", documents)]);
    pipeline.inputs = Shape::Fields(vec![Field { is_required: false, ..Field::new("files", FieldKind::List) }]);
    pipeline
}

fn given(world: &World) -> Vec<&str> {
    let [request] = world.searched.as_slice() else { panic!("one search is out") };
    request.given.iter().flatten().filter_map(|path| path.to_str()).collect()
}

#[test]
fn the_run_fills_in_the_files_and_they_are_never_patterns() {
    let of = |inputs: Value| World::given(planned(vec![of_a_run("{{ inputs.files }}")]), options(), inputs);
    let world = of(json!({ "files": ["/tmp/a[1].pdf", "docs/**"] }));
    assert_eq!((given(&world), world.searched[0].files.len()), (vec!["/tmp/a[1].pdf", "docs/**"], 0));
    assert_eq!(world.held, [], "a person named them");
    assert_eq!(given(&of(json!({ "files": [] }))), Vec::<&str>::new());
    assert_eq!(given(&of(json!({ "files": null }))), Vec::<&str>::new());
    let one = World::given(planned(vec![of_a_run("{{ inputs.files[0] }}")]), options(), json!({ "files": ["a.pdf"] }));
    assert_eq!(given(&one), ["a.pdf"]);
    for (files, found) in [(json!([1]), "a number"), (json!([""]), "an empty text"), (json!([["a"]]), "a list")] {
        let world = of(json!({ "files": files }));
        let failure = &world.end().failure.as_ref().unwrap().failure;
        let expected = format!("the files of knowledge \"handbook\" must be a path or a list of paths, found {found}");
        assert_eq!((failure.kind, &failure.message), (FailureKind::WrongType, &expected));
        assert!(world.searched.is_empty());
    }
}

#[test]
fn an_agent_searches_the_files_of_the_run_and_cannot_name_others() {
    let pipeline = with_given("{{ inputs.files }}", agent("a", "Go."));
    let mut world = World::given(planned(vec![pipeline]), options(), json!({ "files": ["a.pdf"] }));
    let call = |id: &str, arguments: Value| asks(&[(id, "handbook-search", arguments)]);
    world.reply_with(call("c1", json!({ "query": "x", "files": ["/etc/passwd"] })));
    assert!(world.searched.is_empty(), "no such argument");
    world.reply_with(call("c2", json!({ "query": "x" })));
    assert_eq!(given(&world), ["a.pdf"]);
}

#[test]
fn a_policy_and_the_project_bound_the_files_of_a_run() {
    let inputs = || json!({ "files": ["docs/a.pdf", "b.pdf"] });
    let under_policy =
        |patterns: &[&str]| World::given(planned(vec![under(of_a_run("{{ inputs.files }}"), reading(patterns))]), options(), inputs());
    let allowed = under_policy(&["docs/**", "b.pdf"]);
    assert_eq!(given(&allowed), ["docs/a.pdf", "b.pdf"]);
    assert_eq!(allowed.held, [("docs/a.pdf".to_owned(), false), ("b.pdf".to_owned(), false)], "no link leads elsewhere");
    let denied = under_policy(&["docs/**"]);
    assert_eq!(denied.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied);
    assert!(denied.searched.is_empty());
    // A model chose the file: it must be in the project.
    let called = |file: &str| {
        let with = vec![(named("files"), Filling::Text(text("{{ steps.chosen.output }}")))];
        let call = StepKind::Call(CallStep { file: named("x.yaml"), pipeline: Some(PipelineId(1)), with, channel: None });
        let outer = pipeline("test", vec![agent("chosen", "Choose a file."), step("call", call)]);
        let mut inner = of_a_run("{{ inputs.files }}");
        inner.inputs = Shape::Fields(vec![Field::new("files", FieldKind::Text)]);
        let mut world = World::new(planned(vec![outer, inner]));
        world.reply_with(says(file));
        world
    };
    let inside = called("docs/a.pdf");
    assert_eq!((given(&inside), inside.held.clone()), (vec!["docs/a.pdf"], vec![("docs/a.pdf".to_owned(), true)]));
    for outside in ["/etc/passwd", "../b.pdf", "docs/../../b.pdf"] {
        let world = called(outside);
        let failure = &world.end().failure.as_ref().unwrap().failure;
        let inner = world.events.iter().find_map(|event| match &event.happening {
            Happening::StepFailed { failure, .. } => Some(failure.clone()),
            _ => None,
        });
        let inner = inner.unwrap_or_else(|| failure.clone());
        assert_eq!(inner.kind, FailureKind::Denied, "{outside}");
        assert!(inner.message.starts_with("search in \""), "{}", inner.message);
        assert!(world.searched.is_empty());
    }
}
