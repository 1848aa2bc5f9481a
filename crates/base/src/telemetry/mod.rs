//! What runs did, as spans and measurements of OpenTelemetry; pure. Where they are sent is not known here.
//!
//! A span is made when it has ended, and ids follow from the run ([`span_id`](crate::event::span_id)): so a run that another process continues gives
//! one tree, and what a call sends to others needs no span that is open ([`context_of_call`]).
//!
//! How to add an attribute: its name in `names`, its value in `run_spans`, a line in `docs/telemetry.md`.

mod content;
mod names;
mod run_spans;
#[cfg(test)]
mod tests;

pub use names::{SCOPE, instrument, metrics};
pub use run_spans::{Completed, RunSpans, context_of_call};
