//! The names that templates begin with. The element of a `for_each` may have a name of its own besides.

use strum::VariantArray;

/// A name that a path in a template begins with, in the order of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the language")]
pub enum Root {
    Inputs,
    Steps,
    Channel,
    Style,
    Person,
    Conversation,
    Run,
    Refinement,
    Failure,
    Value,
    Text,
    With,
    Turns,
    Turn,
    Secrets,
    Env,
    Item,
    ItemNumber,
    ItemCount,
    Previous,
    Round,
}

/// Which texts may read a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootPlaces {
    /// All but those that are filled in before a run.
    Everywhere,
    /// Those of `on_failure` and `finally`.
    AfterFailure,
    /// The checks of a scorecard, and for `with` the tools.
    Judged,
    /// `until` of a dialogue.
    Dialogue,
    /// Those that may hold a secret.
    Outside,
    /// Those of a step with `for_each`.
    Elements,
    /// Those of a `repeat`.
    Rounds,
}

/// Where a path without braces was meant to be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbraced {
    /// Anywhere in a text.
    Anywhere,
    /// Where it is the whole text: within one it may be a file or the end of a sentence.
    Alone,
    /// Nowhere: it has no fields, or is a common word.
    Nowhere,
}

impl Root {
    /// The root that a name is.
    pub fn parse(name: &str) -> Option<Root> {
        name.parse().ok()
    }

    /// All whose paths without braces are a slip within a text.
    pub fn slips() -> impl Iterator<Item = Root> {
        Root::VARIANTS.iter().copied().filter(|root| root.unbraced() == Unbraced::Anywhere)
    }

    /// Which texts may read it.
    pub const fn places(self) -> RootPlaces {
        match self {
            Root::Inputs | Root::Steps | Root::Channel | Root::Style | Root::Person | Root::Conversation | Root::Run | Root::Refinement => {
                RootPlaces::Everywhere
            }
            Root::Failure => RootPlaces::AfterFailure,
            Root::Value | Root::Text | Root::With => RootPlaces::Judged,
            Root::Turns | Root::Turn => RootPlaces::Dialogue,
            Root::Secrets | Root::Env => RootPlaces::Outside,
            Root::Item | Root::ItemNumber | Root::ItemCount => RootPlaces::Elements,
            Root::Previous | Root::Round => RootPlaces::Rounds,
        }
    }

    /// Where a path of it without braces is a slip.
    pub const fn unbraced(self) -> Unbraced {
        match self {
            Root::Inputs | Root::Steps | Root::Person | Root::Conversation | Root::Run | Root::Env | Root::Item | Root::Previous => {
                Unbraced::Anywhere
            }
            Root::Channel | Root::Style | Root::Refinement | Root::Failure | Root::With | Root::Secrets => Unbraced::Alone,
            Root::Value | Root::Text | Root::Turns | Root::Turn | Root::ItemNumber | Root::ItemCount | Root::Round => Unbraced::Nowhere,
        }
    }

    /// Whether it is what an earlier try or round left; empty in the first.
    pub const fn is_earlier(self) -> bool {
        matches!(self, Root::Refinement | Root::Previous)
    }
}
