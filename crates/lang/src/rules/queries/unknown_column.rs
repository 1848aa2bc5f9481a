//! F215: a column that a table does not have: what it was to protect, to type or to give is there under another name.

use super::dialects;
use super::query_fails::{foreign_around, with_columns, word_at};
use crate::diagnostic::{self, About, akin, did_you_mean};
use crate::model::{PersonSource, Pipeline, QueryFault, QueryMistake, TableOddity};
use crate::rules::prelude::{Code, Diagnostic, PipelineNames, PipelinePlan, Plan, Texts, finding, listed, quoted};
use crate::rules::support::asked_query::AskedQuery;
use crate::source::Span;

pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (table, data) in &pipeline.pipeline.data {
        let Some(header) = &data.header else { continue };
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let has = |column: &str| names.iter().any(|name| same(name, column));
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
            out.push(new_finding(span, &message).near(near).help(help));
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
}

/// Columns of queries.
pub(in crate::rules) fn in_queries(names: &PipelineNames, _: &Texts, out: &mut Vec<Diagnostic>) {
    let mistakes = names.queries().iter().filter_map(|query| Some((query, query.mistake?)));
    out.extend(mistakes.filter_map(|(query, mistake)| MistakenColumn::new(&names.pipeline.pipeline, query, mistake)?.found()));
}

fn new_finding(span: Span, message: &str) -> Diagnostic {
    finding(Code::UnknownColumn, span, message).about(About::Columns)
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// A table and its columns.
type TableColumns<'q> = (&'q str, &'q [String]);

/// A column of a query that the engine does not find there.
struct MistakenColumn<'q, 'p> {
    file: &'q Pipeline,
    query: &'q AskedQuery<'p>,
    fault: &'q QueryFault,
    /// As it is written, and as far as it is the name of a column.
    written: &'q str,
    column: &'q str,
    /// Where the engine stopped.
    at: Option<usize>,
    /// Where it stands.
    start: Option<usize>,
    span: Span,
    /// What the query calls its tables.
    called: &'q [(&'q str, &'q str)],
    /// Those of its tables whose columns are known, each once.
    tables: Vec<TableColumns<'q>>,
}

impl<'q, 'p> MistakenColumn<'q, 'p> {
    fn new(file: &'q Pipeline, query: &'q AskedQuery<'p>, mistake: &'q QueryMistake) -> Option<MistakenColumn<'q, 'p>> {
        let fault = &mistake.fault;
        let (QueryFault::UnknownColumn(written) | QueryFault::QuotedText(written) | QueryFault::AmbiguousColumn(written)) = fault else {
            return None;
        };
        let text = query.text;
        let start = mistake.at.or_else(|| text.find(written.as_str()));
        let end = start.map(|at| {
            let is_whole = text.get(at..).is_some_and(|rest| rest.starts_with(written.as_str()));
            at + if is_whole { written.len() } else { word_at(text, at).len() }
        });
        let called = query.read.names().map_or(&[][..], |names| names.called.as_slice());
        let mut tables: Vec<TableColumns> = vec![];
        for table in called.iter().filter_map(|(table, _)| header(file, table)) {
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        let span = start.zip(end).map_or(query.span, |(start, end)| query.inside(start, end));
        let column = written.rsplit_once('.').map_or(written.as_str(), |(_, column)| column);
        Some(MistakenColumn { file, query, fault, written, column, at: mistake.at, start, span, called, tables })
    }

    fn say(&self, message: String) -> Diagnostic {
        new_finding(self.span, &message)
    }

    fn columns(&self) -> impl Iterator<Item = &'q str> + use<'q, 'p> {
        self.tables.clone().into_iter().flat_map(|(_, columns)| columns.iter().map(String::as_str))
    }

    fn found(mut self) -> Option<Diagnostic> {
        if let QueryFault::AmbiguousColumn(_) = self.fault {
            return Some(self.ambiguous());
        }
        let owner = self.written.rsplit_once('.').map(|(owner, _)| owner);
        if let Some(owner) = owner {
            let Some((table, _)) = self.called.iter().find(|(_, called)| called.eq_ignore_ascii_case(owner)) else {
                return Some(self.of_nobody(owner));
            };
            self.tables = header(self.file, table).into_iter().collect();
        }
        if let QueryFault::QuotedText(text) = self.fault {
            return self.quoted_text(text);
        }
        if let Some(meant) = dialects::column(self.column) {
            let message = format!("no table of the query has column {}, and SQLite knows no such word", quoted(self.column));
            let meant = meant.help(&self.start.map_or(vec![], |start| dialects::values(self.query.text, start)));
            return Some(self.say(message).help(meant).help(with_columns(&self.tables)));
        }
        if self.columns().any(|name| same(name, self.column)) {
            let message = format!("the query reads column {} where nothing has it", quoted(self.column));
            return Some(self.say(message).help("use the name that the query in brackets or behind \"with\" gives it"));
        }
        Some(self.without_names().unwrap_or_else(|| self.unknown(owner)))
    }

    fn ambiguous(&self) -> Diagnostic {
        let has = |columns: &[String]| columns.iter().any(|name| same(name, self.column));
        let of = self.called.iter().filter(|(table, _)| header(self.file, table).is_some_and(|(_, columns)| has(columns)));
        let each: Vec<String> = of.map(|(_, called)| format!("{called}.{}", self.column)).collect();
        let help = match each.as_slice() {
            [] | [_] => format!("write the table in front: table.{}", self.column),
            each => format!("write {}", each.join(" or ")),
        };
        self.say(format!("several tables of the query have column {}, and it does not say which is meant", quoted(self.column))).help(help)
    }

    /// Nothing is called as what stands before the column.
    fn of_nobody(&self, owner: &str) -> Diagnostic {
        let written = quoted(self.written);
        if let Some((_, called)) = self.called.iter().find(|(table, _)| table.eq_ignore_ascii_case(owner)) {
            let message = format!("the query calls table {} {}, so it cannot read {written}", quoted(owner), quoted(called));
            return self.say(message).help(format!("write {called}.{}", self.column));
        }
        let names: Vec<&str> = self.called.iter().map(|(_, called)| *called).collect();
        let near = did_you_mean(owner, names.iter().copied());
        let message = format!("the query reads {written}, but nothing in it is called {}{near}", quoted(owner));
        let help = if names.is_empty() { "name a table of the query".to_owned() } else { format!("use one of: {}", listed(&names)) };
        self.say(message).near(near).help(help)
    }

    /// A text in double quotes.
    fn quoted_text(&self, text: &str) -> Option<Diagnostic> {
        if foreign_around(self.query.text, self.at).is_some() {
            return None;
        }
        let found = self.say(format!("{} in double quotes is a column, and no table of the query has it", quoted(text)));
        let plain = text.trim().to_lowercase().replace([' ', '-'], "_");
        Some(match self.columns().find(|name| name.to_lowercase() == plain) {
            Some(name) => found.help(format!("write {name}")),
            None => found.help(format!("write '{}' if it is a text", text.replace('\'', "''"))).help(with_columns(&self.tables)),
        })
    }

    /// What stands where names belong is data: the file has no first line of names.
    fn without_names(&self) -> Option<Diagnostic> {
        let [(table, header)] = self.tables.as_slice() else { return None };
        let data = self.file.data.get(*table)?;
        let (_, place) = data.oddities.iter().find(|(odd, _)| *odd == TableOddity::NoNames)?;
        let first = diagnostic::one_line(&header.join(","), 60);
        let message = format!("the file of table {} has no names of columns: its first line is \"{first}\"", quoted(table));
        let file = match place {
            Some(place) => (*place, format!("write a line with the names of the {} columns above this one", header.len())),
            None => (data.file.span, "this file".to_owned()),
        };
        // In the order in which the query reads them.
        let asked: Vec<&str> = self.query.text.split_whitespace().skip(1).take_while(|word| !word.eq_ignore_ascii_case("from")).collect();
        let asked = asked.join("");
        let asked = asked.split(',').map(str::to_owned).filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let named: Vec<String> = asked.chain([self.column.to_owned()]).collect();
        let first = if named.len() > 1 { named[..named.len() - 1].join(",") } else { self.column.to_owned() };
        let help = format!("write a first line into the file with the name of each of its {} columns, such as {first},…", header.len());
        Some(Diagnostic { related: vec![file], ..self.say(message).help(help) })
    }

    fn unknown(&self, owner: Option<&str>) -> Diagnostic {
        let near = did_you_mean(self.column, self.columns());
        let which = match self.tables.as_slice() {
            [(table, _)] => format!("table {} does not have", quoted(table)),
            _ => "none of its tables has".to_owned(),
        };
        let owned = |name: &str| format!("{}{name}", owner.map(|owner| format!("{owner}.")).unwrap_or_default());
        let help = match (akin(self.column, self.columns()), near.names.first()) {
            _ if self.tables.is_empty() => "use a column that the query in brackets or behind \"with\" gives".to_owned(),
            (Some(name), None) => format!("write {}; or {}", owned(name), with_columns(&self.tables)),
            (_, Some(name)) => format!("write {}", owned(name)),
            (None, None) => with_columns(&self.tables),
        };
        self.say(format!("the query reads column {}, which {which}{near}", quoted(self.column))).near(near).help(help)
    }
}

/// A table of a file whose columns are known.
fn header<'q>(file: &'q Pipeline, table: &str) -> Option<TableColumns<'q>> {
    let (name, data) = file.data.iter().find(|(name, _)| name.eq_ignore_ascii_case(table))?;
    Some((name, data.header.as_deref()?))
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
