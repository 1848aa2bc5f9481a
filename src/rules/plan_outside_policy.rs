//! F312: a plan may use a tool that a policy is sure to refuse.

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Policy, StepKind, ToolKind};
use crate::plan::{PipelinePlan, Plan};
use crate::policy::{Act, decide};

/// F312: a tool in `may_use` that the policies of the file and of the planning agent are sure to refuse.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Plan(plan) = &step.kind else { continue };
        let of_agent = file.agents.get(&plan.agent.value).and_then(|agent| agent.policy.as_ref());
        for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
            let tool = file.tools.get(name.value.split('.').next().unwrap_or_default());
            // Of a folder, each part is a tool of its own.
            let parts: Vec<String> = match tool.map(|tool| (tool, &tool.kind)) {
                Some((tool, ToolKind::File(_))) if !name.value.contains('.') => {
                    tool.parts().iter().map(|part| format!("{}.{part}", name.value)).collect()
                }
                Some(_) => vec![name.value.clone()],
                None => vec![],
            };
            let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
            let is_refused =
                |policy: &Policy| parts.iter().all(|part| !decide(&[("", policy)], &Act::Tool { name: part, arguments: None }).allowed);
            if parts.is_empty() {
                continue;
            }
            for (policy_name, policy) in in_force.filter(|(_, policy)| is_refused(policy)) {
                let message = format!(
                    "may_use of plan {} lists tool {}, which policy {} does not allow",
                    quoted(&step.id.value),
                    quoted(&name.value),
                    quoted(policy_name)
                );
                out.push(
                    finding(Code::PlanOutsidePolicy, name.span, &message)
                        .related(policy.span, "this policy")
                        .help("add the tool to allowed_tools, or take it out of may_use"),
                );
            }
        }
    }
}
