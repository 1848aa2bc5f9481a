//! `flow conversations …`: stored messages of people and pipelines.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ConversationOptions, ConversationsCommand, SharedOptions, StoreOption};
use super::refusal::Refusal;
use super::{Exit, stdout};
use crate::adapter::clock::SystemClock;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::adapter::sqlite_store::SqliteStore;
use crate::adapter::{environment, files};
use crate::diagnostic::{counted, visible, visible_lines};
use crate::journal::added;
use crate::model::{MessageRole, PastMessage, read_json};
use crate::port::{
    Clock as _, ConversationRun, ConversationSummary, Conversations, KeptMessage, MessageThread, RunFilter, RunMatch, Store,
};
use crate::report::escape::json_visible;
use crate::runtime::{catch_up, conversations_file, kept, shown_path};

/// Lists, shows, exports or erases conversations.
pub(super) fn run(command: &ConversationsCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let journal = kept::journal_file(&shared.current_project())?;
    match command {
        ConversationsCommand::List { json, store } => list(&mut open(&journal, store, shared)?, *json),
        ConversationsCommand::Show(options) => {
            Ok(stdout::print(&messages(&journal, options, shared)?.iter().map(masked_lines).collect::<String>()))
        }
        ConversationsCommand::Export(options) => {
            Ok(stdout::print(&messages(&journal, options, shared)?.iter().filter_map(line).collect::<String>()))
        }
        ConversationsCommand::Add { id, file, store } => add(&journal, id, file, store, shared),
        ConversationsCommand::Clear(ConversationOptions { id, agent, store }) => {
            let mut store = open(&journal, store, shared)?;
            let cleared = store.clear(id, agent.as_deref())?.ok_or_else(|| unknown(&mut store, id))?;
            if let (0, Some(agent)) = (cleared, agent) {
                return Err(nothing_of(id, agent, &store.agents(id)?));
            }
            note!(shared, "removed {}", counted(cleared, "message", "messages"));
            Ok(Exit::Ok)
        }
        ConversationsCommand::Erase { id, forget_missing, store } => erase(&journal, id, *forget_missing, store, shared),
    }
}

/// Opens the store. Errors: there is none (exit 4), or it cannot be read.
fn open(journal: &Path, store: &StoreOption, shared: &SharedOptions) -> Result<SqliteConversations, Refusal> {
    let file = store.store.clone().unwrap_or_else(|| conversations_file(journal));
    if !file.exists() {
        return Err(refusal!(NothingRan, "no conversations yet: {} does not exist", file.display()));
    }
    let sealing = kept::of_kept_runs(&shared.current_project())?;
    let mut opened = SqliteConversations::existing(&file, &sealing)?;
    catch_up(&mut opened, journal, &sealing, None, None)?;
    Ok(opened)
}

fn list(store: &mut SqliteConversations, as_json: bool) -> Result<Exit, Refusal> {
    let all = store.list()?;
    if as_json {
        return Ok(stdout::print_json(&all));
    }
    let row = |one: &ConversationSummary| {
        let id = one.id.as_deref().map_or_else(|| "(encrypted)".into(), visible).into_owned();
        let last = one.last.map(|time| time.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        let channel = one.channel.as_deref().map(visible).unwrap_or_default().into_owned();
        let agents = if one.agents.is_empty() { String::new() } else { format!("and {}", of_agents(&one.agents)) };
        [id, counted(one.messages, "message", "messages"), last, channel, agents]
    };
    let rows: Vec<[String; 5]> = all.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third, fourth) = (width(0), width(1), width(2), width(3));
    let line = |[id, count, last, channel, agents]: &[String; 5]| {
        format!("{}\n", format!("{id:<first$}  {count:>second$}  {last:<third$}  {channel:<fourth$}  {agents}").trim_end())
    };
    Ok(stdout::print(&rows.iter().map(line).collect::<String>()))
}

/// Formats the numbers of messages by agent.
fn of_agents(agents: &BTreeMap<String, u64>) -> String {
    let of = |(name, count): (&String, &u64)| format!("{} of {}", counted(*count, "message", "messages"), visible(name));
    agents.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// Returns the messages of a conversation, or of an agent in it; other agents with messages are reported on standard error. Errors: the
/// conversation or the agent has no messages (exit 2), or they cannot be read.
fn messages(journal: &Path, options: &ConversationOptions, shared: &SharedOptions) -> Result<Vec<KeptMessage>, Refusal> {
    let ConversationOptions { id, agent, store } = options;
    let mut store = open(journal, store, shared)?;
    let messages = store.all(id, agent.as_deref())?.ok_or_else(|| unknown(&mut store, id))?;
    let agents = store.agents(id)?;
    match agent {
        Some(agent) if messages.is_empty() => return Err(nothing_of(id, agent, &agents)),
        None if !agents.is_empty() && !shared.quiet => tell!("not among these: {} (--agent NAME)", of_agents(&agents)),
        Some(_) | None => {}
    }
    Ok(messages)
}

fn nothing_of(id: &str, agent: &str, agents: &BTreeMap<String, u64>) -> Refusal {
    let others = if agents.is_empty() { String::new() } else { format!("; there are {}", of_agents(agents)) };
    refusal!(Usage, "conversation {} has no messages of agent \"{}\"{others}", visible(id), visible(agent))
}

fn unknown(store: &mut SqliteConversations, id: &str) -> Refusal {
    let others = of_other_keys(store).map(|others| format!("; {others}, and it may be among them")).unwrap_or_default();
    refusal!(Usage, "conversation \"{}\" not found{others}; see flow conversations list", visible(id))
}

/// Formats how many conversations are encrypted with another key; `None`: none.
fn of_other_keys(store: &mut SqliteConversations) -> Option<String> {
    let count = store.list().ok()?.iter().filter(|one| one.id.is_none()).count();
    let are = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{} {are} encrypted with another key", counted(count, "conversation", "conversations")))
}

/// A line of `add`. `run` is accepted because `export` prints it; added messages belong to no run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedMessage {
    role: MessageRole,
    text: String,
    #[serde(default)]
    channel: Option<String>,
    #[serde(default)]
    person: Option<String>,
    #[serde(default)]
    time: Option<DateTime<Utc>>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    unanswered: bool,
    #[serde(default)]
    run: Option<String>,
}

/// Maximum size of one addition in bytes.
const MOST_ADDED: u64 = 64 << 20;

/// Adds messages, all or none. Errors: the file cannot be read or a line is not a message (exit 2); the store cannot be used.
fn add(journal: &Path, id: &str, file: &Path, store: &StoreOption, shared: &SharedOptions) -> Result<Exit, Refusal> {
    if id.trim().is_empty() {
        return Err(Refusal::usage("the id of a conversation must not be empty"));
    }
    let text = if file == Path::new("-") { files::read_input(MOST_ADDED) } else { files::read_named(file, MOST_ADDED) };
    let text = text.map_err(|error| refusal!(Usage, "{}: it cannot be read: {error}", shown_path(file)))?;
    let (batch, now) = (environment::added_id(), SystemClock::default().now());
    let mut messages = vec![];
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| refusal!(Usage, "{}, line {number}: {}; nothing was added", shown_path(file), visible(what));
        let value = read_json(line).map_err(|error| wrong(&error.what))?;
        let added: AddedMessage = serde_json::from_value(value).map_err(|error| wrong(&error.to_string()))?;
        messages.push(added.into_kept(&batch, now).map_err(wrong)?);
    }
    let place = store.store.clone().unwrap_or_else(|| conversations_file(journal));
    let sealing = kept::of_additions(&shared.current_project())?;
    let mut opened = SqliteConversations::open(&place, &sealing, store.store.is_none())?;
    catch_up(&mut opened, journal, &sealing, Some(id), None)?;
    opened.add(id, &messages)?;
    note!(shared, "added {}", counted(messages.len() as u64, "message", "messages"));
    Ok(Exit::Ok)
}

impl AddedMessage {
    /// Converts it for the store; `now` is used if it has no time. Errors: why it is invalid.
    fn into_kept(self, batch: &str, now: DateTime<Utc>) -> Result<KeptMessage, &'static str> {
        let AddedMessage { role, text, channel, person, time, agent, content, unanswered, run } = self;
        // Stored empty messages can be exported and added again.
        if text.trim().is_empty() && run.is_none() {
            return Err("the text is empty");
        }
        let thread = match (&agent, unanswered) {
            (Some(name), _) if !is_id(name) => return Err("agent is no name of an agent: small letters, digits and _"),
            (Some(_), true) => return Err("a message of an agent is never unanswered"),
            (Some(_), false) => MessageThread::Agent,
            (None, true) => MessageThread::Unanswered,
            (None, false) => MessageThread::Talk,
        };
        Ok(added(batch, PastMessage { role, text, agent, channel, person, time: time.or(Some(now)), content }, thread))
    }
}

/// Formats a message for people, masked.
fn masked_lines(message: &KeptMessage) -> String {
    let said = &message.said;
    let role: &str = said.role.into();
    let time = said.time.map(|time| time.format("%Y-%m-%d %H:%M:%S UTC  ").to_string()).unwrap_or_default();
    let channel = said.channel.as_deref().map(|name| format!(" on {}", visible(name))).unwrap_or_default();
    let text: String = visible_lines(&message.masked).lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    let of = match message.thread {
        MessageThread::Talk => String::new(),
        MessageThread::Unanswered => ", not answered".to_owned(),
        MessageThread::Agent => format!(", {}", visible(said.agent.as_deref().unwrap_or_default())),
        MessageThread::Summary { .. } => ", summary of older messages".to_owned(),
    };
    format!("{time}{role}{channel}{of}\n{text}\n")
}

/// Formats a message as JSON on one line, masked; `None` for a summary, which is derived from the messages.
pub(super) fn line(message: &KeptMessage) -> Option<String> {
    if matches!(message.thread, MessageThread::Summary { .. }) {
        return None;
    }
    let said = &message.said;
    let mut own = json!({
        "role": said.role, "text": message.masked, "channel": said.channel, "person": said.person, "time": said.time, "run": message.run,
    });
    if message.is_unanswered() {
        own["unanswered"] = true.into();
    }
    if let Some(agent) = &said.agent {
        own["agent"] = agent.clone().into();
    }
    if let Some(content) = &message.content {
        own["content"] = content.clone();
    }
    Some(format!("{}\n", json_visible(&own.to_string())))
}

/// Whether an agent could have this name in a file.
fn is_id(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(|sign| matches!(sign, 'a'..='z' | '0'..='9' | '_'))
}

/// Erases a conversation with its runs. Data that only the conversation refers to is erased first, so that an interrupted command can be
/// repeated. Errors: a run of it is running or waits for a person (exit 2); a part of it is left, or records of its runs are missing here
/// (exit 6). Missing ones are reported again until they are found, or `forget_missing` is set.
fn erase(journal: &Path, id: &str, forget_missing: bool, store: &StoreOption, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut conversations = open(journal, store, shared)?;
    if conversations.all(id, None).is_ok_and(|found| found.is_none()) {
        // Parts that an interrupted command left are removed all the same.
        conversations.remove(id, &[])?;
        return Err(unknown(&mut conversations, id));
    }
    // Prevents new runs of the conversation meanwhile.
    let turn = environment::run_id();
    conversations.arrive(id, &turn)?;
    let erased = erase_in_turn(&mut conversations, journal, id, forget_missing, &turn);
    conversations.leave(&turn)?;
    let (runs, missing) = erased?;
    if !missing.is_empty() {
        return Err(refusal!(
            Failed,
            "the messages are erased, with {} that belonged to them; not in {}: the records of {}. If they are kept elsewhere (another FLOW_STATE_DIR, \
             another project with this store), repeat the command there; if they were removed (flow runs rm), repeat it with --forget-missing",
            counted(runs, "run", "runs"),
            journal.display(),
            missing.join(", ")
        ));
    }
    if let Some(others) = of_other_keys(&mut conversations) {
        return Err(refusal!(
            Failed,
            "the messages that can be read are erased, with {} that belonged to them, but {others}, and \"{}\" may be among them: set FLOW_JOURNAL_KEY \
             (or journal.key_file) to each earlier key and repeat the command",
            counted(runs, "run", "runs"),
            visible(id)
        ));
    }
    note!(shared, "erased, with {} that belonged to it", counted(runs, "run", "runs"));
    Ok(Exit::Ok)
}

/// Erases a conversation that has the turn; returns the number of removed records, and the runs without a record here.
fn erase_in_turn(
    conversations: &mut SqliteConversations,
    journal: &Path,
    id: &str,
    forget_missing: bool,
    turn: &str,
) -> Result<(usize, Vec<String>), Refusal> {
    if let Some(ahead) = conversations.ahead(turn)? {
        let process = conversations.process(&ahead);
        return Err(refusal!(
            Usage,
            "run {ahead} of this conversation is running (process {process}); erase the conversation when it has ended"
        ));
    }
    let mut store = journal.exists().then(|| SqliteStore::existing(journal, &Default::default())).transpose()?;
    let (mut runs, mut missing): (Vec<String>, Vec<String>) = (vec![], vec![]);
    for ConversationRun { run, is_found } in conversations.runs(id)? {
        let named = store.as_mut().map(|store| store.named(&run)).transpose()?;
        let is_here = is_found || named.is_some_and(|named| named == RunMatch::One(run.clone()));
        if is_here { &mut runs } else { &mut missing }.push(run);
    }
    let mut locks = vec![];
    if let Some(store) = store.as_mut().filter(|_| !runs.is_empty()) {
        let waiting = store.list(&RunFilter { state: Some("waiting".into()), ..RunFilter::default() })?.runs;
        if let Some(run) = waiting.iter().map(|run| &run.run).find(|run| runs.contains(run)) {
            return Err(refusal!(
                Usage,
                "run {run} of this conversation waits for a person: decide (flow runs show {run}), or remove it (flow runs rm {run})"
            ));
        }
        for run in &runs {
            locks.extend(RunLock::take_to_remove(journal, run)?);
        }
        let names: Vec<&str> = runs.iter().map(String::as_str).collect();
        conversations.finds(&names)?;
        let failed = |error| Refusal::new(Exit::Failed, error);
        let is_forgotten = SqliteCache::forget(&kept::cache_file(journal), &names).map_err(failed)?;
        store.remove(&names)?;
        if !is_forgotten {
            let message = "another process is reading cached results of this conversation: repeat the command when it has ended";
            return Err(Refusal::new(Exit::Failed, message));
        }
    }
    if forget_missing {
        missing.clear();
    }
    conversations.remove(id, &missing.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok((runs.len(), missing))
}
