//! Time.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// Tells the time. The only source of it; timers of an adapter may use the runtime's.
pub trait Clock: Send + Sync {
    /// The date and time, which may jump.
    fn now(&self) -> DateTime<Utc>;

    /// Time since some fixed moment of this process; never goes back.
    fn elapsed(&self) -> Duration;
}
