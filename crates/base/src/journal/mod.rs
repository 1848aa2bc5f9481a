//! Events ↔ storage, and what a record of a run is for people.
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

/// The journal of a run that continues. What it has taken waits here for its commit; only what a commit returns may be shown to anybody.
pub struct Journal {
    log: Box<dyn EventLog>,
    waiting: Vec<Event>,
    /// What is under way, and how many of those that wait it makes durable.
    commit: Option<(usize, Synced)>,
    loss: Option<StoreError>,
}

impl Journal {
    /// A journal in a log.
    pub fn new(log: Box<dyn EventLog>) -> Journal {
        Journal { log, waiting: vec![], commit: None, loss: None }
    }

    /// Takes events. If the log is gone ([`Journal::into_loss`]), the run continues, and no later process can; the log still gets its events, since
    /// the audit beside it must have them.
    ///
    /// # Errors
    /// The log cannot take them.
    pub fn take(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        if !events.is_empty() {
            self.log.append(&events)?;
        }
        self.waiting.extend(events);
        Ok(())
    }

    /// Begins to make durable what was taken so far; `false`: a commit is under way already, and what came after its begin must wait.
    pub fn commit(&mut self) -> bool {
        if self.commit.is_some() {
            return false;
        }
        let synced = if self.is_dirty() { self.log.sync() } else { Box::pin(std::future::ready(Ok(()))) };
        self.commit = Some((self.waiting.len(), synced));
        true
    }

    /// Waits for the commit that is under way, or for ever. Returns the events that are on disk now and were not before, in order. Nothing is lost
    /// when it is given up and called again.
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

    /// What became of the log while the run lasted; the run is not kept then.
    pub fn into_loss(self) -> Option<StoreError> {
        self.loss
    }

    /// What was taken and could not be made durable.
    pub fn unkept(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.waiting)
    }

    /// Whether something was taken that is not yet durable.
    pub fn is_dirty(&self) -> bool {
        !self.waiting.is_empty()
    }
}
