//! Ctrl-C, SIGTERM and a terminal that is gone (SIGHUP).
//!
//! They are heard in a thread of their own: the thread of a run may wait for a pipe that nobody empties, or a disk that does not answer.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::Exit;
use crate::driver::Runtime;
use crate::event::{Canceller, Event, Happening};
use crate::model::STAGE_TIME;

/// How long the program may take to end after a signal, whatever hangs. What a run waits for is over before.
const TO_END: Duration = Duration::from_millis(4_900);

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
    async fn next(&mut self) -> (Canceller, Exit) {
        let Signals { interrupt, terminate, hangup } = self;
        let gone = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => (Canceller::Interrupt, Exit::Interrupted),
            _ = terminate.recv() => (Canceller::Terminate, Exit::Terminated),
            _ = gone => (Canceller::Terminate, Exit::Terminated),
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
pub(super) fn survive_full_files() {
    let Ok(runtime) = Runtime::new() else { return };
    let _inside = runtime.enter();
    // Once it was heard, its usual effect never comes back.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// What a signal means now.
enum SignalMeaning {
    /// The end of the program.
    End,
    /// The same, in the middle of a line on the terminal.
    EndAtQuestion,
    /// The end of this run.
    EndRun(UnboundedSender<Canceller>),
}

static MEANING: Mutex<SignalMeaning> = Mutex::new(SignalMeaning::End);

fn meaning() -> MutexGuard<'static, SignalMeaning> {
    MEANING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread that hears them must know of a run that ends.
enum News {
    /// It has so much time more.
    Longer(Duration),
    /// It has ended, and all is written.
    Over,
}

/// Starts to hear them, once for the program. `None`: they do what they always do.
fn hear() -> Option<&'static UnboundedSender<News>> {
    static HEARD: OnceLock<Option<UnboundedSender<News>>> = OnceLock::new();
    let heard = HEARD.get_or_init(|| {
        let runtime = Runtime::new().ok()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::hear()?
        };
        let (sender, news) = unbounded_channel();
        std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(attend(signals, news))).ok()?;
        Some(sender)
    });
    heard.as_ref()
}

/// During a run the first ends the run; the second one, or a run that does not end, ends the program at once.
async fn attend(mut signals: Signals, mut news: UnboundedReceiver<News>) {
    let mut first: Option<Exit> = None;
    let late = tokio::time::sleep(TO_END);
    tokio::pin!(late);
    loop {
        tokio::select! {
            (by, exit) = signals.next() => match std::mem::replace(&mut *meaning(), SignalMeaning::End) {
                SignalMeaning::End => end_now(first.unwrap_or(exit)),
                SignalMeaning::EndAtQuestion => {
                    tell!();
                    end_now(exit);
                }
                SignalMeaning::EndRun(sender) => {
                    // Nobody hears of it: only the end of the program is left.
                    if sender.send(by).is_err() {
                        end_now(exit);
                    }
                    first = Some(exit);
                    late.as_mut().reset(Instant::now() + TO_END);
                    tell_aside("ending the run; once more ends it at once");
                }
            },
            Some(news) = news.recv() => match news {
                News::Longer(more) => late.as_mut().reset(Instant::now() + more + TO_END),
                News::Over => first = None,
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

/// As long as it is kept, signals mean something else than the end of the program.
pub(super) struct Attended(Option<&'static UnboundedSender<News>>);

/// From now on a signal ends the run that hears of it through this channel.
pub(super) fn listen(sender: UnboundedSender<Canceller>) -> Attended {
    *meaning() = SignalMeaning::EndRun(sender);
    Attended(hear())
}

/// A question is asked, and there is no run yet: Ctrl-C ends the program.
pub(super) fn at_question() -> Attended {
    *meaning() = SignalMeaning::EndAtQuestion;
    Attended(hear())
}

impl Attended {
    /// Sees the events of a run: a stage that begins while it ends has time of its own.
    pub(super) fn watch(&self, event: &Event) {
        if let (Happening::StageStarted { .. }, Some(news)) = (&event.happening, self.0) {
            let _ = news.send(News::Longer(STAGE_TIME));
        }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        *meaning() = SignalMeaning::End;
        if let Some(news) = self.0 {
            let _ = news.send(News::Over);
        }
    }
}
