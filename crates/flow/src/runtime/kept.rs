//! Where records of runs are stored (`.flow` in the project, or a folder of the user for all projects), and the key to encrypt them.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::RunError;
use super::settings::{self, Settled};
use crate::adapter::audit_file::AuditFile;
use crate::adapter::clock::SystemClock;
use crate::adapter::encryption::{JournalKey, Sealing};
use crate::adapter::sqlite_store::SqliteStore;
use crate::adapter::{environment, files};
use crate::event::Event;
use crate::journal::{AuditAction, AuditRecord};
use crate::port::{Clock, EventLog, StoreError, Synced};

/// Where the record of a run is stored. On disk it is encrypted if the settings require it (`[journal]`), with the key in the environment variable
/// `FLOW_JOURNAL_KEY` or in the user's own settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// In memory only: the run cannot be resumed.
    #[default]
    Memory,
    /// Where `flow run` stores it: in `.flow` of the project, or in the folder that the user set for all projects.
    Project,
    /// In this folder: `runs.db`, and the cached results.
    Folder(PathBuf),
}

impl Storage {
    /// Returns the file of the journal; `None`: there is none.
    pub(super) fn journal(&self, project: &Path) -> Result<Option<PathBuf>, RunError> {
        match self {
            Storage::Memory => Ok(None),
            Storage::Project => journal_file(project).map(Some),
            Storage::Folder(folder) => Ok(Some(folder.join("runs.db"))),
        }
    }
}

/// A log that stores nothing.
pub(super) struct Unkept;

impl EventLog for Unkept {
    fn append(&mut self, _: &[Event]) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Synced {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Help for a project that is not writable.
const HELP: &str = "cannot write in the project; set FLOW_STATE_DIR to a writable folder, and runs are stored there";

/// Returns the folder of the project's runs: journal, cache, locks. In the user's folder each project has a subfolder, named after its
/// canonical path. Errors: the user's settings have errors, or name a relative path.
pub(crate) fn folder(project: &Path) -> Result<PathBuf, RunError> {
    let Some(home) = home()? else {
        let own = project.join(".flow");
        let line = |error| RunError::usage(format!("runs cannot be kept in {}: {error}; or set FLOW_STATE_DIR", own.display()));
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

/// Returns the user's folder for all runs: `FLOW_STATE_DIR`, else `state_dir` of the user's settings. Errors: as [`folder`].
pub(crate) fn home() -> Result<Option<PathBuf>, RunError> {
    match environment::state_folder() {
        Some(named) => whole(named, "FLOW_STATE_DIR").map(Some),
        None => settings::of_user()?.state_dir.map(|named| whole(named, "state_dir of your settings")).transpose(),
    }
}

/// Rejects a relative path, which would depend on where flow is started.
fn whole(named: PathBuf, what: &str) -> Result<PathBuf, RunError> {
    match named.is_absolute() {
        true => Ok(named),
        false => Err(RunError::usage(format!("{what} is {}; write a whole path such as /var/lib/flow", named.display()))),
    }
}

/// Returns the journal of a project. Errors: as [`folder`].
pub fn journal_file(project: &Path) -> Result<PathBuf, RunError> {
    Ok(folder(project)?.join("runs.db"))
}

/// Records an action of a person outside a run, before the action. A project without stored runs has no audit, and none is created. Errors:
/// the audit cannot be written.
pub fn audit(project: &Path, action: AuditAction, run: &str, target: &str) -> Result<(), RunError> {
    audit_all(project, action, [(run, target)])
}

/// Like [`audit`], for several runs or targets at once.
pub fn audit_all<'a>(project: &Path, action: AuditAction, all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), RunError> {
    let journal = journal_file(project)?;
    if !journal.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    let now = SystemClock::new().now();
    let records: Vec<AuditRecord> = all.into_iter().map(|(run, target)| AuditRecord::of_person(action, now, run, target)).collect();
    let done = match SqliteStore::existing(&journal, &Sealing::default()) {
        Ok(store) => store.audit(&records),
        Err(StoreError::Empty { .. }) => AuditFile::beside(&journal).append(&records, None),
        Err(error) => Err(error),
    };
    done.map_err(|error| with_help(error, project))
}

/// Adds help to an error if the project is not writable.
pub fn with_help(error: StoreError, project: &Path) -> RunError {
    let folder = project.join(".flow");
    let folder = if folder.exists() { folder.as_path() } else { project };
    RunError::Store { error, help: files::is_closed(folder).then_some(HELP) }
}

/// Returns how new runs are encrypted, with the key of existing ones. Errors: encryption is required without a key, or the key is invalid.
pub fn of_new_runs(settled: &Settled) -> Result<Sealing, RunError> {
    let sealing = sealing(settled)?;
    if sealing.is_on && sealing.key.is_none() {
        let message = "runs are encrypted here (encrypt in [journal] of the settings), but no key is set: set FLOW_JOURNAL_KEY, or key_file in \
                       [journal] of your own settings";
        return Err(RunError::usage(message));
    }
    Ok(sealing)
}

/// Returns the key for existing runs. Settings with errors supply none. Errors: the key is invalid.
pub fn of_kept_runs(project: &Path) -> Result<Sealing, RunError> {
    sealing(&settings::read(project).unwrap_or_default())
}

/// Returns how additions outside a run are encrypted. Errors: as [`of_new_runs`], or the settings have errors.
pub fn of_additions(project: &Path) -> Result<Sealing, RunError> {
    of_new_runs(&settings::read(project)?)
}

fn sealing(settled: &Settled) -> Result<Sealing, RunError> {
    let found = environment::journal_key(settled.key_file.as_deref()).map_err(RunError::usage)?;
    let key = found.map(|(text, from)| JournalKey::read(text.reveal()).map_err(|what| RunError::usage(format!("{from} {what}"))));
    Ok(Sealing { key: key.transpose()?, is_on: settled.encrypt })
}

/// Returns the file of cached results, beside the journal.
pub fn cache_file(journal: &Path) -> PathBuf {
    journal.with_file_name("cache.db")
}
