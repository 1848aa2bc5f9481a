//! F229: a table that a query reads, whose file is read otherwise than it looks.

use std::path::Path;

use super::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};
use crate::model::{TableOddity, WrittenQuery};
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
                TableOddity::DecimalComma { column } if reading.iter().any(|query| adds(query.text, column)) => (
                    format!(
                        "{} of {} has decimal commas, so it is text, and a sum ends at the comma",
                        quoted(column),
                        name(&data.file.value)
                    ),
                    "write each amount with a point, as 12.50, or separate all cells of the file with \";\"".to_owned(),
                ),
                // F215, where a query reads a column.
                TableOddity::NoNames | TableOddity::Repeated { .. } | TableOddity::DecimalComma { .. } => continue,
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

/// Whether a query adds up a column.
fn adds(query: &str, column: &str) -> bool {
    let query = query.to_lowercase();
    SUMS.iter().any(|sum| {
        query.match_indices(&format!("{sum}(")).any(|(at, found)| {
            let inside = query[at + found.len()..].split(')').next().unwrap_or_default();
            sql::mentions(inside, column) && !inside.contains("cast") && !inside.contains("replace")
        })
    })
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
