//! Who wrote a text.

use serde::{Deserialize, Serialize};

/// Who wrote a text, from the most to the least trusted.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// The author of the file.
    Author,
    /// The person who started the run, talks in it or answered a question.
    Person,
    /// A table, a document or another file that the author named.
    File,
    /// A model.
    Model,
    /// A tool, a web service, a program or a tool server.
    Tool,
    /// Whoever wrote what the file marks `untrusted`.
    Stranger,
}

impl Writer {
    /// Whether what this one wrote may decide what an effect is done to, without a look at it.
    pub fn is_trusted(self) -> bool {
        match self {
            Writer::Author | Writer::Person | Writer::File => true,
            Writer::Model | Writer::Tool | Writer::Stranger => false,
        }
    }

    /// As in messages: `steps.x.output` was written by …
    pub fn words(self) -> &'static str {
        match self {
            Writer::Author => "the author of the file",
            Writer::Person => "the person",
            Writer::File => "a file",
            Writer::Model => "a model",
            Writer::Tool => "a tool",
            Writer::Stranger => "a stranger",
        }
    }
}
