//! Who a run is for: the row of the person's table.

use serde_json::{Map, Value};

use crate::engine::{PersonFrom, person, person_fields};
use crate::model::Pipeline;
use crate::port::SqlDatabase;

/// Why a run has no person; it does not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPerson {
    /// The inputs name nobody; the sentence holds what they name.
    #[error("{0}")]
    Unknown(String),
    /// The table cannot be asked.
    #[error("person: {0}")]
    Unavailable(String),
}

/// The fields of the person a run is for, from its checked inputs; empty when the pipeline has no `person`.
///
/// # Errors
/// No such person, or a table that cannot be read.
pub async fn find_person(
    pipeline: &Pipeline,
    inputs: &Map<String, Value>,
    database: &dyn SqlDatabase,
) -> Result<Map<String, Value>, NoPerson> {
    match person(pipeline, inputs).map_err(|problem| NoPerson::Unknown(format!("person: {problem}")))? {
        PersonFrom::Known(person) => Ok(person),
        PersonFrom::Row { id, table, query } => {
            let rows = database.query(query).await.map_err(|failure| NoPerson::Unavailable(failure.message))?;
            let missing = || NoPerson::Unknown(format!("there is no person \"{id}\" in table \"{table}\""));
            rows.rows.first().map(person_fields).ok_or_else(missing)
        }
    }
}
