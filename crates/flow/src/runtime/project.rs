//! The project of a file, and the files of this language in a folder.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use crate::adapter::disk_files::DiskFiles;
use crate::adapter::files::{read, yaml_files};
use crate::load::{SettingsOf, fits_pattern, has_own_parts, in_our_folder, load_settings, project_of, says_flow};
use crate::model::{Pipeline, is_test_name};
use crate::port::Files;
use crate::source::{FileId, SourceFile, from_folder};
use crate::syntax;

/// Returns the project of a file: as named, else the nearest parent folder with `flow.toml`, else the current folder. Below the current
/// folder the path is relative, so that a file has one name; for an absolute file it is absolute, so that a policy matches its files.
pub fn project(path: &Path, named: Option<&Path>) -> PathBuf {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let found = named.map(Path::to_path_buf).unwrap_or_else(|| project_of(path, &current, &DiskFiles));
    if path.is_absolute() {
        return std::path::absolute(&found).unwrap_or(found);
    }
    // For a file outside the current folder, the absolute path shows both: `../shop.yaml` in a project without `..`.
    let is_outside =
        || place_of(path).parent().is_some_and(|folder| !folder.starts_with(found.canonicalize().unwrap_or_else(|_| found.clone())));
    if found == current && is_outside() {
        return found;
    }
    match found.strip_prefix(&current) {
        Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from("."),
        Ok(rest) => rest.to_path_buf(),
        // `../shop.yaml` is in the project `..`.
        Err(_) => {
            let place = |folder: &Path| folder.canonicalize().ok();
            let above = |folder: &&Path| !folder.as_os_str().is_empty() && place(folder).is_some_and(|own| Some(own) == place(&found));
            path.ancestors().skip(1).find(above).map_or_else(|| found.clone(), Path::to_path_buf)
        }
    }
}

/// Rewrites paths in the inputs of a run, relative to this folder or a test's folder, to be relative to the project, so that each names one
/// file regardless of who opens it. Paths outside become absolute.
pub fn told_from_project(pipeline: &Pipeline, from: &Path, mut inputs: Map<String, Value>) -> Map<String, Value> {
    let place = |folder: &Path| if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok();
    let (Some(project), Some(from)) = (place(&pipeline.project), place(from)) else { return inputs };
    let tell = |path: &str| {
        // After a name, `..` is relative to the target of that folder, which may be a link.
        let mut parts = Path::new(path).components();
        let turns_back = parts.by_ref().any(|part| matches!(part, Component::Normal(_))) && parts.any(|part| part == Component::ParentDir);
        let is_whole = Path::new(path).is_absolute();
        if !turns_back && !is_whole && project == from {
            return path.to_owned();
        }
        let whole = from.join(path);
        let place = if turns_back || is_whole { place_of(&whole) } else { whole };
        match from_folder(&project, &place) {
            outside if outside.is_absolute() && is_whole && !turns_back => path.to_owned(),
            told => told.to_string_lossy().into_owned(),
        }
    };
    for field in pipeline.input_fields() {
        if let Some(value) = inputs.get_mut(&field.name) {
            *value = field.with_paths(value, &tell);
        }
    }
    inputs
}

/// Whether a YAML text has these keys at its top level, however they are written.
pub(crate) fn has_keys(text: &str, keys: &[&str]) -> bool {
    let tree = syntax::parse(FileId(0), &SourceFile::new("", text), &mut vec![]);
    tree.as_map().is_some_and(|map| keys.iter().all(|key| map.get(key).is_some()))
}

/// Maximum number of bytes that are checked for the language marker in a file that cannot be parsed.
const MOST_LOOKED_AT: u64 = 16 << 20;

/// Returns the canonical place of a file, however it was named. A link keeps its own name.
pub fn place_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// Returns each file once, in order, even if it was named in several ways. If any path is relative, all files below the current folder
/// become relative, so that a file that two of them include has one name.
pub fn each_once(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_from_here = |path: &PathBuf| path.is_relative() && path.as_os_str() != "-";
    if paths.iter().any(is_from_here)
        && let Ok(here) = Path::new(".").canonicalize()
    {
        let is_plain = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
        for path in paths.iter_mut().filter(|path| !is_plain(path)) {
            if let Ok(own) = place_of(path).strip_prefix(&here) {
                *path = own.to_path_buf();
            }
        }
    }
    paths.sort();
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(place_of(path)));
    paths
}

/// Returns the YAML files in a folder that belong to its project, without those that `exclude` of its `flow.toml` matches. Naming an
/// excluded folder directly includes its files.
pub(crate) fn yaml_of_project(folder: &Path) -> Vec<PathBuf> {
    let mut found = yaml_files(folder);
    let Ok(place) = folder.canonicalize() else { return found };
    let project = project_of(&place.join("flow.toml"), &place, &DiskFiles);
    let Ok(inside) = place.strip_prefix(&project) else { return found };
    let settings = load_settings(&project.join("flow.toml"), SettingsOf::Project, &DiskFiles).map(|found| found.settings);
    let excluded = settings.iter().flat_map(|settings| &settings.exclude).filter_map(|pattern| fits_pattern(&pattern.value));
    let excluded: Vec<_> = excluded.filter(|fits| !fits(inside)).collect();
    found.retain(|file| file.strip_prefix(folder).map_or(true, |rest| !excluded.iter().any(|fits| fits(&inside.join(rest)))));
    found
}

/// Finds the files of this language in a folder that belong to its project.
pub fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    found.extend(yaml_of_project(folder).into_iter().filter(|path| is_ours(path)));
}

/// Finds the files of this language in a folder, regardless of `exclude`.
pub fn find_all(folder: &Path, found: &mut Vec<PathBuf>) {
    found.extend(yaml_files(folder).into_iter().filter(|path| is_ours(path)));
}

/// A YAML file of a project that is not marked as one of this language.
pub struct SkippedFile {
    /// Its path.
    pub path: PathBuf,
    /// Whether it has steps, agents, scorecards or cases like files of this language.
    pub has_own_parts: bool,
}

/// Finds the YAML files of the project in a folder that are not marked as files of this language.
pub fn skipped(folder: &Path, found: &mut Vec<SkippedFile>) {
    let others = yaml_of_project(folder).into_iter().filter(|path| !is_ours(path));
    found.extend(others.map(|path| {
        let has_own_parts = DiskFiles.read_text(&path).is_ok_and(|text| has_own_parts(&text));
        SkippedFile { path, has_own_parts }
    }));
}

fn is_ours(path: &Path) -> bool {
    // An unreadable file is reported if it must be of this language: a test, or a file in one of its folders.
    let may_be_ours = |path: &Path| path.ancestors().any(in_our_folder);
    match DiskFiles.read_text(path) {
        Ok(text) => in_our_folder(path) || is_test_name(path) || says_flow(&text),
        Err(_) => {
            is_test_name(path)
                || may_be_ours(path)
                || read(path, MOST_LOOKED_AT).is_ok_and(|bytes| says_flow(&String::from_utf8_lossy(&bytes)))
        }
    }
}
