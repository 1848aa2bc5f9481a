//! F312: a plan may use a tool that a policy is sure to reject.

use crate::model::{Policy, StepKind};
use crate::policy::opened;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// F312: a tool in `may_use` that the policies of the file and of the planning agent are sure to reject.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Plan(plan) = &step.kind else { continue };
        let of_agent = file.agents.get(&plan.agent.value).and_then(|agent| agent.policy.as_ref());
        for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
            let Some((tool, _)) = file.tool(&name.value) else { continue };
            let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
            let is_refused = |policy: &Policy| {
                let opened = opened(&[("", policy)], tool, &name.value);
                !opened.is_empty() && opened.iter().all(|(_, may_be_called)| !may_be_called)
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
                        .related(policy.span, format!("add {} to allowed_tools of this policy", name.value))
                        .help("add the tool to allowed_tools, or take it out of may_use"),
                );
            }
        }
    }
}
