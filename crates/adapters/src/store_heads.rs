//! The end of the audit, in the store of runs beside it. So records that were cut off, removed, replaced or added at its end are noticed without a hash that
//! somebody saved.

use rusqlite::{Connection, OptionalExtension, params};

use super::sqlite_file::{execute_cached, has_table};
use crate::journal::{AuditEnd, AuditHead};

/// One row: the last record that was surely in the file, and the last one of the write that was begun then. It belongs to no run and is never removed.
const TABLE: &str = "create table if not exists audit_end (
    one integer primary key check (one = 1), record integer not null, hash text not null, next integer not null, next_hash text not null) strict;";
/// What older versions kept: the last record after events of each run.
const OLDER: &str = "audited";

/// The end that the store knows.
pub(super) fn end(connection: &Connection) -> rusqlite::Result<Option<AuditEnd>> {
    fn head(row: &rusqlite::Row, at: usize) -> rusqlite::Result<AuditHead> {
        Ok(AuditHead { record_id: row.get::<_, i64>(at)? as u64, hash: row.get(at + 1)? })
    }
    if has_table(connection, "audit_end")? {
        let end = |row: &rusqlite::Row| Ok(AuditEnd { written: head(row, 0)?, begun: Some(head(row, 2)?) });
        return connection.query_row("select record, hash, next, next_hash from audit_end", [], end).optional();
    }
    if has_table(connection, OLDER)? {
        let end = |row: &rusqlite::Row| Ok(AuditEnd { written: head(row, 0)?, begun: None });
        return connection.query_row("select record, hash from audited order by at desc limit 1", [], end).optional();
    }
    Ok(None)
}

/// A write begins, after which `begun` is the last record.
pub(super) fn begin(connection: &Connection, written: &AuditHead, begun: &AuditHead) -> rusqlite::Result<()> {
    let statement = "insert or replace into audit_end values (1, ?1, ?2, ?3, ?4)";
    if connection.prepare_cached(statement).is_err() {
        connection.execute_batch(TABLE)?;
        connection.execute_batch(&format!("drop table if exists {OLDER}"))?;
    }
    let row = params![written.record_id as i64, written.hash, begun.record_id as i64, begun.hash];
    execute_cached(connection, statement, row)
}

/// The write that ends with this record is over.
pub(super) fn written(connection: &Connection, head: &AuditHead) -> rusqlite::Result<()> {
    execute_cached(connection, "update audit_end set record = next, hash = next_hash where next_hash = ?1", [&head.hash])
}
