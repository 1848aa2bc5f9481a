//! Ctrl-C, SIGTERM and a closed terminal (SIGHUP).
//!
//! A separate thread receives them, because the thread of a run may be blocked by a full pipe or an unresponsive disk.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::Exit;
use crate::driver::Runtime;
use crate::event::{Canceller, Event, Happening};
use crate::model::STAGE_TIME;

/// Time limit for the program to end after a signal. The calls of a run have ended before.
const TO_END: Duration = Duration::from_millis(4_900);

/// Messages to the thread that receives signals.
enum News {
    /// A signal arrived: its name in the record, and the exit code of the program.
    Signal(Canceller, Exit),
    /// From now on a signal ends this run.
    Run(UnboundedSender<Canceller>),
    /// From now on a signal ends this answer of a chat; a second one ends the calls that the answer still waits for.
    Answer(UnboundedSender<Canceller>),
    /// From now on a signal ends the program in the middle of a line on the terminal.
    Question,
    /// From now on a signal calls this and ends the program, while a line is edited.
    Edited(Box<dyn FnOnce() + Send>),
    /// Extends the time for a run to end.
    Longer(Duration),
    /// From now on a signal ends the program: no run is left, and everything is written.
    Over,
}

/// Passes on each signal from now on; it no longer ends the process. A closed terminal counts as SIGTERM. `None`: signals cannot be
/// received here and keep their default effect.
fn hear(news: &UnboundedSender<News>) -> Option<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut all = vec![
        (SignalKind::interrupt(), Canceller::Interrupt, Exit::Interrupted),
        (SignalKind::terminate(), Canceller::Terminate, Exit::Terminated),
    ];
    // SIGHUP stays ignored if the program was started so (`nohup`). If the system does not report this, it is handled.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    if ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 0) {
        all.push((SignalKind::hangup(), Canceller::Terminate, Exit::Terminated));
    }
    for (kind, by, exit) in all {
        let (mut signal, news) = (signal(kind).ok()?, news.clone());
        tokio::spawn(async move { while signal.recv().await.is_some_and(|()| news.send(News::Signal(by, exit)).is_ok()) {} });
    }
    Some(())
}

/// Makes writes fail if a file reaches its size limit (`ulimit -f`), instead of ending the process.
pub(super) fn survive_full_files() {
    let Ok(runtime) = Runtime::new() else { return };
    let _inside = runtime.enter();
    // Once a signal is handled, its default effect does not return.
    let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// Discards input typed or pasted before a question was visible, because it is not an answer; returns whether there was some.
pub(super) fn forget_typed() -> bool {
    let has_typed = rustix::io::ioctl_fionread(std::io::stdin()).is_ok_and(|bytes| bytes > 0);
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    has_typed
}

/// Waits up to `most` for a typed line or the end of the input.
pub(super) fn has_typed(most: std::time::Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let most = Timespec::try_from(most).ok();
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], most.as_ref()) {
        Ok(ready) => ready > 0,
        // If waiting is impossible, the input is read at once.
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

/// Returns the sender to the thread that receives signals; it is started once.
fn listener() -> Option<&'static UnboundedSender<News>> {
    static HEARD: OnceLock<Option<UnboundedSender<News>>> = OnceLock::new();
    let heard = HEARD.get_or_init(|| {
        let runtime = Runtime::new().ok()?;
        let (sender, news) = unbounded_channel();
        {
            let _inside = runtime.enter();
            hear(&sender)?;
        }
        std::thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(attend(news))).ok()?;
        Some(sender)
    });
    heard.as_ref()
}

/// Handles signals. The first ends the run; the second (for an answer the third), or a run that does not end, ends the program at once.
async fn attend(mut news: UnboundedReceiver<News>) {
    let (mut meaning, mut first) = (News::Over, None);
    let late = tokio::time::sleep(TO_END);
    tokio::pin!(late);
    loop {
        tokio::select! {
            Some(told) = news.recv() => match told {
                News::Signal(by, exit) => match std::mem::replace(&mut meaning, News::Over) {
                    News::Run(run) if run.send(by).is_ok() => {
                        first = Some(exit);
                        late.as_mut().reset(Instant::now() + TO_END);
                        tell_aside("ending the run; a second signal ends it at once");
                    }
                    News::Answer(run) if run.send(by).is_ok() => {
                        meaning = if first.is_none() { News::Answer(run) } else { News::Over };
                        first = first.or(Some(exit));
                        late.as_mut().reset(Instant::now() + TO_END);
                    }
                    News::Question => {
                        tell!();
                        end_now(exit);
                    }
                    News::Edited(leave) => {
                        leave();
                        end_now(exit);
                    }
                    _ => end_now(first.unwrap_or(exit)),
                },
                News::Longer(more) => late.as_mut().reset(Instant::now() + more + TO_END),
                now => (meaning, first) = (now, None),
            },
            () = &mut late, if first.is_some() => {
                tell_aside("a call does not end; exiting without it. Recorded events are kept");
                tokio::time::sleep(Duration::from_millis(50)).await;
                end_now(first.unwrap_or(Exit::Interrupted));
            }
        }
    }
}

fn end_now(exit: Exit) -> ! {
    std::process::exit(i32::from(exit.number()))
}

/// Prints in a separate thread, because standard error may be blocked.
fn tell_aside(line: &'static str) {
    let _ = std::thread::Builder::new().name("tell".into()).spawn(move || tell!("{line}"));
}

/// Changes the effect of signals as long as it is held.
pub(super) struct Attended(Option<&'static UnboundedSender<News>>);

/// From now on a signal ends the run that receives it through this channel.
pub(super) fn listen(run: UnboundedSender<Canceller>) -> Attended {
    Attended::meaning(News::Run(run))
}

/// From now on a signal ends the answer of a chat that receives it through this channel.
pub(super) fn listen_to_answer(run: UnboundedSender<Canceller>) -> Attended {
    Attended::meaning(News::Answer(run))
}

/// While a question is asked and no run exists, Ctrl-C ends the program.
pub(super) fn at_question() -> Attended {
    Attended::meaning(News::Question)
}

/// While a line is edited, a signal restores the terminal, calls `then`, and ends the program.
pub(super) fn at_edited_line(then: impl FnOnce() + Send + 'static) -> Attended {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(std::io::stdin()).ok();
    Attended::meaning(News::Edited(Box::new(move || {
        // A closed terminal cannot be restored.
        let _ = before.map(|before| tcsetattr(std::io::stdin(), OptionalActions::Now, &before));
        super::stdout::control(PASTE_AS_TYPED);
        tell!();
        then();
    })))
}

/// Disables bracketed paste.
const PASTE_AS_TYPED: &str = "\u{1b}[?2004l";

/// Unread input of the terminal.
pub(super) struct TypedAhead {
    /// Number of bytes, including those of an incomplete line.
    pub(super) bytes: u64,
    /// Whether there is more than whole lines: an incomplete line, or Ctrl-D, which is a NUL in non-canonical mode (termios(3)).
    pub(super) goes_on: bool,
}

/// Returns the unread input; `None`: the terminal does not report it.
pub(super) fn typed_ahead() -> Option<TypedAhead> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).ok()?;
    let of_lines = rustix::io::ioctl_fionread(&stdin).ok()?;
    let mut by_byte = before.clone();
    by_byte.local_modes -= LocalModes::ICANON;
    tcsetattr(&stdin, OptionalActions::Now, &by_byte).ok()?;
    let waiting = rustix::io::ioctl_fionread(&stdin).ok();
    let _ = tcsetattr(&stdin, OptionalActions::Now, &before);
    waiting.map(|bytes| TypedAhead { bytes, goes_on: bytes > of_lines })
}

impl Attended {
    fn meaning(news: News) -> Attended {
        let attended = Attended(listener());
        attended.tell(news);
        attended
    }

    /// Handles an event of a run: a stage that starts while the run ends has its own time limit.
    pub(super) fn watch(&self, event: &Event) {
        if matches!(event.happening, Happening::StageStarted { .. }) {
            self.tell(News::Longer(STAGE_TIME));
        }
    }

    fn tell(&self, news: News) {
        self.0.map(|listener| listener.send(news));
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.tell(News::Over);
    }
}
