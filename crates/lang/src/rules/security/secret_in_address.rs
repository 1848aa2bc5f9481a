//! F602: a secret in a web address, where it is neither the address itself nor a part of its path.
//!
//! The addresses of hooks are keys: who knows the path may post. So a secret may be a whole address, or stand in its path. Flow shows no more of such an
//! address than its host, and policies decide about the host that it turns out to have.

use crate::model::{Form, Pipeline, Read, StepKind, Text, ToolKind};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::rules::support::roles::{SinkRole, texts};
use crate::template::address_text;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let open = addresses_of_requests(&pipeline.pipeline);
    texts(&pipeline.pipeline, &mut |role, text| {
        if role != SinkRole::Address {
            return;
        }
        let is_request = open.iter().any(|address| std::ptr::eq(*address, text));
        let secrets = text.reads.iter().filter(|read| read.path.first().is_some_and(|root| root == "secrets"));
        out.extend(secrets.filter(|secret| !is_request || !may_stand(text, secret)).map(|secret| misplaced(text, secret, is_request)));
    });
}

/// The addresses of `http` steps and tools, and of models.
fn addresses_of_requests(pipeline: &Pipeline) -> Vec<&Text> {
    let of_models = pipeline.models.values().filter_map(|model| model.base_url.as_ref());
    let of_tools = pipeline.tools.values().filter_map(|tool| match &tool.kind {
        ToolKind::Http { url, .. } => Some(url),
        ToolKind::Server(_)
        | ToolKind::Smtp { .. }
        | ToolKind::Sql(_)
        | ToolKind::Program { .. }
        | ToolKind::Python { .. }
        | ToolKind::File(_)
        | ToolKind::Knowledge(_)
        | ToolKind::Pipeline { .. }
        | ToolKind::Broken => None,
    });
    let of_steps =
        pipeline.all_steps().into_iter().filter_map(|step| if let StepKind::Http(http) = &step.kind { Some(&http.url) } else { None });
    of_models.chain(of_tools).chain(of_steps).collect()
}

/// Whether a secret is the beginning of an address with its whole host, or in the path behind a host.
fn may_stand(address: &Text, secret: &Read) -> bool {
    let source = address.source.trim();
    let path = secret.path.join(".");
    if address.form == Form::Plain || source.contains("{%") {
        return false;
    }
    if let Some((expression, rest)) = source.strip_prefix("{{").and_then(|source| source.split_once("}}"))
        && expression.trim() == path
    {
        return (rest.is_empty() || rest.starts_with(['/', '?', '#'])) && !rest.contains(&path);
    }
    let names_host = || address_text(address).host_reads.contains(&secret.path);
    source.matches(&path).count() == 1
        && !names_host()
        && source.split(&path).next().is_some_and(|before| !written(before).contains(['?', '#']))
}

/// A text without what stands in braces.
fn written(text: &str) -> String {
    text.split("{{").enumerate().map(|(at, part)| if at == 0 { part } else { part.split_once("}}").map_or("", |(_, rest)| rest) }).collect()
}

fn misplaced(text: &Text, secret: &Read, is_request: bool) -> Diagnostic {
    let path = secret.path.join(".");
    let parameter = parameter(&text.source, &path);
    let hook = match is_request && parameter.is_none() {
        true => format!("; the address of a hook may be the secret itself: \"{{{{ {path} }}}}\""),
        false => String::new(),
    };
    let what = parameter.map_or_else(|| "it".to_owned(), |parameter| format!("all of \"{parameter}\""));
    finding(Code::SecretInAddress, secret.span, &format!("{path} in a web address ends up in logs; use a header")).help(format!(
        "take {what} out of the address, and write headers: {{ X-Api-Key: \"{{{{ {path} }}}}\" }}, with the header that the service names{hook}"
    ))
}

/// The parameter of a query that a path fills, with the sign before it: `?key={{ secrets.KEY }}`.
fn parameter<'t>(address: &'t str, path: &str) -> Option<&'t str> {
    let at = address.find(path)?;
    let start = address.get(..at)?.rfind(['?', '&'])?;
    let end = address.get(at..)?.find("}}").map(|end| at + end + 2)?;
    address.get(start..end).filter(|parameter| parameter.contains('=') && parameter.matches("{{").count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_secret_is_a_whole_address_or_in_its_path_and_no_other_part_of_one() {
        let step = |step: &str| says(check, &format!("inputs: {{ x: text }}\nsecrets: {{ KEY: A key. }}\nsteps: [{{ id: a, {step} }}]\n"));
        for fine in [
            "http: 'POST {{ secrets.KEY }}'",
            "http: 'POST {{ secrets.KEY }}/messages'",
            "http: 'POST {{ secrets.KEY }}/{{ inputs.x }}?wait=true'",
            "http: 'GET https://example.com/bot{{ secrets.KEY }}/send'",
            "http: 'GET https://example.com/{{ inputs.x }}/{{ secrets.KEY }}'",
            "http: 'GET {{ env.BASE }}/hooks/{{ secrets.KEY }}'",
            "http: GET https://example.com/, body: { key: '{{ secrets.KEY }}' }",
        ] {
            assert_eq!(step(fine), "", "{fine}");
        }
        for wrong in [
            "http: 'GET https://example.com/?key={{ secrets.KEY }}'",
            "http: 'GET https://example.com/x#{{ secrets.KEY }}'",
            "http: 'GET https://{{ secrets.KEY }}/x'",
            "http: 'GET https://{{ secrets.KEY }}@example.com/x'",
            "http: 'GET {{ secrets.KEY }}{{ inputs.x }}'",
            "http: 'GET {{ secrets.KEY }}.example.com/'",
            "http: 'GET {{ secrets.KEY }}/{{ secrets.KEY }}'",
            "http: 'GET {{ inputs.x }}{{ secrets.KEY }}'",
            "http: 'GET {% if inputs.x %}{{ secrets.KEY }}{% endif %}'",
            "http: GET https://example.com/, query: { key: '{{ secrets.KEY }}' }",
        ] {
            let told = step(wrong);
            assert!(
                told.starts_with("F602 ") && told.contains("secrets.KEY in a web address ends up in logs; use a header"),
                "{wrong}: {told}"
            );
        }
        let tools = |tool: &str| says(check, &format!("secrets: {{ KEY: A key. }}\n{tool}\nsteps: [{{ id: a, set: 1 }}]\n"));
        assert_eq!(tools("tools: { t: { http: 'POST {{ secrets.KEY }}' } }"), "");
        assert_eq!(tools("models: { default: { provider: openai, model: m, base_url: '{{ secrets.KEY }}/v1' } }"), "");
        assert!(tools("tools: { t: { url: '{{ secrets.KEY }}' } }").starts_with("F602 "));
        assert!(tools("tools: { t: { smtp: '{{ secrets.KEY }}:25', from: a@a.example } }").starts_with("F602 "));
    }
}
