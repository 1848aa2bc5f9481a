//! Values for the `$name` places of a query: the only way in (language.md, `sql`).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Statement;
use rusqlite::types::Value as Sql;
use serde_json::Value;

use super::sentence::{failure, listed};
use crate::event::Failure;
use crate::model::FailureKind;

/// Binds every place. A place without a value, a value without a place, and other kinds of places are `bad_request`.
pub(super) fn bind(statement: &mut Statement<'_>, with: &BTreeMap<String, Value>) -> Result<(), Failure> {
    let mut unused: BTreeSet<&str> = with.keys().map(String::as_str).collect();
    for place in 1..=statement.parameter_count() {
        let Some(written) = statement.parameter_name(place).map(str::to_owned) else {
            return Err(bad_request("A value is filled in by name: write $name instead of ?, and give it under `with`."));
        };
        let Some(name) = written.strip_prefix('$') else {
            let plain = written.trim_start_matches(['?', ':', '@']);
            let name = if plain.chars().next().is_some_and(char::is_alphabetic) { plain } else { "name" };
            return Err(bad_request(format!(
                "A value is filled in by name: write ${name} instead of {written}, and give it under `with`."
            )));
        };
        let Some(value) = with.get(name) else {
            let have = listed(with.keys().map(String::as_str));
            return Err(bad_request(format!("The query has ${name}, but `with` has no value of that name (it has: {have}).")));
        };
        unused.remove(name);
        let value = to_sql(name, value)?;
        statement
            .raw_bind_parameter(place, value)
            .map_err(|error| bad_request(format!("The value of ${name} cannot be used: {error}.")))?;
    }
    match unused.first() {
        None => Ok(()),
        Some(name) => {
            Err(bad_request(format!("`with` has a value \"{name}\", but the query has no ${name}. Use it, or take it out of `with`.")))
        }
    }
}

fn to_sql(name: &str, value: &Value) -> Result<Sql, Failure> {
    Ok(match value {
        Value::Null => Sql::Null,
        Value::Bool(boolean) => Sql::Integer(i64::from(*boolean)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Sql::Integer(whole),
            (None, Some(other)) if !number.is_u64() => Sql::Real(other),
            _ => return Err(bad_request(format!("The value of ${name} is too large a number for SQLite. Give it as a text."))),
        },
        Value::String(text) => Sql::Text(text.clone()),
        list_or_object => Sql::Text(list_or_object.to_string()),
    })
}

fn bad_request(sentence: impl AsRef<str>) -> Failure {
    failure(FailureKind::BadRequest, sentence)
}
