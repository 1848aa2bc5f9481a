//! Signs that CommonMark reads as marks, and that are none to a person: in figures, names, patterns and paths.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

/// The sign of an emphasis inside figures and names, which is no mark there: `3*4*5` is not 345, and `src/__init__.py` has no `src/init.py`.
pub(super) fn sign<'t>(event: &Event<'_>, range: &Range<usize>, text: &'t str) -> Option<&'t str> {
    let (is_start, length) = match event {
        Event::Start(Tag::Emphasis) => (true, 1),
        Event::End(TagEnd::Emphasis) => (false, 1),
        Event::Start(Tag::Strong) => (true, 2),
        Event::End(TagEnd::Strong) => (false, 2),
        // Two tildes are written to strike; one often says "about" or "to": `8~10 h`.
        Event::Start(Tag::Strikethrough) if !text.get(range.clone())?.starts_with("~~") => (true, 1),
        Event::End(TagEnd::Strikethrough) if !text.get(range.clone())?.starts_with("~~") => (false, 1),
        _ => return None,
    };
    let inside = text.get(range.start + length..range.end.checked_sub(length)?)?;
    let (before, after) = (text.get(..range.start)?, text.get(range.end..)?);
    let outer = [before.chars().next_back(), after.chars().next()];
    let inner = [inside.chars().next(), inside.chars().next_back()];
    let all = |signs: [Option<char>; 2], is: fn(&char) -> bool| signs.iter().all(|c| c.as_ref().is_some_and(is));
    let has_figure = outer.into_iter().chain(inner).flatten().any(|c| c.is_ascii_digit());
    let is_in_word = has_figure && all(outer, char::is_ascii_alphanumeric);
    let is_in_figure = [0, 1].into_iter().any(|side| all([outer[side], inner[side]], char::is_ascii_digit));
    // Patterns of files: `**/*.rs,**/*.md`, `*.py,*.rs`.
    let is_pattern = inside.starts_with(['/', ',', ';']) || inside.starts_with('.') && after.starts_with('.');
    // `a*b*c` is a product, `__init__()` the name of a function.
    // Two products or patterns: `a*b, c*d`, `rm a*b c*d`.
    let is_in_words = all(outer, |c| c.is_alphanumeric()) && all(inner, |c| c.is_alphanumeric()) && inside.contains(char::is_whitespace);
    let is_bracketed = inside.starts_with(')') || inside.ends_with('(');
    let is_key = [inside, after].iter().any(|text| text.starts_with(['\u{FE0F}', '\u{20E3}']));
    let is_single = |signs: [Option<char>; 2]| signs[0].is_some_and(char::is_alphanumeric) && !signs[1].is_some_and(char::is_alphanumeric);
    let mut back = before.chars().rev();
    let mut on = after.chars();
    let is_product = inside.chars().count() == 1 && is_single([back.next(), back.next()]) && is_single([on.next(), on.next()]);
    let is_function =
        after.starts_with('(') && inside.chars().all(|c| c.is_ascii_lowercase() || c == '_') && text[range.clone()].starts_with('_');
    let is_in_name = !inside.contains(char::is_whitespace) && is_name_around(before, text.get(range.clone())?.chars().next()?, after);
    let sign = if is_start { range.start..range.start + length } else { range.end - length..range.end };
    text.get(sign).filter(|_| {
        is_in_word || is_in_figure || is_pattern || is_product || is_function || is_in_words || is_bracketed || is_key || is_in_name
    })
}

/// Whether what a mark stands in goes on before or behind it as addresses, paths and names of files do.
fn is_name_around(before: &str, mark: char, after: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || "<>()[]\",;".contains(c)).next().unwrap_or_default();
    let mut next = after.chars();
    let (first, second) = (next.next(), next.next());
    let goes_on = second.is_some_and(char::is_alphanumeric);
    let is_path = |sign: Option<char>| sign.is_some_and(|c| "/\\".contains(c));
    let last = word.chars().next_back();
    let is_address = word.contains("://") || word.starts_with("www.");
    let in_path = is_path(last) && (is_path(first) || first == Some('.') && goes_on);
    // As a mark of emphasis, `_` stands between blanks.
    let in_name = last.is_some_and(|c| "/\\@#$=%+.-:".contains(c))
        || first.is_some_and(|c| "/\\@=".contains(c))
        || first.is_some_and(|c| ".:-".contains(c)) && goes_on;
    is_address || in_path || mark == '_' && in_name
}

/// Whether a backslash before a sign is one of a path of Windows, and escapes nothing: `\\server\share`, `C:\_cache`.
pub(super) fn is_of_path(text: &str, at: usize) -> bool {
    let (Some(before), Some(rest)) = (text.get(..at), text.get(at..)) else { return false };
    let start = before.rfind(char::is_whitespace).map_or(0, |blank| blank + before[blank..].chars().next().map_or(0, char::len_utf8));
    let word = &text[start..].split(char::is_whitespace).next().unwrap_or_default();
    let path = word.trim_start_matches(['"', '\'', '(', '*', '_', '„', '“']);
    let is_first = start + (word.len() - path.len()) == at;
    // Where each backslash is doubled, Markdown was escaped.
    let is_doubled = before.ends_with('\\') || rest.starts_with("\\\\") && !is_first;
    // A part with a backslash alone before it: Markdown that was escaped doubles each of a path.
    let has_part = path
        .match_indices('\\')
        .any(|(place, _)| !path[..place].ends_with('\\') && path[place + 1..].starts_with(|c: char| c.is_alphanumeric()));
    let is_drive = path.starts_with(|c: char| c.is_ascii_alphabetic()) && path.get(1..3) == Some(":\\") && has_part;
    let is_name = |name: &str| name.starts_with(char::is_alphanumeric) && name.chars().all(|c| c.is_alphanumeric() || "-._".contains(c));
    let is_share = path
        .strip_prefix("\\\\")
        .and_then(|path| path.split_once('\\'))
        .is_some_and(|(server, share)| is_name(server) && share.starts_with(|c: char| c.is_alphanumeric() || c == '$'));
    !is_doubled && (is_drive || is_share)
}
