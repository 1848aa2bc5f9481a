//! Tables and files: `sql` and `read` steps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Pending;
use crate::model::{ColumnForm, Data, DataKind, SqlEngine, TableForm};

/// A table a query may see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSource {
    /// Its name in the query.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What the file is.
    pub kind: DataKind,
    /// Sheet or table in it.
    pub table: Option<String>,
    /// Declared column types.
    pub columns: BTreeMap<String, ColumnForm>,
    /// Columns with personal data; a table without one of them is not queried.
    pub pii: Vec<String>,
    /// The engine that answers queries on it.
    pub engine: SqlEngine,
    /// How its rows and cells are read.
    pub form: TableForm,
}

impl TableSource {
    /// The table of `data` with this name.
    pub fn find(name: &str, data: &Data) -> TableSource {
        TableSource {
            name: name.to_owned(),
            file: data.file.value.clone(),
            kind: data.kind,
            table: data.table.as_ref().map(|table| table.value.clone()),
            columns: data.columns.iter().map(|(name, kind)| (name.clone(), kind.clone())).collect(),
            form: data.form.clone(),
            pii: data.pii.iter().map(|column| column.value.clone()).collect(),
            engine: data.engine(),
        }
    }
}

/// One query. It only reads, sees only these tables, and opens nothing else.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// The engine; one this build lacks is a failure `unavailable` that says how to get it.
    pub engine: SqlEngine,
    /// The tables.
    pub tables: Vec<TableSource>,
    /// The query with `$name` places.
    pub query: String,
    /// Values of the places: null, boolean, number, text; lists and objects are bound as JSON text.
    pub with: BTreeMap<String, Value>,
    /// Most rows that come back.
    pub max_rows: u64,
    /// Time for the query.
    pub timeout: Duration,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rows {
    /// Rows as objects, columns in the query's order. An empty cell is null. Whole numbers stay whole.
    pub rows: Vec<Map<String, Value>>,
    /// Columns: name and type (`text`, `integer`, `number`, `boolean`, or empty when unknown).
    pub columns: Vec<(String, String)>,
    /// Columns that the query made of personal ones, by the names it gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personal: Vec<String>,
    /// Whether there were more than `max_rows`.
    pub is_cut: bool,
}

impl Rows {
    /// With the columns, by their places, that hold personal data.
    pub fn with_personal(mut self, is_personal: &[bool]) -> Rows {
        let names = self.columns.iter().zip(is_personal).filter(|(_, is_personal)| **is_personal);
        self.personal = names.map(|((name, _), _)| name.clone()).collect();
        self
    }
}

/// Answers queries.
pub trait SqlDatabase: Send + Sync {
    /// Runs one query. Failures: `unavailable` (file or engine missing), `bad_request` (the query is wrong: SQLite's own sentence),
    /// `timeout`, `too_large`, `denied` (it would write or open something).
    fn query(&self, request: QueryRequest) -> Pending<Rows>;
}

/// One file to read.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The file.
    pub path: PathBuf,
    /// `text`, `table`, `document`, `image`; `None`: by ending and content.
    pub kind: Option<String>,
    /// Time for it.
    pub timeout: Duration,
}

/// A file as data: the `output` of a `read` step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct FileContent {
    pub path: String,
    /// One of [`FileContent::KINDS`].
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    pub tables: Vec<TableSummary>,
    pub pages: Vec<PageText>,
    pub width: Option<u64>,
    pub height: Option<u64>,
    #[serde(flatten, default)]
    pub figures: DocumentFigures,
    /// One sentence: `Table of 12 rows and 3 columns.`
    pub summary: String,
}

impl FileContent {
    /// What a file may be.
    pub const KINDS: [&str; 5] = ["text", "table", "document", "image", "unreadable"];
}

/// A table of a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct TableSummary {
    /// The name it has in `sql` steps after this one.
    pub name: String,
    pub row_count: u64,
    /// First rows as a Markdown table.
    pub sample_markdown: String,
    pub columns: Vec<ColumnSummary>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct ColumnSummary {
    pub name: String,
    /// Share of different values among all, in percent.
    pub pct_distinct: f64,
    pub min: Value,
    pub max: Value,
    /// The three most frequent values; of equally frequent ones the smaller ones.
    pub top_3: Vec<ValueCount>,
}

/// A value and how often it occurs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct ValueCount {
    pub value: Value,
    pub count: u64,
}

/// Figures of all pages of a document together. Lengths are numbers of characters. `None` where the kind of file does not tell: a Word file stores no page
/// breaks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct DocumentFigures {
    pub page_count: Option<u64>,
    pub image_count: Option<u64>,
    pub text_length: Option<u64>,
    pub longest_page: Option<u64>,
    /// Between two pages, their mean.
    pub median_page: Option<f64>,
}

impl DocumentFigures {
    /// The figures of a document whose pages are pages.
    pub fn of_pages(pages: &[PageText]) -> DocumentFigures {
        let mut lengths: Vec<u64> = pages.iter().map(PageText::length).collect();
        lengths.sort_unstable();
        let middle = |from_end: usize| lengths.get(lengths.len().saturating_sub(from_end) / 2).copied().unwrap_or(0) as f64;
        DocumentFigures {
            page_count: Some(pages.len() as u64),
            longest_page: Some(lengths.last().copied().unwrap_or(0)),
            median_page: Some(f64::midpoint(middle(1), middle(0))),
            ..DocumentFigures::of_text(pages)
        }
    }

    /// The figures of a document that stores no page breaks.
    pub fn of_text(pages: &[PageText]) -> DocumentFigures {
        DocumentFigures {
            image_count: Some(pages.iter().map(|page| page.images).sum()),
            text_length: Some(pages.iter().map(PageText::length).sum()),
            ..DocumentFigures::default()
        }
    }
}

/// A page of a document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys of the language page")]
pub struct PageText {
    pub number: u64,
    pub text: String,
    pub images: u64,
}

impl PageText {
    /// The length of its text in characters.
    fn length(&self) -> u64 {
        self.text.chars().count() as u64
    }
}

sampled! {
    FileContent { Engine(width, height), Flat(figures), Parts(tables, pages), Others(path, kind, text, summary) }
    TableSummary { Engine(row_count), Others(name, sample_markdown, columns) }
    ColumnSummary { Others(name, pct_distinct, min, max, top_3) }
    ValueCount { Others(value, count) }
    DocumentFigures { Engine(page_count, image_count, text_length, longest_page, median_page) }
    PageText { Engine(number, images), Others(text) }
}

/// Reads files.
pub trait FileReader: Send + Sync {
    /// Reads one file and says which tables it holds for later queries. Failures: `unavailable`, `too_large`, `wrong_type`, `timeout`.
    fn read(&self, request: ReadRequest) -> Pending<(FileContent, Vec<TableSource>)>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(texts: &[&str]) -> DocumentFigures {
        let page = |text: &&str| PageText { text: (*text).to_owned(), images: 2, ..PageText::default() };
        DocumentFigures::of_pages(&texts.iter().map(page).collect::<Vec<_>>())
    }

    #[test]
    fn lengths_of_pages_are_counted_in_characters_and_their_median_may_lie_between_two() {
        let of_three = figures(&["aä", "", "abcde"]);
        assert_eq!((of_three.page_count, of_three.image_count, of_three.text_length), (Some(3), Some(6), Some(7)));
        assert_eq!((of_three.longest_page, of_three.median_page), (Some(5), Some(2.0)));
        assert_eq!(figures(&["abc", "a", "abcd", ""]).median_page, Some(2.0));
        assert_eq!(figures(&["a", "ab"]).median_page, Some(1.5));
        assert_eq!(
            figures(&[]),
            DocumentFigures {
                page_count: Some(0),
                image_count: Some(0),
                text_length: Some(0),
                longest_page: Some(0),
                median_page: Some(0.0)
            }
        );
    }
}
