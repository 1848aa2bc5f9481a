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

/// The help where a name leads into a step in which no other step runs.
pub(super) fn one_list(step: &str) -> String {
    format!("write {step}: what its agents say is one list under that name, in the order in which they are asked")
}
