//! Asks a person at a terminal for decisions, while other steps continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::form;
use super::progress::ProgressDisplay;
use super::typing::{Said, Typing};
use crate::report::show_command;
use crate::runtime::{Answer, Decide, Decided, RunQuestion};

/// Asks the person at this terminal.
pub(super) struct AskedAtTerminal {
    /// Its other output waits until the question is answered.
    pub(super) progress: Option<Arc<ProgressDisplay>>,
    /// The options that a command needs to reach the project of the run.
    pub(super) reach: String,
    /// Whether a question was withdrawn and none has been shown since.
    was_taken_back: Arc<AtomicBool>,
}

/// How long the terminal pauses before it replaces a question that the person may be answering.
const REST: Duration = Duration::from_millis(1_500);

impl AskedAtTerminal {
    pub(super) fn new(progress: Option<Arc<ProgressDisplay>>, reach: String) -> AskedAtTerminal {
        AskedAtTerminal { progress, reach, was_taken_back: Arc::default() }
    }
}

impl Decide for AskedAtTerminal {
    /// Waits for the answer in a separate thread, so that Ctrl-C still ends the run; the run is saved and can be resumed.
    fn decide(&mut self, asked: RunQuestion) -> Decided<'_> {
        let show = match asked.is_unrecorded {
            true => "scroll up".to_owned(),
            false => show_command(&asked.run, &asked.step, &self.reach),
        };
        let held = self.progress.as_ref().map(ProgressDisplay::hold);
        let typing = Typing::default();
        let over = typing.clone();
        let mut line = OpenLine { open: Some(typing.clone()), was_taken_back: Arc::clone(&self.was_taken_back) };
        let rests = self.was_taken_back.swap(false, Ordering::AcqRel);
        let ask = move || match &asked.form {
            Some(form) => form::ask(&asked.text, form, asked.until, &show, &typing),
            None => typing.allow(&asked.text, &show).map(|said| match said {
                Said::Yes => Answer { approved: true, by: form::user(), ..Answer::default() },
                Said::No(comment) => Answer { comment, by: form::user(), ..Answer::default() },
            }),
        };
        let asking = tokio::task::spawn_blocking(move || {
            if rests {
                std::thread::sleep(REST);
            }
            if over.is_over() { None } else { ask() }
        });
        Box::pin(async move {
            let answer = asking.await;
            line.is_answered();
            drop(held);
            answer.ok().flatten()
        })
    }

    fn decide_unrecorded(&mut self, asked: RunQuestion) -> Decided<'_> {
        self.decide(asked)
    }
}

/// The input line of a question; it ends when the question is withdrawn.
struct OpenLine {
    open: Option<Typing>,
    was_taken_back: Arc<AtomicBool>,
}

impl OpenLine {
    fn is_answered(&mut self) {
        self.open = None;
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        if let Some(typing) = &self.open {
            typing.end();
            self.was_taken_back.store(true, Ordering::Release);
            tell!();
        }
    }
}
