//! Conversations in a separate SQLite file: their messages, their runs, and the queue of runs that wait for a turn.
//!
//! The column `thread` is empty for messages that later runs see. Other values mark unanswered messages, those of an agent, and the summary.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::encryption::{JournalKey, Sealing};
use super::files;
use super::run_lock::RunLock;
use super::sqlite_file::{Identity, PATIENCE, WriteTurn, connect, erase, make_file, plain, query_all, query_value, reason};
use super::store_block::{packed, packed_with_checksum, place, unpacked};
use crate::model::{PastMessage, read_own};
use crate::port::{ConversationRun, ConversationSummary, Conversations, EarlierMessages, KeptMessage, MessageThread, StoreError};
use crate::redact::values_behind;

/// Version of the tables (`PRAGMA user_version`).
const VERSION: i64 = 1;

/// `mark` is the id, or a keyed hash of it if ids are encrypted; the id itself is then in `sealed`. For the `state` of a run, see [`STARTED`].
const TABLES: &str = "
    create table conversations (number integer primary key, mark text not null unique, sealed blob, key text, messages integer not null) strict;
    create table messages (
        number integer primary key, conversation integer not null, thread text not null, run text not null, part integer not null,
        body blob not null
    ) strict;
    create index messages_of on messages (conversation, thread, number);
    create index messages_of_run on messages (run);
    create table runs (run text primary key, conversation integer not null, state integer not null) strict;
    create index runs_of on runs (conversation, state);
    create table queue (number integer primary key autoincrement, conversation integer not null, run text not null unique) strict;
    pragma user_version = 1;";

/// The state of a run: it has begun; its messages are stored; it had not ended when its messages were looked for; its record is being removed.
const STARTED: i64 = 0;
const KEPT: i64 = 1;
const LEFT: i64 = 2;
const FOUND: i64 = 3;

/// The `thread` of unanswered messages, and of the summary.
const UNANSWERED: &str = "unanswered";
const SUMMARY: &str = "summary";
/// The `thread` of a marker that holds no message: the conversation was cleared up to its number. That number and lower ones are never reused.
const CLEARED: &str = "cleared";

/// Conversations in one file.
pub struct SqliteConversations {
    file: PathBuf,
    connection: Connection,
    identity: Identity,
    sealing: Sealing,
    /// The locks of runs that wait or run in this process. They show other processes that this one is alive.
    turns: BTreeMap<String, RunLock>,
}

/// Run, part, body, thread, number.
type KeptRow = (String, i64, Vec<u8>, String, i64);

/// The newest messages of a thread. The index returns them in this order.
const NEWEST: &str = "select run, part, body, thread, number from messages where conversation = ?1 and thread = ?2 and number > ?3
                      order by number desc limit ?4";

/// Which messages to read.
#[derive(Clone, Copy)]
enum WantedMessages<'a> {
    /// Answered messages after this number.
    Answered(i64),
    /// The talk: answered and unanswered messages, and the summary.
    Talk,
    /// The messages of an agent.
    Agent(&'a str),
    /// The summary.
    Summary,
}

/// The stored form of a message.
#[derive(Serialize, Deserialize)]
struct MessageBody {
    said: PastMessage,
    /// The masked text, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masked: Option<String>,
    /// The masked content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Value>,
    /// For a summary: the number of the last message that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

/// The `thread` of a message.
fn thread(message: &KeptMessage) -> String {
    match message.thread {
        MessageThread::Talk => String::new(),
        MessageThread::Unanswered => UNANSWERED.to_owned(),
        MessageThread::Agent => of_agent(message.said.agent.as_deref().unwrap_or_default()),
        MessageThread::Summary { .. } => SUMMARY.to_owned(),
    }
}

fn of_agent(name: &str) -> String {
    format!("agent:{name}")
}

/// The personal values that the masked texts of these messages hide.
fn personal<'m>(messages: impl Iterator<Item = &'m KeptMessage>) -> Vec<String> {
    let hidden = messages.filter(|message| message.masked != message.said.text);
    let values: BTreeSet<String> = hidden.flat_map(|message| values_behind(&message.said.text, &message.masked)).collect();
    values.into_iter().collect()
}

impl SqliteConversations {
    /// Opens the file, or creates it (0600, its folder 0700). An existing file is never overwritten, except an empty one if `is_ours`, that is, if
    /// only this program writes to this place.
    ///
    /// # Errors
    /// Fails if the file cannot be created or read, is empty, or belongs to a newer version or another program.
    pub fn open(file: &Path, sealing: &Sealing, is_ours: bool) -> Result<SqliteConversations, StoreError> {
        let unusable = |error: std::io::Error| unusable(file, error);
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            if folder.exists() { Ok(()) } else { files::private_folder(folder) }.map_err(unusable)?;
        }
        let turn = WriteTurn::wait(file);
        let is_new = match std::fs::metadata(file) {
            Ok(data) => is_ours && data.is_file() && data.len() == 0,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if is_new {
            make_file(file, TABLES, unusable, store_error(file))?;
        }
        drop(turn);
        SqliteConversations::existing(file, sealing)
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is empty, or belongs to a newer version or another program.
    pub fn existing(file: &Path, sealing: &Sealing) -> Result<SqliteConversations, StoreError> {
        let data = std::fs::metadata(file).and_then(|data| files::regular(&data).map(|()| data)).map_err(|error| unusable(file, error))?;
        let empty = "is empty: it was never used, or its messages are lost";
        if data.len() == 0 {
            return Err(wrong(file, empty));
        }
        // Opened read-only: a file of another program must not be changed.
        let look = || -> rusqlite::Result<(i64, i64, i64)> {
            plain(file)?;
            let file = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            file.busy_timeout(PATIENCE)?;
            let count = |which: &str| file.query_row(&format!("select count(*) from sqlite_schema {which}"), [], |row| row.get(0));
            let own = count("where name in ('conversations', 'queue')")?;
            Ok((file.pragma_query_value(None, "user_version", |row| row.get(0))?, count("")?, own))
        };
        match look().map_err(store_error(file))? {
            (VERSION, _, 2) => {}
            (0, 0, _) => return Err(wrong(file, empty)),
            (_, _, 2) => return Err(unusable(file, format!("its format is not {VERSION}, the one this flow reads"))),
            _ => return Err(unusable(file, "it is another program's database")),
        }
        let ready = || {
            let connection = connect(file)?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.query_row("select count(*) from queue", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = ready().map_err(store_error(file))?;
        let identity = Identity::from_file(file).map_err(|error| unusable(file, error))?;
        Ok(SqliteConversations { file: file.to_path_buf(), connection, identity, sealing: sealing.clone(), turns: BTreeMap::new() })
    }

    /// Checks the pages and messages of the whole file. Returns the number of conversations.
    ///
    /// # Errors
    /// Returns the first damage found.
    pub fn check(&mut self) -> Result<usize, StoreError> {
        let says: String = self.connection.query_row("pragma integrity_check(1)", [], |row| row.get(0)).map_err(self.store_error())?;
        if says == "ok" { Ok(self.list()?.len()) } else { Err(wrong(&self.file, format!("is damaged ({says}): restore a backup"))) }
    }

    /// The file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Lets others see that the runs of this connection that could not leave the queue are gone.
    pub(super) fn give_up_turns(&mut self) {
        self.turns.clear();
    }

    /// Reuses the open file; `None` if it is no longer the file that was opened.
    pub(super) fn again(self, sealing: &Sealing) -> Option<SqliteConversations> {
        self.is_there().is_ok().then(|| SqliteConversations { sealing: sealing.clone(), ..self })
    }

    /// Checks that the file is still the one that was opened.
    fn is_there(&self) -> Result<(), StoreError> {
        let Some(what) = self.identity.loss() else { return Ok(()) };
        // Another file may be in its place, so closing this store must not write to it.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        Err(wrong(&self.file, format!("{what} while it was in use; the messages of this run were not stored")))
    }

    fn store_error(&self) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
        store_error(&self.file)
    }

    /// Changes the queue in one transaction. A power cut may undo it; the runs in the queue end with it anyway.
    fn in_queue<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.connection.pragma_update(None, "synchronous", "normal").map_err(self.store_error())?;
        let done = self.atomically(work);
        self.connection.pragma_update(None, "synchronous", "full").map_err(self.store_error())?;
        done
    }

    /// Runs `work` in a durable transaction.
    fn atomically<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.is_there()?;
        let _turn = WriteTurn::wait(&self.file);
        let run = || {
            self.connection.execute_batch("begin immediate")?;
            let done = work(&self.connection).and_then(|done| self.connection.execute_batch("commit").map(|()| done));
            if done.is_err() {
                // SQLite may have rolled back already.
                let _ = self.connection.execute_batch("rollback");
            }
            done
        };
        let done = run().map_err(self.store_error())?;
        self.is_there().map(|()| done)
    }

    /// The marks that a conversation may have: with the current key, and unencrypted.
    fn marks(&self, id: &str) -> Vec<String> {
        self.sealing.key.iter().map(|key| mark(key, id)).chain([format!("i:{id}")]).collect()
    }

    fn number(&self, connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
        for mark in self.marks(id) {
            if let Some(number) = query_value(connection, "select number from conversations where mark = ?1", [mark])? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The number of a conversation. It is created if it does not exist.
    fn number_or_new(&self, connection: &Connection, id: &str) -> rusqlite::Result<i64> {
        if let Some(number) = self.number(connection, id)? {
            return Ok(number);
        }
        let key = self.sealing.of_new();
        let mark = key.map_or_else(|| format!("i:{id}"), |key| mark(key, id));
        let sealed = key.and_then(|key| packed(mark.as_bytes(), id.as_bytes(), Some(key)));
        let insert = "insert into conversations (mark, sealed, key, messages) values (?1, ?2, ?3, 0)";
        connection.execute(insert, params![mark, sealed, key.map(JournalKey::id)])?;
        Ok(connection.last_insert_rowid())
    }

    fn id(&self, mark: &str, sealed: Option<Vec<u8>>) -> Option<String> {
        match sealed {
            None => mark.strip_prefix("i:").map(str::to_owned),
            Some(sealed) => unpacked(mark.as_bytes(), &sealed, self.sealing.key.as_ref()),
        }
    }

    fn message(&self, run: String, part: i64, body: &[u8], thread: &str) -> Result<KeptMessage, StoreError> {
        let text = unpacked(&place(&run, part as u64), body, self.sealing.key.as_ref());
        let text = text.ok_or_else(|| {
            let message = "a message in it is damaged, or encrypted with another key (FLOW_JOURNAL_KEY, journal.key_file)";
            unusable(&self.file, message)
        })?;
        let MessageBody { said, masked, content, until } = read_own(&text).map_err(|error| unusable(&self.file, error))?;
        let thread = match (thread, until) {
            (_, Some(until)) => MessageThread::Summary { until },
            ("", None) => MessageThread::Talk,
            (UNANSWERED, None) => MessageThread::Unanswered,
            (_, None) => MessageThread::Agent,
        };
        Ok(KeptMessage { run, masked: masked.unwrap_or_else(|| said.text.clone()), content, said, thread })
    }

    /// The newest messages of a conversation, newest first, each with its number.
    fn messages(&self, number: i64, most: i64, wanted: WantedMessages) -> Result<Vec<(i64, KeptMessage)>, StoreError> {
        let (threads, after) = match wanted {
            WantedMessages::Answered(after) => (vec![String::new()], after),
            WantedMessages::Talk => (vec![String::new(), UNANSWERED.to_owned(), SUMMARY.to_owned()], 0),
            WantedMessages::Agent(name) => (vec![of_agent(name)], 0),
            WantedMessages::Summary => (vec![SUMMARY.to_owned()], 0),
        };
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        let mut rows: Vec<KeptRow> = vec![];
        for thread in &threads {
            rows.append(&mut query_all(&self.connection, NEWEST, params![number, thread, after, most], row).map_err(self.store_error())?);
        }
        rows.sort_by_key(|(.., number)| Reverse(*number));
        rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        rows.into_iter().map(|(run, part, body, thread, number)| Ok((number, self.message(run, part, &body, &thread)?))).collect()
    }

    /// The stored form of a run's messages. Fails if one cannot be compressed or encrypted.
    fn bodies(&self, run: &str, messages: &[KeptMessage]) -> Result<Vec<Vec<u8>>, StoreError> {
        let key = self.sealing.of_new();
        let body = |(part, message): (usize, &KeptMessage)| {
            let masked = (message.masked != message.said.text).then(|| message.masked.clone());
            let until = if let MessageThread::Summary { until } = message.thread { Some(until) } else { None };
            let body = MessageBody { said: message.said.clone(), masked, content: message.content.clone(), until };
            packed_with_checksum(&place(run, part as u64), &serde_json::to_vec(&body).ok()?, key)
        };
        let bodies: Option<Vec<Vec<u8>>> = messages.iter().enumerate().map(body).collect();
        bodies.ok_or_else(|| unusable(&self.file, "a message cannot be compressed or encrypted"))
    }

    /// Erases all traces of removed messages from the file and its log.
    fn without_traces(&mut self) -> Result<(), StoreError> {
        if erase(&mut self.connection).map_err(store_error(&self.file))? {
            return Ok(());
        }
        Err(wrong(&self.file, "is being read by another process: what was erased stays in it until that ends; repeat the command then"))
    }

    fn find(&self, id: &str) -> Result<Option<i64>, StoreError> {
        self.number(&self.connection, id).map_err(self.store_error())
    }
}

fn wrong(file: &Path, message: impl ToString) -> StoreError {
    StoreError::Conversations { file: file.display().to_string(), message: message.to_string() }
}

fn unusable(file: &Path, why: impl ToString) -> StoreError {
    wrong(file, format!("cannot be used: {}", why.to_string()))
}

fn store_error(file: &Path) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => wrong(file, "is locked by another process"),
        Some(ErrorCode::NotADatabase) => unusable(file, "it is not a file of conversations"),
        Some(ErrorCode::DatabaseCorrupt) => wrong(file, format!("is damaged ({error}): restore a backup")),
        _ => unusable(file, reason(&error)),
    }
}

fn mark(key: &JournalKey, id: &str) -> String {
    format!("k:{}", key.mark(id))
}

/// The name of the lock that a run holds while it is in a queue.
fn turn(run: &str) -> String {
    format!("{run}.turn")
}

/// Appends messages to a conversation. `before` is the number of messages visible to later runs that were just removed.
fn insert(
    connection: &Connection,
    number: i64,
    run: &str,
    bodies: &[Vec<u8>],
    messages: &[KeptMessage],
    before: usize,
) -> rusqlite::Result<()> {
    let text = "insert into messages (conversation, thread, run, part, body) values (?1, ?2, ?3, ?4, ?5)";
    let mut insert = connection.prepare_cached(text)?;
    for (part, (body, message)) in bodies.iter().zip(messages).enumerate() {
        insert.execute(params![number, thread(message), run, part as i64, body])?;
    }
    // The number of messages that later runs see.
    let more = messages.iter().filter(|message| message.thread == MessageThread::Talk).count() as i64 - before as i64;
    connection.execute("update conversations set messages = messages + ?2 where number = ?1", params![number, more]).map(drop)
}

impl Conversations for SqliteConversations {
    fn arrive(&mut self, conversation: &str, run: &str) -> Result<(), StoreError> {
        // The lock is taken before the run enters the queue, because a run without a living process counts as having left.
        let lock = RunLock::take(&self.file, &turn(run))?;
        self.turns.insert(run.to_owned(), lock);
        self.in_queue(|connection| {
            let number = self.number_or_new(connection, conversation)?;
            connection.execute("delete from queue where run = ?1", [run])?;
            connection.execute("insert into queue (conversation, run) values (?1, ?2)", params![number, run]).map(drop)
        })
    }

    fn ahead(&mut self, run: &str) -> Result<Option<String>, StoreError> {
        loop {
            let query = "select a.run from queue a join queue b on a.conversation = b.conversation where b.run = ?1 and a.number < b.number \
                         order by a.number desc limit 1";
            let Some(ahead): Option<String> = query_value(&self.connection, query, [run]).map_err(self.store_error())? else {
                return Ok(None);
            };
            if self.turns.contains_key(&ahead) || RunLock::is_held(&self.file, &turn(&ahead)) {
                return Ok(Some(ahead));
            }
            self.in_queue(|connection| connection.execute("delete from queue where run = ?1", [&ahead]).map(drop))?;
            // Taking the lock and dropping it removes the lock file that the dead process left.
            let _ = RunLock::take(&self.file, &turn(&ahead));
        }
    }

    fn process(&self, run: &str) -> String {
        RunLock::holder(&self.file, &turn(run))
    }

    fn leave(&mut self, run: &str) -> Result<(), StoreError> {
        if !self.turns.contains_key(run) {
            return Ok(());
        }
        self.in_queue(|connection| {
            let number: Option<i64> = query_value(connection, "select conversation from queue where run = ?1", [run])?;
            connection.execute("delete from queue where run = ?1", [run])?;
            let unused = "delete from conversations where number = ?1 and messages = 0
                          and not exists (select 1 from queue where conversation = ?1) and not exists (select 1 from runs where conversation = ?1)";
            connection.execute(unused, [number]).map(drop)
        })?;
        self.turns.remove(run);
        Ok(())
    }

    fn newest(&mut self, conversation: &str, most: u64, is_summarised: bool) -> Result<EarlierMessages, StoreError> {
        let Some(number) = self.find(conversation)? else { return Ok(EarlierMessages::default()) };
        let summary =
            if is_summarised { self.messages(number, 1, WantedMessages::Summary)?.pop().map(|(_, summary)| summary) } else { None };
        let covered = summary.as_ref().map_or(0, |summary| match summary.thread {
            MessageThread::Summary { until } => until as i64,
            MessageThread::Talk | MessageThread::Unanswered | MessageThread::Agent => 0,
        });
        let messages = self.messages(number, i64::try_from(most).unwrap_or(i64::MAX), WantedMessages::Answered(covered))?;
        let all = "select messages from conversations where number = ?1";
        let all: i64 = self.connection.query_row(all, [number], |row| row.get(0)).map_err(self.store_error())?;
        let older = (all as u64).saturating_sub(messages.len() as u64);
        let personal = personal(messages.iter().map(|(_, message)| message).chain(&summary));
        let (places, messages) = messages.into_iter().rev().map(|(number, message)| (number as u64, message.said)).unzip();
        Ok(EarlierMessages { messages, places, older, summary: summary.map(|summary| summary.said.text), personal })
    }

    fn newest_of(&mut self, conversation: &str, agent: &str, most: u64) -> Result<EarlierMessages, StoreError> {
        let Some(number) = self.find(conversation)? else { return Ok(EarlierMessages::default()) };
        let messages = self.messages(number, i64::try_from(most).unwrap_or(i64::MAX), WantedMessages::Agent(agent))?;
        let personal = personal(messages.iter().map(|(_, message)| message));
        let messages = messages.into_iter().rev().map(|(_, message)| message.said).collect();
        Ok(EarlierMessages { messages, personal, ..EarlierMessages::default() })
    }

    fn begin(&mut self, conversation: &str, run: &str) -> Result<(), StoreError> {
        self.atomically(|connection| {
            let number = self.number_or_new(connection, conversation)?;
            let insert = "insert or ignore into runs (run, conversation, state) values (?1, ?2, ?3)";
            connection.execute(insert, params![run, number, STARTED]).map(drop)
        })
    }

    fn go_on(&mut self, run: &str) -> Result<(), StoreError> {
        let update = "update runs set state = ?2 where run = ?1 and state <> ?3";
        self.atomically(|connection| connection.execute(update, params![run, STARTED, FOUND]).map(drop))
    }

    fn unsettled(&mut self, conversation: Option<&str>) -> Result<Vec<String>, StoreError> {
        let number = conversation.map(|id| self.find(id).map(Option::unwrap_or_default)).transpose()?;
        let of = number.map_or_else(String::new, |number| format!("conversation = {number} and "));
        let query = format!("select run from runs where {of}state = ?1 order by rowid");
        query_all(&self.connection, &query, [STARTED], |row| row.get(0)).map_err(self.store_error())
    }

    fn settle(&mut self, run: &str, messages: &[KeptMessage]) -> Result<(), StoreError> {
        let bodies = self.bodies(run, messages)?;
        let has_left = self.atomically(|connection| {
            let number = query_value(connection, "select conversation from runs where run = ?1", [run])?;
            let Some(number): Option<i64> = number else { return Ok(false) };
            let state = if bodies.is_empty() { LEFT } else { KEPT };
            connection.execute("update runs set state = ?2 where run = ?1", params![run, state])?;
            if bodies.is_empty() {
                return Ok(false);
            }
            connection.execute("delete from queue where run = ?1", [run])?;
            let before = connection.execute("delete from messages where run = ?1 and thread = ''", [run])?;
            connection.execute("delete from messages where run = ?1", [run])?;
            let cleared = "select coalesce(max(number), 0) from messages where conversation = ?1 and thread = ?2";
            let cleared: i64 = connection.query_row(cleared, params![number, CLEARED], |row| row.get(0))?;
            // A summary of messages that were cleared since the run read them is not stored.
            let is_kept = |message: &KeptMessage| match message.thread {
                MessageThread::Summary { until } => until as i64 > cleared,
                MessageThread::Talk | MessageThread::Unanswered | MessageThread::Agent => true,
            };
            let kept: Vec<usize> = (0..messages.len()).filter(|place| is_kept(&messages[*place])).collect();
            let (bodies, messages): (Vec<_>, Vec<_>) =
                kept.into_iter().map(|place| (bodies[place].clone(), messages[place].clone())).unzip();
            if messages.iter().any(|message| matches!(message.thread, MessageThread::Summary { .. })) {
                connection.execute("delete from messages where conversation = ?1 and thread = ?2", params![number, SUMMARY])?;
            }
            insert(connection, number, run, &bodies, &messages, before).map(|()| true)
        })?;
        if has_left {
            self.turns.remove(run);
        }
        Ok(())
    }

    fn list(&mut self) -> Result<Vec<ConversationSummary>, StoreError> {
        self.listed()
    }

    fn agents(&mut self, conversation: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        self.find(conversation)?.map_or_else(|| Ok(BTreeMap::new()), |number| self.agents_of(number))
    }

    fn all(&mut self, conversation: &str, agent: Option<&str>) -> Result<Option<Vec<KeptMessage>>, StoreError> {
        let Some(number) = self.find(conversation)? else { return Ok(None) };
        let messages = self.messages(number, i64::MAX, agent.map_or(WantedMessages::Talk, WantedMessages::Agent))?;
        Ok(Some(messages.into_iter().rev().map(|(_, message)| message).collect()))
    }

    fn add(&mut self, conversation: &str, messages: &[KeptMessage]) -> Result<(), StoreError> {
        let Some(first) = messages.first() else { return Ok(()) };
        let bodies = self.bodies(&first.run, messages)?;
        self.atomically(|connection| {
            let number = self.number_or_new(connection, conversation)?;
            insert(connection, number, &first.run, &bodies, messages, 0)
        })
    }

    fn clear(&mut self, conversation: &str, agent: Option<&str>) -> Result<Option<u64>, StoreError> {
        let Some(number) = self.find(conversation)? else { return Ok(None) };
        let removed = self.atomically(|connection| match agent {
            Some(name) => {
                connection.execute("delete from messages where conversation = ?1 and thread = ?2", params![number, of_agent(name)])
            }
            None => {
                let last: i64 = connection.query_row("select coalesce(max(number), 0) from messages", [], |row| row.get(0))?;
                connection.execute("delete from messages where conversation = ?1 and thread = ?2", params![number, CLEARED])?;
                let removed = connection.execute("delete from messages where conversation = ?1", [number])?;
                let mark = "insert into messages (number, conversation, thread, run, part, body) values (?1, ?2, ?3, '', 0, x'')";
                connection.execute(mark, params![last + 1, number, CLEARED])?;
                connection.execute("update conversations set messages = 0 where number = ?1", [number])?;
                Ok(removed)
            }
        })?;
        self.without_traces()?;
        Ok(Some(removed as u64))
    }

    fn runs(&mut self, conversation: &str) -> Result<Vec<ConversationRun>, StoreError> {
        let Some(number) = self.find(conversation)? else { return Ok(vec![]) };
        let row = |row: &Row<'_>| Ok(ConversationRun { run: row.get(0)?, is_found: row.get::<_, i64>(1)? == FOUND });
        query_all(&self.connection, "select run, state from runs where conversation = ?1 order by run", [number], row)
            .map_err(self.store_error())
    }

    fn finds(&mut self, runs: &[&str]) -> Result<(), StoreError> {
        self.atomically(|connection| {
            let mut update = connection.prepare("update runs set state = ?2 where run = ?1")?;
            runs.iter().try_for_each(|run| update.execute(params![run, FOUND]).map(drop))
        })
    }

    fn remove(&mut self, conversation: &str, missing: &[&str]) -> Result<(), StoreError> {
        self.atomically(|connection| {
            let Some(number) = self.number(connection, conversation)? else { return Ok(()) };
            for table in ["messages", "runs", "queue"] {
                connection.execute(&format!("delete from {table} where conversation = ?1"), [number])?;
            }
            if missing.is_empty() {
                return connection.execute("delete from conversations where number = ?1", [number]).map(drop);
            }
            let mut insert = connection.prepare("insert into runs (run, conversation, state) values (?1, ?2, ?3)")?;
            missing.iter().try_for_each(|run| insert.execute(params![run, number, LEFT]).map(drop))?;
            connection.execute("update conversations set messages = 0 where number = ?1", [number]).map(drop)
        })?;
        self.without_traces()
    }
}

mod listed;
#[cfg(test)]
mod tests;
