//! How runs are kept: in which file, and encrypted with which key.

use std::path::{Path, PathBuf};

use super::refusal::Refusal;
use super::settings::{self, Settled};
use crate::adapter::environment;
use crate::adapter::sealing::{JournalKey, Sealing};

/// How new runs are encrypted, and with which key others were.
///
/// # Errors
/// They must be encrypted and there is no key, or the key is none (exit 2).
pub(super) fn of_new_runs(settled: &Settled) -> Result<Sealing, Refusal> {
    let key = key(settled.journal.key_file.as_deref())?;
    if settled.journal.encrypt && key.is_none() {
        let message = "runs are encrypted here (encrypt in [journal] of the settings), and there is no key: set FLOW_JOURNAL_KEY, or key_file in \
                       [journal] of your own settings";
        return Err(Refusal::usage(message));
    }
    Ok(Sealing { key, is_on: settled.journal.encrypt })
}

/// The key at hand, for runs that are there. Settings with mistakes name none.
///
/// # Errors
/// The key is none (exit 2).
pub(super) fn of_kept_runs(project: &Path) -> Result<Sealing, Refusal> {
    let journal = settings::read(project).map(|settled| settled.journal).unwrap_or_default();
    Ok(Sealing { key: key(journal.key_file.as_deref())?, is_on: journal.encrypt })
}

fn key(file: Option<&Path>) -> Result<Option<JournalKey>, Refusal> {
    let Some((text, from)) = environment::journal_key(file).map_err(Refusal::usage)? else { return Ok(None) };
    JournalKey::read(text.reveal()).map(Some).map_err(|what| Refusal::usage(format!("{from} {what}")))
}

/// The results that are used again lie beside the journal.
pub(super) fn cache_file(journal: &Path) -> PathBuf {
    journal.with_file_name("cache.db")
}
