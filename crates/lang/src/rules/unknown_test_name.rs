//! F700: a name of a test, or of a scripted reply, that its pipeline does not have.

use super::{Code, Diagnostic, finding};
use crate::source::Span;

pub(super) fn report(span: Span, message: &str) -> Diagnostic {
    reported(span, message).help("correct the name, or remove it")
}

/// The same, without help.
pub(super) fn reported(span: Span, message: &str) -> Diagnostic {
    finding(Code::TestUnknownName, span, message)
}
