//! `flow fix`.

use std::path::Path;

use similar::TextDiff;

use super::arguments::{FixOptions, Shared};
use super::{Exit, project, stdout, validate};
use crate::adapter::files::{DiskFiles, replace};
use crate::check::{Mended, mend};
use crate::diagnostic::{visible, visible_lines};
use crate::port::Files;

/// Writes the safe edits of findings into the files, or shows them.
pub(super) fn run(options: &FixOptions, shared: &Shared) -> Exit {
    let paths = match validate::files(&options.paths, shared) {
        Ok(paths) => paths,
        Err(problem) => {
            tell!("{problem}");
            return Exit::NothingRan;
        }
    };
    let (mut edits, mut changed, mut refusals, mut exit) = (0, 0, 0, Exit::Ok);
    for path in paths.iter().filter(|path| path.extension().is_none_or(|ending| ending != "toml")) {
        let shown = path.display().to_string();
        let mended = match mend(path, &project::project(path, shared), &DiskFiles) {
            Ok(None) => continue,
            Ok(Some(mended)) => mended,
            Err(refused) => {
                tell!("{}: nothing is written; {}", visible(&shown), visible(&refused.to_string()));
                refusals += 1;
                exit = Exit::Findings;
                continue;
            }
        };
        edits += mended.mended.len();
        changed += 1;
        if options.diff {
            exit = match show(path, &mended) {
                Exit::Ok => Exit::Findings,
                lost => return lost,
            };
            continue;
        }
        if let Err(problem) = replace(path, &mended.text) {
            tell!("{} cannot be written: {problem}", visible(&shown));
            return Exit::Failed;
        }
        if !shared.quiet {
            mended.mended.iter().for_each(|(code, message)| tell!("{}: {code} {}", visible(&shown), visible(message)));
        }
    }
    if !shared.quiet {
        tell!("{}", summary(edits, changed, refusals, options.diff));
    }
    exit
}

/// How many edits there are; those that are refused are told, or it would seem that there are none.
fn summary(edits: usize, changed: usize, refusals: usize, is_diff: bool) -> String {
    let noun = |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
    let verb = if is_diff { "to write" } else { "written" };
    let refused = match refusals {
        0 => String::new(),
        count => format!("; those of {count} {} are refused, as told above", noun(count, "file", "files")),
    };
    let (edit, files) = (noun(edits, "edit", "edits"), noun(changed, "file", "files"));
    format!("{edits} {edit} {verb} in {changed} {files}{refused}; flow validate tells what else there is")
}

fn show(path: &Path, mended: &Mended) -> Exit {
    let Ok(text) = DiskFiles.read_text(path) else { return Exit::Ok };
    let name = visible(&path.display().to_string()).into_owned();
    let diff = TextDiff::from_lines(text.as_str(), mended.text.as_str());
    let drawn = diff.unified_diff().header(&name, &name).to_string();
    stdout::print(&visible_lines(&drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_that_are_refused_are_counted() {
        assert_eq!(summary(1, 1, 0, true), "1 edit to write in 1 file; flow validate tells what else there is");
        let refused = "0 edits written in 0 files; those of 1 file are refused, as told above; flow validate tells what else there is";
        assert_eq!(summary(0, 0, 1, false), refused);
    }
}
