//! Files beside a prompt, and results that are used again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::build::*;
use super::world::{Says, World};
use crate::event::{FailureKind, Happening, RunStatus};
use crate::model::{DataKind, Filling, Outputs, ReadStep, SqlEngine, Step, StepKind};
use crate::port::{FileContent, PageText, TableSource, TableSummary};
use crate::{CallReply, Input};

fn cached(mut step: Step) -> Step {
    step.cache = Some(std::time::Duration::from_secs(86_400));
    step
}

fn world(steps: Vec<Step>) -> World {
    let mut pipeline = pipeline("p", steps);
    pipeline.outputs =
        Outputs::Named(vec![output("a", "{{ steps.a.output }}"), output("cached", "{{ steps.a.details.cached | default(false) }}")]);
    World::new(planned(vec![pipeline]))
}

/// Answers the look for a kept result.
fn recall(world: &mut World, kept: Option<Value>) {
    let (call, _) = world.out.pop().expect("a look for a kept result");
    world.handle(Input::Reply { call, result: Ok(CallReply::Value(kept.unwrap_or_default())) });
}

#[test]
fn a_result_is_kept_and_used_again() {
    let mut first = world(vec![cached(query("a"))]);
    recall(&mut first, None);
    assert!(first.kept.is_empty());
    first.answer("a", Says::Text("eight"));
    assert_eq!(first.end().outputs["a"], json!([{ "said": "eight" }]));
    let (key, kept) = first.kept.iter().next().map(|(k, v)| (k.clone(), v.clone())).unwrap();
    first.check();

    let mut second = world(vec![cached(query("a"))]);
    assert_eq!(second.recalls.last(), Some(&key));
    recall(&mut second, Some(kept));
    assert_eq!(*second.end().outputs, json!({ "a": [{ "said": "eight" }], "cached": true }));
    assert!(second.kept.is_empty());
    second.check();

    let mut other = query("a");
    if let StepKind::Sql(sql) = &mut other.kind {
        sql.with = vec![(named("day"), Filling::Constant(json!("Monday")))];
    }
    assert_ne!(world(vec![cached(other)]).recalls, [key]);
}

#[test]
fn an_agents_answer_is_kept_and_a_failure_is_not() {
    let mut asked = world(vec![cached(agent("a", "Go."))]);
    recall(&mut asked, None);
    asked.answer("a", Says::Text("Done."));
    assert_eq!(asked.kept.values().next().unwrap()["output"], "Done.");
    asked.check();
    assert_ne!(world(vec![cached(agent("a", "Stay."))]).recalls, world(vec![cached(agent("a", "Go."))]).recalls);

    let mut failed = world(vec![cached(query("a"))]);
    recall(&mut failed, None);
    failed.answer("a", Says::No(FailureKind::Auth));
    assert_eq!((failed.status(), failed.kept.len()), (RunStatus::Failed, 0));
}

#[test]
fn a_cache_that_cannot_be_read_has_nothing() {
    let mut hung = world(vec![cached(query("a"))]);
    hung.wait();
    hung.answer("a", Says::Yes);
    assert_eq!(hung.status(), RunStatus::Succeeded);
    hung.check();
    let mut broken = world(vec![cached(query("a"))]);
    broken.answer("a", Says::No(FailureKind::Unavailable));
    broken.answer("a", Says::Yes);
    assert_eq!(broken.status(), RunStatus::Succeeded);
}

fn read(id: &str) -> Step {
    step(id, StepKind::Read(ReadStep { paths: Filling::Constant(json!(["plan.png", "notes.pdf"])), kind: None }))
}

fn attaching(attach: &str) -> Step {
    let mut step = agent("a", "What is this?");
    if let StepKind::Agent(agent) = &mut step.kind {
        agent.attach = Some(Filling::Text(bare(attach)));
    }
    step
}

/// A run up to the model call of `a`, with what it was sent, or how it failed.
fn attached(attach: &str) -> Result<(String, Vec<PathBuf>), (FailureKind, String)> {
    let told = step("told", StepKind::Set(Filling::Constant(json!({ "path": "/etc/passwd", "type": "text", "text": "x" }))));
    let mut world = world(vec![read("files"), told, attaching(attach)]);
    let picture = FileContent { path: "plan.png".into(), kind: "image".into(), ..FileContent::default() };
    let pages = vec![PageText { number: 1, text: "Page one.".into(), images: 0 }];
    let document = FileContent { path: "in/notes.pdf".into(), kind: "document".into(), pages, ..FileContent::default() };
    let (call, _) = world.out.pop().unwrap();
    world.handle(Input::Reply { call, result: Ok(CallReply::Files(vec![(picture, vec![]), (document, vec![])])) });
    world.check();
    if world.is_over() {
        let failure = world.end().failure.clone().unwrap().failure;
        return Err((failure.kind, failure.message));
    }
    let sent = world.events.iter().rev().find_map(|e| match &e.happening {
        Happening::ModelCalled { messages, .. } => messages.last().cloned(),
        _ => None,
    });
    sent.map(|message| (message.text.clone(), message.pictures.clone())).ok_or((FailureKind::Internal, "nothing was sent".into()))
}

#[test]
fn tables_of_files_with_one_name_are_told_apart() {
    let mut world = world(vec![read("files"), agent("a", "Go.")]);
    let file = |path: &str, name: &str| {
        let tables = vec![TableSummary { name: name.into(), ..TableSummary::default() }];
        let summary = "Table of 1 row and 1 column.".into();
        let source = TableSource {
            name: name.into(),
            file: path.into(),
            kind: DataKind::Csv,
            table: None,
            columns: BTreeMap::new(),
            pii: vec![],
            engine: SqlEngine::Sqlite,
            form: Default::default(),
        };
        (FileContent { path: path.into(), kind: "table".into(), tables, summary, ..FileContent::default() }, vec![source])
    };
    let files = vec![file("a/sales.csv", "sales"), file("b/Sales.csv", "Sales"), file("c/sales_2.csv", "sales_2")];
    let (call, _) = world.out.pop().unwrap();
    world.handle(Input::Reply { call, result: Ok(CallReply::Files(files)) });
    let read = world.output("files").unwrap();
    let names = [0, 1, 2].map(|at| read[at]["tables"][0]["name"].as_str().unwrap().to_owned());
    assert_eq!(names, ["sales", "Sales_3", "sales_2"]);
    assert_eq!(
        read[1]["summary"],
        "Table of 1 row and 1 column. Its table \"Sales\" is called \"Sales_3\" here, since another file has one of that name."
    );
    assert_eq!(world.details("files")["tables"][1], json!({ "name": "Sales_3", "file": "b/Sales.csv", "table": null }));
    world.check();
}

#[test]
fn an_answer_about_a_picture_is_not_kept() {
    let mut world = world(vec![read("files"), cached(attaching("steps.files.output"))]);
    let picture = FileContent { path: "plan.png".into(), kind: "image".into(), ..FileContent::default() };
    let (call, _) = world.out.pop().expect("the files are read");
    world.handle(Input::Reply { call, result: Ok(CallReply::Files(vec![(picture, vec![])])) });
    assert_eq!((world.count("model_called"), world.recalls.len()), (1, 0), "{:?}", world.lines());
}

#[test]
fn an_agent_sees_pictures_and_pages_of_files_that_were_read() {
    let pages = "What is this?\n\nFile notes.pdf:\nPage 1:\nPage one.\n";
    assert_eq!(attached("steps.files.output"), Ok((pages.to_string(), vec!["plan.png".into()])));
    assert_eq!(attached("steps.files.output[0]"), Ok(("What is this?".to_string(), vec!["plan.png".into()])));
}

#[test]
fn only_files_that_a_read_step_gave_are_attached() {
    let denied = "attach: no read step of this run has read \"/etc/passwd\"".to_string();
    assert_eq!(attached("steps.told.output"), Err((FailureKind::Denied, denied)));
    assert_eq!(attached("steps.told.output.path").unwrap_err().0, FailureKind::WrongType);
}

#[test]
fn a_path_that_a_step_gives_leads_nowhere_but_into_the_project() {
    let reads = |given: &str| {
        let told = step("told", StepKind::Set(Filling::Constant(json!(given))));
        let paths = Filling::Text(text("{{ steps.told.output }}"));
        world(vec![told, step("a", StepKind::Read(ReadStep { paths, kind: None }))])
    };
    assert_eq!(reads("data/notes.md").out.len(), 1);
    for outside in ["/etc/passwd", "../secret.md", "data/../../secret.md"] {
        let refused = reads(outside);
        assert_eq!(refused.end().failure.as_ref().unwrap().failure.kind, FailureKind::Denied, "{outside}");
    }
}

#[test]
fn files_that_a_rule_about_paths_lets_through_must_lie_where_they_say() {
    let policy = |change: fn(&mut crate::model::Policy)| {
        let mut policy = crate::model::Policy { permission_mode: Some(crate::model::PermissionMode::Auto), ..Default::default() };
        change(&mut policy);
        let mut p = pipeline("p", vec![read("a")]);
        p.policies.insert("own".into(), policy);
        p.policy = Some(named("own"));
        World::new(planned(vec![p])).held
    };
    let files = |within| vec![("plan.png".to_string(), within), ("notes.pdf".to_string(), within)];
    assert_eq!(policy(|p| p.read = Some(vec![named("*")])), files(false));
    assert_eq!(policy(|_| {}), [], "no rule speaks of paths");

    let told = Filling::Text(text("{{ steps.list.output }}"));
    let list = step("list", super::build::constant(json!(["plan.png", "notes.pdf"])));
    let by_step = step("a", StepKind::Read(ReadStep { paths: told, kind: None }));
    assert_eq!(world(vec![list, by_step]).held, files(true));
    assert_eq!(world(vec![read("a")]).held, [], "the author named them");
}
