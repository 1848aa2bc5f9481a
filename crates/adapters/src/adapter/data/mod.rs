//! Tables and files: answers `sql` steps with SQLite over CSV, TSV, Excel and SQLite files, with DuckDB (feature `duckdb`) over Parquet
//! and DuckDB files, and reads files for `read` steps.
//!
//! A file's way: `source` (open, decode) → `delimited` or `excel` (rows of cells) → `columns` (names, types) → `load` (a table in
//! memory) → `query` (behind `guard`). SQLite files are attached read-only instead of loaded. `pool` keeps loaded tables between
//! queries; `summary` describes a table with the same queries. `engines` says which engine answers, `duck` is the second one.
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
#[cfg(feature = "duckdb")]
mod duck;
mod engines;
mod excel;
mod functions;
mod guard;
mod header;
mod load;
mod names;
mod numeral;
mod pdf;
mod personal;
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
use crate::model::SqlEngine;
use crate::port::{FileContent, FileReader, Pending, QueryRequest, ReadRequest, Rows, SqlDatabase, TableSource};

use super::own::OwnFiles;
use blocking::{CancelFlag, on_thread};
use pool::DatabasePool;
use query::Answers;

pub use engines::check_engines;
pub use header::header;

/// How many queries and files are worked on at once; more wait. Bounds threads and copies of tables in memory.
const AT_ONCE: usize = 4;

/// Both data ports on local files. Cheap to clone; clones share the loaded tables.
#[derive(Clone)]
pub struct DataFiles {
    pool: Arc<DatabasePool>,
    permits: Arc<Semaphore>,
    own: Arc<OwnFiles>,
}

impl DataFiles {
    /// With nothing loaded yet; only names tell which files are not read.
    pub fn new() -> DataFiles {
        DataFiles::keeping(Arc::default())
    }

    /// The same, where these places are not read.
    pub fn keeping(own: Arc<OwnFiles>) -> DataFiles {
        DataFiles { pool: Arc::new(DatabasePool::default()), permits: Arc::new(Semaphore::new(AT_ONCE)), own }
    }
}

impl Default for DataFiles {
    fn default() -> DataFiles {
        DataFiles::new()
    }
}

impl SqlDatabase for DataFiles {
    fn query(&self, request: QueryRequest) -> Pending<Rows> {
        let (pool, own) = (Arc::clone(&self.pool), Arc::clone(&self.own));
        on_thread(&self.permits, request.timeout, "The query", move |cancel| {
            request.tables.iter().try_for_each(|table| own.may_read(&table.file))?;
            if request.engine == SqlEngine::DuckDb
                && let Some(rows) = with_duckdb(&request, cancel)?
            {
                return Ok(rows);
            }
            let mut database = pool.take(&request.tables)?;
            let rows = database.query(&request, cancel);
            pool.give_back(database);
            rows
        })
    }
}

impl FileReader for DataFiles {
    fn read(&self, request: ReadRequest) -> Pending<(FileContent, Vec<TableSource>)> {
        let (pool, own) = (Arc::clone(&self.pool), Arc::clone(&self.own));
        on_thread(&self.permits, request.timeout, "Reading the file", move |cancel| {
            own.may_read(&request.path)?;
            read::read(&pool, &request, cancel)
        })
    }
}

/// The answer of DuckDB; `None` when the query reads SQLite's tables only.
#[cfg(feature = "duckdb")]
fn with_duckdb(request: &QueryRequest, cancel: &CancelFlag) -> Result<Option<Rows>, Failure> {
    duck::query(request, cancel)
}

/// This build has no DuckDB.
#[cfg(not(feature = "duckdb"))]
fn with_duckdb(_request: &QueryRequest, _cancel: &CancelFlag) -> Result<Option<Rows>, Failure> {
    Err(engines::no_duckdb())
}
