//! Seats of connections: a new one takes the seat of the longest idle one, but never of one with an open request. Also limits how long a
//! client may leave an answer unread.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use super::answer::AnswerBody;
use crate::adapter::lock;

/// Maximum number of connections.
pub(super) const MOST: usize = 256;

/// All seats.
#[derive(Default)]
pub(super) struct Seats {
    inner: Mutex<SeatCounts>,
}

#[derive(Default)]
struct SeatCounts {
    last: u64,
    taken: HashMap<u64, ClientSeats>,
}

struct ClientSeats {
    /// Requests whose answers have not been sent completely.
    requests: usize,
    idle_since: Instant,
    leave: Arc<Notify>,
}

/// A seat, released when this is dropped.
pub(super) struct RequestSeat {
    seats: Arc<Seats>,
    number: u64,
    leave: Arc<Notify>,
}

/// A request in progress, until its answer is sent.
pub(super) struct ServedRequest {
    seats: Arc<Seats>,
    number: u64,
}

impl Seats {
    /// Takes a seat; if all are taken, that of the longest idle connection. `None`: all have open requests.
    pub(super) fn take(self: &Arc<Seats>) -> Option<RequestSeat> {
        let mut inner = lock(&self.inner);
        if inner.taken.len() >= MOST {
            let idle = inner.taken.iter().filter(|(_, place)| place.requests == 0);
            let longest = idle.min_by_key(|(_, place)| place.idle_since).map(|(number, _)| *number)?;
            inner.taken.remove(&longest)?.leave.notify_one();
        }
        inner.last += 1;
        let (number, leave) = (inner.last, Arc::new(Notify::new()));
        inner.taken.insert(number, ClientSeats { requests: 0, idle_since: Instant::now(), leave: Arc::clone(&leave) });
        Some(RequestSeat { seats: Arc::clone(self), number, leave })
    }
}

impl RequestSeat {
    /// Waits until another connection needs the seat.
    pub(super) async fn left(&self) {
        self.leave.notified().await;
    }

    /// Counts an arrived request.
    pub(super) fn serve(&self) -> ServedRequest {
        if let Some(place) = lock(&self.seats.inner).taken.get_mut(&self.number) {
            place.requests += 1;
        }
        ServedRequest { seats: Arc::clone(&self.seats), number: self.number }
    }
}

impl Drop for RequestSeat {
    fn drop(&mut self) {
        lock(&self.seats.inner).taken.remove(&self.number);
    }
}

impl Drop for ServedRequest {
    fn drop(&mut self) {
        if let Some(place) = lock(&self.seats.inner).taken.get_mut(&self.number) {
            place.requests = place.requests.saturating_sub(1);
            place.idle_since = Instant::now();
        }
    }
}

/// A body that keeps its connection's seat until it is sent.
pub(super) struct Held {
    pub(super) body: AnswerBody,
    pub(super) _served: ServedRequest,
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that fails if its peer reads nothing for too long.
pub(in crate::serve) struct Impatient<S> {
    stream: S,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub(in crate::serve) fn new(stream: S, patience: Duration) -> Impatient<S> {
        Impatient { stream, patience, stuck: None }
    }

    fn in_time<T>(&mut self, context: &mut Context<'_>, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if done.is_ready() {
            self.stuck = None;
            return done;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(patience)));
        stuck.as_mut().poll(context).map(|()| Err(Error::new(ErrorKind::TimedOut, "the answer is not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
