//! Tokens and money: set aside before a call, settled after it, kept aside when nobody told what it cost.

use super::build::*;
use super::tools::{asks, says, tool, with_tools};
use super::world::{Says, World, options};
use crate::event::{Canceller, Failure, FailureKind, Happening, RunStatus, StepStatus, Usage};
use crate::model::{Agent, Limits, Model, Price, Provider, Service, Step};
use crate::port::ModelReply;

fn used(tokens: u64) -> Result<crate::CallReply, crate::event::Failure> {
    let usage = Some(Usage { input_tokens: tokens, output_tokens: 0, ..Usage::default() });
    Ok(crate::CallReply::Model(ModelReply { text: "Done.".into(), usage, ..ModelReply::default() }))
}

/// Each call of these agents sets a little more than 4,096 tokens aside.
fn world(steps: Vec<Step>, max_tokens: u64) -> World {
    let mut p = pipeline("p", steps);
    p.limits.max_tokens = Some(max_tokens);
    World::new(planned(vec![p]))
}

#[test]
fn a_call_without_an_answer_may_have_cost_all_that_was_set_aside_for_it() {
    let mut world = world(vec![agent("a", "Go."), agent("b", "Go.")], 10_000);
    world.wait();
    world.wait();
    world.reply_with(used(100));
    assert_eq!(world.step("a"), Some(StepStatus::Succeeded));
    // 100 are used, more than 4,096 may be, and 4,096 more may be needed.
    world.reply_with(used(100));
    assert_eq!(world.status(), RunStatus::Succeeded);
    assert_eq!(world.end().usage.total_tokens(), 200, "what is told is what models said");
    world.check();

    let mut world = self::world(vec![agent("a", "Go."), agent("b", "Go.")], 8_000);
    world.wait();
    world.wait();
    assert_eq!(world.status(), RunStatus::OverBudget);
    let message = &world.end().failure.as_ref().unwrap().failure.message;
    assert!(message.contains("reserved for other calls"), "{message}");
    world.check();
}

/// A program that is an agent tells what it used although it failed, or tells a part of it.
#[test]
fn what_a_failed_call_told_counts_and_of_a_part_the_rest_is_set_aside() {
    let told = |failed: bool, used: Usage| {
        let failed = failed.then(|| Box::new(Failure::new(FailureKind::ServerError, "it broke")));
        Ok(crate::CallReply::Model(ModelReply { text: "Done.".into(), usage: Some(used), failed, ..ModelReply::default() }))
    };
    let used = |input_tokens, unknown_tokens| Usage { input_tokens, unknown_tokens, ..Usage::default() };
    let mut world = world(vec![agent("a", "Go.")], 8_000);
    world.reply_with(told(true, used(7_000, 0)));
    world.wait();
    assert_eq!(world.status(), RunStatus::OverBudget);
    assert_eq!(world.end().usage.total_tokens(), 7_000);
    world.check();
    // 100 are used, more than 4,096 may be, and 4,096 more may be needed.
    for failed in [false, true] {
        let mut world = self::world(vec![agent("a", "Go."), agent("b", "Go.")], 8_200);
        world.reply_with(told(failed, used(100, Usage::PART)));
        if failed {
            world.wait();
        }
        assert_eq!(world.status(), RunStatus::OverBudget, "{failed}");
        let total = world.end().usage;
        assert!(total.total_tokens() == 100 && (4_096..5_000).contains(&total.unknown_tokens), "{total:?}");
        world.check();
    }
}

/// An endpoint may use more than a call asks it for, as for reasoning that it does not show.
#[test]
fn a_run_whose_last_answer_passes_its_limit_has_not_succeeded() {
    let run = |tokens: u64| {
        let mut world = world(vec![agent("a", "Go.")], 8_000);
        world.reply_with(used(tokens));
        world.check();
        (world.status(), world.end().failure.as_ref().map(|end| end.failure.message.clone()).unwrap_or_default())
    };
    assert_eq!(run(8_000), (RunStatus::Succeeded, String::new()));
    let (status, message) = run(8_001);
    assert_eq!(status, RunStatus::OverBudget);
    assert_eq!(message, "max_tokens is 8000; 8001 are used: a model used more than was reserved for its call");
}

#[test]
fn an_answer_that_says_nothing_was_generated_keeps_nothing_aside() {
    let mut world = world(vec![agent("a", "Go.")], 8_000);
    for kind in [FailureKind::RateLimited, FailureKind::ServerError] {
        world.answer("a", Says::No(kind));
        world.wait();
    }
    world.reply_with(used(100));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn what_was_out_in_a_crash_counts_against_the_budget() {
    let asked = || world(vec![agent("a", "Go.")], 8_000);
    let world = asked().after_crash(asked().events.len(), 0);
    assert_eq!(world.status(), RunStatus::OverBudget);
    world.check();
    // A signal ends the run, and it continues: the lost call counts once.
    let mut ended = self::world(vec![agent("a", "Go.")], 9_000);
    ended.cancel(Canceller::Terminate);
    assert_eq!(ended.status(), RunStatus::Cancelled);
    let mut world = ended.after_crash(ended.events.len(), 0);
    world.reply_with(says("Done."));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn an_agents_own_bound_counts_what_was_lost() {
    let mut p = pipeline("p", vec![agent("a", "Go.")]);
    p.agents.insert("writer".into(), Agent { limits: Limits { max_tokens: Some(8_000), ..Limits::default() }, ..Agent::default() });
    let mut world = World::new(planned(vec![p]));
    world.wait();
    world.wait();
    assert_eq!(world.status(), RunStatus::Failed);
    assert_eq!(world.end().failure.as_ref().unwrap().failure.kind, FailureKind::Limit);
    world.check();
}

#[test]
fn the_bound_of_a_judge_does_not_count_what_other_judges_used() {
    let judged_by = |judge: &str, id: &str| {
        let mut card = good();
        card.judge = Some(named(judge));
        card.criteria[0].id = named(id);
        card.criteria[0].judging = crate::model::Judging::Judge;
        card
    };
    let mut check = gate("check", "'a text'", None, None);
    if let crate::model::StepKind::Gate(gate) = &mut check.kind {
        gate.scorecards.push(crate::model::ScorecardRef::Named(named("other")));
    }
    let mut p = pipeline("p", vec![check]);
    p.scorecards.insert("card".into(), judged_by("first", "good"));
    p.scorecards.insert("other".into(), judged_by("second", "fine"));
    p.agents.insert("first".into(), Agent::default());
    p.agents.insert("second".into(), Agent { limits: Limits { max_tokens: Some(8_000), ..Limits::default() }, ..Agent::default() });
    let mut world = World::new(planned(vec![p]));
    let verdict = |id: &str, tokens: u64| {
        let usage = Some(Usage { input_tokens: tokens, output_tokens: 0, ..Usage::default() });
        // As it is asked for, and as a list, in prose and with a text for a boolean.
        let text = match id {
            "good" => format!(r#"{{"verdicts": {{"{id}": {{"passed": true, "feedback": "", "evidence": ""}}}}}}"#),
            _ => format!(r#"Sure: {{"verdicts": [{{"id": "{id}", "passed": "True", "feedback": "", "evidence": ""}}]}} Bye."#),
        };
        Ok(crate::CallReply::Model(ModelReply { text, usage, ..ModelReply::default() }))
    };
    world.reply_with(verdict("good", 9_000));
    world.answer("check", Says::No(FailureKind::RateLimited));
    world.wait();
    world.reply_with(verdict("fine", 50));
    assert_eq!(world.status(), RunStatus::Succeeded, "{:?}", world.lines());
    assert_eq!(world.details("check")["usage"]["total_tokens"], 9_050);
    let read =
        world.events.iter().find_map(|e| if let Happening::AnswerRead { notes, .. } = &e.happening { Some(notes.clone()) } else { None });
    let read = read.expect("the second answer is not read to the letter");
    assert_eq!(read, ["taken out of the text around it", "verdicts.fine.passed: a text was read as true or false"]);
    assert_eq!(world.count("answer_read"), 1);
    world.check();
}

#[test]
fn what_was_used_is_told_and_nothing_is_made_up() {
    let mut world = world(vec![agent("a", "Go."), agent("b", "Go.")], 100_000);
    world.reply_with(Ok(crate::CallReply::Model(ModelReply { text: "Done.".into(), ..ModelReply::default() })));
    let told = &world.details("a")["usage"];
    assert!(told["total_tokens"] == 0 && told["unknown_tokens"].as_u64().is_some_and(|tokens| tokens > 4_096), "{told}");
    let refused = crate::event::Failure::new(FailureKind::Refused, "refused to answer");
    world.reply_with(Err(crate::event::Failure { tokens: Some((30, 12)), ..refused }));
    let usage = world.end().usage;
    assert_eq!((world.status(), usage.total_tokens()), (RunStatus::Failed, 42));
    assert!(usage.unknown_tokens > 4_096, "{usage:?}");
    world.check();
}

#[test]
fn a_call_that_waits_for_the_budget_is_decided_about_once() {
    let mut p = pipeline("p", vec![needs(agent("a", "Go."), &[]), needs(agent("b", "Go."), &[])]);
    p.models.insert(
        "default".into(),
        Model {
            model: Some(text("m")),
            base_url: Some(text("https://{{ inputs.host }}/v1")),
            ..Model::new(Provider::Service(Service::OpenAi))
        },
    );
    let policy = crate::model::Policy { hosts: Some(vec![named("example.com")]), ..crate::model::Policy::default() };
    p.policies.insert("net".into(), policy);
    p.policy = Some(named("net"));
    p.limits.max_tokens = Some(6_000);
    let mut world = World::given(planned(vec![p]), options(), serde_json::json!({ "host": "example.com" }));
    assert_eq!((world.out.len(), world.count("policy_decided")), (1, 1), "{:?}", world.decisions());
    world.handle(crate::Input::Tick);
    world.handle(crate::Input::Tick);
    assert_eq!(world.count("policy_decided"), 1);
    world.reply_with(used(100));
    assert_eq!((world.out.len(), world.count("policy_decided")), (1, 2));
    world.reply_with(used(100));
    assert_eq!(world.status(), RunStatus::Succeeded);
    world.check();
}

#[test]
fn tries_of_a_request_are_counted_and_each_has_the_time_of_a_try() {
    let second = std::time::Duration::from_secs(1);
    let patient = Step { retry: Some(retry(3)), timeout: Some(5 * second), ..agent("a", "Go.") };
    let mut world = World::new(planned(vec![pipeline("p", vec![patient.clone()])]));
    for _ in 0..2 {
        world.answer("a", Says::No(FailureKind::Connection));
        world.wait();
    }
    world.answer("a", Says::No(FailureKind::Connection));
    let failed = world.events.iter().find_map(|e| match &e.happening {
        Happening::StepFailed { attempts, details, .. } => Some((*attempts, details.as_ref()?["attempts"].as_u64())),
        _ => None,
    });
    assert_eq!(failed, Some((3, Some(3))));
    world.check();
    // After a retry the step's own timeout bounds the new try with all its turns, and not only each request.
    let hook = tool(crate::model::ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(crate::model::PipelineId(1)) });
    let outer = with_tools(vec![patient], vec![("look_up", hook)]);
    let mut world = World::new(planned(vec![outer, pipeline("inner", vec![query("q")])]));
    world.answer("a", Says::No(FailureKind::Connection));
    world.wait();
    let turn = |world: &mut World| {
        world.ms += 3_000;
        world.reply_with(asks(&[("c1", "look_up", serde_json::json!({}))]));
    };
    let began = world.ms;
    turn(&mut world);
    let inner = world.out[0].1.clone();
    world.answer(&inner, Says::Yes);
    world.wait();
    assert_eq!((world.count("attempt_failed"), world.ms), (2, began + 5_000), "{:?}", world.lines());
    world.check();
}

#[test]
fn a_step_whose_own_time_is_up_again_and_again_ends_with_its_last_try() {
    let second = std::time::Duration::from_secs(1);
    let hook = tool(crate::model::ToolKind::Pipeline { file: named("inner.yaml"), pipeline: Some(crate::model::PipelineId(1)) });
    let patient = Step { retry: Some(retry(3)), timeout: Some(5 * second), ..agent("a", "Go.") };
    let slow = Step { timeout: Some(3_600 * second), ..query("q") };
    let mut world = World::new(planned(vec![with_tools(vec![patient], vec![("look_up", hook)]), pipeline("inner", vec![slow])]));
    for number in 0..20 {
        if world.out.last().is_some_and(|(_, step)| step == "a") {
            world.reply_with(asks(&[(&format!("c{number}"), "look_up", serde_json::json!({}))]));
        } else if !world.is_over() {
            world.wait();
        }
    }
    assert_eq!((world.status(), world.count("attempt_failed")), (RunStatus::Failed, 2), "{:?}", world.lines());
    world.check();
}

#[test]
fn calls_of_a_dear_model_that_are_out_are_set_aside_at_its_price() {
    let priced = |price: f64| Model {
        model: Some(text("m")),
        price: Some(Price { input: price, output: price }),
        max_output_tokens: Some(1_000),
        ..Model::new(Provider::Service(Service::OpenAi))
    };
    let mut dear = agent("dear", "Go.");
    if let crate::model::StepKind::Agent(agent) = &mut dear.kind {
        agent.model = Some(text("big"));
    }
    let mut p = pipeline("p", vec![needs(dear, &[]), needs(agent("cheap", "Go."), &[])]);
    p.models.insert("default".into(), priced(1.0));
    p.models.insert("big".into(), priced(1_000.0));
    p.limits.max_cost_usd = Some(1.2);
    let mut world = World::with(planned(vec![p]), options());
    // The dear call may cost a little more than 1 dollar, the cheap one a thousandth of it.
    let called = |world: &World| world.events.iter().filter(|e| matches!(e.happening, Happening::ModelCalled { .. })).count();
    assert_eq!((called(&world), world.out.len()), (2, 2));
    world.answer("dear", Says::No(FailureKind::Truncated));
    world.reply_with(used(1));
    assert_eq!(world.step("dear"), Some(StepStatus::Failed));
    world.check();

    let mut p = pipeline("p", vec![needs(agent("cheap", "Go."), &[]), needs(world_step(), &[])]);
    p.models.insert("default".into(), priced(400.0));
    p.models.insert("small".into(), priced(1.0));
    p.limits.max_cost_usd = Some(0.4082);
    let world = World::new(planned(vec![p]));
    assert_eq!(world.out.len(), 1, "a cheap call does not make the dear one that is out cheap");
    world.check();
}

fn world_step() -> Step {
    let mut small = agent("small", "Go.");
    if let crate::model::StepKind::Agent(agent) = &mut small.kind {
        agent.model = Some(text("small"));
    }
    small
}

#[test]
fn of_a_hundred_branches_at_the_limit_none_overruns_it() {
    let list = super::build::constant(serde_json::json!((0..100).collect::<Vec<_>>()));
    let mut each = for_each(agent("each", "Go."), "steps.list.output", false, Some(100));
    each.on_failure = crate::model::OnFailure::Continue;
    let mut p = pipeline("p", vec![step("list", list), each]);
    p.limits.max_tokens = Some(50_000);
    p.limits.max_parallel = Some(100);
    let mut world = World::new(planned(vec![p]));
    // Each uses all that was set aside for it.
    while !world.is_over() {
        let call = world.out.last().map(|(call, _)| *call).expect("a call is out");
        let reserved = world.events.iter().find_map(|event| match event.happening {
            Happening::ModelCalled { call: of, reserved_tokens, .. } if of == call => Some(reserved_tokens),
            _ => None,
        });
        world.reply_with(used(reserved.unwrap()));
        assert!(world.run.state().spent.usage.total_tokens() <= 50_000);
    }
    assert_eq!(world.status(), RunStatus::OverBudget);
    assert!(world.run.state().spent.usage.total_tokens() > 40_000, "the limit is used");
    world.check();
}
