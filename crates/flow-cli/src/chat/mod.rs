//! `flow chat`: a conversation with an agent or a pipeline. Each message is a run, with the usual record, limits, questions to a person and
//! masks.
//!
//! | file | what |
//! |---|---|
//! | `opened` | the agent or pipeline, and the input that receives the message |
//! | `typed` | the person's input: messages, commands, lines of a script |
//! | `servers` | MCP servers, which outlive a message, and the list of tools |
//! | `sessions` | stored conversations: finds, continues and exports them |
//! | `turn` | one message and its answer |
//! | `streamed` | the part of an answer that has been printed |
//! | `view` | shows an answer while it arrives |
//! | `told` | messages about the session |
//!
//! How to add a command: a variant of [`typed::CommandWord`], its arm in [`Chat::act`], a line of `docs/chat.md`.

mod opened;
mod servers;
mod sessions;
mod streamed;
mod told;
mod turn;
mod typed;
mod view;

use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::arguments::{ChatOptions, SharedOptions};
use super::refusal::Refusal;
use super::run::ready;
use super::{Exit, inputs, trust};
use crate::adapter::clock::SystemClock;
use crate::adapter::environment;
use crate::diagnostic::{counted, visible};
use crate::port::{Clock, MessageThread};
use crate::runtime::{Runner, Talk, channel};
use opened::Opened;
use servers::ChatServers;
use sessions::Session;
use told::ChatTally;
use typed::{ChatLines, CommandWord, Line, Typed};

/// A chat in progress.
struct Chat<'a> {
    options: &'a ChatOptions,
    shared: &'a SharedOptions,
    opened: Opened,
    runner: Runner,
    /// Inputs other than the message.
    given: Map<String, Value>,
    session: Session,
    tally: ChatTally,
    servers: ChatServers,
    /// The time set with `--now`, and when it was set.
    set: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

/// Runs the chat until the person, or the script, ends it.
pub(super) fn run(options: &ChatOptions, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let opened = opened::open(options, shared)?;
    let agreed = trust::consent(&opened.workflow.checked, &options.file, options.trust.is_given, shared)?;
    let mut runner = shared.runner(&opened.workflow, Some(agreed));
    runner.is_chat = true;
    let set = options.now.as_deref().map(inputs::time).transpose()?.map(|now| (now, SystemClock::new().now()));
    runner.channel = channel(&opened.workflow.pipeline, options.channel.as_deref())?;
    let (given, _) = inputs::read(&opened.workflow.pipeline, None, &options.inputs)?;
    let lacking = inputs::missing(&opened.workflow.pipeline, &given);
    if let Some(field) = lacking.iter().find(|field| field.name != opened.message) {
        return Err(refusal!(Usage, "input \"{0}\" is missing: give it with --input {0}=value", field.name));
    }
    let on = ready(&runner)?;
    let who = told::Answering::find(&opened, &on)?;
    if !shared.quiet {
        on.unrecognised().iter().chain(&on.unreadable_folders()).for_each(|line| tell!("{line}"));
    }
    drop(on);
    let mut lines = ChatLines::new(options.no_tty)?;
    let mut chat = Chat {
        options,
        shared,
        opened,
        runner,
        given,
        session: Session::default(),
        tally: ChatTally::default(),
        servers: ChatServers::new()?,
        set,
    };
    chat.begin(options.resume.as_deref())?;
    chat.greet(&lines, &who);
    let mut exit = Exit::Ok;
    while let Some(line) = lines.next(chat.parting())? {
        match line {
            Line::Interrupted => tell!("Ctrl-D or exit ends the chat"),
            Line::Refused(why) => {
                chat.line(&why);
                exit = chat.of_script(exit, Exit::Usage);
            }
            Line::Typed(Typed::Nothing) => {}
            Line::Typed(Typed::Over) => break,
            Line::Typed(Typed::Command(command, argument)) => {
                if let Err(Refusal(refused, why)) = chat.act(command, argument.as_deref(), &mut lines) {
                    why.iter().for_each(|line| chat.line(line));
                    exit = chat.of_script(exit, refused);
                }
            }
            Line::Typed(Typed::Message { text, stripped }) => {
                if stripped > 0 {
                    tell!("{} removed from the message", counted(stripped, "control character was", "control characters were"));
                }
                let (ended, is_over) = chat.say(text);
                exit = chat.of_script(exit, ended);
                if is_over {
                    exit = ended;
                    break;
                }
            }
        }
    }
    chat.parting()();
    Ok(exit)
}

impl Chat<'_> {
    /// Returns the exit code of a script so far: that of its first failed message. A person sees errors and continues.
    fn of_script(&self, so_far: Exit, now: Exit) -> Exit {
        if self.options.no_tty && so_far == Exit::Ok { now } else { so_far }
    }

    /// Starts a session, or continues one.
    fn begin(&mut self, resumed: Option<&str>) -> Result<(), Refusal> {
        let session = match (resumed, self.opened.has_own_conversation()) {
            (Some(_), true) => {
                return Err(Refusal::usage(
                    "this pipeline says itself which conversation it continues (conversation.id), so there is none to resume by its id",
                ));
            }
            (Some(id), false) => sessions::find(id, &self.opened.workflow.project)?,
            (None, true) => Session::default(),
            (None, false) => Session::new(environment::session_id()),
        };
        self.runner.talk = (!self.opened.has_own_conversation()).then(|| Talk {
            id: session.id.clone(),
            message: self.opened.message.clone(),
            keep: self.options.max_messages,
            is_alone: self.opened.agent.is_some(),
        });
        self.tally = ChatTally {
            is_resumed: resumed.is_some(),
            messages: session.messages.iter().filter(|message| message.thread == MessageThread::Talk).count() as u64,
            ..ChatTally::default()
        };
        self.session = session;
        Ok(())
    }

    fn act(&mut self, command: CommandWord, argument: Option<&str>, lines: &mut ChatLines) -> Result<(), Refusal> {
        match (command, argument) {
            (CommandWord::Help, _) => told::help(self.shared.look_of_stderr()),
            (CommandWord::Tools, _) => self.tell_tools()?,
            (CommandWord::Usage, _) => self.tell_usage(),
            (CommandWord::Channel, None) => told::channels(&self.opened, self.runner.channel.as_deref()),
            (CommandWord::Channel, Some(name)) => {
                self.runner.channel = channel(&self.opened.workflow.pipeline, Some(name))?;
                tell!("answers are written for {} from now on", visible(name));
            }
            (CommandWord::Clear, _) => {
                if self.opened.has_own_conversation() {
                    return Err(Refusal::usage(
                        "the pipeline says itself which conversation this is; flow conversations clear forgets what was said in one",
                    ));
                }
                let earlier = self.session.id.clone();
                let was_used = self.tally.messages > 0 && !self.is_apart();
                self.begin(None)?;
                lines.forget();
                let kept = if was_used { format!("; the earlier one is kept: /resume {earlier}") } else { String::new() };
                self.line(&format!("a new session begins{kept}"));
            }
            (CommandWord::Resume, None) => sessions::list(&self.opened.workflow.project)?,
            (CommandWord::Resume, Some(id)) => {
                self.begin(Some(id))?;
                lines.forget();
                lines.remember(self.session.user_texts());
                self.tell_earlier();
            }
            (CommandWord::Save, None) => self.tell_saved(),
            (CommandWord::Save, Some(file)) => self.save(Path::new(file))?,
        }
        Ok(())
    }

    /// Returns the id of the conversation, once it is known.
    fn session_id(&self) -> Option<String> {
        let is_begun = self.tally.messages > 0 || self.tally.has_unanswered;
        Some(self.session.id.clone()).filter(|id| !id.is_empty() && is_begun && !self.is_apart())
    }

    /// Whether the messages are independent: a pipeline without a conversation answers.
    fn is_apart(&self) -> bool {
        self.opened.agent.is_none() && self.opened.workflow.pipeline.conversation.is_none()
    }
}
