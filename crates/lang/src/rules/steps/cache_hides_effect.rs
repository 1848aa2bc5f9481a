//! F508: an equal step would be skipped, and with it what it does.

use crate::diagnostic::About;
use crate::model::{FilePart, StepKind, ToolStep};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for step in pipeline.steps.iter().map(|planned| &planned.step).filter(|step| step.cache.is_some()) {
        let id = quoted(&step.id.value);
        let file = &pipeline.pipeline;
        let of_tool = |tool: &ToolStep| match file.tool(&tool.tool.value) {
            // Nobody can say what a server does.
            Some((tool, _)) if tool.is_server() => Some("the call of a server, which may change something each time"),
            Some((tool, part)) if tool.file_part(part).is_some_and(FilePart::changes) => Some("the writing"),
            _ => pipeline.called(step).map(|_| "the steps inside"),
        };
        let skipped = if let StepKind::Tool(tool) = &step.kind {
            of_tool(tool)
        } else if let StepKind::Agent(asked) = &step.kind {
            // What they give is no part of what the result is kept under.
            let agent = file.agents.get(&asked.agent.value);
            agent.filter(|agent| !agent.tools.is_empty()).map(|_| "what the agent's tools do")
        } else {
            step.kind.facts().work
        };
        let method = || step.kind.method(file).filter(|method| !method.is_safe()).map(|method| format!("the {method}"));
        let Some(what) = skipped.map(str::to_owned).or_else(method) else { continue };
        let message = format!("cache on {id} would skip {what}");
        let found = finding(Code::CacheHidesEffect, step.id.span, &message).about(About::Value("cache".to_owned()));
        out.push(found.help("remove cache from this step"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn what_acts_outside_is_not_skipped() {
        assert_eq!(
            says(check, "steps: [{ id: mail, send: stdout, of: run.id, cache: 1d }]\n"),
            "F508 3:15 cache on \"mail\" would skip the sending\n"
        );
        let http = |method: &str| says(check, &format!("steps: [{{ id: a, http: {method} https://example.com/, cache: 1d }}]\n"));
        assert_eq!(http("DELETE"), "F508 3:15 cache on \"a\" would skip the DELETE\n");
        assert_eq!(http("GET"), "");
        let file = "tools: { docs: { file: notes, allow: [write] } }\nsteps: [{ id: a, tool: docs.write, cache: 1d }]\n";
        assert_eq!(says(check, file), "F508 4:15 cache on \"a\" would skip the writing\n");
    }
}
