//! Ctrl-C and SIGTERM.

use std::thread::JoinHandle;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Exit;

/// Both, heard from the moment it is made: from then on they no longer end the process.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Hears them. `None`: they cannot be heard here, and do what they always do.
    pub(super) fn hear() -> Option<Signals> {
        Some(Signals { interrupt: signal(SignalKind::interrupt()).ok()?, terminate: signal(SignalKind::terminate()).ok()? })
    }
}

/// During a run the first ends the run, the second ends the program at once.
pub(super) async fn listen(signals: Option<Signals>, sender: UnboundedSender<String>) {
    let Some(mut signals) = signals else { return };
    let mut asked = false;
    loop {
        let (by, exit) = tokio::select! {
            _ = signals.interrupt.recv() => ("interrupt", Exit::Interrupted),
            _ = signals.terminate.recv() => ("terminate", Exit::Terminated),
        };
        if asked {
            std::process::exit(i32::from(exit.number()));
        }
        asked = true;
        tell!("ending the run; once more ends it at once");
        if sender.send(by.to_string()).is_err() {
            return;
        }
    }
}

/// As long as it is kept, Ctrl-C ends the program: there is a question, and no run yet.
pub(super) struct AtQuestion {
    end: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl AtQuestion {
    /// Begins. `None`: signals cannot be heard here, and do what they always do.
    pub(super) fn begin() -> Option<AtQuestion> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let (end, mut ended) = oneshot::channel::<()>();
        // Heard before the question is asked.
        let mut interrupt = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).ok()?
        };
        let waiting = async move {
            tokio::select! {
                _ = interrupt.recv() => {
                    tell!();
                    std::process::exit(i32::from(Exit::Interrupted.number()));
                },
                _ = &mut ended => {}
            }
        };
        let thread = std::thread::Builder::new().name("question".into()).spawn(move || runtime.block_on(waiting)).ok()?;
        Some(AtQuestion { end: Some((end, thread)) })
    }
}

impl Drop for AtQuestion {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}
