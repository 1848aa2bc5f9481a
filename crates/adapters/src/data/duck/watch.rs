//! Interrupts DuckDB when its answer is no longer needed or it uses too much memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use duckdb::Connection;

use super::super::blocking::CancelFlag;
use super::super::guard::{MOST_GROWTH, resident_bytes, stopped, too_much_memory};
use crate::event::Failure;

/// The interval between two checks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// How much the process may grow while a query runs, in bytes. DuckDB's own limit counts the tables that it sorts and groups, but not every text.
const MOST_GROWTH_OF_PROCESS: u64 = 2 * MOST_GROWTH;

/// Runs work within the time and memory limits of a query.
pub(super) fn watched<T>(connection: &Connection, cancel: &CancelFlag, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    within(MOST_GROWTH_OF_PROCESS, connection, cancel, work)
}

/// Runs work within the limits. If the work was interrupted, the failure states why.
fn within<T>(
    most_growth: u64,
    connection: &Connection,
    cancel: &CancelFlag,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let interrupt = connection.interrupt_handle();
    let grew = AtomicBool::new(false);
    let at_start = resident_bytes();
    std::thread::scope(|threads| {
        // Dropped when the work ends, in any way.
        let (_until_done, done) = channel::<()>();
        let grew = &grew;
        threads.spawn(move || {
            while done.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
                let growth = resident_bytes().zip(at_start).map_or(0, |(now, then)| now.saturating_sub(then));
                if growth > most_growth {
                    grew.store(true, Ordering::Relaxed);
                }
                // Repeated, because an interrupt between two statements has no effect.
                if cancel.is_cancelled() || grew.load(Ordering::Relaxed) {
                    interrupt.interrupt();
                }
            }
        });
        work().map_err(|failure| match () {
            () if cancel.is_cancelled() => stopped(),
            () if grew.load(Ordering::Relaxed) => too_much_memory(),
            () => failure,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::sentence::bad_request;
    use super::*;
    use crate::model::FailureKind;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_query_that_doubles_a_text_is_stopped_before_it_takes_all_memory() {
        let connection = Connection::open_in_memory().unwrap();
        let doubling = "WITH RECURSIVE t(x) AS (SELECT 'ab' UNION ALL SELECT x || x FROM t) SELECT max(length(x)) FROM t";
        let failure = within(32 << 20, &connection, &CancelFlag::default(), || {
            connection.query_row(doubling, [], |row| row.get::<_, i64>(0)).map_err(|error| bad_request(error.to_string()))
        });
        assert_eq!(failure.unwrap_err().kind, FailureKind::TooLarge);
    }
}
