//! How rules word what they find.

use crate::diagnostic::{Code, Diagnostic, LONGEST_MESSAGE, cut};
use crate::source::Span;

/// Most names of a list in a message.
const MOST_NAMES: usize = 12;

/// A finding, its message cut to one line of 160 characters.
pub(in crate::rules) fn finding(code: Code, span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(code, span, cut(message, LONGEST_MESSAGE))
}

/// Names with commas between them; a long list is cut.
pub(in crate::rules) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<T> = names.by_ref().take(MOST_NAMES).collect();
    let rest = if names.next().is_some() { ", …" } else { "" };
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    format!("{}{rest}", shown.join(", "))
}
