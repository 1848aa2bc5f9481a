//! `flow fix`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::arguments::{FixOptions, SharedOptions};
use super::refusal::Refusal;
use super::validate::{files, is_input, with_input};
use super::{Exit, stdout};
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::files::replace_if;
use crate::check::{check_file, fix_file};
use crate::diagnostic::{counted, visible};
use crate::port::Files;
use crate::redact::keys_in_source;
use crate::runtime::{find, shown_path};

/// Applies the safe edits of findings to the files, or shows them. Standard input (`-`) is printed with its edits.
pub(super) fn run(options: &FixOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let paths = files(&options.paths, shared)?;
    let input = with_input(&paths)?;
    let mut counts = FixCounts::default();
    let mut exit = Exit::Ok;
    let readers = Readers::default();
    for path in paths.iter().filter(|path| path.extension().is_none_or(|ending| ending != "toml")) {
        let shown = shown_path(path);
        let project = shared.project_of(path);
        let fixed = match fix_file(path, &project, &input, &|| readers.others(path, &project, shared)) {
            Ok(fixed) => fixed,
            Err(why) => {
                tell!("{shown}: not changed: {}", visible(&why.to_string()));
                counts.left += 1;
                exit = Exit::Findings;
                continue;
            }
        };
        let done = match (options.diff, is_input(path)) {
            (true, _) => show_difference(path, &fixed.before, &fixed.text),
            (false, true) => stdout::print_file(&fixed.text),
            (false, false) if fixed.findings.is_empty() => continue,
            (false, false) => match replace_if(path, &fixed.text, |now| now == fixed.before.as_bytes()) {
                Ok(()) => Exit::Ok,
                Err(problem) => {
                    tell!("{shown}: not changed: {problem}");
                    counts.left += 1;
                    exit = Exit::Failed;
                    continue;
                }
            },
        };
        if fixed.findings.is_empty() {
            continue;
        }
        counts.edits += fixed.findings.len();
        counts.files += 1;
        match done {
            Exit::Ok if options.diff => exit = exit.or(Exit::Findings),
            Exit::Ok if shared.quiet => {}
            Exit::Ok => fixed.findings.iter().for_each(|(code, message)| tell_as_written!("{shown}: {code} {}", visible(message))),
            lost => return Ok(lost),
        }
    }
    note!(shared, "{}", counts.summary(options.diff));
    Ok(exit)
}

#[derive(Default)]
struct FixCounts {
    edits: usize,
    files: usize,
    /// Files that could not be fixed.
    left: usize,
}

impl FixCounts {
    fn summary(&self, is_diff: bool) -> String {
        let verb = if is_diff { "to write" } else { "written" };
        let files = |count: usize| counted(count, "file", "files");
        let left = match self.left {
            0 => String::new(),
            count => format!("; {} left as {} was, see above", files(count), if count == 1 { "it" } else { "each" }),
        };
        format!("{} {verb} in {}{left}; flow validate shows what else there is", counted(self.edits, "edit", "edits"), files(self.files))
    }
}

/// A file, and the files that its check reads.
type FileReads = (PathBuf, BTreeSet<PathBuf>);

/// The files that the checks of each project's files read.
#[derive(Default)]
pub(super) struct Readers(RefCell<BTreeMap<PathBuf, Vec<FileReads>>>);

impl Readers {
    /// Returns the other files of the project whose check reads this one.
    pub(super) fn others(&self, path: &Path, project: &Path, shared: &SharedOptions) -> Vec<PathBuf> {
        let Some(own) = DiskFiles.real_path(path) else { return vec![] };
        let mut projects = self.0.borrow_mut();
        let all = projects.entry(project.to_path_buf()).or_insert_with(|| {
            let mut all = vec![];
            find(project, &mut all);
            let reads = |path: &PathBuf| {
                let checked = check_file(path, &shared.project_of(path), &DiskFiles);
                checked.loaded.sources.files().filter_map(|(_, file)| DiskFiles.real_path(Path::new(&file.name))).collect()
            };
            all.into_iter().map(|path| (path.clone(), reads(&path))).collect()
        });
        let is_reader = |(other, read): &&FileReads| read.contains(&own) && DiskFiles.real_path(other).as_ref() != Some(&own);
        all.iter().filter(is_reader).map(|(other, _)| other.clone()).collect()
    }
}

/// Prints the difference between two texts of a file as a patch.
pub(super) fn show_difference(path: &Path, before: &str, text: &str) -> Exit {
    let name = shown_path(path);
    let patch = |before: &str, text: &str| TextDiff::from_lines(before, text).unified_diff().header(&name, &name).to_string();
    let drawn = patch(&without_keys(before), &without_keys(text));
    if drawn != patch(before, text) {
        tell!("{name}: a key is masked, so this patch does not apply; without --diff the file is changed");
    }
    stdout::print_file(&drawn)
}

/// Returns the text of a file with an asterisk for each character of a key.
fn without_keys(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    for place in keys_in_source(text).into_iter().rev() {
        let stars = "*".repeat(place.len());
        shown.to_mut().replace_range(place, &stars);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_left_are_counted() {
        let counts = FixCounts { edits: 1, files: 1, left: 0 };
        assert_eq!(counts.summary(true), "1 edit to write in 1 file; flow validate shows what else there is");
        let counts = FixCounts { left: 1, ..FixCounts::default() };
        let left = "0 edits written in 0 files; 1 file left as it was, see above; flow validate shows what else there is";
        assert_eq!(counts.summary(false), left);
    }
}
