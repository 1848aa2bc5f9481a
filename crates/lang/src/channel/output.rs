use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The output of a `format` step (language, section 6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formatted {
    /// The channel's name.
    pub channel: String,
    /// All parts as one text, without indicators. For HTML and cards: their plain text.
    pub text: String,
    /// The same without marks and escapes: what a reader reads. Empty in what an older version made.
    #[serde(default)]
    pub plain: String,
    /// The same with the words of links alone, as those read it to whom a link shows no address; left out where that is the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) unlinked: String,
    /// What is sent, in order; at least one.
    pub parts: Vec<MessagePart>,
    /// There is more than one part.
    pub is_split: bool,
    /// Something was left out because it did not fit.
    pub shortened: bool,
    /// The different emojis in `text`, in the order of their first places.
    pub emojis_used: Vec<String>,
    /// The text had Markdown that the channel cannot show; it became plain text.
    pub markdown_removed: bool,
    /// How many hostile characters were taken out of the text (see [`super::clean()`]); counted for the record, no part of the output.
    #[serde(skip)]
    pub(crate) hidden_removed: usize,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagePart {
    /// Its number, from 1.
    pub number: u64,
    /// Its text with the indicator. For HTML and cards: their plain text.
    pub text: String,
    /// The same without marks and escapes. Empty in what an older version made.
    #[serde(default)]
    pub plain: String,
    /// `(1/3)`; empty when there is one part.
    pub indicator: String,
    /// What is sent: a text, or the object of a card.
    pub content: Value,
}

flow_base::sampled! {
    Formatted {
        Engine(channel, is_split, shortened, emojis_used, markdown_removed, hidden_removed), Parts(parts), Others(text, plain, unlinked),
    }
    MessagePart { Engine(number, indicator), Others(text, plain, content) }
}

/// Why a text cannot be sent in a channel, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Nothing of the text can be seen there.
    #[error(
        "nothing of the text can be shown in channel \"{channel}\": it is empty, or has only blanks, emojis, marks or hidden characters"
    )]
    Nothing {
        /// The channel's name.
        channel: String,
    },
    /// What must be sent is longer than its parts.
    #[error("{0}")]
    NoRoom(String),
}

/// A value that is judged or sent: a plain one, or what a `format` step made for a channel. Which of them it is follows from where it came
/// from, never from the names of its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Any value.
    Plain(Value),
    /// The output of a `format` step: the value, and what it says.
    Formatted(Value, Box<Formatted>),
}

impl Output {
    /// What a `format` step made. A value of another shape is a plain one.
    pub fn formatted(value: Value) -> Output {
        match serde_json::from_value::<Formatted>(value.clone()) {
            Ok(formatted) => Output::Formatted(value, Box::new(formatted)),
            Err(_) => Output::Plain(value),
        }
    }

    /// The value as templates see it.
    pub fn value(&self) -> &Value {
        match self {
            Output::Plain(value) | Output::Formatted(value, _) => value,
        }
    }

    /// The same.
    pub fn into_value(self) -> Value {
        match self {
            Output::Plain(value) | Output::Formatted(value, _) => value,
        }
    }

    /// What the `format` step made, if one did.
    pub fn made(&self) -> Option<&Formatted> {
        match self {
            Output::Plain(_) => None,
            Output::Formatted(_, made) => Some(made),
        }
    }

    /// Its readable text: a text as it is, what was made for a channel as its reader reads it, any other value as JSON.
    pub fn text(&self) -> String {
        match self {
            Output::Plain(Value::String(text)) => text.clone(),
            // As everywhere: what is empty prints nothing.
            Output::Plain(Value::Null) => String::new(),
            Output::Plain(other) => other.to_string(),
            Output::Formatted(_, made) if made.plain.is_empty() => made.text.clone(),
            Output::Formatted(_, made) => made.plain.clone(),
        }
    }
}
