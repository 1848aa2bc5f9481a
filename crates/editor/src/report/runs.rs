//! The list of runs for people.

use super::look::{Column, Look, fit, table};
use super::record::{cost, lasted};
use crate::diagnostic::visible;
use crate::journal::RunBrief;

/// A line of the list.
#[derive(Debug, Clone, Default)]
pub struct RunRow {
    /// Its id, or the shown part of it.
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Its status.
    pub state: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// Its summary.
    pub brief: RunBrief,
    /// Why there is no summary; empty: there is one.
    pub unread: String,
}

/// Width of a question without a window, in columns.
const SHORT: usize = 60;

/// Formats a list, one run per line.
pub fn runs(rows: &[RunRow], look: Look) -> String {
    let all = |cell: &dyn Fn(&RunRow) -> String| {
        rows.iter().map(|row| Some(cell(row)).filter(|cell| !cell.is_empty()).unwrap_or("-".into())).collect()
    };
    // A window has less room, so seconds are left out.
    let started = |row: &RunRow| match look.width {
        Some(_) => row.started.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect(),
        None => row.started.chars().take(19).collect::<String>(),
    };
    let question = |row: &RunRow| match (&row.brief.question, row.unread.as_str()) {
        (Some(question), "") => visible(&fit(question, look.width.unwrap_or(SHORT))).into_owned(),
        (_, unread) => unread.to_owned(),
    };
    let cost_of = |row: &RunRow| {
        let usage = &row.brief.usage;
        cost(usage.total_tokens(), usage.unknown_tokens, usage.cost_usd).unwrap_or_default()
    };
    let column = |title, rank, cell: &dyn Fn(&RunRow) -> String| Column { title, rank, cells: all(cell) };
    let drawn = vec![
        column("RUN", 0, &|row| row.run.clone()),
        column("STARTED (UTC)", 3, &started),
        column("STATUS", 0, &|row| row.state.clone()),
        column("TOOK", 5, &|row| row.brief.duration_ms.map(lasted).unwrap_or_default()),
        column("PIPELINE", 4, &|row| visible(&row.pipeline).into_owned()),
        column("CHANNEL", 7, &|row| row.brief.channel.as_deref().map(visible).unwrap_or_default().into_owned()),
        column("COST", 6, &cost_of),
        column("QUESTION", 2, &question),
    ];
    table(look, drawn, |title, cell| if title == "STATUS" { look.status(cell) } else { cell.to_owned() })
}
