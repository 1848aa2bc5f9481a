//! F613: a step that its own file's policy is sure to refuse.

use serde_json::Value;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{Filling, Form, ReadStep, STDOUT, StepKind, Text};
use crate::policy::{Act, decide, from_project};
use crate::source::Span;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some((name, policy)) = file.policy.as_ref().and_then(|name| Some((name, file.policies.get(&name.value)?))) else { return };
    let mut report = |id: &str, span: Span, what: String, help: &str| {
        let message = format!("step {} uses {what}, which policy {} does not allow", quoted(id), quoted(&name.value));
        out.push(finding(Code::OutsidePolicy, span, &message).related(policy.span, "this policy").help(help));
    };
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let used = step.kind.receiver().filter(|tool| tool.value != STDOUT);
        let refuses = |act: Act| !decide(&[(&name.value, policy)], &act).allowed;
        if let Some(tool) = used.filter(|tool| refuses(Act::Tool { name: &tool.value, arguments: None })) {
            let help = "add the tool to allowed_tools, or remove the step";
            report(&step.id.value, tool.span, format!("tool {}", quoted(&tool.value)), help);
        }
        if let StepKind::Read(read) = &step.kind {
            let paths = files(read).into_iter().map(|path| from_project(&file.project, &file.folder.join(path)));
            if let Some(path) = paths.into_iter().find(|path| refuses(Act::Read(path))) {
                let help = "add the file to file_access.read, or remove the step";
                report(&step.id.value, step.kind_span, format!("file {}", quoted(&path)), help);
            }
        }
        if let StepKind::Http(http) = &step.kind
            && let Some((scheme, host, port)) = host(&http.url)
            && refuses(Act::Host { scheme, host, port })
        {
            // An entry without a port means https on 443.
            let entry = match port {
                Some(port) if (scheme, port) != ("https", 443) => quoted(&format!("{host}:{port}")),
                _ => "the host".to_owned(),
            };
            let help = format!("add {entry} to network_access.hosts, or remove the step");
            report(&step.id.value, http.url.place.span, format!("host {}", quoted(host)), &help);
        }
    }
}

/// The files a step reads, as far as their paths are written out, from the folder of the pipeline.
fn files(read: &ReadStep) -> Vec<&str> {
    fn written(filling: &Filling) -> Vec<&str> {
        match filling {
            Filling::Constant(Value::String(path)) => vec![path],
            Filling::Constant(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
            Filling::Text(text) if text.form == Form::Plain => vec![&text.source],
            Filling::List(list) => list.iter().flat_map(written).collect(),
            _ => vec![],
        }
    }
    written(&read.paths)
}

/// Scheme, host and port of an address, if they are written out.
fn host(url: &Text) -> Option<(&str, &str, Option<u16>)> {
    let (scheme, rest) = url.source.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, if scheme == "http" { "80" } else { "443" }));
    (!host.is_empty() && !authority.contains(['{', '['])).then_some((scheme, host, port.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::with_policy;
    use super::*;

    #[test]
    fn a_step_keeps_to_its_own_policy() {
        let tool = "F613 8:22 step \"run\" uses tool \"hook\", which policy \"office\" does not allow\n";
        let host = "F613 9:22 step \"get\" uses host \"example.org\", which policy \"office\" does not allow\n";
        let both = format!("{tool}{host}");
        assert_eq!(with_policy(check, "description: Nothing is named here."), both);
        assert_eq!(with_policy(check, "disallowed_tools: [hook], permission_mode: auto"), tool);
        assert_eq!(with_policy(check, "allowed_tools: [shell], network_access: { hosts: [example.org] }"), tool);
        assert_eq!(with_policy(check, "allowed_tools: [hook], network_access: { hosts: [example.com, 'example.org:80'] }"), host);
        for fine in [
            "allowed_tools: [hook], network_access: { hosts: [example.org] }",
            "allowed_tools: ['hook(x)'], network_access: { hosts: ['example.org:443'] }",
            "disallowed_tools: ['hook(x)'], permission_mode: auto",
            "allowed_tools: [hook], network_access: { hosts: ['*.org'] }",
            "permission_mode: auto",
        ] {
            assert_eq!(with_policy(check, fine), "", "{fine}");
        }
    }
}
