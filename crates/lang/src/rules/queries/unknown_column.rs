//! F215: a column that a table does not have: what it was to protect, to type or to give is there under another name.

use super::dialects;
use super::query_fails::{foreign_around, with_columns, word_at};
use crate::diagnostic::{self, About, akin, did_you_mean};
use crate::model::{PersonSource, Pipeline, PreparedQuery, QueryFault, TableOddity, WrittenQuery};
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, listed, quoted};
use crate::source::Span;
use crate::sql;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (table, data) in &pipeline.pipeline.data {
        let Some(header) = &data.header else { continue };
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let has = |column: &str| names.iter().any(|name| name.to_lowercase() == column.to_lowercase());
        let mut told = |key: &str, column: &str, span: Span| {
            let near = did_you_mean(column, names.iter().copied());
            let message = format!("\"{key}\" names column \"{column}\", which table \"{table}\" does not have{near}");
            let help = match akin(column, names.iter().copied()).or(near.names.first().map(String::as_str)) {
                Some(name) => format!("write {name}"),
                None => {
                    let is_free = |name: &&&str| !data.pii.iter().any(|column| column.value == **name);
                    format!("use one of: {}", listed(names.iter().filter(is_free)))
                }
            };
            out.push(found(span, &message).near(near).help(help));
        };
        for column in data.pii.iter().filter(|column| !has(&column.value)) {
            told("pii", &column.value, column.span);
        }
        for column in data.columns.keys().filter(|column| !has(column)) {
            told("columns", column, data.file.span);
        }
        if let Some(PersonSource::Table(from)) = pipeline.pipeline.person.as_ref().map(|person| &person.from)
            && from.value == *table
            && !has("id")
        {
            told("person", "id", from.span);
        }
    }
    for query in pipeline.pipeline.queries() {
        if let Some(PreparedQuery::Fails(mistake)) = pipeline.pipeline.prepared.get(query.text) {
            out.extend(in_query(&pipeline.pipeline, &query, &mistake.fault, mistake.at));
        }
    }
}

fn found(span: Span, message: &str) -> Diagnostic {
    finding(Code::UnknownColumn, span, message).about(About::Columns)
}

/// A column of a query.
fn in_query(file: &Pipeline, query: &WrittenQuery, fault: &QueryFault, at: Option<usize>) -> Option<Diagnostic> {
    let called = sql::read(query.text).map_or(vec![], |read| read.called);
    let header = |table: &str| {
        let data = file.data.iter().find(|(name, _)| name.eq_ignore_ascii_case(table));
        data.and_then(|(name, data)| Some((name.as_str(), data.header.as_deref()?)))
    };
    let has = |columns: &[String], column: &str| columns.iter().any(|name| name.to_lowercase() == column.to_lowercase());
    let mut tables: Vec<(&str, &[String])> = vec![];
    for table in called.iter().filter_map(|(table, _)| header(table)) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    let (QueryFault::UnknownColumn(written) | QueryFault::QuotedText(written) | QueryFault::AmbiguousColumn(written)) = fault else {
        return None;
    };
    let (owner, column) = written.rsplit_once('.').map_or((None, written.as_str()), |(owner, column)| (Some(owner), column));
    let start = at.or_else(|| query.text.find(written.as_str()));
    let end = start.map(|at| {
        let is_whole = query.text.get(at..).is_some_and(|rest| rest.starts_with(written.as_str()));
        at + if is_whole { written.len() } else { word_at(query.text, at).len() }
    });
    let span = start.zip(end).map_or(query.span, |(start, end)| query.inside(start, end));
    let say = |message: String| found(span, &message);
    if let QueryFault::AmbiguousColumn(_) = fault {
        let of = called.iter().filter(|(table, _)| header(table).is_some_and(|(_, columns)| has(columns, column)));
        let each: Vec<String> = of.map(|(_, called)| format!("{called}.{column}")).collect();
        let help =
            if each.len() > 1 { format!("write {}", each.join(" or ")) } else { format!("write the table in front: table.{column}") };
        return Some(
            say(format!("several tables of the query have column {}, and it does not say which is meant", quoted(column))).help(help),
        );
    }
    if let Some(owner) = owner {
        let calls = |name: &str| called.iter().find(|(_, called)| called.eq_ignore_ascii_case(name));
        match (calls(owner), called.iter().find(|(table, _)| table.eq_ignore_ascii_case(owner))) {
            (Some((table, _)), _) => tables = header(table).into_iter().collect(),
            (None, Some((_, called))) => {
                let message = format!("the query calls table {} {}, so it cannot read {}", quoted(owner), quoted(called), quoted(written));
                return Some(say(message).help(format!("write {called}.{column}")));
            }
            (None, None) => {
                let names: Vec<&str> = called.iter().map(|(_, called)| *called).collect();
                let near = did_you_mean(owner, names.iter().copied());
                let message = format!("the query reads {}, but nothing in it is called {}{near}", quoted(written), quoted(owner));
                let help =
                    if names.is_empty() { "name a table of the query".to_owned() } else { format!("use one of: {}", listed(&names)) };
                return Some(say(message).near(near).help(help));
            }
        }
    }
    let columns = || tables.iter().flat_map(|(_, columns)| columns.iter().map(String::as_str));
    let help = with_columns(&tables);
    if let QueryFault::QuotedText(text) = fault {
        if foreign_around(query.text, at).is_some() {
            return None;
        }
        let message = format!("{} in double quotes is a column, and no table of the query has it", quoted(text));
        let plain = text.trim().to_lowercase().replace([' ', '-'], "_");
        if let Some(name) = columns().find(|name| name.to_lowercase() == plain) {
            return Some(say(message).help(format!("write {name}")));
        }
        return Some(say(message).help(format!("write '{}' if it is a text", text.replace('\'', "''"))).help(help));
    }
    if let Some(meant) = dialects::column(column) {
        let message = format!("no table of the query has column {}, and SQLite knows no such word", quoted(column));
        let meant = meant.help(&start.map_or(vec![], |start| dialects::values(query.text, start)));
        return Some(say(message).help(meant).help(help));
    }
    if columns().any(|name| name.to_lowercase() == column.to_lowercase()) {
        let message = format!("the query reads column {} where nothing has it", quoted(column));
        return Some(say(message).help("use the name that the query in brackets or behind \"with\" gives it"));
    }
    let near = did_you_mean(column, columns());
    let which = match tables.as_slice() {
        [(table, _)] => format!("table {} does not have", quoted(table)),
        _ => "none of its tables has".to_owned(),
    };
    // What stands where names belong is data: the file has no first line of names.
    if let [(table, header)] = tables.as_slice()
        && let Some(data) = file.data.get(*table)
        && let Some((_, place)) = data.oddities.iter().find(|(odd, _)| *odd == TableOddity::NoNames)
    {
        let first = diagnostic::one_line(&header.join(","), 60);
        let message = format!("the file of table {} has no names of columns: its first line is \"{first}\"", quoted(table));
        let file = match place {
            Some(place) => (*place, format!("write a line with the names of the {} columns above this one", header.len())),
            None => (data.file.span, "this file".to_owned()),
        };
        // In the order in which the query reads them.
        let asked: Vec<&str> = query.text.split_whitespace().skip(1).take_while(|word| !word.eq_ignore_ascii_case("from")).collect();
        let asked = asked.join("");
        let asked = asked.split(',').map(str::to_owned).filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let named: Vec<String> = asked.chain([column.to_owned()]).collect();
        let first = if named.len() > 1 { named[..named.len() - 1].join(",") } else { column.to_owned() };
        let help = format!("write a first line into the file with the name of each of its {} columns, such as {first},…", header.len());
        return Some(Diagnostic { related: vec![file], ..say(message).help(help) });
    }
    let help = match akin(column, columns()) {
        _ if tables.is_empty() => "use a column that the query in brackets or behind \"with\" gives".to_owned(),
        Some(name) if near.is_empty() => format!("write {}{name}; or {help}", owner.map(|owner| format!("{owner}.")).unwrap_or_default()),
        _ => match near.names.first() {
            Some(name) => format!("write {}{name}", owner.map(|owner| format!("{owner}.")).unwrap_or_default()),
            None => help,
        },
    };
    Some(say(format!("the query reads column {}, which {which}{near}", quoted(column))).near(near).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says_of;

    fn said(data: &str) -> String {
        let text = format!("flow: 1\nname: a\ndata: {{ people: {{ file: p.csv, {data} }} }}\nsteps: [{{ id: a, set: 1 }}]\n");
        says_of(check, &[("a.yaml", &text), ("p.csv", "id,name,Phone\n1,Ana,2\n")])
    }

    #[test]
    fn a_column_that_the_table_lacks_is_reported_with_the_near_one() {
        assert_eq!(
            said("pii: [nmae, phone]"),
            "F215 3:38 \"pii\" names column \"nmae\", which table \"people\" does not have; did you mean \"name\"?\n"
        );
        assert!(
            said("columns: { nam: text }")
                .contains("\"columns\" names column \"nam\", which table \"people\" does not have; did you mean \"name\"?")
        );
        assert_eq!(said("pii: [NAME], columns: { phone: text }"), "");
    }
}
