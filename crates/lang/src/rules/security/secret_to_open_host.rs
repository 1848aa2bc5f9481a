//! F609: a secret beside an address whose host the file does not name.

use crate::labels::ValueSources;
use crate::model::{Filling, HostSource, Read, ServerKind, StepKind, Text, ToolKind};
use crate::plan::StepIx;
use crate::policy::may_carry_secret;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding};
use crate::source::Spanned;
use crate::template::address_text;

/// Something that goes out: its address, who reads it, and the texts that go with it.
pub(in crate::rules) struct Outgoing<'p> {
    pub(in crate::rules) address: &'p Text,
    /// Whether the whole text is a host, as that of a mail server.
    is_host: bool,
    step: Option<StepIx>,
    /// What the author fixed in the tool.
    fixed: &'p [(Spanned<String>, Filling)],
    beside: Vec<&'p Text>,
}

/// F609: a secret, or a value of the environment, beside an address whose host is known neither from the file nor from the environment.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let policy = file.policy.as_ref().and_then(|name| file.policies.get(&name.value));
    for outgoing in outgoing(pipeline) {
        let Some((source, named)) = named_by(pipeline, &outgoing) else { continue };
        if may_carry_secret(policy, source) {
            continue;
        }
        for secret in carried(&outgoing) {
            let message = format!("{} is sent to a host that comes from {named}, not from the file", secret.path.join("."));
            let unread =
                if named.starts_with("inputs.") { format!(", and remove {named} if nothing else reads it") } else { String::new() };
            let help = format!(
                "write https:// and the host in place of {{{{ {named} }}}}{unread}; or list the hosts in network_access.hosts of the policy"
            );
            out.push(
                finding(Code::SecretToOpenHost, outgoing.address.place.span, &message).related(secret.span, "sent with it").help(help),
            );
        }
    }
}

/// The secrets, and values of the environment, that go with a request.
pub(in crate::rules) fn carried<'p>(outgoing: &Outgoing<'p>) -> Vec<&'p Read> {
    let fixed = outgoing.fixed.iter().flat_map(|(_, value)| value.texts());
    let beside = outgoing.beside.iter().copied().chain(fixed).flat_map(|text| &text.reads).filter(|read| is_secret(read));
    // A secret may be the address itself, or in its path.
    let is_beside = outgoing.beside.iter().any(|text| std::ptr::eq(*text, outgoing.address));
    let in_address = outgoing.address.reads.iter().filter(|read| !is_beside && read.path.first().is_some_and(|root| root == "secrets"));
    beside.chain(in_address).collect()
}

/// Whether what is read is kept from hosts that the file does not name.
pub(in crate::rules) fn is_secret(read: &Read) -> bool {
    read.path.first().is_some_and(|root| root == "secrets" || root == "env")
}

/// Who names the host of an address, and the name that decides it; `None`: the author alone.
pub(in crate::rules) fn named_by(pipeline: &PipelinePlan, outgoing: &Outgoing) -> Option<(HostSource, String)> {
    let reads = match outgoing.is_host {
        true => outgoing.address.reads.iter().map(|read| read.path.clone()).collect(),
        false => address_text(outgoing.address).host_reads,
    };
    let of = |path: Vec<String>| (source(pipeline, outgoing, &path), path.join("."));
    reads.into_iter().map(of).max_by_key(|(source, _)| *source).filter(|(source, _)| *source > HostSource::File)
}

fn source(pipeline: &PipelinePlan, outgoing: &Outgoing, path: &[String]) -> HostSource {
    let found = ValueSources::of_reads(pipeline, outgoing.step, [path.to_vec()]);
    let of_with = |name: &String| match outgoing.fixed.iter().find(|(own, _)| own.value == *name) {
        Some((_, value)) => {
            let reads = value.texts().into_iter().flat_map(|text| &text.reads);
            reads.map(|read| source(pipeline, &Outgoing { fixed: &[], beside: vec![], ..*outgoing }, &read.path)).max().unwrap_or_default()
        }
        None => HostSource::Data,
    };
    let with = found.with.iter().map(of_with).max().unwrap_or_default();
    let own = match () {
        () if found.data => HostSource::Data,
        () if found.any_input || !found.inputs.is_empty() => HostSource::Input,
        () if found.environment => HostSource::Environment,
        () => HostSource::File,
    };
    own.max(with)
}

pub(in crate::rules) fn outgoing(pipeline: &PipelinePlan) -> Vec<Outgoing<'_>> {
    let mut list = vec![];
    for model in pipeline.pipeline.models.values() {
        let Some(address) = &model.base_url else { continue };
        // Its name goes there, too, and so does what else is in the address.
        let beside = model.api_key.iter().chain(&model.model).chain([address]).collect();
        list.push(Outgoing { address, is_host: false, step: None, fixed: &[], beside });
    }
    for tool in pipeline.pipeline.tools.values() {
        let (address, is_host, beside) = match &tool.kind {
            ToolKind::Http { url, headers, query, body, .. } => (url, false, request(headers, query, body.as_ref())),
            ToolKind::Server(ServerKind::Url { url, headers, auth }) => {
                // Where the file names no other host, the server's own gives the tokens.
                let auth = auth.iter().filter(|auth| auth.addresses().next().is_none());
                let secrets = auth.flat_map(|auth| auth.client_secret.iter().chain(&auth.private_key));
                (url, false, request(headers, &[], None).into_iter().chain(secrets).collect())
            }
            ToolKind::Smtp { address, from, user, password } => (address, true, user.iter().chain(password).chain([from]).collect()),
            ToolKind::Server(ServerKind::Program { .. })
            | ToolKind::Sql(_)
            | ToolKind::Program { .. }
            | ToolKind::Python { .. }
            | ToolKind::File(_)
            | ToolKind::Knowledge(_)
            | ToolKind::Pipeline { .. }
            | ToolKind::Broken => continue,
        };
        list.push(Outgoing { address, is_host, step: None, fixed: &tool.with, beside });
    }
    for (ix, planned) in pipeline.numbered_steps() {
        if let StepKind::Http(http) = &planned.step.kind {
            let beside = request(&http.headers, &http.query, http.body.as_ref());
            list.push(Outgoing { address: &http.url, is_host: false, step: Some(ix), fixed: &[], beside });
        }
    }
    list
}

fn request<'p>(headers: &'p [(String, Text)], query: &'p [(String, Filling)], body: Option<&'p Filling>) -> Vec<&'p Text> {
    let fillings = query.iter().map(|(_, value)| value).chain(body).flat_map(Filling::texts);
    headers.iter().map(|(_, text)| text).chain(fillings).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, says_of};

    const HEAD: &str = "secrets: { KEY: A key. }\ninputs: { base: text }\nagents: { w: {} }\n";
    const TOKEN: &str = "headers: { authorization: 'Bearer {{ secrets.KEY }}' }";

    fn step(address: &str) -> String {
        let set = "{ id: own, set: { base: 'https://a.example' } }, { id: theirs, set: '{{ steps.m.output }}' }";
        let steps = format!("[{{ id: m, agent: w, prompt: x }}, {set}, {{ id: a, http: 'GET {address}', {TOKEN} }}]");
        says(check, &format!("{HEAD}steps: {steps}\n"))
    }

    #[test]
    fn a_secret_goes_to_hosts_of_the_file_and_of_the_environment() {
        for fine in [
            "https://a.example/{{ steps.m.output }}",
            "https://a.example?x={{ steps.m.output }}",
            "{{ env.BASE }}/{{ steps.m.output }}",
            "{{ env.BASE | default(\"https://a.example\") }}/x",
            "https://{{ env.REGION }}.a.example:8443/x",
            "{{ steps.own.output.base }}/{{ inputs.base }}",
            "{% if steps.m.output %}https://a.example/{% else %}https://b.example/{% endif %}{{ inputs.base }}",
        ] {
            assert_eq!(step(fine), "", "{fine}");
        }
    }

    #[test]
    fn a_secret_beside_a_host_that_something_else_names_is_an_error() {
        for (address, named) in [
            ("{{ steps.m.output }}", "steps.m.output"),
            ("{{ steps.m.output }}/x", "steps.m.output"),
            ("https://{{ steps.m.output }}/x", "steps.m.output"),
            ("https://a.example{{ steps.m.output }}", "steps.m.output"),
            ("https://a.example:{{ steps.m.output }}/", "steps.m.output"),
            ("{{ steps.m.output }}://a.example/", "steps.m.output"),
            ("{{ steps.theirs.output }}/x", "steps.theirs.output"),
            ("{{ env.BASE }}{{ steps.m.output }}/x", "steps.m.output"),
            ("https://{% for x in steps.m.output %}a{% endfor %}/", "steps.m.output"),
            ("{{ env.BASE if inputs.base else steps.m.output }}/x", "steps.m.output"),
            ("{{ inputs.base }}/x", "inputs.base"),
            ("https://{{ inputs.base }}.a.example/x", "inputs.base"),
        ] {
            let told = step(address);
            let message = format!("secrets.KEY is sent to a host that comes from {named}, not from the file\n");
            assert!(told.starts_with("F609 ") && told.ends_with(&message) && told.lines().count() == 1, "{address}: {told}");
        }
    }

    #[test]
    fn tools_servers_models_and_mail_are_held_to_the_same_rule() {
        let with = |body: &str| says(check, &format!("{HEAD}{body}\nsteps: [{{ id: a, set: 1 }}]\n"));
        let tool = |keys: &str| with(&format!("tools: {{ t: {{ {keys} }} }}"));
        for wrong in [
            "http: 'GET {{ with.url }}', headers: { x: '{{ secrets.KEY }}' }, arguments: { url: text }",
            "http: 'POST https://{{ with.host }}/x', body: { key: '{{ env.KEY }}' }, arguments: { host: text }",
            "http: 'POST https://{{ with.host }}/x', body: '{{ with.key }}', with: { key: '{{ secrets.KEY }}' }, arguments: { host: text }",
            "url: '{{ inputs.base }}/mcp', headers: { x: '{{ secrets.KEY }}' }",
            "smtp: '{{ inputs.base }}:25', from: a@a.example, user: u, password: '{{ secrets.KEY }}'",
        ] {
            assert!(tool(wrong).starts_with("F609 "), "{wrong}");
        }
        for fine in [
            "http: 'GET {{ with.url }}', headers: { x: '{{ secrets.KEY }}' }, with: { url: 'https://a.example' }",
            "http: 'GET {{ with.url }}', arguments: { url: text }",
            "url: '{{ env.BASE }}/mcp', headers: { x: '{{ secrets.KEY }}' }",
            "smtp: '{{ env.MAIL }}:25', from: a@a.example, user: u, password: '{{ secrets.KEY }}'",
        ] {
            assert_eq!(tool(fine), "", "{fine}");
        }
        let model = |base: &str| {
            with(&format!("models: {{ default: {{ provider: openai, model: m, base_url: '{base}', api_key: '{{{{ secrets.KEY }}}}' }} }}"))
        };
        assert!(model("{{ inputs.base }}/v1").starts_with("F609 "));
        assert_eq!(model("{{ env.BASE }}/v1"), "");
    }

    #[test]
    fn a_policy_that_lists_hosts_names_them() {
        let policy = |keys: &str| format!("policies: {{ p: {{ {keys} }} }}\npolicy: p\n");
        let of = |head: &str| {
            let pipeline = format!("flow: 1\nname: a\n{HEAD}{head}steps: [{{ id: a, http: 'GET {{{{ inputs.base }}}}/x', {TOKEN} }}]\n");
            says_of(check, &[("a.yaml", &pipeline)])
        };
        assert_eq!(of(&policy("network_access: { hosts: ['*.a.example'] }")), "");
        assert!(of(&policy("permission_mode: auto")).starts_with("F609 "));
        assert!(of("").starts_with("F609 "));
    }
}
