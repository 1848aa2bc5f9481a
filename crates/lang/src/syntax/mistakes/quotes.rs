//! Quotes that are missing, too many, or hold an escape nobody knows.

use super::super::findings::unreadable;
use super::{MistakePlace, key_of, short};
use crate::diagnostic::Diagnostic;

/// Where the quoted text begins that the parser was reading, and its quote.
fn opening(place: &MistakePlace<'_>) -> Option<(usize, char)> {
    let is_quote = |at: usize| place.text.get(at..).and_then(|t| t.chars().next()).filter(|c| matches!(c, '"' | '\''));
    let piece = place.next_piece();
    is_quote(piece).map(|quote| (piece, quote)).or_else(|| is_quote(place.at).map(|quote| (place.at, quote)))
}

/// A text in quotes that does not end.
pub(super) fn unclosed(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, quote) = opening(place)?;
    let first = place.line_of(start);
    let (_, here) = place.line_at(place.line);
    let is_next_key =
        place.at == place.text.len() || key_of(here).is_some() || here.trim_start().starts_with("- ") || here.starts_with("---");
    if !is_next_key && place.line > first && place.text.get(place.at..).is_some_and(|rest| rest.contains(quote)) {
        let message = format!("line {} goes on with the text in quotes from line {first} and must be indented further", place.line);
        return Some(
            unreadable(place.line_span(place.line), message)
                .related(place.span(start, start + 1), "the text begins here")
                .help("indent it by two spaces more than the key, or write the text below \"|\""),
        );
    }
    Some(no_closing_quote(place, start, quote))
}

/// A text in quotes that took the next quote below for its own end: what is wrong is noticed behind that.
pub(super) fn swallowed(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    [Some(place.next_piece()), Some(place.failure.last), odd_quote(place)].into_iter().flatten().find_map(|start| {
        let quote = place.text.get(start..)?.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let inside = place.text.get(start + 1..place.at)?;
        let end = start + 1 + inside.rfind(quote)?;
        let ends_here = place.line_of(start) < place.line && place.line_of(end) == place.line;
        let is_open = place.slice(place.rest_of_line(start)).matches(quote).count() % 2 == 1;
        // A text over several lines is meant that way if its first line says nothing of what follows it.
        let looks_whole = place.slice(place.rest_of_line(start)).ends_with([',', '}', ']']);
        (ends_here && looks_whole && is_open).then(|| no_closing_quote(place, start, quote))
    })
}

/// The last quote of the first line with an odd number of them, between what was read and what cannot be.
fn odd_quote(place: &MistakePlace<'_>) -> Option<usize> {
    (place.line_of(place.failure.seen)..place.line).take(20).find_map(|line| {
        let (start, text) = place.line_at(line);
        // A backslash behind a backslash is one itself.
        let slashes = |at: usize| text.get(..at).unwrap_or_default().chars().rev().take_while(|c| *c == '\\').count();
        let quotes = || text.match_indices('"').filter(|(at, _)| slashes(*at) % 2 == 0);
        (quotes().count() % 2 == 1).then(|| quotes().next_back().map(|(at, _)| start + at)).flatten()
    })
}

fn no_closing_quote(place: &MistakePlace<'_>, start: usize, quote: char) -> Diagnostic {
    let line = place.rest_of_line(start);
    let first = place.line_of(start);
    let written = place.slice(line);
    let curly: &[char] = if quote == '"' { &['”', '“', '„'] } else { &['’', '‘', '‚'] };
    if let Some(last) = written.chars().next_back().filter(|last| curly.contains(last)) {
        let at = place.span(line.end as usize - last.len_utf8(), line.end as usize);
        return unreadable(line, format!("the text that begins with {quote} on line {first} ends with {last}, which closes nothing"))
            .help(format!("write {quote} at its end in place of {last}"))
            .proposed_fix(vec![(at, quote.to_string())]);
    }
    let found = unreadable(line, format!("the text that begins with {quote} on line {first} has no closing {quote}"))
        .help(format!("write {quote} at its end"));
    let is_alone = written.matches(quote).count() == 1;
    if is_alone { found.proposed_fix(vec![(place.span(line.end as usize, line.end as usize), quote.to_string())]) } else { found }
}

/// Something is behind a closing quote.
pub(super) fn trailing(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, quote) = opening(place)?;
    if place.line_of(start) < place.line {
        return Some(no_closing_quote(place, start, quote));
    }
    let (line_start, line) = place.line_at(place.line_of(start));
    let before = line.get(..start.saturating_sub(line_start)).unwrap_or("").trim_matches([' ', '-']);
    let whole = place.rest_of_line(start);
    let written = place.slice(whole);
    let behind = short(place.slice(place.rest_of_line(place.at)));
    if before.is_empty() && !written.contains("\": ") && !written.contains("': ") && !written.ends_with(':') {
        let key = place.text.get(start..place.at).unwrap_or("").trim();
        return Some(
            unreadable(place.span(place.at, place.at), format!("a \":\" is missing after {}", short(key)))
                .help(format!("write {}: {behind}", short(key))),
        );
    }
    let line = place.line_of(start);
    let letter = |text: &str, c: Option<char>| text.len() > 1 && c.is_some_and(char::is_alphanumeric);
    let until = place.text.get(start..place.at).unwrap_or("").trim_end_matches('\'');
    if quote == '\'' && letter(until, until.chars().next_back()) && letter(until, place.text.get(place.at..).and_then(|t| t.chars().next()))
    {
        return Some(unreadable(place.rest_of_line(start), format!("the text in '…' on line {line} ends at its first apostrophe")).help(
            match written.strip_prefix('\'').and_then(|written| written.strip_suffix('\'')).filter(|inner| !inner.contains('"')) {
                Some(inner) => format!("write \"{}\", in double quotes", crate::diagnostic::one_line(inner, 100)),
                None => "put the text in double quotes, or write '' for an apostrophe inside single quotes".to_owned(),
            },
        ));
    }
    let other = if quote == '"' { '\'' } else { '"' };
    if !before.is_empty() && written.starts_with(&quote.to_string().repeat(3)) {
        let message = format!("{0}{0}{0} begins no text of several lines; a \"|\" does", quote);
        return Some(unreadable(whole, message).help(format!("write {before} | and remove the {0}{0}{0} behind the text", quote)));
    }
    if !behind.contains(quote)
        && !written.contains(other)
        && ["in", "==", "!=", "and", "or", "not", "|", "<", ">", "is", "~"].contains(&behind.split(' ').next().unwrap_or_default())
    {
        let wanted = format!("{other}{written}{other}");
        let message = format!("a value that begins with {quote} ends at the next {quote}; the whole of it must be in the other quotes");
        return Some(unreadable(whole, message).help(format!("write {}", short(&wanted))).proposed_fix(vec![(whole, wanted)]));
    }
    if behind == "," {
        let comma = place.rest_of_line(place.at);
        let found = unreadable(comma, format!("a \",\" ends line {line}: in YAML that is no end of an entry, as it is in JSON"));
        let help = "remove the \",\" at the end of this line, and of each line like it below";
        return Some(found.help(help).proposed_fix(vec![(comma, String::new())]));
    }
    if !behind.contains(quote) {
        return Some(
            unreadable(place.rest_of_line(place.at), format!("\"{behind}\" is after the closing {quote} on line {line}"))
                .help("put the whole text in one pair of quotes, or remove what follows them"),
        );
    }
    let message = format!("the text that begins with {quote} on line {line} holds another {quote}, which ends it too early");
    let help = if quote == '"' {
        "write \\\" for a quote inside the text, or put the text in single quotes"
    } else {
        "write '' for a ' inside the text"
    };
    let found = unreadable(whole, message).help(help);
    let inner = written.strip_prefix(quote).and_then(|w| w.strip_suffix(quote)).filter(|inner| !inner.contains(['\\', ',', '}', ']']));
    Some(match inner {
        Some(inner) if quote == '"' => found.proposed_fix(vec![(whole, format!("\"{}\"", inner.replace('"', "\\\"")))]),
        Some(inner) => found.proposed_fix(vec![(whole, format!("'{}'", inner.replace("''", "'").replace('\'', "''")))]),
        None => found,
    })
}

/// A backslash in double quotes before something that makes no escape (YAML 1.2, section 5.7, lists those that do).
pub(super) fn escape(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, _) = opening(place)?;
    let rest = place.text.get(start..)?;
    let mut chars = rest.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        if c == '"' {
            return None;
        }
        if c != '\\' {
            continue;
        }
        let (_, letter) = chars.next()?;
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\' | 'N' | '_' | 'L' | 'P' | '\n' | '\r' => {
                continue;
            }
            _ => 0,
        };
        let hex: String = rest.get(i + 2..)?.chars().take(digits).take_while(char::is_ascii_hexdigit).collect();
        let names_character = hex.len() == digits && u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).is_some();
        if digits > 0 && names_character {
            continue;
        }
        let written = format!("\\{}{hex}", letter.escape_default());
        let slash = place.span(start + i, start + i + 1);
        return Some(
            unreadable(
                place.span(start + i, start + i + 1 + letter.len_utf8() + hex.len()),
                format!("\"{written}\" means nothing in double quotes"),
            )
            .help(match rest.get(1..).and_then(|rest| rest.split_once('"')).filter(|(inner, _)| !inner.contains(['\'', '\n'])) {
                Some((inner, _)) => format!("write '{inner}', in single quotes, where a backslash is one; or \\\\ for each in double ones"),
                None => "write \\\\ for a backslash, or put the text in single quotes".to_owned(),
            })
            .proposed_fix(vec![(slash, "\\\\".to_owned())]),
        );
    }
    None
}
