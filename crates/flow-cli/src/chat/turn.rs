//! One message and its answer.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Chat;
use super::told::{below, tokens};
use super::view::{AskedAboutAgent, View};
use crate::adapter::clock::SystemClock;
use crate::adapter::lock;
use crate::adapter::stdout::Silent;
use crate::asking::AskedAtTerminal;
use crate::event::{Canceller, Happening, RunStatus};
use crate::outcome::{line_of_end, own_exit, rejected_keys};
use crate::port::{Clock, PrintError, Printer};
use crate::progress::ProgressDisplay;
use crate::refusal::Refusal;
use crate::report::escape::json_visible;
use crate::run::{ready, to_decide};
use crate::runtime::{PlayedRun, RunError, RunOutcome, RunSession};
use crate::signals::{Attended, listen_to_answer};
use crate::typing::StdoutBesideQuestion;
use crate::{Exit, refusal, stdout, tell};

impl Chat<'_> {
    /// Sends a message and shows the answer. Errors are printed, and the chat continues. Returns the exit code for a script, and whether a
    /// signal ends the chat: SIGTERM, or in a script Ctrl-C.
    pub(super) fn say(&mut self, text: String) -> (Exit, bool) {
        let mut given = self.given.clone();
        given.insert(self.opened.message.clone(), Value::String(text));
        self.runner.now = self.set.and_then(|(now, since)| now.checked_add_signed(SystemClock::new().now() - since));
        let begun = ready(&self.runner).and_then(|on| match RunSession::begin(on, given) {
            Err(RunError::Lacking(failure)) => Err(Refusal::new(Exit::Failed, failure.message)),
            begun => Ok(begun?),
        });
        match begun {
            Ok(mut session) => {
                session.on.ports.servers = Arc::new(self.servers.lend(&session.id, &session.on));
                self.play(session)
            }
            Err(refused) => {
                let exit = refusal::report(refused);
                tell!("the message was not sent");
                (exit, false)
            }
        }
    }

    /// Creates the view of an answer, and the printer of its parts.
    fn seen(&self, session: &mut RunSession, signals: Attended) -> (View, Arc<Sent>) {
        let progress = (!self.shared.quiet && !self.shared.no_progress).then(|| ProgressDisplay::new(false, self.shared.look_of_stderr()));
        let agent = self.opened.agent.as_ref().and_then(|name| self.opened.workflow.pipeline.agents.get(name));
        // An answer with a required shape is shown once it matches.
        let streams = !self.options.no_tty && agent.is_some_and(|agent| agent.output.is_none());
        let view = View::new(signals, progress, streams, self);
        session.on.ports.heard = view.heard();
        let printer: Arc<dyn Printer> = match &view.progress {
            _ if self.options.json => Arc::new(Silent),
            Some(progress) => progress.beside(Arc::new(StdoutBesideQuestion::default())),
            None => Arc::new(StdoutBesideQuestion::default()),
        };
        let sent = Arc::new(Sent { printer, parts: Mutex::default() });
        session.on.ports.printer = sent.clone();
        (view, sent)
    }

    fn play(&mut self, mut session: RunSession) -> (Exit, bool) {
        let (sender, mut stop) = tokio::sync::mpsc::unbounded_channel();
        let (mut view, sent) = self.seen(&mut session, listen_to_answer(sender));
        let reach = self.shared.reach(&self.opened.workflow.project);
        let mut person = AskedAtTerminal::new(view.progress.clone(), reach.clone());
        let mut played = match self.opened.agent {
            Some(_) => session.play(&mut stop, &mut view, &mut AskedAboutAgent(person)),
            None => session.play(&mut stop, &mut view, &mut person),
        };
        let (waits_for_server, is_told) = (view.waits_for_server(), view.has_told(&played.outcome));
        drop(view.progress.take());
        if waits_for_server {
            self.servers.restart();
        }
        let outcome = &mut played.outcome;
        let loss = outcome.loss.take().map(Refusal::from);
        let status = outcome.status();
        let sent = std::mem::take(&mut *lock(&sent.parts));
        let answer = if sent.is_empty() { answer_of(outcome) } else { sent.join("\n\n") };
        self.learn(&played);
        let outcome = &played.outcome;
        let is_answered = !answer.trim().is_empty();
        let is_good = matches!(status, Some(RunStatus::Succeeded | RunStatus::Partial));
        let mut is_lost = loss.is_some();
        // A run that could not be stored does not wait for an answer.
        let is_cut = is_lost && status.is_none();
        let unfinished = if is_cut { RunStatus::Failed.word() } else { "waiting" };
        let why = loss.as_ref().filter(|_| is_cut).map(|Refusal(_, lines)| lines.join("; "));
        // A message without an answer is not shown to the model.
        let is_said = (is_good || is_answered) && !outcome.is_forgotten;
        self.tally.add(&outcome.usage, if is_said { 2 } else { 0 });
        if self.options.json {
            let tools: Vec<Value> = view.tools.iter().map(|tool| tool.to_json(played.redactor())).collect();
            let usage = &outcome.usage;
            let line = json!({
                "session": self.session.id, "run": outcome.run, "role": "assistant", "text": answer, "status": status.map_or(unfinished, RunStatus::word),
                "error": why.or_else(|| line_of_end(outcome, &reach).filter(|_| !is_good).map(|line| played.redactor().redact(&line))), "tool_calls": tools,
                "usage": { "prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens, "total_tokens": usage.total_tokens() },
                "cost_usd": usage.cost_usd,
            });
            let line = tell::without_secrets_in(line).to_string();
            is_lost |= stdout::print(&format!("{}\n", json_visible(&line))) != Exit::Ok;
        } else if is_answered && sent.is_empty() {
            if self.options.no_tty {
                is_lost |= stdout::print_file(&format!("{answer}\n")) != Exit::Ok;
            } else {
                view.prints(&answer);
            }
        }
        if status.is_none() && loss.is_none() {
            to_decide(&outcome.events, &reach).iter().for_each(|line| tell!("{line}"));
        }
        if let (true, true) = (loss.is_some(), is_answered) {
            self.tally.loses(outcome.is_forgotten);
        }
        self.tell_end(outcome, loss, is_told, (is_good, is_answered));
        let ended_by = outcome.cancelled_by();
        let is_over = ended_by == Some(Canceller::Terminate) || self.options.no_tty && ended_by == Some(Canceller::Interrupt);
        let unfinished = if is_cut { Exit::Failed } else { Exit::Waiting };
        let exit = status.map_or(unfinished, |status| own_exit(outcome, status, ended_by == Some(Canceller::Terminate)));
        (exit.unless(is_lost), is_over)
    }

    /// Prints how an answer ended, and its usage.
    fn tell_end(&mut self, outcome: &RunOutcome, loss: Option<Refusal>, is_told: bool, (is_good, is_answered): (bool, bool)) {
        match outcome.cancelled_by() {
            Some(Canceller::Interrupt) => tell!("stopped: the message counts as not answered"),
            Some(Canceller::Terminate) => tell!("stopped by a signal: the message counts as not answered"),
            _ if is_told => {}
            _ => {
                let line = line_of_end(outcome, &self.shared.reach(&self.opened.workflow.project));
                line.filter(|_| !(self.shared.quiet && is_good)).iter().for_each(|line| tell!("{line}"));
            }
        }
        rejected_keys(outcome).iter().for_each(|line| tell!("{line}"));
        if !self.shared.quiet && outcome.usage.total_tokens() > 0 {
            below(&tokens(&outcome.usage), self.shared.look_of_stderr());
        }
        self.warn();
        if let Some(loss) = loss {
            refusal::report(loss);
            tell!(
                "{}",
                match (outcome.is_forgotten, is_answered) {
                    (true, true) => "the answer above is not kept: neither the next message nor a session that continues knows of it",
                    (true, false) => "the message is not kept, and has no answer",
                    (false, _) => "the answer above is in the record of its run, and not in the session yet: the next message adds it",
                }
            );
        }
    }

    /// Reads from the first event which conversation this is, if the pipeline sets it, and how many messages it still has.
    fn learn(&mut self, played: &PlayedRun) {
        let own = played.outcome.events.iter().find_map(|event| match &event.happening {
            Happening::RunStarted(start) => start.conversation.as_deref(),
            _ => None,
        });
        if let Some(own) = own {
            if self.session.id.is_empty() {
                self.session.id.clone_from(&own.of);
            }
            self.tally.has_unanswered = !played.outcome.is_forgotten;
            // Messages that were missing are now in the session.
            self.tally.is_behind = false;
            self.tally.messages = own.messages.len() as u64 + own.left_out;
        }
    }
}

/// Returns the answer of a pipeline without `send`: its first output that is a text, or else all outputs.
fn answer_of(outcome: &RunOutcome) -> String {
    let text = outcome.outputs.as_object().and_then(|outputs| outputs.values().find_map(Value::as_str));
    text.map(str::to_owned).or_else(|| outcome.text()).unwrap_or_default()
}

/// Prints parts, and stores what was printed.
struct Sent {
    printer: Arc<dyn Printer>,
    parts: Mutex<Vec<String>>,
}

impl Printer for Sent {
    fn print(&self, parts: &[String]) -> Result<(), PrintError> {
        lock(&self.parts).extend_from_slice(parts);
        self.printer.print(parts)
    }
}
