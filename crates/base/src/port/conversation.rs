//! Where conversations are kept.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::StoreError;
use crate::model::PastMessage;

/// A conversation as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationSummary {
    /// Its id; `None`: it is encrypted, and the key is not at hand.
    pub id: Option<String>,
    /// How many messages it has, without those of agents.
    pub messages: u64,
    /// How many messages of their own agents have in it, by the name of the agent.
    pub agents: BTreeMap<String, u64>,
    /// When the last of them was said.
    pub last: Option<DateTime<Utc>>,
    /// The channel of the last.
    pub channel: Option<String>,
}

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptMessage {
    /// The run it was said in; of one that was added by hand, an id that no run has.
    pub run: String,
    /// What was said.
    pub said: PastMessage,
    /// Its text, masked as the record of its run is.
    pub masked: String,
    /// What it was beside its text, masked.
    pub content: Option<Value>,
    /// What it belongs to.
    pub thread: MessageThread,
}

impl KeptMessage {
    /// Its run failed, and nothing was sent: later runs do not see it.
    pub fn is_unanswered(&self) -> bool {
        self.thread == MessageThread::Unanswered
    }
}

/// What a message of a conversation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageThread {
    /// What the person and the runs said to each other.
    Talk,
    /// The same, of a run that failed and sent nothing.
    Unanswered,
    /// What its agent was asked, or answered.
    Agent,
    /// A summary of the talk.
    Summary {
        /// The place of the last message that it covers.
        until: u64,
    },
}

/// What a run may see of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlierMessages {
    /// The newest messages that were answered, oldest first.
    pub messages: Vec<PastMessage>,
    /// Their places in the store, which grow.
    pub places: Vec<u64>,
    /// How many older ones there are.
    pub older: u64,
    /// The summary of those before all of these.
    pub summary: Option<String>,
    /// Personal values in all of these, which their masked texts hide.
    pub personal: Vec<String>,
}

/// A run that was part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRun {
    /// Its id.
    pub run: String,
    /// Its record was found, and its removal has begun.
    pub is_found: bool,
}

/// Conversations that are kept. Messages of one are in the order in which their runs ended; what a call costs does not grow with them.
pub trait Conversations: Send {
    /// Puts a run at the end of the queue of a conversation, which is made if there is none.
    fn arrive(&mut self, conversation: &str, run: &str) -> Result<(), StoreError>;

    /// The run that this one waits for; `None`: it is its turn. Runs whose process has ended have left.
    fn ahead(&mut self, run: &str) -> Result<Option<String>, StoreError>;

    /// Takes a run from the queue. A conversation in which nothing was said, and nothing is, goes with it.
    fn leave(&mut self, run: &str) -> Result<(), StoreError>;

    /// The process that a run of a queue belongs to.
    fn process(&self, run: &str) -> String;

    /// The newest messages that were answered, at most so many. `is_summarised`: only those that the summary does not cover, with the summary.
    fn newest(&mut self, conversation: &str, most: u64, is_summarised: bool) -> Result<EarlierMessages, StoreError>;

    /// What an agent was asked and answered last, at most so many messages, oldest first.
    fn newest_of(&mut self, conversation: &str, agent: &str, most: u64) -> Result<EarlierMessages, StoreError>;

    /// Notes that a run is part of a conversation; what is said in it is kept when it ends.
    fn begin(&mut self, conversation: &str, run: &str) -> Result<(), StoreError>;

    /// Notes that a run that began before is continued: what is said in it is kept when it ends.
    fn go_on(&mut self, run: &str) -> Result<(), StoreError>;

    /// Runs of a conversation, or of all, that have begun, and whose messages nobody has kept or looked for since. In the order in which they began.
    fn unsettled(&mut self, conversation: Option<&str>) -> Result<Vec<String>, StoreError>;

    /// Keeps what was said in a run that has begun, in the place of what was kept of it, and takes it from the queue. Without messages: they were
    /// looked for, and it has not ended.
    fn settle(&mut self, run: &str, messages: &[KeptMessage]) -> Result<(), StoreError>;

    /// The conversations, that with the newest message first.
    fn list(&mut self) -> Result<Vec<ConversationSummary>, StoreError>;

    /// How many messages of their own agents have in a conversation, by the name of the agent.
    fn agents(&mut self, conversation: &str) -> Result<BTreeMap<String, u64>, StoreError>;

    /// All messages of a conversation, or of an agent in it; `None`: there is no conversation of that id.
    fn all(&mut self, conversation: &str, agent: Option<&str>) -> Result<Option<Vec<KeptMessage>>, StoreError>;

    /// Adds messages of the talk, or of agents, that no run said; the conversation is made if there is none.
    fn add(&mut self, conversation: &str, messages: &[KeptMessage]) -> Result<(), StoreError>;

    /// Removes the messages of a conversation, or of an agent in it; that its runs are part of it stays known. Gives how many there were; `None`: there
    /// is no conversation of that id.
    ///
    /// # Errors
    /// As [`Conversations::remove`].
    fn clear(&mut self, conversation: &str, agent: Option<&str>) -> Result<Option<u64>, StoreError>;

    /// The runs that were part of a conversation.
    fn runs(&mut self, conversation: &str) -> Result<Vec<ConversationRun>, StoreError>;

    /// Notes that the records of runs were found and are being removed: who repeats it does not miss them.
    fn finds(&mut self, runs: &[&str]) -> Result<(), StoreError>;

    /// Removes a conversation, if it is there, and erases what it, and those that were removed before, left in the file. Of one with `missing`
    /// runs its id stays, and that they are part of it.
    ///
    /// # Errors
    /// It was not removed; or it was, and something of it is left ([`StoreError::Unerased`]).
    fn remove(&mut self, conversation: &str, missing: &[&str]) -> Result<(), StoreError>;
}
