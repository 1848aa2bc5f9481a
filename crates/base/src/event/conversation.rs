//! What the first event of a run holds of its conversation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::PastMessage;

/// What a run knows of its conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ConversationSoFar {
    /// Its id. In JSON no `id`, since that may be a phone number, and ids are never masked.
    pub of: String,
    /// What the person typed now.
    pub message: PastMessage,
    /// What was said before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PastMessage>,
    /// How many older messages were left out.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub left_out: u64,
    /// Older messages that this run sums up, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<PastMessage>,
    /// The place of the last of them in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_until: Option<u64>,
    /// The summary of what was said before all of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What agents that see their own history were asked before, and answered, by the name of the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Vec<PastMessage>>,
    /// Personal values in all of these, as the runs that said them knew them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personal: Vec<String>,
    /// The file that it is kept in; `None`: in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl ConversationSoFar {
    /// Whether it holds texts from before the run.
    pub fn has_earlier(&self) -> bool {
        !self.messages.is_empty() || !self.older.is_empty() || self.summary.is_some() || self.agents.values().any(|own| !own.is_empty())
    }
}
