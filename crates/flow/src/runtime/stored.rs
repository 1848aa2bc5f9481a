//! A run with a record, to be resumed.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::conversation::{catch_up, conversations_file};
use super::surroundings::start_of;
use super::{ChangedFiles, PlayedRun, RunError, RunOutcome, RunQuestion, Runner, Taping, kept};
use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::adapter::sqlite_store::SqliteStore;
use crate::check::Checked;
use crate::diagnostic::visible;
use crate::event::{Canceller, Event, Happening, RunEnd, RunStatus, StepStatus, Usage, VERSION};
use crate::journal::{PersonalMask, record};
use crate::model::step_path;
use crate::port::{Clock, RunMatch, Store, StoreError};

/// A run with a record. It locks out other processes that would resume it.
pub struct StoredRun {
    /// Its id.
    pub id: String,
    /// All its events.
    pub events: Vec<Event>,
    pub(super) store: SqliteStore,
    /// The file of the journal.
    pub(super) file: PathBuf,
    pub(super) lock: RunLock,
}

impl StoredRun {
    /// Finds the run with that id in the storage of a runner. Errors: there is no record, or no such run in it.
    pub(super) fn find(runner: &Runner, id: &str) -> Result<StoredRun, RunError> {
        let none = || RunError::CannotResume(vec![format!("no record of run \"{}\"", visible(id))]);
        let file = runner.storage.journal(&runner.workflow.project)?.filter(|file| file.exists()).ok_or_else(none)?;
        let mut store = SqliteStore::existing(&file, &kept::of_new_runs(&runner.settled()?)?)?;
        match store.named(id)? {
            RunMatch::One(run) if run == id => Ok(StoredRun::open(store, file, run)?),
            _ => Err(none()),
        }
    }

    /// Opens a run of the store. Errors: another process has it, or its record is damaged.
    pub fn open(mut store: SqliteStore, file: PathBuf, id: String) -> Result<StoredRun, StoreError> {
        // Events lost from the end of the record would otherwise be repeated.
        store.check_pages()?;
        let lock = RunLock::take(&file, &id)?;
        let events = store.events(&id)?;
        Ok(StoredRun { id, events, store, file, lock })
    }

    /// Returns its end, if it cannot be resumed. A run that a signal or the client of a server ended can be resumed.
    pub fn end(&self) -> Option<&RunEnd> {
        let Happening::RunFinished(end) = &self.events.last()?.happening else { return None };
        asked_to_end(&self.events).is_none_or(|by| by == Canceller::Person).then_some(end)
    }

    /// Stores the messages of this run, and of others of its conversation, if their process ended before it could. Errors: the
    /// conversations cannot be read or written.
    pub fn keep_messages(&self) -> Result<(), StoreError> {
        let Some(own) = start_of(&self.events).and_then(|start| start.conversation.as_deref()) else { return Ok(()) };
        let file = own.store.as_ref().map_or_else(|| conversations_file(&self.file), PathBuf::from);
        if !file.exists() {
            return Ok(());
        }
        let sealing = self.store.sealing();
        catch_up(&mut SqliteConversations::existing(&file, sealing)?, &self.file, sealing, Some(&own.of), Some(&self.id))
    }

    /// Ends it for good without running anything: open steps are cancelled and open questions closed. Errors: the record cannot be written.
    pub fn cancel(&mut self) -> Result<(), StoreError> {
        let (Some(record), Some(last)) = (record(&self.events), self.events.last()) else { return Ok(()) };
        let (seq, at_ms, run) = (last.seq, last.at_ms, last.run.clone());
        let open = record.steps.iter().filter(|step| step.status.parse().is_ok_and(|status: StepStatus| !status.is_final()));
        let mut usage = Usage::default();
        self.events.iter().for_each(|event| {
            if let Happening::ModelReplied { usage: used, .. } = &event.happening {
                usage.add(used);
            }
        });
        let needs_review = !record.needs_review.is_empty();
        let end = RunEnd { status: RunStatus::Cancelled, outputs: Arc::new(Value::Null), failure: None, usage, needs_review };
        let what = std::iter::once(Happening::CancelRequested { by: Canceller::Person, waits_until_ms: None })
            .chain(open.map(|step| Happening::StepCancelled { step: step.step.as_str().into(), details: None }))
            .chain(std::iter::once(Happening::RunFinished(Box::new(end))));
        let time = SystemClock::new().now();
        let event = |(seq, happening)| Event { v: VERSION, seq, time, at_ms, run: run.clone(), happening };
        let new: Vec<Event> = (seq + 1..).zip(what).map(event).collect();
        self.store.add(&self.events, &new)?;
        self.events.extend(new);
        Ok(())
    }

    /// Returns the recordings to resume with. A run that was being recorded resumes without any: a partial recording is useless.
    pub fn taping(&self) -> Taping {
        match start_of(&self.events).and_then(|start| start.tape.as_ref()) {
            Some(tape) if tape.is_replay => Taping::Replay(PathBuf::from(&tape.folder)),
            Some(_) | None => Taping::None,
        }
    }

    /// Returns the events of open questions.
    pub(super) fn questions(&self) -> Vec<&Event> {
        let open = RunQuestion::open(&self.events);
        self.events.iter().filter(|event| open.iter().any(|asked| asked.number == event.seq)).collect()
    }

    /// Returns the pipeline's own steps that succeeded or were skipped.
    pub(super) fn ended_steps(&self) -> Vec<String> {
        let steps = record(&self.events).map(|record| record.steps).unwrap_or_default();
        let done = |status: &str| matches!(status.parse(), Ok(StepStatus::Succeeded | StepStatus::Skipped));
        steps.into_iter().filter(|step| done(&step.status) && step_path::outermost(&step.step) == step.step).map(|step| step.step).collect()
    }

    /// Returns its outcome so far.
    pub fn played(self) -> PlayedRun {
        let mut mask = PersonalMask::default();
        mask.take(&self.events);
        let end = self.end().cloned();
        PlayedRun::new(RunOutcome::from_events(&self.id, self.events, end), mask, Some(self.lock))
    }
}

/// Returns the files of a run that have changed since it started; `None`: none has.
pub fn changed_since(events: &[Event], now: &Checked) -> Option<ChangedFiles> {
    let (start, first) = (start_of(events)?, events.first()?);
    let is_same = now.loaded.program.pipelines.first().is_some_and(|pipeline| pipeline.hash == start.hash);
    (!is_same).then(|| ChangedFiles::between(&first.run, &start.files, &now.loaded.prints))
}

/// Returns who requested the end of a run since it was last resumed.
pub fn asked_to_end(events: &[Event]) -> Option<Canceller> {
    let since = events.iter().rev().take_while(|event| !matches!(event.happening, Happening::RunResumed { .. }));
    since.filter_map(|event| if let Happening::CancelRequested { by, .. } = event.happening { Some(by) } else { None }).next()
}
