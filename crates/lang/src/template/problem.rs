//! A mistake in a text, before it has a place in a file.

use crate::diagnostic::{Code, Diagnostic, Near, one_line};
use crate::model::TextPlace;
use crate::source::Span;

use super::stop::{FillError, FillStop};
use super::tree::SourceRange;

/// A finding with its place in the text.
#[derive(Debug, Clone)]
pub(super) struct TemplateProblem {
    /// The finding of its code.
    pub(super) found: fn(Span, String) -> Diagnostic,
    pub(super) message: String,
    pub(super) help: Vec<String>,
    pub(super) near: Box<Near>,
    pub(super) at: SourceRange,
    /// What may be written where.
    pub(super) fix: Option<Box<(SourceRange, String)>>,
}

impl TemplateProblem {
    /// F200: the text cannot be read.
    pub(super) fn syntax(at: SourceRange, message: impl Into<String>) -> TemplateProblem {
        let found = |span, message| Diagnostic::new(Code::TemplateSyntax, span, message);
        TemplateProblem { found, message: message.into(), help: vec![], near: Box::default(), at, fix: None }
    }

    /// F203: a filter, function or test that does not exist.
    pub(super) fn unknown(at: SourceRange, message: impl Into<String>) -> TemplateProblem {
        let found = |span, message| Diagnostic::new(Code::UnknownFilter, span, message);
        TemplateProblem { found, ..TemplateProblem::syntax(at, message) }
    }

    /// F022: above a limit.
    pub(super) fn too_large(at: SourceRange, message: impl Into<String>) -> TemplateProblem {
        TemplateProblem { found: |span, message| Diagnostic::too_large(span, message), ..TemplateProblem::syntax(at, message) }
    }

    /// Adds a line of help.
    pub(super) fn help(mut self, line: impl Into<String>) -> TemplateProblem {
        self.help.push(line.into());
        self
    }

    /// Keeps the names that its message proposes.
    pub(super) fn near(mut self, near: Near) -> TemplateProblem {
        self.near = Box::new(near);
        self
    }

    /// As the reason why the text is not filled.
    pub(super) fn stops(self, place: &TextPlace) -> FillError {
        let span = place.inside(self.at.0, self.at.1);
        FillError::new(FillStop::failed(self.message), Some(span))
    }

    /// With its place in the file.
    pub(super) fn at(self, place: &TextPlace) -> Diagnostic {
        let mut found = (self.found)(place.inside(self.at.0, self.at.1), self.message).near(*self.near);
        if let Some(((from, to), text)) = self.fix.filter(|_| !place.offsets.is_empty()).map(|fix| *fix) {
            found = found.proposed_fix(vec![(place.inside(from, to), text)]);
        }
        self.help.into_iter().fold(found, Diagnostic::help)
    }
}

/// A stretch of the source for messages: one line, at most 60 characters, no control characters.
pub(super) fn excerpt(source: &str, (start, end): SourceRange) -> String {
    let text = source.get(start..end).unwrap_or_default();
    one_line(text.lines().next().unwrap_or_default().trim_end(), 60)
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn an_excerpt_tells_only_of_what_is_left_out() {
        assert_eq!(excerpt("a\u{85}b", (0, 4)), "a b");
        assert_eq!(excerpt(&"é".repeat(61), (0, 122)), format!("{}…", "é".repeat(60)));
    }
}
