//! What the commands on one pipeline share: a file that was checked.

use std::path::Path;

use super::Exit;
use super::arguments::SharedOptions;
use super::refusal::{Refusal, report_findings};
use crate::adapter::files::DiskFiles;
use crate::check::{add_edits, check_file};
use crate::lower::FileKind;
use crate::runtime::{CheckError, Workflow, shown};

/// A pipeline that may be run or looked at: it has no errors. Nothing is started.
/// Errors: there is no such file (exit 4), it is no pipeline (exit 2), or it has errors (exit 1).
pub(super) fn pipeline(file: &Path, shared: &SharedOptions) -> Result<Workflow, Refusal> {
    let shown = shown(file);
    if file.is_dir() || !file.exists() {
        let what = if file.is_dir() { "is a folder; name the file of a pipeline" } else { "does not exist" };
        return Err(Refusal::new(Exit::NothingRan, format!("no file found: {shown} {what}")));
    }
    if file.extension().is_some_and(|ending| ending == "toml") {
        return Err(Refusal::usage(CheckError::NoPipeline(file.to_path_buf())));
    }
    let project = shared.project_of(file);
    let mut checked = check_file(file, &project, &DiskFiles);
    if checked.loaded.kind == FileKind::Test {
        return Err(Refusal::usage(format!("{shown} is a test file, no pipeline: flow test {shown}")));
    }
    if checked.has_errors() {
        add_edits(&mut checked, file, &project, &DiskFiles);
    }
    report_findings(&checked, shared)?;
    Workflow::of(checked, file.to_path_buf(), project).map_err(Refusal::usage)
}
