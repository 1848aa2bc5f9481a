//! F312: a plan may use a tool that a policy is sure to refuse.

use super::tell::{finding, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Policy, StepKind, Tool, ToolKind, ToolName};
use crate::plan::{PipelinePlan, Plan};
use crate::policy::{Act, decide, may_allow};

/// F312: a tool in `may_use` that the policies of the file and of the planning agent are sure to refuse.
pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let StepKind::Plan(plan) = &step.kind else { continue };
        let of_agent = file.agents.get(&plan.agent.value).and_then(|agent| agent.policy.as_ref());
        for name in plan.may_use.iter().filter(|name| !file.agents.contains_key(&name.value)) {
            let Some((own, tool)) = file.tools.get_key_value(ToolName::of(&name.value).tool) else { continue };
            let parts = parts(&name.value, own, tool);
            let in_force = of_agent.into_iter().chain(&file.policy).filter_map(|name| file.policies.get_key_value(&name.value));
            let is_refused = |policy: &Policy| parts.iter().all(|part| !part.may_be_used(policy));
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

/// What a name of `may_use` opens.
enum OpenedBy {
    /// A tool that goes by this name.
    Tool(String),
    /// A tool of a server, or a pattern of them.
    OfServer { server: String, part: String },
}

impl OpenedBy {
    fn may_be_used(&self, policy: &Policy) -> bool {
        match self {
            OpenedBy::Tool(name) => decide(&[("", policy)], &Act::Tool { name, arguments: None }).allowed,
            OpenedBy::OfServer { server, part } => may_allow(&[("", policy)], server, part),
        }
    }
}

/// Of a folder or a server that is named whole, each part is a tool of its own.
fn parts(name: &str, own: &str, tool: &Tool) -> Vec<OpenedBy> {
    if name != own {
        vec![OpenedBy::Tool(name.to_owned())]
    } else if matches!(tool.kind, ToolKind::File(_)) {
        tool.parts().iter().map(|part| OpenedBy::Tool(format!("{own}.{part}"))).collect()
    } else if matches!(tool.kind, ToolKind::Server(_)) {
        tool.allowed_names().map(|part| OpenedBy::OfServer { server: own.to_owned(), part: part.to_owned() }).collect()
    } else {
        vec![OpenedBy::Tool(name.to_owned())]
    }
}
