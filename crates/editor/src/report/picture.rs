//! The lines of a file around a finding, made fit to be drawn: escapes for what cannot be seen, long lines cut.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::{escaped, is_invisible, visible};
use crate::source::{SourceFile, Sources, Span};

/// Characters of a line that are drawn.
const WIDTH: usize = 160;
/// Characters drawn before a mark in a line that is cut.
const BEFORE: usize = 60;
/// Lines that one excerpt may reach over; a mark farther away gets an excerpt of its own.
const REACH: usize = 2000;
/// Lines between two marks up to which they are drawn and not left out.
const GAP: usize = 3;

/// A stretch of one file with its marks.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) file: String,
    /// The line of `text`'s start, from 1.
    pub(super) first_line: usize,
    pub(super) text: String,
    pub(super) marks: Vec<ExcerptMark>,
}

/// A mark in an excerpt.
#[derive(Debug)]
pub(super) struct ExcerptMark {
    /// Bytes of the excerpt's text.
    pub(super) place: Range<usize>,
    pub(super) label: Option<String>,
    pub(super) is_primary: bool,
    /// Line and column (from 1) in the file, and the column of the mark in the excerpt.
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) shown_column: usize,
}

/// One span that is to be marked, cut to its first line.
struct WantedMark<'a> {
    line: usize,
    /// Bytes of that line.
    place: Range<usize>,
    label: Option<&'a str>,
    is_primary: bool,
}

/// The excerpts for a finding: the one with `span` first, then those of related places too far away or in other files.
pub(super) fn excerpts(sources: &Sources, span: Span, related: &[(Span, String)]) -> Vec<Excerpt> {
    let near = |other: Span| {
        let lines = sources.start(span).line.abs_diff(sources.start(other).line);
        other.file == span.file && lines <= REACH
    };
    // A related place that is the place itself gives the mark its label.
    let own = related.iter().find(|(other, _)| *other == span).map(|(_, label)| label.as_str());
    let primary = wanted(sources.file(span.file), span, own, true);
    let close = related
        .iter()
        .filter(|(other, _)| near(*other) && *other != span)
        .map(|(other, label)| wanted(sources.file(other.file), *other, Some(label), false));
    let mut all = vec![excerpt(sources.file(span.file), std::iter::once(primary).chain(close).collect())];
    for (other, label) in related.iter().filter(|(other, _)| !near(*other)) {
        let file = sources.file(other.file);
        all.push(excerpt(file, vec![wanted(file, *other, Some(label), false)]));
    }
    all
}

fn wanted<'a>(file: &SourceFile, span: Span, label: Option<&'a str>, is_primary: bool) -> WantedMark<'a> {
    let line = file.position(span.start).line;
    let line_start = file.line_start(line);
    let length = file.line(line).len();
    let start = (span.start as usize).saturating_sub(line_start).min(length);
    let end = (span.end as usize).saturating_sub(line_start).clamp(start, length);
    WantedMark { line, place: start..end, label, is_primary }
}

fn excerpt(file: &SourceFile, wanted: Vec<WantedMark<'_>>) -> Excerpt {
    let mut by_line: BTreeMap<usize, Vec<WantedMark<'_>>> = BTreeMap::new();
    for one in wanted {
        by_line.entry(one.line).or_default().push(one);
    }
    let first_line = by_line.keys().next().copied().unwrap_or(1);
    let mut text = String::new();
    let mut marks = vec![];
    let mut next = first_line;
    for (line, wanted) in by_line {
        let draws_gap = line - next <= GAP;
        for between in next..line {
            if draws_gap {
                text.push_str(&Shown::new(file, between, 0).text);
            }
            text.push('\n');
        }
        let focus = wanted.iter().find(|w| w.is_primary).or(wanted.first()).map_or(0, |w| w.place.start);
        let shown = Shown::new(file, line, focus);
        for one in wanted {
            let place = shown.place(one.place.start)..shown.place(one.place.end);
            marks.push(ExcerptMark {
                shown_column: shown.text.get(..place.start).map_or(0, |t| t.chars().count()) + 1,
                column: file.position((file.line_start(line) + one.place.start) as u32).column,
                place: text.len() + place.start..text.len() + place.end,
                label: one.label.map(|label| visible(label).into_owned()),
                is_primary: one.is_primary,
                line,
            });
        }
        text.push_str(&shown.text);
        text.push('\n');
        next = line + 1;
    }
    text.pop();
    Excerpt { file: visible(&file.name).into_owned(), first_line, text, marks }
}

/// A line as it is drawn.
struct Shown {
    text: String,
    /// For each character kept: its byte in the line, and in `text`.
    kept: Vec<(usize, usize)>,
}

impl Shown {
    /// Draws a line, with stars where a key stands; if it is too long, the part around the byte `focus`. Only that part is looked at: a file
    /// may be one line.
    fn new(file: &SourceFile, number: usize, focus: usize) -> Shown {
        let (line, line_start) = (file.line(number), file.line_start(number));
        let before = line.get(..focus).unwrap_or_default().char_indices().rev().nth(BEFORE - 1);
        let last = line.char_indices().rev().nth(WIDTH - 1);
        let from = before.zip(last).map_or(0, |((before, _), (last, _))| before.min(last));
        let mut text = String::new();
        let mut kept = vec![];
        if from > 0 {
            text.push('…');
        }
        let drawn = &line[from..];
        for (at, c) in drawn.char_indices().take(WIDTH) {
            kept.push((from + at, text.len()));
            if file.is_hidden(line_start + from + at) {
                text.push('*');
            } else if c != '\t' && is_invisible(c) {
                text.push_str(&escaped(c))
            } else {
                text.push(c)
            }
        }
        let end = drawn.char_indices().nth(WIDTH).map_or(line.len(), |(at, _)| from + at);
        kept.push((end, text.len()));
        if end < line.len() {
            text.push('…');
        }
        Shown { text, kept }
    }

    /// The byte of `text` for a byte of the line; what was cut off counts as its edge.
    fn place(&self, at: usize) -> usize {
        let i = self.kept.partition_point(|(byte, _)| *byte < at);
        self.kept.get(i).or(self.kept.last()).map_or(0, |(_, shown)| *shown)
    }
}

/// The line a span begins on, for machines: no more than [`WIDTH`] characters around the span.
pub(super) fn snippet(sources: &Sources, span: Span) -> String {
    let file = sources.file(span.file);
    let one = wanted(file, span, None, true);
    Shown::new(file, one.line, one.place.start).text
}
