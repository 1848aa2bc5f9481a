//! Tables and files: answers `sql` steps with SQLite over CSV, TSV, Excel and SQLite files, and reads files for `read` steps.
//!
//! A file's way: `source` (open, decode) → `delimited` or `excel` (rows of cells) → `columns` (names, types) → `load` (a table in
//! memory) → `query` (behind `guard`). SQLite files are attached read-only instead of loaded. `pool` keeps loaded tables between
//! queries; `summary` describes a table with the same queries.
//!
//! How to add a kind of table file: an implementation of [`rows::RowSource`] and its line in `load`.
//! How to add a kind of file to read: a file here and its line in `read`.

mod archive;
mod bind;
mod blocking;
mod columns;
mod content;
mod database;
mod delimited;
mod document;
mod excel;
mod functions;
mod guard;
mod load;
mod names;
mod numeral;
mod pdf;
mod picture;
mod pool;
mod query;
mod read;
mod rows;
mod sentence;
mod source;
mod summary;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::event::Failure;
use crate::model::{FailureKind, SqlEngine};
use crate::port::{FileContent, Pending, QueryRequest, ReadRequest, Reader, Rows, SqlDatabase, TableSource};

use blocking::on_thread;
use pool::Pool;
use sentence::failure;

/// How many queries and files are worked on at once; more wait. Bounds threads and copies of tables in memory.
const AT_ONCE: usize = 4;

/// Both data ports on local files. Cheap to clone; clones share the loaded tables.
#[derive(Clone)]
pub struct DataFiles {
    pool: Arc<Pool>,
    permits: Arc<Semaphore>,
}

impl DataFiles {
    /// With nothing loaded yet.
    pub fn new() -> DataFiles {
        DataFiles { pool: Arc::new(Pool::default()), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Default for DataFiles {
    fn default() -> DataFiles {
        DataFiles::new()
    }
}

impl SqlDatabase for DataFiles {
    fn query(&self, request: QueryRequest) -> Pending<Rows> {
        if request.engine == SqlEngine::DuckDb {
            return Box::pin(std::future::ready(Err(no_duckdb())));
        }
        let pool = Arc::clone(&self.pool);
        on_thread(&self.permits, request.timeout, "The query", move |cancel| {
            let mut database = pool.take(&request.tables)?;
            let rows = database.query(&request, cancel);
            pool.give_back(database);
            rows
        })
    }
}

impl Reader for DataFiles {
    fn read(&self, request: ReadRequest) -> Pending<(FileContent, Vec<TableSource>)> {
        let pool = Arc::clone(&self.pool);
        on_thread(&self.permits, request.timeout, "Reading the file", move |cancel| read::read(&pool, &request, cancel))
    }
}

/// What to do when a file needs the engine that this build lacks (language.md, `data`: another engine never steps in).
fn no_duckdb() -> Failure {
    failure(
        FailureKind::Unavailable,
        "This build of flow has no DuckDB engine, which Parquet and DuckDB files need. Use a build with DuckDB, or save the table as CSV, \
         Excel or SQLite and name that file in `data`.",
    )
}
