//! Counters of a run: the budget reserved for its calls, and the places that its status depends on.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::Usage;

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

/// What a run used so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// Tokens and cost.
    pub usage: Usage,
    /// Number of step starts.
    pub(crate) steps_started: u64,
    /// Number of pipelines started, including the run's own.
    #[serde(default)]
    pub(crate) pipelines_begun: u64,
    /// Scripted replies used, by step; the reply to a call that was lost is used again.
    pub(crate) replies_used: BTreeMap<String, u64>,
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
