//! F312: a plan may use a tool that a policy is sure to reject.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Policy, StepKind, Tool, ToolName};
use crate::policy::{Act, decide, may_allow};

/// F312: a tool in `may_use` that the policies of the file and of the planning agent are sure to reject.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Plan(plan) = &step.kind else { continue };
        let of_agent = file.agents.get(&plan.agent.value).and_then(|agent| agent.policy.as_ref());
        for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
            let Some((own, tool)) = file.tools.get_key_value(ToolName::of(&name.value).tool) else { continue };
            let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
            let is_refused = |policy: &Policy| {
                let allowed = allowed(policy, &name.value, own, tool);
                !allowed.is_empty() && !allowed.contains(&true)
            };
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

/// Whether a policy allows each tool that a name of `may_use` opens: of a folder or a server that is named whole, each part is one.
fn allowed(policy: &Policy, name: &str, own: &str, tool: &Tool) -> Vec<bool> {
    let policy = &[("", policy)];
    let allows = |name: &str| !decide(policy, &Act::Tool { name, arguments: None }).is_denied();
    if name == own && tool.kind.folder().is_some() {
        tool.parts().iter().map(|part| allows(&format!("{own}.{part}"))).collect()
    } else if name == own && tool.is_server() {
        tool.allowed_names().map(|part| may_allow(policy, own, part)).collect()
    } else {
        vec![allows(name)]
    }
}
