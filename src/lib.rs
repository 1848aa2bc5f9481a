//! `flow`: a declarative engine for multi-agent workflows.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

pub mod adapter;
pub mod channel;
pub mod check;
pub mod cli;
pub mod diagnostic;
pub mod driver;
pub mod engine;
pub mod event;
pub mod gate;
pub mod golden;
pub mod journal;
pub mod load;
pub mod lower;
pub mod lsp;
pub mod model;
pub mod plan;
pub mod policy;
pub mod port;
pub mod redact;
pub mod report;
pub mod rules;
pub mod serve;
pub mod source;
pub mod syntax;
pub mod template;
