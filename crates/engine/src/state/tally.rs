//! Counters of a run: the budget reserved for its calls, and the places that its status depends on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The most that calls may cost. It is reserved while they are open, and kept for a call that may have cost something and reported no cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SetAside {
    pub(crate) tokens: u64,
    /// US dollars; 0 for a model without a price.
    pub(crate) usd: f64,
}

impl SetAside {
    pub(crate) fn is_nothing(&self) -> bool {
        self.tokens == 0 && self.usd == 0.0
    }

    pub(crate) fn add(&mut self, other: &SetAside) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.usd += other.usd;
    }
}

/// Steps of a pipeline's own list, by place, in or below which something happened. Places that the refinement runs again are removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Places(BTreeSet<u32>);

impl Places {
    /// `None` stands for `on_failure`, `finally`, or the pipeline as a whole.
    pub(crate) fn add(&mut self, place: Option<u32>) {
        self.0.insert(place.unwrap_or(u32::MAX));
    }

    pub(super) fn forget(&mut self, place: u32) {
        self.0.remove(&place);
    }

    pub(crate) fn are_any(&self) -> bool {
        !self.0.is_empty()
    }
}
