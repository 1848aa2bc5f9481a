//! `flow runs cancel`: ends a run for good.

use std::path::Path;
use std::time::Duration;

use crate::Exit;
use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_store::SqliteStore;
use crate::arguments::SharedOptions;
use crate::event::Canceller;
use crate::model::STAGE_TIME;
use crate::port::{Clock, Store, StoreError};
use crate::refusal::Refusal;
use crate::runtime::{StoredRun, asked_to_end};

/// Time for the executing process to notice the request, and then to end the run: open calls have 4 s, `on_failure` and `finally` have
/// their own time limits.
const TO_NOTICE: Duration = Duration::from_secs(10);
const TO_END: Duration = Duration::from_secs(10 + 2 * STAGE_TIME.as_secs());
/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(100);

/// Ends a run, or requests its end from the executing process and waits.
pub(super) fn run(wanted: &str, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let (store, file, id) = super::open_run(Some(wanted), shared)?;
    match StoredRun::open(store, file.clone(), id.clone()) {
        Ok(run) => return ended(run, false, shared),
        Err(StoreError::Held { process, .. }) if !shared.quiet => tell!("asking process {process} to end run {id}"),
        Err(StoreError::Held { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let clock = SystemClock::new();
    let mut is_noticed = false;
    loop {
        let (store, ..) = super::open_run(Some(&id), shared)?;
        let process = match StoredRun::open(store, file.clone(), id.clone()) {
            Ok(run) => return ended(run, true, shared),
            Err(StoreError::Held { process, .. }) => process,
            Err(error) => return Err(error.into()),
        };
        // The request is repeated, because a process that has just started drops earlier requests.
        RunLock::ask_to_end(&file, &id)?;
        is_noticed = is_noticed || has_noticed(&file, &id, shared)?;
        let allowed = if is_noticed { TO_END } else { TO_NOTICE };
        if clock.elapsed() > allowed {
            let what = if is_noticed { "is ending, but has not ended yet" } else { "does not react" };
            let reach = shared.reach(&shared.current_project());
            return Err(refusal!(
                Failed,
                "process {process} {what}: run {id} ends when it does; or end the process, then flow runs cancel {id}{reach}"
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the executing process has recorded the request to end.
fn has_noticed(file: &Path, id: &str, shared: &SharedOptions) -> Result<bool, Refusal> {
    let sealing = crate::runtime::kept::of_kept_runs(&shared.current_project())?;
    let events = SqliteStore::existing(file, &sealing)?.events(id)?;
    Ok(asked_to_end(&events).is_some())
}

/// Ends a run without an executing process. `was_asked`: whether a process executed it until now.
fn ended(mut run: StoredRun, was_asked: bool, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let by_person = asked_to_end(&run.events) == Some(Canceller::Person);
    match run.end().map(|end| end.status) {
        None => run.cancel()?,
        Some(_) if by_person && was_asked => {}
        Some(_) if by_person => {
            tell!("run {} is cancelled already", run.id);
            return Ok(Exit::Ok);
        }
        Some(status) => {
            return Err(refusal!(Usage, "run {} has ended ({}); there is nothing to cancel", run.id, status.word()));
        }
    }
    note!(shared, "run {} is cancelled", run.id);
    Ok(Exit::Ok)
}
