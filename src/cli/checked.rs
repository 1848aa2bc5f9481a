//! What the commands that only look share: a file that was checked.

use std::path::Path;

use super::arguments::Shared;
use super::run::{Refusal, report_findings};
use super::{Exit, project};
use crate::adapter::files::DiskFiles;
use crate::check::{Checked, check_file};

/// A pipeline that may be looked at: it has no errors. Nothing is started.
///
/// # Errors
/// There is no such file (exit 4), it is no pipeline (exit 2), or it has errors (exit 1).
pub(super) fn pipeline(file: &Path, shared: &Shared) -> Result<Checked, Refusal> {
    if !file.is_file() {
        let what = if file.is_dir() { "is a folder" } else { "does not exist" };
        return Err(Refusal(Exit::NothingRan, vec![format!("no file found: {} {what}", file.display())]));
    }
    let checked = check_file(file, &project::project(file, shared), &DiskFiles);
    report_findings(&checked, shared)?;
    match checked.loaded.program.pipelines.is_empty() {
        true => Err(no_pipeline(file)),
        false => Ok(checked),
    }
}

/// The file is of another kind.
pub(super) fn no_pipeline(file: &Path) -> Refusal {
    Refusal::usage(format!("{} is no pipeline: a pipeline has name and steps", file.display()))
}
