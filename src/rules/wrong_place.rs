//! F208: a name that exists, but not here.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::Read;

pub(super) fn report(read: &Read, message: String, help: String) -> Diagnostic {
    Diagnostic::new(Code::WrongPlace, read.span, message).help(help)
}
