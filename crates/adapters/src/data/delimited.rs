//! CSV and TSV files, read as a stream: a file is never in memory as a whole, and a line takes at most [`MOST_ROW_BYTES`].

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::blocking::CancelFlag;
use super::columns::{Cell, MOST_COLUMNS, RowSource, ShowRow, SourceRow};
use super::sentence::{counted, failure, file_name, too_large, wrong_type};
use super::separator::{TableLines, lines_of, separator_of};
use super::source::{Content, Stamp, cannot_open, decode, decode_as, is_utf16, not_a_text, not_utf8, open, read_rest, with_zeros};
use crate::event::Failure;
use crate::model::{DataKind, TableForm, separator_line};
use crate::port::TableSource;

/// Maximum size of one row in the file, in bytes.
const MOST_ROW_BYTES: usize = 8 << 20;
/// Maximum size of a file that is not UTF-8, in bytes. It is decoded as a whole.
const MOST_DECODED: u64 = 64 << 20;
/// How much of a file is read at once, in bytes.
const AT_ONCE: usize = 256 << 10;
/// How much of a file is used to find the delimiter, in bytes.
const MOST_SNIFFED: u64 = 64 << 10;

/// A text file of rows, and its delimiter.
pub(super) struct Delimited {
    path: PathBuf,
    content: TextSource,
    delimiter: u8,
    /// Where the table begins, in bytes: behind a byte order mark and `sep=;`.
    start: u64,
    /// TableLines before the table (`sep=;`, and those above `header_row`).
    lines_before: u64,
    /// Whether its author or the file itself says where the header is.
    is_header_said: bool,
}

/// Where the bytes of a text are.
enum TextSource {
    File { file: File, stamp: Stamp },
    Memory(Vec<u8>),
}

impl Delimited {
    /// Opens a CSV or TSV file. What its author does not say of a CSV file is found in it: a first line `sep=;`, as Excel writes it, sets the
    /// delimiter; otherwise its lines do.
    pub(super) fn open(table: &TableSource) -> Result<(Delimited, Stamp), Failure> {
        let path = table.file.as_path();
        let (mut file, stamp) = open(path)?;
        let mut beginning = Vec::new();
        let wrong = |error: std::io::Error| cannot_open(path, &error);
        (&file).take(MOST_SNIFFED).read_to_end(&mut beginning).map_err(wrong)?;
        if let Some(what) = Content::of(&beginning).as_file_kind() {
            return Err(not_a_text(path, what));
        }
        let content = if is_utf16(&beginning) || table.form.encoding.is_some() {
            file.rewind().map_err(wrong)?;
            TextSource::Memory(decoded(table, read_rest(path, file, stamp, MOST_DECODED)?)?)
        } else {
            TextSource::File { file, stamp }
        };
        Ok((Delimited::new(table, content)?, stamp))
    }

    /// Reads a text that is in memory.
    pub(super) fn of_bytes(table: &TableSource, bytes: Vec<u8>) -> Result<Delimited, Failure> {
        Delimited::new(table, TextSource::Memory(decoded(table, bytes)?))
    }

    fn new(table: &TableSource, content: TextSource) -> Result<Delimited, Failure> {
        let TableForm { separator, header_row, encoding: _, fill_merged: _, errors_are_empty: _ } = &table.form;
        let path = table.file.clone();
        let mut found = Delimited { path, content, delimiter: b'\t', start: 0, lines_before: 0, is_header_said: header_row.is_some() };
        let mark = "\u{FEFF}".as_bytes();
        let beginning = found.beginning()?;
        found.start = if beginning.starts_with(mark) { mark.len() as u64 } else { 0 };
        let first = beginning.get(found.start as usize..).unwrap_or_default();
        let mut said = separator.map(|separator| separator.byte());
        if let Some((sign, line)) = separator_line(first).filter(|_| table.kind != DataKind::Tsv) {
            said = said.or(Some(sign));
            if header_row.is_none() {
                found.lines_before = 1;
                found.start += line as u64;
            }
        }
        if let Some(row) = header_row {
            found.begin_at_line(*row)?;
        }
        if table.kind != DataKind::Tsv {
            found.delimiter = match said {
                Some(delimiter) => delimiter,
                None => separator_of(&found.beginning()?),
            };
        }
        Ok(found)
    }

    /// What the table begins with.
    fn beginning(&self) -> Result<Vec<u8>, Failure> {
        let mut beginning = Vec::new();
        let read = self.from(self.start)?.take(MOST_SNIFFED).read_to_end(&mut beginning);
        read.map_err(|error| cannot_open(&self.path, &error))?;
        Ok(beginning)
    }

    /// Leaves out the lines above this one.
    fn begin_at_line(&mut self, line: u64) -> Result<(), Failure> {
        let mut start = self.start;
        {
            let mut bytes = self.from(start)?;
            for above in 1..line {
                let skipped = bytes.skip_until(b'\n').map_err(|error| cannot_open(&self.path, &error))?;
                if skipped == 0 {
                    let have = counted(above - 1, "line");
                    return Err(wrong_type(format!("{} has {have}, so none is `header_row` {line}.", file_name(&self.path))));
                }
                start += skipped as u64;
            }
        }
        (self.start, self.lines_before) = (start, line - 1);
        Ok(())
    }

    fn ragged(&self, number: u64, cells: usize, header: usize, spans_lines: bool) -> Failure {
        let delimiter = if self.delimiter == b'\t' { "tab".to_owned() } else { char::from(self.delimiter).to_string() };
        let mut sentence = format!("{}{number} has {}, but the header has {header}. ", self.place(), counted(cells as u64, "cell"));
        // A title and other lines above the names have fewer cells than most lines.
        let count = |text: &[u8], width| lines_of(text, self.delimiter, width);
        let is_usual = || header == 1 || self.beginning().is_ok_and(|text| count(&text, cells) > count(&text, header));
        let may_be_header = cells > header && !self.is_header_said && is_usual();
        sentence.push_str(&if may_be_header {
            format!("If line {number} has the names of the columns, write header_row: {number} under data; else quote texts that contain \"{delimiter}\".")
        } else if cells < header {
            // Filled up, a text that goes on in the next line would be two rows, and one without a delimiter a row of shifted cells.
            format!("If its last cells are empty, write a \"{delimiter}\" for each; if a text goes on in the next line, quote it.")
        } else {
            format!("Quote texts that contain \"{delimiter}\", or correct the line.")
        });
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
    seen: TableLines,
}

impl DelimitedRow {
    fn new() -> DelimitedRow {
        DelimitedRow { text: vec![0; 4 << 10], ends: vec![0; 64], filled: 0, cells: 0, size: 0, seen: TableLines::default() }
    }

    fn clear(&mut self) {
        (self.filled, self.cells, self.size, self.seen) = (0, 0, 0, TableLines::default());
    }

    /// Reads on. Returns how many bytes of `input` were used, and what was found.
    fn read(&mut self, reader: &mut Reader, input: &[u8]) -> (usize, ReadRecordResult) {
        let text = self.text.get_mut(self.filled..).unwrap_or_default();
        let (result, used, written, ended) = reader.read_record(input, text, self.ends.get_mut(self.cells..).unwrap_or_default());
        self.size += used;
        self.seen.see(input.get(..used).unwrap_or_default());
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

impl Delimited {
    /// Reads the next record, which begins in line `number`. Returns whether there is one.
    fn next_record(
        &self,
        reader: &mut Reader,
        bytes: &mut dyn BufRead,
        record: &mut DelimitedRow,
        number: u64,
        cancel: &CancelFlag,
    ) -> Result<bool, Failure> {
        record.clear();
        loop {
            let buffer = bytes.fill_buf().map_err(|error| cannot_open(&self.path, &error))?;
            let (used, result) = record.read(reader, buffer);
            bytes.consume(used);
            if record.size > MOST_ROW_BYTES {
                let most = MOST_ROW_BYTES >> 20;
                return Err(too_large(format!(
                    "{}{number} is longer than {most} MB. Perhaps a quotation mark is not closed.",
                    self.place()
                )));
            }
            if record.cells > MOST_COLUMNS {
                return Err(too_large(format!("{}{number} has more than {MOST_COLUMNS} columns.", self.place())));
            }
            match result {
                ReadRecordResult::InputEmpty => cancel.check()?,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// The cells of a record that begins in line `number`.
    fn cells<'r>(&self, record: &'r DelimitedRow, number: u64) -> Result<Vec<Cell<'r>>, Failure> {
        let unreadable = |valid: usize| {
            let why = not_utf8(&self.path, number + record.line_ends_before(valid));
            failure(why.kind, format!("{} Or name its encoding under data, such as encoding: windows-1252.", why.message))
        };
        let cell = |text: &'r str| if text.trim().is_empty() { Cell::Empty } else { Cell::Guess(text) };
        let cells: Option<Vec<Cell<'r>>> = record.cells().map_err(unreadable)?.map(|text| text.map(cell)).collect();
        // Two cells may be UTF-8 only together.
        let cells = cells.ok_or_else(|| unreadable(0))?;
        if record.text.get(..record.filled).unwrap_or_default().contains(&0) { Err(with_zeros(&self.path)) } else { Ok(cells) }
    }
}

impl RowSource for Delimited {
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        let mut reader = ReaderBuilder::new().delimiter(self.delimiter).build();
        let mut bytes = self.from(self.start)?;
        let mut record = DelimitedRow::new();
        let (mut width, mut last, mut place) = (None, None, self.start);
        let mut lines = self.lines_before + 1;
        for rows in 0_u64.. {
            if rows.is_multiple_of(1024) {
                cancel.check()?;
            }
            place += skip_line_ends(bytes.as_mut(), &mut lines).map_err(|error| cannot_open(&self.path, &error))?;
            let number = lines;
            if !self.next_record(&mut reader, bytes.as_mut(), &mut record, number, cancel)? {
                break;
            }
            lines += record.seen.ends;
            last = Some((number, place));
            place += record.size as u64;
            let mut cells = self.cells(&record, number)?;
            let is_empty = cells.iter().all(|cell| *cell == Cell::Empty);
            match width {
                // Nothing but blanks, outside of quotation marks.
                _ if is_empty && cells.len() == 1 && !record.seen.has_quote => continue,
                None if is_empty => continue,
                Some(header) if is_empty && cells.len() == 1 => cells.resize(header, Cell::Empty),
                _ => {}
            }
            let header = *width.get_or_insert(cells.len());
            if cells.len() != header {
                return Err(self.ragged(number, cells.len(), header, record.line_ends_before(record.filled) > 0));
            }
            show(&SourceRow { number, cells: &cells })?;
        }
        self.check_unchanged()?;
        match last {
            Some((number, start)) if self.ends_in_quotes(start)? => Err(wrong_type(format!(
                "{}{number}: a cell begins with a quotation mark that is never closed. Close it, or remove it.",
                self.place()
            ))),
            _ => Ok(()),
        }
    }

    fn place(&self) -> String {
        format!("{}, line ", file_name(&self.path))
    }

    fn may_use_decimal_comma(&self) -> bool {
        self.delimiter == b';'
    }
}

/// The bytes of a text as UTF-8.
fn decoded(table: &TableSource, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let text = match table.form.encoding {
        Some(encoding) if !is_utf16(&bytes) => decode_as(&table.file, &bytes, encoding),
        _ => decode(&table.file, bytes),
    };
    text.map(String::into_bytes)
}

/// Passes over empty lines. Returns how many bytes they have.
fn skip_line_ends(bytes: &mut dyn BufRead, lines: &mut u64) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = bytes.fill_buf()?;
        let end = buffer.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(buffer.len());
        *lines += buffer.iter().take(end).filter(|byte| **byte == b'\n').count() as u64;
        let is_all = end > 0 && end == buffer.len();
        bytes.consume(end);
        skipped += end as u64;
        if !is_all {
            return Ok(skipped);
        }
    }
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
    use proptest::prelude::*;

    use super::super::testing::table_of;
    use super::*;
    use crate::model::{Separator, TextEncoding};

    fn rows(text: &str) -> Result<Vec<(u64, Vec<String>)>, String> {
        rows_with(TableForm::default(), text)
    }

    fn rows_with(form: TableForm, text: impl AsRef<[u8]>) -> Result<Vec<(u64, Vec<String>)>, String> {
        let (_folder, table) = table_of("x.csv", &text);
        let table = TableSource { form, ..table };
        let mut file = Delimited::of_bytes(&table, text.as_ref().to_vec()).map_err(|failure| failure.message)?;
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
            "x.csv, line 3 has 1 cell, but the header has 2. If its last cells are empty, write a \",\" for each; if a text goes on in the next \
             line, quote it."
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
        let (_folder, table) = table_of("x.csv", "");
        let path = &table.file;
        let begin = "a,b\n".to_owned() + &"1,x\n".repeat(100_000);
        for (bytes, part) in [
            (&b"\"two\nlines \xE9\",2\n"[..], "first unreadable character in line 100003"),
            (b"\xC3,\xA9\n", "line 100002"),
            (b"1,\0\n", "zero bytes"),
        ] {
            std::fs::write(path, [begin.as_bytes(), bytes].concat()).unwrap();
            let (mut file, _) = Delimited::open(&table).unwrap();
            let message = file.each_row(&CancelFlag::default(), &mut |_| Ok(())).unwrap_err().message;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn empty_lines_are_left_out_and_rows_of_empty_cells_are_not() {
        assert_eq!(cells("\n\na,b\n\n,\n   \n1,2\n"), [["a", "b"], ["", ""], ["1", "2"]]);
        assert_eq!(cells("a,b\r\n1,2\r\n,\r\n\r\n3,4\r\n,\r\n"), [["a", "b"], ["1", "2"], ["", ""], ["3", "4"], ["", ""]]);
        assert_eq!(cells("a\n1\n\n\"\"\n \n3\n"), [["a"], ["1"], [""], ["3"]]);
        assert_eq!(cells("a,b\n\"\"\n1,2\n"), [["a", "b"], ["", ""], ["1", "2"]]);
        assert_eq!(cells(",\n ,\na,b\n"), [["a", "b"]], "the header is the first line with a name");
    }

    #[test]
    fn lines_are_counted_with_those_that_are_left_out() {
        let numbers = |text: &str| rows(text).unwrap().into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("\n\na,b\n\n1,2\n\n\"x\ny\",3\n\n4,5\n"), [3, 5, 7, 10]);
        assert_eq!(numbers("\r\na,b\r\n\r\n1,2\r\n\"x\r\ny\",3\r\n4,5"), [2, 4, 5, 7]);
    }

    #[test]
    fn lines_above_the_header_are_told_and_left_out() {
        let report = "Report of hours\nNorth, 2026\n\nday,team,hours\n2026-11-02,North,8\n";
        let told = rows(&report.replace("North, 2026", "November")).unwrap_err();
        assert!(
            told.starts_with(
                "x.csv, line 4 has 3 cells, but the header has 1. If line 4 has the names of the columns, write header_row: 4 under data"
            ),
            "{told}"
        );
        let told = rows("Hours, 2026\nday,team,hours\n1,North,8\n2,North,8\n").unwrap_err();
        assert!(told.contains("write header_row: 2 under data"), "{told}");
        let read = |row, text: &str| rows_with(TableForm { header_row: Some(row), ..TableForm::default() }, text);
        assert_eq!(read(4, report).unwrap()[0], (4, vec!["day".to_owned(), "team".to_owned(), "hours".to_owned()]));
        assert_eq!(read(4, report).unwrap()[1].0, 5);
        assert_eq!(read(3, "sep=;\nTitle\na;b\n1;2\n").unwrap()[1], (4, vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!(read(9, report).unwrap_err(), "x.csv has 5 lines, so none is `header_row` 9.");
    }

    #[test]
    fn what_its_author_says_of_a_file_is_taken() {
        let with = |separator, encoding, text: &[u8]| {
            rows_with(TableForm { separator, encoding, ..TableForm::default() }, text).map(|rows| rows[1].1.clone())
        };
        assert_eq!(with(Some(Separator::Pipe), None, b"a;b|c\n1;2|3\n").unwrap(), ["1;2", "3"]);
        for (encoding, text) in [
            (TextEncoding::Windows1252, &b"a,b\nRen\xE9,\x80 5\n"[..]),
            (TextEncoding::Latin1, b"a,b\nRen\xE9,\x80 5\n"),
            (TextEncoding::Windows1250, b"a,b\nRen\xE9,\x80 5\n"),
            (TextEncoding::Utf8, "\u{FEFF}a,b\nRen\u{e9},\u{20ac} 5\n".as_bytes()),
            (TextEncoding::Utf16, b"a\0,\0b\0\n\0R\0e\0n\0\xE9\0,\0\xAC\x20 \x005\0\n\0"),
        ] {
            assert_eq!(with(None, Some(encoding), text).unwrap(), ["Ren\u{e9}", "\u{20ac} 5"], "{encoding:?}");
        }
        assert!(with(None, Some(TextEncoding::Utf8), b"a,b\n\xE9,1\n").unwrap_err().contains("is not utf-8 text"));
        assert!(
            with(None, Some(TextEncoding::Windows1252), "\u{FEFF}a\n1\n".as_bytes()).unwrap_err().contains("begins with the mark of UTF-8")
        );
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
