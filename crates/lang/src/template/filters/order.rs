//! When values are equal, and which comes first.

use std::cmp::Ordering;

use minijinja::value::ValueKind;

use super::super::Value;
use super::super::budget::Budget;
use super::super::number::Number;
use super::super::print::{kind, pairs, printed, shortened};
use super::super::stop::FillStop;
use crate::model::PlainMoment;

/// Whether two values are the same; values of different kinds never are.
pub(in super::super) fn equal(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, FillStop> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        budget.bytes(a.len().min(b.len()) / 16)?;
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (Number::from_value(a), Number::from_value(b)) {
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

/// Which of two numbers or two texts comes first. Times come first that are earlier, however they are written.
pub(in super::super) fn compare(a: &Value, b: &Value) -> Result<Ordering, FillStop> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return match (time(a), time(b)) {
            (Some(PlainMoment::Fixed(a)), Some(PlainMoment::Fixed(b))) => Ok(a.cmp(&b)),
            (Some(PlainMoment::Local(a)), Some(PlainMoment::Local(b))) => Ok(a.cmp(&b)),
            (Some(_), Some(_)) => Err(FillStop::failed(format!(
                "{} and {} cannot be put in order: one is in a time zone, and the other says none; compare both with | date(\"%Y-%m-%d %H:%M\")",
                shortened(a),
                shortened(b)
            ))),
            (None, _) | (_, None) => Ok(a.cmp(b)),
        };
    }
    match (Number::from_value(a), Number::from_value(b)) {
        (Some(a), Some(b)) => Ok(a.order(b)),
        _ => Err(FillStop::failed(format!("{} and {} cannot be put in order; compare two numbers or two texts", kind(a), kind(b)))),
    }
}

/// A time of a day in a text; days alone order as texts do.
fn time(text: &str) -> Option<PlainMoment> {
    let may_be = text.len() < 50 && text.as_bytes().get(4) == Some(&b'-') && text.contains(':');
    if may_be { PlainMoment::parse(text) } else { None }
}

/// A text in the form by which it is sorted: times in one.
fn sorted_as(text: &str) -> String {
    match time(text) {
        Some(PlainMoment::Fixed(time)) => time.to_utc().format("%Y-%m-%dT%H:%M:%S%.fZ").to_string(),
        Some(PlainMoment::Local(time)) => time.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
        Some(PlainMoment::Day(_)) | None => text.to_owned(),
    }
}

/// What a list is sorted by: empty first, then false and true, numbers, texts, and the rest by its JSON.
#[derive(Debug)]
pub(super) enum SortKey {
    Empty,
    Truth(bool),
    Number(Number),
    Text(String),
    Other(String),
}

impl SortKey {
    /// The key of a value; texts in small letters unless `case_sensitive`.
    pub(super) fn from_value(value: &Value, case_sensitive: bool, budget: &mut Budget) -> Result<SortKey, FillStop> {
        let key = match value.kind() {
            ValueKind::None | ValueKind::Undefined => SortKey::Empty,
            ValueKind::Bool => SortKey::Truth(value.is_true()),
            _ => match (Number::from_value(value), value.as_str()) {
                (Some(number), _) => SortKey::Number(number),
                (_, Some(text)) => SortKey::Text(sorted_as(&if case_sensitive { text.to_owned() } else { text.to_lowercase() })),
                _ => SortKey::Other(printed(value)?),
            },
        };
        if let SortKey::Text(text) | SortKey::Other(text) = &key {
            budget.bytes(text.len())?;
        }
        Ok(key)
    }

    fn rank(&self) -> u8 {
        match self {
            SortKey::Empty => 0,
            SortKey::Truth(_) => 1,
            SortKey::Number(_) => 2,
            SortKey::Text(_) => 3,
            SortKey::Other(_) => 4,
        }
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        match (self, other) {
            (SortKey::Truth(a), SortKey::Truth(b)) => a.cmp(b),
            (SortKey::Number(a), SortKey::Number(b)) => a.order(*b),
            (SortKey::Text(a), SortKey::Text(b)) | (SortKey::Other(a), SortKey::Other(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &SortKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortKey {}
