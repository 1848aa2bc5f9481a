//! What a query gives of columns with personal data: as SQLite says, where it compiled the query and passes a column on; else as far as its words tell.

use indexmap::IndexMap;

use super::files::tables_of_run;
use crate::model::{CompiledQuery, Data, Pipeline, PreparedQuery};
use crate::plan::Plan;
use crate::source::normalised;
use crate::sql::{Name, ReadQuery};

/// The query of a step, with the tables that it sees.
#[derive(Debug)]
pub struct StepQuery<'p> {
    /// What its words tell.
    pub read: ReadQuery<'p>,
    compiled: Option<&'p CompiledQuery>,
    data: &'p IndexMap<String, Data>,
}

/// The columns of the rows that somebody asks for.
struct AskedColumns<'p> {
    /// Those that are columns of tables, as they are.
    passed_on: Vec<(&'p str, &'p str)>,
    /// Whether all of them are.
    is_all: bool,
}

impl AskedColumns<'_> {
    fn passes_on(&self, table: &str, column: &str) -> bool {
        self.passed_on.iter().any(|(own, name)| own.eq_ignore_ascii_case(table) && name.eq_ignore_ascii_case(column))
    }
}

impl<'p> StepQuery<'p> {
    /// A query of a pipeline.
    pub fn new(query: &'p str, pipeline: &'p Pipeline) -> StepQuery<'p> {
        StepQuery::on_tables(query, pipeline.prepared.get(query), &pipeline.data)
    }

    fn on_tables(query: &'p str, prepared: Option<&'p PreparedQuery>, data: &'p IndexMap<String, Data>) -> StepQuery<'p> {
        let compiled = match prepared {
            Some(PreparedQuery::Gives(compiled)) => Some(compiled),
            Some(PreparedQuery::Fails(_)) | None => None,
        };
        StepQuery { read: ReadQuery::new(query), compiled, data }
    }

    /// The first personal column that it gives: its place, and `table.column`. `only`: where a column of its rows of another name is none.
    pub fn personal(&self, only: Option<&str>) -> Option<(Name<'p>, String)> {
        let asked = self.asked(only);
        let is_meant = |table: &str, column: &str| match asked.is_all {
            true => asked.passes_on(table, column),
            false => self.compiled.is_none_or(|compiled| compiled.may_read(table, column)),
        };
        let whole = Name { text: self.read.text, start: 0 };
        let Some(names) = self.read.names() else {
            // What cannot be taken apart may give all that it mentions.
            let mut marked = self.marked().filter(|(table, column)| is_meant(table, column));
            let (table, column) = marked.find(|(table, _)| self.read.mentions(table))?;
            return Some((whole, format!("{table}.{column}")));
        };
        let is_plain = self.read.is_plain();
        let by_words = names.gives.iter().find_map(|given| {
            let (table, data) = self.data.iter().find(|(name, _)| name.eq_ignore_ascii_case(given.table))?;
            let is_given = |column: &str| (given.column == "*" || column.eq_ignore_ascii_case(given.column)) && is_meant(table, column);
            let column = data.pii.iter().find(|column| is_given(&column.value))?;
            // A column may have another name in the rows, so only one that is no personal one of its table is left out.
            let is_other = match given.column {
                "*" => given.keeps_names() && is_open_column(data, only),
                _ => only.is_some_and(|only| given.is_called_otherwise(only)),
            };
            (!(is_plain && is_other)).then(|| (given.place, format!("{table}.{}", column.value)))
        });
        // Under a name that the words do not show.
        by_words.or_else(|| {
            let (table, column) = self.marked().find(|(table, column)| asked.passes_on(table, column))?;
            Some((whole, format!("{table}.{column}")))
        })
    }

    /// A personal column of a table that it mentions and that it may give: `table.column`. What is marked in one table of a database may be in another, or
    /// in a view.
    pub fn perhaps_personal(&self, plan: &Plan, only: Option<&str>) -> Option<String> {
        let asked = self.asked(only);
        let is_plain = self.read.is_plain();
        let is_understood = self.read.names().is_some_and(|names| {
            only.is_some() && is_plain && !names.gives.is_empty() && names.gives.iter().all(|given| given.column != "*" && given.is_named())
        });
        self.data.iter().filter(|(table, _)| self.read.mentions(table)).find_map(|(table, data)| {
            let is_by_words = !(is_understood || is_plain && is_open_column(data, only));
            let of_file = |other: &Data| normalised(&other.file.value) == normalised(&data.file.value);
            let mut marked = tables_of_run(plan).filter(|(_, other)| of_file(other)).flat_map(|(_, other)| &other.pii);
            let column = marked.find(|column| match self.compiled {
                Some(_) if asked.is_all => asked.passes_on(table, &column.value),
                Some(compiled) if !compiled.may_read(table, &column.value) => false,
                // It is read, and the words do not show where.
                Some(CompiledQuery { reads: Some(_), .. }) if !self.read.sees(&column.value) => true,
                Some(_) | None => is_by_words && self.read.may_give(table, &column.value),
            })?;
            Some(format!("{table}.{}", column.value))
        })
    }

    /// The columns of its rows of this name; all, if it is not known which that is.
    fn asked(&self, only: Option<&str>) -> AskedColumns<'p> {
        let Some(compiled) = self.compiled else { return AskedColumns { passed_on: vec![], is_all: false } };
        let is_one = |name: &str| only.is_none_or(|only| name.eq_ignore_ascii_case(only));
        let is_known = compiled.columns.iter().any(|name| is_one(name));
        let asked = compiled.columns.iter().zip(&compiled.origins).filter(|(name, _)| !is_known || is_one(name)).map(|(_, origin)| origin);
        let passed_on = asked.clone().flatten().map(|(table, column)| (table.as_str(), column.as_str())).collect();
        AskedColumns { passed_on, is_all: asked.clone().all(Option::is_some) }
    }

    /// The marked columns of its tables.
    fn marked(&self) -> impl Iterator<Item = (&'p str, &'p str)> {
        self.data.iter().flat_map(|(table, data)| data.pii.iter().map(|column| (table.as_str(), column.value.as_str())))
    }
}

/// Whether a table has this column, and it is not personal.
fn is_open_column(data: &Data, only: Option<&str>) -> bool {
    only.is_some_and(|only| {
        data.header.as_ref().is_some_and(|header| header.iter().any(|name| name == only))
            && !data.pii.iter().any(|column| column.value.eq_ignore_ascii_case(only))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::DataKind;
    use crate::source::{Span, Spanned};

    fn table(pii: &[&str]) -> Data {
        Data {
            file: Spanned::new(PathBuf::new(), Span::default()),
            kind: DataKind::Csv,
            table: None,
            pii: pii.iter().map(|name| Spanned::new((*name).to_owned(), Span::default())).collect(),
            is_untrusted: false,
            form: Default::default(),
            columns: IndexMap::new(),
            engine: None,
            header: None,
            oddities: vec![],
            looks: Default::default(),
        }
    }

    fn given_by(query: &str) -> String {
        let data = IndexMap::from([("people".to_owned(), table(&["name", "phone"])), ("projects".to_owned(), table(&[]))]);
        StepQuery::on_tables(query, None, &data).personal(None).map_or(String::new(), |(_, name)| name)
    }

    #[test]
    fn a_column_is_given_when_it_is_selected() {
        for query in [
            "select phone from people",
            "SELECT p.Phone FROM people AS p, projects",
            "select id, upper(phone) as x from people where id = $id",
            "select \"phone\" from people p",
            "select p.phone from people p join visits v on p.id = v.person",
            "select x from (select phone as x from people)",
            "select 'a', (select phone from people limit 1)",
            "values ((select phone from people))",
            "with x as (select phone as z from people) select z from x",
            "with x(z) as (select phone from people) select z from x",
            "with x as (select id, p.phone from people p), y as (select phone from x) select y.phone from y",
            "with x as (select upper(phone) as z, id from people) select id, z || '!' from x",
            "with recursive x as not materialized (select id as z from projects union select p.phone from people p) select z from x",
        ] {
            assert_eq!(given_by(query), "people.phone", "{query}");
        }
        assert_eq!(given_by("select * from people"), "people.name");
        assert_eq!(given_by("with x as (select * from people) select * from x"), "people.name");
        assert_eq!(given_by("with x as (select name, id from people) select name from x"), "people.name");
        assert_eq!(given_by("select * from projects, people"), "people.name");
        assert_eq!(given_by("select p.* from people p"), "people.name");
        // A bare name is a column of one of the tables; the query would be rejected if it were one of both.
        assert_eq!(given_by("select name from projects, people"), "people.name");
        assert_eq!(given_by("select name from people join visits on people.id = visits.person"), "people.name");
    }

    #[test]
    fn what_only_decides_or_is_counted_is_not_given() {
        for query in [
            "select id from people where phone = $phone",
            "select count(phone) from people",
            "select count(*) from people",
            "select id from projects where owner in (select name from people)",
            "select name from projects",
            "select projects.name from projects, people",
            "with x as (select name, id from people) select id from x",
            "with x as (select count(name) as name from people) select name from x",
            "values (1, 'phone')",
            "select id from projects where owner in (values ((select name from people)))",
            "select id, 'phone' from people -- phone",
            "select id from people order by name",
            "select weekly_target from people",
            "select p.name, sum(e.hours) from entries e join projects p on p.id = e.project group by p.name",
        ] {
            assert_eq!(given_by(query), "", "{query}");
        }
    }

    #[test]
    fn what_sqlite_says_of_a_column_goes_before_what_its_words_tell() {
        let data = IndexMap::from([("people".to_owned(), table(&["phone"])), ("desks".to_owned(), table(&[]))]);
        let column = |name: &str| name.split_once('.').map(|(table, column)| (table.to_owned(), column.to_owned()));
        for (query, origins, reads, by_words, compiled) in [
            (
                "select id, (select max(phone) from desks d where d.person = p.id) as p from people p",
                vec!["people.id", "-"],
                vec!["people.id", "desks.phone", "desks.person"],
                "people.phone",
                "",
            ),
            ("select people.'phone' as p from people", vec!["people.phone"], vec!["people.phone"], "", "people.phone"),
            ("select city from people where phone = 1", vec!["people.city"], vec!["people.city", "people.phone"], "", ""),
            ("select phone || city as p from people", vec!["-"], vec!["people.city", "people.phone"], "people.phone", "people.phone"),
        ] {
            let origins: Vec<_> = origins.into_iter().map(column).collect();
            let known = PreparedQuery::Gives(CompiledQuery {
                columns: vec!["id".to_owned(), "p".to_owned()].split_off(2 - origins.len()),
                names_its_columns: true,
                origins,
                reads: Some(reads.into_iter().filter_map(column).collect()),
            });
            for (prepared, given) in [(None, by_words), (Some(&known), compiled)] {
                let personal = StepQuery::on_tables(query, prepared, &data).personal(None);
                assert_eq!(personal.map_or(String::new(), |(_, name)| name), given, "{query}");
            }
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for query in [
            "", "'", "\"", "/*", "--", "select ((((", "select é from people", "))))", "`", "select * from", "$", "with", "with x",
            "with x as (", "with x(a as (select", "with x as )(,",
        ] {
            given_by(query);
        }
    }
}
