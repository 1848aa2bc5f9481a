//! F704: a scripted reply that is not what its step asks for. A test may well try such an answer; then it does not expect that all goes well.

use serde_json::Value;

use super::mock_shape::{expects_success, is_lost, new_finding};
use crate::gate::result::{ResultContext, answer};
use crate::gate::schema_problems;
use crate::gate::shape::field_schema;
use crate::model::{Field, Filling, Form, Judging, OnJudgeError, ReplyBody, ReplySet, Shape, Step, StepKind, TestFile};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::step_paths::{PathEnd, way};
use crate::template::types::of_field;

/// F704, for the replies of tests: those that serve every call of their step, since of a list the next one may be the repair.
pub(in crate::rules) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for case in tests.cases.iter().filter(|case| expects_success(case)) {
        for (path, set) in &case.replies.own {
            let ReplySet::Every(reply) = set else { continue };
            let Some(text) = said(&reply.body).filter(|_| reply.when.is_none() && reply.action.is_none()) else { continue };
            let PathEnd::Step(of, ix) = way(plan, pipeline, path) else { continue };
            let step = &of.step(ix).step;
            if case.mocks.get(path).is_some() {
                continue;
            }
            if let StepKind::Agent(asked) = &step.kind {
                let agent = of.pipeline.agents.get(&asked.agent.value);
                let shape = asked.output.as_ref().or(agent.and_then(|agent| agent.output.as_ref()));
                let Some(shape) = shape.filter(|_| !is_lost(step, ResultContext { agent, called: None })) else { continue };
                let Err(problems) = answer(Some(shape), text.clone()) else { continue };
                let message = format!("the reply for step {} does not match its output: {}", quoted(path), problems.join("; "));
                out.push(new_finding(reply.span, &message).help(format!("write {path}: {{ data: {{ {} }} }}", fields(shape, &text))));
            } else if let Some(what) = no_verdict(of, step, &text) {
                let message = format!("the reply for gate {} is {what}, which is no verdict: every criterion fails", quoted(path));
                out.push(
                    new_finding(reply.span, &message).help(format!("write {path}: passed, or {path}: {{ failed: {{ CRITERION: why }} }}")),
                );
            }
        }
    }
}

/// The fields that an answer must have, with what was given for them, or what each is.
fn fields(shape: &Shape, given: &Value) -> String {
    let Shape::Fields(fields) = shape else { return "…".to_owned() };
    let given: Value = given.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let value = |field: &Field| match given.get(&field.name) {
        Some(value) if schema_problems(&field_schema(field), value).is_empty() => value.to_string(),
        Some(_) | None => format!("({})", of_field(field).words()),
    };
    fields.iter().filter(|field| field.is_required).map(|field| format!("{}: {}", field.name, value(field))).collect::<Vec<_>>().join(", ")
}

/// What a reply says, where nothing is filled in.
fn said(body: &ReplyBody) -> Option<Value> {
    match body {
        ReplyBody::Text(text) if text.form == Form::Plain => Some(Value::from(&*text.source)),
        ReplyBody::Data(Filling::Constant(data)) => Some(Value::from(data.to_string())),
        ReplyBody::Text(_) | ReplyBody::Data(_) | ReplyBody::Calls(_) | ReplyBody::Error(_) => None,
        ReplyBody::Passed | ReplyBody::Failed(_) => None,
    }
}

/// A text without any JSON in it, as the answer of a judge that decides on a criterion.
fn no_verdict(pipeline: &PipelinePlan, step: &Step, text: &Value) -> Option<String> {
    let StepKind::Gate(gate) = &step.kind else { return None };
    let mut cards = crate::rules::support::scorecards::known_scorecards(pipeline, gate);
    let asks = cards.any(|card| {
        let judged = card.criteria.iter().any(|criterion| criterion.when.is_none() && matches!(criterion.judging, Judging::Judge));
        judged && card.on_judge_error == OnJudgeError::Fail
    });
    let text = text.as_str().filter(|text| asks && !text.contains(['{', '[']))?;
    Some(quoted(text))
}
