//! A cache of results, in a SQLite file beside the journal. It can be deleted at any time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::encryption::Sealing;
use super::files;
use super::sqlite_file::{connect, erase, make_private_file};
use super::store_block::{packed_with_checksum, unpacked};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{Cache, Pending};

/// Maximum size of one result, in bytes.
const MOST_BYTES: usize = 1024 * 1024;

/// Version of the table (`PRAGMA user_version`). Results of another version are dropped: before 3, the keys of encrypted results were plain hashes,
/// and before 4, results had no checksum.
const VERSION: i64 = 4;

/// The file of a cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the cache {} cannot be used: {source}", file.display())]
pub struct CacheError {
    file: PathBuf,
    source: rusqlite::Error,
}

/// A cache in one file, opened when it is first needed.
#[derive(Clone)]
pub struct SqliteCache {
    file: PathBuf,
    run: Arc<str>,
    sealing: Sealing,
}

impl SqliteCache {
    /// Creates a cache for `run` in this file. The file is not opened yet.
    pub fn new(file: PathBuf, run: &str, sealing: Sealing) -> SqliteCache {
        SqliteCache { file, run: run.into(), sealing }
    }

    /// The key of a result in the file. For encrypted results it is a keyed hash, because anyone who can guess a plain `key` could learn what a step
    /// sent. Results that were stored with another encryption key, or without one, are not found.
    fn row(&self, key: String) -> String {
        self.sealing.of_new().map_or(key.clone(), |sealed_with| sealed_with.mark(&key))
    }

    /// Erases the results of these runs. Returns false if other processes are still reading them.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    pub fn forget(file: &Path, runs: &[&str]) -> Result<bool, CacheError> {
        let forget = || {
            let mut cache = open(file)?;
            runs.iter().try_for_each(|run| cache.execute("delete from results where run = ?1", [run]).map(drop))?;
            erase(&mut cache)
        };
        if file.exists() { forget().map_err(|source| CacheError { file: file.to_path_buf(), source }) } else { Ok(true) }
    }
}

impl Cache for SqliteCache {
    fn recall(&self, key: String, now: DateTime<Utc>) -> Pending<Option<Value>> {
        let key = self.row(key);
        let SqliteCache { file, sealing, .. } = self.clone();
        blocking(move || {
            if !file.exists() {
                return Ok(None);
            }
            let cache = open(&file)?;
            cache.execute("delete from results where until <= ?1", [now.timestamp_millis()])?;
            let found: Option<Vec<u8>> =
                cache.query_row("select value from results where key = ?1", params![key], |row| row.get(0)).optional()?;
            // A result that is damaged, or encrypted with another key, counts as missing.
            let text = found.and_then(|body| unpacked(key.as_bytes(), &body, sealing.key.as_ref()));
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn keep(&self, key: String, until: DateTime<Utc>, value: Value) -> Pending<()> {
        let key = self.row(key);
        let SqliteCache { file, run, sealing } = self.clone();
        blocking(move || {
            let text = value.to_string();
            let sealed_with = sealing.of_new();
            if text.len() > MOST_BYTES || sealing.is_on && sealed_with.is_none() {
                return Ok(());
            }
            let Some(body) = packed_with_checksum(key.as_bytes(), text.as_bytes(), sealed_with) else { return Ok(()) };
            open(&file)?.execute(
                "insert or replace into results (key, run, until, value) values (?1, ?2, ?3, ?4)",
                params![key, &*run, until.timestamp_millis(), body],
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
    make_private_file(file).map_err(told)?;
    let cache = connect(file)?;
    cache.pragma_update(None, "synchronous", "normal")?;
    let version = || cache.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version()? != VERSION {
        cache.execute_batch("begin immediate")?;
        if version()? != VERSION {
            cache.execute_batch(
                "drop table if exists results;
                 create table results (key text primary key, run text not null, until integer not null, value blob not null) strict;
                 pragma user_version = 4;",
            )?;
        }
        cache.execute_batch("commit")?;
    }
    Ok(cache)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_result_is_found_again_until_its_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SqliteCache::new(folder.path().join("deep/cache.db"), "r_1", Sealing::default());
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
    async fn a_result_in_which_a_bit_is_changed_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.db");
        let cache = SqliteCache::new(file.clone(), "r_1", Sealing::default());
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let value = json!({ "output": "32 of 40 hours were logged this week", "at": [1, 2, 3] });
        cache.keep("a".into(), now + chrono::TimeDelta::hours(1), value).await.unwrap();
        let store = Connection::open(&file).unwrap();
        let body: Vec<u8> = store.query_row("select value from results", [], |row| row.get(0)).unwrap();
        for bit in 0..body.len() * 8 {
            let mut changed = body.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            store.execute("update results set value = ?1", [changed]).unwrap();
            assert_eq!(cache.recall("a".into(), now).await.unwrap(), None, "bit {bit}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_no_cache_is_a_failure_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.db");
        std::fs::write(&file, "this is no database, and it is long enough to be looked at").unwrap();
        let failure = SqliteCache::new(file, "r_1", Sealing::default())
            .recall("a".into(), DateTime::from_timestamp(0, 0).unwrap())
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unavailable);
    }
}
