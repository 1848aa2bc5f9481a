//! `flow import`: reads a workflow file of another program, and prints a pipeline or writes its files.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flow_import::{ImportError, ImportRequest, LARGEST};

use super::arguments::{ImportOptions, SharedOptions};
use super::refusal::Refusal;
use super::{Exit, stdout};
use crate::adapter::files::{read_named, stays_in};
use crate::report::{self, Findings};
use crate::runtime::shown_path;

pub(super) fn run(options: &ImportOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (name, file) = (shown_path(&options.file), &options.file);
    if file.is_dir() || !file.exists() {
        let what = if file.is_dir() { "is a folder; name a file" } else { "does not exist" };
        return Err(refusal!(NothingRan, "no file found: {name} {what}"));
    }
    let text = read_named(file, LARGEST).map_err(|problem| refusal!(Findings, "{name}: {problem}"))?;
    let (output, project) = (options.output.as_deref(), |path: &Path| shared.project_of(path));
    let files = flow_import::import(ImportRequest { format: options.format, file, text, output, project: &project });
    let files = files.map_err(|error| refusal(error, shared))?;
    if !shared.quiet {
        files.lost.iter().for_each(|line| tell_as_written!("{line}"));
    }
    let exit = match output {
        Some(folder) => write(folder, &files.texts, shared)?,
        None => files.texts.iter().map(|(_, text)| stdout::print_file(text)).fold(Exit::Ok, Exit::or),
    };
    for error in &files.errors {
        tell_as_written!("error that is left in the result: {error}");
    }
    Ok(if files.errors.is_empty() { exit } else { exit.or(Exit::Findings) })
}

fn refusal(error: ImportError, shared: &SharedOptions) -> Refusal {
    match error {
        ImportError::Unreadable(sources, found) => {
            let findings = Findings::new(&sources, &found);
            super::tell::drawn(&report::human(&findings, shared.look_of_stderr()));
            refusal!(Findings, "nothing was imported: {}", report::summary(&findings))
        }
        ImportError::OtherKind(why) => Refusal::new(Exit::Findings, why),
    }
}

/// Writes new files; none if one of them exists already.
fn write(folder: &Path, files: &[(PathBuf, String)], shared: &SharedOptions) -> Result<Exit, Refusal> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(refusal!(Usage, "nothing was written: {} already exists", shown_path(path)));
    }
    let write = |path: &Path, text: &str| -> std::io::Result<()> {
        stays_in(folder, path)?;
        std::fs::create_dir_all(folder)?;
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    for (path, text) in files {
        write(path, text).map_err(|problem| refusal!(Failed, "cannot write {}: {problem}", shown_path(path)))?;
        note!(shared, "wrote {}", shown_path(path));
    }
    Ok(Exit::Ok)
}
