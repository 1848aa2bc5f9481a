//! The summary of a run for a list.

use serde::Serialize;

use super::Record;
use crate::event::Usage;

/// The summary of a run for a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunBrief {
    /// Time from start to end; `None`: it has not ended.
    pub duration_ms: Option<u64>,
    /// Its channel.
    pub channel: Option<String>,
    /// The usage of the run.
    pub usage: Usage,
    /// The beginning of the first text among its inputs, on one line.
    pub question: Option<String>,
    /// A model endpoint rejected its key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_rejected: bool,
}

/// Maximum length of a question in a list, in characters.
const SHORT: usize = 200;

impl RunBrief {
    pub(super) fn from_record(record: &Record) -> RunBrief {
        let short = |text: &str| {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let rest = line.chars().nth(SHORT).map(|_| '…');
            line.chars().take(SHORT).chain(rest).collect()
        };
        let question = record.question().map(short);
        let key_rejected = !record.rejected_keys.is_empty();
        RunBrief { duration_ms: record.duration_ms(), channel: record.channel.clone(), usage: record.usage, question, key_rejected }
    }
}
