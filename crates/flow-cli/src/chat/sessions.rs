//! Stored sessions: each is a conversation.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::conversations;
use crate::diagnostic::{counted, visible};
use crate::model::MessageRole;
use crate::port::{Conversations, KeptMessage};
use crate::refusal::Refusal;
use crate::report::fit;
use crate::runtime::{catch_up, conversations_file, kept, shown_path};

/// Maximum number of sessions that are listed.
const MOST_LISTED: usize = 20;
/// Maximum width of a session's first words, in columns.
const MOST_WORDS: usize = 40;

/// A session with its earlier messages.
#[derive(Default)]
pub(super) struct Session {
    /// Empty: the pipeline determines the conversation.
    pub(super) id: String,
    pub(super) messages: Vec<KeptMessage>,
}

impl Session {
    pub(super) fn new(id: String) -> Session {
        Session { id, messages: vec![] }
    }

    /// Returns the person's messages.
    pub(super) fn user_texts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(|message| message.said.role == MessageRole::User).map(|message| message.said.text.as_str())
    }
}

/// Opens the store; `None`: nothing is stored yet.
fn store(project: &Path) -> Result<Option<SqliteConversations>, Refusal> {
    let journal = kept::journal_file(project)?;
    let file = conversations_file(&journal);
    if !file.exists() {
        return Ok(None);
    }
    let sealing = kept::of_kept_runs(project)?;
    let mut store = SqliteConversations::existing(&file, &sealing)?;
    // Existing messages can be read even if the disk is full.
    let _ = catch_up(&mut store, &journal, &sealing, None, None);
    Ok(Some(store))
}

/// Whether a conversation belongs to a chat: its id is a UUID. Conversations of pipelines are continued by their pipelines.
fn is_session(id: &str) -> bool {
    let fits = |(at, sign): (usize, char)| if matches!(at, 8 | 13 | 18 | 23) { sign == '-' } else { sign.is_ascii_hexdigit() };
    id.len() == 36 && id.chars().enumerate().all(fits)
}

/// Returns the session with an id or a prefix of it. Errors: there is none, or the prefix is ambiguous (exit 2).
pub(super) fn find(id: &str, project: &Path) -> Result<Session, Refusal> {
    if id.is_empty() {
        return Err(Refusal::usage("the id of the session to resume is empty; /resume lists those that are kept"));
    }
    let none = || refusal!(Usage, "there is no session \"{}\"; /resume lists those that are kept", visible(id));
    let mut store = store(project)?.ok_or_else(none)?;
    let all: Vec<String> =
        store.list()?.into_iter().filter_map(|one| one.id).filter(|known| is_session(known) && known.starts_with(id)).collect();
    match &all[..] {
        [only] => Ok(Session { messages: store.all(only, None)?.unwrap_or_default(), id: only.clone() }),
        [] => Err(none()),
        several => Err(refusal!(Usage, "\"{}\" begins {} sessions; write more of the id", visible(id), several.len())),
    }
}

/// Lists sessions, newest first.
pub(super) fn list(project: &Path) -> Result<(), Refusal> {
    let mut store = store(project)?;
    let mut all = store.as_mut().map(Conversations::list).transpose()?.unwrap_or_default();
    all.retain(|one| one.id.as_deref().is_none_or(is_session));
    if all.is_empty() {
        tell!("no session is kept yet");
    }
    for one in all.iter().take(MOST_LISTED) {
        let last = one.last.map(|time| time.format("  %Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        let id = one.id.as_deref().map_or("(encrypted)".into(), visible);
        let said = one.id.as_deref().zip(store.as_mut()).map(|(id, store)| store.all(id, None)).transpose()?.flatten();
        let first = said.iter().flatten().find(|message| message.said.role == MessageRole::User);
        let first = first.map(|message| format!("  {}", fit(&message.masked.split_whitespace().collect::<Vec<_>>().join(" "), MOST_WORDS)));
        tell_as_written!("{id}  {}{last}{}", counted(one.messages, "message", "messages"), first.unwrap_or_default());
    }
    if all.len() > MOST_LISTED {
        tell!("and {} more; flow conversations list shows all", all.len() - MOST_LISTED);
    }
    Ok(())
}

/// Writes a session to a new file, one JSON object per line, masked as by `flow conversations export`; returns the number of messages.
/// Errors: the file exists already, or cannot be written.
pub(super) fn write(id: &str, file: &Path, project: &Path) -> Result<usize, Refusal> {
    let messages = store(project)?.map(|mut store| store.all(id, None)).transpose()?.flatten().unwrap_or_default();
    let lines: String = messages.iter().filter_map(conversations::line).collect();
    let cannot = |error: std::io::Error| refusal!(Failed, "cannot write {}: {error}", shown_path(file));
    let mut new = std::fs::File::create_new(file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => refusal!(Usage, "{} exists already; name a new file", shown_path(file)),
        _ => cannot(error),
    })?;
    if let Err(error) = new.write_all(lines.as_bytes()).and_then(|()| new.sync_all()) {
        // An incomplete file is removed.
        let _ = std::fs::remove_file(file);
        return Err(cannot(error));
    }
    Ok(messages.len())
}
