//! Columns with personal data: whether a table has the marked columns, and which result columns may contain them.

use super::query::same_name;
use super::sentence::{file_name, listed, unavailable};
use crate::diagnostic::did_you_mean;
use crate::event::Failure;
use crate::port::TableSource;
use crate::sql::mentions;

/// Fails if a table does not have a marked column: its values, under another name, would not be masked.
pub(super) fn lacking(table: &TableSource, columns: &[String]) -> Result<(), Failure> {
    let has = |marked: &String| columns.iter().any(|column| same_name(column, marked));
    let Some(missing) = table.pii.iter().find(|marked| !has(marked)) else { return Ok(()) };
    let (file, near) = (file_name(&table.file), did_you_mean(missing, columns.iter().map(String::as_str)));
    let near = near.or(".");
    let have = listed(columns.iter().map(String::as_str));
    let sentence = format!(
        "`pii` of table \"{}\" names \"{missing}\", which {file} does not have; its values would not be masked, so the table was \
         not read{near} Its columns are: {have}.",
        table.name
    );
    Err(unavailable(sentence))
}

/// Which result columns may contain personal data. If the query reads a marked column, these are all except unmarked columns that are passed through
/// unchanged. `reads`: whether the query reads this column of this table; `origins`: for each result column, the table and column that it passes
/// through, if any.
pub(super) fn marked<'c>(
    query: &str,
    tables: &[TableSource],
    reads: impl Fn(&str, &str) -> bool,
    origins: impl Iterator<Item = Option<(&'c str, &'c str)>>,
) -> Vec<bool> {
    let is_touched = tables.iter().any(|table| table.pii.iter().any(|column| reads(&table.name, column)));
    // For a compound select, SQLite reports the origin of a column only for the first part.
    let is_compound = ["union", "intersect", "except"].iter().any(|word| mentions(query, word));
    let is_plain = |(name, column): (&str, &str)| {
        let table = tables.iter().find(|table| same_name(&table.name, name));
        table.is_some_and(|table| !table.pii.iter().any(|marked| same_name(marked, column)))
    };
    origins.map(|origin| is_touched && (is_compound || !origin.is_some_and(is_plain))).collect()
}
