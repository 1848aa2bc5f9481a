//! F323: an agent that only judges has tools, or agents that it may ask: a judge is offered neither.

use std::collections::HashSet;

use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let (mut judges, mut callers): (HashSet<&str>, HashSet<&str>) = Default::default();
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        judges.extend(step.kind.agents(file).into_iter().map(|agent| agent.value.as_str()));
        callers.extend(step.kind.agents_with_tools().into_iter().chain(step.kind.facts().may_use).map(|agent| agent.value.as_str()));
    }
    callers.extend(file.agents.values().flat_map(|agent| &agent.agents).map(|other| other.value.as_str()));
    let is_judge = |name: &str| judges.contains(name) && !callers.contains(name);
    for (name, agent) in file.agents.iter().filter(|(name, agent)| is_judge(name) && agent.span.file == file.name.span.file) {
        // What the file asks of other agents is among the tools, too.
        let (key, first) = match (agent.agents.first(), agent.tools.first()) {
            (Some(other), _) => ("agents", other),
            (None, Some(tool)) => ("tools", tool),
            (None, None) => continue,
        };
        let message = format!("agent {} only judges, and a judge is offered no tools: its {key} are never used", quoted(name));
        let help = format!("remove {key}; let a step above call what is needed, and give the judge its output in with of the gate");
        out.push(finding(Code::JudgeTools, first.span, &message).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_judge_has_no_tools() {
        let file = |agents: &str, steps: &str| {
            let head = "tools: { t: { http: GET https://example.com } }\nscorecards: { s: { judge: j, criteria: [{ id: a, description: It is polite., expected: No insult., judge: true }] } }\n";
            says(
                check,
                &format!(
                    "{head}agents: {{ w: {{}}, {agents} }}\nsteps: [{{ id: d, agent: w, prompt: x }}, {{ id: g, gate: s, of: steps.d.output }}{steps}]\n"
                ),
            )
        };
        let found = |key: &str| format!("F323 5:31 agent \"j\" only judges, and a judge is offered no tools: its {key} are never used\n");
        assert_eq!(file("j: { tools: [t] }", ""), found("tools"));
        assert_eq!(file("j: { agents: [w] }", "").replace("5:32", "5:31"), found("agents"));
        assert_eq!(file("j: {}", ""), "");
        assert_eq!(file("j: { tools: [t] }", ", { id: e, agent: j, prompt: x }"), "");
        assert_eq!(file("j: { tools: [t] }, k: { agents: [j] }", ", { id: e, agent: k, prompt: x }"), "");
    }
}
