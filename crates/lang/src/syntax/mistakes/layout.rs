//! Lines that are at the wrong place: indentation, lists, and colons that are missing or too many.

use std::cmp::Reverse;

use super::super::findings::unreadable;
use super::super::frames::OpenFrame;
use super::super::{quoted, to_write};
use super::{MistakePlace, key_of, short, starts};
use crate::diagnostic::Diagnostic;

/// Most lines below one that are looked at for the same mistake.
const MOST_SLID: usize = 50;

/// Tabs, and characters that only look like spaces, in the indentation of the lines where the parser stopped.
pub(super) fn odd_indentation(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let first = place.line_of(place.failure.seen);
    let (line, start, text, found) = (first.max(place.line.saturating_sub(20))..=place.line + 1).find_map(|line| {
        let (start, text) = place.line_at(line);
        let blanks = text.get(..text.len() - text.trim_start().len())?;
        let odd = blanks.char_indices().find(|(_, c)| *c != ' ')?;
        Some((line, start, text, odd)).filter(|_| !text.trim().is_empty())
    })?;
    let blanks = text.get(..text.len() - text.trim_start().len())?;
    let spaces: String = blanks.chars().map(|c| if c == '\t' { "  " } else { " " }).collect();
    let (at, c) = found;
    let is_odd = |number: &usize| {
        let text = place.line_at(*number).1;
        !text.trim().is_empty() && text.chars().take_while(|c| c.is_whitespace()).any(|other| other == c)
    };
    let more: String = (line + 1..=line + MOST_SLID).filter(is_odd).map(|number| format!(", {number}")).collect();
    let message = match c {
        '\t' => format!("line {line} is indented with a tab; only spaces count"),
        _ => format!("line {line} is indented with a character that looks like a space and is none (U+{:04X})", c as u32),
    };
    Some(
        unreadable(place.span(start + at, start + at + c.len_utf8()), message)
            .help(match more.as_str() {
                "" => "indent with spaces, two for each level".to_owned(),
                more => format!("indent with spaces, two for each level, in lines {line}{more}"),
            })
            .proposed_fix(vec![(place.span(start, start + blanks.len()), spaces)]),
    )
}

/// An empty line before a block text that is indented further than the text.
pub(super) fn long_blank_line(place: &MistakePlace<'_>) -> Diagnostic {
    let above = place.line.saturating_sub(1).max(1);
    let (start, text) = place.line_at(above);
    unreadable(place.span(start, start + text.len()), format!("the empty line {above} is indented further than the text below it"))
        .help(format!("remove the spaces of line {above}"))
}

/// `key: - item`.
pub(super) fn item_on_key_line(place: &MistakePlace<'_>) -> Diagnostic {
    let whole = place.rest_of_line(place.at);
    unreadable(whole, "a list cannot begin on the line of its key")
        .help("start the list on the next line; put a text that begins with \"-\" in quotes")
}

/// A `:` where no key can stand: a colon inside a text, a line that is indented too far, or a line above without its own.
pub(super) fn second_colon(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, line) = place.line_at(place.line);
    let before = line.get(..place.at.checked_sub(start)?)?;
    if before.starts_with("---") {
        let dashes = place.span(start, start + 3);
        return Some(unreadable(dashes, "what follows \"---\" must be on its own line").help("write it on the next line"));
    }
    if let Some((key, value)) = key_of(line).filter(|(_, value)| *value < before.len()) {
        let whole = place.rest_of_line(start + value);
        let written = place.slice(whole);
        return Some(
            unreadable(whole, format!("the text after \"{}:\" holds another \":\"; put it in quotes", short(key)))
                .help(format!("write {}: {}", short(key), to_write(&quoted(written))))
                .proposed_fix(vec![(whole, quoted(written))]),
        );
    }
    // A plain text continues over the lines below it: the one that swallowed this line's key may have been read already.
    let is_swallowed = place.failure.seen <= place.at && place.text.get(place.failure.seen..place.at)?.trim().is_empty();
    let piece = if is_swallowed { place.failure.last } else { place.next_piece() };
    let first = place.line_of(piece);
    if first >= place.line {
        return None;
    }
    let (first_start, first_line) = place.line_at(first);
    let word = before.trim_start().trim_start_matches("- ");
    if let Some((key, _)) = key_of(first_line) {
        let name = place.span(place.at - word.len(), place.at);
        let message = format!("line {} is indented further than \"{}\" on line {first}, which has a value already", place.line, short(key));
        let found = unreadable(name, message).related(place.span(piece, piece), "this value");
        if before.trim_start().starts_with("- ") {
            return Some(found.help("write the key of this list on a line above it, such as cases: or steps:"));
        }
        let blanks = |line: &str| line.chars().take_while(|c| *c == ' ' || *c == '-').count();
        return Some(found.help(format!(
            "write \"{}\" right below \"{}\", with {} blanks before it in place of {}",
            short(word),
            short(key),
            blanks(first_line),
            before.chars().take_while(|c| *c == ' ').count()
        )));
    }
    Some(no_colon(place, first, first_start, first_line))
}

/// A line that should be `key: value` and has no `:`.
pub(super) fn missing_colon(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let line = place.line_of(place.at);
    let (start, text) = place.line_at(line);
    let above = place.line_above(line);
    if let Some(above) = above
        && place.line_at(above).1.trim_end().ends_with(['|', '>', '-', '+'])
        && let Some((key, value)) = key_of(place.line_at(above).1)
        && place.line_at(above).1.get(value..).is_some_and(|header| header.starts_with(['|', '>']))
    {
        return Some(below_block_header(place, line, above, key));
    }
    if let Some(above) = above.filter(|above| place.failure.after_block_text && place.indent(*above) > place.indent(line)) {
        let message = format!("line {line} is indented less than the text above it, and is not a key: it has no \":\"");
        return Some(
            unreadable(place.line_span(line), message)
                .help(format!("indent it by {}, like line {above}, or write a \":\" after its key", spaces(place.indent(above)))),
        );
    }
    Some(no_colon(place, line, start, text))
}

fn below_block_header(place: &MistakePlace<'_>, line: usize, above: usize, key: &str) -> Diagnostic {
    let key = short(key);
    unreadable(place.line_span(line), format!("the text of \"{key}\" must be indented further than \"{key}\" on line {above}"))
        .help("indent its lines by two spaces more")
}

fn no_colon(place: &MistakePlace<'_>, line: usize, start: usize, text: &str) -> Diagnostic {
    let blanks = text.len() - text.trim_start().trim_start_matches("- ").len();
    let content = text.get(blanks..).unwrap_or("").trim_end();
    let glued = content.find(':').filter(|at| *at > 0 && !content.get(..*at).unwrap_or("").contains(' '));
    if let Some(colon) = glued {
        let behind = start + blanks + colon + 1;
        let (key, value) = content.split_at(colon);
        return unreadable(place.span(start + blanks, behind), format!("a space is missing after the \":\" on line {line}"))
            .help(format!("write {}: {}", short(key), short(value.get(1..).unwrap_or(""))))
            .proposed_fix(vec![(place.span(behind, behind), " ".to_owned())]);
    }
    let word = content.split_whitespace().next().unwrap_or(content);
    let rest = content.get(word.len()..).unwrap_or("").trim();
    let end = start + blanks + word.len();
    let found = unreadable(
        place.span(start + blanks, start + blanks + content.len()),
        format!("a \":\" is missing on line {line}, after \"{}\"", short(word)),
    );
    let found = found.help(format!("write {}:{}{}", short(word), if rest.is_empty() { "" } else { " " }, short(rest)));
    let found = found.help("indent the line further if it goes on with the text above");
    if rest.is_empty() { found } else { found.proposed_fix(vec![(place.span(end, end), ":".to_owned())]) }
}

/// A line whose indentation fits nothing above it, or that mixes keys and list items.
pub(super) fn fits_nowhere(place: &MistakePlace<'_>) -> Option<Diagnostic> {
    let (start, line) = place.line_at(place.line);
    let content = line.trim_start();
    let indent = line.len() - content.len();
    let before = line.get(..place.at.checked_sub(start)?)?;
    if !before.trim_matches([' ', '-']).is_empty() {
        return Some(behind_value(place, start, line));
    }
    if let Some(found) = odd_bullet(place, start + indent, content) {
        return Some(found);
    }
    let is_item = content.starts_with("- ") || content == "-";
    let above = place.line_above(place.line)?;
    if let Some(found) = slid_out(place, above, indent) {
        return Some(found);
    }
    let levels: Vec<&OpenFrame> = place.failure.open.iter().chain(&place.failure.closed).filter(|open| !open.in_brackets).collect();
    let column = |open: &OpenFrame| column(place, open);
    if let Some(open) = levels.iter().find(|open| column(open) == indent && open.is_list != is_item) {
        return Some(mixed(place, open, indent, is_item));
    }
    if place.failure.after_block_text && place.indent(above) > indent {
        return Some(left_of_text(place, &levels, indent));
    }
    let message = match indent {
        0 => format!("line {} is not indented, but the lines it belongs to are", place.line),
        _ => format!("line {} is indented by {}, which fits no line above it", place.line, spaces(indent)),
    };
    let found = unreadable(place.line_span(place.line), message);
    if is_item && levels.iter().all(|open| !open.is_list) {
        return Some(found.help("write the key of this list on a line above it, such as steps: or cases:"));
    }
    let nearest =
        levels.iter().filter(|open| open.is_list == is_item).min_by_key(|open| (column(open).abs_diff(indent), Reverse(column(open))));
    Some(match nearest {
        Some(open) => {
            let first = place.line_of(open.start);
            let name = place.word_at(open.start);
            let how = match column(open) {
                0 => "remove the spaces before it".to_owned(),
                column => format!("indent it by {}", spaces(column)),
            };
            found
                .related(place.span(open.start, open.start + 1), "the column to use")
                .help(format!("{how}, like \"{name}\" on line {first}"))
        }
        None => found.help("indent it like the line it belongs to"),
    })
}

/// The column that a list or keys begin in.
fn column(place: &MistakePlace<'_>, open: &OpenFrame) -> usize {
    open.start.saturating_sub(place.source.line_start(place.line_of(open.start)))
}

/// A list item among keys, or a key in the column of a list.
fn mixed(place: &MistakePlace<'_>, open: &OpenFrame, indent: usize, is_item: bool) -> Diagnostic {
    let first = place.line_of(open.start);
    let message = if is_item {
        format!("line {} is a list item, but is among the keys that begin on line {first}", place.line)
    } else {
        format!("line {} is a key, but is in the column of the list that begins on line {first}", place.line)
    };
    let help = if is_item {
        "give the list a key of its own, or indent it below its key".to_owned()
    } else {
        // The lines that slid with it.
        let is_of_it = |line: &usize| {
            let text = place.line_at(*line).1;
            let blanks = text.len() - text.trim_start().len();
            !text.trim().is_empty() && blanks >= indent && !text.trim_start().starts_with("- ")
        };
        let last = (place.line + 1..=place.line + MOST_SLID).take_while(is_of_it).last();
        let lines = last.map_or_else(|| format!("line {}", place.line), |last| format!("lines {} to {last}", place.line));
        format!("indent {lines} by two more spaces, like the keys of the entry above, or begin a new entry with \"- \"")
    };
    unreadable(place.line_span(place.line), message).related(place.span(open.start, open.start + 1), "begins here").help(help)
}

/// A line further left than the block text above it, that fits no key.
fn left_of_text(place: &MistakePlace<'_>, levels: &[&OpenFrame], indent: usize) -> Diagnostic {
    let less = |but: &str| {
        let message = format!("line {} is indented less than the text above it, {but}", place.line);
        unreadable(place.line_span(place.line), message)
    };
    // The key above may be the one that slid.
    match levels.iter().filter(|open| !open.is_list && column(place, open) > indent).min_by_key(|open| column(place, open)) {
        Some(open) => less("and fits no key above it").related(place.span(open.start, open.start + 1), "the key above it").help(format!(
            "indent it by {}, like \"{}\" on line {}, or as far as the text",
            spaces(column(place, open)),
            place.word_at(open.start),
            place.line_of(open.start)
        )),
        None => less("but further than the next key").help("indent it like the first line of the text, or like a key"),
    }
}

/// A dash or a bullet of a word processor in place of "-".
fn odd_bullet(place: &MistakePlace<'_>, at: usize, content: &str) -> Option<Diagnostic> {
    let first = content.chars().next().filter(|c| matches!(c, '–' | '—' | '−' | '‐' | '‑' | '•' | '·'))?;
    content.get(first.len_utf8()..)?.starts_with(' ').then_some(())?;
    let mark = place.span(at, at + first.len_utf8());
    let message = format!("line {} begins with {first}, which is not a \"-\"", place.line);
    Some(unreadable(mark, message).help("write a plain \"-\" in its place").proposed_fix(vec![(mark, "-".to_owned())]))
}

/// The text below `|` continues here, but the line above slid out of it to the left.
fn slid_out(place: &MistakePlace<'_>, above: usize, indent: usize) -> Option<Diagnostic> {
    let slid = place.indent(above);
    let mut line = above;
    let header = loop {
        line = place.line_above(line)?;
        match place.indent(line) {
            further if further >= indent => continue,
            _ => break line,
        }
    };
    let (start, text) = place.line_at(header);
    let (key, value) = key_of(text).filter(|(_, value)| text.get(*value..).is_some_and(|mark| mark.starts_with(['|', '>'])))?;
    (slid < indent && header < above - 1).then_some(())?;
    let message = format!("line {above} is indented less than the text of \"{}\", which goes on below it", short(key));
    Some(
        unreadable(place.line_span(above), message)
            .related(place.span(start + value, start + value + 1), "the text begins here")
            .help(format!("indent line {above} by {}, like the rest of the text", spaces(indent))),
    )
}

fn spaces(count: usize) -> String {
    if count == 1 { "1 space".to_owned() } else { format!("{count} spaces") }
}

/// Something is behind a value that was complete.
fn behind_value(place: &MistakePlace<'_>, start: usize, line: &str) -> Diagnostic {
    let blanks = line.len() - line.trim_start().trim_start_matches("- ").len();
    let value = key_of(line).map_or(blanks, |(_, value)| value);
    let reserved = line.get(value..).is_some_and(|v| v.starts_with(['*', '&', '[', '{', '!']));
    if reserved && start + value < place.at {
        return starts::must_be_quoted(place, start + value);
    }
    let whole = place.rest_of_line(place.at);
    let behind = short(place.slice(whole));
    unreadable(whole, format!("\"{behind}\" follows a value that is already complete"))
        .help("put the whole text in quotes, or move this to a line of its own")
}
