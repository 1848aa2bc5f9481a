//! F613: a step that its own file's policy is sure to reject; programs and tables stand in `outside_lists.rs`.

use serde_json::{Value, json};

use std::fmt::{self, Display, Formatter};

use super::policy_entries::without_scheme;
use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{
    FilePattern, Filling, Form, HostSource, Policy, ProgramNetwork, ReadStep, ResourceStep, STDOUT, StepKind, Touch, known_address,
};
use crate::policy::{Act, CallNeed, Origin, decide, decide_host, from_project, tool_refused};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::source::{Span, Spanned};

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let Some((name, policy)) = file.policy.as_ref().and_then(|name| Some((name, file.policies.get(&name.value)?))) else { return };
    let mut report = |id: &str, span: Span, what: Denied, help: &str| {
        let message = format!("step {} uses {what}, which policy {} does not allow", quoted(id), quoted(&name.value));
        out.push(new_finding(span, &message).related(policy.span, "this policy is to allow it").help(help));
        if let Some(found) = out.last_mut() {
            explain(found, policy, &what);
        }
    };
    for step in pipeline.steps.iter().map(|planned| &planned.step) {
        let resource = step.kind.resource();
        let used = step.kind.facts().receiver.filter(|tool| tool.value != STDOUT && resource.is_none());
        let refuses = |act: Act| decide(&[(&name.value, policy)], &act).is_denied();
        if let Some(tool) = used.filter(|tool| refuses(Act::Tool { name: &tool.value, arguments: None })) {
            let help = format!(
                "write {} in the policy, or remove the step",
                with_one_more("allowed_tools", policy.allowed_tools.as_deref(), &tool.value)
            );
            report(&step.id.value, tool.span, Denied::Tool(tool.value.clone()), &help);
        }
        if let Some(ResourceStep { server, uri }) = resource {
            let arguments = json!({ "uri": &*uri.source });
            let known = (uri.form == Form::Plain).then_some((&arguments, &*uri.source));
            if refuses(Act::Resource { server: &server.value, uri: known }) {
                let help = "add the server to allowed_tools, or remove the step";
                report(&step.id.value, server.span, Denied::Other(format!("a resource of server {}", quoted(&server.value))), help);
            }
        }
        if let Some(run) = step.kind.facts().starts
            && let Some((span, what)) = refused_host(&run.network, step.kind_span, (&name.value, policy))
        {
            let help = host_help(&what, policy);
            report(&step.id.value, span, what, &help);
        }
        if let StepKind::Read(read) = &step.kind {
            let paths = files(read).into_iter().map(|path| from_project(&file.project, &file.folder.join(path)));
            if let Some(path) = paths.into_iter().find(|path| refuses(Act::Read(path))) {
                let help = "add the file to file_access.read, or remove the step";
                report(&step.id.value, step.kind_span, Denied::Other(format!("file {}", quoted(&path))), help);
            }
        }
        if let Some(name) = step.kind.facts().knowledge
            && let Some(knowledge) = file.tools.get(&name.value).and_then(|tool| tool.knowledge())
        {
            let whole = |pattern: &FilePattern| from_project(&file.project, &pattern.whole());
            let patterns = knowledge.files.iter().map(|pattern| (pattern.value.rest.is_empty(), whole(&pattern.value)));
            let refused = |(is_path, path): &(bool, String)| refuses(if *is_path { Act::Read(path) } else { Act::ReadEach(path) });
            if let Some((_, path)) = patterns.into_iter().find(refused) {
                let help = "add the files to file_access.read, or remove the step";
                report(&step.id.value, name.span, Denied::Other(format!("the files {}", quoted(&path))), help);
            }
        }
        if let Some(url) = step.kind.address()
            && let Some(Origin { scheme, host, port }) = known_address(&url.source).and_then(|url| Origin::parse(url.as_str()))
            && refuses(Act::Host { scheme: &scheme, host: &host, port })
        {
            // An entry without a port means https on 443.
            let entry = match port {
                Some(port) if (scheme.as_str(), port) != ("https", 443) => format!("{host}:{port}"),
                _ => host,
            };
            let hosts = with_one_more("hosts", policy.hosts.as_deref(), &entry);
            let other = policy.hosts.iter().flatten().find(|other| !other.value.contains(['*', '/']));
            let help = match other {
                Some(other) => format!("write network_access: {{ {hosts} }} in the policy, or call {}, which it allows", other.value),
                None => format!("write network_access: {{ {hosts} }} in the policy, or remove the step"),
            };
            report(&step.id.value, url.place.span, Denied::Host(entry), &help);
        }
    }
}

/// The first host of a program's network that a policy does not allow, where it stands; `place` for all of the network.
pub(in crate::rules) fn refused_host(
    network: &ProgramNetwork<Spanned<String>>,
    place: Span,
    policy: (&str, &Policy),
) -> Option<(Span, Denied)> {
    let refused = |origin: &Origin| decide_host(&[policy], HostSource::Input, origin, || true).is_denied();
    let first = Origin::of_program(&network.map(|host| host.value.clone())).iter().position(refused)?;
    match network {
        ProgramNetwork::Hosts(hosts) => hosts.get(first).map(|host| (host.span, Denied::Host(host.value.clone()))),
        ProgramNetwork::None | ProgramNetwork::All => Some((place, Denied::Other("all of the network".to_owned()))),
    }
}

/// What to write so that a policy allows what [`refused_host`] names.
pub(in crate::rules) fn host_help(what: &Denied, policy: &Policy) -> String {
    let host = if let Denied::Host(host) = what { host } else { "*" };
    format!(
        "write network_access: {{ {} }} in the policy, or take it out of network",
        with_one_more("hosts", policy.hosts.as_deref(), host)
    )
}

/// What to write in a policy that denies what each call does, and where: behind the last entry of the list.
pub(in crate::rules) fn need_help(need: &CallNeed, policy: &Policy) -> (String, Span) {
    let (section, key, list, entry) = match need {
        CallNeed::Each(Touch::Read, files) | CallNeed::Some(Touch::Read, files) => ("file_access", "read", &policy.read, files.clone()),
        CallNeed::Each(Touch::Write, files) | CallNeed::Some(Touch::Write, files) => ("file_access", "write", &policy.write, files.clone()),
        CallNeed::Host(origin, _) => ("network_access", "hosts", &policy.hosts, origin.named()),
    };
    let place = list.iter().flatten().last().map_or(policy.span, |last| last.span);
    (format!("{section}: {{ {} }}", with_one_more(key, list.as_deref(), &entry)), place)
}

/// A list of the policy with one more entry, as it is written.
pub(in crate::rules) fn with_one_more(key: &str, list: Option<&[Spanned<String>]>, entry: &str) -> String {
    let plain = |entry: &str| if entry.contains(['*', ':', '[', '{', ',', '(']) { quoted(entry) } else { entry.to_owned() };
    let all: Vec<String> = list.unwrap_or_default().iter().map(|entry| entry.value.as_str()).chain([entry]).map(plain).collect();
    format!("{key}: [{}]", all.join(", "))
}

pub(in crate::rules) fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::OutsidePolicy, span, message)
}

/// What a policy does not allow.
pub(in crate::rules) enum Denied {
    Tool(String),
    Host(String),
    /// In words.
    Other(String),
}

impl Display for Denied {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Tool(name) => write!(f, "tool {}", quoted(name)),
            Denied::Host(name) => write!(f, "host {}", quoted(name)),
            Denied::Other(what) => f.write_str(what),
        }
    }
}

/// Says which entry of the policy keeps something out, or nearly lets it in, and moves the finding there.
fn explain(found: &mut Diagnostic, policy: &Policy, what: &Denied) {
    if let Denied::Tool(name) = what {
        if let Some(entry) = policy.disallowed_tools.iter().find(|entry| tool_refused(&entry.value, name, None)) {
            return at_entry(
                found,
                entry,
                (
                    "disallowed_tools goes before allowed_tools",
                    format!("remove {} from disallowed_tools, or remove the step", quoted(&entry.value)),
                ),
            );
        }
        let mode = "write permission_mode: auto if what no list names may be done: without it that is denied".to_owned();
        match (policy.allowed_tools.is_none(), policy.disallowed_tools.first()) {
            // Who wrote only what may not be done expects the rest to be allowed.
            (true, Some(entry)) => {
                found.help.insert(0, mode);
                found.related.push((entry.span, "only forbids: add permission_mode: auto below this list".to_owned()));
            }
            (true, None) => found.help.push(mode),
            (false, _) => {}
        }
    }
    let Denied::Host(name) = what else { return };
    let hosts = policy.hosts.as_deref().unwrap_or_default();
    let plain = name.split(':').next().unwrap_or_default();
    for entry in hosts {
        let value = entry.value.as_str();
        if let Some(host) = without_scheme(value).filter(|host| host.trim_matches('"').split(':').next() == Some(plain)) {
            return at_entry(found, entry, ("an entry is a host, without its scheme", format!("write {host}")));
        }
        if value.strip_prefix("*.") == Some(plain) {
            return at_entry(found, entry, ("*. means only what is below the host", format!("write {plain}")));
        }
        if value.contains('/') && value.starts_with(|c: char| c.is_ascii_digit()) {
            let host = if name.contains(':') { quoted(name) } else { name.to_owned() };
            return at_entry(found, entry, ("a range of addresses is no host", format!("write {host}")));
        }
        if value.split(':').next() == Some(plain) {
            let host = quoted(name);
            let why = if value.contains(':') { "an entry with a port means that port" } else { "an entry without a port means 443" };
            return at_entry(found, entry, (why, format!("write {host}")));
        }
    }
    if let Some(first) = hosts.first() {
        let host = if name.contains(':') { quoted(name) } else { name.to_owned() };
        found.related.push((first.span, format!("add {host} here")));
    }
}

/// Puts a finding at an entry of the policy.
fn at_entry(found: &mut Diagnostic, entry: &Spanned<String>, (why, help): (&str, String)) {
    let step = std::mem::replace(&mut found.span, entry.span);
    found.related.insert(0, (step, "used here".to_owned()));
    found.help = vec![help];
    found.message = cut(&format!("{}: {why}", found.message), LONGEST_MESSAGE);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{says, with_policy};

    #[test]
    fn a_step_keeps_to_its_own_policy() {
        let tool = "F613 8:22 step \"run\" uses tool \"hook\", which policy \"office\" does not allow\n";
        let host = "F613 9:22 step \"get\" uses host \"example.org\", which policy \"office\" does not allow\n";
        let both = format!("{tool}{host}");
        assert_eq!(with_policy(check, "description: Nothing is named here."), both);
        assert_eq!(
            with_policy(check, "disallowed_tools: [hook], permission_mode: auto"),
            tool.replace("8:22", "5:32").replace("allow\n", "allow: disallowed_tools goes before allowed_tools\n")
        );
        assert_eq!(with_policy(check, "allowed_tools: [shell], network_access: { hosts: [example.org] }"), tool);
        assert_eq!(
            with_policy(check, "allowed_tools: [hook], network_access: { hosts: [example.com, 'example.org:80'] }"),
            host.replace("9:22", "5:75").replace("allow\n", "allow: an entry with a port means that port\n")
        );
        for fine in [
            "allowed_tools: [hook], network_access: { hosts: [example.org] }",
            "allowed_tools: ['hook(x)'], network_access: { hosts: ['example.org:443'] }",
            "disallowed_tools: ['hook(x)'], permission_mode: auto",
            "allowed_tools: [hook], network_access: { hosts: ['*.org'] }",
            "permission_mode: auto",
            // A person is asked.
            "permission_mode: prompt",
        ] {
            assert_eq!(with_policy(check, fine), "", "{fine}");
        }
    }

    #[test]
    fn a_program_reaches_hosts_that_every_list_has() {
        let with = |network: &str, policy: &str| {
            let step = format!("  - {{ id: get, program: [curl], network: {network} }}");
            let file = format!("policies: {{ p: {{ permission_mode: auto{policy} }} }}\npolicy: p\nsteps:\n{step}\n");
            says(check, &file)
        };
        let listed = ", network_access: { hosts: [a.example, '*.b.example', 'c.example:8080'] }";
        for fine in ["[a.example]", "['*.b.example', x.b.example, 'c.example:8080']", "false"] {
            assert_eq!(with(fine, listed), "", "{fine}");
        }
        assert_eq!(with("true", ""), "");
        assert_eq!(with("true", ", network_access: { hosts: ['*'] }"), "");
        let found = "step \"get\" uses host \"evil.example\", which policy \"p\" does not allow\n";
        assert!(with("[a.example, evil.example]", listed).ends_with(found), "{}", with("[a.example, evil.example]", listed));
        let all = "step \"get\" uses all of the network, which policy \"p\" does not allow\n";
        assert!(with("true", listed).ends_with(all), "{}", with("true", listed));
    }

    #[test]
    fn a_host_is_compared_as_the_run_compares_it() {
        let with = |url: &str| {
            says(
                check,
                &format!(
                    "inputs: {{ id: text }}\npolicies: {{ p: {{ network_access: {{ hosts: [example.org, '[::1]'] }} }} }}\npolicy: p\nsteps:\n  - id: get\n    http: GET {url}\n"
                ),
            )
        };
        for fine in [
            "HTTPS://example.org/x",
            "https://EXAMPLE.org./{{ inputs.id }}",
            "https://a:b@example.org:443",
            "https://[::1]/",
            "https://{{ inputs.id }}/",
        ] {
            assert_eq!(with(fine), "", "{fine}");
        }
        let other = "F613 8:11 step \"get\" uses host \"example.com\", which policy \"p\" does not allow\n";
        assert_eq!(with("https://example.org@EXAMPLE.com/"), other);
        assert_eq!(with("https://example.com\\@example.org/"), other);
    }
}
