//! Steps that act outside, and what repeats or skips them: F502, F503, F508.

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{FailureKind, Pipeline, Retry, Step, StepKind, Text, ToolKind};
use crate::plan::{PipelinePlan, Plan};

/// Methods that change nothing on the other side (RFC 9110, section 9.2.1).
const SAFE: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Methods that may be repeated without harm (RFC 9110, section 9.2.2).
const REPEATABLE: [&str; 5] = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];

/// What a run may do outside, as far as its files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effects {
    /// It may change something: it sends, writes, asks to change, or uses a server of which nobody can say what it does.
    pub changes: bool,
    /// It may speak with hosts or servers other than models.
    pub reaches_out: bool,
}

/// What a pipeline, and all that it calls, may do outside.
pub fn effects_of(plan: &Plan) -> Effects {
    let mut effects = Effects::default();
    for planned in &plan.pipelines {
        let pipeline = &planned.pipeline;
        let mut asks = |method: &str| {
            effects.reaches_out = true;
            effects.changes |= !SAFE.contains(&method);
        };
        let mut written = vec![];
        let mut used: Vec<&str> = pipeline.agents.values().flat_map(|agent| &agent.tools).map(|tool| tool.value.as_str()).collect();
        for step in planned.steps.iter().map(|planned| &planned.step) {
            match &step.kind {
                StepKind::Http(http) => asks(&http.method),
                StepKind::Tool(tool) => used.push(&tool.tool.value),
                StepKind::Send(send) if send.to.value != "stdout" => written.push(send.to.value.as_str()),
                _ => {}
            }
        }
        for name in used {
            let (tool, part) = name.split_once('.').map_or((name, None), |(tool, part)| (tool, Some(part)));
            match pipeline.tools.get(tool).map(|tool| (tool, &tool.kind)) {
                Some((_, ToolKind::Http { method, .. })) => asks(method),
                Some((_, ToolKind::Server(_) | ToolKind::Smtp { .. })) => asks("POST"),
                Some((tool, ToolKind::File(_))) if part.map_or_else(|| tool.opens("write"), |part| part == "write") => written.push(name),
                _ => {}
            }
        }
        for name in written {
            let kind = pipeline.tools.get(name.split('.').next().unwrap_or(name)).map(|tool| &tool.kind);
            effects.changes = true;
            effects.reaches_out |= !matches!(kind, Some(ToolKind::File(_)));
        }
    }
    effects
}

/// The method of the request a step makes.
fn method<'p>(pipeline: &'p Pipeline, step: &'p Step) -> Option<&'p str> {
    match &step.kind {
        StepKind::Http(http) => Some(&http.method),
        StepKind::Tool(tool) => match &pipeline.tools.get(&tool.tool.value)?.kind {
            ToolKind::Http { method, .. } => Some(method),
            _ => None,
        },
        _ => None,
    }
}

fn idempotency_key(step: &Step) -> Option<&Text> {
    match &step.kind {
        StepKind::Http(http) => http.idempotency_key.as_ref(),
        StepKind::Tool(tool) => tool.idempotency_key.as_ref(),
        StepKind::Send(send) => send.idempotency_key.as_ref(),
        _ => None,
    }
}

fn has_retry(step: &Step) -> Option<&Retry> {
    step.retry.as_ref().filter(|retry| retry.max_attempts > 1)
}

/// F502: `once` and `retry` contradict each other.
pub(super) fn once_with_retry(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        if step.is_once && has_retry(step).is_some() && idempotency_key(step).is_none() {
            let message = format!("{} is marked once and has retry; add an idempotency_key or drop retry", quoted(&step.id.value));
            out.push(
                finding(Code::OnceWithRetry, step.id.span, &message).help("remove retry, or add an idempotency_key the receiver knows"),
            );
        }
    }
}

/// F503: a request that changes something, repeated without a key by which the receiver knows it.
pub(super) fn effect_with_retry(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let Some(method) = method(&pipeline.pipeline, step).filter(|method| !REPEATABLE.contains(method)) else { continue };
        // What was refused for its number has not been done.
        let Some(_) = has_retry(step).filter(|retry| retry.on.iter().any(|kind| *kind != FailureKind::RateLimited)) else { continue };
        if step.is_once || idempotency_key(step).is_some() {
            continue;
        }
        let message = format!("{} sends {method} with retry but without idempotency_key; it may be done twice", quoted(&step.id.value));
        out.push(
            finding(Code::EffectWithRetry, step.id.span, &message)
                .help("add an idempotency_key if the receiver knows such keys, or write retry: { on: [rate_limited] }"),
        );
    }
}

/// F508: an equal step would be skipped, and with it what it does.
pub(super) fn cache_hides_effect(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step).filter(|step| step.cache.is_some()) {
        let id = quoted(&step.id.value);
        let what = match &step.kind {
            StepKind::Send(_) => "the sending".to_owned(),
            StepKind::Tool(tool) if is_of_server(&pipeline.pipeline, &tool.tool.value) => "what the server does".to_owned(),
            StepKind::Tool(tool) if writes(&pipeline.pipeline, &tool.tool.value) => "the writing".to_owned(),
            StepKind::Agent(asked) if has_tools(&pipeline.pipeline, &asked.agent.value) => "what the agent's tools do".to_owned(),
            StepKind::Gate(_) => "the judging".to_owned(),
            StepKind::Route(_) | StepKind::Call(_) | StepKind::Plan(_) => "the steps inside".to_owned(),
            StepKind::Tool(_) if pipeline.called(step).is_some() => "the steps inside".to_owned(),
            StepKind::Wait(_) => "the waiting".to_owned(),
            StepKind::Stop(_) => "the stopping".to_owned(),
            _ => match method(&pipeline.pipeline, step).filter(|method| !SAFE.contains(method)) {
                Some(method) => format!("the {method}"),
                None => continue,
            },
        };
        let message = format!("cache on {id} would skip {what}");
        out.push(finding(Code::CacheHidesEffect, step.id.span, &message).help("remove cache from this step"));
    }
}

/// Whether an agent has tools: what they give is no part of what the result is kept under.
fn has_tools(pipeline: &Pipeline, agent: &str) -> bool {
    pipeline.agents.get(agent).is_some_and(|agent| !agent.tools.is_empty())
}

/// Whether a tool is of an MCP server: nobody can say what it does.
fn is_of_server(pipeline: &Pipeline, tool: &str) -> bool {
    pipeline.tools.get(tool.split('.').next().unwrap_or(tool)).is_some_and(crate::model::Tool::is_server)
}

fn writes(pipeline: &Pipeline, tool: &str) -> bool {
    let Some((server, "write")) = tool.split_once('.') else { return false };
    pipeline.tools.get(server).is_some_and(|tool| matches!(tool.kind, ToolKind::File(_)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn what_a_run_may_do_outside_follows_from_its_steps_and_its_agents() {
        let effects = |yaml: &str| {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join("p.yaml");
            std::fs::write(&file, format!("flow: 1\nname: p\n{yaml}")).unwrap();
            let checked = crate::check::check_file(&file, home.path(), &crate::adapter::files::DiskFiles);
            assert!(!checked.plan.pipelines.is_empty(), "{yaml}");
            let Effects { changes, reaches_out } = effects_of(&checked.plan);
            (changes, reaches_out)
        };
        let (nothing, looks, writes, both) = ((false, false), (false, true), (true, false), (true, true));
        assert_eq!(effects("steps: [{ id: a, set: 1 }, { id: b, send: stdout, of: '1' }]\n"), nothing);
        assert_eq!(effects("steps: [{ id: a, http: GET https://example.com/ }]\n"), looks);
        assert_eq!(effects("steps: [{ id: a, http: DELETE https://example.com/ }]\n"), both);
        let files = "tools: { docs: { file: notes, allow: [read, write] } }\n";
        assert_eq!(effects(&format!("{files}steps: [{{ id: a, tool: docs.read, with: {{ name: x }} }}]\n")), nothing);
        assert_eq!(effects(&format!("{files}steps: [{{ id: a, send: docs, of: '1', with: {{ name: x }} }}]\n")), writes);
        let agent = "agents: { a: { instructions: Hi., tools: [docs] } }\nsteps: [{ id: b, agent: a, prompt: Hi }]\n";
        assert_eq!(effects(&format!("{files}{agent}")), writes);
        let server = "tools: { docs: { command: server, allow: [x] } }\n";
        assert_eq!(effects(&format!("{server}{agent}")), both);
        assert_eq!(effects("tools: { docs: { http: GET https://example.com/ } }\nsteps: [{ id: b, tool: docs }]\n"), looks);
    }

    #[test]
    fn once_is_once() {
        let step =
            |more: &str| says(once_with_retry, &format!("steps: [{{ id: pay, http: POST https://example.com/, once: true{more} }}]\n"));
        assert_eq!(step(", retry: {}"), "F502 3:15 \"pay\" is marked once and has retry; add an idempotency_key or drop retry\n");
        assert_eq!(step(", retry: {}, idempotency_key: '{{ run.id }}'"), "");
        assert_eq!(step(", retry: { max_attempts: 1 }"), "");
        assert_eq!(step(""), "");
    }

    #[test]
    fn what_changes_something_is_not_repeated_blindly() {
        let step = |method: &str, more: &str| {
            says(effect_with_retry, &format!("steps: [{{ id: notify, http: {method} https://example.com/{more} }}]\n"))
        };
        let found = "F503 3:15 \"notify\" sends POST with retry but without idempotency_key; it may be done twice\n";
        assert_eq!(step("POST", ", retry: { max_attempts: 2 }"), found);
        assert_eq!(step("PUT", ", retry: { max_attempts: 2 }"), "");
        assert_eq!(step("POST", ", retry: { on: [rate_limited] }"), "");
        assert_eq!(step("POST", ", retry: {}, idempotency_key: '{{ run.id }}'"), "");
        let tool = "tools: { hook: { http: POST https://example.com/ } }\nsteps: [{ id: a, tool: hook, retry: {} }]\n";
        assert_eq!(
            says(effect_with_retry, tool),
            "F503 4:15 \"a\" sends POST with retry but without idempotency_key; it may be done twice\n"
        );
    }

    #[test]
    fn what_acts_outside_is_not_skipped() {
        assert_eq!(
            says(cache_hides_effect, "steps: [{ id: mail, send: stdout, of: run.id, cache: 1d }]\n"),
            "F508 3:15 cache on \"mail\" would skip the sending\n"
        );
        let http =
            |method: &str| says(cache_hides_effect, &format!("steps: [{{ id: a, http: {method} https://example.com/, cache: 1d }}]\n"));
        assert_eq!(http("DELETE"), "F508 3:15 cache on \"a\" would skip the DELETE\n");
        assert_eq!(http("GET"), "");
        let file = "tools: { docs: { file: notes, allow: [write] } }\nsteps: [{ id: a, tool: docs.write, cache: 1d }]\n";
        assert_eq!(says(cache_hides_effect, file), "F508 4:15 cache on \"a\" would skip the writing\n");
    }
}
