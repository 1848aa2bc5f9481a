//! Ctrl-C, SIGTERM and a terminal that is gone (SIGHUP).

use std::thread::JoinHandle;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Exit;
use crate::event::{Event, Happening};
use crate::model::STAGE_TIME;

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

/// How long the program may take to end after a signal, whatever hangs. What a run waits for is over before.
const TO_END: Duration = Duration::from_millis(4_900);

/// As long as it is kept, the first signal ends the run, and the second one, or a run that does not end, the program at once. They are
/// heard in a thread of its own: nothing that the run's thread waits for is in their way.
pub(super) struct Listening {
    more: Option<UnboundedSender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Begins; who is to end the run is told through the channel. Where signals cannot be heard they do what they always do.
    pub(super) fn begin(to: UnboundedSender<String>) -> Listening {
        let (more, allowed) = unbounded_channel();
        let begun = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            // Heard before the run begins.
            let signals = {
                let _inside = runtime.enter();
                Signals::hear()?
            };
            std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(listen(signals, to, allowed))).ok()
        };
        Listening { more: Some(more), thread: begun() }
    }

    /// Sees the events of a run: a stage that begins while it ends has time of its own.
    pub(super) fn watch(&self, event: &Event) {
        if let (Happening::StageStarted { .. }, Some(more)) = (&event.happening, &self.more) {
            let _ = more.send(STAGE_TIME);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.more.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn listen(mut signals: Signals, to: UnboundedSender<String>, mut allowed: UnboundedReceiver<Duration>) {
    let mut first: Option<Exit> = None;
    let late = tokio::time::sleep(TO_END);
    tokio::pin!(late);
    loop {
        tokio::select! {
            (by, exit) = signals.next() => {
                // Only the end of the program is left.
                if first.is_some() || to.send(by.to_string()).is_err() {
                    end_now(first.unwrap_or(exit));
                }
                first = Some(exit);
                late.as_mut().reset(Instant::now() + TO_END);
                tell_aside("ending the run; once more ends it at once");
            }
            more = allowed.recv() => match more {
                Some(more) => late.as_mut().reset(Instant::now() + more + TO_END),
                None => return,
            },
            () = &mut late, if first.is_some() => {
                tell_aside("something hangs; the program ends without it. What is recorded is kept");
                tokio::time::sleep(Duration::from_millis(50)).await;
                end_now(first.unwrap_or(Exit::Interrupted));
            }
        }
    }
}

fn end_now(exit: Exit) -> ! {
    std::process::exit(i32::from(exit.number()))
}

/// Standard error may be what hangs.
fn tell_aside(line: &'static str) {
    let _ = std::thread::Builder::new().name("tell".into()).spawn(move || tell!("{line}"));
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
