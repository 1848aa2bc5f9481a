//! What a check sees of the cells of a CSV or TSV file: what is read otherwise than it looks, and what can be compared with what.

use chrono::NaiveDate;

use super::blocking::CancelFlag;
use super::columns::{Cell, ColumnType, Guess, RowSource};
use super::delimited::Delimited;
use super::header::beginning;
use super::names::column_names;
use crate::model::{CellForm, ColumnLook, DataKind, NumberForm, TableLook, TableOddity};
use crate::port::TableSource;

/// Most different values of a column that are kept.
const MOST_VALUES: usize = 50;
/// Signs that stand beside an amount.
const SIGNS: [char; 6] = ['$', '€', '£', '¥', '%', '₹'];
/// Words that stand beside an amount.
const CURRENCIES: [&str; 6] = ["EUR", "USD", "GBP", "CHF", "JPY", "INR"];

/// What is seen of the beginning of a file. That a row does not fit, and what all values are, is only said of a file that was read to its end.
pub fn look_of(table: &TableSource) -> TableLook {
    if !matches!(table.kind, DataKind::Csv | DataKind::Tsv) {
        return TableLook::default();
    }
    let Some(bytes) = beginning(table) else { return TableLook::default() };
    let is_whole = std::fs::metadata(&table.file).is_ok_and(|file| file.len() == bytes.len() as u64);
    let Ok(mut rows) = Delimited::of_bytes(&table.file, table.kind, bytes) else { return TableLook::default() };
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
    // Of what its author says, nothing is guessed.
    let guessed = || names.iter().zip(&seen).filter(|(name, _)| !table.columns.contains_key(*name));
    oddities.extend(guessed().filter_map(|(name, column)| {
        let (form, example) = column.text_numbers()?;
        Some(TableOddity::TextNumbers { column: name.clone(), form, example, may_use_comma })
    }));
    let is_read = read.is_ok() && is_whole;
    oddities.extend(read.err().filter(|_| is_whole).map(|failure| TableOddity::Unreadable(failure.message)));
    let columns = guessed().filter_map(|(name, column)| Some((name.clone(), column.look(is_read)?))).collect();
    TableLook { oddities, columns }
}

/// What is seen of a column.
struct SeenColumn {
    guess: Guess,
    /// How many of its cells are plain numbers.
    numbers: usize,
    /// How many are numbers in another form, and the first of each form.
    forms: Vec<(NumberForm, String)>,
    in_form: usize,
    /// Cells that are no number in any form.
    others: usize,
    /// The first texts among all cells, each once; `None`: there are too many.
    values: Option<Vec<String>>,
    days: usize,
    days_first: usize,
    booleans: usize,
}

impl SeenColumn {
    fn new(may_use_comma: bool) -> SeenColumn {
        SeenColumn {
            guess: Guess::new(may_use_comma),
            numbers: 0,
            forms: vec![],
            in_form: 0,
            others: 0,
            values: Some(vec![]),
            days: 0,
            days_first: 0,
            booleans: 0,
        }
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
        match form_of(text) {
            Some(None) => self.numbers += 1,
            Some(Some(form)) => {
                self.in_form += 1;
                if !self.forms.iter().any(|(known, _)| *known == form) {
                    self.forms.push((form, text.to_owned()));
                }
            }
            None => {
                self.others += 1;
                self.days += usize::from(text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok());
                self.days_first += usize::from(text.len() == 10 && NaiveDate::parse_from_str(text, "%d.%m.%Y").is_ok());
                self.booleans += usize::from(text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"));
            }
        }
    }

    /// How its numbers are written, if they are texts to a query.
    fn text_numbers(&self) -> Option<(NumberForm, String)> {
        if self.guess.column_type() != ColumnType::Text {
            return None;
        }
        if self.others > 0 {
            // One text among numbers makes texts of all.
            let is_one = self.others == 1 && self.in_form == 0 && self.numbers >= 2;
            let text = self.values.as_ref()?.iter().find(|value| form_of(value).is_none()).filter(|_| is_one)?;
            return Some((NumberForm::OneText, text.clone()));
        }
        // What can be read in two ways is read as the others are.
        let decides = |form: NumberForm| self.forms.iter().find(|(known, _)| *known == form).cloned();
        decides(NumberForm::WithSign)
            .or_else(|| decides(NumberForm::PointsAndComma))
            .or_else(|| decides(NumberForm::Thousands))
            .or_else(|| decides(NumberForm::DecimalComma))
            .or_else(|| decides(NumberForm::CommaOrThousands))
    }

    /// What its cells are, if they are texts that are no numbers.
    fn look(&self, is_read: bool) -> Option<ColumnLook> {
        if self.others == 0 || self.numbers + self.in_form > 0 {
            return None;
        }
        let form = match self.others {
            all if all == self.booleans => CellForm::TrueFalse,
            all if all == self.days => CellForm::Day,
            all if all == self.days_first => CellForm::DayFirst,
            _ => CellForm::Words,
        };
        Some(ColumnLook { form, values: self.values.clone().filter(|_| is_read).unwrap_or_default() })
    }
}

/// What form a number is in: `None`: it is none; `Some(None)`: a plain one, or one that begins as one: SQLite adds up `12 EUR` as 12.
fn form_of(cell: &str) -> Option<Option<NumberForm>> {
    let bare = |text: &str, is_front: bool| {
        let mut text = text.trim().to_owned();
        for word in CURRENCIES.iter().map(|word| (*word).to_owned()).chain(SIGNS.map(String::from)) {
            let rest = if is_front { text.strip_prefix(&word) } else { text.strip_suffix(&word) };
            if let Some(rest) = rest {
                text = rest.trim().to_owned();
            }
        }
        text
    };
    let unsigned = |text: &str| text.trim_start_matches(['-', '+']).trim().to_owned();
    let number = bare(&unsigned(cell), false);
    let without_sign = bare(&number, true);
    let form = plain_form(&unsigned(&without_sign))?;
    Some(if without_sign == number { form } else { Some(NumberForm::WithSign) })
}

fn plain_form(number: &str) -> Option<Option<NumberForm>> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // `1.250.000`: groups of three behind one of one to three.
    let is_grouped = |text: &str, mark: char| {
        let mut groups = text.split(mark);
        groups.next().is_some_and(|first| is_digits(first) && first.len() <= 3) && groups.all(|group| is_digits(group) && group.len() == 3)
    };
    match (number.matches(',').count(), number.matches('.').count()) {
        (0, 0) => is_digits(number).then_some(None),
        (0, 1) => number.split('.').all(|part| part.is_empty() || is_digits(part)).then_some(None).filter(|_| number.len() > 1),
        (1, 0) => {
            let (whole, part) = number.split_once(',')?;
            let may_be_group = part.len() == 3 && is_grouped(number, ',') && whole != "0";
            let form = if may_be_group { NumberForm::CommaOrThousands } else { NumberForm::DecimalComma };
            (is_digits(whole) && is_digits(part)).then_some(Some(form))
        }
        (_, 0) => is_grouped(number, ',').then_some(Some(NumberForm::Thousands)),
        (1, _) if number.find(',') > number.rfind('.') => {
            let (whole, part) = number.split_once(',')?;
            (is_grouped(whole, '.') && is_digits(part)).then_some(Some(NumberForm::PointsAndComma))
        }
        (_, 1) => {
            let (whole, part) = number.split_once('.')?;
            (is_grouped(whole, ',') && is_digits(part)).then_some(Some(NumberForm::Thousands))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::table_of;
    use super::*;

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
            ("a,b\n1,2\n2,x\n3,3\n", NumberForm::OneText, "x"),
        ] {
            assert_eq!(numbers(content), Some((form, example.to_owned())), "{content}");
        }
        for fine in [
            "a,b\n1,2\n",
            "a;b\n1;7,5\n",
            "a,b\n1,\"x, y\"\n",
            "a,b\n1,\"7,5\"\n2,none\n",
            "a,a_2\n1,2\n",
            "a,b\n1,1.2.3\n2,3\n",
            "a,b\n1,EUR\n2,USD\n",
            "a,b\n1,12 EUR\n2,7%\n",
            "",
        ] {
            assert_eq!(odd(fine), [], "{fine}");
        }
    }

    #[test]
    fn the_form_of_cells_and_their_values_are_seen() {
        let look = look("done,day,tag,team,hours\ntrue,2026-11-16,16.11.2026,North,8\n,2026-11-17,17.11.2026,South,7.5\n");
        let forms: Vec<_> = look.columns.iter().map(|(name, column)| (name.as_str(), column.form, column.values.join(" "))).collect();
        assert_eq!(
            forms,
            [
                ("done", CellForm::TrueFalse, "true".to_owned()),
                ("day", CellForm::Day, "2026-11-16 2026-11-17".to_owned()),
                ("tag", CellForm::DayFirst, "16.11.2026 17.11.2026".to_owned()),
                ("team", CellForm::Words, "North South".to_owned()),
            ]
        );
    }
}
