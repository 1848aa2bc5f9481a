//! `flow runs retry`: a new run of the failed elements of another one.

use crate::adapter::run_lock::RunLock;
use crate::arguments::{OutputOptions, SharedOptions};
use crate::diagnostic::{counted, visible};
use crate::engine::NothingToRetry;
use crate::outcome::OutputTargets;
use crate::refusal::Refusal;
use crate::runtime::{RunSession, StoredRun, Taping, file_of};
use crate::{Exit, run};

/// Starts the new run and plays it to its end.
pub(super) fn run(
    wanted: &str,
    (acts_again, is_allowed): (bool, bool),
    printed: &OutputOptions,
    shared: &SharedOptions,
) -> Result<Exit, Refusal> {
    let (mut store, journal, origin) = super::open_run(Some(wanted), shared)?;
    let reach = shared.reach(&shared.current_project());
    if RunLock::is_held(&journal, &origin) {
        let holder = RunLock::holder(&journal, &origin);
        return Err(refusal!(Usage, "run {origin} is running in process {holder}; retry it when it has ended"));
    }
    let (own, _, _) = super::open_run(Some(&origin), shared)?;
    // The lock prevents another retry until the new run is stored.
    let stored = StoredRun::open(own, journal, origin.clone())?;
    if stored.end().is_none() {
        return Err(refusal!(Usage, "run {origin} has not ended; to continue it: flow runs resume {origin}{reach}"));
    }
    let failed = |why: String| refusal!(Failed, "run {origin} cannot be retried: {why}");
    let file = file_of(&stored.events).map_err(failed)?;
    let on = run::prepared(&file, printed, is_allowed, shared, Taping::None)?;
    let targets = OutputTargets::open(printed, reach)?;
    let begun = RunSession::retry(on, &mut store, &origin, &stored.events, acts_again)
        .inspect_err(|error| super::resume::show_changes(error, shared))?;
    let (session, retry) = match begun {
        Ok(begun) => begun,
        Err(why @ NothingToRetry::AllSucceeded) => {
            tell!("nothing to retry in run {origin}: {why}");
            return Ok(Exit::Ok);
        }
        Err(why @ (NothingToRetry::NoElements | NothingToRetry::Gone(_) | NothingToRetry::Refined(_))) => {
            return Err(refusal!(Usage, "run {origin} cannot be retried: {}; see flow runs fork", visible(&why.to_string())));
        }
    };
    drop(stored);
    if !shared.quiet {
        let elements = counted(retry.elements, "element", "elements");
        tell!("run {} runs {elements} of {} again, which did not succeed in run {origin}", session.id, visible(&retry.lists.join(", ")));
    }
    run::play(session, targets, shared)
}
