//! The queries of a pipeline as rules ask about them: each is read once, beside the engine that answers it and what that said of it.

use std::ops::Deref;

use crate::model::{Pipeline, PreparedQuery, QueryMistake, SqlEngine, WrittenQuery};
use crate::sql::ReadQuery;

/// A query that rules ask about.
pub(in crate::rules) struct AskedQuery<'p> {
    written: WrittenQuery<'p>,
    /// What its words tell.
    pub(in crate::rules) read: ReadQuery<'p>,
    /// Which engine answers it.
    pub(in crate::rules) engine: SqlEngine,
    /// Why it fails, as that engine says.
    pub(in crate::rules) mistake: Option<&'p QueryMistake>,
}

impl<'p> AskedQuery<'p> {
    /// All queries of a pipeline.
    pub(in crate::rules) fn all(file: &'p Pipeline) -> Vec<AskedQuery<'p>> {
        let of_duckdb = |text: &str| {
            let mut tables = file.data.iter().filter(|(_, data)| data.engine() == SqlEngine::DuckDb);
            tables.any(|(name, _)| crate::sql::mentions(text, name))
        };
        let ask = |written: WrittenQuery<'p>| AskedQuery {
            read: ReadQuery::new(written.text),
            engine: if of_duckdb(written.text) { SqlEngine::DuckDb } else { SqlEngine::Sqlite },
            mistake: match file.prepared.get(written.text) {
                Some(PreparedQuery::Fails(mistake)) => Some(mistake),
                Some(PreparedQuery::Gives(_)) | None => None,
            },
            written,
        };
        file.queries().into_iter().map(ask).collect()
    }
}

impl<'p> Deref for AskedQuery<'p> {
    type Target = WrittenQuery<'p>;

    fn deref(&self) -> &WrittenQuery<'p> {
        &self.written
    }
}
