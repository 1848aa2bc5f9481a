//! Scripted calls of tools that the agent does not have (F700): the model would be told so, and the test would pass all the same.

use super::step_paths::{PathEnd, way};
use super::unknown_test_name;
use super::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::diagnostic::did_you_mean;
use crate::model::{ReplyBody, StepKind, TestFile, ToolName};

pub(super) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (number, case) in tests.cases.iter().enumerate() {
        // What is in the file for all cases is looked at once.
        let shared = case.replies.shared.iter().filter(|_| number == 0);
        for (path, set) in case.replies.own.iter().chain(shared) {
            let PathEnd::Step(of, ix) = way(plan, pipeline, path) else { continue };
            let StepKind::Agent(asked) = &of.step(ix).step.kind else { continue };
            let Some(agent) = of.pipeline.agents.get(&asked.agent.value) else { continue };
            let calls = set.all().iter().filter_map(|reply| if let ReplyBody::Calls(calls) = &reply.body { Some(calls) } else { None });
            for (name, _) in calls.flatten() {
                let server = ToolName::of(&name.value).tool;
                let has = agent
                    .tools
                    .iter()
                    .any(|tool| tool.value == name.value || tool.value == server || ToolName::of(&tool.value).tool == name.value);
                if has {
                    continue;
                }
                let known = agent.tools.iter().map(|tool| tool.value.as_str());
                let hint = did_you_mean(&name.value, known.clone());
                let message = format!(
                    "a reply for step {} calls tool {}, which agent {} does not have{hint}",
                    quoted(path),
                    quoted(&name.value),
                    quoted(&asked.agent.value)
                );
                let help = match agent.tools.is_empty() {
                    true => format!("give the agent the tool: tools: [{}], or write the reply as text", name.value),
                    false => format!("use one of: {}; or add the tool to tools of the agent", listed(known)),
                };
                out.push(unknown_test_name::report(name.span, &message).near(hint).help(help));
            }
        }
    }
}
