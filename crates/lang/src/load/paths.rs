//! Paths: tidied as text, and held inside the project by where they really lead.

use std::path::{Path, PathBuf};

use crate::port::Files;
pub use crate::source::normalised;
use crate::source::{FileId, SourceFile};
use crate::syntax::{self, Node};

/// The project of a file: the nearest folder upwards with a `flow.toml`, else `current`.
pub fn project_of(path: &Path, current: &Path, files: &dyn Files) -> PathBuf {
    let real = files.real_path(path).unwrap_or_else(|| path.to_path_buf());
    let found = real.ancestors().skip(1).find(|folder| files.is_there(&folder.join("flow.toml")));
    found.unwrap_or(current).to_path_buf()
}

/// Folders whose YAML files are ours whatever they begin with.
const OURS: [&str; 4] = ["pipelines", "channels", "style_guides", "policies"];

/// Whether a file is in one of the folders that hold files of this language.
pub fn in_our_folder(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| OURS.iter().any(|ours| folder == *ours))
}

/// Whether a file says that it is of this language: its first key is `flow`, however it is written (in quotes, in brackets, behind `---` or
/// `%YAML`), or a key at the left edge is, with a version.
pub fn says_flow(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let value = |line: &str| -> Option<String> {
        let key = line.trim_start_matches(['"', '\'']).strip_prefix("flow")?;
        Some(key.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start().to_owned())
    };
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with(['#', '%']);
    let mut lines = text.lines().map(|line| line.strip_prefix("---").unwrap_or(line).trim()).filter(is_content);
    let first = lines.find(|line| *line != "{").map(|line| line.trim_start_matches(['{', ' ']));
    let has_version = |line: &str| value(line).is_some_and(|value| value.starts_with(|c: char| c.is_ascii_digit()));
    first.is_some_and(|line| value(line).is_some()) || text.lines().any(has_version)
}

/// Kinds of steps that other tools with `steps` do not have.
const OWN_KINDS: [&str; 9] = ["agent", "gate", "dialogue", "route", "format", "approval", "send", "sql", "search"];

/// Whether a text has the parts of a file of this language, whatever it begins with: steps of its kinds, agents with instructions, scorecards, or
/// the cases of a test.
pub fn has_own_parts(text: &str) -> bool {
    if !["steps", "agents", "scorecards", "test"].iter().any(|key| text.contains(key)) {
        return false;
    }
    let tree = syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]);
    let Some(map) = tree.as_map() else { return false };
    let is_step =
        |node: &Node| node.as_map().is_some_and(|step| step.get("id").is_some() && OWN_KINDS.iter().any(|kind| step.get(kind).is_some()));
    let is_agent = |node: &Node| node.as_map().is_some_and(|agent| agent.get("instructions").is_some());
    let is_scorecard = |node: &Node| node.as_map().is_some_and(|card| card.get("criteria").is_some());
    let any = |section: &str, is_it: &dyn Fn(&Node) -> bool| {
        map.get(section).and_then(Node::as_map).is_some_and(|map| map.entries.iter().any(|(_, node)| is_it(node)))
    };
    map.get("steps").and_then(Node::as_list).is_some_and(|steps| steps.iter().any(is_step))
        || any("agents", &is_agent)
        || any("scorecards", &is_scorecard)
        || map.get("test").is_some() && map.get("cases").is_some_and(|cases| cases.as_list().is_some())
}

/// Whether a path, from the project's folder, fits a pattern of settings. The name of a folder means the folder and all that is in it. `None`: it cannot
/// be read as a pattern.
pub fn fits_pattern(written: &str) -> Option<impl Fn(&Path) -> bool + use<>> {
    let plain = written.trim_start_matches("./").trim_end_matches("/**").trim_end_matches('/');
    let mut all = globset::GlobSet::builder();
    for pattern in [plain.to_owned(), format!("{plain}/**")] {
        all.add(globset::GlobBuilder::new(&pattern).literal_separator(true).build().ok()?);
    }
    let all = all.build().ok()?;
    Some(move |path: &Path| all.is_match(path))
}

/// A path as people see it, with `/`.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Where a path really leads; of one that does not exist, where it would be.
pub fn real(path: &Path, files: &dyn Files) -> PathBuf {
    for folder in path.ancestors() {
        if let (Some(real), Ok(rest)) = (files.real_path(folder), path.strip_prefix(folder)) {
            return normalised(&real.join(rest));
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_however_its_first_key_is_written() {
        let ours = [
            "flow: 1",
            "\u{feff}flow: 1",
            "# a\n\n---\nflow: 1",
            "--- # a\nflow: 1",
            "%YAML 1.2\n---\nflow: 1",
            "\"flow\": 1",
            "'flow' : 1",
        ];
        let more =
            ["flow : 1", "{flow: 1, name: p}", "--- { 'flow': 1 }", "{\n  \"flow\": 1\n}", "flow:", "name: p\nflow: 1\n", "flow: \"1\""];
        for text in ours.into_iter().chain(more) {
            assert!(says_flow(text), "{text:?}");
        }
        for text in ["", "flows: 1", "name: p\n  flow: 1", "name: p\nflow: left", "on: { flow: 1 }", "# flow: 1", "overflow: 1"] {
            assert!(!says_flow(text), "{text:?}");
        }
    }

    #[test]
    fn a_file_that_lacks_its_version_is_known_by_its_parts() {
        let ours = [
            "name: p\nsteps:\n  - { id: a, agent: w, prompt: x }\n",
            "agents:\n  w: { instructions: You write. }\n",
            "scorecards: { polite: { criteria: [] } }\n",
            "test: p.yaml\ncases: [{ id: a }]\n",
        ];
        for text in ours {
            assert!(has_own_parts(text), "{text}");
        }
        let others = [
            "steps:\n  - script: make\n  - wait: ~\n    id: w\n",
            "agents: { queue: default }\n",
            "agents: [{ name: w, instructions: x }]\n",
            "on: push\njobs: { test: { steps: [{ id: a, run: x }] } }\n",
            "test: make test\n",
            "steps: [",
        ];
        for text in others {
            assert!(!has_own_parts(text), "{text}");
        }
    }

    #[test]
    fn paths_are_tidied_without_leaving_the_root() {
        for (path, tidy) in [
            ("a/../b.yaml", "b.yaml"),
            ("./a/./b.yaml", "a/b.yaml"),
            ("../../x", "../../x"),
            ("a/../../x", "../x"),
            ("/../x", "/x"),
            ("/a/b/../c", "/a/c"),
        ] {
            assert_eq!(normalised(Path::new(path)), Path::new(tidy), "{path}");
        }
    }
}
