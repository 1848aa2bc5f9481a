//! Runs a plan: a sans-I/O engine and, behind the feature `driver`, the tokio loop that carries out its commands.
//!
//! See `ARCHITECTURE.md` for the modules and which of them may name which.

#[cfg(feature = "driver")]
pub mod driver;
pub mod engine;

// Gives `crate::model` the same path in each crate.
use flow_base::{diagnostic, event, model, policy, port, redact, source, sql};
#[cfg(feature = "driver")]
use flow_base::{journal, telemetry};
use flow_lang::{channel, gate, labels, plan, template};
#[cfg(test)]
use flow_lang::{check, load, rules};
