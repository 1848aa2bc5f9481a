//! `dialogue`: agents that talk in turns.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Filling, Limits, Text};
use crate::source::Spanned;

/// The most turns of a dialogue: each is kept in the record with its text.
pub const MOST_DIALOGUE_TURNS: u64 = 100;

/// Why a dialogue ended that somebody ended with its run.
pub const DIALOGUE_CUT: &str = "the run was ended";

/// `dialogue`: two or more agents talk, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct DialogueStep {
    /// Who talks, in the order of the turns.
    pub agents: Vec<Spanned<String>>,
    /// What they talk about.
    pub topic: Text,
    /// Files that they see with it.
    pub attach: Option<Filling>,
    /// Most turns of all together.
    pub max_turns: Option<u64>,
    /// When they are done before that.
    pub until: Until,
    /// Bounds of the whole dialogue.
    pub limits: Limits,
    /// The agent that sums up.
    pub summary: Option<Spanned<String>>,
    /// The policy that is in force in it beside those of its agents.
    pub policy: Option<Spanned<String>>,
}

/// What ends a dialogue before its limits; any of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Until {
    /// A word that is the last line of the last turn of each agent.
    pub all_say: Option<Spanned<String>>,
    /// The agent that says whether they agree, asked when each has had another turn.
    pub judge: Option<Spanned<String>>,
    /// So many turns in a row say nothing that their agent did not say before.
    pub repeats: Option<u64>,
    /// True or false of `turns` and `turn`.
    pub expression: Option<Text>,
}

impl DialogueStep {
    /// Most turns.
    pub fn most_turns(&self) -> u64 {
        self.max_turns.unwrap_or(MOST_DIALOGUE_TURNS)
    }

    /// How often the judge may be asked.
    pub fn most_judgements(&self) -> u64 {
        self.until.judge.as_ref().map_or(0, |_| self.most_turns() / (self.agents.len().max(1) as u64))
    }
}

/// How a dialogue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DialogueEnd {
    /// The agents agree: each says the word, the judge says so, or the expression is true.
    Agreed,
    /// Nobody says anything new.
    Stalled,
    /// A limit is reached.
    Limit,
}

impl DialogueEnd {
    /// All of them.
    pub const ALL: [DialogueEnd; 3] = [DialogueEnd::Agreed, DialogueEnd::Stalled, DialogueEnd::Limit];

    /// The word in outputs.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What speaks for the end of a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DialogueSignal {
    /// The turn has the word of `all_say`.
    SaysWord,
    /// The turn says what its agent said before.
    SaysNothingNew,
}

/// A turn of a dialogue. Its text is data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DialogueTurn {
    /// Which turn, from 1.
    pub number: u32,
    /// Who said it.
    pub from: String,
    /// Whose turn is next.
    pub to: String,
    /// What was said.
    pub text: String,
    /// Files that its program made or changed meanwhile, by their paths from the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// The policies in force, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}
