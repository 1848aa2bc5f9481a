//! `--changed-since`: finds the files that a change affects. A file is affected if it, or anything that its check asked for, has changed.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Exit;
use super::arguments::{ChangedOption, SharedOptions};
use super::refusal::Refusal;
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::git::{GitChanges, GitError, changed_since};
use crate::check::{Checked, check_file};
use crate::diagnostic::{counted, visible};
use crate::load;
use crate::model::is_test_name;
use crate::model::{Leaf, Tool, ToolKind};
use crate::port::{AskedFiles, AskedPaths, Overlay};
use crate::runtime::place_of;
use crate::source::Span;

/// Longer texts are not paths.
const LONGEST_PATH: usize = 4096;
/// Maximum number of links that are followed on one path.
const MOST_LINKS: usize = 40;

/// The changes since a commit.
pub(super) struct Changes {
    /// The revision as named on the command line.
    revision: String,
    git: GitChanges,
}

impl Changes {
    /// Returns the changes since the named commit; `None`: none is named. Errors: `git` is missing (exit 6) or fails (exit 2).
    pub(super) fn from_option(option: &ChangedOption, shared: &SharedOptions) -> Result<Option<Changes>, Refusal> {
        let Some(revision) = &option.since else { return Ok(None) };
        let refused = |error: GitError| {
            let exit = match error {
                GitError::NoRepository { .. } | GitError::Unknown { .. } | GitError::Apart { .. } => Exit::Usage,
                GitError::Missing | GitError::Failed(_) => Exit::Failed,
            };
            Refusal::new(exit, visible(&format!("--changed-since: {error}")))
        };
        let git = changed_since(&shared.current_project(), revision).map_err(refused)?;
        Ok(Some(Changes { revision: revision.clone(), git }))
    }

    /// Whether the result of a check that asked for these paths may differ since the change.
    pub(super) fn touch(&self, asked: &AskedPaths) -> bool {
        let mut names = BTreeSet::new();
        asked.paths.iter().for_each(|path| names_on_the_way(path, &mut names));
        asked.has_unreadable
            || self.git.paths.iter().any(|path| names.contains(path))
            || asked.folders.iter().any(|folder| self.are_in(folder, |_| true))
            || asked.patterns.iter().filter_map(|pattern| Some((pattern, pattern.matcher()?))).any(|(pattern, matcher)| {
                // For a nested repository, only its folder is known.
                self.are_in(&pattern.root, |inside| matcher.fits(inside))
                    || self.git.paths.iter().any(|path| place(&pattern.root).starts_with(path))
            })
    }

    /// Whether the change affects a checked file.
    pub(super) fn touch_file(&self, path: &Path, checked: &Checked, files: AskedFiles<'_>) -> bool {
        // A new `flow.toml` between the file and its project would change the project.
        let current = std::env::current_dir().unwrap_or_default();
        load::project_of(path, &current, &files);
        // `git` does not know files outside the repository, and the imports of a truncated file are unknown.
        !place_of(path).starts_with(&self.git.root) || !checked.loaded.cut_off.is_empty() || self.touch(&files.asked())
    }

    /// Whether a run of these tests may read a changed file that no check asks for: one that is not YAML, in or below the folder of the
    /// test file or of a pipeline. Goldens belong to one test file, whose check lists them.
    pub(super) fn touch_data(&self, path: &Path, checked: &Checked) -> bool {
        let goldens = path.with_file_name("goldens");
        let of_pipelines = checked
            .loaded
            .program
            .pipelines
            .iter()
            .filter_map(|pipeline| Path::new(&checked.loaded.sources.file(pipeline.name.span.file).name).parent());
        let is_data =
            |path: &Path| !path.starts_with(place(&goldens)) && path.extension().is_none_or(|ending| ending != "yaml" && ending != "yml");
        let folders: BTreeSet<&Path> = path.parent().into_iter().chain(of_pipelines).collect();
        folders.into_iter().any(|folder| self.are_in(folder, |inside| is_data(&place(folder).join(inside))))
    }

    /// Whether a path that tests or their pipelines name, or something in a folder that they name, has changed: an input or its default, or
    /// an argument of a `read`, a program or a `file` tool. Of a text with braces, only the part before them counts.
    pub(super) fn touch_named(&self, path: &Path, checked: &Checked) -> bool {
        let loaded = &checked.loaded;
        let of_test = path.parent().unwrap_or(Path::new(""));
        let cases = loaded.tests.iter().flat_map(|tests| &tests.cases);
        let inputs: Vec<&str> = cases.flat_map(|case| case.inputs.values()).flat_map(|value| texts_in(&value.value)).collect();
        let mut named = BTreeSet::new();
        for pipeline in &loaded.program.pipelines {
            let mut texts = inputs.clone();
            texts.extend(pipeline.input_fields().iter().filter_map(|field| field.default.as_ref()).flat_map(texts_in));
            pipeline.each_text(&mut |authored| match authored.leaf {
                Leaf::Text(text) => texts.extend(before_braces(&text.source)),
                Leaf::Constant(value) => texts.extend(texts_in(value)),
            });
            let folders = [of_test, &pipeline.folder, &pipeline.project];
            named.extend(texts.iter().flat_map(|text| folders.map(|folder| folder.join(text))));
            let of_tool = |tool: &Tool| if let ToolKind::File(folder) = &tool.kind { Some(folder.clone()) } else { None };
            named.extend(pipeline.tools.values().filter_map(of_tool));
        }
        named.iter().map(|path| place(path)).any(|path| self.git.paths.iter().any(|changed| changed.starts_with(&path)))
    }

    /// Whether a matching path in or below a folder has changed.
    fn are_in(&self, folder: &Path, is_meant: impl Fn(&Path) -> bool) -> bool {
        let folder = place(folder);
        self.git.paths.iter().filter_map(|path| path.strip_prefix(&folder).ok()).any(is_meant)
    }

    /// Whether a file has changed.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.git.paths.binary_search(&place(path)).is_ok()
    }

    /// Returns the text of a file before the change; `None`: it did not exist.
    pub(super) fn before(&self, path: &Path) -> Option<String> {
        self.git.before(&place(path))
    }

    /// Returns the files of pipelines that changed or removed tests ran before the change.
    pub(super) fn tested_before(&self, shared: &SharedOptions) -> BTreeSet<PathBuf> {
        let tests = self.git.paths.iter().filter(|path| is_test_name(path)).filter_map(|path| Some((path, self.git.before(path)?)));
        let pipelines = |(path, text): (&PathBuf, String)| {
            let files = Overlay { below: &DiskFiles, texts: [(path.clone(), text.into())].into() };
            let checked = check_file(path, &shared.project_of(path), &files);
            checked.loaded.program.pipelines.iter().map(|pipeline| file_of(&checked, pipeline.name.span)).collect::<Vec<_>>()
        };
        tests.flat_map(pipelines).collect()
    }

    /// Returns the summary: `2 of 14 files are touched by what has changed since main`.
    pub(super) fn summary(&self, touched: usize, all: usize) -> String {
        let verb = if touched == 1 { "is" } else { "are" };
        format!("{touched} of {} {verb} touched by what has changed since {}", counted(all, "file", "files"), visible(&self.revision))
    }
}

/// Returns texts in a value that may be paths.
fn texts_in(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => {
            Box::new(std::iter::once(text.as_str()).filter(|text| !text.trim().is_empty() && text.len() <= LONGEST_PATH))
        }
        Value::Array(list) => Box::new(list.iter().flat_map(texts_in)),
        Value::Object(map) => Box::new(map.values().flat_map(texts_in)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Box::new(std::iter::empty()),
    }
}

/// Returns the path before the first braces of a text: the whole text, or a folder.
fn before_braces(text: &str) -> Option<&str> {
    let named = match text.split_once("{{") {
        Some((before, _)) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => text,
    };
    Some(named.trim()).filter(|named| named.len() <= LONGEST_PATH && named.contains(char::is_alphanumeric))
}

/// Returns all paths that the settings of a project depend on.
pub(super) fn asked_of_settings(path: &Path, of: load::SettingsOf) -> AskedPaths {
    let files = AskedFiles::over(&DiskFiles);
    load::load_settings(path, of, &files);
    files.asked()
}

/// Returns the file of a span.
pub(super) fn file_of(checked: &Checked, span: Span) -> PathBuf {
    place(Path::new(&checked.loaded.sources.file(span.file).name))
}

/// Returns the canonical path of a file or folder.
fn place(path: &Path) -> PathBuf {
    load::real(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()), &DiskFiles)
}

/// Collects everything that the system looks up on the way to a file: folders, links and their targets, and the file itself.
fn names_on_the_way(path: &Path, names: &mut BTreeSet<PathBuf>) {
    let whole = std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let whole = whole.unwrap_or_else(|_| path.to_path_buf());
    let mut open: VecDeque<OsString> = whole.components().map(|part| part.as_os_str().to_owned()).collect();
    let mut at = PathBuf::new();
    let mut links = 0;
    while let Some(part) = open.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::CurDir) | None => {}
            Some(Component::RootDir | Component::Prefix(_)) => at = PathBuf::from(&part),
            Some(Component::Normal(_)) => {
                let name = at.join(&part);
                match std::fs::read_link(&name) {
                    Ok(target) if links < MOST_LINKS => {
                        links += 1;
                        target.components().rev().for_each(|part| open.push_front(part.as_os_str().to_owned()));
                    }
                    _ => at = name.clone(),
                }
                names.insert(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_over_folders_and_links_and_where_they_lead() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("real/inner")).unwrap();
        std::fs::write(home.join("real/inner/z"), "").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, home.join(name)).unwrap();
        link("real/inner", "folder");
        link("../y", "real/x");
        link("folder/z", "y");
        link("loop", "loop");
        let names = |path: &str| {
            let mut names = BTreeSet::new();
            names_on_the_way(&home.join(path), &mut names);
            let inside = names.iter().filter_map(|name| name.strip_prefix(&home).ok()).filter(|name| !name.as_os_str().is_empty());
            inside.map(|name| name.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("real/x"), ["folder", "real", "real/inner", "real/inner/z", "real/x", "y"]);
        assert_eq!(names("folder/../x"), ["folder", "real", "real/inner", "real/inner/z", "real/x", "y"]);
        assert_eq!(names("gone/a"), ["gone", "gone/a"]);
        assert_eq!(names("loop"), ["loop"]);
    }
}
