//! The language: YAML in, a checked plan out. Syntax, templates, channels, gates, the graph and the rules. No file system, process, thread or clock
//! of its own.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

pub mod channel;
pub mod check;
pub mod gate;
pub mod labels;
pub mod load;
pub mod lower;
pub mod plan;
pub mod rules;
pub mod syntax;
pub mod template;

// So that `crate::model` is the same path in each crate.
use flow_base::{diagnostic, event, model, policy, port, redact, said, source, sql};
