//! Columns with personal data: whether a table has those that are marked, and which columns of a result hold them.

use super::query::same_name;
use super::sentence::{failure, file_name, listed};
use crate::diagnostic::did_you_mean;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::TableSource;

/// The failure of a table that lacks a marked column: what stands there under another name would not be masked.
pub(super) fn lacking(table: &TableSource, columns: &[String]) -> Result<(), Failure> {
    let has = |marked: &String| columns.iter().any(|column| same_name(column, marked));
    let Some(missing) = table.pii.iter().find(|marked| !has(marked)) else { return Ok(()) };
    let (file, near) = (file_name(&table.file), did_you_mean(missing, columns.iter().map(String::as_str)));
    let near = if near.is_empty() { ".".to_owned() } else { near };
    let have = listed(columns.iter().map(String::as_str));
    let sentence = format!(
        "`pii` of table \"{}\" names \"{missing}\", which {file} does not have, so what it holds would not be masked and nothing is \
         read{near} Its columns are: {have}.",
        table.name
    );
    Err(failure(FailureKind::Unavailable, sentence))
}

/// What a query takes from tables with personal columns.
pub(super) struct Touched<'a> {
    tables: &'a [TableSource],
    /// It reads a personal column somewhere.
    is_personal: bool,
    /// It puts several selects together, where only the first says where a column comes from.
    is_compound: bool,
}

impl<'a> Touched<'a> {
    /// `reads`: whether the query reads this column of this table.
    pub(super) fn by(query: &str, tables: &'a [TableSource], reads: impl Fn(&str, &str) -> bool) -> Touched<'a> {
        let is_personal = tables.iter().any(|table| table.pii.iter().any(|column| reads(&table.name, column)));
        let mut words = query.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_compound = words.any(|word| ["union", "intersect", "except"].iter().any(|compound| word.eq_ignore_ascii_case(compound)));
        Touched { tables, is_personal, is_compound }
    }

    /// Whether a column of the result may hold personal data: all but a plain column that is not marked. `origin`: the table and column
    /// that it is, if it is one.
    pub(super) fn is_personal(&self, origin: Option<(&str, &str)>) -> bool {
        let is_plain = |(name, column): (&str, &str)| {
            let table = self.tables.iter().find(|table| same_name(&table.name, name));
            table.is_some_and(|table| !table.pii.iter().any(|marked| same_name(marked, column)))
        };
        self.is_personal && (self.is_compound || !origin.is_some_and(is_plain))
    }
}
