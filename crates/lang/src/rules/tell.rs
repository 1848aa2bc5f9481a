//! How rules word what they find.

pub(super) use crate::diagnostic::quoted;
use crate::diagnostic::{Code, Diagnostic, LONGEST_MESSAGE, cut};
use crate::source::Span;

/// A finding, its message cut to one line of 160 characters.
pub(super) fn finding(code: Code, span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(code, span, cut(message, LONGEST_MESSAGE))
}
