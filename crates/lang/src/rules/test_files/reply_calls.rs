//! Scripted calls of tools that the agent does not have (F700): the model would be told so, and the test would pass all the same.

use super::unknown_test_name;
use crate::diagnostic::did_you_mean;
use crate::model::{Policy, ReplyBody, StepKind, TestFile, ToolName};
use crate::policy::{Act, decide};
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, listed, quoted};
use crate::rules::support::step_paths::{PathEnd, way};

pub(in crate::rules) fn in_tests(tests: &TestFile, pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    for (number, case) in tests.cases.iter().enumerate() {
        // What is in the file for all cases is looked at once.
        let shared = case.replies.shared.iter().filter(|_| number == 0);
        for (path, set) in case.replies.own.iter().chain(shared) {
            let PathEnd::Step(of, ix) = way(plan, pipeline, path) else { continue };
            let StepKind::Agent(asked) = &of.step(ix).step.kind else { continue };
            let Some(agent) = of.pipeline.agents.get(&asked.agent.value) else { continue };
            let calls = set.all().iter().filter_map(|reply| if let ReplyBody::Calls(calls) = &reply.body { Some(calls) } else { None });
            for (name, _) in calls.flatten() {
                let server = ToolName::parse(&name.value).tool;
                let has = agent
                    .tools
                    .iter()
                    .any(|tool| tool.value == name.value || tool.value == server || ToolName::parse(&tool.value).tool == name.value);
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
                let policies: Vec<(&str, &Policy)> = of.pipeline.policies_of(Some(agent)).collect();
                let is_denied = decide(&policies, &Act::Tool { name: &name.value, arguments: None }).is_denied();
                let help = match hint.names.first() {
                    Some(near) => format!("write {near}"),
                    None if is_denied => format!(
                        "add {0} to tools of the agent, and expect: {{ blocked: [{0}] }} to the case, to test that a policy denies it",
                        name.value
                    ),
                    None if agent.tools.is_empty() => "write the reply as text: this agent has no tools".to_owned(),
                    None => format!("use one of its tools: {}", listed(known)),
                };
                out.push(unknown_test_name::reported(name.span, &message).near(hint).help(help));
            }
        }
    }
}
