//! A conversation: what runs with the same person, or about the same thing, remember of each other.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Filling, Text};
use crate::source::{Span, Spanned};

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
    /// The agent that sums up what is left out.
    pub summary: Option<Spanned<String>>,
    /// The file it is kept in; `None`: beside the runs of the project.
    pub store: Option<PathBuf>,
}

/// What an agent sees of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// Nothing.
    #[default]
    Nothing,
    /// What the person and the runs said to each other: `history: true`.
    Conversation,
    /// What the agent itself was asked before, and answered: `history: own`.
    Own,
    /// Nothing, but what it is asked and answers is kept, as under `own`: `history: kept`.
    Kept,
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
    /// The agent that wrote it, or that was asked it; `None`: it is what the person and the runs said to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
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

/// The id of the step that sums up what is left out of a conversation.
pub const SUMMARY_STEP: &str = "conversation_summary";

/// Most bytes of a summary: what its bound in tokens allows in most languages. A model that ignores the bound makes none.
pub const LONGEST_SUMMARY: usize = 16 << 10;

/// Tokens that a message takes beside its text.
const AROUND: usize = 16;

/// The part of `max_tokens` that one message may be of what is summed up.
const LONG_PART: u64 = 4;

impl PastMessage {
    /// Most tokens that it is: no token is shorter than a byte.
    fn tokens(&self) -> u64 {
        (self.text.len() + AROUND) as u64
    }

    /// Leaves the beginning of a text that is longer.
    fn shorten(&mut self, most: u64) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if self.text.len() > most {
            self.text.truncate(self.text.floor_char_boundary(most));
            self.text.push('…');
        }
    }

    /// One line: who spoke, and what.
    pub fn line(&self) -> String {
        let role: &str = self.role.into();
        format!("{role}: {}", self.text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// How much of a conversation a run sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Most messages.
    pub keep: u64,
    /// Most tokens of them, counted as for `limits.max_tokens`; `None`: no bound.
    pub max_tokens: Option<u64>,
    /// Whether an agent sums up what is left out.
    pub is_summarised: bool,
}

impl HistoryBounds {
    /// Of a pipeline.
    pub fn from_conversation(own: &Conversation) -> HistoryBounds {
        HistoryBounds { keep: own.keep, max_tokens: own.max_tokens, is_summarised: own.summary.is_some() }
    }

    /// Most messages that must be read: where older ones are summed up, as many of those, too.
    pub fn most_read(self) -> u64 {
        if self.is_summarised { self.keep.saturating_mul(2) } else { self.keep }
    }

    /// Leaves the newest of the messages, and gives the older ones that are to be summed up. Then only half of what the bounds allow is left, so that
    /// not every run sums up.
    pub fn cut(self, messages: &mut Vec<PastMessage>) -> Vec<PastMessage> {
        let mut older = newest(messages, self.keep, self.max_tokens);
        if !self.is_summarised || older.is_empty() {
            return vec![];
        }
        older.extend(newest(messages, self.keep / 2, self.max_tokens.map(|most| most / 2)));
        // One long message must not leave the others out of the summary.
        if let Some(most) = self.max_tokens {
            older.iter_mut().for_each(|message| message.shorten(most / LONG_PART));
        }
        newest(&mut older, self.keep, self.max_tokens);
        older
    }
}

/// Leaves the newest of the messages, in their order, within both bounds; they begin with one that no model said, since no provider takes an answer to
/// nothing. Gives the others.
pub fn newest(messages: &mut Vec<PastMessage>, keep: u64, max_tokens: Option<u64>) -> Vec<PastMessage> {
    let mut left = max_tokens.unwrap_or(u64::MAX);
    let fits = messages.iter().rev().take(usize::try_from(keep).unwrap_or(usize::MAX)).take_while(|message| {
        let rest = left.checked_sub(message.tokens());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let mut from = messages.len() - fits.count();
    from += messages[from..].iter().take_while(|message| matches!(message.role, MessageRole::Assistant | MessageRole::Tool)).count();
    messages.drain(..from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: MessageRole, text: &str) -> PastMessage {
        PastMessage { role, text: text.to_owned(), ..PastMessage::default() }
    }

    fn joined(messages: &[PastMessage]) -> String {
        messages.iter().map(|message| message.text.as_str()).collect()
    }

    #[test]
    fn the_newest_within_both_bounds_are_kept_and_an_answer_never_comes_first() {
        use MessageRole::{Assistant, User};
        let all = [said(User, "a"), said(Assistant, "b"), said(User, "c"), said(Assistant, "d")];
        let kept = |keep, tokens| {
            let mut messages = all.to_vec();
            let left_out = newest(&mut messages, keep, tokens);
            (joined(&messages), joined(&left_out))
        };
        let both = |kept: &str, left_out: &str| (kept.to_owned(), left_out.to_owned());
        assert_eq!(kept(50, None), both("abcd", ""));
        assert_eq!(kept(3, None), both("cd", "ab"));
        assert_eq!(kept(50, Some(3 * 17)), both("cd", "ab"));
        assert_eq!(kept(50, Some(2 * 17 - 1)), both("", "abcd"));
        let mut welcome = vec![said(Assistant, "Hello!"), said(User, "a")];
        assert_eq!((joined(&newest(&mut welcome, 50, None)), joined(&welcome)), both("Hello!", "a"));
    }

    #[test]
    fn what_is_summed_up_is_bounded_and_leaves_room_for_the_next_runs() {
        let talk: Vec<PastMessage> = ('a'..='j')
            .enumerate()
            .map(|(at, text)| said(if at % 2 == 0 { MessageRole::User } else { MessageRole::Assistant }, &text.to_string()))
            .collect();
        let cut = |keep, max_tokens, is_summarised| {
            let mut messages = talk.clone();
            let older = HistoryBounds { keep, max_tokens, is_summarised }.cut(&mut messages);
            (joined(&older), joined(&messages))
        };
        let both = |older: &str, kept: &str| (older.to_owned(), kept.to_owned());
        assert_eq!(cut(10, None, true), both("", "abcdefghij"), "nothing is left out");
        assert_eq!(cut(8, None, true), both("abcdef", "ghij"));
        assert_eq!(cut(4, None, true), both("efgh", "ij"), "no more is summed up than the bound");
        assert_eq!(cut(50, Some(8 * 17), true), both("abcdef", "ghij"));
        assert_eq!(cut(4, None, false), both("", "ghij"));
        // One that is longer than the bound leaves nothing but itself, and is summed up shortened, with those before it.
        let mut messages = talk.clone();
        messages.push(said(MessageRole::User, &"ä".repeat(200)));
        let older = HistoryBounds { keep: 50, max_tokens: Some(200), is_summarised: true }.cut(&mut messages);
        assert_eq!((joined(&older), joined(&messages)), (format!("efghij{}…", "ä".repeat(25)), String::new()));
    }
}
