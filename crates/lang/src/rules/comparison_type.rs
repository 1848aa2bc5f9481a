//! F206: values of different types are compared, so they are never equal, or a text with one that it never is.

use super::{Code, Diagnostic};
use crate::source::Span;

pub(super) fn found(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Code::ComparisonType, span, message)
}
