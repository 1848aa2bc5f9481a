//! What a request for a permission names: the tool with its words, files and addresses.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ToolCallContent, ToolCallUpdateFields, ToolKind as SpokenTool};
use serde_json::{Value, json};

use crate::files;
use crate::model::Touch;
use crate::port::AgentWish;

/// The most that one request may name.
const MOST_NAMED: usize = 100;
/// The most that is compared of one: each file may be read and written, and a tool has words.
const MOST_WISHES: usize = 4 * MOST_NAMED;
/// The most links that lead to one file.
const MOST_LINKS: usize = 40;
/// What may stand beside a command without changing what it does.
const PLAIN_KEYS: [&str; 5] = ["command", "cmd", "description", "timeout", "run_in_background"];
/// How the names of fields end that hold paths and addresses, without `_` and `-`.
const OF_PATHS: [&str; 10] = ["path", "paths", "file", "files", "filename", "dir", "directory", "folder", "cwd", "workdir"];
const OF_ADDRESSES: [&str; 6] = ["url", "urls", "uri", "uris", "href", "endpoint"];
/// How the names of fields end in which an edit gives text of the file.
const OF_TEXTS: [&str; 8] = ["string", "str", "text", "content", "contents", "patch", "diff", "code"];

/// The folders from which paths are told, whole and without links.
pub(super) struct WishFolders {
    /// That in which the program works.
    pub(super) folder: PathBuf,
    /// That of the project.
    pub(super) project: PathBuf,
}

/// All that a request wants, each by itself: the tool with its words, then files and addresses. `None`: it names too much.
///
/// A request may name no more than a call of which the program told before, once or several times: `told` holds all of that, and the request as the last. What one
/// part leaves out, another says; where they contradict, each counts.
///
/// The words of a tool are those of its command, else each path from the program's folder, each address, and what it searches for. A command that a shell would take
/// apart, or that comes with more than its line, is one word.
pub(super) fn wishes(told: &[ToolCallUpdateFields], at: &WishFolders) -> Option<Vec<AgentWish>> {
    let mut kinds: Vec<SpokenTool> = told.iter().filter_map(|fields| fields.kind).collect();
    // It says nothing where a part says more.
    kinds.retain(|kind| *kind != SpokenTool::Other);
    if kinds.is_empty() {
        kinds.push(SpokenTool::Other);
    }
    let mut parts: Vec<&ToolCallUpdateFields> = told.iter().filter(|fields| names_something(fields)).collect();
    if parts.is_empty() {
        parts.extend(told.last());
    }
    let mut all: Vec<AgentWish> = vec![];
    for (part, kind) in parts.iter().flat_map(|part| kinds.iter().map(move |kind| (part, *kind))) {
        for wish in wishes_of(part, kind, at)? {
            if !all.contains(&wish) {
                all.push(wish);
            }
        }
        if all.len() > MOST_WISHES {
            return None;
        }
    }
    Some(all)
}

/// What counts of a part that a program tells of a call: not what its tool printed so far.
pub(super) fn counted(mut fields: ToolCallUpdateFields) -> ToolCallUpdateFields {
    fields.content.iter_mut().for_each(|content| content.retain(|part| matches!(part, ToolCallContent::Diff(_))));
    (fields.title, fields.status, fields.raw_output) = (None, None, None);
    fields
}

/// Whether a part says what the tool is given.
pub(super) fn names_something(fields: &ToolCallUpdateFields) -> bool {
    // Programs announce a call with an empty input, and tell it later.
    let is_told = |input: &Value| match input {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    fields.raw_input.as_ref().is_some_and(is_told)
        || fields.locations.as_ref().is_some_and(|locations| !locations.is_empty())
        || fields.content.as_ref().is_some_and(|content| !content.is_empty())
}

fn wishes_of(fields: &ToolCallUpdateFields, kind: SpokenTool, at: &WishFolders) -> Option<Vec<AgentWish>> {
    let mut named = NamedPlaces { kind, paths: vec![], addresses: vec![] };
    fields.raw_input.iter().for_each(|input| named.look("", input));
    let NamedPlaces { mut paths, addresses, kind: _ } = named;
    let plain = |path: &PathBuf| path.to_str().and_then(|text| text.strip_prefix("file://")).map_or_else(|| path.clone(), PathBuf::from);
    paths.extend(fields.locations.iter().flatten().map(|location| plain(&location.path)));
    let diff = |part: &ToolCallContent| if let ToolCallContent::Diff(diff) = part { Some(diff.path.clone()) } else { None };
    let diffs: Vec<PathBuf> = fields.content.iter().flatten().filter_map(diff).collect();
    if paths.len() + diffs.len() + addresses.len() > MOST_NAMED {
        return None;
    }
    // It is about a file, and does not say which: it may be any.
    if takes_files(kind) && paths.is_empty() && diffs.is_empty() && addresses.is_empty() {
        paths.push(PathBuf::from("/"));
    }
    let touched = |path: PathBuf, touches: &'static [Touch]| (whole(&at.folder.join(path)), touches);
    let changes = diffs.into_iter().map(|path| touched(path, &[Touch::Write]));
    let places: Vec<(PathBuf, &[Touch])> = paths.into_iter().map(|path| touched(path, touches(kind))).chain(changes).collect();
    let words: Vec<Value> = match command(fields) {
        Some(words) => vec![words],
        None => {
            let searched =
                ["query", "pattern"].into_iter().filter_map(|name| fields.raw_input.as_ref()?.get(name)).map(|value| json!([value]));
            let from_folder = |(path, _): &(PathBuf, _)| json!([path.strip_prefix(&at.folder).unwrap_or(path).display().to_string()]);
            let all = places.iter().map(from_folder).chain(addresses.iter().map(|address| json!([address]))).chain(searched);
            let all: Vec<Value> = all.collect();
            if all.is_empty() { vec![json!([])] } else { all }
        }
    };
    let of_tool = words.into_iter().map(|arguments| AgentWish::Tool { name: tool_of(kind), arguments });
    let of_files = places.iter().flat_map(|(path, touches)| {
        let path = from_project(path, &at.project);
        touches.iter().map(move |touch| match touch {
            Touch::Read => AgentWish::Read(path.clone()),
            Touch::Write => AgentWish::Write(path.clone()),
        })
    });
    Some(of_tool.chain(of_files).chain(addresses.iter().cloned().map(AgentWish::Reach)).collect())
}

/// Whether a kind of tool is always about files.
fn takes_files(kind: SpokenTool) -> bool {
    matches!(kind, SpokenTool::Read | SpokenTool::Edit | SpokenTool::Delete | SpokenTool::Move)
}

/// The name of a tool for policies: its kind, which the protocol fixes; what a program calls it itself is its own word.
pub(super) fn tool_of(kind: SpokenTool) -> String {
    let kind = serde_json::to_value(kind).unwrap_or_default();
    kind.as_str().unwrap_or("other").to_owned()
}

/// What a kind of tool does to the files that it names; of one that the protocol does not tell apart, both.
fn touches(kind: SpokenTool) -> &'static [Touch] {
    match kind {
        SpokenTool::Read | SpokenTool::Search | SpokenTool::Fetch | SpokenTool::Execute | SpokenTool::Think => &[Touch::Read],
        SpokenTool::Edit | SpokenTool::Delete | SpokenTool::Move => &[Touch::Write],
        SpokenTool::SwitchMode | SpokenTool::Other | _ => &[Touch::Read, Touch::Write],
    }
}

/// The words of a command.
fn command(fields: &ToolCallUpdateFields) -> Option<Value> {
    let input = fields.raw_input.as_ref().and_then(Value::as_object)?;
    let command = input.get("command").or_else(|| input.get("cmd"))?.clone();
    // Of two commands nobody knows which one runs.
    let is_one = !(input.contains_key("command") && input.contains_key("cmd"));
    let is_alone = is_one && input.keys().all(|key| PLAIN_KEYS.contains(&key.as_str()));
    let is_plain = |line: &str| !line.contains(|c: char| ";|&`$()<>\\\n\r\"'*?[]{}~!#".contains(c));
    Some(match command {
        Value::String(line) if is_alone && is_plain(&line) => json!(line.split_whitespace().collect::<Vec<_>>()),
        Value::String(line) if is_alone => json!([line]),
        Value::Array(words) if is_alone => Value::Array(words),
        _ => json!([fields.raw_input.as_ref().map(Value::to_string).unwrap_or_default()]),
    })
}

/// The paths and addresses in what a tool is given.
struct NamedPlaces {
    /// Of a tool that fetches, every address counts, whatever its field is called; of one that is about files, every path.
    kind: SpokenTool,
    paths: Vec<PathBuf>,
    addresses: Vec<String>,
}

impl NamedPlaces {
    /// Looks at a value of a field; of a list at each. Its depth is bounded by the reader of JSON.
    fn look(&mut self, field: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name.contains('/') {
                        self.paths.push(PathBuf::from(name));
                    }
                    self.look(name, value);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| self.look(field, value)),
            Value::String(text) => {
                let field: String = field.to_lowercase().chars().filter(|c| !"_-".contains(*c)).collect();
                let holds = |ends: &[&str]| ends.iter().any(|end| field.ends_with(end));
                let is_address = holds(&OF_ADDRESSES) || self.kind == SpokenTool::Fetch && text.contains("://");
                let is_path = holds(&OF_PATHS) || takes_files(self.kind) && self.may_be_path(&field, text);
                match text.strip_prefix("file://") {
                    Some(path) if is_address || is_path => self.paths.push(PathBuf::from(path)),
                    _ if is_address => self.addresses.push(text.clone()),
                    _ if is_path => self.paths.push(PathBuf::from(text)),
                    _ => {}
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether a text names a file for a tool that is about files. For one that moves or deletes, any line may.
    fn may_be_path(&self, field: &str, text: &str) -> bool {
        let is_line = !text.is_empty() && !text.contains(['\n', '\r']);
        let is_any = matches!(self.kind, SpokenTool::Move | SpokenTool::Delete);
        let is_content = field == "description" || self.kind == SpokenTool::Edit && OF_TEXTS.iter().any(|end| field.ends_with(end));
        is_line && !is_content && (is_any || text.contains('/') || text.starts_with('~'))
    }
}

/// The path to which a path leads, all links followed, also one that leads to nothing so far.
fn whole(path: &Path) -> PathBuf {
    let mut path = files::real(path);
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = files::real(&path.parent().unwrap_or(Path::new("/")).join(target));
    }
    path
}

/// A path as policies see it; of a folder all that is in it. Programs take `~` for the home, which is in no project.
fn from_project(path: &Path, project: &Path) -> String {
    let inside = path
        .strip_prefix(project)
        .ok()
        .filter(|inside| !inside.components().any(|part| part.as_os_str().to_string_lossy().starts_with('~')));
    let told = inside.unwrap_or(path);
    let told = if path.is_dir() { told.join("**") } else { told.to_path_buf() };
    told.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(call: Value) -> Vec<String> {
        wanted_of(json!([call]))
    }

    /// What a tool call wants in a project with `repo`, in which the program works, and in it `out`, a link to a file elsewhere, and one to nothing.
    fn wanted_of(calls: Value) -> Vec<String> {
        let project = tempfile::tempdir().unwrap();
        let place = project.path().canonicalize().unwrap();
        std::fs::create_dir_all(place.join("repo/out")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", place.join("repo/link")).unwrap();
        std::os::unix::fs::symlink("/nowhere/file", place.join("repo/hanging")).unwrap();
        let calls: Vec<ToolCallUpdateFields> =
            serde_json::from_str(&calls.to_string().replace("PROJECT", &place.display().to_string())).unwrap();
        let at = WishFolders { folder: place.join("repo"), project: place };
        let told = |wish: AgentWish| match wish {
            AgentWish::Tool { name, arguments } => format!("{name}{arguments}"),
            AgentWish::Read(path) => format!("read {path}"),
            AgentWish::Write(path) => format!("write {path}"),
            AgentWish::Reach(address) => format!("reach {address}"),
        };
        wishes(&calls, &at).into_iter().flatten().map(told).collect()
    }

    #[test]
    fn files_and_addresses_are_found_wherever_they_are_named() {
        for (call, expected) in [
            (json!({ "kind": "read", "locations": [{ "path": "PROJECT/repo/a.rs" }] }), &["read[\"a.rs\"]", "read repo/a.rs"][..]),
            (json!({ "kind": "edit", "rawInput": { "file_path": "../b.txt" } }), &["edit[\"PROJECT/b.txt\"]", "write b.txt"]),
            (json!({ "kind": "edit", "rawInput": { "filePath": "link" } }), &["edit[\"/etc/hostname\"]", "write /etc/hostname"]),
            (json!({ "kind": "edit", "rawInput": { "path": "hanging" } }), &["edit[\"/nowhere/file\"]", "write /nowhere/file"]),
            (json!({ "kind": "read", "rawInput": { "path": "~/.ssh/id" } }), &["read[\"~/.ssh/id\"]", "read PROJECT/repo/~/.ssh/id"]),
            (json!({ "kind": "delete", "rawInput": { "path": "out" } }), &["delete[\"out\"]", "write repo/out/**"]),
            (
                json!({ "kind": "move", "rawInput": { "old_path": "a", "new-path": "out/a" } }),
                &["move[\"a\"]", "move[\"out/a\"]", "write repo/a", "write repo/out/a"],
            ),
            (
                json!({ "kind": "execute", "rawInput": { "command": "git diff", "description": "look" }, "locations": [{ "path": "PROJECT/repo" }] }),
                &["execute[\"git\",\"diff\"]", "read repo/**"],
            ),
            (
                json!({ "kind": "fetch", "rawInput": { "url": "https://a.example/x", "prompt": "read it" } }),
                &["fetch[\"https://a.example/x\"]", "reach https://a.example/x"],
            ),
            (
                json!({ "kind": "fetch", "rawInput": { "page": "https://b.example" } }),
                &["fetch[\"https://b.example\"]", "reach https://b.example"],
            ),
            (json!({ "kind": "read", "rawInput": { "uri": "file:///etc/passwd" } }), &["read[\"/etc/passwd\"]", "read /etc/passwd"]),
            (
                json!({ "rawInput": { "files": ["a", { "path": "b" }] } }),
                &["other[\"a\"]", "other[\"b\"]", "read repo/a", "write repo/a", "read repo/b", "write repo/b"],
            ),
            (
                json!({ "kind": "edit", "rawInput": { "changes": { "out/x": { "kind": "add" } } } }),
                &["edit[\"out/x\"]", "write repo/out/x"],
            ),
            (
                json!({ "kind": "execute", "content": [{ "type": "diff", "path": "PROJECT/repo/y", "newText": "" }] }),
                &["execute[\"y\"]", "write repo/y"],
            ),
            (json!({ "kind": "search", "rawInput": { "pattern": "TODO" } }), &["search[\"TODO\"]"]),
            (
                json!({ "kind": "move", "rawInput": { "source": "a", "to": { "new_name": "/srv/b" } } }),
                &["move[\"a\"]", "move[\"/srv/b\"]", "write repo/a", "write /srv/b"],
            ),
            (
                json!({ "kind": "read", "rawInput": { "target": ["/etc/passwd"], "limit": 5 } }),
                &["read[\"/etc/passwd\"]", "read /etc/passwd"],
            ),
            (json!({ "kind": "edit", "rawInput": { "path": "a", "new_string": "b/c" } }), &["edit[\"a\"]", "write repo/a"]),
            (json!({ "kind": "delete", "rawInput": { "code": "a", "description": "it is old" } }), &["delete[\"a\"]", "write repo/a"]),
            (json!({ "kind": "read", "locations": [{ "path": "file:///etc/passwd" }] }), &["read[\"/etc/passwd\"]", "read /etc/passwd"]),
            (json!({ "kind": "delete", "rawInput": { "id": 7 } }), &["delete[\"/\"]", "write /**"]),
            (json!({ "kind": "think" }), &["think[]"]),
            (json!({ "kind": "read", "rawInput": { "paths": vec!["x"; 101] } }), &[]),
        ] {
            let told: Vec<String> = wanted(call.clone()).iter().map(|text| tidied(text)).collect();
            assert_eq!(told, expected, "{call}");
        }
    }

    #[test]
    fn what_a_program_told_of_a_call_before_it_asks_counts() {
        for (calls, expected) in [
            (json!([{ "kind": "delete", "rawInput": { "path": "a" } }, {}]), &["delete[\"a\"]", "write repo/a"][..]),
            (json!([{ "kind": "execute", "rawInput": {} }, { "rawInput": { "command": "git status" } }]), &["execute[\"git\",\"status\"]"]),
            (json!([{ "kind": "execute" }, { "rawInput": { "command": "rm -rf x" } }]), &["execute[\"rm\",\"-rf\",\"x\"]"]),
            (
                json!([{ "kind": "execute", "rawInput": { "command": "rm x" } }, { "kind": "read", "locations": [{ "path": "PROJECT/repo/a" }] }]),
                &["execute[\"rm\",\"x\"]", "read[\"rm\",\"x\"]", "read /**", "execute[\"a\"]", "read repo/a", "read[\"a\"]"],
            ),
        ] {
            let told: Vec<String> = wanted_of(calls.clone()).iter().map(|text| tidied(text)).collect();
            assert_eq!(told, expected, "{calls}");
        }
    }

    /// The same in every temporary folder.
    fn tidied(text: &str) -> String {
        let place = std::env::temp_dir().canonicalize().unwrap().display().to_string();
        match text.split_once(&format!("{place}/")) {
            Some((before, rest)) => format!("{before}PROJECT/{}", rest.split_once('/').map_or("", |(_, inside)| inside)),
            None => text.to_owned(),
        }
    }
}
