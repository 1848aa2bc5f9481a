//! F229: a table that a query reads, whose file is read otherwise than it looks.

use std::path::Path;

use super::number_forms;
use super::query_uses::{ColumnUse, uses};
use crate::model::{Data, TableOddity};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, Texts, finding, listed, quoted};
use crate::rules::support::asked_query::AskedQuery;

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    for (table, data) in &names.pipeline.pipeline.data {
        let reading: Vec<&AskedQuery> = names.queries().iter().filter(|query| query.read.mentions(table)).collect();
        for (odd, place) in &data.oddities {
            let Some((what, help)) = said(odd, data, &reading) else { continue };
            let found = finding(Code::TableContent, data.file.span, &what).help(lower_first(&help));
            out.push(match place {
                Some(place) => found.related(*place, "change this"),
                None => found,
            });
        }
    }
}

/// What is wrong for the queries that read the table, and what to do.
fn said(odd: &TableOddity, data: &Data, reading: &[&AskedQuery]) -> Option<(String, String)> {
    let mentions = |column: &str| reading.iter().any(|query| query.read.mentions(column));
    let file = name(&data.file.value);
    Some(match odd {
        // Its author says what the cells are, so a person or a later query may read them.
        TableOddity::BadCells { first, more, .. } => {
            // A cell may hold a full stop, too.
            let end = first.find(" is not ").unwrap_or(0);
            let cut = first[end..].find(". ").map(|at| (&first[..end + at], &first[end + at + 2..]));
            let (what, help) = cut.unwrap_or((first, "correct the cell"));
            let more = if *more > 0 { format!("; {more} more of its cells are like it") } else { String::new() };
            (format!("{what}{more}"), help.trim_end_matches('.').to_owned())
        }
        _ if reading.is_empty() => return None,
        TableOddity::Unreadable(why) => match why.split_once(". ") {
            Some((what, help)) => (what.to_owned(), help.trim_end_matches('.').to_owned()),
            None => (why.clone(), "correct the file".to_owned()),
        },
        TableOddity::OneColumn { separator } => {
            let what = format!("{file} is read as one column, and its lines hold \"{separator}\"");
            (what, format!("write , or ; in place of each \"{separator}\", or a tab or |"))
        }
        TableOddity::Repeated { column, read_as } if mentions(column) && !mentions(read_as) => (
            format!("{file} has two columns {}; the second is {} in queries", quoted(column), quoted(read_as)),
            format!("give each column of the file its own name, or write {read_as} where the second is meant"),
        ),
        TableOddity::TextNumbers { column, form, example, may_use_comma, kinds } => {
            let marks = number_forms::marks(*form, example);
            let uses = reading.iter().flat_map(|query| uses(&query.read, column, marks).into_iter().map(move |used| (used, query.text)));
            let used = uses.filter(|(used, query)| number_forms::is_wrong(*form, *used, query, example)).map(|(used, _)| used).next()?;
            let odd = number_forms::TextNumbers { column, form: *form, example, may_use_comma: *may_use_comma, kinds };
            let (what, help) = number_forms::told(odd, used);
            (format!("{} of {file} {what}", quoted(column)), help)
        }
        // A cell that is not what its column is declared to be ends the query that reads it.
        TableOddity::NotRead => {
            let is_declared = |column: &String| data.columns.keys().any(|known| known.eq_ignore_ascii_case(column));
            let as_number = |used: ColumnUse| matches!(used, ColumnUse::Sum | ColumnUse::Order);
            let is_used = |column: &&String| reading.iter().any(|query| uses(&query.read, column, 1).into_iter().any(as_number));
            let open: Vec<&String> = data.header.iter().flatten().filter(|column| !is_declared(column)).filter(is_used).collect();
            let first = open.first()?;
            (
                format!(
                    "{file} is too large to be looked through by a check, so a text among the numbers of {} would not be told",
                    listed(&open)
                ),
                format!("write the type of each column that is added up, ordered by or compared, as columns: {{ {first}: amount }}"),
            )
        }
        // F215, where a query reads a column.
        TableOddity::NoNames | TableOddity::Repeated { .. } => return None,
    })
}

fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::loaded;

    #[test]
    fn a_file_that_is_too_large_to_be_looked_through_is_told_for_the_columns_that_count() {
        let told = |columns: &str, query: &str| {
            let text = format!("flow: 1\nname: a\ndata: {{ t: {{ file: t.csv{columns} }} }}\nsteps:\n  - {{ id: s, sql: \"{query}\" }}\n");
            let files = loaded(&[("a.yaml", &text), ("t.csv", "day,hours,note\n")]);
            let file = &files.program.pipelines[0];
            let data = Data { header: Some(["day", "hours", "note"].map(str::to_owned).to_vec()), ..file.data["t"].clone() };
            let queries = AskedQuery::all(file);
            said(&TableOddity::NotRead, &data, &queries.iter().collect::<Vec<_>>()).map(|(what, _)| what)
        };
        let of = |columns: &str| {
            Some(format!("t.csv is too large to be looked through by a check, so a text among the numbers of {columns} would not be told"))
        };
        assert_eq!(told("", "select sum(hours) as h from t"), of("hours"));
        assert_eq!(told(", columns: { note: text }", "select sum(hours) as h from t order by day"), of("day, hours"));
        assert_eq!(told(", columns: { Hours: number }", "select sum(hours) as h from t"), None);
        assert_eq!(told("", "select note from t"), None);
    }
}
