//! A program that is talked with: it starts once and answers many times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::event::Failure;
use crate::port::{ProgramReply, RefusedHost};

/// Pieces of output that wait to be heard, each of at most 64 KiB.
const WAITING: usize = 4;

/// Tells the thread of a program that nobody waits for it any more.
pub(crate) struct DropNotice(Arc<AtomicBool>);

impl DropNotice {
    pub(crate) fn new(is_dropped: &Arc<AtomicBool>) -> DropNotice {
        DropNotice(Arc::clone(is_dropped))
    }
}

impl Drop for DropNotice {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tells what a program was kept from so far; empty until it has started.
pub(super) type RefusedSoFar = Arc<OnceLock<Box<dyn Fn() -> Vec<RefusedHost> + Send + Sync>>>;

/// The program's ends of a talk.
pub(super) struct TalkEnds {
    /// What it is sent.
    pub(super) input: Receiver<Arc<Vec<u8>>>,
    /// Where its standard output goes. It waits where nobody takes it.
    pub(super) output: SyncSender<Vec<u8>>,
    /// Where it is told what the program was kept from.
    pub(super) refused: RefusedSoFar,
}

/// A program that is talked with. It is ended when this is dropped.
pub struct ProgramTalk {
    input: Sender<Arc<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    end: Receiver<Result<ProgramReply, Failure>>,
    refused: RefusedSoFar,
    _until_dropped: DropNotice,
}

impl ProgramTalk {
    /// Runs it in a thread of its own.
    pub(super) fn start(
        run: impl FnOnce(TalkEnds, &AtomicBool) -> Result<ProgramReply, Failure> + Send + 'static,
    ) -> std::io::Result<ProgramTalk> {
        let ((input, inputs), (outputs, output), (told, end)) = (channel(), sync_channel(WAITING), channel());
        let (is_dropped, refused) = (Arc::new(AtomicBool::new(false)), RefusedSoFar::default());
        let ends = TalkEnds { input: inputs, output: outputs, refused: Arc::clone(&refused) };
        let notice = DropNotice::new(&is_dropped);
        std::thread::Builder::new().name("program".to_owned()).spawn(move || {
            let _ = told.send(run(ends, &is_dropped));
        })?;
        Ok(ProgramTalk { input, output, end, refused, _until_dropped: notice })
    }

    /// Sends it a piece of its input. A program that has ended hears nothing.
    pub fn send(&self, piece: Arc<Vec<u8>>) {
        let _ = self.input.send(piece);
    }

    /// Waits so long for the next piece of its output.
    ///
    /// # Errors
    /// Tells whether it said nothing in this time, or has closed its output.
    pub fn hear(&self, time: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        self.output.recv_timeout(time)
    }

    /// The hosts that it was kept from so far.
    pub fn refused(&self) -> Vec<RefusedHost> {
        self.refused.get().map(|refused| refused()).unwrap_or_default()
    }

    /// Waits until it has ended, and tells how; its output must be closed. `None`: nobody knows.
    pub fn end(self) -> Option<Result<ProgramReply, Failure>> {
        self.end.recv().ok()
    }
}
