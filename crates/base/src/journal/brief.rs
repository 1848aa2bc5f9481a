//! What a list says of a run.

use serde::Serialize;

use super::Record;
use crate::event::Usage;

/// A run in a few words, for a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunBrief {
    /// From its beginning to its end; `None`: it is not over.
    pub duration_ms: Option<u64>,
    /// Its channel.
    pub channel: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// The beginning of the first text among its inputs, on one line.
    pub question: Option<String>,
    /// A model endpoint rejected its key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_rejected: bool,
}

/// Most characters of a question in a list.
const SHORT: usize = 200;

impl RunBrief {
    pub(super) fn of(record: &Record) -> RunBrief {
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
