//! Events ↔ storage, and what a record of a run is for people.
//!
//! How to add something to the record: derive it from the events in `record.rs`; never store it a second time.

mod personal;
mod public;
mod record;

pub use personal::{Mask, masked};
pub use public::public_line;
pub use record::{DecisionRecord, FailureRecord, Interaction, Phase, PlanRecord, PlannedRecord, Record, StepRecord, record};

use crate::event::Event;
use crate::port::{Store, StoreError};

/// The journal of a run that goes on.
pub struct Journal {
    store: Box<dyn Store>,
    is_dirty: bool,
}

impl Journal {
    /// A journal in a store.
    pub fn new(store: Box<dyn Store>) -> Journal {
        Journal { store, is_dirty: false }
    }

    /// Takes events. `durable`: they, and all before them, are on disk when this returns.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn take(&mut self, events: &[Event], durable: bool) -> Result<(), StoreError> {
        if !events.is_empty() {
            self.store.append(events)?;
            self.is_dirty = true;
        }
        if durable && self.is_dirty {
            self.store.sync()?;
            self.is_dirty = false;
        }
        Ok(())
    }

    /// Whether something was taken that is not yet durable.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// The store, for reading.
    pub fn store(&mut self) -> &mut dyn Store {
        &mut *self.store
    }
}
