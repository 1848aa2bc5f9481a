//! `flow tools allow`: replaces `*` in a list of tools, which also allows future tools, with the names of the tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::arguments::{AllowOptions, SharedOptions};
use super::refusal::Refusal;
use super::tools::{Seen, look, pipelines, servers_of};
use super::{Exit, fix, tell, trust};
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::files::replace_if;
use crate::check::{Checked, EditTrial, check_file};
use crate::diagnostic::{Code, Diagnostic, Fix, visible};
use crate::engine::secret_values;
use crate::model::{Knowledge, Pipeline, Tool};
use crate::policy::{fits_everything, opens};
use crate::runtime::shown_path;
use crate::source::{Span, Spanned};
use crate::syntax::quoted;

/// A `*` in a list of tools.
struct WideEntry<'p> {
    entry: &'p Spanned<String>,
    /// The other entries of its list.
    others: &'p [Spanned<String>],
    of: WideList<'p>,
}

/// The list that contains a `*`.
#[derive(Clone, Copy)]
enum WideList<'p> {
    /// `allow` of a server.
    Server(&'p str),
    /// `allowed_tools` of a policy.
    Policy(&'p str),
}

/// The names of each server's tools; for a server that cannot be called, the reason.
type ServerNames = BTreeMap<String, Result<Vec<String>, String>>;

/// Writes the names into the files, or shows the edits.
pub(super) fn run(options: &AllowOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut exit = Exit::Ok;
    for (path, checked) in pipelines(&options.paths, shared)? {
        let found = in_file(&path, &checked, options, shared)?;
        exit = exit.or(found);
    }
    Ok(exit)
}

fn in_file(path: &Path, checked: &Checked, options: &AllowOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let name = shown_path(path);
    let Some(pipeline) = checked.loaded.program.pipelines.first() else { return Ok(Exit::Ok) };
    let all = wide_entries(pipeline);
    if all.is_empty() {
        tell!("{name}: no list of tools has \"*\"");
        return Ok(Exit::Ok);
    }
    let servers = names_of_servers(path, checked, pipeline, options, shared)?;
    let (mut edits, mut told, mut exit) = (vec![], vec![], Exit::Ok);
    for wide in &all {
        let what = match wide.of {
            WideList::Server(server) => format!("allow of {server}"),
            WideList::Policy(policy) => format!("allowed_tools of policy {policy}"),
        };
        let own = pipeline.name.span.file == wide.entry.span.file;
        match wide.names(pipeline, &servers) {
            Ok(names) if own => {
                let text = &checked.loaded.sources.file(wide.entry.span.file).text;
                edits.push((wide.entry.span, in_place(text, wide.entry.span, &names)));
                told.push(format!("{what}: {}", names.join(", ")));
            }
            Ok(names) => {
                let file = &checked.loaded.sources.file(wide.entry.span.file).name;
                tell!("{}: not changed, since other files use it: write {}", visible(file), visible(&names.join(", ")));
                exit = Exit::Findings;
            }
            Err(why) => {
                tell!("{name}: {} is not changed: {}", visible(&what), visible(&why));
                exit = Exit::Findings;
            }
        }
    }
    if edits.is_empty() {
        return Ok(exit);
    }
    let before = &checked.loaded.sources.file(pipeline.name.span.file).text;
    let Some(after) = tried(path, checked, edits, shared) else {
        tell!("{name}: not changed, since that would make other findings; write the names by hand:");
        told.iter().for_each(|line| tell!("  {}", visible(line)));
        return Ok(Exit::Findings);
    };
    if options.diff {
        return Ok(exit.or(fix::show_difference(path, before, &after)).or(Exit::Findings));
    }
    if let Err(problem) = replace_if(path, &after, |now| now == before.as_bytes()) {
        tell!("{name}: not changed: {problem}");
        return Ok(Exit::Failed);
    }
    told.iter().for_each(|line| tell!("{name}: {}", visible(line)));
    Ok(exit)
}

fn wide_entries(pipeline: &Pipeline) -> Vec<WideEntry<'_>> {
    let of_servers = pipeline.tools.iter().filter(|(_, tool)| tool.is_server());
    let of_servers = of_servers.filter_map(|(name, tool)| Some((WideList::Server(name), tool.allow.as_deref()?)));
    let of_policies =
        pipeline.policies.iter().filter_map(|(name, policy)| Some((WideList::Policy(name), policy.allowed_tools.as_deref()?)));
    let lists = of_servers.chain(of_policies);
    lists
        .filter_map(|(of, others)| Some(WideEntry { entry: others.iter().find(|entry| fits_everything(&entry.value))?, others, of }))
        .collect()
}

/// Requests the tools of each server of the pipeline.
fn names_of_servers(
    path: &Path,
    checked: &Checked,
    pipeline: &Pipeline,
    options: &AllowOptions,
    shared: &SharedOptions,
) -> Result<ServerNames, Refusal> {
    if !pipeline.tools.values().any(Tool::is_server) {
        return Ok(ServerNames::new());
    }
    let env = shared.variables()?;
    tell::hide_secrets(&secret_values(&checked.loaded.program, &env));
    let agreed = trust::consent(checked, path, options.trust.is_given, shared)?;
    let seen = look(pipeline, &env, &servers_of(path, agreed, &env, shared));
    let names = |seen| match seen {
        Seen::Is(looked) => Ok(looked.1.tools.into_iter().map(|(tool, _)| tool).collect()),
        Seen::Fails(why) | Seen::IsAbsent(why) | Seen::OnlyInARun(why) => Err(why),
    };
    Ok(seen.into_iter().map(|(server, seen)| (server, names(seen))).collect())
}

impl WideEntry<'_> {
    /// Returns the names that replace it, without those already in its list. Errors: why they are unknown.
    fn names(&self, pipeline: &Pipeline, servers: &ServerNames) -> Result<Vec<String>, String> {
        let mut names = match self.of {
            WideList::Server(server) => of_server(server, pipeline.tools.get(server), servers)?,
            WideList::Policy(_) => {
                let mut all = vec![];
                for (name, tool) in &pipeline.tools {
                    all.extend(of_tool(name, tool, servers)?);
                }
                all
            }
        };
        if let Some(name) = names.iter().find(|name| !is_plain(name)) {
            return Err(format!("the tool {} has a name that is a pattern here", crate::diagnostic::quoted(name)));
        }
        names.retain(|name| !self.others.iter().any(|other| other.value == *name));
        if names.is_empty() { Err("there is no tool to name".to_owned()) } else { Ok(names) }
    }
}

/// Returns the tools of a server that its lists allow.
fn of_server(name: &str, tool: Option<&Tool>, servers: &ServerNames) -> Result<Vec<String>, String> {
    match servers.get(name) {
        Some(Ok(names)) => Ok(names.iter().filter(|part| tool.is_none_or(|tool| opens(tool, part, None).is_allowed())).cloned().collect()),
        Some(Err(why)) => Err(format!("{name} does not say which tools it has: {why}")),
        None => Err(format!("{name} is not known as a server")),
    }
}

/// Returns the names by which a policy refers to a tool of the file.
fn of_tool(name: &str, tool: &Tool, servers: &ServerNames) -> Result<Vec<String>, String> {
    if tool.is_server() {
        return Ok(of_server(name, Some(tool), servers)?.into_iter().map(|part| format!("{name}.{part}")).collect());
    }
    if tool.knowledge().is_some() {
        return Ok(vec![Knowledge::tool_name(name)]);
    }
    // A policy's rule for a folder applies to each of its parts.
    Ok(match tool.kind.folder() {
        Some(_) => tool.parts().into_iter().map(|part| format!("{name}.{part}")).collect(),
        None => vec![name.to_owned()],
    })
}

/// Whether a name has no character with a special meaning in a list of tools.
fn is_plain(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(['*', '?', '[', ']', '{', '}', '(', ')', '!', '\\'])
}

/// Returns the names as they are written in place of an entry: as entries of its list, or as a list.
fn in_place(text: &str, span: Span, names: &[String]) -> String {
    let before = &text[..span.start as usize];
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    let names: Vec<String> = names.iter().map(|name| written(name)).collect();
    match line.trim_end().chars().next_back() {
        Some('-') if line.trim_start().starts_with('-') => {
            let dash = line.rfind('-').unwrap_or_default();
            names.join(&format!("\n{}- ", " ".repeat(dash)))
        }
        Some(':') => format!("[{}]", names.join(", ")),
        _ => names.join(", "),
    }
}

/// Writes a name so that YAML reads it as a text.
fn written(name: &str) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_of_word);
    let is_value = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&name.to_lowercase().as_str());
    if is_word && !is_value { name.to_owned() } else { quoted(name) }
}

/// Returns the text with the edits, if they change nothing else in the file and cause no new finding in it or in files that read it.
fn tried(path: &Path, checked: &Checked, edits: Vec<(Span, String)>, shared: &SharedOptions) -> Option<String> {
    let project = shared.project_of(path);
    let own: Vec<&Diagnostic> = checked.diagnostics.iter().filter(|found| found.code == Code::PolicyTooWide).collect();
    let fix = Fix { safe: true, edits };
    let trial = EditTrial { checked, path, project: &project, files: &DiskFiles };
    let after = trial.after_growth(&own, &fix)?;
    let readers: Vec<(PathBuf, Checked)> = fix::Readers::default()
        .others(path, &project, shared)
        .into_iter()
        .map(|other| (other.clone(), check_file(&other, &shared.project_of(&other), &DiskFiles)))
        .collect();
    let allows = |(other, read): &(PathBuf, Checked)| {
        let project = shared.project_of(other);
        trial.is_allowed_by(&EditTrial { checked: read, path: other, project: &project, files: &DiskFiles }, &fix)
    };
    readers.iter().all(allows).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn names_stand_as_their_list_does() {
        let names = ["read".to_owned(), "no".to_owned(), "2d".to_owned(), "a-b.c".to_owned()];
        for (before, after) in [
            ("allow: [\"*\"]", "allow: [read, \"no\", \"2d\", a-b.c]"),
            ("allow: '*' # all", "allow: [read, \"no\", \"2d\", a-b.c] # all"),
            ("allow: [x, '*']", "allow: [x, read, \"no\", \"2d\", a-b.c]"),
            (
                "a:\n  allow:\n    - \"*\" # all\n    - x\n",
                "a:\n  allow:\n    - read\n    - \"no\"\n    - \"2d\"\n    - a-b.c # all\n    - x\n",
            ),
        ] {
            let start = before.find(['"', '\'']).unwrap();
            let span = Span::new(FileId(0), start, start + 3);
            let text = format!("{}{}{}", &before[..start], in_place(before, span, &names), &before[start + 3..]);
            assert_eq!(text, after);
        }
    }

    #[test]
    fn a_name_that_is_a_pattern_is_not_written() {
        for name in ["*", "a*", "get(x)", "{a,b}", "", " "] {
            assert!(!is_plain(name), "{name}");
        }
        assert!(["ns/read-file_2.x", "get page title", "créer"].into_iter().all(is_plain));
        assert_eq!(["get page title", "créer", "a: b"].map(written), ["\"get page title\"", "\"créer\"", "\"a: b\""]);
    }
}
