//! Columns with personal data: whether a table has the marked columns, and which result columns may contain them.

use std::collections::HashSet;

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
/// unchanged. `reads`: the tables and columns that the query reads, in lower case; `origins`: for each result column, the table and column that it passes
/// through, if any.
pub(super) fn marked<'c>(
    query: &str,
    tables: &[TableSource],
    reads: &HashSet<(String, String)>,
    origins: impl Iterator<Item = Option<(&'c str, &'c str)>>,
) -> Vec<bool> {
    // A `full join … using` may read columns that SQLite does not report; `left right join` is one, too.
    let is_full = is_merging(query) && ["full", "right"].iter().any(|word| mentions(query, word));
    let is_touched = tables.iter().any(|table| {
        let reads_unseen = is_full && mentions(query, &table.name);
        table.pii.iter().any(|column| reads_unseen || reads.contains(&(table.name.to_lowercase(), column.to_lowercase())))
    });
    let is_compound = is_compound(query);
    let is_plain = |(name, column): (&str, &str)| {
        let table = tables.iter().find(|table| same_name(&table.name, name));
        table.is_some_and(|table| !table.pii.iter().any(|marked| same_name(marked, column)))
    };
    origins.map(|origin| is_touched && (is_compound || !origin.is_some_and(is_plain))).collect()
}

/// Whether a query may have a compound select. SQLite reports the origin of its columns for one part only.
pub(super) fn is_compound(query: &str) -> bool {
    ["union", "intersect", "except"].iter().any(|word| mentions(query, word))
}

/// Whether a query may join by columns that it does not name for each table: the result has one of two, and SQLite reports no more than one, or none.
pub(super) fn is_merging(query: &str) -> bool {
    ["natural", "using"].iter().any(|word| mentions(query, word))
}
