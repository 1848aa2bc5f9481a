//! F617: an entry of a list of a policy or a tool that no call, no program and no file can ever fit.

use crate::diagnostic::{Hints, did_you_mean, nearest};
use crate::model::{HostEntry, PermissionMode, Pipeline, Policy, STDOUT, StepKind, Tool, ToolName};
use crate::policy::may_mean;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::rules::support::called_names::CalledNames;
use crate::rules::support::program_words::base_name;
use crate::source::Spanned;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let called = (!file.policies.is_empty()).then(|| CalledNames::of(plan));
    let hints = Hints::default();
    for (policy, called) in file.policies.values().zip(called.iter().cycle()) {
        let lists = [
            ("allowed_tools", policy.allowed_tools.as_deref().unwrap_or_default()),
            ("disallowed_tools", policy.disallowed_tools.as_slice()),
            ("approval_required", policy.approval_required.as_slice()),
        ];
        let is_of_server =
            |entry: &str| ToolName::parse(entry).part.is_some() && file.tool(entry).is_some_and(|(tool, _)| tool.is_server());
        names(&lists, is_of_server, out);
        if policy.span.file == file.name.span.file {
            out.extend(never_asked(policy));
            out.extend(
                lists.iter().flat_map(|(key, list)| list.iter().filter_map(|entry| nearly_a_tool((called, &hints), file, key, entry))),
            );
        }
        if called.are_of(policy, pipeline) {
            for (key, entry) in lists.iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry))) {
                out.extend(fits_nothing(called, key, entry));
            }
        }
        let files = [("file_access.read", policy.read.as_deref()), ("file_access.write", policy.write.as_deref())];
        for (key, entry) in files.into_iter().flat_map(|(key, entries)| entries.unwrap_or_default().iter().map(move |entry| (key, entry))) {
            if entry.value.trim_start().starts_with('!') {
                let message = format!("{} in {key} is no exception: it fits no file, and excludes none", quoted(&entry.value));
                out.push(
                    new_finding(entry, &message)
                        .help("name only what is allowed, such as data/**; what no pattern names follows permission_mode"),
                );
            } else if let Some(meant) = from_project(&entry.value) {
                let message = format!("{} in {key} fits no file: patterns begin at the project's folder", quoted(&entry.value));
                out.push(new_finding(entry, &message).help(format!("write {}", quoted(&meant))));
            }
        }
        for entry in policy.hosts.iter().flatten() {
            if let Some((why, meant)) = no_host(&entry.value) {
                let message = format!("{} in network_access.hosts fits no request: {why}", quoted(&entry.value));
                out.push(new_finding(entry, &message).help(format!("write {meant}")));
            }
        }
        unknown_parts(policy, |name| file.tools.get(name), out);
    }
    for tool in file.tools.values() {
        let lists = [("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", tool.deny.as_slice())];
        names(&lists, |_| tool.is_server(), out);
    }
}

pub(in crate::rules) fn new_finding(entry: &Spanned<String>, message: &str) -> Diagnostic {
    finding(Code::PolicyEntry, entry.span, message)
}

/// Why an entry of a list of hosts is none, and what to write.
fn no_host(entry: &str) -> Option<(&'static str, String)> {
    if let Some(host) = without_scheme(entry) {
        return Some(("an entry is a host, without its scheme", host));
    }
    let plain = entry.trim();
    if plain.contains(char::is_whitespace) {
        Some(("no host has a blank in its name", "each host as an entry of its own".to_owned()))
    } else if plain.contains("**") {
        Some(("a star stands for any host, alone or before a dot", quoted(&plain.replace("**", "*"))))
    } else if let Some((host, path)) = plain.split_once('/') {
        let is_range = path.parse::<u8>().is_ok() || host.is_empty();
        Some(match is_range {
            true => ("a range of addresses is no host", "each host as an entry of its own".to_owned()),
            false => ("an entry is a host, without a path", if host.contains([':', '*']) { quoted(host) } else { host.to_owned() }),
        })
    } else {
        let entry = HostEntry::parse(plain);
        match entry.plain_name() {
            _ if entry.name == "*" => None,
            None => {
                Some(("it is no name of a host", "the host, such as example.com, \"*.example.com\" or \"example.com:8443\"".to_owned()))
            }
            Some(name) if name.eq_ignore_ascii_case(entry.name) => None,
            Some(name) => {
                let meant = HostEntry { name: &name, ..entry }.to_string();
                Some(("hosts are compared as they are called", if meant.contains([':', '*']) { quoted(&meant) } else { meant }))
            }
        }
    }
}

/// What a person is to confirm and what is denied before anybody is asked.
fn never_asked(policy: &Policy) -> impl Iterator<Item = Diagnostic> {
    let is_denied = policy.permission_mode.unwrap_or_default() == PermissionMode::Deny;
    let allowed = policy.allowed_tools.as_deref().unwrap_or_default();
    let names = |entry: &'_ Spanned<String>| entry.value.split('(').next().unwrap_or_default().trim().to_owned();
    policy
        .approval_required
        .iter()
        .filter(move |entry| {
            let name = names(entry);
            let may_be = |other: &Spanned<String>| {
                let other = names(other);
                other.contains(['*', '?', '[', '{']) || may_mean(&name, &other) || may_mean(&other, &name)
            };
            is_denied && !name.contains(['*', '?', '[', '{']) && !allowed.iter().any(may_be)
        })
        .map(|entry| {
            let message = format!(
                "{} in approval_required is never asked about: no entry of allowed_tools names it, so it is denied",
                quoted(&entry.value)
            );
            new_finding(entry, &message)
                .help("add it to allowed_tools, too; or write permission_mode: prompt to be asked about all that no list names")
        })
}

/// The finding about an entry that is nearly a tool of the file. A program may have that name, so it is no error.
fn nearly_a_tool((called, hints): (&CalledNames, &Hints), file: &Pipeline, key: &str, entry: &Spanned<String>) -> Option<Diagnostic> {
    let name = entry.value.split('(').next().unwrap_or_default();
    let tool = ToolName::parse(name.trim()).tool;
    let is_certain =
        tool.is_empty() || tool.contains(['*', '?', '[', '{', ' ']) || called.may_know(tool) || of_kind(called, tool).is_some();
    let near = hints.did_you_mean(tool, file.tools.keys().map(String::as_str));
    let meant = near.names.first().filter(|_| !is_certain)?.clone();
    let message = format!("{} in {key} is no tool of the file{near}", quoted(&entry.value));
    let help =
        format!("write {} if the tool is meant; as the name of a program it is right", quoted(&entry.value.replacen(tool, &meant, 1)));
    Some(new_finding(entry, &message).near(near).help(help))
}

/// The finding about an entry that is a kind of step, or the name of a tool or a program in another form.
fn fits_nothing(called: &CalledNames, key: &str, entry: &Spanned<String>) -> Option<Diagnostic> {
    let (name, pattern) = entry.value.split_at(entry.value.find('(').unwrap_or(entry.value.len()));
    let name = name.trim();
    if name.is_empty() || name.contains(['*', '?', '[', '{']) || called.may_know(name) {
        return None;
    }
    if let Some(help) = of_kind(called, name) {
        let message =
            format!("{} in {key} fits no call: entries are names of tools and programs, not kinds of steps", quoted(&entry.value));
        return Some(new_finding(entry, &message).help(help));
    }
    let has_parts = |tool: &Tool| tool.is_server() || tool.kind.folder().is_some() || tool.knowledge().is_some();
    let part_of = |tool: &str| name.strip_prefix(tool)?.strip_prefix(['-', '/', ':']).filter(|part| !part.is_empty());
    let of_tool = called.tools.iter().filter(|(_, tool)| has_parts(tool)).find_map(|(tool, _)| Some(format!("{tool}.{}", part_of(tool)?)));
    let of_folder = || {
        name.contains('/')
            .then(|| called.programs.iter().map(|program| base_name(program)).find(|own| name.ends_with(&format!("/{own}"))))?
    };
    let of_program = || called.programs.iter().map(|program| base_name(program)).find(|own| is_mistyped(name, own));
    let meant = of_tool.or_else(|| of_folder().or_else(of_program).map(str::to_owned))?;
    let message = format!("{} in {key} fits no tool and no program of the file", quoted(&entry.value));
    Some(new_finding(entry, &message).help(format!("write {}", quoted(&format!("{meant}{pattern}")))))
}

/// What to write in place of a word that is a kind of step.
pub(in crate::rules) fn of_kind(called: &CalledNames, name: &str) -> Option<String> {
    let kinds = || called.steps.iter().map(|step| &step.kind);
    let send = kinds().find_map(|kind| if let StepKind::Send(send) = kind { Some(send) } else { None });
    if name == STDOUT && send.is_some_and(|send| send.to.value == STDOUT) {
        return Some("remove it: what is printed is no call of a tool".to_owned());
    }
    let kind = kinds().find(|kind| kind.word() == name && !matches!(kind, StepKind::Python(_)))?;
    Some(if let Some(run) = kind.facts().starts {
        format!("write the name of the program, such as {}", run.program.value)
    } else if kind.address().is_some() {
        "write network_access: { hosts: [api.example.com] } with the hosts that may be reached".to_owned()
    } else if kind.facts().knowledge.is_some() || matches!(kind, StepKind::Read(_)) {
        "write file_access: { read: [\"data/**\"] } with the files that may be read".to_owned()
    } else if let Some(tool) = kind.facts().receiver.filter(|tool| tool.value != STDOUT) {
        format!("write the name of the tool, such as {}", tool.value)
    } else {
        "remove it, or write the name of a tool or a program".to_owned()
    })
}

/// Whether a name is another with two letters in the wrong order, or a long one that is nearly it. Short names that are alike are often two programs.
fn is_mistyped(name: &str, program: &str) -> bool {
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let base = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    let is_long = name.chars().count() > 4 && base(name) != base(program);
    letters(name) == letters(program) || is_long && !nearest(name, [program]).is_empty()
}

/// Entries that are no name and no pattern of one. A server may name its tools with blanks.
fn names(lists: &[(&str, &[Spanned<String>])], is_of_server: impl Fn(&str) -> bool, out: &mut Vec<Diagnostic>) {
    for (key, entry) in lists.iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry))) {
        if let Some(meant) = with_words(&entry.value).filter(|_| !is_of_server(&entry.value)) {
            let message = format!(
                "{} in {key} fits nothing: no program, and no tool but one of a server, has a blank in its name",
                quoted(&entry.value)
            );
            out.push(
                new_finding(entry, &message).help(format!("write {}: the words behind a program's name stand in brackets", quoted(&meant))),
            );
        } else if entry.value.contains('(') && !entry.value.trim_end().ends_with(')') {
            let message = format!("{} in {key} has a bracket that is not closed", quoted(&entry.value));
            let meant = format!("{})", entry.value.trim_end().trim_end_matches('('));
            let meant = if entry.value.trim_end().ends_with('(') { meant.trim_end_matches(')').to_owned() } else { meant };
            out.push(new_finding(entry, &message).help(format!("write {}", quoted(&meant))));
        } else if let Some(meant) = of_regex(&entry.value) {
            let message =
                format!("{} in {key} is read as a name with \"*\" for any letters, and no regular expression", quoted(&entry.value));
            out.push(new_finding(entry, &message).help(format!("write {}", quoted(&meant))));
        }
    }
}

/// `git branch`, as it would be written here.
pub(in crate::rules) fn with_words(entry: &str) -> Option<String> {
    let (program, words) = entry.trim().split_once(' ')?;
    let is_plain = !program.is_empty() && !program.contains('(') && !words.trim_start().starts_with('(');
    is_plain.then(|| match words.trim().trim_end_matches(['*', ' ']) {
        "" => format!("{program}(*)"),
        words => format!("{program}({words} *)"),
    })
}

/// A name with signs that only a regular expression has, as it would be written here.
fn of_regex(entry: &str) -> Option<String> {
    if entry.contains('(') {
        return None;
    }
    // `server.*` is all of a server; a name that goes on before the dot is none.
    let is_of_server = |at: usize| entry[..at].chars().all(|c| c.is_alphanumeric() || c == '-') || !entry[..at].ends_with('_');
    let has_any = entry.match_indices(".*").any(|(at, _)| !is_of_server(at));
    let has_sign = entry.starts_with('^') || entry.ends_with('$') || entry.contains(".+") || entry.contains('\\');
    let meant = entry.trim_start_matches('^').trim_end_matches('$').replace("\\.", ".").replace(".+", "*");
    (has_any || has_sign).then(|| if has_any { meant.replace(".*", "*") } else { meant })
}

/// The host in the address of a page, as it would be written here.
pub(in crate::rules) fn without_scheme(entry: &str) -> Option<String> {
    let (scheme, rest) = entry.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    let host = if scheme == "http" && !host.contains(':') { format!("{host}:80") } else { host.to_owned() };
    Some(if host.contains([':', '*']) { quoted(&host) } else { host })
}

/// A pattern of files that leaves the project or begins at another folder, as it would be written from the project's folder.
pub(in crate::rules) fn from_project(entry: &str) -> Option<String> {
    let pattern = entry.trim();
    let inside = pattern.trim_start_matches("~/").trim_start_matches(['.', '/']);
    let is_elsewhere =
        ["../", "./", "/", "~/"].iter().any(|start| pattern.starts_with(start)) || pattern.split('/').any(|part| part == "..");
    (is_elsewhere && !inside.is_empty()).then(|| inside.replace("/../", "/"))
}

/// A call that a person is to confirm, of a tool that lists what it opens, under another name.
fn unknown_parts<'p>(policy: &Policy, tool: impl Fn(&str) -> Option<&'p Tool>, out: &mut Vec<Diagnostic>) {
    for entry in &policy.approval_required {
        let named = ToolName::parse(&entry.value);
        let (Some(part), Some(tool)) = (named.part, tool(named.tool)) else { continue };
        // Of other tools the parts are known: F300.
        let Some(opened) = tool.allow.as_ref().filter(|_| tool.is_server()) else { continue };
        let is_plain = |name: &str| !name.contains(['*', '?', '[', '{', '(']);
        if !is_plain(part) || opened.iter().any(|name| !is_plain(&name.value) || name.value == part) {
            continue;
        }
        let near = did_you_mean(part, opened.iter().map(|name| name.value.as_str()));
        let begins = |name: &&Spanned<String>| name.value.starts_with(&format!("{part}_")) || name.value.ends_with(&format!("_{part}"));
        let Some(meant) = near.names.first().map(String::as_str).or_else(|| opened.iter().find(begins).map(|name| name.value.as_str()))
        else {
            continue;
        };
        let message =
            format!("{} in approval_required fits no call: tool {} opens no {}", quoted(&entry.value), quoted(named.tool), quoted(part));
        out.push(new_finding(entry, &message).help(format!("write {}", quoted(&format!("{}.{meant}", named.tool)))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    const POLICY: &str = "policies: { p: { permission_mode: auto, disallowed_tools: [http, gti] } }\n";
    const STEPS: &str = "policy: p\nsteps:\n  - { id: a, http: GET https://example.com }\n  - { id: b, program: [git, log] }\n";

    #[test]
    fn entries_are_no_kinds_of_steps() {
        let found = says_of(check, &[("a.yaml", &format!("flow: 1\nname: a\n{POLICY}{STEPS}"))]);
        assert_eq!(
            found,
            "F617 3:60 \"http\" in disallowed_tools fits no call: entries are names of tools and programs, not kinds of steps\n\
             F617 3:66 \"gti\" in disallowed_tools fits no tool and no program of the file\n"
        );
    }

    #[test]
    fn a_policy_of_another_file_and_a_program_of_the_name_are_right() {
        let file = format!("flow: 1\nname: a\nimports: [p.yaml]\n{STEPS}");
        assert_eq!(says_of(check, &[("a.yaml", &file), ("p.yaml", &format!("flow: 1\n{POLICY}"))]), "");
        let programs = format!("{STEPS}  - {{ id: c, program: [http, GET] }}\n  - {{ id: d, program: [gti] }}\n");
        assert_eq!(says_of(check, &[("a.yaml", &format!("flow: 1\nname: a\n{POLICY}{programs}"))]), "");
        let model = "models: { m: { provider: cli, program: [claude], output: text } }\n";
        assert_eq!(says_of(check, &[("a.yaml", &format!("flow: 1\nname: a\n{POLICY}{model}{STEPS}"))]), "");
    }

    #[test]
    fn only_tools_of_servers_have_blanks_in_their_names() {
        let file = |allow: &str, confirm: &str| {
            format!(
                "flow: 1\nname: a\ntools: {{ desk: {{ command: d, allow: [{allow}] }} }}\n\
                 policies: {{ p: {{ permission_mode: auto, approval_required: [{confirm}] }} }}\n{STEPS}"
            )
        };
        assert_eq!(says_of(check, &[("a.yaml", &file("get page title", "desk.get page title"))]), "");
        let found = says_of(check, &[("a.yaml", &file("get_page", "git push"))]);
        assert_eq!(
            found,
            "F617 4:61 \"git push\" in approval_required fits nothing: no program, and no tool but one of a server, has a blank in its name\n"
        );
    }

    #[test]
    fn short_names_that_are_alike_are_two_programs() {
        assert!(is_mistyped("gti", "git") && is_mistyped("pyhton", "python") && is_mistyped("cagro", "cargo"));
        assert!(!is_mistyped("cut", "cat") && !is_mistyped("python3", "python") && !is_mistyped("dash", "bash"));
    }

    #[test]
    fn a_tool_that_is_nearly_named_is_told_and_may_be_a_program() {
        let with = |tool: &str, entry: &str| {
            let policy = format!("policies: {{ p: {{ permission_mode: auto, disallowed_tools: ['{entry}'] }} }}\n");
            let steps = "policy: p\nsteps:\n  - { id: a, set: 1 }\n";
            says_of(
                check,
                &[("a.yaml", &format!("flow: 1\nname: a\n{policy}tools: {{ {tool}: {{ http: GET https://example.com }} }}\n{steps}"))],
            )
        };
        for (tool, entry) in
            [("get", "wget"), ("cats", "cat"), ("cal", "cat"), ("diffs", "diff"), ("gist", "git(push *)"), ("notes", "notse")]
        {
            let found = with(tool, entry);
            assert!(
                found.starts_with(&format!("F617 3:60 \"{entry}\" in disallowed_tools is no tool of the file; did you mean \"{tool}\"?")),
                "{found}"
            );
        }
        assert_eq!(with("get", "GET"), "", "what is denied is denied in any spelling");
        // A policy that other files import is for the tools of many.
        let own = "flow: 1\nname: a\nimports: [p.yaml]\ntools: { get: { http: GET https://example.com } }\npolicy: p\nsteps:\n  - { id: a, set: 1 }\n";
        let policy = "flow: 1\npolicies: { p: { permission_mode: auto, disallowed_tools: [wget, git, 'cat(x)'] } }\n";
        assert_eq!(says_of(check, &[("a.yaml", own), ("p.yaml", policy)]), "");
    }

    #[test]
    fn hosts_brackets_and_questions_that_fit_nothing_are_told() {
        let with = |policy: &str| {
            says_of(
                check,
                &[(
                    "a.yaml",
                    &format!("flow: 1\nname: a\npolicies: {{ p: {{ {policy} }} }}\npolicy: p\nsteps:\n  - {{ id: a, set: 1 }}\n"),
                )],
            )
        };
        for (host, why) in [
            ("exa mple.com", "no host has a blank in its name"),
            ("**", "a star stands for any host, alone or before a dot"),
            ("example.com/path", "an entry is a host, without a path"),
            ("10.0.0.0/8", "a range of addresses is no host"),
            ("https://example.com/x", "an entry is a host, without its scheme"),
        ] {
            let found = with(&format!("network_access: {{ hosts: ['{host}'] }}"));
            assert!(found.starts_with("F617 ") && found.contains(why), "{host}: {found}");
        }
        for host in ["example.com", "*", "*.example.com", "example.com:8443", "[::1]", "[::1]:8080"] {
            assert_eq!(with(&format!("network_access: {{ hosts: ['{host}'] }}")), "", "{host}");
        }
        assert!(with("disallowed_tools: ['say(']").contains("has a bracket that is not closed"));
        let asked = "is never asked about: no entry of allowed_tools names it, so it is denied";
        assert!(
            with("approval_required: [say]").contains(asked)
                && with("allowed_tools: [other], approval_required: ['say(x)']").contains(asked)
        );
        for fine in [
            "allowed_tools: [say], approval_required: [say]",
            "allowed_tools: ['s*'], approval_required: [say]",
            "allowed_tools: [docs.write], approval_required: [docs]",
            "allowed_tools: [docs], approval_required: [docs.write]",
            "approval_required: ['*.write']",
            "permission_mode: prompt, approval_required: [say]",
        ] {
            assert_eq!(with(fine), "", "{fine}");
        }
    }
}
