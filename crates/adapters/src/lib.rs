//! The ports of `flow-base` on this machine: files, stores, models, HTTP, mail, SQL and MCP servers.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

pub mod adapter;

// So that `crate::model` is the same path in each crate.
use flow_base::{diagnostic, event, journal, model, port, redact};
