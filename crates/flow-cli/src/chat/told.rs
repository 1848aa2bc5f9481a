//! Messages about a session.

use std::path::Path;
use std::sync::Arc;

use super::Chat;
use super::opened::Opened;
use super::sessions;
use super::typed::{ChatLines, CommandWord};
use crate::arguments::MOST_MESSAGES;
use crate::diagnostic::{counted, shell_path, shell_word, visible};
use crate::event::Usage;
use crate::model::{Agent, DEFAULT_MODEL, Model, OnFailure, PastMessage, Pipeline, Provider, SecretReader, Step, StepKind};
use crate::refusal::Refusal;
use crate::report::Look;
use crate::run::SCRIPTED;
use crate::runtime::{Surroundings, unset};
use crate::{Exit, tell};

/// Percentage of the messages that a model sees at which a warning is shown.
const NEARLY: u64 = 80;

/// Number of messages shown when a session is resumed.
const SHOWN_EARLIER: usize = 4;

/// The state of a session.
#[derive(Default)]
pub(super) struct ChatTally {
    /// Messages of both sides, including earlier sittings.
    pub(super) messages: u64,
    pub(super) usage: Usage,
    /// Whether it was started in an earlier sitting.
    pub(super) is_resumed: bool,
    /// Whether a message without an answer is stored.
    pub(super) has_unanswered: bool,
    /// Number of answers that were shown but not stored.
    pub(super) lost: u64,
    /// Whether the last answer is in the record of its run, but not in the session yet.
    pub(super) is_behind: bool,
    /// Whether the warning that the oldest messages will be left out was shown.
    pub(super) is_warned: bool,
}

impl ChatTally {
    /// Adds the usage of an answer.
    pub(super) fn add(&mut self, usage: &Usage, messages: u64) {
        self.messages += messages;
        self.usage.add(usage);
    }

    /// Records that a shown answer could not be stored in the session. `for_good`: its run did not store it either.
    pub(super) fn loses(&mut self, for_good: bool) {
        self.lost += u64::from(for_good);
        self.is_behind = !for_good;
    }

    /// Returns a clause about the parts of the session that are not stored.
    fn unkept(&self) -> String {
        let lost = (self.lost > 0).then(|| format!("; {} not kept", counted(self.lost, "answer was", "answers were")));
        let behind = self.is_behind.then_some("; the last answer is not in it yet");
        [lost.as_deref(), behind].into_iter().flatten().collect()
    }

    /// Returns the usage of the counted answers.
    fn used(&self) -> String {
        let since = if self.is_resumed { "was resumed" } else { "began" };
        format!("{} since this session {since}", tokens(&self.usage))
    }
}

/// Formats tokens of prompts, of answers, and both: `1,202 + 56 = 1,258 tokens, $0.0012`.
pub(super) fn tokens(usage: &Usage) -> String {
    let cost = usage.cost_usd.map(|cost| match cost {
        cost if cost <= 0.0 => ", $0".to_owned(),
        cost if cost < 0.0001 => ", less than $0.0001".to_owned(),
        cost => format!(", ${cost:.4}"),
    });
    let cost = cost.unwrap_or_default();
    let unknown = if usage.unknown_tokens > 0 { ", and some calls that told no number" } else { "" };
    format!("{} + {} = {} tokens{unknown}{cost}", usage.input_tokens, usage.output_tokens, usage.total_tokens())
}

pub(super) fn help(look: Look) {
    let line = |name: &str, does: &str| tell::wrapped(&format!("{name:<18}"), does, look);
    for (name, word) in CommandWord::all() {
        let (takes, does) = word.about();
        line(&format!("/{name}{takes}"), does);
    }
    line("exit, quit", "ends the chat; Ctrl-D, too");
    line("Ctrl-C", "stops an answer");
    line("\\", "at the end of a line: the message continues on the next one");
}

pub(super) fn channels(opened: &Opened, chosen: Option<&str>) {
    let channels = &opened.workflow.pipeline.channels;
    if channels.is_empty() {
        tell!("{} has no channels", opened.name());
    }
    for channel in channels {
        let mark = if chosen == Some(channel.name.as_str()) { "  (now)" } else { "" };
        tell!("{}{mark}", visible(&channel.name));
    }
}

impl Chat<'_> {
    /// Prints a message about the session, wrapped to the window.
    pub(super) fn line(&self, text: &str) {
        tell::wrapped("", text, self.shared.look_of_stderr());
    }

    /// Prints the name of the agent or pipeline, and how to get help.
    pub(super) fn greet(&self, lines: &ChatLines, who: &Answering) {
        if self.shared.quiet {
            return;
        }
        let pipeline = &self.opened.workflow.pipeline;
        let help = if lines.is_script() { "" } else { "; /help lists commands, Ctrl-D ends the chat" };
        self.line(&format!("chat with {}{}{help}", self.opened.name(), who.model));
        // For an agent, the line above says this.
        if self.opened.agent.is_none() && who.is_scripted {
            self.line(SCRIPTED);
        }
        if self.opened.agent.is_none() && pipeline.conversation.is_none() {
            self.line("this pipeline has no conversation: each message is answered by itself");
        }
        self.tell_earlier();
    }

    /// Prints the last earlier messages of this session.
    pub(super) fn tell_earlier(&self) {
        let messages = &self.session.messages;
        if messages.is_empty() || self.shared.quiet {
            return;
        }
        self.line(&format!("session {} continues, with {}", self.session.id, counted(self.tally.messages, "message", "messages")));
        for message in &messages[messages.len().saturating_sub(SHOWN_EARLIER)..] {
            let masked = PastMessage { text: message.masked.clone(), ..message.said.clone() };
            tell::in_colour(&masked.line(), self.shared.look_of_stderr(), "2");
        }
    }

    pub(super) fn tell_usage(&self) {
        let id = self.session_id().map(|id| format!("session {id}: ")).unwrap_or_default();
        self.line(&format!("{id}{}{}", counted(self.tally.messages, "message", "messages"), self.tally.unkept()));
        tell!("{}", self.tally.used());
        if self.tally.usage.cost_usd.is_none() && self.tally.usage.total_tokens() > 0 {
            tell!("unpriced: the file gives the model no price");
        }
    }

    pub(super) fn tell_saved(&self) {
        let unkept = self.tally.unkept();
        let each = if unkept.is_empty() { "each answer is kept as it comes" } else { "what could be kept is" };
        match self.session_id() {
            Some(id) if self.opened.has_own_conversation() => {
                self.line(&format!("{each}, in the conversation \"{id}\" that the pipeline names{unkept}"));
            }
            Some(id) => tell_as_written!("{each}; continue with flow chat {} --resume {id}{unkept}", self.reached()),
            None if self.is_apart() => self.line("each message is answered by itself; flow runs list shows them"),
            None if !unkept.is_empty() => self.line(&format!("nothing of this session is kept{unkept}")),
            None if self.opened.has_own_conversation() => self.line("the pipeline says with the next message which conversation this is"),
            None => self.line("nothing was said yet; each answer is kept as it comes"),
        }
    }

    /// Writes the session to a file.
    pub(super) fn save(&self, file: &Path) -> Result<(), Refusal> {
        let unkept = self.tally.unkept();
        let nothing =
            if unkept.is_empty() { "nothing was said yet".to_owned() } else { format!("nothing of this session is kept{unkept}") };
        let id = self.session_id().ok_or_else(|| Refusal::usage(nothing))?;
        let count = sessions::write(&id, file, &self.opened.workflow.project)?;
        tell!("wrote {} to {}{unkept}", counted(count, "message", "messages"), file.display());
        Ok(())
    }

    /// Returns the arguments that open this chat again.
    fn reached(&self) -> String {
        let agent = self.options.agent.as_ref().map(|name| format!(" --agent {name}")).unwrap_or_default();
        let file = shell_path(&self.options.file.display().to_string());
        let inputs: String = self.options.inputs.iter().map(|pair| format!(" --input {}", shell_word(pair))).collect();
        let most = self.options.max_messages;
        let most = if most == MOST_MESSAGES { String::new() } else { format!(" --max-messages {most}") };
        format!("{file}{agent}{inputs}{most}{}", self.shared.reach(&self.opened.workflow.project))
    }

    /// Warns once before a model no longer sees the oldest messages; not needed if they are summarized.
    pub(super) fn warn(&mut self) {
        let most = match &self.opened.workflow.pipeline.conversation {
            Some(own) if self.opened.agent.is_none() && own.summary.is_some() => return,
            Some(own) if self.opened.agent.is_none() => own.keep,
            Some(_) | None => self.options.max_messages,
        };
        let is_near = self.tally.messages * 100 >= most * NEARLY;
        if !is_near {
            self.tally.is_warned = false;
        } else if !self.tally.is_warned && !self.shared.quiet {
            self.tally.is_warned = true;
            let now = self.tally.messages;
            let begin = if self.opened.has_own_conversation() { "" } else { "; /clear begins a new session" };
            self.line(&format!("{now} messages: a model sees the newest {most}, so older ones are left out once there are more{begin}"));
        }
    }

    /// Returns a function that prints the usage, and the command to continue.
    pub(super) fn parting(&self) -> impl FnOnce() + Send + use<> {
        let is_told = !self.shared.quiet;
        // The usage of a single answer is shown below it.
        let used = (is_told && self.tally.messages > 2 && self.tally.usage.total_tokens() > 0).then(|| self.tally.used());
        let id = self.session_id().filter(|_| is_told && !self.opened.has_own_conversation());
        // Not wrapped, so that it can be copied.
        let again = id.map(|id| format!("continue with flow chat {} --resume {id}", self.reached()));
        move || {
            used.iter().for_each(|line| tell!("{line}"));
            again.iter().for_each(|line| tell_as_written!("{line}"));
        }
    }
}

/// Who answers the messages.
pub(super) struct Answering {
    /// The model of an agent that answers directly, as shown in the first line.
    model: String,
    /// Whether all replies come from a file.
    is_scripted: bool,
}

impl Answering {
    /// Determines who answers. Errors: a required agent has no model here, or its model reads a variable that is not set.
    pub(super) fn find(opened: &Opened, on: &Surroundings) -> Result<Answering, Refusal> {
        let is_scripted = on.scripted;
        let Some((agent_name, agent)) = opened.agent.as_ref().and_then(|name| on.pipeline().agents.get_key_value(name)) else {
            let needed = if is_scripted { vec![] } else { always_asked(on.pipeline()) };
            needed.into_iter().try_for_each(|(name, agent)| model_of(on, name, agent).map(drop))?;
            return Ok(Answering { model: String::new(), is_scripted });
        };
        let (name, model) = model_of(on, agent_name, agent)?;
        Ok(Answering { model: told_of(name, model), is_scripted })
    }
}

/// Returns the agents that every message needs: those of steps in the pipeline's own list that always run, and whose failure ends the run.
fn always_asked(pipeline: &Pipeline) -> Vec<(&String, &Agent)> {
    let stand_ins: Vec<&str> = pipeline.steps.iter().flat_map(|step| step.stand_ins()).map(|(_, id)| id.value.as_str()).collect();
    let is_needed = |step: &&Arc<Step>| {
        let always = step.when.is_none() && step.for_each.is_none() && !stand_ins.contains(&step.id.value.as_str());
        always && step.on_failure == OnFailure::Stop
    };
    let asked = pipeline.steps.iter().filter(is_needed).filter_map(|step| {
        let StepKind::Agent(asked) = &step.kind else { return None };
        pipeline.agents.get_key_value(&asked.agent.value).filter(|_| asked.model.is_none())
    });
    asked.collect()
}

/// Returns the model of an agent. Errors: see [`Answering::find`].
fn model_of<'o>(on: &'o Surroundings, agent_name: &str, agent: &'o Agent) -> Result<(&'o str, &'o Model), Refusal> {
    let name = agent.model.as_ref().map_or(DEFAULT_MODEL, |model| model.value.as_str());
    let Some(model) = on.model(name) else {
        return Err(refusal!(
            Failed,
            "agent \"{}\" has no model here; add one to models, or set FLOW_MODEL and FLOW_MODEL_BASE_URL",
            visible(agent_name)
        ));
    };
    let is_needed = model.fallback.is_empty() && on.pipeline().models.get(name).is_some_and(|own| std::ptr::eq(own, model));
    let unset = unset(&on.runner.workflow.checked, &on.runner.env);
    match unset.iter().find(|unset| is_needed && unset.is_read_by(&SecretReader::Model(name))) {
        Some(lacking) => Err(Refusal::new(Exit::Failed, lacking)),
        None => Ok((name, model)),
    }
}

fn told_of(name: &str, model: &Model) -> String {
    let called = model.model.as_ref().map_or(name, |text| &text.source);
    match model.provider {
        Provider::Scripted(_) => ", with scripted replies".to_owned(),
        Provider::Service(_) | Provider::Replay(_) | Provider::Program(_) | Provider::Tool(_) | Provider::Broken => {
            format!(", model {}", visible(called))
        }
    }
}

/// Prints a pale line below an answer.
pub(super) fn below(text: &str, look: Look) {
    tell::in_colour(text, look, "2");
}
