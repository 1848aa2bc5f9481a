//! A run never asks models more often than `plan::bounds` says, whatever they answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{World, options};
use crate::check::check_file;
use crate::event::{Failure, FailureKind, Happening};
use crate::load::WrittenRules;
use crate::model::Filling;
use crate::plan::{self, Plan, StepIx};
use crate::port::{MemoryFiles, ModelReply, Rows, ToolCall};
use crate::{CallReply, Input};

/// The files that this project ships, by their place in it.
fn repository() -> MemoryFiles {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders: Vec<PathBuf> =
        ["tests/draw", "tests/golden", "pipelines", "channels", "style_guides"].map(|name| root.join(name)).into();
    let mut files = vec![(PathBuf::from("flow.toml"), String::new())];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match std::fs::read_to_string(&path) {
                Ok(text) => files.push((path.strip_prefix(root).unwrap().into(), text)),
                Err(_) if path.is_dir() => folders.push(path),
                Err(_) => {}
            }
        }
    }
    files.into_iter().collect()
}

fn checked(file: &str) -> Arc<Plan> {
    let checked = check_file(Path::new(file), Path::new(""), &repository());
    assert!(checked.errors().is_empty(), "{:?}", checked.errors());
    Arc::new(checked.plan)
}

/// The inputs of the runs, and the length of the lists that come from them.
fn inputs(message: &str) -> Value {
    json!({ "message": message, "question": message, "person": "p7", "more": ["a", "b"], "cities": ["Rome", "Oslo"], "text": "x", "accept": ["It names the city."] })
}

fn length(_: StepIx, list: &Filling) -> Option<u64> {
    let Filling::Text(text) = list else { return None };
    matches!(&*text.source, "inputs.more" | "inputs.cities").then_some(2)
}

/// Answers of a model from bad to good. Verdicts are those of the criteria that were asked for.
fn answer(kind: u8, asked: &str) -> Result<CallReply, Failure> {
    let said = |text: String| Ok(CallReply::Model(ModelReply { text, ..ModelReply::default() }));
    let calls = |tool: &str| {
        let call = |id: &str| ToolCall { id: id.into(), tool: tool.into(), arguments: json!({ "text": "deep", "city": "Rome" }) };
        Ok(CallReply::Model(ModelReply { calls: vec![call("c1"), call("c2")], ..ModelReply::default() }))
    };
    let verdicts = |passed: bool| {
        let ids: Vec<&str> = asked.split("\"id\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let verdicts: Value = ids.iter().map(|id| json!({ "id": id, "passed": passed, "feedback": "x", "evidence": "" })).collect();
        json!({ "verdicts": verdicts }).to_string()
    };
    match kind {
        0..=2 => Err(Failure::new(FailureKind::ServerError, "down")),
        3 => Err(Failure::new(FailureKind::Timeout, "slow")),
        4 => said("does not match its declared schema".into()),
        5 => calls("deeper"),
        6 => calls("weather"),
        7 => calls("nothing_of_that_name"),
        8..=9 => said(verdicts(false)),
        10 => said(verdicts(true)),
        14 => said(plan(asked)),
        15 => said(json!({ "fulfilled": false, "progress": "not yet" }).to_string()),
        12 => said(json!({ "thought": "x", "sql_code": "select 1", "result": "x" }).to_string()),
        11 => said(json!({ "text": "fine", "told": "fine" }).to_string()),
        _ => said(json!({ "requires_timesheet_data": false, "period": "none", "detail": "short" }).to_string()),
    }
}

/// A plan of the dearest steps that `tests/golden/cities` allows; ids of an earlier plan are taken.
fn plan(asked: &str) -> String {
    let first = if asked.contains("Results so far") { "b" } else { "a" };
    let step = |number: usize| match number {
        0 => json!({ "id": format!("{first}0"), "use": "temperature", "with": { "city": "Rome" } }),
        number => json!({ "id": format!("{first}{number}"), "use": "writer", "prompt": "x" }),
    };
    json!({ "strategy": "parallel", "reasoning": "x", "steps": (0..5).map(step).collect::<Value>() }).to_string()
}

/// Plays a run; `bytes` say what is answered, and when time passes instead. Gives the calls of models by step.
fn play(plan: &Arc<Plan>, message: &str, bytes: &[u8]) -> BTreeMap<String, u64> {
    let mut world = World::given(plan.clone(), crate::RunSettings { written: Box::new(WrittenRules), ..options() }, inputs(message));
    for turn in 0..5_000 {
        if world.is_over() {
            break;
        }
        let byte = bytes[turn % bytes.len()] ^ (turn / bytes.len()) as u8;
        if world.out.is_empty() || byte > 245 {
            world.wait();
            continue;
        }
        let (call, _) = world.out.remove(byte as usize % world.out.len());
        let of_model = world.events.iter().rev().find_map(|event| match &event.happening {
            Happening::ModelCalled { call: other, messages, .. } if *other == call => Some(messages.clone()),
            _ => None,
        });
        let result = match of_model {
            Some(messages) => answer(byte % 16, messages.last().map_or("", |message| &message.text)),
            None if byte.is_multiple_of(3) => Err(Failure::new(FailureKind::ServerError, "down")),
            None => Ok(CallReply::Rows(Rows { columns: vec![("city".into(), "text".into())], ..Rows::default() })),
        };
        world.handle(Input::Reply { call, result });
    }
    assert!(world.is_over(), "the run does not end");
    let mut calls = BTreeMap::new();
    for event in &world.events {
        if let Happening::ModelCalled { step, .. } = &event.happening {
            *calls.entry(step.to_string()).or_default() += 1;
        }
    }
    calls
}

const FILES: [&str; 6] = [
    "tests/draw/everything.yaml",
    "tests/draw/counted.yaml",
    "tests/draw/called_twice.yaml",
    "pipelines/timesheet/pipeline.yaml",
    "tests/golden/cities/pipeline.yaml",
    "tests/golden/hours/pipeline.yaml",
];

/// The plans are made once: reading a file takes longer than a run.
fn plans() -> &'static [Arc<Plan>] {
    static PLANS: std::sync::OnceLock<Vec<Arc<Plan>>> = std::sync::OnceLock::new();
    PLANS.get_or_init(|| FILES.iter().map(|file| asked(checked(file))).collect())
}

/// The plan with a model that is asked in place of a scripted one.
fn asked(plan: Arc<Plan>) -> Arc<Plan> {
    let mut program = plan.program.clone();
    for pipeline in &mut program.pipelines {
        let pipeline = Arc::make_mut(pipeline);
        for model in pipeline.models.values_mut() {
            if matches!(model.provider, crate::model::Provider::Scripted(_)) {
                model.provider = crate::model::Provider::Service(crate::model::Service::OpenAi);
            }
        }
    }
    Arc::new(plan::plan(&program, &mut vec![]))
}

/// No run asks more often than was said: in all, and each step of the run's own pipeline.
fn holds(plan: &Arc<Plan>, message: &str, bytes: &[u8]) {
    let bounds = plan::bounds(plan, None, &length);
    let calls = play(plan, message, bytes);
    let all: u64 = calls.values().sum();
    assert!(bounds[0].calls.open.is_empty(), "{:?}", bounds[0].calls.open);
    assert!(all <= bounds[0].calls.calls, "{all} calls, said: {:?}; {calls:?}", bounds[0].calls);
    for step in &bounds[0].steps {
        let path = plan.pipelines[0].path(step.step);
        let is_own = |called: &str| called == path || ['[', '/'].iter().any(|mark| called.starts_with(&format!("{path}{mark}")));
        let own: u64 = calls.iter().filter(|(called, _)| is_own(called)).map(|(_, count)| count).sum();
        assert!(own <= step.calls.calls, "{path}: {own} calls, said: {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_run_asks_models_more_often_than_its_bounds_say(which in 0usize..6, long in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 3..90)) {
        holds(&plans()[which], if long { "the long way" } else { "anything" }, &bytes);
    }
}

#[test]
fn a_step_that_only_meets_the_worst_is_asked_exactly_as_often_as_was_said() {
    // `one` of called_twice fails three times, and then there is no `two`.
    let plan = &plans()[2];
    assert_eq!(play(plan, "x", &[0, 16, 32]), BTreeMap::from([("one".to_string(), 3)]));
    assert_eq!(plan::bounds(plan, None, &length)[0].calls.calls, 6);
}

#[test]
fn every_factor_is_counted() {
    let plan = &plans()[1];
    let bounds = plan::bounds(plan, None, &length);
    let found: BTreeMap<String, u64> = bounds[0].steps.iter().map(|step| (plan.pipelines[0].path(step.step), step.calls.calls)).collect();
    let expected = [
        // Models first and default: 2 + 2 tries for the first answer, 2 for each of 2 repairs; started twice; 3 elements.
        ("each", (2 + 2 + 2 * 2) * 2 * 3),
        // Two steps of 3 tries; called twice; 2 elements.
        ("more", 2 * 3 * 2 * 2),
        // 2 tries for the first answer and for 2 after tools; each of 2 uses of the tool runs two steps of 3 tries.
        ("dig", 2 * 3 + 2 * (2 * 3)),
        ("way/long/one", 2 * 2),
        ("way/long/two", 2 * 2),
        // Models first (3 tries) and default (2): the first answer 5, each of 2 repairs 3; the route starts twice.
        ("way/otherwise", (3 + 2 + 2 * 3) * 2),
        // The dearer of its cases.
        ("way", (3 + 2 + 2 * 3) * 2),
        ("write", 2 * 2),
        // The judges: default with 2 tries and 2 repairs; first and default as above; both in both rounds.
        ("check", (2 * 3 + (3 + 2 + 2 * 3)) * 2),
        ("sorry", 2),
        ("say", 0),
    ];
    assert_eq!(found, expected.into_iter().map(|(path, calls)| (path.to_string(), calls)).collect());
    let own = ["each", "more", "dig", "way", "write", "check", "sorry"];
    assert_eq!(bounds[0].calls.calls, own.iter().map(|path| found[*path]).sum::<u64>());
}

#[test]
fn an_unknown_number_of_elements_is_said_for_each_of_them() {
    let plan = &plans()[1];
    let calls = plan::bounds(plan, None, &|_, _| None)[0].calls.clone();
    let open = calls.open.iter().map(|open| (open.calls, open.of.join(" and "))).collect::<Vec<_>>();
    assert_eq!(open, [(12, "element of inputs.more".to_string())]);
    assert_eq!(calls.answer_tokens, None);
}

#[test]
fn each_step_of_each_plan_is_counted_as_the_dearest() {
    let plan = &plans()[4];
    let bounds = plan::bounds(plan, None, &length);
    // Two plans: 3 tries for each of 2 answers, and 3 for each of 3 that say whether it is done; 5 steps each of 3 tries.
    let work = 2 * (3 * 2) + 2 * (3 * 3) + 2 * 5 * 3;
    assert_eq!(bounds[0].calls.calls, work + 3);
    assert_eq!(bounds[0].steps[0].called.len(), 2);
    let askings: Vec<(&str, u64)> = bounds[0].steps[0].askings.iter().map(|asking| (asking.agent.as_str(), asking.calls())).collect();
    assert_eq!(askings, [("coordinator", 12), ("checker", 18), ("writer", 30)]);
}

#[test]
fn each_try_of_a_task_is_counted_with_its_judges() {
    let plan = &plans()[5];
    let bounds = plan::bounds(plan, None, &length);
    // Tries of the task, each of 3 answers of its agent and 3 of its judge, each of 3 tries.
    assert_eq!(bounds[0].calls.calls, (4 + 3) * (3 * 3 + 3 * 3));
    let askings: Vec<(&str, bool, u64)> =
        bounds[0].steps[0].askings.iter().map(|asking| (asking.agent.as_str(), asking.judges, asking.calls())).collect();
    assert_eq!(askings, [("analyst", false, 36), ("checker", true, 36)]);
}
