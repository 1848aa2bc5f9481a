//! Sessions that are kept: each is a conversation.

use std::path::Path;

use crate::adapter::files;
use crate::adapter::sqlite_conversations::SqliteConversations;
use crate::cli::conversations;
use crate::cli::refusal::Refusal;
use crate::diagnostic::{counted, visible};
use crate::model::MessageRole;
use crate::port::{Conversations, KeptMessage};
use crate::runtime::{conversations_file, kept, shown};

/// Most sessions that are listed.
const MOST_LISTED: usize = 20;

/// A session, with what was said in it before.
#[derive(Default)]
pub(super) struct Session {
    /// Empty: the pipeline says which conversation it is.
    pub(super) id: String,
    pub(super) messages: Vec<KeptMessage>,
}

impl Session {
    pub(super) fn new(id: String) -> Session {
        Session { id, messages: vec![] }
    }

    /// What the person said.
    pub(super) fn said(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(|message| message.said.role == MessageRole::User).map(|message| message.said.text.as_str())
    }
}

/// The store; `None`: nothing was kept yet.
fn store(project: &Path) -> Result<Option<SqliteConversations>, Refusal> {
    let file = conversations_file(&kept::journal_file(project)?);
    if !file.exists() {
        return Ok(None);
    }
    Ok(Some(SqliteConversations::existing(&file, &kept::of_kept_runs(project)?)?))
}

/// The session of an id, or of its beginning. Errors: there is none, or there are several (exit 2).
pub(super) fn find(id: &str, project: &Path) -> Result<Session, Refusal> {
    let none = || Refusal::usage(format!("there is no session \"{}\"; /resume lists those that are kept", visible(id)));
    let mut store = store(project)?.ok_or_else(none)?;
    if let Some(messages) = store.all(id)? {
        return Ok(Session { id: id.to_owned(), messages });
    }
    let all: Vec<String> = store.list()?.into_iter().filter_map(|one| one.id).filter(|known| known.starts_with(id)).collect();
    match &all[..] {
        [only] => Ok(Session { messages: store.all(only)?.unwrap_or_default(), id: only.clone() }),
        [] => Err(none()),
        several => Err(Refusal::usage(format!("\"{}\" begins {} sessions; write more of the id", visible(id), several.len()))),
    }
}

/// Lists sessions, the newest first.
pub(super) fn list(project: &Path) -> Result<(), Refusal> {
    let all = store(project)?.map(|mut store| store.list()).transpose()?.unwrap_or_default();
    if all.is_empty() {
        tell!("no session is kept yet");
    }
    for one in all.iter().take(MOST_LISTED) {
        let last = one.last.map(|time| time.format("  %Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        let id = one.id.as_deref().map_or("(encrypted)".into(), visible);
        tell_as_written!("{id}  {}{last}", counted(one.messages, "message", "messages"));
    }
    if all.len() > MOST_LISTED {
        tell!("and {} more; flow conversations list shows all", all.len() - MOST_LISTED);
    }
    Ok(())
}

/// Writes a session to a new file, a JSON object per line, masked as flow conversations export prints it; gives the number of messages.
/// Errors: the file is there already, or cannot be written.
pub(super) fn write(id: &str, file: &Path, project: &Path) -> Result<usize, Refusal> {
    if file.exists() {
        return Err(Refusal::usage(format!("{} exists already; name a new file", shown(file))));
    }
    let messages = find(id, project)?.messages;
    let lines: String = messages.iter().map(conversations::line).collect();
    files::replace(file, &lines).map_err(|error| Refusal::usage(format!("cannot write {}: {error}", shown(file))))?;
    Ok(messages.len())
}
