//! F213: a query that reads a table nobody knows. Only what is certain counts: everything that may be a function, a name of
//! the query's own, or a table of a database is left aside.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic, Hints};
use crate::model::{ArtefactKind, QueryFault, QueryMistake, Step, StepKind};
use crate::rules::prelude::{PipelineNames, Texts, finding, listed, quoted};
use crate::source::Span;
use crate::sql::{Name, ReadQuery};

pub(in crate::rules) fn check(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    let pipeline = names.pipeline;
    let file = &pipeline.pipeline;
    // A file that is read brings tables that are known only in the run.
    let brings_tables = |kind: &StepKind| matches!(kind, StepKind::Read(_) | StepKind::Broken);
    if pipeline.steps.iter().any(|planned| brings_tables(&planned.step.kind)) {
        return;
    }
    if file.data.is_empty() {
        pipeline.steps.iter().for_each(|planned| of_task(&planned.step, out));
    }
    let hints = Hints::default();
    let all: Vec<&str> = file.data.keys().map(String::as_str).collect();
    let made: HashSet<String> = names.queries().iter().filter_map(|query| made_by(query.text)).collect();
    for written in names.queries() {
        let open: Option<Vec<&str>> = written.tables.map(|tables| tables.iter().map(|table| table.value.as_str()).collect());
        let known = open.as_ref().unwrap_or(&all);
        let mut tables: Vec<(&str, Option<usize>)> =
            unknown(&written.read, known).into_iter().map(|table| (table.text, Some(table.start))).collect();
        // What cannot be seen in the text, such as a text that stands where a table belongs.
        if let Some(QueryMistake { fault: QueryFault::UnknownTable(name), .. }) = written.mistake
            && tables.is_empty()
            && !all.iter().any(|table| table.eq_ignore_ascii_case(name))
        {
            tables.push((name, written.text.find(name.as_str())));
        }
        for (name, start) in tables {
            let near = hints.did_you_mean(name, known.iter().copied());
            let span = start.map_or(written.span, |start| written.inside(start, start + name.len()));
            // Told at the query that would make it.
            if made.contains(&name.to_lowercase()) {
                continue;
            }
            let help = match known.as_slice() {
                [] => "add it under data".to_owned(),
                [table] => format!("write {table}"),
                known => format!("use one of: {}", listed(known)),
            };
            let message = format!("the query reads table {}, which is not known{near}", quoted(name));
            out.push(new_finding(span, &message).near(near).help(help));
        }
    }
}

/// The table that `create table … as` would make.
fn made_by(query: &str) -> Option<String> {
    let head = query.split(" as ").next().unwrap_or_default().trim().to_lowercase();
    head.split_whitespace().last().filter(|_| head.starts_with("create ")).map(str::to_owned)
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::UnknownTable, span, message)
}

/// A task whose agent is to write queries, without a table.
fn of_task(step: &Step, out: &mut Vec<Diagnostic>) {
    let StepKind::Task(task) = &step.kind else { return };
    if task.fixed_artefact() == Some(ArtefactKind::Sql) {
        let message = format!("task \"{}\" asks for a query, but there is no table", step.id.value);
        let help = "add tables under data, or a read step above, or write artefact: text";
        out.push(new_finding(task.artefact.place.span, &message).help(help));
    }
}

/// The tables of a query that are not known.
fn unknown<'q>(query: &ReadQuery<'q>, known: &[&str]) -> Vec<Name<'q>> {
    let is_system = |name: &str| ["sqlite_", "duckdb_", "pragma_"].iter().any(|start| name.to_lowercase().starts_with(start));
    let is_unknown = |table: &Name| !known.iter().any(|known| known.eq_ignore_ascii_case(table.text)) && !is_system(table.text);
    query.names().map_or(vec![], |names| names.tables.iter().copied().filter(is_unknown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<&str> {
        unknown(&ReadQuery::new(text), &["entries", "people"]).into_iter().map(|table| table.text).collect()
    }

    #[test]
    fn tables_after_from_and_join_are_looked_up() {
        assert_eq!(named("select * from entrys e join peple on 1 where hours > 2"), ["entrys", "peple"]);
        assert_eq!(named("select * from Entries as e, people p, projects"), ["projects"]);
        assert_eq!(named("select (select max(x) from taks) from entries union select 1 from other"), ["taks", "other"]);
        assert_eq!(named("select * from (select * from inner_one) x"), ["inner_one"]);
        assert_eq!(named("select * from main.people join main.peple"), ["peple"]);
    }

    #[test]
    fn what_is_no_table_of_the_file_is_left_aside() {
        for query in [
            "with week as (select 1), last(a, b) as (select 1, 2) select * from week, last",
            "with recursive days(d) as (select 1 union select d + 1 from days) select * from days",
            "select extract(year from day), trim(both from name), substring(name from 2) from entries",
            "select * from entries where day is not distinct from $day and a is distinct from b",
            "select * from json_each($list) join generate_series(1, 2)",
            "select * from other.secret join sqlite_master",
            "select 'from nowhere', \"from\" -- from nothing\n from entries /* from none */",
            "select * from 'data.csv'",
            "select from_day from entries",
        ] {
            assert_eq!(named(query), [""; 0], "{query}");
        }
    }
}
