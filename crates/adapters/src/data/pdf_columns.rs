//! Writes the lines of a page of a PDF file: columns of prose one after the other, and tables with each cell below those of its column.

use std::ops::Range;

/// A distance between columns and between the columns of a table, as a share of the letters' size.
const GUTTER: f32 = 1.0;
/// Lines farther apart than this are no longer one block; and than this, no longer one paragraph.
const FARTHEST_LINES: f32 = 3.0;
const FARTHEST_IN_PARAGRAPH: f32 = 1.7;
/// How many columns of prose may stand side by side, and how many lines each has at least.
const MOST_COLUMNS: usize = 8;
const LEAST_LINES: usize = 3;
/// How many letters and words a line of prose has at least on average, and which share of its signs are letters.
const LEAST_LETTERS: usize = 15;
const LEAST_WORDS: usize = 3;
const LEAST_SHARE: f32 = 0.7;
/// Which share of the width of its column a full line of prose fills, and which share of its lines are full.
const FULL: f32 = 0.7;
const FULL_LINES: f32 = 0.6;
/// Which share of its lines begin within a sentence, with a small letter; and which share of the lines may begin a sentence in all columns.
const WITHIN_SENTENCE: f32 = 0.4;
const BEGIN_TOGETHER: f32 = 0.25;
/// How wide a sign of a table is, as a share of the letters' size.
const LEAST_SIGN: f32 = 0.4;
const MOST_SIGN: f32 = 0.6;
/// Where the last column of a table begins at the latest, in signs.
const LAST_COLUMN: usize = 400;
/// How many lines between two rows of a table may have one cell.
const MOST_BETWEEN: usize = 2;

/// Text that stands for itself in a line.
pub(super) struct SeenCell {
    pub(super) x0: f32,
    pub(super) x1: f32,
    pub(super) text: String,
}

/// What stands on one height.
pub(super) struct SeenLine {
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) cells: Vec<SeenCell>,
}

type Span = (f32, f32);

/// Writes lines, which are given from the top down.
pub(super) fn write_lines(lines: &[SeenLine], text: &mut String) {
    let (mut at, mut rows_from) = (0, 0);
    while let Some(rest) = lines.get(at..).filter(|rest| !rest.is_empty()) {
        let (count, columns) = block(rest);
        for part in prose(rest.get(..count).unwrap_or_default(), &columns) {
            write_rows(lines.get(rows_from..at + part.start).unwrap_or_default(), text);
            let part = at + part.start..at + part.end;
            rows_from = part.end;
            for column in &columns {
                for line in lines.get(part.clone()).unwrap_or_default() {
                    write_cells(within(line, *column), text);
                }
            }
        }
        at += count;
    }
    write_rows(lines.get(rows_from..).unwrap_or_default(), text);
}

/// The lines of a block whose columns are to be read one after the other.
fn prose(block: &[SeenLine], columns: &[Span]) -> Vec<Range<usize>> {
    let is_prose = |lines: &[SeenLine]| columns.iter().all(|column| is_prose(lines, *column));
    if columns.len() < 2 || !is_prose(block) || begin_together(block, columns) {
        return vec![];
    }
    let is_far = |one: &SeenLine, other: &SeenLine| one.y - other.y > FARTHEST_IN_PARAGRAPH * one.size.max(other.size);
    let ends = block.array_windows().zip(1..).filter(|([one, other], _)| is_far(one, other)).map(|(_, at)| at);
    let ends: Vec<usize> = ends.chain([block.len()]).collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    let mut parts: Vec<Range<usize>> = starts.zip(&ends).map(|(start, end)| start..*end).collect();
    let gaps = |column: &Span| {
        let lines: Vec<&SeenLine> = block.iter().filter(|line| within(line, *column).next().is_some()).collect();
        lines.array_windows().filter(|[one, other]| is_far(one, other)).count()
    };
    // Where no column has a paragraph that ends by itself, they are the cells of a table: row by row.
    if columns.iter().all(|column| gaps(column) < parts.len()) {
        parts.retain(|part| block.get(part.clone()).is_some_and(is_prose));
        return parts;
    }
    // What stands alone above or below is a header or a footer.
    let is_alone = |part: Option<&Range<usize>>| part.is_some_and(|part| part.len() == 1);
    let start = usize::from(is_alone(parts.first()));
    let end = block.len() - usize::from(is_alone(parts.last()));
    Some(start..end).into_iter().collect()
}

/// How many lines from the first one on stand in the same columns, and where these are.
fn block(lines: &[SeenLine]) -> (usize, Vec<Span>) {
    let mut columns: Vec<Span> = Vec::new();
    let mut before: Option<&SeenLine> = None;
    for (count, line) in lines.iter().enumerate() {
        let gutter = GUTTER * line.size;
        let spans = joined(line.cells.iter().map(|cell| (cell.x0, cell.x1)).collect(), gutter);
        let together = joined(columns.iter().chain(&spans).copied().collect(), gutter);
        let in_column = |column: &Span| spans.iter().filter(|span| column.0 <= span.0 && span.1 <= column.1).count();
        let is_far = before.is_some_and(|before| before.y - line.y > FARTHEST_LINES * before.size.max(line.size));
        let is_single = count > 0 && columns.len() == 1 && together.len() == 1;
        let has_cells = together.iter().any(|column| in_column(column) > 1);
        if is_far || is_single || has_cells || together.len() < columns.len() || together.len() > MOST_COLUMNS {
            return (count.max(1), columns);
        }
        (columns, before) = (together, Some(line));
    }
    (lines.len(), columns)
}

/// Spans from left to right; those that are less than a gutter apart are one.
fn joined(mut spans: Vec<Span>, gutter: f32) -> Vec<Span> {
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for (x0, x1) in spans {
        match joined.last_mut() {
            Some(last) if x0 < last.1 + gutter => last.1 = last.1.max(x1),
            _ => joined.push((x0, x1)),
        }
    }
    joined
}

fn within(line: &SeenLine, (x0, x1): Span) -> impl Iterator<Item = &SeenCell> {
    line.cells.iter().filter(move |cell| x0 <= cell.x0 && cell.x1 <= x1)
}

/// Whether so many lines begin anew in all columns that they are rows of a table.
fn begin_together(lines: &[SeenLine], columns: &[Span]) -> bool {
    let begins = |line: &&SeenLine| columns.iter().all(|column| begins_anew(line, *column) == Some(true));
    lines.iter().skip(1).filter(begins).count() as f32 > BEGIN_TOGETHER * lines.len() as f32
}

/// Whether a line of a column begins with something else than a small letter.
fn begins_anew(line: &SeenLine, column: Span) -> Option<bool> {
    let first = within(line, column).next()?.text.chars().next()?;
    Some(!first.is_alphabetic() || first.is_uppercase())
}

/// Whether the lines of a column are running text: full lines of several words, most of which begin within a sentence.
fn is_prose(lines: &[SeenLine], column: Span) -> bool {
    let (mut count, mut full, mut signs, mut letters, mut words, mut inner) = (0, 0, 0, 0, 0, 0);
    for line in lines {
        let width = within(line, column).map(|cell| cell.x1).fold(column.0, f32::max) - column.0;
        let texts = || within(line, column).flat_map(|cell| cell.text.split_whitespace());
        let seen = || texts().flat_map(str::chars);
        count += usize::from(seen().next().is_some());
        full += usize::from(width >= FULL * (column.1 - column.0));
        signs += seen().count();
        letters += seen().filter(|sign| sign.is_alphabetic()).count();
        words += texts().count();
        inner += usize::from(begins_anew(line, column) == Some(false));
    }
    count >= LEAST_LINES
        && inner as f32 >= WITHIN_SENTENCE * count as f32
        && full as f32 >= FULL_LINES * count as f32
        && letters as f32 >= LEAST_SHARE * signs as f32
        && letters >= LEAST_LETTERS * count
        && words >= LEAST_WORDS * count
}

/// Writes lines, those that form a table with each cell at its place.
fn write_rows(lines: &[SeenLine], text: &mut String) {
    let mut at = 0;
    while let Some(rest) = lines.get(at..).filter(|rest| !rest.is_empty()) {
        let count = rows(rest);
        match rest.get(..count) {
            Some([line]) => write_cells(line.cells.iter(), text),
            Some(table) => write_table(table, text),
            None => {}
        }
        at += count;
    }
}

/// How many lines from the first one on form a table. One line is none.
fn rows(lines: &[SeenLine]) -> usize {
    let starts = match lines {
        [first, second, ..] => is_row(first) || is_row(second) && hangs(first, second),
        _ => false,
    };
    let mut last = 0;
    for (at, line) in lines.iter().enumerate().skip(1) {
        if !starts || at - last > MOST_BETWEEN + 1 {
            break;
        }
        let hangs = lines.get(last).is_some_and(|row| at == last + 1 && is_row(row) && hangs(line, row));
        last = if is_row(line) || hangs { at } else { last };
    }
    last + 1
}

fn is_row(line: &SeenLine) -> bool {
    line.cells.array_windows().any(|[one, other]| other.x0 - one.x1 >= GUTTER * line.size)
}

/// Whether a line beside a row is one of its table that has but one cell, which is not the first one.
fn hangs(line: &SeenLine, row: &SeenLine) -> bool {
    let left = |line: &SeenLine| line.cells.first().map_or(0.0, |cell| cell.x0);
    left(line) - left(row) >= GUTTER * row.size && (line.y - row.y).abs() <= FARTHEST_IN_PARAGRAPH * row.size
}

fn write_cells<'a>(cells: impl Iterator<Item = &'a SeenCell>, text: &mut String) {
    let start = text.len();
    for cell in cells {
        if text.len() > start {
            text.push_str("  ");
        }
        text.push_str(&cell.text);
    }
    if text.len() > start {
        text.push('\n');
    }
}

fn write_table(lines: &[SeenLine], text: &mut String) {
    let cells = || lines.iter().flat_map(|line| &line.cells);
    let left = cells().map(|cell| cell.x0).fold(f32::INFINITY, f32::min);
    let size = lines.iter().map(|line| line.size).sum::<f32>() / lines.len() as f32;
    let pairs = lines.iter().flat_map(|line| line.cells.array_windows());
    let narrow = pairs.map(|[one, other]| (other.x0 - one.x0) / (length(&one.text) + 2) as f32).fold(f32::INFINITY, f32::min);
    let sign = narrow.clamp(LEAST_SIGN * size, MOST_SIGN * size);
    for line in lines {
        let mut written = 0;
        for cell in &line.cells {
            let column = (((cell.x0 - left) / sign).round() as usize).min(LAST_COLUMN);
            let blanks = column.saturating_sub(written).max(if written > 0 { 2 } else { 0 });
            text.extend(std::iter::repeat_n(' ', blanks));
            text.push_str(&cell.text);
            written += blanks + length(&cell.text);
        }
        text.push('\n');
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}
