//! What is known of a sheet only when all of it was seen: where its table begins, what its number formats say of times, which cells are merged.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::sync::Arc;

use calamine::{Data, DataRef, Dimensions, Xlsx, XlsxError};

use super::super::guarded::guarded;
use super::blocking::CancelFlag;
use super::notation::is_currency_sign;
use super::sentence::{damaged, wrong_type};
use crate::event::Failure;

/// How many merged regions a message names.
const MOST_NAMED: usize = 3;

/// Of a sheet.
pub(super) struct SheetSurvey {
    /// The first column with a cell that is not empty, from 0. A table may begin anywhere in its sheet: columns before it that are wholly empty do not
    /// belong to it.
    pub(super) first_column: usize,
    /// The row with the names of the columns, from 0.
    pub(super) first_row: u32,
    /// Cells whose number format says what their value alone does not.
    pub(super) times: HashMap<(u32, u32), TimeFormat>,
    /// What number formats write beside their numbers.
    signs: CellSigns,
    /// Merged regions of the table whose first cell holds a value.
    pub(super) merged: Vec<Dimensions>,
}

/// What a number format says of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// A day and a time, which is midnight.
    Midnight,
    /// A time alone, which is 24:00 or later.
    Clock,
}

impl SheetSurvey {
    /// Reads the sheet from this row on (from 1).
    pub(super) fn of(
        xlsx: &mut Xlsx<Cursor<Vec<u8>>>,
        sheet: &str,
        file: &str,
        header_row: u64,
        cancel: &CancelFlag,
    ) -> Result<SheetSurvey, Failure> {
        let merged = of_library(file, || xlsx.merge_cells_by_sheet_name(sheet))?;
        let starts: HashSet<(u32, u32)> = merged.iter().map(|region| region.start).collect();
        let mut cells = of_library(file, || xlsx.worksheet_cells_reader(sheet))?;
        let formats = cells.styles().iter().map(|style| style.number_format.as_ref().map(|format| WrittenFormat::of(&format.format_code)));
        let formats: Vec<WrittenFormat> = formats.map(Option::unwrap_or_default).collect();
        let mut signs = CellSigns::default();
        let (mut first_column, mut first_row) = (usize::MAX, u32::MAX);
        let (mut times, mut with_value) = (HashMap::new(), HashSet::new());
        let mut seen = 0_u64;
        loop {
            if seen.is_multiple_of(1024) {
                cancel.check()?;
            }
            seen += 1;
            let Some((cell, style)) = of_library(file, || cells.next_cell_with_style_id())? else { break };
            let (at, value) = (cell.get_position(), cell.get_value());
            if u64::from(at.0) + 1 < header_row || is_empty(value) {
                continue;
            }
            first_row = first_row.min(at.0);
            first_column = first_column.min(at.1 as usize);
            times.extend(time_format(value, formats.get(style)).map(|format| (at, format)));
            if matches!(value, DataRef::Int(_) | DataRef::Float(_)) {
                signs.see(at, formats.get(style).and_then(|format| format.beside.as_ref()));
            }
            with_value.extend(starts.contains(&at).then_some(at));
        }
        let is_of_table = |region: &Dimensions| region.start.0 >= first_row && with_value.contains(&region.start) && region.len() > 1;
        let merged = merged.into_iter().filter(is_of_table).collect();
        let first_column = if first_column == usize::MAX { 0 } else { first_column };
        Ok(SheetSurvey { first_column, first_row: if first_row == u32::MAX { 0 } else { first_row }, times, signs, merged })
    }

    /// What a number format writes beside the number of a cell.
    pub(super) fn sign(&self, at: (u32, u32)) -> Option<&Arc<str>> {
        self.signs.of(at)
    }

    /// What is to be told of merged cells.
    pub(super) fn told_of_merged(&self) -> Option<String> {
        if self.merged.is_empty() {
            return None;
        }
        let named = |region: &Dimensions| {
            let place = |(row, column): (u32, u32)| format!("{}{}", letters(column), u64::from(row) + 1);
            format!("{}:{}", place(region.start), place(region.end))
        };
        let mut names: Vec<String> = self.merged.iter().take(MOST_NAMED).map(named).collect();
        if self.merged.len() > MOST_NAMED {
            names.push(format!("and {} more", self.merged.len() - MOST_NAMED));
        }
        Some(format!("cells are merged ({}), and only the first cell of each holds its value", names.join(", ")))
    }
}

/// What stands beside the numbers of a column from a row on.
type SignFromRow = (u32, Option<Arc<str>>);

/// What stands beside the numbers of each column. Cells are seen row by row.
#[derive(Default)]
struct CellSigns {
    columns: HashMap<u32, Vec<SignFromRow>>,
}

impl CellSigns {
    fn see(&mut self, (row, column): (u32, u32), sign: Option<&Arc<str>>) {
        let last = self.columns.get(&column).and_then(|rows| rows.last()).and_then(|(_, last)| last.as_ref());
        if last != sign {
            self.columns.entry(column).or_default().push((row, sign.cloned()));
        }
    }

    fn of(&self, (row, column): (u32, u32)) -> Option<&Arc<str>> {
        let rows = self.columns.get(&column)?;
        rows.get(rows.partition_point(|(from, _)| *from <= row).checked_sub(1)?)?.1.as_ref()
    }
}

fn is_empty(value: &DataRef<'_>) -> bool {
    match Data::from(value.clone()) {
        Data::Empty => true,
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.trim().is_empty(),
        Data::Int(_) | Data::Float(_) | Data::Bool(_) | Data::DateTime(_) | Data::Error(_) => false,
    }
}

fn time_format(value: &DataRef<'_>, format: Option<&WrittenFormat>) -> Option<TimeFormat> {
    let (DataRef::DateTime(time), Some(WrittenFormat { has_day, has_time, .. })) = (value, format) else { return None };
    let days = time.as_f64();
    match (has_day, has_time) {
        (true, true) if days.fract() == 0.0 && days >= 1.0 => Some(TimeFormat::Midnight),
        // So many hours are no day of people who live.
        (false, true) if (1.0..366.0).contains(&days) => Some(TimeFormat::Clock),
        _ => None,
    }
}

/// What a number format says.
#[derive(Debug, Default, PartialEq)]
struct WrittenFormat {
    /// Whether it shows days, and times of a day; texts and colours in it say nothing.
    has_day: bool,
    has_time: bool,
    /// What it writes beside the digits: `min` of `0" min"`, `€` of `[$€-407] #,##0.00`. Percents change the number itself, and dates are told
    /// otherwise.
    beside: Option<Arc<str>>,
}

impl WrittenFormat {
    fn of(format: &str) -> WrittenFormat {
        let (mut found, mut written) = (WrittenFormat::default(), String::new());
        let mut characters = format.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => written.extend(characters.by_ref().take_while(|c| *c != '"')),
                '\\' => written.extend(characters.next()),
                // As wide as the next character, and filled up with it.
                '_' | '*' => _ = characters.next(),
                '[' => {
                    let inner: String = characters.by_ref().take_while(|c| *c != ']').collect();
                    written.push_str(inner.strip_prefix('$').map_or("", |sign| sign.split('-').next().unwrap_or_default()));
                }
                ';' => break,
                sign if is_currency_sign(sign) => written.push(sign),
                letter => {
                    found.has_day |= matches!(letter, 'y' | 'Y' | 'd' | 'D');
                    found.has_time |= matches!(letter, 'h' | 'H' | 's' | 'S');
                    written.push(' ');
                }
            }
        }
        let is_said = written.contains(|c: char| c.is_alphabetic() || is_currency_sign(c));
        found.beside = is_said.then(|| written.split_whitespace().collect::<Vec<_>>().join(" ").into());
        found
    }
}

/// What the library of workbooks gives.
///
/// # Errors
/// Fails with a sentence about the file, also where the library panics.
pub(super) fn of_library<T>(file: &str, work: impl FnOnce() -> Result<T, XlsxError>) -> Result<T, Failure> {
    let unreadable =
        |error| wrong_type(format!("{file} cannot be read as an Excel file: {error}. Open it in its program and save it again."));
    guarded(work).ok_or_else(|| damaged(file))?.map_err(unreadable)
}

/// The name of a column in a spreadsheet, from 0: `A`, `Z`, `AA`.
pub(super) fn letters(column: u32) -> String {
    let (above, last) = (column / 26, char::from(b'A' + (column % 26) as u8));
    if above == 0 { last.to_string() } else { format!("{}{last}", letters(above - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_formats_tell_days_and_times() {
        for (format, expected) in [
            ("yyyy-mm-dd", (true, false)),
            ("m/d/yy h:mm", (true, true)),
            ("h:mm AM/PM", (false, true)),
            ("[$-409]h:mm:ss", (false, true)),
            ("[Red]0.00\" days\"", (false, false)),
            ("General", (false, false)),
        ] {
            let found = WrittenFormat::of(format);
            assert_eq!((found.has_day, found.has_time), expected, "{format}");
        }
        for (format, expected) in [
            ("0\" min\"", Some("min")),
            ("0\\ \\h", Some("h")),
            ("[$€-407]\\ #,##0.00", Some("€")),
            ("_(\"$\"* #,##0.00_);_(\"$\"* (#,##0.00)", Some("$")),
            ("$#,##0", Some("$")),
            ("#,##0.00\\ [$CHF]", Some("CHF")),
            ("[Red]0.00\" days\"", Some("days")),
            ("[$-409]0.00", None),
            ("0.00E+00", None),
            ("0.0%", None),
            ("General", None),
            ("#,##0.00_-", None),
        ] {
            assert_eq!(WrittenFormat::of(format).beside.as_deref(), expected, "{format}");
        }
        assert_eq!([0, 25, 26, 701, 702].map(letters), ["A", "Z", "AA", "ZZ", "AAA"]);
    }
}
