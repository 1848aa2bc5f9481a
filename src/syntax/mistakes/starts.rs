//! Texts that begin with a character YAML keeps for itself.

use super::super::findings;
use super::super::quoted;
use super::{Place, short};
use crate::diagnostic::Diagnostic;

/// `@`, `` ` ``, `%`, `*`, `&`, `?`: the text must stand in quotes.
pub(super) fn reserved(place: &Place<'_>) -> Option<Diagnostic> {
    let first = place.text.get(place.at..)?.chars().next()?;
    if first.is_whitespace() || first == '_' {
        return None;
    }
    Some(must_be_quoted(place, place.at))
}

/// A text at `at` that must stand in quotes because of its first character.
pub(super) fn must_be_quoted(place: &Place<'_>, at: usize) -> Diagnostic {
    let whole = place.rest_of_line(at);
    let written = place.slice(whole);
    let first = written.chars().next().unwrap_or('@');
    let found = place.found(whole, format!("a text that begins with \"{first}\" must stand in quotes"));
    let found = found.help(format!("write {}", short(&quoted(written))));
    let is_in_brackets = place.failure.open.last().is_some_and(|open| open.in_brackets);
    if is_in_brackets { found } else { found.proposed_fix(vec![(whole, quoted(written))]) }
}

/// `| text` on one line.
pub(super) fn block_header(place: &Place<'_>) -> Option<Diagnostic> {
    let first = place.text.get(place.at..)?.chars().next().filter(|c| matches!(c, '|' | '>'))?;
    let whole = place.rest_of_line(place.at);
    let written = place.slice(whole);
    Some(
        place
            .found(whole, format!("a text after \"{first}\" must begin on the next line"))
            .help(format!("move the text to the next line, indented, or write {}", short(&quoted(written))))
            .proposed_fix(vec![(whole, quoted(written))]),
    )
}

/// A tag that cannot even be read.
pub(super) fn tag(place: &Place<'_>) -> Option<Diagnostic> {
    let line = place.line_at(place.line);
    let behind = place.at.checked_sub(line.0)?;
    let start = line.1.get(..=behind.min(line.1.len().saturating_sub(1))).and_then(|t| t.rfind('!')).map_or(place.at, |i| line.0 + i);
    let rest = place.rest_of_line(start);
    let word = place.slice(rest).split_whitespace().next().unwrap_or("!");
    Some(
        findings::unsupported(place.span(start, start + word.len()), format!("\"{}\" is not allowed", short(word)))
            .help("remove it; put a text that begins with \"!\" in quotes"),
    )
}
