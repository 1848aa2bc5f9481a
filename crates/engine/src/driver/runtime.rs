//! The tokio runtime of a run.

use std::io::Result;
use std::ops::Deref;
use std::time::Duration;

/// Pairs of file descriptors that a runtime opens: its own, and those that report signals.
const PAIRS: usize = 4;

/// How long dropping a runtime waits for threads that still work for it.
const GRACE: Duration = Duration::from_millis(100);

/// A single-threaded runtime. Dropping it leaves blocking work behind, such as a read from a disk that does not respond; tokio's own runtime would
/// wait for it.
pub struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// Creates a runtime for the current thread.
    ///
    /// # Errors
    /// Fails if the system has no more threads or file descriptors. The descriptors are checked first, because building the runtime panics when it
    /// runs out of them.
    pub fn new() -> Result<Runtime> {
        let room = (0..PAIRS).map(|_| std::io::pipe()).collect::<Result<Vec<_>>>()?;
        drop(room);
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(|runtime| Runtime(Some(runtime)))
    }
}

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    #[expect(clippy::expect_used, reason = "only drop takes it")]
    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("it is taken only when it is dropped")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_never_ends_is_left_behind() {
        let (keep, forever) = std::sync::mpsc::channel::<()>();
        let runtime = Runtime::new().unwrap();
        let (began, hears) = std::sync::mpsc::channel();
        runtime.block_on(async {
            let work = tokio::task::spawn_blocking(move || {
                began.send(()).unwrap();
                forever.recv()
            });
            hears.recv().unwrap();
            assert!(tokio::time::timeout(Duration::from_millis(1), work).await.is_err());
        });
        drop(runtime);
        // Only now it could end: whoever waited for it would never come here.
        drop(keep);
    }
}
