//! `flow conversations …`: what people and pipelines said to each other.

use std::path::Path;

use serde_json::json;

use super::arguments::{ConversationsCommand, SharedOptions, StoreOption};
use super::refusal::Refusal;
use super::{Exit, stdout};
use crate::adapter::environment;
use crate::adapter::run_lock::RunLock;
use crate::adapter::sqlite_cache::SqliteCache;
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::adapter::sqlite_store::SqliteStore;
use crate::diagnostic::{counted, visible, visible_lines};
use crate::port::{ConversationRun, ConversationSummary, Conversations, KeptMessage, RunFilter, RunMatch, Store};
use crate::report::escape::json_visible;
use crate::runtime::{conversations_file, kept};

/// Lists, shows, writes out or erases conversations.
pub(super) fn done(command: &ConversationsCommand, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let journal = kept::journal_file(&shared.current_project())?;
    match command {
        ConversationsCommand::List { json, store } => list(&mut open(&journal, store, shared)?, *json),
        ConversationsCommand::Show { id, store } => {
            let messages = messages(&mut open(&journal, store, shared)?, id)?;
            Ok(stdout::print(&messages.iter().map(shown).collect::<String>()))
        }
        ConversationsCommand::Export { id, store } => {
            let messages = messages(&mut open(&journal, store, shared)?, id)?;
            Ok(stdout::print(&messages.iter().map(line).collect::<String>()))
        }
        ConversationsCommand::Erase { id, forget_missing, store } => erase(&journal, id, *forget_missing, store, shared),
    }
}

/// The store. Errors: there is none (exit 4), or it cannot be read.
fn open(journal: &Path, store: &StoreOption, shared: &SharedOptions) -> Result<SqliteConversations, Refusal> {
    let file = store.store.clone().unwrap_or_else(|| conversations_file(journal));
    if !file.exists() {
        return Err(Refusal::new(Exit::NothingRan, format!("no conversations yet: {} does not exist", file.display())));
    }
    Ok(SqliteConversations::existing(&file, &kept::of_kept_runs(&shared.current_project())?)?)
}

fn list(store: &mut SqliteConversations, as_json: bool) -> Result<Exit, Refusal> {
    let all = store.list()?;
    if as_json {
        return Ok(stdout::print_json(&all));
    }
    let row = |one: &ConversationSummary| {
        let id = one.id.as_deref().map_or_else(|| "(encrypted)".into(), visible).into_owned();
        let last = one.last.map(|time| time.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        [id, counted(one.messages, "message", "messages"), last, one.channel.as_deref().map(visible).unwrap_or_default().into_owned()]
    };
    let rows: Vec<[String; 4]> = all.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let line = |[id, count, last, channel]: &[String; 4]| {
        format!("{}\n", format!("{id:<first$}  {count:>second$}  {last:<third$}  {channel}").trim_end())
    };
    Ok(stdout::print(&rows.iter().map(line).collect::<String>()))
}

/// The messages of a conversation. Errors: there is none of that id (exit 2), or it cannot be read.
fn messages(store: &mut SqliteConversations, id: &str) -> Result<Vec<KeptMessage>, Refusal> {
    store.all(id)?.ok_or_else(|| Refusal::usage(format!("conversation \"{}\" not found; see flow conversations list", visible(id))))
}

/// A message for people, masked.
fn shown(message: &KeptMessage) -> String {
    let said = &message.said;
    let role: &str = said.role.into();
    let time = said.time.map(|time| time.format("%Y-%m-%d %H:%M:%S UTC  ").to_string()).unwrap_or_default();
    let channel = said.channel.as_deref().map(|name| format!(" on {}", visible(name))).unwrap_or_default();
    let text: String = visible_lines(&message.masked).lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    let unanswered = if message.is_unanswered { ", not answered" } else { "" };
    format!("{time}{role}{channel}{unanswered}\n{text}\n")
}

/// A message as JSON on a line, masked.
pub(super) fn line(message: &KeptMessage) -> String {
    let said = &message.said;
    let mut own = json!({
        "role": said.role, "text": message.masked, "channel": said.channel, "person": said.person, "time": said.time, "run": message.run,
    });
    if message.is_unanswered {
        own["unanswered"] = true.into();
    }
    format!("{}\n", json_visible(&own.to_string()))
}

/// Erases a conversation, with the runs that were part of it. What goes first is what only the conversation knows of: so a command that was killed in
/// the middle is repeated.
/// Errors: a run of it goes on or waits for a person (exit 2); something of it is left, or records of its runs are not here (exit 6): these are told again
/// until they are found, or `forget_missing`.
fn erase(journal: &Path, id: &str, forget_missing: bool, store: &StoreOption, shared: &SharedOptions) -> Result<Exit, Refusal> {
    let mut conversations = open(journal, store, shared)?;
    if conversations.all(id).is_ok_and(|found| found.is_none()) {
        // What a command that was killed left of it goes all the same.
        conversations.remove(id, &[])?;
        return Err(Refusal::usage(format!("conversation \"{}\" not found; see flow conversations list", visible(id))));
    }
    // Nothing of it begins meanwhile.
    let turn = environment::run_id();
    conversations.arrive(id, &turn)?;
    let erased = erase_in_turn(&mut conversations, journal, id, forget_missing, &turn);
    conversations.leave(&turn)?;
    let (runs, missing) = erased?;
    if !missing.is_empty() {
        let message = format!(
            "the messages are erased, with {} that belonged to them; not in {}: the records of {}. If they are kept elsewhere (another FLOW_STATE_DIR, \
             another project with this store), repeat the command there; if they were removed (flow runs rm), repeat it with --forget-missing",
            counted(runs, "run", "runs"),
            journal.display(),
            missing.join(", ")
        );
        return Err(Refusal::new(Exit::Failed, message));
    }
    if !shared.quiet {
        tell!("erased, with {} that belonged to it", counted(runs, "run", "runs"));
    }
    Ok(Exit::Ok)
}

/// How many records of runs were removed, and of which runs there are none here.
fn erase_in_turn(
    conversations: &mut SqliteConversations,
    journal: &Path,
    id: &str,
    forget_missing: bool,
    turn: &str,
) -> Result<(usize, Vec<String>), Refusal> {
    if let Some(ahead) = conversations.ahead(turn)? {
        let process = conversations.process(&ahead);
        let message = format!("run {ahead} of this conversation is running (process {process}); erase the conversation when it has ended");
        return Err(Refusal::usage(message));
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
            return Err(Refusal::usage(format!(
                "run {run} of this conversation waits for a person: decide (flow runs show {run}), or remove it (flow runs rm {run})"
            )));
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
