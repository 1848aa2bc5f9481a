//! The columns of a table, for checking a pipeline: only the first line, sheet or schema is read.

use std::io::Read;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::blocking::CancelFlag;
use super::child;
use super::database::{checked_sqlite, columns_of, tables_in, wanted_table};
use super::delimited::Delimited;
use super::json_lines::JsonLines;
use super::parsed::first_row;
use super::source::{absolute, open, read_all};
use crate::model::DataKind;
use crate::port::TableSource;

/// How much of a CSV or TSV file is read for its first line, in bytes.
const MOST_TEXT: u64 = 256 << 10;
/// Maximum size of a workbook, in bytes. A larger one is not opened.
const MOST_WORKBOOK: u64 = 8 << 20;
/// Time for a workbook.
const MOST_TIME: Duration = Duration::from_secs(5);
/// Characters that are not percent-encoded in the URI of a SQLite file.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

/// The names of the columns. `None` if they cannot be read this way; an error is then reported when the table is read.
pub fn header(table: &TableSource) -> Option<Vec<String>> {
    let mut rows = match table.kind {
        DataKind::Csv | DataKind::Tsv => Delimited::of_bytes(table, beginning(table)?).ok()?,
        DataKind::JsonLines => return first_row(&mut JsonLines::open(&table.file).ok()?.0, &CancelFlag::default()),
        DataKind::Excel => return child::header(table, read_all(&table.file, MOST_WORKBOOK).ok()?.0, MOST_TIME),
        DataKind::Sqlite => return of_sqlite(table),
        DataKind::Parquet | DataKind::DuckDb => return None,
    };
    first_row(&mut rows, &CancelFlag::default())
}

/// The beginning of a text file, in whole lines.
pub(super) fn beginning(table: &TableSource) -> Option<Vec<u8>> {
    let (file, _) = open(&table.file).ok()?;
    let mut bytes = vec![];
    file.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 == MOST_TEXT {
        let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
        bytes.truncate(end + 1);
        // Of UTF-16 the second byte of the line end.
        bytes.extend(bytes.starts_with(&[0xFF, 0xFE]).then_some(0));
    }
    Some(bytes)
}

/// Opens the file without locks, and without creating SQLite's files beside it.
fn of_sqlite(table: &TableSource) -> Option<Vec<String>> {
    // What is no such file, such as a pipe, is not opened.
    checked_sqlite(&table.file).ok()?;
    let path = absolute(&table.file).ok()?;
    let address = format!("file:{}?immutable=1", utf8_percent_encode(&path, PLAIN));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(address, flags).ok()?;
    let tables = tables_in(&connection, "main").ok()?;
    columns_of(&connection, wanted_table(table, &tables).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::table_of;
    use super::*;

    #[test]
    fn the_columns_of_a_table_are_those_of_its_first_line_or_its_schema() {
        let (_folder, csv) = table_of("people.csv", "id; Name ;\"Phone\"\n1;Ana;2\n");
        assert_eq!(header(&csv).unwrap(), ["id", "Name", "Phone"]);
        let long = format!("id,name\n{}", "1,Ana\n".repeat(100_000));
        let (_folder, csv) = table_of("long.csv", long);
        assert_eq!(header(&csv).unwrap(), ["id", "name"]);
        let (_folder, tsv) = table_of("people.tsv", "id\tname\n");
        assert_eq!(header(&tsv).unwrap(), ["id", "name"]);
        let (folder, sqlite) = table_of("crm.sqlite", "");
        let connection = Connection::open(&sqlite.file).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE crm (id, \"full name\"); PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(connection);
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let before = files();
        assert_eq!(header(&sqlite).unwrap(), ["id", "full name"]);
        assert_eq!(files(), before, "a check leaves no file");
        for (name, content) in [("empty.csv", ""), ("broken.xlsx", "x"), ("broken.sqlite", "x"), ("sales.parquet", "x")] {
            let (_folder, table) = table_of(name, content);
            assert_eq!(header(&table), None, "{name}");
        }
    }
}
