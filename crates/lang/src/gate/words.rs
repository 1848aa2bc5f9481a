//! Texts that must or must not occur, patterns, and equal values.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::verdict::{CheckResult, JudgedText, all_occur, beginning, place, quoted};
use crate::model::LetterCase;

/// Said when a check looks for an empty text: that would always or never be found.
const NOTHING: &str = "There is nothing to look for: the text of the check is empty.";

/// All of them occur, letter by letter.
pub(super) fn contains(wanted: &[String], case: LetterCase, text: &str) -> CheckResult {
    if wanted.iter().any(String::is_empty) {
        return CheckResult::failed(NOTHING, "");
    }
    let missing: Vec<String> = wanted.iter().filter(|wanted| find(wanted, case, text).is_none()).map(|wanted| quoted(wanted)).collect();
    all_occur(&missing, text)
}

/// Where a text occurs first.
fn find(wanted: &str, case: LetterCase, text: &str) -> Option<Range<usize>> {
    match case {
        LetterCase::Exact => text.find(wanted).map(|at| at..at + wanted.len()),
        LetterCase::Ignored => {
            match RegexBuilder::new(&regex::escape(wanted)).case_insensitive(true).build() {
                Ok(pattern) => pattern.find(text).map(|found| found.range()),
                // Too long for a pattern.
                Err(_) => text.to_lowercase().contains(&wanted.to_lowercase()).then_some(0..0),
            }
        }
    }
}

/// None of them occurs, letter by letter.
pub(super) fn not_contains(unwanted: &[String], case: LetterCase, text: &str) -> CheckResult {
    if unwanted.iter().any(String::is_empty) {
        return CheckResult::failed(NOTHING, "");
    }
    let found = unwanted.iter().filter_map(|unwanted| Some((find(unwanted, case, text)?, unwanted))).min_by_key(|(found, _)| found.start);
    match found {
        None => CheckResult::passed(),
        Some((found, unwanted)) => CheckResult::failed(format!("{} must not occur in the text.", quoted(unwanted)), place(text, found)),
    }
}

/// The pattern matches somewhere.
pub(super) fn regex(pattern: &Regex, text: &str) -> CheckResult {
    if pattern.is_match(text) {
        return CheckResult::passed();
    }
    CheckResult::failed(format!("Nothing in the text fits the pattern {}.", quoted(pattern.as_str())), beginning(text))
}

/// The value is the same (`32` is `32.0`, the order of names does not matter), or the text is, where a text is expected.
pub(super) fn equals(expected: &Value, judged: &JudgedText) -> CheckResult {
    if is_same(expected, judged.value) || expected.as_str() == Some(judged.text) {
        return CheckResult::passed();
    }
    let wanted = expected.as_str().map_or_else(|| expected.to_string(), str::to_owned);
    // A text that differs somewhere inside is shown there.
    let differs = wanted.bytes().zip(judged.text.bytes()).take_while(|(a, b)| a == b).count();
    let differs = judged.text.floor_char_boundary(differs);
    let told = if expected.is_string() { quoted(&wanted) } else { wanted };
    CheckResult::failed(format!("The value is not {told}."), place(judged.text, differs..differs))
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || (x.is_f64() || y.is_f64()) && x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| is_same(x, y)),
        (Value::Object(x), Value::Object(y)) => x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| is_same(x, y))),
        _ => a == b,
    }
}
