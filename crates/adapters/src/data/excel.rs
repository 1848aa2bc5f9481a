//! Excel files (`.xlsx`, `.xlsm`), one sheet at a time, cell by cell: memory does not grow with the area that a sheet claims to fill.
//!
//! Dates become `2026-11-18`, with a time `2026-11-18 09:30:00`, and durations `32:15:00`. A cell that shows an error (`#DIV/0!`), and a formula whose
//! value no program has stored, end the reading, unless they may be empty: a sum over such a column would be wrong and look right.

use std::borrow::Cow;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use calamine::{Data, DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx};

use super::super::guarded::guarded;
use super::archive;
use super::blocking::CancelFlag;
use super::columns::{Cell, MOST_COLUMNS, RowSource, ShowRow, SourceRow};
use super::sentence::{bad_request, counted, damaged, file_name, listed, too_large, wrong_type};
use super::sheet_survey::{SheetSurvey, TimeFormat, letters, of_library};
use super::source::Content;
use crate::event::Failure;
use crate::model::TableForm;

/// The rows of a sheet.
const MOST_ROWS: u32 = 1 << 20;

/// An open workbook.
pub(super) struct Workbook {
    path: PathBuf,
    xlsx: Xlsx<Cursor<Vec<u8>>>,
}

impl Workbook {
    /// Checks the archive (zip bombs), then opens the workbook.
    pub(super) fn open(path: &Path, bytes: Vec<u8>, cancel: &CancelFlag) -> Result<Workbook, Failure> {
        let name = file_name(path);
        match Content::of(&bytes) {
            Content::Zip => {}
            Content::OldOffice => {
                let sentence = format!(
                    "{name} is an Excel file of an old kind or with a password. Save it as \"Excel workbook (.xlsx)\" without a password."
                );
                return Err(wrong_type(sentence));
            }
            _ => {
                return Err(wrong_type(format!(
                    "{name} is not an Excel file. Save it as \"Excel workbook (.xlsx)\", or correct its file extension."
                )));
            }
        }
        guarded(|| archive::checked(path, &bytes, cancel).map(drop)).unwrap_or_else(|| Err(damaged(&name)))?;
        let xlsx = of_library(&name, || Xlsx::new(Cursor::new(bytes)))?;
        Ok(Workbook { path: path.to_owned(), xlsx })
    }

    /// Names of the sheets that contain cells (no chart sheets), in the file's order.
    pub(super) fn sheets(&self) -> Vec<String> {
        self.worksheets().map(|sheet| sheet.name.clone()).collect()
    }

    fn worksheets(&self) -> impl Iterator<Item = &calamine::Sheet> {
        self.xlsx.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet)
    }

    /// Whether people who open the file do not see the sheet.
    pub(super) fn is_hidden(&self, name: &str) -> bool {
        self.worksheets().any(|sheet| sheet.name == name && sheet.visible != SheetVisible::Visible)
    }

    /// The sheet with this name, ignoring case; without a name, the only sheet.
    pub(super) fn sheet(self, table: Option<&str>) -> Result<Sheet, Failure> {
        let sheets = self.sheets();
        let file = file_name(&self.path);
        let have = || listed(sheets.iter().map(String::as_str));
        let name = match table {
            Some(table) => {
                sheets.iter().find(|name| *name == table).or_else(|| sheets.iter().find(|name| name.to_lowercase() == table.to_lowercase()))
            }
            None if sheets.len() > 1 => {
                let sentence = format!("{file} has several sheets: {}. Name one with `sheet`.", have());
                return Err(bad_request(sentence));
            }
            None => sheets.first(),
        };
        match name {
            Some(name) => Ok(Sheet { name: name.clone(), workbook: self, form: TableForm::default(), survey: None }),
            None => Err(bad_request(format!("{file} has no sheet \"{}\"; its sheets are: {}.", table.unwrap_or_default(), have()))),
        }
    }
}

/// One sheet of a workbook.
pub(super) struct Sheet {
    name: String,
    workbook: Workbook,
    form: TableForm,
    /// `None` until the sheet was read once.
    survey: Option<Rc<SheetSurvey>>,
}

impl Sheet {
    /// The same sheet, read as its author says.
    pub(super) fn of_form(self, form: &TableForm) -> Sheet {
        Sheet { form: form.clone(), survey: None, ..self }
    }

    /// The workbook, for another sheet.
    pub(super) fn into_workbook(self) -> Workbook {
        self.workbook
    }

    /// What is known of it only at its end.
    fn survey(&mut self, cancel: &CancelFlag) -> Result<Rc<SheetSurvey>, Failure> {
        if let Some(survey) = &self.survey {
            return Ok(Rc::clone(survey));
        }
        let file = file_name(&self.workbook.path);
        let survey = SheetSurvey::of(&mut self.workbook.xlsx, &self.name, &file, self.form.header_row.unwrap_or(1), cancel)?;
        Ok(Rc::clone(self.survey.insert(Rc::new(survey))))
    }

    /// What is to be told of merged cells of the table, unless its author says how they are read.
    pub(super) fn merged(&mut self, cancel: &CancelFlag) -> Result<Option<String>, Failure> {
        Ok(self.survey(cancel)?.told_of_merged())
    }

    /// Shows all rows from the header on. What the survey says of a cell goes before what the library reads.
    fn each_row_of(&mut self, survey: &SheetSurvey, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        let file = file_name(&self.workbook.path);
        // The library computes with the rows and columns that a file claims, and panics where they overflow.
        let xlsx = &mut self.workbook.xlsx;
        let mut cells = of_library(&file, || xlsx.worksheet_cells_reader(&self.name))?;
        let mut rows = ShownRows::new(survey, self.form.fill_merged == Some(true));
        let mut row: Vec<Cell<'static>> = Vec::new();
        let mut current = None;
        let mut seen = 0_u64;
        let mut without_value = WithoutValue::default();
        loop {
            if seen.is_multiple_of(1024) {
                cancel.check()?;
            }
            seen += 1;
            let next = of_library(&file, || cells.next_cell_with_formula_metadata())?;
            let at = next.as_ref().map(|cell| cell.pos);
            if let Some(number) = current
                && at.is_none_or(|(row, _)| row != number)
            {
                // A row in which nothing can be read is a row all the same.
                if row.iter().any(|cell| *cell != Cell::Empty) || without_value.is_in_row(number) {
                    rows.show(number, &mut row, cancel, show)?;
                }
                row.clear();
            }
            let Some(cell) = next else { break };
            let (number, column) = (cell.pos.0, cell.pos.1 as usize);
            if number < survey.first_row {
                continue;
            }
            if number >= MOST_ROWS {
                return Err(damaged(&file));
            }
            without_value.see(cell.pos, &cell.value, cell.formula.is_some());
            current = Some(number);
            if column >= MOST_COLUMNS {
                let sentence =
                    format!("{file}, sheet \"{}\", row {} has more than {MOST_COLUMNS} columns.", self.name, u64::from(number) + 1);
                return Err(too_large(sentence));
            }
            if row.len() <= column {
                row.resize(column + 1, Cell::Empty);
            }
            if let Some(place) = row.get_mut(column) {
                *place = from_excel(&cell.value, survey.times.get(&cell.pos).copied());
                if let (Cell::Number(number), Some(sign)) = (&*place, survey.sign(cell.pos)) {
                    *place = Cell::Measured(*number, Arc::clone(sign));
                }
            }
        }
        match without_value.told().filter(|_| !self.form.errors_are_empty) {
            None => Ok(()),
            Some(told) => Err(wrong_type(format!("{file}, sheet \"{}\": {told}", self.name))),
        }
    }
}

/// Rows on their way out: empty ones among them, and values of merged cells.
struct ShownRows<'s> {
    survey: &'s SheetSurvey,
    is_filled: bool,
    last: Option<u32>,
    /// The value of each merged region whose first cell was seen.
    values: Vec<Cell<'static>>,
}

impl<'s> ShownRows<'s> {
    fn new(survey: &'s SheetSurvey, is_filled: bool) -> ShownRows<'s> {
        ShownRows { survey, is_filled, last: None, values: vec![Cell::Empty; if is_filled { survey.merged.len() } else { 0 }] }
    }

    fn show(&mut self, number: u32, row: &mut Vec<Cell<'static>>, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        for empty in self.last.map_or(number, |last| last + 1)..number {
            if empty % 1024 == 0 {
                cancel.check()?;
            }
            let mut row = vec![];
            self.one(empty, &mut row, show)?;
        }
        self.last = Some(number);
        self.one(number, row, show)
    }

    fn one(&mut self, number: u32, row: &mut Vec<Cell<'static>>, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        let regions = self.survey.merged.iter().zip(&mut self.values);
        for (region, value) in regions.filter(|(region, _)| self.is_filled && (region.start.0..=region.end.0).contains(&number)) {
            let (start, end) = (region.start.1 as usize, (region.end.1 as usize).min(MOST_COLUMNS - 1));
            if number == region.start.0 {
                *value = row.get(start).cloned().unwrap_or(Cell::Empty);
            }
            if row.len() <= end {
                row.resize(end + 1, Cell::Empty);
            }
            row.iter_mut().take(end + 1).skip(start).for_each(|cell| *cell = value.clone());
        }
        show(&SourceRow { number: u64::from(number) + 1, cells: row.get(self.survey.first_column..).unwrap_or_default() })
    }
}

/// The cells that hold something, and no value that can be read.
#[derive(Default)]
struct WithoutValue {
    count: u64,
    first: Option<String>,
    last_row: Option<u32>,
}

impl WithoutValue {
    fn see(&mut self, (row, column): (u32, u32), value: &DataRef<'_>, is_formula: bool) {
        let what = match value {
            DataRef::Error(error) => format!("shows {error}"),
            DataRef::Empty if is_formula => "is a formula whose value is not stored".to_owned(),
            _ => return,
        };
        self.count += 1;
        self.last_row = Some(row);
        self.first.get_or_insert_with(|| format!("{}{} {what}", letters(column), u64::from(row) + 1));
    }

    fn is_in_row(&self, row: u32) -> bool {
        self.last_row == Some(row)
    }

    fn told(self) -> Option<String> {
        let first = self.first?;
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(", and {} like it", counted(more, "more cell")),
        };
        Some(format!(
            "{first}{more}, so there is no value to read. Open the file in a spreadsheet program, correct it and save it. A table of data may have errors: empty, which reads such cells as empty."
        ))
    }
}

impl RowSource for Sheet {
    fn each_row(&mut self, cancel: &CancelFlag, show: &mut ShowRow<'_>) -> Result<(), Failure> {
        let survey = self.survey(cancel)?;
        if let Some(told) = survey.told_of_merged().filter(|_| self.form.fill_merged.is_none()) {
            let sentence = format!(
                "{}, sheet \"{}\": {told}. Write fill_merged: true under data, so that each of their rows and columns has the value, or false, so that \
                 only the first has it; a title above the names of the columns is left out with header_row.",
                file_name(&self.workbook.path),
                self.name
            );
            return Err(wrong_type(sentence));
        }
        self.each_row_of(&survey, cancel, show)
    }

    fn place(&self) -> String {
        format!("{}, sheet \"{}\", row ", file_name(&self.workbook.path), self.name)
    }
}

fn from_excel(value: &DataRef<'_>, time: Option<TimeFormat>) -> Cell<'static> {
    match Data::from(value.clone()) {
        Data::Empty | Data::Error(_) => Cell::Empty,
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) if text.trim().is_empty() => Cell::Empty,
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => Cell::Text(Cow::Owned(text)),
        Data::Int(whole) => Cell::Whole(whole),
        // No number is infinite or none in a file that a program wrote.
        Data::Float(number) => {
            if number.is_finite() {
                Cell::Number(number)
            } else {
                Cell::Empty
            }
        }
        Data::Bool(boolean) => Cell::Boolean(boolean),
        Data::DateTime(moment) => Cell::Text(Cow::Owned(shown_time(&moment, time))),
    }
}

fn shown_time(time: &ExcelDateTime, format: Option<TimeFormat>) -> String {
    if time.is_duration() || format == Some(TimeFormat::Clock) {
        let seconds = (time.as_f64() * 86_400.0).round() as i64; // saturates
        let (sign, seconds) = if seconds < 0 { ("-", seconds.unsigned_abs()) } else { ("", seconds.unsigned_abs()) };
        return format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    match time.as_f64() {
        days if (0.0..1.0).contains(&days) => clock,
        days if days.fract() == 0.0 && format.is_none() => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:04}-{month:02}-{day:02} {clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{sheet_xml, workbook};
    use super::*;
    use crate::model::FailureKind;

    fn opened(sheets: &[(&str, &str)]) -> Workbook {
        Workbook::open(Path::new("data/book.xlsx"), workbook(sheets), &CancelFlag::default()).unwrap()
    }

    fn rows(xml: &str) -> Result<Vec<(u64, Vec<String>)>, Failure> {
        rows_of(opened(&[("Hours", xml)]).sheet(None)?)
    }

    fn lenient(xml: &str) -> Result<Vec<(u64, Vec<String>)>, Failure> {
        with_form(xml, TableForm { errors_are_empty: true, ..TableForm::default() })
    }

    fn with_form(xml: &str, form: TableForm) -> Result<Vec<(u64, Vec<String>)>, Failure> {
        rows_of(opened(&[("Hours", xml)]).sheet(None)?.of_form(&form))
    }

    fn rows_of(mut sheet: Sheet) -> Result<Vec<(u64, Vec<String>)>, Failure> {
        let mut rows = Vec::new();
        sheet.each_row(&CancelFlag::default(), &mut |row| {
            rows.push((row.number, row.cells.iter().map(|cell| cell.text().into_owned()).collect()));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn cells_keep_numbers_texts_dates_and_times() {
        let xml = sheet_xml(&[
            r#"<c r="A1" t="inlineStr"><is><t>id</t></is></c><c r="B1" t="inlineStr"><is><t>day</t></is></c>"#,
            r#"<c r="A2"><v>7</v></c><c r="B2" s="1"><v>46344</v></c><c r="C2" s="1"><v>46344.5</v></c>"#,
            "",
            r#"<c r="A4" t="inlineStr"><is><t>0049</t></is></c><c r="B4" t="b"><v>1</v></c><c r="C4" t="e"><v>#DIV/0!</v></c><c r="E4"><v>7.5</v></c>"#,
        ]);
        let text = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            lenient(&xml).unwrap(),
            [
                (1, text(&["id", "day"])),
                (2, text(&["7", "2026-11-18", "2026-11-18 12:00:00"])),
                (3, vec![]),
                (4, text(&["0049", "true", "", "", "7.5"]))
            ]
        );
    }

    #[test]
    fn errors_and_formulas_without_a_value_end_the_reading_or_are_empty_cells() {
        let sheet = |cell: &str| sheet_xml(&[r#"<c r="A1"><v>1</v></c><c r="B1"><v>2</v></c>"#, cell, r#"<c r="A3"><v>3</v></c>"#]);
        for (cell, told) in [
            (r#"<c r="B2"><f>A1*2</f></c>"#, "B2 is a formula whose value is not stored, so"),
            (r#"<c r="B2"><f>A1*2</f><v></v></c>"#, "B2 is a formula whose value is not stored, so"),
            (
                r#"<c r="B2"><f>A1*2</f><v/></c><c r="AB2"><f t="shared" si="0" ref="AB2:AB3">A1</f></c>"#,
                "not stored, and 1 more cell like it, so",
            ),
            (r#"<c r="AB2" t="e"><v>#N/A</v></c>"#, "AB2 shows #N/A, so"),
            (r#"<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>"#, "B2 shows #DIV/0!, so"),
        ] {
            let failure = rows(&sheet(cell)).unwrap_err();
            let said = failure.message.strip_prefix("book.xlsx, sheet \"Hours\": ");
            assert!(failure.kind == FailureKind::WrongType && said.is_some_and(|said| said.contains(told)), "{}", failure.message);
            assert_eq!(lenient(&sheet(cell)).unwrap().len(), 3, "the row is there: {cell}");
        }
        for cell in [r#"<c r="B2"><f>A1*2</f><v>2</v></c>"#, r#"<c r="B2" t="str"><f>""</f><v></v></c>"#, r#"<c r="B2" s="1"/>"#] {
            assert!(rows(&sheet(cell)).is_ok(), "{cell}");
        }
    }

    #[test]
    fn times_are_what_their_number_formats_show() {
        // Style 2: day and time, 3: time, 4: hours beyond 24.
        let cells = [("2", "46344"), ("2", "46344.5"), ("1", "46344"), ("3", "0"), ("3", "0.5"), ("3", "1"), ("4", "1"), ("4", "1.25")];
        let xml: String =
            cells.iter().zip('A'..).map(|((style, value), column)| format!(r#"<c r="{column}1" s="{style}"><v>{value}</v></c>"#)).collect();
        let shown =
            ["2026-11-18 00:00:00", "2026-11-18 12:00:00", "2026-11-18", "00:00:00", "12:00:00", "24:00:00", "24:00:00", "30:00:00"];
        assert_eq!(rows(&sheet_xml(&[&xml])).unwrap(), [(1, shown.map(str::to_owned).to_vec())]);
    }

    #[test]
    fn merged_cells_are_told_or_filled_or_left() {
        let cell = |place: &str, text: &str| format!(r#"<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>"#);
        let xml = sheet_xml(&[
            &cell("A1", "Sales"),
            &(cell("A2", "region") + &cell("B2", "amount")),
            &(cell("A3", "North") + r#"<c r="B3"><v>1</v></c>"#),
            r#"<c r="A4"/><c r="B4"><v>2</v></c>"#,
            r#"<c r="B5"><v>3</v></c>"#,
        ]);
        let merged =
            r#"</sheetData><mergeCells count="3"><mergeCell ref="A1:B1"/><mergeCell ref="A3:A5"/><mergeCell ref="D3:E4"/></mergeCells>"#;
        let xml = xml.replace("</sheetData>", merged);
        let read = |header_row, fill_merged| {
            let rows = with_form(&xml, TableForm { header_row, fill_merged, ..TableForm::default() })?;
            Ok::<_, Failure>(rows.into_iter().map(|(_, cells)| cells.join(" ").trim().to_owned()).collect::<Vec<_>>())
        };
        let told = |header_row| read(header_row, None).unwrap_err().message;
        assert!(told(None).contains("sheet \"Hours\": cells are merged (A1:B1, A3:A5)"), "{}", told(None));
        assert!(told(Some(2)).contains("cells are merged (A3:A5)"), "{}", told(Some(2)));
        assert_eq!(read(Some(2), Some(false)).unwrap(), ["region amount", "North 1", "2", "3"]);
        assert_eq!(read(Some(2), Some(true)).unwrap(), ["region amount", "North 1", "North 2", "North 3"]);
        assert_eq!(read(None, Some(true)).unwrap()[0], "Sales Sales");
    }

    #[test]
    fn a_sheet_that_claims_a_huge_area_costs_only_its_cells() {
        let xml =
            sheet_xml(&[r#"<c r="A1"><v>1</v></c>"#]).replace("</row>", r#"</row><row r="1048576"><c r="B1048576"><v>2</v></c></row>"#);
        assert_eq!(rows(&xml).unwrap().len(), 1_048_576, "the rows between are empty ones");
        let wide = sheet_xml(&[r#"<c r="XFD1"><v>1</v></c>"#]);
        assert_eq!(rows(&wide).unwrap_err().kind, FailureKind::TooLarge);
    }

    #[test]
    fn one_of_several_sheets_must_be_named() {
        let xml = sheet_xml(&[r#"<c r="A1"><v>1</v></c>"#]);
        let sentence = |table: Option<&str>| {
            opened(&[("Hours", &xml), ("People", &xml)]).sheet(table).map(|sheet| sheet.name).map_err(|failure| failure.message)
        };
        assert_eq!(sentence(Some("people")).unwrap(), "People");
        assert_eq!(sentence(None).unwrap_err(), "book.xlsx has several sheets: Hours, People. Name one with `sheet`.");
        assert_eq!(sentence(Some("Tasks")).unwrap_err(), "book.xlsx has no sheet \"Tasks\"; its sheets are: Hours, People.");
    }

    #[test]
    fn old_files_damaged_files_and_other_files_say_what_to_do() {
        let open =
            |bytes: &[u8]| Workbook::open(Path::new("book.xlsx"), bytes.to_vec(), &CancelFlag::default()).map(|_| ()).unwrap_err().message;
        assert!(open(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1....").contains("without a password"));
        assert!(open(b"id,name\n").starts_with("book.xlsx is not an Excel file."));
        let good = workbook(&[("Hours", "<worksheet><sheetData/></worksheet>")]);
        assert!(open(&good[..good.len() / 2]).contains("damaged"));
    }

    #[test]
    fn cells_outside_of_any_sheet_are_a_sentence() {
        let cells = |row: &str, cell: &str| {
            sheet_xml(&[r#"<c r="A1"><v>1</v></c>"#])
                .replace("</row>", &format!(r#"</row><row r="{row}"><c r="{cell}" s="1"><v>2</v></c><c><v>3</v></c></row>"#))
        };
        for (row, cell) in [
            ("2", "A99999999999"),
            ("99999999999", "A2"),
            ("4294967295", "A4294967295"),
            ("4294967296", "A4294967296"),
            ("2", "ZZZZZZZ2"),
            ("2", "ZZZZZZZZZZZZZZZZZZZZ2"),
            ("-1", "A-1"),
            ("0", "A0"),
            ("", ""),
        ] {
            let read = rows(&cells(row, cell));
            assert!(read.is_ok() || read.as_ref().is_err_and(|failure| failure.message.contains("book.xlsx")), "{row} {cell}: {read:?}");
        }
        let failure = rows(&cells("99999999999", "A99999999999")).unwrap_err();
        assert_eq!((failure.kind, failure.message.starts_with("book.xlsx ")), (FailureKind::WrongType, true), "{}", failure.message);
        for date in ["1e300", "-1e300", "9999999999", "NaN", "inf"] {
            let xml = sheet_xml(&[&format!(r#"<c r="A1" s="1"><v>{date}</v></c><c r="B1"><v>1</v></c>"#)]);
            let read = rows(&xml);
            assert!(read.is_ok() || read.as_ref().is_err_and(|failure| failure.kind == FailureKind::WrongType), "{date}: {read:?}");
        }
    }

    #[test]
    fn a_broken_sheet_is_a_sentence() {
        assert_eq!(rows("<worksheet><sheetData><row r=\"1\"><c r=\"A1\"><v>1</v>").unwrap_err().kind, FailureKind::WrongType);
    }
}
