//! Tables and files. Answers `sql` steps with SQLite over CSV, TSV, Excel and SQLite files, and with DuckDB (feature `duckdb`) over Parquet and
//! DuckDB files. Reads files for `read` steps.
//!
//! The steps of a table file: `source` (open, decode) → `delimited` (whose cells `separator` parts), `json_lines` or `excel` (rows of cells) → `columns` (cells, whose numbers `notation` reads), `typed` (names, types) → `load` (a
//! table in memory) → `query` (behind `guard`). SQLite files are attached read-only instead of loaded. `database` keeps loaded tables between queries;
//! For a `read` step, `profile` describes such a file from its rows alone, with the values of `counts`; `summary` describes a table of a database with
//! queries. `engines` decides which engine answers; `duck` is the second engine.
//!
//! For a check, `header` reads the columns of a table, and `prepared` compiles queries and never runs them.
//!
//! What a library of others parses (Excel, Word, PDF, pictures) goes by its bytes to a process of its own (`child`), in which `parsed` does the work.
//!
//! How to add a kind of table file: implement [`columns::RowSource`] and add it in `load`.
//! How to add a kind of file to read: add a module here and use it in `read`; if a library parses it, in `parsed`.

mod archive;
mod blocking;
mod child;
mod columns;
mod common_shape;
mod counts;
mod database;
mod datum;
mod delimited;
mod described;
mod document;
#[cfg(feature = "duckdb")]
mod duck;
mod engines;
mod excel;
mod guard;
mod header;
mod json_lines;
mod like;
mod load;
mod looks;
mod names;
mod notation;
mod parsed;
mod pdf;
mod pdf_columns;
mod pdf_font;
mod pdf_layout;
mod pdf_letters;
mod pdf_page;
mod pdf_state;
mod pdf_unicode;
mod personal;
mod picture;
mod prepared;
mod profile;
mod query;
mod read;
mod sentence;
mod separator;
mod sheet_survey;
mod source;
mod summary;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod typed;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::event::Failure;
use crate::model::{Data, SqlEngine};
use crate::port::{FileContent, FileReader, Pending, QueryRequest, ReadRequest, Rows, SqlDatabase, TableSource};

use super::own::OwnFiles;
use database::DatabasePool;
use query::Answers;

pub(super) use blocking::{CancelFlag, on_thread};
pub use child::reader;
pub use header::header;
pub use looks::look_of;
pub(super) use prepared::prepare;
pub(super) use read::searchable;
pub(super) use sentence::{counted, failure, shown};

/// Maximum number of queries and files that are processed at once; others wait. This limits threads and copies of tables in memory.
const AT_ONCE: usize = 4;

/// Implements both data ports on local files. Clones are cheap and share the loaded tables.
#[derive(Clone)]
pub struct DataFiles {
    pool: Arc<DatabasePool>,
    permits: Arc<Semaphore>,
    own: Arc<OwnFiles>,
}

impl DataFiles {
    /// Creates an instance without loaded tables. The places in `own` are not read.
    pub fn keeping(own: Arc<OwnFiles>) -> DataFiles {
        DataFiles { pool: Arc::new(DatabasePool::default()), permits: Arc::new(Semaphore::new(AT_ONCE)), own }
    }
}

impl Default for DataFiles {
    /// Creates an instance that protects files by their names only.
    fn default() -> DataFiles {
        DataFiles::keeping(Arc::default())
    }
}

impl SqlDatabase for DataFiles {
    fn query(&self, request: QueryRequest) -> Pending<Rows> {
        let (pool, own) = (Arc::clone(&self.pool), Arc::clone(&self.own));
        on_thread(&self.permits, request.timeout, "The query", move |cancel| {
            request.tables.iter().try_for_each(|table| own.may_read(&table.file))?;
            // DuckDB returns `None` for a query that only reads tables of SQLite.
            #[cfg(feature = "duckdb")]
            if request.engine == SqlEngine::DuckDb
                && let Some(rows) = duck::query(&request, cancel)?
            {
                return Ok(rows);
            }
            #[cfg(not(feature = "duckdb"))]
            if request.engine == SqlEngine::DuckDb {
                return Err(engines::no_duckdb());
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

/// Checks, before a run starts, whether this build can answer the queries of a pipeline: a missing engine, a file that its engine cannot read, or a
/// query over tables of both engines. `data` and `queries` belong to one pipeline.
///
/// # Errors
/// `unavailable`, with how to get the engine; otherwise `bad_request`.
pub fn check_engines<'a>(
    data: impl IntoIterator<Item = (&'a String, &'a Data)>,
    queries: impl IntoIterator<Item = &'a str>,
) -> Result<(), Failure> {
    let tables: Vec<TableSource> = data.into_iter().map(|(name, data)| TableSource::find(name, data)).collect();
    tables.iter().try_for_each(engines::fits)?;
    let needs_duckdb: Vec<&TableSource> = tables.iter().filter(|table| table.engine == SqlEngine::DuckDb).collect();
    if needs_duckdb.is_empty() {
        return Ok(());
    }
    #[cfg(not(feature = "duckdb"))]
    {
        let _ = queries;
        Err(engines::no_duckdb())
    }
    #[cfg(feature = "duckdb")]
    queries
        .into_iter()
        .filter(|query| needs_duckdb.iter().any(|table| crate::sql::mentions(query, &table.name)))
        .try_for_each(|query| engines::of_one(&duck::tables_of(query, &tables)?))
}
