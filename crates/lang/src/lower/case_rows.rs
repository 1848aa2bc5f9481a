//! `cases_from`: the rows of a CSV file, each as the tree that the same case would be in the test file. Columns are the keys of a case with
//! points between them, so that the tables of keys say which there are, and everything that is said of a case is said of a row.

use std::ops::Range;

use csv::{ReaderBuilder, StringRecord};

use super::context::{Lower, quoted};
use super::keys::{self, KeyTable, Takes};
use super::reader::{KeyReader, unknown_key};
use crate::diagnostic::{Diagnostic, Near, nearest};
use crate::model::{Shape, TestCase, typed_for};
use crate::source::{FileId, Span};
use crate::syntax::{Map, MapKey, Node, NodeKind, QuoteStyle, Scalar, plain_value};

/// Most rows of one file.
const MOST_ROWS: usize = 10_000;

/// The cases in the file that `cases_from` names; none if it cannot be read.
pub(super) fn rows(keys: &KeyReader) -> Vec<Node> {
    let lower = keys.lower;
    let Some(written) = keys.section("cases_from", &keys::FILE).and_then(|from| from.name("file")) else { return vec![] };
    let answer = lower.world().text(lower.file, &written.value);
    let Some((file, text)) = lower.found("cases file", &written.value, written.span, answer) else { return vec![] };
    if !lower.takes(&text, written.span) {
        return vec![];
    }
    let mut records = Records::new(&written.value, file, &text);
    let Some((header, names)) = records.next() else {
        let help = "write the names of the columns in its first line, such as id,inputs.question,expect.status";
        return lower.reject(written.span, format!("cases file {} is empty", quoted(&written.value)), help).unwrap_or_default();
    };
    let columns = columns(lower, &names);
    if !names.iter().any(|(name, _)| name.trim() == "id") {
        let found = Diagnostic::missing_key(header, format!("cases file {} has no column \"id\"", quoted(&written.value)));
        lower.report(found.help("add a column id, with a name of its own for each case"));
        return vec![];
    }
    let mut rows = vec![];
    for (row, cells) in records {
        if rows.len() == MOST_ROWS {
            let message = format!("cases file {} has more than {MOST_ROWS} rows", quoted(&written.value));
            lower.report(Diagnostic::too_large(row, message).help("split it over several test files"));
            break;
        }
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
    rows
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

/// A column that a case has.
struct CaseColumn {
    /// The keys that lead to its value.
    path: Vec<String>,
    takes: &'static Takes,
}

impl CaseColumn {
    /// A cell as a value. Texts of the run stay texts: an input gets its type from the pipeline, an expected value is compared as a text.
    fn cell(&self, text: String, span: Span) -> Node {
        let is_text = matches!(self.takes, Takes::Sentence | Takes::Constant | Takes::Replies | Takes::Expected);
        let value = if is_text { text.clone().into() } else { plain_value(text.trim()) };
        let style = if is_text { QuoteStyle::Double } else { QuoteStyle::Plain };
        Node { span, kind: NodeKind::Scalar(Scalar::new(text, style, value)) }
    }
}

/// The columns; `None` in the place of one that is no column, which is reported.
fn columns(lower: &Lower, names: &[(String, Span)]) -> Vec<Option<CaseColumn>> {
    let mut columns: Vec<Option<CaseColumn>> = vec![];
    for (name, span) in names {
        let column = column(name.trim(), *span).map_err(|found| lower.report(found)).ok();
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

fn column(name: &str, span: Span) -> Result<CaseColumn, Diagnostic> {
    let (mut table, mut rest, mut path) = (&keys::TEST_CASE, name, vec![]);
    loop {
        let (key, behind) = rest.split_once('.').map_or((rest, None), |(key, behind)| (key, Some(behind).filter(|name| !name.is_empty())));
        let Some(rule) = table.key(key) else { return Err(unknown(name, span, table, &path, behind)) };
        path.push(key.to_owned());
        match (&rule.takes, behind) {
            (Takes::Keys(inner), Some(behind)) => (table, rest) = (inner, behind),
            (takes, behind) => {
                let takes = inside(takes, behind, &mut path).ok_or_else(|| unknown_shape(name, span, takes))?;
                return Ok(CaseColumn { path, takes });
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
        (takes, None) => takes.each().is_none().then_some(takes),
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
        None => format!("write inputs.{name} if it is an input; other columns are id, replies.STEP, expect.status, expect.outputs.NAME"),
    };
    unknown_key(span, format!("unknown column {}{near}", quoted(name))).near(near).help(help)
}

/// F002 of a column whose value no cell holds.
fn unknown_shape(name: &str, span: Span, takes: &Takes) -> Diagnostic {
    let help = match takes {
        Takes::Named(_) | Takes::Keys(_) if !name.contains("mocks") => format!("write {name}.NAME, one column for each"),
        _ => "write it in the test file, above cases or in a case of its own".to_owned(),
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

/// The lines of a CSV file that are not empty, each with its place and its cells with theirs.
struct Records<'t> {
    reader: csv::Reader<&'t [u8]>,
    file: FileId,
    text: &'t str,
    /// Bytes before the table.
    start: usize,
}

impl<'t> Records<'t> {
    fn new(name: &str, file: FileId, text: &'t str) -> Records<'t> {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let first = text.lines().next().unwrap_or_default();
        let delimiter = match () {
            () if name.ends_with(".tsv") => b'\t',
            () if first.contains(';') && !first.contains(',') => b';',
            () => b',',
        };
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(&text.as_bytes()[start..]);
        Records { reader, file, text, start }
    }

    fn span(&self, place: Range<usize>) -> Span {
        Span::new(self.file, place.start, place.end)
    }
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
