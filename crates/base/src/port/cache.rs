//! Results of steps that are used again.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::Pending;

/// Keeps results by key, each until a time.
pub trait Cache: Send + Sync {
    /// The result that is kept under a key and good at this time.
    fn recall(&self, key: String, now: DateTime<Utc>) -> Pending<Option<Value>>;

    /// Keeps a result; one that is under the key is replaced. One over 1 MiB is not kept.
    fn keep(&self, key: String, until: DateTime<Utc>, value: Value) -> Pending<()>;
}
