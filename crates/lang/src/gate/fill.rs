//! Checks with every text of their author filled in.

use serde_json::Value;

use super::verdict::shortened;
use crate::model::{Check, Filling, LetterCase, PlainCheck, Text};

/// How the caller fills in what an author wrote.
pub trait Fill {
    /// Why something could not be filled in.
    type Error;

    /// A text or bare expression; a text that is nothing but one expression keeps its type.
    fn text(&self, text: &Text) -> Result<Value, Self::Error>;

    /// A value with texts at its leaves.
    fn filling(&self, filling: &Filling) -> Result<Value, Self::Error>;

    /// A bare expression that must give true or false.
    fn condition(&self, text: &Text) -> Result<bool, Self::Error>;
}

/// A check that needs nothing more than what it judges.
#[derive(Debug, Clone)]
pub enum FilledCheck {
    /// See [`Check`]; those below likewise.
    Plain(PlainCheck),
    /// As they are written.
    Contains(Vec<String>, LetterCase),
    /// As they are written.
    NotContains(Vec<String>, LetterCase),
    /// The value equals this one, or the text equals this text.
    Equals(Value),
    /// Every figure occurs in this value.
    NumbersFrom(Value),
    /// States every number of this value.
    StatesNumbers(Value),
    /// Always passes; see [`check_apart_from`](super::check_apart_from).
    ApartFrom,
    /// What the author's expression gave.
    Expression {
        /// What to say when it is not true.
        unmet: String,
        /// Its result.
        is_true: bool,
    },
}

/// Fills a check in. The first text that cannot be filled in ends it. `description` is the sentence of the criterion that the check
/// belongs to, if it has one: it says better than an expression what is missing.
pub fn fill_check<F: Fill>(check: &Check, description: Option<&str>, fill: &F) -> Result<FilledCheck, F::Error> {
    Ok(match check {
        Check::Plain(check) => FilledCheck::Plain(check.clone()),
        Check::Contains(texts, case) => FilledCheck::Contains(wanted(texts, fill)?, *case),
        Check::NotContains(texts, case) => FilledCheck::NotContains(wanted(texts, fill)?, *case),
        Check::Equals(filling) => FilledCheck::Equals(fill.filling(filling)?),
        Check::NumbersFrom(text) => FilledCheck::NumbersFrom(fill.text(text)?),
        Check::StatesNumbers(text) => FilledCheck::StatesNumbers(fill.text(text)?),
        Check::ApartFrom(_) => FilledCheck::ApartFrom,
        Check::Expression(text) => {
            let source = || format!("This is not true: {}.", shortened(&text.source));
            let unmet = description.map_or_else(source, |sentence| format!("Not met: {sentence}"));
            FilledCheck::Expression { unmet, is_true: fill.condition(text)? }
        }
    })
}

/// The value whose texts may be quoted, if one of these checks names it.
pub fn fill_apart_from<'c, F: Fill>(checks: impl IntoIterator<Item = &'c Check>, fill: &F) -> Result<Option<Value>, F::Error> {
    let named = checks.into_iter().find_map(|check| if let Check::ApartFrom(text) = check { Some(text) } else { None });
    named.map(|text| fill.text(text)).transpose()
}

/// The texts to look for; a text that gives a list stands for all its elements.
fn wanted<F: Fill>(texts: &[Text], fill: &F) -> Result<Vec<String>, F::Error> {
    let mut wanted = vec![];
    for text in texts {
        match fill.text(text)? {
            Value::Array(list) => wanted.extend(list.iter().map(written)),
            value => wanted.push(written(&value)),
        }
    }
    Ok(wanted)
}

/// A value as it is in a text: empty is nothing.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
