//! A person at a terminal is asked what they must decide, while other steps go on.

use std::sync::Arc;

use super::form;
use super::inputs::Typing;
use super::progress::ProgressDisplay;
use crate::report::show_command;
use crate::runtime::{Answer, Decide, Decided, RunQuestion};

/// Whoever sits at this terminal.
pub(super) struct AskedAtTerminal {
    /// What else is shown there waits until the question is answered.
    pub(super) progress: Option<Arc<ProgressDisplay>>,
    /// What a command needs to reach the project of the run.
    pub(super) reach: String,
}

impl Decide for AskedAtTerminal {
    /// The question waits in a thread of its own, so that Ctrl-C still ends the run; it is saved and continues later.
    fn decide(&mut self, asked: RunQuestion) -> Decided<'_> {
        let show = show_command(&asked.run, &asked.step, &self.reach);
        let held = self.progress.as_ref().map(ProgressDisplay::hold);
        let typing = Typing::default();
        let mut line = OpenLine(Some(typing.clone()));
        let asking = tokio::task::spawn_blocking(move || match &asked.form {
            Some(form) => form::ask(&asked.text, form, asked.until, &show, &typing),
            None => typing.allow(&asked.text, &show).map(|approved| Answer { approved, by: form::user(), ..Answer::default() }),
        });
        Box::pin(async move {
            let answer = asking.await;
            line.is_answered();
            drop(held);
            answer.ok().flatten()
        })
    }
}

/// The line of a question, which ends when the question is given up.
struct OpenLine(Option<Typing>);

impl OpenLine {
    fn is_answered(&mut self) {
        self.0 = None;
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        if let Some(typing) = &self.0 {
            typing.end();
            tell!();
        }
    }
}
