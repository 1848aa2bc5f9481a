//! What a query makes of numbers that are written otherwise than it reads them, and what to write.

use super::query_uses::ColumnUse;
use crate::model::NumberForm;
use crate::rules::prelude::quoted;

/// Whether a query that uses a column so gets another value than the cells say.
pub(in crate::rules) fn is_wrong(form: NumberForm, used: ColumnUse, query: &str, example: &str) -> bool {
    let query = query.to_lowercase();
    match form {
        // The number that such a cell begins with is the right one.
        NumberForm::Begins => used != ColumnUse::Sum,
        NumberForm::Digits => matches!(used, ColumnUse::Order | ColumnUse::Time),
        NumberForm::Clock => used == ColumnUse::Sum,
        NumberForm::OneShape => matches!(used, ColumnUse::Sum | ColumnUse::Time),
        NumberForm::Unknown => used != ColumnUse::Equal,
        NumberForm::SomeTexts => {
            let is_named = query.contains(&format!("'{}'", example.to_lowercase())) || query.contains("typeof");
            used != ColumnUse::Equal && !is_named
        }
        NumberForm::DecimalComma
        | NumberForm::PointsAndComma
        | NumberForm::Thousands
        | NumberForm::CommaOrThousands
        | NumberForm::PointOrThousands
        | NumberForm::OtherMarks
        | NumberForm::WithSign
        | NumberForm::Negative
        | NumberForm::Duration
        | NumberForm::Scaled
        | NumberForm::Fraction
        | NumberForm::OtherDigits
        | NumberForm::TooLong => true,
    }
}

/// How many kinds of marks stand in such a number, each of which a query must replace.
pub(in crate::rules) fn marks(form: NumberForm, example: &str) -> usize {
    match form {
        NumberForm::PointsAndComma => 1 + usize::from(example.contains(',')),
        NumberForm::OtherMarks => {
            1 + usize::from(example.contains(',') && example.contains(|c: char| c.is_whitespace() || matches!(c, '\'' | '’')))
        }
        NumberForm::DecimalComma
        | NumberForm::Thousands
        | NumberForm::CommaOrThousands
        | NumberForm::PointOrThousands
        | NumberForm::WithSign
        | NumberForm::Negative
        | NumberForm::Duration
        | NumberForm::Clock
        | NumberForm::Scaled
        | NumberForm::Fraction
        | NumberForm::OtherDigits
        | NumberForm::TooLong
        | NumberForm::Begins
        | NumberForm::Digits
        | NumberForm::Unknown
        | NumberForm::OneShape
        | NumberForm::SomeTexts => 1,
    }
}

/// A column whose numbers are texts, as a check sees it.
#[derive(Clone, Copy)]
pub(in crate::rules) struct TextNumbers<'o> {
    pub(in crate::rules) column: &'o str,
    pub(in crate::rules) form: NumberForm,
    pub(in crate::rules) example: &'o str,
    pub(in crate::rules) may_use_comma: bool,
    pub(in crate::rules) kinds: &'o [&'static str],
}

/// How a column is declared.
fn declared(column: &str, what: &str) -> String {
    format!("write columns: {{ {column}: {what} }} under data")
}

/// What is done about texts that may be values of these kinds.
fn declared_as(column: &str, kinds: &[&str]) -> String {
    let kinds: Vec<String> = kinds.iter().map(|kind| declared(column, kind)).collect();
    match kinds.as_slice() {
        [] => format!("write them as plain numbers, or as 2026-11-18 and 09:30; or {} if texts are meant", declared(column, "text")),
        kinds => format!("{}, or {column}: text if texts are meant", kinds.join(", or ")),
    }
}

/// What is wrong, and what to do.
pub(in crate::rules) fn told(odd: TextNumbers<'_>, used: ColumnUse) -> (String, String) {
    let TextNumbers { column, form, example, may_use_comma, kinds } = odd;
    let ordered = "so it is text, and is compared letter by letter";
    let so = |sum: &'static str| if used == ColumnUse::Sum { sum } else { ordered };
    let ends = |what: &str| format!("has {what}, {}", so("so it is text, and a sum ends at the comma"));
    let stops =
        |what: &str| format!("has {what} such as {example}, {}", so("so it is text, and a sum counts only the digits it begins with"));
    let amounts = || ends(&format!("amounts such as {example}"));
    let declare = |what: &str| declared(column, what);
    match form {
        NumberForm::DecimalComma if may_use_comma => (
            ends("commas and points as decimal marks"),
            format!("write each amount with a comma, as 12,50, in the whole column, or {}", declare("amount")),
        ),
        NumberForm::DecimalComma => (
            ends("decimal commas"),
            format!("{}, or write each amount with a point, as 12.50", declare("{ type: amount, decimal: \",\" }")),
        ),
        NumberForm::PointsAndComma => (amounts(), declare("{ type: amount, decimal: \",\" }")),
        NumberForm::Thousands => (amounts(), declare("{ type: amount, decimal: \".\" }")),
        NumberForm::CommaOrThousands => {
            let help = format!(
                "{} if the commas part thousands, decimal: \",\" if they are decimal commas",
                declare("{ type: amount, decimal: \".\" }")
            );
            (amounts(), help)
        }
        NumberForm::PointOrThousands => {
            let what = format!(
                "has amounts such as {example}, which are read with decimal points, while other columns of the file have decimal commas"
            );
            let help = format!(
                "{} if the points part thousands, decimal: \".\" if they are decimal points",
                declare("{ type: amount, decimal: \",\" }")
            );
            (what, help)
        }
        NumberForm::OtherMarks => (stops("amounts"), declare("amount")),
        NumberForm::WithSign => (
            format!("has amounts such as {example}, {}", so("so it is text, and a sum counts each as 0")),
            format!("{}, or write the number alone", declare("amount")),
        ),
        NumberForm::Negative => (stops("amounts below zero"), declare("amount")),
        NumberForm::Duration | NumberForm::Clock => {
            (stops("lengths of time"), format!("{}, which reads them as hours", declare("duration")))
        }
        NumberForm::Scaled => (stops("amounts"), declare("amount")),
        NumberForm::Fraction => (stops("fractions"), declare("amount")),
        NumberForm::OtherDigits => {
            (format!("has digits such as {example}, {}", so("so it is text, and a sum counts each as 0")), declare("amount"))
        }
        NumberForm::TooLong => (
            format!(
                "has numbers such as {example}, with more digits than a number can keep, so it is text, and is compared letter by letter"
            ),
            format!("{} if they are no numbers, and compare them with = alone", declare("text")),
        ),
        NumberForm::Begins => {
            // Of a percent nobody can say which number is meant.
            let kind = if example.contains(['%', '‰']) { "text" } else { "amount" };
            (format!("has numbers such as {example}, {ordered}"), format!("{}, or write the number alone", declare(kind)))
        }
        NumberForm::Digits | NumberForm::Unknown | NumberForm::OneShape => {
            let so = match used {
                ColumnUse::Time => "which no function of dates reads",
                ColumnUse::Sum | ColumnUse::Order | ColumnUse::Equal => {
                    so("so it is text, and a sum counts only the digits it begins with")
                }
            };
            (format!("has texts such as {}, {so}", quoted(example)), declared_as(column, kinds))
        }
        NumberForm::SomeTexts => {
            let so = so("so it is text, and a sum or an average counts that as 0");
            (
                format!("has the text {} among its numbers, {so}", quoted(example)),
                format!("write a number in place of {}, leave the cell empty, or {}", quoted(example), declare("text")),
            )
        }
    }
}
