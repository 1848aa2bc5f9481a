//! What steps do outside: the requests they make, and how these are repeated.

use crate::model::{Effects, Retry, Step};
use crate::plan::{PipelinePlan, Plan};

/// What a pipeline, and all that it calls, may do outside, as far as its files say.
pub fn effects_of(plan: &Plan) -> Effects {
    let of_pipeline = |planned: &PipelinePlan| {
        let pipeline = &planned.pipeline;
        let offered = pipeline.agents.values().flat_map(|agent| &agent.tools);
        let planned_with = planned.steps.iter().flat_map(|planned| planned.step.kind.facts().may_use);
        let used = offered.chain(planned_with).filter_map(|name| pipeline.tool(&name.value)).map(|(tool, part)| tool.effects(part));
        let own = planned.steps.iter().map(|planned| planned.step.kind.effects(pipeline));
        own.chain(used).fold(Effects::default(), Effects::and)
    };
    plan.pipelines.iter().map(of_pipeline).fold(Effects::default(), Effects::and)
}

/// How a step is tried again, if it is.
pub(in crate::rules) fn has_retry(step: &Step) -> Option<&Retry> {
    step.retry.as_ref().filter(|retry| retry.max_attempts > 1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::check::check_file;
    use crate::port::MemoryFiles;

    #[test]
    fn what_a_run_may_do_outside_follows_from_its_steps_and_its_agents() {
        let effects = |yaml: &str| {
            let files = MemoryFiles::from_iter([("p.yaml", format!("flow: 1\nname: p\n{yaml}"))]);
            let checked = check_file(Path::new("p.yaml"), Path::new(""), &files);
            assert!(!checked.plan.pipelines.is_empty(), "{yaml}");
            let Effects { changes, reaches_out, prints: _ } = effects_of(&checked.plan);
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
