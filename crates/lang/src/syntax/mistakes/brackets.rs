//! `[ ]` and `{ }` that do not fit together, and what stands between them.

use super::super::findings::unreadable;
use super::super::frames::OpenFrame;
use super::super::{quoted, to_write};
use super::{MistakePlace, key_of, short};
use crate::diagnostic::Diagnostic;

fn closer(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

/// A closing bracket too many.
pub(super) fn extra(place: &MistakePlace<'_>) -> Diagnostic {
    let bracket = place.text.get(place.at..).and_then(|t| t.chars().next()).unwrap_or(']');
    unreadable(place.span(place.at, place.at + 1), format!("this \"{bracket}\" closes nothing"))
        .help("remove it, or put the text it belongs to in quotes")
}

/// An opening bracket at the place of the error that is never closed.
pub(super) fn unclosed(place: &MistakePlace<'_>, open: char) -> Diagnostic {
    never_closed(place, place.at, open, None)
}

fn never_closed(place: &MistakePlace<'_>, at: usize, open: char, before: Option<usize>) -> Diagnostic {
    let close = closer(open);
    let line = place.line_of(at);
    let message = match before {
        Some(next) => format!("\"{open}\" on line {line} is never closed; is a \"{close}\" missing before line {next}?"),
        None => format!("\"{open}\" on line {line} is never closed"),
    };
    // Where JSON goes on with another key, a comma must follow.
    let goes_on = before.is_some_and(|next| place.line_at(next).1.trim_start().starts_with('"'));
    let help = match before.filter(|_| goes_on) {
        Some(next) => format!("write \"{close},\" on a line of its own above line {next}, and no comma before it"),
        None => format!("write \"{close}\" after the last entry; put a text that begins with \"{open}\" in quotes"),
    };
    let found = unreadable(place.span(at, at + 1), message);
    let cut = (line..=before.unwrap_or(line).max(line)).find(|line| comment_cuts(place.line_at(*line).1, close));
    match cut.filter(|_| !goes_on) {
        Some(cut) => found.help(format!(
            "put the text with \" #\" on line {cut} in quotes: \" #\" begins a comment, so the \"{close}\" behind it is not read"
        )),
        None => found.help(help),
    }
}

/// Whether a comment without a blank behind its "#" takes a closing bracket with it.
fn comment_cuts(line: &str, close: char) -> bool {
    line.match_indices(" #").any(|(at, sign)| {
        let (before, comment) = (&line[..at], &line[at + sign.len()..]);
        let is_quoted = ['"', '\''].iter().any(|quote| before.matches(*quote).count() % 2 == 1);
        !is_quoted && comment.starts_with(|c: char| !c.is_whitespace() && c != '#') && comment.contains(close)
    })
}

/// `[ … }`.
pub(super) fn mismatched(place: &MistakePlace<'_>, open: char, close: char) -> Diagnostic {
    let right = closer(open);
    let line = place.line_of(place.at);
    // A key in quotes that is no further to the right: the bracket was to end above it.
    let is_key = |line: &usize| {
        let text = place.line_at(*line).1.trim_start();
        text.starts_with('"') && text.contains("\":")
    };
    let opens_here = place.text.get(place.at..).is_some_and(|text| text.starts_with(open));
    let next = (line + 1..=line + 100).filter(|_| opens_here).find(|next| is_key(next) && place.indent(*next) <= place.indent(line));
    if let Some(next) = next {
        return never_closed(place, place.at, open, Some(next));
    }
    unreadable(place.span(place.at, place.at + 1), format!("\"{open}\" on line {line} is closed with \"{close}\""))
        .help(format!("write \"{right}\" in place of \"{close}\""))
}

/// The innermost bracket that is open.
pub(super) fn innermost<'p>(place: &'p MistakePlace<'_>) -> Option<&'p OpenFrame> {
    let is_bracket =
        |open: &&OpenFrame| open.in_brackets && !place.text.get(open.start..).unwrap_or("").starts_with(|c| c != '[' && c != '{');
    place.failure.open.iter().rev().find(is_bracket)
}

/// The line below a bracket that was never closed.
pub(super) fn left_open(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, bracket) = match innermost(place) {
        Some(open) => (open.start, if open.is_list { '[' } else { '{' }),
        None => open_above(place)?,
    };
    let first = place.line_of(start);
    let (_, line) = place.line_at(place.line);
    let is_next_key = key_of(line).is_some() || line.trim_start().starts_with("- ");
    let is_below = place.line > first && is_next_key && place.indent(place.line) <= place.indent(first) + 2;
    is_below.then(|| never_closed(place, start, bracket, Some(place.line)))
}

/// The first bracket of the line above that has more opening than closing ones; the parser may not have told of it yet.
fn open_above(place: &MistakePlace<'_>) -> Option<(usize, char)> {
    let (start, _) = place.line_at(place.line_above(place.line)?);
    let text = place.slice(place.rest_of_line(start));
    let (at, bracket) = text.char_indices().find(|(_, c)| matches!(c, '[' | '{'))?;
    (text.matches(bracket).count() > text.matches(closer(bracket)).count()).then_some((start + at, bracket))
}

/// Something between brackets that is no entry, or the line below a bracket that was never closed.
pub(super) fn entry(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    if let Some(found) = left_open(place) {
        return Some(found);
    }
    let open = innermost(place)?;
    let bracket = if open.is_list { '[' } else { '{' };
    let written = place.text.get(place.at..)?;
    if written.starts_with(':') {
        let (start, line) = place.line_at(place.line);
        let curly =
            line.char_indices().find(|(_, c)| matches!(c, '“' | '„')).zip(line.char_indices().rfind(|(_, c)| matches!(c, '”' | '“')));
        if let Some(((from, _), (to, last))) = curly.filter(|((from, _), (to, _))| from < to && start + from < place.at) {
            let inner: String = line.get(from..to).unwrap_or_default().chars().skip(1).collect();
            let (from, to) = (start + from, start + to + last.len_utf8());
            let found =
                unreadable(place.span(from, to), "curly quotes are letters of a text here; a text is put in straight ones".to_owned());
            return Some(
                found.help(format!("write {}", to_write(&quoted(&inner)))).proposed_fix(vec![(place.span(from, to), quoted(&inner))]),
            );
        }
        return Some(
            unreadable(place.span(place.at, place.at + 1), "a text that holds \": \" must be in quotes here")
                .help("put the text in quotes, or separate the entries with \",\""),
        );
    }
    let word = short(written.split([',', ']', '}', '\n']).next().unwrap_or(""));
    if word.is_empty() {
        let at = place.span(place.at, (place.at + 1).min(place.text.len()));
        return Some(unreadable(at, "an entry is missing here").help("write the entry, or remove the \",\""));
    }
    let close = closer(bracket);
    // What is missing stands at the end of the line above.
    let before = place.text.get(..place.at).unwrap_or_default().trim_end();
    let above = place.line_of(before.len().saturating_sub(1));
    if above < place.line && !before.ends_with([',', '[', '{']) {
        let end = before.len();
        let last = before.chars().next_back().map_or(1, char::len_utf8);
        let found = unreadable(place.span(end - last, end), format!("a \",\" or \"{close}\" is missing at the end of line {above}"));
        let found = found.related(place.span(open.start, open.start + 1), "opened here");
        return Some(
            found.help(format!("write \",\" at the end of line {above}")).proposed_fix(vec![(place.span(end, end), ",".to_owned())]),
        );
    }
    Some(
        unreadable(
            place.span(place.at, place.at + word.trim_end_matches('…').len()),
            format!("a \",\" or \"{close}\" is missing before \"{word}\""),
        )
        .related(place.span(open.start, open.start + 1), "opened here")
        .help("separate the entries with \",\"; put a text that holds brackets or quotes in quotes"),
    )
}
