//! The runtime of a thread that drives runs.

use std::ops::Deref;
use std::time::Duration;

/// How long a dropped runtime waits for work that does not end.
const LAST: Duration = Duration::from_millis(100);

/// A runtime of one thread. Dropping it waits for nothing that hangs, such as a file on a disk that does not answer: that thread ends with
/// the process.
pub struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// For the thread that makes it.
    ///
    /// # Errors
    /// The system has no more threads or files to give.
    pub fn new() -> std::io::Result<Runtime> {
        Ok(Runtime(Some(tokio::runtime::Builder::new_current_thread().enable_all().build()?)))
    }
}

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    #[expect(clippy::expect_used, reason = "only drop takes it")]
    fn deref(&self) -> &tokio::runtime::Runtime {
        self.0.as_ref().expect("a runtime in use")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(LAST);
        }
    }
}
