//! What several readers of a text report: one constructor for each code.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// F001: the text cannot be read.
pub(super) fn unreadable(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::YamlSyntax, span, message)
}

/// F009: a value that is read otherwise than it is written.
pub(super) fn yaml_trap(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::YamlTrap, span, message)
}

/// F023: a character that nobody can see.
pub(super) fn hidden(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::HiddenCharacters, span, message)
}

/// F024: YAML that this language leaves out.
pub(super) fn unsupported(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::UnsupportedYaml, span, message)
}
