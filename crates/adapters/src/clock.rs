//! The machine's clock.

use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};

use crate::port::Clock;

/// The clock of this machine. No other module reads the wall-clock time.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Creates a clock whose [`Clock::elapsed`] starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the adapter behind port::Clock")]
    pub fn new() -> SystemClock {
        SystemClock { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the adapter behind port::Clock")]
    fn now(&self) -> DateTime<Utc> {
        // `Utc::now` panics if the machine's clock is before 1970.
        SystemTime::now().into()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
