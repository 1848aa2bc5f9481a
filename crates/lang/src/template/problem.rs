//! A mistake in a text, before it has a place in a file.

use crate::diagnostic::{Code, Diagnostic};
use crate::model::Place;
use crate::source::Span;

use super::tree::At;

/// A finding with its place in the text.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// The finding of its code.
    pub(super) found: fn(Span, String) -> Diagnostic,
    pub(super) message: String,
    pub(super) help: Vec<String>,
    pub(super) at: At,
}

impl Problem {
    /// F200: the text cannot be read.
    pub(super) fn syntax(at: At, message: impl Into<String>) -> Problem {
        let found = |span, message| Diagnostic::new(Code::TemplateSyntax, span, message);
        Problem { found, message: message.into(), help: vec![], at }
    }

    /// F203: a filter, function or test that does not exist.
    pub(super) fn unknown(at: At, message: impl Into<String>) -> Problem {
        let found = |span, message| Diagnostic::new(Code::UnknownFilter, span, message);
        Problem { found, ..Problem::syntax(at, message) }
    }

    /// F022: above a limit.
    pub(super) fn too_large(at: At, message: impl Into<String>) -> Problem {
        Problem { found: |span, message| Diagnostic::too_large(span, message), ..Problem::syntax(at, message) }
    }

    /// Adds a line of help.
    pub(super) fn help(mut self, line: impl Into<String>) -> Problem {
        self.help.push(line.into());
        self
    }

    /// With its place in the file.
    pub(super) fn at(self, place: &Place) -> Diagnostic {
        let found = (self.found)(place.inside(self.at.0, self.at.1), self.message);
        self.help.into_iter().fold(found, Diagnostic::help)
    }
}

/// A stretch of the source for messages: one line, at most 60 characters, no control characters.
pub(super) fn excerpt(source: &str, (start, end): At) -> String {
    let text = source.get(start..end).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let mut short: String = line.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
