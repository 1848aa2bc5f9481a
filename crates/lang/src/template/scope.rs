//! The names that a text is filled with.

use std::sync::Arc;

use super::Value;

/// The names one filling knows. Values are shared, not copied.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    names: Vec<(Arc<str>, Value)>,
}

impl Scope {
    /// Knows no name.
    pub fn new() -> Scope {
        Scope::default()
    }

    /// Gives a name its value, in place of an older one.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.names.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => self.names.push((name.into(), value)),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.names.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}
