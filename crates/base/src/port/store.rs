//! Where the events of runs are kept.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// What went wrong with the store: its `file`, the id of the `run`, the number `seq` of the event, the id of the `key`.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the others are explained above")]
pub enum StoreError {
    /// The file cannot be opened, read or written: no room, no right, a broken disk.
    #[error("the journal {file} cannot be used: {message}")]
    Unusable {
        file: String,
        /// What the system says.
        message: String,
    },
    /// A row is not what was written.
    #[error("the journal {file} is damaged: row {seq} of run {run} does not match its checksum")]
    Damaged { file: String, run: String, seq: u64 },
    /// The end of a run is not the one that was written.
    #[error("the journal {file} is damaged: events of run {run} are missing after row {seq}")]
    Cut {
        file: String,
        run: String,
        /// The number of the last event that is there; 0: none is.
        seq: u64,
    },
    /// A newer program wrote this run.
    #[error("run {run} in the journal {file} was written by a newer version of flow (row {seq})")]
    Newer { file: String, run: String, seq: u64 },
    /// The audit beside the journal cannot be written; without it nothing may happen.
    #[error("the audit log {file} cannot be written: {message}; nothing is done without it")]
    Audit {
        file: String,
        /// What the system says, or what is wrong with the file.
        message: String,
    },
    /// Nothing is in it: nothing was ever kept, or it was emptied.
    #[error("the journal {file} is empty: nothing was ever kept in it, or its runs are lost; the next flow run begins a new one")]
    Empty { file: String },
    /// It is no longer the file that was opened.
    #[error("the journal {file} {what} while a run wrote to it; that run is not kept")]
    Lost {
        file: String,
        /// What became of it: `was removed`.
        what: String,
    },
    /// A run is encrypted, and there is no key.
    #[error("run {run} is encrypted with the key {key}; set FLOW_JOURNAL_KEY to it, or journal.key_file in your own settings")]
    NoKey { run: String, key: String },
    /// A run is encrypted with another key.
    #[error("run {run} is encrypted with the key {key}, and FLOW_JOURNAL_KEY or journal.key_file has another one ({other})")]
    OtherKey {
        run: String,
        key: String,
        /// The id of the one at hand.
        other: String,
    },
    /// Runs are removed, and their texts are still in the file, or in the log that SQLite keeps beside it.
    #[error(
        "the runs are removed, but another process is reading {file}: their texts stay in it until then; when that process has \
         ended, flow runs prune erases them"
    )]
    Unerased { file: String },
    /// The same of a store of conversations, or it is none of ours.
    #[error("the conversation store {file} {message}")]
    Conversations {
        file: String,
        /// What is wrong with it: `is empty`.
        message: String,
    },
    /// Another process holds it.
    #[error("the journal {file} is locked by another process")]
    Locked { file: String },
    /// Another process runs this run.
    #[error("run {run} is being run by process {process}")]
    Held {
        run: String,
        /// The process's number, or `?`.
        process: String,
    },
}

impl StoreError {
    /// A file that cannot be used, and why.
    pub fn unusable(file: &Path, why: impl ToString) -> StoreError {
        StoreError::Unusable { file: file.display().to_string(), message: why.to_string() }
    }
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
    /// Its status; of one that is not over `running`, `waiting` or `killed`.
    pub state: String,
    /// Whether a gate of it passed only because its judge could not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
    /// How many events it has.
    pub events: u64,
}

/// Which runs of a store are meant. What is not set holds for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The name of the pipeline.
    pub pipeline: Option<String>,
    /// Started at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Started before this time.
    pub before: Option<DateTime<Utc>>,
    /// The [`RunSummary::state`].
    pub state: Option<String>,
    /// Most runs.
    pub limit: Option<usize>,
    /// Runs that a process has now; without them, one that is not over counts as `killed`.
    pub running: Vec<String>,
}

/// Runs of a list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The newest that are meant.
    pub runs: Vec<RunSummary>,
    /// How many more there are, counted up to [`MOST_COUNTED`].
    pub more: usize,
}

/// What an id, or the beginning of one, means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunMatch {
    /// No run.
    None,
    /// This run.
    One(String),
    /// Several: so many, counted up to [`MOST_COUNTED`].
    Several(usize),
}

/// Runs are counted up to here: what one command costs does not grow with the store.
pub const MOST_COUNTED: usize = 1_000;

/// Runs that are kept.
pub trait Store: Send {
    /// The runs that a filter means, newest first.
    fn list(&mut self, filter: &RunFilter) -> Result<RunPage, StoreError>;

    /// The run with this id, or the only one whose id begins so.
    fn named(&mut self, beginning: &str) -> Result<RunMatch, StoreError>;

    /// How many characters of an id tell it from all others.
    fn least_of_id(&mut self, run: &str) -> Result<usize, StoreError>;

    /// All events of a run, in order, each checked against its checksum.
    fn events(&mut self, run: &str) -> Result<Vec<Event>, StoreError>;

    /// Removes runs, and erases what they, and those that were removed before, left in the file.
    ///
    /// # Errors
    /// None of them was removed; or all were, and something of them is left ([`StoreError::Unerased`]).
    fn remove(&mut self, runs: &[&str]) -> Result<(), StoreError>;
}

/// Whether events are on disk; known later where others share the commit.
pub type Synced = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Where a run that continues puts its events. What `append` has taken counts only after `sync`.
pub trait EventLog: Send {
    /// Takes events of one run.
    fn append(&mut self, events: &[Event]) -> Result<(), StoreError>;

    /// Makes everything taken so far survive a killed process and, on a disk that honours fsync, a power cut.
    fn sync(&mut self) -> Synced;
}
