//! Events ↔ storage, and what a record of a run is for people.
//!
//! How to add something to the record: derive it from the events in `record.rs`; never store it a second time.

mod content;
mod personal;
mod public;
mod record;

pub use personal::{Mask, masked};
pub use public::public_line;
pub use record::{DecisionRecord, FailureRecord, Interaction, Phase, PlanRecord, PlannedRecord, Record, StepRecord, record};

use crate::event::Event;
use crate::port::{EventLog, StoreError};

/// The journal of a run that goes on.
pub struct Journal {
    log: Box<dyn EventLog>,
    is_dirty: bool,
}

impl Journal {
    /// A journal in a log.
    pub fn new(log: Box<dyn EventLog>) -> Journal {
        Journal { log, is_dirty: false }
    }

    /// Takes events. `durable`: they, and all before them, are on disk when this is over.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn take(&mut self, events: &[Event], durable: bool) -> Result<(), StoreError> {
        if !events.is_empty() {
            self.log.append(events)?;
            self.is_dirty = true;
        }
        if durable && self.is_dirty {
            self.log.sync().await?;
            self.is_dirty = false;
        }
        Ok(())
    }

    /// Whether something was taken that is not yet durable.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }
}
