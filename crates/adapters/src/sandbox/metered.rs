//! A stream whose bytes are counted: nothing is kept open on which nothing moves, and what a program sends and gets in all is bounded.

use std::io::{Error, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

/// A connection on which nothing moves is closed between this time and twice as much.
const IDLE: Duration = Duration::from_secs(300);
/// Bytes that one program may send and get.
const MOST: u64 = 64 << 30;

/// Counts the bytes of one connection, and of all together.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    own: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

impl Meter {
    pub(super) fn new(all: Arc<AtomicU64>) -> Meter {
        Meter { own: Arc::default(), all }
    }

    /// Returns when nothing has moved for a while.
    pub(super) async fn idle(&self) {
        let mut before = None;
        loop {
            let now = self.own.load(Ordering::Relaxed);
            if before.replace(now) == Some(now) {
                return;
            }
            sleep(IDLE).await;
        }
    }

    fn add(&self, bytes: usize) -> Result<()> {
        self.own.fetch_add(bytes as u64, Ordering::Relaxed);
        let all = self.all.fetch_add(bytes as u64, Ordering::Relaxed);
        if all > MOST { Err(Error::other("the program has moved too many bytes")) } else { Ok(()) }
    }
}

/// A stream with a meter.
pub(super) struct Metered<S> {
    stream: S,
    meter: Meter,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, meter: Meter) -> Metered<S> {
        Metered { stream, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        match read {
            Poll::Ready(Ok(())) => Poll::Ready(self.meter.add(into.filled().len() - before)),
            other => other,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Ready(Ok(count)) => Poll::Ready(self.meter.add(count).map(|()| count)),
            other => other,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
