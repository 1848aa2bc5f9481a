//! Values for the `$name` places of a query: the only way in (language.md, `sql`).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Statement;
use rusqlite::types::Value as Sql;
use serde_json::Value;

use super::sentence::{failure, listed};
use crate::event::Failure;
use crate::model::FailureKind;

/// The values of `with`, and which of them no place has asked for yet.
pub(super) struct BoundValues<'a> {
    with: &'a BTreeMap<String, Value>,
    unused: BTreeSet<&'a str>,
}

impl<'a> BoundValues<'a> {
    /// Of a request.
    pub(super) fn new(with: &'a BTreeMap<String, Value>) -> BoundValues<'a> {
        BoundValues { with, unused: with.keys().map(String::as_str).collect() }
    }

    /// The value of a place as it is written. A place without a value and other kinds of places (`?`, `:name`) are `bad_request`.
    pub(super) fn of<'w>(&mut self, written: &'w str) -> Result<(&'w str, &'a Value), Failure> {
        let Some(name) = written.strip_prefix('$') else {
            let plain = written.trim_start_matches(['?', ':', '@']);
            let name = if plain.chars().next().is_some_and(char::is_alphabetic) { plain } else { "name" };
            return Err(bad_request(format!(
                "A value is filled in by name: write ${name} instead of {written}, and give it under `with`."
            )));
        };
        let Some(value) = self.with.get(name) else {
            let have = listed(self.with.keys().map(String::as_str));
            return Err(bad_request(format!("The query has ${name}, but `with` has no value of that name (it has: {have}).")));
        };
        self.unused.remove(name);
        Ok((name, value))
    }

    /// A value without a place is `bad_request`.
    pub(super) fn all_used(&self) -> Result<(), Failure> {
        match self.unused.first() {
            None => Ok(()),
            Some(name) => {
                Err(bad_request(format!("`with` has a value \"{name}\", but the query has no ${name}. Use it, or take it out of `with`.")))
            }
        }
    }
}

/// Binds every place of a query of SQLite.
pub(super) fn bind(statement: &mut Statement<'_>, with: &BTreeMap<String, Value>) -> Result<(), Failure> {
    let mut values = BoundValues::new(with);
    for place in 1..=statement.parameter_count() {
        let written = statement.parameter_name(place).unwrap_or("?").to_owned();
        let (name, value) = values.of(&written)?;
        let value = to_sql(name, value)?;
        statement.raw_bind_parameter(place, value).map_err(|error| not_bound(name, &error))?;
    }
    values.all_used()
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

/// A value its engine refuses.
pub(super) fn not_bound(name: &str, error: &dyn std::fmt::Display) -> Failure {
    bad_request(format!("The value of ${name} cannot be used: {error}."))
}

/// A query that has to be written in another way.
pub(super) fn bad_request(sentence: impl AsRef<str>) -> Failure {
    failure(FailureKind::BadRequest, sentence)
}
