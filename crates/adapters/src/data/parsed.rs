//! Files that libraries of others parse, from their bytes alone: workbooks, documents and pictures. The same work in a child (`child`) and in this process.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::guarded::guarded;
use super::blocking::CancelFlag;
use super::described::{described, sources};
use super::excel::{Sheet, Workbook};
use super::names::column_names;
use super::profile::profile;
use super::sentence::{counted, damaged, file_name, internal};
use super::typed::{TypedColumns, ValueSource, typed};
use super::{columns::RowSource, document, pdf, picture};
use crate::event::Failure;
use crate::model::{DataKind, TableForm};
use crate::port::{DocumentFigures, FileContent, PageText, TableSource};

/// Maximum size of the text of a document, in bytes (reliability.md, Y4).
pub(super) const MOST_TEXT: usize = 8 << 20;

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ParsedKind {
    Excel,
    Pdf,
    Word,
    Picture,
}

/// What is read of a file. The names of tables are those of later `sql` steps, with the sheet of each.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ParsedContent {
    pub(super) content: FileContent,
    pub(super) tables: Vec<(String, Option<String>)>,
}

/// Which kind of Office file a zip archive is. `None`: another one, or it cannot be read.
pub(super) fn kind_of_zip(path: &Path, bytes: &[u8], cancel: &CancelFlag) -> Option<ParsedKind> {
    let holds = |entry| guarded(|| document::holds(path, bytes, entry, cancel)).unwrap_or(false);
    if holds("xl/workbook.xml") {
        return Some(ParsedKind::Excel);
    }
    holds("word/document.xml").then_some(ParsedKind::Word)
}

/// The content for a `read` step. `path` is for messages and names.
pub(super) fn content(kind: ParsedKind, path: &Path, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<ParsedContent, Failure> {
    let content = match kind {
        ParsedKind::Excel => return workbook(path, bytes, cancel),
        ParsedKind::Pdf => document_of_pages(pdf::pages(path, &bytes, MOST_TEXT, cancel)?),
        ParsedKind::Word => {
            let read = guarded(|| document::word(path, &bytes, MOST_TEXT, cancel)).unwrap_or_else(|| Err(damaged(&file_name(path))));
            pages(false, vec![read?])
        }
        ParsedKind::Picture => {
            let (kind, width, height) = picture::size(path, &bytes)?;
            let summary = format!("{kind} picture, {width} × {height} pixels.");
            FileContent { kind: "image".to_owned(), width: Some(width), height: Some(height), summary, ..FileContent::default() }
        }
    };
    Ok(ParsedContent { content, tables: vec![] })
}

fn document_of_pages(read: pdf::Pages) -> FileContent {
    let pdf::Pages { pages: read, left_out } = read;
    let mut content = pages(true, read);
    if let [first, others @ ..] = left_out.as_slice() {
        let pages =
            if others.is_empty() { format!("page {first}") } else { format!("{} pages, the first of them page {first}", left_out.len()) };
        content.summary.push_str(&format!(" Without the text of {pages}: too much is drawn there."));
    }
    content
}

fn pages(is_pdf: bool, pages: Vec<PageText>) -> FileContent {
    let text = pages.iter().map(|page| page.text.as_str()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let without = if text.is_empty() { " without readable text; perhaps its pages are pictures" } else { "" };
    let figures = if is_pdf { DocumentFigures::of_pages(&pages) } else { DocumentFigures::of_text(&pages) };
    let length = if is_pdf { counted(pages.len() as u64, "page") } else { counted(text.lines().count() as u64, "line") };
    let what = if is_pdf { "PDF" } else { "Word" };
    let summary = format!("{what} document of {length}{without}.");
    FileContent { kind: "document".to_owned(), text, pages, figures, summary, ..FileContent::default() }
}

/// Describes the sheets of a workbook.
fn workbook(path: &Path, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<ParsedContent, Failure> {
    let workbook = Workbook::open(path, bytes, cancel)?;
    let sheets = sources(path, DataKind::Excel, workbook.sheets());
    let mut notes = vec![];
    let mut opened = Some(workbook);
    let (mut content, tables) = described(sheets, |source| {
        // It is lost only with a failure that ends the step.
        let workbook = opened.take().ok_or_else(|| internal("a workbook was lost"))?;
        let name = source.table.as_deref().unwrap_or_default();
        let hidden = workbook.is_hidden(name).then(|| "it is hidden from people who open the file".to_owned());
        let mut sheet = workbook.sheet(source.table.as_deref())?.of_form(&source.form);
        let summary = profile(&mut sheet, source, cancel);
        let merged = if summary.is_ok() { sheet.merged(cancel)? } else { None };
        notes.extend(hidden.into_iter().chain(merged).map(|note| format!(" Sheet \"{name}\": {note}.")));
        opened = Some(sheet.into_workbook());
        summary
    })?;
    content.summary.extend(notes);
    Ok(ParsedContent { content, tables: tables.into_iter().map(|table| (table.name, table.table)).collect() })
}

/// The names of the columns of a sheet.
pub(super) fn header(table: &TableSource, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<Vec<String>, Failure> {
    // Names need no more than what is there.
    let mut sheet =
        sheet_of(table, bytes, cancel)?.of_form(&TableForm { fill_merged: table.form.fill_merged.or(Some(false)), ..table.form.clone() });
    first_row(&mut sheet, cancel).ok_or_else(|| internal("a sheet without rows"))
}

fn sheet_of(table: &TableSource, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<Sheet, Failure> {
    Ok(Workbook::open(&table.file, bytes, cancel)?.sheet(table.table.as_deref())?.of_form(&table.form))
}

/// The names in the first row.
pub(super) fn first_row(rows: &mut dyn RowSource, cancel: &CancelFlag) -> Option<Vec<String>> {
    let mut header = None;
    // The first row is enough: the error only stops the iteration.
    let _ = rows.each_row(cancel, &mut |row| {
        header.get_or_insert_with(|| row.cells.iter().map(|cell| cell.text().into_owned()).collect::<Vec<String>>());
        Err(internal(""))
    });
    Some(column_names(header?.iter().map(String::as_str)))
}

/// The columns and rows of a sheet.
pub(super) fn table(table: &TableSource, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<(TypedColumns, Box<dyn ValueSource>), Failure> {
    typed(Box::new(sheet_of(table, bytes, cancel)?), table, cancel)
}
