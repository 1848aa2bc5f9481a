//! What steps do outside: the requests they make, and how these are repeated.

use crate::model::{Method, Pipeline, Retry, Step, StepKind, Text, ToolKind};
use crate::plan::Plan;

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
        let mut asks = |method: Method| {
            effects.reaches_out = true;
            effects.changes |= !method.is_safe();
        };
        let mut written = vec![];
        let mut used: Vec<&str> = pipeline.agents.values().flat_map(|agent| &agent.tools).map(|tool| tool.value.as_str()).collect();
        for step in planned.steps.iter().map(|planned| &planned.step) {
            match &step.kind {
                StepKind::Http(http) => asks(http.method),
                StepKind::Tool(tool) => used.push(&tool.tool.value),
                StepKind::Send(send) if send.to.value != "stdout" => written.push(send.to.value.as_str()),
                _ => {}
            }
        }
        for name in used {
            let (tool, part) = name.split_once('.').map_or((name, None), |(tool, part)| (tool, Some(part)));
            match pipeline.tools.get(tool).map(|tool| (tool, &tool.kind)) {
                Some((_, ToolKind::Http { method, .. })) => asks(*method),
                Some((_, ToolKind::Server(_) | ToolKind::Smtp { .. })) => asks(Method::Post),
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
pub(super) fn method(pipeline: &Pipeline, step: &Step) -> Option<Method> {
    match &step.kind {
        StepKind::Http(http) => Some(http.method),
        StepKind::Tool(tool) => match &pipeline.tools.get(&tool.tool.value)?.kind {
            ToolKind::Http { method, .. } => Some(*method),
            _ => None,
        },
        _ => None,
    }
}

/// The key by which the receiver knows a request again.
pub(super) fn idempotency_key(step: &Step) -> Option<&Text> {
    match &step.kind {
        StepKind::Http(http) => http.idempotency_key.as_ref(),
        StepKind::Tool(tool) => tool.idempotency_key.as_ref(),
        StepKind::Send(send) => send.idempotency_key.as_ref(),
        _ => None,
    }
}

/// How a step is tried again, if it is.
pub(super) fn has_retry(step: &Step) -> Option<&Retry> {
    step.retry.as_ref().filter(|retry| retry.max_attempts > 1)
}

#[cfg(test)]
mod tests {
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
}
