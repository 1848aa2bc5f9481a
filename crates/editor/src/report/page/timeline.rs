//! The timeline of the steps: one bar per try.

use std::time::Duration;

use chrono::{DateTime, Utc};
use maud::{Markup, html};

use super::bounds::{PageRoom, chosen, left_out};
use super::elements::{MOST_WELL, group, parted};
use crate::diagnostic::counted;
use crate::journal::{Record, StepRecord, TryRecord};
use crate::report::batches::Batches;
use crate::report::record::lasted;

/// Maximum number of rows.
pub(super) const MOST_ROWS: usize = 200;
/// Maximum number of bars of one row.
const MOST_BARS: usize = 20;

/// The duration of a run, to position tries in it.
struct Scale {
    start: DateTime<Utc>,
    ms: f64,
}

impl Scale {
    fn from_record(record: &Record) -> Scale {
        let ends = record.steps.iter().flat_map(|step| &step.tries).map(|one| one.ended.unwrap_or(one.started));
        let end = ends.chain(record.ended).max().unwrap_or(record.started);
        Scale { start: record.started, ms: ((end - record.started).num_microseconds().unwrap_or(i64::MAX) as f64 / 1000.0).max(0.001) }
    }

    /// Returns a position in percent of the whole.
    fn place(&self, time: DateTime<Utc>) -> f64 {
        let ms = (time - self.start).num_microseconds().unwrap_or(0) as f64 / 1000.0;
        (ms / self.ms * 100.0).clamp(0.0, 100.0)
    }

    /// Returns the position of a try as a CSS style.
    fn style(&self, one: &TryRecord) -> String {
        let left = self.place(one.started);
        let right = one.ended.map_or(100.0, |end| self.place(end));
        format!("left:min({left:.2}%,100% - 3px);width:{:.2}%", (right - left).max(0.0))
    }
}

pub(super) fn timeline(record: &Record, room: &PageRoom, batches: &Batches<'_>) -> Markup {
    let scale = Scale::from_record(record);
    let ran: Vec<&StepRecord> = record.steps.iter().filter(|step| !step.tries.is_empty()).collect();
    // Of many elements only failed ones have a row; steps inside them have none.
    let (ran, well) = parted(ran, batches, |step| !batches.went_well(&step.step) && !step.step.contains('/'));
    let shown = chosen(&ran, MOST_ROWS);
    let whole = lasted(Duration::from_micros((scale.ms * 1000.0) as u64).as_millis() as u64);
    html! {
        section aria-labelledby="timeline" {
            h2 id="timeline" { "Timeline" }
            @if shown.is_empty() { p.none { "No step began." } } @else {
                p { "From the start of the run to " (whole) " later. A bar is a try; its end is where the step ended or failed." }
                (rows(&shown, &scale))
                (left_out(ran.len(), shown.len(), &html! {}))
                @for (batch, own) in &well {
                    @let shown = &own[..own.len().min(MOST_WELL)];
                    (group(batch, own.len(), shown.len(), &rows(shown, &scale), room))
                }
            }
        }
    }
}

fn rows(steps: &[&StepRecord], scale: &Scale) -> Markup {
    html! {
        ol.timeline {
            @for step in steps {
                li {
                    span.name { (step.step) }
                    span.track aria-hidden="true" {
                        @for one in step.tries.iter().take(MOST_BARS) { span.bar.(class(step, one)) style=(scale.style(one)) {} }
                    }
                    span.took { (description(step)) }
                }
            }
        }
    }
}

fn class(step: &StepRecord, one: &TryRecord) -> &'static str {
    match (&one.error, one.ended, one.round) {
        (Some(_), _, _) => "bad",
        (None, None, _) => "open",
        (None, Some(_), _) if step.status == "cancelled" => "open",
        (None, Some(_), 1) => "good",
        (None, Some(_), _) => "again",
    }
}

/// Describes the bars of a step in words.
fn description(step: &StepRecord) -> String {
    let ms: u64 = step.tries.iter().filter_map(TryRecord::duration_ms).sum();
    let tries = step.tries.len();
    let mut parts = vec![lasted(ms)];
    if step.status != "succeeded" {
        parts.push(step.status.clone());
    }
    if tries > 1 {
        parts.push(counted(tries, "try", "tries"));
    }
    if step.tries.iter().any(|one| one.round > 1) {
        parts.push("refined".into());
    }
    parts.join(" · ")
}
