//! Conversion between events and storage, and the record of a run for people.
//!
//! How to add something to the record: derive it from the events in `record.rs`; never store it a second time.

mod agents;
mod asked;
mod audit;
mod audit_chain;
mod audit_end;
mod batches;
mod brief;
mod content;
mod course;
mod dialogues;
mod failures;
mod personal;
mod record;
mod rejected;
mod spoken;
mod tasks;

pub use agents::{AgentRecord, AgentStatus};
pub use asked::{AnswerRecord, QuestionRecord, answer_until, ends_question, is_ending_after};
pub use audit::{AuditAction, AuditContext, AuditKind, AuditRecord, AuditResult, AuditTrail, AuditUsage};
pub use audit_chain::{AuditCheck, AuditDamage, AuditFault, AuditHead};
pub use audit_end::{AuditEnd, AuditEnding, AuditNote, EndSearch};
pub use batches::{BatchRecord, FailedElements, OpenElement, reason};
pub use brief::RunBrief;
pub use content::{public_line, public_value};
pub use course::{ConversationRecord, SentRecord, ToolCallRecord, TryRecord};
pub use dialogues::{DialogueFlow, DialogueRecord, DialogueStatus, TurnRecord};
pub use failures::FailureRecord;
pub use personal::{PersonalMask, RunMask, brief, masked};
pub use record::{DecisionRecord, Interaction, Phase, PlanRecord, PlannedRecord, Record, StepRecord, record};
pub use rejected::RejectedKey;
pub use spoken::{added, spoken};
pub use tasks::{TaskRecord, TaskState, TaskTryRecord};

use crate::event::Event;
use crate::port::{EventLog, StoreError, Synced};

/// The journal of a run. Added events wait here for their commit; only events that a commit returned may be shown.
pub struct Journal {
    log: Box<dyn EventLog>,
    waiting: Vec<Event>,
    /// The commit in progress, and how many of the waiting events it makes durable.
    commit: Option<(usize, Synced)>,
    loss: Option<StoreError>,
}

impl Journal {
    /// Creates a journal that writes to a log.
    pub fn new(log: Box<dyn EventLog>) -> Journal {
        Journal { log, waiting: vec![], commit: None, loss: None }
    }

    /// Adds events. If the log is lost ([`Journal::into_loss`]), the run continues but cannot be resumed later. The log still receives its
    /// events, because the audit beside it needs them.
    ///
    /// # Errors
    /// The log rejects the events.
    pub fn take(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        if !events.is_empty() {
            self.log.append(&events)?;
        }
        self.waiting.extend(events);
        Ok(())
    }

    /// Starts to make the added events durable. Returns `false` if a commit is already in progress; later events must then wait.
    pub fn commit(&mut self) -> bool {
        if self.commit.is_some() {
            return false;
        }
        let synced = if self.is_dirty() { self.log.sync() } else { Box::pin(std::future::ready(Ok(()))) };
        self.commit = Some((self.waiting.len(), synced));
        true
    }

    /// Waits for the commit in progress, or forever if there is none. Returns the events that it made durable, in order. Dropping the
    /// future and calling again loses nothing.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn committed(&mut self) -> Result<Vec<Event>, StoreError> {
        let Some((count, synced)) = &mut self.commit else { return std::future::pending().await };
        let (done, count) = (synced.await, *count);
        self.commit = None;
        match done {
            Err(error @ StoreError::Lost { .. }) => drop(self.loss.get_or_insert(error)),
            done => done?,
        }
        Ok(self.waiting.drain(..count).collect())
    }

    /// Returns why the log was lost during the run, if it was; the run is then not stored.
    pub fn into_loss(self) -> Option<StoreError> {
        self.loss
    }

    /// Removes and returns the events that could not be made durable.
    pub fn unkept(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.waiting)
    }

    /// Whether some added events are not durable yet.
    pub fn is_dirty(&self) -> bool {
        !self.waiting.is_empty()
    }
}
