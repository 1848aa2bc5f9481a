//! The last audit record of each run, in the store beside its events. So an audit that was emptied, cut off, removed or replaced is noticed without a hash
//! that somebody saved.

use rusqlite::{Connection, OptionalExtension, params};

use crate::journal::AuditHead;

/// Created with the first record. `at` counts upwards, so the newest entry is known also after a new audit began with record 1.
const TABLE: &str = "create table if not exists audited (run integer primary key, at integer not null, record integer not null, hash text not null) strict;";

fn is_kept(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("select count(*) from sqlite_schema where name = 'audited'", [], |row| row.get(0)).map(|count: i64| count > 0)
}

/// Stores the last record for a run.
pub(super) fn put(connection: &Connection, run: &str, head: &AuditHead) -> rusqlite::Result<()> {
    let statement = "insert or replace into audited (run, at, record, hash)
         select number, (select coalesce(max(at), 0) + 1 from audited), ?2, ?3 from runs where run = ?1";
    if connection.prepare_cached(statement).is_err() {
        connection.execute_batch(TABLE)?;
    }
    connection.prepare_cached(statement)?.execute(params![run, head.record_id as i64, head.hash]).map(drop)
}

/// The newest record that the store knows.
pub(super) fn newest(connection: &Connection) -> rusqlite::Result<Option<AuditHead>> {
    if !is_kept(connection)? {
        return Ok(None);
    }
    let head = |row: &rusqlite::Row| Ok(AuditHead { record_id: row.get::<_, i64>(0)? as u64, hash: row.get(1)? });
    connection.query_row("select record, hash from audited order by at desc limit 1", [], head).optional()
}

/// The hash of the last record of each run, with the id of the run; empty of a run that was removed since.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    if !is_kept(connection)? {
        return Ok(vec![]);
    }
    let mut query = connection.prepare("select hash, coalesce(runs.run, '') from audited left join runs on runs.number = audited.run")?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Removes the entries of runs, before the runs themselves are removed. The newest entry stays: it says how far the audit went.
pub(super) fn forget(connection: &Connection, runs: &[&str]) -> rusqlite::Result<()> {
    if !is_kept(connection)? {
        return Ok(());
    }
    let mut forget = connection.prepare_cached(
        "delete from audited where run = (select number from runs where run = ?1) and at <> (select max(at) from audited)",
    )?;
    runs.iter().try_for_each(|run| forget.execute([run]).map(drop))
}
