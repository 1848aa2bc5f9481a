//! The tables of a file, for a `read` step: their names in later `sql` steps, and what is told of them.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::names::{file_id, sheet_id, unique};
use super::sentence::{counted, file_name, listed, too_large};
use crate::event::Failure;
use crate::model::{DataKind, FailureKind, TableForm};
use crate::port::{FileContent, TableSource, TableSummary};

/// What is read of a file, and the tables in it.
pub(super) type ReadTables = (FileContent, Vec<TableSource>);

/// Maximum number of tables in one file.
const MOST_TABLES: usize = 100;

/// A table of a file. `table`: the sheet or table in it.
pub(super) fn source(path: &Path, kind: DataKind, name: String, table: Option<String>) -> TableSource {
    TableSource {
        name,
        file: path.to_owned(),
        kind,
        table,
        columns: BTreeMap::new(),
        pii: vec![],
        engine: kind.engine(),
        // What is merged is told in the summary.
        form: TableForm { fill_merged: Some(false), ..TableForm::default() },
    }
}

/// Tables of a file under the names that later `sql` steps use: `us_cities`, or `book_sheet` if there are several.
pub(super) fn sources(path: &Path, kind: DataKind, parts: Vec<String>) -> Vec<TableSource> {
    let is_single = parts.len() == 1;
    let mut taken = HashSet::new();
    let part = |part: String| {
        let name = if is_single { file_id(path) } else { sheet_id(path, &part) };
        source(path, kind, unique(&name, &mut taken), Some(part))
    };
    parts.into_iter().map(part).collect()
}

/// Describes the tables. Returns the content, and the tables that can be queried.
pub(super) fn described(
    sources: Vec<TableSource>,
    mut summary: impl FnMut(&TableSource) -> Result<TableSummary, Failure>,
) -> Result<ReadTables, Failure> {
    if sources.len() > MOST_TABLES {
        let file = sources.first().map(|source| file_name(&source.file)).unwrap_or_default();
        return Err(too_large(format!("{file} contains {} tables, more than {MOST_TABLES}. Split it.", sources.len())));
    }
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
