//! F229: a table that a query reads, whose file is read otherwise than it looks.

use std::path::Path;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{NumberForm, TableOddity, WrittenQuery};
use crate::sql;

/// Functions that take a text for the number that it begins with.
const SUMS: [&str; 3] = ["sum", "avg", "total"];

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    let queries = pipeline.pipeline.queries();
    for (table, data) in &pipeline.pipeline.data {
        let reading: Vec<&WrittenQuery> = queries.iter().filter(|query| sql::mentions(query.text, table)).collect();
        let mentions = |column: &str| reading.iter().any(|query| sql::mentions(query.text, column));
        for (odd, place) in data.oddities.iter().filter(|_| !reading.is_empty()) {
            let (what, help) = match odd {
                TableOddity::Unreadable(why) => match why.split_once(". ") {
                    Some((what, help)) => (what.to_owned(), help.trim_end_matches('.').to_owned()),
                    None => (why.clone(), "correct the file".to_owned()),
                },
                TableOddity::Repeated { column, read_as } if mentions(column) && !mentions(read_as) => (
                    format!("{} has two columns {}; the second is {} in queries", name(&data.file.value), quoted(column), quoted(read_as)),
                    format!("give each column of the file its own name, or write {read_as} where the second is meant"),
                ),
                TableOddity::TextNumbers { column, form, example, may_use_comma }
                    if reading.iter().any(|query| adds(query.text, column, *form, example)) =>
                {
                    let (what, help) = text_numbers(*form, example, *may_use_comma);
                    (format!("{} of {} {what}", quoted(column), name(&data.file.value)), help)
                }
                // F215, where a query reads a column.
                TableOddity::NoNames | TableOddity::Repeated { .. } | TableOddity::TextNumbers { .. } => continue,
            };
            let found = finding(Code::TableContent, data.file.span, &what).help(lower_first(&help));
            out.push(match place {
                Some(place) => found.related(*place, "change this"),
                None => found,
            });
        }
    }
}

fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What is wrong with numbers that are texts, and what to write.
fn text_numbers(form: NumberForm, example: &str, may_use_comma: bool) -> (String, String) {
    let without = |marks: &[char]| example.chars().filter(|c| !marks.contains(c)).collect::<String>();
    let ends = |what: &str| format!("has {what}, so it is text, and a sum ends at the comma");
    let amounts = || ends(&format!("amounts such as {example}"));
    match form {
        NumberForm::DecimalComma if may_use_comma => {
            (ends("commas and points as decimal marks"), "write each amount with a comma, as 12,50, in the whole column".to_owned())
        }
        NumberForm::DecimalComma => {
            (ends("decimal commas"), "write each amount with a point, as 12.50, or separate all cells of the file with \";\"".to_owned())
        }
        NumberForm::PointsAndComma => {
            let plain = without(&['.']);
            let plain = if may_use_comma { plain } else { plain.replace(',', ".") };
            (amounts(), format!("write {plain} in place of {example}, and so each amount: without points between thousands"))
        }
        NumberForm::Thousands => {
            let plain = without(&[',']);
            (amounts(), format!("write {plain} in place of {example}, and so each amount: without commas between thousands"))
        }
        NumberForm::CommaOrThousands => {
            let (thousands, decimal) = (without(&[',']), example.replace(',', "."));
            let help =
                format!("write {thousands} in place of {example} if the commas part thousands, {decimal} if they are decimal commas");
            (amounts(), help)
        }
        NumberForm::WithSign => {
            let plain = example.chars().filter(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-')).collect::<String>();
            let what = format!("has amounts such as {example}, so it is text, and a sum counts each as 0");
            (what, format!("write {plain} in place of {example}, and so each amount: the number alone"))
        }
        NumberForm::OneText => {
            let what =
                format!("has the text {} among its numbers, so it is text, and a sum or an average counts that as 0", quoted(example));
            (what, format!("write a number in place of {}, or leave the cell empty", quoted(example)))
        }
    }
}

/// Whether a query adds up a column as it stands in the file.
fn adds(query: &str, column: &str, form: NumberForm, example: &str) -> bool {
    let query = query.to_lowercase();
    let is_handled = |inside: &str| match form {
        NumberForm::DecimalComma | NumberForm::Thousands | NumberForm::CommaOrThousands => inside.contains("replace"),
        NumberForm::PointsAndComma => inside.matches("replace").count() > 1,
        NumberForm::WithSign => ["replace", "substr", "trim"].iter().any(|function| inside.contains(function)),
        NumberForm::OneText => query.contains(&format!("'{}'", example.to_lowercase())) || query.contains("typeof"),
    };
    SUMS.iter().any(|sum| {
        query.match_indices(&format!("{sum}(")).any(|(at, found)| {
            let inside = in_brackets(&query[at + found.len()..]);
            sql::mentions(inside, column) && !is_handled(inside)
        })
    })
}

/// What stands before the bracket that closes.
fn in_brackets(text: &str) -> &str {
    let mut open = 1_u32;
    let end = text.find(|c| {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        open == 0
    });
    &text[..end.unwrap_or(text.len())]
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
