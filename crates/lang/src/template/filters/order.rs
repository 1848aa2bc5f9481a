//! When values are equal, and which comes first.

use std::cmp::Ordering;

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::budget::Budget;
use super::super::number::Number;
use super::super::print::{kind, pairs, printed};
use super::super::stop::Stop;

/// Whether two values are the same; values of different kinds never are.
pub(in super::super) fn equal(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, Stop> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        budget.bytes(a.len().min(b.len()) / 16)?;
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) {
        return Ok(a.order(b).is_eq());
    }
    match (a.kind(), b.kind()) {
        (ValueKind::None, ValueKind::None) => Ok(true),
        (ValueKind::Bool, ValueKind::Bool) => Ok(a.is_true() == b.is_true()),
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            budget.elements(a.len().unwrap_or(0))?;
            for (a, b) in a.try_iter().into_iter().flatten().zip(b.try_iter().into_iter().flatten()) {
                if !equal(&a, &b, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (ValueKind::Map, ValueKind::Map) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            budget.elements(a.len().unwrap_or(0))?;
            for (key, a) in pairs(a) {
                match b.get_item(&key) {
                    Ok(b) if equal(&a, &b, budget)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Which of two numbers or two texts comes first.
pub(in super::super) fn compare(a: &Value, b: &Value) -> Result<Ordering, Stop> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(a.cmp(b));
    }
    match (Number::of(a), Number::of(b)) {
        (Some(a), Some(b)) => Ok(a.order(b)),
        _ => Err(Stop::failed(format!("{} and {} cannot be put in order; compare two numbers or two texts", kind(a), kind(b)))),
    }
}

/// What a list is sorted by: empty first, then false and true, numbers, texts, and the rest by its JSON.
#[derive(Debug)]
pub(super) enum Key {
    Empty,
    Truth(bool),
    Number(Number),
    Text(String),
    Other(String),
}

impl Key {
    /// The key of a value; texts in small letters unless `case_sensitive`.
    pub(super) fn of(value: &Value, case_sensitive: bool, budget: &mut Budget) -> Result<Key, Stop> {
        let key = match value.kind() {
            ValueKind::None | ValueKind::Undefined => Key::Empty,
            ValueKind::Bool => Key::Truth(value.is_true()),
            _ => match (Number::of(value), value.as_str()) {
                (Some(number), _) => Key::Number(number),
                (_, Some(text)) => Key::Text(if case_sensitive { text.to_owned() } else { text.to_lowercase() }),
                _ => Key::Other(printed(value)?),
            },
        };
        if let Key::Text(text) | Key::Other(text) = &key {
            budget.bytes(text.len())?;
        }
        Ok(key)
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Empty => 0,
            Key::Truth(_) => 1,
            Key::Number(_) => 2,
            Key::Text(_) => 3,
            Key::Other(_) => 4,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Truth(a), Key::Truth(b)) => a.cmp(b),
            (Key::Number(a), Key::Number(b)) => a.order(*b),
            (Key::Text(a), Key::Text(b)) | (Key::Other(a), Key::Other(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}
