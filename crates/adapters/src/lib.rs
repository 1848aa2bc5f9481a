//! Implements the ports of `flow-base` on this machine: files, stores, models, HTTP, mail, SQL and MCP servers.
//!
//! See `ARCHITECTURE.md` for the modules and their allowed dependencies.

#![cfg_attr(
    not(all(feature = "data", feature = "mail", feature = "mcp", feature = "model", feature = "sandbox", feature = "store")),
    allow(dead_code, unused_imports, reason = "what backends share is used up by all of them together")
)]

pub mod adapter;

// So that `crate::model` is the same path in each crate.
#[cfg(feature = "telemetry")]
use flow_base::telemetry;
use flow_base::{diagnostic, event, journal, model, port, redact, said, sql};
