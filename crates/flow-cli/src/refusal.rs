//! Errors that stop a command before anything starts: in files, on the command line, or on this machine. Also loads checked files.

use std::collections::BTreeMap;
use std::path::Path;

use super::arguments::SharedOptions;
use super::{Exit, tell};
use crate::adapter::disk_files::DiskFiles;
use crate::adapter::environment;
use crate::check::{Checked, add_edits, check_file};
use crate::diagnostic::{Severity, counted, shell_path, visible};
use crate::lower::FileKind;
use crate::port::{Secret, StoreError};
use crate::report::{self, Findings};
use crate::runtime::{CheckError, RunError, Workflow, drawn, shown_path};

/// Creates a refusal with an exit code and a formatted line.
macro_rules! refusal {
    ($exit:ident, $($text:tt)*) => { $crate::refusal::Refusal::new($crate::Exit::$exit, format!($($text)*)) };
}

/// Why a run does not start: its exit code and the lines to print.
pub(super) struct Refusal(pub(super) Exit, pub(super) Vec<String>);

impl Refusal {
    pub(super) fn new(exit: Exit, line: impl ToString) -> Refusal {
        Refusal(exit, vec![line.to_string()])
    }

    pub(super) fn usage(line: impl ToString) -> Refusal {
        Refusal::new(Exit::Usage, line)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::new(Exit::of_store(&error), visible(&error.to_string()))
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Refusal {
        match error {
            RunError::Usage(line) => Refusal::usage(line),
            RunError::Inputs(lines) => Refusal(Exit::Usage, lines),
            RunError::CannotResume(lines) => Refusal(Exit::Failed, lines),
            RunError::Changed(changed) => Refusal(Exit::Failed, changed.to_string().lines().map(str::to_owned).collect()),
            RunError::Tape(error) => refusal!(Usage, "--{error}"),
            RunError::Settings(found) => Refusal::new(Exit::Findings, drawn(&found)),
            RunError::Store { error, help } => {
                let Refusal(exit, mut lines) = error.into();
                lines.extend(help.map(str::to_owned));
                Refusal(exit, lines)
            }
            RunError::System(error) => Refusal::new(Exit::Failed, visible(&error.to_string())),
            RunError::Untrusted(_) | RunError::Lacking(_) => Refusal::new(Exit::Failed, error),
        }
    }
}

impl SharedOptions {
    /// Returns the environment variables, and those of `--env-file`.
    pub(super) fn variables(&self) -> Result<BTreeMap<String, Secret>, Refusal> {
        environment::variables(self.env_file.as_deref()).map_err(Refusal::usage)
    }
}

/// Prints a refusal, and returns the exit code.
pub(super) fn report(Refusal(exit, lines): Refusal) -> Exit {
    lines.iter().for_each(|line| tell::refused(line));
    exit
}

/// Loads a pipeline without errors. Nothing is started. Errors: the file does not exist (exit 4), is not a pipeline (exit 2), or has errors
/// (exit 1).
pub(super) fn pipeline(file: &Path, shared: &SharedOptions) -> Result<Workflow, Refusal> {
    let checked = checked(file, shared)?;
    Workflow::from_checked(checked, file.to_path_buf(), shared.project_of(file)).map_err(Refusal::usage)
}

/// Loads a file of this language without errors. Errors: as for [`pipeline`].
pub(super) fn checked(file: &Path, shared: &SharedOptions) -> Result<Checked, Refusal> {
    let shown = shown_path(file);
    if file.is_dir() || !file.exists() {
        let what = if file.is_dir() { "is a folder; name the file of a pipeline" } else { "does not exist" };
        return Err(refusal!(NothingRan, "no file found: {shown} {what}"));
    }
    if file.extension().is_some_and(|ending| ending == "toml") {
        return Err(Refusal::usage(CheckError::NoPipeline(file.to_path_buf())));
    }
    let project = shared.project_of(file);
    let mut checked = check_file(file, &project, &DiskFiles);
    if checked.loaded.kind == FileKind::Test {
        return Err(refusal!(Usage, "{shown} is a test file, not a pipeline: run flow test {}", shell_path(&shown)));
    }
    if checked.has_errors() {
        add_edits(&mut checked, file, &project, &DiskFiles);
    }
    report_findings(&checked, &shown, shared)?;
    Ok(checked)
}

/// Reports findings: errors stop the run before it starts; warnings are summarized in one line.
pub(super) fn report_findings(checked: &Checked, file: &str, shared: &SharedOptions) -> Result<(), Refusal> {
    let errors = checked.errors();
    let warnings = checked.diagnostics.iter().filter(|d| d.severity() == Severity::Warning).count();
    if !errors.is_empty() {
        let findings = Findings::new(&checked.loaded.sources, &errors);
        let text = report::human(&findings, shared.look_of_stderr());
        tell::drawn(&text);
        return Err(refusal!(Findings, "nothing was started: {}", report::summary(&findings)));
    }
    if shared.quiet {
        return Ok(());
    }
    for found in checked.missing_data() {
        tell_as_written!("{}: {} (steps that read it will fail)", checked.loaded.sources.place(found.span), found.message);
    }
    if warnings > 0 {
        tell!("{}; run flow validate {}", counted(warnings, "warning", "warnings"), shell_path(file));
    }
    Ok(())
}
