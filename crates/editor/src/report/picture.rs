//! Prepares the lines of a file around a finding for drawing: invisible characters become escapes, long lines are cut.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::diagnostic::{escaped, is_invisible, visible};
use crate::source::{SourceFile, Sources, Span};

/// Maximum width of a drawn line in columns.
const WIDTH: usize = 160;
/// Width of a tab in columns, as drawn by `annotate-snippets`.
const TAB: usize = 4;
/// Maximum number of lines of one excerpt; a mark farther away gets a separate excerpt.
const REACH: usize = 2000;
/// Maximum number of lines between two marks that are drawn instead of left out.
const GAP: usize = 3;

/// A part of one file with its marks.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) file: String,
    /// The number of the first line of `text`, from 1.
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
    /// Width from the start of the line to the end of the mark, in columns of a terminal.
    pub(super) reach: usize,
}

/// A span to mark, cut to its first line.
struct WantedMark<'a> {
    line: usize,
    /// Bytes of that line.
    place: Range<usize>,
    label: Option<&'a str>,
    is_primary: bool,
}

/// Returns the excerpts for a finding: the one with `span` first, then those of related places that are far away or in other files. Lines
/// are cut so that they and their numbers fit a `window` of this width.
pub(super) fn excerpts(sources: &Sources, span: Span, related: &[(Span, String)], window: Option<usize>) -> Vec<Excerpt> {
    let farthest = related.iter().map(|(other, _)| sources.start(*other).line).fold(sources.start(span).line, usize::max);
    // An ellipsis on either side takes a column, and so does a mark after the end.
    let room = window.map_or(WIDTH, |window| window.saturating_sub(gutter(farthest) + 3).clamp(1, WIDTH));
    let near = |other: Span| {
        let lines = sources.start(span).line.abs_diff(sources.start(other).line);
        other.file == span.file && lines <= REACH
    };
    // A related place that equals the span gives its mark the label.
    let own = related.iter().find(|(other, _)| *other == span).map(|(_, label)| label.as_str());
    let primary = wanted(sources.file(span.file), span, own, true);
    let close = related
        .iter()
        .filter(|(other, _)| near(*other) && *other != span)
        .map(|(other, label)| wanted(sources.file(other.file), *other, Some(label), false));
    let mut all = vec![excerpt(sources.file(span.file), std::iter::once(primary).chain(close).collect(), room)];
    for (other, label) in related.iter().filter(|(other, _)| !near(*other)) {
        let file = sources.file(other.file);
        all.push(excerpt(file, vec![wanted(file, *other, Some(label), false)], room));
    }
    all
}

/// Returns the width before the text of a line: its number, a bar, and blanks.
pub(super) fn gutter(line: usize) -> usize {
    line.to_string().len() + 3
}

fn wanted<'a>(file: &SourceFile, span: Span, label: Option<&'a str>, is_primary: bool) -> WantedMark<'a> {
    let line = file.position(span.start).line;
    let line_start = file.line_start(line);
    let length = file.line(line).len();
    let start = (span.start as usize).saturating_sub(line_start).min(length);
    let end = (span.end as usize).saturating_sub(line_start).clamp(start, length);
    WantedMark { line, place: start..end, label, is_primary }
}

fn excerpt(file: &SourceFile, wanted: Vec<WantedMark<'_>>, room: usize) -> Excerpt {
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
                text.push_str(&Shown::new(file, between, 0..0, room).text);
            }
            text.push('\n');
        }
        let focus = wanted.iter().find(|w| w.is_primary).or(wanted.first()).map_or(0..0, |w| w.place.clone());
        let shown = Shown::new(file, line, focus, room);
        let columns = |text: &str| text.chars().map(columns_of).sum::<usize>();
        // An empty last line is not drawn: its marks come after the end of the line above.
        let above = if shown.text.is_empty() { text.lines().last().map_or(0, |line| columns(line) + 1) } else { 0 };
        for one in wanted {
            let place = shown.place(one.place.start)..shown.place(one.place.end);
            marks.push(ExcerptMark {
                shown_column: shown.text.get(..place.start).map_or(0, |t| t.chars().count()) + 1,
                reach: shown.text.get(..place.end).map_or(0, columns) + usize::from(place.is_empty()) + above,
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
    /// For each kept character: its byte in the line, and in `text`.
    kept: Vec<(usize, usize)>,
}

impl Shown {
    /// Draws a line, with asterisks in place of keys; if it is wider than `room`, the part around the bytes `focus`. Only that part is
    /// processed, because a file may be a single line.
    fn new(file: &SourceFile, number: usize, focus: Range<usize>, room: usize) -> Shown {
        let (line, line_start) = (file.line(number), file.line_start(number));
        let drawn = |at: usize, c: char| {
            if file.is_hidden(line_start + at) {
                Cow::Borrowed("*")
            } else if c != '\t' && is_invisible(c) {
                Cow::Owned(escaped(c).to_string())
            } else {
                Cow::Owned(c.to_string())
            }
        };
        let width = |at: usize, c: char| drawn(at, c).chars().map(columns_of).sum::<usize>();
        // Returns the start of a text that ends at `end` and has this width.
        let begin = |end: usize, mut left: usize| {
            let fits = |(at, c): &(usize, char)| left.checked_sub(width(*at, *c)).map(|now| left = now).is_some();
            line.get(..end).unwrap_or_default().char_indices().rev().take_while(fits).last().map_or(end, |(at, _)| at)
        };
        let marked = line.get(focus.clone()).unwrap_or_default().chars().take(room).map(columns_of).sum::<usize>();
        let before = (room * 3 / 8).min(room.saturating_sub(marked)).max(room / 8);
        let from = begin(line.floor_char_boundary(focus.start), before).min(begin(line.len(), room));
        let (mut text, mut kept, mut left, mut end) = (String::new(), vec![], room, line.len());
        if from > 0 {
            text.push('…');
        }
        for (at, c) in line[from..].char_indices().map(|(at, c)| (from + at, c)) {
            let Some(now) = left.checked_sub(width(at, c)) else {
                end = at;
                break;
            };
            left = now;
            kept.push((at, text.len()));
            text.push_str(&drawn(at, c));
        }
        kept.push((end, text.len()));
        if end < line.len() {
            text.push('…');
        }
        Shown { text, kept }
    }

    /// Returns the byte of `text` for a byte of the line; bytes that were cut off map to its edge.
    fn place(&self, at: usize) -> usize {
        let i = self.kept.partition_point(|(byte, _)| *byte < at);
        self.kept.get(i).or(self.kept.last()).map_or(0, |(_, shown)| *shown)
    }
}

/// Returns the width of a drawn character in columns.
fn columns_of(c: char) -> usize {
    if c == '\t' { TAB } else { c.width().unwrap_or_default() }
}

/// Returns the line where a span starts, for programs, with at most [`WIDTH`] columns around the span.
pub(super) fn snippet(sources: &Sources, span: Span) -> String {
    let file = sources.file(span.file);
    let one = wanted(file, span, None, true);
    Shown::new(file, one.line, one.place, WIDTH).text
}
