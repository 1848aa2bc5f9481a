//! Names that mean something else already.

use super::context::{Lower, quoted};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Spanned;

/// F012.
pub(crate) fn check_reserved(lower: &Lower, name: &str, id: &Spanned<String>, taken: &[&str], why: &str) {
    if taken.contains(&id.value.as_str()) {
        let message = format!("{} cannot be used as {name}; {why}", quoted(&id.value));
        lower.report(Diagnostic::new(Code::ReservedName, id.span, message).help("choose another name"));
    }
}
