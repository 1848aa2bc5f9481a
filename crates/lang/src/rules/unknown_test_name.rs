//! F700: a name of a test, or of a scripted reply, that its pipeline does not have.

use super::tell::finding;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

pub(super) fn report(span: Span, message: &str) -> Diagnostic {
    finding(Code::TestUnknownName, span, message).help("correct the name, or remove it")
}
