//! F612: every tool is allowed, of a policy or of an MCP server.

use crate::model::{Knowledge, Pipeline, ToolKind};
use crate::policy::fits_everything;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, listed, quoted};
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for policy in pipeline.pipeline.policies.values() {
        for name in policy.allowed_tools.iter().flatten().filter(|name| fits_everything(&name.value)) {
            let message = format!("allowed_tools {} allows every tool; name them", quoted(&name.value));
            let help = match known_names(&pipeline.pipeline) {
                Some(names) => format!("write {} in its place, without those that are not needed", listed(&names)),
                None => "write the names that there are in place of it, as flow tools allow FILE does, and keep those that are needed"
                    .to_owned(),
            };
            out.push(new_finding(name, &message).help(help));
        }
    }
    for (server, tool) in pipeline.pipeline.tools.iter().filter(|(_, tool)| tool.is_server()) {
        for name in tool.allow.iter().flatten().filter(|name| fits_everything(&name.value)) {
            let message =
                format!("allow {} of server {} allows every tool it may ever have; name them", quoted(&name.value), quoted(server));
            out.push(
                new_finding(name, &message)
                    .help("write the names of its tools in place of it, as flow tools allow FILE does, and keep those that are needed"),
            );
        }
    }
}

/// The tools of a file, each with its parts; `None` where a server knows them alone, or there is none.
fn known_names(file: &Pipeline) -> Option<Vec<String>> {
    let mut names = vec![];
    for (name, tool) in &file.tools {
        match &tool.kind {
            ToolKind::Server(_) | ToolKind::Broken => return None,
            ToolKind::File(_) => names.extend(tool.parts().into_iter().map(|part| format!("{name}.{part}"))),
            ToolKind::Knowledge(_) => names.push(Knowledge::tool_name(name)),
            ToolKind::Http { .. } | ToolKind::Sql(_) | ToolKind::Program { .. } | ToolKind::Python { .. } => names.push(name.clone()),
            ToolKind::Pipeline { .. } | ToolKind::Smtp { .. } => names.push(name.clone()),
        }
    }
    (!names.is_empty()).then_some(names)
}

fn new_finding(name: &Spanned<String>, message: &str) -> Diagnostic {
    finding(Code::PolicyTooWide, name.span, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::with_policy;

    #[test]
    fn tools_are_named() {
        assert_eq!(with_policy(check, "allowed_tools: ['*']"), "F612 5:29 allowed_tools \"*\" allows every tool; name them\n");
        assert_eq!(with_policy(check, "allowed_tools: ['**']"), "F612 5:29 allowed_tools \"**\" allows every tool; name them\n");
        assert_eq!(with_policy(check, "allowed_tools: ['shell(*)']"), "");
    }
}
