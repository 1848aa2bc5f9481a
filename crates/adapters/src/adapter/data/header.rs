//! The columns of a table, for checking a pipeline: only the first line, sheet or schema is read.

use std::io::Read;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::blocking::CancelFlag;
use super::child;
use super::columns::RowSource;
use super::database::{checked_sqlite, columns_of, tables_in, wanted_table};
use super::delimited::Delimited;
use super::names::column_names;
use super::parsed::first_row;
use super::source::{absolute, open, read_all};
use crate::model::{DataKind, TableOddity};
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
        DataKind::Csv | DataKind::Tsv => Delimited::of_bytes(&table.file, table.kind, beginning(table)?).ok()?,
        DataKind::Excel => return child::header(table, read_all(&table.file, MOST_WORKBOOK).ok()?.0, MOST_TIME),
        DataKind::Sqlite => return of_sqlite(table),
        DataKind::Parquet | DataKind::DuckDb => return None,
    };
    first_row(&mut rows, &CancelFlag::default())
}

/// What in a CSV or TSV file is read otherwise than it looks, as far as its beginning shows. That a row does not fit is only said of a file that was
/// read to its end.
pub fn oddities(table: &TableSource) -> Vec<TableOddity> {
    if !matches!(table.kind, DataKind::Csv | DataKind::Tsv) {
        return vec![];
    }
    let Some(bytes) = beginning(table) else { return vec![] };
    let is_whole = std::fs::metadata(&table.file).is_ok_and(|file| file.len() == bytes.len() as u64);
    let Ok(mut rows) = Delimited::of_bytes(&table.file, table.kind, bytes) else { return vec![] };
    let may_use_comma = rows.may_use_decimal_comma();
    let mut written: Vec<String> = vec![];
    let mut commas: Vec<CommaColumn> = vec![];
    let read = rows.each_row(&CancelFlag::default(), &mut |row| {
        if written.is_empty() {
            written = row.cells.iter().map(|cell| cell.text().trim().to_owned()).collect();
            commas.resize_with(written.len(), CommaColumn::default);
        } else {
            commas.iter_mut().zip(row.cells).for_each(|(column, cell)| column.see(&cell.text()));
        }
        Ok(())
    });
    let names = column_names(written.iter().map(String::as_str));
    let repeated = written
        .iter()
        .zip(&names)
        .filter(|(written, name)| !written.is_empty() && name.strip_prefix(written.as_str()).is_some_and(|rest| rest.starts_with('_')));
    let mut odd: Vec<TableOddity> =
        repeated.map(|(column, name)| TableOddity::Repeated { column: column.clone(), read_as: name.clone() }).collect();
    let with_comma =
        names.iter().zip(&commas).filter(|(name, column)| !may_use_comma && column.is_one() && !table.columns.contains_key(*name));
    odd.extend(with_comma.map(|(name, _)| TableOddity::DecimalComma { column: name.clone() }));
    odd.extend(read.err().filter(|_| is_whole).map(|failure| TableOddity::Unreadable(failure.message)));
    odd
}

/// What is seen of a column: whether all its texts are numbers, some of them with a decimal comma.
#[derive(Default)]
struct CommaColumn {
    has_comma: bool,
    has_other: bool,
}

impl CommaColumn {
    fn see(&mut self, cell: &str) {
        let cell = cell.trim().trim_start_matches('-');
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match cell.split_once(',') {
            Some((whole, part)) if is_digits(whole) && is_digits(part) => self.has_comma = true,
            _ => self.has_other |= !cell.is_empty() && !is_digits(cell),
        }
    }

    fn is_one(&self) -> bool {
        self.has_comma && !self.has_other
    }
}

/// The beginning of a text file, in whole lines.
fn beginning(table: &TableSource) -> Option<Vec<u8>> {
    let (file, _) = open(&table.file).ok()?;
    let mut bytes = vec![];
    file.take(MOST_TEXT).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 == MOST_TEXT {
        let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
        bytes.truncate(end + 1);
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
    fn what_is_read_otherwise_than_it_looks_is_found() {
        let odd = |content: &str| {
            let (_folder, csv) = table_of("a.csv", content);
            oddities(&csv)
        };
        assert_eq!(odd("team,hours,hours\nNorth,30,40\n"), [TableOddity::Repeated { column: "hours".into(), read_as: "hours_2".into() }]);
        assert_eq!(odd("day,amount\n1,\"12,50\"\n2,7\n"), [TableOddity::DecimalComma { column: "amount".into() }]);
        assert!(matches!(&odd("room,view\n12,garden, quiet\n")[..], [TableOddity::Unreadable(why)] if why.contains("line 2 has 3 cells")));
        for fine in ["a,b\n1,2\n", "a;b\n1;7,5\n", "a,b\n1,\"x, y\"\n", "a,b\n1,\"7,5\"\n2,none\n", "a,a_2\n1,2\n", ""] {
            assert_eq!(odd(fine), [], "{fine}");
        }
    }

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
