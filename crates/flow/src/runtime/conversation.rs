//! The conversation of a run: its turn, the earlier messages, and the messages stored from the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::adapter::encryption::Sealing;
use crate::adapter::run_lock::RunLock;
use crate::adapter::shared_store::{SharedConversations, SharedStores};
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::adapter::sqlite_store::SqliteStore;
use crate::driver::StopReceiver;
use crate::event::{Canceller, ConversationSoFar, Event};
use crate::journal::spoken;
use crate::model::{HistoryBounds, newest};
use crate::port::{Conversations, EarlierMessages, Store, StoreError};

/// Time between two checks of the queue while a run waits.
const PAUSE: Duration = Duration::from_millis(40);

/// Returns the file of conversations beside a journal.
pub fn conversations_file(journal: &Path) -> PathBuf {
    journal.with_file_name("conversations.db")
}

/// A run's place in its conversation. Dropping it gives the turn to the next run.
pub(crate) struct ConversationTurn {
    store: SharedConversations,
    of: String,
    run: String,
    journal: PathBuf,
    sealing: Sealing,
}

/// The result of waiting for a turn.
pub(super) enum Waited {
    /// It is this run's turn.
    Over,
    /// The end of the run was requested.
    Stopped(Canceller),
}

impl ConversationTurn {
    /// Puts a run at the end of the queue of its conversation.
    pub(super) fn arrive(
        stores: &Arc<SharedStores>,
        own: &ConversationSoFar,
        run: &str,
        journal: &Path,
        sealing: &Sealing,
    ) -> Result<ConversationTurn, StoreError> {
        let file = own.store.as_ref().map_or_else(|| conversations_file(journal), PathBuf::from);
        let mut store = SharedConversations::open(stores, &file, sealing, own.store.is_none())?;
        store.store().arrive(&own.of, run)?;
        Ok(ConversationTurn { store, of: own.of.clone(), run: run.to_owned(), journal: journal.to_path_buf(), sealing: sealing.clone() })
    }

    /// Waits until the earlier runs have ended; `waits` receives the run ahead and its process.
    pub(super) async fn wait(&mut self, stop: &mut StopReceiver, waits: &mut dyn FnMut(&str, &str)) -> Result<Waited, StoreError> {
        let mut told = None;
        while let Some(ahead) = self.store.store().ahead(&self.run)? {
            if told.as_ref() != Some(&ahead) {
                waits(&ahead, &self.store.store().process(&ahead));
                told = Some(ahead);
            }
            tokio::select! {
                Some(by) = stop.recv() => return Ok(Waited::Stopped(by)),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
        Ok(Waited::Over)
    }

    /// Gives up the turn while a person is asked.
    pub(super) fn pause(&mut self) -> Result<(), StoreError> {
        self.store.store().leave(&self.run)
    }

    /// Returns to the end of the queue after a pause, and waits there.
    pub(super) async fn come_back(&mut self, stop: &mut StopReceiver, waits: &mut dyn FnMut(&str, &str)) -> Result<Waited, StoreError> {
        self.store.store().arrive(&self.of, &self.run)?;
        self.wait(stop, waits).await
    }

    /// Loads earlier messages within these bounds, and the history of agents that see their own. The run now belongs to the conversation.
    pub(super) fn begin(
        &mut self,
        bounds: HistoryBounds,
        agents: BTreeMap<String, bool>,
        so_far: &mut ConversationSoFar,
    ) -> Result<(), StoreError> {
        self.catch_up()?;
        let EarlierMessages { mut messages, places, older, summary, personal } =
            self.store.store().newest(&self.of, bounds.most_read(), bounds.is_summarised)?;
        so_far.older = bounds.cut(&mut messages);
        let left_out = places.len() - messages.len();
        so_far.older_until = places[..left_out].last().copied().filter(|_| !so_far.older.is_empty());
        so_far.left_out = older + left_out as u64;
        so_far.messages = messages;
        so_far.summary = summary;
        so_far.personal = personal;
        for (agent, sees_own) in agents {
            if !sees_own {
                so_far.agents.insert(agent, vec![]);
                continue;
            }
            let EarlierMessages { messages: mut own, personal, .. } = self.store.store().newest_of(&self.of, &agent, bounds.keep)?;
            newest(&mut own, bounds.keep, bounds.max_tokens);
            so_far.agents.insert(agent, own);
            so_far.personal.extend(personal);
        }
        self.store.store().begin(&self.of, &self.run)
    }

    /// Resumes a run that already belongs to the conversation.
    pub(super) fn go_on(&mut self) -> Result<(), StoreError> {
        self.catch_up()?;
        self.store.store().go_on(&self.run)
    }

    fn catch_up(&mut self) -> Result<(), StoreError> {
        catch_up(self.store.store(), &self.journal, &self.sealing, Some(&self.of), Some(&self.run))
    }

    /// Stores the messages of a run that has ended.
    pub(super) fn end(mut self, events: &[Event]) -> Result<(), StoreError> {
        let messages = spoken(&self.run, events);
        if messages.is_empty() { Ok(()) } else { self.store.store().settle(&self.run, &messages) }
    }
}

/// Stores the messages of runs (of one conversation, or of all) whose process ended before it could. Call it before reading or removing
/// messages: otherwise they would reappear with the next run. `own`: a run of this process.
pub fn catch_up(
    store: &mut SqliteConversations,
    journal: &Path,
    sealing: &Sealing,
    of: Option<&str>,
    own: Option<&str>,
) -> Result<(), StoreError> {
    for run in store.unsettled(of)? {
        let is_own = own == Some(&*run);
        if !is_own && RunLock::is_held(journal, &run) {
            continue;
        }
        // An unreadable record must not block the conversation, and a missing one may be elsewhere.
        let events = SqliteStore::existing(journal, sealing).and_then(|mut store| store.events(&run)).unwrap_or_default();
        let messages = spoken(&run, &events);
        if !messages.is_empty() || !events.is_empty() && !is_own {
            store.settle(&run, &messages)?;
        }
    }
    Ok(())
}

impl Drop for ConversationTurn {
    fn drop(&mut self) {
        // If this fails, the end of the process removes the run from the queue.
        let _ = self.store.store().leave(&self.run);
    }
}
