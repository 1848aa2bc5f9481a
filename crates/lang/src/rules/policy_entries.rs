//! F617: an entry of a list of a policy or a tool that no call, no program and no file can ever fit.

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::diagnostic::did_you_mean;
use crate::model::{Policy, Tool, ToolName};
use crate::source::Spanned;

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    for policy in file.policies.values() {
        let lists = [
            ("allowed_tools", policy.allowed_tools.as_deref().unwrap_or_default()),
            ("disallowed_tools", policy.disallowed_tools.as_slice()),
            ("approval_required", policy.approval_required.as_slice()),
        ];
        names(&lists, out);
        let files = [("file_access.read", policy.read.as_deref()), ("file_access.write", policy.write.as_deref())];
        for (key, entry) in files.into_iter().flat_map(|(key, entries)| entries.unwrap_or_default().iter().map(move |entry| (key, entry))) {
            if let Some(meant) = from_project(&entry.value) {
                let message = format!("{} in {key} fits no file: patterns begin at the project's folder", quoted(&entry.value));
                out.push(found(entry, &message).help(format!("write {}", quoted(&meant))));
            }
        }
        for entry in policy.hosts.iter().flatten() {
            if let Some(host) = without_scheme(&entry.value) {
                let message =
                    format!("{} in network_access.hosts fits no request: an entry is a host, without its scheme", quoted(&entry.value));
                out.push(found(entry, &message).help(format!("write {host}")));
            }
        }
        unknown_parts(policy, |name| file.tools.get(name), out);
    }
    for tool in file.tools.values() {
        names(&[("allow", tool.allow.as_deref().unwrap_or_default()), ("deny", tool.deny.as_slice())], out);
    }
}

fn found(entry: &Spanned<String>, message: &str) -> Diagnostic {
    finding(Code::PolicyEntry, entry.span, message)
}

/// Entries that are no name and no pattern of one.
fn names(lists: &[(&str, &[Spanned<String>])], out: &mut Vec<Diagnostic>) {
    for (key, entry) in lists.iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry))) {
        if let Some(meant) = with_words(&entry.value) {
            let message = format!("{} in {key} fits nothing: no tool and no program has a blank in its name", quoted(&entry.value));
            out.push(found(entry, &message).help(format!("write {}: the words behind a program's name stand in brackets", quoted(&meant))));
        } else if let Some(meant) = of_regex(&entry.value) {
            let message =
                format!("{} in {key} is read as a name with \"*\" for any letters, and no regular expression", quoted(&entry.value));
            out.push(found(entry, &message).help(format!("write {}", quoted(&meant))));
        }
    }
}

/// `git branch`, as it would be written here.
pub(super) fn with_words(entry: &str) -> Option<String> {
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
pub(super) fn without_scheme(entry: &str) -> Option<String> {
    let (scheme, rest) = entry.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    let host = if scheme == "http" && !host.contains(':') { format!("{host}:80") } else { host.to_owned() };
    Some(if host.contains([':', '*']) { quoted(&host) } else { host })
}

/// A pattern of files that leaves the project or begins at another folder, as it would be written from the project's folder.
pub(super) fn from_project(entry: &str) -> Option<String> {
    let pattern = entry.trim();
    let inside = pattern.trim_start_matches("~/").trim_start_matches(['.', '/']);
    let is_elsewhere =
        ["../", "./", "/", "~/"].iter().any(|start| pattern.starts_with(start)) || pattern.split('/').any(|part| part == "..");
    (is_elsewhere && !inside.is_empty()).then(|| inside.replace("/../", "/"))
}

/// A call that a person is to confirm, of a tool that lists what it opens, under another name.
fn unknown_parts<'p>(policy: &Policy, tool: impl Fn(&str) -> Option<&'p Tool>, out: &mut Vec<Diagnostic>) {
    for entry in &policy.approval_required {
        let named = ToolName::of(&entry.value);
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
        out.push(found(entry, &message).help(format!("write {}", quoted(&format!("{}.{meant}", named.tool)))));
    }
}
