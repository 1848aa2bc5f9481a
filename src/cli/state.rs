//! Where the record of runs is kept: `.flow` in the project, or a folder of the user for all projects.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::refusal::Refusal;
use super::settings;
use crate::adapter::{environment, files};

/// The folder of the project's runs: journal, cache, locks. In the user's folder each project has one, named by where the project really is.
///
/// # Errors
/// The user's settings have mistakes, or name no whole path.
pub(super) fn folder(project: &Path) -> Result<PathBuf, Refusal> {
    let Some(home) = home()? else {
        let own = project.join(".flow");
        let line = |error| Refusal::usage(format!("runs cannot be kept in {}: {error}; or set FLOW_STATE_DIR", own.display()));
        files::stays_in(project, &own.join("runs.db")).map_err(line)?;
        return Ok(own);
    };
    let here = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    let place = here.canonicalize().unwrap_or_else(|_| project.to_path_buf());
    let name: String =
        place.file_name().unwrap_or_default().to_string_lossy().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    let hash = Sha256::digest(place.as_os_str().as_encoded_bytes());
    let hash = hex::encode(&hash[..8]);
    Ok(home.join(format!("{name}-{hash}")))
}

/// The folder that the user named for the runs of all projects: `FLOW_STATE_DIR`, else `state_dir` of his own settings.
///
/// # Errors
/// As [`folder`].
pub(super) fn home() -> Result<Option<PathBuf>, Refusal> {
    match environment::state_folder() {
        Some(named) => whole(named, "FLOW_STATE_DIR").map(Some),
        None => settings::state_dir()?.map(|named| whole(named, "state_dir of your settings")).transpose(),
    }
}

/// A relative one would be another folder in each place where flow is started.
fn whole(named: PathBuf, what: &str) -> Result<PathBuf, Refusal> {
    match named.is_absolute() {
        true => Ok(named),
        false => Err(Refusal::usage(format!("{what} is {}; write a whole path such as /var/lib/flow", named.display()))),
    }
}

/// The journal of a project.
///
/// # Errors
/// As [`folder`].
pub(super) fn journal_file(project: &Path) -> Result<PathBuf, Refusal> {
    Ok(folder(project)?.join("runs.db"))
}

/// Adds what to do where nothing can be written in the project.
pub(super) fn with_help(mut refusal: Refusal, project: &Path) -> Refusal {
    let folder = project.join(".flow");
    let folder = if folder.exists() { folder.as_path() } else { project };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let closed = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    if tempfile::tempfile_in(folder).is_err_and(|error| closed.contains(&error.kind())) {
        refusal.1.push("nothing can be written in the project; set FLOW_STATE_DIR to a folder of yours, and runs are kept there".into());
    }
    refusal
}
