//! Results that are used again, in a SQLite file beside the journal. It can be removed at any time.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::files;
use super::sqlite_store::patiently;
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Cache, Pending};

/// Most bytes of one result.
const MOST_BYTES: usize = 1024 * 1024;

/// A cache in one file, opened when it is first needed.
pub struct SqliteCache {
    file: PathBuf,
}

impl SqliteCache {
    /// The cache in this file; nothing is opened yet.
    pub fn new(file: PathBuf) -> SqliteCache {
        SqliteCache { file }
    }
}

impl Cache for SqliteCache {
    fn recall(&self, key: String, now: DateTime<Utc>) -> Pending<Option<Value>> {
        let file = self.file.clone();
        blocking(move || {
            if !file.exists() {
                return Ok(None);
            }
            let cache = open(&file)?;
            cache.execute("delete from results where until <= ?1", [now.timestamp_millis()])?;
            let found: Option<String> =
                cache.query_row("select value from results where key = ?1", params![key], |row| row.get(0)).optional()?;
            Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn keep(&self, key: String, until: DateTime<Utc>, value: Value) -> Pending<()> {
        let file = self.file.clone();
        blocking(move || {
            let text = value.to_string();
            if text.len() > MOST_BYTES {
                return Ok(());
            }
            let cache = open(&file)?;
            cache.execute(
                "insert or replace into results (key, until, value) values (?1, ?2, ?3)",
                params![key, until.timestamp_millis(), text],
            )?;
            Ok(())
        })
    }
}

fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, rusqlite::Error> + Send + 'static) -> Pending<T> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        let broken = |e: String| Failure::new(FailureKind::Unavailable, format!("the cache cannot be used: {e}"));
        done.map_err(|e| broken(e.to_string()))?.map_err(|e| broken(e.to_string()))
    })
}

fn open(file: &Path) -> Result<Connection, rusqlite::Error> {
    let told = |e: std::io::Error| rusqlite::Error::ToSqlConversionFailure(Box::new(e));
    if let Some(folder) = file.parent() {
        files::private_folder(folder).map_err(told)?;
    }
    files::open_private(file).map_err(told)?;
    let cache = Connection::open(file)?;
    cache.busy_timeout(std::time::Duration::from_secs(2))?;
    patiently(|| cache.pragma_update(None, "journal_mode", "wal"))?;
    cache.pragma_update(None, "synchronous", "normal")?;
    cache.execute_batch("create table if not exists results (key text primary key, until integer not null, value text not null) strict")?;
    Ok(cache)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_result_is_found_again_until_its_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SqliteCache::new(folder.path().join("deep/cache.db"));
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        assert_eq!(cache.recall("a".into(), now).await.unwrap(), None);
        cache.keep("a".into(), now + chrono::TimeDelta::hours(1), json!({ "output": 1 })).await.unwrap();
        assert_eq!(cache.recall("a".into(), now).await.unwrap(), Some(json!({ "output": 1 })));
        assert_eq!(cache.recall("b".into(), now).await.unwrap(), None);
        assert_eq!(cache.recall("a".into(), now + chrono::TimeDelta::hours(2)).await.unwrap(), None);
        cache.keep("big".into(), now + chrono::TimeDelta::hours(1), json!("x".repeat(MOST_BYTES))).await.unwrap();
        assert_eq!(cache.recall("big".into(), now).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_file_that_is_no_cache_is_a_failure_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.db");
        std::fs::write(&file, "this is no database, and it is long enough to be looked at").unwrap();
        let failure = SqliteCache::new(file).recall("a".into(), DateTime::from_timestamp(0, 0).unwrap()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unavailable);
    }
}
