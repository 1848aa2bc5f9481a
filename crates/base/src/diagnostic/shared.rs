//! Codes that more than one room reports: one constructor each. All others are made in the room that owns them.

use super::{Code, Diagnostic};
use crate::source::Span;

macro_rules! shared_codes {
    ($($(#[$doc:meta])* $name:ident: $code:expr;)+) => {
        impl Diagnostic {
            $($(#[$doc])*
            pub fn $name(span: Span, message: impl Into<String>) -> Diagnostic {
                Diagnostic::new($code, span, message)
            })+
        }
    };
}

shared_codes! {
    /// F004: a key, or a value that belongs to others, is missing.
    missing_key: Code::MissingKey;
    /// F007: a value that cannot be here.
    bad_value: Code::BadValue;
    /// F013: two of one name in one place.
    duplicate_id: Code::DuplicateId;
    /// F022: above a limit.
    too_large: Code::TooLarge;
    /// F025: a file that is not there, cannot be read, or is of another kind.
    missing_file: Code::MissingFile;
    /// F100: the id of a step that does not exist.
    unknown_step: Code::UnknownStep;
    /// F616: a file or folder that no step may read or write.
    own_file: Code::OwnFile;
    /// F208: a name or a key that exists, but not here.
    wrong_place: Code::WrongPlace;
    /// F423: a key of a channel or style guide, or a check of it, that changes nothing.
    no_effect: Code::NoEffect;
    /// F901: a code that cannot be ignored, or not in this way.
    bad_suppression: Code::BadSuppression;
}
