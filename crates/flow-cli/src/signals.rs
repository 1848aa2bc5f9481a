//! Ctrl-C, SIGTERM and a terminal that is gone (SIGHUP).
//!
//! They are heard in a thread of their own: the thread of a run may wait for a pipe that nobody empties, or a disk that does not answer.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::Exit;
use crate::driver::Runtime;
use crate::event::{Canceller, Event, Happening};
use crate::model::STAGE_TIME;

/// How long the program may take to end after a signal, whatever hangs. What a run waits for has ended before.
const TO_END: Duration = Duration::from_millis(4_900);

/// What the thread that receives signals is told.
enum News {
    /// A signal has come: what the record calls it, and how the program ends.
    Signal(Canceller, Exit),
    /// From now on it ends this run.
    Run(UnboundedSender<Canceller>),
    /// It ends this answer of a chat; a second one ends the calls that the answer still waits for.
    Answer(UnboundedSender<Canceller>),
    /// It ends the program in the middle of a line on the terminal.
    Question,
    /// It ends the program while a line is edited, after this.
    Edited(Box<dyn FnOnce() + Send>),
    /// A run that ends has so much time more.
    Longer(Duration),
    /// It ends the program: no run is left, and all is written.
    Over,
}

/// Tells of each signal from now on; it no longer ends the process. A terminal that is gone counts as SIGTERM. `None`: they cannot be heard here, and
/// do what they always do.
fn hear(news: &UnboundedSender<News>) -> Option<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut all = vec![
        (SignalKind::interrupt(), Canceller::Interrupt, Exit::Interrupted),
        (SignalKind::terminate(), Canceller::Terminate, Exit::Terminated),
    ];
    // Ignored: whoever started the program wants it to outlive its terminal (`nohup`). Where the system does not tell, it is not.
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

/// From now on a file that may not grow any more (`ulimit -f`) fails what writes to it, and does not end the process.
pub(super) fn survive_full_files() {
    let Ok(runtime) = Runtime::new() else { return };
    let _inside = runtime.enter();
    // Once it was heard, its usual effect never comes back.
    let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

/// What was typed or pasted before a question was seen is no answer to it.
pub(super) fn forget_typed() -> bool {
    let has_typed = rustix::io::ioctl_fionread(std::io::stdin()).is_ok_and(|bytes| bytes > 0);
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    has_typed
}

/// Waits at most so long for a line that a person types, or the end of what they type.
pub(super) fn has_typed(most: std::time::Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let most = Timespec::try_from(most).ok();
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], most.as_ref()) {
        Ok(ready) => ready > 0,
        // What cannot be waited for is read at once.
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

/// The thread that hears signals; it is started once for the program.
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

/// During a run the first ends the run; the second one (of an answer the third one), or a run that does not end, ends the program at once.
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

/// Standard error may be what hangs.
fn tell_aside(line: &'static str) {
    let _ = std::thread::Builder::new().name("tell".into()).spawn(move || tell!("{line}"));
}

/// As long as it is kept, signals mean something else than the end of the program.
pub(super) struct Attended(Option<&'static UnboundedSender<News>>);

/// From now on a signal ends the run that hears of it through this channel.
pub(super) fn listen(run: UnboundedSender<Canceller>) -> Attended {
    Attended::meaning(News::Run(run))
}

/// From now on a signal ends the answer of a chat that hears of it through this channel.
pub(super) fn listen_to_answer(run: UnboundedSender<Canceller>) -> Attended {
    Attended::meaning(News::Answer(run))
}

/// A question is asked, and there is no run yet: Ctrl-C ends the program.
pub(super) fn at_question() -> Attended {
    Attended::meaning(News::Question)
}

/// A line is edited, which sets the terminal: a signal sets it as it is now, does this, and ends the program.
pub(super) fn at_edited_line(then: impl FnOnce() + Send + 'static) -> Attended {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(std::io::stdin()).ok();
    Attended::meaning(News::Edited(Box::new(move || {
        // Of a terminal that is gone nothing is left to set.
        let _ = before.map(|before| tcsetattr(std::io::stdin(), OptionalActions::Now, &before));
        super::stdout::control(PASTE_AS_TYPED);
        tell!();
        then();
    })))
}

/// Pasted text comes without brackets again.
const PASTE_AS_TYPED: &str = "\u{1b}[?2004l";

/// What the terminal holds that nobody has read.
pub(super) struct TypedAhead {
    /// How many bytes, also of a line that has not ended.
    pub(super) bytes: u64,
    /// Whether more is there than whole lines: the beginning of one, or Ctrl-D, which is a NUL where the terminal hands over each byte (termios(3)).
    pub(super) goes_on: bool,
}

/// What was typed while nobody read; `None`: the terminal does not tell.
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

    /// Sees the events of a run: a stage that begins while it ends has time of its own.
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
