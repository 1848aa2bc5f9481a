//! `flow fix`.

use std::io::Write;
use std::path::Path;

use similar::TextDiff;

use super::arguments::{FixOptions, Shared};
use super::{Exit, project, validate};
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
    let (mut edits, mut changed, mut exit) = (0, 0, Exit::Ok);
    for path in paths.iter().filter(|path| path.extension().is_none_or(|ending| ending != "toml")) {
        let shown = path.display().to_string();
        let mended = match mend(path, &project::project(path, shared), &DiskFiles) {
            Ok(None) => continue,
            Ok(Some(mended)) => mended,
            Err(refused) => {
                tell!("{}: nothing is written; {}", visible(&shown), visible(&refused.to_string()));
                exit = Exit::Findings;
                continue;
            }
        };
        edits += mended.mended.len();
        changed += 1;
        if options.diff {
            show(path, &mended);
            exit = Exit::Findings;
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
        let verb = if options.diff { "to write" } else { "written" };
        let noun = if edits == 1 { "edit" } else { "edits" };
        let files = if changed == 1 { "file" } else { "files" };
        tell!("{edits} {noun} {verb} in {changed} {files}; flow validate tells what else there is");
    }
    exit
}

fn show(path: &Path, mended: &Mended) {
    let Ok(text) = DiskFiles.read_text(path) else { return };
    let name = visible(&path.display().to_string()).into_owned();
    let diff = TextDiff::from_lines(text.as_str(), mended.text.as_str());
    let drawn = diff.unified_diff().header(&name, &name).to_string();
    // A reader that has seen enough ends the printing.
    let _ = std::io::stdout().write_all(visible_lines(&drawn).as_bytes());
}
