//! `flow runs rm` and `flow runs prune`: runs go, with all that they left in the project's `.flow` folder.

use std::collections::BTreeSet;
use std::path::Path;

use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_store::SqliteStore;
use crate::cli::Exit;
use crate::cli::arguments::SharedOptions;
use crate::cli::refusal::Refusal;
use crate::model::parse_duration;
use crate::port::{Clock, RunSummary, Store, StoreError};
use crate::runtime::kept;

/// Ids of runs that began longer ago than a time; without one, none. Errors: it is no time (exit 2).
pub(super) fn older<'a>(runs: &'a [RunSummary], than: Option<&str>) -> Result<BTreeSet<&'a String>, Refusal> {
    let Some(than) = than else { return Ok(BTreeSet::new()) };
    let time = parse_duration(than).map_err(|what| Refusal::usage(format!("--older-than {what}")))?;
    let time = chrono::TimeDelta::from_std(time).unwrap_or(chrono::TimeDelta::MAX);
    let now = SystemClock::new().now();
    let is_older = |run: &&RunSummary| {
        let started = chrono::DateTime::parse_from_rfc3339(&run.started);
        started.is_ok_and(|started| now.signed_duration_since(started) > time)
    };
    Ok(runs.iter().filter(is_older).map(|run| &run.run).collect())
}

/// Removes runs that no process goes on with. `leaves`: the others are told and left; else one of them stops the removal.
/// Errors: one is being run (exit 2); or something is left of what was removed (exit 6).
pub(super) fn remove(
    store: &mut SqliteStore,
    file: &Path,
    wanted: &BTreeSet<&String>,
    leaves: bool,
    shared: &SharedOptions,
) -> Result<Exit, Refusal> {
    let (mut locks, mut runs, mut held) = (vec![], vec![], vec![]);
    for run in wanted {
        match RunLock::take_to_remove(file, run) {
            Ok(lock) => {
                locks.push(lock);
                runs.push(run.as_str());
            }
            Err(error @ StoreError::Held { .. }) if leaves => held.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    // The results that are used again go first: without their run nobody knows whose they are.
    let cache = SqliteCache::forget(&kept::cache_file(file), &runs).map_err(|error| Refusal::new(Exit::Failed, error))?;
    store.remove(&runs)?;
    if !cache {
        let message =
            "the runs are removed, but another process is reading their kept results: flow runs prune erases them when it has ended";
        return Err(Refusal::new(Exit::Failed, message));
    }
    if !shared.quiet && leaves {
        tell!("{} run{} removed", runs.len(), if runs.len() == 1 { "" } else { "s" });
    }
    for line in &held {
        tell!("{line}: it is not removed");
    }
    Ok(if held.is_empty() { Exit::Ok } else { Exit::Usage })
}
