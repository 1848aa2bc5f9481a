//! Keeps databases with their loaded tables between queries, so that a run with several queries loads each file once.

use std::sync::{Mutex, PoisonError};

use super::database::Database;
use crate::event::Failure;
use crate::port::TableSource;

/// The most databases that wait.
const MOST_IDLE: usize = 8;
/// The most bytes of files whose tables wait in memory.
const MOST_IDLE_BYTES: u64 = 512 << 20;

/// Idle databases, the longest unused first.
#[derive(Default)]
pub(super) struct DatabasePool {
    idle: Mutex<Vec<Database>>,
}

impl DatabasePool {
    /// The idle database that holds most of these tables, else an empty one.
    pub(super) fn take(&self, tables: &[TableSource]) -> Result<Database, Failure> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let best = idle.iter().map(|database| database.shared_with(tables)).enumerate().max_by_key(|(_, shared)| *shared);
        match best {
            Some((index, shared)) if shared > 0 => Ok(idle.remove(index)),
            _ => Database::new(),
        }
    }

    /// Puts a database back; the longest unused go when too many or too large ones wait.
    pub(super) fn give_back(&self, database: Database) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(database);
        while idle.len() > MOST_IDLE || idle.iter().map(Database::loaded_bytes).sum::<u64>() > MOST_IDLE_BYTES {
            idle.remove(0);
        }
    }

    #[cfg(test)]
    pub(super) fn idle(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
