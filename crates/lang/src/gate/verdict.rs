//! What is judged, the verdict of one check, and its words.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::channel::{Formatted, read_without_marks};
use crate::diagnostic::one_line;
use crate::model::{Channel, StyleGuide};

/// Most characters of an evidence.
const LONGEST_EVIDENCE: usize = 200;
/// Characters of an evidence before the place it is about.
const BEFORE: usize = 80;
/// Most characters quoted inside a sentence.
const LONGEST_QUOTE: usize = 60;

/// What is judged, and for whom it was made.
#[derive(Debug, Clone, Copy)]
pub struct JudgedText<'a> {
    /// The value.
    pub value: &'a Value,
    /// Its readable text, see [`crate::channel::Output::text`].
    pub text: &'a str,
    /// What a `format` step made, if the value is its output.
    pub formatted: Option<&'a Formatted>,
    /// The channel it is sent on.
    pub channel: Option<&'a Channel>,
    /// The style guide it was made with.
    pub style: Option<&'a StyleGuide>,
    /// The name a greeting may use.
    pub person_name: Option<&'a str>,
}

impl<'a> JudgedText<'a> {
    /// What is read where marks, and addresses of links, are not shown; `None`: it is the text.
    pub(super) fn unlinked(&self) -> Option<Cow<'a, str>> {
        match self.formatted {
            Some(formatted) => Some(formatted.unlinked.as_str()).filter(|text| !text.is_empty()).map(Cow::Borrowed),
            None => read_without_marks(self.text).map(Cow::Owned),
        }
    }

    /// Its text with the marks of its channel.
    pub(super) fn marked(&self) -> &'a str {
        self.formatted.map_or(self.text, |formatted| &formatted.text)
    }
}

/// The verdict of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Whether it is passed.
    pub passed: bool,
    /// One sentence that says what is wrong; empty when passed.
    pub feedback: String,
    /// The place in the text it rests on, at most 200 characters; may be empty.
    pub evidence: String,
}

impl CheckResult {
    /// Passed.
    pub fn passed() -> CheckResult {
        CheckResult { passed: true, feedback: String::new(), evidence: String::new() }
    }

    /// Not passed: why, and where.
    pub fn failed(feedback: impl Into<String>, evidence: impl Into<String>) -> CheckResult {
        CheckResult { passed: false, feedback: feedback.into(), evidence: evidence.into() }
    }
}

/// The place `range` of a text with what stands around it in its line.
pub(super) fn place(text: &str, range: Range<usize>) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.start..).unwrap_or_default();
    let start: usize = before.chars().rev().take(BEFORE).take_while(|c| *c != '\n').map(char::len_utf8).sum();
    let shown = before.get(before.len() - start..).unwrap_or_default().trim_start();
    let room = LONGEST_EVIDENCE - shown.chars().count();
    let rest: usize = after.chars().take(room).take_while(|c| *c != '\n').map(char::len_utf8).sum();
    format!("{shown}{}", after.get(..rest).unwrap_or_default().trim_end())
}

/// The beginning of a text on one line, as evidence.
pub(super) fn beginning(text: &str) -> String {
    text.trim_start().chars().take(LONGEST_EVIDENCE).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The end of a text on one line, as evidence.
pub(super) fn end(text: &str) -> String {
    let text = text.trim_end();
    let length: usize = text.chars().rev().take(BEFORE).map(char::len_utf8).sum();
    beginning(text.get(text.len() - length..).unwrap_or_default())
}

/// A text in quotes, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", shortened(text))
}

/// A text on one line, cut where it is long.
pub(super) fn shortened(text: &str) -> String {
    one_line(text, LONGEST_QUOTE)
}

/// `a, b and c`, at most three of them.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", items.len() - 3),
        few => crate::diagnostic::listed(few, "and"),
    }
}

/// Passed if nothing is missing in the text.
pub(super) fn all_occur(missing: &[String], text: &str) -> CheckResult {
    if missing.is_empty() {
        return CheckResult::passed();
    }
    let verb = if missing.len() == 1 { "does" } else { "do" };
    CheckResult::failed(format!("{} {verb} not occur in the text.", listed(missing)), beginning(text))
}

/// `1 emoji`, `2 emojis`.
pub(super) fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// `1 is`, `2 are`.
pub(super) fn are(count: u64) -> String {
    counted(count, "is", "are")
}
