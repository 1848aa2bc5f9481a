//! Ctrl-C, SIGTERM and a terminal that is gone (SIGHUP).

use std::thread::JoinHandle;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Exit;
use crate::adapter::runtime::runtime;

/// All three, heard from the moment it is made: from then on they no longer end the process.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None`: whoever started the program wants it to outlive its terminal (`nohup`).
    hangup: Option<Signal>,
}

impl Signals {
    /// Hears them. `None`: they cannot be heard here, and do what they always do.
    pub(super) fn hear() -> Option<Signals> {
        Some(Signals {
            interrupt: signal(SignalKind::interrupt()).ok()?,
            terminate: signal(SignalKind::terminate()).ok()?,
            hangup: if is_hangup_ignored() { None } else { signal(SignalKind::hangup()).ok() },
        })
    }

    /// The next one: what the record calls it, and how the program ends. A terminal that is gone counts as SIGTERM.
    async fn next(&mut self) -> (&'static str, Exit) {
        let Signals { interrupt, terminate, hangup } = self;
        let gone = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => ("interrupt", Exit::Interrupted),
            _ = terminate.recv() => ("terminate", Exit::Terminated),
            _ = gone => ("terminate", Exit::Terminated),
        }
    }
}

/// Whether the program was started with SIGHUP ignored. Where the system does not tell, it was not.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// From now on a file that may not grow any more (`ulimit -f`) fails what writes to it, and does not end the process.
pub(super) fn survive_full_files(runtime: &tokio::runtime::Runtime) {
    let _inside = runtime.enter();
    // Once it was heard, its usual effect never comes back.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// During a run the first ends the run, the second ends the program at once.
pub(super) async fn listen(signals: Option<Signals>, sender: UnboundedSender<String>) {
    let Some(mut signals) = signals else { return };
    let mut asked = false;
    loop {
        let (by, exit) = signals.next().await;
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
        let runtime = runtime().ok()?;
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
