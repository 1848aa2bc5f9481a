//! Every key of the language, once: where it may stand, what it takes, and one line that says what it means. The readers
//! of this room, the JSON Schema and the editor all go by these tables.
//!
//! How to add a key: a line in the table of its place, its reading in the file of that place.

mod files;
mod head;
mod json_schema;
mod places;
mod settings;
mod steps;
mod work;

pub use crate::model::Thing;
pub(crate) use files::{
    BODIES, CHANNEL_IN_LANGUAGE, EMOJIS, EXPECT, EXPECTED_CALLS, FORMATTING, HUMOR, MARKUP, MOCK_ERROR, REPLY_CALL, REPLY_USAGE, SPLIT,
    STYLE_IN_LANGUAGE, TONE,
};
pub use files::{CHANNEL, PAST_MESSAGE, REPLIES, REPLY, STYLE_GUIDE, TEST, TEST_CASE, WORDS};
pub(crate) use head::{COLUMN, FILE_ACCESS, NETWORK_ACCESS, RESOURCE_LIMITS};
pub use head::{CONVERSATION, DATA, DEFINITIONS, FIELD, KNOWLEDGE, PERSON, PIPELINE, POLICY, SCHEMA_INPUTS};
pub use json_schema::json_schema;
#[cfg(test)]
pub(crate) use places::places_from;
pub use places::{key_names, keys_named};
pub(crate) use settings::{
    LINT, LINT_PATH, PROJECT_JOURNAL, PROJECT_SETTINGS, SETTINGS_MODELS, USER_JOURNAL, USER_SANDBOX, USER_SETTINGS, USER_TELEMETRY,
};
pub use steps::{CASE, CASE_STEPS, EVERY_STEP, KINDS, OTHERWISE_STEPS, STEP};
pub(crate) use steps::{DIALOGUE_LIMITS, KEPT_HISTORY, OWN_HISTORY, RESOURCE, ROUNDS, UNTIL};
pub use work::{AGENT, CHECKS, FILE, MODEL, OMITTED, PROVIDERS, TOOL, TOOL_KINDS};
pub(crate) use work::{
    AGENT_ANSWER, AGENT_OPTIONS, ANSWER_PLACE, CRITERION, LIMITS, PRICE, PRINTING_AGENT, PROMPT_PLACES, PYTHON_CODE, RETRY, SCORECARD,
    SIGN_IN, TALKING_AGENT, WRITTEN_PLAN, WRITTEN_SCORECARD, WRITTEN_STEP,
};

/// A place in a file that holds keys: the head, a step, a retry section.
#[derive(Debug)]
pub struct KeyTable {
    /// What it is called: the key it is under, or the kind.
    pub name: &'static str,
    /// The keys allowed there, in the order of the manual.
    pub keys: &'static [KeyRule],
}

/// The tables of keys that stand together.
pub(crate) type Tables<'p> = &'p [&'static KeyTable];

/// One key of a place.
#[derive(Debug)]
pub struct KeyRule {
    /// As it is written.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What it means, in one line.
    pub about: &'static str,
    /// Whether its owner cannot do without it.
    pub is_required: bool,
}

/// What a key takes.
#[derive(Debug)]
pub enum Takes {
    /// A text for people or models, taken as it is.
    Sentence,
    /// A text that is fixed before the run.
    Fixed,
    /// A text with `{{ … }}` in it.
    Template,
    /// The same, where numbers and true/false count as their text.
    Loose,
    /// Method and address of a request, with `{{ … }}` in it.
    Request,
    /// A bare expression.
    Expression,
    /// A new id.
    Id,
    /// A name that is fixed before the run.
    Name,
    /// The name of a thing defined elsewhere.
    Of(Thing),
    /// A path, relative to the file it stands in.
    Path,
    /// The name of a program, or its absolute path.
    Program,
    /// A whole number, 0 or more.
    Whole,
    /// A whole number, 1 or more.
    Limit,
    /// A number.
    Number,
    /// A number above 0.
    Positive,
    /// True or false.
    Boolean,
    /// True: leaving the key out says the opposite.
    True,
    /// A time with its unit, `5s`.
    Duration,
    /// A size with its unit, `10MB`.
    Size,
    /// A time to wait, a date and time with a time zone, or a text with `{{ … }}` in it.
    Moment,
    /// A language, two small letters.
    Language,
    /// A time zone such as `Europe/Berlin`, or any value with `{{ … }}` in its texts.
    Zone,
    /// The version of the language: 1.
    Version,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any value, with `{{ … }}` in its texts.
    Value,
    /// Any value, taken as it is.
    Constant,
    /// Field rules by name.
    Fields,
    /// One field: its type, or its rules.
    Field,
    /// A JSON Schema, or `{ file }`.
    Schema,
    /// A list of steps.
    Steps,
    /// One step without id, or `{ steps }`.
    Otherwise,
    /// Scripted replies of one step.
    Replies,
    /// An output, or `{ error }`.
    Mock,
    /// A value to compare with, or checks.
    Expected,
    /// The keys of a place.
    Keys(&'static KeyTable),
    /// Names of the author's choice, each with such a value.
    Named(&'static Takes),
    /// New ids of the author's choice, each with such a value.
    Defined(&'static Takes),
    /// New names of secrets, each with a sentence.
    Secrets,
    /// Names of variables of the environment, each with a text with `{{ … }}` in it.
    Environment,
    /// A list of such values.
    List(&'static Takes),
    /// A list of such values that is not empty.
    Filled(&'static Takes),
    /// A list of such values, or one of them in place of a list of one.
    Many(&'static Takes),
    /// One of several.
    Either(&'static [Takes]),
}

/// A key that may be there.
const fn key(name: &'static str, takes: Takes, about: &'static str) -> KeyRule {
    KeyRule { name, takes, about, is_required: false }
}

impl KeyRule {
    const fn required(self) -> KeyRule {
        KeyRule { is_required: true, ..self }
    }
}

impl KeyTable {
    const fn of(name: &'static str) -> KeyTable {
        KeyTable { name, keys: &[] }
    }

    const fn keys(self, keys: &'static [KeyRule]) -> KeyTable {
        KeyTable { name: self.name, keys }
    }

    /// The key of a name.
    pub fn key(&self, name: &str) -> Option<&'static KeyRule> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Takes {
    /// What each element takes, of what takes several.
    pub fn each(&self) -> Option<&'static Takes> {
        match self {
            Takes::Named(each) | Takes::Defined(each) | Takes::List(each) | Takes::Filled(each) | Takes::Many(each) => Some(each),
            _ => None,
        }
    }
}
