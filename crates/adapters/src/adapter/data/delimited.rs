//! CSV and TSV files, read as a stream: a file is never in memory as a whole, and a line takes at most [`MOST_ROW_BYTES`].

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::blocking::CancelFlag;
use super::columns::{Cell, RowSource, SourceRow};
use super::excel::MOST_COLUMNS;
use super::sentence::{counted, file_name, too_large, wrong_type};
use super::source::{Content, Stamp, cannot_open, decode, not_a_text, not_utf8, open, read_rest, with_zeros};
use crate::event::Failure;
use crate::model::DataKind;

/// Maximum size of one row in the file, in bytes.
const MOST_ROW_BYTES: usize = 8 << 20;
/// Maximum size of a UTF-16 file, in bytes. It is decoded as a whole.
const MOST_UTF16: u64 = 64 << 20;
/// How much of a file is read at once, in bytes.
const AT_ONCE: usize = 256 << 10;
/// How much of the first line is used to find the delimiter, in bytes.
const MOST_SNIFFED: u64 = 64 << 10;

/// A text file of rows, and its delimiter.
pub(super) struct Delimited {
    path: PathBuf,
    content: TextSource,
    delimiter: u8,
    /// Where the table begins, in bytes: behind a byte order mark and `sep=;`.
    start: u64,
    /// Lines before the table (`sep=;`).
    lines_before: u64,
}

/// Where the bytes of a text are.
enum TextSource {
    File { file: File, stamp: Stamp },
    Memory(Vec<u8>),
}

impl Delimited {
    /// Opens a CSV or TSV file. In a CSV file, a first line `sep=;`, as Excel writes it, sets the delimiter; otherwise the first line determines
    /// whether it is `,` or `;`.
    pub(super) fn open(path: &Path, kind: DataKind) -> Result<(Delimited, Stamp), Failure> {
        let (mut file, stamp) = open(path)?;
        let mut beginning = Vec::new();
        let wrong = |error: std::io::Error| cannot_open(path, &error);
        (&file).take(MOST_SNIFFED).read_to_end(&mut beginning).map_err(wrong)?;
        let content = if beginning.starts_with(&[0xFF, 0xFE]) || beginning.starts_with(&[0xFE, 0xFF]) {
            file.rewind().map_err(wrong)?;
            let text = decode(path, read_rest(path, file, stamp, MOST_UTF16)?)?;
            beginning = text.as_bytes().iter().take(MOST_SNIFFED as usize).copied().collect();
            TextSource::Memory(text.into_bytes())
        } else {
            TextSource::File { file, stamp }
        };
        Ok((Delimited::new(path, kind, content, &beginning)?, stamp))
    }

    /// Reads a text that is in memory.
    pub(super) fn of_bytes(path: &Path, kind: DataKind, bytes: Vec<u8>) -> Result<Delimited, Failure> {
        let text = decode(path, bytes)?;
        let beginning: Vec<u8> = text.bytes().take(MOST_SNIFFED as usize).collect();
        Delimited::new(path, kind, TextSource::Memory(text.into_bytes()), &beginning)
    }

    fn new(path: &Path, kind: DataKind, content: TextSource, beginning: &[u8]) -> Result<Delimited, Failure> {
        if let Some(what) = Content::of(beginning).as_file_kind() {
            return Err(not_a_text(path, what));
        }
        let mark = "\u{FEFF}".as_bytes();
        let mut start = if beginning.starts_with(mark) { mark.len() } else { 0 };
        let table = beginning.get(start..).unwrap_or_default();
        let (mut delimiter, mut lines_before) = (b'\t', 0);
        if kind != DataKind::Tsv {
            delimiter = sniffed(table);
            if let Some([mark @ (b',' | b';' | b'\t' | b'|'), end @ (b'\r' | b'\n'), next, ..]) = table.strip_prefix(b"sep=") {
                (delimiter, lines_before) = (*mark, 1);
                start += "sep=".len() + if (*end, *next) == (b'\r', b'\n') { 3 } else { 2 };
            }
        }
        Ok(Delimited { path: path.to_owned(), content, delimiter, start: start as u64, lines_before })
    }

    fn ragged(&self, number: u64, cells: usize, header: usize, spans_lines: bool) -> Failure {
        let mut sentence = format!(
            "{} has {}, but the header has {header}. Quote texts that contain \"{}\", or correct the line.",
            self.place(number),
            counted(cells as u64, "cell"),
            if self.delimiter == b'\t' { "tab".to_owned() } else { char::from(self.delimiter).to_string() },
        );
        if spans_lines {
            sentence.push_str(" It goes over several lines: perhaps a quotation mark is not closed.");
        }
        wrong_type(sentence)
    }

    /// The bytes of the table from this place on.
    fn from(&self, place: u64) -> Result<Box<dyn BufRead + '_>, Failure> {
        let wrong = |error: std::io::Error| cannot_open(&self.path, &error);
        Ok(match &self.content {
            TextSource::File { file, .. } => {
                let mut file = file;
                file.seek(SeekFrom::Start(place)).map_err(wrong)?;
                Box::new(BufReader::with_capacity(AT_ONCE, file))
            }
            TextSource::Memory(bytes) => {
                let mut cursor = Cursor::new(bytes.as_slice());
                cursor.set_position(place);
                Box::new(cursor)
            }
        })
    }

    /// Fails if the file is not the one that was opened any more: it is read several times.
    fn check_unchanged(&self) -> Result<(), Failure> {
        match &self.content {
            TextSource::File { file, stamp } => stamp.check(&self.path, file),
            TextSource::Memory(_) => Ok(()),
        }
    }

    /// Whether the last record ends inside quotation marks, so that it contains the rest of the file.
    fn ends_in_quotes(&self, start: u64) -> Result<bool, Failure> {
        let mut record = Vec::new();
        self.from(start)?.take(MOST_ROW_BYTES as u64).read_to_end(&mut record).map_err(|error| cannot_open(&self.path, &error))?;
        Ok(ends_in_quotes(&record, self.delimiter))
    }
}

/// The record that is being read.
struct DelimitedRow {
    /// All cells, without delimiters.
    text: Vec<u8>,
    /// Where each cell ends in `text`.
    ends: Vec<usize>,
    filled: usize,
    cells: usize,
    /// Size in the file so far, in bytes.
    size: usize,
}

impl DelimitedRow {
    fn new() -> DelimitedRow {
        DelimitedRow { text: vec![0; 4 << 10], ends: vec![0; 64], filled: 0, cells: 0, size: 0 }
    }

    fn clear(&mut self) {
        (self.filled, self.cells, self.size) = (0, 0, 0);
    }

    /// Reads on. Returns how many bytes of `input` were used, and what was found.
    fn read(&mut self, reader: &mut Reader, input: &[u8]) -> (usize, ReadRecordResult) {
        let text = self.text.get_mut(self.filled..).unwrap_or_default();
        let (result, used, written, ended) = reader.read_record(input, text, self.ends.get_mut(self.cells..).unwrap_or_default());
        self.size += used;
        self.filled += written;
        self.cells += ended;
        match result {
            ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            ReadRecordResult::InputEmpty | ReadRecordResult::Record | ReadRecordResult::End => {}
        }
        (used, result)
    }

    /// The texts of the cells. `Err`: how many of the bytes are UTF-8.
    fn cells(&self) -> Result<impl Iterator<Item = Option<&str>>, usize> {
        let text = self.text.get(..self.filled).unwrap_or_default();
        let text = std::str::from_utf8(text).map_err(|error| error.valid_up_to())?;
        let mut start = 0;
        let cell = move |end: &usize| text.get(std::mem::replace(&mut start, *end)..*end);
        Ok(self.ends.iter().take(self.cells).map(cell))
    }

    fn line_ends_before(&self, place: usize) -> u64 {
        self.text.iter().take(place).filter(|byte| **byte == b'\n').count() as u64
    }
}

impl RowSource for Delimited {
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&SourceRow<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        let wrong = |error: std::io::Error| cannot_open(&self.path, &error);
        let mut reader = ReaderBuilder::new().delimiter(self.delimiter).build();
        let mut bytes = self.from(self.start)?;
        let mut record = DelimitedRow::new();
        let mut width = None;
        let mut place = self.start;
        let mut last = None;
        let mut rows = 0_u64;
        loop {
            if rows.is_multiple_of(1024) {
                cancel.check()?;
            }
            rows += 1;
            let (number, start) = (reader.line() + self.lines_before, place);
            record.clear();
            let is_there = loop {
                let (used, result) = record.read(&mut reader, bytes.fill_buf().map_err(wrong)?);
                bytes.consume(used);
                place += used as u64;
                if record.size > MOST_ROW_BYTES {
                    let place = self.place(number);
                    let sentence = format!("{place} is longer than {} MB. Perhaps a quotation mark is not closed.", MOST_ROW_BYTES >> 20);
                    return Err(too_large(sentence));
                }
                if record.cells > MOST_COLUMNS {
                    return Err(too_large(format!("{} has more than {MOST_COLUMNS} columns.", self.place(number))));
                }
                match result {
                    ReadRecordResult::InputEmpty => cancel.check()?,
                    ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                    ReadRecordResult::Record => break true,
                    ReadRecordResult::End => break false,
                }
            };
            if !is_there {
                break;
            }
            last = Some((number, start));
            let mut cells = Vec::with_capacity(record.cells);
            let mut is_text = true;
            let unreadable = |valid: usize| not_utf8(&self.path, number + record.line_ends_before(valid));
            for cell in record.cells().map_err(unreadable)? {
                let Some(text) = cell else {
                    is_text = false;
                    break;
                };
                cells.push(if text.trim().is_empty() { Cell::Empty } else { Cell::Guess(text) });
            }
            if !is_text {
                // Two cells that are UTF-8 only together.
                return Err(unreadable(0));
            }
            if record.text.get(..record.filled).unwrap_or_default().contains(&0) {
                return Err(with_zeros(&self.path));
            }
            if cells.iter().any(|cell| *cell != Cell::Empty) {
                let header = *width.get_or_insert(cells.len());
                if cells.len() != header {
                    return Err(self.ragged(number, cells.len(), header, record.line_ends_before(record.filled) > 0));
                }
                show(&SourceRow { number, cells: &cells })?;
            }
        }
        self.check_unchanged()?;
        match last {
            Some((number, start)) if self.ends_in_quotes(start)? => Err(wrong_type(format!(
                "{}: a cell begins with a quotation mark that is never closed. Close it, or remove it.",
                self.place(number)
            ))),
            _ => Ok(()),
        }
    }

    fn place(&self, number: u64) -> String {
        format!("{}, line {number}", file_name(&self.path))
    }

    fn may_use_decimal_comma(&self) -> bool {
        self.delimiter == b';'
    }
}

/// The delimiter that is more frequent in the first line, outside quotation marks.
fn sniffed(text: &[u8]) -> u8 {
    let (mut commas, mut semicolons, mut is_quoted) = (0_u32, 0_u32, false);
    for byte in text.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n')) {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\r' | b'\n' if !is_quoted => break,
            b',' if !is_quoted => commas += 1,
            b';' if !is_quoted => semicolons += 1,
            _ => {}
        }
    }
    if semicolons > commas { b';' } else { b',' }
}

/// Whether a text of cells ends inside quotation marks.
fn ends_in_quotes(record: &[u8], delimiter: u8) -> bool {
    let (mut is_quoted, mut at_start) = (false, true);
    for byte in record {
        (is_quoted, at_start) = match (is_quoted, *byte) {
            (true, b'"') => (false, true), // of a doubled one, the second opens again
            (true, _) => (true, false),
            (false, b'"') => (at_start, false),
            (false, byte) => (false, byte == delimiter || matches!(byte, b'\r' | b'\n')),
        };
    }
    is_quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut file =
            Delimited::of_bytes(Path::new("data/x.csv"), DataKind::Csv, text.as_bytes().to_vec()).map_err(|failure| failure.message)?;
        let mut rows = Vec::new();
        let mut show = |row: &SourceRow<'_>| {
            rows.push((row.number, row.cells.iter().map(|cell| cell.text().into_owned()).collect()));
            Ok(())
        };
        file.each_row(&CancelFlag::default(), &mut show).map_err(|failure| failure.message)?;
        Ok(rows)
    }

    fn cells(text: &str) -> Vec<Vec<String>> {
        rows(text).unwrap().into_iter().map(|(_, cells)| cells).collect()
    }

    #[test]
    fn commas_and_semicolons_are_told_apart_by_the_first_line() {
        assert_eq!(cells("a,b\n1;5,2\n"), [["a", "b"], ["1;5", "2"]]);
        assert_eq!(cells("a;b\n1,5;2\n"), [["a", "b"], ["1,5", "2"]]);
        assert_eq!(cells("\"x;y;z\",b\n1,2\n"), [["x;y;z", "b"], ["1", "2"]]);
        assert_eq!(cells("sep=;\r\na;b\r\n1;2\r\n"), [["a", "b"], ["1", "2"]]);
    }

    #[test]
    fn quoted_cells_may_hold_line_ends_quotes_and_delimiters() {
        assert_eq!(
            rows("a,b\n\"x\ny\",\"say \"\"hi\"\", ok\"\n3,4\n").unwrap(),
            [(1, vec!["a".into(), "b".into()]), (2, vec!["x\ny".into(), "say \"hi\", ok".into()]), (4, vec!["3".into(), "4".into()])]
        );
    }

    #[test]
    fn a_line_with_too_few_or_too_many_cells_is_named() {
        assert_eq!(
            rows("a,b\n1,2\n3\n").unwrap_err(),
            "x.csv, line 3 has 1 cell, but the header has 2. Quote texts that contain \",\", or correct the line."
        );
        assert!(rows("sep=,\na,b\n1,2,3\n").unwrap_err().starts_with("x.csv, line 3 has 3 cells"));
        assert!(rows("a,b\n\"1,2\n3,4\n").unwrap_err().contains("perhaps a quotation mark is not closed"));
    }

    #[test]
    fn a_quotation_mark_that_is_never_closed_is_not_swallowed() {
        assert_eq!(
            rows("a,b\n1,\"x\n3,4\n").unwrap_err(),
            "x.csv, line 2: a cell begins with a quotation mark that is never closed. Close it, or remove it."
        );
        assert_eq!(cells("a,b\n5\" pipe,\"\"\"\"\n"), [["a", "b"], ["5\" pipe", "\""]]);
        assert_eq!(cells("a,b\n1,5\"\"\n"), [["a", "b"], ["1", "5\"\""]]);
    }

    #[test]
    fn rows_and_columns_are_bounded_before_they_take_memory() {
        let sentence = |text: &str| rows(text).unwrap_err();
        assert_eq!(
            sentence(&format!("a\n{}\n", "x".repeat(9 << 20))),
            "x.csv, line 2 is longer than 8 MB. Perhaps a quotation mark is not closed."
        );
        assert_eq!(
            sentence(&format!("a\n\"{}", "x\n".repeat(5 << 20))),
            "x.csv, line 2 is longer than 8 MB. Perhaps a quotation mark is not closed."
        );
        assert_eq!(sentence(&format!("{}\n", ",".repeat(1_000_000))), "x.csv, line 1 has more than 2000 columns.");
    }

    #[test]
    fn a_stream_notices_other_encodings_and_zeros_in_the_middle_and_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let begin = "a,b\n".to_owned() + &"1,x\n".repeat(100_000);
        for (bytes, part) in [
            (&b"\"two\nlines \xE9\",2\n"[..], "first unreadable character in line 100003"),
            (b"\xC3,\xA9\n", "line 100002"),
            (b"1,\0\n", "zero bytes"),
        ] {
            std::fs::write(&path, [begin.as_bytes(), bytes].concat()).unwrap();
            let (mut file, _) = Delimited::open(&path, DataKind::Csv).unwrap();
            let message = file.each_row(&CancelFlag::default(), &mut |_| Ok(())).unwrap_err().message;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn blank_lines_are_left_out() {
        assert_eq!(cells("\n\na,b\n\n,\n   \n1,2\n"), [["a", "b"], ["1", "2"]]);
    }

    proptest! {
        #[test]
        fn any_text_is_rows_or_a_sentence(text in "[a\",;\t\r\n =é0-9.]{0,80}") {
            let _ = rows(&text);
        }

        #[test]
        fn what_a_csv_writer_writes_is_read_back(table in proptest::collection::vec(proptest::collection::vec("[a-c\",;\r\n]{0,6}x", 2..=2), 1..6)) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            for row in &table {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(cells(&text), table);
        }
    }
}
