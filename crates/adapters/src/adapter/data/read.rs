//! `read` steps: the kind of a file, and its content as data.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::super::guarded::guarded;
use super::blocking::CancelFlag;
use super::database::{DatabasePool, tables_of};
use super::delimited::Delimited;
use super::excel::Workbook;
use super::names::{file_id, sheet_id, unique};
use super::profile::profile;
use super::sentence::{counted, damaged, file_name, listed, too_large, wrong_type};
use super::source::{Content, content_of, decode, read_all};
use super::summary::summary;
use super::{document, pdf, picture};
use crate::event::Failure;
use crate::model::{DataKind, FailureKind, SqlEngine};
use crate::port::{DocumentFigures, FileContent, PageText, ReadRequest, TableSource, TableSummary};

/// Maximum size of a text, and of the text of a document, in bytes (reliability.md, Y4).
const MOST_TEXT: usize = 8 << 20;
/// Maximum size of a document, an Excel file or a picture, in bytes.
const MOST_FILE: u64 = 32 << 20;
/// Maximum number of tables in one file.
const MOST_TABLES: usize = 100;

/// The kinds that a `read` step can set as `type`.
const KINDS: [&str; 4] = ["text", "table", "document", "image"];

/// Reads a file. Without `type`, a file that cannot be read has the kind `unreadable`, and its summary states why; with `type`, this is a failure.
pub(super) fn read(pool: &DatabasePool, request: &ReadRequest, cancel: &CancelFlag) -> Result<(FileContent, Vec<TableSource>), Failure> {
    let path = request.path.as_path();
    let outcome = match request.kind.as_deref() {
        Some(kind) if !KINDS.contains(&kind) => {
            return Err(wrong_type(format!("\"{kind}\" is not a kind of file; write one of: {}.", listed(KINDS))));
        }
        Some(kind) => read_as(pool, path, asked(kind, path, cancel)?, cancel),
        None => kind_of(path, cancel).and_then(|kind| read_as(pool, path, kind, cancel)),
    };
    let (mut content, tables) = match outcome {
        Err(failure) if request.kind.is_none() && failure.kind == FailureKind::WrongType => {
            (FileContent { kind: "unreadable".to_owned(), summary: failure.message, ..FileContent::default() }, Vec::new())
        }
        other => other?,
    };
    content.path = path.display().to_string();
    Ok((content, tables))
}

/// The text of a document that is to be searched; of a PDF document with its pages.
///
/// # Errors
/// Fails if it cannot be read, or is a table or a picture (`wrong_type`).
pub(in crate::adapter) fn searchable(path: &Path, cancel: &CancelFlag) -> Result<FileContent, Failure> {
    match kind_of(path, cancel)? {
        ReadKind::Table(_) => Err(wrong_type("it is a table; describe it under data, and ask it with sql")),
        ReadKind::Picture => Err(wrong_type("it is a picture")),
        kind @ (ReadKind::Text | ReadKind::Pdf | ReadKind::Word) => {
            let (content, _) = read_as(&DatabasePool::default(), path, kind, cancel)?;
            Ok(content)
        }
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ReadKind {
    Text,
    Table(DataKind),
    Pdf,
    Word,
    Picture,
}

/// The kind of a file by its extension, or by its content if the extension is unknown.
fn kind_of(path: &Path, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    Ok(match ending.as_str() {
        "pdf" => ReadKind::Pdf,
        "docx" => ReadKind::Word,
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "tif" | "tiff" => ReadKind::Picture,
        "tab" => ReadKind::Table(DataKind::Tsv),
        "xlsb" | "ods" => by_content(path, cancel)?,
        ending => DataKind::of_ending(ending).map_or_else(|| by_content(path, cancel), |kind| Ok(ReadKind::Table(kind)))?,
    })
}

fn by_content(path: &Path, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    let holds =
        |entry| read_all(path, MOST_FILE).map(|(bytes, _)| guarded(|| document::holds(path, &bytes, entry, cancel)).unwrap_or(false));
    Ok(match content_of(path)?.0 {
        Content::Sqlite => ReadKind::Table(DataKind::Sqlite),
        Content::Parquet => ReadKind::Table(DataKind::Parquet),
        Content::DuckDb => ReadKind::Table(DataKind::DuckDb),
        Content::Pdf => ReadKind::Pdf,
        Content::Image => ReadKind::Picture,
        Content::Zip if holds("xl/workbook.xml")? => ReadKind::Table(DataKind::Excel),
        Content::Zip if holds("word/document.xml")? => ReadKind::Word,
        Content::Zip | Content::OldOffice | Content::Other => ReadKind::Text,
    })
}

/// The kind that `type` requests. The extension still distinguishes kinds of tables and documents.
fn asked(kind: &str, path: &Path, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    Ok(match (kind, kind_of(path, cancel)?) {
        ("table", table @ ReadKind::Table(_)) => table,
        ("table", _) => ReadKind::Table(DataKind::Csv),
        ("document", ReadKind::Word) => ReadKind::Word,
        ("document", _) => ReadKind::Pdf,
        ("image", _) => ReadKind::Picture,
        _ => ReadKind::Text,
    })
}

fn read_as(pool: &DatabasePool, path: &Path, kind: ReadKind, cancel: &CancelFlag) -> Result<(FileContent, Vec<TableSource>), Failure> {
    let content = match kind {
        ReadKind::Text => text(path)?,
        ReadKind::Table(kind) => return tables(pool, path, kind, cancel),
        ReadKind::Pdf => {
            let pdf::Pages { pages: read, left_out } = pdf::pages(path, &read_all(path, MOST_FILE)?.0, MOST_TEXT, cancel)?;
            let mut content = pages("PDF document", read);
            if let [first, others @ ..] = left_out.as_slice() {
                let pages = if others.is_empty() {
                    format!("page {first}")
                } else {
                    format!("{} pages, the first of them page {first}", left_out.len())
                };
                content.summary.push_str(&format!(" Without the text of {pages}: too much is drawn there."));
            }
            content
        }
        ReadKind::Word => {
            let bytes = read_all(path, MOST_FILE)?.0;
            let read = guarded(|| document::word(path, &bytes, MOST_TEXT, cancel)).unwrap_or_else(|| Err(damaged(&file_name(path))));
            pages("Word document", vec![read?])
        }
        ReadKind::Picture => {
            let bytes = read_all(path, MOST_FILE)?.0;
            let size = guarded(|| picture::size(path, &bytes)).unwrap_or_else(|| Err(damaged(&file_name(path))));
            let (kind, width, height) = size?;
            let summary = format!("{kind} picture, {width} × {height} pixels.");
            FileContent { kind: "image".to_owned(), width: Some(width), height: Some(height), summary, ..FileContent::default() }
        }
    };
    Ok((content, Vec::new()))
}

fn text(path: &Path) -> Result<FileContent, Failure> {
    let text = decode(path, read_all(path, MOST_TEXT as u64)?.0)?;
    let summary =
        format!("Text of {} and {}.", counted(text.lines().count() as u64, "line"), counted(text.chars().count() as u64, "character"));
    Ok(FileContent { kind: "text".to_owned(), text, summary, ..FileContent::default() })
}

fn pages(what: &str, pages: Vec<PageText>) -> FileContent {
    let text = pages.iter().map(|page| page.text.as_str()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let without = if text.is_empty() { " without readable text; perhaps its pages are pictures" } else { "" };
    let is_pdf = what.starts_with("PDF");
    let figures = if is_pdf { DocumentFigures::of_pages(&pages) } else { DocumentFigures::of_text(&pages) };
    let length = if is_pdf { counted(pages.len() as u64, "page") } else { counted(text.lines().count() as u64, "line") };
    let summary = format!("{what} of {length}{without}.");
    FileContent { kind: "document".to_owned(), text, pages, figures, summary, ..FileContent::default() }
}

/// Describes every table of the file.
fn tables(pool: &DatabasePool, path: &Path, kind: DataKind, cancel: &CancelFlag) -> Result<(FileContent, Vec<TableSource>), Failure> {
    let sources = sources(path, kind, cancel)?;
    if sources.len() > MOST_TABLES {
        let sentence = format!("{} contains {} tables, more than {MOST_TABLES}. Split it.", file_name(path), sources.len());
        return Err(too_large(sentence));
    }
    match kind.engine() {
        SqlEngine::Sqlite if kind == DataKind::Sqlite => {
            let mut database = pool.take(&sources)?;
            let content = described(sources, |source| summary(&mut database, source, cancel))?;
            pool.give_back(database);
            Ok(content)
        }
        SqlEngine::Sqlite if kind == DataKind::Excel => {
            let mut workbook = Some(open_workbook(path, cancel)?);
            described(sources, |source| {
                // It is lost only with a failure that ends the step.
                let opened = workbook.take().map_or_else(|| open_workbook(path, cancel), Ok)?;
                let mut sheet = opened.sheet(source.table.as_deref())?;
                let summary = profile(&mut sheet, source, cancel);
                workbook = Some(sheet.into_workbook());
                summary
            })
        }
        SqlEngine::Sqlite => described(sources, |source| profile(&mut Delimited::open(path, kind)?.0, source, cancel)),
        #[cfg(feature = "duckdb")]
        SqlEngine::DuckDb => {
            let mut database = super::duck::DuckSession::open(&sources.iter().collect::<Vec<_>>(), cancel)?;
            described(sources, |source| summary(&mut database, source, cancel))
        }
        #[cfg(not(feature = "duckdb"))]
        SqlEngine::DuckDb => Err(unreadable_here()),
    }
}

fn open_workbook(path: &Path, cancel: &CancelFlag) -> Result<Workbook, Failure> {
    Workbook::open(path, read_all(path, MOST_FILE)?.0, cancel)
}

/// Describes the tables. Returns the content, and the tables that can be queried.
fn described(
    sources: Vec<TableSource>,
    mut summary: impl FnMut(&TableSource) -> Result<TableSummary, Failure>,
) -> Result<(FileContent, Vec<TableSource>), Failure> {
    let is_single = sources.len() == 1;
    let mut content = FileContent { kind: "table".to_owned(), ..FileContent::default() };
    let mut left_out = Vec::new();
    let mut kept = Vec::with_capacity(sources.len());
    for source in sources {
        match summary(&source) {
            Ok(summary) => {
                content.tables.push(summary);
                kept.push(source);
            }
            // One empty sheet does not make the others unreadable.
            Err(failure) if !is_single && failure.kind == FailureKind::WrongType => {
                left_out.push(format!("\"{}\" was left out: {}", source.table.unwrap_or(source.name), failure.message));
            }
            Err(failure) => return Err(failure),
        }
    }
    content.summary = match content.tables.as_slice() {
        [] => "File without tables.".to_owned(),
        [table] => format!("Table of {} and {}.", counted(table.row_count, "row"), counted(table.columns.len() as u64, "column")),
        several => {
            let each: Vec<String> = several.iter().map(|table| format!("{} ({})", table.name, counted(table.row_count, "row"))).collect();
            format!("{} tables: {}.", several.len(), listed(each.iter().map(String::as_str)))
        }
    };
    for sentence in left_out {
        content.summary.push(' ');
        content.summary.push_str(&sentence);
    }
    Ok((content, kept))
}

/// This build cannot read the file, so it counts as unreadable like any other.
#[cfg(not(feature = "duckdb"))]
fn unreadable_here() -> Failure {
    Failure { kind: FailureKind::WrongType, ..super::engines::no_duckdb() }
}

/// The tables of a file under the names that later `sql` steps use: `us_cities`, or `book_sheet` if there are several.
fn sources(path: &Path, kind: DataKind, cancel: &CancelFlag) -> Result<Vec<TableSource>, Failure> {
    let source = |name: String, table: Option<String>| TableSource {
        name,
        file: path.to_owned(),
        kind,
        table,
        columns: BTreeMap::new(),
        pii: vec![],
        engine: kind.engine(),
    };
    let parts = match kind {
        DataKind::Csv | DataKind::Tsv | DataKind::Parquet => {
            return Ok(vec![source(file_id(path), None)]);
        }
        DataKind::Excel => open_workbook(path, cancel)?.sheets(),
        DataKind::Sqlite => tables_of(path)?,
        #[cfg(feature = "duckdb")]
        DataKind::DuckDb => super::duck::tables_of_file(&source(file_id(path), None))?,
        #[cfg(not(feature = "duckdb"))]
        DataKind::DuckDb => return Err(unreadable_here()),
    };
    let is_single = parts.len() == 1;
    let mut taken = HashSet::new();
    let part = |part: String| {
        let name = if is_single { file_id(path) } else { sheet_id(path, &part) };
        source(unique(&name, &mut taken), Some(part))
    };
    Ok(parts.into_iter().map(part).collect())
}
