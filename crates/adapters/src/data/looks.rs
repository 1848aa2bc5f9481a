//! What a check sees of the cells of a file of rows: what is read otherwise than it looks, and what can be compared with what.

use std::time::Duration;

use chrono::NaiveDate;

use super::blocking::CancelFlag;
use super::columns::{Cell, ColumnType, Guess, RowSource};
use super::common_shape::CommonShape;
use super::datum::Datum;
use super::delimited::Delimited;
use super::header::beginning;
use super::load::OpenTable;
use super::names::column_names;
use super::notation::{is_hours, notated};
use crate::model::{CellForm, ColumnLook, FailureKind, NumberForm, TableLook, TableOddity};
use crate::port::TableSource;

/// Most different values of a column that are kept.
const MOST_VALUES: usize = 50;
/// The largest file that is read as a whole, in bytes.
const MOST_READ: u64 = 64 << 20;
/// The longest text that is looked at as one that may be a number or a day, in bytes.
const MOST_CELL: usize = 40;
/// So many different words stand for an empty cell.
const FEW_WORDS: usize = 3;
/// Time for it.
const MOST_TIME: Duration = Duration::from_secs(5);

/// What is seen of a file: of the beginning of a text, and of all cells of columns that are declared or texts. What all values are is only said of a
/// text whose beginning is all of it.
pub fn look_of(table: &TableSource) -> TableLook {
    let (mut look, may_use_comma) = if table.kind.is_delimited() { of_text(table) } else { Default::default() };
    if table.kind.is_of_cells() && !look.oddities.iter().any(|odd| matches!(odd, TableOddity::Unreadable(_))) {
        look.oddities.extend(of_cells(table, may_use_comma));
    }
    look
}

/// Cells that are not what their column is declared to be, texts of numbers in other columns, or why they cannot be read.
fn of_cells(table: &TableSource, may_use_comma: bool) -> Vec<TableOddity> {
    let Ok(file) = std::fs::metadata(&table.file) else { return vec![] };
    if file.len() > MOST_READ {
        return vec![TableOddity::NotRead];
    }
    let cancel = CancelFlag::default();
    let timer = cancel.after(MOST_TIME);
    let mut found: Option<(u64, String, usize)> = None;
    let mut more = 0;
    let mut seen: Vec<(String, Option<SeenColumn>)> = vec![];
    let read = OpenTable::new(table, &cancel).and_then(|mut opened| {
        let declared = |name: &str| table.columns.keys().any(|known| known.eq_ignore_ascii_case(name));
        let is_text = |(name, kind): &(String, ColumnType)| *kind == ColumnType::Text && !declared(name);
        let column = |column: &(String, ColumnType)| (String::clone(&column.0), is_text(column).then(|| SeenColumn::new(may_use_comma)));
        seen = opened.columns.iter().map(column).collect();
        opened.each(&cancel, &mut |row| {
            for (place, (value, (_, column))) in row.iter().zip(&mut seen).enumerate() {
                match (value, column) {
                    (Datum::Unreadable { row, why }, _) => {
                        more += u64::from(found.is_some());
                        found.get_or_insert_with(|| (*row, why.to_string(), place));
                    }
                    (Datum::Text(text), Some(column)) => column.see(&Cell::Guess(text)),
                    (Datum::Text(_) | Datum::Null | Datum::Boolean(_) | Datum::Integer(_) | Datum::Number(_), _) => {}
                }
            }
            Ok(())
        })
    });
    drop(timer);
    let bad = found.and_then(|(row, first, column)| {
        let column = seen.get(column)?.0.clone();
        Some(TableOddity::BadCells { first, row, column, more })
    });
    let wrong = match read.map_err(|failure| (failure.kind, failure.message)) {
        Ok(()) => None,
        // What a column is called is said of all tables (F215).
        Err((FailureKind::WrongType, message)) if bad.is_none() => Some(TableOddity::Unreadable(message)),
        Err((FailureKind::Timeout, _)) => Some(TableOddity::NotRead),
        Err(_) => None,
    };
    let texts = seen.into_iter().filter_map(|(column, seen)| {
        let seen = seen?;
        let (form, example) = seen.text_numbers()?;
        Some(TableOddity::TextNumbers { column, form, example, may_use_comma, kinds: seen.kinds() })
    });
    bad.into_iter().chain(wrong).chain(texts).collect()
}

/// And whether a comma is the decimal mark there.
fn of_text(table: &TableSource) -> (TableLook, bool) {
    let Some(bytes) = beginning(table) else { return Default::default() };
    let is_whole = std::fs::metadata(&table.file).is_ok_and(|file| file.len() == bytes.len() as u64);
    let mut rows = match Delimited::of_bytes(table, bytes) {
        Ok(rows) => rows,
        Err(failure) if is_whole => {
            return (TableLook { oddities: vec![TableOddity::Unreadable(failure.message)], ..TableLook::default() }, false);
        }
        Err(_) => return Default::default(),
    };
    let may_use_comma = rows.may_use_decimal_comma();
    let mut written: Vec<String> = vec![];
    let mut seen: Vec<SeenColumn> = vec![];
    let read = rows.each_row(&CancelFlag::default(), &mut |row| {
        if written.is_empty() {
            written = row.cells.iter().map(|cell| cell.text().trim().to_owned()).collect();
            seen.resize_with(written.len(), || SeenColumn::new(may_use_comma));
        } else {
            seen.iter_mut().zip(row.cells).for_each(|(column, cell)| column.see(cell));
        }
        Ok(())
    });
    let names = column_names(written.iter().map(String::as_str));
    let repeated = written
        .iter()
        .zip(&names)
        .filter(|(written, name)| !written.is_empty() && name.strip_prefix(written.as_str()).is_some_and(|rest| rest.starts_with('_')));
    let mut oddities: Vec<TableOddity> =
        repeated.map(|(column, name)| TableOddity::Repeated { column: column.clone(), read_as: name.clone() }).collect();
    if let ([name], [column], None) = (written.as_slice(), seen.as_slice(), table.form.separator) {
        oddities.extend(column.separator(name).map(|separator| TableOddity::OneColumn { separator }));
    }
    // Of what its author says, nothing is guessed.
    let guessed = || names.iter().zip(&seen).filter(|(name, _)| !table.columns.contains_key(*name));
    let has_comma = seen.iter().any(SeenColumn::has_decimal_comma);
    oddities.extend(guessed().filter_map(|(name, column)| {
        let (form, example) = column.point_or_thousands().filter(|_| has_comma)?;
        Some(TableOddity::TextNumbers { column: name.clone(), form, example, may_use_comma, kinds: vec![] })
    }));
    let is_read = read.is_ok() && is_whole;
    oddities.extend(read.err().filter(|_| is_whole).map(|failure| TableOddity::Unreadable(failure.message)));
    let columns = guessed().filter_map(|(name, column)| Some((name.clone(), column.look(is_read)?))).collect();
    (TableLook { oddities, columns }, may_use_comma)
}

/// What is seen of a column.
#[derive(Default)]
struct SeenColumn {
    guess: Guess,
    /// How many of its cells are plain numbers.
    numbers: usize,
    /// How many of those are digits alone, or behind a plus.
    codes: usize,
    /// How many begin with a plus.
    phones: usize,
    /// A plain number that is none to a query.
    unread: Option<String>,
    /// The forms of the others, and the first of each form.
    forms: Vec<(NumberForm, String)>,
    in_form: usize,
    /// Cells that are no number in any form.
    others: usize,
    first_other: Option<String>,
    /// Those of them that hold a digit, and the first.
    held: usize,
    first_held: Option<String>,
    /// Cells of any kind that begin with a digit or are mostly digits.
    like: usize,
    /// What all cells have in common.
    shape: CommonShape,
    /// The types that read all cells.
    kinds: Vec<DeclaredKind>,
    /// How long clocks are (`09:30`): equally long ones are in their order as texts.
    clocks: Option<usize>,
    /// The first texts among all cells, each once; `None`: there are too many.
    values: Option<Vec<String>>,
    days: usize,
    days_first: usize,
    booleans: usize,
    /// Cells with `1.250`, and the first; cells with other decimals.
    either: usize,
    first_either: Option<String>,
    decimals: usize,
    /// Cells that hold each of [`SEPARATORS`].
    separated: [usize; SEPARATORS.len()],
}

/// What people separate cells with.
const SEPARATORS: [char; 7] = [';', '\t', '|', ',', '~', '^', '¦'];

impl SeenColumn {
    fn new(may_use_comma: bool) -> SeenColumn {
        SeenColumn { guess: Guess::new(may_use_comma), kinds: declared_kinds(), values: Some(vec![]), ..SeenColumn::default() }
    }

    fn see(&mut self, cell: &Cell<'_>) {
        self.guess.see(cell);
        let text = cell.text();
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if let Some(values) = self.values.as_mut().filter(|values| !values.iter().any(|value| value == text)) {
            match values.len() < MOST_VALUES {
                true => values.push(text.to_owned()),
                false => self.values = None,
            }
        }
        self.separated.iter_mut().zip(SEPARATORS).for_each(|(count, separator)| *count += usize::from(text.contains(separator)));
        self.shape.see(text);
        self.kinds.retain(|(_, kind)| kind.value(&Cell::Guess(text)).is_ok());
        self.like += usize::from(is_like_a_number(text));
        match form_of(text) {
            Some(None) => self.see_plain(text),
            Some(Some(form)) => {
                self.in_form += 1;
                if form == NumberForm::Clock {
                    let is_alike = self.clocks.is_none_or(|length| length == text.len());
                    self.clocks = Some(if is_alike { text.len() } else { usize::MAX });
                }
                if !self.forms.iter().any(|(known, _)| *known == form) {
                    self.forms.push((form, text.to_owned()));
                }
            }
            None => {
                self.others += 1;
                self.first_other.get_or_insert_with(|| text.to_owned());
                if text.contains(char::is_numeric) && text.len() <= MOST_CELL {
                    self.held += 1;
                    self.first_held.get_or_insert_with(|| text.to_owned());
                }
                self.days += usize::from(text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok());
                self.days_first += usize::from(text.len() == 10 && NaiveDate::parse_from_str(text, "%d.%m.%Y").is_ok());
                self.booleans += usize::from(text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"));
            }
        }
    }

    fn see_plain(&mut self, text: &str) {
        self.numbers += 1;
        let digits = text.strip_prefix('+').unwrap_or(text);
        self.codes += usize::from(digits.bytes().all(|byte| byte.is_ascii_digit()));
        self.phones += usize::from(text.starts_with('+'));
        let mut alone = Guess::new(false);
        alone.see(&Cell::Guess(text));
        // One that only whole numbers hold exactly.
        let is_long = text.parse::<i64>().is_ok_and(|whole| (whole as f64) as i128 != i128::from(whole));
        if is_long || alone.column_type() == ColumnType::Text {
            self.unread.get_or_insert_with(|| text.to_owned());
        }
        if let Some((_, part)) = text.split_once('.') {
            self.decimals += 1;
            if part.len() == 3 && notated(text, None).is_some_and(|found| found.value.is_err()) {
                self.either += 1;
                self.first_either.get_or_insert_with(|| text.to_owned());
            }
        }
    }

    /// How its numbers are written, if its cells are texts to a query. What nobody thought of is told, too, unless its texts order as they are meant.
    fn text_numbers(&self) -> Option<(NumberForm, String)> {
        let numbers = self.numbers + self.in_form;
        if self.others == 0 {
            let form = |example: &String| if example.len() > 15 { NumberForm::TooLong } else { NumberForm::Begins };
            let unread = || self.unread.clone().filter(|_| self.codes < self.numbers).map(|example| (form(&example), example));
            let plain =
                || self.values.as_ref()?.first().filter(|_| !self.shape.is_ordered()).map(|text| (NumberForm::Digits, text.clone()));
            return self.decisive().or_else(unread).or_else(plain);
        }
        // Texts among numbers make texts of all: most cells are numbers, or the others are a few words such as n/a.
        let words = self.values.iter().flatten().filter(|text| form_of(text).is_none()).count();
        let has_few_words = self.values.is_some() && words <= FEW_WORDS;
        if numbers >= 2 && (numbers >= self.others || has_few_words) {
            let form = self.decisive().filter(|(form, _)| *form != NumberForm::Begins);
            return form.or_else(|| Some((NumberForm::SomeTexts, self.first_other.clone()?)));
        }
        let example = self.first_held.clone()?;
        let is_most = |count: usize| count >= 2 && count * 2 >= numbers + self.others;
        match () {
            () if self.shape.is_moment() => None,
            () if is_most(self.like) && !self.shape.is_ordered() => Some((NumberForm::Unknown, example)),
            () if is_most(numbers + self.held) => Some((NumberForm::OneShape, example)),
            () => None,
        }
    }

    /// The types to declare: the first that reads all cells, and the others where only their author knows which day comes first.
    fn kinds(&self) -> Vec<&'static str> {
        let is_form = |kind: &&DeclaredKind| kind.0.contains("format");
        let first = self.kinds.first();
        let others = self.kinds.iter().skip(1).filter(|_| first.is_some_and(|first| is_form(&first))).take(1);
        first.into_iter().chain(others.filter(is_form)).map(|(written, _)| *written).collect()
    }

    /// What can be read in two ways is read as the others are.
    fn decisive(&self) -> Option<(NumberForm, String)> {
        const ORDER: [NumberForm; 14] = [
            NumberForm::TooLong,
            NumberForm::OtherDigits,
            NumberForm::Negative,
            NumberForm::WithSign,
            NumberForm::Scaled,
            NumberForm::Fraction,
            NumberForm::OtherMarks,
            NumberForm::PointsAndComma,
            NumberForm::Thousands,
            NumberForm::DecimalComma,
            NumberForm::CommaOrThousands,
            NumberForm::Duration,
            NumberForm::Clock,
            NumberForm::Begins,
        ];
        let (form, example) = ORDER.iter().find_map(|form| self.forms.iter().find(|(known, _)| known == form))?;
        // Clocks alone that are equally long are in their order.
        let is_uneven = *form == NumberForm::Clock && (self.clocks == Some(usize::MAX) || self.numbers + self.others > 0);
        Some((if is_uneven { NumberForm::Duration } else { *form }, example.clone()))
    }

    /// Whether it is read with decimal commas.
    fn has_decimal_comma(&self) -> bool {
        self.guess.column_type() == ColumnType::Number(',') || self.forms.iter().any(|(form, _)| *form == NumberForm::DecimalComma)
    }

    /// Numbers such as `1.250` alone.
    fn point_or_thousands(&self) -> Option<(NumberForm, String)> {
        let is_all = self.guess.column_type() == ColumnType::Number('.') && self.either == self.decimals;
        self.first_either.clone().filter(|_| is_all).map(|example| (NumberForm::PointOrThousands, example))
    }

    /// What its cells hold that separates cells elsewhere, if it is the only column.
    fn separator(&self, name: &str) -> Option<char> {
        let cells = self.numbers + self.in_form + self.others;
        let is_in_most = |(_, count): &(char, usize)| *count > 0 && count * 2 >= cells;
        SEPARATORS
            .into_iter()
            .zip(self.separated)
            .filter(is_in_most)
            .map(|(separator, _)| separator)
            .find(|separator| name.contains(*separator))
    }

    /// What its cells are, if they are texts that are no numbers, or codes.
    fn look(&self, is_read: bool) -> Option<ColumnLook> {
        let is_of_codes =
            self.others + self.in_form + self.phones == 0 && self.codes == self.numbers && self.guess.column_type() == ColumnType::Text;
        if !is_of_codes && (self.others == 0 || self.numbers + self.in_form > 0) {
            return None;
        }
        let form = match self.others {
            _ if is_of_codes => CellForm::Codes,
            all if all == self.booleans => CellForm::TrueFalse,
            all if all == self.days => CellForm::Day,
            all if all == self.days_first => CellForm::DayFirst,
            _ => CellForm::Words,
        };
        Some(ColumnLook { form, values: self.values.clone().filter(|_| is_read).unwrap_or_default() })
    }
}

/// A type as it is written under `columns`, and what reads it.
type DeclaredKind = (&'static str, ColumnType);

/// What an author may declare a column of texts to be.
fn declared_kinds() -> Vec<DeclaredKind> {
    let date = |format: &str| ColumnType::Date(Some(format.to_owned()));
    let datetime = |format: &str| ColumnType::Datetime(Some(format.to_owned()));
    vec![
        ("number", ColumnType::Number('.')),
        ("amount", ColumnType::Amount(None)),
        ("duration", ColumnType::Duration(None)),
        ("date", ColumnType::Date(None)),
        ("datetime", ColumnType::Datetime(None)),
        ("{ type: date, format: \"%d.%m.%Y\" }", date("%d.%m.%Y")),
        ("{ type: date, format: \"%d.%m.%y\" }", date("%d.%m.%y")),
        ("{ type: date, format: \"%d/%m/%Y\" }", date("%d/%m/%Y")),
        ("{ type: date, format: \"%m/%d/%Y\" }", date("%m/%d/%Y")),
        ("{ type: date, format: \"%d-%m-%Y\" }", date("%d-%m-%Y")),
        ("{ type: date, format: \"%m-%d-%Y\" }", date("%m-%d-%Y")),
        ("{ type: date, format: \"%Y/%m/%d\" }", date("%Y/%m/%d")),
        ("{ type: date, format: \"%d %b %Y\" }", date("%d %b %Y")),
        ("{ type: date, format: \"%b %d, %Y\" }", date("%b %d, %Y")),
        ("{ type: datetime, format: \"%d.%m.%Y %H:%M\" }", datetime("%d.%m.%Y %H:%M")),
        ("{ type: datetime, format: \"%d/%m/%Y %H:%M\" }", datetime("%d/%m/%Y %H:%M")),
        ("{ type: datetime, format: \"%m/%d/%Y %H:%M\" }", datetime("%m/%d/%Y %H:%M")),
        ("{ type: datetime, format: \"%m/%d/%Y %I:%M %p\" }", datetime("%m/%d/%Y %I:%M %p")),
    ]
}

/// Whether a short text begins with a digit or is mostly digits, whatever signs stand around it.
fn is_like_a_number(text: &str) -> bool {
    let digits = text.chars().filter(|c| c.is_numeric()).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let first = text.chars().find(|c| c.is_alphanumeric());
    text.len() <= MOST_CELL && !text.starts_with(['[', '{']) && digits > 0 && (first.is_some_and(char::is_numeric) || digits >= letters)
}

/// What form a number is in: `None`: it is none; `Some(None)`: a plain one.
fn form_of(cell: &str) -> Option<Option<NumberForm>> {
    match notated(cell, None) {
        Some(found) => Some(found.form),
        None if is_hours(cell) => Some(Some(if cell.contains(':') { NumberForm::Clock } else { NumberForm::Duration })),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{sheet_of, table_of, workbook};
    use super::*;
    use crate::model::ColumnKind;

    fn look(content: &str) -> TableLook {
        let (_folder, csv) = table_of("a.csv", content);
        look_of(&csv)
    }

    #[test]
    fn what_is_read_otherwise_than_it_looks_is_found() {
        let odd = |content: &str| look(content).oddities;
        let numbers = |content: &str| match &odd(content)[..] {
            [TableOddity::TextNumbers { form, example, .. }] => Some((*form, example.clone())),
            [] => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(odd("team,hours,hours\nNorth,30,40\n"), [TableOddity::Repeated { column: "hours".into(), read_as: "hours_2".into() }]);
        assert!(matches!(&odd("room,view\n12,garden, quiet\n")[..], [TableOddity::Unreadable(why)] if why.contains("line 2 has 3 cells")));
        for (content, form, example) in [
            ("day,amount\n1,\"12,50\"\n2,7\n", NumberForm::DecimalComma, "12,50"),
            ("day,amount\n1,\"1,250\"\n2,\"12,50\"\n", NumberForm::DecimalComma, "12,50"),
            ("a;b\n1;1.250,50\n2;900,00\n", NumberForm::PointsAndComma, "1.250,50"),
            ("a;b\n1;1,250\n2;3,100\n", NumberForm::CommaOrThousands, "1,250"),
            ("a,b\n1,\"1,250\"\n2,\"3,100\"\n", NumberForm::CommaOrThousands, "1,250"),
            ("a,b\n1,\"1,250.50\"\n2,\"900.00\"\n", NumberForm::Thousands, "1,250.50"),
            ("a,b\n1,$12.50\n2,$7\n", NumberForm::WithSign, "$12.50"),
            ("a,b\n1,EUR 12\n2,7\n", NumberForm::WithSign, "EUR 12"),
            ("a,b\n1,2\n2,x\n3,3\n", NumberForm::SomeTexts, "x"),
            ("a,b\n1,2\n2,n/a\n3,3\n4,n/a\n5,4\n", NumberForm::SomeTexts, "n/a"),
            ("a,b\n1,1:30\n2,0:45\n3,10:00\n", NumberForm::Duration, "1:30"),
            ("a,b\n1,09:30\n2,10:45\n", NumberForm::Clock, "09:30"),
            ("a,b\n1,1h30\n2,0h45\n", NumberForm::Duration, "1h30"),
            ("a,b\n1,1’250.50\n2,900.00\n", NumberForm::OtherMarks, "1’250.50"),
            ("a,b\n1,\"1 250,50\"\n2,\"900,00\"\n", NumberForm::OtherMarks, "1 250,50"),
            ("a,b\n1,(35.00)\n2,12.00\n", NumberForm::Negative, "(35.00)"),
            ("a,b\n1,35.00-\n2,12.00\n", NumberForm::Negative, "35.00-"),
            ("a,b\n1,−35.00\n2,12.00\n", NumberForm::Negative, "−35.00"),
            ("a,b\n1,kr 12.50\n2,kr 7\n", NumberForm::WithSign, "kr 12.50"),
            ("a,b\n1,1.2k\n2,3k\n", NumberForm::Scaled, "1.2k"),
            ("a,b\n1,3/4\n2,1\n", NumberForm::Fraction, "3/4"),
            ("a,b\n1,12345678901234567890\n2,1\n", NumberForm::TooLong, "12345678901234567890"),
            ("a,b\n1,9007199254740993\n2,1.5\n", NumberForm::TooLong, "9007199254740993"),
            ("a,b\n1,12 EUR\n2,7%\n", NumberForm::Begins, "12 EUR"),
            ("a;b;c\n1;1.250;7,5\n2;3.100;8\n", NumberForm::PointOrThousands, "1.250"),
            // Placeholders, however many, and what nobody thought of.
            ("a,b\n1,9\n2,10\n3,NULL\n4,NULL\n5,NULL\n", NumberForm::SomeTexts, "NULL"),
            ("a,b\n1,9\n2,10\n3,#REF!\n4,TBD\n5,?\n6,TBD\n", NumberForm::SomeTexts, "#REF!"),
            ("a,b\n1,9\n2,10\n3,+80\n", NumberForm::Digits, "9"),
            ("a,b\n1,01067\n2,1067\n", NumberForm::Digits, "01067"),
            ("a,b\n1,1.2.3\n2,3\n3,1.10\n", NumberForm::SomeTexts, "1.2.3"),
            ("a,b\n1,1.2.3\n2,1.10.0\n", NumberForm::Unknown, "1.2.3"),
            ("a,b\n1,9 days\n2,10 days\n", NumberForm::Unknown, "9 days"),
            ("a,b\n1,9+\n2,10\n3,11+\n", NumberForm::Unknown, "9+"),
            ("a,b\n1,\"=\"\"9\"\"\"\n2,\"=\"\"10\"\"\"\n", NumberForm::Unknown, "=\"9\""),
            ("a,b\n1,18.11.2026\n2,03.12.2026\n", NumberForm::Unknown, "18.11.2026"),
            ("a,b\n1,11/18/2026\n2,12/3/2026\n", NumberForm::Unknown, "11/18/2026"),
            ("a,b\n1,\"Dec 3, 2026\"\n2,\"Nov 18, 2026\"\n", NumberForm::Unknown, "Dec 3, 2026"),
            ("a,b\n1,9:30 AM\n2,10:15 AM\n", NumberForm::Unknown, "9:30 AM"),
            ("a,b\n1,2026-12-3\n2,2026-11-18\n", NumberForm::Unknown, "2026-12-3"),
            ("a,b\n1,2026-11-18T09:30:00+05:00\n2,2026-11-18T09:30:00-08:00\n", NumberForm::Unknown, "2026-11-18T09:30:00+05:00"),
            ("a,b\n1,A-001\n2,A-010\n", NumberForm::OneShape, "A-001"),
            ("a,b\n1,approx. 9\n2,approx. 12\n", NumberForm::OneShape, "approx. 9"),
            ("a,b\n1,2026/11/18\n2,2026/12/03\n", NumberForm::Unknown, "2026/11/18"),
        ] {
            assert_eq!(numbers(content), Some((form, example.to_owned())), "{content}");
        }
        for fine in [
            "a,b\n1,2\n",
            "a;b\n1;7,5\n",
            "a,b\n1,\"x, y\"\n",
            "a,b\n1,\"7,5\"\n2,none\n",
            "a,a_2\n1,2\n",
            "a,b\n1,2026-11-18\n2,2026-12-03\n",
            "a,b\n1,2026-11-18T09:30:00Z\n2,2026-12-03T10:30:00Z\n",
            "a,b\n1,see page 9\n2,quiet\n3,loud\n4,dim\n5,old\n",
            "a,b\n1,EUR\n2,USD\n",
            "a,b\n1,01067\n2,11067\n",
            "a,b\n1,+491511\n2,+491512\n",
            "a;b\n1;1.250\n2;3.100\n",
        ] {
            assert_eq!(odd(fine), [], "{fine}");
        }
    }

    #[test]
    fn a_file_of_one_column_that_holds_separators_is_found() {
        let one = |content: &str| look(content).oddities.contains(&TableOddity::OneColumn { separator: '~' });
        assert!(one("region~units\nNorth~5\nSouth~7\n"));
        assert!(!one("region\nNorth~5\n") && !one("a~b\nNorth\nSouth\nEast~1\n") && !one("note\nx\n"));
    }

    #[test]
    fn cells_that_are_not_what_they_are_declared_to_be_are_found_in_the_whole_file() {
        let declared = |file: &str, content: &[u8], kind: ColumnKind| {
            let (_folder, mut table) = table_of(file, content);
            table.columns.insert("hours".to_owned(), kind.into());
            look_of(&table).oddities
        };
        let long = format!("who,hours\n{}c,7h30\nd,x\n", "a,8\n".repeat(100_000));
        let first = "t.csv, line 100002: \"7h30\" in column \"hours\" is not a number. Correct the cell, or change its type in `columns`."
            .to_owned();
        let bad = TableOddity::BadCells { first, row: 100_002, column: "hours".to_owned(), more: 1 };
        assert_eq!(declared("t.csv", long.as_bytes(), ColumnKind::Number), [bad]);
        let sheet = sheet_of(&[&["who", "hours"], &["a", "8"], &["c", "soon"]]);
        let odd = declared("t.xlsx", &workbook(&[("S", &sheet)]), ColumnKind::Duration);
        assert!(
            matches!(&odd[..], [TableOddity::BadCells { first, row: 3, .. }] if first.starts_with("t.xlsx, sheet \"S\", row 3: \"soon\"")),
            "{odd:?}"
        );
        assert_eq!(declared("t.csv", b"who,hours\na,1:30\nb,PT2H\n", ColumnKind::Duration), []);
        assert_eq!(declared("t.jsonl", b"{\"hours\": \"1:30\"}\n{\"hours\": 8}\n", ColumnKind::Duration), []);
    }

    #[test]
    fn a_file_that_is_too_large_for_a_check_is_told() {
        let (_folder, table) = table_of("t.csv", "who,hours\na,8\n");
        std::fs::File::options().write(true).open(&table.file).unwrap().set_len(MOST_READ + 1).unwrap();
        assert!(look_of(&table).oddities.contains(&TableOddity::NotRead));
    }

    #[test]
    fn texts_of_numbers_are_found_in_files_of_all_kinds_and_behind_their_beginning() {
        let of = |file: &str, content: &[u8]| {
            let (_folder, table) = table_of(file, content);
            let odd = look_of(&table).oddities;
            let [TableOddity::TextNumbers { column, form, example, kinds, .. }] = &odd[..] else { panic!("{odd:?}") };
            (column.clone(), *form, example.clone(), kinds.join(" "))
        };
        let is = |form: NumberForm, example: &str, kinds: &str| ("v".to_owned(), form, example.to_owned(), kinds.to_owned());
        let long = |last: &str| format!("w,v\n{}a,{last}\n", "a,999.5\n".repeat(40_000));
        assert_eq!(of("t.csv", long("n/a").as_bytes()), is(NumberForm::SomeTexts, "n/a", ""));
        assert_eq!(of("t.csv", long("$9").as_bytes()), is(NumberForm::WithSign, "$9", "amount"));
        assert_eq!(of("t.csv", long("9:30").as_bytes()), is(NumberForm::Duration, "9:30", "duration"));
        assert_eq!(of("t.csv", long("03.12.2026").as_bytes()), is(NumberForm::SomeTexts, "03.12.2026", ""));
        assert_eq!(of("t.jsonl", b"{\"v\": \"9\"}\n{\"v\": \"10\"}\n"), is(NumberForm::Digits, "9", "number"));
        assert_eq!(of("t.jsonl", b"{\"v\": \"$9\"}\n{\"v\": \"$1,250\"}\n"), is(NumberForm::WithSign, "$9", ""));
        let sheet = sheet_of(&[&["w", "v"], &["a", "18.11.2026"], &["b", "03.12.2026"]]);
        let german = "{ type: date, format: \"%d.%m.%Y\" }";
        assert_eq!(of("t.xlsx", &workbook(&[("S", &sheet)])), is(NumberForm::Unknown, "18.11.2026", german));
        let either = "{ type: date, format: \"%d/%m/%Y\" } { type: date, format: \"%m/%d/%Y\" }";
        assert_eq!(of("t.csv", b"w,v\na,03/12/2026\nb,04/11/2026\n"), is(NumberForm::Unknown, "03/12/2026", either));
    }

    #[test]
    fn the_form_of_cells_and_their_values_are_seen() {
        let look = look("done,day,tag,team,zip,hours\ntrue,2026-11-16,16.11.2026,North,01067,8\n,2026-11-17,17.11.2026,South,1067,7.5\n");
        let forms: Vec<_> = look.columns.iter().map(|(name, column)| (name.as_str(), column.form, column.values.join(" "))).collect();
        assert_eq!(
            forms,
            [
                ("done", CellForm::TrueFalse, "true".to_owned()),
                ("day", CellForm::Day, "2026-11-16 2026-11-17".to_owned()),
                ("tag", CellForm::DayFirst, "16.11.2026 17.11.2026".to_owned()),
                ("team", CellForm::Words, "North South".to_owned()),
                ("zip", CellForm::Codes, "01067 1067".to_owned()),
            ]
        );
    }
}
