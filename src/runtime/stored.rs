//! A run of which there is a record, to be gone on with.

use std::path::PathBuf;

use super::surroundings::start_of;
use super::{PlayedRun, RunError, RunOutcome, RunQuestion, Runner, Taping, kept};
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::visible;
use crate::event::{Canceller, Event, Happening, RunEnd, RunStart};
use crate::journal::{PersonalMask, record};
use crate::port::{RunMatch, Store, StoreError};

/// A run of which there is a record. No other process continues with it meanwhile.
pub(crate) struct StoredRun {
    pub(crate) id: String,
    pub(crate) events: Vec<Event>,
    pub(super) store: SqliteStore,
    /// The file of the journal.
    pub(super) file: PathBuf,
    pub(super) lock: RunLock,
}

impl StoredRun {
    /// The run of that id in the storage of a runner. Errors: there is no record, or no such run in it.
    pub(super) fn of(runner: &Runner, id: &str) -> Result<StoredRun, RunError> {
        let none = || RunError::CannotResume(vec![format!("there is no record of a run \"{}\"", visible(id))]);
        let file = runner.storage.journal(&runner.workflow.project)?.filter(|file| file.exists()).ok_or_else(none)?;
        let mut store = SqliteStore::existing(&file, &kept::of_new_runs(&runner.settled()?)?)?;
        match store.named(id)? {
            RunMatch::One(run) if run == id => Ok(StoredRun::open(store, file, run)?),
            _ => Err(none()),
        }
    }

    /// A run that the store has. Errors: another process continues with it, or its record is damaged.
    pub(crate) fn open(mut store: SqliteStore, file: PathBuf, id: String) -> Result<StoredRun, StoreError> {
        // What was lost from the end of a run would be done again.
        store.check_pages()?;
        let lock = RunLock::take(&file, &id)?;
        let events = store.events(&id)?;
        Ok(StoredRun { id, events, store, file, lock })
    }

    /// How it began. Errors: its record does not say that.
    pub(crate) fn start(&self) -> Result<&RunStart, RunError> {
        let start = start_of(&self.events).filter(|start| !start.file.is_empty());
        start.ok_or_else(|| RunError::CannotResume(vec![format!("run {} does not say which file it runs", self.id)]))
    }

    /// Its end, if it cannot continue any more. One that a signal, or the client of a server, ended can.
    pub(crate) fn end(&self) -> Option<&RunEnd> {
        let Happening::RunFinished(end) = &self.events.last()?.happening else { return None };
        let asked = self.events.iter().rev().find_map(|event| match &event.happening {
            Happening::CancelRequested { by, .. } => Some(*by != Canceller::Person),
            Happening::RunResumed { .. } => Some(false),
            _ => None,
        });
        (asked != Some(true)).then_some(end)
    }

    /// The recordings that it continues with. Errors: it was being recorded.
    pub(crate) fn taping(&self) -> Result<Taping, RunError> {
        match &self.start()?.tape {
            None => Ok(Taping::None),
            Some(tape) if tape.is_replay => Ok(Taping::Replay(PathBuf::from(&tape.folder))),
            Some(_) => {
                let why = format!("run {} was being recorded, and half a recording is none: run it again with --record", self.id);
                Err(RunError::CannotResume(vec![why]))
            }
        }
    }

    /// The events that ask what is not decided yet.
    pub(super) fn questions(&self) -> Vec<&Event> {
        let open = record(&self.events).map(|record| record.questions).unwrap_or_default();
        open.iter().filter_map(|asked| RunQuestion::event(&asked.step, &self.events)).map(|(event, _)| event).collect()
    }

    /// What became of it, as far as it went.
    pub(crate) fn played(self) -> PlayedRun {
        let mut mask = PersonalMask::default();
        mask.take(&self.events);
        let end = self.end().cloned();
        PlayedRun::new(RunOutcome::of(&self.id, self.events, end), mask, Some(self.lock))
    }
}
