//! Keys that model endpoints rejected.

use serde::{Deserialize, Serialize};

use crate::event::{Failure, FailureKind};

/// A key that an endpoint rejected (HTTP 401, 403).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedKey {
    /// The agent that called the model.
    pub agent: String,
    /// The name of the model in the file.
    pub model: String,
    /// Where the key is set, which endpoint rejected it, and why. It never contains the key.
    pub message: String,
    /// How many calls were rejected.
    pub calls: usize,
}

impl RejectedKey {
    /// Counts the failure of a call if the key caused it.
    pub(super) fn count(keys: &mut Vec<RejectedKey>, agent: &str, model: &str, failure: &Failure) {
        if failure.kind != FailureKind::Auth {
            return;
        }
        match keys.iter_mut().find(|key| key.agent == agent && key.model == model) {
            Some(key) => {
                key.calls += 1;
                key.message.clone_from(&failure.message);
            }
            None => keys.push(RejectedKey { agent: agent.to_owned(), model: model.to_owned(), message: failure.message.clone(), calls: 1 }),
        }
    }
}
