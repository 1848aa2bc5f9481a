//! `flow runs show --html`: writes the page of a run to a file or to standard output.

use std::path::Path;

use super::arguments::SharedOptions;
use super::outcome::put;
use super::refusal::Refusal;
use super::{Exit, drawn, stdout, tell};
use crate::adapter::files::{self, cannot};
use crate::journal::Record;
use crate::report::page;

/// Writes the page of a run atomically. `ran`: its pipeline file, if it is recorded. Errors: the folder is missing or the file cannot be
/// written (exit 2), or the disk is full (exit 6).
pub(super) fn write(record: Record, ran: Option<&str>, to: &Path, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let failed = |why: String| Refusal::new(Exit::Failed, why);
    // Secrets are searched in the texts themselves, before HTML escapes them.
    let known = serde_json::to_value(&record).map(tell::without_secrets_in);
    let record: Record = known.and_then(serde_json::from_value).map_err(|error| failed(format!("the record cannot be read: {error}")))?;
    let html = page::page(&record, &drawn::of_run(&record, ran, shared));
    if to == Path::new("-") {
        return Ok(stdout::print(&html));
    }
    let is_new = !to.exists();
    files::may_write(to).map_err(cannot("write", to)).map_err(Refusal::usage)?;
    put(to, &tell::without_secrets(&html)).map_err(cannot("write", to)).map_err(|error| {
        if is_new {
            let _ = std::fs::remove_file(to);
        }
        failed(error.to_string())
    })?;
    Ok(Exit::Ok)
}
