//! What a query refers to, according to DuckDB's own parser: no decision is based on the query's text.
//!
//! DuckDB has no authorizer like SQLite's. Instead, it serializes the parsed query as JSON (`json_serialize_sql`), and every part, table and function
//! in it must be allowed before the query is prepared.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use duckdb::{Connection, params};
use serde_json::Value;

use super::super::guard::{may_not_read, only_reads};
use super::super::query::{empty, same_name, several, with_tables};
use super::super::sentence::{bad_request, denied};
use super::{functions, messages};
use crate::event::Failure;
use crate::port::TableSource;

/// The allowed parts of a query that are neither expressions nor types. Deliberately missing: `SHOW_REF` (describe, show, summarize) and everything
/// that a person does not write (`DELIM_GET`, `COLUMN_DATA` …).
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE",
    "BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT",
    "ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
];
/// The allowed kinds of expressions.
#[rustfmt::skip]
const EXPRESSIONS: &[&str] = &[
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "DEFAULT", "FUNCTION", "LAMBDA",
    "LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW",
];

/// Maximum number of inner queries, in brackets or after `with`, and of `*`. Each inner query may double the planning time, and planning cannot be
/// interrupted.
const MOST_INNER: usize = 20;
const MOST_STARS: usize = 100;

/// A checked query: one statement that only reads, and only calls allowed functions.
pub(super) struct Inspected {
    /// Its parameters, as written: `$name`, or `?`.
    pub(super) places: BTreeSet<String>,
    /// The tables it reads, without a database or schema name.
    tables: BTreeSet<String>,
    /// Names that the query may define itself (`with name as …`).
    own: HashSet<String>,
}

/// An object of the JSON.
#[derive(Default)]
struct JsonObject {
    parent: Option<u64>,
    /// Its key in the enclosing object.
    key: String,
    words: BTreeMap<String, String>,
}

impl JsonObject {
    fn word(&self, key: &str) -> &str {
        self.words.get(key).map_or("", String::as_str)
    }
}

/// Parses the query and checks every part of it.
pub(super) fn inspect(connection: &Connection, query: &str) -> Result<Inspected, Failure> {
    // DuckDB treats a zero byte as the end of the text, so the rest would not be checked.
    if query.contains('\0') {
        return Err(bad_request("The query contains a zero byte. Remove it."));
    }
    let broken = |error: duckdb::Error| messages::internal(&error);
    let json: String = connection.query_row("SELECT json_serialize_sql($1::VARCHAR)", [query], |row| row.get(0)).map_err(broken)?;
    if json.starts_with("{\"error\":true") {
        return Err(not_parsed(&json, query));
    }
    let statements: i64 =
        connection.query_row("SELECT json_array_length($1::VARCHAR, '$.statements')", [&json], |row| row.get(0)).map_err(broken)?;
    match statements {
        0 => return Err(empty()),
        1 => {}
        _ => return Err(several()),
    }
    let nodes = nodes(connection, &json).map_err(broken)?;
    for (most, what, found) in [
        (MOST_INNER, "queries in itself", nodes.values().filter(|node| ["query", "subquery"].contains(&node.key.as_str())).count()),
        (MOST_STARS, "*", nodes.values().filter(|node| node.word("class") == "STAR").count()),
    ] {
        if found > most {
            return Err(bad_request(format!("The query contains more than {most} {what}. Ask in several steps.")));
        }
    }
    let mut inspected = Inspected { places: BTreeSet::new(), tables: BTreeSet::new(), own: HashSet::new() };
    for node in nodes.values() {
        inspected.see(node, &nodes)?;
    }
    Ok(inspected)
}

/// The objects of the JSON, outer ones first. DuckDB also reads the JSON, because it may be deeply nested.
fn nodes(connection: &Connection, json: &str) -> duckdb::Result<BTreeMap<u64, JsonObject>> {
    const PARTS_AND_WORDS: &str = "SELECT id, parent, key, type = 'OBJECT', atom ->> '$' FROM json_tree($1::VARCHAR)
        WHERE type = 'OBJECT' OR key IN ('type', 'class', 'function_name', 'table_name', 'schema_name', 'catalog_name', 'schema', 'catalog',
        'identifier', 'key', 'cte_name')";
    let mut nodes: BTreeMap<u64, JsonObject> = BTreeMap::new();
    let mut statement = connection.prepare(PARTS_AND_WORDS)?;
    let mut rows = statement.query(params![json])?;
    while let Some(row) = rows.next()? {
        let (id, parent): (u64, Option<u64>) = (row.get(0)?, row.get(1)?);
        let key = row.get::<_, Option<String>>(2)?.unwrap_or_default();
        if row.get(3)? {
            let node = nodes.entry(id).or_default();
            (node.parent, node.key) = (parent, key);
        } else if let (Some(parent), Some(word)) = (parent, row.get::<_, Option<String>>(4)?) {
            nodes.entry(parent).or_default().words.insert(key, word);
        }
    }
    Ok(nodes)
}

impl Inspected {
    fn see(&mut self, node: &JsonObject, nodes: &BTreeMap<u64, JsonObject>) -> Result<(), Failure> {
        let (class, kind) = (node.word("class"), node.word("type"));
        let is_known = match class {
            "" => kind.is_empty() || kind.ends_with("_TYPE_INFO") || PARTS.contains(&kind),
            class => EXPRESSIONS.contains(&class),
        };
        if !is_known {
            let part = if class.is_empty() { kind } else { class };
            let what = if part == "SHOW_REF" { "describe, show or summarize".to_owned() } else { format!("this part of SQL: {part}") };
            return Err(denied(format!("A query may not use {what}.")));
        }
        if let Some(function) = node.words.get("function_name") {
            let around = node.parent.and_then(|parent| nodes.get(&parent));
            let is_table = node.key == "function" && around.is_some_and(|around| around.word("type") == "TABLE_FUNCTION");
            let is_allowed = if is_table { functions::is_allowed_table(function) } else { functions::is_allowed(function) };
            let is_elsewhere = ["schema", "catalog"].iter().any(|key| !["", "main", "system"].contains(&node.word(key)));
            if !is_allowed || is_elsewhere {
                return Err(denied(format!("A query may not call the function {function}.")));
            }
        }
        match kind {
            "BASE_TABLE" if !matches!((node.word("catalog_name"), node.word("schema_name")), ("", "" | "main")) => {
                let name = ["catalog_name", "schema_name", "table_name"].map(|key| node.word(key));
                let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
                let sentence = format!("The query may not read \"{name}\": a table has no name of a database in front.");
                return Err(denied(sentence));
            }
            "BASE_TABLE" => drop(self.tables.insert(node.word("table_name").to_owned())),
            "VALUE_PARAMETER" => {
                let name = node.word("identifier");
                let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
                self.places.insert(if is_number { "?".to_owned() } else { format!("${name}") });
            }
            _ => {}
        }
        self.own.extend(["key", "cte_name"].into_iter().filter_map(|key| node.words.get(key)).map(|name| name.to_lowercase()));
        Ok(())
    }

    /// The tables of the request that the query reads. Any other name it reads must be defined by the query itself and must not hide an internal
    /// table of DuckDB.
    pub(super) fn tables<'a>(&self, connection: &Connection, request: &'a [TableSource]) -> Result<Vec<&'a TableSource>, Failure> {
        let mut used = Vec::new();
        for name in &self.tables {
            if let Some(table) = request.iter().find(|table| same_name(&table.name, name)) {
                used.push(table);
                continue;
            }
            let is_inner = is_inner(connection, name).map_err(|error| messages::internal(&error))?;
            let is_plain = name.chars().all(|character| character.is_alphanumeric() || character == '_');
            if is_inner || !is_plain {
                return Err(may_not_read(name, request.iter().map(|table| table.name.as_str())));
            }
            if !self.own.contains(&name.to_lowercase()) {
                let missing = bad_request(format!("DuckDB: no such table: {name}."));
                return Err(with_tables(missing, request));
            }
        }
        Ok(used)
    }
}

/// Whether DuckDB has an internal table or view of this name.
fn is_inner(connection: &Connection, name: &str) -> duckdb::Result<bool> {
    let inner = "SELECT count(*) FROM (SELECT view_name AS name FROM duckdb_views() WHERE internal
        UNION ALL SELECT table_name FROM duckdb_tables() WHERE internal) WHERE lower(name) = lower($1)";
    connection.query_row(inner, [name], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// Explains why a query was not parsed. The JSON of an error is small and flat.
fn not_parsed(json: &str, query: &str) -> Failure {
    let error: Value = serde_json::from_str(json).unwrap_or_default();
    let word = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    match word("error_type") {
        "not implemented" => only_reads(),
        _ => messages::of_query(word("error_message"), word("position"), query),
    }
}
