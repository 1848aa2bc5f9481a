//! A new run that repeats only the failed elements of another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::RunError;
use super::fork::{begun_with, unchanged};
use super::session::RunSession;
use super::surroundings::{Surroundings, start_of};
use crate::adapter::sqlite_store::SqliteStore;
use crate::engine::{NothingToRetry, RetryScope, events_of, retry_of};
use crate::event::{Event, RunOrigin, RunStart, VERSION};
use crate::port::{RunFilter, Store};

impl RunSession {
    /// Creates a new run that repeats only the failed elements of another one, with their idempotency keys. All facts it needs are in its
    /// own first events. `acts_again`: whether steps that acted and cannot be kept may act again. Also returns what is retried.
    ///
    /// # Errors
    /// Fails if the run was retried before, its files have changed, or the new one cannot be stored.
    pub fn retry(
        on: Surroundings,
        store: &mut SqliteStore,
        origin: &str,
        events: &[Event],
        acts_again: bool,
    ) -> Result<Result<(RunSession, RetryScope), NothingToRetry>, RunError> {
        let refused = |why: &str| RunError::CannotResume(vec![format!("run {origin} cannot be retried: {why}")]);
        let start = start_of(events).ok_or_else(|| refused("it has no beginning"))?;
        if start.conversation.is_some() || on.pipeline().conversation.is_some() {
            return Err(refused("it is part of a conversation; ask again there"));
        }
        match retried_by(store, origin, events)? {
            Some(LaterRetry::OfThis(later)) => {
                return Err(RunError::usage(format!(
                    "run {origin} was retried by run {later}; to retry what failed there: flow runs retry {later}"
                )));
            }
            Some(LaterRetry::OfGone(later)) if !acts_again => {
                return Err(RunError::usage(format!(
                    "run {origin} may have been retried: run {later} has its inputs, and retried a run that is no longer kept; to retry what failed there: flow runs retry {later}; if that was another run: flow runs retry {origin} --again"
                )));
            }
            Some(LaterRetry::OfGone(_)) | None => {}
        }
        let retry = match retry_of(&on.plan(), events) {
            Ok(retry) => retry,
            Err(NothingToRetry::Gone(id)) => {
                unchanged(&on, origin, start, store, &BTreeSet::from([id.clone()]))?;
                return Err(refused(&NothingToRetry::Gone(id).to_string()));
            }
            Err(nothing) => return Ok(Err(nothing)),
        };
        if let (false, [first, more @ ..]) = (acts_again, retry.acts_again.as_slice()) {
            let others = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            return Err(RunError::usage(format!(
                "run {origin} is not retried: \"{first}\"{others} acted in it, or may have, and would act again; if that is right: flow runs retry {origin} --again"
            )));
        }
        if on.pipeline().hash != start.hash {
            let kept: BTreeSet<String> = retry.taken.union(&retry.kept_lists).cloned().collect();
            unchanged(&on, origin, start, store, &kept)?;
        }
        let from = RunOrigin { run: origin.to_owned(), from: retry.lists.join(","), elements: Some(retry.elements) };
        let first = RunStart { origin: Some(from), ..start.clone() };
        let (time, run): (_, Arc<str>) = (on.ports.clock.now(), origin.into());
        let as_event = |happening| Event { v: VERSION, seq: 0, time, at_ms: 0, run: run.clone(), happening };
        let kept = retry.kept.iter().cloned().map(as_event).chain(events_of(&retry.taken, events)).collect::<Vec<_>>();
        let session = begun_with(on, first, origin, &kept)?;
        Ok(Ok((session, retry)))
    }
}

/// A later run that retried this run, or may have.
enum LaterRetry {
    /// It retried this run.
    OfThis(String),
    /// It has the inputs of this run and retried a deleted run, which may have been a retry of this one.
    OfGone(String),
}

/// Returns the run that retried this one, or may have.
fn retried_by(store: &mut SqliteStore, origin: &str, events: &[Event]) -> Result<Option<LaterRetry>, RunError> {
    let Some((first, start)) = events.first().zip(start_of(events)) else { return Ok(None) };
    let filter = RunFilter { pipeline: Some(start.pipeline.clone()), since: Some(first.time), ..RunFilter::default() };
    let mut of_gone = None;
    for later in store.list(&filter)?.runs {
        let first = store.first_event(&later.run)?;
        let Some(of_later) = first.as_ref().and_then(|first| start_of(std::slice::from_ref(first))) else { continue };
        let Some(from) = of_later.origin.as_ref().filter(|from| from.elements.is_some()) else { continue };
        if from.run == origin {
            return Ok(Some(LaterRetry::OfThis(later.run)));
        }
        if of_later.inputs == start.inputs && store.first_event(&from.run)?.is_none() {
            of_gone.get_or_insert(LaterRetry::OfGone(later.run));
        }
    }
    Ok(of_gone)
}
