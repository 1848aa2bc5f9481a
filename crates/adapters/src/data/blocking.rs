//! Blocking work on a separate thread. It stops when its result is no longer needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::sentence::{failure, internal};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::Pending;

/// Whether work was cancelled. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Whether the caller has left or the time is up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails if the work was cancelled, to end long loops. The message is never shown, because the caller has left.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_cancelled() { Err(failure(FailureKind::Timeout, "The work was stopped.")) } else { Ok(()) }
    }

    /// Cancels the work.
    pub(super) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl CancelFlag {
    /// Cancels the work after a time, unless what this returns is dropped before.
    pub(super) fn after(&self, time: Duration) -> impl Drop + use<> {
        let (cancel, (ended, wait)) = (self.clone(), std::sync::mpsc::channel::<()>());
        std::thread::spawn(move || {
            if wait.recv_timeout(time) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        EndOfTime(Some(ended))
    }
}

/// Ends a timer when dropped.
struct EndOfTime(Option<std::sync::mpsc::Sender<()>>);

impl Drop for EndOfTime {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// Cancels the work when dropped: at its end, at the timeout, or when the caller drops the future.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs work on a blocking thread. `what` begins the message of a timeout. Waiting for a permit counts towards the timeout.
pub(crate) fn on_thread<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    timeout: Duration,
    what: &'static str,
    work: impl FnOnce(&CancelFlag) -> Result<T, Failure> + Send + 'static,
) -> Pending<T> {
    let permits = Arc::clone(permits);
    Box::pin(async move {
        let cancel = CancelFlag::default();
        let guard = CancelOnDrop(cancel.clone());
        let job = async move {
            let permit = permits.acquire_owned().await;
            tokio::task::spawn_blocking(move || {
                let _until_done = permit;
                cancel.check()?;
                work(&cancel)
            })
            .await
        };
        let result = tokio::time::timeout(timeout, job).await;
        drop(guard);
        match result {
            Ok(Ok(answer)) => answer,
            Ok(Err(_panicked)) => Err(internal(format!("{what} failed because of an internal error of flow."))),
            Err(_elapsed) => Err(failure(
                FailureKind::Timeout,
                format!("{what} took longer than {timeout:?} and was stopped. Ask for less, or raise `timeout`."),
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_no_longer_awaited_is_told_to_stop() {
        let permits = Arc::new(Semaphore::new(1));
        let (told, heard) = tokio::sync::oneshot::channel();
        let work = on_thread(&permits, Duration::from_millis(20), "The query", move |cancel| {
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            let _ = told.send(());
            Ok(())
        });
        let failure = work.await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!(failure.message, "The query took longer than 20ms and was stopped. Ask for less, or raise `timeout`.");
        heard.await.expect("the thread ends by itself");
    }

    #[tokio::test]
    async fn a_panic_fails_only_this_work() {
        let permits = Arc::new(Semaphore::new(1));
        let work = on_thread(&permits, Duration::from_secs(5), "The query", |_| -> Result<(), Failure> { panic!("no") });
        assert_eq!(work.await.unwrap_err().kind, FailureKind::Internal);
        let next = on_thread(&permits, Duration::from_secs(5), "The query", |_| Ok(7));
        assert_eq!(next.await.unwrap(), 7);
    }
}
