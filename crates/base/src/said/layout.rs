//! Where in a text something is meant, and where it is quoted: code, quotation marks, quote blocks and tables.

use std::ops::Range;

/// Whether a code fence that is not closed holds what is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenFence {
    Code,
    Text,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind<'t> {
    Text,
    /// A line of a quote block or of a table.
    Quote,
    /// The line that begins or ends a fence.
    Fence,
    /// Code in the block with this number, and the word behind the mark of its fence: also indented code, and code and comments of HTML.
    Code(usize, &'t str),
}

/// A line with its end, and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerLine<'t> {
    pub(super) at: usize,
    pub(super) text: &'t str,
    pub(super) kind: LineKind<'t>,
}

/// The lines of a text.
pub(super) fn lines(text: &str, open: OpenFence) -> Vec<AnswerLine<'_>> {
    let mut at = 0;
    let mut lines: Vec<AnswerLine<'_>> = text
        .split_inclusive('\n')
        .map(|text| {
            let line = text.trim();
            let is_row = line.starts_with('|') && line.ends_with('|');
            let kind = if is_row || line.starts_with('>') { LineKind::Quote } else { LineKind::Text };
            at += text.len();
            AnswerLine { at: at - text.len(), text, kind }
        })
        .collect();
    let last_ends = HTML_CODE.map(|(_, end)| text.rfind(end));
    let (mut from, mut blocks, mut is_list) = (0, 0, false);
    while from < lines.len() {
        let Some((mark, word)) = fence(lines[from].text) else {
            let length = html_code(text, &lines[from..], last_ends).unwrap_or_else(|| indented(&lines, from, is_list));
            lines[from..from + length].iter_mut().for_each(|line| line.kind = LineKind::Code(blocks, ""));
            blocks += usize::from(length > 0);
            is_list = if length == 0 { is_in_list(lines[from].text, is_list) } else { is_list };
            from += length.max(1);
            continue;
        };
        let end = closing(&lines[from + 1..], mark, open).map(|behind| from + 1 + behind);
        let last = end.unwrap_or(if open == OpenFence::Code { lines.len() } else { from + 1 });
        lines[from].kind = LineKind::Fence;
        lines[from + 1..last].iter_mut().for_each(|line| line.kind = LineKind::Code(blocks, word));
        if let Some(end) = end {
            lines[end].kind = LineKind::Fence;
        }
        blocks += 1;
        from = last + usize::from(end.is_some());
    }
    lines
}

/// What holds code in HTML, as it begins and ends.
const HTML_CODE: [(&str, &str); 3] = [("<pre", "</pre>"), ("<code", "</code>"), ("<!--", "-->")];

/// How many of these lines of a text are code or a comment of HTML that begins with the first; `None`: it begins none that ends.
/// `last_ends`: where the last end of each stands.
fn html_code(text: &str, lines: &[AnswerLine<'_>], last_ends: [Option<usize>; 3]) -> Option<usize> {
    let first = lines.first()?;
    let kind = HTML_CODE.iter().position(|(begin, _)| first.text.trim_start().starts_with(begin))?;
    last_ends[kind].filter(|last| *last > first.at)?;
    let end = first.at + text[first.at..].find(HTML_CODE[kind].1)?;
    Some(lines.partition_point(|line| line.at <= end))
}

/// How many lines of code that is only indented begin here: behind an empty line, and in no list, where it goes on with an item.
fn indented(lines: &[AnswerLine<'_>], from: usize, is_list: bool) -> usize {
    let is_blank = |line: &AnswerLine<'_>| line.text.trim().is_empty();
    if is_list || from > 0 && !is_blank(&lines[from - 1]) {
        return 0;
    }
    let is_code = |line: &&AnswerLine<'_>| !is_blank(line) && (line.text.starts_with("    ") || line.text.starts_with('\t'));
    lines[from..].iter().take_while(is_code).count()
}

/// Whether a list goes on behind a line; `is_list`: whether one did before it.
fn is_in_list(line: &str, is_list: bool) -> bool {
    let text = line.trim_start();
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = if behind.len() < text.len() { behind.starts_with(['.', ')']) } else { text.starts_with(['-', '*', '+', '•']) };
    is_item || is_list && (text.is_empty() || line.starts_with([' ', '\t']))
}

/// The mark of the fence that a line begins or ends, and the word behind it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.trim_start_matches(if line.starts_with('~') { '~' } else { '`' });
    let (mark, word) = line.split_at(line.len() - mark.len());
    (mark.len() >= 3 && !word.contains('`')).then_some((mark, word.trim()))
}

/// The line that closes a fence. One that begins another inside of it shows that it is none, or that fences stand in each other.
fn closing(lines: &[AnswerLine<'_>], mark: &str, open: OpenFence) -> Option<usize> {
    let mut inner = 0_usize;
    for (at, line) in lines.iter().enumerate() {
        match fence(line.text).filter(|(other, _)| other.starts_with(mark)) {
            Some((_, "")) if inner == 0 => return Some(at),
            Some((_, "")) => inner -= 1,
            Some(_) if open == OpenFence::Text => return None,
            Some(_) => inner += 1,
            None => {}
        }
    }
    None
}

/// The places where marks can begin and are meant, in their order.
pub(super) fn places(text: &str, open: OpenFence) -> Vec<usize> {
    let mut places = vec![];
    let lines = lines(text, open);
    for paragraph in lines.chunk_by(|a, b| is_prose(a) && is_prose(b)).filter(|lines| is_prose(&lines[0])) {
        let Some(last) = paragraph.last() else { continue };
        let start = paragraph[0].at;
        let mut quoted = code_spans(&text[start..last.at + last.text.len()], start).into_iter().peekable();
        for line in paragraph {
            let speech = quotations(line.text);
            for (at, _) in line.text.char_indices().filter(|(_, c)| matches!(c, '<' | '[' | '◁')) {
                let place = line.at + at;
                while quoted.next_if(|span| span.end <= place).is_some() {}
                let is_code = quoted.peek().is_some_and(|span| span.contains(&place));
                if !is_code && !in_ranges(&speech, at) {
                    places.push(place);
                }
            }
        }
    }
    places
}

fn is_prose(line: &AnswerLine<'_>) -> bool {
    line.kind == LineKind::Text && !line.text.trim().is_empty()
}

fn in_ranges(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.contains(&at))
}

/// The code between backticks in a paragraph; places count from `start`.
pub(super) fn code_spans(paragraph: &str, start: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<(usize, usize)> = vec![];
    for (at, _) in paragraph.match_indices('`') {
        match runs.last_mut() {
            Some((from, length)) if *from + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    let mut spans = vec![];
    let mut from = 0;
    while let Some((at, length)) = runs.get(from) {
        let close = runs[from + 1..].iter().position(|(_, other)| other == length);
        if let Some(close) = close {
            from += 1 + close;
            spans.push(start + at..start + runs[from].0);
        }
        from += 1;
    }
    spans
}

/// What stands between quotation marks in a line.
fn quotations(line: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut open: Option<(usize, &str)> = None;
    let mut before = ' ';
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        // An apostrophe is no quotation mark.
        let is_inside_word = c == '\'' && before.is_alphanumeric() && next.is_alphanumeric();
        match open {
            Some((from, closing)) if closing.contains(c) && !is_inside_word => {
                found.push(from..at);
                open = None;
            }
            None if !is_inside_word => {
                open = match c {
                    '"' => Some("\""),
                    '“' => Some("”"),
                    '„' => Some("“”"),
                    '«' => Some("»"),
                    '‘' => Some("’"),
                    '\'' if !before.is_alphanumeric() => Some("'"),
                    _ => None,
                }
                .map(|closing| (at, closing));
            }
            _ => {}
        }
        before = c;
    }
    found
}

/// Whether a mark at this place is spoken of: the sentence before it goes on, or announces it.
pub(super) fn is_spoken_of(before: &str) -> bool {
    let blank = [' ', '\t'];
    let sentence = before.trim_end_matches(blank);
    if sentence.is_empty() || sentence.ends_with('\n') {
        return sentence.trim_end().ends_with(':');
    }
    before.ends_with(blank) && sentence.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ':' | ';' | '-' | '–' | '—' | '→'))
}

/// Whether only a few blanks stand before this place in its line: more of them begin code.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(' ');
    at - before.len() <= 3 && (before.is_empty() || before.ends_with('\n'))
}

/// Whether what follows a mark goes on as the sentence that speaks of it.
pub(super) fn goes_on(after: &str) -> bool {
    after.starts_with([' ', '\t']) && after.trim_start().starts_with(|c: char| c.is_lowercase() || c == '(')
}

/// A text without what is not seen at its beginning.
pub(super) fn without_invisible(text: &str) -> &str {
    text.trim_start_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    })
}
