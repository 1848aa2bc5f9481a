//! A conversation: what runs with the same person, or about the same thing, remember of each other.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Filling, Text};
use crate::source::Span;

/// `conversation` of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Where the section stands.
    pub span: Span,
    /// Which conversation it is.
    pub id: Filling,
    /// What the person typed.
    pub message: Text,
    /// Most messages that a run sees of it.
    pub keep: u64,
    /// Most tokens that they may be, counted as for `limits.max_tokens`; `None`: no bound.
    pub max_tokens: Option<u64>,
    /// The file it is kept in; `None`: beside the runs of the project.
    pub store: Option<PathBuf>,
}

/// Who speaks in a message.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr, strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MessageRole {
    /// Instructions.
    System,
    /// Instructions of whoever built on the model.
    Developer,
    /// The prompt.
    #[default]
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// A message of a conversation, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PastMessage {
    /// Who spoke.
    pub role: MessageRole,
    /// What was said.
    pub text: String,
    /// The channel it came or went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The id of the person of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it was said; `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<DateTime<Utc>>,
    /// What it was beside its text: files that came with it, by name; the parts of a text that was sent in several; an output that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

/// Tokens that a message takes beside its text.
const AROUND: usize = 16;

impl PastMessage {
    /// Most tokens that it is: no token is shorter than a byte.
    fn tokens(&self) -> u64 {
        (self.text.len() + AROUND) as u64
    }

    /// One line: who spoke, and what.
    pub fn line(&self) -> String {
        let role: &str = self.role.into();
        format!("{role}: {}", self.text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// The newest of the messages, in their order, within both bounds; where older ones were left out, they begin with one that no model said, since no
/// provider takes an answer to nothing. `before`: how many older ones are not among them. Gives how many were left out in all.
pub fn newest(messages: &mut Vec<PastMessage>, before: u64, keep: u64, max_tokens: Option<u64>) -> u64 {
    let mut left = max_tokens.unwrap_or(u64::MAX);
    let fits = messages.iter().rev().take(usize::try_from(keep).unwrap_or(usize::MAX)).take_while(|message| {
        let rest = left.checked_sub(message.tokens());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let mut from = messages.len() - fits.count();
    if before > 0 || from > 0 {
        from += messages[from..].iter().take_while(|message| matches!(message.role, MessageRole::Assistant | MessageRole::Tool)).count();
    }
    messages.drain(..from);
    before + from as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: MessageRole, text: &str) -> PastMessage {
        PastMessage { role, text: text.to_owned(), ..PastMessage::default() }
    }

    #[test]
    fn the_newest_within_both_bounds_are_kept_and_an_answer_never_comes_first() {
        use MessageRole::{Assistant, User};
        let all = [said(User, "a"), said(Assistant, "b"), said(User, "c"), said(Assistant, "d")];
        let kept = |before, keep, tokens| {
            let mut messages = all.to_vec();
            let left_out = newest(&mut messages, before, keep, tokens);
            (messages.iter().map(|message| message.text.as_str()).collect::<String>(), left_out)
        };
        assert_eq!(kept(0, 50, None), ("abcd".into(), 0));
        assert_eq!(kept(0, 3, None), ("cd".into(), 2));
        assert_eq!(kept(7, 4, None), ("abcd".into(), 7));
        assert_eq!(kept(0, 50, Some(3 * 17)), ("cd".into(), 2));
        assert_eq!(kept(0, 50, Some(2 * 17 - 1)), (String::new(), 4));
    }
}
