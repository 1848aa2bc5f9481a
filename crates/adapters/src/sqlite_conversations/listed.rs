//! What a list shows of conversations.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::super::sqlite_file::query_all;
use super::{SqliteConversations, WantedMessages};
use crate::port::{ConversationSummary, StoreError};

/// Number, mark, sealed id, number of messages.
type ListedConversation = (i64, String, Option<Vec<u8>>, i64);

impl SqliteConversations {
    /// The conversations, that with the newest message first.
    pub(super) fn listed(&self) -> Result<Vec<ConversationSummary>, StoreError> {
        let text = "select number, mark, sealed,
                        (select count(*) from messages m where m.conversation = conversations.number and m.thread in ('', 'unanswered'))
                        from conversations
                        order by (select max(m.number) from messages m where m.conversation = conversations.number) desc, number desc";
        let rows = query_all(&self.connection, text, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .map_err(self.store_error())?;
        let summary = |(number, mark, sealed, messages): ListedConversation| {
            let id = self.id(&mark, sealed);
            // A conversation whose messages cannot be read is listed as well.
            let last = self.messages(number, 1, WantedMessages::Talk).ok().and_then(|mut last| last.pop()).map(|(_, last)| last.said);
            let (last, channel) = last.map_or((None, None), |last| (last.time, last.channel));
            Ok(ConversationSummary { id, messages: messages as u64, agents: self.agents_of(number)?, last, channel })
        };
        rows.into_iter().map(summary).collect()
    }

    /// How many messages of their own agents have in a conversation.
    pub(super) fn agents_of(&self, number: i64) -> Result<BTreeMap<String, u64>, StoreError> {
        let text = "select substr(thread, 7), count(*) from messages where conversation = ?1 and thread like 'agent:%' group by thread";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64));
        Ok(query_all(&self.connection, text, [number], row).map_err(self.store_error())?.into_iter().collect())
    }
}
