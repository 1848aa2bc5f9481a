//! The profile of a table that is read as a stream, such as a CSV file: its figures in one pass, without loading it.
//!
//! Different values are counted exactly. What they may take in memory is bounded: when they need more, the columns with the most of them are counted in
//! parts, each in a pass of its own, with the values whose hash begins alike. So a larger file costs time, not memory.

use serde_json::{Number, Value};

use super::blocking::CancelFlag;
use super::columns::{Cell, ColumnType, Guess, RowSource};
use super::counts::{CountedNumber, CountedValue, Counts, Merged};
use super::datum::Datum;
use super::summary::{markdown, share, short};
use super::typed::{TableBeginning, named};
use crate::event::Failure;
use crate::port::{ColumnSummary, TableSource, TableSummary, ValueCount};

/// Maximum memory of the counted values of a table, in bytes.
const MOST_COUNTED: usize = 192 << 20;
/// Rows from which it is first guessed whether a column has numbers or texts. A column that turns out otherwise needs a second pass.
const FIRST_ROWS: u64 = 1_000;
/// How many rows, or new bytes of texts, are counted between two checks of the memory.
const ROWS_BETWEEN_LOOKS: u64 = 256;
const BYTES_BETWEEN_LOOKS: usize = 1 << 20;

/// Describes a table.
pub(super) fn profile(rows: &mut dyn RowSource, table: &TableSource, cancel: &CancelFlag) -> Result<TableSummary, Failure> {
    within(rows, table, MOST_COUNTED, cancel)
}

fn within(rows: &mut dyn RowSource, table: &TableSource, most_counted: usize, cancel: &CancelFlag) -> Result<TableSummary, Failure> {
    let beginning = TableBeginning::of(rows, FIRST_ROWS, cancel)?;
    let may_use_comma = rows.may_use_decimal_comma();
    let mut columns: Vec<ColumnProfile> = beginning.guesses.iter().map(|guess| ColumnProfile::new(guess, may_use_comma)).collect();
    let mut row_count = 0;
    let mut is_first = true;
    while is_first || columns.iter().any(|column| !column.is_done) {
        row_count = pass(rows, &mut columns, may_use_comma, is_first, most_counted, cancel)?;
        columns.iter_mut().for_each(ColumnProfile::end_pass);
        is_first = false;
    }
    let names = named(table, beginning.header, columns.len())?;
    let types: Vec<ColumnType> = columns.iter().map(|column| column.guess.column_type()).collect();
    let sample = beginning.sample.iter().map(|row| sampled(row, &types));
    let sample_markdown = markdown(names.iter().map(String::as_str), sample.collect::<Vec<_>>().iter());
    let columns = names.into_iter().zip(columns).map(|(name, column)| column.summary(name)).collect();
    Ok(TableSummary { name: table.name.clone(), row_count, sample_markdown, columns })
}

/// Shows all rows to the columns that are not done. Returns how many there are.
fn pass(
    rows: &mut dyn RowSource,
    columns: &mut Vec<ColumnProfile>,
    may_use_comma: bool,
    is_first: bool,
    most_counted: usize,
    cancel: &CancelFlag,
) -> Result<u64, Failure> {
    let mut row_count = 0;
    let mut is_header = true;
    let mut new_bytes = 0;
    rows.each_row(cancel, &mut |row| {
        // A row of a sheet, and its header, may be shorter than others.
        if columns.len() < row.cells.len() {
            columns.resize_with(row.cells.len(), || ColumnProfile::new(&Guess::new(may_use_comma), may_use_comma));
        }
        if std::mem::take(&mut is_header) {
            return Ok(());
        }
        row_count += 1;
        for (column, cell) in columns.iter_mut().zip(row.cells) {
            if *cell != Cell::Empty && !column.is_done {
                new_bytes += if is_first { column.see_first(cell) } else { column.see_again(cell) };
            }
        }
        if new_bytes > BYTES_BETWEEN_LOOKS || row_count % ROWS_BETWEEN_LOOKS == 0 {
            new_bytes = 0;
            narrow(columns, most_counted);
        }
        Ok(())
    })?;
    Ok(row_count)
}

/// Counts fewer values of the largest columns until all fit.
fn narrow(columns: &mut [ColumnProfile], most: usize) {
    while columns.iter().map(|column| column.counts.bytes()).sum::<usize>() > most {
        // A single value is kept, whatever it takes.
        let largest = columns.iter_mut().max_by_key(|column| column.counts.bytes());
        if !largest.is_some_and(|column| column.counts.narrow()) {
            return;
        }
    }
}

/// The values of a row. Where a cell is not of the column's type, which cannot be, it is shown as text.
fn sampled(row: &[Cell<'static>], types: &[ColumnType]) -> Vec<Value> {
    let value = |(index, column_type): (usize, &ColumnType)| {
        let cell = row.get(index).unwrap_or(&Cell::Empty);
        match column_type.value(cell) {
            Ok(Datum::Null) => Value::Null,
            Ok(Datum::Boolean(boolean)) => Value::Bool(boolean),
            Ok(Datum::Integer(whole)) => Value::from(whole),
            Ok(Datum::Number(number)) => of_number(number),
            Ok(Datum::Text(text)) => Value::from(text.into_owned()),
            Ok(Datum::Unreadable { .. }) | Err(_) => Value::from(cell.text().into_owned()),
        }
    };
    types.iter().enumerate().map(value).collect()
}

fn of_number(number: f64) -> Value {
    // -0.0 is 0.0 for both engines.
    Number::from_f64(number + 0.0).map_or(Value::Null, Value::Number)
}

/// What is known of a column so far.
struct ColumnProfile {
    guess: Guess,
    /// Cells that are not empty.
    used: u64,
    counts: Counts,
    /// Whether the values counted in this pass are worthless, since the column is one of texts.
    is_misled: bool,
    is_done: bool,
    merged: Merged,
}

impl ColumnProfile {
    /// Creates the profile of a column whose first cells look like this.
    fn new(looks: &Guess, may_use_comma: bool) -> ColumnProfile {
        ColumnProfile {
            guess: Guess::new(may_use_comma),
            used: 0,
            counts: Counts::new(is_of_texts(looks)),
            is_misled: false,
            is_done: false,
            merged: Merged::default(),
        }
    }

    /// Takes a cell of the first pass into account, in which the type of the column is guessed. Returns how many bytes it took.
    fn see_first(&mut self, cell: &Cell<'_>) -> usize {
        self.used += 1;
        let number = self.guess.see(cell);
        if self.counts.are_of_texts() {
            return self.counts.add_text(&cell.text());
        }
        match number {
            Some(number) if !self.is_misled => self.counts.add_number(number),
            _ if self.is_misled => {}
            _ => {
                self.counts = Counts::new(false);
                self.is_misled = true;
            }
        }
        0
    }

    /// Takes a cell of a later pass into account, when the type is known. Returns how many bytes it took.
    fn see_again(&mut self, cell: &Cell<'_>) -> usize {
        if self.counts.are_of_texts() {
            return self.counts.add_text(&cell.text());
        }
        match self.guess.column_type().value(cell) {
            Ok(Datum::Integer(whole)) => self.counts.add_number(CountedNumber::of_whole(whole)),
            Ok(Datum::Number(number)) => self.counts.add_number(CountedNumber::of_real(number)),
            Ok(Datum::Boolean(boolean)) => self.counts.add_number(CountedNumber::of_real(f64::from(u8::from(boolean)))),
            Ok(Datum::Null | Datum::Text(_) | Datum::Unreadable { .. }) | Err(_) => {}
        }
        0
    }

    /// Keeps what the pass counted, and prepares the next one.
    fn end_pass(&mut self) {
        if self.is_done {
            return;
        }
        let is_text = is_of_texts(&self.guess);
        if is_text == self.counts.are_of_texts() {
            self.is_done = !self.counts.merge_into(&mut self.merged);
        } else {
            self.counts = Counts::new(is_text);
        }
        if self.is_done {
            self.counts = Counts::new(is_text);
        }
    }

    fn summary(self, name: String) -> ColumnSummary {
        let column_type = self.guess.column_type();
        let value = |found: CountedValue| match (found, &column_type) {
            (CountedValue::Text(text), _) => short(Value::from(text)),
            (CountedValue::Number(CountedNumber::Long(whole)), _) => Value::from(whole),
            (CountedValue::Number(CountedNumber::Real(number)), ColumnType::Integer) => Value::from(number as i64),
            (CountedValue::Number(CountedNumber::Real(number)), ColumnType::Boolean) => Value::from(number > 0.0),
            (CountedValue::Number(CountedNumber::Real(number)), _) => of_number(number),
        };
        let Merged { distinct, min, max, top } = self.merged;
        ColumnSummary {
            name,
            pct_distinct: share(distinct as f64, self.used as f64),
            min: min.map_or(Value::Null, value),
            max: max.map_or(Value::Null, value),
            top_3: top.into_iter().map(|(found, count)| ValueCount { value: value(found), count }).collect(),
        }
    }
}

fn is_of_texts(guess: &Guess) -> bool {
    match guess.column_type() {
        ColumnType::Text | ColumnType::Date(_) | ColumnType::Datetime(_) => true,
        ColumnType::Unknown
        | ColumnType::Integer
        | ColumnType::Number(_)
        | ColumnType::Decimal(_)
        | ColumnType::Amount(_)
        | ColumnType::Duration(_)
        | ColumnType::Boolean => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::database::Database;
    use super::super::delimited::Delimited;
    use super::super::excel::Workbook;
    use super::super::summary::summary;
    use super::super::testing::{sheet_of, table_of, workbook};
    use super::*;
    use crate::model::DataKind;

    /// What the queries say of a table after it was loaded.
    fn queried(table: &TableSource) -> Result<TableSummary, String> {
        summary(&mut Database::new().unwrap(), table, &CancelFlag::default()).map_err(|failure| failure.message)
    }

    fn profiled(table: &TableSource, most_counted: usize) -> Result<TableSummary, String> {
        let said = |failure: Failure| failure.message;
        let cancel = CancelFlag::default();
        let mut rows: Box<dyn RowSource> = match table.kind {
            DataKind::Excel => {
                let bytes = std::fs::read(&table.file).unwrap();
                Box::new(Workbook::open(&table.file, bytes, &cancel).unwrap().sheet(None).unwrap())
            }
            _ => Box::new(Delimited::open(table).map_err(said)?.0),
        };
        let read = within(rows.as_mut(), table, most_counted, &cancel);
        read.map_err(said)
    }

    fn alike(file: &str, content: impl AsRef<[u8]>) -> TableSummary {
        let (_folder, table) = table_of(file, content);
        let profiled = profiled(&table, MOST_COUNTED).unwrap();
        assert_eq!(profiled, queried(&table).unwrap());
        profiled
    }

    #[test]
    fn a_profile_says_what_queries_on_the_loaded_table_say() {
        let long = "x".repeat(500);
        let profile = alike(
            "t.csv",
            format!("id,zip,n,mixed,empty,long\n1,01067,8,1,,{long}\n2,1067,7.50,2,,y\n3,01067,7.5,n/a,,\"a\nb\"\n4,,-0.0,2,,\n"),
        );
        assert_eq!(profile.row_count, 4);
        assert_eq!(json!(profile.columns[2].top_3[0]), json!({ "value": 7.5, "count": 2 }));
        assert_eq!(json!(profile.columns[3].top_3[0]), json!({ "value": "2", "count": 2 }));
        alike("t.csv", "day;hours;plain\n2026-11-16;7,5;1,234\n2026-11-17;8;2\n2026-11-17;8;2\n");
        alike("t.tsv", "a\tb\n");
        alike("t.xlsx", workbook(&[("S", &sheet_of(&[&["a", "b"], &["1", "x"], &["2", "1", "further"], &["", "x"]]))]));
    }

    #[test]
    fn texts_that_come_after_many_numbers_make_a_column_of_texts() {
        let rows: String =
            (0..3_000).map(|number| format!("{},0{},{}\n", number % 7, number, if number == 2_500 { "n/a" } else { "7.50" })).collect();
        let profile = alike("t.csv", format!("a,b,c\n{rows}"));
        assert_eq!(json!(profile.columns[2].top_3), json!([{ "value": "7.50", "count": 2999 }, { "value": "n/a", "count": 1 }]));
        assert_eq!(profile.columns[0].max, json!(6));
    }

    #[test]
    fn values_that_do_not_fit_in_memory_are_counted_in_parts() {
        let rows: String = (0..20_000).map(|number| format!("{number},name {},{}\n", number * 7 % 5_000, number % 10)).collect();
        let (_folder, table) = table_of("t.csv", format!("id,name,few\n{rows}"));
        let in_parts = profiled(&table, 64 << 10).unwrap();
        assert_eq!(in_parts, profiled(&table, MOST_COUNTED).unwrap());
        let [id, name, few] = in_parts.columns.as_slice() else { panic!("three columns") };
        assert_eq!((id.pct_distinct, name.pct_distinct, few.pct_distinct), (100.0, 25.0, 0.05));
        assert_eq!(json!(name.top_3[0]), json!({ "value": "name 0", "count": 4 }));
        assert_eq!((&id.max, &few.max), (&json!(19_999), &json!(9)));
    }

    #[test]
    fn what_is_wrong_in_a_table_is_said_as_when_it_is_loaded() {
        for content in ["", "\n\n", "a,b\n1\n", "a,b\n1,\"x\n", &format!("{}\n", "a,".repeat(3_000))] {
            let (_folder, table) = table_of("t.csv", content);
            assert_eq!(profiled(&table, MOST_COUNTED).unwrap_err(), queried(&table).unwrap_err(), "{content:.20}");
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_said() {
        let (_folder, table) = table_of("t.csv", "a\n1\n2\n");
        let cancel = CancelFlag::default();
        let (mut rows, _) = Delimited::open(&table).unwrap();
        let mut changed = false;
        let failure = rows.each_row(&cancel, &mut |_| {
            if !std::mem::replace(&mut changed, true) {
                std::fs::write(Path::new(&table.file), "a\n1\n2\n3\n").unwrap();
            }
            Ok(())
        });
        assert_eq!(failure.unwrap_err().message, "t.csv changed while it was read. Try again.");
    }

    proptest! {
        #[test]
        fn any_table_has_the_profile_that_queries_give(
            mark in proptest::sample::select(vec![',', ';']),
            rows in proptest::collection::vec(proptest::collection::vec("[0-2]{0,2}|-?[0-3][.,][05]{1,2}|true|a|[a ]{0,2}|0[1-2]", 3..=3), 0..12),
        ) {
            let rows: String = rows.iter().map(|cells| {
                let cells: Vec<String> = cells.iter().map(|cell| format!("\"{cell}\"")).collect();
                format!("{}\n", cells.join(&mark.to_string()))
            }).collect();
            let (_folder, table) = table_of("t.csv", format!("a{mark}b{mark}c\n{rows}"));
            prop_assert_eq!(profiled(&table, 1), queried(&table));
        }
    }
}
