//! Files, spans and line numbers: the only place that counts lines.
//!
//! How to add a fact about places: put it on [`SourceFile`]; nobody else turns a byte offset into a line.

mod characters;
mod paths;

use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};

pub use characters::{is_invisible, is_unseen};
pub use paths::{from_folder, normalised};

/// Which file of a [`Sources`] a span lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A stretch of bytes in one file, `start..end`. Equal spans are ordered by file, then start, then end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// A span of the bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The empty span at the beginning of `file`.
    pub fn file_start(file: FileId) -> Span {
        Span { file, start: 0, end: 0 }
    }

    /// The smallest span that covers both; `other` must be of the same file.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Joins a value and its place.
    pub fn new(value: T, span: Span) -> Spanned<T> {
        Spanned { value, span }
    }
}

/// As its value alone.
impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl From<&str> for Spanned<String> {
    /// A text that is in no file.
    fn from(text: &str) -> Spanned<String> {
        Spanned::new(text.to_owned(), Span::default())
    }
}

impl Spanned<String> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.value
    }
}

/// A place as people count: line and column from 1, columns in Unicode characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in Unicode characters.
    pub column: usize,
}

/// One file's text with an index of its lines.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The name shown to people: a path with `/`, relative to the current folder where possible.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
    /// How many characters begin before each [`STRIDE`] bytes: a column is found without reading a long line from its start.
    characters: Vec<u32>,
    /// Places that are not shown, in order and apart.
    hidden: Vec<Range<usize>>,
}

/// Bytes between two counts of characters.
const STRIDE: usize = 1024;

impl SourceFile {
    /// Indexes the lines of `text`.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceFile {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        let mut characters = vec![0];
        for stretch in text.as_bytes().chunks(STRIDE) {
            characters.push(characters[characters.len() - 1] + beginning(stretch));
        }
        SourceFile { name: name.into(), text, line_starts, characters, hidden: vec![] }
    }

    /// Line and column of a byte offset; an offset past the end counts as the end, one inside a character as its start.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line_starts.partition_point(|start| *start as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        Position { line, column: (self.characters_before(offset) - self.characters_before(start)) as usize + 1 }
    }

    /// How many characters begin before a byte.
    fn characters_before(&self, offset: usize) -> u32 {
        let mark = offset / STRIDE;
        self.characters[mark] + beginning(&self.text.as_bytes()[mark * STRIDE..offset])
    }

    /// The byte offset at which `line` (from 1) begins; the end of the text for a line past the last.
    pub fn line_start(&self, line: usize) -> usize {
        self.line_starts.get(line.saturating_sub(1)).map_or(self.text.len(), |start| *start as usize)
    }

    /// The text of `line` (from 1) without its line end; empty past the last line.
    pub fn line(&self, line: usize) -> &str {
        self.text[self.line_start(line)..self.line_start(line.saturating_add(1))].trim_end_matches(['\n', '\r'])
    }

    /// Places that must not be shown: keys that are in the file.
    pub fn hidden(&self) -> &[Range<usize>] {
        &self.hidden
    }

    /// Whether a byte is at a place that must not be shown.
    pub fn is_hidden(&self, at: usize) -> bool {
        let next = self.hidden.partition_point(|place| place.end <= at);
        self.hidden.get(next).is_some_and(|place| place.contains(&at))
    }

    /// How many lines the file has, counting a last one without line end.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }
}

/// What an editor counts columns in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of UTF-8.
    Utf8,
    /// Halves of UTF-16: most characters count one, emojis two.
    Utf16,
}

impl Unit {
    /// How many units a text has.
    pub fn count(self, text: &str) -> usize {
        match self {
            Unit::Utf8 => text.len(),
            Unit::Utf16 => text.chars().map(char::len_utf16).sum(),
        }
    }
}

impl SourceFile {
    /// Line and column of a byte offset as editors count: both from 0.
    pub fn editor_position(&self, offset: u32, unit: Unit) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line_starts.partition_point(|start| *start as usize <= offset) - 1;
        (line, unit.count(&self.text[self.line_start(line + 1)..offset]))
    }

    /// The byte offset of a line and a column from 0; a place past the end of a line counts as its end, one inside a character as its
    /// start.
    pub fn offset(&self, line: usize, column: usize, unit: Unit) -> usize {
        let start = self.line_start(line.saturating_add(1));
        let text = self.line(line.saturating_add(1));
        let mut left = column;
        for (at, character) in text.char_indices() {
            let width = unit.count(character.encode_utf8(&mut [0; 4]));
            if left < width {
                return start + at;
            }
            left -= width;
        }
        start + text.len()
    }
}

/// How many characters begin in these bytes of a UTF-8 text.
fn beginning(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).count() as u32
}

/// All files of one check or run.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a file and gives its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        self.files.push(SourceFile::new(name, text));
        FileId(self.files.len() as u32 - 1)
    }

    /// The file of an id that this `Sources` gave out.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// Shows these places of a file no more.
    pub fn hide(&mut self, id: FileId, places: impl IntoIterator<Item = Range<usize>>) {
        let Some(file) = self.files.get_mut(id.0 as usize) else { return };
        let mut all = std::mem::take(&mut file.hidden);
        all.extend(places);
        all.sort_by_key(|place| (place.start, place.end));
        for place in all {
            match file.hidden.last_mut() {
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                _ => file.hidden.push(place),
            }
        }
    }

    /// All files in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, file)| (FileId(i as u32), file))
    }

    /// Where a span begins.
    pub fn start(&self, span: Span) -> Position {
        self.file(span.file).position(span.start)
    }

    /// Where a span begins, for people: `FILE:LINE:COLUMN`.
    pub fn place(&self, span: Span) -> String {
        let at = self.start(span);
        format!("{}:{}:{}", self.file(span.file).name, at.line, at.column)
    }

    /// Where a span ends: the position after its last character.
    pub fn end(&self, span: Span) -> Position {
        self.file(span.file).position(span.end)
    }

    /// The text a span covers, for people: with stars where a key stands.
    pub fn visible_text(&self, span: Span) -> String {
        let (file, start) = (self.file(span.file), span.start as usize);
        self.text(span).char_indices().map(|(at, c)| if file.is_hidden(start + at) { '*' } else { c }).collect()
    }

    /// The text a span covers.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let mut sources = Sources::default();
        let file = sources.add("a.yaml", "é: 1\nb: ü\n");
        assert_eq!(sources.start(Span::new(file, 2, 3)), Position { line: 1, column: 2 });
        assert_eq!(sources.start(Span::new(file, 9, 10)), Position { line: 2, column: 4 });
        assert_eq!(sources.end(Span::new(file, 9, 999)), Position { line: 3, column: 1 });
        assert_eq!(sources.file(file).line(2), "b: ü");
    }

    #[test]
    fn editors_count_from_zero_in_bytes_or_in_halves() {
        let file = SourceFile::new("a.yaml", "a\n😀é: x\r\nend");
        for (unit, offset, place) in [
            (Unit::Utf16, 2, (1, 0)),
            (Unit::Utf16, 6, (1, 2)),
            (Unit::Utf16, 8, (1, 3)),
            (Unit::Utf8, 8, (1, 6)),
            (Unit::Utf16, 13, (2, 0)),
            (Unit::Utf16, 99, (2, 3)),
        ] {
            assert_eq!(file.editor_position(offset, unit), place, "{offset}");
            assert_eq!(file.offset(place.0, place.1, unit) as u32, offset.min(16));
        }
        assert_eq!(file.offset(1, 1, Unit::Utf16), 2, "inside the emoji");
        assert_eq!(file.offset(1, 999, Unit::Utf16), 11, "before the line end");
        assert_eq!(file.offset(usize::MAX, 0, Unit::Utf8), 16);
    }

    #[test]
    fn columns_of_a_long_line_count_characters_too() {
        let text = format!("é: 1\n{}x", "äb€😀".repeat(1000));
        let file = SourceFile::new("a.yaml", text.as_str());
        for (column, (offset, _)) in text[6..].char_indices().enumerate() {
            assert_eq!(file.position(offset as u32 + 6), Position { line: 2, column: column + 1 });
        }
        assert_eq!(file.position(u32::MAX), Position { line: 2, column: 4002 });
    }
}
