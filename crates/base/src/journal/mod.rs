//! Events ↔ storage, and what a record of a run is for people.
//!
//! How to add something to the record: derive it from the events in `record.rs`; never store it a second time.

mod content;
mod personal;
mod public;
mod record;

pub use personal::{PersonalMask, masked};
pub use public::public_line;
pub use record::{
    DecisionRecord, FailureRecord, Interaction, Phase, PlanRecord, PlannedRecord, QuestionRecord, Record, StepRecord, record,
};

use crate::event::Event;
use crate::port::{EventLog, StoreError};

/// The journal of a run that goes on. What it has taken waits here for its commit; only what it returns may be shown to anybody.
pub struct Journal {
    log: Box<dyn EventLog>,
    waiting: Vec<Event>,
    loss: Option<StoreError>,
}

impl Journal {
    /// A journal in a log.
    pub fn new(log: Box<dyn EventLog>) -> Journal {
        Journal { log, waiting: vec![], loss: None }
    }

    /// Takes events. `durable`: they, and all before them, are on disk when this is over. Returns the events that are on disk now and were
    /// not before, in order. A log that is gone ([`Journal::into_loss`]) takes nothing more, and the run goes on: no later process can.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn take(&mut self, events: Vec<Event>, durable: bool) -> Result<Vec<Event>, StoreError> {
        if self.loss.is_none() && !events.is_empty() {
            self.log.append(&events)?;
        }
        self.waiting.extend(events);
        if !durable || self.waiting.is_empty() {
            return Ok(vec![]);
        }
        if self.loss.is_none() {
            match self.log.sync().await {
                Err(error @ StoreError::Lost { .. }) => self.loss = Some(error),
                done => done?,
            }
        }
        Ok(std::mem::take(&mut self.waiting))
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
