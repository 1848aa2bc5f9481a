//! F705: a test case that expects how a run ends or goes, and cannot, whatever the pipeline does.

use strum::VariantNames;

use super::case_contradicts::{found, may_start};
use super::mock_shape::expects_success;
use crate::diagnostic::one_line;
use crate::event::RunStatus;
use crate::model::{Judging, OnFailure, ReplyBody, ReplySet, Step, StepKind, TestCase, TestFile, step_path};
use crate::plan::StepIx;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::rules::support::step_paths::{PathEnd, way};
use crate::source::Span;

pub(in crate::rules) fn check(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for case in &tests.cases {
        exit(case, out);
        two_cases(case, pipeline, plan, out);
        failed_gate(case, pipeline, plan, out);
        mock_and_reply(case, out);
        reply_of_no_model(case, pipeline, plan, out);
        left_over(case, pipeline, plan, out);
    }
}

/// An exit code that no run with this status has.
fn exit(case: &TestCase, out: &mut Vec<Diagnostic>) {
    let Some((exit, expect)) = case.expect.as_ref().and_then(|expect| Some((expect.exit.as_ref()?, expect))) else { return };
    let written = expect.status.as_ref().map(|status| status.as_str());
    if written.is_none() && !may_start(case) {
        return;
    }
    let word = written.unwrap_or("succeeded");
    let Some(code) = word.parse().ok().map(|status: RunStatus| status.exit_code()).filter(|code| i64::from(*code) != exit.value) else {
        return;
    };
    let left_out = if written.is_none() { " (as is expected without status)" } else { "" };
    let message = format!("test {} can never pass: a run that ends as {word}{left_out} has exit code {code}", quoted(&case.id.value));
    let ends_so = |word: &&&str| word.parse().is_ok_and(|status: RunStatus| i64::from(status.exit_code()) == exit.value);
    let others = RunStatus::VARIANTS.iter().filter(ends_so).copied().collect::<Vec<_>>().join(" or status: ");
    let help = match written {
        _ if others.is_empty() => format!("write exit: {code}, or remove it"),
        None => format!("add status: {others}"),
        Some(_) => format!("write exit: {code}, or status: {others}"),
    };
    out.push(found(exit.span, &message).help(help));
}

/// Two cases of one route that both are to run.
fn two_cases(case: &TestCase, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let expected = case.expect.iter().flat_map(|expect| &expect.steps);
    let runs = expected.filter(|(_, status)| !matches!(status.as_str(), "not_run" | "skipped" | "blocked"));
    let mut seen: Vec<(&str, &str, &str, Span)> = vec![];
    for (path, status) in runs {
        let Some((route, id)) = step_path::split(&path.value) else { continue };
        let is_route = matches!(way(plan, pipeline, route), PathEnd::Step(of, ix) if matches!(of.step(ix).step.kind, StepKind::Route(_)));
        if is_route {
            seen.push((route, id, status.as_str(), status.span));
        }
    }
    for (place, (route, id, status, span)) in seen.iter().enumerate() {
        let Some((_, other, of_other, other_span)) = seen[..place].iter().find(|(of, other, ..)| of == route && other != id) else {
            continue;
        };
        // The one that is expected to go well is the one that was meant to run.
        let (span, id, ran) =
            if *status == "succeeded" && *of_other != "succeeded" { (*other_span, other, id) } else { (*span, id, other) };
        let message = format!("route {} runs one case: {} cannot have ended if {} did", quoted(route), quoted(id), quoted(ran));
        out.push(found(span, &message).help("write not_run for the case that is not chosen"));
    }
}

/// A gate whose judge always says no, in a run that is to succeed.
fn failed_gate(case: &TestCase, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    if !expects_success(case) || !may_start(case) {
        return;
    }
    for (path, set) in &case.replies.own {
        let ReplySet::Every(reply) = set else { continue };
        let (ReplyBody::Failed(failed), None, None) = (&reply.body, &reply.when, &reply.action) else { continue };
        let PathEnd::Step(of, ix) = way(plan, pipeline, path) else { continue };
        let StepKind::Gate(gate) = &of.step(ix).step.kind else { continue };
        if !std::ptr::eq(of, pipeline) || of.step(ix).step.on_failure != OnFailure::Stop || is_repeated(of, ix) {
            continue;
        }
        let criteria = crate::rules::support::scorecards::known_scorecards(of, gate).flat_map(|card| &card.criteria);
        let mut judged = criteria.filter(|criterion| criterion.when.is_none() && matches!(criterion.judging, Judging::Judge));
        let Some(criterion) = judged.find(|criterion| failed.iter().any(|(name, _)| name.value == criterion.id.value)) else { continue };
        let status = case.expect.as_ref().and_then(|expect| expect.status.as_ref());
        let message = format!(
            "test {} can never pass: its reply fails criterion {} of gate {}, so the run does not succeed",
            quoted(&case.id.value),
            quoted(&criterion.id.value),
            quoted(path)
        );
        let help = format!("write status: {}, or let the judge pass: {path}: passed", RunStatus::QualityNotMet.word());
        let span = status.map_or(case.id.span, |status| status.span);
        out.push(found(span, &message).related(reply.span, "this reply").help(help));
    }
}

/// A reply for a step that does not run, since it has a mock.
fn mock_and_reply(case: &TestCase, out: &mut Vec<Diagnostic>) {
    for (path, set) in &case.replies.own {
        let (Some(mock), Some(reply)) = (case.mocks.own.get(path), set.all().first()) else { continue };
        let message = format!(
            "test {} can never pass: step {} has a mock, so it asks no model and its reply is left over",
            quoted(&case.id.value),
            quoted(path)
        );
        out.push(found(reply.span, &message).related(mock.span, "the mock").help("remove the reply, or the mock"));
    }
}

/// A reply for a step that only computes.
fn reply_of_no_model(case: &TestCase, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (path, set) in case.replies.own.iter().filter(|(path, _)| case.mocks.own.get(*path).is_none()) {
        let (PathEnd::Step(of, ix), Some(reply)) = (way(plan, pipeline, path), set.all().first()) else { continue };
        let kind = &of.step(ix).step.kind;
        // What is searched may be documents that a model describes.
        if !kind.facts().only_computes || kind.facts().knowledge.is_some() {
            continue;
        }
        let message = format!(
            "test {} can never pass: a step with {}, as {} is, asks no model, so its reply is left over",
            quoted(&case.id.value),
            kind.word(),
            quoted(path)
        );
        let instead = if case.replies.own.len() == 1 { "write mocks in place of replies" } else { "move it from replies to mocks" };
        out.push(found(reply.span, &message).help(format!("{instead}: a mock says what the step gives")));
    }
}

/// More replies than a step can ask for: an agent that answers in text and has no tools is asked once.
fn left_over(case: &TestCase, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    // Who expects a second round gives a reply for it.
    if case.expect.as_ref().and_then(|expect| expect.refined.as_ref()).is_some_and(|refined| refined.value) {
        return;
    }
    for (path, set) in &case.replies.own {
        let ReplySet::InTurn(list) = set else { continue };
        let PathEnd::Step(of, ix) = way(plan, pipeline, path) else { continue };
        let StepKind::Agent(asked) = &of.step(ix).step.kind else { continue };
        let Some(agent) = of.pipeline.agents.get(&asked.agent.value) else { continue };
        let is_text = asked.output.is_none() && agent.output.is_none() && list.iter().all(|reply| matches!(reply.body, ReplyBody::Text(_)));
        let is_once = of.refinement.is_none() && std::ptr::eq(of, pipeline) && !is_repeated(of, ix) && !is_tried_again(of, ix);
        if let (Some(second), true) = (list.get(1), is_text && is_once && agent.tools.is_empty()) {
            let message = format!(
                "test {} can never pass: step {} asks its model once, so reply 2 of {} is left over",
                quoted(&case.id.value),
                quoted(path),
                list.len()
            );
            let first = list
                .first()
                .and_then(|reply| if let ReplyBody::Text(text) = &reply.body { Some(one_line(&text.source, 80)) } else { None });
            let first = first.unwrap_or_else(|| "…".to_owned());
            out.push(
                found(second.span, &message).help(format!("write one reply: {path}: {first} (a list is for calls one after the other)")),
            );
        }
    }
}

/// Whether a step, or what it stands in, is repeated.
pub(in crate::rules) fn is_repeated(pipeline: &PipelinePlan, ix: StepIx) -> bool {
    let repeats = |step: &Step| step.for_each.is_some() || step.kind.repeat().is_some();
    pipeline.around(ix).any(|around| repeats(&pipeline.step(around).step))
}

/// Whether what a step stands in begins all of its steps anew when one of them fails.
fn is_tried_again(pipeline: &PipelinePlan, ix: StepIx) -> bool {
    let holders = pipeline.around(ix).filter(|around| *around != ix);
    holders.map(|around| &pipeline.step(around).step).any(|step| step.retry.as_ref().is_some_and(|retry| retry.max_attempts > 1))
}
