//! Who has keys: what findings about them call it.

use std::fmt;

use super::context::quoted;

/// Who has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyOwner {
    /// What words alone tell: `this pipeline`.
    Place(&'static str),
    /// What has a name or a path: `step "draft"`.
    Named(&'static str, String),
    /// The same, by its name alone.
    Quoted(String),
    /// What has no name yet: `step 2`.
    Numbered(&'static str, usize),
    /// A part of something that has keys itself: `"sql" of step "draft"`.
    Part(String, Box<KeyOwner>),
}

impl KeyOwner {
    /// An entry of a list, by its id or else by its number.
    pub(crate) fn entry(kind: &'static str, id: Option<impl Into<String>>, number: usize) -> KeyOwner {
        id.map_or(KeyOwner::Numbered(kind, number), |id| KeyOwner::Named(kind, id.into()))
    }

    /// The value of one of its keys.
    pub(crate) fn key(&self, key: &str) -> KeyOwner {
        self.part(quoted(key))
    }

    /// A part of it.
    pub(crate) fn part(&self, part: impl Into<String>) -> KeyOwner {
        KeyOwner::Part(part.into(), Box::new(self.clone()))
    }

    /// Its name, without words.
    pub(crate) fn name(&self) -> &str {
        match self {
            KeyOwner::Named(_, name) | KeyOwner::Quoted(name) => name,
            KeyOwner::Part(_, owner) => owner.name(),
            KeyOwner::Place(_) | KeyOwner::Numbered(..) => "",
        }
    }
}

impl fmt::Display for KeyOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyOwner::Place(words) => f.write_str(words),
            KeyOwner::Named(kind, name) => write!(f, "{kind} {}", quoted(name)),
            KeyOwner::Quoted(name) => f.write_str(&quoted(name)),
            KeyOwner::Numbered(kind, number) => write!(f, "{kind} {number}"),
            KeyOwner::Part(part, owner) => write!(f, "{part} of {owner}"),
        }
    }
}

impl From<&'static str> for KeyOwner {
    fn from(words: &'static str) -> KeyOwner {
        KeyOwner::Place(words)
    }
}

impl From<&KeyOwner> for KeyOwner {
    fn from(owner: &KeyOwner) -> KeyOwner {
        owner.clone()
    }
}
