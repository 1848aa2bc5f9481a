//! How rules word what they find.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Longest message, in characters.
const LONGEST_MESSAGE: usize = 160;
/// Longest text of an author that a message repeats, in characters.
const LONGEST_QUOTE: usize = 40;

/// A finding, its message cut to one line of 160 characters.
pub(super) fn finding(code: Code, span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(code, span, cut(message, LONGEST_MESSAGE))
}

/// A text of an author inside a message: in quotes, on one line, control characters as escapes, at most 40 characters.
pub(super) fn quoted(text: &str) -> String {
    let escaped: String = text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
    format!("\"{}\"", cut(&escaped, LONGEST_QUOTE))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
