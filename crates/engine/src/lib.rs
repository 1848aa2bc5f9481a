//! The run of a plan: a sans-I/O engine, and behind the feature `driver` the tokio loop that carries its commands out.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

#[cfg(feature = "driver")]
pub mod driver;
pub mod engine;

// So that `crate::model` is the same path in each crate.
#[cfg(feature = "driver")]
use flow_base::journal;
use flow_base::{diagnostic, event, model, policy, port, redact, source, sql};
use flow_lang::{channel, gate, plan, template};
#[cfg(test)]
use flow_lang::{check, load};
