//! The list of runs, queried with SQLite so that the data that one command reads does not grow with the store.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::sqlite_file::{query_all, query_value};
use super::store_block::{NEEDS_REVIEW, WAITING};
use crate::port::{MOST_COUNTED, RunFilter, RunMatch, RunPage, RunSummary};

/// The runs that match a filter. The numbers of runs follow the order in which they started.
pub(super) fn list(connection: &Connection, filter: &RunFilter) -> rusqlite::Result<RunPage> {
    let state = format!(
        "case when status <> '{WAITING}' then replace(status, '{NEEDS_REVIEW}', '') when run in (select value from json_each(?1)) then 'running' else ifnull(status, 'killed') end"
    );
    let wanted = format!(
        "from runs r where pipeline is not null and (?2 is null or pipeline = ?2) and (?3 is null or started >= ?3)
         and (?4 is null or started < ?4) and (?5 is null or {state} = ?5) order by number desc limit ?6 offset ?7"
    );
    let time = |time: Option<DateTime<Utc>>| time.map(|time| time.to_rfc3339());
    let (since, before) = (time(filter.since), time(filter.before));
    let running = serde_json::to_string(&filter.running).unwrap_or_default();
    // The index contains each run's last event, so no block is read.
    let events = "(select max(last) from blocks b where b.run = r.number)";
    let mut query = connection.prepare(&format!("select run, pipeline, started, status, {state}, {events} {wanted}"))?;
    let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = query.query_map(params![running, filter.pipeline, since, before, filter.state, limit, 0], |row| {
        let status: Option<String> = row.get(3)?;
        let events: Option<i64> = row.get(5)?;
        Ok(RunSummary {
            run: row.get(0)?,
            pipeline: row.get(1)?,
            started: row.get(2)?,
            needs_review: status.as_deref().is_some_and(|status| status.ends_with(NEEDS_REVIEW)),
            status: status.filter(|status| status != WAITING).map(|status| status.trim_end_matches(NEEDS_REVIEW).to_owned()),
            state: row.get(4)?,
            events: events.unwrap_or_default() as u64,
        })
    })?;
    let runs: Vec<RunSummary> = rows.collect::<rusqlite::Result<_>>()?;
    let more = match filter.limit {
        Some(limit) if runs.len() == limit => {
            let mut count = connection.prepare(&format!("select count(*) from (select 1 {wanted})"))?;
            let more = params![running, filter.pipeline, since, before, filter.state, MOST_COUNTED as i64, limit as i64];
            count.query_row(more, |row| row.get::<_, i64>(0))? as usize
        }
        _ => 0,
    };
    Ok(RunPage { runs, more })
}

/// The run whose id has this prefix. The index is ordered by id.
pub(super) fn named(connection: &Connection, beginning: &str) -> rusqlite::Result<RunMatch> {
    let wanted = "from runs where run >= ?1 and run < ?2 and pipeline is not null order by run limit ?3";
    // No character is greater than `char::MAX`.
    let end = format!("{beginning}{}", char::MAX);
    let two: Vec<String> = query_all(connection, &format!("select run {wanted}"), params![beginning, end, 2], |row| row.get(0))?;
    Ok(match two.as_slice() {
        [] => RunMatch::None,
        [one] => RunMatch::One(one.clone()),
        [whole, ..] if whole == beginning => RunMatch::One(whole.clone()),
        _ => {
            let count = format!("select count(*) from (select 1 {wanted})");
            RunMatch::Several(
                connection.query_row(&count, params![beginning, end, MOST_COUNTED as i64], |row| row.get::<_, i64>(0))? as usize
            )
        }
    })
}

/// The number of characters that distinguish an id from its neighbours in order, and therefore from all others.
pub(super) fn least_of_id(connection: &Connection, run: &str) -> rusqlite::Result<usize> {
    let before = query_value(connection, "select run from runs where run < ?1 and pipeline is not null order by run desc limit 1", [run])?;
    let after = query_value(connection, "select run from runs where run > ?1 and pipeline is not null order by run limit 1", [run])?;
    let shared = |other: &String| run.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    Ok(before.iter().chain(&after).map(shared).max().unwrap_or(0) + 1)
}
