//! Ctrl-C, SIGTERM and a terminal that is gone (SIGHUP).
//!
//! They are heard in a thread of their own: the thread of a run may wait for a pipe that nobody empties, or a disk that does not answer.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use super::Exit;

/// How long a run may take to notice that it shall end, and an ended one to write its results, before the program ends as it is.
const STUCK: Duration = Duration::from_secs(10);

/// All three, heard from the moment it is made: from then on they no longer end the process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None`: whoever started the program wants it to outlive its terminal (`nohup`).
    hangup: Option<Signal>,
}

impl Signals {
    /// Hears them. `None`: they cannot be heard here, and do what they always do.
    fn hear() -> Option<Signals> {
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

/// What a signal means now.
enum Meaning {
    /// The end of the program.
    End,
    /// The same, in the middle of a line on the terminal.
    EndAtQuestion,
    /// The end of this run.
    EndRun(UnboundedSender<String>, Handle),
}

static MEANING: Mutex<Meaning> = Mutex::new(Meaning::End);

fn meaning() -> MutexGuard<'static, Meaning> {
    MEANING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to hear them, once for the program. Without it, they do what they always do.
fn hear() {
    static HEARD: OnceLock<Option<()>> = OnceLock::new();
    HEARD.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::hear()?
        };
        std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(attend(signals))).map(drop).ok()
    });
}

/// During a run the first ends the run, the second ends the program at once.
async fn attend(mut signals: Signals) {
    loop {
        let (by, exit) = signals.next().await;
        match std::mem::replace(&mut *meaning(), Meaning::End) {
            Meaning::End => std::process::exit(i32::from(exit.number())),
            Meaning::EndAtQuestion => {
                tell!();
                std::process::exit(i32::from(exit.number()));
            }
            Meaning::EndRun(sender, run) => {
                let _ = std::thread::Builder::new().name("stuck".into()).spawn(move || end_if_stuck(&run, exit));
                let _ = sender.send(by.to_string());
                tell!("ending the run; once more ends it at once");
            }
        }
    }
}

/// Ends the program when the thread of a run does nothing any more: neither calls nor signals would ever be noticed there.
fn end_if_stuck(run: &Handle, exit: Exit) {
    loop {
        let (sender, answer) = mpsc::channel();
        run.spawn(async move { sender.send(()) });
        match answer.recv_timeout(STUCK) {
            Ok(()) => std::thread::sleep(STUCK),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                std::thread::sleep(STUCK);
                break;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break,
        }
    }
    std::process::exit(i32::from(exit.number()));
}

/// As long as it is kept, signals mean something else than the end of the program.
pub(super) struct Attended(());

/// From now on a signal ends the run that hears of it here, on the runtime this is called on.
pub(super) fn listen(sender: UnboundedSender<String>) -> Attended {
    *meaning() = Meaning::EndRun(sender, Handle::current());
    hear();
    Attended(())
}

/// A question is asked, and there is no run yet: Ctrl-C ends the program.
pub(super) fn at_question() -> Attended {
    *meaning() = Meaning::EndAtQuestion;
    hear();
    Attended(())
}

impl Drop for Attended {
    fn drop(&mut self) {
        *meaning() = Meaning::End;
    }
}
