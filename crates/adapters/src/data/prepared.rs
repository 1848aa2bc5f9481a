//! Queries that are compiled for a check, and never run: by the same SQLite with the same functions and guard as in a run, against empty tables.

use std::collections::{BTreeMap, HashSet};

use rusqlite::{Connection, Error, Statement};

use super::database::{connect, without_end};
use super::guard::{Guard, allowed_like};
use super::personal::{is_compound, is_merging};
use super::query::{quoted, result_names, sqlite_sentence};
use crate::model::{CompiledQuery, PreparedQuery, QueryFault, QueryMistake};
use crate::sql::{MOST_QUERY_BYTES, ReadQuery};

/// What SQLite says of each query; `None`: it cannot be said. `tables`: the columns of each table, by its name.
pub(crate) fn prepare(tables: &BTreeMap<&str, &[String]>, queries: &[&str]) -> Vec<Option<PreparedQuery>> {
    let prepared = connect().and_then(|mut connection| {
        let mut names = HashSet::new();
        for (name, columns) in tables {
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            // A table that cannot be made, such as one of too many columns, is not known.
            if connection.execute_batch(&format!("CREATE TABLE main.{} ({})", quoted(name), columns.join(", "))).is_ok() {
                names.insert(name.to_lowercase());
            }
        }
        queries.iter().map(|query| one(&mut connection, &names, query)).collect()
    });
    prepared.unwrap_or_else(|_: Error| vec![None; queries.len()])
}

fn one(connection: &mut Connection, tables: &HashSet<String>, query: &str) -> rusqlite::Result<Option<PreparedQuery>> {
    if query.len() > MOST_QUERY_BYTES {
        return Ok(None);
    }
    let guard = Guard::compiling(connection, tables.clone())?;
    let compiled = connection.prepare(without_end(query)).map(|statement| match statement.column_count() {
        // The authorizer does not see VACUUM and similar statements.
        _ if !statement.readonly() => Err(QueryFault::Writes),
        0 => Err(QueryFault::Empty),
        _ => Ok(compiled(query, tables, &statement, &guard)),
    });
    Guard::lift(connection)?;
    let wrong = |fault, at| Some(PreparedQuery::Fails(QueryMistake { fault, at }));
    Ok(match compiled {
        Ok(Ok(compiled)) => Some(PreparedQuery::Gives(compiled)),
        Ok(Err(fault)) => wrong(fault, None),
        Err(Error::MultipleStatement) => wrong(QueryFault::Several, None),
        Err(error) => {
            let at = match &error {
                Error::SqlInputError { offset, .. } => usize::try_from(*offset).ok(),
                _ => None,
            };
            guard.refused().or_else(|| fault(connection, &error)).and_then(|fault| wrong(fault, at))
        }
    })
}

/// What is known of a query that can run.
fn compiled(query: &str, tables: &HashSet<String>, statement: &Statement<'_>, guard: &Guard) -> CompiledQuery {
    let names_its_columns = ReadQuery::new(query).names_its_columns();
    let is_merging = is_merging(query);
    // With `*` in it, the place of a column depends on the order of the columns in a file, which may change.
    let is_sure = names_its_columns && !is_merging && !is_compound(query);
    let origin = |column: &rusqlite::ColumnMetadata<'_>| {
        let (table, column) = column.table_name().zip(column.origin_name())?;
        // What a function such as `json_each` makes is made of other columns.
        (is_sure && tables.contains(&table.to_lowercase())).then(|| (table.to_owned(), column.to_owned()))
    };
    CompiledQuery {
        columns: result_names(statement),
        names_its_columns,
        origins: statement.columns_with_metadata().map(|column| origin(&column)).collect(),
        reads: (!is_merging).then(|| guard.reads()),
    }
}

/// What is wrong, by SQLite's own messages; `None`: nothing that is wrong with the query for certain.
fn fault(connection: &Connection, error: &Error) -> Option<QueryFault> {
    let sentence = sqlite_sentence(error);
    let rest = |start: &str| sentence.strip_prefix(start).map(str::to_owned);
    let function = |name: &str| name.trim_end_matches("()").to_owned();
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
        return None;
    }
    Some(if sentence.ends_with(": syntax error") {
        QueryFault::Syntax
    } else if sentence == "incomplete input" {
        QueryFault::Incomplete
    } else if let Some(token) = rest("unrecognized token: ") {
        QueryFault::Unreadable(token.trim_matches('"').to_owned())
    } else if let Some(name) = rest("no such column: ") {
        match name.split_once(" - should this be a string literal") {
            Some((name, _)) => QueryFault::QuotedText(name.trim_matches('"').to_owned()),
            None => QueryFault::UnknownColumn(name),
        }
    } else if let Some(name) = rest("no such table: ") {
        QueryFault::UnknownTable(name.strip_prefix("main.").map(str::to_owned).unwrap_or(name))
    } else if let Some(name) = rest("ambiguous column name: ") {
        QueryFault::AmbiguousColumn(name)
    } else if let Some(name) = rest("no such function: ") {
        let name = function(&name);
        let near = allowed_like(&name);
        QueryFault::UnknownFunction(name, near)
    } else if let Some(name) = rest("wrong number of arguments to function ") {
        let name = function(&name);
        QueryFault::ArgumentCount(name.clone(), counts(connection, &name).unwrap_or_default())
    } else if sentence.starts_with("misuse of ") {
        QueryFault::Aggregate
    } else {
        QueryFault::Other(sentence)
    })
}

/// How many values a function takes; none: it is not said.
fn counts(connection: &Connection, function: &str) -> rusqlite::Result<Vec<u32>> {
    let list = "SELECT DISTINCT narg FROM pragma_function_list WHERE name = lower(?1) ORDER BY narg";
    let counts: Vec<i64> = connection.prepare(list)?.query_map([function], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // A negative one means any number.
    Ok(counts.into_iter().map(u32::try_from).collect::<Result<_, _>>().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(query: &str) -> Option<PreparedQuery> {
        let columns = ["day", "hours"].map(str::to_owned);
        prepare(&BTreeMap::from([("entries", columns.as_slice())]), &[query]).remove(0)
    }

    fn fails(fault: QueryFault, at: Option<usize>) -> Option<PreparedQuery> {
        Some(PreparedQuery::Fails(QueryMistake { fault, at }))
    }

    #[test]
    fn a_query_is_compiled_and_its_columns_are_told() {
        assert_eq!(
            compiled("select *, sum(hours) as total, day from entries where day = $day;;").columns,
            ["day", "hours", "total", "day_2"]
        );
        assert_eq!(compiled("select HOURS from Entries").columns, ["hours"]);
    }

    fn compiled(query: &str) -> CompiledQuery {
        let Some(PreparedQuery::Gives(compiled)) = said(query) else { panic!("{query}") };
        compiled
    }

    #[test]
    fn what_a_column_passes_on_is_told_where_it_is_sure() {
        for (query, origins) in [
            ("select day, upper(day), hours as h from entries", "day - hours"),
            ("with x as (select hours as z, day from entries) select z, 1 from x", "hours -"),
            ("select day from (select * from entries)", "day"),
            ("select (select day from entries) as d, entries.'hours' from entries", "day hours"),
            // The order of the columns of a file decides.
            ("with x(p, q) as (select * from entries) select p from x", "-"),
            ("select * from entries", "- -"),
            // SQLite tells of one part.
            ("select day from entries union select hours from entries", "-"),
            ("select z from (select day as z from entries union select hours from entries)", "-"),
            ("select day from entries join (select 1 as day) using (day)", "-"),
            ("select value from json_each((select day from entries))", "-"),
        ] {
            let told: Vec<String> =
                compiled(query).origins.into_iter().map(|origin| origin.map_or("-".to_owned(), |(_, column)| column)).collect();
            assert_eq!(told.join(" "), origins, "{query}");
        }
        let reads = |query: &str, column: &str| compiled(query).may_read("Entries", column);
        assert!(reads("select day from entries where hours > 1", "Hours") && !reads("select day from entries", "hours"));
        assert!(reads("select day from entries natural full join (select 1 as hours)", "hours"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (query, fault, at) in [
            ("select day form entries", QueryFault::Syntax, Some(16)),
            ("select day from", QueryFault::Incomplete, None),
            ("select day::text from entries", QueryFault::Unreadable(":".to_owned()), Some(10)),
            ("select e.town from entries e", QueryFault::UnknownColumn("e.town".to_owned()), Some(7)),
            ("select day from entries where day = \"x\"", QueryFault::QuotedText("x".to_owned()), Some(36)),
            ("select day from entries a, entries b", QueryFault::AmbiguousColumn("day".to_owned()), Some(7)),
            ("select conut(*) from entries", QueryFault::UnknownFunction("conut".to_owned(), vec!["count".to_owned()]), Some(7)),
            ("select zeroblob(9)", QueryFault::DeniedFunction("zeroblob".to_owned()), Some(7)),
            ("select substr(day) from entries", QueryFault::ArgumentCount("substr".to_owned(), vec![2, 3]), Some(7)),
            ("select day from entries where sum(hours) > 1", QueryFault::Aggregate, Some(30)),
            ("select * from sqlite_schema", QueryFault::DeniedTable("sqlite_master".to_owned()), None),
            ("delete from entries", QueryFault::Writes, None),
            ("vacuum", QueryFault::Writes, None),
            ("select 1; select 2", QueryFault::Several, None),
            ("-- nothing", QueryFault::Empty, None),
        ] {
            assert_eq!(said(query), fails(fault, at), "{query}");
        }
    }

    #[test]
    fn a_table_that_is_not_known_is_named_and_a_query_that_doubles_ends_soon() {
        assert_eq!(said("select town from other"), fails(QueryFault::UnknownTable("other".to_owned()), None));
        let doubled = (1..40).map(|n| format!(", x{n} as (select a.n from x{0} a, x{0} b)", n - 1)).collect::<String>();
        let deep = QueryFault::Other("VIEWs and/or subqueries nested too deep".to_owned());
        assert_eq!(said(&format!("with x0 as (select 1 as n){doubled} select * from x39")), fails(deep, None));
        assert_eq!(said(&"select 1 ".repeat(MOST_QUERY_BYTES)), None);
    }
}
