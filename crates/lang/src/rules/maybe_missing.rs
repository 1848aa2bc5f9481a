//! F204: something that may not be there when it is read.

use super::{Code, Diagnostic};
use crate::model::Read;

pub(super) fn report(read: &Read, why: String) -> Diagnostic {
    Diagnostic::new(Code::MaybeSkipped, read.span, why).help("add | default(\"\"), or check with \"is defined\" first")
}
