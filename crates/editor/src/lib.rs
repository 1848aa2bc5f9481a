//! What people and editors see: reports of findings and runs, drawings of plans, and the language server.
//!
//! See `ARCHITECTURE.md` for the rooms and which may name which.

pub mod lsp;
pub mod report;

// So that `crate::model` is the same path in each crate.
use flow_base::{diagnostic, event, journal, model, port, source, sql};
use flow_lang::{check, load, lower, plan, rules, syntax, template};
