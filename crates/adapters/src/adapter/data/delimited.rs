//! CSV and TSV files.

use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder, StringRecord};

use super::blocking::CancelFlag;
use super::columns::{Cell, RowSource, SourceRow};
use super::sentence::{counted, file_name, wrong_type};
use super::source::decode;
use crate::event::Failure;

/// A decoded file and its delimiter.
pub(super) struct Delimited {
    path: PathBuf,
    text: String,
    delimiter: u8,
    /// Lines before `text` that are not part of the table (`sep=;`).
    lines_before: u64,
}

impl Delimited {
    /// Reads a CSV file. A first line `sep=;`, as Excel writes it, sets the delimiter; otherwise the first line determines whether it is `,` or `;`.
    pub(super) fn csv(path: &Path, bytes: Vec<u8>) -> Result<Delimited, Failure> {
        let mut text = decode(path, bytes)?;
        let mut lines_before = 0;
        let mut delimiter = None;
        if let Some(rest) = text.strip_prefix("sep=")
            && let [mark @ (b',' | b';' | b'\t' | b'|'), end @ (b'\r' | b'\n'), next, ..] = rest.as_bytes()
        {
            delimiter = Some(*mark);
            lines_before = 1;
            let length = "sep=".len() + if (*end, *next) == (b'\r', b'\n') { 3 } else { 2 };
            text.drain(..length);
        }
        let delimiter = delimiter.unwrap_or_else(|| sniffed(&text));
        Ok(Delimited { path: path.to_owned(), text, delimiter, lines_before })
    }

    /// Reads a TSV file.
    pub(super) fn tsv(path: &Path, bytes: Vec<u8>) -> Result<Delimited, Failure> {
        Ok(Delimited { path: path.to_owned(), text: decode(path, bytes)?, delimiter: b'\t', lines_before: 0 })
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
}

impl RowSource for Delimited {
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut dyn FnMut(&SourceRow<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(self.delimiter).from_reader(self.text.as_bytes());
        let mut bytes = ByteRecord::new();
        let mut width = None;
        let mut last = None;
        let mut rows = 0_u64;
        loop {
            if rows.is_multiple_of(1024) {
                cancel.check()?;
            }
            rows += 1;
            let is_there = reader
                .read_byte_record(&mut bytes)
                .map_err(|error| wrong_type(format!("{} cannot be read: {error}.", file_name(&self.path))))?;
            if !is_there {
                break;
            }
            let (number, start) = bytes.position().map_or((0, 0), |at| (at.line() + self.lines_before, at.byte()));
            last = Some((number, start));
            // The text is UTF-8 and delimiters are ASCII, so every cell is UTF-8.
            let record = StringRecord::from_byte_record_lossy(bytes);
            if record.iter().any(|text| !text.trim().is_empty()) {
                let header = *width.get_or_insert(record.len());
                if record.len() != header {
                    return Err(self.ragged(number, record.len(), header, record.iter().any(|text| text.contains('\n'))));
                }
                let cells: Vec<Cell<'_>> =
                    record.iter().map(|text| if text.trim().is_empty() { Cell::Empty } else { Cell::Guess(text) }).collect();
                show(&SourceRow { number, cells: &cells })?;
            }
            bytes = record.into_byte_record();
        }
        match last {
            Some((number, start)) if ends_in_quotes(&self.text, start, self.delimiter) => Err(wrong_type(format!(
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
fn sniffed(text: &str) -> u8 {
    let (mut commas, mut semicolons, mut is_quoted) = (0_u32, 0_u32, false);
    for byte in text.trim_start_matches(['\r', '\n']).bytes() {
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

/// Whether the last record ends inside quotation marks, so that it contains the rest of the file.
fn ends_in_quotes(text: &str, start: u64, delimiter: u8) -> bool {
    let record = usize::try_from(start).ok().and_then(|start| text.as_bytes().get(start..)).unwrap_or_default();
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
        let mut file = Delimited::csv(Path::new("data/x.csv"), text.as_bytes().to_vec()).map_err(|failure| failure.message)?;
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
