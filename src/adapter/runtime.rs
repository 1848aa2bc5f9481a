//! The runtime that waits for the world.

use std::io::Result;
use std::os::unix::net::UnixStream;

use tokio::runtime::{Builder, Runtime};

/// Pairs of files that a runtime opens: its own, and those by which it hears of signals.
const PAIRS: usize = 4;

/// A runtime for one thread.
///
/// # Errors
/// The system has not enough files to give. The library that makes the runtime would panic where it finds that out itself.
pub fn runtime() -> Result<Runtime> {
    let room = (0..PAIRS).map(|_| UnixStream::pair()).collect::<Result<Vec<_>>>()?;
    drop(room);
    Builder::new_current_thread().enable_all().build()
}
