//! The conversation in the first event of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::PastMessage;

/// The conversation as a run knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ConversationSoFar {
    /// Its id. The JSON key is not `id`: the value may be a phone number, and fields named `id` are never masked.
    pub of: String,
    /// The person's new message.
    pub message: PastMessage,
    /// Earlier messages, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PastMessage>,
    /// How many older messages were left out.
    #[serde(default, skip_serializing_if = "crate::model::is_default")]
    pub left_out: u64,
    /// Older messages that this run summarizes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<PastMessage>,
    /// The place of the last of these older messages in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_until: Option<u64>,
    /// The summary of the messages before all of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Earlier prompts and answers of agents with their own history, by the name of the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Vec<PastMessage>>,
    /// Personal values in all of these messages, as learned by the runs that made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personal: Vec<String>,
    /// The file that stores the conversation; `None`: it is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl ConversationSoFar {
    /// Whether it holds texts from before the run.
    pub fn has_earlier(&self) -> bool {
        !self.messages.is_empty() || !self.older.is_empty() || self.summary.is_some() || self.agents.values().any(|own| !own.is_empty())
    }
}
