//! `flow`: a declarative engine for multi-agent workflows.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

pub mod cli;
pub mod golden;
pub mod runtime;
pub mod serve;

pub use flow_adapters::adapter;
pub use flow_base::{diagnostic, event, journal, model, policy, port, redact, source};
pub use flow_editor::{lsp, report};
pub use flow_engine::{driver, engine};
pub use flow_lang::{channel, check, gate, load, lower, plan, rules, syntax, template};
