//! `read` steps: the kind of a file, and its content as data.

use std::path::Path;
use std::time::Duration;

use super::blocking::CancelFlag;
use super::child;
use super::database::{DatabasePool, tables_of};
use super::delimited::Delimited;
use super::described::{ReadTables, described, source, sources};
use super::json_lines::JsonLines;
use super::names::file_id;
use super::parsed::{MOST_TEXT, ParsedContent, ParsedKind};
use super::profile::profile;
use super::sentence::{counted, listed, wrong_type};
use super::source::{Content, content_of, decode, read_all};
use super::summary::summary;
use crate::event::Failure;
use crate::model::{DataKind, FailureKind, ReadKind};
use crate::port::{FileContent, ReadRequest};

/// Maximum size of a document, an Excel file or a picture, in bytes.
const MOST_FILE: u64 = 32 << 20;
/// The share of the step's time that a file gets which a library parses.
const FILE_SHARE: u32 = 3;
/// The time for a document that is to be searched.
const DOCUMENT_TIME: Duration = Duration::from_secs(30);

/// The kinds that a `read` step can set as `type`.
const KINDS: [&str; 4] = ["text", "table", "document", "image"];

/// Reads a file. Without `type`, a file that cannot be read has the kind `unreadable`, and its summary states why; with `type`, this is a failure.
pub(super) fn read(pool: &DatabasePool, request: &ReadRequest, cancel: &CancelFlag) -> Result<ReadTables, Failure> {
    let path = request.path.as_path();
    // So that one file of a list does not take the time of all others.
    let time = request.timeout / FILE_SHARE;
    let outcome = match request.kind.as_deref() {
        Some(kind) if !KINDS.contains(&kind) => {
            return Err(wrong_type(format!("\"{kind}\" is not a kind of file; write one of: {}.", listed(KINDS))));
        }
        Some(kind) => read_as(pool, path, asked(kind, path, time, cancel)?, time, cancel),
        None => kind_of(path, time, cancel).and_then(|kind| read_as(pool, path, kind, time, cancel)),
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
pub(crate) fn searchable(path: &Path, cancel: &CancelFlag) -> Result<FileContent, Failure> {
    match kind_of(path, DOCUMENT_TIME, cancel)? {
        ReadKind::Table(kind) if kind.is_searched() => text(path),
        ReadKind::Table(_) => Err(wrong_type("it is a table; describe it under data, and ask it with sql")),
        ReadKind::Picture => Err(wrong_type("it is a picture")),
        kind @ (ReadKind::Text | ReadKind::Pdf | ReadKind::Word) => {
            let (content, _) = read_as(&DatabasePool::default(), path, kind, DOCUMENT_TIME, cancel)?;
            Ok(content)
        }
    }
}

/// The kind of a file by its extension, or by its content if the extension is unknown.
fn kind_of(path: &Path, time: Duration, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "xlsb" | "ods" => by_content(path, time, cancel),
        ending => ReadKind::of_ending(ending).map_or_else(|| by_content(path, time, cancel), Ok),
    }
}

fn by_content(path: &Path, time: Duration, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    Ok(match content_of(path)?.0 {
        Content::Sqlite => ReadKind::Table(DataKind::Sqlite),
        Content::Parquet => ReadKind::Table(DataKind::Parquet),
        Content::DuckDb => ReadKind::Table(DataKind::DuckDb),
        Content::Pdf => ReadKind::Pdf,
        Content::Image => ReadKind::Picture,
        Content::Zip => match child::kind_of_zip(path, read_all(path, MOST_FILE)?.0, time, cancel)? {
            Some(ParsedKind::Excel) => ReadKind::Table(DataKind::Excel),
            Some(ParsedKind::Word) => ReadKind::Word,
            Some(ParsedKind::Pdf | ParsedKind::Picture) | None => ReadKind::Text,
        },
        Content::OldOffice | Content::Other => ReadKind::Text,
    })
}

/// The kind that `type` requests. The extension still distinguishes kinds of tables and documents.
fn asked(kind: &str, path: &Path, time: Duration, cancel: &CancelFlag) -> Result<ReadKind, Failure> {
    Ok(match (kind, kind_of(path, time, cancel)?) {
        ("table", table @ ReadKind::Table(_)) => table,
        ("table", _) => ReadKind::Table(DataKind::Csv),
        ("document", ReadKind::Word) => ReadKind::Word,
        ("document", _) => ReadKind::Pdf,
        ("image", _) => ReadKind::Picture,
        _ => ReadKind::Text,
    })
}

fn read_as(pool: &DatabasePool, path: &Path, kind: ReadKind, time: Duration, cancel: &CancelFlag) -> Result<ReadTables, Failure> {
    match kind {
        ReadKind::Text => Ok((text(path)?, Vec::new())),
        ReadKind::Table(kind) => tables(pool, path, kind, time, cancel),
        ReadKind::Pdf => parsed(ParsedKind::Pdf, path, time, cancel),
        ReadKind::Word => parsed(ParsedKind::Word, path, time, cancel),
        ReadKind::Picture => parsed(ParsedKind::Picture, path, time, cancel),
    }
}

fn text(path: &Path) -> Result<FileContent, Failure> {
    let text = decode(path, read_all(path, MOST_TEXT as u64)?.0)?;
    let summary =
        format!("Text of {} and {}.", counted(text.lines().count() as u64, "line"), counted(text.chars().count() as u64, "character"));
    Ok(FileContent { kind: "text".to_owned(), text, summary, ..FileContent::default() })
}

/// Describes every table of the file.
fn tables(pool: &DatabasePool, path: &Path, kind: DataKind, time: Duration, cancel: &CancelFlag) -> Result<ReadTables, Failure> {
    match kind {
        DataKind::Excel => parsed(ParsedKind::Excel, path, time, cancel),
        DataKind::Csv | DataKind::Tsv => {
            described(vec![source(path, kind, file_id(path), None)], |source| profile(&mut Delimited::open(source)?.0, source, cancel))
        }
        DataKind::JsonLines => {
            described(vec![source(path, kind, file_id(path), None)], |source| profile(&mut JsonLines::open(path)?.0, source, cancel))
        }
        DataKind::Sqlite => {
            let sources = sources(path, kind, tables_of(path)?);
            let mut database = pool.take(&sources)?;
            let content = described(sources, |source| summary(&mut database, source, cancel))?;
            pool.give_back(database);
            Ok(content)
        }
        #[cfg(feature = "duckdb")]
        DataKind::Parquet => by_duckdb(vec![source(path, kind, file_id(path), None)], cancel),
        #[cfg(feature = "duckdb")]
        DataKind::DuckDb => {
            let tables = super::duck::tables_of_file(&source(path, kind, file_id(path), None))?;
            by_duckdb(sources(path, kind, tables), cancel)
        }
        #[cfg(not(feature = "duckdb"))]
        DataKind::Parquet | DataKind::DuckDb => Err(unreadable_here()),
    }
}

#[cfg(feature = "duckdb")]
fn by_duckdb(sources: Vec<crate::port::TableSource>, cancel: &CancelFlag) -> Result<ReadTables, Failure> {
    let mut database = super::duck::DuckSession::open(&sources.iter().collect::<Vec<_>>(), cancel)?;
    described(sources, |source| summary(&mut database, source, cancel))
}

/// Reads a file that a library parses.
fn parsed(kind: ParsedKind, path: &Path, time: Duration, cancel: &CancelFlag) -> Result<ReadTables, Failure> {
    let ParsedContent { content, tables } = child::content(kind, path, read_all(path, MOST_FILE)?.0, time, cancel)?;
    // Where the tables are is known here, whatever the child says.
    let tables = tables.into_iter().map(|(name, sheet)| source(path, DataKind::Excel, name, sheet)).collect();
    Ok((content, tables))
}

/// This build cannot read the file, so it counts as unreadable like any other.
#[cfg(not(feature = "duckdb"))]
fn unreadable_here() -> Failure {
    Failure { kind: FailureKind::WrongType, ..super::engines::no_duckdb() }
}
