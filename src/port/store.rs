//! Where the events of runs are kept.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::event::Event;

/// What went wrong with the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, read or written: no room, no right, a broken disk.
    #[error("the journal {file} cannot be used: {message}")]
    Unusable {
        /// The store's file.
        file: String,
        /// What the system says.
        message: String,
    },
    /// A row is not what was written.
    #[error("the journal {file} is damaged: row {seq} of run {run} does not match its checksum")]
    Damaged {
        /// The store's file.
        file: String,
        /// The run.
        run: String,
        /// The event's number.
        seq: u64,
    },
    /// The end of a run is not the one that was written.
    #[error("the journal {file} is damaged: events of run {run} are missing after row {seq}")]
    Cut {
        /// The store's file.
        file: String,
        /// The run.
        run: String,
        /// The number of the last event that is there; 0: none is.
        seq: u64,
    },
    /// A newer program wrote this run.
    #[error("run {run} in the journal {file} was written by a newer version of flow (row {seq})")]
    Newer {
        /// The store's file.
        file: String,
        /// The run.
        run: String,
        /// The event's number.
        seq: u64,
    },
    /// Another process holds it.
    #[error("the journal {file} is locked by another process")]
    Locked {
        /// The store's file.
        file: String,
    },
    /// Another process runs this run.
    #[error("run {run} is being run by process {process}")]
    Held {
        /// The run.
        run: String,
        /// The process's number, or `?`.
        process: String,
    },
}

/// A run as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its id.
    pub run: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// Its status; `None`: not over.
    pub status: Option<String>,
    /// How many events it has.
    pub events: u64,
}

/// Runs that are kept.
pub trait Store: Send {
    /// All runs, newest first.
    fn runs(&mut self) -> Result<Vec<RunSummary>, StoreError>;

    /// All events of a run, in order, each checked against its checksum.
    fn events(&mut self, run: &str) -> Result<Vec<Event>, StoreError>;

    /// Removes a run. False: there is none.
    fn remove(&mut self, run: &str) -> Result<bool, StoreError>;
}

/// Whether events are on disk; known later where others share the commit.
pub type Synced = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Where a run that goes on puts its events. What `append` has taken counts only after `sync`.
pub trait EventLog: Send {
    /// Takes events of one run.
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError>;

    /// Makes everything taken so far survive a killed process and, on a disk that honours fsync, a power cut.
    fn sync(&mut self) -> Synced;
}
