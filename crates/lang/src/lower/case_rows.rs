//! `cases_from`: the rows of a CSV file, each as the tree that the same case would be in the test file. Columns are the keys of a case with
//! points between them, so that the tables of keys say which there are, and everything that is said of a case is said of a row.

use std::ops::Range;

use csv::{ReaderBuilder, StringRecord};

use super::context::{Lower, quoted};
use super::keys::{self, KeyTable, Takes};
use super::reader::KeyReader;
use super::unknown_keys::unknown_key;
use crate::diagnostic::{Diagnostic, Near, nearest};
use crate::model::{Shape, TableOddity, TestCase, separator_line, typed_for};
use crate::source::{FileId, Span};
use crate::syntax::{Map, MapKey, Node, NodeKind, QuoteStyle, Scalar, plain_value};

/// Most rows of one file.
const MOST_ROWS: usize = 10_000;

/// The cases in the file that `cases_from` names, and whether one of its columns is not known; none if it cannot be read.
pub(super) fn rows(keys: &KeyReader) -> (Vec<Node>, bool) {
    let lower = keys.lower;
    let Some(written) = keys.section("cases_from", &keys::FILE).and_then(|from| from.name("file")) else { return Default::default() };
    let answer = lower.world().text(lower.file, &written.value);
    let Some((file, text)) = lower.found("cases file", &written.value, written.span, answer) else { return Default::default() };
    if !lower.takes(&text, written.span) {
        return Default::default();
    }
    let mut records = Records::new(&written.value, file, &text);
    let Some((header, mut names)) = records.next() else {
        let help = "write the names of the columns in its first line, such as id,inputs.question,expect.status";
        return lower.reject(written.span, format!("cases file {} is empty", quoted(&written.value)), help).unwrap_or_default();
    };
    leave_out_empty(&mut names, 1);
    let columns = columns(lower, &names);
    let lacks_column = columns.iter().any(Option::is_none);
    if !names.iter().any(|(name, _)| name.trim() == "id") {
        let found = Diagnostic::missing_key(header, format!("cases file {} has no column \"id\"", quoted(&written.value)));
        lower.report(found.help("add a column id, with a name of its own for each case"));
        return Default::default();
    }
    let mut rows = vec![];
    while let Some((row, mut cells)) = records.next() {
        if records.is_open(row) {
            let message = "a quote in this row is never closed, so the row takes all that follows";
            lower.report(Diagnostic::bad_value(row, message).help("end the value with a quote, and double a quote that belongs to it"));
            return (rows, lacks_column);
        }
        if rows.len() == MOST_ROWS {
            let message = format!("cases file {} has more than {MOST_ROWS} rows", quoted(&written.value));
            lower.report(Diagnostic::too_large(row, message).help("split it over several test files"));
            return (rows, lacks_column);
        }
        leave_out_empty(&mut cells, columns.len());
        if cells.len() != columns.len() {
            let message = format!("this row has {} values, and there are {} columns", cells.len(), columns.len());
            lower.report(Diagnostic::bad_value(row, message).help("put a value with a comma or a quote in it between double quotes"));
        }
        let mut map = Map::default();
        for (column, (text, span)) in columns.iter().zip(cells).filter(|(_, (text, _))| !text.trim().is_empty()) {
            if let Some(column) = column {
                insert(&mut map, &column.path, column.cell(text, span));
            }
        }
        if !map.entries.is_empty() {
            rows.push(Node { span: row, kind: NodeKind::Map(map) });
        }
    }
    if rows.is_empty() {
        let message = format!("cases file {} has no row below its columns", quoted(&written.value));
        lower.report(Diagnostic::bad_value(header, message).help("add a row for each case"));
    }
    (rows, lacks_column)
}

/// Leaves out empty cells behind the last column: a spreadsheet writes them where a cell once held something.
fn leave_out_empty(cells: &mut Vec<(String, Span)>, columns: usize) {
    while cells.len() > columns && cells.last().is_some_and(|(cell, _)| cell.trim().is_empty()) {
        cells.pop();
    }
}

/// Gives the inputs of cases that are rows the types that their pipeline wants.
pub(crate) fn type_inputs(cases: &mut [TestCase], inputs: &Shape, diagnostics: &mut Vec<Diagnostic>) {
    for case in cases.iter_mut().filter(|case| case.is_row) {
        for (name, value) in &mut case.inputs {
            match value.value.as_str().map(|text| typed_for(inputs, name, text)) {
                Some(Ok(typed)) => value.value = typed,
                Some(Err(problem)) => {
                    let message = format!("input {} of case {}: {problem}", quoted(name), quoted(&case.id.value));
                    diagnostics.push(Diagnostic::bad_value(value.span, message).help("correct the JSON, or write a text in double quotes"));
                }
                None => {}
            }
        }
    }
}

/// What a cell holds, by what its key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// A text as it is. An input gets its type from the pipeline, an expected value is compared as a text.
    Text,
    /// A name, without the blanks around it.
    Name,
    /// A number, true or false, or a word.
    Plain,
    /// Nothing: its key has others below it, a column each.
    Below,
    /// Nothing: only a test file can say it.
    Never,
}

fn cell_kind(takes: &Takes) -> CellKind {
    match takes {
        Takes::Sentence
        | Takes::Fixed
        | Takes::Template
        | Takes::Loose
        | Takes::Expression
        | Takes::Constant
        | Takes::Replies
        | Takes::Expected => CellKind::Text,
        Takes::Id
        | Takes::Name
        | Takes::Of(_)
        | Takes::Path
        | Takes::Program
        | Takes::Request
        | Takes::Moment
        | Takes::Language
        | Takes::Zone => CellKind::Name,
        Takes::Whole
        | Takes::Limit
        | Takes::Number
        | Takes::Positive
        | Takes::Boolean
        | Takes::True
        | Takes::Duration
        | Takes::Size
        | Takes::Version
        | Takes::Word(_)
        | Takes::Value
        | Takes::Either(_) => CellKind::Plain,
        Takes::Many(each) => cell_kind(each),
        Takes::Keys(_) | Takes::Named(_) => CellKind::Below,
        Takes::Fields
        | Takes::Field
        | Takes::Schema
        | Takes::Steps
        | Takes::Otherwise
        | Takes::Mock
        | Takes::Defined(_)
        | Takes::Secrets
        | Takes::Environment
        | Takes::List(_)
        | Takes::Filled(_) => CellKind::Never,
    }
}

/// A column that a case has.
struct CaseColumn {
    /// The keys that lead to its value.
    path: Vec<String>,
    holds: CellKind,
}

impl CaseColumn {
    /// A cell as a value.
    fn cell(&self, text: String, span: Span) -> Node {
        // Git may have written another line end into a cell.
        let text = if self.holds == CellKind::Text { text.replace("\r\n", "\n") } else { text.trim().to_owned() };
        let is_plain = self.holds == CellKind::Plain;
        let value = if is_plain { plain_value(&text) } else { text.clone().into() };
        let style = if is_plain { QuoteStyle::Plain } else { QuoteStyle::Double };
        Node { span, kind: NodeKind::Scalar(Scalar::new(text, style, value)) }
    }
}

/// The columns; `None` in the place of one that is no column, which is reported.
fn columns(lower: &Lower, names: &[(String, Span)]) -> Vec<Option<CaseColumn>> {
    let mut columns: Vec<Option<CaseColumn>> = vec![];
    for (name, span) in names {
        let column = column(name.trim(), *span).map_err(|found| lower.report(*found)).ok();
        let is_same =
            |known: &&CaseColumn| column.as_ref().is_some_and(|new| new.path.starts_with(&known.path) || known.path.starts_with(&new.path));
        let earlier = columns.iter().flatten().find(is_same).map(|known| known.path.join("."));
        columns.push(match earlier {
            None => column,
            Some(earlier) => {
                let message = format!("columns {} and {} give the same value", quoted(&earlier), quoted(name.trim()));
                lower.reject(*span, message, "remove one of them")
            }
        });
    }
    columns
}

fn column(name: &str, span: Span) -> Result<CaseColumn, Box<Diagnostic>> {
    let (mut table, mut rest, mut path) = (&keys::TEST_CASE, name, vec![]);
    loop {
        let (key, behind) = rest.split_once('.').map_or((rest, None), |(key, behind)| (key, Some(behind).filter(|name| !name.is_empty())));
        let Some(rule) = table.key(key) else { return Err(Box::new(unknown(name, span, table, &path, behind))) };
        path.push(key.to_owned());
        match (&rule.takes, behind) {
            (Takes::Keys(inner), Some(behind)) => (table, rest) = (inner, behind),
            (takes, behind) => {
                let holds = inside(takes, behind, &mut path).map(cell_kind);
                return match holds.filter(|holds| !matches!(holds, CellKind::Below | CellKind::Never)) {
                    Some(holds) => Ok(CaseColumn { path, holds }),
                    None => Err(Box::new(unknown_shape(name, span, cell_kind(takes)))),
                };
            }
        }
    }
}

/// What a cell of a column holds, by what its key takes and what is written behind the key; `None`: no cell can hold it.
fn inside(takes: &'static Takes, behind: Option<&str>, path: &mut Vec<String>) -> Option<&'static Takes> {
    let check_of = |text: &str| keys::CHECKS.key(text).map(|check| &check.takes);
    match (takes, behind) {
        (Takes::Expected, Some(check)) => {
            path.push(check.to_owned());
            check_of(check)
        }
        (Takes::Named(each), Some(name)) if !matches!(each, Takes::Mock) => {
            let check = name.rsplit_once('.').filter(|_| matches!(each, Takes::Expected));
            match check.and_then(|(name, check)| Some((name, check, check_of(check)?))) {
                Some((name, check, takes)) => {
                    path.extend([name.to_owned(), check.to_owned()]);
                    Some(takes)
                }
                None => {
                    path.push(name.to_owned());
                    Some(each)
                }
            }
        }
        (Takes::Keys(_), _) | (_, Some(_)) => None,
        (takes, None) => Some(takes),
    }
}

/// F002, with the columns that may be meant.
fn unknown(name: &str, span: Span, table: &KeyTable, before: &[String], behind: Option<&str>) -> Diagnostic {
    let full = |key: &str| before.iter().map(String::as_str).chain([key]).chain(behind).collect::<Vec<_>>().join(".");
    let written = name.split('.').nth(before.len()).unwrap_or_default();
    let meant: Vec<String> = nearest(written, table.keys.iter().map(|key| key.name)).into_iter().map(full).collect();
    let near = Near::new(name, meant.iter().map(String::as_str));
    let help = match meant.first() {
        Some(meant) => format!("write {meant}"),
        None if name.is_empty() => "name the column, or remove it".to_owned(),
        None => format!("write inputs.{name} if it is an input; other columns are id, replies.STEP, expect.status, expect.outputs.NAME"),
    };
    unknown_key(span, format!("unknown column {}{near}", quoted(name))).near(near).help(help)
}

/// F002 of a column whose value no cell holds.
fn unknown_shape(name: &str, span: Span, key: CellKind) -> Diagnostic {
    let help = match key == CellKind::Below && !["mocks", ".calls"].iter().any(|own| name.contains(own)) {
        true => format!("write {name}.NAME, one column for each"),
        false => "write it in the test file, above cases or in a case of its own".to_owned(),
    };
    unknown_key(span, format!("column {} cannot be a value of a row", quoted(name))).help(help)
}

/// Puts a value where the keys of its column lead.
fn insert(map: &mut Map, path: &[String], value: Node) {
    let Some((key, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        return map.entries.push((MapKey { text: key.clone(), span: value.span }, value));
    }
    let at = map.entries.iter().position(|(known, _)| known.text == *key).unwrap_or_else(|| {
        let inner = Node { span: value.span, kind: NodeKind::Map(Map::default()) };
        map.entries.push((MapKey { text: key.clone(), span: value.span }, inner));
        map.entries.len() - 1
    });
    if let Some((_, Node { kind: NodeKind::Map(inner), .. })) = map.entries.get_mut(at) {
        insert(inner, rest, value);
    }
}

/// Where in a CSV file it is that a table is read otherwise than it looks.
pub(super) fn odd_place(file: FileId, text: &str, odd: &TableOddity) -> Option<Span> {
    let mut records = Records::new("", file, text);
    let (first, names) = records.next()?;
    let place_of = |column: &str| names.iter().rposition(|(name, _)| name.trim() == column);
    match odd {
        TableOddity::OneColumn { .. } => Some(first),
        TableOddity::BadCells { row, column, .. } => {
            let place = place_of(column)?;
            let is_there =
                |span: &Span| text.get(..span.start as usize).is_some_and(|before| before.matches('\n').count() as u64 + 1 == *row);
            records.find(|(span, _)| is_there(span)).and_then(|(_, cells)| cells.get(place).map(|(_, span)| *span))
        }
        TableOddity::Unreadable(_) => records.find(|(_, cells)| cells.len() != names.len()).map(|(row, _)| row),
        TableOddity::NoNames => Some(first),
        TableOddity::NotRead => None,
        TableOddity::Repeated { column, .. } => names.get(place_of(column)?).map(|(_, span)| *span),
        TableOddity::TextNumbers { column, example, .. } => {
            let place = place_of(column)?;
            records.find_map(|(_, cells)| cells.get(place).filter(|(cell, _)| cell.trim() == example).map(|(_, span)| *span))
        }
    }
}

/// The lines of a CSV file that are not empty, each with its place and its cells with theirs.
struct Records<'t> {
    reader: csv::Reader<&'t [u8]>,
    file: FileId,
    text: &'t str,
    /// Bytes before the table.
    start: usize,
    delimiter: u8,
}

impl<'t> Records<'t> {
    fn new(name: &str, file: FileId, text: &'t str) -> Records<'t> {
        let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let said = separator_line(&text.as_bytes()[start..]).filter(|_| !name.ends_with(".tsv"));
        start += said.map_or(0, |(_, line)| line);
        let first = text[start..].lines().next().unwrap_or_default();
        let most = [b'|', b'\t', b';', b','].into_iter().max_by_key(|mark| first.bytes().filter(|byte| byte == mark).count());
        let delimiter = if name.ends_with(".tsv") { b'\t' } else { said.map(|(sign, _)| sign).or(most).unwrap_or(b',') };
        Records { reader: reader(delimiter, &text[start..]), file, text, start, delimiter }
    }

    /// Whether a row begins a value with a quote that nothing ends: what would follow the file would be a part of it.
    fn is_open(&self, row: Span) -> bool {
        let is_last = self.text.get(row.end as usize..).is_some_and(|rest| rest.trim().is_empty());
        let longer = || format!("{}\nx", self.text.get(row.start as usize..row.end as usize).unwrap_or_default());
        is_last && reader(self.delimiter, &longer()).into_records().count() == 1
    }

    fn span(&self, place: Range<usize>) -> Span {
        Span::new(self.file, place.start, place.end)
    }
}

fn reader(delimiter: u8, text: &str) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes())
}

impl Iterator for Records<'_> {
    type Item = (Span, Vec<(String, Span)>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = |reader: &csv::Reader<&[u8]>| usize::try_from(reader.position().byte()).unwrap_or(usize::MAX).saturating_add(self.start);
        let (mut record, from) = (StringRecord::new(), at(&self.reader));
        if !self.reader.read_record(&mut record).ok()? {
            return None;
        }
        let line = self.text.get(from..at(&self.reader))?;
        let start = from + (line.len() - line.trim_start_matches(['\r', '\n']).len());
        let end = start + line.trim_matches(['\r', '\n']).len();
        // A cell with doubled quotes is not found as it is: its row stands for it.
        let mut next = start;
        let cells = record.iter().map(|cell| {
            let found = self.text.get(next..end).and_then(|rest| rest.find(cell)).map(|at| next + at);
            next = found.map_or(next, |at| at + cell.len());
            (cell.to_owned(), self.span(found.map_or(start..end, |at| at..at + cell.len())))
        });
        let cells = cells.collect();
        Some((self.span(start..end), cells))
    }
}
