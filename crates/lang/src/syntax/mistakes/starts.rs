//! Texts that begin with a character YAML keeps for itself.

use super::super::findings::{unreadable, unsupported};
use super::super::{quoted, to_write};
use super::{MistakePlace, short};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// `@`, `` ` ``, `%`, `*`, `&`, `?`: the text must be in quotes.
pub(super) fn reserved(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let first = place.text.get(place.at..)?.chars().next()?;
    if first.is_whitespace() || first == '_' {
        return None;
    }
    Some(must_be_quoted(place, place.at))
}

/// A text at `at` that must be in quotes because of its first character.
pub(super) fn must_be_quoted(place: &MistakePlace<'_>, at: usize) -> Diagnostic {
    let whole = template_at(place, at).unwrap_or_else(|| value_at(place, at));
    let written = place.slice(whole);
    let first = written.chars().next().unwrap_or('@');
    let found = unreadable(whole, format!("a text that begins with \"{first}\" must be in quotes"));
    let found = found.help(format!("write {}", to_write(&quoted(written))));
    if is_in_brackets(place, at) { found } else { found.proposed_fix(vec![(whole, quoted(written))]) }
}

/// `{% … %}`, whose "%" is here: to the end of the last statement on the line.
fn template_at(place: &MistakePlace<'_>, at: usize) -> Option<Span> {
    let from = at.checked_sub(1)?;
    let line = place.slice(place.rest_of_line(from));
    let end = line.rfind("%}").filter(|_| line.starts_with("{%"))?;
    Some(place.span(from, from + end + 2))
}

/// Whether a bracket is open here. Of those on this line the parser may not have heard yet.
fn is_in_brackets(place: &MistakePlace<'_>, at: usize) -> bool {
    let (start, line) = place.line_at(place.line_of(at));
    let before = line.get(..at.saturating_sub(start)).unwrap_or("");
    super::brackets::innermost(place).is_some() || before.matches(['{', '[']).count() > before.matches(['}', ']']).count()
}

/// The text that begins here: to the end of its line, in brackets to the next "," or bracket.
fn value_at(place: &MistakePlace<'_>, at: usize) -> Span {
    let line = place.slice(place.rest_of_line(at));
    let end = line.find([',', '}', ']']).filter(|_| is_in_brackets(place, at)).unwrap_or(line.len());
    place.span(at, at + line.get(..end).unwrap_or(line).trim_end().len())
}

/// `| text` on one line.
pub(super) fn block_header(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let first = place.text.get(place.at..)?.chars().next().filter(|c| matches!(c, '|' | '>'))?;
    let whole = value_at(place, place.at);
    let written = place.slice(whole);
    let found = unreadable(whole, format!("a text that begins with \"{first}\" must be in quotes"));
    if is_in_brackets(place, place.at) {
        return Some(found.help(format!("write {}", to_write(&quoted(written)))));
    }
    Some(
        unreadable(whole, format!("a text after \"{first}\" must begin on the next line"))
            .help(format!("move the text to the next line, indented, or write {}", to_write(&quoted(written))))
            .proposed_fix(vec![(whole, quoted(written))]),
    )
}

/// A tag that cannot even be read.
pub(super) fn tag(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let line = place.line_at(place.line);
    let behind = place.at.checked_sub(line.0)?;
    let start = line.1.get(..=behind.min(line.1.len().saturating_sub(1))).and_then(|t| t.rfind('!')).map_or(place.at, |i| line.0 + i);
    let rest = place.rest_of_line(start);
    let word = place.slice(rest).split_whitespace().next().unwrap_or("!");
    let (message, help) = match word.trim_start_matches('!') {
        "" => {
            let text = to_write(&quoted(place.slice(rest).trim_end()));
            ("a text that begins with \"!\" must be in quotes".to_owned(), format!("write {text}"))
        }
        _ => (format!("\"{}\" is not allowed", short(word)), "remove it; put a text that begins with \"!\" in quotes".to_owned()),
    };
    Some(unsupported(place.span(start, start + word.len()), message).help(help))
}
