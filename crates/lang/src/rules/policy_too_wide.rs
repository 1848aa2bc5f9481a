//! F612: every tool is allowed, of a policy or of an MCP server.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::policy::fits_everything;
use crate::source::Spanned;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for policy in pipeline.pipeline.policies.values() {
        for name in policy.allowed_tools.iter().flatten().filter(|name| fits_everything(&name.value)) {
            let message = format!("allowed_tools {} allows every tool; name them", quoted(&name.value));
            out.push(
                found(name, &message)
                    .help("write the names of the tools that are needed; flow tools allow FILE writes those that there are"),
            );
        }
    }
    for (server, tool) in pipeline.pipeline.tools.iter().filter(|(_, tool)| tool.is_server()) {
        for name in tool.allow.iter().flatten().filter(|name| fits_everything(&name.value)) {
            let message =
                format!("allow {} of server {} allows every tool it may ever have; name them", quoted(&name.value), quoted(server));
            out.push(
                found(name, &message)
                    .help("write the names of the tools that are needed; flow tools allow FILE writes those that it has now"),
            );
        }
    }
}

fn found(name: &Spanned<String>, message: &str) -> Diagnostic {
    finding(Code::PolicyTooWide, name.span, message)
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_policy;
    use super::*;

    #[test]
    fn tools_are_named() {
        assert_eq!(with_policy(check, "allowed_tools: ['*']"), "F612 5:29 allowed_tools \"*\" allows every tool; name them\n");
        assert_eq!(with_policy(check, "allowed_tools: ['**']"), "F612 5:29 allowed_tools \"**\" allows every tool; name them\n");
        assert_eq!(with_policy(check, "allowed_tools: ['shell(*)']"), "");
    }
}
