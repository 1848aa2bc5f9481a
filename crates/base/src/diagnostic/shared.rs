//! Codes that more than one room reports: one constructor each. All others are made in the room that owns them.

use super::{Code, Diagnostic};
use crate::source::Span;

impl Diagnostic {
    /// F004: a key, or a value that belongs to others, is missing.
    pub fn missing_key(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::MissingKey, span, message)
    }

    /// F007: a value that cannot be here.
    pub fn bad_value(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::BadValue, span, message)
    }

    /// F013: two of one name in one place.
    pub fn duplicate_id(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::DuplicateId, span, message)
    }

    /// F022: above a limit.
    pub fn too_large(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::TooLarge, span, message)
    }

    /// F025: a file that is not there, cannot be read, or is of another kind.
    pub fn missing_file(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::MissingFile, span, message)
    }

    /// F100: the id of a step that does not exist.
    pub fn unknown_step(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::UnknownStep, span, message)
    }

    /// F616: a file or folder that no step may read or write.
    pub fn own_file(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::OwnFile, span, message)
    }

    /// F208: a name or a key that exists, but not here.
    pub fn wrong_place(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::WrongPlace, span, message)
    }

    /// F901: a code that cannot be ignored, or not in this way.
    pub fn bad_suppression(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::BadSuppression, span, message)
    }
}
