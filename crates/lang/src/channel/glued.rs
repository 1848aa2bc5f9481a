//! GluedMarks beside punctuation and a letter, which CommonMark takes for text: `**Status:**OK`, `これは**「重要」**です`, `~~gone.~~next`. Models write them and
//! people mean them. Read are pairs of which CommonMark reads neither side, with the same marks and in the same place.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::definitions::{Events, markdown_options};

/// Signs of one kind beside each other that are text so far.
struct GluedMarks {
    /// The events that they are.
    events: Range<usize>,
    bytes: Range<usize>,
    sign: char,
    /// How many kinds of marks are open around them, and the place at which the innermost began.
    within: (usize, usize),
}

/// What a text is read as: by CommonMark, with tables and strike, and with such pairs.
pub(crate) fn marked_events(text: &str) -> Events<'_> {
    with_glued(Parser::new_ext(text, markdown_options()).into_offset_iter().collect(), text)
}

/// The events with such pairs as what they mean.
pub(super) fn with_glued<'t>(events: Events<'t>, text: &str) -> Events<'t> {
    let marks = marks(&events, text);
    let pairs = pairs(&marks, text);
    if pairs.is_empty() {
        return events;
    }
    let mut made: Events<'t> = Vec::with_capacity(events.len());
    for (index, (event, range)) in events.into_iter().enumerate() {
        let found = pairs.iter().find(|(open, close)| open.events.contains(&index) || close.events.contains(&index));
        let Some((open, close)) = found else {
            made.push((event, range));
            continue;
        };
        let is_open = open.events.contains(&index);
        let marks = if is_open { open } else { close };
        if marks.events.start != index {
            continue;
        }
        let tags = tags(open.sign, open.bytes.len());
        let bytes = open.bytes.start..close.bytes.end;
        match is_open {
            true => made.extend(tags.into_iter().map(|tag| (Event::Start(tag), bytes.clone()))),
            false => made.extend(tags.into_iter().rev().map(|tag| (Event::End(TagEnd::from(tag)), bytes.clone()))),
        }
    }
    made
}

fn tags(sign: char, count: usize) -> Vec<Tag<'static>> {
    match (sign, count) {
        ('~', _) => vec![Tag::Strikethrough],
        (_, 1) => vec![Tag::Emphasis],
        (_, 2) => vec![Tag::Strong],
        _ => vec![Tag::Emphasis, Tag::Strong],
    }
}

fn marks(events: &Events<'_>, text: &str) -> Vec<GluedMarks> {
    let mut found: Vec<GluedMarks> = vec![];
    let mut open: Vec<usize> = vec![];
    for (index, (event, range)) in events.iter().enumerate() {
        match event {
            Event::Start(_) => open.push(index),
            Event::End(_) => {
                open.pop();
            }
            Event::Text(signs) => {
                let Some(sign) = signs.chars().next().filter(|sign| "*_~".contains(*sign) && signs.chars().all(|other| other == *sign))
                else {
                    continue;
                };
                let is_written = text.get(range.clone()) == Some(signs) && !text[..range.start].ends_with('\\');
                let within = (open.len(), open.last().copied().unwrap_or_default());
                match found.last_mut() {
                    Some(last) if last.sign == sign && last.events.end == index && last.bytes.end == range.start && is_written => {
                        (last.events.end, last.bytes.end) = (index + 1, range.end);
                    }
                    _ if is_written => found.push(GluedMarks { events: index..index + 1, bytes: range.clone(), sign, within }),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

fn pairs<'m>(marks: &'m [GluedMarks], text: &str) -> Vec<(&'m GluedMarks, &'m GluedMarks)> {
    let mut found = vec![];
    let mut open: Option<&GluedMarks> = None;
    for now in marks {
        match open.take() {
            Some(before) if is_pair(before, now, text) => found.push((before, now)),
            _ => open = Some(now),
        }
    }
    found
}

/// Whether two marks are meant as a pair. Formulas (`x**(n)**y`), patterns of files (`**/*.rs,**/*.md`) and arguments (`f(**a,**b)`) are none.
fn is_pair(open: &GluedMarks, close: &GluedMarks, text: &str) -> bool {
    let same = open.sign == close.sign && open.bytes.len() == close.bytes.len() && open.within == close.within;
    let count = open.bytes.len();
    let is_known = count <= 3 && (open.sign != '~' || count == 2);
    let (Some(before), Some(inside), Some(after)) =
        (text.get(..open.bytes.start), text.get(open.bytes.end..close.bytes.start), text.get(close.bytes.end..))
    else {
        return false;
    };
    let (left, right) = (before.chars().next_back(), after.chars().next());
    let (first, last) = (inside.chars().next(), inside.chars().next_back());
    if !same || !is_known || first.is_none_or(char::is_whitespace) || last.is_none_or(char::is_whitespace) {
        return false;
    }
    let is_path = [left, first, last, right].into_iter().flatten().any(|c| matches!(c, '/' | '\\' | '`'));
    let is_argument = matches!(left, Some('(' | ',')) && last == Some(',');
    let in_word = |outer: Option<char>, inner: Option<char>| [outer, inner].into_iter().flatten().all(char::is_alphanumeric);
    let brackets = |sign: char| inside.chars().filter(|c| *c == sign).count();
    let is_formula = brackets('(') != brackets(')') || is_letter_alone(before.chars().rev()) && is_letter_alone(after.chars());
    // One sign alone is often meant as itself: it counts before a word or a quotation, and not inside a word.
    let is_sure = count > 1 && open.sign != '_'
        || left.is_none_or(|c| c.is_whitespace() || "([{\"'„“‘«—–_*~".contains(c) || c.is_alphabetic() && !c.is_ascii())
            && first.is_some_and(|c| c.is_alphanumeric() || "\"'“„«‘‚「『《".contains(c))
            && last.is_some_and(|c| !c.is_alphanumeric() && c != ',')
            && right.is_none_or(|c| !c.is_numeric());
    let is_other = is_path || is_argument || is_formula && inside.starts_with('(') || open.sign == '_' && in_word(right, last);
    is_sure && !is_other
}

/// Whether the first word is one ASCII letter, as the names in formulas are.
fn is_letter_alone(mut chars: impl Iterator<Item = char>) -> bool {
    chars.next().is_some_and(|c| c.is_ascii_alphanumeric()) && chars.next().is_none_or(|c| !c.is_alphanumeric())
}
