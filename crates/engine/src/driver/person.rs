//! Finds the person of a run in the table of people.

use serde_json::{Map, Value};

use crate::event::{Failure, FailureKind};
use crate::model::Pipeline;
use crate::port::SqlDatabase;
use crate::{PersonFrom, PersonTextError, person, person_fields, zone_problem};

/// The person of a run, as far as known.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPerson {
    /// The person's fields; empty when the pipeline has no `person`.
    pub fields: Map<String, Value>,
    /// Set if the table could not be read, so that only `id` is known, or if the person's time zone does not exist. The run then starts with this
    /// failure and fails, and its `on_failure` runs.
    pub failure: Option<Failure>,
}

/// Why the person of a run could not be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is about")]
pub enum PersonError {
    #[error("person \"{id}\" not found in table \"{table}\"")]
    Unknown { id: String, table: String },
    #[error("person: {0}")]
    Text(#[from] PersonTextError),
}

impl FoundPerson {
    fn from_fields(fields: Map<String, Value>) -> FoundPerson {
        let failure = zone_problem(&fields).map(|message| Failure::new(FailureKind::WrongType, message));
        FoundPerson { fields, failure }
    }

    /// Builds the person from the query result: the person's row, no row, or a failure.
    ///
    /// # Errors
    /// Fails if there is no such person.
    pub fn of_row(id: &str, table: &str, row: Result<Option<Map<String, Value>>, Failure>) -> Result<FoundPerson, PersonError> {
        match row {
            Ok(Some(row)) => Ok(FoundPerson::from_fields(person_fields(&row))),
            Ok(None) => Err(PersonError::Unknown { id: id.to_owned(), table: table.to_owned() }),
            Err(failure) => {
                let known = Map::from_iter([("id".to_string(), Value::from(id))]);
                let message = format!("person: {}", failure.message);
                Ok(FoundPerson { fields: person_fields(&known), failure: Some(Failure { message, ..failure }) })
            }
        }
    }
}

/// Finds the person of a run from its checked inputs.
///
/// # Errors
/// Fails if there is no such person, or if the texts of `person` cannot be filled in.
pub async fn find_person(pipeline: &Pipeline, inputs: &Map<String, Value>, database: &dyn SqlDatabase) -> Result<FoundPerson, PersonError> {
    match person(pipeline, inputs)? {
        PersonFrom::Known(fields) => Ok(FoundPerson::from_fields(fields)),
        PersonFrom::Row { id, table, query } => {
            let answer = database.query(query).await;
            FoundPerson::of_row(&id, &table, answer.map(|rows| rows.rows.into_iter().next()))
        }
    }
}
